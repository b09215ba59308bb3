/*
 * state.h: the states of a lease and the moves between them.
 *
 * The state is one atomic word. Moves into and out of WAITING, and out of what follows it, happen
 * under the semaphore's lock; the claim of a lease by an acquire and by its release are
 * compare-and-swaps, so exactly one of several callers gets it.
 */
#ifndef BLY_SEM_STATE_H
#define BLY_SEM_STATE_H

#include "belay/sem.h"

typedef enum bly_lease_state {
    BLY_LEASE_IDLE,      /* no acquire since init, or the last one was refused */
    BLY_LEASE_CLAIMED,   /* a call is at work on it: an acquire before it queues, a move */
    BLY_LEASE_FIRED,     /* claimed by an acquire whose token has fired meanwhile */
    BLY_LEASE_WAITING,   /* in the queue */
    BLY_LEASE_RESERVED,  /* its permits are assigned, its caller not yet told */
    BLY_LEASE_TIMED_OUT, /* ended without a grant, its caller not yet told; so the next three */
    BLY_LEASE_CANCELED,
    BLY_LEASE_CLOSED,
    BLY_LEASE_TOO_BIG,
    BLY_LEASE_HELD,      /* its caller has the permits */
    BLY_LEASE_RELEASING, /* its one release is at work */
    BLY_LEASE_RELEASED,  /* may be acquired with again */
    BLY_LEASE_ENDED,     /* ended without a grant, its caller told; may be acquired with again */
    BLY_LEASE_STATES
} bly_lease_state;

/*
 * bly_lease_state_of: the state; what its writer did before is seen.
 * Context: any thread, with or without the lock.
 */
bly_lease_state bly_lease_state_of(const belay_lease *lease);

/*
 * bly_lease_enter: the move from the present state, of which the caller alone can move it on, to
 * `to`. A move that is not in the table breaks an invariant.
 */
void bly_lease_enter(belay_lease *lease, bly_lease_state to);

/*
 * bly_lease_claim: the same where several may try: true when this caller moved it from `from` to
 * `to`, false and *ret_found when another state was found.
 */
bool bly_lease_claim(belay_lease *lease, bly_lease_state from, bly_lease_state to,
                     bly_lease_state *ret_found);

/* bly_lease_is_reusable: whether a lease in this state may be acquired with. */
bool bly_lease_is_reusable(bly_lease_state state);

/*
 * bly_lease_is_itself: whether this is the storage that was acquired with, and no copy of it.
 * Context: any thread. An acquire that is at work may not have written it yet.
 */
bool bly_lease_is_itself(const belay_lease *lease);

/* bly_lease_result: what the caller of a decided lease is told. */
int bly_lease_result(bly_lease_state state);

#endif
