/*
 * test_cases.c: what went wrong in other schedulers, tried on this one.
 */
#include "sched.h"

#include <pthread.h>

#define LIVE  1000
#define CHURN 200000

/* Canceled tasks that stay in the heap until their time comes: dead entries without bound. */
START_TEST(churn_leaves_no_dead_entries)
{
    make();
    static probe live[LIVE];
    probe self = {0};
    for (uint64_t i = 0; i < LIVE; i++) {
        ck_assert_int_eq(put(i, &live[i], 3600 * SECOND, 0), 0);
    }
    for (uint64_t i = 0; i < CHURN; i++) {
        ck_assert_int_eq(put(LIVE + i, &self, 3600 * SECOND, 0), 0);
        ck_assert_int_eq(belay_sched_cancel(test_sched, BELAY_ID(LIVE + i)), 0);
        if (i % 1000 == 0) {
            ck_assert_uint_le(stats().entries, 2 * LIVE + 64);
        }
    }
    ck_assert_uint_eq(stats().entries, LIVE);
    ck_assert_int_eq(self.drops, CHURN);
    unmake();
}
END_TEST

static void replace_j(probe *self)
{
    static probe versions[2];
    (void)self;
    ck_assert_int_ge(put(7, &versions[0], now() + 10, 0), 0);
    ck_assert_int_eq(put(7, &versions[1], now() + 20, 0), BELAY_REPLACED);
    ck_assert_int_eq(versions[0].runs, 0);
}

/* Replacing that leaves the old timer armed: orphans fire and multiply. */
START_TEST(replacing_from_inside_a_job_leaves_one_entry)
{
    make();
    probe driver = {.inside = replace_j};
    for (int i = 0; i < 1000; i++) {
        ck_assert_int_eq(put(1, &driver, now(), 0), 0);
        ck_assert_int_eq(run_due(), 1);
        ck_assert_uint_eq(stats().entries, 1);
        advance(now() + 1);
    }
    advance(now() + 19);
    ck_assert_int_eq(run_due(), 1);
    ck_assert_uint_eq(stats().entries, 0);
    unmake();
}
END_TEST

START_TEST(pending_max_bounds_what_is_stored)
{
    make_with((belay_sched_opts){.pending_max = 1000});
    static probe jobs[1001];
    for (uint64_t i = 0; i < 1000; i++) {
        ck_assert_int_eq(put(i, &jobs[i], 10, 0), 0);
    }
    ck_assert_int_eq(put(1000, &jobs[1000], 10, 0), BELAY_EFULL);
    ck_assert_uint_eq(stats().pending, 1000);
    ck_assert_int_eq(state_of(1000), BELAY_ENOENT);
    unmake();
    ck_assert_int_eq(jobs[1000].drops, 0);
}
END_TEST

/* The claim window, both ways: a replacement comes just before the claim, or just after it. */
START_TEST(replacement_in_the_claim_window_has_two_outcomes)
{
    make();
    probe old = {0};
    probe new = {0};
    belay_claim *claim = NULL;
    ck_assert_int_eq(put(1, &old, 0, 0), 0);
    ck_assert_int_eq(put(1, &new, 3600 * SECOND, 0), BELAY_REPLACED);
    ck_assert_int_eq(belay_sched_next(test_sched, BELAY_NOW, &claim, NULL), BELAY_EAGAIN);
    ck_assert_int_eq(old.runs, 0);
    ck_assert_int_eq(old.drops, 1);
    old = (probe){0};
    ck_assert_int_eq(put(2, &old, 0, 0), 0);
    ck_assert_int_eq(belay_sched_next(test_sched, BELAY_NOW, &claim, NULL), 0);
    ck_assert_int_eq(put(2, &new, 3600 * SECOND, 0), BELAY_STILL_RUNNING);
    ck_assert_int_eq(belay_claim_run(claim), 0);
    ck_assert_int_eq(old.runs, 1);
    ck_assert_int_eq(old.drops, 0);
    ck_assert_int_eq(put(3, &old, 0, 0), 0);
    ck_assert_int_eq(run_due(), 1);
    ck_assert_int_eq(put(3, &new, 3600 * SECOND, 0), 0); /* its fn had returned */
    unmake();
}
END_TEST

