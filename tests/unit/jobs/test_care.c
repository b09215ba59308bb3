/*
 * test_care.c: what the worker looks after: cancels, timeouts, claims that did not start, sessions
 * that were taken for dead.
 */
#include "jobs.h"

#include "jobs/worker_int.h"

static probe first;
static probe second;

static void begin(uint32_t workers)
{
    open_store();
    open_exec(workers);
}

static void finish(void)
{
    close_store();
    close_exec();
}

/* Waits until it is told to end. */
static int until_canceled(belay_run *run, probe *self)
{
    belay_cancel *token = NULL;
    ck_assert_int_eq(belay_run_token(run, &token), 0);
    while (!belay_cancel_is_fired(token)) {
        bly_yield();
    }
    ck_assert(belay_run_is_canceled(run));
    return self->status;
}

START_TEST(a_running_job_is_told_of_its_cancel)
{
    begin(1);
    first.act = until_canceled;
    first.status = 7;
    handle("mail", &first);
    work(1);
    uint64_t seq = add_plain("mail");
    word_await(&first.begun, 1);
    ck_assert_int_eq(cancel(seq), BELAY_STILL_RUNNING);
    belay_jobs_row row = await_end(seq);
    ck_assert_uint_eq(row.state, BELAY_JOBS_CANCELED);
    ck_assert_int_eq(row.how, BELAY_JOBS_HOW_CANCELED);
    finish();
}
END_TEST

START_TEST(a_job_that_takes_too_long_is_told_and_has_timed_out)
{
    begin(1);
    first.act = until_canceled;
    first.status = 7;
    handle("mail", &first);
    work(1);
    belay_jobs_new job = new_job("mail", "");
    job.timeout_ns = SECOND / 50;
    belay_jobs_row row = await_end(add(&job));
    ck_assert_uint_eq(row.state, BELAY_JOBS_FAILED);
    ck_assert_int_eq(row.how, BELAY_JOBS_HOW_TIMED_OUT);
    ck_assert_int_eq(row.code, 7);
    finish();
}
END_TEST

START_TEST(only_the_run_whose_time_is_over_is_told)
{
    begin(2);
    first.act = until_canceled;
    first.status = 7;
    second.holds = 1;
    handle("mail", &first);
    handle("resize", &second);
    work(2);
    belay_jobs_new job = new_job("resize", "");
    job.timeout_ns = 3600 * SECOND;
    uint64_t patient = add(&job);
    word_await(&second.begun, 1);
    job = new_job("mail", "");
    job.timeout_ns = SECOND / 50;
    (void)await_end(add(&job));
    ck_assert(!belay_run_is_canceled(second.run));
    word_raise(&second.may_end);
    ck_assert_uint_eq(await_end(patient).state, BELAY_JOBS_DONE);
    finish();
}
END_TEST

START_TEST(a_job_canceled_before_it_starts_never_starts)
{
    begin(1);
    second.holds = 1;
    handle("mail", &first);
    handle("resize", &second);
    work(1);
    uint64_t running = add_plain("resize");
    word_await(&second.begun, 1);
    uint64_t seq = add_plain("mail");
    ck_assert_int_eq(cancel(seq), 0);
    word_raise(&second.may_end);
    (void)await_end(running);
    (void)await_end(add_plain("mail"));
    ck_assert_uint_eq(first.begun, 1);
    assert_state(seq, BELAY_JOBS_CANCELED);
    finish();
}
END_TEST

/* An executor whose one thread is busy with something else: claims cannot start. */
static uint32_t busy_began;
static uint32_t busy_may_end;

static void be_busy(belay_task *task)
{
    (void)task;
    word_raise(&busy_began);
    word_await(&busy_may_end, 1);
}

START_TEST(a_claim_that_does_not_start_in_time_goes_back)
{
    begin(1);
    belay_task busy = {.run = be_busy};
    ck_assert_int_eq(belay_exec_submit(test_exec, &busy), 0);
    word_await(&busy_began, 1);
    handle("mail", &first);
    uint64_t seq = add_plain("mail");
    work(1);
    while (metrics().given_back == 0) {
        bly_yield();
    }
    ck_assert_uint_eq(first.begun, 0);
    word_raise(&busy_may_end);
    ck_assert_uint_eq(await_end(seq).runs, 1);
    ck_assert_uint_eq(first.begun, 1);
    finish();
}
END_TEST

START_TEST(a_claim_canceled_while_it_waits_never_starts)
{
    begin(1);
    belay_task busy = {.run = be_busy};
    ck_assert_int_eq(belay_exec_submit(test_exec, &busy), 0);
    word_await(&busy_began, 1);
    handle("mail", &first);
    uint64_t seq = add_plain("mail");
    work(1);
    while (metrics().claimed == 0) {
        bly_yield();
    }
    ck_assert_int_eq(cancel(seq), 0);
    word_raise(&busy_may_end);
    (void)await_end(add_plain("mail"));
    ck_assert_uint_eq(first.begun, 1);
    ck_assert_uint_ne(first.seqs[0], seq);
    finish();
}
END_TEST

/* The first run waits until it is told to end, the second one is well. */
static int fail_at_first(belay_run *run, probe *self)
{
    belay_run_details info = {.size = sizeof info};
    ck_assert_int_eq(belay_run_info(run, &info), 0);
    return info.attempt == 1 ? until_canceled(run, self) : 0;
}

START_TEST(a_session_that_was_taken_for_dead_begins_again)
{
    begin(1);
    first.act = fail_at_first;
    first.status = 7;
    handle("mail", &first);
    handle("resize", &second);
    work(1);
    uint64_t lost = add_plain("mail");
    word_await(&first.begun, 1);
    ck_assert_int_eq(bly_store_session_end(test_jobs->store, test_jobs->worker->owner.session), 0);
    belay_jobs_row row = await_end(lost);
    ck_assert_uint_eq(row.state, BELAY_JOBS_DONE);
    ck_assert_uint_eq(row.lost, 1);
    ck_assert_uint_eq(first.begun, 2);
    ck_assert_uint_eq(await_end(add_plain("resize")).state, BELAY_JOBS_DONE);
    finish();
}
END_TEST

UNIT_MAIN("jobs/care", a_running_job_is_told_of_its_cancel,
          a_job_that_takes_too_long_is_told_and_has_timed_out,
          only_the_run_whose_time_is_over_is_told, a_job_canceled_before_it_starts_never_starts,
          a_claim_that_does_not_start_in_time_goes_back,
          a_claim_canceled_while_it_waits_never_starts,
          a_session_that_was_taken_for_dead_begins_again)
