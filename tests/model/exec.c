/*
 * exec.c: the pool: work against sleep, against the end of the pool, and against itself.
 *
 * Each scenario makes a pool, sets threads against each other, and shuts the pool down. Then every
 * accepted task must have been run or dropped exactly once.
 */
#include "scenario.h"

#include "belay/exec.h"
#include "deliver/deliver.h"
#include "exec/tuning.h"

#include <string.h>

#define JOBS_MAX    6
#define MANY        70 /* more than a deque begins with */
#define DEADLINE_NS 1000

/* A task and what became of it. */
typedef struct job {
    belay_task task;
    uint32_t runs;     /* atomic */
    uint32_t drops;    /* atomic */
    uint32_t accepted; /* the submitter's */
    struct job *child; /* submitted from run */
} job;

typedef struct world {
    belay_exec *exec;
    job jobs[JOBS_MAX];
    uint32_t thread_count; /* atomic: gives each thread its job */
    belay_future *future;
    belay_group *group;
    uint32_t calls; /* atomic: runs of a call's function */
    uint32_t drops; /* atomic: of a call */
    uint32_t thens; /* atomic: runs of a then-callback */
    int result, status;
} world;

static world *now;

static void note(uint32_t *counter)
{
    belay_model_check(bly_fetch_add(counter, 1u, BLY_RELAXED) == 0);
}

static void submit(job *one)
{
    int result = belay_exec_submit(now->exec, &one->task);
    belay_model_check(result == 0 || result == BELAY_ECLOSED);
    one->accepted = result == 0;
}

static void run_job(belay_task *task)
{
    job *self = bly_container(task, job, task);
    note(&self->runs);
    if (self->child != NULL) {
        submit(self->child);
    }
}

static void drop_job(belay_task *task, int why)
{
    job *self = bly_container(task, job, task);
    belay_model_check(why == BELAY_DROP_SHUTDOWN);
    note(&self->drops);
}

static void open_pool(uint32_t workers)
{
    belay_exec_opts opts = {.size = sizeof opts, .workers = workers};
    bly_exec_tuning tuning = bly_exec_tuning_default();
    tuning.spin = 0;
    tuning.seed = 1;
    now = bly_alloc(sizeof *now);
    for (unsigned i = 0; i < JOBS_MAX; i++) {
        now->jobs[i].task.run = run_job;
        now->jobs[i].task.drop = drop_job;
    }
    belay_model_check(bly_exec_create_tuned(&opts, &tuning, &now->exec) == 0);
}

static void close_pool(void)
{
    (void)belay_exec_shutdown(now->exec);
    belay_model_check(belay_exec_await_termination(now->exec, BELAY_FOREVER) == 0);
    belay_model_check(belay_exec_destroy(now->exec) == 0);
    for (unsigned i = 0; i < JOBS_MAX; i++) {
        job *one = &now->jobs[i];
        uint32_t ends = bly_load(&one->runs, BLY_RELAXED) + bly_load(&one->drops, BLY_RELAXED);
        belay_model_check(ends == one->accepted);
    }
    bly_free(now);
    now = NULL;
}

static void submit_one(void *arg)
{
    (void)arg;
    submit(&now->jobs[bly_fetch_add(&now->thread_count, 1u, BLY_RELAXED)]);
}

static void shut_down(void *arg)
{
    (void)arg;
    belay_model_check(belay_exec_shutdown(now->exec) == 0);
}

static void shut_down_now(void *arg)
{
    (void)arg;
    belay_model_check(belay_exec_shutdown_now(now->exec) == 0);
}

static void run_against(void (*other)(void *), void (*here)(void *))
{
    int thread = belay_model_start(other, NULL);
    here(NULL);
    belay_model_join(thread);
}

static void submit_against_sleep(void *arg)
{
    (void)arg;
    open_pool(1);
    submit_one(NULL);
    submit_one(NULL);
    close_pool();
}

static void two_submit_to_two(void *arg)
{
    (void)arg;
    open_pool(2);
    run_against(submit_one, submit_one);
    close_pool();
}

static void child_is_stolen(void *arg)
{
    (void)arg;
    open_pool(2);
    now->jobs[0].child = &now->jobs[1];
    now->jobs[1].child = &now->jobs[2];
    submit_one(NULL);
    close_pool();
}

