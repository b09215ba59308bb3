/*
 * test_add.c: jobs are added, one and many, by programs of several ages, and edited.
 */
#include "jobs.h"

START_TEST(the_queue_is_that_of_the_handler)
{
    open_store();
    belay_jobs_rows *rows = NULL;
    belay_jobs_filter filter = {.size = sizeof filter, .queue = belay_bytes_text("mail")};
    uint64_t seq = add_plain("mail");
    ck_assert_int_eq(belay_jobs_list(test_jobs, &filter, &rows), 0);
    ck_assert_uint_eq(rows->count, 1);
    ck_assert_uint_eq(rows->row[0].seq, seq);
    belay_jobs_rows_free(rows);
    belay_jobs_new command = {.size = sizeof command,
                              .work = {.command = {"true\0", 5}, .umask = -1}};
    seq = add(&command);
    filter.queue = belay_bytes_text("default");
    ck_assert_int_eq(belay_jobs_list(test_jobs, &filter, &rows), 0);
    ck_assert_uint_eq(rows->count, 1);
    ck_assert_uint_eq(rows->row[0].seq, seq);
    belay_jobs_rows_free(rows);
    close_store();
}
END_TEST

START_TEST(an_id_stands_for_one_pending_job)
{
    open_store();
    belay_jobs_added added = {0};
    belay_jobs_new job = new_job("mail", "a");
    job.id = belay_bytes_text("letter");
    uint64_t seq = add(&job);
    ck_assert_int_eq(belay_jobs_add(test_jobs, &job, &added), 0);
    ck_assert_uint_eq(added.seq, seq);
    ck_assert_int_eq(added.outcome, BELAY_JOBS_ADDED_SAME);
    job.work.command = belay_bytes_text("b");
    ck_assert_int_eq(belay_jobs_add(test_jobs, &job, &added), BELAY_EEXIST);
    job.flags = BELAY_JOBS_NEW_REPLACE;
    ck_assert_int_eq(belay_jobs_add(test_jobs, &job, &added), 0);
    ck_assert_int_eq(added.outcome, BELAY_JOBS_ADDED_REPLACED);
    ck_assert_uint_eq(added.old, seq);
    assert_state(seq, BELAY_JOBS_SUPERSEDED);
    belay_jobs_ref ref = belay_jobs_ref_id("letter");
    belay_jobs_rows *rows = NULL;
    ck_assert_int_eq(belay_jobs_query(test_jobs, &ref, &rows), 0);
    ck_assert_uint_eq(rows->row[0].seq, added.seq);
    belay_jobs_rows_free(rows);
    close_store();
}
END_TEST

START_TEST(many_are_added_in_order_or_not_at_all)
{
    open_store();
    belay_jobs_new jobs[3] = {new_job("mail", "1"), new_job("mail", "2"), new_job("mail", "3")};
    belay_jobs_added added[3];
    uint32_t bad = 9;
    ck_assert_int_eq(belay_jobs_add_many(test_jobs, jobs, 3, NULL, added, &bad), 0);
    ck_assert_uint_eq(added[1].seq, added[0].seq + 1);
    ck_assert_uint_eq(added[2].seq, added[0].seq + 2);
    ck_assert_int_eq(belay_jobs_add_many(test_jobs, jobs, 3, NULL, NULL, NULL), 0);
    jobs[1].tries = BELAY_JOBS_TRIES_MAX + 1;
    ck_assert_int_eq(belay_jobs_add_many(test_jobs, jobs, 3, NULL, added, &bad), BELAY_EINVAL);
    ck_assert_uint_eq(bad, 1);
    jobs[1].tries = 0;
    jobs[2].size = sizeof jobs[0] - 8;
    ck_assert_int_eq(belay_jobs_add_many(test_jobs, jobs, 3, NULL, added, &bad), BELAY_EINVAL);
    ck_assert_uint_eq(bad, 2);
    ck_assert_uint_eq(metrics().jobs[BELAY_JOBS_READY], 6);
    ck_assert_int_eq(belay_jobs_add_many(test_jobs, jobs, 0, NULL, added, NULL), BELAY_EINVAL);
    ck_assert_int_eq(
        belay_jobs_add_many(test_jobs, jobs, BELAY_JOBS_ADD_MAX + 1, NULL, added, NULL),
        BELAY_EINVAL);
    close_store();
}
END_TEST

