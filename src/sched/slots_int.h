/*
 * slots_int.h: the table behind handles: a place for each living version.
 *
 * Places are numbered, and used again; what makes a handle exact is the version beside the place.
 * The table is made of blocks; a block that became empty is given back. Its owner's lock protects
 * all of it. Nothing here allocates under that lock: see bly_slots_want.
 */
#ifndef BLY_SCHED_SLOTS_INT_H
#define BLY_SCHED_SLOTS_INT_H

#include "base/chunks.h"
#include "sched/job_int.h"

#define BLY_SLOTS_BLOCK 256u /* places of a block */

typedef struct bly_slots_block {
    bly_list link;       /* in the list of blocks with free places; unlinked while it is full */
    uint32_t number;     /* of the block in the table */
    uint32_t used;       /* places taken */
    uint32_t free_first; /* the first free place; BLY_SLOTS_BLOCK: none */
    union {
        bly_job *job;   /* even: a version */
        uintptr_t free; /* odd: the next free place, marked */
    } places[BLY_SLOTS_BLOCK];
} bly_slots_block;

typedef struct bly_slots {
    bly_chunks numbers;    /* by number: its block, or, odd, the next number without one, marked */
    bly_list partial;      /* blocks with a free place */
    uint32_t number_first; /* the first number without a block; numbers.used: none */
    uint32_t empty_count;  /* blocks in `partial` that are all free: 0, or 1 but for a moment */
} bly_slots;

void bly_slots_init(bly_slots *slots);
void bly_slots_destroy(bly_slots *slots);

/*
 * bly_slots_want: the bytes of the zeroed block to give before one place more is taken; 0: there is
 * one. After giving it has to be asked again: a block needs a number, and numbers need room.
 */
size_t bly_slots_want(const bly_slots *slots);

/* bly_slots_give: takes a block of the size that was wanted. False: that is no longer wanted. */
bool bly_slots_give(bly_slots *slots, void *block, size_t size);

/* bly_slots_put: gives the version a place (job->place). There is one. */
void bly_slots_put(bly_slots *slots, bly_job *job);

/*
 * bly_slots_take: the version has no place any more. Returns a block for the caller to free or
 * NULL.
 */
void *bly_slots_take(bly_slots *slots, const bly_job *job);

/* bly_slots_find: the version with exactly that handle; NULL: it has ended. O(1). */
bly_job *bly_slots_find(const bly_slots *slots, belay_job_handle handle);

#endif
