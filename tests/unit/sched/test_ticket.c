/*
 * test_ticket.c: a started scheduler on an executor that is stepped by hand.
 */
#include "sched.h"

#include <pthread.h>

START_TEST(start_refuses_what_it_cannot_do)
{
    make();
    belay_sched *other = NULL;
    belay_claim *claim = NULL;
    ck_assert_int_eq(belay_sched_start(NULL, belay_inline(), 1), BELAY_EINVAL);
    ck_assert_int_eq(belay_sched_start(test_sched, NULL, 1), BELAY_EINVAL);
    ck_assert_int_eq(belay_sched_start(test_sched, belay_inline(), 0), BELAY_EINVAL);
    ck_assert_int_eq(belay_sched_start(test_sched, belay_inline(), 1u + BELAY_RUNNING_MAX),
                     BELAY_EINVAL);
    ck_assert_int_eq(belay_sched_resize(test_sched, 1), BELAY_EBUSY);
    ck_assert_int_eq(belay_sched_start(test_sched, belay_inline(), 1), 0);
    ck_assert_int_eq(belay_sched_start(test_sched, belay_inline(), 1), BELAY_EBUSY);
    ck_assert_int_eq(belay_sched_next(test_sched, BELAY_NOW, &claim, NULL), BELAY_EBUSY);
    ck_assert_int_eq(belay_sched_resize(test_sched, 0), BELAY_EINVAL);
    ck_assert_int_eq(belay_sched_resize(NULL, 1), BELAY_EINVAL);
    ck_assert_int_eq(belay_sched_create(NULL, &other), 0);
    ck_assert_int_eq(belay_sched_next(other, BELAY_NOW, &claim, NULL), BELAY_EAGAIN);
    ck_assert_int_eq(belay_sched_start(other, belay_inline(), 1), BELAY_EBUSY);
    ck_assert_int_eq(belay_sched_close(other, BELAY_CLOSE_DISCARD), 0);
    ck_assert_int_eq(belay_sched_destroy(other), 0);
    ck_assert_int_eq(belay_sched_create(NULL, &other), 0);
    ck_assert_int_eq(belay_sched_close(other, BELAY_CLOSE_DISCARD), 0);
    ck_assert_int_eq(belay_sched_start(other, belay_inline(), 1), BELAY_ECLOSED);
    ck_assert_int_eq(belay_sched_destroy(other), 0);
    unmake();
}
END_TEST

START_TEST(start_refuses_timers_of_another_clock)
{
    make();
    belay_timers_opts opts = {.size = sizeof opts, .is_polled = 1};
    belay_timers *timers = NULL;
    ck_assert_int_eq(belay_timers_create(&opts, &timers), 0);
    belay_sched_opts sched_opts = {
        .size = sizeof sched_opts, .clock = test_clock, .timers = timers};
    belay_sched *sched = NULL;
    ck_assert_int_eq(belay_sched_create(&sched_opts, &sched), 0);
    ck_assert_int_eq(belay_sched_start(sched, belay_inline(), 1), BELAY_EINVAL);
    /* A failed start leaves it as it was. */
    belay_claim *claim = NULL;
    ck_assert_int_eq(belay_sched_next(sched, BELAY_NOW, &claim, NULL), BELAY_EAGAIN);
    ck_assert_int_eq(belay_sched_close(sched, BELAY_CLOSE_DISCARD), 0);
    ck_assert_int_eq(belay_sched_destroy(sched), 0);
    ck_assert_int_eq(belay_timers_destroy(timers), 0);
    unmake();
}
END_TEST

START_TEST(executor_is_attached_until_destroy)
{
    make_started(1);
    ck_assert_int_eq(belay_test_exec_destroy(test_exec), BELAY_EBUSY);
    unmake();
}
END_TEST

START_TEST(what_was_scheduled_before_the_start_runs)
{
    make();
    probe self = {0};
    ck_assert_int_eq(put(1, &self, 0, 0), 0);
    belay_test_exec_opts opts = {.size = sizeof opts, .clock = test_clock};
    ck_assert_int_eq(belay_test_exec_create(&opts, &test_exec), 0);
    ck_assert_int_eq(belay_sched_start(test_sched, belay_test_exec_executor(test_exec), 1), 0);
    ck_assert_int_eq(run_exec(), 1);
    ck_assert_int_eq(self.runs, 1);
    unmake();
}
END_TEST