START_TEST(a_repeated_key_adds_nothing)
{
    open_store();
    belay_jobs_new job = new_job("mail", "");
    belay_jobs_key key = {{1, 2, 3}};
    belay_jobs_added first = {0};
    belay_jobs_added again = {0};
    ck_assert_int_eq(belay_jobs_add_many(test_jobs, &job, 1, &key, &first, NULL), 0);
    ck_assert_int_eq(belay_jobs_add_many(test_jobs, &job, 1, &key, &again, NULL), 0);
    ck_assert_uint_eq(first.seq, again.seq);
    ck_assert_uint_eq(metrics().jobs[BELAY_JOBS_READY], 1);
    close_store();
}
END_TEST

/* A job as a program of another version knows it: with more at its end, or less. */
typedef struct newer_job {
    belay_jobs_new known;
    uint64_t unknown;
} newer_job;

START_TEST(jobs_of_newer_and_older_programs_are_read)
{
    open_store();
    newer_job newer[2] = {{.known = new_job("mail", "1")}, {.known = new_job("mail", "2")}};
    newer[0].known.size = newer[1].known.size = sizeof newer[0];
    ck_assert_int_eq(belay_jobs_add_many(test_jobs, &newer[0].known, 2, NULL, NULL, NULL), 0);
    newer[1].unknown = 1;
    uint32_t bad = 0;
    ck_assert_int_eq(belay_jobs_add_many(test_jobs, &newer[0].known, 2, NULL, NULL, &bad),
                     BELAY_EINVAL);
    ck_assert_uint_eq(bad, 1);
    belay_jobs_new older = new_job("mail", "3");
    older.size = offsetof(belay_jobs_new, schedule);
    older.schedule.kind = 99; /* not his */
    (void)add(&older);
    ck_assert_uint_eq(metrics().jobs[BELAY_JOBS_READY], 3);
    close_store();
}
END_TEST

START_TEST(a_pending_job_is_edited)
{
    open_store();
    uint64_t seq = add_plain("mail");
    belay_jobs_ref ref = belay_jobs_ref_seq(seq);
    belay_jobs_edition edition = {.size = sizeof edition,
                                  .which = BELAY_JOBS_EDIT_PRIORITY | BELAY_JOBS_EDIT_TRIES |
                                           BELAY_JOBS_EDIT_TIMEOUT,
                                  .priority = -5,
                                  .tries = 9,
                                  .timeout_ns = 8};
    ck_assert_int_eq(belay_jobs_edit(test_jobs, &ref, &edition), 0);
    ck_assert_int_eq(find(seq).priority, -5);
    ck_assert_uint_eq(find(seq).tries, 9);
    ck_assert_int_eq(find(seq).timeout_ns, 8);
    edition = (belay_jobs_edition){.size = sizeof edition,
                                   .which = BELAY_JOBS_EDIT_RUN_AT,
                                   .run_at_ns = bly_wall_ns() + 3600 * SECOND};
    ck_assert_int_eq(belay_jobs_edit(test_jobs, &ref, &edition), 0);
    assert_state(seq, BELAY_JOBS_SCHEDULED);
    ck_assert_int_eq(find(seq).priority, -5);
    edition = (belay_jobs_edition){
        .size = sizeof edition, .which = BELAY_JOBS_EDIT_QUEUE, .queue = belay_bytes_text("slow")};
    ck_assert_int_eq(belay_jobs_edit(test_jobs, &ref, &edition), 0);
    belay_jobs_filter filter = {.size = sizeof filter, .queue = edition.queue};
    belay_jobs_rows *rows = NULL;
    ck_assert_int_eq(belay_jobs_list(test_jobs, &filter, &rows), 0);
    ck_assert_uint_eq(rows->count, 1);
    belay_jobs_rows_free(rows);
    edition.which = 32;
    ck_assert_int_eq(belay_jobs_edit(test_jobs, &ref, &edition), BELAY_EINVAL);
    ck_assert_int_eq(belay_jobs_edit(test_jobs, &ref, NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_jobs_edit(test_jobs, NULL, &edition), BELAY_EINVAL);
    close_store();
}
END_TEST

START_TEST(nothing_is_added_without_a_job)
{
    open_store();
    belay_jobs_new job = new_job("mail", "");
    ck_assert_int_eq(belay_jobs_add(test_jobs, NULL, NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_jobs_add(NULL, &job, NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_jobs_add(test_jobs, &job, NULL), 0);
    job.size = 1;
    ck_assert_int_eq(belay_jobs_add(test_jobs, &job, NULL), BELAY_EINVAL);
    close_store();
}
END_TEST

UNIT_MAIN("jobs/add", the_queue_is_that_of_the_handler, an_id_stands_for_one_pending_job,
          many_are_added_in_order_or_not_at_all, a_repeated_key_adds_nothing,
          jobs_of_newer_and_older_programs_are_read, a_pending_job_is_edited,
          nothing_is_added_without_a_job)