static void submit_against_shutdown(void *arg)
{
    (void)arg;
    open_pool(1);
    now->jobs[0].child = &now->jobs[2];
    submit_one(NULL);
    run_against(submit_one, shut_down);
    belay_model_check(now->jobs[0].accepted);
    close_pool();
}

static void child_against_shutdown_now(void *arg)
{
    (void)arg;
    open_pool(1);
    now->jobs[0].child = &now->jobs[2];
    submit_one(NULL);
    run_against(submit_one, shut_down_now);
    close_pool();
}

static void shut_down_and_wait(void *arg)
{
    shut_down(arg);
    belay_model_check(belay_exec_await_termination(now->exec, BELAY_FOREVER) == 0);
}

static void two_shut_down_and_wait(void *arg)
{
    (void)arg;
    open_pool(1);
    submit_one(NULL);
    run_against(shut_down_and_wait, shut_down_and_wait);
    close_pool();
}

static void destroyed_by_its_awaiter(void *arg)
{
    (void)arg;
    open_pool(2);
    close_pool();
}

/* Deliveries run, whatever the pool is told; once it has ended it refuses them. */

static void deliver(void *arg)
{
    (void)arg;
    job *one = &now->jobs[3];
    belay_executor *executor = belay_exec_executor(now->exec);
    int result = executor->submit(executor, &one->task, BELAY_DELIVERY);
    belay_model_check(result == 0 || result == BELAY_ECLOSED);
    one->accepted = result == 0;
}

static void delivery_against_shutdown_now(void *arg)
{
    (void)arg;
    open_pool(1);
    bly_executor_attach(belay_exec_executor(now->exec), 1);
    run_against(deliver, shut_down_now);
    bly_executor_attach(belay_exec_executor(now->exec), -1);
    belay_model_check(belay_exec_await_termination(now->exec, BELAY_FOREVER) == 0);
    belay_model_check(bly_load(&now->jobs[3].runs, BLY_RELAXED) == now->jobs[3].accepted);
    close_pool();
}

/* Futures. */

static int call_fn(void *arg)
{
    (void)arg;
    note(&now->calls);
    return 7;
}

static void call_drop(void *arg, int why)
{
    (void)arg;
    belay_model_check(why != 0);
    note(&now->drops);
}

static void call(void)
{
    belay_model_check(belay_exec_call(now->exec, call_fn, NULL, call_drop, NULL, &now->future) ==
                      0);
}

static void wait_future(void *arg)
{
    (void)arg;
    int status = 0;
    int result = belay_future_wait(now->future, BELAY_FOREVER, &status);
    belay_model_check(result == 0 || result == BELAY_ECANCELED);
    belay_model_check(result != 0 || status == 7);
}

static void wait_future_timed(void *arg)
{
    (void)arg;
    int status = 0;
    int result = belay_future_wait(now->future, bly_monotonic_ns() + DEADLINE_NS, &status);
    belay_model_check(result == 0 || result == BELAY_ETIMEDOUT);
    belay_model_check(result != 0 || status == 7);
}

static void cancel_future(void *arg)
{
    (void)arg;
    (void)belay_future_cancel(now->future);
}

static void on_end(belay_future *future, int result, int status, void *arg)
{
    (void)future;
    (void)arg;
    note(&now->thens);
    now->result = result;
    now->status = status;
}

static void then_future(void *arg)
{
    (void)arg;
    belay_model_check(belay_future_then(now->future, NULL, on_end, NULL) == 0);
}

static void close_future(void)
{
    belay_future_unref(now->future);
    belay_model_check(bly_load(&now->calls, BLY_RELAXED) + bly_load(&now->drops, BLY_RELAXED) == 1);
    close_pool();
}

static void future_set_against_wait(void *arg)
{
    (void)arg;
    open_pool(1);
    call();
    run_against(wait_future_timed, wait_future);
    close_future();
}

static void future_cancel_against_claim(void *arg)
{
    (void)arg;
    open_pool(1);
    call();
    run_against(cancel_future, wait_future);
    close_future();
}

static void future_then_against_set(void *arg)
{
    (void)arg;
    open_pool(1);
    call();
    run_against(cancel_future, then_future);
    wait_future(NULL);
    belay_future *future = belay_future_ref(now->future);
    belay_future_unref(future);
    (void)belay_exec_shutdown(now->exec);
    belay_model_check(belay_exec_await_termination(now->exec, BELAY_FOREVER) == 0);
    belay_model_check(bly_load(&now->thens, BLY_RELAXED) == 1);
    close_future();
}

