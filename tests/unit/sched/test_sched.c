/*
 * test_sched.c: scheduling, replacing and canceling, driven by hand on a manual clock.
 */
#include "sched.h"

START_TEST(order_is_time_then_priority_then_submission)
{
    make();
    probe jobs[6];
    memset(jobs, 0, sizeof jobs);
    static const int64_t times[] = {20, 10, 10, 10, 5, 10};
    static const int32_t priorities[] = {9, 0, 3, 3, -7, 0};
    for (int i = 0; i < 6; i++) {
        jobs[i].number = i + 1;
        ck_assert_int_eq(put((uint64_t)i, &jobs[i], times[i], priorities[i]), 0);
    }
    advance(20);
    ck_assert_int_eq(run_due(), 6);
    static const int order[] = {5, 3, 4, 2, 6, 1};
    for (int i = 0; i < 6; i++) {
        ck_assert_int_eq(notes[i], order[i]);
    }
    unmake();
}
END_TEST

START_TEST(started_scheduler_runs_what_comes_due)
{
    make_started(2);
    probe a = {0};
    probe b = {0};
    ck_assert_int_eq(put(1, &a, 10, 0), 0);
    ck_assert_int_eq(put(2, &b, 20, 0), 0);
    ck_assert_int_eq(run_exec(), 0);
    advance(10);
    ck_assert_int_eq(run_exec(), 1);
    ck_assert_int_eq(a.runs, 1);
    ck_assert_int_eq(b.runs, 0);
    advance(20);
    ck_assert_int_eq(run_exec(), 1);
    ck_assert_int_eq(b.runs, 1);
    unmake();
}
END_TEST

UNIT_MAIN("sched/sched", order_is_time_then_priority_then_submission,
          started_scheduler_runs_what_comes_due)
