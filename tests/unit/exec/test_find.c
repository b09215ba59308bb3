/*
 * test_find.c: where workers find their work: order, stealing, fairness, whose inbox.
 */
#include "call.h"
#include "fault.h"
#include "unit.h"

#include <stdlib.h>

/* Notes the order in which numbered tasks begin. */
#define NOTED_MAX 64

typedef struct notes {
    uint32_t count; /* atomic */
    int order[NOTED_MAX];
} notes;

typedef struct noted {
    belay_task task;
    notes *notes;
    int number;
} noted;

static void noted_run(belay_task *task)
{
    noted *self = bly_container(task, noted, task);
    self->notes->order[bly_fetch_add(&self->notes->count, 1u, BLY_SEQ_CST)] = self->number;
}

typedef struct brood {
    belay_task task;
    belay_exec *exec;
    noted *children;
    int count;
} brood;

static void brood_run(belay_task *task)
{
    brood *self = bly_container(task, brood, task);
    for (int i = 0; i < self->count; i++) {
        ck_assert_int_eq(belay_exec_submit(self->exec, &self->children[i].task), 0);
    }
}

static void number(noted *tasks, int count, notes *in)
{
    for (int i = 0; i < count; i++) {
        tasks[i] = (noted){.task = {.run = noted_run}, .notes = in, .number = i};
    }
}

START_TEST(a_worker_takes_its_newest_child_first)
{
    notes in = {0};
    noted children[20];
    number(children, 20, &in);
    belay_exec *exec = pool_of(1);
    brood parent = {.task = {.run = brood_run}, .exec = exec, .children = children, .count = 20};
    ck_assert_int_eq(belay_exec_submit(exec, &parent.task), 0);
    pool_end(exec);
    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq(in.order[i], 19 - i);
    }
}
END_TEST

START_TEST(roots_of_one_inbox_run_in_the_order_of_their_submits)
{
    notes in = {0};
    noted roots[20];
    number(roots, 20, &in);
    belay_exec *exec = pool_of(1);
    holder busy;
    hold_worker(exec, &busy);
    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq(belay_exec_submit(exec, &roots[i].task), 0);
    }
    release_worker(&busy);
    pool_end(exec);
    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq(in.order[i], i);
    }
}
END_TEST

/* --- Stealing. --- */

/* Submits many children and then keeps its worker until all of them have run elsewhere. */
typedef struct feeder {
    belay_task task;
    belay_exec *exec;
    counted *children;
    uint32_t count;
    event told;
} feeder;

static void feeder_run(belay_task *task)
{
    feeder *self = bly_container(task, feeder, task);
    for (uint32_t i = 0; i < self->count; i++) {
        self->children[i] = counted_of(&self->told);
        ck_assert_int_eq(belay_exec_submit(self->exec, &self->children[i].task), 0);
    }
    event_await(&self->told, self->count);
}

static void check_theft(uint32_t steal_max)
{
    enum { CHILDREN = 2000 };
    static counted children[CHILDREN];
    bly_exec_tuning tuning = bly_exec_tuning_default();
    tuning.steal_max = steal_max;
    belay_exec *exec = pool_tuned((belay_exec_opts){.workers = 2}, tuning);
    feeder victim = {
        .task = {.run = feeder_run}, .exec = exec, .children = children, .count = CHILDREN};
    ck_assert_int_eq(belay_exec_submit(exec, &victim.task), 0);
    event_await(&victim.told, CHILDREN);
    belay_exec_stats_data metrics = pool_end(exec);
    ck_assert_uint_eq(metrics.total.executed, CHILDREN + 1);
    ck_assert_uint_eq(metrics.total.stolen, CHILDREN);
    ck_assert_uint_ge(metrics.total.steals_won, CHILDREN / steal_max);
    ck_assert_uint_le(metrics.total.steals_won, metrics.total.steals_tried);
    for (int i = 0; i < CHILDREN; i++) {
        ck_assert_uint_eq(children[i].runs, 1);
    }
}

START_TEST(all_children_of_a_worker_that_is_held_are_stolen)
{
    for (uint32_t steal_max = 1; steal_max <= BLY_STEAL_MAX; steal_max++) {
        check_theft(steal_max);
    }
}
END_TEST

