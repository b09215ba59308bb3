/*
 * test_load.c: whole pools under load, with every count checked after they have terminated.
 *
 * A barrier releases many short tasks and a few long ones at once, on one worker and on several,
 * with failures, with children, with waits, and with shutdowns at any moment.
 */
#include "pool.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#define SHORT_A_WORKER 1000
#define LONG_A_WORKER  10
#define WORKERS_MAX    4
#define WORKS_MAX      (WORKERS_MAX * (SHORT_A_WORKER + LONG_A_WORKER))

typedef struct plan {
    uint32_t workers;
    uint32_t fail_every; /* each so many fail; 0: none */
    uint32_t children;   /* that each work submits */
    bool waits;          /* for its children, as a group */
    uint32_t spin;
} plan;

/* One call of the load, and what became of it. */
typedef struct work {
    struct batch *batch;
    uint32_t number;
    uint32_t spins; /* its length */
    uint32_t runs;  /* atomic */
    uint32_t drops; /* atomic */
} work;

typedef struct batch {
    plan plan;
    belay_exec *exec;
    event arrived;             /* the workers that stand at the barrier */
    event barrier;             /* opens it */
    uint64_t children_run;     /* atomic */
    uint64_t children_dropped; /* atomic */
    uint64_t children_refused; /* atomic */
    work works[WORKS_MAX];
    uint32_t count;
} batch;

static batch all;

static void spin(uint32_t times)
{
    uint32_t turns = 0;
    while (bly_load(&turns, BLY_RELAXED) < times) {
        bly_store(&turns, bly_load(&turns, BLY_RELAXED) + 1, BLY_RELAXED);
    }
}

static void count(uint64_t *counter)
{
    bly_fetch_add(counter, UINT64_C(1), BLY_RELAXED);
}

static int child_run(void *arg)
{
    batch *of = arg;
    count(&of->children_run);
    return 0;
}

static void child_drop(void *arg, int why)
{
    batch *of = arg;
    (void)why;
    count(&of->children_dropped);
}

static void make_children(batch *of, belay_group *group)
{
    for (uint32_t i = 0; i < of->plan.children; i++) {
        int result = group != NULL
                         ? belay_group_spawn(group, child_run, of, child_drop)
                         : belay_exec_call(of->exec, child_run, of, child_drop, NULL, NULL);
        if (result != 0) {
            ck_assert(result == BELAY_ECLOSED || result == BELAY_ECANCELED);
            count(&of->children_refused);
        }
    }
}

static int work_run(void *arg)
{
    work *self = arg;
    batch *of = self->batch;
    bly_fetch_add(&self->runs, 1u, BLY_RELAXED);
    spin(self->spins);
    if (of->plan.waits) {
        belay_group *group;
        ck_assert_int_eq(belay_group_create(of->exec, NULL, 0, &group), 0);
        make_children(of, group);
        ck_assert_int_eq(belay_group_wait(group, BELAY_FOREVER, NULL), 0);
        ck_assert_int_eq(belay_group_destroy(group), 0);
    } else {
        make_children(of, NULL);
    }
    return of->plan.fail_every != 0 && self->number % of->plan.fail_every == 0;
}

static void work_drop(void *arg, int why)
{
    work *self = arg;
    ck_assert_int_eq(why, BELAY_DROP_SHUTDOWN);
    bly_fetch_add(&self->drops, 1u, BLY_RELAXED);
}

static int stand_at_barrier(void *arg)
{
    batch *of = arg;
    event_add(&of->arrived, 1);
    event_await(&of->barrier, 1);
    return 0;
}

