/*
 * test_close.c: closing, awaiting and destroying.
 */
#include "sync/sync.h"
#include "sched.h"

#include <pthread.h>

static void check_notes(const int *expected, int count)
{
    ck_assert_int_eq(note_count, count);
    for (int i = 0; i < count; i++) {
        ck_assert_int_eq(notes[i], expected[i]);
    }
}

START_TEST(close_refuses_what_it_does_not_know)
{
    make();
    ck_assert_int_eq(belay_sched_close(NULL, BELAY_CLOSE_DISCARD), BELAY_EINVAL);
    ck_assert_int_eq(belay_sched_close(test_sched, 0), BELAY_EINVAL);
    ck_assert_int_eq(belay_sched_close(test_sched, BELAY_CLOSE_SIGNAL), BELAY_EINVAL);
    ck_assert_int_eq(belay_sched_close(test_sched, BELAY_CLOSE_DISCARD | BELAY_CLOSE_DRAIN_DUE),
                     BELAY_EINVAL);
    ck_assert_int_eq(belay_sched_close(test_sched, BELAY_CLOSE_DISCARD | 8), BELAY_EINVAL);
    ck_assert_int_eq(belay_sched_await(NULL, BELAY_NOW), BELAY_EINVAL);
    ck_assert_int_eq(belay_sched_await(test_sched, BELAY_NOW), BELAY_ETIMEDOUT);
    ck_assert_int_eq(belay_sched_await(test_sched, now()), BELAY_ETIMEDOUT);
    ck_assert_int_eq(belay_sched_destroy(test_sched), BELAY_EBUSY);
    unmake();
}
END_TEST

START_TEST(discard_drops_all_that_has_not_started_in_key_order)
{
    make();
    probe jobs[5];
    memset(jobs, 0, sizeof jobs);
    static const int64_t times[] = {30, 10, 20, 10, 5};
    for (int i = 0; i < 5; i++) {
        jobs[i].number = i + 1;
        ck_assert_int_eq(put((uint64_t)i, &jobs[i], times[i], i), 0);
    }
    jobs[4].status = BELAY_PENDING;
    advance(5);
    ck_assert_int_eq(run_one(), 0);
    probe held = {.number = 6};
    ck_assert_int_eq(put(4, &held, 15, 0), BELAY_STILL_RUNNING);
    ck_assert_int_eq(belay_sched_close(test_sched, BELAY_CLOSE_DISCARD), 0);
    check_notes((const int[]){5, -4, -2, -6, -3, -1}, 6);
    ck_assert_int_eq(held.why, BELAY_DROP_CLOSED);
    ck_assert_int_eq(put(9, &held, 0, 0), BELAY_ECLOSED);
    ck_assert_int_eq(belay_sched_await(test_sched, BELAY_NOW), BELAY_ETIMEDOUT);
    ck_assert_int_eq(belay_sched_destroy(test_sched), BELAY_EBUSY);
    ck_assert_int_eq(belay_claim_done(jobs[4].claim, 0), 0);
    ck_assert_int_eq(belay_sched_await(test_sched, BELAY_NOW), 0);
    ck_assert_uint_eq(stats().dropped, 5);
    unmake();
}
END_TEST

START_TEST(drain_owes_what_is_due_and_drops_the_rest)
{
    make();
    probe jobs[6];
    memset(jobs, 0, sizeof jobs);
    static const int64_t times[] = {10, 11, 10, 12, 4, 11};
    for (int i = 0; i < 6; i++) {
        jobs[i].number = i + 1;
        ck_assert_int_eq(put((uint64_t)i, &jobs[i], times[i], 0), 0);
    }
    jobs[4].status = BELAY_PENDING;
    advance(4);
    ck_assert_int_eq(run_one(), 0);
    probe held_due = {.number = 7};
    ck_assert_int_eq(put(4, &held_due, 9, 0), BELAY_STILL_RUNNING);
    advance(10);
    ck_assert_int_eq(belay_sched_close(test_sched, BELAY_CLOSE_DRAIN_DUE), 0);
    check_notes((const int[]){5, -2, -6, -4}, 4);
    advance(100);
    ck_assert_int_eq(run_due(), 2);
    belay_claim *claim = NULL;
    int64_t next = 0;
    ck_assert_int_eq(belay_sched_next(test_sched, BELAY_NOW, &claim, &next), BELAY_EAGAIN);
    ck_assert_int_eq(next, BELAY_FOREVER);
    ck_assert_int_eq(belay_claim_done(jobs[4].claim, 0), 0);
    ck_assert_int_eq(run_one(), 0);
    ck_assert_int_eq(run_one(), BELAY_ECLOSED);
    check_notes((const int[]){5, -2, -6, -4, 1, 3, 7}, 7);
    unmake();
}
END_TEST