/*
 * An unbalanced tree: most of the work hangs below the child that is stolen last. The first two
 * nodes that have submitted their children wait for each other, so both workers begin before either
 * is done.
 */
typedef struct tree {
    belay_exec *exec;
    uint64_t nodes; /* atomic */
    event begun;
} tree;

typedef struct node {
    tree *tree;
    uint32_t depth;
} node;

static int grow(void *arg)
{
    node *self = arg;
    tree *of = self->tree;
    uint64_t work = 0;
    for (int i = 0; i < 2000; i++) {
        bly_store(&work, bly_load(&work, BLY_RELAXED) + 1, BLY_RELAXED);
    }
    bly_fetch_add(&of->nodes, UINT64_C(1), BLY_RELAXED);
    for (uint32_t i = 0; i < self->depth; i++) {
        node *child = calloc(1, sizeof *child);
        ck_assert_ptr_nonnull(child);
        *child = (node){.tree = of, .depth = self->depth - i - 1};
        ck_assert_int_eq(belay_exec_call(of->exec, grow, child, NULL, NULL, NULL), 0);
    }
    free(self);
    if (event_value(&of->begun) < 2) {
        event_add(&of->begun, 1);
        event_await(&of->begun, 2);
    }
    return 0;
}

START_TEST(the_load_of_an_unbalanced_tree_spreads_over_the_workers)
{
    enum { DEPTH = 14 };
    node *root = calloc(1, sizeof *root);
    ck_assert_ptr_nonnull(root);
    tree all = {.exec = pool_of(2)};
    *root = (node){.tree = &all, .depth = DEPTH};
    ck_assert_int_eq(belay_exec_call(all.exec, grow, root, NULL, NULL, NULL), 0);
    ck_assert_int_eq(belay_exec_shutdown(all.exec), 0);
    belay_exec_stats_data stats = pool_await(all.exec);
    ck_assert_uint_eq(all.nodes, 1u << DEPTH);
    ck_assert_uint_ge(stats.total.stolen, 1);
    for (uint32_t i = 0; i < 2; i++) {
        belay_exec_worker_stats_data worker;
        ck_assert_int_eq(belay_exec_worker_stats(all.exec, i, &worker), 0);
        ck_assert_uint_ge(worker.executed, (1u << DEPTH) / 50);
    }
    ck_assert_int_eq(belay_exec_destroy(all.exec), 0);
}
END_TEST

/* --- Inboxes. --- */

START_TEST(what_lies_in_the_inbox_of_a_busy_worker_is_run_by_another)
{
    enum { TASKS = 1000 };
    static counted tasks[TASKS];
    bly_exec_tuning tuning = bly_exec_tuning_default();
    tuning.forced_inbox = 0;
    belay_exec *exec = pool_tuned((belay_exec_opts){.workers = 2}, tuning);
    holder busy;
    hold_worker(exec, &busy);
    event told = {0};
    for (int i = 0; i < TASKS; i++) {
        tasks[i] = counted_of(&told);
        ck_assert_int_eq(belay_exec_submit(exec, &tasks[i].task), 0);
    }
    event_await(&told, TASKS);
    release_worker(&busy);
    ck_assert_uint_eq(pool_end(exec).total.executed, TASKS + 1);
}
END_TEST

/* --- Fairness. --- */

/* Two tasks that submit each other for ever, until they are told to stop. */
typedef struct ping {
    belay_task task;
    belay_exec *exec;
    struct ping *other;
    uint32_t *turns; /* atomic */
    uint32_t *stop;  /* atomic */
} ping;

static void ping_run(belay_task *task)
{
    ping *self = bly_container(task, ping, task);
    bly_fetch_add(self->turns, 1u, BLY_RELAXED);
    if (bly_load(self->stop, BLY_RELAXED) == 0) {
        ck_assert_int_eq(belay_exec_submit(self->exec, &self->other->task), 0);
    }
}

typedef struct late {
    belay_task task;
    uint32_t *turns;
    uint32_t turns_seen;
    event ran;
} late;

static void late_run(belay_task *task)
{
    late *self = bly_container(task, late, task);
    self->turns_seen = bly_load(self->turns, BLY_RELAXED);
    event_add(&self->ran, 1);
}