START_TEST(future_work_is_never_handed_to_the_executor)
{
    make_started(4);
    probe jobs[3];
    memset(jobs, 0, sizeof jobs);
    for (uint64_t i = 0; i < 3; i++) {
        ck_assert_int_eq(put(i, &jobs[i], 10 * (int64_t)(i + 1), 0), 0);
    }
    ck_assert_uint_eq(belay_test_exec_pending(test_exec), 0);
    advance(9);
    ck_assert_uint_eq(belay_test_exec_pending(test_exec), 0);
    advance(10);
    ck_assert_uint_eq(belay_test_exec_pending(test_exec), 1);
    ck_assert_int_eq(run_exec(), 1);
    ck_assert_int_eq(jobs[0].runs, 1);
    ck_assert_int_eq(belay_manual_clock_next_deadline(test_clock), 20);
    ck_assert_int_eq(belay_sched_cancel(test_sched, BELAY_ID(1)), 0);
    ck_assert_int_eq(belay_manual_clock_next_deadline(test_clock), 30);
    ck_assert_int_eq(belay_sched_cancel(test_sched, BELAY_ID(2)), 0);
    ck_assert_int_eq(belay_manual_clock_next_deadline(test_clock), BELAY_FOREVER);
    unmake();
}
END_TEST

START_TEST(best_job_is_chosen_when_the_ticket_runs)
{
    make_started(1);
    probe low = {.number = 1};
    probe high = {.number = 2};
    probe gone = {.number = 3};
    ck_assert_int_eq(put(1, &low, 5, 0), 0);
    ck_assert_int_eq(put(3, &gone, 5, 5), 0);
    advance(5);
    ck_assert_uint_eq(belay_test_exec_pending(test_exec), 1);
    ck_assert_int_eq(put(2, &high, 5, 9), 0);
    ck_assert_int_eq(belay_sched_cancel(test_sched, BELAY_ID(3)), 0);
    ck_assert_int_eq(run_exec(), 1);
    ck_assert_int_eq(note_count, 3);
    ck_assert_int_eq(notes[0], -3);
    ck_assert_int_eq(notes[1], 2);
    ck_assert_int_eq(notes[2], 1);
    unmake();
}
END_TEST

START_TEST(ticket_without_a_job_claims_nothing)
{
    make_started(1);
    probe self = {0};
    ck_assert_int_eq(put(1, &self, 0, 0), 0);
    ck_assert_uint_eq(belay_test_exec_pending(test_exec), 1);
    ck_assert_int_eq(belay_sched_cancel(test_sched, BELAY_ID(1)), 0);
    ck_assert_int_eq(run_exec(), 1);
    ck_assert_int_eq(self.runs, 0);
    ck_assert_uint_eq(stats().wakeups_spurious, 1);
    /* Its permit came back. */
    ck_assert_int_eq(put(1, &self, 0, 0), 0);
    ck_assert_int_eq(run_exec(), 1);
    ck_assert_int_eq(self.runs, 1);
    unmake();
}
END_TEST

/* Jobs that go on elsewhere, so that they overlap. */
static probe many[64];

static void put_many(int from, int to)
{
    for (int i = from; i < to; i++) {
        many[i] = (probe){.status = BELAY_PENDING, .number = i + 1};
        ck_assert_int_eq(put((uint64_t)i, &many[i], 0, 0), 0);
    }
}

START_TEST(running_max_is_reached_and_never_exceeded)
{
    make_started(3);
    put_many(0, 10);
    ck_assert_int_gt(run_exec(), 0);
    ck_assert_uint_eq(stats().running, 3);
    ck_assert_uint_eq(stats().running_peak, 3);
    for (int i = 0; i < 10; i++) {
        ck_assert_int_eq(many[i].runs, 1);
        ck_assert_int_eq(belay_claim_done(many[i].claim, 0), 0);
        ck_assert_int_ge(run_exec(), 0);
        uint64_t left = (uint64_t)(10 - i - 1);
        ck_assert_uint_eq(stats().running, left < 3 ? left : 3);
    }
    ck_assert_uint_eq(stats().completed, 10);
    ck_assert_uint_eq(stats().running_peak, 3);
    for (int i = 0; i < 10; i++) {
        ck_assert_int_eq(notes[i], i + 1);
    }
    unmake();
}
END_TEST

