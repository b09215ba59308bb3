#include "harness.h"

static harness h;

static uint64_t add_every(uint32_t missed, uint32_t missed_max)
{
    bly_new_job job = harness_job("x");
    job.id = BLY_BYTES("tick");
    job.schedule = (bly_schedule){.kind = BLY_SCHEDULE_EVERY,
                                  .period_ns = SECOND,
                                  .missed = missed,
                                  .missed_max = missed_max};
    return harness_add(&h, &job);
}

static bly_claimed *claim_slot(int64_t slot_ns, uint32_t missed)
{
    bly_claimed *claimed = harness_claim(&h);
    ck_assert_ptr_nonnull(claimed);
    ck_assert_int_eq((claimed->slot_ns - START) / SECOND, (slot_ns - START) / SECOND);
    ck_assert_uint_eq(claimed->missed, missed);
    ck_assert_mem_eq(claimed->id.data, "tick", 4);
    return claimed;
}

START_TEST(each_slot_runs_once_and_runs_do_not_overlap)
{
    harness_begin(&h);
    (void)add_every(BLY_MISSED_ONCE, 0);
    for (int i = 0; i < 5; i++) {
        bly_claimed *claimed = claim_slot(START + i * SECOND, 0);
        harness_pass(&h, SECOND);
        ck_assert_uint_eq(harness_claim_seq(&h), 0); /* due, but the last one runs */
        invariants_hold(h.path);
        ck_assert_int_eq(harness_end_claim(&h, claimed, i % 2 == 0 ? BLY_DO_DONE : BLY_DO_FAIL), 0);
    }
    harness_end(&h);
}
END_TEST

START_TEST(one_run_stands_for_all_that_passed)
{
    harness_begin(&h);
    (void)add_every(BLY_MISSED_ONCE, 0);
    harness_pass(&h, 172800 * SECOND);
    bly_claimed *claimed = claim_slot(START + 172800 * SECOND, 172800);
    ck_assert_int_eq(harness_end_claim(&h, claimed, BLY_DO_DONE), 0);
    ck_assert_uint_eq(harness_claim_seq(&h), 0);
    harness_pass(&h, SECOND);
    claimed = claim_slot(START + 172801 * SECOND, 0);
    ck_assert_int_eq(harness_end_claim(&h, claimed, BLY_DO_DONE), 0);
    harness_end(&h);
}
END_TEST

START_TEST(all_runs_the_newest_of_what_passed)
{
    harness_begin(&h);
    (void)add_every(BLY_MISSED_ALL, 3);
    harness_pass(&h, 9 * SECOND);
    uint32_t missed = 7;
    for (int64_t slot = 7; slot <= 9; slot++) {
        ck_assert_int_eq(
            harness_end_claim(&h, claim_slot(START + slot * SECOND, missed), BLY_DO_DONE), 0);
        missed = 0;
    }
    ck_assert_uint_eq(harness_claim_seq(&h), 0);
    harness_end(&h);
}
END_TEST

START_TEST(skip_runs_none_that_is_too_late)
{
    harness_begin(&h);
    bly_new_job job = harness_job("x");
    job.id = BLY_BYTES("tick");
    job.schedule = (bly_schedule){.kind = BLY_SCHEDULE_EVERY,
                                  .period_ns = 100 * SECOND,
                                  .missed = BLY_MISSED_SKIP,
                                  .late_max_ns = 10 * SECOND};
    uint64_t seq = harness_add(&h, &job);
    harness_pass(&h, 450 * SECOND);
    ck_assert_uint_eq(harness_claim_seq(&h), 0);
    assert_state(&h, seq, BLY_JOB_SKIPPED);
    harness_pass(&h, 55 * SECOND); /* five late of the slot at 500 */
    bly_claimed *claimed = claim_slot(START + 500 * SECOND, 0);
    ck_assert_int_eq(harness_end_claim(&h, claimed, BLY_DO_DONE), 0);
    harness_end(&h);
}
END_TEST

