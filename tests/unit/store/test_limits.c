#include "harness.h"

static harness h;

static uint64_t add_limited(const char *name, uint32_t permits, uint32_t capacity, int32_t priority)
{
    bly_want want = {.name = BLY_BYTES(name), .permits = permits, .capacity = capacity};
    bly_new_job job = harness_job("x");
    job.wants = &want;
    job.want_count = 1;
    job.priority = priority;
    return harness_add(&h, &job);
}

START_TEST(a_job_that_finds_no_permit_is_parked_and_gets_the_next)
{
    harness_begin(&h);
    uint64_t first = add_limited("db", 1, 0, 0);
    uint64_t second = add_limited("db", 1, 0, 0);
    bly_claimed *running = harness_claim(&h);
    ck_assert_uint_eq(running->seq, first);
    ck_assert_uint_eq(harness_claim_seq(&h), 0);
    assert_state(&h, second, BLY_JOB_PARKED);
    invariants_hold(h.path);
    ck_assert_int_eq(harness_end_claim(&h, running, BLY_DO_FAIL), 0);
    assert_state(&h, second, BLY_JOB_READY);
    harness_run(&h, second);
    harness_end(&h);
}
END_TEST

START_TEST(a_job_with_many_permits_is_not_overtaken)
{
    harness_begin(&h);
    ck_assert_int_eq(bly_store_limit(h.store, BLY_BYTES("db"), 3), 0);
    (void)add_limited("db", 1, 0, 0);
    bly_claimed *one = harness_claim(&h);
    uint64_t wide = add_limited("db", 3, 0, 0);
    uint64_t narrow = add_limited("db", 1, 0, 0);
    ck_assert_uint_eq(harness_claim_seq(&h), 0);
    assert_state(&h, wide, BLY_JOB_PARKED);
    assert_state(&h, narrow, BLY_JOB_PARKED); /* although there is a permit for it */
    invariants_hold(h.path);
    ck_assert_int_eq(harness_end_claim(&h, one, BLY_DO_DONE), 0);
    bly_claimed *big = harness_claim(&h);
    ck_assert_uint_eq(big->seq, wide);
    ck_assert_uint_eq(harness_claim_seq(&h), 0);
    ck_assert_int_eq(harness_end_claim(&h, big, BLY_DO_DONE), 0);
    harness_run(&h, narrow);
    harness_end(&h);
}
END_TEST

START_TEST(a_canceled_head_lets_those_behind_it_in)
{
    harness_begin(&h);
    ck_assert_int_eq(bly_store_limit(h.store, BLY_BYTES("db"), 3), 0);
    (void)add_limited("db", 1, 0, 0);
    bly_claimed *one = harness_claim(&h);
    uint64_t wide = add_limited("db", 3, 0, 0);
    uint64_t narrow = add_limited("db", 1, 0, 0);
    ck_assert_uint_eq(harness_claim_seq(&h), 0);
    bly_job_ref ref = {.seq = wide};
    ck_assert_int_eq(bly_store_cancel(h.store, &ref), 0);
    assert_state(&h, narrow, BLY_JOB_READY);
    harness_run(&h, narrow);
    ck_assert_int_eq(harness_end_claim(&h, one, BLY_DO_DONE), 0);
    harness_end(&h);
}
END_TEST

START_TEST(a_job_that_can_never_fit_holds_up_nobody)
{
    harness_begin(&h);
    ck_assert_int_eq(bly_store_limit(h.store, BLY_BYTES("db"), 3), 0);
    uint64_t wide = add_limited("db", 3, 0, 0);
    uint64_t narrow = add_limited("db", 1, 0, 0);
    ck_assert_int_eq(bly_store_limit(h.store, BLY_BYTES("db"), 2), 0);
    harness_run(&h, narrow);
    bly_rows *rows = harness_find(&h, wide);
    ck_assert_uint_eq(rows->row[0].state, BLY_JOB_PARKED);
    ck_assert_int_eq(rows->row[0].why.kind, BLY_WHY_TOO_BIG);
    ck_assert_mem_eq(rows->row[0].why.name.data, "db", 2);
    bly_rows_free(rows);
    ck_assert_int_eq(bly_store_limit(h.store, BLY_BYTES("db"), 3), 0);
    harness_run(&h, wide);
    harness_end(&h);
}
END_TEST

