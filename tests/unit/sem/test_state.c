/* The moves of a lease and what its states mean. */
#include "unit.h"

#include "aborts.h"
#include "sem/state.h"

static belay_lease lease_in(bly_lease_state state)
{
    belay_lease lease = BELAY_LEASE_INIT;
    lease.state = (uint32_t)state;
    return lease;
}

START_TEST(a_lease_of_zeros_is_idle)
{
    belay_lease lease = BELAY_LEASE_INIT;
    ck_assert_int_eq(bly_lease_state_of(&lease), BLY_LEASE_IDLE);
    ck_assert(bly_lease_is_reusable(BLY_LEASE_IDLE));
}
END_TEST

START_TEST(only_dead_states_may_be_acquired_with)
{
    for (int state = 0; state < BLY_LEASE_STATES; state++) {
        bool is_dead =
            state == BLY_LEASE_IDLE || state == BLY_LEASE_RELEASED || state == BLY_LEASE_ENDED;
        ck_assert_int_eq(bly_lease_is_reusable((bly_lease_state)state), is_dead);
    }
}
END_TEST

START_TEST(each_end_has_its_result)
{
    ck_assert_int_eq(bly_lease_result(BLY_LEASE_RESERVED), 0);
    ck_assert_int_eq(bly_lease_result(BLY_LEASE_TIMED_OUT), BELAY_ETIMEDOUT);
    ck_assert_int_eq(bly_lease_result(BLY_LEASE_CANCELED), BELAY_ECANCELED);
    ck_assert_int_eq(bly_lease_result(BLY_LEASE_CLOSED), BELAY_ECLOSED);
    ck_assert_int_eq(bly_lease_result(BLY_LEASE_TOO_BIG), BELAY_ETOOBIG);
}
END_TEST

START_TEST(enter_follows_a_grant_through_its_life)
{
    belay_lease lease = BELAY_LEASE_INIT;
    static const bly_lease_state life[] = {BLY_LEASE_CLAIMED,   BLY_LEASE_WAITING,
                                           BLY_LEASE_RESERVED,  BLY_LEASE_HELD,
                                           BLY_LEASE_RELEASING, BLY_LEASE_RELEASED};
    for (size_t i = 0; i < sizeof life / sizeof life[0]; i++) {
        bly_lease_enter(&lease, life[i]);
        ck_assert_int_eq(bly_lease_state_of(&lease), life[i]);
    }
}
END_TEST

START_TEST(claim_moves_a_lease_once)
{
    belay_lease lease = lease_in(BLY_LEASE_HELD);
    bly_lease_state found;
    ck_assert(bly_lease_claim(&lease, BLY_LEASE_HELD, BLY_LEASE_RELEASING, &found));
    ck_assert(!bly_lease_claim(&lease, BLY_LEASE_HELD, BLY_LEASE_RELEASING, &found));
    ck_assert_int_eq(found, BLY_LEASE_RELEASING);
}
END_TEST

static void grant_twice(void)
{
    belay_lease lease = lease_in(BLY_LEASE_RESERVED);
    bly_lease_enter(&lease, BLY_LEASE_RESERVED);
}

static void time_out_a_held_lease(void)
{
    belay_lease lease = lease_in(BLY_LEASE_HELD);
    bly_lease_enter(&lease, BLY_LEASE_TIMED_OUT);
}

static void read_the_result_of_a_waiting_lease(void)
{
    (void)bly_lease_result(BLY_LEASE_WAITING);
}

START_TEST(a_move_that_the_table_lacks_aborts)
{
    ck_assert_aborts(grant_twice, "lease: RESERVED to RESERVED");
    ck_assert_aborts(time_out_a_held_lease, "lease: HELD to TIMED_OUT");
    ck_assert_aborts(read_the_result_of_a_waiting_lease, "state == BLY_LEASE_RESERVED");
}
END_TEST

UNIT_MAIN("sem/state", a_lease_of_zeros_is_idle, only_dead_states_may_be_acquired_with,
          each_end_has_its_result, enter_follows_a_grant_through_its_life, claim_moves_a_lease_once,
          a_move_that_the_table_lacks_aborts)
