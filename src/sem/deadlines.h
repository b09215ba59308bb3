/*
 * deadlines.h: which waiting leases end when. Lends each lease's phase.timing; protected by the
 * lock of the semaphore that it stands in.
 */
#ifndef BLY_SEM_DEADLINES_H
#define BLY_SEM_DEADLINES_H

#include "belay/sem.h"

#define BLY_DEADLINES_BITS   4
#define BLY_DEADLINES_SLOTS  (1u << BLY_DEADLINES_BITS)
#define BLY_DEADLINES_LEVELS (64u / BLY_DEADLINES_BITS)

typedef struct bly_deadlines {
    uint64_t base;        /* the key that the places below are relative to; no entry is before it */
    uint32_t count;       /* entries */
    uint32_t levels_used; /* bit n: level n has an entry */
    bly_list *spilling;   /* the slot being emptied into lower levels, NULL: none */
    uint16_t slots_used[BLY_DEADLINES_LEVELS]; /* bit n: slot n of that level has an entry */
    bly_list slots[BLY_DEADLINES_LEVELS][BLY_DEADLINES_SLOTS];
} bly_deadlines;

/* bly_deadlines_init: none. */
void bly_deadlines_init(bly_deadlines *deadlines);

/* bly_deadlines_add: the lease, with phase.timing.deadline_ns set, zero link, not BELAY_FOREVER. */
void bly_deadlines_add(bly_deadlines *deadlines, belay_lease *lease, int64_t now_ns);

/* bly_deadlines_remove: takes the lease out; one that is not in is ignored. */
void bly_deadlines_remove(bly_deadlines *deadlines, belay_lease *lease);

/*
 * bly_deadlines_expired: takes out a lease whose deadline is at or before now_ns, in the order of
 * (deadline, adding) if each is asked for as soon as it is due. NULL: there is none, or *budget,
 * which falls by one for each step on the way to it, has come to 0 and more may be there.
 */
belay_lease *bly_deadlines_expired(bly_deadlines *deadlines, int64_t now_ns, uint32_t *budget);

/*
 * bly_deadlines_next: when to look again: the earliest deadline, or a time shortly before it;
 * BELAY_FOREVER when there is none.
 */
int64_t bly_deadlines_next(const bly_deadlines *deadlines);

#endif
