/*
 * test_worker.c: a worker's thread: hooks, name, sleep, and tasks that end it.
 */
#include "aborts.h"
#include "call.h"
#include "fault.h"
#include "unit.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Hooks. --- */

typedef struct hooks {
    uint32_t started[4]; /* atomic */
    uint32_t stopped[4]; /* atomic */
    uint32_t logged;     /* atomic */
} hooks;

static void on_start(uint32_t worker, void *arg)
{
    hooks *self = arg;
    ck_assert_uint_lt(worker, 4);
    bly_fetch_add(&self->started[worker], 1u, BLY_RELAXED);
}

static void on_stop(uint32_t worker, void *arg)
{
    hooks *self = arg;
    bly_fetch_add(&self->stopped[worker], 1u, BLY_RELAXED);
}

static void on_log(const char *message, void *arg)
{
    hooks *self = arg;
    ck_assert_ptr_nonnull(message);
    bly_fetch_add(&self->logged, 1u, BLY_RELAXED);
}

static belay_exec_opts opts_of(hooks *self, uint32_t workers)
{
    return (belay_exec_opts){.workers = workers,
                             .start_hook = on_start,
                             .stop_hook = on_stop,
                             .log = on_log,
                             .arg = self};
}

START_TEST(each_worker_runs_its_start_hook_and_its_stop_hook_once)
{
    hooks seen = {0};
    belay_exec *exec = pool_tuned(opts_of(&seen, 4), bly_exec_tuning_default());
    pool_end(exec);
    for (int i = 0; i < 4; i++) {
        ck_assert_uint_eq(seen.started[i], 1);
        ck_assert_uint_eq(seen.stopped[i], 1);
    }
    ck_assert_uint_eq(seen.logged, 0);
}
END_TEST

static int submit_in_stop_hook;
static counted hook_task;

static void submit_at_stop(uint32_t worker, void *arg)
{
    (void)worker;
    submit_in_stop_hook =
        belay_exec_submit(arg != NULL ? *(belay_exec **)arg : NULL, &hook_task.task);
}

START_TEST(a_submit_in_a_stop_hook_is_a_root_and_refused)
{
    belay_exec *exec = NULL;
    hook_task = counted_of(NULL);
    exec = pool_tuned(
        (belay_exec_opts){.workers = 1, .stop_hook = submit_at_stop, .arg = (void *)&exec},
        bly_exec_tuning_default());
    pool_end(exec);
    ck_assert_int_eq(submit_in_stop_hook, BELAY_ECLOSED);
    ck_assert_uint_eq(hook_task.runs, 0);
}
END_TEST

static int get_name(void *arg)
{
    return pthread_getname_np(pthread_self(), arg, 16);
}

static int get_stack_size(void *arg)
{
    pthread_attr_t attr;
    int failed = pthread_getattr_np(pthread_self(), &attr);
    failed |= pthread_attr_getstacksize(&attr, arg);
    return failed | pthread_attr_destroy(&attr);
}

static void run_call(belay_exec *exec, int (*fn)(void *), void *arg)
{
    belay_future *future;
    int status = -1;
    ck_assert_int_eq(belay_exec_call(exec, fn, arg, NULL, NULL, &future), 0);
    ck_assert_int_eq(belay_future_wait(future, BELAY_FOREVER, &status), 0);
    ck_assert_int_eq(status, 0);
    belay_future_unref(future);
}

START_TEST(threads_have_the_name_and_the_stack_that_were_asked_for)
{
    static const char *const names[][2] = {
        {NULL, "belay-0"}, {"io", "io-0"}, {"a name that is too long", "a name tha-0"}};
    for (size_t i = 0; i < bly_count(names); i++) {
        char name[16] = "";
        size_t stack_size = 0;
        belay_exec *exec = pool_tuned(
            (belay_exec_opts){.workers = 1, .name = names[i][0], .stack_size = (size_t)192 * 1024},
            bly_exec_tuning_default());
        run_call(exec, get_name, name);
        run_call(exec, get_stack_size, &stack_size);
        pool_end(exec);
        ck_assert_str_eq(name, names[i][1]);
        ck_assert_uint_ge(stack_size, (size_t)192 * 1024);
        ck_assert_uint_lt(stack_size, (size_t)1024 * 1024);
    }
}
END_TEST

/* --- Sleeping. --- */

/* The number behind `key` in a thread's status. */
static uint64_t status_number(const char *path, const char *key)
{
    char line[256];
    uint64_t number = 0;
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, key, strlen(key)) == 0) {
            number = strtoull(line + strlen(key), NULL, 10);
        }
    }
    (void)fclose(file);
    return number;
}

