/*
 * test_fault.c: every allocation fails once, and then for good; nothing is lost or half stored. And
 * calls that come in between: allocating and freeing happen without the lock, so what a test does
 * there is what another thread could have done.
 */
#include "sched.h"

#include "fault.h"

/* Called once, at the allocation or the free that is `between_in` further on. */
static void (*between)(void);
static int between_in;
static bool is_between_free;

static void pass_between(bool is_free)
{
    if (between != NULL && is_free == is_between_free && between_in-- == 0) {
        void (*fn)(void) = between;
        between = NULL;
        fn();
    }
}

static void pass_alloc(void)
{
    pass_between(false);
}

static void call_between(void (*fn)(void), int in, bool is_free)
{
    between = fn;
    between_in = in;
    is_between_free = is_free;
    fault_before_alloc = pass_alloc;
}

void __real_bly_free(void *block);
void __wrap_bly_free(void *block);

void __wrap_bly_free(void *block)
{
    __real_bly_free(block);
    pass_between(true);
}

/* The allocation after k others fails, and with for_good all after it. */
static void fail_at(uint32_t k, bool for_good)
{
    if (for_good) {
        fault_alloc_from(k + 1);
    } else {
        fault_alloc_once(k + 1);
    }
}

START_TEST(create_fails_whole_at_every_allocation)
{
    uint32_t k = 0;
    for (;; k++) {
        belay_sched *sched = NULL;
        fail_at(k, true);
        int result = belay_sched_create(NULL, &sched);
        (void)fault_alloc_stop();
        if (result == 0) {
            ck_assert_int_eq(belay_sched_close(sched, BELAY_CLOSE_DISCARD), 0);
            ck_assert_int_eq(belay_sched_destroy(sched), 0);
            break;
        }
        ck_assert_int_eq(result, BELAY_ENOMEM);
        ck_assert_ptr_null(sched);
    }
    ck_assert_uint_ge(k, 5);
}
END_TEST

START_TEST(schedule_fails_whole_at_every_allocation)
{
    /* Enough jobs that every part of the store has to grow more than once. */
    make();
    static probe jobs[2000];
    int refused = 0;
    for (uint64_t i = 0; i < 2000; i++) {
        uint32_t k = 0;
        for (;; k++) {
            fail_at(k, i % 2 == 0);
            int result = put(i, &jobs[i], (int64_t)i, 0);
            (void)fault_alloc_stop();
            if (result == 0) {
                break;
            }
            refused++;
            ck_assert_int_eq(result, BELAY_ENOMEM);
            ck_assert_uint_eq(stats().pending, i);
            ck_assert_int_eq(state_of(i), BELAY_ENOENT);
        }
        ck_assert_uint_ge(k, 1);
    }
    ck_assert_int_gt(refused, 2000);
    advance(2000);
    ck_assert_int_eq(run_due(), 2000);
    unmake();
    for (int i = 0; i < 2000; i++) {
        ck_assert_int_eq(jobs[i].runs, 1);
        ck_assert_int_eq(jobs[i].drops, 0);
    }
}
END_TEST

START_TEST(want_of_memory_is_the_last_of_the_errors)
{
    make_with((belay_sched_opts){.pending_max = 1});
    probe self = {0};
    ck_assert_int_eq(put(1, &self, 10, 0), 0);
    belay_job job = job_of(&self, 10, 0);
    job.no_replace = 1;
    fail_at(0, true);
    ck_assert_int_eq(belay_sched_schedule(test_sched, BELAY_ID(1), &job, NULL), BELAY_EEXIST);
    ck_assert_int_eq(put(2, &self, 10, 0), BELAY_EFULL);
    ck_assert_int_eq(put(1, &self, 10, 0), BELAY_ENOMEM);
    ck_assert_int_eq(belay_sched_close(test_sched, BELAY_CLOSE_DISCARD), 0);
    ck_assert_int_eq(put(1, &self, 10, 0), BELAY_ECLOSED);
    (void)fault_alloc_stop();
    ck_assert_int_eq(self.drops, 1);
    unmake();
}
END_TEST