START_TEST(dropped_by_a_close_is_gone_for_every_call)
{
    make();
    probe a = {0};
    probe b = {.status = BELAY_PENDING};
    belay_job job = job_of(&a, 10, 0);
    belay_job_handle handle;
    ck_assert_int_eq(belay_sched_schedule(test_sched, BELAY_ID(1), &job, &handle), 0);
    ck_assert_int_eq(put(2, &b, 0, 0), 0);
    ck_assert_int_eq(run_one(), 0);
    ck_assert_int_eq(belay_sched_close(test_sched, BELAY_CLOSE_DRAIN_DUE), 0);
    ck_assert_int_eq(belay_sched_cancel(test_sched, BELAY_ID(1)), BELAY_ENOENT);
    ck_assert_int_eq(belay_sched_cancel_handle(test_sched, handle), BELAY_ESTALE);
    ck_assert_int_eq(state_of(1), BELAY_ENOENT);
    ck_assert_int_eq(state_of(2), BELAY_JOB_RUNNING);
    ck_assert_int_eq(belay_sched_cancel(test_sched, BELAY_ID(2)), BELAY_STILL_RUNNING);
    ck_assert_int_eq(belay_claim_done(b.claim, 0), 0);
    unmake();
}
END_TEST

START_TEST(close_may_only_escalate)
{
    make();
    probe due = {0};
    probe running = {.status = BELAY_PENDING};
    ck_assert_int_eq(put(1, &running, 0, 0), 0);
    ck_assert_int_eq(run_one(), 0);
    ck_assert_int_eq(put(2, &due, 0, 0), 0);
    ck_assert_int_eq(belay_sched_close(test_sched, BELAY_CLOSE_DRAIN_DUE), 0);
    ck_assert_int_eq(due.drops, 0);
    ck_assert(!belay_claim_is_canceled(running.claim));
    ck_assert_int_eq(belay_sched_close(test_sched, BELAY_CLOSE_DISCARD), 0);
    ck_assert_int_eq(due.drops, 1);
    ck_assert_int_eq(belay_sched_close(test_sched, BELAY_CLOSE_DRAIN_DUE), 0);
    ck_assert_int_eq(belay_sched_close(test_sched, BELAY_CLOSE_DRAIN_DUE | BELAY_CLOSE_SIGNAL), 0);
    ck_assert(belay_claim_is_canceled(running.claim));
    ck_assert_int_eq(belay_sched_close(test_sched, BELAY_CLOSE_DISCARD | BELAY_CLOSE_SIGNAL), 0);
    ck_assert_uint_eq(stats().signalled, 1);
    ck_assert_int_eq(belay_claim_done(running.claim, 0), 0);
    ck_assert_int_eq(belay_sched_close(test_sched, BELAY_CLOSE_DISCARD), 0);
    unmake();
}
END_TEST

START_TEST(running_job_that_ignores_its_cancel_keeps_await_waiting)
{
    make();
    probe self = {.status = BELAY_PENDING};
    ck_assert_int_eq(put(1, &self, 0, 0), 0);
    ck_assert_int_eq(run_one(), 0);
    ck_assert_int_eq(belay_sched_close(test_sched, BELAY_CLOSE_DISCARD | BELAY_CLOSE_SIGNAL), 0);
    ck_assert(belay_claim_is_canceled(self.claim));
    ck_assert_int_eq(belay_sched_await(test_sched, now()), BELAY_ETIMEDOUT);
    ck_assert_uint_eq(stats().running, 1);
    ck_assert_int_eq(belay_sched_destroy(test_sched), BELAY_EBUSY);
    ck_assert_int_eq(belay_claim_done(self.claim, 0), 0);
    ck_assert_int_eq(belay_sched_await(test_sched, BELAY_FOREVER), 0);
    unmake();
}
END_TEST

