/*
 * test_sched.c: creating, scheduling, replacing and canceling, driven by hand on a manual clock.
 */
#include "sched.h"

#include <sys/wait.h>
#include <unistd.h>

static void check_notes(const int *expected, int count)
{
    ck_assert_int_eq(note_count, count);
    for (int i = 0; i < count; i++) {
        ck_assert_int_eq(notes[i], expected[i]);
    }
}

START_TEST(create_refuses_bad_options)
{
    belay_sched *sched = NULL;
    ck_assert_int_eq(belay_sched_create(NULL, NULL), BELAY_EINVAL);
    belay_sched_opts opts = {.size = sizeof opts, .aging_ns_per_priority = -1};
    ck_assert_int_eq(belay_sched_create(&opts, &sched), BELAY_EINVAL);
    opts = (belay_sched_opts){.size = 2};
    ck_assert_int_eq(belay_sched_create(&opts, &sched), BELAY_EINVAL);
    opts = (belay_sched_opts){.size = sizeof opts, .pending_max = BELAY_NONE};
    ck_assert_int_eq(belay_sched_create(&opts, &sched), BELAY_EINVAL);
    ck_assert_ptr_null(sched);
    ck_assert_int_eq(belay_sched_create(NULL, &sched), 0);
    ck_assert_int_eq(belay_sched_destroy(sched), BELAY_EBUSY);
    ck_assert_int_eq(belay_sched_close(sched, BELAY_CLOSE_DRAIN_DUE), 0);
    ck_assert_int_eq(belay_sched_destroy(sched), 0);
    ck_assert_int_eq(belay_sched_destroy(NULL), 0);
}
END_TEST

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
    check_notes((const int[]){5, 3, 4, 2, 6, 1}, 6);
    unmake();
}
END_TEST

START_TEST(replacing_takes_a_new_place_among_equal_keys)
{
    make();
    probe jobs[3] = {{.number = 1}, {.number = 2}, {.number = 3}};
    ck_assert_int_eq(put(1, &jobs[0], 10, 0), 0);
    ck_assert_int_eq(put(2, &jobs[1], 10, 0), 0);
    ck_assert_int_eq(put(1, &jobs[2], 10, 0), BELAY_REPLACED);
    advance(10);
    ck_assert_int_eq(run_due(), 2);
    check_notes((const int[]){-1, 2, 3}, 3);
    ck_assert_int_eq(jobs[0].why, BELAY_DROP_REPLACED);
    unmake();
}
END_TEST

START_TEST(hundred_thousand_jobs_of_one_key_run_in_submission_order)
{
    make();
    static probe jobs[100000];
    int count = (int)(sizeof jobs / sizeof jobs[0]);
    for (int i = 0; i < count; i++) {
        belay_job job = job_of(&jobs[i], 7, 1);
        ck_assert_int_eq(belay_sched_schedule(test_sched, BELAY_NO_ID, &job, NULL), 0);
    }
    advance(7);
    for (int i = 0; i < count; i++) {
        ck_assert_int_eq(jobs[i].runs, 0);
        ck_assert_int_eq(run_one(), 0);
        ck_assert_int_eq(jobs[i].runs, 1);
    }
    ck_assert_int_eq(run_one(), BELAY_EAGAIN);
    unmake();
}
END_TEST

