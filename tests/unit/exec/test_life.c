/*
 * test_life.c: the states of a pool and what each of them takes.
 */
#include "exec/life.h"
#include "unit.h"

#include <signal.h>

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

START_TEST(terminating_a_pool_that_accepts_aborts)
{
    bly_life life = {0};
    bly_life_terminate(&life);
}
END_TEST

/* Aborting tests need a signal, which UNIT_MAIN does not know; so this suite has its own main. */
int main(void)
{
    const TTest *tests[] = {an_accepting_pool_takes_everything,
                            a_draining_pool_takes_children_and_deliveries,
                            a_pool_told_to_stop_at_once_takes_deliveries_only,
                            a_stopping_and_a_terminated_pool_take_nothing,
                            closing_again_moves_nothing_but_may_drop_what_is_left,
                            retiring_in_an_accepting_pool_does_not_stop_it};
    Suite *suite = suite_create("exec/life");
    TCase *tcase = tcase_create("moves");
    for (size_t i = 0; i < bly_count(tests); i++) {
        tcase_add_test(tcase, tests[i]);
    }
    tcase_add_test_raise_signal(tcase, terminating_a_pool_that_accepts_aborts, SIGABRT);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