START_TEST(return_codes_tell_one_history)
{
    make();
    probe self = {0};
    ck_assert_int_eq(belay_sched_cancel(test_sched, BELAY_ID(1)), BELAY_ENOENT);
    ck_assert_int_eq(put(1, &self, 10, 0), 0);
    ck_assert_int_eq(put(1, &self, 10, 0), BELAY_REPLACED);
    ck_assert_int_eq(belay_sched_cancel(test_sched, BELAY_ID(1)), 0);
    ck_assert_int_eq(put(1, &self, 0, 0), 0);
    ck_assert_int_eq(run_due(), 1);
    ck_assert_int_eq(belay_sched_cancel(test_sched, BELAY_ID(1)), BELAY_ENOENT);
    ck_assert_int_eq(put(1, &self, 10, 0), 0);
    unmake();
}
END_TEST

/* Delays beyond 2^31 ms that became one millisecond: storms. */
START_TEST(far_times_never_fire_early)
{
    make_started(4);
    static const int64_t far[] = {(INT64_C(1) << 31) * MS, ((INT64_C(1) << 32) + 5000) * MS,
                                  INT64_MAX - 1, BELAY_FOREVER};
    probe jobs[5];
    memset(jobs, 0, sizeof jobs);
    for (uint64_t i = 0; i < 4; i++) {
        ck_assert_int_eq(put(i, &jobs[i], far[i], 0), 0);
    }
    ck_assert_int_eq(put(4, &jobs[4], belay_time_add(now() + 1, INT64_MAX), 0), 0);
    ck_assert_int_eq(belay_test_exec_run_until(test_exec, far[0] - 1), 0);
    ck_assert_int_eq(belay_test_exec_run_until(test_exec, far[0]), 1);
    ck_assert_int_eq(belay_test_exec_run_until(test_exec, far[1] - 1), 0);
    ck_assert_int_eq(belay_test_exec_run_until(test_exec, far[1]), 1);
    ck_assert_int_eq(belay_test_exec_run_until(test_exec, INT64_MAX - 2), 0);
    ck_assert_int_eq(jobs[2].runs + jobs[3].runs + jobs[4].runs, 0);
    unmake();
}
END_TEST

/* A new short delay behind an overdue head: the dispatcher sleeps on its old, long timeout. */
START_TEST(overdue_head_does_not_hide_a_new_short_delay)
{
    make_started(1);
    probe busy = {.status = BELAY_PENDING};
    probe overdue = {.number = 1};
    probe quick = {.number = 2};
    ck_assert_int_eq(put(1, &busy, 0, 0), 0);
    ck_assert_int_eq(run_exec(), 1);
    ck_assert_int_eq(put(2, &overdue, 10, 0), 0);
    advance(SECOND); /* overdue: no permit is free */
    ck_assert_int_eq(put(3, &quick, now() + MS, 0), 0);
    ck_assert_int_eq(belay_claim_done(busy.claim, 0), 0);
    ck_assert_int_eq(run_exec(), 1);
    ck_assert_int_eq(overdue.runs, 1);
    ck_assert_int_eq(belay_manual_clock_next_deadline(test_clock), now() + MS);
    advance(now() + MS);
    ck_assert_int_eq(run_exec(), 1);
    ck_assert_int_eq(quick.runs, 1);
    unmake();
}
END_TEST