START_TEST(next_without_memory_claims_nothing)
{
    make();
    probe self = {.status = BELAY_PENDING};
    belay_claim *claim = NULL;
    ck_assert_int_eq(put(1, &self, 0, 0), 0);
    fail_at(0, true);
    ck_assert_int_eq(belay_sched_next(test_sched, BELAY_NOW, &claim, NULL), BELAY_ENOMEM);
    (void)fault_alloc_stop();
    ck_assert_int_eq(state_of(1), BELAY_JOB_PENDING);
    ck_assert_int_eq(run_one(), 0);
    belay_cancel *token = NULL;
    fail_at(0, true);
    ck_assert_int_eq(belay_claim_token(self.claim, &token), BELAY_ENOMEM);
    (void)fault_alloc_stop();
    ck_assert_ptr_null(token);
    ck_assert_int_eq(belay_claim_done(self.claim, 0), 0);
    /* Cancel, close and the end of a run need no memory. */
    ck_assert_int_eq(put(1, &self, 0, 0), 0);
    ck_assert_int_eq(put(2, &self, 0, 0), 0);
    ck_assert_int_eq(put(3, &self, 0, 0), 0);
    fail_at(0, true);
    ck_assert_int_eq(run_one(), 0);
    ck_assert_int_eq(belay_sched_cancel(test_sched, BELAY_ID(2)), 0);
    ck_assert_int_eq(belay_sched_close(test_sched, BELAY_CLOSE_DISCARD), 0);
    ck_assert_int_eq(belay_claim_done(self.claim, 0), 0);
    ck_assert_uint_eq(fault_alloc_stop(), 0);
    unmake();
}
END_TEST

START_TEST(next_without_memory_to_sleep_says_first_what_needs_no_sleep)
{
    belay_claim *claim = NULL;
    make_started(1);
    fail_at(0, true);
    ck_assert_int_eq(belay_sched_next(test_sched, BELAY_FOREVER, &claim, NULL), BELAY_EBUSY);
    (void)fault_alloc_stop();
    unmake();
    make();
    probe self = {0};
    ck_assert_int_eq(put(1, &self, 10, 0), 0);
    fail_at(0, true);
    ck_assert_int_eq(belay_sched_next(test_sched, BELAY_FOREVER, &claim, NULL), BELAY_ENOMEM);
    ck_assert_int_eq(belay_sched_close(test_sched, BELAY_CLOSE_DISCARD), 0);
    ck_assert_int_eq(belay_sched_next(test_sched, BELAY_FOREVER, &claim, NULL), BELAY_ECLOSED);
    ck_assert_uint_ge(fault_alloc_stop(), 2);
    unmake();
}
END_TEST

START_TEST(start_fails_whole_at_every_allocation)
{
    uint32_t k = 0;
    for (;; k++) {
        make();
        probe self = {0};
        ck_assert_int_eq(put(1, &self, 0, 0), 0);
        fail_at(k, true);
        int result = belay_sched_start(test_sched, belay_inline(), 2);
        (void)fault_alloc_stop();
        if (result == 0) {
            unmake();
            break;
        }
        ck_assert_int_eq(result, BELAY_ENOMEM);
        ck_assert_int_eq(run_one(), 0); /* as if it had not been asked */
        unmake();
        ck_assert_int_eq(self.runs, 1);
    }
    ck_assert_uint_ge(k, 2);
}
END_TEST

START_TEST(ticket_without_memory_is_as_a_refused_one)
{
    make_started(1);
    probe self = {0};
    ck_assert_int_eq(put(1, &self, 10 * MS, 0), 0);
    fail_at(0, true);
    advance(15 * MS);
    ck_assert_uint_eq(belay_test_exec_pending(test_exec), 0);
    ck_assert_uint_eq(stats().tickets_refused, 1);
    (void)fault_alloc_stop();
    ck_assert_int_eq(belay_manual_clock_next_deadline(test_clock), 20 * MS);
    advance(20 * MS);
    ck_assert_int_eq(run_exec(), 1);
    ck_assert_int_eq(self.runs, 1);
    unmake();
}
END_TEST

static belay_claim *token_claim;
static belay_cancel *token_between;

static void ask_for_the_token(void)
{
    ck_assert_int_eq(belay_claim_token(token_claim, &token_between), 0);
}

START_TEST(two_who_ask_for_the_first_token_get_the_same)
{
    make();
    probe self = {.status = BELAY_PENDING};
    ck_assert_int_eq(put(1, &self, 0, 0), 0);
    ck_assert_int_eq(run_one(), 0);
    token_claim = self.claim;
    belay_cancel *token = NULL;
    call_between(ask_for_the_token, 0, false);
    ck_assert_int_eq(belay_claim_token(self.claim, &token), 0);
    ck_assert_ptr_nonnull(token_between);
    ck_assert_ptr_eq(token, token_between);
    ck_assert_int_eq(belay_claim_done(self.claim, 0), 0);
    unmake();
}
END_TEST

static probe extra[4000];
static uint64_t extra_count;

