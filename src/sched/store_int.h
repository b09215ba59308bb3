/*
 * store_int.h: all living versions: by id, by handle, and, those that are pending, in order.
 *
 * There is room in both heaps for every living version, so whatever happens to one after it was
 * stored needs no memory.
 *
 * Two heaps. Without aging everything pending is in `future`. With aging what came due moves to
 * `due`, which has the order of the contract's due work. `due` also holds what a closing scheduler
 * still owes.
 */
#ifndef BLY_SCHED_STORE_INT_H
#define BLY_SCHED_STORE_INT_H

#include "sched/slots_int.h"
#include "sync/sync.h"

#define BLY_LIVE_MAX (UINT32_C(1) << 30) /* living versions of one scheduler */

/* All fields are protected by the scheduler's lock. */
typedef struct bly_store {
    bly_heap future;  /* by the key without aging */
    bly_heap due;     /* by the key with aging */
    int64_t aging_ns; /* constant after init */
    bly_map ids;      /* of each id: the running version, else the pending one */
    bly_slots slots;  /* of every living version */
    uint32_t live;
} bly_store;

/*
 * bly_store_init: an empty store, with room for a version. Errors: BELAY_ENOMEM. No lock is held.
 */
int bly_store_init(bly_store *store, int64_t aging_ns);

/* bly_store_destroy: frees a store without versions. */
void bly_store_destroy(bly_store *store);

/*
 * bly_store_grow: with the lock held, makes room for one version more. The lock may be given up and
 * taken again meanwhile; it is held on return. Errors: BELAY_ENOMEM.
 */
int bly_store_grow(bly_store *store, bly_mutex *lock);

/* bly_store_spare: a block to free, no longer needed; NULL: none. */
void *bly_store_spare(bly_store *store);

/* bly_store_add: the version lives: it has a place. There is room. */
void bly_store_add(bly_store *store, bly_job *job);

/* bly_store_remove: it lives no longer; it stands in no heap. Returns a block to free, or NULL. */
void *bly_store_remove(bly_store *store, bly_job *job);

/* bly_store_name, bly_store_unname: it stands for its id, or no longer; without an id nothing. */
void bly_store_name(bly_store *store, bly_job *job);
void bly_store_unname(bly_store *store, bly_job *job);

/* bly_store_find: the version that stands for the id; NULL: none. */
bly_job *bly_store_find(const bly_store *store, const bly_id *id);

/*
 * bly_store_queue, bly_store_unqueue: puts a version in a heap; takes it out of the one it is in.
 */
void bly_store_queue(bly_store *store, bly_job *job, uint8_t where);
void bly_store_unqueue(bly_store *store, bly_job *job);

/* bly_store_first: the first version of that heap, NULL: it is empty. */
bly_job *bly_store_first(const bly_store *store, uint8_t where);

/* bly_store_count: how many versions are in that heap. */
uint32_t bly_store_count(const bly_store *store, uint8_t where);

/* bly_store_is_sound: checks the whole structure, in O(n); for deep assertions. */
bool bly_store_is_sound(const bly_store *store);

#endif