/* A shortened period that wakes nobody, and then a burst of what was missed. */
START_TEST(shortened_period_wakes_the_timer_and_makes_no_burst)
{
    make_started(1);
    probe slow = {0};
    probe fast = {0};
    belay_job job = job_of(&slow, 60 * SECOND, 0);
    job.next = belay_every;
    job.period_ns = 60 * SECOND;
    ck_assert_int_eq(belay_sched_schedule(test_sched, BELAY_ID(1), &job, NULL), 0);
    advance(30 * SECOND);
    job.arg = &fast;
    job.run_at_ns = now() + SECOND;
    job.period_ns = SECOND;
    ck_assert_int_eq(belay_sched_schedule(test_sched, BELAY_ID(1), &job, NULL), BELAY_REPLACED);
    ck_assert_int_eq(belay_manual_clock_next_deadline(test_clock), 31 * SECOND);
    ck_assert_int_eq(belay_test_exec_run_until(test_exec, 40 * SECOND), 10);
    ck_assert_int_eq(fast.runs, 10);
    ck_assert_int_eq(slow.runs, 0);
    unmake();
}
END_TEST

/* Waits that hang when the time of day is set back. */
START_TEST(step_of_the_wall_clock_moves_no_deadline)
{
    make_started(1);
    probe self = {0};
    ck_assert_int_eq(put(1, &self, SECOND, 0), 0);
    ck_assert_int_eq(belay_manual_clock_set_wall(test_clock, -3600 * SECOND), 0);
    ck_assert_int_eq(belay_manual_clock_next_deadline(test_clock), SECOND);
    advance(SECOND);
    ck_assert_int_eq(run_exec(), 1);
    ck_assert_int_eq(self.runs, 1);
    unmake();
}
END_TEST

/* A job that is silently dropped for being late because the workers were busy. */
START_TEST(late_one_shot_runs_late_and_once)
{
    make_started(1);
    probe busy = {.status = BELAY_PENDING};
    probe late = {0};
    ck_assert_int_eq(put(1, &busy, 0, 0), 0);
    ck_assert_int_eq(run_exec(), 1);
    ck_assert_int_eq(put(2, &late, SECOND / 2, 0), 0);
    ck_assert_int_eq(belay_test_exec_run_until(test_exec, 3 * SECOND), 0);
    ck_assert_int_eq(belay_claim_done(busy.claim, 0), 0);
    ck_assert_int_eq(run_exec(), 1);
    ck_assert_int_eq(late.runs, 1);
    ck_assert_int_eq(stats().lateness_max_ns, 5 * SECOND / 2);
    unmake();
}
END_TEST

START_TEST(scheduling_others_does_not_run_a_job_again)
{
    make();
    probe a = {0};
    probe b = {0};
    ck_assert_int_eq(put(1, &a, 0, 0), 0);
    ck_assert_int_eq(run_due(), 1);
    ck_assert_int_eq(put(2, &b, 0, 0), 0);
    ck_assert_int_eq(put(3, &b, 0, 0), 0);
    ck_assert_int_eq(put(3, &b, 0, 0), BELAY_REPLACED);
    ck_assert_int_eq(run_due(), 2);
    ck_assert_int_eq(a.runs, 1);
    unmake();
}
END_TEST

/* An overlap guard shared by all jobs, or one that a failure leaves locked. */
START_TEST(running_or_failed_job_holds_up_no_other_id)
{
    make_started(4);
    probe slow = {.status = BELAY_PENDING};
    probe fails = {.status = -1};
    belay_job job = job_of(&slow, 0, 0);
    job.next = belay_every;
    job.period_ns = 5 * SECOND;
    ck_assert_int_eq(belay_sched_schedule(test_sched, BELAY_ID(1), &job, NULL), 0);
    job.arg = &fails;
    ck_assert_int_eq(belay_sched_schedule(test_sched, BELAY_ID(2), &job, NULL), 0);
    ck_assert_int_gt(belay_test_exec_run_until(test_exec, 60 * SECOND), 0);
    ck_assert_int_eq(slow.runs, 1); /* runs of one id never overlap */
    ck_assert_int_eq(fails.runs, 13);
    ck_assert_int_eq(belay_claim_done(slow.claim, -1), 0);
    ck_assert_int_gt(run_exec(), 0);
    ck_assert_int_eq(slow.runs, 2);
    ck_assert_uint_eq(slow.missed, 11);
    ck_assert_int_eq(belay_claim_done(slow.claim, 0), 0);
    unmake();
}
END_TEST