START_TEST(capacities_are_set_by_the_first_and_must_agree)
{
    harness_begin(&h);
    (void)add_limited("db", 2, 4, 0);
    bly_want want = {.name = BLY_BYTES("db"), .capacity = 5};
    bly_new_job job = harness_job("x");
    job.wants = &want;
    job.want_count = 1;
    bly_added added;
    ck_assert_int_eq(harness_try_add(&h, &job, &added), BELAY_EBUSY);
    want = (bly_want){.name = BLY_BYTES("db"), .permits = 5};
    ck_assert_int_eq(harness_try_add(&h, &job, &added), BELAY_ETOOBIG);
    want = (bly_want){.name = BLY_BYTES("new"), .permits = 2};
    ck_assert_int_eq(harness_try_add(&h, &job, &added), BELAY_ETOOBIG);
    bly_want twice[] = {{.name = BLY_BYTES("db")}, {.name = BLY_BYTES("db")}};
    job.wants = twice;
    job.want_count = 2;
    ck_assert_int_eq(harness_try_add(&h, &job, &added), BELAY_EINVAL);
    harness_end(&h);
}
END_TEST

START_TEST(a_job_holds_all_of_its_limits_or_none)
{
    harness_begin(&h);
    bly_want wants[] = {{.name = BLY_BYTES("db")}, {.name = BLY_BYTES("gpu")}};
    bly_new_job job = harness_job("x");
    (void)add_limited("gpu", 1, 0, 0);
    bly_claimed *gpu = harness_claim(&h);
    job.wants = wants;
    job.want_count = 2;
    uint64_t both = harness_add(&h, &job);
    ck_assert_uint_eq(harness_claim_seq(&h), 0);
    assert_state(&h, both, BLY_JOB_PARKED);
    uint64_t db = add_limited("db", 1, 0, 0);
    bly_claimed *second = harness_claim(&h);
    ck_assert_uint_eq(second->seq, db);
    ck_assert_int_eq(harness_end_claim(&h, gpu, BLY_DO_DONE), 0);
    ck_assert_uint_eq(harness_claim_seq(&h), 0); /* parked on the other one now */
    assert_state(&h, both, BLY_JOB_PARKED);
    ck_assert_int_eq(harness_end_claim(&h, second, BLY_DO_DONE), 0);
    harness_run(&h, both);
    harness_end(&h);
}
END_TEST

START_TEST(a_queue_has_a_bound_and_can_be_paused)
{
    harness_begin(&h);
    ck_assert_int_eq(bly_store_queue(h.store, BLY_BYTES("default"), 1), 0);
    uint64_t first = harness_add_plain(&h, "a");
    uint64_t second = harness_add_plain(&h, "b");
    bly_claim_result result;
    ck_assert_int_eq(bly_store_claim(h.store, h.session, 5, BLY_CLAIM_START, &result), 0);
    ck_assert_uint_eq(result.count, 1);
    ck_assert_uint_eq(result.first->seq, first);
    bly_rows *rows = harness_find(&h, second);
    ck_assert_int_eq(rows->row[0].why.kind, BLY_WHY_QUEUE_MAX);
    bly_rows_free(rows);
    ck_assert_int_eq(harness_end_claim(&h, result.first, BLY_DO_DONE), 0);
    ck_assert_int_eq(bly_store_pause(h.store, BLY_PAUSE_QUEUE, NULL, BLY_BYTES("default")), 0);
    ck_assert_uint_eq(harness_claim_seq(&h), 0);
    ck_assert_int_eq(bly_store_unpause(h.store, BLY_PAUSE_QUEUE, NULL, BLY_BYTES("default")), 0);
    harness_run(&h, second);
    harness_end(&h);
}
END_TEST

