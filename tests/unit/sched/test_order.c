/*
 * test_order.c: what is due and in which order it is claimed, with aging and without.
 */
#include "sched.h"

START_TEST(aging_zero_never_lets_a_later_time_pass)
{
    make();
    probe early = {.number = 1};
    probe late = {.number = 2};
    ck_assert_int_eq(put(1, &early, 10, BELAY_PRIORITY_MIN), 0);
    ck_assert_int_eq(put(2, &late, 11, BELAY_PRIORITY_MAX), 0);
    advance(20);
    ck_assert_int_eq(run_due(), 2);
    ck_assert_int_eq(notes[0], 1);
    unmake();
}
END_TEST

START_TEST(aging_lets_a_job_pass_those_due_less_than_a_times_the_difference_earlier)
{
    make_with((belay_sched_opts){.aging_ns_per_priority = 10});
    probe jobs[4] = {{.number = 1}, {.number = 2}, {.number = 3}, {.number = 4}};
    ck_assert_int_eq(put(1, &jobs[0], 100, 0), 0);
    ck_assert_int_eq(put(2, &jobs[1], 129, 3), 0); /* 99: passes */
    ck_assert_int_eq(put(3, &jobs[2], 131, 3), 0); /* 101: does not */
    ck_assert_int_eq(put(4, &jobs[3], 130, 3), 0); /* 100: equal, higher priority */
    advance(200);
    ck_assert_int_eq(run_due(), 4);
    ck_assert_int_eq(notes[0], 2);
    ck_assert_int_eq(notes[1], 4);
    ck_assert_int_eq(notes[2], 1);
    ck_assert_int_eq(notes[3], 3);
    unmake();
}
END_TEST

START_TEST(aging_never_runs_a_future_job)
{
    make_with((belay_sched_opts){.aging_ns_per_priority = BELAY_FOREVER});
    probe low = {.number = 1};
    probe high = {.number = 2};
    ck_assert_int_eq(put(1, &low, 10, 0), 0);
    ck_assert_int_eq(put(2, &high, 20, 9), 0);
    advance(19);
    ck_assert_int_eq(run_due(), 1);
    ck_assert_int_eq(notes[0], 1);
    advance(20);
    ck_assert_int_eq(run_due(), 1);
    unmake();
}
END_TEST

START_TEST(aging_for_ever_is_priority_first_then_time_then_submission)
{
    make_with((belay_sched_opts){.aging_ns_per_priority = BELAY_FOREVER});
    probe jobs[5];
    memset(jobs, 0, sizeof jobs);
    static const int64_t times[] = {3, 2, 1, 2, 0};
    static const int32_t priorities[] = {5, 5, 0, 5, -5};
    for (int i = 0; i < 5; i++) {
        jobs[i].number = i + 1;
        ck_assert_int_eq(put((uint64_t)i, &jobs[i], times[i], priorities[i]), 0);
    }
    advance(5);
    ck_assert_int_eq(run_due(), 5);
    static const int order[] = {2, 4, 1, 3, 5};
    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(notes[i], order[i]);
    }
    unmake();
}
END_TEST

START_TEST(aging_keys_at_the_ends_of_time_do_not_overflow)
{
    make_with((belay_sched_opts){.aging_ns_per_priority = BELAY_FOREVER - 1});
    probe jobs[4] = {{.number = 1}, {.number = 2}, {.number = 3}, {.number = 4}};
    ck_assert_int_eq(put(1, &jobs[0], INT64_MIN + 1, BELAY_PRIORITY_MIN), 0);
    ck_assert_int_eq(put(2, &jobs[1], 0, BELAY_PRIORITY_MAX), 0);
    ck_assert_int_eq(put(3, &jobs[2], INT64_MIN + 1, BELAY_PRIORITY_MAX), 0);
    ck_assert_int_eq(put(4, &jobs[3], 0, BELAY_PRIORITY_MIN), 0);
    ck_assert_int_eq(run_due(), 4);
    static const int order[] = {3, 2, 1, 4};
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(notes[i], order[i]);
    }
    unmake();
}
END_TEST

/* One worker, a new job of priority p + k at every step: when does the one of priority p start? */
START_TEST(aging_bounds_the_wait_under_an_endless_stream)
{
    for (int k = 1; k <= 9; k += 4) {
        make_with((belay_sched_opts){.aging_ns_per_priority = 50});
        probe low = {0};
        static probe stream[1000];
        memset(stream, 0, sizeof stream);
        ck_assert_int_eq(put(0, &low, 100, 0), 0);
        uint64_t id = 1;
        while (low.runs == 0) {
            ck_assert_uint_lt(id, 1000);
            ck_assert_int_eq(put(id, &stream[id], now(), k), 0);
            id++;
            ck_assert_int_eq(run_one(), 0);
            if (low.runs == 0) {
                advance(now() + 1);
            }
        }
        ck_assert_int_ge(now(), 100);
        /* The last to pass is due k * A later, and takes one step. */
        ck_assert_int_eq(now(), 100 + 50 * k + 1);
        ck_assert_uint_ge(stats().overtaken_max, 50 * (uint64_t)k - 3);
        unmake();
    }
}
END_TEST

START_TEST(strict_priority_starves_as_documented)
{
    make_with((belay_sched_opts){.aging_ns_per_priority = BELAY_FOREVER});
    probe low = {0};
    static probe stream[500];
    ck_assert_int_eq(put(0, &low, 0, 0), 0);
    for (uint64_t id = 1; id < 500; id++) {
        ck_assert_int_eq(put(id, &stream[id], now(), 1), 0);
        ck_assert_int_eq(run_one(), 0);
        advance(now() + 1);
    }
    ck_assert_int_eq(low.runs, 0);
    unmake();
}
END_TEST