/* Holds every worker at a barrier and queues the whole load behind it. */
static void queue_load(const plan *as)
{
    bly_exec_tuning tuning = bly_exec_tuning_default();
    tuning.spin = as->spin;
    memset(&all, 0, sizeof all);
    all.plan = *as;
    all.exec = pool_tuned((belay_exec_opts){.workers = as->workers}, tuning);
    for (uint32_t i = 0; i < as->workers; i++) {
        ck_assert_int_eq(belay_exec_call(all.exec, stand_at_barrier, &all, NULL, NULL, NULL), 0);
    }
    event_await(&all.arrived, as->workers);
    all.count = as->workers * (SHORT_A_WORKER + LONG_A_WORKER);
    for (uint32_t i = 0; i < all.count; i++) {
        bool is_long = i % (SHORT_A_WORKER / LONG_A_WORKER + 1) == 0;
        all.works[i] = (work){.batch = &all, .number = i, .spins = is_long ? 20000 : 100};
        ck_assert_int_eq(belay_exec_call(all.exec, work_run, &all.works[i], work_drop, NULL, NULL),
                         0);
    }
}

/* Each work once: run, or dropped. Returns how many ran. */
static uint32_t check_works(void)
{
    uint32_t ran = 0;
    for (uint32_t i = 0; i < all.count; i++) {
        ck_assert_uint_eq(all.works[i].runs + all.works[i].drops, 1);
        ran += all.works[i].runs;
    }
    return ran;
}

static void run_load(const plan *as)
{
    queue_load(as);
    event_add(&all.barrier, 1);
    ck_assert_int_eq(belay_exec_shutdown(all.exec), 0);
    belay_exec_stats_data metrics = pool_await(all.exec);
    ck_assert_uint_eq(check_works(), all.count);
    ck_assert_uint_eq(all.children_run, (uint64_t)all.count * as->children);
    ck_assert_uint_eq(all.children_refused + all.children_dropped, 0);
    ck_assert_uint_eq(metrics.total.executed,
                      as->workers + all.count + (uint64_t)all.count * as->children);
    uint32_t failing = as->fail_every != 0 ? (all.count + as->fail_every - 1) / as->fail_every : 0;
    ck_assert_uint_eq(metrics.total.failed, failing);
    ck_assert_uint_eq(metrics.total.dropped, 0);
    if (as->workers == 1) {
        ck_assert_uint_eq(metrics.total.steals_tried, 0);
    }
    ck_assert_int_eq(belay_exec_destroy(all.exec), 0);
}

START_TEST(a_barrier_releases_short_and_long_tasks)
{
    for (uint32_t workers = 1; workers <= WORKERS_MAX; workers++) {
        run_load(&(plan){.workers = workers, .spin = 20});
    }
}
END_TEST

START_TEST(every_tenth_task_fails)
{
    for (uint32_t workers = 1; workers <= WORKERS_MAX; workers++) {
        run_load(&(plan){.workers = workers, .fail_every = 10});
    }
}
END_TEST

START_TEST(tasks_submit_children)
{
    for (uint32_t workers = 1; workers <= WORKERS_MAX; workers++) {
        run_load(&(plan){.workers = workers, .children = 3, .fail_every = 10});
    }
}
END_TEST

START_TEST(tasks_wait_for_groups_of_children)
{
    for (uint32_t workers = 1; workers <= WORKERS_MAX; workers++) {
        run_load(&(plan){.workers = workers, .children = 3, .waits = true});
    }
}
END_TEST

START_TEST(no_spinning_and_much_spinning_give_the_same_counts)
{
    static const uint32_t spins[] = {0, 1, 10, 10000};
    for (size_t i = 0; i < bly_count(spins); i++) {
        run_load(&(plan){.workers = 2, .children = 1, .spin = spins[i]});
    }
}
END_TEST

/*
 * Work that lies in one worker's deque. Its worker is held until two works have begun, and the
 * first two to begin wait for each other: so two others must have stolen.
 */
static int meet_run(void *arg)
{
    work *self = arg;
    if (event_value(&self->batch->arrived) < 2) {
        event_add(&self->batch->arrived, 1);
        event_await(&self->batch->arrived, 2);
    }
    return work_run(arg);
}

static int root_of_all(void *arg)
{
    batch *of = arg;
    for (uint32_t i = 0; i < of->count; i++) {
        of->works[i] = (work){.batch = of, .number = i, .spins = 2000};
        ck_assert_int_eq(belay_exec_call(of->exec, meet_run, &of->works[i], work_drop, NULL, NULL),
                         0);
    }
    event_await(&of->arrived, 2);
    return 0;
}