START_TEST(jobs_limits_and_the_store_are_paused_and_go_on)
{
    harness_begin(&h);
    uint64_t seq = add_limited("db", 1, 0, 0);
    bly_job_ref ref = {.seq = seq};
    const struct {
        int what;
        int why;
    } cases[] = {{BLY_PAUSE_JOB, BLY_WHY_PAUSED},
                 {BLY_PAUSE_LIMIT, BLY_WHY_LIMIT_PAUSED},
                 {BLY_PAUSE_STORE, BLY_WHY_STORE_PAUSED}};
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(bly_store_pause(h.store, cases[i].what, &ref, BLY_BYTES("db")), 0);
        ck_assert_uint_eq(harness_claim_seq(&h), 0);
        bly_rows *rows = harness_find(&h, seq);
        ck_assert_int_eq(rows->row[0].why.kind, cases[i].why);
        bly_rows_free(rows);
        ck_assert_int_eq(bly_store_unpause(h.store, cases[i].what, &ref, BLY_BYTES("db")), 0);
    }
    ck_assert_int_eq(bly_store_pause(h.store, BLY_PAUSE_LIMIT, NULL, BLY_BYTES("no")),
                     BELAY_ENOENT);
    harness_run(&h, seq);
    ck_assert_int_eq(bly_store_pause(h.store, BLY_PAUSE_JOB, &ref, (bly_bytes){0}), BELAY_ETOOLATE);
    harness_end(&h);
}
END_TEST

START_TEST(permits_taken_by_hand_wait_their_turn_and_come_back)
{
    harness_begin(&h);
    bly_want want = {.name = BLY_BYTES("x"), .permits = 1, .capacity = 1};
    bly_new_job job = harness_job("with");
    job.wants = &want;
    job.want_count = 1;
    uint64_t first = 0;
    uint64_t second = 0;
    bly_claimed *one = NULL;
    bly_claimed *two = NULL;
    ck_assert_int_eq(bly_store_take(h.store, h.session, &job, &first), 0);
    ck_assert_int_eq(bly_store_take(h.store, h.session, &job, &second), 0);
    ck_assert_int_eq(bly_store_claim_one(h.store, h.session, first, BLY_CLAIM_START, &one), 0);
    ck_assert_int_eq(bly_store_claim_one(h.store, h.session, second, BLY_CLAIM_START, &two),
                     BELAY_EAGAIN);
    ck_assert_int_eq(harness_end_claim(&h, one, BLY_DO_DONE), 0);
    ck_assert_int_eq(bly_store_claim_one(h.store, h.session, second, BLY_CLAIM_START, &two), 0);
    ck_assert_int_eq(bly_store_claim_one(h.store, h.session, second, 0, &one), BELAY_ETOOLATE);
    bly_claimed_free(two);
    ck_assert_int_eq(bly_store_session_end(h.store, h.session), 0);
    assert_state(&h, second, BLY_JOB_CANCELED);
    harness_end(&h);
}
END_TEST

START_TEST(parked_jobs_of_a_queue_that_nobody_takes_hold_up_nobody)
{
    harness_begin(&h);
    bly_bytes gpu = BLY_BYTES("gpu");
    bly_session_opts opts = {.size = sizeof opts, .queues = &gpu, .queue_count = 1};
    uint64_t other = 0;
    ck_assert_int_eq(bly_store_session_begin(h.store, &opts, &other), 0);
    uint64_t first = add_limited("db", 1, 0, 0);
    bly_claimed *running = harness_claim(&h);
    ck_assert_uint_eq(running->seq, first);
    bly_want want = {.name = BLY_BYTES("db")};
    bly_new_job job = harness_job("x");
    job.queue = gpu;
    job.wants = &want;
    job.want_count = 1;
    uint64_t parked = harness_add(&h, &job);
    bly_claim_result result;
    ck_assert_int_eq(bly_store_claim(h.store, other, 1, 0, &result), 0);
    assert_state(&h, parked, BLY_JOB_PARKED);
    ck_assert_int_eq(bly_store_session_end(h.store, other), 0);
    assert_state(&h, parked, BLY_JOB_READY);
    ck_assert_int_eq(harness_end_claim(&h, running, BLY_DO_DONE), 0);
    harness_run(&h, add_limited("db", 1, 0, 0));
    bly_rows *rows = harness_find(&h, parked);
    ck_assert_int_eq(rows->row[0].why.kind, BLY_WHY_NO_WORKER);
    bly_rows_free(rows);
    harness_end(&h);
}
END_TEST

