#include "harness.h"

static harness h;

START_TEST(a_job_goes_from_added_to_done)
{
    harness_begin(&h);
    uint64_t seq = harness_add_plain(&h, "true");
    assert_state(&h, seq, BLY_JOB_READY);
    bly_claim_result result;
    ck_assert_int_eq(bly_store_claim(h.store, h.session, 10, 0, &result), 0);
    ck_assert_uint_eq(result.count, 1);
    ck_assert_uint_eq(result.first->seq, seq);
    ck_assert_mem_eq(result.first->work.command.data, "true", 4);
    ck_assert_mem_eq(result.first->queue.data, "default", 7);
    assert_state(&h, seq, BLY_JOB_CLAIMED);
    bly_claim_ref ref = {.seq = seq, .token = result.first->token};
    ck_assert_int_eq(bly_store_start(h.store, &ref, 1), 0);
    ck_assert_int_eq(ref.result, 0);
    assert_state(&h, seq, BLY_JOB_RUNNING);
    invariants_hold(h.path);
    ck_assert_int_eq(harness_end_claim(&h, result.first, BLY_DO_DONE), 0);
    assert_state(&h, seq, BLY_JOB_DONE);
    harness_end(&h);
}
END_TEST

START_TEST(due_jobs_go_by_priority_then_time_then_number)
{
    harness_begin(&h);
    bly_new_job job = harness_job("x");
    job.run_at_ns = START - 5;
    uint64_t late = harness_add(&h, &job);
    job.run_at_ns = START - 9;
    uint64_t early = harness_add(&h, &job);
    uint64_t early_too = harness_add(&h, &job);
    job.priority = 1;
    job.run_at_ns = START;
    uint64_t high = harness_add(&h, &job);
    job.priority = -1;
    job.run_at_ns = START - 100;
    uint64_t low = harness_add(&h, &job);
    uint64_t order[] = {high, early, early_too, late, low};
    for (size_t i = 0; i < 5; i++) {
        ck_assert_uint_eq(harness_claim_seq(&h), order[i]);
    }
    ck_assert_uint_eq(harness_claim_seq(&h), 0);
    harness_end(&h);
}
END_TEST

START_TEST(a_restart_changes_neither_order_nor_counts)
{
    harness_begin(&h);
    bly_new_job job = harness_job("x");
    uint64_t order[6];
    job.tries = 3;
    job.backoff_ns = 1;
    uint64_t failed_once = harness_add(&h, &job);
    ck_assert_int_eq(harness_end_claim(&h, harness_claim(&h), BLY_DO_FAIL), 0);
    for (int i = 0; i < 6; i++) {
        job.priority = i % 3;
        order[(2 - i % 3) * 2 + i / 3] = harness_add(&h, &job);
    }
    ck_assert_int_eq(bly_store_session_end(h.store, h.session), 0);
    bly_store_close(h.store, BELAY_FOREVER);
    h.store = harness_open(&h);
    bly_session_opts opts = {.size = sizeof opts};
    ck_assert_int_eq(bly_store_session_begin(h.store, &opts, &h.session), 0);
    for (int i = 0; i < 6; i++) {
        ck_assert_uint_eq(harness_claim_seq(&h), order[i]);
    }
    harness_pass(&h, SECOND);
    bly_claimed *last = harness_claim(&h);
    ck_assert_uint_eq(last->seq, failed_once);
    ck_assert_uint_eq(last->tried, 1);
    bly_claimed_free(last);
    harness_end(&h);
}
END_TEST

START_TEST(a_job_for_later_waits_until_it_is_due)
{
    harness_begin(&h);
    bly_new_job job = harness_job("x");
    job.run_at_ns = START + SECOND;
    uint64_t seq = harness_add(&h, &job);
    assert_state(&h, seq, BLY_JOB_SCHEDULED);
    bly_claim_result result;
    ck_assert_int_eq(bly_store_claim(h.store, h.session, 1, 0, &result), 0);
    ck_assert_uint_eq(result.count, 0);
    ck_assert_int_eq(result.next_run_at_ns, START + SECOND);
    harness_pass(&h, SECOND);
    ck_assert_uint_eq(harness_claim_seq(&h), seq);
    harness_end(&h);
}
END_TEST

START_TEST(tokens_rise_and_are_never_used_again)
{
    harness_begin(&h);
    uint64_t last = 0;
    for (int i = 0; i < 2500; i++) {
        uint64_t seq = harness_add_plain(&h, "x");
        bly_claimed *claimed = harness_claim(&h);
        ck_assert_uint_eq(claimed->seq, seq);
        ck_assert_uint_gt(claimed->token, last);
        last = claimed->token;
        ck_assert_int_eq(harness_end_claim(&h, claimed, BLY_DO_DONE), 0);
        if (i % 500 == 499) {
            ck_assert_int_eq(bly_store_session_end(h.store, h.session), 0);
            bly_store_close(h.store, BELAY_FOREVER);
            h.store = harness_open(&h);
            bly_session_opts opts = {.size = sizeof opts};
            ck_assert_int_eq(bly_store_session_begin(h.store, &opts, &h.session), 0);
        }
    }
    harness_end(&h);
}
END_TEST