START_TEST(running_series_ends_by_the_close)
{
    make();
    probe running = {.status = BELAY_PENDING};
    probe due = {0};
    belay_job job = job_of(&running, 0, 0);
    job.next = belay_every;
    job.period_ns = 10;
    ck_assert_int_eq(belay_sched_schedule(test_sched, BELAY_ID(1), &job, NULL), 0);
    ck_assert_int_eq(run_one(), 0);
    job.arg = &due;
    ck_assert_int_eq(belay_sched_schedule(test_sched, BELAY_ID(2), &job, NULL), 0);
    ck_assert_int_eq(belay_sched_close(test_sched, BELAY_CLOSE_DRAIN_DUE), 0);
    advance(1000);
    ck_assert_int_eq(belay_claim_done(running.claim, 0), 0);
    ck_assert_int_eq(running.why, BELAY_DROP_CLOSED);
    /* The one that was due runs once, and is dropped then. */
    ck_assert_int_eq(run_due(), 1);
    ck_assert_int_eq(due.runs, 1);
    ck_assert_int_eq(due.drops, 1);
    ck_assert_int_eq(due.why, BELAY_DROP_CLOSED);
    ck_assert_int_eq(belay_sched_await(test_sched, BELAY_NOW), 0);
    unmake();
}
END_TEST

static int64_t next_and_close(void *arg, int64_t slot_ns, int64_t now_ns)
{
    (void)arg;
    (void)now_ns;
    ck_assert_int_eq(belay_sched_close(test_sched, BELAY_CLOSE_DRAIN_DUE), 0);
    return slot_ns + 10;
}

START_TEST(close_during_next_ends_the_series)
{
    make();
    probe self = {0};
    belay_job job = job_of(&self, 0, 0);
    job.next = next_and_close;
    ck_assert_int_eq(belay_sched_schedule(test_sched, BELAY_ID(1), &job, NULL), 0);
    ck_assert_int_eq(run_one(), 0);
    ck_assert_int_eq(self.drops, 1);
    ck_assert_int_eq(self.why, BELAY_DROP_CLOSED);
    ck_assert_int_eq(belay_sched_await(test_sched, BELAY_NOW), 0);
    unmake();
}
END_TEST

static int64_t next_and_cancel(void *arg, int64_t slot_ns, int64_t now_ns)
{
    (void)arg;
    (void)now_ns;
    ck_assert_int_eq(belay_sched_cancel(test_sched, BELAY_ID(1)), BELAY_STILL_RUNNING);
    return slot_ns + 10;
}

START_TEST(cancel_during_next_ends_the_series)
{
    make();
    probe self = {0};
    belay_job job = job_of(&self, 0, 0);
    job.next = next_and_cancel;
    ck_assert_int_eq(belay_sched_schedule(test_sched, BELAY_ID(1), &job, NULL), 0);
    ck_assert_int_eq(run_one(), 0);
    ck_assert_int_eq(self.drops, 1);
    ck_assert_int_eq(self.why, BELAY_DROP_CANCELED);
    unmake();
}
END_TEST

static void close_inside(probe *self)
{
    ck_assert_int_eq(belay_sched_close(test_sched, BELAY_CLOSE_DISCARD), 0);
    ck_assert_int_eq(belay_sched_await(test_sched, BELAY_FOREVER), BELAY_EDEADLK);
    ck_assert_int_eq(belay_sched_destroy(test_sched), BELAY_EBUSY);
    self->inside = NULL;
}

START_TEST(job_may_close_its_scheduler_but_not_await_it)
{
    make();
    probe self = {.inside = close_inside};
    probe other = {0};
    ck_assert_int_eq(put(1, &self, 0, 1), 0);
    ck_assert_int_eq(put(2, &other, 0, 0), 0);
    ck_assert_int_eq(run_one(), 0);
    ck_assert_int_eq(other.drops, 1);
    ck_assert_int_eq(belay_sched_await(test_sched, BELAY_NOW), 0);
    unmake();
}
END_TEST

static int run_other(belay_claim *claim, void *arg)
{
    (void)claim;
    *(int *)arg = belay_sched_await(test_sched, BELAY_FOREVER);
    return 0;
}

/* From inside a job of this scheduler, runs one of another, which awaits this one. */
static void await_from_another(probe *self)
{
    belay_sched *other = NULL;
    belay_claim *claim = NULL;
    belay_job job = {.size = sizeof job, .fn = run_other, .arg = &self->status};
    ck_assert_int_eq(belay_sched_create(NULL, &other), 0);
    ck_assert_int_eq(belay_sched_schedule(other, BELAY_ID(1), &job, NULL), 0);
    ck_assert_int_eq(belay_sched_next(other, BELAY_NOW, &claim, NULL), 0);
    ck_assert_int_eq(belay_claim_run(claim), 0);
    ck_assert_int_eq(belay_sched_close(other, BELAY_CLOSE_DISCARD), 0);
    ck_assert_int_eq(belay_sched_destroy(other), 0);
}

