/*
 * test_look.c: what can be seen of a store, and waiting for it to change.
 */
#include "jobs.h"

#include <poll.h>

static probe first;

START_TEST(wait_returns_the_row_of_the_end)
{
    open_store();
    open_exec(1);
    first.status = 3;
    handle("mail", &first);
    work(1);
    belay_jobs_new job = new_job("mail", "");
    job.id = belay_bytes_text("letter");
    uint64_t seq = add(&job);
    belay_jobs_rows *rows = NULL;
    belay_jobs_ref ref = belay_jobs_ref_id("letter");
    ck_assert_int_eq(belay_jobs_wait(test_jobs, &ref, BELAY_FOREVER, &rows), 0);
    ck_assert_uint_eq(rows->row[0].seq, seq);
    ck_assert_uint_eq(rows->row[0].state, BELAY_JOBS_FAILED);
    ck_assert_int_eq(rows->row[0].code, 3);
    belay_jobs_rows_free(rows);
    ck_assert_int_eq(belay_jobs_wait(test_jobs, &ref, BELAY_NOW, NULL), 0);
    close_store();
    close_exec();
}
END_TEST

START_TEST(wait_has_a_deadline)
{
    open_store();
    uint64_t seq = add_plain("mail");
    belay_jobs_ref ref = belay_jobs_ref_seq(seq);
    belay_jobs_rows *rows = NULL;
    ck_assert_int_eq(belay_jobs_wait(test_jobs, &ref, BELAY_NOW, &rows), BELAY_EAGAIN);
    ck_assert_int_eq(belay_jobs_wait(test_jobs, &ref, bly_monotonic_ns() + 1000000, &rows),
                     BELAY_ETIMEDOUT);
    ck_assert_ptr_null(rows);
    ref.seq = seq + 1;
    ck_assert_int_eq(belay_jobs_wait(test_jobs, &ref, BELAY_FOREVER, &rows), BELAY_ENOENT);
    ck_assert_int_eq(belay_jobs_wait(test_jobs, NULL, BELAY_FOREVER, &rows), BELAY_EINVAL);
    close_store();
}
END_TEST

START_TEST(a_watch_is_ready_when_something_was_committed)
{
    open_store();
    belay_jobs_watch *watch = NULL;
    ck_assert_int_eq(belay_jobs_watch_create(test_jobs, &watch), 0);
    struct pollfd ready = {.fd = belay_jobs_watch_fd(watch), .events = POLLIN};
    ck_assert_int_eq(poll(&ready, 1, 0), 0);
    (void)add_plain("mail");
    ck_assert_int_eq(poll(&ready, 1, -1), 1);
    ck_assert(belay_jobs_watch_check(watch));
    ck_assert_int_eq(poll(&ready, 1, 0), 0);
    belay_jobs_watch_destroy(watch);
    belay_jobs_watch_destroy(NULL);
    ck_assert_int_eq(belay_jobs_watch_fd(NULL), -1);
    ck_assert(!belay_jobs_watch_check(NULL));
    ck_assert_int_eq(belay_jobs_watch_create(test_jobs, NULL), BELAY_EINVAL);
    close_store();
}
END_TEST

START_TEST(numbers_count_what_the_process_did)
{
    open_store();
    open_exec(1);
    handle("mail", &first);
    work(1);
    (void)await_end(add_plain("mail"));
    ck_assert_int_eq(belay_jobs_drain(test_jobs, BELAY_FOREVER), 0);
    belay_jobs_metrics now = metrics();
    ck_assert_uint_eq(now.claimed, 1);
    ck_assert_uint_eq(now.started, 1);
    ck_assert_uint_eq(now.given_back, 0);
    ck_assert_uint_eq(now.held, 0);
    ck_assert_uint_eq(now.jobs[BELAY_JOBS_DONE], 1);
    ck_assert_uint_gt(now.commits, 0);
    close_store();
    close_exec();
}
END_TEST

START_TEST(an_older_program_gets_the_numbers_that_it_knows)
{
    open_store();
    belay_jobs_metrics now;
    memset(&now, 0x55, sizeof now);
    now.size = offsetof(belay_jobs_metrics, claimed);
    ck_assert_int_eq(belay_jobs_stats(test_jobs, &now), 0);
    ck_assert_uint_eq(now.jobs[BELAY_JOBS_READY], 0);
    ck_assert_uint_eq(now.claimed, UINT64_C(0x5555555555555555));
    now.size = 2;
    ck_assert_int_eq(belay_jobs_stats(test_jobs, &now), BELAY_EINVAL);
    ck_assert_int_eq(belay_jobs_stats(test_jobs, NULL), BELAY_EINVAL);
    close_store();
}
END_TEST

START_TEST(lists_and_tables_are_checked)
{
    open_store();
    belay_jobs_rows *rows = NULL;
    belay_jobs_table *table = NULL;
    belay_jobs_ref ref = belay_jobs_ref_seq(1);
    (void)add_plain("mail");
    ck_assert_int_eq(belay_jobs_list(test_jobs, NULL, &rows), 0);
    ck_assert_uint_eq(rows->count, 1);
    belay_jobs_rows_free(rows);
    belay_jobs_rows_free(NULL);
    belay_jobs_table_free(NULL);
    ck_assert_int_eq(belay_jobs_list(test_jobs, NULL, NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_jobs_query(test_jobs, &ref, NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_jobs_list_table(test_jobs, 0, &table), BELAY_EINVAL);
    ck_assert_int_eq(belay_jobs_list_table(test_jobs, BELAY_JOBS_QUEUES, NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_jobs_list_table(test_jobs, BELAY_JOBS_QUEUES, &table), 0);
    ck_assert_uint_ge(table->count, 1);
    belay_jobs_table_free(table);
    close_store();
}
END_TEST

START_TEST(states_have_names)
{
    ck_assert_str_eq(belay_jobs_state_name(BELAY_JOBS_READY), "ready");
    ck_assert_str_eq(belay_jobs_state_name(BELAY_JOBS_SKIPPED), "skipped");
    ck_assert_str_eq(belay_jobs_state_name(0), "?");
    ck_assert_str_eq(belay_jobs_state_name(BELAY_JOBS_STATES), "?");
}
END_TEST

UNIT_MAIN("jobs/look", wait_returns_the_row_of_the_end, wait_has_a_deadline,
          a_watch_is_ready_when_something_was_committed, numbers_count_what_the_process_did,
          an_older_program_gets_the_numbers_that_it_knows, lists_and_tables_are_checked,
          states_have_names)
