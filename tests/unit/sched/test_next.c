/*
 * test_next.c: threads that wait in belay_sched_next, on a manual clock.
 */
#include "sched.h"

#include <pthread.h>

/* A thread that asks once. */
typedef struct asker {
    pthread_t thread;
    int64_t deadline_ns;
    belay_claim *claim;
    int64_t next_ns;
    int64_t woken_ns; /* the clock when it came back */
    int result;
} asker;

static void *ask(void *arg)
{
    asker *self = arg;
    self->result = belay_sched_next(test_sched, self->deadline_ns, &self->claim, &self->next_ns);
    self->woken_ns = now();
    if (self->result == 0) {
        (void)belay_claim_run(self->claim);
    }
    return NULL;
}

static void start_asker(asker *self, int64_t deadline_ns, uint32_t sleepers)
{
    *self = (asker){.deadline_ns = deadline_ns, .next_ns = -1};
    ck_assert_int_eq(pthread_create(&self->thread, NULL, ask, self), 0);
    ck_assert_int_eq(belay_manual_clock_await_sleepers(test_clock, sleepers), 0);
}

static void join_asker(asker *self)
{
    ck_assert_int_eq(pthread_join(self->thread, NULL), 0);
}

START_TEST(next_looks_without_waiting)
{
    make();
    belay_claim *claim = NULL;
    int64_t next = 0;
    probe self = {0};
    ck_assert_int_eq(belay_sched_next(NULL, BELAY_NOW, &claim, &next), BELAY_EINVAL);
    ck_assert_int_eq(belay_sched_next(test_sched, BELAY_NOW, NULL, &next), BELAY_EINVAL);
    ck_assert_int_eq(belay_sched_next(test_sched, BELAY_NOW, &claim, &next), BELAY_EAGAIN);
    ck_assert_int_eq(next, BELAY_FOREVER);
    ck_assert_int_eq(put(1, &self, 50, 0), 0);
    ck_assert_int_eq(belay_sched_next(test_sched, BELAY_NOW, &claim, &next), BELAY_EAGAIN);
    ck_assert_int_eq(next, 50);
    ck_assert_int_eq(belay_sched_next(test_sched, now(), &claim, &next), BELAY_ETIMEDOUT);
    ck_assert_int_eq(next, 50);
    ck_assert_ptr_null(claim);
    advance(50);
    ck_assert_int_eq(run_one(), 0);
    ck_assert_int_eq(belay_sched_close(test_sched, BELAY_CLOSE_DRAIN_DUE), 0);
    ck_assert_int_eq(belay_sched_next(test_sched, BELAY_NOW, &claim, &next), BELAY_ECLOSED);
    ck_assert_int_eq(belay_sched_next(test_sched, BELAY_FOREVER, &claim, &next), BELAY_ECLOSED);
    unmake();
}
END_TEST

START_TEST(waiter_claims_at_the_head_s_time)
{
    make();
    probe self = {0};
    asker waiter;
    ck_assert_int_eq(put(1, &self, 100, 0), 0);
    start_asker(&waiter, BELAY_FOREVER, 1);
    ck_assert_int_eq(belay_manual_clock_next_deadline(test_clock), 100);
    advance(100);
    join_asker(&waiter);
    ck_assert_int_eq(waiter.result, 0);
    ck_assert_int_eq(self.runs, 1);
    ck_assert_uint_eq(stats().wakeups, 1);
    ck_assert_uint_eq(stats().wakeups_spurious, 0);
    unmake();
}
END_TEST

START_TEST(waiter_times_out_at_its_deadline)
{
    make();
    probe self = {0};
    asker waiter;
    ck_assert_int_eq(put(1, &self, 100, 0), 0);
    start_asker(&waiter, 60, 1);
    advance(60);
    join_asker(&waiter);
    ck_assert_int_eq(waiter.result, BELAY_ETIMEDOUT);
    ck_assert_int_eq(waiter.next_ns, 100);
    ck_assert_int_eq(self.runs, 0);
    unmake();
}
END_TEST

START_TEST(earlier_submission_wakes_the_waiter)
{
    static const int64_t times[] = {5, 0, -1000};
    for (int i = 0; i < 3; i++) {
        make();
        probe far = {0};
        probe near = {0};
        asker waiter;
        ck_assert_int_eq(put(1, &far, 100, 0), 0);
        start_asker(&waiter, BELAY_FOREVER, 1);
        ck_assert_int_eq(put(2, &near, times[i], 0), 0);
        if (times[i] > 0) {
            ck_assert_int_eq(belay_manual_clock_await_sleepers(test_clock, 1), 0);
            advance(times[i]);
        }
        join_asker(&waiter);
        ck_assert_int_eq(near.runs, 1);
        ck_assert_int_eq(far.runs, 0);
        unmake();
    }
}
END_TEST