/* What the random history holds. */
static bly_claimed *held[64];
static uint32_t held_count;

static void claim_some(uint32_t flags)
{
    bly_claim_result result;
    ck_assert_int_eq(bly_store_claim(h.store, h.session, 3, flags, &result), 0);
    for (bly_claimed *at = result.first; at != NULL; at = at->next) {
        held[held_count++] = at;
    }
}

static void end_some(uint64_t which, bool cancel)
{
    bly_claimed *one = held[which];
    bly_job_ref ref = {.seq = one->seq};
    held[which] = held[--held_count];
    bool was_started = harness_state(&h, one->seq) == BLY_JOB_RUNNING;
    if (cancel) {
        ck_assert_int_ge(bly_store_cancel(h.store, &ref), 0);
    }
    int what = was_started && !cancel ? BLY_DO_DONE : BLY_DO_GIVE_BACK;
    int result = harness_end_claim(&h, one, what);
    ck_assert_int_eq(result, cancel && !was_started ? BELAY_ESTALE : 0);
}

/* Adds, claims, ends, gives back, cancels at random; the rules hold after each step. */
START_TEST(no_limit_is_exceeded_in_random_histories)
{
    harness_begin(&h);
    uint64_t random = 7;
    static const char *const names[] = {"a", "b", "c"};
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(bly_store_limit(h.store, BLY_BYTES(names[i]), (uint32_t)i + 1), 0);
    }
    for (int step = 0; step < 600; step++) {
        uint64_t choice = bly_random(&random) % 8;
        if (choice < 3) {
            uint64_t which = bly_random(&random) % 3;
            (void)add_limited(names[which], (uint32_t)(bly_random(&random) % (which + 1)) + 1, 0,
                              (int32_t)(bly_random(&random) % 3));
        } else if (choice < 6 && held_count < 60) {
            claim_some(choice == 5 ? 0 : BLY_CLAIM_START);
        } else if (held_count > 0) {
            end_some(bly_random(&random) % held_count, choice == 6);
        }
        invariants_hold(h.path);
    }
    while (held_count > 0) {
        end_some(0, false);
    }
    /* Nothing is stuck: all that is left runs to its end. */
    for (bly_claimed *next = harness_claim(&h); next != NULL; next = harness_claim(&h)) {
        ck_assert_int_eq(harness_end_claim(&h, next, BLY_DO_DONE), 0);
    }
    bly_store_stats stats;
    ck_assert_int_eq(bly_store_stats_get(h.store, &stats), 0);
    ck_assert_uint_eq(
        stats.jobs[BLY_JOB_READY] + stats.jobs[BLY_JOB_PARKED] + stats.jobs[BLY_JOB_RUNNING], 0);
    harness_end(&h);
}
END_TEST

UNIT_MAIN("store/limits", a_job_that_finds_no_permit_is_parked_and_gets_the_next,
          a_job_with_many_permits_is_not_overtaken, a_canceled_head_lets_those_behind_it_in,
          a_job_that_can_never_fit_holds_up_nobody, capacities_are_set_by_the_first_and_must_agree,
          a_job_holds_all_of_its_limits_or_none, a_queue_has_a_bound_and_can_be_paused,
          jobs_limits_and_the_store_are_paused_and_go_on,
          permits_taken_by_hand_wait_their_turn_and_come_back,
          parked_jobs_of_a_queue_that_nobody_takes_hold_up_nobody,
          no_limit_is_exceeded_in_random_histories)
