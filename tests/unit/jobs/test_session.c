/*
 * test_session.c: sessions that the program drives: claim, start, orders, permits, the end.
 */
#include "jobs.h"

#include "jobs/jobs_int.h"

static belay_jobs_session *session;

static void begin_with(uint32_t claims_no_queue, belay_executor *executor)
{
    open_store();
    belay_bytes mail = belay_bytes_text("mail");
    belay_jobs_session_opts opts = {.size = sizeof opts,
                                    .slots = 3,
                                    .queues = claims_no_queue != 0 ? NULL : &mail,
                                    .queue_count = claims_no_queue != 0 ? 0 : 1,
                                    .claims_no_queue = claims_no_queue,
                                    .executor = executor};
    ck_assert_int_eq(belay_jobs_session_begin(test_jobs, &opts, &session), 0);
}

static void begin(void)
{
    begin_with(0, NULL);
}

static void end(void)
{
    ck_assert_int_eq(belay_jobs_flush(test_jobs, BELAY_FOREVER), 0);
    ck_assert_int_eq(belay_jobs_session_end(session), 0);
    close_store();
}

static belay_run *claim(uint32_t flags)
{
    belay_run *run = NULL;
    uint32_t count = 0;
    ck_assert_int_eq(belay_jobs_session_claim(session, 1, flags, &run, &count, NULL), 0);
    ck_assert_uint_eq(count, 1);
    return run;
}

START_TEST(up_to_as_many_as_asked_for_are_claimed)
{
    begin();
    belay_run *runs[4];
    uint32_t count = 9;
    int64_t next_ns = 0;
    uint64_t seqs[3] = {add_plain("mail"), add_plain("mail"), add_plain("mail")};
    ck_assert_int_eq(belay_jobs_session_claim(session, 2, 0, runs, &count, &next_ns), 0);
    ck_assert_uint_eq(count, 2);
    ck_assert_int_eq(belay_jobs_session_claim(session, 4, 0, runs + 2, &count, &next_ns), 0);
    ck_assert_uint_eq(count, 1);
    ck_assert_int_eq(next_ns, BELAY_FOREVER);
    for (int i = 0; i < 3; i++) {
        belay_run_details info = {.size = sizeof info};
        ck_assert_int_eq(belay_run_info(runs[i], &info), 0);
        ck_assert_uint_eq(info.seq, seqs[i]);
    }
    ck_assert_int_eq(belay_jobs_session_claim(session, 4, 0, runs, &count, NULL), 0);
    ck_assert_uint_eq(count, 0);
    ck_assert_uint_eq(metrics().held, 3);
    end();
}
END_TEST

START_TEST(the_next_time_is_that_of_the_next_job)
{
    begin();
    belay_jobs_new job = new_job("mail", "");
    job.run_at_ns = bly_wall_ns() + 3600 * SECOND;
    (void)add(&job);
    belay_run *run = NULL;
    uint32_t count = 0;
    int64_t next_ns = 0;
    ck_assert_int_eq(belay_jobs_session_claim(session, 1, 0, &run, &count, &next_ns), 0);
    ck_assert_uint_eq(count, 0);
    ck_assert_int_eq(next_ns, job.run_at_ns);
    end();
}
END_TEST

START_TEST(a_claim_is_started_and_ended)
{
    begin();
    uint64_t seq = add_plain("mail");
    belay_run *run = claim(0);
    int result = 1;
    assert_state(seq, BELAY_JOBS_CLAIMED);
    ck_assert_uint_eq(find(seq).session, belay_jobs_session_id(session));
    ck_assert_int_eq(belay_jobs_session_start(session, &run, 1, &result), 0);
    ck_assert_int_eq(result, 0);
    assert_state(seq, BELAY_JOBS_RUNNING);
    ck_assert_int_eq(belay_jobs_session_start(session, &run, 1, &result), BELAY_EINVAL);
    ck_assert_int_eq(belay_run_done(run, 0), 0);
    ck_assert_uint_eq(await_end(seq).state, BELAY_JOBS_DONE);
    end();
}
END_TEST

START_TEST(a_claim_that_was_canceled_is_not_started)
{
    begin();
    uint64_t seq = add_plain("mail");
    belay_run *run = claim(0);
    int result = 0;
    ck_assert_int_eq(cancel(seq), 0);
    ck_assert_int_eq(belay_jobs_session_start(session, &run, 1, &result), 0);
    ck_assert_int_eq(result, BELAY_ECANCELED);
    belay_run_ending back = {.size = sizeof back, .what = BELAY_RUN_GIVE_BACK};
    ck_assert_int_eq(belay_run_end(run, &back), 0);
    ck_assert_int_eq(belay_jobs_flush(test_jobs, BELAY_FOREVER), 0);
    assert_state(seq, BELAY_JOBS_CANCELED);
    end();
}
END_TEST