static bool is_asleep(const char *path)
{
    char line[256];
    bool is_asleep = false;
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    while (fgets(line, sizeof line, file) != NULL) {
        is_asleep = is_asleep || strncmp(line, "State:\tS", 8) == 0;
    }
    (void)fclose(file);
    return is_asleep;
}

/*
 * Context switches of all threads whose name begins with "idle-"; *ret_awake: some are not asleep.
 */
static uint64_t switches_of_workers(uint32_t *ret_threads, bool *ret_awake)
{
    uint64_t sum = 0;
    *ret_threads = 0;
    *ret_awake = false;
    DIR *threads = opendir("/proc/self/task");
    ck_assert_ptr_nonnull(threads);
    for (struct dirent *entry = readdir(threads); entry != NULL; entry = readdir(threads)) {
        char path[300];
        char name[32] = "";
        (void)snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
        FILE *file = fopen(path, "r");
        if (file == NULL) {
            continue;
        }
        bool is_worker = fgets(name, sizeof name, file) != NULL && strncmp(name, "idle-", 5) == 0;
        (void)fclose(file);
        if (is_worker) {
            (void)snprintf(path, sizeof path, "/proc/self/task/%s/status", entry->d_name);
            sum += status_number(path, "voluntary_ctxt_switches:");
            sum += status_number(path, "nonvoluntary_ctxt_switches:");
            *ret_awake = *ret_awake || !is_asleep(path);
            ++*ret_threads;
        }
    }
    (void)closedir(threads);
    return sum;
}

START_TEST(an_idle_pool_switches_no_context)
{
    enum { WORKERS = 4 };
    belay_exec *exec = pool_tuned((belay_exec_opts){.workers = WORKERS, .name = "idle"},
                                  bly_exec_tuning_default());
    call one = {.gate = OPEN};
    start(exec, &one, NULL);
    ck_assert_int_eq(wait_for(&one, NULL), 0);
    belay_future_unref(one.future);
    uint32_t threads;
    bool is_awake;
    uint64_t before;
    do {
        while (pool_stats(exec).sleeping != WORKERS) {
            bly_yield();
        }
        before = switches_of_workers(&threads, &is_awake);
    } while (is_awake || threads != WORKERS);
    /* An event that nobody tells: the wait's own deadline is the stretch of time to look at. */
    event never = {0};
    int64_t until = belay_time_add(bly_monotonic_ns(), INT64_C(500000000));
    while (bly_futex_wait(&never.value, 0, until) != BELAY_ETIMEDOUT) {
    }
    ck_assert_uint_eq(switches_of_workers(&threads, &is_awake), before);
    ck_assert(!is_awake);
    belay_exec_stats_data metrics = pool_end(exec);
    ck_assert_uint_ge(metrics.total.parks, WORKERS);
}
END_TEST

START_TEST(a_sleeper_is_woken_for_each_task_and_each_sleep_is_counted)
{
    belay_exec *exec = pool_of(1);
    for (int i = 0; i < 50; i++) {
        while (pool_stats(exec).sleeping != 1) {
            bly_yield();
        }
        call one = {.gate = OPEN};
        start(exec, &one, NULL);
        ck_assert_int_eq(wait_for(&one, NULL), 0);
        belay_future_unref(one.future);
    }
    belay_exec_stats_data metrics = pool_end(exec);
    ck_assert_uint_ge(metrics.total.wakes, 1);
    ck_assert_uint_eq(metrics.total.wakes, metrics.total.parks);
    ck_assert_uint_le(metrics.total.spurious_wakes, metrics.total.wakes);
}
END_TEST

/* --- Tasks that end their thread. --- */

static void exit_thread(belay_task *task)
{
    (void)task;
    pthread_exit(NULL);
}

static int exit_in_call(void *arg)
{
    (void)arg;
    pthread_exit(NULL);
}

