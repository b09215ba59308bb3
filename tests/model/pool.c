/*
 * pool.c: the pool: what a submit and an end show, that work spreads, waits of tasks, callbacks at
 * an end, and the bound on queued roots.
 */
#include "scenario.h"

#include "belay/cancel.h"
#include "belay/exec.h"
#include "deliver/deliver.h"
#include "exec/tuning.h"

#define TASKS_MAX 4

typedef struct world {
    belay_exec *exec;
    belay_task tasks[TASKS_MAX];
    uint32_t begun;     /* atomic: tasks that have begun */
    uint32_t ended;     /* atomic: tasks that have run or been dropped */
    uint32_t before;    /* plain: written before a submit, a then or a spawn */
    uint32_t written;   /* plain: written by a task */
    uint32_t turns;     /* atomic: runs of a task that feeds itself */
    uint64_t waiter;    /* atomic: the thread of the task that waits; 0: none */
    uint32_t thens;     /* atomic */
    uint32_t accepted;  /* atomic: then-callbacks, or submits */
    uint32_t hooks;     /* atomic: stop hooks that have run */
    uint32_t is_let_go; /* atomic: tasks that hold on may end */
    belay_future *future;
    belay_group *group;
    belay_cancel *token;
} world;

static world *now;

static void open_with(belay_exec_opts opts)
{
    bly_exec_tuning tuning = bly_exec_tuning_default();
    tuning.spin = 0;
    tuning.seed = 1;
    opts.size = sizeof opts;
    now = bly_alloc(sizeof *now);
    belay_model_check(bly_exec_create_tuned(&opts, &tuning, &now->exec) == 0);
}

static void open_pool(uint32_t workers)
{
    open_with((belay_exec_opts){.workers = workers});
}

static void end_pool(void)
{
    (void)belay_exec_shutdown(now->exec);
    belay_model_check(belay_exec_await_termination(now->exec, BELAY_FOREVER) == 0);
}

static void close_pool(void)
{
    end_pool();
    belay_model_check(belay_exec_destroy(now->exec) == 0);
    bly_free(now);
}

static int submit(unsigned number, void (*run)(belay_task *))
{
    now->tasks[number] = (belay_task){.run = run};
    return belay_exec_submit(now->exec, &now->tasks[number]);
}

static void submit_good(unsigned number, void (*run)(belay_task *))
{
    belay_model_check(submit(number, run) == 0);
}

/* What was done before a submit is seen by the task; what it did, by who awaits the end. */
static void see_and_write(belay_task *task)
{
    (void)task;
    belay_model_check(bly_read(&now->before) == 1);
    bly_write(&now->written, 1u);
}

static void submit_child(belay_task *task)
{
    (void)task;
    bly_write(&now->before, 1u);
    submit_good(1, see_and_write);
}

static void submit_and_end_show_what_came_before(void *arg)
{
    const bool *is_child = arg;
    open_pool(2);
    if (*is_child) {
        submit_good(0, submit_child);
    } else {
        bly_write(&now->before, 1u);
        submit_good(0, see_and_write);
    }
    end_pool();
    belay_model_check(bly_read(&now->written) == 1);
    close_pool();
}

/* Two tasks that go on only together: whoever was submitted last has not been left to the first. */
static void meet(belay_task *task)
{
    (void)task;
    bly_fetch_add(&now->begun, 1u, BLY_RELAXED);
    while (bly_load(&now->begun, BLY_RELAXED) < 2) {
        bly_yield();
    }
}

static void submit_and_meet(belay_task *task)
{
    submit_good(1, meet);
    meet(task);
}

static void two_roots_run_together(void *arg)
{
    (void)arg;
    open_pool(2);
    submit_good(0, meet);
    submit_good(1, meet);
    close_pool();
}

static void child_runs_beside_its_parent(void *arg)
{
    (void)arg;
    open_pool(2);
    submit_good(0, submit_and_meet);
    close_pool();
}

