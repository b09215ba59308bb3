/*
 * exec_stress: tasks and threads do to one pool whatever can be done, and every end is counted.
 *
 *     stress_exec [TASKS [SEED]]
 *
 * TASKS is, without an argument, the environment's BELAY_STRESS_TASKS. The run is cut into rounds,
 * each with a pool of its own whose size and settings are drawn from the seed. Tasks submit bare
 * tasks, calls and groups, wait for them, cancel them, fail, end their thread; threads outside do
 * the same and cancel or wait for what they find on a board; somewhere in between the pool is shut
 * down in one way or the other. A round is right when, after the pool has terminated,
 *
 *   - its history is (belay/test.h): each task or call was refused, run or dropped, and only once;
 *   - so is that of the then-callbacks: each was called once;
 *   - what a wait told is what became of the call;
 *   - the counters of the pool agree with what was seen; nothing is queued or outstanding.
 */
#include "belay/exec.h"
#include "belay/test.h"

#include "exec/tuning.h"
#include "sync/sync.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define TASKS_DEFAULT 200000
#define ROUND_ENTRIES 4000
#define OUTSIDERS     3
#define BOARD_SIZE    16
#define ACTIONS_MAX   3
#define GROUP_MAX     4

#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fail(#condition, __LINE__);                                                            \
        }                                                                                          \
    } while (0)

/* One task or call. */
typedef struct entry {
    belay_task task;
    int number;     /* in the history of tasks */
    int then;       /* in the history of then-callbacks */
    uint32_t runs;  /* atomic */
    uint32_t drops; /* atomic */
} entry;

typedef struct seen {
    uint64_t failed;     /* atomic */
    uint64_t pool_thens; /* atomic: promised on the pool itself */
} seen;

static belay_exec *pool;
static entry entries[ROUND_ENTRIES];
static uint32_t entries_used; /* atomic */
static seen counts;
static belay_history *works;             /* of this round */
static belay_history *thens;             /* of this round */
static belay_exec_worker_stats_data sum; /* over the rounds */
static belay_future *board[BOARD_SIZE];  /* atomic: futures for anybody to take, with a reference */
static uint64_t seed;
static uint64_t next_random;         /* atomic: seeds of those who act */
static _Thread_local uint32_t depth; /* tasks on this thread's stack */

static _Noreturn void fail(const char *what, int line)
{
    fprintf(stderr, "stress_exec: line %d: %s (seed %llu)\n", line, what, (unsigned long long)seed);
    abort();
}

static void count(uint64_t *counter)
{
    bly_fetch_add(counter, UINT64_C(1), BLY_RELAXED);
}

static uint32_t dice(uint64_t *random, uint32_t sides)
{
    return (uint32_t)(bly_random(random) % sides);
}

static uint64_t own_random(void)
{
    return seed ^ bly_fetch_add(&next_random, UINT64_C(0x9e3779b97f4a7c15), BLY_RELAXED);
}

static int act(uint64_t *random);
static void bare_run(belay_task *task);
static void bare_drop(belay_task *task, int why);

/* The next entry that nobody has; NULL when the round has none left. */
static entry *take_entry(void)
{
    uint32_t index = bly_load(&entries_used, BLY_RELAXED);
    do {
        if (index == ROUND_ENTRIES) {
            return NULL;
        }
    } while (!bly_cas(&entries_used, &index, index + 1, BLY_RELAXED, BLY_RELAXED));
    entry *self = &entries[index];
    *self = (entry){.task = {.run = bare_run, .drop = bare_drop},
                    .number = belay_history_begin(works, 0)};
    EXPECT(self->number >= 0);
    return self;
}

static bool was_accepted(entry *self, int result)
{
    if (result != 0) {
        EXPECT(result == BELAY_ECLOSED || result == BELAY_EFULL || result == BELAY_ECANCELED);
        EXPECT(belay_history_end(works, self->number, result) == 0);
        return false;
    }
    return true;
}

/* --- What tasks are. --- */

static int run_entry(entry *self)
{
    uint64_t random = own_random();
    bly_fetch_add(&self->runs, 1u, BLY_RELAXED);
    EXPECT(belay_history_end(works, self->number, 0) == 0);
    depth++;
    int status = act(&random);
    if (depth == 1 && dice(&random, 1000) == 0) {
        count(&counts.failed);
        pthread_exit(NULL);
    }
    depth--;
    return status;
}

static void bare_run(belay_task *task)
{
    (void)run_entry(bly_container(task, entry, task));
}

static void drop_entry(entry *self, int why)
{
    bly_fetch_add(&self->drops, 1u, BLY_RELAXED);
    EXPECT(why == BELAY_DROP_SHUTDOWN || why == BELAY_DROP_CANCELED);
    EXPECT(belay_history_end(works, self->number, why) == 0);
}

static void bare_drop(belay_task *task, int why)
{
    EXPECT(why == BELAY_DROP_SHUTDOWN);
    drop_entry(bly_container(task, entry, task), why);
}

