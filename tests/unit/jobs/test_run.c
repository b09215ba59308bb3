/*
 * test_run.c: runs: what is known of one, who ends it, what becomes of the result.
 */
#include "jobs.h"

#include "jobs/jobs_int.h"

static belay_jobs_session *session;

/* A report: how often, and what it said last. */
typedef struct report {
    uint32_t count; /* atomic */
    int result;
} report;

static void take_report(int result, void *arg)
{
    report *self = arg;
    self->result = result;
    word_raise(&self->count);
}

static void begin(void)
{
    open_store();
    belay_bytes mail = belay_bytes_text("mail");
    belay_jobs_session_opts opts = {.size = sizeof opts, .queues = &mail, .queue_count = 1};
    ck_assert_int_eq(belay_jobs_session_begin(test_jobs, &opts, &session), 0);
}

static void end(void)
{
    ck_assert_int_eq(belay_jobs_flush(test_jobs, BELAY_FOREVER), 0);
    ck_assert_int_eq(belay_jobs_session_end(session), 0);
    close_store();
}

/* Claims one job, started or not. */
static belay_run *claim(uint32_t flags)
{
    belay_run *run = NULL;
    uint32_t count = 0;
    ck_assert_int_eq(belay_jobs_session_claim(session, 1, flags, &run, &count, NULL), 0);
    ck_assert_uint_eq(count, 1);
    return run;
}

static belay_run_ending ending(int what, report *reported)
{
    return (belay_run_ending){.size = sizeof(belay_run_ending),
                              .what = what,
                              .reported = reported == NULL ? NULL : take_report,
                              .arg = reported};
}

START_TEST(info_tells_what_was_added)
{
    begin();
    belay_jobs_new job = new_job("mail", "to you");
    job.id = belay_bytes_text("letter");
    job.priority = 7;
    job.tries = 4;
    job.timeout_ns = 5 * SECOND;
    job.work.detail = belay_bytes_text("blue");
    uint64_t seq = add(&job);
    belay_run *run = claim(BELAY_JOBS_CLAIM_START);
    belay_run_details info = {.size = sizeof info};
    ck_assert_int_eq(belay_run_info(run, &info), 0);
    ck_assert_uint_eq(info.seq, seq);
    ck_assert_uint_eq(info.fence, belay_run_fence(run));
    ck_assert_uint_ne(info.fence, 0);
    ck_assert_uint_eq(info.attempt, 1);
    ck_assert_uint_eq(info.tries, 4);
    ck_assert_uint_eq(info.tried, 0);
    ck_assert_int_eq(info.priority, 7);
    ck_assert_int_eq(info.timeout_ns, 5 * SECOND);
    ck_assert_mem_eq(info.id.data, "letter", 6);
    ck_assert_mem_eq(info.queue.data, "mail", 4);
    ck_assert_mem_eq(info.work.command.data, "to you", 6);
    ck_assert_mem_eq(info.work.detail.data, "blue", 4);
    ck_assert_int_eq(belay_run_done(run, 0), 0);
    end();
}
END_TEST

START_TEST(the_fence_rises_from_run_to_run)
{
    begin();
    belay_jobs_new job = new_job("mail", "");
    job.tries = 2;
    uint64_t seq = add(&job);
    belay_run *run = claim(BELAY_JOBS_CLAIM_START);
    uint64_t before = belay_run_fence(run);
    belay_run_ending again = ending(BELAY_RUN_GIVE_BACK, NULL);
    ck_assert_int_eq(belay_run_end(run, &again), 0);
    ck_assert_int_eq(belay_jobs_flush(test_jobs, BELAY_FOREVER), 0);
    run = claim(BELAY_JOBS_CLAIM_START);
    ck_assert_uint_gt(belay_run_fence(run), before);
    ck_assert_int_eq(belay_run_done(run, 0), 0);
    ck_assert_uint_eq(await_end(seq).state, BELAY_JOBS_DONE);
    ck_assert_uint_eq(belay_run_fence(NULL), 0);
    end();
}
END_TEST

