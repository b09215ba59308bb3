/*
 * test_submit.c: what becomes of a submitted task, and which submits are refused.
 */
#include "fault.h"
#include "pool.h"
#include "unit.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int call_nothing(void *arg)
{
    (void)arg;
    return 0;
}

START_TEST(a_task_runs_once)
{
    belay_exec *exec = pool_of(2);
    event told = {0};
    counted one = counted_of(&told);
    ck_assert_int_eq(belay_exec_submit(exec, &one.task), 0);
    event_await(&told, 1);
    belay_exec_stats_data metrics = pool_end(exec);
    ck_assert_uint_eq(one.runs, 1);
    ck_assert_uint_eq(one.drops, 0);
    ck_assert_uint_eq(metrics.total.executed, 1);
    ck_assert_uint_eq(metrics.total.failed, 0);
}
END_TEST

START_TEST(wrong_arguments_are_refused_in_the_documented_order)
{
    belay_exec *exec = pool_of(1);
    counted one = counted_of(NULL);
    belay_task empty = {0};
    ck_assert_int_eq(belay_exec_submit(NULL, &one.task), BELAY_EINVAL);
    ck_assert_int_eq(belay_exec_submit(exec, NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_exec_submit(exec, &empty), BELAY_EINVAL);
    holder busy;
    hold_worker(exec, &busy);
    ck_assert_int_eq(belay_exec_submit(exec, &one.task), 0);
    ck_assert_int_eq(belay_exec_submit(exec, &one.task), BELAY_EBUSY);
    ck_assert_int_eq(belay_exec_shutdown(exec), 0);
    ck_assert_int_eq(belay_exec_submit(exec, &one.task), BELAY_EBUSY);
    counted two = counted_of(NULL);
    ck_assert_int_eq(belay_exec_submit(exec, &two.task), BELAY_ECLOSED);
    ck_assert_ptr_null(two.task.next);
    release_worker(&busy);
    pool_await(exec);
    ck_assert_int_eq(belay_exec_submit(exec, &one.task), BELAY_ECLOSED);
    ck_assert_uint_eq(one.runs, 1);
    ck_assert_int_eq(belay_exec_destroy(exec), 0);
}
END_TEST

START_TEST(a_full_queue_refuses_a_root_until_one_is_started)
{
    belay_exec *exec =
        pool_tuned((belay_exec_opts){.workers = 1, .queue_max = 2}, bly_exec_tuning_default());
    holder busy;
    hold_worker(exec, &busy);
    event told = {0};
    counted tasks[3] = {counted_of(&told), counted_of(&told), counted_of(&told)};
    ck_assert_int_eq(belay_exec_submit(exec, &tasks[0].task), 0);
    ck_assert_int_eq(belay_exec_submit(exec, &tasks[1].task), 0);
    ck_assert_uint_eq(pool_stats(exec).queued_roots, 2);
    ck_assert_int_eq(belay_exec_submit(exec, &tasks[2].task), BELAY_EFULL);
    ck_assert_ptr_null(tasks[2].task.next);
    ck_assert_int_eq(belay_exec_call(exec, call_nothing, NULL, NULL, NULL, NULL), BELAY_EFULL);
    release_worker(&busy);
    event_await(&told, 2);
    ck_assert_int_eq(belay_exec_submit(exec, &tasks[2].task), 0);
    pool_end(exec);
    ck_assert_uint_eq(tasks[2].runs, 1);
}
END_TEST

/* Submits its children, and says what became of them. */
typedef struct parent {
    belay_task task;
    belay_exec *exec;
    counted *children;
    int count;
    int refused; /* the last result that was not 0 */
    event done;
} parent;

static void parent_run(belay_task *task)
{
    parent *self = bly_container(task, parent, task);
    for (int i = 0; i < self->count; i++) {
        int result = belay_exec_submit(self->exec, &self->children[i].task);
        self->refused = result != 0 ? result : self->refused;
    }
    event_add(&self->done, 1);
}

START_TEST(children_are_taken_when_the_queue_takes_no_roots)
{
    counted children[10];
    for (int i = 0; i < 10; i++) {
        children[i] = counted_of(NULL);
    }
    belay_exec *exec =
        pool_tuned((belay_exec_opts){.workers = 1, .queue_max = 1}, bly_exec_tuning_default());
    parent root = {.task = {.run = parent_run}, .exec = exec, .children = children, .count = 10};
    ck_assert_int_eq(belay_exec_submit(exec, &root.task), 0);
    event_await(&root.done, 1);
    belay_exec_stats_data metrics = pool_end(exec);
    ck_assert_int_eq(root.refused, 0);
    ck_assert_uint_eq(metrics.total.executed, 11);
}
END_TEST

START_TEST(a_pool_may_refuse_all_roots_or_take_any_number)
{
    counted one = counted_of(NULL);
    belay_exec *exec = pool_tuned((belay_exec_opts){.workers = 1, .queue_max = BELAY_NONE},
                                  bly_exec_tuning_default());
    ck_assert_int_eq(belay_exec_submit(exec, &one.task), BELAY_EFULL);
    pool_end(exec);
    exec = pool_tuned((belay_exec_opts){.workers = 1, .queue_max = BELAY_UNBOUNDED},
                      bly_exec_tuning_default());
    holder busy;
    hold_worker(exec, &busy);
    ck_assert_int_eq(belay_exec_submit(exec, &one.task), 0);
    ck_assert_uint_eq(pool_stats(exec).queued_roots, 0);
    release_worker(&busy);
    pool_end(exec);
    ck_assert_uint_eq(one.runs, 1);
}
END_TEST

START_TEST(children_go_to_the_inbox_when_the_deque_cannot_grow)
{
    enum { CHILDREN = 100 };
    counted children[CHILDREN];
    for (int i = 0; i < CHILDREN; i++) {
        children[i] = counted_of(NULL);
    }
    belay_exec *exec = pool_of(1);
    parent root = {.task = {.run = parent_run}, .exec = exec, .children = children, .count = 100};
    fault_alloc_from(1);
    ck_assert_int_eq(belay_exec_submit(exec, &root.task), 0);
    event_await(&root.done, 1);
    (void)fault_alloc_stop();
    belay_exec_stats_data metrics = pool_end(exec);
    ck_assert_int_eq(root.refused, 0);
    ck_assert_uint_eq(metrics.total.executed, CHILDREN + 1);
    ck_assert_uint_ge(metrics.total.inbox_takes, 1 + CHILDREN - 64);
    for (int i = 0; i < CHILDREN; i++) {
        ck_assert_uint_eq(children[i].runs, 1);
    }
}
END_TEST

/* --- What run may do with its task. --- */

typedef struct again {
    belay_task task;
    belay_exec *exec;
    uint32_t left;
    event done;
} again;

static void again_run(belay_task *task)
{
    again *self = bly_container(task, again, task);
    if (self->left-- > 0) {
        ck_assert_int_eq(belay_exec_submit(self->exec, task), 0);
    } else {
        event_add(&self->done, 1);
    }
}

START_TEST(a_task_may_submit_itself_again)
{
    belay_exec *exec = pool_of(2);
    again self = {.task = {.run = again_run}, .exec = exec, .left = 1000};
    ck_assert_int_eq(belay_exec_submit(exec, &self.task), 0);
    event_await(&self.done, 1);
    ck_assert_uint_eq(pool_end(exec).total.executed, 1001);
}
END_TEST

static event freed;

static void free_run(belay_task *task)
{
    free(task);
    event_add(&freed, 1);
}

START_TEST(a_task_may_free_itself)
{
    belay_exec *exec = pool_of(2);
    for (int i = 0; i < 1000; i++) {
        belay_task *task = calloc(1, sizeof *task);
        ck_assert_ptr_nonnull(task);
        task->run = free_run;
        ck_assert_int_eq(belay_exec_submit(exec, task), 0);
    }
    event_await(&freed, 1000);
    ck_assert_uint_eq(pool_end(exec).total.executed, 1000);
}
END_TEST

/* --- Submits from many threads. --- */

typedef struct submitter {
    belay_exec *exec;
    counted *tasks;
    uint32_t count;
    uint32_t taken;
    bly_thread thread;
} submitter;

static void submit_all(void *arg)
{
    submitter *self = arg;
    for (uint32_t i = 0; i < self->count; i++) {
        int result = belay_exec_submit(self->exec, &self->tasks[i].task);
        ck_assert(result == 0 || result == BELAY_EBUSY);
        self->taken += result == 0;
    }
}

START_TEST(two_threads_that_submit_one_task_submit_it_once)
{
    enum { TASKS = 2000 };
    static counted tasks[TASKS];
    belay_exec *exec = pool_of(1);
    holder busy;
    hold_worker(exec, &busy);
    for (int i = 0; i < TASKS; i++) {
        tasks[i] = counted_of(NULL);
    }
    submitter both[2];
    for (int i = 0; i < 2; i++) {
        both[i] = (submitter){.exec = exec, .tasks = tasks, .count = TASKS};
        ck_assert_int_eq(bly_thread_create(&both[i].thread, NULL, submit_all, &both[i]), 0);
    }
    bly_thread_join(&both[0].thread);
    bly_thread_join(&both[1].thread);
    ck_assert_uint_eq(both[0].taken + both[1].taken, TASKS);
    release_worker(&busy);
    pool_end(exec);
    for (int i = 0; i < TASKS; i++) {
        ck_assert_uint_eq(tasks[i].runs, 1);
    }
}
END_TEST

static void submit_one(void *arg)
{
    submitter *self = arg;
    ck_assert_int_eq(belay_exec_submit(self->exec, &self->tasks[0].task), 0);
}

START_TEST(a_pool_may_be_destroyed_while_the_submit_of_its_last_task_returns)
{
    for (int i = 0; i < 300; i++) {
        event told = {0};
        counted one = counted_of(&told);
        submitter other = {.exec = pool_of(1), .tasks = &one, .count = 1};
        ck_assert_int_eq(bly_thread_create(&other.thread, NULL, submit_one, &other), 0);
        event_await(&told, 1);
        ck_assert_uint_eq(pool_end(other.exec).total.executed, 1);
        bly_thread_join(&other.thread);
    }
}
END_TEST

/* --- Deliveries. --- */

START_TEST(deliveries_are_taken_past_the_queue_limit_and_without_memory)
{
    belay_exec *exec = pool_tuned((belay_exec_opts){.workers = 1, .queue_max = BELAY_NONE},
                                  bly_exec_tuning_default());
    belay_executor *executor = belay_exec_executor(exec);
    counted one = counted_of(NULL);
    ck_assert_int_eq(belay_executor_submit(executor, &one.task, 0), BELAY_EFULL);
    fault_alloc_from(1);
    ck_assert_int_eq(belay_executor_submit(executor, &one.task, BELAY_DELIVERY), 0);
    (void)fault_alloc_stop();
    ck_assert_uint_eq(pool_end(exec).total.executed, 1);
    ck_assert_uint_eq(one.runs, 1);
}
END_TEST

START_TEST(deliveries_are_taken_and_run_while_the_pool_drains)
{
    belay_exec *exec = pool_of(1);
    holder busy;
    hold_worker(exec, &busy);
    counted delivery = counted_of(NULL);
    ck_assert_int_eq(belay_exec_shutdown(exec), 0);
    ck_assert_int_eq(
        belay_executor_submit(belay_exec_executor(exec), &delivery.task, BELAY_DELIVERY), 0);
    release_worker(&busy);
    pool_await(exec);
    ck_assert_uint_eq(delivery.runs, 1);
    delivery = counted_of(NULL);
    ck_assert_int_eq(
        belay_executor_submit(belay_exec_executor(exec), &delivery.task, BELAY_DELIVERY),
        BELAY_ECLOSED);
    ck_assert_int_eq(belay_exec_destroy(exec), 0);
}
END_TEST

START_TEST(the_pool_is_an_executor_and_knows_its_threads)
{
    ck_assert_ptr_null(belay_exec_executor(NULL));
    ck_assert_ptr_null(belay_exec_current());
    belay_exec *exec = pool_of(1);
    belay_executor *executor = belay_exec_executor(exec);
    executor->attach(executor, 1);
    ck_assert_int_eq(belay_exec_shutdown(exec), 0);
    pool_await(exec);
    ck_assert_int_eq(belay_exec_destroy(exec), BELAY_EBUSY);
    executor->attach(executor, -1);
    ck_assert_int_eq(belay_exec_destroy(exec), 0);
}
END_TEST

static void tell_current(belay_task *task)
{
    parent *self = bly_container(task, parent, task);
    self->exec = belay_exec_current();
}

START_TEST(a_task_can_ask_for_its_pool)
{
    belay_exec *exec = pool_of(2);
    parent asker = {.task = {.run = tell_current}};
    ck_assert_int_eq(belay_exec_submit(exec, &asker.task), 0);
    pool_end(exec);
    ck_assert_ptr_eq(asker.exec, exec);
}
END_TEST

START_TEST(submits_between_two_pools_are_roots_of_the_other)
{
    belay_exec *one = pool_of(1);
    belay_exec *other = pool_of(1);
    counted child = counted_of(NULL);
    parent root = {.task = {.run = parent_run}, .exec = other, .children = &child, .count = 1};
    ck_assert_int_eq(belay_exec_shutdown(other), 0);
    ck_assert_int_eq(belay_exec_submit(one, &root.task), 0);
    pool_end(one);
    ck_assert_int_eq(root.refused, BELAY_ECLOSED);
    ck_assert_uint_eq(child.runs, 0);
    pool_end(other);
}
END_TEST

/* --- fork. --- */

/* A child that exits on a thread other than main cannot reach the memory that main's stack holds,
 * so the leak checker is told not to look. The thread sanitizer knows no threads after fork at
 * all. */
static int is_forked_off_a_worker;
int __lsan_is_turned_off(void);

#ifdef BLY_TSAN
#define CHILD_HAS_THREADS 0
#else
#define CHILD_HAS_THREADS 1
#endif

int __lsan_is_turned_off(void)
{
    return is_forked_off_a_worker;
}

/* In the child: the old pool answers ECLOSED, a new one works, exit does not hang. */
static int child_of_fork(belay_exec *old)
{
    counted one = counted_of(NULL);
    if (belay_exec_submit(old, &one.task) != BELAY_ECLOSED || one.task.next != NULL) {
        return 1;
    }
    if (belay_exec_call(old, call_nothing, NULL, NULL, NULL, NULL) != BELAY_ECLOSED) {
        return 2;
    }
    if (!CHILD_HAS_THREADS) {
        return 0;
    }
    belay_exec *fresh = NULL;
    if (belay_exec_create(NULL, &fresh) != 0 || belay_exec_submit(fresh, &one.task) != 0 ||
        belay_exec_shutdown(fresh) != 0 ||
        belay_exec_await_termination(fresh, BELAY_FOREVER) != 0 || one.runs != 1) {
        return 3;
    }
    return belay_exec_destroy(fresh) == 0 ? 0 : 4;
}

static int status_of_fork(belay_exec *exec)
{
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        is_forked_off_a_worker = belay_exec_current() != NULL;
        exit(child_of_fork(exec));
    }
    int status = -1;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return status;
}