static int call_run(void *arg)
{
    int status = run_entry(arg);
    if (status != 0) {
        count(&counts.failed);
    }
    return status;
}

static void call_drop(void *arg, int why)
{
    drop_entry(arg, why);
}

static void on_end(belay_future *future, int result, int status, void *arg)
{
    entry *self = arg;
    int again = 0;
    EXPECT(belay_future_wait(future, BELAY_NOW, &again) == result && again == status);
    EXPECT(result == 0 || result == BELAY_ECANCELED || result == BELAY_ECLOSED);
    EXPECT(belay_history_end(thens, self->then, 0) == 0);
}

/* --- What tasks and threads do. --- */

static void submit_bare(void)
{
    entry *self = take_entry();
    if (self != NULL) {
        (void)was_accepted(self, belay_exec_submit(pool, &self->task));
    }
}

static void promise_then(belay_future *future, entry *self, uint64_t *random)
{
    bool is_on_pool = dice(random, 2) == 0;
    self->then = belay_history_begin(thens, 0);
    EXPECT(self->then >= 0);
    if (is_on_pool) {
        count(&counts.pool_thens);
    }
    belay_executor *executor = is_on_pool ? belay_exec_executor(pool) : belay_inline();
    EXPECT(belay_future_then(future, executor, on_end, self) == 0);
}

/* Puts the future on the board; gives up what was there. */
static void post(belay_future *future, uint64_t *random)
{
    belay_future *old = bly_exchange(&board[dice(random, BOARD_SIZE)], future, BLY_ACQ_REL);
    belay_future_unref(old);
}

static void check_wait(const entry *self, int result)
{
    EXPECT(result == 0 || result == BELAY_ECANCELED || result == BELAY_ECLOSED);
    EXPECT(bly_load(&self->runs, BLY_RELAXED) == (result == 0));
    EXPECT(bly_load(&self->drops, BLY_RELAXED) == (result != 0));
}

static void submit_call(uint64_t *random)
{
    entry *self = take_entry();
    belay_future *future;
    if (self == NULL ||
        !was_accepted(self, belay_exec_call(pool, call_run, self, call_drop, NULL, &future))) {
        return;
    }
    if (dice(random, 4) == 0) {
        promise_then(future, self, random);
    }
    switch (dice(random, 5)) {
    case 0:
        check_wait(self, belay_future_wait(future, BELAY_FOREVER, NULL));
        break;
    case 1:
        (void)belay_future_cancel(future);
        break;
    case 2:
        post(belay_future_ref(future), random);
        break;
    default:
        break;
    }
    belay_future_unref(future);
}

static void run_group(uint64_t *random)
{
    belay_group *group;
    EXPECT(belay_group_create(pool, NULL, 0, &group) == 0);
    uint32_t members = dice(random, GROUP_MAX);
    for (uint32_t i = 0; i <= members; i++) {
        entry *self = take_entry();
        if (self != NULL) {
            (void)was_accepted(self, belay_group_spawn(group, call_run, self, call_drop));
        }
    }
    if (dice(random, 4) == 0) {
        (void)belay_group_cancel(group);
    }
    EXPECT(belay_group_wait(group, BELAY_FOREVER, NULL) == 0);
    EXPECT(belay_group_destroy(group) == 0);
}

/* Cancels what hangs on the board. Only threads outside wait for it: nothing waits for them. */
static void take_from_board(uint64_t *random)
{
    belay_future *future = bly_exchange(&board[dice(random, BOARD_SIZE)], NULL, BLY_ACQ_REL);
    if (future == NULL) {
        return;
    }
    if (dice(random, 2) == 0) {
        (void)belay_future_cancel(future);
    } else if (belay_exec_current() == NULL) {
        (void)belay_future_wait(future, BELAY_FOREVER, NULL);
    }
    belay_future_unref(future);
}

static int act(uint64_t *random)
{
    uint32_t actions = dice(random, ACTIONS_MAX + 1);
    for (uint32_t i = 0; i < actions; i++) {
        switch (dice(random, 8)) {
        case 0:
        case 1:
        case 2:
            submit_bare();
            break;
        case 3:
        case 4:
        case 5:
            submit_call(random);
            break;
        case 6:
            run_group(random);
            break;
        default:
            take_from_board(random);
            break;
        }
    }
    return dice(random, 10) == 0;
}

/* --- Rounds. --- */

static void act_outside(void *arg)
{
    uint64_t random = own_random();
    (void)arg;
    while (bly_load(&entries_used, BLY_RELAXED) < ROUND_ENTRIES) {
        (void)act(&random);
    }
}