START_TEST(a_task_that_ends_its_thread_has_failed_and_the_worker_is_replaced)
{
    hooks seen = {0};
    belay_exec *exec = pool_tuned(opts_of(&seen, 1), bly_exec_tuning_default());
    for (int i = 0; i < 20; i++) {
        belay_task task = {.run = exit_thread};
        ck_assert_int_eq(belay_exec_submit(exec, &task), 0);
        belay_future *future;
        int status = 77;
        ck_assert_int_eq(belay_exec_call(exec, exit_in_call, NULL, NULL, NULL, &future), 0);
        ck_assert_int_eq(belay_future_wait(future, BELAY_FOREVER, &status), 0);
        ck_assert_int_eq(status, BELAY_ECANCELED);
        belay_future_unref(future);
        call after = {.gate = OPEN, .status = 3};
        start(exec, &after, NULL);
        ck_assert_int_eq(wait_for(&after, &status), 0);
        ck_assert_int_eq(status, 3);
        belay_future_unref(after.future);
    }
    belay_exec_stats_data metrics = pool_end(exec);
    ck_assert_uint_eq(metrics.total.executed, 60);
    ck_assert_uint_eq(metrics.total.failed, 60);
    ck_assert_uint_eq(metrics.total.replaced, 40);
    ck_assert_uint_eq(seen.started[0], 41);
    ck_assert_uint_eq(seen.stopped[0], 1);
    ck_assert_uint_eq(seen.logged, 40);
}
END_TEST

/* Waits for a call that ends the thread on top of it. */
typedef struct doomed {
    belay_exec *exec;
    belay_future *self;
    belay_future *child;
    counted left;
    bool has_returned;
} doomed;

static int wait_for_the_end_of_this_thread(void *arg)
{
    doomed *self = arg;
    ck_assert_int_eq(belay_exec_submit(self->exec, &self->left.task), 0);
    ck_assert_int_eq(belay_exec_call(self->exec, exit_in_call, NULL, NULL, NULL, &self->child), 0);
    (void)belay_future_wait(self->child, BELAY_FOREVER, NULL);
    self->has_returned = true;
    return 0;
}

START_TEST(all_tasks_on_the_stack_of_an_ended_thread_have_failed)
{
    belay_exec *exec = pool_of(1);
    doomed one = {.exec = exec, .left = counted_of(NULL)};
    int status = 77;
    ck_assert_int_eq(
        belay_exec_call(exec, wait_for_the_end_of_this_thread, &one, NULL, NULL, &one.self), 0);
    ck_assert_int_eq(belay_future_wait(one.self, BELAY_FOREVER, &status), 0);
    ck_assert_int_eq(status, BELAY_ECANCELED);
    ck_assert_int_eq(belay_future_wait(one.child, BELAY_FOREVER, &status), 0);
    ck_assert_int_eq(status, BELAY_ECANCELED);
    belay_exec_stats_data metrics = pool_end(exec);
    ck_assert(!one.has_returned);
    ck_assert_uint_eq(one.left.runs, 1);
    ck_assert_uint_eq(metrics.total.failed, 2);
    ck_assert_uint_eq(metrics.total.executed, 3);
    ck_assert_uint_eq(metrics.total.replaced, 1);
    belay_future_unref(one.self);
    belay_future_unref(one.child);
}
END_TEST

/* Two inline callbacks, of which the first ends the thread. */
typedef struct inlined {
    belay_task first;
    belay_task second;
    event called;
} inlined;

static void second_run(belay_task *task)
{
    event_add(&bly_container(task, inlined, second)->called, 1);
}

static void first_run(belay_task *task)
{
    inlined *self = bly_container(task, inlined, first);
    ck_assert_int_eq(belay_executor_submit(belay_inline(), &self->second, 0), 0);
    pthread_exit(NULL);
}

static int run_inlined(void *arg)
{
    inlined *self = arg;
    *self = (inlined){.first = {.run = first_run}, .second = {.run = second_run}};
    return belay_executor_submit(belay_inline(), &self->first, 0);
}

START_TEST(a_task_that_ends_its_thread_in_an_inline_callback_loses_no_other_callback)
{
    belay_exec *exec = pool_of(1);
    inlined callbacks;
    belay_future *future;
    int status = 77;
    ck_assert_int_eq(belay_exec_call(exec, run_inlined, &callbacks, NULL, NULL, &future), 0);
    ck_assert_int_eq(belay_future_wait(future, BELAY_FOREVER, &status), 0);
    ck_assert_int_eq(status, BELAY_ECANCELED);
    ck_assert_uint_eq(event_value(&callbacks.called), 1);
    belay_future_unref(future);
    ck_assert_uint_eq(pool_end(exec).total.replaced, 1);
}
END_TEST