START_TEST(job_without_id_is_reached_by_its_handle_alone)
{
    make();
    probe a = {0};
    probe b = {0};
    belay_job job_a = job_of(&a, 10, 0);
    belay_job job_b = job_of(&b, 10, 0);
    belay_job_handle handle_a;
    belay_job_handle handle_b;
    ck_assert_int_eq(belay_sched_schedule(test_sched, BELAY_NO_ID, &job_a, &handle_a), 0);
    ck_assert_int_eq(belay_sched_schedule(test_sched, BELAY_NO_ID, &job_b, &handle_b), 0);
    ck_assert_int_eq(belay_sched_cancel(test_sched, BELAY_NO_ID), BELAY_EINVAL);
    ck_assert_int_eq(belay_sched_cancel_handle(test_sched, handle_a), 0);
    ck_assert_int_eq(belay_sched_cancel_handle(test_sched, handle_a), BELAY_ESTALE);
    ck_assert_int_eq(a.drops, 1);
    ck_assert_int_eq(a.why, BELAY_DROP_CANCELED);
    advance(10);
    ck_assert_int_eq(run_due(), 1);
    ck_assert_int_eq(b.runs, 1);
    ck_assert_int_eq(belay_sched_cancel_handle(test_sched, handle_b), BELAY_ESTALE);
    unmake();
}
END_TEST

START_TEST(bytes_and_numbers_are_ids_of_different_kinds)
{
    make();
    probe jobs[4];
    memset(jobs, 0, sizeof jobs);
    uint64_t number = 0x4141414141414141;
    belay_job job = job_of(&jobs[0], 10, 0);
    ck_assert_int_eq(belay_sched_schedule(test_sched, BELAY_ID(number), &job, NULL), 0);
    job = job_of(&jobs[1], 10, 0);
    ck_assert_int_eq(belay_sched_schedule(test_sched, belay_id_text("AAAAAAAA"), &job, NULL), 0);
    job = job_of(&jobs[2], 10, 0);
    ck_assert_int_eq(belay_sched_schedule(test_sched, belay_id_text("AAAAAAA"), &job, NULL), 0);
    char text[] = "AAAAAAAA";
    job = job_of(&jobs[3], 10, 0);
    ck_assert_int_eq(belay_sched_schedule(test_sched, belay_id_bytes(text, 8), &job, NULL),
                     BELAY_REPLACED);
    text[0] = 'B';
    ck_assert_int_eq(belay_sched_cancel(test_sched, belay_id_text("AAAAAAAA")), 0);
    ck_assert_int_eq(jobs[3].drops, 1);
    ck_assert_int_eq(belay_sched_cancel(test_sched, BELAY_ID(number)), 0);
    ck_assert_int_eq(belay_sched_cancel(test_sched, belay_id_text("AAAAAAA")), 0);
    ck_assert_uint_eq(stats().pending, 0);
    unmake();
}
END_TEST