START_TEST(each_order_is_told_once)
{
    begin();
    uint64_t seqs[3];
    for (int i = 0; i < 3; i++) {
        seqs[i] = add_plain("mail");
    }
    belay_run *runs[3];
    belay_run *told[3];
    uint32_t count = 0;
    ck_assert_int_eq(
        belay_jobs_session_claim(session, 3, BELAY_JOBS_CLAIM_START, runs, &count, NULL), 0);
    ck_assert_int_eq(cancel(seqs[0]), BELAY_STILL_RUNNING);
    ck_assert_int_eq(cancel(seqs[2]), BELAY_STILL_RUNNING);
    ck_assert_int_eq(belay_jobs_session_orders(session, told, 1, &count), 0);
    ck_assert_uint_eq(count, 1);
    ck_assert_ptr_eq(told[0], runs[0]);
    ck_assert_int_eq(belay_jobs_session_orders(session, told, 3, &count), 0);
    ck_assert_uint_eq(count, 1);
    ck_assert_ptr_eq(told[0], runs[2]);
    ck_assert_int_eq(belay_jobs_session_orders(session, told, 3, &count), 0);
    ck_assert_uint_eq(count, 0);
    ck_assert(!belay_run_is_canceled(runs[1]));
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(belay_run_done(runs[i], 3), 0);
    }
    ck_assert_uint_eq(await_end(seqs[0]).state, BELAY_JOBS_CANCELED);
    ck_assert_uint_eq(await_end(seqs[1]).state, BELAY_JOBS_FAILED);
    ck_assert_int_eq(belay_jobs_session_orders(session, told, 3, &count), 0);
    ck_assert_uint_eq(count, 0);
    end();
}
END_TEST

START_TEST(a_job_is_claimed_by_its_number)
{
    begin_with(1, NULL);
    uint64_t other = add_plain("mail");
    uint64_t seq = add_plain("mail");
    belay_run *run = NULL;
    uint32_t count = 0;
    ck_assert_int_eq(belay_jobs_session_claim(session, 1, 0, &run, &count, NULL), 0);
    ck_assert_uint_eq(count, 0);
    ck_assert_int_eq(belay_jobs_session_claim_one(session, seq, BELAY_JOBS_CLAIM_START, &run), 0);
    ck_assert_int_eq(belay_jobs_session_claim_one(session, seq, 0, &run), BELAY_ETOOLATE);
    ck_assert_int_eq(belay_jobs_session_claim_one(session, seq + 7, 0, &run), BELAY_ENOENT);
    assert_state(seq, BELAY_JOBS_RUNNING);
    assert_state(other, BELAY_JOBS_READY);
    ck_assert_int_eq(belay_run_done(run, 0), 0);
    end();
}
END_TEST

START_TEST(permits_are_held_until_the_end_of_their_run)
{
    begin_with(1, NULL);
    belay_jobs_want want = {.name = belay_bytes_text("db")};
    belay_jobs_new job = {.size = sizeof job, .wants = &want, .want_count = 1};
    uint64_t first = 0;
    uint64_t second = 0;
    belay_run *run = NULL;
    belay_run *other = NULL;
    ck_assert_int_eq(belay_jobs_session_take(session, &job, &first), 0);
    ck_assert_int_eq(belay_jobs_session_take(session, &job, &second), 0);
    ck_assert_int_eq(belay_jobs_session_claim_one(session, first, BELAY_JOBS_CLAIM_START, &run), 0);
    ck_assert_int_eq(belay_jobs_session_claim_one(session, second, BELAY_JOBS_CLAIM_START, &other),
                     BELAY_EAGAIN);
    ck_assert_int_eq(belay_run_done(run, 0), 0);
    ck_assert_int_eq(belay_jobs_flush(test_jobs, BELAY_FOREVER), 0);
    ck_assert_int_eq(belay_jobs_session_claim_one(session, second, BELAY_JOBS_CLAIM_START, &other),
                     0);
    ck_assert_int_eq(belay_run_done(other, 0), 0);
    end();
}
END_TEST

START_TEST(the_end_of_a_session_gives_its_jobs_back)
{
    begin();
    uint64_t claimed = add_plain("mail");
    (void)claim(0);
    uint64_t running = add_plain("mail");
    (void)claim(BELAY_JOBS_CLAIM_START);
    ck_assert_int_eq(belay_jobs_session_end(session), 0);
    assert_state(claimed, BELAY_JOBS_READY);
    ck_assert_uint_eq(find(claimed).lost, 0);
    assert_state(running, BELAY_JOBS_READY);
    ck_assert_uint_eq(find(running).lost, 1);
    ck_assert_uint_eq(metrics().held, 0);
    close_store();
}
END_TEST

/* Ends are reported in the caller's loop. */
static void note(int result, void *arg)
{
    *(int *)arg = result;
}

