/*
 * versions_int.h: all living versions: by id, by handle, and, those that are pending, in order.
 *
 * There is room in both heaps for every living version, so whatever happens to one after it was
 * stored needs no memory.
 *
 * Two heaps. Without aging everything pending is in `future`. With aging what came due moves to
 * `due`, which has the order of the contract's due work. `due` also holds what a closing scheduler
 * still owes.
 */
#ifndef BLY_SCHED_VERSIONS_INT_H
#define BLY_SCHED_VERSIONS_INT_H

#include "sched/slots_int.h"
#include "sync/sync.h"

#define BLY_LIVE_MAX (UINT32_C(1) << 30) /* living versions of one scheduler */

/* All fields are protected by the scheduler's lock. */
typedef struct bly_versions {
    bly_heap future;  /* by the key without aging */
    bly_heap due;     /* by the key with aging */
    int64_t aging_ns; /* constant after init */
    bly_map ids;      /* of each id: the running version, else the pending one */
    bly_slots slots;  /* of every living version */
    uint32_t live;
} bly_versions;

/*
 * bly_versions_init: none, with room for one. Errors: BELAY_ENOMEM. No lock is held.
 */
int bly_versions_init(bly_versions *versions, int64_t aging_ns);

/* bly_versions_destroy: frees what holds none. */
void bly_versions_destroy(bly_versions *versions);

/*
 * bly_versions_grow: with the lock held, makes room for one version more. The lock may be given up
 * and taken again meanwhile; it is held on return. Errors: BELAY_ENOMEM.
 */
int bly_versions_grow(bly_versions *versions, bly_mutex *lock);

/* bly_versions_spare: a block to free, no longer needed; NULL: none. */
void *bly_versions_spare(bly_versions *versions);

/* bly_versions_add: the version lives: it has a place. There is room. */
void bly_versions_add(bly_versions *versions, bly_job *job);

/* bly_versions_remove: it lives no longer and stands in no heap. A block to free, or NULL. */
void *bly_versions_remove(bly_versions *versions, bly_job *job);

/* bly_versions_name, _unname: it stands for its id, or no longer; without an id nothing. */
void bly_versions_name(bly_versions *versions, bly_job *job);
void bly_versions_unname(bly_versions *versions, bly_job *job);

/* bly_versions_find: the version that stands for the id; NULL: none. */
bly_job *bly_versions_find(const bly_versions *versions, const bly_id *id);

/*
 * bly_versions_queue, _unqueue: puts a version in a heap; takes it out of the one it is in.
 */
void bly_versions_queue(bly_versions *versions, bly_job *job, uint8_t where);
void bly_versions_unqueue(bly_versions *versions, bly_job *job);

/* bly_versions_first: the first version of that heap, NULL: it is empty. */
bly_job *bly_versions_first(const bly_versions *versions, uint8_t where);

/* bly_versions_count: how many versions are in that heap. */
uint32_t bly_versions_count(const bly_versions *versions, uint8_t where);

/* bly_versions_is_sound: checks the whole structure, in O(n); for deep assertions. */
bool bly_versions_is_sound(const bly_versions *versions);

#endif