/* A task feeds itself until a root has run that came meanwhile; that takes a bounded time. */
static void feed(belay_task *task)
{
    if (bly_load(&now->begun, BLY_RELAXED) == 0) {
        bly_yield(); /* the root is yet to come */
    } else {
        belay_model_check(bly_fetch_add(&now->turns, 1u, BLY_RELAXED) < 4 * 61);
    }
    if (bly_load(&now->ended, BLY_RELAXED) < 1) {
        belay_model_check(belay_exec_submit(now->exec, task) == 0);
    }
}

static void note_end(belay_task *task)
{
    (void)task;
    bly_fetch_add(&now->ended, 1u, BLY_RELAXED);
}

static void nothing_starves_behind_a_task_that_feeds_itself(void *arg)
{
    (void)arg;
    open_pool(1);
    submit_good(0, feed);
    submit_good(1, note_end);
    bly_store(&now->begun, 1u, BLY_RELAXED);
    close_pool();
}

/* Calls: fn writes, and whoever learns of the end reads. */
static int write_fn(void *arg)
{
    (void)arg;
    bly_write(&now->written, 1u);
    return 3;
}

static void drop_writes(void *arg, int why)
{
    (void)arg;
    belay_model_check(why != 0);
    bly_write(&now->written, 1u);
}

static void call(void)
{
    belay_model_check(belay_exec_call(now->exec, write_fn, NULL, drop_writes, NULL, &now->future) ==
                      0);
}

static void look_at_end(belay_future *future, int result, int status, void *arg)
{
    (void)arg;
    belay_model_check(future == now->future);
    belay_model_check(result == BELAY_ECANCELED || (result == 0 && status == 3));
    belay_model_check(bly_read(&now->written) == 1 && bly_read(&now->before) == 1);
    bly_fetch_add(&now->thens, 1u, BLY_RELAXED);
}

static void then_inline(void *arg)
{
    (void)arg;
    int result = belay_future_then(now->future, NULL, look_at_end, NULL);
    belay_model_check(result == 0 || result == BELAY_EBUSY);
    bly_fetch_add(&now->accepted, result == 0, BLY_RELAXED);
}

static void wait_and_look(void *arg)
{
    int status = 0;
    (void)arg;
    int result = belay_future_wait(now->future, BELAY_FOREVER, &status);
    belay_model_check(result == BELAY_ECANCELED || (result == 0 && status == 3));
    belay_model_check(bly_read(&now->written) == 1);
}

/* One then a future, whoever asks first; it sees what fn, or drop, did. */
static void two_thens_and_a_wait(void *arg)
{
    (void)arg;
    open_pool(1);
    bly_write(&now->before, 1u);
    call();
    int one = belay_model_start(then_inline, NULL);
    int two = belay_model_start(wait_and_look, NULL);
    then_inline(NULL);
    belay_model_join(one);
    belay_model_join(two);
    end_pool();
    belay_model_check(now->thens == 1 && now->accepted == 1);
    belay_future_unref(now->future);
    close_pool();
}

/* The callback goes to the pool itself, which takes it as long as it has work. */
static void then_on_the_pool(void *arg)
{
    const bool *is_canceled = arg;
    open_pool(1);
    bly_write(&now->before, 1u);
    call();
    int result = belay_future_then(now->future, belay_exec_executor(now->exec), look_at_end, NULL);
    belay_model_check(result == 0);
    if (*is_canceled) {
        (void)belay_future_cancel(now->future);
    }
    belay_model_check(belay_exec_shutdown(now->exec) == 0);
    end_pool();
    belay_model_check(now->thens == 1);
    belay_future_unref(now->future);
    close_pool();
}

/* A task waits for a call: it runs it itself unless another worker is faster. */
static int wait_in_fn(void *arg)
{
    wait_and_look(arg);
    return 0;
}

static int wait_for_itself(void *arg)
{
    (void)arg;
    while (bly_load(&now->is_let_go, BLY_ACQUIRE) == 0) {
        bly_yield();
    }
    belay_model_check(belay_future_wait(now->future, BELAY_FOREVER, NULL) == BELAY_EDEADLK);
    return 0;
}