static belay_cancel *call_token;

static void fire_token(void *arg)
{
    (void)arg;
    (void)belay_cancel_fire(call_token); /* the pool may have been faster */
}

/* A token fired by its owner and by the pool, before, while and after its call is claimed. */
static void token_against_shutdown_now(void *arg)
{
    (void)arg;
    open_pool(1);
    belay_model_check(belay_cancel_create(NULL, 0, &call_token) == 0);
    belay_model_check(
        belay_exec_call(now->exec, call_fn, NULL, call_drop, call_token, &now->future) == 0);
    run_against(fire_token, shut_down_now);
    belay_cancel_unref(call_token);
    int result = belay_future_wait(now->future, BELAY_FOREVER, NULL);
    belay_model_check(result == 0 || result == BELAY_ECANCELED || result == BELAY_ECLOSED);
    close_future();
}

/* Groups. */

static void spawn_member(void *arg)
{
    (void)arg;
    int result = belay_group_spawn(now->group, call_fn, NULL, call_drop);
    belay_model_check(result == 0 || result == BELAY_ECANCELED);
    now->result = result;
}

static void cancel_group(void *arg)
{
    (void)arg;
    (void)belay_group_cancel(now->group);
}

static void group_spawn_against_cancel(void *arg)
{
    (void)arg;
    open_pool(1);
    belay_model_check(belay_group_create(now->exec, NULL, 0, &now->group) == 0);
    run_against(cancel_group, spawn_member);
    int status = 0;
    (void)belay_group_wait(now->group, BELAY_FOREVER, &status);
    uint32_t ends = bly_load(&now->calls, BLY_RELAXED) + bly_load(&now->drops, BLY_RELAXED);
    belay_model_check(ends == (now->result == 0 ? 1 : 0));
    belay_model_check(belay_group_destroy(now->group) == 0);
    close_pool();
}

static void wait_group(void *arg)
{
    (void)arg;
    int status = 0;
    belay_model_check(belay_group_wait(now->group, BELAY_FOREVER, &status) == 0);
    belay_model_check(status == 0 || status == 7 || status == BELAY_ECANCELED);
    uint32_t ends = bly_load(&now->calls, BLY_RELAXED) + bly_load(&now->drops, BLY_RELAXED);
    belay_model_check(ends == 1);
}

/* Both waiters are told of the end, whoever of them makes the group ready again. */
static void group_waited_for_by_two(void *arg)
{
    open_pool(1);
    belay_model_check(belay_group_create(now->exec, NULL, 0, &now->group) == 0);
    spawn_member(NULL);
    int canceler = arg != NULL ? belay_model_start(cancel_group, NULL) : -1;
    run_against(wait_group, wait_group);
    if (canceler >= 0) {
        belay_model_join(canceler);
        belay_model_check(belay_group_wait(now->group, BELAY_FOREVER, NULL) == 0);
    }
    belay_model_check(belay_group_destroy(now->group) == 0);
    close_pool();
}

/* The deque by itself, on each kind: the owner against one and two thieves. */

static bly_deque *deque;
static const bly_deque_kind *kind;
static uint32_t taken[JOBS_MAX]; /* atomic */
static belay_task items[JOBS_MAX];

static void take(belay_task *task)
{
    if (task != NULL) {
        note(&taken[task - items]);
    }
}

static void thief(void *arg)
{
    belay_task *stolen[BLY_STEAL_MAX];
    uint32_t count = kind->steal(deque, stolen, BLY_STEAL_MAX);
    (void)arg;
    for (uint32_t i = 0; i < count; i++) {
        take(stolen[i]);
    }
}

static void owner(unsigned pushes, unsigned pops)
{
    uint64_t base = kind->mark(deque);
    for (unsigned i = 0; i < pushes; i++) {
        belay_model_check(kind->push(deque, &items[i]));
    }
    for (unsigned i = 0; i < pops; i++) {
        take(kind->pop(deque, base));
    }
}

static void deque_scenario(const bly_deque_kind *which, unsigned thieves, unsigned pushes,
                           unsigned pops)
{
    int started[3];
    kind = which;
    for (unsigned i = 0; i < JOBS_MAX; i++) {
        taken[i] = 0;
        items[i] = (belay_task){.next = NULL};
    }
    deque = kind->create(UINT64_MAX - 1); /* the indices wrap */
    for (unsigned i = 0; i < thieves; i++) {
        started[i] = belay_model_start(thief, NULL);
    }
    owner(pushes, pops);
    for (unsigned i = 0; i < thieves; i++) {
        belay_model_join(started[i]);
    }
    belay_task *left;
    while ((left = kind->pop_oldest(deque)) != NULL) {
        take(left);
    }
    for (unsigned i = 0; i < pushes; i++) {
        belay_model_check(bly_load(&taken[i], BLY_RELAXED) == 1);
    }
    kind->destroy(deque);
}