START_TEST(resize_up_starts_more_at_once)
{
    make_started(1);
    put_many(0, 6);
    ck_assert_int_gt(run_exec(), 0);
    ck_assert_uint_eq(stats().running, 1);
    ck_assert_int_eq(belay_sched_resize(test_sched, 4), 0);
    ck_assert_int_gt(run_exec(), 0);
    ck_assert_uint_eq(stats().running, 4);
    for (int i = 0; i < 6; i++) {
        ck_assert_int_eq(belay_claim_done(many[i].claim, 0), 0);
        (void)run_exec();
    }
    ck_assert_uint_eq(stats().completed, 6);
    unmake();
}
END_TEST

START_TEST(resize_down_lets_what_runs_end_and_starts_fewer)
{
    make_started(4);
    put_many(0, 10);
    ck_assert_int_gt(run_exec(), 0);
    ck_assert_uint_eq(stats().running, 4);
    ck_assert_int_eq(belay_sched_resize(test_sched, 2), 0);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(belay_claim_done(many[i].claim, 0), 0);
        (void)run_exec();
        ck_assert_uint_eq(stats().running, (uint64_t)(3 - i));
    }
    ck_assert_int_eq(belay_claim_done(many[2].claim, 0), 0);
    (void)run_exec();
    ck_assert_uint_eq(stats().running, 2);
    ck_assert_int_eq(belay_sched_resize(test_sched, 3), 0);
    (void)run_exec();
    ck_assert_uint_eq(stats().running, 3);
    ck_assert_int_eq(belay_sched_resize(test_sched, 3), 0);
    for (int i = 3; i < 10; i++) {
        ck_assert_int_eq(belay_claim_done(many[i].claim, 0), 0);
        (void)run_exec();
    }
    ck_assert_uint_eq(stats().completed, 10);
    unmake();
}
END_TEST

START_TEST(resize_down_holds_back_a_ticket_that_is_on_its_way)
{
    make_started(2);
    put_many(0, 3);
    ck_assert_int_eq(belay_test_exec_step(test_exec), 1);
    ck_assert_uint_eq(stats().running, 1);
    ck_assert_uint_eq(belay_test_exec_pending(test_exec), 1);
    ck_assert_int_eq(belay_sched_resize(test_sched, 1), 0);
    ck_assert_int_eq(run_exec(), 1);
    ck_assert_uint_eq(stats().running, 1);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(belay_claim_done(many[i].claim, 0), 0);
        (void)run_exec();
    }
    ck_assert_uint_eq(stats().completed, 3);
    unmake();
}
END_TEST

START_TEST(ticket_takes_the_next_due_job_but_not_for_ever)
{
    make_started(1);
    static probe jobs[200];
    for (uint64_t i = 0; i < 200; i++) {
        ck_assert_int_eq(put(i, &jobs[i], 0, 0), 0);
    }
    /* 64 jobs a ticket: another task of the executor gets its turn between them. */
    ck_assert_int_eq(belay_test_exec_step(test_exec), 1);
    ck_assert_uint_eq(stats().completed, 64);
    ck_assert_int_eq(run_exec(), 3);
    ck_assert_uint_eq(stats().completed, 200);
    ck_assert_uint_eq(stats().running_peak, 1);
    unmake();
}
END_TEST

START_TEST(refused_ticket_loses_nothing_and_comes_back_after_ten_ms)
{
    make_started(2);
    probe self = {0};
    ck_assert_int_eq(belay_test_exec_refuse(test_exec, 2, BELAY_EFULL), 0);
    ck_assert_int_eq(put(1, &self, 0, 0), 0);
    ck_assert_uint_eq(stats().tickets_refused, 1);
    ck_assert_uint_eq(belay_test_exec_pending(test_exec), 0);
    ck_assert_int_eq(belay_manual_clock_next_deadline(test_clock), 10 * MS);
    advance(10 * MS);
    ck_assert_uint_eq(stats().tickets_refused, 2);
    ck_assert_int_eq(belay_manual_clock_next_deadline(test_clock), 20 * MS);
    advance(20 * MS);
    ck_assert_int_eq(run_exec(), 1);
    ck_assert_int_eq(self.runs, 1);
    ck_assert_uint_eq(stats().tickets_refused, 2);
    unmake();
}
END_TEST

START_TEST(refused_ticket_is_sent_again_at_the_next_schedule)
{
    make_started(2);
    probe a = {0};
    probe b = {0};
    ck_assert_int_eq(belay_test_exec_refuse(test_exec, 1, BELAY_ENOMEM), 0);
    ck_assert_int_eq(put(1, &a, 0, 0), 0);
    ck_assert_int_eq(put(2, &b, 100, 0), 0);
    ck_assert_uint_eq(belay_test_exec_pending(test_exec), 1);
    ck_assert_int_eq(run_exec(), 1);
    ck_assert_int_eq(a.runs, 1);
    unmake();
}
END_TEST