START_TEST(replacing_the_head_by_an_earlier_time_wakes_the_waiter)
{
    make();
    probe old = {0};
    probe new = {0};
    asker waiter;
    ck_assert_int_eq(put(1, &old, 100, 0), 0);
    start_asker(&waiter, BELAY_FOREVER, 1);
    ck_assert_int_eq(put(1, &new, 0, 0), BELAY_REPLACED);
    join_asker(&waiter);
    ck_assert_int_eq(new.runs, 1);
    ck_assert_int_eq(old.runs, 0);
    unmake();
}
END_TEST

START_TEST(removal_of_the_head_leaves_no_wrong_time_behind)
{
    make();
    probe gone = {0};
    probe late = {0};
    asker waiter;
    ck_assert_int_eq(put(1, &gone, 100, 0), 0);
    ck_assert_int_eq(put(2, &late, 300, 0), 0);
    start_asker(&waiter, BELAY_FOREVER, 1);
    ck_assert_int_eq(belay_sched_cancel(test_sched, BELAY_ID(1)), 0);
    advance(299);
    ck_assert_int_eq(late.runs, 0);
    ck_assert_int_eq(belay_manual_clock_await_sleepers(test_clock, 1), 0);
    advance(300);
    join_asker(&waiter);
    ck_assert_int_eq(late.runs, 1);
    ck_assert_int_eq(waiter.woken_ns, 300);
    unmake();
}
END_TEST

START_TEST(only_the_leader_keeps_the_time)
{
    make();
    probe self = {0};
    asker waiters[3];
    ck_assert_int_eq(put(1, &self, 100, 0), 0);
    start_asker(&waiters[0], 1000, 1);
    start_asker(&waiters[1], 2000, 2);
    start_asker(&waiters[2], 3000, 3);
    advance(100);
    join_asker(&waiters[0]);
    ck_assert_int_eq(waiters[0].result, 0);
    /* Nothing is left to wait for, so nobody was woken. */
    ck_assert_uint_eq(stats().wakeups, 1);
    ck_assert_uint_eq(stats().wakeups_spurious, 0);
    ck_assert_int_eq(belay_manual_clock_next_deadline(test_clock), 2000);
    advance(3000);
    join_asker(&waiters[1]);
    join_asker(&waiters[2]);
    ck_assert_int_eq(waiters[1].result, BELAY_ETIMEDOUT);
    ck_assert_int_eq(waiters[2].result, BELAY_ETIMEDOUT);
    unmake();
}
END_TEST

START_TEST(leader_that_times_out_passes_the_lead_on)
{
    make();
    probe self = {0};
    asker waiters[2];
    ck_assert_int_eq(put(1, &self, 100, 0), 0);
    start_asker(&waiters[0], 50, 1);
    start_asker(&waiters[1], BELAY_FOREVER, 2);
    advance(50);
    join_asker(&waiters[0]);
    ck_assert_int_eq(waiters[0].result, BELAY_ETIMEDOUT);
    ck_assert_int_eq(belay_manual_clock_await_sleepers(test_clock, 1), 0);
    advance(100);
    join_asker(&waiters[1]);
    ck_assert_int_eq(waiters[1].result, 0);
    ck_assert_int_eq(self.runs, 1);
    unmake();
}
END_TEST

START_TEST(several_due_at_once_are_claimed_by_several_waiters)
{
    make();
    probe jobs[3] = {{.status = BELAY_PENDING}, {.status = BELAY_PENDING}, {0}};
    asker waiters[3];
    for (uint32_t i = 0; i < 3; i++) {
        start_asker(&waiters[i], BELAY_FOREVER, i + 1);
    }
    for (uint64_t i = 0; i < 3; i++) {
        ck_assert_int_eq(put(i, &jobs[i], 10, 0), 0);
    }
    ck_assert_int_eq(belay_manual_clock_await_sleepers(test_clock, 3), 0);
    advance(10);
    for (int i = 0; i < 3; i++) {
        join_asker(&waiters[i]);
        ck_assert_int_eq(waiters[i].result, 0);
        ck_assert_int_eq(jobs[i].runs, 1);
    }
    ck_assert_uint_eq(stats().running_peak >= 2, 1);
    ck_assert_int_eq(belay_claim_done(jobs[0].claim, 0), 0);
    ck_assert_int_eq(belay_claim_done(jobs[1].claim, 0), 0);
    unmake();
}
END_TEST

