/*
 * test_fault.c: every allocation fails once, and then for good; nothing is lost or stored by halves.
 *
 * Linked with --wrap=bly_alloc and --wrap=bly_alloc_aligned.
 */
#include "sched.h"

#include "sync/sync.h"

static int allocations_left = -1; /* that succeed; -1: all */
static bool fails_for_good;
static int failures;

void *__real_bly_alloc(size_t size);
void *__wrap_bly_alloc(size_t size);
void *__real_bly_alloc_aligned(size_t align, size_t size);
void *__wrap_bly_alloc_aligned(size_t align, size_t size);

static bool may_allocate(void)
{
    if (allocations_left < 0) {
        return true;
    }
    if (allocations_left == 0) {
        allocations_left = fails_for_good ? 0 : -1;
        failures++;
        return false;
    }
    allocations_left--;
    return true;
}

void *__wrap_bly_alloc(size_t size)
{
    return may_allocate() ? __real_bly_alloc(size) : NULL;
}

void *__wrap_bly_alloc_aligned(size_t align, size_t size)
{
    return may_allocate() ? __real_bly_alloc_aligned(align, size) : NULL;
}

/* The k-th allocation from now on fails, and with for_good all after it. */
static void fail_at(int k, bool for_good)
{
    allocations_left = k;
    fails_for_good = for_good;
    failures = 0;
}

static void fail_no_more(void)
{
    allocations_left = -1;
}

START_TEST(create_fails_whole_at_every_allocation)
{
    int k = 0;
    for (;; k++) {
        belay_sched *sched = NULL;
        fail_at(k, true);
        int result = belay_sched_create(NULL, &sched);
        fail_no_more();
        if (result == 0) {
            ck_assert_int_eq(belay_sched_close(sched, BELAY_CLOSE_DISCARD), 0);
            ck_assert_int_eq(belay_sched_destroy(sched), 0);
            break;
        }
        ck_assert_int_eq(result, BELAY_ENOMEM);
        ck_assert_ptr_null(sched);
    }
    ck_assert_int_ge(k, 5);
}
END_TEST

START_TEST(schedule_fails_whole_at_every_allocation)
{
    /* Enough jobs that every part of the store has to grow more than once. */
    make();
    static probe jobs[2000];
    int refused = 0;
    for (uint64_t i = 0; i < 2000; i++) {
        int k = 0;
        for (;; k++) {
            fail_at(k, i % 2 == 0);
            int result = put(i, &jobs[i], (int64_t)i, 0);
            fail_no_more();
            if (result == 0) {
                break;
            }
            refused++;
            ck_assert_int_eq(result, BELAY_ENOMEM);
            ck_assert_uint_eq(stats().pending, i);
            ck_assert_int_eq(state_of(i), BELAY_ENOENT);
        }
        ck_assert_int_ge(k, 1);
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
    fail_no_more();
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
    fail_no_more();
    ck_assert_int_eq(state_of(1), BELAY_JOB_PENDING);
    ck_assert_int_eq(run_one(), 0);
    belay_cancel *token = NULL;
    fail_at(0, true);
    ck_assert_int_eq(belay_claim_token(self.claim, &token), BELAY_ENOMEM);
    fail_no_more();
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
    ck_assert_int_eq(failures, 0);
    fail_no_more();
    unmake();
}
END_TEST

START_TEST(start_fails_whole_at_every_allocation)
{
    int k = 0;
    for (;; k++) {
        make();
        probe self = {0};
        ck_assert_int_eq(put(1, &self, 0, 0), 0);
        fail_at(k, true);
        int result = belay_sched_start(test_sched, belay_inline(), 2);
        fail_no_more();
        if (result == 0) {
            unmake();
            break;
        }
        ck_assert_int_eq(result, BELAY_ENOMEM);
        ck_assert_int_eq(run_one(), 0); /* as if it had not been asked */
        unmake();
        ck_assert_int_eq(self.runs, 1);
    }
    ck_assert_int_ge(k, 2);
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
    fail_no_more();
    ck_assert_int_eq(belay_manual_clock_next_deadline(test_clock), 20 * MS);
    advance(20 * MS);
    ck_assert_int_eq(run_exec(), 1);
    ck_assert_int_eq(self.runs, 1);
    unmake();
}
END_TEST

UNIT_MAIN("sched/fault", create_fails_whole_at_every_allocation,
          schedule_fails_whole_at_every_allocation, want_of_memory_is_the_last_of_the_errors,
          next_without_memory_claims_nothing, start_fails_whole_at_every_allocation,
          ticket_without_memory_is_as_a_refused_one)