static void task_waits_for_a_call(void *arg)
{
    belay_future *waiter = NULL;
    const uint32_t *workers = arg;
    open_pool(*workers);
    call();
    belay_model_check(belay_exec_call(now->exec, wait_in_fn, NULL, NULL, NULL, &waiter) == 0);
    belay_model_check(belay_future_wait(waiter, BELAY_FOREVER, NULL) == 0);
    belay_future_unref(waiter);
    belay_future_unref(now->future);
    close_pool();
}

static void task_waits_for_itself(void *arg)
{
    (void)arg;
    open_pool(1);
    belay_model_check(belay_exec_call(now->exec, wait_for_itself, NULL, NULL, NULL, &now->future) ==
                      0);
    bly_store(&now->is_let_go, 1u, BLY_RELEASE);
    belay_model_check(belay_future_wait(now->future, BELAY_FOREVER, NULL) == 0);
    belay_future_unref(now->future);
    close_pool();
}

/* A waiter helps with what it submitted itself, and with nothing else on its stack. */
static int never_on_top(void *arg)
{
    (void)arg;
    belay_model_check(bly_load(&now->waiter, BLY_RELAXED) != bly_thread_id());
    return 0;
}

static int hold_on(void *arg)
{
    (void)arg;
    bly_write(&now->written, 1u);
    bly_fetch_add(&now->begun, 1u, BLY_RELAXED);
    while (bly_load(&now->ended, BLY_RELAXED) == 0) {
        bly_yield();
    }
    return 3;
}

static int help_while_it_waits(void *arg)
{
    (void)arg;
    while (bly_load(&now->begun, BLY_RELAXED) == 0) {
        bly_yield(); /* the call is running on the other worker */
    }
    submit_good(0, note_end); /* lets it end */
    bly_store(&now->waiter, bly_thread_id(), BLY_RELAXED);
    wait_and_look(NULL);
    bly_store(&now->waiter, UINT64_C(0), BLY_RELAXED);
    return 0;
}

static void waiter_helps_with_its_own(void *arg)
{
    belay_future *waiter = NULL;
    (void)arg;
    open_pool(2);
    belay_model_check(belay_exec_call(now->exec, hold_on, NULL, NULL, NULL, &now->future) == 0);
    belay_model_check(belay_exec_call(now->exec, help_while_it_waits, NULL, NULL, NULL, &waiter) ==
                      0);
    belay_model_check(belay_exec_call(now->exec, never_on_top, NULL, NULL, NULL, NULL) == 0);
    belay_model_check(belay_future_wait(waiter, BELAY_FOREVER, NULL) == 0);
    belay_future_unref(waiter);
    belay_future_unref(now->future);
    close_pool();
}

/* Groups: a member waits for members of another; a group is used again; the first error is kept. */
static int fail_fn(void *arg)
{
    (void)arg;
    bly_fetch_add(&now->ended, 1u, BLY_RELAXED);
    return 5;
}

static int spawn_and_wait(void *arg)
{
    belay_group *inner = NULL;
    int status = 0;
    (void)arg;
    belay_model_check(belay_group_create(now->exec, NULL, 0, &inner) == 0);
    belay_model_check(belay_group_spawn(inner, fail_fn, NULL, NULL) == 0);
    belay_model_check(belay_group_wait(now->group, BELAY_FOREVER, NULL) == BELAY_EDEADLK);
    belay_model_check(belay_group_wait(inner, BELAY_FOREVER, &status) == 0 && status == 5);
    belay_model_check(belay_group_wait(inner, BELAY_FOREVER, &status) == 0 && status == 0);
    belay_model_check(belay_group_destroy(inner) == 0);
    return 0;
}

static void group_inside_a_member(void *arg)
{
    const uint32_t *workers = arg;
    open_pool(*workers);
    belay_model_check(belay_group_create(now->exec, NULL, 0, &now->group) == 0);
    belay_model_check(belay_group_spawn(now->group, spawn_and_wait, NULL, NULL) == 0);
    belay_model_check(belay_group_wait(now->group, BELAY_FOREVER, NULL) == 0);
    belay_model_check(belay_group_destroy(now->group) == 0);
    belay_model_check(belay_exec_destroy(now->exec) == BELAY_EBUSY);
    close_pool();
}