START_TEST(close_wakes_all_waiters)
{
    make();
    probe self = {0};
    asker waiters[3];
    ck_assert_int_eq(put(1, &self, 100, 0), 0);
    for (uint32_t i = 0; i < 3; i++) {
        start_asker(&waiters[i], BELAY_FOREVER, i + 1);
    }
    ck_assert_int_eq(belay_sched_close(test_sched, BELAY_CLOSE_DISCARD), 0);
    ck_assert_int_eq(belay_sched_await(test_sched, BELAY_FOREVER), 0);
    ck_assert_int_eq(belay_sched_destroy(test_sched), 0);
    for (int i = 0; i < 3; i++) {
        join_asker(&waiters[i]);
        ck_assert_int_eq(waiters[i].result, BELAY_ECLOSED);
    }
    ck_assert_int_eq(self.drops, 1);
    ck_assert_int_eq(belay_manual_clock_destroy(test_clock), 0);
}
END_TEST

START_TEST(drain_keeps_waiters_while_something_is_held_back)
{
    make();
    probe running = {.status = BELAY_PENDING};
    probe held = {0};
    asker waiter;
    ck_assert_int_eq(put(1, &running, 0, 0), 0);
    ck_assert_int_eq(run_one(), 0);
    ck_assert_int_eq(put(1, &held, 0, 0), BELAY_STILL_RUNNING);
    start_asker(&waiter, BELAY_FOREVER, 1);
    ck_assert_int_eq(belay_sched_close(test_sched, BELAY_CLOSE_DRAIN_DUE), 0);
    ck_assert_int_eq(belay_claim_done(running.claim, 0), 0);
    join_asker(&waiter);
    ck_assert_int_eq(waiter.result, 0);
    ck_assert_int_eq(held.runs, 1);
    ck_assert_int_eq(belay_sched_await(test_sched, BELAY_NOW), 0);
    unmake();
}
END_TEST

START_TEST(overdue_head_is_seen_by_the_next_waiter)
{
    make();
    probe overdue = {.status = BELAY_PENDING};
    probe soon = {0};
    asker waiter;
    ck_assert_int_eq(put(1, &overdue, 10, 0), 0);
    advance(500);
    ck_assert_int_eq(put(2, &soon, 501, 0), 0);
    ck_assert_int_eq(run_one(), 0);
    ck_assert_int_eq(overdue.runs, 1);
    start_asker(&waiter, BELAY_FOREVER, 1);
    advance(501);
    join_asker(&waiter);
    ck_assert_int_eq(soon.runs, 1);
    ck_assert_int_eq(belay_claim_done(overdue.claim, 0), 0);
    unmake();
}
END_TEST

START_TEST(waiter_that_wakes_for_nothing_is_counted_as_that)
{
    make();
    probe self = {0}, later = {0};
    asker waiter;
    ck_assert_int_eq(put(1, &later, 100, 0), 0);
    start_asker(&waiter, BELAY_FOREVER, 1);
    ck_assert_int_eq(put(2, &self, 50, 0), 0);
    ck_assert_int_eq(belay_manual_clock_await_sleepers(test_clock, 1), 0);
    ck_assert_int_eq(belay_manual_clock_next_deadline(test_clock), 50);
    advance(50);
    join_asker(&waiter);
    ck_assert_uint_eq(stats().wakeups, 1);
    ck_assert_uint_eq(stats().wakeups_spurious, 1);
    ck_assert_int_eq(belay_sched_cancel(test_sched, BELAY_ID(1)), 0);
    ck_assert_int_eq(run_one(), BELAY_EAGAIN);
    ck_assert_uint_eq(stats().wakeups_spurious, 1);
    unmake();
}
END_TEST

UNIT_MAIN("sched/next", next_looks_without_waiting, waiter_claims_at_the_head_s_time,
          waiter_times_out_at_its_deadline, earlier_submission_wakes_the_waiter,
          replacing_the_head_by_an_earlier_time_wakes_the_waiter,
          removal_of_the_head_leaves_no_wrong_time_behind, only_the_leader_keeps_the_time,
          leader_that_times_out_passes_the_lead_on,
          several_due_at_once_are_claimed_by_several_waiters, close_wakes_all_waiters,
          drain_keeps_waiters_while_something_is_held_back, overdue_head_is_seen_by_the_next_waiter,
          waiter_that_wakes_for_nothing_is_counted_as_that)