static void look_at_itself(probe *self)
{
    belay_job_info info = {.size = sizeof info};
    ck_assert_int_eq(belay_sched_cancel(test_sched, BELAY_ID(1)), BELAY_STILL_RUNNING);
    ck_assert_int_eq(belay_sched_query(test_sched, BELAY_ID(1), &info), 0);
    ck_assert_int_eq(info.state, BELAY_JOB_RUNNING);
    ck_assert_uint_eq(info.is_canceled, 1);
    self->number = 0;
}

/* "Done" reported while the code still runs. */
START_TEST(canceled_job_is_running_until_its_fn_returned)
{
    make();
    probe self = {.inside = look_at_itself};
    ck_assert_int_eq(put(1, &self, 0, 0), 0);
    ck_assert_int_eq(run_due(), 1);
    ck_assert_int_eq(state_of(1), BELAY_ENOENT);
    ck_assert_int_eq(belay_sched_cancel(test_sched, BELAY_ID(1)), BELAY_ENOENT);
    unmake();
}
END_TEST

/* Two threads race, again and again: one cancels, the other claims and runs. */

static pthread_barrier_t both;
static bool is_over; /* written before the barrier, read after it */
static probe raced;

static void *claim_raced(void *arg)
{
    (void)arg;
    for (;;) {
        (void)pthread_barrier_wait(&both);
        if (is_over) {
            return NULL;
        }
        (void)run_one();
        (void)pthread_barrier_wait(&both);
    }
}

#define RACES 10000

START_TEST(cancel_against_claim_has_two_outcomes)
{
    make();
    pthread_t thread;
    ck_assert_int_eq(pthread_barrier_init(&both, NULL, 2), 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, claim_raced, NULL), 0);
    for (int i = 0; i < RACES; i++) {
        raced = (probe){0};
        ck_assert_int_eq(put(1, &raced, 0, 0), 0);
        (void)pthread_barrier_wait(&both);
        int result = belay_sched_cancel(test_sched, BELAY_ID(1));
        (void)pthread_barrier_wait(&both);
        if (result == 0) {
            ck_assert_int_eq(raced.runs, 0);
            ck_assert_int_eq(raced.drops, 1);
        } else {
            /* Still running when it was told, or over by then. */
            ck_assert(result == BELAY_STILL_RUNNING || result == BELAY_ENOENT);
            ck_assert_int_eq(raced.runs, 1);
            ck_assert_int_eq(raced.drops, 0);
        }
    }
    is_over = true;
    (void)pthread_barrier_wait(&both);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    unmake();
}
END_TEST

START_TEST(running_max_zero_is_refused_and_driving_needs_no_thread)
{
    make();
    ck_assert_int_eq(belay_sched_start(test_sched, belay_inline(), 0), BELAY_EINVAL);
    probe self = {0};
    ck_assert_int_eq(put(1, &self, 10, 0), 0);
    /* Nothing waits for the time but the program itself. */
    ck_assert_int_eq(belay_manual_clock_next_deadline(test_clock), BELAY_FOREVER);
    advance(10);
    ck_assert_int_eq(run_due(), 1);
    unmake();
}
END_TEST

UNIT_MAIN("sched/cases", churn_leaves_no_dead_entries, replacing_from_inside_a_job_leaves_one_entry,
          pending_max_bounds_what_is_stored, replacement_in_the_claim_window_has_two_outcomes,
          return_codes_tell_one_history, far_times_never_fire_early,
          overdue_head_does_not_hide_a_new_short_delay,
          shortened_period_wakes_the_timer_and_makes_no_burst,
          step_of_the_wall_clock_moves_no_deadline, late_one_shot_runs_late_and_once,
          scheduling_others_does_not_run_a_job_again, running_or_failed_job_holds_up_no_other_id,
          canceled_job_is_running_until_its_fn_returned, cancel_against_claim_has_two_outcomes,
          running_max_zero_is_refused_and_driving_needs_no_thread)