START_TEST(an_ending_is_kept_whole)
{
    begin();
    uint64_t seq = add_plain("mail");
    report told = {0};
    char result[] = "sent";
    belay_run_ending how = ending(BELAY_RUN_FAIL_NOW, &told);
    how.how = BELAY_JOBS_HOW_SIGNALED;
    how.code = 9;
    how.start_ns = 1000;
    how.end_ns = 3000;
    how.user_ns = 11;
    how.system_ns = 12;
    how.rss_max_kib = 13;
    how.result = belay_bytes_text(result);
    how.message = belay_bytes_text("killed");
    ck_assert_int_eq(belay_run_end(claim(BELAY_JOBS_CLAIM_START), &how), 0);
    memset(result, 'x', sizeof result); /* it was copied */
    word_await(&told.count, 1);
    ck_assert_int_eq(told.result, 0);
    belay_jobs_rows *rows = NULL;
    belay_jobs_ref ref = belay_jobs_ref_seq(seq);
    ck_assert_int_eq(belay_jobs_query(test_jobs, &ref, &rows), 0);
    const belay_jobs_row *row = rows->row;
    ck_assert_uint_eq(row->state, BELAY_JOBS_FAILED);
    ck_assert_int_eq(row->how, BELAY_JOBS_HOW_SIGNALED);
    ck_assert_int_eq(row->code, 9);
    ck_assert_int_eq(row->start_ns, 1000);
    ck_assert_int_eq(row->end_ns, 3000);
    ck_assert_int_eq(row->user_ns, 11);
    ck_assert_int_eq(row->system_ns, 12);
    ck_assert_uint_eq(row->rss_max_kib, 13);
    ck_assert_uint_eq(row->result.len, 4);
    ck_assert_mem_eq(row->result.data, "sent", 4);
    ck_assert_mem_eq(row->message.data, "killed", 6);
    belay_jobs_rows_free(rows);
    end();
}
END_TEST

START_TEST(the_result_of_a_lost_claim_is_dropped)
{
    begin();
    uint64_t seq = add_plain("mail");
    belay_run *run = claim(BELAY_JOBS_CLAIM_START);
    /* As if somebody had taken this process for dead: the job is another's to run. */
    ck_assert_int_eq(bly_store_session_end(test_jobs->store, belay_jobs_session_id(session)), 0);
    assert_state(seq, BELAY_JOBS_READY);
    report told = {0};
    belay_run_ending how = ending(BELAY_RUN_DONE, &told);
    how.result = belay_bytes_text("sent");
    ck_assert_int_eq(belay_run_end(run, &how), 0);
    word_await(&told.count, 1);
    ck_assert_int_eq(told.result, BELAY_ESTALE);
    assert_state(seq, BELAY_JOBS_READY);
    ck_assert_uint_eq(find(seq).lost, 1);
    ck_assert_uint_eq(metrics().dropped, 1);
    ck_assert_int_eq(belay_jobs_flush(test_jobs, BELAY_FOREVER), 0);
    ck_assert_int_eq(belay_jobs_session_end(session), BELAY_ENOENT);
    close_store();
}
END_TEST

START_TEST(a_claim_that_was_not_started_can_only_be_given_back)
{
    begin();
    uint64_t seq = add_plain("mail");
    belay_run *run = claim(0);
    assert_state(seq, BELAY_JOBS_CLAIMED);
    ck_assert_int_eq(belay_run_done(run, 0), BELAY_EINVAL);
    belay_run_ending how = ending(BELAY_RUN_FAIL, NULL);
    ck_assert_int_eq(belay_run_end(run, &how), BELAY_EINVAL);
    how.what = BELAY_RUN_GIVE_BACK;
    ck_assert_int_eq(belay_run_end(run, &how), 0);
    ck_assert_int_eq(belay_jobs_flush(test_jobs, BELAY_FOREVER), 0);
    assert_state(seq, BELAY_JOBS_READY);
    ck_assert_uint_eq(find(seq).runs, 0);
    ck_assert_uint_eq(metrics().given_back, 1);
    end();
}
END_TEST

START_TEST(a_failure_uses_up_a_try_and_comes_back)
{
    begin();
    belay_jobs_new job = new_job("mail", "");
    job.tries = 2;
    uint64_t seq = add(&job);
    ck_assert_int_eq(belay_run_done(claim(BELAY_JOBS_CLAIM_START), 3), 0);
    ck_assert_int_eq(belay_jobs_flush(test_jobs, BELAY_FOREVER), 0);
    assert_state(seq, BELAY_JOBS_SCHEDULED);
    ck_assert_uint_eq(find(seq).tried, 1);
    ck_assert_int_eq(find(seq).code, 3);
    end();
}
END_TEST