START_TEST(a_run_that_is_given_back_is_not_put_up_twice)
{
    harness_begin(&h);
    (void)add_every(BLY_MISSED_ONCE, 0);
    ck_assert_int_eq(harness_end_claim(&h, claim_slot(START, 0), BLY_DO_GIVE_BACK), 0);
    harness_pass(&h, 5 * SECOND);
    ck_assert_int_eq(harness_end_claim(&h, claim_slot(START, 0), BLY_DO_DONE), 0);
    ck_assert_int_eq(harness_end_claim(&h, claim_slot(START + 5 * SECOND, 4), BLY_DO_DONE), 0);
    harness_end(&h);
}
END_TEST

START_TEST(cancel_ends_the_schedule_and_frees_its_id)
{
    harness_begin(&h);
    uint64_t seq = add_every(BLY_MISSED_ONCE, 0);
    bly_claimed *claimed = claim_slot(START, 0);
    bly_job_ref ref = {.id = BLY_BYTES("tick")};
    ck_assert_int_eq(bly_store_cancel(h.store, &ref), BELAY_STILL_RUNNING);
    ck_assert_int_eq(harness_end_claim(&h, claimed, BLY_DO_DONE), 0);
    assert_state(&h, seq, BLY_JOB_DONE);
    harness_pass(&h, 5 * SECOND);
    ck_assert_uint_eq(harness_claim_seq(&h), 0);
    bly_table *table = NULL;
    ck_assert_int_eq(bly_store_table(h.store, BLY_TABLE_SCHEDULES, &table), 0);
    ck_assert_uint_eq(table->count, 0);
    bly_table_free(table);
    (void)add_every(BLY_MISSED_ONCE, 0);
    harness_end(&h);
}
END_TEST

START_TEST(a_schedule_is_the_same_or_replaced_behind_its_run)
{
    harness_begin(&h);
    (void)add_every(BLY_MISSED_ONCE, 0);
    bly_claimed *claimed = claim_slot(START, 0);
    bly_new_job job = harness_job("x");
    job.id = BLY_BYTES("tick");
    job.schedule = (bly_schedule){.kind = BLY_SCHEDULE_EVERY, .period_ns = SECOND};
    bly_added added;
    ck_assert_int_eq(harness_try_add(&h, &job, &added), 0);
    ck_assert_int_eq(added.outcome, BLY_ADDED_SAME);
    job.schedule.period_ns = 60 * SECOND;
    ck_assert_int_eq(harness_try_add(&h, &job, &added), BELAY_EEXIST);
    job.flags = BLY_NEW_REPLACE;
    ck_assert_int_eq(harness_try_add(&h, &job, &added), 0);
    ck_assert_int_eq(added.outcome, BLY_ADDED_BEHIND);
    harness_pass(&h, 2 * SECOND);
    ck_assert_uint_eq(harness_claim_seq(&h), 0);
    ck_assert_int_eq(harness_end_claim(&h, claimed, BLY_DO_DONE), 0);
    ck_assert_int_eq(harness_end_claim(&h, claim_slot(START, 0), BLY_DO_DONE), 0);
    ck_assert_uint_eq(harness_claim_seq(&h), 0);
    harness_end(&h);
}
END_TEST

START_TEST(a_failed_run_ends_the_schedule_that_wants_that)
{
    harness_begin(&h);
    bly_new_job job = harness_job("x");
    job.id = BLY_BYTES("tick");
    job.flags = BLY_NEW_STOP_ON_FAILURE;
    job.schedule = (bly_schedule){.kind = BLY_SCHEDULE_EVERY, .period_ns = SECOND};
    (void)harness_add(&h, &job);
    ck_assert_int_eq(harness_end_claim(&h, claim_slot(START, 0), BLY_DO_FAIL), 0);
    harness_pass(&h, SECOND);
    ck_assert_uint_eq(harness_claim_seq(&h), 0);
    harness_end(&h);
}
END_TEST

/* As a reader of cron expressions would: every third second, until START + 9 s. */
static int64_t next_third(const bly_schedule *rule, int64_t slot_ns, void *arg)
{
    ck_assert_mem_eq(rule->expr.data, "*/3", 3);
    (*(int *)arg)++;
    int64_t next = START + ((slot_ns - START) / (3 * SECOND) + 1) * 3 * SECOND;
    return slot_ns < START ? START : next > START + 9 * SECOND ? BELAY_FOREVER : next;
}

