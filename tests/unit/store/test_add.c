#include "harness.h"

static harness h;

static bly_new_job with_id(const char *id, const char *command)
{
    bly_new_job job = harness_job(command);
    job.id = BLY_BYTES(id);
    return job;
}

START_TEST(numbers_rise_and_stay)
{
    harness_begin(&h);
    uint64_t first = harness_add_plain(&h, "a");
    uint64_t second = harness_add_plain(&h, "b");
    ck_assert_uint_gt(second, first);
    bly_store_close(h.store, BELAY_FOREVER);
    h.store = harness_open(&h);
    ck_assert_uint_gt(harness_add_plain(&h, "c"), second);
    bly_rows *rows = harness_find(&h, first);
    ck_assert_uint_eq(rows->row[0].work.command.len, 1);
    ck_assert_mem_eq(rows->row[0].work.command.data, "a", 1);
    ck_assert_int_eq(rows->row[0].work.umask, -1);
    bly_rows_free(rows);
    harness_end(&h);
}
END_TEST

START_TEST(a_pending_job_of_the_id_is_the_same_or_in_the_way)
{
    harness_begin(&h);
    bly_new_job job = with_id("nightly", "a");
    bly_added added;
    uint64_t seq = harness_add(&h, &job);
    ck_assert_int_eq(harness_try_add(&h, &job, &added), 0);
    ck_assert_int_eq(added.outcome, BLY_ADDED_SAME);
    ck_assert_uint_eq(added.seq, seq);
    bly_new_job other = with_id("nightly", "b");
    ck_assert_int_eq(harness_try_add(&h, &other, &added), BELAY_EEXIST);
    other.flags = BLY_NEW_REPLACE;
    ck_assert_int_eq(harness_try_add(&h, &other, &added), 0);
    ck_assert_int_eq(added.outcome, BLY_ADDED_REPLACED);
    ck_assert_uint_eq(added.old, seq);
    assert_state(&h, seq, BLY_JOB_SUPERSEDED);
    assert_state(&h, added.seq, BLY_JOB_READY);
    harness_end(&h);
}
END_TEST

START_TEST(every_part_of_a_job_makes_it_another)
{
    harness_begin(&h);
    bly_want wants[] = {{.name = BLY_BYTES("db")}};
    uint64_t need = harness_add_plain(&h, "need");
    bly_after after[] = {{.job = {.seq = need}}};
    bly_new_job base = with_id("x", "a");
    base.wants = wants;
    base.want_count = 1;
    base.after = after;
    base.after_count = 1;
    (void)harness_add(&h, &base);
    bly_new_job others[12];
    for (int i = 0; i < 12; i++) {
        others[i] = base;
    }
    others[0].priority = 1;
    others[1].tries = 2;
    others[2].timeout_ns = SECOND;
    others[3].queue = BLY_BYTES("gpu");
    others[4].want_count = 0;
    others[5].after_count = 0;
    others[6].work.env = BLY_BYTES("A=b");
    others[7].work.cwd = BLY_BYTES("/");
    others[8].work.umask = 022;
    others[9].flags = BLY_NEW_LOST_FAIL;
    others[10].schedule = (bly_schedule){.kind = BLY_SCHEDULE_EVERY, .period_ns = SECOND};
    others[11].backoff_ns = 5;
    bly_added added;
    for (int i = 0; i < 12; i++) {
        int result = harness_try_add(&h, &others[i], &added);
        ck_assert_msg(result == BELAY_EEXIST, "%d: %s", i, belay_err_name(result));
    }
    ck_assert_int_eq(harness_try_add(&h, &base, &added), 0);
    ck_assert_int_eq(added.outcome, BLY_ADDED_SAME);
    base.run_at_ns = START + SECOND; /* not a time of its own: the same job */
    ck_assert_int_eq(harness_try_add(&h, &base, &added), 0);
    harness_end(&h);
}
END_TEST

