/*
 * test_control.c: owners control jobs that are there.
 */
#include "jobs.h"

#include <unistd.h>

static probe first;

START_TEST(a_canceled_job_is_tried_again_from_zero)
{
    open_store();
    uint64_t seq = add_plain("mail");
    ck_assert_int_eq(cancel(seq), 0);
    ck_assert_int_eq(cancel(seq), BELAY_ETOOLATE);
    ck_assert_int_eq(cancel(seq + 1), BELAY_ENOENT);
    uint64_t again = 0;
    belay_jobs_ref ref = belay_jobs_ref_seq(seq);
    ck_assert_int_eq(belay_jobs_retry(test_jobs, &ref, &again), 0);
    ck_assert_uint_eq(again, seq);
    assert_state(seq, BELAY_JOBS_READY);
    ck_assert_int_eq(belay_jobs_retry(test_jobs, &ref, NULL), BELAY_ETOOLATE);
    close_store();
}
END_TEST

START_TEST(all_failed_jobs_are_tried_again)
{
    open_store();
    open_exec(1);
    first.status = 9;
    handle("mail", &first);
    work(1);
    uint64_t one = add_plain("mail");
    uint64_t two = add_plain("mail");
    (void)await_end(one);
    (void)await_end(two);
    ck_assert_int_eq(belay_jobs_drain(test_jobs, BELAY_FOREVER), 0);
    uint64_t count = 0;
    ck_assert_int_eq(belay_jobs_retry_all(test_jobs, 0, &count), 0);
    ck_assert_uint_eq(count, 2);
    assert_state(one, BELAY_JOBS_READY);
    ck_assert_int_eq(belay_jobs_retry_all(test_jobs, 0, NULL), 0);
    close_store();
    close_exec();
}
END_TEST

START_TEST(a_paused_queue_waits)
{
    open_store();
    open_exec(1);
    handle("mail", &first);
    handle("resize", &first);
    belay_bytes mail = belay_bytes_text("mail");
    ck_assert_int_eq(belay_jobs_pause(test_jobs, BELAY_JOBS_PAUSE_QUEUE, NULL, mail), 0);
    uint64_t paused = add_plain("mail");
    work(1);
    (void)await_end(add_plain("resize"));
    assert_state(paused, BELAY_JOBS_READY);
    ck_assert_int_eq(belay_jobs_unpause(test_jobs, BELAY_JOBS_PAUSE_QUEUE, NULL, mail), 0);
    ck_assert_uint_eq(await_end(paused).state, BELAY_JOBS_DONE);
    close_store();
    close_exec();
}
END_TEST

START_TEST(limits_hold_for_handlers)
{
    open_store();
    open_exec(4);
    first.holds = 1;
    handle("mail", &first);
    ck_assert_int_eq(belay_jobs_limit(test_jobs, belay_bytes_text("post"), 2), 0);
    belay_jobs_want want = {.name = belay_bytes_text("post")};
    belay_jobs_new job = new_job("mail", "");
    job.wants = &want;
    job.want_count = 1;
    uint64_t seqs[6];
    for (int i = 0; i < 6; i++) {
        seqs[i] = add(&job);
    }
    work(4);
    word_await(&first.begun, 2);
    word_raise(&first.may_end);
    for (int i = 0; i < 6; i++) {
        ck_assert_uint_eq(await_end(seqs[i]).state, BELAY_JOBS_DONE);
    }
    ck_assert_uint_le(first.peak, 2);
    close_store();
    close_exec();
}
END_TEST

START_TEST(a_queue_has_a_bound)
{
    open_store();
    open_exec(4);
    handle("mail", &first);
    ck_assert_int_eq(belay_jobs_queue(test_jobs, belay_bytes_text("mail"), 1), 0);
    uint64_t seqs[6];
    for (int i = 0; i < 6; i++) {
        seqs[i] = add_plain("mail");
    }
    work(4);
    for (int i = 0; i < 6; i++) {
        ck_assert_uint_eq(await_end(seqs[i]).state, BELAY_JOBS_DONE);
    }
    ck_assert_uint_eq(first.peak, 1);
    close_store();
    close_exec();
}
END_TEST

START_TEST(a_batch_is_begun_resumed_and_canceled)
{
    open_store();
    belay_jobs_table *row = NULL;
    belay_bytes name = belay_bytes_text("night");
    belay_bytes digest = belay_bytes_text("1");
    ck_assert_int_eq(belay_jobs_batch_begin(test_jobs, name, digest, 0, &row), 0);
    uint64_t batch = row->of.batch[0].batch;
    belay_jobs_table_free(row);
    belay_jobs_new job = new_job("mail", "");
    job.batch = batch;
    uint64_t seq = add(&job);
    ck_assert_int_eq(belay_jobs_batch_begin(test_jobs, name, digest, 0, &row), BELAY_EEXIST);
    belay_jobs_table_free(row);
    ck_assert_int_eq(belay_jobs_batch_begin(test_jobs, name, digest, BELAY_JOBS_BATCH_RESUME, &row),
                     0);
    ck_assert_uint_eq(row->of.batch[0].batch, batch);
    belay_jobs_table_free(row);
    uint64_t canceled = 0;
    uint64_t told = 9;
    ck_assert_int_eq(belay_jobs_cancel_batch(test_jobs, batch, &canceled, &told), 0);
    ck_assert_uint_eq(canceled, 1);
    ck_assert_uint_eq(told, 0);
    assert_state(seq, BELAY_JOBS_CANCELED);
    ck_assert_int_eq(belay_jobs_batch_end(test_jobs, batch, 1), 0);
    ck_assert_int_eq(belay_jobs_batch_end(test_jobs, batch + 9, 1), BELAY_ENOENT);
    close_store();
}
END_TEST