START_TEST(steals_are_won_on_at_least_two_workers)
{
    memset(&all, 0, sizeof all);
    all.exec = pool_of(3);
    all.count = WORKS_MAX;
    ck_assert_int_eq(belay_exec_call(all.exec, root_of_all, &all, NULL, NULL, NULL), 0);
    ck_assert_int_eq(belay_exec_shutdown(all.exec), 0);
    belay_exec_stats_data metrics = pool_await(all.exec);
    ck_assert_uint_eq(check_works(), all.count);
    ck_assert_uint_eq(metrics.total.executed, all.count + 1);
    uint32_t thieves = 0;
    for (uint32_t i = 0; i < 3; i++) {
        belay_exec_worker_stats_data worker;
        ck_assert_int_eq(belay_exec_worker_stats(all.exec, i, &worker), 0);
        thieves += worker.steals_won != 0;
    }
    ck_assert_uint_ge(thieves, 2);
    ck_assert_int_eq(belay_exec_destroy(all.exec), 0);
}
END_TEST

/* --- Shutdown at any moment. --- */

static void await_runs(uint32_t least)
{
    uint32_t ran = 0;
    while (ran < least) {
        ran = 0;
        for (uint32_t i = 0; i < all.count && ran < least; i++) {
            ran += bly_load(&all.works[i].runs, BLY_RELAXED);
        }
        bly_yield();
    }
}

static void shut_down_twice(void *arg)
{
    ck_assert_int_eq(belay_exec_shutdown(arg), 0);
    ck_assert_int_eq(belay_exec_shutdown_now(arg), 0);
}

START_TEST(shutdown_at_a_random_step_drains_everything)
{
    uint64_t random = 1;
    for (int round = 0; round < 10; round++) {
        plan as = {.workers = 1 + (uint32_t)round % 3, .children = 2};
        queue_load(&as);
        event_add(&all.barrier, 1);
        await_runs((uint32_t)(bly_random(&random) % all.count));
        ck_assert_int_eq(belay_exec_shutdown(all.exec), 0);
        (void)pool_await(all.exec);
        ck_assert_uint_eq(check_works(), all.count);
        ck_assert_uint_eq(all.children_run, (uint64_t)all.count * 2);
        ck_assert_int_eq(belay_exec_shutdown(all.exec), 0);
        ck_assert_int_eq(belay_exec_await_termination(all.exec, BELAY_NOW), 0);
        ck_assert_int_eq(belay_exec_destroy(all.exec), 0);
    }
}
END_TEST

START_TEST(shutdown_now_at_a_random_step_twice_at_once_runs_or_drops_each_once)
{
    uint64_t random = 2;
    for (int round = 0; round < 20; round++) {
        plan as = {.workers = 1 + (uint32_t)round % 3, .children = 2, .waits = round % 2 == 0};
        bly_thread other;
        queue_load(&as);
        event_add(&all.barrier, 1);
        await_runs((uint32_t)(bly_random(&random) % all.count));
        ck_assert_int_eq(bly_thread_create(&other, NULL, shut_down_twice, all.exec), 0);
        shut_down_twice(all.exec);
        belay_exec_stats_data metrics = pool_await(all.exec);
        uint64_t ran = check_works();
        uint64_t children = all.children_run + all.children_dropped + all.children_refused;
        ck_assert_uint_eq(children, ran * 2);
        ck_assert_uint_eq(metrics.total.executed, as.workers + ran + all.children_run);
        ck_assert_uint_eq(metrics.total.dropped + metrics.total.canceled,
                          all.count - ran + all.children_dropped);
        bly_thread_join(&other);
        ck_assert_int_eq(belay_exec_destroy(all.exec), 0);
    }
}
END_TEST

UNIT_MAIN("exec/load", a_barrier_releases_short_and_long_tasks, every_tenth_task_fails,
          tasks_submit_children, tasks_wait_for_groups_of_children,
          no_spinning_and_much_spinning_give_the_same_counts,
          steals_are_won_on_at_least_two_workers, shutdown_at_a_random_step_drains_everything,
          shutdown_now_at_a_random_step_twice_at_once_runs_or_drops_each_once)