START_TEST(a_running_job_of_the_id_is_followed_by_its_replacement)
{
    harness_begin(&h);
    bly_new_job job = with_id("x", "a");
    bly_added added;
    uint64_t old = harness_add(&h, &job);
    bly_claimed *running = harness_claim(&h);
    ck_assert_int_eq(harness_try_add(&h, &job, &added), BELAY_EEXIST);
    job.flags = BLY_NEW_REPLACE;
    ck_assert_int_eq(harness_try_add(&h, &job, &added), 0);
    ck_assert_int_eq(added.outcome, BLY_ADDED_BEHIND);
    ck_assert_uint_eq(added.old, old);
    assert_state(&h, added.seq, BLY_JOB_WAITING);
    ck_assert_uint_eq(harness_claim_seq(&h), 0);
    /* Replaced again: the one that waited goes, the new one waits in its place. */
    uint64_t second = added.seq;
    job.work.command = BLY_BYTES("b");
    ck_assert_int_eq(harness_try_add(&h, &job, &added), 0);
    assert_state(&h, second, BLY_JOB_SUPERSEDED);
    ck_assert_int_eq(harness_end_claim(&h, running, BLY_DO_DONE), 0);
    assert_state(&h, added.seq, BLY_JOB_READY);
    harness_run(&h, added.seq);
    harness_end(&h);
}
END_TEST

START_TEST(a_claimed_job_is_superseded_before_it_starts)
{
    harness_begin(&h);
    bly_new_job job = with_id("x", "a");
    bly_added added;
    uint64_t old = harness_add(&h, &job);
    bly_claim_result result;
    ck_assert_int_eq(bly_store_claim(h.store, h.session, 1, 0, &result), 0);
    job.flags = BLY_NEW_REPLACE;
    job.work.command = BLY_BYTES("b");
    ck_assert_int_eq(harness_try_add(&h, &job, &added), 0);
    ck_assert_int_eq(added.outcome, BLY_ADDED_REPLACED);
    bly_claim_ref ref = {.seq = old, .token = result.first->token};
    ck_assert_int_eq(bly_store_start(h.store, &ref, 1), 0);
    ck_assert_int_eq(ref.result, BELAY_ESTALE);
    bly_claimed_free(result.first);
    harness_run(&h, added.seq);
    harness_end(&h);
}
END_TEST

START_TEST(a_failing_job_is_not_retried_over_its_replacement)
{
    harness_begin(&h);
    bly_new_job job = with_id("x", "a");
    job.tries = 5;
    uint64_t old = harness_add(&h, &job);
    bly_claimed *running = harness_claim(&h);
    bly_added added;
    job.flags = BLY_NEW_REPLACE;
    ck_assert_int_eq(harness_try_add(&h, &job, &added), 0);
    ck_assert_int_eq(harness_end_claim(&h, running, BLY_DO_FAIL), 0);
    assert_state(&h, old, BLY_JOB_FAILED);
    bly_rows *rows = harness_find(&h, old);
    ck_assert_int_eq(rows->row[0].how, BLY_END_REPLACED);
    bly_rows_free(rows);
    harness_run(&h, added.seq);
    harness_end(&h);
}
END_TEST

START_TEST(an_ended_job_leaves_its_id_free)
{
    harness_begin(&h);
    bly_new_job job = with_id("x", "a");
    uint64_t first = harness_add(&h, &job);
    harness_run(&h, first);
    uint64_t second = harness_add(&h, &job);
    ck_assert_uint_ne(first, second);
    bly_job_ref ref = {.id = BLY_BYTES("x")};
    bly_rows *rows = NULL;
    ck_assert_int_eq(bly_store_find(h.store, &ref, &rows), 0);
    ck_assert_uint_eq(rows->row[0].seq, second);
    bly_rows_free(rows);
    harness_end(&h);
}
END_TEST

START_TEST(a_call_that_is_repeated_with_its_key_adds_nothing)
{
    harness_begin(&h);
    bly_new_job jobs[] = {harness_job("a"), harness_job("b")};
    bly_add_key key = {{1, 2, 3}};
    bly_added first[2];
    bly_added again[2];
    ck_assert_int_eq(bly_store_add(h.store, jobs, 2, &key, first, NULL), 0);
    harness_run(&h, first[0].seq);
    ck_assert_int_eq(bly_store_add(h.store, jobs, 2, &key, again, NULL), 0);
    ck_assert_uint_eq(again[0].seq, first[0].seq);
    ck_assert_uint_eq(again[1].seq, first[1].seq);
    ck_assert_int_eq(bly_store_add(h.store, jobs, 1, &key, again, NULL), BELAY_EINVAL);
    key.bytes[0] = 9;
    ck_assert_int_eq(bly_store_add(h.store, jobs, 2, &key, again, NULL), 0);
    ck_assert_uint_ne(again[0].seq, first[0].seq);
    harness_end(&h);
}
END_TEST