START_TEST(a_session_takes_jobs_of_its_queues_alone)
{
    harness_begin(&h);
    bly_new_job job = harness_job("x");
    job.queue = BLY_BYTES("gpu");
    uint64_t seq = harness_add(&h, &job);
    ck_assert_uint_eq(harness_claim_seq(&h), 0);
    bly_bytes names[] = {BLY_BYTES("cpu"), BLY_BYTES("gpu")};
    bly_session_opts opts = {.size = sizeof opts, .queues = names, .queue_count = 2};
    ck_assert_int_eq(bly_store_session_begin(h.store, &opts, &h.session), 0);
    ck_assert_uint_eq(harness_claim_seq(&h), seq);
    harness_end(&h);
}
END_TEST

START_TEST(a_start_of_a_canceled_claim_says_so)
{
    harness_begin(&h);
    uint64_t seq = harness_add_plain(&h, "x");
    bly_claim_result result;
    ck_assert_int_eq(bly_store_claim(h.store, h.session, 1, 0, &result), 0);
    bly_job_ref job = {.seq = seq};
    ck_assert_int_eq(bly_store_cancel(h.store, &job), 0);
    bly_claim_ref refs[] = {{.seq = seq, .token = result.first->token},
                            {.seq = seq, .token = result.first->token + 1},
                            {.seq = seq + 1, .token = 1}};
    ck_assert_int_eq(bly_store_start(h.store, refs, 3), 0);
    ck_assert_int_eq(refs[0].result, BELAY_ECANCELED);
    ck_assert_int_eq(refs[1].result, BELAY_ESTALE);
    ck_assert_int_eq(refs[2].result, BELAY_ESTALE);
    bly_claimed_free(result.first);
    assert_state(&h, seq, BLY_JOB_CANCELED);
    harness_end(&h);
}
END_TEST

START_TEST(a_session_that_has_ended_claims_nothing)
{
    harness_begin(&h);
    (void)harness_add_plain(&h, "x");
    ck_assert_int_eq(bly_store_session_end(h.store, h.session), 0);
    bly_claim_result result;
    ck_assert_int_eq(bly_store_claim(h.store, h.session, 1, 0, &result), BELAY_ESTALE);
    ck_assert_ptr_null(result.first);
    ck_assert_int_eq(bly_store_session_end(h.store, h.session), BELAY_ENOENT);
    harness_end(&h);
}
END_TEST

START_TEST(orders_name_what_is_to_end_and_what_was_lost)
{
    harness_begin(&h);
    uint64_t first = harness_add_plain(&h, "x");
    uint64_t second = harness_add_plain(&h, "y");
    bly_claimed *one = harness_claim(&h);
    bly_claimed *two = harness_claim(&h);
    bly_job_ref job = {.seq = second};
    ck_assert_int_eq(bly_store_cancel(h.store, &job), BELAY_STILL_RUNNING);
    bly_claim_ref held[] = {{.seq = first, .token = one->token},
                            {.seq = second, .token = two->token},
                            {.seq = first, .token = 999}};
    bly_claim_ref orders[4];
    uint32_t count = 0;
    ck_assert_int_eq(bly_store_orders(h.store, h.session, held, 3, orders, 4, &count), 0);
    ck_assert_uint_eq(count, 2);
    ck_assert_uint_eq(orders[0].seq, second);
    ck_assert_int_eq(orders[0].result, BELAY_ECANCELED);
    ck_assert_uint_eq(orders[1].token, 999);
    ck_assert_int_eq(orders[1].result, BELAY_ESTALE);
    ck_assert_int_eq(harness_end_claim(&h, one, BLY_DO_DONE), 0);
    ck_assert_int_eq(harness_end_claim(&h, two, BLY_DO_CANCELED), 0);
    assert_state(&h, second, BLY_JOB_CANCELED);
    harness_end(&h);
}
END_TEST

UNIT_MAIN("store/claim", a_job_goes_from_added_to_done,
          due_jobs_go_by_priority_then_time_then_number, a_restart_changes_neither_order_nor_counts,
          a_job_for_later_waits_until_it_is_due, tokens_rise_and_are_never_used_again,
          a_session_takes_jobs_of_its_queues_alone, a_start_of_a_canceled_claim_says_so,
          a_session_that_has_ended_claims_nothing, orders_name_what_is_to_end_and_what_was_lost)