START_TEST(after_fork_the_child_is_refused_by_the_old_pool_and_may_make_another)
{
    belay_exec *exec = pool_of(2);
    event told = {0};
    counted one = counted_of(&told);
    ck_assert_int_eq(belay_exec_submit(exec, &one.task), 0);
    event_await(&told, 1);
    ck_assert_int_eq(status_of_fork(exec), 0);
    ck_assert_uint_eq(pool_end(exec).total.executed, 1);
}
END_TEST

static int fork_in_task(void *arg)
{
    return status_of_fork(arg);
}

START_TEST(a_task_may_fork_and_its_child_may_exit)
{
    belay_exec *exec = pool_of(2);
    belay_future *future = NULL;
    ck_assert_int_eq(belay_exec_call(exec, fork_in_task, exec, NULL, NULL, &future), 0);
    int status = -1;
    ck_assert_int_eq(belay_future_wait(future, BELAY_FOREVER, &status), 0);
    ck_assert_int_eq(status, 0);
    belay_future_unref(future);
    pool_end(exec);
}
END_TEST

/* Ends a child before the leak checker looks at a thread that is on its way out, and may hang. */
static void leave(void)
{
    _exit(0);
}

static int fork_and_end_the_thread(void *arg)
{
    (void)arg;
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        is_forked_off_a_worker = 1;
        atexit(leave);
        pthread_exit(NULL); /* of the only thread: the process ends with 0 */
    }
    int status = -1;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return status;
}

