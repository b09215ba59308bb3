/*
 * state.c: the table of moves of a lease.
 */
#include "sem/state.h"

#include "base/state.h"
#include "sync/sync.h"

static const char *const names[] = {
    "IDLE",   "CLAIMED", "FIRED", "WAITING",   "RESERVED", "TIMED_OUT", "CANCELED",
    "CLOSED", "TOO_BIG", "HELD",  "RELEASING", "RELEASED", "ENDED",
};

static const uint32_t moves[] = {
    [BLY_LEASE_IDLE] = BLY_TO(BLY_LEASE_CLAIMED),
    [BLY_LEASE_CLAIMED] = BLY_TO(BLY_LEASE_IDLE) | BLY_TO(BLY_LEASE_FIRED) |
                          BLY_TO(BLY_LEASE_WAITING) | BLY_TO(BLY_LEASE_HELD),
    [BLY_LEASE_FIRED] = BLY_TO(BLY_LEASE_IDLE),
    [BLY_LEASE_WAITING] = BLY_TO(BLY_LEASE_RESERVED) | BLY_TO(BLY_LEASE_TIMED_OUT) |
                          BLY_TO(BLY_LEASE_CANCELED) | BLY_TO(BLY_LEASE_CLOSED) |
                          BLY_TO(BLY_LEASE_TOO_BIG),
    [BLY_LEASE_RESERVED] = BLY_TO(BLY_LEASE_HELD),
    [BLY_LEASE_TIMED_OUT] = BLY_TO(BLY_LEASE_ENDED),
    [BLY_LEASE_CANCELED] = BLY_TO(BLY_LEASE_ENDED),
    [BLY_LEASE_CLOSED] = BLY_TO(BLY_LEASE_ENDED),
    [BLY_LEASE_TOO_BIG] = BLY_TO(BLY_LEASE_ENDED),
    [BLY_LEASE_HELD] = BLY_TO(BLY_LEASE_RELEASING) | BLY_TO(BLY_LEASE_CLAIMED),
    [BLY_LEASE_RELEASING] = BLY_TO(BLY_LEASE_RELEASED),
    [BLY_LEASE_RELEASED] = BLY_TO(BLY_LEASE_CLAIMED),
    [BLY_LEASE_ENDED] = BLY_TO(BLY_LEASE_CLAIMED),
};

static const bly_state_table lease_states = {"lease", names, moves, bly_count(names)};

bly_lease_state bly_lease_state_of(const belay_lease *lease)
{
    /* acquire, with the releases below: the fields that a state makes valid are seen. */
    return (bly_lease_state)bly_load(&lease->state, BLY_ACQUIRE);
}

void bly_lease_enter(belay_lease *lease, bly_lease_state to)
{
    /* relaxed: nobody else moves it now. */
    bly_state_check(&lease_states, bly_load(&lease->state, BLY_RELAXED), to);
    /* release, with the acquires of bly_lease_state_of and bly_lease_claim. */
    bly_store(&lease->state, (uint32_t)to, BLY_RELEASE);
}

bool bly_lease_claim(belay_lease *lease, bly_lease_state from, bly_lease_state to,
                     bly_lease_state *ret_found)
{
    bly_state_check(&lease_states, from, to);
    uint32_t found = (uint32_t)from;
    /* acquire: the fields that `from` made valid; a failure tells what another did. */
    bool is_mine = bly_cas(&lease->state, &found, (uint32_t)to, BLY_ACQUIRE, BLY_ACQUIRE);
    *ret_found = (bly_lease_state)found;
    return is_mine;
}

bool bly_lease_is_reusable(bly_lease_state state)
{
    return state == BLY_LEASE_IDLE || state == BLY_LEASE_RELEASED || state == BLY_LEASE_ENDED;
}

bool bly_lease_is_itself(const belay_lease *lease)
{
    /*
     * relaxed: an address to compare with. Who must see it has read a state after it; who races
     * with the first acquire of the lease may see NULL, as before that acquire.
     */
    return bly_load(&lease->self, BLY_RELAXED) == lease;
}

int bly_lease_result(bly_lease_state state)
{
    switch (state) {
    case BLY_LEASE_TIMED_OUT:
        return BELAY_ETIMEDOUT;
    case BLY_LEASE_CANCELED:
        return BELAY_ECANCELED;
    case BLY_LEASE_CLOSED:
        return BELAY_ECLOSED;
    case BLY_LEASE_TOO_BIG:
        return BELAY_ETOOBIG;
    default:
        bly_assert(state == BLY_LEASE_RESERVED);
        return 0;
    }
}
