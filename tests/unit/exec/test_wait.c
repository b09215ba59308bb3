/*
 * test_wait.c: waiting for a call on a worker of its pool: what it runs meanwhile, and what not.
 */
#include "belay/clock.h"
#include "call.h"
#include "unit.h"

typedef struct waiter {
    belay_exec *exec;
    call child;
    call sibling;
    belay_future *self;
    int result;
    int status;
    uint32_t sibling_runs; /* when the wait had returned */
} waiter;

static int wait_for_own_child(void *arg)
{
    waiter *self = arg;
    start(self->exec, &self->child, NULL);
    self->result = belay_future_wait(self->child.future, BELAY_FOREVER, &self->status);
    return 0;
}

START_TEST(a_worker_runs_an_unclaimed_call_on_top_of_its_waiter)
{
    belay_exec *exec = pool_of(1);
    waiter one = {.exec = exec, .child = {.gate = OPEN, .status = 8}, .result = -1};
    ck_assert_int_eq(belay_exec_call(exec, wait_for_own_child, &one, NULL, NULL, &one.self), 0);
    ck_assert_int_eq(belay_future_wait(one.self, BELAY_FOREVER, NULL), 0);
    ck_assert_int_eq(one.result, 0);
    ck_assert_int_eq(one.status, 8);
    belay_future_unref(one.child.future);
    belay_future_unref(one.self);
    belay_exec_stats_data metrics = pool_end(exec);
    ck_assert_uint_eq(metrics.total.claimed, 1);
    ck_assert_uint_eq(metrics.total.executed, 2);
    ck_assert_uint_eq(metrics.total.canceled, 0);
}
END_TEST

static int wait_for_call_in_the_inbox(void *arg)
{
    waiter *self = arg;
    event_add(&self->child.begun, 1);
    event_await(&self->sibling.ended, 1); /* until both are in the inbox */
    self->result = belay_future_wait(self->sibling.future, BELAY_FOREVER, &self->status);
    self->sibling_runs = self->child.runs;
    return 0;
}

START_TEST(a_worker_claims_what_it_waits_for_wherever_it_is_queued_and_nothing_else)
{
    belay_exec *exec = pool_of(1);
    waiter one = {.exec = exec,
                  .child = {.gate = OPEN},
                  .sibling = {.gate = OPEN, .status = 2},
                  .result = -1};
    ck_assert_int_eq(belay_exec_call(exec, wait_for_call_in_the_inbox, &one, NULL, NULL, &one.self),
                     0);
    event_await(&one.child.begun, 1);
    start(exec, &one.child, NULL); /* unrelated, older than what is waited for */
    start(exec, &one.sibling, NULL);
    event_add(&one.sibling.ended, 1);
    ck_assert_int_eq(belay_future_wait(one.self, BELAY_FOREVER, NULL), 0);
    ck_assert_int_eq(one.result, 0);
    ck_assert_int_eq(one.status, 2);
    ck_assert_uint_eq(one.sibling_runs, 0);
    belay_exec_stats_data metrics = pool_end(exec);
    ck_assert_uint_eq(one.child.runs, 1);
    ck_assert_uint_eq(metrics.total.claimed, 1);
    belay_future_unref(one.child.future);
    belay_future_unref(one.sibling.future);
    belay_future_unref(one.self);
}
END_TEST

static int wait_for_itself(void *arg)
{
    waiter *self = arg;
    event_await(&self->child.gate, 1);
    self->result = belay_future_wait(self->self, BELAY_FOREVER, NULL);
    self->status = belay_future_wait(self->self, BELAY_NOW, NULL);
    return 0;
}

START_TEST(waiting_for_oneself_is_a_deadlock_that_is_told)
{
    belay_exec *exec = pool_of(2);
    waiter one = {.exec = exec};
    ck_assert_int_eq(belay_exec_call(exec, wait_for_itself, &one, NULL, NULL, &one.self), 0);
    event_add(&one.child.gate, 1);
    ck_assert_int_eq(belay_future_wait(one.self, BELAY_FOREVER, NULL), 0);
    ck_assert_int_eq(one.result, BELAY_EDEADLK);
    ck_assert_int_eq(one.status, BELAY_EAGAIN);
    belay_future_unref(one.self);
    pool_end(exec);
}
END_TEST

static int wait_for_lower(void *arg)
{
    waiter *self = arg;
    self->result = belay_future_wait(self->self, BELAY_FOREVER, NULL);
    return 0;
}