START_TEST(burst_that_comes_due_is_moved_in_batches)
{
    make_with((belay_sched_opts){.aging_ns_per_priority = BELAY_FOREVER});
    static probe jobs[1000];
    for (int i = 0; i < 1000; i++) {
        ck_assert_int_eq(put((uint64_t)i, &jobs[i], i, i), 0);
    }
    advance(1000);
    /* The first claim chooses among the first batch of 64 to come due, the second among 128, ... */
    ck_assert_int_eq(run_one(), 0);
    ck_assert_int_eq(jobs[63].runs, 1);
    ck_assert_int_eq(run_one(), 0);
    ck_assert_int_eq(jobs[127].runs, 1);
    ck_assert_int_eq(run_due(), 998);
    unmake();
}
END_TEST

START_TEST(due_jobs_can_be_replaced_and_canceled_before_they_are_claimed)
{
    for (int round = 0; round < 2; round++) {
        make_with((belay_sched_opts){.aging_ns_per_priority = round == 0 ? 0 : 5});
        probe jobs[4];
        memset(jobs, 0, sizeof jobs);
        for (uint64_t i = 0; i < 3; i++) {
            ck_assert_int_eq(put(i, &jobs[i], 10, 0), 0);
        }
        advance(10);
        ck_assert_int_eq(run_one(), 0);
        ck_assert_int_eq(jobs[0].runs, 1);
        ck_assert_int_eq(put(1, &jobs[3], 20, 0), BELAY_REPLACED);
        ck_assert_int_eq(belay_sched_cancel(test_sched, BELAY_ID(2)), 0);
        ck_assert_int_eq(run_due(), 0);
        advance(20);
        ck_assert_int_eq(run_due(), 1);
        ck_assert_int_eq(jobs[3].runs, 1);
        ck_assert_int_eq(jobs[1].drops + jobs[2].drops, 2);
        unmake();
    }
}
END_TEST

static int64_t broken_now = 100;

static int64_t read_broken(belay_clock *self)
{
    (void)self;
    return broken_now;
}

static void wake_nobody(belay_clock *self, uint32_t *word, uint32_t count)
{
    (void)self;
    (void)word;
    (void)count;
}

START_TEST(clock_that_steps_back_is_held_and_counted)
{
    make();
    belay_clock broken = {.now = read_broken, .wake = wake_nobody};
    belay_sched_opts opts = {.size = sizeof opts, .clock = &broken};
    belay_sched *sched = NULL;
    belay_claim *claim = NULL;
    int64_t next = 0;
    probe self = {0};
    belay_job job = job_of(&self, 101, 0);
    ck_assert_int_eq(belay_sched_create(&opts, &sched), 0);
    ck_assert_int_eq(belay_sched_schedule(sched, BELAY_ID(1), &job, NULL), 0);
    job.run_at_ns = 99;
    ck_assert_int_eq(belay_sched_schedule(sched, BELAY_ID(2), &job, NULL), 0);
    broken_now = 50;
    ck_assert_int_eq(belay_sched_next(sched, BELAY_NOW, &claim, &next), 0);
    ck_assert_int_eq(belay_claim_run(claim), 0);
    ck_assert_int_eq(belay_sched_next(sched, BELAY_NOW, &claim, &next), BELAY_EAGAIN);
    ck_assert_int_eq(next, 101);
    belay_sched_metrics metrics = {.size = sizeof metrics};
    broken_now = 100;
    ck_assert_int_eq(belay_sched_stats(sched, &metrics), 0);
    ck_assert_uint_ge(metrics.clock_steps_back, 3);
    ck_assert_int_eq(belay_sched_close(sched, BELAY_CLOSE_DISCARD), 0);
    ck_assert_int_eq(belay_sched_destroy(sched), 0);
    unmake();
}
END_TEST

START_TEST(canceling_the_head_by_its_handle_moves_the_timer)
{
    make_started(1);
    probe self = {0}, later = {0};
    belay_job job = job_of(&self, 10, 0);
    belay_job_handle handle;
    ck_assert_int_eq(belay_sched_schedule(test_sched, BELAY_ID(1), &job, &handle), 0);
    ck_assert_int_eq(put(2, &later, 20, 0), 0);
    ck_assert_int_eq(belay_manual_clock_next_deadline(test_clock), 10);
    ck_assert_int_eq(belay_sched_cancel_handle(test_sched, handle), 0);
    ck_assert_int_eq(belay_manual_clock_next_deadline(test_clock), 20);
    unmake();
}
END_TEST

UNIT_MAIN("sched/order", aging_zero_never_lets_a_later_time_pass,
          aging_lets_a_job_pass_those_due_less_than_a_times_the_difference_earlier,
          aging_never_runs_a_future_job, aging_for_ever_is_priority_first_then_time_then_submission,
          aging_keys_at_the_ends_of_time_do_not_overflow,
          aging_bounds_the_wait_under_an_endless_stream, strict_priority_starves_as_documented,
          burst_that_comes_due_is_moved_in_batches,
          due_jobs_can_be_replaced_and_canceled_before_they_are_claimed,
          clock_that_steps_back_is_held_and_counted,
          canceling_the_head_by_its_handle_moves_the_timer)
