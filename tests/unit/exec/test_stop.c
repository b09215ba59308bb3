/*
 * test_stop.c: shutdown, shutdown_now, and waiting for the end.
 */
#include "exec/exec_int.h"
#include "pool.h"
#include "unit.h"

#include "exec/stopping.h"

#include <stdlib.h>

START_TEST(a_pool_that_was_never_used_ends_at_once)
{
    for (int workers = 1; workers <= 4; workers++) {
        belay_exec *exec = pool_of((uint32_t)workers);
        ck_assert_uint_eq(pool_end(exec).total.executed, 0);
    }
}
END_TEST

START_TEST(what_was_accepted_runs_and_what_comes_later_is_refused)
{
    enum { TASKS = 500 };
    static counted tasks[TASKS];
    belay_exec *exec = pool_of(2);
    holder busy;
    hold_worker(exec, &busy);
    for (int i = 0; i < TASKS; i++) {
        tasks[i] = counted_of(NULL);
        ck_assert_int_eq(belay_exec_submit(exec, &tasks[i].task), 0);
    }
    ck_assert_int_eq(belay_exec_shutdown(exec), 0);
    ck_assert_uint_eq(pool_stats(exec).state, BELAY_EXEC_DRAINING);
    counted late = counted_of(NULL);
    ck_assert_int_eq(belay_exec_submit(exec, &late.task), BELAY_ECLOSED);
    release_worker(&busy);
    ck_assert_uint_eq(pool_await(exec).total.executed, TASKS + 1);
    for (int i = 0; i < TASKS; i++) {
        ck_assert_uint_eq(tasks[i].runs, 1);
    }
    ck_assert_uint_eq(late.runs, 0);
    ck_assert_int_eq(belay_exec_destroy(exec), 0);
}
END_TEST

/* --- A binary tree of tasks, each of which submits the two below it. --- */

typedef struct tree {
    belay_exec *exec;
    uint64_t run;     /* atomic: nodes that ran */
    uint64_t dropped; /* atomic: nodes that were dropped */
    uint64_t refused; /* atomic: nodes that were refused */
    uint64_t leaves;  /* atomic */
} tree;

typedef struct node {
    belay_task task;
    tree *tree;
    int depth;
} node;

static void count(uint64_t *counter)
{
    bly_fetch_add(counter, UINT64_C(1), BLY_RELAXED);
}

static void node_run(belay_task *task);

static void node_drop(belay_task *task, int why)
{
    node *self = bly_container(task, node, task);
    ck_assert_int_eq(why, BELAY_DROP_SHUTDOWN);
    count(&self->tree->dropped);
    free(self);
}

static int grow(tree *of, int depth)
{
    node *child = calloc(1, sizeof *child);
    ck_assert_ptr_nonnull(child);
    *child = (node){.task = {.run = node_run, .drop = node_drop}, .tree = of, .depth = depth};
    int result = belay_exec_submit(of->exec, &child->task);
    if (result != 0) {
        ck_assert_int_eq(result, BELAY_ECLOSED);
        count(&of->refused);
        free(child);
    }
    return result;
}

static void node_run(belay_task *task)
{
    node *self = bly_container(task, node, task);
    tree *of = self->tree;
    count(self->depth == 0 ? &of->leaves : &of->run);
    if (self->depth > 0) {
        (void)grow(of, self->depth - 1);
        (void)grow(of, self->depth - 1);
    }
    free(self);
}

START_TEST(shutdown_lets_every_descendant_of_accepted_tasks_run)
{
    enum { ROOTS = 10, DEPTH = 11 };
    for (uint32_t workers = 1; workers <= 3; workers++) {
        belay_exec *exec = pool_of(workers);
        tree all = {.exec = exec};
        for (int i = 0; i < ROOTS; i++) {
            ck_assert_int_eq(grow(&all, DEPTH), 0);
        }
        ck_assert_int_eq(belay_exec_shutdown(exec), 0);
        belay_exec_stats_data metrics = pool_await(exec);
        ck_assert_uint_eq(all.leaves, ROOTS << DEPTH);
        ck_assert_uint_eq(all.refused, 0);
        ck_assert_uint_eq(metrics.total.executed, (ROOTS << (DEPTH + 1)) - ROOTS);
        ck_assert_int_eq(belay_exec_destroy(exec), 0);
    }
}
END_TEST