START_TEST(all_jobs_of_a_call_are_added_or_none)
{
    harness_begin(&h);
    bly_new_job jobs[] = {harness_job("a"), harness_job("b")};
    bly_after after = {.job = {.seq = 4711}};
    jobs[1].after = &after;
    jobs[1].after_count = 1;
    bly_added added[2];
    uint32_t bad = 9;
    ck_assert_int_eq(bly_store_add(h.store, jobs, 2, NULL, added, &bad), BELAY_ENOENT);
    ck_assert_uint_eq(bad, 1);
    bly_store_stats stats;
    ck_assert_int_eq(bly_store_stats_get(h.store, &stats), 0);
    ck_assert_uint_eq(stats.jobs[BLY_JOB_READY], 0);
    harness_end(&h);
}
END_TEST

START_TEST(arguments_outside_their_bounds_are_refused)
{
    harness_begin(&h);
    char long_name[BLY_ID_MAX + 1];
    memset(long_name, 'x', sizeof long_name);
    const bly_bytes bad_ids[] = {BLY_BYTES("17"),
                                 BLY_BYTES("a\nb"),
                                 BLY_BYTES("\001with"),
                                 BLY_BYTES("a\177"),
                                 {long_name, sizeof long_name}};
    bly_added added;
    for (size_t i = 0; i < sizeof bad_ids / sizeof *bad_ids; i++) {
        bly_new_job job = harness_job("x");
        job.id = bad_ids[i];
        ck_assert_int_eq(harness_try_add(&h, &job, &added), BELAY_EINVAL);
        job = harness_job("x");
        job.queue = bad_ids[i];
        ck_assert_int_eq(harness_try_add(&h, &job, &added), BELAY_EINVAL);
    }
    bly_new_job job = harness_job("x");
    job.id = (bly_bytes){long_name, BLY_ID_MAX};
    ck_assert_int_eq(harness_try_add(&h, &job, &added), 0);
    job.priority = 32768;
    ck_assert_int_eq(harness_try_add(&h, &job, &added), BELAY_EINVAL);
    job = harness_job("x");
    job.run_at_ns = -1;
    ck_assert_int_eq(harness_try_add(&h, &job, &added), BELAY_EINVAL);
    job = harness_job("x");
    job.batch = 12;
    ck_assert_int_eq(harness_try_add(&h, &job, &added), BELAY_ENOENT);
    job = harness_job("x");
    job.schedule = (bly_schedule){.kind = BLY_SCHEDULE_EVERY};
    ck_assert_int_eq(harness_try_add(&h, &job, &added), BELAY_EINVAL);
    job.schedule = (bly_schedule){.kind = BLY_SCHEDULE_CRON, .expr = BLY_BYTES("* * * * *")};
    ck_assert_int_eq(harness_try_add(&h, &job, &added), BELAY_EINVAL); /* nobody reads crons */
    ck_assert_int_eq(bly_store_add(h.store, &job, 0, NULL, &added, NULL), BELAY_EINVAL);
    harness_end(&h);
}
END_TEST

START_TEST(bytes_come_back_as_they_went_in)
{
    harness_begin(&h);
    static char big[300000];
    for (size_t i = 0; i < sizeof big; i++) {
        big[i] = (char)(i * 7);
    }
    bly_new_job job = harness_job("x");
    job.work.command = (bly_bytes){"a\0b\xff\0", 5};
    job.work.env = (bly_bytes){big, sizeof big};
    job.work.detail = BLY_BYTES("d");
    (void)harness_add(&h, &job);
    bly_claimed *claimed = harness_claim(&h);
    ck_assert_uint_eq(claimed->work.command.len, 5);
    ck_assert_mem_eq(claimed->work.command.data, "a\0b\xff\0", 5);
    ck_assert_uint_eq(claimed->work.env.len, sizeof big);
    ck_assert_mem_eq(claimed->work.env.data, big, sizeof big);
    ck_assert_uint_eq(claimed->work.cwd.len, 0);
    bly_claimed_free(claimed);
    harness_end(&h);
}
END_TEST

UNIT_MAIN("store/add", numbers_rise_and_stay, a_pending_job_of_the_id_is_the_same_or_in_the_way,
          every_part_of_a_job_makes_it_another,
          a_running_job_of_the_id_is_followed_by_its_replacement,
          a_claimed_job_is_superseded_before_it_starts,
          a_failing_job_is_not_retried_over_its_replacement, an_ended_job_leaves_its_id_free,
          a_call_that_is_repeated_with_its_key_adds_nothing, all_jobs_of_a_call_are_added_or_none,
          arguments_outside_their_bounds_are_refused, bytes_come_back_as_they_went_in)