static void fire_parent(void *arg)
{
    (void)arg;
    belay_model_check(belay_cancel_fire(now->token) == 0);
}

static void count_drop(void *arg, int why)
{
    (void)arg;
    belay_model_check(why == BELAY_DROP_CANCELED);
    bly_fetch_add(&now->ended, 1u, BLY_RELAXED);
}

/* A parent's fire cancels the group: what has not begun is dropped, and a wait says so. */
static void group_of_a_parent_that_fires(void *arg)
{
    int status = 0;
    (void)arg;
    open_pool(1);
    belay_model_check(belay_cancel_create(NULL, 0, &now->token) == 0);
    belay_model_check(belay_group_create(now->exec, now->token, 0, &now->group) == 0);
    int one = belay_model_start(fire_parent, NULL);
    uint32_t spawned = 0;
    for (int i = 0; i < 2; i++) {
        int result = belay_group_spawn(now->group, fail_fn, NULL, count_drop);
        belay_model_check(result == 0 || result == BELAY_ECANCELED);
        spawned += result == 0;
    }
    belay_model_check(belay_group_wait(now->group, BELAY_FOREVER, &status) == 0);
    belay_model_check(bly_load(&now->ended, BLY_RELAXED) == spawned);
    belay_model_check(status == 5 || status == BELAY_ECANCELED || spawned == 0);
    belay_model_join(one);
    belay_model_check(belay_group_spawn(now->group, fail_fn, NULL, NULL) == BELAY_ECANCELED);
    belay_model_check(belay_group_wait(now->group, BELAY_FOREVER, &status) == 0);
    belay_model_check(status == BELAY_ECANCELED || spawned != 0);
    belay_model_check(belay_group_destroy(now->group) == 0);
    belay_cancel_unref(now->token);
    close_pool();
}

/* The bound on queued roots is kept; children and deliveries go past it. */
static void run_with_child(belay_task *task)
{
    (void)task;
    bly_fetch_add(&now->begun, 1u, BLY_RELAXED);
    submit_good(2, note_end);
    while (bly_load(&now->is_let_go, BLY_RELAXED) == 0) {
        bly_yield();
    }
}

static void submit_bounded(void *arg)
{
    const unsigned *number = arg;
    int result = submit(*number, note_end);
    belay_model_check(result == 0 || result == BELAY_EFULL);
    bly_fetch_add(&now->accepted, result == 0, BLY_RELAXED);
}

static void roots_past_the_bound_are_refused(void *arg)
{
    static const unsigned first = 1, second = 3;
    belay_exec_stats_data stats = {.size = sizeof stats};
    (void)arg;
    open_with((belay_exec_opts){.workers = 1, .queue_max = 1});
    submit_good(0, run_with_child);
    while (bly_load(&now->begun, BLY_RELAXED) == 0) {
        bly_yield();
    }
    int one = belay_model_start(submit_bounded, (void *)(uintptr_t)&first);
    submit_bounded((void *)(uintptr_t)&second);
    belay_model_join(one);
    belay_model_check(now->accepted == 1);
    bly_store(&now->is_let_go, 1u, BLY_RELAXED);
    end_pool();
    belay_model_check(now->ended == 2);
    belay_model_check(belay_exec_stats(now->exec, &stats) == 0);
    belay_model_check(stats.total.executed == 3);
    close_pool();
}

/* Hooks: each worker's stop hook has run when the end is told, and told it is once. */
static void stop_hook(uint32_t worker, void *arg)
{
    (void)worker;
    (void)arg;
    bly_fetch_add(&now->hooks, 1u, BLY_RELAXED);
}

static void on_terminated(void *arg)
{
    (void)arg;
    belay_model_check(bly_load(&now->hooks, BLY_RELAXED) == 2);
    belay_model_check(bly_read(&now->written) == 1);
    bly_write(&now->before, 1u);
}