START_TEST(shutdown_now_runs_or_drops_each_accepted_task_once)
{
    enum { ROOTS = 10, DEPTH = 16 };
    for (uint32_t round = 0; round < 20; round++) {
        belay_exec *exec = pool_of(1 + round % 3);
        tree all = {.exec = exec};
        for (int i = 0; i < ROOTS; i++) {
            ck_assert_int_eq(grow(&all, DEPTH), 0);
        }
        while (bly_load(&all.run, BLY_RELAXED) < round * UINT64_C(100)) {
            bly_yield();
        }
        ck_assert_int_eq(belay_exec_shutdown_now(exec), 0);
        ck_assert_int_eq(grow(&all, 0), BELAY_ECLOSED);
        belay_exec_stats_data metrics = pool_await(exec);
        uint64_t run = all.run + all.leaves;
        ck_assert_uint_eq(metrics.total.executed, run);
        ck_assert_uint_eq(metrics.total.dropped, all.dropped);
        /* Each inner node that ran made two nodes, of which each was run, dropped or refused. */
        ck_assert_uint_eq(run + all.dropped + all.refused, ROOTS + 2 * all.run + 1);
        ck_assert_int_eq(belay_exec_destroy(exec), 0);
    }
}
END_TEST

START_TEST(shutdown_now_drops_what_has_not_begun_and_runs_deliveries)
{
    belay_exec *exec = pool_of(1);
    holder busy;
    hold_worker(exec, &busy);
    counted queued = counted_of(NULL);
    counted delivery = counted_of(NULL);
    belay_task silent = {.run = counted_run};
    ck_assert_int_eq(belay_exec_submit(exec, &queued.task), 0);
    ck_assert_int_eq(belay_exec_submit(exec, &silent), 0);
    ck_assert_int_eq(
        belay_executor_submit(belay_exec_executor(exec), &delivery.task, BELAY_DELIVERY), 0);
    ck_assert_int_eq(belay_exec_shutdown_now(exec), 0);
    counted late = counted_of(NULL);
    ck_assert_int_eq(belay_executor_submit(belay_exec_executor(exec), &late.task, BELAY_DELIVERY),
                     0);
    ck_assert_int_eq(belay_exec_submit(exec, &queued.task), BELAY_EBUSY);
    release_worker(&busy);
    belay_exec_stats_data metrics = pool_await(exec);
    ck_assert_uint_eq(queued.runs, 0);
    ck_assert_uint_eq(queued.drops, 1);
    ck_assert_uint_eq(delivery.runs, 1);
    ck_assert_uint_eq(late.runs, 1);
    ck_assert_uint_eq(metrics.total.dropped, 2);
    ck_assert_uint_eq(metrics.total.executed, 3);
    ck_assert_int_eq(belay_exec_destroy(exec), 0);
}
END_TEST

START_TEST(delivery_can_ask_whether_its_pool_was_told_to_stop_at_once)
{
    belay_exec *exec = pool_of(1);
    holder busy;
    hold_worker(exec, &busy);
    ck_assert(!bly_exec_is_stopping(belay_exec_executor(exec)));
    ck_assert(!bly_exec_is_stopping(belay_inline()));
    ck_assert_int_eq(belay_exec_shutdown(exec), 0);
    ck_assert(!bly_exec_is_stopping(belay_exec_executor(exec)));
    ck_assert_int_eq(belay_exec_shutdown_now(exec), 0);
    ck_assert(bly_exec_is_stopping(belay_exec_executor(exec)));
    release_worker(&busy);
    pool_await(exec);
    ck_assert_int_eq(belay_exec_destroy(exec), 0);
}
END_TEST

START_TEST(shutdown_after_shutdown_changes_nothing_and_now_after_it_drops)
{
    belay_exec *exec = pool_of(1);
    holder busy;
    hold_worker(exec, &busy);
    counted queued = counted_of(NULL);
    ck_assert_int_eq(belay_exec_submit(exec, &queued.task), 0);
    ck_assert_int_eq(belay_exec_shutdown(exec), 0);
    ck_assert_int_eq(belay_exec_shutdown(exec), 0);
    ck_assert_int_eq(belay_exec_shutdown_now(exec), 0);
    ck_assert_int_eq(belay_exec_shutdown(exec), 0);
    release_worker(&busy);
    pool_await(exec);
    ck_assert_uint_eq(queued.drops, 1);
    ck_assert_int_eq(belay_exec_shutdown(exec), 0);
    ck_assert_int_eq(belay_exec_shutdown_now(exec), 0);
    ck_assert_int_eq(belay_exec_await_termination(exec, BELAY_NOW), 0);
    ck_assert_int_eq(belay_exec_destroy(exec), 0);
}
END_TEST

