#include "harness.h"

static harness h;

START_TEST(a_failing_job_is_tried_again_after_its_back_off)
{
    harness_begin(&h);
    bly_new_job job = harness_job("x");
    job.tries = 3;
    job.backoff_ns = 8 * SECOND;
    uint64_t seq = harness_add(&h, &job);
    int64_t backoff = 8 * SECOND;
    for (uint32_t attempt = 1; attempt <= 3; attempt++) {
        bly_claimed *claimed = harness_claim(&h);
        ck_assert_ptr_nonnull(claimed);
        ck_assert_uint_eq(claimed->attempt, attempt);
        ck_assert_uint_eq(claimed->tried, attempt - 1);
        ck_assert_int_eq(harness_end_claim(&h, claimed, BLY_DO_FAIL), 0);
        if (attempt < 3) {
            bly_rows *rows = harness_find(&h, seq);
            ck_assert_uint_eq(rows->row[0].state, BLY_JOB_SCHEDULED);
            ck_assert_int_eq(rows->row[0].why.kind, BLY_WHY_RETRY);
            int64_t delay = rows->row[0].run_at_ns - h.now_ns;
            ck_assert_int_ge(delay, backoff / 2);
            ck_assert_int_le(delay, backoff);
            bly_rows_free(rows);
            harness_pass(&h, backoff);
            backoff *= 2;
        }
    }
    assert_state(&h, seq, BLY_JOB_FAILED);
    bly_rows *rows = harness_find(&h, seq);
    ck_assert_uint_eq(rows->row[0].tried, 3);
    ck_assert_uint_eq(rows->row[0].runs, 3);
    ck_assert_int_eq(rows->row[0].code, 1);
    bly_rows_free(rows);
    harness_end(&h);
}
END_TEST

START_TEST(the_back_off_has_a_greatest_value_and_can_be_given)
{
    harness_begin(&h);
    bly_new_job job = harness_job("x");
    job.tries = 100;
    job.backoff_ns = SECOND;
    job.backoff_max_ns = 4 * SECOND;
    uint64_t seq = harness_add(&h, &job);
    for (int i = 0; i < 70; i++) {
        ck_assert_int_eq(harness_end_claim(&h, harness_claim(&h), BLY_DO_FAIL), 0);
        bly_rows *rows = harness_find(&h, seq);
        ck_assert_int_le(rows->row[0].run_at_ns, h.now_ns + 4 * SECOND);
        bly_rows_free(rows);
        harness_pass(&h, 4 * SECOND);
    }
    bly_claimed *claimed = harness_claim(&h);
    bly_end end = {
        .seq = seq, .token = claimed->token, .what = BLY_DO_FAIL, .backoff_ns = 60 * SECOND};
    bly_store_end(h.store, &end);
    ck_assert_int_eq(bly_store_flush(h.store, BELAY_FOREVER), 0);
    bly_claimed_free(claimed);
    bly_rows *rows = harness_find(&h, seq);
    ck_assert_int_eq(rows->row[0].run_at_ns, h.now_ns + 60 * SECOND);
    bly_rows_free(rows);
    harness_end(&h);
}
END_TEST

START_TEST(a_report_of_a_lost_claim_is_dropped_and_counted)
{
    harness_begin(&h);
    uint64_t seq = harness_add_plain(&h, "x");
    bly_claimed *claimed = harness_claim(&h);
    ck_assert_int_eq(harness_report(&h, seq, claimed->token + 1, BLY_DO_DONE, 0), BELAY_ESTALE);
    ck_assert_int_eq(harness_report(&h, seq + 1, claimed->token, BLY_DO_DONE, 0), BELAY_ESTALE);
    assert_state(&h, seq, BLY_JOB_RUNNING);
    ck_assert_int_eq(harness_report(&h, seq, claimed->token, BLY_DO_DONE, 0), 0);
    ck_assert_int_eq(harness_report(&h, seq, claimed->token, BLY_DO_FAIL, 9), BELAY_ESTALE);
    ck_assert_int_eq(harness_end_claim(&h, claimed, BLY_DO_GIVE_BACK), BELAY_ESTALE);
    assert_state(&h, seq, BLY_JOB_DONE);
    bly_store_stats stats;
    ck_assert_int_eq(bly_store_stats_get(h.store, &stats), 0);
    ck_assert_uint_eq(stats.dropped, 4);
    harness_end(&h);
}
END_TEST

