/*
 * test_future.c: calls with a future: results, waiting, cancel, then-callbacks.
 */
#include "call.h"
#include "unit.h"

#include <stdlib.h>

START_TEST(wait_gives_what_the_function_returned)
{
    static const int statuses[] = {0, 1, -5, BELAY_ECANCELED, INT32_MIN};
    belay_exec *exec = pool_of(2);
    for (size_t i = 0; i < bly_count(statuses); i++) {
        call one = {.gate = OPEN, .status = statuses[i]};
        int status = 77;
        start(exec, &one, NULL);
        ck_assert_int_eq(wait_for(&one, &status), 0);
        ck_assert_int_eq(status, statuses[i]);
        ck_assert_int_eq(wait_for(&one, NULL), 0);
        ck_assert_int_eq(belay_future_wait(one.future, BELAY_NOW, &status), 0);
        ck_assert_uint_eq(one.runs, 1);
        ck_assert_uint_eq(one.drops, 0);
        belay_future_unref(one.future);
    }
    belay_exec_stats_data metrics = pool_end(exec);
    ck_assert_uint_eq(metrics.total.executed, bly_count(statuses));
    ck_assert_uint_eq(metrics.total.failed, bly_count(statuses) - 1);
}
END_TEST

START_TEST(wrong_arguments_are_refused_and_nothing_is_called)
{
    belay_exec *exec = pool_of(1);
    call one = {.gate = OPEN};
    belay_cancel *fired;
    ck_assert_int_eq(belay_cancel_create(NULL, 0, &fired), 0);
    ck_assert_int_eq(belay_cancel_fire(fired), 0);
    ck_assert_int_eq(belay_exec_call(NULL, call_run, &one, NULL, NULL, NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_exec_call(exec, NULL, &one, NULL, NULL, NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_exec_call(exec, call_run, &one, call_drop, fired, &one.future),
                     BELAY_ECANCELED);
    ck_assert_int_eq(belay_future_wait(NULL, BELAY_NOW, NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_future_cancel(NULL), BELAY_EINVAL);
    ck_assert_ptr_null(belay_future_ref(NULL));
    belay_future_unref(NULL);
    pool_end(exec);
    ck_assert_ptr_null(one.future);
    ck_assert_uint_eq(one.runs + one.drops, 0);
    belay_cancel_unref(fired);
}
END_TEST

START_TEST(a_call_needs_no_future)
{
    belay_exec *exec = pool_of(1);
    call one = {.gate = OPEN, .status = 3};
    ck_assert_int_eq(belay_exec_call(exec, call_run, &one, NULL, NULL, NULL), 0);
    belay_exec_stats_data metrics = pool_end(exec);
    ck_assert_uint_eq(one.runs, 1);
    ck_assert_uint_eq(metrics.total.failed, 1);
}
END_TEST

START_TEST(a_future_outlives_its_pool)
{
    belay_exec *exec = pool_of(1);
    call one = {.gate = OPEN, .status = 9};
    start(exec, &one, NULL);
    pool_end(exec);
    int status = 0;
    ck_assert_int_eq(wait_for(&one, &status), 0);
    ck_assert_int_eq(status, 9);
    ck_assert_int_eq(belay_future_cancel(one.future), BELAY_ETOOLATE);
    belay_future_unref(one.future);
}
END_TEST

START_TEST(giving_up_the_future_does_not_cancel_the_call)
{
    belay_exec *exec = pool_of(1);
    holder busy;
    hold_worker(exec, &busy);
    call one = {.gate = OPEN};
    start(exec, &one, NULL);
    belay_future_unref(one.future);
    release_worker(&busy);
    pool_end(exec);
    ck_assert_uint_eq(one.runs, 1);
}
END_TEST

START_TEST(a_timed_wait_ends_at_its_deadline_and_a_try_at_once)
{
    belay_exec *exec = pool_of(1);
    call one = {.status = 1};
    start(exec, &one, NULL);
    event_await(&one.begun, 1);
    int status = 77;
    int64_t soon = belay_time_add(bly_monotonic_ns(), 1000000);
    ck_assert_int_eq(belay_future_wait(one.future, BELAY_NOW, &status), BELAY_EAGAIN);
    ck_assert_int_eq(belay_future_wait(one.future, 0, &status), BELAY_ETIMEDOUT);
    ck_assert_int_eq(belay_future_wait(one.future, soon, &status), BELAY_ETIMEDOUT);
    ck_assert_int_ge(bly_monotonic_ns(), soon);
    ck_assert_int_eq(status, 77);
    event_add(&one.gate, 1);
    ck_assert_int_eq(belay_future_wait(one.future, BELAY_FOREVER, &status), 0);
    ck_assert_int_eq(status, 1);
    belay_future_unref(one.future);
    pool_end(exec);
}
END_TEST

/* --- cancel. --- */

START_TEST(cancel_ends_a_call_that_has_not_begun_and_drops_on_this_thread)
{
    belay_exec *exec = pool_of(1);
    holder busy;
    hold_worker(exec, &busy);
    call one = {.gate = OPEN};
    start(exec, &one, NULL);
    ck_assert_int_eq(belay_future_cancel(one.future), 0);
    ck_assert_uint_eq(one.drops, 1);
    ck_assert_int_eq(one.why, BELAY_DROP_CANCELED);
    int status = 77;
    ck_assert_int_eq(belay_future_wait(one.future, BELAY_NOW, &status), BELAY_ECANCELED);
    ck_assert_int_eq(status, 77);
    ck_assert_int_eq(belay_future_cancel(one.future), BELAY_ETOOLATE);
    belay_future_unref(one.future);
    ck_assert_uint_eq(pool_stats(exec).outstanding, 2);
    release_worker(&busy);
    belay_exec_stats_data metrics = pool_end(exec);
    ck_assert_uint_eq(one.runs, 0);
    ck_assert_uint_eq(metrics.total.canceled, 1);
    ck_assert_uint_eq(metrics.total.executed, 1);
}
END_TEST

START_TEST(cancel_of_a_call_that_runs_or_has_ended_is_too_late)
{
    belay_exec *exec = pool_of(1);
    call one = {.status = 0};
    start(exec, &one, NULL);
    event_await(&one.begun, 1);
    ck_assert_int_eq(belay_future_cancel(one.future), BELAY_ETOOLATE);
    event_add(&one.gate, 1);
    ck_assert_int_eq(wait_for(&one, NULL), 0);
    ck_assert_int_eq(belay_future_cancel(one.future), BELAY_ETOOLATE);
    belay_future_unref(one.future);
    pool_end(exec);
    ck_assert_uint_eq(one.drops, 0);
}
END_TEST

START_TEST(firing_the_token_cancels_what_has_not_begun)
{
    belay_exec *exec = pool_of(1);
    belay_cancel *token;
    ck_assert_int_eq(belay_cancel_create(NULL, 0, &token), 0);
    call runs = {.status = 0};
    call waits = {.status = 0};
    start(exec, &runs, token);
    event_await(&runs.begun, 1);
    start(exec, &waits, token);
    ck_assert_int_eq(belay_cancel_fire(token), 0);
    ck_assert_uint_eq(waits.drops, 1);
    ck_assert_int_eq(wait_for(&waits, NULL), BELAY_ECANCELED);
    event_add(&runs.gate, 1);
    ck_assert_int_eq(wait_for(&runs, NULL), 0);
    belay_future_unref(runs.future);
    belay_future_unref(waits.future);
    belay_cancel_unref(token);
    belay_exec_stats_data metrics = pool_end(exec);
    ck_assert_uint_eq(metrics.total.canceled, 1);
    ck_assert_uint_eq(metrics.total.executed, 1);
}
END_TEST

START_TEST(a_token_that_is_never_fired_leaves_no_trace)
{
    belay_exec *exec = pool_of(2);
    belay_cancel *token;
    ck_assert_int_eq(belay_cancel_create(NULL, 0, &token), 0);
    for (int i = 0; i < 100; i++) {
        call one = {.gate = OPEN};
        start(exec, &one, token);
        ck_assert_int_eq(wait_for(&one, NULL), 0);
        belay_future_unref(one.future);
    }
    pool_end(exec);
    ck_assert_int_eq(belay_cancel_fire(token), 0);
    belay_cancel_unref(token);
}
END_TEST

typedef struct nested {
    call other;
    int wait_result;
    int cancel_result;
} nested;

static void cancel_in_callback(belay_task *task)
{
    nested *self = *(nested **)(void *)(task + 1);
    self->cancel_result = belay_future_cancel(self->other.future);
    self->wait_result = belay_future_wait(self->other.future, BELAY_FOREVER, NULL);
}

START_TEST(inside_an_inline_callback_cancel_drops_afterwards_and_wait_does_not_wait)
{
    belay_exec *exec = pool_of(1);
    holder busy;
    hold_worker(exec, &busy);
    nested seen = {.other = {.gate = OPEN}};
    start(exec, &seen.other, NULL);
    struct {
        belay_task task;
        nested *seen;
    } callback = {{.run = cancel_in_callback}, &seen};
    ck_assert_int_eq(belay_executor_submit(belay_inline(), &callback.task, 0), 0);
    ck_assert_int_eq(seen.cancel_result, 0);
    ck_assert_int_eq(seen.wait_result, BELAY_EDEADLK);
    ck_assert_uint_eq(seen.other.drops, 1);
    ck_assert_int_eq(wait_for(&seen.other, NULL), BELAY_ECANCELED);
    belay_future_unref(seen.other.future);
    release_worker(&busy);
    pool_end(exec);
}
END_TEST

START_TEST(shutdown_now_drops_a_call_and_its_future_says_so)
{
    belay_exec *exec = pool_of(1);
    holder busy;
    hold_worker(exec, &busy);
    call one = {.gate = OPEN};
    start(exec, &one, NULL);
    ck_assert_int_eq(belay_exec_shutdown_now(exec), 0);
    release_worker(&busy);
    pool_await(exec);
    ck_assert_uint_eq(one.drops, 1);
    ck_assert_int_eq(one.why, BELAY_DROP_SHUTDOWN);
    ck_assert_int_eq(wait_for(&one, NULL), BELAY_ECLOSED);
    belay_future_unref(one.future);
    ck_assert_int_eq(belay_exec_call(exec, call_run, &one, NULL, NULL, NULL), BELAY_ECLOSED);
    ck_assert_int_eq(belay_exec_destroy(exec), 0);
}
END_TEST

static int run_until_fired(void *arg)
{
    belay_cancel *token = arg;
    while (!belay_cancel_is_fired(token)) {
        bly_yield();
    }
    return 5;
}

START_TEST(shutdown_now_fires_the_tokens_of_running_calls)
{
    belay_exec *exec = pool_of(2);
    belay_cancel *tokens[2];
    belay_future *futures[2];
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(belay_cancel_create(NULL, 0, &tokens[i]), 0);
        ck_assert_int_eq(
            belay_exec_call(exec, run_until_fired, tokens[i], NULL, tokens[i], &futures[i]), 0);
    }
    while (pool_stats(exec).queued_roots != 0) {
        bly_yield();
    }
    ck_assert_int_eq(belay_exec_shutdown_now(exec), 0);
    pool_await(exec);
    for (int i = 0; i < 2; i++) {
        int result = belay_future_wait(futures[i], BELAY_NOW, NULL);
        ck_assert(result == 0 || result == BELAY_ECLOSED);
        belay_future_unref(futures[i]);
        belay_cancel_unref(tokens[i]);
    }
    ck_assert_int_eq(belay_exec_destroy(exec), 0);
}
END_TEST

/* Cancels and shutdowns against workers that claim, over many calls: each ends once. */
START_TEST(cancel_and_claim_have_one_winner)
{
    enum { CALLS = 3000 };
    static call calls[CALLS];
    belay_exec *exec = pool_of(2);
    uint32_t canceled = 0;
    for (int i = 0; i < CALLS; i++) {
        calls[i] = (call){.gate = OPEN};
        start(exec, &calls[i], NULL);
        if (i % 3 == 0) {
            bly_yield();
        }
        canceled += belay_future_cancel(calls[i].future) == 0;
    }
    belay_exec_stats_data metrics = pool_end(exec);
    for (int i = 0; i < CALLS; i++) {
        ck_assert_uint_eq(calls[i].runs + calls[i].drops, 1);
        ck_assert_int_eq(wait_for(&calls[i], NULL), calls[i].runs != 0 ? 0 : BELAY_ECANCELED);
        belay_future_unref(calls[i].future);
    }
    ck_assert_uint_eq(metrics.total.canceled, canceled);
    ck_assert_uint_eq(metrics.total.executed, CALLS - canceled);
}
END_TEST

/* --- then. --- */

typedef struct then_seen {
    event called;
    belay_future *future;
    int result;
    int status;
    bool was_in_pool;
} then_seen;

static void on_end(belay_future *future, int result, int status, void *arg)
{
    then_seen *self = arg;
    self->future = future;
    self->result = result;
    self->status = status;
    self->was_in_pool = belay_exec_current() != NULL;
    event_add(&self->called, 1);
}

START_TEST(then_is_called_once_with_the_status)
{
    belay_exec *exec = pool_of(1);
    call one = {.status = 4};
    then_seen seen = {.result = 77};
    start(exec, &one, NULL);
    ck_assert_int_eq(belay_future_then(one.future, belay_inline(), on_end, &seen), 0);
    ck_assert_uint_eq(event_value(&seen.called), 0);
    ck_assert_int_eq(belay_future_then(one.future, belay_inline(), on_end, &seen), BELAY_EBUSY);
    event_add(&one.gate, 1);
    event_await(&seen.called, 1);
    pool_end(exec);
    ck_assert_ptr_eq(seen.future, one.future);
    ck_assert_int_eq(seen.result, 0);
    ck_assert_int_eq(seen.status, 4);
    ck_assert_uint_eq(event_value(&seen.called), 1);
    ck_assert_int_eq(belay_future_then(one.future, NULL, on_end, &seen), BELAY_EBUSY);
    ck_assert_int_eq(belay_future_then(NULL, NULL, on_end, &seen), BELAY_EINVAL);
    ck_assert_int_eq(belay_future_then(one.future, NULL, NULL, &seen), BELAY_EINVAL);
    belay_future_unref(one.future);
}
END_TEST

START_TEST(then_of_an_ended_call_is_called_at_once)
{
    belay_exec *exec = pool_of(1);
    call one = {.gate = OPEN, .status = 6};
    start(exec, &one, NULL);
    ck_assert_int_eq(wait_for(&one, NULL), 0);
    pool_end(exec);
    then_seen seen = {.result = 77};
    ck_assert_int_eq(belay_future_then(one.future, NULL, on_end, &seen), 0);
    ck_assert_uint_eq(event_value(&seen.called), 1);
    ck_assert_int_eq(seen.status, 6);
    ck_assert(!seen.was_in_pool);
    belay_future_unref(one.future);
}
END_TEST

START_TEST(then_is_called_for_canceled_and_for_dropped_calls)
{
    belay_exec *exec = pool_of(1);
    holder busy;
    hold_worker(exec, &busy);
    call canceled = {.gate = OPEN};
    call dropped = {.gate = OPEN};
    then_seen seen[2] = {{.result = 77}, {.result = 77}};
    start(exec, &canceled, NULL);
    start(exec, &dropped, NULL);
    ck_assert_int_eq(belay_future_then(canceled.future, NULL, on_end, &seen[0]), 0);
    ck_assert_int_eq(belay_future_then(dropped.future, belay_exec_executor(exec), on_end, &seen[1]),
                     0);
    ck_assert_int_eq(belay_future_cancel(canceled.future), 0);
    ck_assert_uint_eq(event_value(&seen[0].called), 1);
    ck_assert_int_eq(seen[0].result, BELAY_ECANCELED);
    ck_assert_int_eq(seen[0].status, 0);
    ck_assert_int_eq(belay_exec_shutdown_now(exec), 0);
    release_worker(&busy);
    pool_await(exec);
    ck_assert_uint_eq(event_value(&seen[1].called), 1);
    ck_assert_int_eq(seen[1].result, BELAY_ECLOSED);
    ck_assert(seen[1].was_in_pool);
    ck_assert_int_eq(belay_exec_destroy(exec), 0);
    belay_future_unref(canceled.future);
    belay_future_unref(dropped.future);
}
END_TEST

START_TEST(then_keeps_its_executor_attached_until_it_is_called)
{
    belay_exec *exec = pool_of(1);
    belay_exec *other = pool_of(1);
    call one = {.status = 0};
    then_seen seen = {.result = 77};
    start(exec, &one, NULL);
    ck_assert_int_eq(belay_future_then(one.future, belay_exec_executor(other), on_end, &seen), 0);
    ck_assert_int_eq(belay_exec_shutdown(other), 0);
    pool_await(other);
    ck_assert_int_eq(belay_exec_destroy(other), BELAY_EBUSY);
    event_add(&one.gate, 1);
    ck_assert_int_eq(belay_exec_shutdown(exec), 0);
    belay_exec_stats_data metrics = pool_await(exec);
    ck_assert_uint_eq(event_value(&seen.called), 1); /* the other pool refused: inline */
    ck_assert_uint_eq(metrics.deliveries_inline, 1);
    ck_assert_int_eq(belay_exec_destroy(other), 0);
    ck_assert_int_eq(belay_exec_destroy(exec), 0);
    belay_future_unref(one.future);
}
END_TEST

/* A then-callback that starts the next call, whose then-callback does the same. */
typedef struct chain {
    belay_exec *exec;
    int left;
    event done;
} chain;

static int chain_call(void *arg)
{
    (void)arg;
    return 0;
}

static void chain_next(belay_future *future, int result, int status, void *arg)
{
    chain *self = arg;
    ck_assert_int_eq(result, 0);
    ck_assert_int_eq(status, 0);
    (void)future;
    if (self->left-- == 0) {
        event_add(&self->done, 1);
        return;
    }
    belay_future *next;
    ck_assert_int_eq(belay_exec_call(self->exec, chain_call, self, NULL, NULL, &next), 0);
    ck_assert_int_eq(belay_future_then(next, belay_exec_executor(self->exec), chain_next, self), 0);
    belay_future_unref(next);
}

START_TEST(then_callbacks_of_a_draining_pool_may_go_on_with_children)
{
    belay_exec *exec = pool_of(2);
    chain links = {.exec = exec, .left = 2000};
    belay_future *first;
    call hold = {.status = 0};
    start(exec, &hold, NULL);
    ck_assert_int_eq(belay_exec_call(exec, chain_call, &links, NULL, NULL, &first), 0);
    ck_assert_int_eq(belay_future_then(first, belay_exec_executor(exec), chain_next, &links), 0);
    ck_assert_int_eq(belay_exec_shutdown(exec), 0);
    event_add(&hold.gate, 1);
    pool_await(exec);
    ck_assert_uint_eq(event_value(&links.done), 1);
    ck_assert_int_eq(belay_exec_destroy(exec), 0);
    belay_future_unref(first);
    belay_future_unref(hold.future);
}
END_TEST

static void then_of_ended(belay_future *future, int result, int status, void *arg)
{
    belay_future **rest = arg;
    (void)future;
    ck_assert_int_eq(result | status, 0);
    if (rest[1] != NULL) {
        ck_assert_int_eq(belay_future_then(rest[1], NULL, then_of_ended, rest + 1), 0);
    }
}

START_TEST(a_long_chain_of_inline_then_callbacks_needs_constant_stack)
{
    enum { CALLS = 100000 };
    static belay_future *futures[CALLS + 1];
    belay_exec *exec = pool_of(1);
    for (int i = 0; i < CALLS; i++) {
        ck_assert_int_eq(belay_exec_call(exec, chain_call, NULL, NULL, NULL, &futures[i]), 0);
    }
    pool_end(exec);
    ck_assert_int_eq(belay_future_then(futures[0], NULL, then_of_ended, futures), 0);
    for (int i = 0; i < CALLS; i++) {
        ck_assert_int_eq(belay_future_then(futures[i], NULL, then_of_ended, NULL), BELAY_EBUSY);
        belay_future_unref(futures[i]);
    }
}
END_TEST

START_TEST(then_and_the_end_meet_in_any_order)
{
    belay_exec *exec = pool_of(1);
    for (int i = 0; i < 3000; i++) {
        call one = {.gate = OPEN, .status = i};
        then_seen seen = {.result = 77};
        start(exec, &one, NULL);
        for (int k = 0; k < i % 50; k++) {
            bly_pause();
        }
        ck_assert_int_eq(belay_future_then(one.future, NULL, on_end, &seen), 0);
        event_await(&seen.called, 1);
        ck_assert_int_eq(seen.status, i);
        belay_future_unref(one.future);
    }
    pool_end(exec);
}
END_TEST

UNIT_MAIN("exec/future", wait_gives_what_the_function_returned,
          wrong_arguments_are_refused_and_nothing_is_called, a_call_needs_no_future,
          a_future_outlives_its_pool, giving_up_the_future_does_not_cancel_the_call,
          a_timed_wait_ends_at_its_deadline_and_a_try_at_once,
          cancel_ends_a_call_that_has_not_begun_and_drops_on_this_thread,
          cancel_of_a_call_that_runs_or_has_ended_is_too_late,
          firing_the_token_cancels_what_has_not_begun, a_token_that_is_never_fired_leaves_no_trace,
          inside_an_inline_callback_cancel_drops_afterwards_and_wait_does_not_wait,
          shutdown_now_drops_a_call_and_its_future_says_so,
          shutdown_now_fires_the_tokens_of_running_calls, cancel_and_claim_have_one_winner,
          then_is_called_once_with_the_status, then_of_an_ended_call_is_called_at_once,
          then_is_called_for_canceled_and_for_dropped_calls,
          then_keeps_its_executor_attached_until_it_is_called,
          then_callbacks_of_a_draining_pool_may_go_on_with_children,
          a_long_chain_of_inline_then_callbacks_needs_constant_stack,
          then_and_the_end_meet_in_any_order)
