/*
 * test_claim.c: an occurrence from its claim to its end: run, done, references, token.
 */
#include "sched/sched_int.h"
#include "sched.h"

#include <pthread.h>

static belay_claim *claim_one(void)
{
    belay_claim *claim = NULL;
    ck_assert_int_eq(belay_sched_next(test_sched, BELAY_NOW, &claim, NULL), 0);
    return claim;
}

START_TEST(run_reports_the_status_of_fn)
{
    make();
    probe good = {0};
    probe bad = {.status = -5};
    ck_assert_int_eq(put(1, &good, 0, 0), 0);
    ck_assert_int_eq(put(2, &bad, 0, 0), 0);
    ck_assert_int_eq(belay_claim_run(claim_one()), 0);
    ck_assert_int_eq(belay_claim_run(claim_one()), 0);
    ck_assert_uint_eq(stats().completed, 1);
    ck_assert_uint_eq(stats().failed, 1);
    ck_assert_int_eq(good.drops + bad.drops, 0);
    ck_assert_int_eq(state_of(2), BELAY_ENOENT);
    unmake();
}
END_TEST

START_TEST(bad_arguments_are_refused)
{
    make();
    belay_cancel *token = NULL;
    belay_claim_details details = {.size = sizeof details};
    ck_assert_int_eq(belay_claim_run(NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_claim_done(NULL, 0), BELAY_EINVAL);
    ck_assert_int_eq(belay_claim_token(NULL, &token), BELAY_EINVAL);
    ck_assert_int_eq(belay_claim_info(NULL, &details), BELAY_EINVAL);
    ck_assert(!belay_claim_is_canceled(NULL));
    ck_assert_ptr_null(belay_claim_ref(NULL));
    belay_claim_unref(NULL);
    probe self = {0};
    ck_assert_int_eq(put(1, &self, 0, 0), 0);
    belay_claim *claim = claim_one();
    ck_assert_int_eq(belay_claim_done(claim, BELAY_PENDING), BELAY_EINVAL);
    ck_assert_int_eq(belay_claim_token(claim, NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_claim_info(claim, NULL), BELAY_EINVAL);
    details.size = 0;
    ck_assert_int_eq(belay_claim_info(claim, &details), BELAY_EINVAL);
    ck_assert_int_eq(belay_claim_run(claim), 0);
    unmake();
}
END_TEST

START_TEST(info_tells_what_was_scheduled)
{
    make();
    probe self = {0};
    belay_job job = job_of(&self, 10, -3);
    belay_job_handle handle;
    ck_assert_int_eq(belay_sched_schedule(test_sched, belay_id_text("name"), &job, &handle), 0);
    advance(25);
    belay_claim *claim = claim_one();
    belay_claim_details details = {.size = sizeof details};
    ck_assert_int_eq(belay_claim_info(claim, &details), 0);
    ck_assert_int_eq(details.priority, -3);
    ck_assert_int_eq(details.due_ns, 10);
    ck_assert_int_eq(details.slot_ns, 10);
    ck_assert_int_eq(details.claimed_ns, 25);
    ck_assert_uint_eq(details.occurrence, 1);
    ck_assert_uint_eq(details.missed, 0);
    ck_assert_uint_eq(details.id.len, 4);
    ck_assert_mem_eq(details.id.data, "name", 4);
    ck_assert_uint_eq(details.handle.version, handle.version);
    ck_assert_uint_eq(details.handle.place, handle.place);
    ck_assert_int_eq(belay_claim_run(claim), 0);
    ck_assert_int_eq(put(9, &self, 0, 0), 0);
    claim = claim_one();
    ck_assert_int_eq(belay_claim_info(claim, &details), 0);
    ck_assert_uint_eq(details.id.number, 9);
    ck_assert_int_eq(belay_claim_run(claim), 0);
    job.run_at_ns = 0;
    ck_assert_int_eq(belay_sched_schedule(test_sched, BELAY_NO_ID, &job, NULL), 0);
    claim = claim_one();
    ck_assert_int_eq(belay_claim_info(claim, &details), 0);
    ck_assert_uint_eq(details.id.len, 0);
    ck_assert_ptr_null(details.id.data);
    ck_assert_int_eq(belay_claim_run(claim), 0);
    unmake();
}
END_TEST

START_TEST(pending_job_is_ended_by_done_and_once)
{
    make();
    probe self = {.status = BELAY_PENDING};
    ck_assert_int_eq(put(1, &self, 0, 0), 0);
    belay_claim *claim = claim_one();
    ck_assert_int_eq(belay_claim_run(claim), BELAY_PENDING);
    ck_assert_int_eq(state_of(1), BELAY_JOB_RUNNING);
    ck_assert_ptr_eq(belay_claim_ref(claim), claim);
    ck_assert_int_eq(belay_claim_run(claim), BELAY_ESTALE);
    ck_assert_int_eq(belay_claim_done(claim, 7), 0);
    ck_assert_int_eq(belay_claim_done(claim, 0), BELAY_ESTALE);
    ck_assert_int_eq(belay_claim_run(claim), BELAY_ESTALE);
    ck_assert_uint_eq(stats().failed, 1);
    ck_assert_uint_eq(stats().running, 0);
    belay_claim_unref(claim);
    unmake();
}
END_TEST

START_TEST(claim_that_was_never_run_is_ended_by_done)
{
    make();
    probe self = {0};
    ck_assert_int_eq(put(1, &self, 0, 0), 0);
    belay_claim *claim = claim_one();
    ck_assert_int_eq(belay_claim_done(claim, 0), 0);
    ck_assert_int_eq(self.runs, 0);
    ck_assert_int_eq(self.drops, 0);
    ck_assert_uint_eq(stats().completed, 1);
    unmake();
}
END_TEST

static void done_inside(probe *self)
{
    ck_assert_int_eq(belay_claim_done(self->claim, 0), 0);
    ck_assert_int_eq(belay_claim_done(self->claim, 0), BELAY_ESTALE);
    ck_assert_uint_eq(stats().running, 1);
}

START_TEST(done_inside_fn_takes_effect_when_fn_has_returned)
{
    make();
    probe self = {.inside = done_inside, .status = -1};
    ck_assert_int_eq(put(1, &self, 0, 0), 0);
    ck_assert_int_eq(belay_claim_run(claim_one()), 0);
    ck_assert_uint_eq(stats().running, 0);
    ck_assert_uint_eq(stats().completed, 1);
    ck_assert_uint_eq(stats().failed, 0);
    self.status = BELAY_PENDING;
    ck_assert_int_eq(put(1, &self, 0, 0), 0);
    ck_assert_int_eq(belay_claim_run(claim_one()), 0);
    ck_assert_uint_eq(stats().completed, 2);
    unmake();
}
END_TEST

static void *done_elsewhere(void *arg)
{
    probe *self = arg;
    self->number = belay_claim_done(self->claim, 0);
    return NULL;
}

/* Another thread ends the job while its fn has not yet returned BELAY_PENDING. */
static void done_by_another_thread(probe *self)
{
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, done_elsewhere, self), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_int_eq(self->number, 0);
    ck_assert_uint_eq(stats().running, 1);
    self->number = 0;
}

START_TEST(done_from_another_thread_before_fn_returned_waits_for_fn)
{
    make();
    probe self = {.inside = done_by_another_thread, .status = BELAY_PENDING};
    probe held = {0};
    ck_assert_int_eq(put(1, &self, 0, 0), 0);
    belay_claim *claim = claim_one();
    ck_assert_int_eq(put(1, &held, 0, 0), BELAY_STILL_RUNNING);
    ck_assert_int_eq(belay_claim_run(claim), 0);
    ck_assert_uint_eq(stats().running, 0);
    ck_assert_int_eq(run_due(), 1);
    ck_assert_int_eq(held.runs, 1);
    unmake();
}
END_TEST

START_TEST(reference_keeps_an_ended_claim_apart_from_later_ones)
{
    make();
    probe self = {.status = BELAY_PENDING};
    ck_assert_int_eq(put(1, &self, 0, 0), 0);
    ck_assert_int_eq(run_one(), 0);
    belay_claim *old = belay_claim_ref(self.claim);
    ck_assert_int_eq(belay_claim_done(old, 0), 0);
    ck_assert_int_eq(put(1, &self, 0, 0), 0);
    ck_assert_int_eq(run_one(), 0);
    ck_assert_ptr_ne(self.claim, old);
    ck_assert_int_eq(belay_claim_done(old, 0), BELAY_ESTALE);
    ck_assert_int_eq(state_of(1), BELAY_JOB_RUNNING);
    ck_assert_int_eq(belay_claim_done(self.claim, 0), 0);
    unmake();
    ck_assert_int_eq(belay_claim_done(old, 0), BELAY_ESTALE);
    ck_assert(!belay_claim_is_canceled(old));
    belay_claim_unref(old);
}
END_TEST

START_TEST(token_fires_when_the_running_job_is_canceled)
{
    make();
    probe self = {.status = BELAY_PENDING};
    ck_assert_int_eq(put(1, &self, 0, 0), 0);
    ck_assert_int_eq(run_one(), 0);
    belay_cancel *token = NULL;
    belay_cancel *again = NULL;
    ck_assert_int_eq(belay_claim_token(self.claim, &token), 0);
    ck_assert_int_eq(belay_claim_token(self.claim, &again), 0);
    ck_assert_ptr_eq(token, again);
    ck_assert(!belay_cancel_is_fired(token));
    ck_assert_int_eq(belay_sched_cancel(test_sched, BELAY_ID(1)), BELAY_STILL_RUNNING);
    ck_assert(belay_cancel_is_fired(token));
    ck_assert(belay_claim_is_canceled(self.claim));
    (void)belay_cancel_ref(token);
    ck_assert_int_eq(belay_claim_done(self.claim, 0), 0);
    ck_assert(belay_cancel_is_fired(token));
    belay_cancel_unref(token);
    unmake();
}
END_TEST

START_TEST(token_asked_for_after_the_cancel_is_born_fired)
{
    make();
    probe self = {.status = BELAY_PENDING};
    ck_assert_int_eq(put(1, &self, 0, 0), 0);
    ck_assert_int_eq(run_one(), 0);
    ck_assert_int_eq(belay_sched_cancel(test_sched, BELAY_ID(1)), BELAY_STILL_RUNNING);
    belay_cancel *token = NULL;
    ck_assert_int_eq(belay_claim_token(self.claim, &token), 0);
    ck_assert(belay_cancel_is_fired(token));
    ck_assert_int_eq(belay_claim_done(self.claim, 0), 0);
    unmake();
}
END_TEST

START_TEST(next_run_of_a_claim_knows_nothing_of_the_last)
{
    make();
    probe self = {.status = BELAY_PENDING};
    ck_assert_int_eq(put(1, &self, 0, 0), 0);
    ck_assert_int_eq(run_one(), 0);
    belay_claim *first = self.claim;
    ck_assert_int_eq(belay_sched_cancel(test_sched, BELAY_ID(1)), BELAY_STILL_RUNNING);
    ck_assert_int_eq(belay_claim_done(first, 0), 0);
    ck_assert_int_eq(put(1, &self, 0, 0), 0);
    ck_assert_int_eq(run_one(), 0);
    ck_assert_ptr_eq(self.claim, first); /* used again: nobody referred to it */
    ck_assert(!belay_claim_is_canceled(self.claim));
    belay_cancel *token = NULL;
    ck_assert_int_eq(belay_claim_token(self.claim, &token), 0);
    ck_assert(!belay_cancel_is_fired(token));
    ck_assert_int_eq(belay_claim_done(self.claim, 0), 0);
    unmake();
}
END_TEST

static void exit_thread(probe *self)
{
    (void)self;
    pthread_exit(NULL);
}

static void run_exiting(probe *self)
{
    (void)self;
    (void)run_one();
    ck_abort_msg("the thread has ended in there");
}

static void *run_one_in_thread(void *arg)
{
    (void)arg;
    (void)run_one();
    return NULL;
}

START_TEST(job_that_ends_its_thread_has_failed_and_so_have_its_callers)
{
    make();
    probe outer = {.inside = run_exiting};
    probe inner = {.inside = exit_thread};
    ck_assert_int_eq(put(1, &outer, 0, 1), 0);
    ck_assert_int_eq(put(2, &inner, 0, 0), 0);
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, run_one_in_thread, NULL), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_int_eq(outer.runs + inner.runs, 2);
    ck_assert_uint_eq(stats().failed, 2);
    ck_assert_uint_eq(stats().running, 0);
    unmake();
}
END_TEST