START_TEST(old_jobs_are_removed)
{
    open_store();
    uint64_t seq = add_plain("mail");
    ck_assert_int_eq(cancel(seq), 0);
    belay_jobs_gc_result done = {0};
    belay_jobs_gc_opts opts = {.size = sizeof opts, .keep_ns = 1, .keep_failed_ns = 1};
    ck_assert_int_eq(belay_jobs_gc(test_jobs, NULL, &done), 0);
    ck_assert_uint_eq(done.jobs, 0);
    ck_assert_int_eq(belay_jobs_gc(test_jobs, &opts, &done), 0);
    ck_assert_uint_eq(done.jobs, 1);
    ck_assert_int_eq(belay_jobs_gc(test_jobs, &opts, NULL), 0);
    ck_assert_int_eq(belay_jobs_check(test_jobs), 0);
    close_store();
}
END_TEST

START_TEST(a_live_file_is_made_and_removed)
{
    char folder[] = "/tmp/belay-jobs-XXXXXX";
    char path[64];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/state/jobs.db", folder);
    belay_jobs_live live = {.fd = -1};
    ck_assert_int_eq(belay_jobs_live_create(path, &live, NULL), 0);
    ck_assert_int_ge(live.fd, 0);
    open_at(path, NULL);
    belay_jobs_session *session = NULL;
    belay_jobs_session_opts opts = {.size = sizeof opts, .live = &live};
    ck_assert_int_eq(belay_jobs_session_begin(test_jobs, &opts, &session), 0);
    uint32_t rescued = 9;
    uint32_t pending = 9;
    ck_assert_int_eq(belay_jobs_rescue(test_jobs, &rescued, &pending), 0);
    ck_assert_uint_eq(rescued, 0);
    ck_assert_uint_eq(pending, 0);
    ck_assert_int_eq(belay_jobs_session_end(session), 0);
    close_store();
    belay_jobs_live_destroy(path, &live);
    belay_jobs_live_destroy(NULL, &live);
    char command[96];
    (void)snprintf(command, sizeof command, "rm -r %s", folder);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

START_TEST(arguments_are_checked)
{
    open_store();
    belay_bytes mail = belay_bytes_text("mail");
    belay_jobs_ref none = {0};
    belay_jobs_table *row = NULL;
    ck_assert_int_eq(belay_jobs_cancel(test_jobs, NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_jobs_cancel(test_jobs, &none), BELAY_EINVAL);
    ck_assert_int_eq(belay_jobs_cancel(NULL, &none), BELAY_EINVAL);
    ck_assert_int_eq(belay_jobs_cancel_batch(NULL, 1, NULL, NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_jobs_retry(test_jobs, NULL, NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_jobs_retry_all(NULL, 0, NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_jobs_pause(test_jobs, BELAY_JOBS_PAUSE_JOB, NULL, mail), BELAY_EINVAL);
    ck_assert_int_eq(belay_jobs_unpause(test_jobs, 99, NULL, mail), BELAY_EINVAL);
    ck_assert_int_eq(belay_jobs_limit(test_jobs, mail, 0), BELAY_EINVAL);
    ck_assert_int_eq(belay_jobs_limit(NULL, mail, 1), BELAY_EINVAL);
    ck_assert_int_eq(belay_jobs_queue(NULL, mail, 1), BELAY_EINVAL);
    ck_assert_int_eq(belay_jobs_batch_begin(test_jobs, mail, mail, 0, NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_jobs_batch_begin(test_jobs, mail, mail, 99, &row), BELAY_EINVAL);
    ck_assert_int_eq(belay_jobs_batch_end(NULL, 1, 1), BELAY_EINVAL);
    ck_assert_int_eq(belay_jobs_gc(NULL, NULL, NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_jobs_check(NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_jobs_rescue(NULL, NULL, NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_jobs_live_create(NULL, NULL, NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_jobs_flush(NULL, BELAY_NOW), BELAY_EINVAL);
    close_store();
}
END_TEST

UNIT_MAIN("jobs/control", a_canceled_job_is_tried_again_from_zero, all_failed_jobs_are_tried_again,
          a_paused_queue_waits, limits_hold_for_handlers, a_queue_has_a_bound,
          a_batch_is_begun_resumed_and_canceled, old_jobs_are_removed,
          a_live_file_is_made_and_removed, arguments_are_checked)
