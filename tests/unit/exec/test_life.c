/*
 * test_life.c: the states of a pool and what each of them takes.
 */
#include "aborts.h"
#include "exec/life.h"
#include "unit.h"

static void ck_takes(bly_life *life, bly_work work, int expected)
{
    ck_assert_int_eq(bly_life_admit(life, work), expected);
    if (expected == 0) {
        (void)bly_life_retire(life);
    }
}

START_TEST(an_accepting_pool_takes_everything)
{
    bly_life life = {0};
    ck_takes(&life, BLY_ROOT, 0);
    ck_takes(&life, BLY_CHILD, 0);
    ck_takes(&life, BLY_DELIVERY, 0);
    ck_assert_int_eq(bly_life_state(&life), BELAY_EXEC_ACCEPTING);
    ck_assert_uint_eq(bly_life_outstanding(&life), 0);
}
END_TEST

START_TEST(a_draining_pool_takes_children_and_deliveries)
{
    bly_life life = {0};
    ck_assert_int_eq(bly_life_admit(&life, BLY_ROOT), 0);
    ck_assert(!bly_life_close(&life, false));
    ck_assert_int_eq(bly_life_state(&life), BELAY_EXEC_DRAINING);
    ck_takes(&life, BLY_ROOT, BELAY_ECLOSED);
    ck_takes(&life, BLY_CHILD, 0);
    ck_takes(&life, BLY_DELIVERY, 0);
    ck_assert(bly_life_retire(&life));
    ck_assert_int_eq(bly_life_state(&life), BELAY_EXEC_STOPPING);
}
END_TEST

START_TEST(a_pool_told_to_stop_at_once_takes_deliveries_only)
{
    bly_life life = {0};
    ck_assert_int_eq(bly_life_admit(&life, BLY_ROOT), 0);
    ck_assert(!bly_life_close(&life, true));
    ck_assert(bly_life_is_now(&life));
    ck_takes(&life, BLY_ROOT, BELAY_ECLOSED);
    ck_takes(&life, BLY_CHILD, BELAY_ECLOSED);
    ck_takes(&life, BLY_DELIVERY, 0);
    ck_assert(bly_life_retire(&life));
}
END_TEST

START_TEST(a_stopping_and_a_terminated_pool_take_nothing)
{
    bly_life life = {0};
    ck_assert(bly_life_close(&life, false));
    for (int i = 0; i < 2; i++) {
        ck_takes(&life, BLY_ROOT, BELAY_ECLOSED);
        ck_takes(&life, BLY_CHILD, BELAY_ECLOSED);
        ck_takes(&life, BLY_DELIVERY, BELAY_ECLOSED);
        if (i == 0) {
            bly_life_terminate(&life);
        }
    }
    ck_assert_int_eq(bly_life_state(&life), BELAY_EXEC_TERMINATED);
}
END_TEST

START_TEST(closing_again_moves_nothing_but_may_drop_what_is_left)
{
    bly_life life = {0};
    ck_assert_int_eq(bly_life_admit(&life, BLY_ROOT), 0);
    ck_assert(!bly_life_close(&life, false));
    ck_assert(!bly_life_close(&life, false));
    ck_assert(!bly_life_is_now(&life));
    ck_assert(!bly_life_close(&life, true));
    ck_assert(bly_life_is_now(&life));
    ck_assert(!bly_life_close(&life, false));
    ck_assert(bly_life_is_now(&life));
    ck_assert(bly_life_retire(&life));
    ck_assert(!bly_life_close(&life, true));
}
END_TEST

START_TEST(retiring_in_an_accepting_pool_does_not_stop_it)
{
    bly_life life = {0};
    ck_assert_int_eq(bly_life_admit(&life, BLY_ROOT), 0);
    ck_assert(!bly_life_retire(&life));
    ck_assert_int_eq(bly_life_state(&life), BELAY_EXEC_ACCEPTING);
}
END_TEST

static void terminate_accepting(void)
{
    bly_life life = {0};
    bly_life_terminate(&life);
}

static void retire_nothing(void)
{
    bly_life life = {0};
    (void)bly_life_retire(&life);
}

START_TEST(a_move_backwards_or_past_a_state_aborts)
{
    ck_assert_aborts(terminate_accepting, "executor: ACCEPTING to TERMINATED");
    ck_assert_aborts(retire_nothing, "COUNT_MASK");
}
END_TEST

UNIT_MAIN("exec/life", an_accepting_pool_takes_everything,
          a_draining_pool_takes_children_and_deliveries,
          a_pool_told_to_stop_at_once_takes_deliveries_only,
          a_stopping_and_a_terminated_pool_take_nothing,
          closing_again_moves_nothing_but_may_drop_what_is_left,
          retiring_in_an_accepting_pool_does_not_stop_it, a_move_backwards_or_past_a_state_aborts)