START_TEST(cron_slots_come_from_the_function_and_end_with_it)
{
    memset(&h, 0, sizeof h);
    harness_folder(&h);
    ck_assert_int_eq(belay_manual_clock_create(0, START, &h.clock), 0);
    harness_set(&h, START - 1);
    int calls = 0;
    bly_store_opts opts = {
        .size = sizeof opts, .clock = h.clock, .next = next_third, .next_arg = &calls};
    ck_assert_int_eq(bly_store_open(h.path, &opts, &h.store, NULL), 0);
    bly_session_opts session = {.size = sizeof session};
    ck_assert_int_eq(bly_store_session_begin(h.store, &session, &h.session), 0);
    bly_new_job job = harness_job("x");
    job.id = BLY_BYTES("tick");
    job.schedule = (bly_schedule){
        .kind = BLY_SCHEDULE_CRON, .expr = BLY_BYTES("*/3"), .zone = BLY_BYTES("Europe/Berlin")};
    (void)harness_add(&h, &job);
    ck_assert_uint_eq(harness_claim_seq(&h), 0);
    harness_set(&h, START);
    ck_assert_int_eq(harness_end_claim(&h, claim_slot(START, 0), BLY_DO_DONE), 0);
    harness_set(&h, START + 7 * SECOND);
    ck_assert_int_eq(harness_end_claim(&h, claim_slot(START + 6 * SECOND, 1), BLY_DO_DONE), 0);
    harness_set(&h, START + 90 * SECOND);
    ck_assert_int_eq(harness_end_claim(&h, claim_slot(START + 9 * SECOND, 0), BLY_DO_DONE), 0);
    ck_assert_uint_eq(harness_claim_seq(&h), 0);
    ck_assert_int_gt(calls, 0);
    harness_end(&h);
}
END_TEST

START_TEST(a_failed_run_is_not_retried_beside_the_next)
{
    harness_begin(&h);
    uint64_t seq = add_every(BLY_MISSED_ONCE, 0);
    ck_assert_int_eq(harness_end_claim(&h, claim_slot(START, 0), BLY_DO_FAIL), 0);
    bly_job_ref ref = {.seq = seq};
    ck_assert_int_eq(bly_store_retry(h.store, &ref, NULL), BELAY_EEXIST);
    bly_job_ref id = {.id = BLY_BYTES("tick")};
    ck_assert_int_eq(bly_store_cancel(h.store, &id), 0);
    ck_assert_int_eq(bly_store_retry(h.store, &ref, NULL), 0);
    harness_run(&h, seq);
    harness_end(&h);
}
END_TEST

START_TEST(jitter_is_the_same_each_time_and_bounded)
{
    harness_begin(&h);
    bly_new_job job = harness_job("x");
    job.schedule = (bly_schedule){
        .kind = BLY_SCHEDULE_EVERY, .period_ns = 10 * SECOND, .jitter_ns = 5 * SECOND};
    uint64_t seq = harness_add(&h, &job);
    bly_rows *rows = harness_find(&h, seq);
    ck_assert_int_eq(rows->row[0].slot_ns, START);
    ck_assert_int_ge(rows->row[0].run_at_ns, START);
    ck_assert_int_le(rows->row[0].run_at_ns, START + 5 * SECOND);
    bly_rows_free(rows);
    harness_end(&h);
}
END_TEST

UNIT_MAIN("store/schedule", each_slot_runs_once_and_runs_do_not_overlap,
          one_run_stands_for_all_that_passed, all_runs_the_newest_of_what_passed,
          skip_runs_none_that_is_too_late, a_run_that_is_given_back_is_not_put_up_twice,
          cancel_ends_the_schedule_and_frees_its_id,
          a_schedule_is_the_same_or_replaced_behind_its_run,
          a_failed_run_ends_the_schedule_that_wants_that,
          a_failed_run_is_not_retried_beside_the_next,
          cron_slots_come_from_the_function_and_end_with_it,
          jitter_is_the_same_each_time_and_bounded)