START_TEST(job_inside_a_job_may_not_await_the_outer_one_s_scheduler)
{
    make();
    probe self = {.inside = await_from_another};
    ck_assert_int_eq(put(1, &self, 0, 0), 0);
    ck_assert_int_eq(run_one(), 0);
    ck_assert_int_eq(self.status, BELAY_EDEADLK);
    unmake();
}
END_TEST

START_TEST(started_job_may_close_its_scheduler)
{
    make_started(2);
    probe self = {.inside = close_inside};
    probe other = {0};
    ck_assert_int_eq(put(1, &self, 0, 1), 0);
    ck_assert_int_eq(put(2, &other, 10, 0), 0);
    ck_assert_int_eq(run_exec(), 1);
    ck_assert_int_eq(other.drops, 1);
    ck_assert_int_eq(belay_sched_await(test_sched, BELAY_NOW), 0);
    unmake();
}
END_TEST

static void close_again(probe *self)
{
    (void)self;
    ck_assert_int_eq(belay_sched_await(test_sched, BELAY_NOW), BELAY_EDEADLK);
    ck_assert_int_eq(belay_sched_close(test_sched, BELAY_CLOSE_DISCARD), 0);
    ck_assert_int_eq(belay_sched_destroy(test_sched), BELAY_EBUSY);
}

START_TEST(scheduler_is_closed_when_every_drop_has_returned)
{
    make();
    static probe jobs[300];
    for (uint64_t i = 0; i < 300; i++) {
        jobs[i] = (probe){.dropped = close_again};
        ck_assert_int_eq(put(i, &jobs[i], i < 100 ? 0 : 10, 0), 0);
    }
    ck_assert_int_eq(belay_sched_close(test_sched, BELAY_CLOSE_DRAIN_DUE), 0);
    for (uint64_t i = 0; i < 300; i++) {
        ck_assert_int_eq(jobs[i].drops, 1);
    }
    ck_assert_int_eq(belay_sched_await(test_sched, BELAY_NOW), 0);
    unmake();
}
END_TEST

START_TEST(started_drain_runs_what_is_due_and_ends)
{
    make_started(2);
    probe jobs[10];
    memset(jobs, 0, sizeof jobs);
    for (uint64_t i = 0; i < 10; i++) {
        ck_assert_int_eq(put(i, &jobs[i], i < 6 ? 0 : 10, 0), 0);
    }
    ck_assert_int_eq(belay_sched_close(test_sched, BELAY_CLOSE_DRAIN_DUE), 0);
    ck_assert_int_eq(belay_sched_await(test_sched, BELAY_NOW), BELAY_ETIMEDOUT);
    ck_assert_int_gt(run_exec(), 0);
    for (int i = 0; i < 10; i++) {
        ck_assert_int_eq(jobs[i].runs, i < 6);
        ck_assert_int_eq(jobs[i].drops, i >= 6);
    }
    ck_assert_int_eq(belay_sched_await(test_sched, BELAY_NOW), 0);
    ck_assert_int_eq(belay_manual_clock_next_deadline(test_clock), BELAY_FOREVER);
    ck_assert_int_eq(belay_sched_resize(test_sched, 2), BELAY_ECLOSED);
    unmake();
}
END_TEST

START_TEST(ticket_on_its_way_keeps_the_scheduler_from_being_closed)
{
    make_started(1);
    probe self = {0};
    ck_assert_int_eq(put(1, &self, 0, 0), 0);
    ck_assert_uint_eq(belay_test_exec_pending(test_exec), 1);
    ck_assert_int_eq(belay_sched_close(test_sched, BELAY_CLOSE_DISCARD), 0);
    ck_assert_int_eq(self.drops, 1);
    ck_assert_int_eq(belay_sched_await(test_sched, BELAY_NOW), BELAY_ETIMEDOUT);
    ck_assert_int_eq(run_exec(), 1);
    ck_assert_int_eq(belay_sched_await(test_sched, BELAY_NOW), 0);
    ck_assert_int_eq(self.runs, 0);
    unmake();
}
END_TEST

