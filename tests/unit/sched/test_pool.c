/*
 * test_pool.c: a scheduler started on a real pool, and the ends of both.
 */
#include "sched.h"

#include "belay/exec.h"
#include "sync/sync.h"

/* A job that waits until the test lets it go on. */
static uint32_t has_begun;
static uint32_t may_end;

static void await_word(uint32_t *word)
{
    while (bly_load(word, BLY_ACQUIRE) == 0) {
        (void)bly_futex_wait(word, 0, BELAY_FOREVER);
    }
}

static void set_word(uint32_t *word)
{
    bly_store(word, 1u, BLY_RELEASE);
    bly_futex_wake(word, BLY_WAKE_ALL);
}

static void hold_on(probe *self)
{
    (void)self;
    set_word(&has_begun);
    await_word(&may_end);
}

static void run_on_pool(void (*stop)(belay_exec *exec), probe *first, probe *second)
{
    make();
    belay_exec_opts opts = {.size = sizeof opts, .workers = 1};
    belay_exec *exec = NULL;
    ck_assert_int_eq(belay_exec_create(&opts, &exec), 0);
    ck_assert_int_eq(belay_sched_start(test_sched, belay_exec_executor(exec), 1), 0);
    first->inside = hold_on;
    ck_assert_int_eq(put(1, first, 0, 0), 0);
    ck_assert_int_eq(put(2, second, 0, 0), 0);
    await_word(&has_begun);
    stop(exec);
    set_word(&may_end);
    ck_assert_int_eq(belay_exec_shutdown(exec), 0);
    ck_assert_int_eq(belay_exec_await_termination(exec, BELAY_FOREVER), 0);
    ck_assert_int_eq(belay_exec_destroy(exec), BELAY_EBUSY);
    ck_assert_int_eq(belay_sched_close(test_sched, BELAY_CLOSE_DRAIN_DUE), 0);
    ck_assert_int_eq(belay_sched_await(test_sched, BELAY_FOREVER), 0);
    ck_assert_int_eq(belay_sched_destroy(test_sched), 0);
    ck_assert_int_eq(belay_exec_destroy(exec), 0);
    ck_assert_int_eq(belay_manual_clock_destroy(test_clock), 0);
}

static void stop_at_once(belay_exec *exec)
{
    ck_assert_int_eq(belay_exec_shutdown_now(exec), 0);
}

static void let_it_drain(belay_exec *exec)
{
    ck_assert_int_eq(belay_exec_shutdown(exec), 0);
}

START_TEST(pool_that_stops_at_once_begins_no_job)
{
    probe first = {0};
    probe second = {0};
    run_on_pool(stop_at_once, &first, &second);
    ck_assert_int_eq(first.runs, 1);
    ck_assert_int_eq(second.runs, 0);
    ck_assert_int_eq(second.drops, 1);
    ck_assert_int_eq(second.why, BELAY_DROP_CLOSED);
}
END_TEST

START_TEST(pool_that_drains_runs_what_is_due)
{
    probe first = {0};
    probe second = {0};
    run_on_pool(let_it_drain, &first, &second);
    ck_assert_int_eq(first.runs, 1);
    ck_assert_int_eq(second.runs, 1);
    ck_assert_int_eq(second.drops, 0);
}
END_TEST

UNIT_MAIN("sched/pool", pool_that_stops_at_once_begins_no_job, pool_that_drains_runs_what_is_due)