static int wait_for_child_that_waits_back(void *arg)
{
    waiter *self = arg;
    belay_future *child;
    event_await(&self->child.gate, 1);
    ck_assert_int_eq(belay_exec_call(self->exec, wait_for_lower, self, NULL, NULL, &child), 0);
    ck_assert_int_eq(belay_future_wait(child, BELAY_FOREVER, NULL), 0);
    belay_future_unref(child);
    return 0;
}

START_TEST(waiting_for_a_task_lower_on_the_stack_is_a_deadlock_that_is_told)
{
    belay_exec *exec = pool_of(1);
    waiter one = {.exec = exec};
    ck_assert_int_eq(
        belay_exec_call(exec, wait_for_child_that_waits_back, &one, NULL, NULL, &one.self), 0);
    event_add(&one.child.gate, 1);
    ck_assert_int_eq(belay_future_wait(one.self, BELAY_FOREVER, NULL), 0);
    ck_assert_int_eq(one.result, BELAY_EDEADLK);
    belay_future_unref(one.self);
    pool_end(exec);
}
END_TEST

/* Waits for a call that runs on another worker, which waits for a child of the waiter. */
typedef struct helped {
    belay_exec *exec;
    call elsewhere;
    counted child;
    counted older;
    uint64_t waiting; /* atomic: the thread that waits */
    bool was_on_top;  /* older ran on top of the waiter */
    belay_future *future;
} helped;

static void see_older(belay_task *task)
{
    helped *self = bly_container(task, helped, older.task);
    self->was_on_top = bly_load(&self->waiting, BLY_SEQ_CST) == bly_thread_id();
    counted_run(task);
}

static void open_elsewhere(belay_task *task)
{
    helped *self = bly_container(task, helped, child.task);
    event_add(&self->elsewhere.gate, 1);
}

static int wait_with_child(void *arg)
{
    helped *self = arg;
    ck_assert_int_eq(belay_exec_submit(self->exec, &self->child.task), 0);
    bly_store(&self->waiting, bly_thread_id(), BLY_SEQ_CST);
    int result = belay_future_wait(self->elsewhere.future, BELAY_FOREVER, NULL);
    bly_store(&self->waiting, UINT64_C(0), BLY_SEQ_CST);
    return result;
}

static int submit_older_and_wait_for_inner(void *arg)
{
    helped *self = arg;
    ck_assert_int_eq(belay_exec_submit(self->exec, &self->older.task), 0);
    belay_future *inner;
    ck_assert_int_eq(belay_exec_call(self->exec, wait_with_child, self, NULL, NULL, &inner), 0);
    int status = -1;
    ck_assert_int_eq(belay_future_wait(inner, BELAY_FOREVER, &status), 0);
    belay_future_unref(inner);
    return status;
}

START_TEST(a_waiter_helps_its_own_descendants_and_no_older_task)
{
    belay_exec *exec = pool_of(2);
    helped one = {.exec = exec, .older = {.task = {.run = see_older}}};
    one.child = (counted){.task = {.run = open_elsewhere}};
    start(exec, &one.elsewhere, NULL); /* holds one worker until the child has run */
    event_await(&one.elsewhere.begun, 1);
    ck_assert_int_eq(
        belay_exec_call(exec, submit_older_and_wait_for_inner, &one, NULL, NULL, &one.future), 0);
    int status = -1;
    ck_assert_int_eq(belay_future_wait(one.future, BELAY_FOREVER, &status), 0);
    ck_assert_int_eq(status, 0);
    pool_end(exec);
    ck_assert_uint_eq(one.older.runs, 1);
    ck_assert(!one.was_on_top);
    belay_future_unref(one.future);
    belay_future_unref(one.elsewhere.future);
}
END_TEST

static void note_top(belay_task *task)
{
    helped *self = bly_container(task, helped, child.task);
    self->was_on_top = bly_load(&self->waiting, BLY_SEQ_CST) == bly_thread_id();
    event_add(&self->elsewhere.gate, 1);
}

START_TEST(a_waiter_at_the_bound_of_its_help_sleeps_and_another_runs_its_child)
{
    bly_exec_tuning tuning = bly_exec_tuning_default();
    tuning.help_max = 0;
    belay_exec *exec = pool_tuned((belay_exec_opts){.workers = 3}, tuning);
    helped one = {.exec = exec, .child = {.task = {.run = note_top}}};
    start(exec, &one.elsewhere, NULL);
    event_await(&one.elsewhere.begun, 1);
    ck_assert_int_eq(belay_exec_call(exec, wait_with_child, &one, NULL, NULL, &one.future), 0);
    ck_assert_int_eq(belay_future_wait(one.future, BELAY_FOREVER, NULL), 0);
    pool_end(exec);
    ck_assert(!one.was_on_top);
    belay_future_unref(one.future);
    belay_future_unref(one.elsewhere.future);
}
END_TEST