static void schedule_one_more(void)
{
    ck_assert_int_eq(put(100000 + extra_count, &extra[extra_count], 5, 0), 0);
    extra_count++;
}

START_TEST(schedules_that_cross_while_the_store_grows_are_all_stored)
{
    static probe jobs[3000];
    for (uint32_t k = 0; k < 3; k++) {
        make();
        extra_count = 0;
        memset(extra, 0, sizeof extra);
        memset(jobs, 0, sizeof jobs);
        for (uint64_t i = 0; i < 3000; i++) {
            call_between(schedule_one_more, k, false);
            ck_assert_int_eq(put(i, &jobs[i], 5, 0), 0);
        }
        between = NULL;
        ck_assert_uint_eq(stats().pending, 3000 + extra_count);
        advance(5);
        ck_assert_int_eq(run_due(), (int)(3000 + extra_count));
        unmake();
    }
}
END_TEST

static belay_job_handle doomed_handle;
static probe *doomed_running;

/* A close has been decided; its collector has given up the lock after the first batch. */
static void act_while_collecting(void)
{
    ck_assert_int_eq(state_of(999), BELAY_ENOENT);
    ck_assert_int_eq(belay_sched_cancel(test_sched, BELAY_ID(999)), BELAY_ENOENT);
    ck_assert_int_eq(belay_sched_cancel_handle(test_sched, doomed_handle), BELAY_ESTALE);
    /* A running one whose successor is dropped already ends by itself. */
    ck_assert_int_eq(belay_sched_cancel(test_sched, BELAY_ID(5000)), BELAY_STILL_RUNNING);
    belay_job_info info = {.size = sizeof info};
    ck_assert_int_eq(belay_sched_query(test_sched, BELAY_ID(5000), &info), 0);
    ck_assert_uint_eq(info.has_held, 0);
    ck_assert_int_eq(belay_claim_done(doomed_running->claim, 0), 0);
    /* What is owed runs in order, wherever the collector has put it. */
    for (int i = 0; i < 70; i++) {
        ck_assert_int_eq(run_one(), 0);
    }
    ck_assert_int_eq(belay_sched_close(test_sched, BELAY_CLOSE_DISCARD), 0);
}

START_TEST(calls_while_a_close_collects_see_it_done)
{
    static probe jobs[1000];
    probe running = {.status = BELAY_PENDING};
    probe held = {0};
    make();
    ck_assert_int_eq(put(5000, &running, 0, 0), 0);
    ck_assert_int_eq(run_one(), 0);
    ck_assert_int_eq(put(5000, &held, 500, 0), BELAY_STILL_RUNNING);
    /* 100 are owed; the collector moves 64 of them in its first batch. One has no drop, so that
     * something is freed then. */
    for (uint64_t i = 0; i < 1000; i++) {
        jobs[i].number = (int)i + 1;
        belay_job job = job_of(&jobs[i], i < 100 ? (int64_t)i / 50 : 100 + (int64_t)i, 0);
        job.drop = i == 100 ? NULL : probe_drop;
        ck_assert_int_eq(
            belay_sched_schedule(test_sched, BELAY_ID(i), &job, i == 999 ? &doomed_handle : NULL),
            0);
    }
    doomed_running = &running;
    advance(1);
    call_between(act_while_collecting, 0, true);
    ck_assert_int_eq(belay_sched_close(test_sched, BELAY_CLOSE_DRAIN_DUE), 0);
    ck_assert_ptr_null(between);
    for (int i = 0; i < 1000; i++) {
        ck_assert_int_eq(jobs[i].runs, i < 70);
        ck_assert_int_eq(jobs[i].drops, i >= 70 && i != 100);
        ck_assert_int_eq(i >= 70 || notes[i] == i + 1, 1);
    }
    ck_assert_int_eq(held.drops, 1);
    ck_assert_int_eq(held.why, BELAY_DROP_CLOSED);
    for (int i = 71; i < note_count - 1; i++) {
        ck_assert_int_gt(notes[i], notes[i + 1]); /* dropped in key order */
    }
    unmake();
}
END_TEST

UNIT_MAIN("sched/fault", create_fails_whole_at_every_allocation,
          schedule_fails_whole_at_every_allocation, want_of_memory_is_the_last_of_the_errors,
          next_without_memory_claims_nothing,
          next_without_memory_to_sleep_says_first_what_needs_no_sleep,
          start_fails_whole_at_every_allocation, ticket_without_memory_is_as_a_refused_one,
          two_who_ask_for_the_first_token_get_the_same,
          schedules_that_cross_while_the_store_grows_are_all_stored,
          calls_while_a_close_collects_see_it_done)