static void start_pings(belay_exec *exec, ping pings[2], uint32_t *turns, uint32_t *stop)
{
    for (int i = 0; i < 2; i++) {
        pings[i] = (ping){.task = {.run = ping_run},
                          .exec = exec,
                          .other = &pings[1 - i],
                          .turns = turns,
                          .stop = stop};
    }
    ck_assert_int_eq(belay_exec_submit(exec, &pings[0].task), 0);
}

START_TEST(a_root_is_not_starved_by_tasks_that_feed_themselves)
{
    uint32_t turns = 0;
    uint32_t stop = 0;
    ping pings[2];
    belay_exec *exec = pool_of(1);
    start_pings(exec, pings, &turns, &stop);
    for (int i = 0; i < 100; i++) {
        late one = {.task = {.run = late_run}, .turns = &turns};
        uint32_t before = bly_load(&turns, BLY_RELAXED);
        ck_assert_int_eq(belay_exec_submit(exec, &one.task), 0);
        uint32_t submitted = bly_load(&turns, BLY_RELAXED);
        event_await(&one.ran, 1);
        ck_assert_uint_le(one.turns_seen, submitted + 2 * 61);
        ck_assert_uint_ge(one.turns_seen, before);
    }
    bly_store(&stop, 1u, BLY_RELAXED);
    pool_end(exec);
}
END_TEST

/* Leaves a child at the old end of the deque and then feeds itself. */
typedef struct starver {
    ping ping; /* its task is the first submit */
    late child;
} starver;

static void starver_run(belay_task *task)
{
    starver *self = bly_container(task, starver, ping.task);
    self->ping.task.run = ping_run;
    ck_assert_int_eq(belay_exec_submit(self->ping.exec, &self->child.task), 0);
    ping_run(task);
}

START_TEST(the_oldest_child_is_not_starved_by_newer_ones)
{
    uint32_t turns = 0;
    uint32_t stop = 0;
    belay_exec *exec = pool_of(1);
    starver one = {.ping = {.task = {.run = starver_run}, .exec = exec, .turns = &turns},
                   .child = {.task = {.run = late_run}, .turns = &turns}};
    one.ping.other = &one.ping;
    one.ping.stop = &stop;
    ck_assert_int_eq(belay_exec_submit(exec, &one.ping.task), 0);
    event_await(&one.child.ran, 1);
    bly_store(&stop, 1u, BLY_RELAXED);
    pool_end(exec);
    ck_assert_uint_le(one.child.turns_seen, 2 * 61);
}
END_TEST

/* Submits a child and then never returns, until told. */
typedef struct stuck {
    belay_task task;
    belay_exec *exec;
    late child;
    event gate;
} stuck;

static void stuck_run(belay_task *task)
{
    stuck *self = bly_container(task, stuck, task);
    ck_assert_int_eq(belay_exec_submit(self->exec, &self->child.task), 0);
    event_await(&self->gate, 1);
}

START_TEST(the_child_of_a_task_that_never_returns_is_stolen_by_workers_that_feed_themselves)
{
    uint32_t turns = 0;
    uint32_t stop = 0;
    ping pings[2];
    belay_exec *exec = pool_of(2);
    start_pings(exec, pings, &turns, &stop);
    while (bly_load(&turns, BLY_RELAXED) < 1000) {
        bly_yield();
    }
    stuck one = {.task = {.run = stuck_run},
                 .exec = exec,
                 .child = {.task = {.run = late_run}, .turns = &turns}};
    ck_assert_int_eq(belay_exec_submit(exec, &one.task), 0);
    event_await(&one.child.ran, 1);
    event_add(&one.gate, 1);
    bly_store(&stop, 1u, BLY_RELAXED);
    pool_end(exec);
}
END_TEST

/* Sixty tasks that submit themselves again fill a deque that cannot grow. */
typedef struct crowd {
    belay_task task;
    ping pings[60];
} crowd;

static void crowd_run(belay_task *task)
{
    crowd *self = bly_container(task, crowd, task);
    for (size_t i = 0; i < bly_count(self->pings); i++) {
        ck_assert_int_eq(belay_exec_submit(self->pings[i].exec, &self->pings[i].task), 0);
    }
}