/* N tasks at a barrier; each first waits for a small child of its own. */
typedef struct barrier {
    belay_exec *exec;
    event arrived;
    uint32_t width;
} barrier;

static int small_child(void *arg)
{
    (void)arg;
    return 0;
}

static int wait_then_meet(void *arg)
{
    barrier *self = arg;
    belay_future *child;
    ck_assert_int_eq(belay_exec_call(self->exec, small_child, NULL, NULL, NULL, &child), 0);
    ck_assert_int_eq(belay_future_wait(child, BELAY_FOREVER, NULL), 0);
    belay_future_unref(child);
    event_add(&self->arrived, 1);
    event_await(&self->arrived, self->width);
    return 0;
}

START_TEST(a_waiter_never_starts_an_unrelated_task_that_waits_for_it)
{
    enum { WIDTH = 4 };
    for (int round = 0; round < 50; round++) {
        belay_exec *exec = pool_of(WIDTH);
        barrier meeting = {.exec = exec, .width = WIDTH};
        for (int i = 0; i < WIDTH; i++) {
            ck_assert_int_eq(belay_exec_call(exec, wait_then_meet, &meeting, NULL, NULL, NULL), 0);
        }
        ck_assert_uint_eq(pool_end(exec).total.executed, 2 * WIDTH);
    }
}
END_TEST

/* fib by futures: recursion through waits on top of waits. */
typedef struct fib {
    belay_exec *exec;
    int n;
    uint64_t value;
} fib;

static int fib_run(void *arg)
{
    fib *self = arg;
    if (self->n < 2) {
        self->value = (uint64_t)self->n;
        return 0;
    }
    fib left = {.exec = self->exec, .n = self->n - 1};
    fib right = {.exec = self->exec, .n = self->n - 2};
    belay_future *future;
    ck_assert_int_eq(belay_exec_call(self->exec, fib_run, &left, NULL, NULL, &future), 0);
    ck_assert_int_eq(fib_run(&right), 0);
    ck_assert_int_eq(belay_future_wait(future, BELAY_FOREVER, NULL), 0);
    belay_future_unref(future);
    self->value = left.value + right.value;
    return 0;
}

START_TEST(a_tree_of_waits_gives_the_right_sum_on_any_number_of_workers)
{
    for (uint32_t workers = 1; workers <= 4; workers++) {
        belay_exec *exec = pool_of(workers);
        fib root = {.exec = exec, .n = 15};
        belay_future *future;
        ck_assert_int_eq(belay_exec_call(exec, fib_run, &root, NULL, NULL, &future), 0);
        ck_assert_int_eq(belay_future_wait(future, BELAY_FOREVER, NULL), 0);
        belay_future_unref(future);
        pool_end(exec);
        ck_assert_uint_eq(root.value, 610);
    }
}
END_TEST

/* Each round one call and one wait, nothing else: a lost wake-up hangs until the watchdog. */
START_TEST(one_call_at_a_time_is_always_noticed)
{
    static const uint32_t spins[] = {0, 20};
    for (size_t s = 0; s < bly_count(spins); s++) {
        bly_exec_tuning tuning = bly_exec_tuning_default();
        tuning.spin = spins[s];
        belay_exec *exec = pool_tuned((belay_exec_opts){.workers = 2}, tuning);
        for (int i = 0; i < 2000; i++) {
            belay_future *future;
            ck_assert_int_eq(belay_exec_call(exec, small_child, NULL, NULL, NULL, &future), 0);
            int64_t watchdog = belay_time_add(belay_clock_now(NULL), INT64_C(30000000000));
            ck_assert_int_eq(belay_future_wait(future, watchdog, NULL), 0);
            belay_future_unref(future);
        }
        pool_end(exec);
    }
}
END_TEST

UNIT_MAIN("exec/wait", a_worker_runs_an_unclaimed_call_on_top_of_its_waiter,
          a_worker_claims_what_it_waits_for_wherever_it_is_queued_and_nothing_else,
          waiting_for_oneself_is_a_deadlock_that_is_told,
          waiting_for_a_task_lower_on_the_stack_is_a_deadlock_that_is_told,
          a_waiter_helps_its_own_descendants_and_no_older_task,
          a_waiter_at_the_bound_of_its_help_sleeps_and_another_runs_its_child,
          a_waiter_never_starts_an_unrelated_task_that_waits_for_it,
          a_tree_of_waits_gives_the_right_sum_on_any_number_of_workers,
          one_call_at_a_time_is_always_noticed)