START_TEST(refused_ticket_is_sent_again_at_the_end_of_a_run)
{
    make_started(2);
    put_many(0, 1);
    ck_assert_int_eq(run_exec(), 1);
    probe self = {0};
    ck_assert_int_eq(belay_test_exec_refuse(test_exec, 1, BELAY_EFULL), 0);
    ck_assert_int_eq(put(99, &self, 0, 0), 0);
    ck_assert_uint_eq(belay_test_exec_pending(test_exec), 0);
    ck_assert_int_eq(belay_claim_done(many[0].claim, 0), 0);
    ck_assert_uint_eq(belay_test_exec_pending(test_exec), 1);
    ck_assert_int_eq(run_exec(), 1);
    ck_assert_int_eq(self.runs, 1);
    unmake();
}
END_TEST

START_TEST(executor_that_answers_closed_is_asked_no_more)
{
    make_started(2);
    probe self = {0};
    probe later = {0};
    ck_assert_int_eq(belay_test_exec_refuse(test_exec, 1, BELAY_ECLOSED), 0);
    ck_assert_int_eq(put(1, &self, 0, 0), 0);
    ck_assert_int_eq(put(2, &later, 50 * MS, 0), 0);
    advance(SECOND);
    ck_assert_uint_eq(belay_test_exec_pending(test_exec), 0);
    ck_assert_uint_eq(stats().tickets_refused, 1);
    ck_assert_uint_eq(stats().pending, 2);
    /* DRAIN_DUE acts as DISCARD. */
    ck_assert_int_eq(belay_sched_close(test_sched, BELAY_CLOSE_DRAIN_DUE), 0);
    ck_assert_int_eq(self.drops, 1);
    ck_assert_int_eq(self.why, BELAY_DROP_CLOSED);
    ck_assert_int_eq(later.drops, 1);
    ck_assert_int_eq(belay_sched_await(test_sched, BELAY_NOW), 0);
    unmake();
}
END_TEST

START_TEST(executor_that_closes_during_a_drain_turns_it_into_a_discard)
{
    make_started(1);
    put_many(0, 3);
    ck_assert_int_eq(run_exec(), 1);
    ck_assert_int_eq(belay_sched_close(test_sched, BELAY_CLOSE_DRAIN_DUE), 0);
    ck_assert_int_eq(many[1].drops + many[2].drops, 0);
    ck_assert_int_eq(belay_test_exec_refuse(test_exec, 1, BELAY_ECLOSED), 0);
    ck_assert_int_eq(belay_claim_done(many[0].claim, 0), 0);
    ck_assert_int_eq(many[1].drops + many[2].drops, 2);
    ck_assert_int_eq(belay_sched_await(test_sched, BELAY_NOW), 0);
    unmake();
}
END_TEST

/* An executor that keeps one task, to run or to drop it as the test says. */
static belay_task *kept;

static int keep_submit(belay_executor *self, belay_task *task, unsigned flags)
{
    (void)self;
    ck_assert_uint_eq(flags, BELAY_DELIVERY);
    ck_assert_ptr_null(kept);
    kept = task;
    return 0;
}

START_TEST(ticket_that_its_executor_drops_gives_its_permit_back)
{
    static belay_executor executor = {.submit = keep_submit};
    make();
    probe self = {0};
    ck_assert_int_eq(belay_sched_start(test_sched, &executor, 1), 0);
    ck_assert_int_eq(put(1, &self, 0, 0), 0);
    belay_task *task = kept;
    ck_assert_ptr_nonnull(task);
    task->drop(task, BELAY_DROP_SHUTDOWN);
    ck_assert_int_eq(self.runs, 0);
    ck_assert_int_eq(self.drops, 0);
    ck_assert_uint_eq(stats().tickets_refused, 1);
    unmake();
    ck_assert_int_eq(self.drops, 1);
}
END_TEST

static void put_successor(probe *self)
{
    if (self->runs <= 1000) {
        ck_assert_int_ge(put(1, self, 0, 0), 0);
    }
}

START_TEST(inline_executor_runs_jobs_with_constant_stack)
{
    make();
    probe self = {.inside = put_successor};
    ck_assert_int_eq(belay_sched_start(test_sched, belay_inline(), 2), 0);
    ck_assert_int_eq(put(1, &self, 0, 0), 0);
    ck_assert_int_eq(self.runs, 1001);
    unmake();
}
END_TEST