START_TEST(drain_with_aging_runs_what_is_due_in_its_order)
{
    make_with((belay_sched_opts){.aging_ns_per_priority = BELAY_FOREVER});
    static probe jobs[200];
    for (int i = 0; i < 200; i++) {
        jobs[i].number = i + 1;
        ck_assert_int_eq(put((uint64_t)i, &jobs[i], i, i % 10), 0);
    }
    advance(99);
    ck_assert_int_eq(run_one(), 0);
    ck_assert_int_eq(belay_sched_close(test_sched, BELAY_CLOSE_DRAIN_DUE), 0);
    ck_assert_int_eq(run_due(), 99);
    int last = 10;
    for (int i = 0; i < 200; i++) {
        ck_assert_int_eq(jobs[i].runs, i < 100);
        ck_assert_int_eq(jobs[i].drops, i >= 100);
    }
    for (int i = 101; i < note_count; i++) {
        ck_assert_int_le((notes[i] - 1) % 10, last);
        last = (notes[i] - 1) % 10;
    }
    for (int i = 2; i <= 100; i++) {
        ck_assert_int_lt(notes[i], notes[i - 1]); /* the drops came in key order */
    }
    unmake();
}
END_TEST

static void *await_closed(void *arg)
{
    int *result = arg;
    *result = belay_sched_await(test_sched, 1000);
    return NULL;
}

START_TEST(awaiters_are_told_or_time_out_on_the_clock)
{
    make();
    probe self = {.status = BELAY_PENDING};
    ck_assert_int_eq(put(1, &self, 0, 0), 0);
    ck_assert_int_eq(run_one(), 0);
    for (int round = 0; round < 2; round++) {
        pthread_t threads[3];
        int results[3];
        for (int i = 0; i < 3; i++) {
            ck_assert_int_eq(pthread_create(&threads[i], NULL, await_closed, &results[i]), 0);
        }
        ck_assert_int_eq(belay_manual_clock_await_sleepers(test_clock, round == 0 ? 3 : 0), 0);
        if (round == 0) {
            ck_assert_int_eq(belay_sched_close(test_sched, BELAY_CLOSE_DISCARD), 0);
            advance(1000);
        }
        for (int i = 0; i < 3; i++) {
            ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
            ck_assert_int_eq(results[i], BELAY_ETIMEDOUT);
        }
    }
    pthread_t thread;
    int result = 1;
    ck_assert_int_eq(belay_claim_done(self.claim, 0), 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, await_closed, &result), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_int_eq(result, 0);
    unmake();
}
END_TEST

static void *await_for_ever(void *arg)
{
    int *result = arg;
    *result = belay_sched_await(test_sched, BELAY_FOREVER);
    return NULL;
}

START_TEST(awaiters_wake_when_the_last_job_ends)
{
    make();
    probe self = {.status = BELAY_PENDING};
    ck_assert_int_eq(put(1, &self, 0, 0), 0);
    ck_assert_int_eq(run_one(), 0);
    ck_assert_int_eq(belay_sched_close(test_sched, BELAY_CLOSE_DISCARD), 0);
    pthread_t threads[3];
    int results[3] = {1, 1, 1};
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, await_for_ever, &results[i]), 0);
    }
    ck_assert_int_eq(belay_manual_clock_await_sleepers(test_clock, 3), 0);
    ck_assert_int_eq(belay_claim_done(self.claim, 0), 0);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
        ck_assert_int_eq(results[i], 0);
    }
    unmake();
}
END_TEST

static int64_t await_in_next(void *arg, int64_t slot_ns, int64_t now_ns)
{
    (void)slot_ns;
    (void)now_ns;
    *(int *)arg = belay_sched_await(test_sched, BELAY_FOREVER);
    return BELAY_FOREVER;
}

/* After the run, or instead of it when the slot is too late to be run. */
START_TEST(next_of_a_series_may_not_await_its_scheduler)
{
    for (int is_late = 0; is_late <= 1; is_late++) {
        make();
        int result = 0;
        probe self = {0};
        belay_job job = job_of(&self, 0, 0);
        job.next = await_in_next;
        job.next_arg = &result;
        job.missed = is_late ? BELAY_MISSED_SKIP : BELAY_MISSED_ONCE;
        job.late_max_ns = is_late;
        ck_assert_int_eq(belay_sched_schedule(test_sched, BELAY_ID(1), &job, NULL), 0);
        advance(10);
        ck_assert_int_eq(run_due(), !is_late);
        ck_assert_int_eq(result, BELAY_EDEADLK);
        unmake();
        ck_assert_int_eq(self.drops, 1);
    }
}
END_TEST