START_TEST(arguments_are_checked)
{
    ck_assert_int_eq(belay_exec_shutdown(NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_exec_shutdown_now(NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_exec_await_termination(NULL, BELAY_NOW), BELAY_EINVAL);
    ck_assert_int_eq(belay_exec_destroy(NULL), 0);
}
END_TEST

/* --- Waiting. --- */

START_TEST(await_times_out_and_destroy_is_refused_before_the_end)
{
    belay_exec *exec = pool_of(2);
    ck_assert_int_eq(belay_exec_await_termination(exec, BELAY_NOW), BELAY_EAGAIN);
    ck_assert_int_eq(belay_exec_await_termination(exec, 0), BELAY_ETIMEDOUT);
    ck_assert_int_eq(
        belay_exec_await_termination(exec, belay_time_add(bly_monotonic_ns(), 1000000)),
        BELAY_ETIMEDOUT);
    ck_assert_int_eq(belay_exec_destroy(exec), BELAY_EBUSY);
    pool_end(exec);
}
END_TEST

typedef struct awaiter {
    belay_exec *exec;
    bly_thread thread;
    event *begun;
    int result;
} awaiter;

static void await_end(void *arg)
{
    awaiter *self = arg;
    event_add(self->begun, 1);
    self->result = belay_exec_await_termination(self->exec, BELAY_FOREVER);
}

START_TEST(many_threads_may_wait_and_destroy_may_follow_the_first_that_returns)
{
    enum { AWAITERS = 4 };
    for (int round = 0; round < 50; round++) {
        belay_exec *exec = pool_of(2);
        event begun = {0};
        awaiter awaiters[AWAITERS];
        for (int i = 0; i < AWAITERS; i++) {
            awaiters[i] = (awaiter){.exec = exec, .begun = &begun, .result = -1};
            ck_assert_int_eq(bly_thread_create(&awaiters[i].thread, NULL, await_end, &awaiters[i]),
                             0);
        }
        event_await(&begun, AWAITERS);
        ck_assert_int_eq(belay_exec_shutdown(exec), 0);
        ck_assert_int_eq(belay_exec_await_termination(exec, BELAY_FOREVER), 0);
        for (int i = 0; i < AWAITERS; i++) {
            bly_thread_join(&awaiters[i].thread);
            ck_assert_int_eq(awaiters[i].result, 0);
        }
        ck_assert_int_eq(belay_exec_destroy(exec), 0);
    }
}
END_TEST

static void shut_down(void *arg)
{
    ck_assert_int_eq(belay_exec_shutdown(arg), 0);
}

START_TEST(a_pool_may_be_destroyed_while_the_shutdown_that_ended_it_returns)
{
    for (int i = 0; i < 300; i++) {
        belay_exec *exec = pool_of(1);
        bly_thread other;
        ck_assert_int_eq(bly_thread_create(&other, NULL, shut_down, exec), 0);
        ck_assert_int_eq(belay_exec_await_termination(exec, BELAY_FOREVER), 0);
        ck_assert_int_eq(belay_exec_destroy(exec), 0);
        bly_thread_join(&other);
    }
}
END_TEST

static void destroy(void *arg)
{
    ck_assert_int_eq(belay_exec_destroy(arg), 0);
}

START_TEST(destroy_waits_for_calls_that_other_threads_are_inside_of)
{
    belay_exec *exec = pool_of(1);
    bly_thread other;
    bly_exec_enter(exec); /* as a submit does */
    ck_assert_int_eq(belay_exec_shutdown(exec), 0);
    ck_assert_int_eq(belay_exec_await_termination(exec, BELAY_FOREVER), 0);
    ck_assert_int_eq(bly_thread_create(&other, NULL, destroy, exec), 0);
    while (bly_load(&exec->callers, BLY_RELAXED) == 1) {
        bly_yield();
    }
    bly_exec_leave(exec);
    bly_thread_join(&other);
}
END_TEST

/* --- From inside the pool. --- */

typedef struct results {
    belay_exec *exec;
    int await_in_task;
    int await_in_start;
    int await_in_stop;
    int await_in_drop;
    int await_in_terminated;
    int destroy_in_task;
    int destroy_in_terminated;
    uint32_t state_in_terminated;
    uint32_t terminated; /* how often */
    event started;
    event gate;
} results;

static results seen;

static void on_start(uint32_t worker, void *arg)
{
    ck_assert_uint_eq(worker, 0);
    ck_assert_ptr_eq(arg, &seen);
    event_await(&seen.gate, 1); /* until the test knows the pool */
    seen.await_in_start = belay_exec_await_termination(seen.exec, BELAY_FOREVER);
    event_add(&seen.started, 1);
}

static void on_stop(uint32_t worker, void *arg)
{
    ck_assert_uint_eq(worker, 0);
    ck_assert_ptr_eq(arg, &seen);
    seen.await_in_stop = belay_exec_await_termination(seen.exec, BELAY_FOREVER);
}

static void on_terminated(void *arg)
{
    ck_assert_ptr_eq(arg, &seen);
    seen.terminated++;
    seen.await_in_terminated = belay_exec_await_termination(seen.exec, BELAY_FOREVER);
    seen.destroy_in_terminated = belay_exec_destroy(seen.exec);
    seen.state_in_terminated = pool_stats(seen.exec).state;
}

static void await_run(belay_task *task)
{
    (void)task;
    seen.await_in_task = belay_exec_await_termination(seen.exec, BELAY_NOW);
    seen.destroy_in_task = belay_exec_destroy(seen.exec);
    ck_assert_int_eq(belay_exec_shutdown_now(seen.exec), 0);
}

static void await_drop(belay_task *task, int why)
{
    (void)task;
    ck_assert_int_eq(why, BELAY_DROP_SHUTDOWN);
    seen.await_in_drop = belay_exec_await_termination(seen.exec, BELAY_FOREVER);
}

START_TEST(no_thread_of_the_pool_waits_for_its_end)
{
    seen = (results){0};
    seen.exec = pool_tuned((belay_exec_opts){.workers = 1,
                                             .start_hook = on_start,
                                             .stop_hook = on_stop,
                                             .on_terminated = on_terminated,
                                             .arg = &seen},
                           bly_exec_tuning_default());
    belay_task run = {.run = await_run, .drop = await_drop};
    belay_task drop = {.run = await_run, .drop = await_drop};
    ck_assert_int_eq(belay_exec_submit(seen.exec, &run), 0);
    ck_assert_int_eq(belay_exec_submit(seen.exec, &drop), 0);
    event_add(&seen.gate, 1);
    pool_await(seen.exec);
    ck_assert_int_eq(seen.await_in_start, BELAY_EDEADLK);
    ck_assert_int_eq(seen.await_in_task, BELAY_EDEADLK);
    ck_assert_int_eq(seen.await_in_drop, BELAY_EDEADLK);
    ck_assert_int_eq(seen.await_in_stop, BELAY_EDEADLK);
    ck_assert_int_eq(seen.await_in_terminated, BELAY_EDEADLK);
    ck_assert_int_eq(seen.destroy_in_task, BELAY_EBUSY);
    ck_assert_int_eq(seen.destroy_in_terminated, BELAY_EDEADLK);
    ck_assert_uint_eq(seen.state_in_terminated, BELAY_EXEC_TERMINATED);
    ck_assert_uint_eq(seen.terminated, 1);
    ck_assert_int_eq(belay_exec_destroy(seen.exec), 0);
}
END_TEST

static void await_inline(belay_task *task)
{
    (void)task;
    seen.await_in_drop = belay_exec_await_termination(seen.exec, BELAY_FOREVER);
    seen.await_in_task = belay_exec_await_termination(seen.exec, BELAY_NOW);
}

START_TEST(an_inline_callback_does_not_wait_for_the_end)
{
    seen = (results){.exec = pool_of(1)};
    belay_task task = {.run = await_inline};
    ck_assert_int_eq(belay_executor_submit(belay_inline(), &task, 0), 0);
    ck_assert_int_eq(seen.await_in_drop, BELAY_EDEADLK);
    ck_assert_int_eq(seen.await_in_task, BELAY_EAGAIN);
    ck_assert_int_eq(belay_exec_shutdown(seen.exec), 0);
    pool_await(seen.exec);
    ck_assert_int_eq(belay_executor_submit(belay_inline(), &task, 0), 0);
    ck_assert_int_eq(seen.await_in_drop, 0);
    ck_assert_int_eq(belay_exec_destroy(seen.exec), 0);
}
END_TEST

static event terminated_gate;
static event terminated_begun;

static void terminated_slowly(void *arg)
{
    (void)arg;
    event_add(&terminated_begun, 1);
    event_await(&terminated_gate, 1);
}

START_TEST(await_ends_after_on_terminated_has_returned)
{
    belay_exec *exec =
        pool_tuned((belay_exec_opts){.workers = 2, .on_terminated = terminated_slowly},
                   bly_exec_tuning_default());
    ck_assert_int_eq(belay_exec_shutdown(exec), 0);
    event_await(&terminated_begun, 1);
    ck_assert_uint_eq(pool_stats(exec).state, BELAY_EXEC_TERMINATED);
    ck_assert_int_eq(belay_exec_await_termination(exec, BELAY_NOW), BELAY_EAGAIN);
    event_add(&terminated_gate, 1);
    ck_assert_int_eq(belay_exec_await_termination(exec, BELAY_FOREVER), 0);
    ck_assert_int_eq(belay_exec_destroy(exec), 0);
}
END_TEST

START_TEST(destroy_alone_waits_for_on_terminated_and_joins)
{
    for (int i = 0; i < 100; i++) {
        belay_exec *exec = pool_of(2);
        ck_assert_int_eq(belay_exec_shutdown(exec), 0);
        int result = BELAY_EBUSY;
        while (result == BELAY_EBUSY) {
            result = belay_exec_destroy(exec);
            bly_yield();
        }
        ck_assert_int_eq(result, 0);
    }
}
END_TEST

START_TEST(pools_with_few_tasks_come_and_go)
{
    for (uint32_t i = 0; i < 1000; i++) {
        belay_exec *exec = pool_of(1 + i % 3);
        counted tasks[3];
        for (uint32_t k = 0; k < i % 4; k++) {
            tasks[k] = counted_of(NULL);
            ck_assert_int_eq(belay_exec_submit(exec, &tasks[k].task), 0);
        }
        ck_assert_uint_eq(pool_end(exec).total.executed, i % 4);
    }
}
END_TEST

/* --- A pool that ends inside its own shutdown. --- */

typedef struct firable {
    belay_cancel *token;
    event begun;
} firable;

static int until_fired(void *arg)
{
    firable *self = arg;
    event_add(&self->begun, 1);
    while (!belay_cancel_is_fired(self->token)) {
        bly_yield();
    }
    return 0;
}

static int do_nothing(void *arg)
{
    (void)arg;
    return 0;
}

/* Inline, on the thread whose shutdown_now fired the token. */
static void destroy_at_its_end(belay_future *future, int result, int status, void *arg)
{
    (void)future;
    (void)status;
    belay_exec **exec = arg;
    ck_assert_int_eq(result, BELAY_ECANCELED);
    int ended = BELAY_EAGAIN;
    while (ended == BELAY_EAGAIN) {
        bly_yield();
        ended = belay_exec_await_termination(*exec, BELAY_NOW);
    }
    ck_assert_int_eq(ended, 0);
    ck_assert_int_eq(belay_exec_destroy(*exec), 0);
    *exec = NULL;
}

START_TEST(a_callback_of_what_shutdown_now_fires_may_destroy_the_pool)
{
    belay_exec *exec = pool_of(1);
    belay_exec *other = pool_of(1);
    firable one = {.token = NULL};
    holder busy;
    belay_future *queued = NULL;
    ck_assert_int_eq(belay_cancel_create(NULL, 0, &one.token), 0);
    hold_worker(other, &busy);
    ck_assert_int_eq(belay_exec_call(exec, until_fired, &one, NULL, one.token, NULL), 0);
    event_await(&one.begun, 1);
    ck_assert_int_eq(belay_exec_call(other, do_nothing, NULL, NULL, one.token, &queued), 0);
    ck_assert_int_eq(belay_future_then(queued, NULL, destroy_at_its_end, &exec), 0);
    ck_assert_int_eq(belay_exec_shutdown_now(exec), 0);
    ck_assert_ptr_null(exec);
    belay_future_unref(queued);
    belay_cancel_unref(one.token);
    release_worker(&busy);
    (void)pool_end(other);
}
END_TEST

UNIT_MAIN("exec/stop", a_pool_that_was_never_used_ends_at_once,
          what_was_accepted_runs_and_what_comes_later_is_refused,
          shutdown_lets_every_descendant_of_accepted_tasks_run,
          shutdown_now_runs_or_drops_each_accepted_task_once,
          shutdown_now_drops_what_has_not_begun_and_runs_deliveries,
          delivery_can_ask_whether_its_pool_was_told_to_stop_at_once,
          shutdown_after_shutdown_changes_nothing_and_now_after_it_drops, arguments_are_checked,
          await_times_out_and_destroy_is_refused_before_the_end,
          many_threads_may_wait_and_destroy_may_follow_the_first_that_returns,
          a_pool_may_be_destroyed_while_the_shutdown_that_ended_it_returns,
          destroy_waits_for_calls_that_other_threads_are_inside_of,
          no_thread_of_the_pool_waits_for_its_end, an_inline_callback_does_not_wait_for_the_end,
          a_callback_of_what_shutdown_now_fires_may_destroy_the_pool,
          await_ends_after_on_terminated_has_returned,
          destroy_alone_waits_for_on_terminated_and_joins, pools_with_few_tasks_come_and_go)