START_TEST(mailbox_runs_jobs_one_by_one)
{
    make();
    belay_mailbox *mailbox = NULL;
    ck_assert_int_eq(belay_mailbox_create(NULL, &mailbox), 0);
    ck_assert_int_eq(belay_sched_start(test_sched, belay_mailbox_executor(mailbox), 1), 0);
    put_many(0, 3);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(belay_mailbox_run(mailbox, 0), 1);
        ck_assert_int_eq(many[i].runs, 1);
        ck_assert_uint_eq(stats().running, 1);
        ck_assert_int_eq(belay_claim_done(many[i].claim, 0), 0);
    }
    ck_assert_int_eq(belay_mailbox_destroy(mailbox), BELAY_EBUSY);
    ck_assert_int_eq(belay_sched_close(test_sched, BELAY_CLOSE_DISCARD), 0);
    ck_assert_int_eq(belay_mailbox_run(mailbox, 0), 0);
    unmake();
    ck_assert_int_eq(belay_mailbox_destroy(mailbox), 0);
}
END_TEST

START_TEST(claim_that_is_still_referred_to_is_not_used_for_the_next_job)
{
    make_started(1);
    put_many(0, 2);
    ck_assert_int_eq(run_exec(), 1);
    belay_claim *old = belay_claim_ref(many[0].claim);
    ck_assert_int_eq(belay_claim_done(old, 0), 0);
    ck_assert_int_eq(run_exec(), 1);
    ck_assert_ptr_ne(many[1].claim, old);
    ck_assert_int_eq(belay_claim_done(old, 0), BELAY_ESTALE);
    ck_assert_int_eq(many[1].runs, 1);
    ck_assert_int_eq(belay_claim_done(many[1].claim, 0), 0);
    (void)run_exec();
    unmake();
    belay_claim_unref(old);
}
END_TEST

START_TEST(series_that_is_passed_over_goes_on_without_a_run)
{
    make_started(1);
    probe self = {0};
    probe other = {0};
    belay_job job = job_of(&self, 0, 0);
    job.next = belay_every;
    job.period_ns = 3600 * SECOND;
    job.missed = BELAY_MISSED_SKIP;
    ck_assert_int_eq(belay_sched_schedule(test_sched, BELAY_ID(1), &job, NULL), 0);
    ck_assert_int_eq(put(2, &other, 1, 0), 0);
    advance(120 * SECOND);
    ck_assert_int_eq(run_exec(), 1);
    ck_assert_int_eq(self.runs, 0);
    ck_assert_int_eq(other.runs, 1);
    ck_assert_int_eq(belay_test_exec_run_until(test_exec, 3600 * SECOND), 1);
    ck_assert_int_eq(self.runs, 1);
    ck_assert_uint_eq(self.missed, 1);
    unmake();
}
END_TEST

START_TEST(series_runs_at_each_slot_of_virtual_time)
{
    make_started(1);
    probe self = {0};
    belay_job job = job_of(&self, 0, 0);
    job.next = belay_every;
    job.period_ns = SECOND;
    ck_assert_int_eq(belay_sched_schedule(test_sched, BELAY_ID(1), &job, NULL), 0);
    ck_assert_int_eq(belay_test_exec_run_until(test_exec, 1000 * SECOND), 1001);
    ck_assert_int_eq(self.runs, 1001);
    ck_assert_uint_eq(self.missed_sum, 0);
    unmake();
}
END_TEST

static void exit_thread(probe *self)
{
    (void)self;
    pthread_exit(NULL);
}

static void *run_kept(void *arg)
{
    (void)arg;
    belay_task *task = kept;
    kept = NULL;
    task->run(task);
    return NULL;
}

START_TEST(job_that_ends_its_thread_gives_its_permit_back)
{
    static belay_executor executor = {.submit = keep_submit};
    make();
    probe exits = {.inside = exit_thread};
    probe after = {0};
    ck_assert_int_eq(belay_sched_start(test_sched, &executor, 1), 0);
    ck_assert_int_eq(put(1, &exits, 0, 0), 0);
    ck_assert_int_eq(put(2, &after, 0, 0), 0);
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        ck_assert_int_eq(pthread_create(&thread, NULL, run_kept, NULL), 0);
        ck_assert_int_eq(pthread_join(thread, NULL), 0);
    }
    ck_assert_uint_eq(stats().failed, 1);
    ck_assert_int_eq(after.runs, 1);
    unmake();
}
END_TEST