static void last_element(void *arg)
{
    deque_scenario(arg, 1, 1, 1);
}

static void two_thieves(void *arg)
{
    deque_scenario(arg, 2, 2, 1);
}

static void three_thieves(void *arg)
{
    deque_scenario(arg, 3, 2, 1);
}

static void batch(void *arg)
{
    deque_scenario(arg, 1, 5, 4);
}

/* The deque grows and shrinks under a thief, while its indices wrap. */
static belay_task many[MANY];
static uint32_t taken_of_many[MANY]; /* atomic */

static void take_one_of_many(belay_task *task)
{
    note(&taken_of_many[task - many]);
}

static void steal_two_batches(void *arg)
{
    belay_task *stolen[BLY_STEAL_MAX];
    (void)arg;
    for (int round = 0; round < 2; round++) {
        uint32_t count = kind->steal(deque, stolen, BLY_STEAL_MAX);
        for (uint32_t i = 0; i < count; i++) {
            take_one_of_many(stolen[i]);
        }
    }
}

static void grows_under_a_thief(void *arg)
{
    kind = arg;
    memset(many, 0, sizeof many);
    memset(taken_of_many, 0, sizeof taken_of_many);
    deque = kind->create(UINT64_MAX - MANY / 2);
    int one = -1;
    for (int i = 0; i < MANY; i++) {
        one = i == MANY - 8 ? belay_model_start(steal_two_batches, NULL) : one;
        belay_model_check(kind->push(deque, &many[i]));
    }
    belay_task *newest;
    while ((newest = kind->pop(deque, kind->mark(deque) - MANY)) != NULL) {
        take_one_of_many(newest);
    }
    kind->trim(deque);
    belay_model_join(one);
    belay_model_check(kind->size(deque) == 0);
    for (int i = 0; i < MANY; i++) {
        belay_model_check(bly_load(&taken_of_many[i], BLY_RELAXED) == 1);
    }
    kind->destroy(deque);
}

#define POOL(title, function, bound)                                                               \
    {                                                                                              \
        .name = "exec/" title, .fn = function, .opts = {.preemptions = bound, .spurious = 1 }      \
    }
#define DEQUE(title, function)                                                                     \
    {                                                                                              \
        .name = "deque/locked-" title, .fn = function, .arg = (void *)&bly_deque_locked, .opts = { \
            .preemptions = 3                                                                       \
        }                                                                                          \
    }

const scenario exec_scenarios[] = {
    POOL("submit-against-sleep", submit_against_sleep, 3),
    POOL("two-submit-to-two", two_submit_to_two, 2),
    POOL("child-is-stolen", child_is_stolen, 2),
    POOL("submit-against-shutdown", submit_against_shutdown, 2),
    POOL("child-against-shutdown-now", child_against_shutdown_now, 2),
    POOL("two-shut-down-and-wait", two_shut_down_and_wait, 2),
    POOL("destroyed-by-its-awaiter", destroyed_by_its_awaiter, 2),
    POOL("delivery-against-shutdown-now", delivery_against_shutdown_now, 2),
    POOL("future-set-against-wait", future_set_against_wait, 2),
    POOL("future-cancel-against-claim", future_cancel_against_claim, 2),
    POOL("future-then-against-set", future_then_against_set, 2),
    POOL("group-spawn-against-cancel", group_spawn_against_cancel, 2),
    POOL("token-against-shutdown-now", token_against_shutdown_now, 2),
    POOL("group-waited-for-by-two", group_waited_for_by_two, 2),
    {.name = "exec/group-canceled-under-two-waiters",
     .fn = group_waited_for_by_two,
     .arg = &now,
     .opts = {.preemptions = 2, .spurious = 1}},
    DEQUE("last-element", last_element),
    DEQUE("two-thieves", two_thieves),
    DEQUE("three-thieves", three_thieves),
    DEQUE("batch", batch),
    DEQUE("grows-under-a-thief", grows_under_a_thief),
    {.name = NULL},
};