START_TEST(a_child_forked_in_a_task_may_end_its_thread)
{
    belay_exec *exec = pool_of(2);
    belay_future *future = NULL;
    ck_assert_int_eq(belay_exec_call(exec, fork_and_end_the_thread, exec, NULL, NULL, &future), 0);
    int status = -1;
    ck_assert_int_eq(belay_future_wait(future, BELAY_FOREVER, &status), 0);
    ck_assert_int_eq(status, 0);
    belay_future_unref(future);
    pool_end(exec);
}
END_TEST

UNIT_MAIN("exec/submit", a_task_runs_once, wrong_arguments_are_refused_in_the_documented_order,
          a_full_queue_refuses_a_root_until_one_is_started,
          children_are_taken_when_the_queue_takes_no_roots,
          a_pool_may_refuse_all_roots_or_take_any_number,
          children_go_to_the_inbox_when_the_deque_cannot_grow, a_task_may_submit_itself_again,
          a_task_may_free_itself, two_threads_that_submit_one_task_submit_it_once,
          a_pool_may_be_destroyed_while_the_submit_of_its_last_task_returns,
          deliveries_are_taken_past_the_queue_limit_and_without_memory,
          deliveries_are_taken_and_run_while_the_pool_drains,
          the_pool_is_an_executor_and_knows_its_threads, a_task_can_ask_for_its_pool,
          submits_between_two_pools_are_roots_of_the_other,
          after_fork_the_child_is_refused_by_the_old_pool_and_may_make_another,
          a_task_may_fork_and_its_child_may_exit, a_child_forked_in_a_task_may_end_its_thread)
