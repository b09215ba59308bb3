#include "harness.h"

static harness h;

static uint64_t add_after(uint64_t need, bool is_any)
{
    bly_after after = {.job = {.seq = need}, .is_any = is_any};
    bly_new_job job = harness_job("x");
    job.after = &after;
    job.after_count = 1;
    return harness_add(&h, &job);
}

START_TEST(a_job_runs_after_all_that_it_needs)
{
    harness_begin(&h);
    uint64_t a = harness_add_plain(&h, "a");
    uint64_t b = harness_add_plain(&h, "b");
    bly_after after[] = {{.job = {.seq = a}}, {.job = {.seq = b}}, {.job = {.seq = a}}};
    bly_new_job job = harness_job("x");
    job.after = after;
    job.after_count = 3;
    uint64_t seq = harness_add(&h, &job);
    assert_state(&h, seq, BLY_JOB_WAITING);
    bly_rows *rows = harness_find(&h, seq);
    ck_assert_int_eq(rows->row[0].why.kind, BLY_WHY_AFTER);
    ck_assert_uint_eq(rows->row[0].why.seq, a);
    ck_assert_uint_eq(rows->row[0].after_count, 2);
    bly_rows_free(rows);
    harness_run(&h, a);
    assert_state(&h, seq, BLY_JOB_WAITING);
    harness_run(&h, b);
    harness_run(&h, seq);
    harness_end(&h);
}
END_TEST

START_TEST(a_failure_skips_a_long_chain)
{
    harness_begin(&h);
    uint64_t first = harness_add_plain(&h, "a");
    uint64_t last = first;
    for (int i = 0; i < 2000; i++) {
        last = add_after(last, false);
    }
    uint64_t any = add_after(last, true);
    bly_claimed *running = harness_claim(&h);
    ck_assert_int_eq(harness_end_claim(&h, running, BLY_DO_FAIL), 0);
    assert_state(&h, first + 1, BLY_JOB_SKIPPED);
    assert_state(&h, last, BLY_JOB_SKIPPED);
    bly_rows *rows = harness_find(&h, last);
    ck_assert_uint_eq(rows->row[0].need, last - 1);
    ck_assert_int_eq(rows->row[0].how, BLY_END_NEED);
    bly_rows_free(rows);
    harness_run(&h, any);
    harness_end(&h);
}
END_TEST

START_TEST(what_has_ended_already_counts_at_once)
{
    harness_begin(&h);
    uint64_t done = harness_add_plain(&h, "a");
    harness_run(&h, done);
    uint64_t failed = harness_add_plain(&h, "b");
    ck_assert_int_eq(harness_end_claim(&h, harness_claim(&h), BLY_DO_FAIL), 0);
    assert_state(&h, add_after(done, false), BLY_JOB_READY);
    assert_state(&h, add_after(failed, true), BLY_JOB_READY);
    bly_after after = {.job = {.seq = failed}};
    bly_new_job job = harness_job("x");
    job.after = &after;
    job.after_count = 1;
    bly_added added;
    ck_assert_int_eq(harness_try_add(&h, &job, &added), 0);
    ck_assert_int_eq(added.outcome, BLY_ADDED_SKIPPED);
    assert_state(&h, added.seq, BLY_JOB_SKIPPED);
    /* Retried, it runs whatever became of what it needed. */
    bly_job_ref ref = {.seq = added.seq};
    uint64_t again = 0;
    ck_assert_int_eq(bly_store_retry(h.store, &ref, &again), 0);
    ck_assert_uint_eq(again, added.seq);
    assert_state(&h, again, BLY_JOB_READY);
    harness_end(&h);
}
END_TEST

START_TEST(dependents_follow_an_id_through_its_replacement)
{
    harness_begin(&h);
    bly_new_job job = harness_job("a");
    job.id = BLY_BYTES("build");
    uint64_t old = harness_add(&h, &job);
    uint64_t test = add_after(old, false);
    job.work.command = BLY_BYTES("b");
    job.flags = BLY_NEW_REPLACE;
    bly_added added;
    ck_assert_int_eq(harness_try_add(&h, &job, &added), 0);
    assert_state(&h, test, BLY_JOB_WAITING);
    /* By its old number too. */
    uint64_t second = add_after(old, false);
    harness_run(&h, added.seq);
    harness_run(&h, test);
    harness_run(&h, second);
    harness_end(&h);
}
END_TEST

START_TEST(cycles_are_refused)
{
    harness_begin(&h);
    bly_new_job job = harness_job("a");
    job.id = BLY_BYTES("a");
    uint64_t a = harness_add(&h, &job);
    uint64_t b = add_after(a, false);
    uint64_t c = add_after(b, true);
    bly_after after = {.job = {.seq = c}};
    job.flags = BLY_NEW_REPLACE;
    job.after = &after;
    job.after_count = 1;
    bly_added added;
    ck_assert_int_eq(harness_try_add(&h, &job, &added), BELAY_EDEADLK);
    assert_state(&h, a, BLY_JOB_READY);
    after.job = (bly_job_ref){.seq = a};
    ck_assert_int_eq(harness_try_add(&h, &job, &added), BELAY_EDEADLK);
    after.job = (bly_job_ref){.id = BLY_BYTES("a")};
    ck_assert_int_eq(harness_try_add(&h, &job, &added), BELAY_EDEADLK);
    after.job = (bly_job_ref){.id = BLY_BYTES("nobody")};
    ck_assert_int_eq(harness_try_add(&h, &job, &added), BELAY_ENOENT);
    harness_end(&h);
}
END_TEST

START_TEST(a_canceled_need_skips_and_a_later_time_is_kept)
{
    harness_begin(&h);
    uint64_t a = harness_add_plain(&h, "a");
    uint64_t skipped = add_after(a, false);
    bly_after after = {.job = {.seq = a}, .is_any = true};
    bly_new_job job = harness_job("x");
    job.after = &after;
    job.after_count = 1;
    job.run_at_ns = START + SECOND;
    uint64_t later = harness_add(&h, &job);
    bly_job_ref ref = {.seq = a};
    ck_assert_int_eq(bly_store_cancel(h.store, &ref), 0);
    assert_state(&h, skipped, BLY_JOB_SKIPPED);
    assert_state(&h, later, BLY_JOB_SCHEDULED);
    harness_end(&h);
}
END_TEST

UNIT_MAIN("store/deps", a_job_runs_after_all_that_it_needs, a_failure_skips_a_long_chain,
          what_has_ended_already_counts_at_once, dependents_follow_an_id_through_its_replacement,
          cycles_are_refused, a_canceled_need_skips_and_a_later_time_is_kept)
