/*
 * state.h: the states of a lease and the moves between them.
 *
 * The state is one atomic word. Moves into and out of WAITING, and out of what follows it, happen
 * under the semaphore's lock; the claim of a lease by an acquire and by its release are
 * compare-and-swaps, so exactly one of several callers gets it.
 */
#ifndef BLY_SEM_STATE_H
#define BLY_SEM_STATE_H

#include "base/state.h"
#include "belay/sem.h"
#include "sync/sync.h"

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

extern const bly_state_table bly_lease_states;

/*
 * bly_lease_state_of: the state; what its writer did before is seen.
 * Context: any thread, with or without the lock.
 */
static inline bly_lease_state bly_lease_state_of(const belay_lease *lease)
{
    /* acquire, with the releases below: the fields that a state makes valid are seen. */
    return (bly_lease_state)bly_load(&lease->state, BLY_ACQUIRE);
}

/*
 * bly_lease_enter: the move from the present state, of which the caller alone can move it on, to
 * `to`. A move that is not in the table breaks an invariant.
 */
static inline void bly_lease_enter(belay_lease *lease, bly_lease_state to)
{
    /* relaxed: nobody else moves it now. */
    bly_state_check(&bly_lease_states, bly_load(&lease->state, BLY_RELAXED), to);
    /* release, with the acquires of bly_lease_state_of and bly_lease_claim. */
    bly_store(&lease->state, (uint32_t)to, BLY_RELEASE);
}

/*
 * bly_lease_go: as bly_lease_enter where the caller has made `from` itself a moment ago: a constant
 * move, checked in debug builds only, as an acquire and a release without waiting make two of them.
 */
static inline void bly_lease_go(belay_lease *lease, bly_lease_state from, bly_lease_state to)
{
    if (BELAY_DEBUG) {
        bly_state_check(&bly_lease_states, from, to);
    }
    bly_store(&lease->state, (uint32_t)to, BLY_RELEASE); /* release: as in bly_lease_enter */
}

/*
 * bly_lease_claim: the same where several may try: true when this caller moved it from `from` to
 * `to`, false and *ret_found when another state was found.
 */
static inline bool bly_lease_claim(belay_lease *lease, bly_lease_state from, bly_lease_state to,
                                   bly_lease_state *ret_found)
{
    if (BELAY_DEBUG) { /* `from` and `to` are constants, or found by bly_lease_is_reusable */
        bly_state_check(&bly_lease_states, from, to);
    }
    uint32_t found = (uint32_t)from;
    /* acquire: the fields that `from` made valid; a failure tells what another did. */
    bool is_mine = bly_cas(&lease->state, &found, (uint32_t)to, BLY_ACQUIRE, BLY_ACQUIRE);
    *ret_found = (bly_lease_state)found;
    return is_mine;
}

/* bly_lease_is_reusable: whether a lease in this state may be acquired with. */
static inline bool bly_lease_is_reusable(bly_lease_state state)
{
    return state == BLY_LEASE_IDLE || state == BLY_LEASE_RELEASED || state == BLY_LEASE_ENDED;
}

/*
 * bly_lease_is_itself: whether this is the storage that was acquired with, and no copy of it.
 * Context: any thread. An acquire that is at work may not have written it yet.
 */
static inline bool bly_lease_is_itself(const belay_lease *lease)
{
    /*
     * relaxed: an address to compare with. Who must see it has read a state after it; who races
     * with the first acquire of the lease may see NULL, as before that acquire.
     */
    return bly_load(&lease->self, BLY_RELAXED) == lease;
}

/* bly_lease_result: what the caller of a decided lease is told. */
int bly_lease_result(bly_lease_state state);

#endif