static void write_bare(belay_task *task)
{
    (void)task;
    bly_write(&now->written, 1u);
}

static void end_is_told_after_the_hooks(void *arg)
{
    (void)arg;
    open_with(
        (belay_exec_opts){.workers = 2, .stop_hook = stop_hook, .on_terminated = on_terminated});
    submit_good(0, write_bare);
    end_pool();
    belay_model_check(bly_read(&now->before) == 1);
    close_pool();
}

/* A pool, a call and a group that cannot be made leave nothing; a child needs no memory. */
static void pool_without_memory(void *arg)
{
    belay_exec_opts opts = {.size = sizeof opts, .workers = 2};
    belay_exec *exec = NULL;
    belay_future *future = NULL;
    belay_group *group = NULL;
    (void)arg;
    if (belay_exec_create(&opts, &exec) != 0) {
        belay_model_check(exec == NULL);
        return;
    }
    now = bly_alloc(sizeof *now);
    if (now != NULL) {
        now->exec = exec;
        if (belay_exec_call(exec, fail_fn, NULL, NULL, NULL, &future) == 0) {
            belay_model_check(belay_future_wait(future, BELAY_FOREVER, NULL) == 0);
            belay_future_unref(future);
        }
        if (belay_group_create(exec, NULL, 0, &group) == 0) {
            uint32_t spawned = belay_group_spawn(group, fail_fn, NULL, NULL) == 0;
            int status = 0;
            belay_model_check(belay_group_wait(group, BELAY_FOREVER, &status) == 0);
            belay_model_check(status == (spawned ? 5 : 0));
            belay_model_check(belay_group_destroy(group) == 0);
        }
    }
    belay_model_check(belay_exec_shutdown(exec) == 0);
    belay_model_check(belay_exec_await_termination(exec, BELAY_FOREVER) == 0);
    belay_model_check(belay_exec_destroy(exec) == 0);
    bly_free(now);
}

static bool yes = true, no;
static uint32_t one_worker = 1, two_workers = 2;

#define POOL(title, function, argument, bound)                                                     \
    {                                                                                              \
        .name = "exec/" title, .fn = function, .arg = argument, .opts = {                          \
            .preemptions = bound,                                                                  \
            .spurious = 1                                                                          \
        }                                                                                          \
    }

const scenario pool_scenarios[] = {
    POOL("root-sees-its-submitter", submit_and_end_show_what_came_before, &no, 2),
    POOL("child-sees-its-parent", submit_and_end_show_what_came_before, &yes, 2),
    POOL("two-roots-run-together", two_roots_run_together, NULL, 2),
    POOL("child-runs-beside-its-parent", child_runs_beside_its_parent, NULL, 2),
    POOL("nothing-starves", nothing_starves_behind_a_task_that_feeds_itself, NULL, 1),
    POOL("two-thens-and-a-wait", two_thens_and_a_wait, NULL, 2),
    POOL("then-on-the-pool", then_on_the_pool, &no, 2),
    POOL("then-on-the-pool-of-a-canceled-call", then_on_the_pool, &yes, 2),
    POOL("task-waits-for-a-call", task_waits_for_a_call, &one_worker, 2),
    POOL("task-waits-beside-a-worker", task_waits_for_a_call, &two_workers, 2),
    POOL("task-waits-for-itself", task_waits_for_itself, NULL, 2),
    POOL("waiter-helps-with-its-own", waiter_helps_with_its_own, NULL, 2),
    POOL("group-inside-a-member", group_inside_a_member, &one_worker, 2),
    POOL("group-inside-a-member-of-two", group_inside_a_member, &two_workers, 2),
    POOL("group-of-a-parent-that-fires", group_of_a_parent_that_fires, NULL, 2),
    POOL("roots-past-the-bound-are-refused", roots_past_the_bound_are_refused, NULL, 2),
    POOL("end-is-told-after-the-hooks", end_is_told_after_the_hooks, NULL, 2),
    {.name = "exec/without-memory",
     .fn = pool_without_memory,
     .opts = {.preemptions = 1, .alloc_failures = 1}},
    {.name = NULL},
};