static uint32_t spares_listed(void)
{
    uint32_t count = 0;
    bly_list_each (link, &test_sched->spares) {
        count++;
    }
    return count;
}

START_TEST(as_many_claims_are_kept_as_is_said_and_no_more)
{
    enum { CLAIMS = BLY_SPARES_MAX + 2 };
    make();
    probe jobs[CLAIMS];
    belay_claim *claims[CLAIMS];
    memset(jobs, 0, sizeof jobs);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < CLAIMS; i++) {
            ck_assert_int_eq(put((uint64_t)i, &jobs[i], 0, 0), 0);
        }
        for (int i = 0; i < CLAIMS; i++) {
            claims[i] = claim_one();
            ck_assert_uint_eq(test_sched->spare_count, spares_listed());
        }
        ck_assert_uint_eq(test_sched->spare_count, 0);
        for (int i = 0; i < CLAIMS; i++) {
            ck_assert_int_eq(belay_claim_run(claims[i]), 0);
        }
        ck_assert_uint_eq(test_sched->spare_count, BLY_SPARES_MAX);
        ck_assert_uint_eq(spares_listed(), BLY_SPARES_MAX);
    }
    unmake();
}
END_TEST

START_TEST(job_that_runs_once_has_missed_nothing_whoever_used_its_claim)
{
    make();
    probe series = {0}, single = {0};
    belay_job job = job_of(&series, 0, 0);
    job.next = belay_every;
    job.period_ns = 10;
    ck_assert_int_eq(belay_sched_schedule(test_sched, BELAY_ID(1), &job, NULL), 0);
    advance(35);
    ck_assert_int_eq(run_one(), 0);
    ck_assert_uint_eq(series.missed, 3);
    ck_assert_int_eq(belay_sched_cancel(test_sched, BELAY_ID(1)), 0);
    ck_assert_int_eq(put(2, &single, 0, 0), 0);
    ck_assert_int_eq(run_one(), 0);
    ck_assert_uint_eq(single.missed, 0);
    ck_assert_uint_eq(stats().missed, 3);
    ck_assert_int_eq(put(2, &single, 100, 0), 0);
    ck_assert_int_eq(belay_sched_cancel(test_sched, BELAY_ID(2)), 0);
    ck_assert_uint_eq(stats().missed, 3);
    unmake();
}
END_TEST

UNIT_MAIN("sched/claim", run_reports_the_status_of_fn, bad_arguments_are_refused,
          info_tells_what_was_scheduled, pending_job_is_ended_by_done_and_once,
          claim_that_was_never_run_is_ended_by_done,
          done_inside_fn_takes_effect_when_fn_has_returned,
          done_from_another_thread_before_fn_returned_waits_for_fn,
          reference_keeps_an_ended_claim_apart_from_later_ones,
          token_fires_when_the_running_job_is_canceled,
          token_asked_for_after_the_cancel_is_born_fired,
          next_run_of_a_claim_knows_nothing_of_the_last,
          job_that_ends_its_thread_has_failed_and_so_have_its_callers,
          as_many_claims_are_kept_as_is_said_and_no_more,
          job_that_runs_once_has_missed_nothing_whoever_used_its_claim)