START_TEST(close_signals_every_claim_made_before_it)
{
    make();
    probe jobs[3];
    belay_claim *claims[3];
    memset(jobs, 0, sizeof jobs);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(put((uint64_t)i, &jobs[i], 0, 0), 0);
        ck_assert_int_eq(belay_sched_next(test_sched, BELAY_NOW, &claims[i], NULL), 0);
    }
    ck_assert_int_eq(belay_sched_close(test_sched, BELAY_CLOSE_DISCARD | BELAY_CLOSE_SIGNAL), 0);
    for (int i = 0; i < 3; i++) {
        ck_assert(belay_claim_is_canceled(claims[i]));
        ck_assert_int_eq(belay_claim_run(claims[i]), 0);
    }
    unmake();
}
END_TEST

START_TEST(discard_drops_what_was_due_with_aging_in_key_order)
{
    make_with((belay_sched_opts){.aging_ns_per_priority = 10});
    probe jobs[6];
    memset(jobs, 0, sizeof jobs);
    static const int64_t times[] = {4, 1, 3, 2, 6, 5};
    for (int i = 0; i < 6; i++) {
        jobs[i].number = i + 1;
        ck_assert_int_eq(put((uint64_t)i, &jobs[i], times[i], (int32_t)times[i]), 0);
    }
    advance(6);
    ck_assert_int_eq(run_one(), 0); /* the latest has the highest priority */
    ck_assert_int_eq(belay_sched_close(test_sched, BELAY_CLOSE_DISCARD), 0);
    check_notes((const int[]){5, -2, -4, -3, -1, -6}, 6);
    unmake();
}
END_TEST

START_TEST(discard_after_a_drain_drops_what_is_held_back_and_was_owed)
{
    make();
    probe running = {.status = BELAY_PENDING}, held = {0};
    ck_assert_int_eq(put(1, &running, 0, 0), 0);
    ck_assert_int_eq(run_one(), 0);
    ck_assert_int_eq(put(1, &held, 0, 0), BELAY_STILL_RUNNING);
    ck_assert_int_eq(belay_sched_close(test_sched, BELAY_CLOSE_DRAIN_DUE), 0);
    ck_assert_int_eq(held.drops, 0);
    ck_assert_int_eq(belay_sched_close(test_sched, BELAY_CLOSE_DISCARD), 0);
    ck_assert_int_eq(held.drops, 1);
    ck_assert_int_eq(belay_claim_done(running.claim, 0), 0);
    unmake();
}
END_TEST

static int blocks, unblocks;

static void count_block(void)
{
    blocks++;
    ck_assert_int_eq(unblocks, blocks - 1);
}

static void count_unblock(void)
{
    unblocks++;
}

static void *advance_when_it_sleeps(void *arg)
{
    (void)belay_manual_clock_await_sleepers(test_clock, 1);
    (void)belay_manual_clock_advance(test_clock, 10);
    return arg;
}

START_TEST(await_announces_itself_as_blocking)
{
    static const bly_blocking_hook hook = {.begin = count_block, .end = count_unblock};
    pthread_t thread;
    make();
    probe job = {0};
    ck_assert_int_eq(put(1, &job, 100, 0), 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, advance_when_it_sleeps, NULL), 0);
    bly_blocking_install(&hook);
    ck_assert_int_eq(belay_sched_await(test_sched, 10), BELAY_ETIMEDOUT);
    ck_assert_int_eq(blocks, 1);
    ck_assert_int_eq(unblocks, 1);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    unmake();
}
END_TEST

UNIT_MAIN("sched/close", close_refuses_what_it_does_not_know,
          discard_drops_all_that_has_not_started_in_key_order,
          drain_owes_what_is_due_and_drops_the_rest, dropped_by_a_close_is_gone_for_every_call,
          close_may_only_escalate, running_job_that_ignores_its_cancel_keeps_await_waiting,
          running_series_ends_by_the_close, close_during_next_ends_the_series,
          cancel_during_next_ends_the_series, job_may_close_its_scheduler_but_not_await_it,
          started_job_may_close_its_scheduler,
          job_inside_a_job_may_not_await_the_outer_one_s_scheduler,
          next_of_a_series_may_not_await_its_scheduler,
          scheduler_is_closed_when_every_drop_has_returned, started_drain_runs_what_is_due_and_ends,
          ticket_on_its_way_keeps_the_scheduler_from_being_closed,
          drain_with_aging_runs_what_is_due_in_its_order,
          awaiters_are_told_or_time_out_on_the_clock, awaiters_wake_when_the_last_job_ends,
          close_signals_every_claim_made_before_it,
          discard_drops_what_was_due_with_aging_in_key_order,
          discard_after_a_drain_drops_what_is_held_back_and_was_owed,
          await_announces_itself_as_blocking)
