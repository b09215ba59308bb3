/*
 * state.c: the table of moves of a lease.
 */
#include "sem/state.h"

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

const bly_state_table bly_lease_states = {"lease", names, moves, bly_count(names)};

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