START_TEST(ends_are_reported_on_the_executor_of_the_session)
{
    belay_mailbox *mailbox = NULL;
    ck_assert_int_eq(belay_mailbox_create(NULL, &mailbox), 0);
    begin_with(0, belay_mailbox_executor(mailbox));
    ck_assert_int_eq(belay_mailbox_destroy(mailbox), BELAY_EBUSY);
    (void)add_plain("mail");
    int told = 1;
    belay_run_ending how = {
        .size = sizeof how, .what = BELAY_RUN_DONE, .reported = note, .arg = &told};
    ck_assert_int_eq(belay_run_end(claim(BELAY_JOBS_CLAIM_START), &how), 0);
    ck_assert_int_eq(belay_jobs_flush(test_jobs, BELAY_FOREVER), 0);
    ck_assert_int_eq(told, 1);
    ck_assert_int_eq(belay_jobs_session_end(session), BELAY_EBUSY);
    ck_assert_int_eq(belay_mailbox_run(mailbox, 0), 1);
    ck_assert_int_eq(told, 0);
    end();
    ck_assert_int_eq(belay_mailbox_destroy(mailbox), 0);
}
END_TEST

START_TEST(sessions_are_seen_in_their_table)
{
    begin();
    belay_jobs_table *table = NULL;
    ck_assert_int_eq(belay_jobs_list_table(test_jobs, BELAY_JOBS_SESSIONS, &table), 0);
    ck_assert_uint_eq(table->count, 1);
    ck_assert_uint_eq(table->of.session[0].id, belay_jobs_session_id(session));
    ck_assert_uint_eq(table->of.session[0].slots, 3);
    belay_jobs_table_free(table);
    ck_assert_uint_eq(belay_jobs_session_id(NULL), 0);
    end();
}
END_TEST

START_TEST(arguments_are_checked)
{
    begin();
    belay_jobs_session *other = NULL;
    belay_run *run = NULL;
    uint32_t count = 0;
    uint64_t seq = 0;
    int result = 0;
    belay_jobs_session_opts opts = {.size = sizeof opts, .queue_count = 1};
    ck_assert_int_eq(belay_jobs_session_begin(NULL, NULL, &other), BELAY_EINVAL);
    ck_assert_int_eq(belay_jobs_session_begin(test_jobs, NULL, NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_jobs_session_begin(test_jobs, &opts, &other), BELAY_EINVAL);
    belay_bytes mail = belay_bytes_text("mail");
    opts.queues = &mail;
    opts.claims_no_queue = 1;
    ck_assert_int_eq(belay_jobs_session_begin(test_jobs, &opts, &other), BELAY_EINVAL);
    ck_assert_int_eq(belay_jobs_session_claim(NULL, 1, 0, &run, &count, NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_jobs_session_claim(session, 0, 0, &run, &count, NULL), BELAY_EINVAL);
    ck_assert_int_eq(
        belay_jobs_session_claim(session, BELAY_JOBS_CLAIM_MAX + 1, 0, &run, &count, NULL),
        BELAY_EINVAL);
    ck_assert_int_eq(belay_jobs_session_claim(session, 1, 2, &run, &count, NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_jobs_session_claim(session, 1, 0, NULL, &count, NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_jobs_session_claim_one(session, 0, 0, &run), BELAY_EINVAL);
    ck_assert_int_eq(belay_jobs_session_claim_one(session, 1, 2, &run), BELAY_EINVAL);
    ck_assert_int_eq(belay_jobs_session_take(session, NULL, &seq), BELAY_EINVAL);
    ck_assert_int_eq(belay_jobs_session_start(session, &run, 0, &result), BELAY_EINVAL);
    ck_assert_int_eq(belay_jobs_session_start(session, &run, 1, &result), BELAY_EINVAL);
    ck_assert_int_eq(belay_jobs_session_orders(session, &run, 0, &count), BELAY_EINVAL);
    ck_assert_int_eq(belay_jobs_session_end(NULL), 0);
    end();
}
END_TEST

START_TEST(what_an_ended_session_asks_for_is_refused)
{
    begin();
    (void)add_plain("mail");
    ck_assert_int_eq(bly_store_session_end(test_jobs->store, belay_jobs_session_id(session)), 0);
    belay_run *run = NULL;
    uint32_t count = 0;
    ck_assert_int_eq(belay_jobs_session_claim(session, 1, 0, &run, &count, NULL), BELAY_ESTALE);
    ck_assert_int_eq(belay_jobs_session_end(session), BELAY_ENOENT);
    close_store();
}
END_TEST

UNIT_MAIN("jobs/session", up_to_as_many_as_asked_for_are_claimed,
          the_next_time_is_that_of_the_next_job, a_claim_is_started_and_ended,
          a_claim_that_was_canceled_is_not_started, each_order_is_told_once,
          a_job_is_claimed_by_its_number, permits_are_held_until_the_end_of_their_run,
          the_end_of_a_session_gives_its_jobs_back,
          ends_are_reported_on_the_executor_of_the_session, sessions_are_seen_in_their_table,
          arguments_are_checked, what_an_ended_session_asks_for_is_refused)