START_TEST(without_a_new_thread_the_old_one_goes_on_as_the_worker)
{
    hooks seen = {0};
    belay_exec *exec = pool_tuned(opts_of(&seen, 1), bly_exec_tuning_default());
    fault_thread_from(1);
    for (int i = 0; i < 5; i++) {
        belay_future *future;
        int status = 77;
        ck_assert_int_eq(belay_exec_call(exec, exit_in_call, NULL, NULL, NULL, &future), 0);
        ck_assert_int_eq(belay_future_wait(future, BELAY_FOREVER, &status), 0);
        ck_assert_int_eq(status, BELAY_ECANCELED);
        belay_future_unref(future);
        call after = {.gate = OPEN, .status = i};
        start(exec, &after, NULL);
        ck_assert_int_eq(wait_for(&after, &status), 0);
        ck_assert_int_eq(status, i);
        belay_future_unref(after.future);
    }
    belay_exec_stats_data metrics = pool_end(exec);
    ck_assert_uint_eq(metrics.total.replaced, 5);
    ck_assert_uint_eq(seen.stopped[0], 1);
    ck_assert_uint_eq(seen.started[0], 1);
    ck_assert_uint_eq(seen.logged, 10);
}
END_TEST

START_TEST(threads_that_end_one_after_another_on_several_workers_leave_true_counts)
{
    enum { TASKS = 200 };
    static belay_task exits[TASKS];
    static counted others[TASKS];
    belay_exec *exec = pool_of(3);
    for (int i = 0; i < TASKS; i++) {
        exits[i] = (belay_task){.run = exit_thread};
        others[i] = counted_of(NULL);
        ck_assert_int_eq(belay_exec_submit(exec, &exits[i]), 0);
        ck_assert_int_eq(belay_exec_submit(exec, &others[i].task), 0);
    }
    belay_exec_stats_data metrics = pool_end(exec);
    ck_assert_uint_eq(metrics.total.executed, 2 * TASKS);
    ck_assert_uint_eq(metrics.total.failed, TASKS);
    ck_assert_uint_eq(metrics.total.replaced, TASKS);
}
END_TEST

/* --- What must return. --- */

static void exit_in_hook(uint32_t worker, void *arg)
{
    (void)worker;
    (void)arg;
    pthread_exit(NULL);
}

static void make_pool_with_such_a_hook(void)
{
    belay_exec *exec = pool_tuned((belay_exec_opts){.workers = 1, .start_hook = exit_in_hook},
                                  bly_exec_tuning_default());
    pool_end(exec);
}

static void exit_in_drop(belay_task *task, int why)
{
    (void)task;
    (void)why;
    pthread_exit(NULL);
}

static void drop_such_a_task(void)
{
    belay_exec *exec = pool_of(1);
    holder busy;
    hold_worker(exec, &busy);
    belay_task task = {.run = exit_thread, .drop = exit_in_drop};
    ck_assert_int_eq(belay_exec_submit(exec, &task), 0);
    ck_assert_int_eq(belay_exec_shutdown_now(exec), 0);
    release_worker(&busy);
    pool_await(exec);
}

static void exit_in_then(belay_future *future, int result, int status, void *arg)
{
    (void)future;
    (void)arg;
    ck_assert_int_eq(result | status, 0);
    pthread_exit(NULL);
}

static void end_such_a_call(void)
{
    belay_exec *exec = pool_of(1);
    call one = {.status = 0};
    start(exec, &one, NULL);
    ck_assert_int_eq(belay_future_then(one.future, NULL, exit_in_then, NULL), 0);
    event_add(&one.gate, 1);
    pool_end(exec);
}

START_TEST(a_hook_a_drop_or_an_inline_callback_that_ends_a_worker_is_a_broken_invariant)
{
    ck_assert_aborts(make_pool_with_such_a_hook, "hooks and callbacks of a pool return");
    ck_assert_aborts(drop_such_a_task, "hooks and callbacks of a pool return");
    ck_assert_aborts(end_such_a_call, "hooks and callbacks of a pool return");
}
END_TEST

UNIT_MAIN("exec/worker", each_worker_runs_its_start_hook_and_its_stop_hook_once,
          a_submit_in_a_stop_hook_is_a_root_and_refused,
          threads_have_the_name_and_the_stack_that_were_asked_for, an_idle_pool_switches_no_context,
          a_sleeper_is_woken_for_each_task_and_each_sleep_is_counted,
          a_task_that_ends_its_thread_has_failed_and_the_worker_is_replaced,
          all_tasks_on_the_stack_of_an_ended_thread_have_failed,
          a_task_that_ends_its_thread_in_an_inline_callback_loses_no_other_callback,
          without_a_new_thread_the_old_one_goes_on_as_the_worker,
          threads_that_end_one_after_another_on_several_workers_leave_true_counts,
          a_hook_a_drop_or_an_inline_callback_that_ends_a_worker_is_a_broken_invariant)