START_TEST(what_is_given_back_is_as_if_it_had_not_run)
{
    harness_begin(&h);
    uint64_t seq = harness_add_plain(&h, "x");
    ck_assert_int_eq(harness_end_claim(&h, harness_claim(&h), BLY_DO_GIVE_BACK), 0);
    bly_rows *rows = harness_find(&h, seq);
    ck_assert_uint_eq(rows->row[0].state, BLY_JOB_READY);
    ck_assert_uint_eq(rows->row[0].runs, 0);
    ck_assert_uint_eq(rows->row[0].tried, 0);
    bly_rows_free(rows);
    bly_claim_result result;
    ck_assert_int_eq(bly_store_claim(h.store, h.session, 1, 0, &result), 0);
    ck_assert_int_eq(harness_end_claim(&h, result.first, BLY_DO_GIVE_BACK), 0);
    harness_run(&h, seq);
    harness_end(&h);
}
END_TEST

START_TEST(what_the_run_came_to_is_kept)
{
    harness_begin(&h);
    uint64_t seq = harness_add_plain(&h, "x");
    bly_claimed *claimed = harness_claim(&h);
    bly_end end = {.seq = seq,
                   .token = claimed->token,
                   .what = BLY_DO_FAIL_NOW,
                   .how = BLY_END_SIGNALED,
                   .code = 9,
                   .start_ns = START + 1,
                   .end_ns = START + 5,
                   .user_ns = 3,
                   .system_ns = 4,
                   .rss_max_kib = 77,
                   .result = BLY_BYTES("r"),
                   .message = BLY_BYTES("killed")};
    bly_store_end(h.store, &end);
    ck_assert_int_eq(bly_store_flush(h.store, BELAY_FOREVER), 0);
    bly_claimed_free(claimed);
    bly_rows *rows = harness_find(&h, seq);
    const bly_row *row = &rows->row[0];
    ck_assert_uint_eq(row->state, BLY_JOB_FAILED);
    ck_assert_int_eq(row->how, BLY_END_SIGNALED);
    ck_assert_int_eq(row->code, 9);
    ck_assert_int_eq(row->start_ns, START + 1);
    ck_assert_int_eq(row->end_ns, START + 5);
    ck_assert_int_eq(row->user_ns + row->system_ns, 7);
    ck_assert_uint_eq(row->rss_max_kib, 77);
    ck_assert_mem_eq(row->result.data, "r", 1);
    ck_assert_mem_eq(row->message.data, "killed", 6);
    bly_rows_free(rows);
    harness_end(&h);
}
END_TEST

START_TEST(a_canceled_run_that_fails_is_canceled_not_tried_again)
{
    harness_begin(&h);
    bly_new_job job = harness_job("x");
    for (uint32_t tries = 1; tries <= 2; tries++) {
        job.tries = tries;
        uint64_t seq = harness_add(&h, &job);
        bly_claimed *claimed = harness_claim(&h);
        bly_job_ref ref = {.seq = seq};
        ck_assert_int_eq(bly_store_cancel(h.store, &ref), BELAY_STILL_RUNNING);
        ck_assert_int_eq(harness_end_claim(&h, claimed, BLY_DO_FAIL), 0);
        assert_state(&h, seq, BLY_JOB_CANCELED);
        ck_assert_int_eq(bly_store_cancel(h.store, &ref), BELAY_ETOOLATE);
    }
    harness_end(&h);
}
END_TEST

START_TEST(many_reports_share_a_commit)
{
    harness_begin(&h);
    enum { COUNT = 200 };
    static bly_end ends[COUNT];
    for (int i = 0; i < COUNT; i++) {
        (void)harness_add_plain(&h, "x");
    }
    bly_claim_result result;
    ck_assert_int_eq(bly_store_claim(h.store, h.session, COUNT, BLY_CLAIM_START, &result), 0);
    ck_assert_uint_eq(result.count, COUNT);
    bly_store_stats before;
    ck_assert_int_eq(bly_store_stats_get(h.store, &before), 0);
    int i = 0;
    while (result.first != NULL) {
        bly_claimed *one = result.first;
        result.first = one->next;
        ends[i] = (bly_end){.seq = one->seq, .token = one->token, .what = BLY_DO_DONE};
        bly_store_end(h.store, &ends[i++]);
        bly_claimed_free(one);
    }
    ck_assert_int_eq(bly_store_flush(h.store, BELAY_FOREVER), 0);
    bly_store_stats after;
    ck_assert_int_eq(bly_store_stats_get(h.store, &after), 0);
    ck_assert_uint_eq(after.grouped - before.grouped, COUNT);
    ck_assert_uint_lt(after.commits - before.commits, COUNT);
    ck_assert_uint_eq(after.jobs[BLY_JOB_DONE], COUNT);
    harness_end(&h);
}
END_TEST