START_TEST(endings_are_checked)
{
    begin();
    uint64_t seq = add_plain("mail");
    belay_run *run = claim(BELAY_JOBS_CLAIM_START);
    belay_run_ending good = ending(BELAY_RUN_DONE, NULL);
    belay_run_ending bad = good;
    ck_assert_int_eq(belay_run_end(NULL, &good), BELAY_EINVAL);
    ck_assert_int_eq(belay_run_end(run, NULL), BELAY_EINVAL);
    bad.what = 0;
    ck_assert_int_eq(belay_run_end(run, &bad), BELAY_EINVAL);
    bad.what = BELAY_RUN_GIVE_BACK + 1;
    ck_assert_int_eq(belay_run_end(run, &bad), BELAY_EINVAL);
    bad = good;
    bad.how = BELAY_JOBS_HOW_CANCELED + 1;
    ck_assert_int_eq(belay_run_end(run, &bad), BELAY_EINVAL);
    bad = good;
    bad.backoff_ns = -1;
    ck_assert_int_eq(belay_run_end(run, &bad), BELAY_EINVAL);
    bad = good;
    bad.reserved = 1;
    ck_assert_int_eq(belay_run_end(run, &bad), BELAY_EINVAL);
    bad = good;
    bad.result = (belay_bytes){"", (size_t)BELAY_JOBS_BYTES_MAX + 1};
    ck_assert_int_eq(belay_run_end(run, &bad), BELAY_EINVAL);
    ck_assert_int_eq(belay_run_done(run, BELAY_PENDING), BELAY_EINVAL);
    ck_assert_int_eq(belay_run_done(NULL, 0), BELAY_EINVAL);
    ck_assert_int_eq(belay_run_info(run, NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_run_token(run, NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_run_end(run, &good), 0);
    ck_assert_uint_eq(await_end(seq).state, BELAY_JOBS_DONE);
    end();
}
END_TEST

START_TEST(a_token_made_after_the_cancel_has_fired)
{
    begin();
    uint64_t seq = add_plain("mail");
    belay_run *run = claim(BELAY_JOBS_CLAIM_START);
    belay_run *ordered = NULL;
    uint32_t count = 0;
    ck_assert(!belay_run_is_canceled(run));
    ck_assert(!belay_run_is_canceled(NULL));
    ck_assert_int_eq(cancel(seq), BELAY_STILL_RUNNING);
    ck_assert_int_eq(belay_jobs_session_orders(session, &ordered, 1, &count), 0);
    ck_assert_uint_eq(count, 1);
    ck_assert_ptr_eq(ordered, run);
    ck_assert(belay_run_is_canceled(run));
    belay_cancel *token = NULL;
    belay_cancel *again = NULL;
    ck_assert_int_eq(belay_run_token(run, &token), 0);
    ck_assert(belay_cancel_is_fired(token));
    ck_assert_int_eq(belay_run_token(run, &again), 0);
    ck_assert_ptr_eq(token, again);
    ck_assert_int_eq(belay_run_done(run, 15), 0);
    ck_assert_uint_eq(await_end(seq).state, BELAY_JOBS_CANCELED);
    end();
}
END_TEST

START_TEST(a_token_outlives_its_run)
{
    begin();
    (void)add_plain("mail");
    belay_run *run = claim(BELAY_JOBS_CLAIM_START);
    belay_cancel *token = NULL;
    ck_assert_int_eq(belay_run_token(run, &token), 0);
    ck_assert(!belay_cancel_is_fired(token));
    (void)belay_cancel_ref(token);
    ck_assert_int_eq(belay_run_done(run, 0), 0);
    ck_assert_int_eq(belay_jobs_flush(test_jobs, BELAY_FOREVER), 0);
    ck_assert(!belay_cancel_is_fired(token));
    belay_cancel_unref(token);
    end();
}
END_TEST

START_TEST(a_canceled_run_that_ended_well_is_done)
{
    begin();
    uint64_t seq = add_plain("mail");
    belay_run *run = claim(BELAY_JOBS_CLAIM_START);
    uint32_t count = 0;
    belay_run *ordered = NULL;
    ck_assert_int_eq(cancel(seq), BELAY_STILL_RUNNING);
    ck_assert_int_eq(belay_jobs_session_orders(session, &ordered, 1, &count), 0);
    ck_assert_int_eq(belay_run_done(run, 0), 0);
    ck_assert_uint_eq(await_end(seq).state, BELAY_JOBS_DONE);
    end();
}
END_TEST

UNIT_MAIN("jobs/run", info_tells_what_was_added, the_fence_rises_from_run_to_run,
          an_ending_is_kept_whole, the_result_of_a_lost_claim_is_dropped,
          a_claim_that_was_not_started_can_only_be_given_back,
          a_failure_uses_up_a_try_and_comes_back, endings_are_checked,
          a_token_made_after_the_cancel_has_fired, a_token_outlives_its_run,
          a_canceled_run_that_ended_well_is_done)