/* Holds its worker and submits its children in between, so its worker steals nothing itself. */
typedef struct robbed {
    feeder feeder;
    event begun;
    event gate;
} robbed;

static void robbed_run(belay_task *task)
{
    robbed *self = bly_container(task, robbed, feeder.task);
    event_add(&self->begun, 1);
    event_await(&self->gate, 1);
    feeder_run(task);
    event_await(&self->gate, 2);
}

START_TEST(a_thief_that_has_no_room_steals_one_at_a_time)
{
    enum { CHILDREN = 40 };
    counted children[CHILDREN];
    uint32_t turns = 0;
    uint32_t stop = 0;
    static crowd thief;
    belay_exec *exec = pool_of(2);
    robbed victim = {
        .feeder = {
            .task = {.run = robbed_run}, .exec = exec, .children = children, .count = CHILDREN}};
    ck_assert_int_eq(belay_exec_submit(exec, &victim.feeder.task), 0);
    event_await(&victim.begun, 1);
    fault_alloc_from(1);
    thief.task.run = crowd_run;
    for (size_t i = 0; i < bly_count(thief.pings); i++) {
        ping *self = &thief.pings[i];
        *self = (ping){
            .task = {.run = ping_run}, .exec = exec, .other = self, .turns = &turns, .stop = &stop};
    }
    ck_assert_int_eq(belay_exec_submit(exec, &thief.task), 0);
    while (bly_load(&turns, BLY_RELAXED) < 1000) {
        bly_yield();
    }
    event_add(&victim.gate, 1);
    event_await(&victim.feeder.told, CHILDREN);
    belay_exec_stats_data stats = pool_stats(exec);
    (void)fault_alloc_stop();
    bly_store(&stop, 1u, BLY_RELAXED);
    event_add(&victim.gate, 1);
    pool_end(exec);
    ck_assert_uint_eq(stats.total.stolen, CHILDREN);
    ck_assert_uint_eq(stats.total.steals_won, CHILDREN);
}
END_TEST

/* --- Results and liveness do not depend on spinning or on the number of workers. --- */

static void run_calls(uint32_t workers, uint32_t spin)
{
    enum { CALLS = 300 };
    static call calls[CALLS];
    bly_exec_tuning tuning = bly_exec_tuning_default();
    tuning.spin = spin;
    belay_exec *exec = pool_tuned((belay_exec_opts){.workers = workers}, tuning);
    for (int i = 0; i < CALLS; i++) {
        calls[i] = (call){.gate = OPEN, .status = i};
        start(exec, &calls[i], NULL);
    }
    for (int i = 0; i < CALLS; i++) {
        int status = -1;
        ck_assert_int_eq(wait_for(&calls[i], &status), 0);
        ck_assert_int_eq(status, i);
        belay_future_unref(calls[i].future);
    }
    ck_assert_uint_eq(pool_end(exec).total.executed, CALLS);
}

START_TEST(any_spin_count_and_any_number_of_workers_give_the_same_results)
{
    static const uint32_t workers[] = {1, 2, 3, 4, 8, 16, 64};
    static const uint32_t spins[] = {0, 1, 10, 1000};
    for (size_t w = 0; w < bly_count(workers); w++) {
        for (size_t s = 0; s < bly_count(spins); s++) {
            run_calls(workers[w], spins[s]);
        }
    }
    run_calls(2, 10000);
}
END_TEST

UNIT_MAIN("exec/find", a_worker_takes_its_newest_child_first,
          roots_of_one_inbox_run_in_the_order_of_their_submits,
          all_children_of_a_worker_that_is_held_are_stolen,
          the_load_of_an_unbalanced_tree_spreads_over_the_workers,
          what_lies_in_the_inbox_of_a_busy_worker_is_run_by_another,
          a_root_is_not_starved_by_tasks_that_feed_themselves,
          the_oldest_child_is_not_starved_by_newer_ones,
          the_child_of_a_task_that_never_returns_is_stolen_by_workers_that_feed_themselves,
          a_thief_that_has_no_room_steals_one_at_a_time,
          any_spin_count_and_any_number_of_workers_give_the_same_results)