START_TEST(dead_jobs_are_tried_again_from_zero)
{
    harness_begin(&h);
    uint64_t failed = harness_add_plain(&h, "x");
    ck_assert_int_eq(harness_end_claim(&h, harness_claim(&h), BLY_DO_FAIL), 0);
    bly_job_ref ref = {.seq = failed};
    uint64_t seq = 0;
    ck_assert_int_eq(bly_store_retry(h.store, &ref, &seq), 0);
    ck_assert_uint_eq(seq, failed);
    ck_assert_int_eq(bly_store_retry(h.store, &ref, &seq), BELAY_ETOOLATE);
    harness_run(&h, failed);
    ck_assert_int_eq(bly_store_retry(h.store, &ref, &seq), BELAY_ETOOLATE);
    for (int i = 0; i < 3; i++) {
        (void)harness_add_plain(&h, "y");
        ck_assert_int_eq(harness_end_claim(&h, harness_claim(&h), BLY_DO_FAIL), 0);
    }
    uint64_t count = 0;
    ck_assert_int_eq(bly_store_retry_all(h.store, 0, &count), 0);
    ck_assert_uint_eq(count, 3);
    ref.seq = 999;
    ck_assert_int_eq(bly_store_retry(h.store, &ref, &seq), BELAY_ENOENT);
    harness_end(&h);
}
END_TEST

START_TEST(a_pending_job_can_be_edited_until_it_is_claimed)
{
    harness_begin(&h);
    uint64_t first = harness_add_plain(&h, "x");
    uint64_t second = harness_add_plain(&h, "y");
    bly_job_ref ref = {.seq = second};
    bly_edit edit = {.has_priority = true,
                     .priority = 5,
                     .has_tries = true,
                     .tries = 4,
                     .has_timeout = true,
                     .timeout_ns = 9};
    ck_assert_int_eq(bly_store_edit(h.store, &ref, &edit), 0);
    bly_claimed *claimed = harness_claim(&h);
    ck_assert_uint_eq(claimed->seq, second);
    ck_assert_uint_eq(claimed->tries, 4);
    ck_assert_int_eq(claimed->timeout_ns, 9);
    ck_assert_int_eq(bly_store_edit(h.store, &ref, &edit), BELAY_ETOOLATE);
    ck_assert_int_eq(harness_end_claim(&h, claimed, BLY_DO_DONE), 0);
    ref.seq = first;
    edit = (bly_edit){.has_run_at = true, .run_at_ns = START + SECOND};
    ck_assert_int_eq(bly_store_edit(h.store, &ref, &edit), 0);
    assert_state(&h, first, BLY_JOB_SCHEDULED);
    edit.run_at_ns = 0;
    ck_assert_int_eq(bly_store_edit(h.store, &ref, &edit), 0);
    assert_state(&h, first, BLY_JOB_READY);
    edit = (bly_edit){.has_queue = true, .queue = BLY_BYTES("gpu")};
    ck_assert_int_eq(bly_store_edit(h.store, &ref, &edit), 0);
    ck_assert_uint_eq(harness_claim_seq(&h), 0);
    harness_end(&h);
}
END_TEST

UNIT_MAIN("store/end", a_failing_job_is_tried_again_after_its_back_off,
          the_back_off_has_a_greatest_value_and_can_be_given,
          a_report_of_a_lost_claim_is_dropped_and_counted,
          what_is_given_back_is_as_if_it_had_not_run, what_the_run_came_to_is_kept,
          a_canceled_run_that_fails_is_canceled_not_tried_again, many_reports_share_a_commit,
          dead_jobs_are_tried_again_from_zero, a_pending_job_can_be_edited_until_it_is_claimed)