static belay_exec *make_pool(uint64_t *random)
{
    static const uint32_t spins[] = {0, 1, 20, 1000};
    bly_exec_tuning tuning = bly_exec_tuning_default();
    tuning.spin = spins[dice(random, bly_count(spins))];
    tuning.steal_max = 1 + dice(random, BLY_STEAL_MAX);
    tuning.help_max = dice(random, BLY_HELP_MAX + 1);
    tuning.first_index = dice(random, 2) == 0 ? UINT64_MAX - dice(random, 1000) : 0;
    tuning.seed = bly_random(random) | 1;
    belay_exec_opts opts = {.size = sizeof opts, .workers = 1 + dice(random, 6)};
    opts.queue_max = dice(random, 4) == 0 ? 100 : BELAY_UNBOUNDED;
    EXPECT(bly_exec_create_tuned(&opts, &tuning, &pool) == 0);
    return pool;
}

static void add_to_sum(const belay_exec_worker_stats_data *round)
{
    sum.executed += round->executed;
    sum.failed += round->failed;
    sum.canceled += round->canceled;
    sum.dropped += round->dropped;
    sum.claimed += round->claimed;
    sum.stolen += round->stolen;
    sum.parks += round->parks;
    sum.replaced += round->replaced;
}

static void check_history(belay_history *history)
{
    uint32_t shown = 0;
    const char *broken = belay_history_check(history, &shown);
    if (broken != NULL) {
        fprintf(stderr, "stress_exec: entry %u: %s\n", shown, broken);
    }
    EXPECT(broken == NULL);
}

/* Returns how many were accepted. */
static uint64_t check_round(const belay_exec_stats_data *metrics)
{
    check_history(works);
    check_history(thens);
    uint64_t runs = belay_history_count(works, 0);
    uint64_t dropped = belay_history_count(works, BELAY_DROP_SHUTDOWN);
    uint64_t canceled = belay_history_count(works, BELAY_DROP_CANCELED);
    EXPECT(metrics->total.executed >= runs);
    EXPECT(metrics->total.executed <= runs + counts.pool_thens);
    EXPECT(metrics->total.failed == counts.failed);
    EXPECT(metrics->total.dropped == dropped);
    EXPECT(metrics->total.canceled == canceled);
    EXPECT(metrics->total.queued == 0 && metrics->outstanding == 0);
    EXPECT(metrics->queued_roots == 0 && metrics->state == BELAY_EXEC_TERMINATED);
    return runs + dropped + canceled;
}

static void clear_board(void)
{
    for (uint32_t i = 0; i < BOARD_SIZE; i++) {
        belay_future_unref(board[i]);
        board[i] = NULL;
    }
}

static uint64_t run_round(uint64_t *random)
{
    bly_thread outsiders[OUTSIDERS];
    entries_used = 0;
    counts = (seen){0};
    EXPECT(belay_history_create(0, ROUND_ENTRIES, &works) == 0);
    EXPECT(belay_history_create(0, ROUND_ENTRIES, &thens) == 0);
    make_pool(random);
    for (uint32_t i = 0; i < OUTSIDERS; i++) {
        EXPECT(bly_thread_create(&outsiders[i], NULL, act_outside, NULL) == 0);
    }
    uint32_t moment = 1 + dice(random, ROUND_ENTRIES);
    while (bly_load(&entries_used, BLY_RELAXED) < moment) {
        bly_yield();
    }
    EXPECT((dice(random, 2) == 0 ? belay_exec_shutdown : belay_exec_shutdown_now)(pool) == 0);
    EXPECT(belay_exec_await_termination(pool, BELAY_FOREVER) == 0);
    for (uint32_t i = 0; i < OUTSIDERS; i++) {
        bly_thread_join(&outsiders[i]);
    }
    belay_exec_stats_data metrics = {.size = sizeof metrics};
    EXPECT(belay_exec_stats(pool, &metrics) == 0);
    clear_board();
    uint64_t accepted = check_round(&metrics);
    add_to_sum(&metrics.total);
    EXPECT(belay_exec_destroy(pool) == 0);
    belay_history_destroy(works);
    belay_history_destroy(thens);
    return accepted;
}

int main(int argc, char **argv)
{
    const char *environment = getenv("BELAY_STRESS_TASKS");
    const char *wanted = argc > 1 ? argv[1] : environment;
    uint64_t tasks = wanted != NULL ? strtoull(wanted, NULL, 10) : TASKS_DEFAULT;
    uint64_t done = 0;
    seed = argc > 2 ? strtoull(argv[2], NULL, 10) : bly_random_seed();
    printf("stress_exec: %llu tasks, seed %llu\n", (unsigned long long)tasks,
           (unsigned long long)seed);
    (void)fflush(stdout);
    uint64_t random = seed;
    while (done < tasks) {
        done += run_round(&random);
    }
    printf("stress_exec: executed %llu failed %llu canceled %llu dropped %llu claimed %llu stolen "
           "%llu "
           "parks %llu threads ended %llu\n",
           (unsigned long long)sum.executed, (unsigned long long)sum.failed,
           (unsigned long long)sum.canceled, (unsigned long long)sum.dropped,
           (unsigned long long)sum.claimed, (unsigned long long)sum.stolen,
           (unsigned long long)sum.parks, (unsigned long long)sum.replaced);
    return EXIT_SUCCESS;
}