static int64_t clock_at_zero(belay_clock *self)
{
    (void)self;
    return 0;
}

START_TEST(running_max_may_be_as_large_as_is_said)
{
    make_started(BELAY_RUNNING_MAX);
    ck_assert_int_eq(belay_sched_resize(test_sched, 1), 0);
    ck_assert_int_eq(belay_sched_resize(test_sched, BELAY_RUNNING_MAX), 0);
    ck_assert_int_eq(belay_sched_resize(test_sched, (uint32_t)BELAY_RUNNING_MAX + 1), BELAY_EINVAL);
    unmake();
}
END_TEST

START_TEST(slots_that_a_ticket_passes_over_are_no_runs)
{
    make_started(1);
    probe self = {0};
    belay_job job = job_of(&self, 0, 0);
    job.next = belay_every;
    job.period_ns = 10;
    job.missed = BELAY_MISSED_SKIP;
    job.late_max_ns = 1;
    ck_assert_int_eq(belay_sched_schedule(test_sched, BELAY_ID(1), &job, NULL), 0);
    advance(35);
    ck_assert_int_ge(run_exec(), 1);
    ck_assert_int_eq(self.runs, 0);
    advance(40);
    ck_assert_int_ge(run_exec(), 1);
    ck_assert_int_eq(self.runs, 1);
    ck_assert_uint_eq(self.missed, 4);
    ck_assert_uint_eq(stats().completed, 1);
    unmake();
}
END_TEST

START_TEST(a_poll_ahead_of_the_clock_starts_what_is_due_by_then)
{
    belay_timers *timers = NULL;
    belay_timers_opts timers_opts = {.size = sizeof timers_opts, .is_polled = 1};
    belay_clock clock = *belay_clock_system();
    clock.now = clock_at_zero;
    timers_opts.clock = &clock;
    ck_assert_int_eq(belay_timers_create(&timers_opts, &timers), 0);
    belay_sched_opts opts = {.size = sizeof opts, .clock = &clock, .timers = timers};
    probe self = {0};
    ck_assert_int_eq(belay_sched_create(&opts, &test_sched), 0);
    ck_assert_int_eq(belay_sched_start(test_sched, belay_inline(), 1), 0);
    ck_assert_int_eq(put(1, &self, 5, 0), 0);
    ck_assert_int_eq(belay_timers_poll(timers, 4), 0);
    ck_assert_int_eq(belay_timers_poll(timers, 5), 1);
    ck_assert_int_eq(self.runs, 1);
    ck_assert_int_eq(belay_sched_close(test_sched, BELAY_CLOSE_DISCARD), 0);
    ck_assert_int_eq(belay_sched_destroy(test_sched), 0);
    ck_assert_int_eq(belay_timers_destroy(timers), 0);
}
END_TEST

UNIT_MAIN("sched/ticket", start_refuses_what_it_cannot_do, start_refuses_timers_of_another_clock,
          executor_is_attached_until_destroy, what_was_scheduled_before_the_start_runs,
          future_work_is_never_handed_to_the_executor, best_job_is_chosen_when_the_ticket_runs,
          ticket_without_a_job_claims_nothing, running_max_is_reached_and_never_exceeded,
          resize_up_starts_more_at_once, resize_down_lets_what_runs_end_and_starts_fewer,
          resize_down_holds_back_a_ticket_that_is_on_its_way,
          ticket_takes_the_next_due_job_but_not_for_ever,
          refused_ticket_loses_nothing_and_comes_back_after_ten_ms,
          refused_ticket_is_sent_again_at_the_next_schedule,
          refused_ticket_is_sent_again_at_the_end_of_a_run,
          executor_that_answers_closed_is_asked_no_more,
          executor_that_closes_during_a_drain_turns_it_into_a_discard,
          ticket_that_its_executor_drops_gives_its_permit_back,
          inline_executor_runs_jobs_with_constant_stack, mailbox_runs_jobs_one_by_one,
          claim_that_is_still_referred_to_is_not_used_for_the_next_job,
          series_that_is_passed_over_goes_on_without_a_run,
          series_runs_at_each_slot_of_virtual_time, job_that_ends_its_thread_gives_its_permit_back,
          running_max_may_be_as_large_as_is_said, slots_that_a_ticket_passes_over_are_no_runs,
          a_poll_ahead_of_the_clock_starts_what_is_due_by_then)