START_TEST(bad_input_is_refused_and_nothing_stored)
{
    make();
    probe self = {0};
    char long_id[256] = {'x'};
    int64_t no_period = 0;
    belay_job good = job_of(&self, 10, 0);
    belay_job bad[12];
    for (int i = 0; i < 12; i++) {
        bad[i] = good;
    }
    bad[0].fn = NULL;
    bad[1].priority = BELAY_PRIORITY_MAX + 1;
    bad[2].priority = BELAY_PRIORITY_MIN - 1;
    bad[3].size = 0;
    bad[4].no_replace = 2;
    bad[5].jitter_ns = -1;
    bad[6].next = belay_every;
    bad[7].next = belay_after_each;
    bad[7].next_arg = &no_period;
    bad[8].next = belay_every;
    bad[8].period_ns = bad[8].jitter_ns = 5;
    bad[9].next = belay_every;
    bad[9].period_ns = 5;
    bad[9].missed = 3;
    bad[10] = bad[9];
    bad[10].missed = 0;
    bad[10].late_max_ns = -1;
    bad[11] = bad[9];
    bad[11].missed = 0;
    bad[11].ends_on_failure = 2;
    for (int i = 0; i < 12; i++) {
        ck_assert_int_eq(belay_sched_schedule(test_sched, BELAY_ID(1), &bad[i], NULL),
                         BELAY_EINVAL);
    }
    ck_assert_int_eq(belay_sched_schedule(test_sched, BELAY_ID(1), NULL, NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_sched_schedule(NULL, BELAY_ID(1), &good, NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_sched_schedule(test_sched, belay_id_bytes("", 0), &good, NULL),
                     BELAY_EINVAL);
    ck_assert_int_eq(belay_sched_schedule(test_sched, belay_id_bytes(NULL, 3), &good, NULL),
                     BELAY_EINVAL);
    ck_assert_int_eq(belay_sched_schedule(test_sched, belay_id_bytes(long_id, 256), &good, NULL),
                     BELAY_EINVAL);
    ck_assert_int_eq(belay_sched_cancel(NULL, BELAY_ID(1)), BELAY_EINVAL);
    ck_assert_int_eq(belay_sched_cancel_handle(NULL, (belay_job_handle){0}), BELAY_EINVAL);
    ck_assert_uint_eq(stats().scheduled, 0);
    ck_assert_int_eq(belay_sched_schedule(test_sched, belay_id_bytes(long_id, 255), &good, NULL),
                     0);
    ck_assert_uint_eq(stats().pending, 1);
    unmake();
    ck_assert_int_eq(self.drops, 1);
}
END_TEST

START_TEST(older_shorter_job_is_accepted_and_newer_tail_refused)
{
    make();
    struct {
        belay_job job;
        uint64_t tail;
    } newer = {.tail = 0};
    probe self = {0};
    newer.job = job_of(&self, 10, 0);
    newer.job.size = offsetof(belay_job, no_replace);
    ck_assert_int_eq(belay_sched_schedule(test_sched, BELAY_ID(1), &newer.job, NULL), 0);
    newer.job.size = sizeof newer;
    ck_assert_int_eq(belay_sched_schedule(test_sched, BELAY_ID(2), &newer.job, NULL), 0);
    newer.tail = 1;
    ck_assert_int_eq(belay_sched_schedule(test_sched, BELAY_ID(3), &newer.job, NULL), BELAY_EINVAL);
    unmake();
}
END_TEST

START_TEST(no_replace_refuses_a_taken_id)
{
    make();
    probe a = {.status = BELAY_PENDING};
    probe b = {0};
    belay_job job = job_of(&b, 10, 0);
    job.no_replace = 1;
    ck_assert_int_eq(put(1, &a, 0, 0), 0);
    ck_assert_int_eq(belay_sched_schedule(test_sched, BELAY_ID(1), &job, NULL), BELAY_EEXIST);
    ck_assert_int_eq(run_one(), 0);
    ck_assert_int_eq(belay_sched_schedule(test_sched, BELAY_ID(1), &job, NULL), BELAY_EEXIST);
    ck_assert_int_eq(belay_claim_done(a.claim, 0), 0);
    ck_assert_int_eq(belay_sched_schedule(test_sched, BELAY_ID(1), &job, NULL), 0);
    ck_assert_int_eq(b.drops, 0);
    unmake();
}
END_TEST

START_TEST(cancel_of_a_pending_job_drops_it_at_once)
{
    make();
    probe self = {0};
    ck_assert_int_eq(put(1, &self, 10, 0), 0);
    ck_assert_int_eq(belay_sched_cancel(test_sched, BELAY_ID(1)), 0);
    ck_assert_int_eq(self.drops, 1);
    ck_assert_int_eq(self.why, BELAY_DROP_CANCELED);
    ck_assert_int_eq(belay_sched_cancel(test_sched, BELAY_ID(1)), BELAY_ENOENT);
    advance(10);
    ck_assert_int_eq(run_due(), 0);
    ck_assert_int_eq(self.runs, 0);
    unmake();
    ck_assert_int_eq(self.drops, 1);
}
END_TEST

START_TEST(job_without_drop_is_dropped_in_silence)
{
    make();
    probe self = {0};
    belay_job job = job_of(&self, 10, 0);
    job.drop = NULL;
    ck_assert_int_eq(belay_sched_schedule(test_sched, BELAY_ID(1), &job, NULL), 0);
    ck_assert_int_eq(belay_sched_schedule(test_sched, BELAY_ID(1), &job, NULL), BELAY_REPLACED);
    ck_assert_int_eq(belay_sched_cancel(test_sched, BELAY_ID(1)), 0);
    ck_assert_int_eq(belay_sched_schedule(test_sched, BELAY_ID(1), &job, NULL), 0);
    unmake();
    ck_assert_int_eq(self.drops, 0);
}
END_TEST

START_TEST(replacement_of_a_running_job_is_held_back_until_it_returned)
{
    make();
    probe old = {.status = BELAY_PENDING, .number = 1};
    probe new = {.number = 2};
    probe other = {.number = 3};
    ck_assert_int_eq(put(1, &old, 0, 0), 0);
    ck_assert_int_eq(run_one(), 0);
    ck_assert_int_eq(put(1, &new, 0, 9), BELAY_STILL_RUNNING);
    ck_assert_int_eq(put(2, &other, 5, 0), 0);
    advance(5);
    ck_assert_int_eq(run_due(), 1);
    ck_assert_uint_eq(stats().held, 1);
    ck_assert_int_eq(belay_claim_done(old.claim, 0), 0);
    ck_assert_uint_eq(stats().held, 0);
    ck_assert_int_eq(state_of(1), BELAY_JOB_PENDING);
    ck_assert_int_eq(run_due(), 1);
    check_notes((const int[]){1, 3, 2}, 3);
    unmake();
}
END_TEST

START_TEST(held_back_version_enters_with_its_own_key)
{
    make();
    probe old = {.status = BELAY_PENDING};
    probe held = {.number = 1};
    probe later = {.number = 2};
    ck_assert_int_eq(put(1, &old, 0, 0), 0);
    ck_assert_int_eq(run_one(), 0);
    ck_assert_int_eq(put(1, &held, 4, 0), BELAY_STILL_RUNNING);
    ck_assert_int_eq(put(2, &later, 4, 0), 0);
    advance(5);
    ck_assert_int_eq(belay_claim_done(old.claim, 0), 0);
    ck_assert_int_eq(run_due(), 2);
    check_notes((const int[]){1, 2}, 2);
    unmake();
}
END_TEST

START_TEST(replacing_again_drops_the_held_back_version)
{
    make();
    probe old = {.status = BELAY_PENDING};
    probe first = {0};
    probe second = {0};
    ck_assert_int_eq(put(1, &old, 0, 0), 0);
    ck_assert_int_eq(run_one(), 0);
    ck_assert_int_eq(put(1, &first, 0, 0), BELAY_STILL_RUNNING);
    ck_assert_int_eq(put(1, &second, 0, 0), BELAY_STILL_RUNNING | BELAY_REPLACED);
    ck_assert_int_eq(first.drops, 1);
    ck_assert_int_eq(first.why, BELAY_DROP_REPLACED);
    ck_assert_int_eq(belay_claim_done(old.claim, 0), 0);
    ck_assert_int_eq(run_due(), 1);
    ck_assert_int_eq(second.runs, 1);
    ck_assert_int_eq(first.runs, 0);
    unmake();
}
END_TEST

START_TEST(cancel_acts_on_the_running_and_the_held_back_version)
{
    make();
    probe old = {.status = BELAY_PENDING};
    probe held = {0};
    ck_assert_int_eq(put(1, &old, 0, 0), 0);
    ck_assert_int_eq(run_one(), 0);
    ck_assert_int_eq(put(1, &held, 0, 0), BELAY_STILL_RUNNING);
    ck_assert(!belay_claim_is_canceled(old.claim));
    ck_assert_int_eq(belay_sched_cancel(test_sched, BELAY_ID(1)), BELAY_STILL_RUNNING);
    ck_assert_int_eq(held.drops, 1);
    ck_assert_int_eq(held.why, BELAY_DROP_CANCELED);
    ck_assert(belay_claim_is_canceled(old.claim));
    ck_assert_int_eq(belay_sched_cancel(test_sched, BELAY_ID(1)), BELAY_STILL_RUNNING);
    ck_assert_uint_eq(stats().signalled, 1);
    ck_assert_int_eq(belay_claim_done(old.claim, 0), 0);
    ck_assert_int_eq(belay_sched_cancel(test_sched, BELAY_ID(1)), BELAY_ENOENT);
    ck_assert_int_eq(old.drops, 0);
    unmake();
}
END_TEST

START_TEST(handle_cancels_its_own_version_alone)
{
    make();
    probe old = {.status = BELAY_PENDING};
    probe held = {0};
    belay_job job = job_of(&old, 0, 0);
    belay_job_handle first;
    belay_job_handle second;
    ck_assert_int_eq(belay_sched_schedule(test_sched, BELAY_ID(1), &job, &first), 0);
    ck_assert_int_eq(run_one(), 0);
    job = job_of(&held, 0, 0);
    ck_assert_int_eq(belay_sched_schedule(test_sched, BELAY_ID(1), &job, &second),
                     BELAY_STILL_RUNNING);
    ck_assert_int_eq(belay_sched_cancel_handle(test_sched, first), BELAY_STILL_RUNNING);
    ck_assert_int_eq(held.drops, 0);
    ck_assert_int_eq(belay_sched_cancel_handle(test_sched, second), 0);
    ck_assert_int_eq(held.drops, 1);
    ck_assert_int_eq(belay_sched_cancel_handle(test_sched, second), BELAY_ESTALE);
    ck_assert_int_eq(belay_claim_done(old.claim, 0), 0);
    ck_assert_int_eq(belay_sched_cancel_handle(test_sched, first), BELAY_ESTALE);
    ck_assert_int_eq(belay_sched_cancel_handle(test_sched, (belay_job_handle){1, UINT64_MAX}),
                     BELAY_ESTALE);
    unmake();
}
END_TEST

static void schedule_itself(probe *self)
{
    if (self->runs < 3) {
        belay_job job = job_of(self, now() + 10, 0);
        ck_assert_int_eq(belay_sched_schedule(test_sched, BELAY_ID(1), &job, NULL),
                         BELAY_STILL_RUNNING);
    }
}

START_TEST(job_may_schedule_itself_anew)
{
    make();
    probe self = {.inside = schedule_itself};
    ck_assert_int_eq(put(1, &self, 0, 0), 0);
    for (int i = 0; i < 5; i++) {
        ck_assert_int_le(run_due(), 1);
        advance(now() + 10);
    }
    ck_assert_int_eq(self.runs, 3);
    ck_assert_int_eq(self.drops, 0);
    unmake();
}
END_TEST

static void cancel_itself(probe *self)
{
    self->number = belay_sched_cancel(test_sched, BELAY_ID(1));
}

START_TEST(job_may_cancel_itself)
{
    make();
    probe self = {.inside = cancel_itself};
    ck_assert_int_eq(put(1, &self, 0, 0), 0);
    ck_assert_int_eq(run_one(), 0);
    ck_assert_int_eq(self.number, BELAY_STILL_RUNNING);
    ck_assert_int_eq(self.drops, 0);
    ck_assert_int_eq(state_of(1), BELAY_ENOENT);
    unmake();
}
END_TEST

/* Calls everything that does not wait, and schedules once more, to be dropped again. */
static void use_everything(probe *self)
{
    belay_claim *claim = NULL;
    ck_assert_int_eq(belay_sched_cancel(test_sched, BELAY_ID(77)), BELAY_ENOENT);
    ck_assert_int_eq(state_of(1), BELAY_ENOENT);
    ck_assert_int_eq(belay_sched_await(test_sched, BELAY_FOREVER), BELAY_EDEADLK);
    ck_assert_int_eq(belay_sched_next(test_sched, now() + 1, &claim, NULL), BELAY_EDEADLK);
    ck_assert_int_eq(belay_sched_destroy(test_sched), BELAY_EBUSY);
    if (self->drops < 3) {
        ck_assert_int_eq(put(1, self, 10, 0), 0);
        ck_assert_int_eq(belay_sched_cancel(test_sched, BELAY_ID(1)), 0);
        /* Trampolined: the drop of that one comes when this one has returned. */
        ck_assert_int_eq(self->number, 0);
    }
}

START_TEST(drop_may_call_all_that_does_not_wait)
{
    make();
    probe self = {.dropped = use_everything};
    ck_assert_int_eq(put(1, &self, 10, 0), 0);
    ck_assert_int_eq(belay_sched_cancel(test_sched, BELAY_ID(1)), 0);
    ck_assert_int_eq(self.drops, 3);
    self.dropped = NULL;
    unmake();
}
END_TEST

static void replace_again(probe *self)
{
    if (self->drops < 2000) {
        ck_assert_int_eq(put(1, self, 10, 0), 0);
        ck_assert_int_eq(put(1, self, 10, 0), BELAY_REPLACED);
        ck_assert_int_eq(belay_sched_cancel(test_sched, BELAY_ID(1)), 0);
    }
}

START_TEST(drops_that_cause_drops_use_constant_stack)
{
    make();
    probe self = {.dropped = replace_again};
    ck_assert_int_eq(put(1, &self, 10, 0), 0);
    ck_assert_int_eq(belay_sched_cancel(test_sched, BELAY_ID(1)), 0);
    ck_assert_int_ge(self.drops, 2000);
    self.dropped = NULL;
    unmake();
}
END_TEST

START_TEST(pending_max_refuses_one_more_and_never_a_replacement)
{
    make_with((belay_sched_opts){.pending_max = 3});
    probe jobs[8];
    memset(jobs, 0, sizeof jobs);
    jobs[0].status = BELAY_PENDING;
    ck_assert_int_eq(put(0, &jobs[0], 0, 0), 0);
    ck_assert_int_eq(run_one(), 0);
    for (int i = 1; i <= 3; i++) {
        ck_assert_int_eq(put((uint64_t)i, &jobs[i], 10, 0), 0);
    }
    ck_assert_int_eq(put(4, &jobs[4], 10, 0), BELAY_EFULL);
    ck_assert_int_eq(put(0, &jobs[5], 10, 0), BELAY_EFULL);
    ck_assert_int_eq(put(2, &jobs[6], 10, 0), BELAY_REPLACED);
    ck_assert_int_eq(belay_sched_cancel(test_sched, BELAY_ID(1)), 0);
    ck_assert_int_eq(put(0, &jobs[5], 10, 0), BELAY_STILL_RUNNING);
    ck_assert_int_eq(put(0, &jobs[7], 10, 0), BELAY_STILL_RUNNING | BELAY_REPLACED);
    ck_assert_int_eq(put(4, &jobs[4], 10, 0), BELAY_EFULL);
    ck_assert_int_eq(belay_claim_done(jobs[0].claim, 0), 0);
    ck_assert_int_eq(jobs[4].drops, 0);
    ck_assert_uint_eq(stats().pending, 3);
    unmake();
}
END_TEST

START_TEST(scheduler_made_before_a_fork_takes_no_jobs_after_it)
{
    make();
    probe self = {0};
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        _exit(put(1, &self, 0, 0) == BELAY_ECLOSED ? 0 : 1);
    }
    int status = 1;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(put(1, &self, 0, 0), 0);
    unmake();
}
END_TEST

START_TEST(running_series_counts_against_pending_max)
{
    make_with((belay_sched_opts){.pending_max = 1});
    probe series = {.status = BELAY_PENDING};
    probe other = {0};
    belay_job job = job_of(&series, 0, 0);
    job.next = belay_every;
    job.period_ns = 10;
    ck_assert_int_eq(belay_sched_schedule(test_sched, BELAY_ID(1), &job, NULL), 0);
    ck_assert_int_eq(run_one(), 0);
    ck_assert_int_eq(put(2, &other, 10, 0), BELAY_EFULL);
    ck_assert_int_eq(belay_sched_cancel(test_sched, BELAY_ID(1)), BELAY_STILL_RUNNING);
    ck_assert_int_eq(put(2, &other, 10, 0), 0);
    ck_assert_int_eq(belay_claim_done(series.claim, 0), 0);
    unmake();
    ck_assert_int_eq(series.drops, 1);
}
END_TEST

START_TEST(a_clock_that_begins_before_0_is_like_any_other)
{
    probe driven = {0}, started = {0};
    ck_assert_int_eq(belay_manual_clock_create(-100, 0, &test_clock), 0);
    belay_sched_opts opts = {.size = sizeof opts, .clock = test_clock};
    ck_assert_int_eq(belay_sched_create(&opts, &test_sched), 0);
    ck_assert_int_eq(put(1, &driven, -50, 0), 0);
    advance(-51);
    ck_assert_int_eq(run_one(), BELAY_EAGAIN);
    advance(-50);
    ck_assert_int_eq(run_one(), 0);
    ck_assert_int_eq(belay_sched_close(test_sched, BELAY_CLOSE_DISCARD), 0);
    ck_assert_int_eq(belay_sched_destroy(test_sched), 0);
    ck_assert_int_eq(belay_sched_create(&opts, &test_sched), 0);
    ck_assert_int_eq(belay_sched_start(test_sched, belay_inline(), 1), 0);
    ck_assert_int_eq(put(1, &started, 0, 0), 0);
    advance(0);
    ck_assert_int_eq(started.runs, 1);
    unmake();
}
END_TEST

START_TEST(a_series_that_is_replaced_while_it_runs_counts_no_more)
{
    make_with((belay_sched_opts){.pending_max = 1});
    probe series = {.status = BELAY_PENDING}, held = {0}, other = {0};
    belay_job job = job_of(&series, 0, 0);
    job.next = belay_every;
    job.period_ns = 10;
    ck_assert_int_eq(belay_sched_schedule(test_sched, BELAY_ID(1), &job, NULL), 0);
    ck_assert_int_eq(run_one(), 0);
    belay_job_handle handle;
    belay_job next = job_of(&held, 50, 0);
    ck_assert_int_eq(belay_sched_schedule(test_sched, BELAY_ID(1), &next, &handle),
                     BELAY_STILL_RUNNING);
    ck_assert_int_eq(put(2, &other, 50, 0), BELAY_EFULL);
    ck_assert_int_eq(belay_sched_cancel_handle(test_sched, handle), 0);
    ck_assert_int_eq(put(2, &other, 50, 0), 0);
    ck_assert_int_eq(belay_claim_done(series.claim, 0), 0);
    unmake();
}
END_TEST

UNIT_MAIN("sched/sched", create_refuses_bad_options, order_is_time_then_priority_then_submission,
          replacing_takes_a_new_place_among_equal_keys,
          hundred_thousand_jobs_of_one_key_run_in_submission_order,
          job_without_id_is_reached_by_its_handle_alone,
          bytes_and_numbers_are_ids_of_different_kinds, bad_input_is_refused_and_nothing_stored,
          older_shorter_job_is_accepted_and_newer_tail_refused, no_replace_refuses_a_taken_id,
          cancel_of_a_pending_job_drops_it_at_once, job_without_drop_is_dropped_in_silence,
          replacement_of_a_running_job_is_held_back_until_it_returned,
          held_back_version_enters_with_its_own_key, replacing_again_drops_the_held_back_version,
          cancel_acts_on_the_running_and_the_held_back_version,
          handle_cancels_its_own_version_alone, job_may_schedule_itself_anew, job_may_cancel_itself,
          drop_may_call_all_that_does_not_wait, drops_that_cause_drops_use_constant_stack,
          pending_max_refuses_one_more_and_never_a_replacement,
          running_series_counts_against_pending_max,
          scheduler_made_before_a_fork_takes_no_jobs_after_it,
          a_clock_that_begins_before_0_is_like_any_other,
          a_series_that_is_replaced_while_it_runs_counts_no_more)
