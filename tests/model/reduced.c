/*
 * reduced.c: depth first leaves out nothing that can happen.
 *
 * Small programs, put together at random, run with every schedule within bounds twice: in full, and
 * as depth first does it otherwise, without states seen before and without branching where nobody
 * contends. What the threads read, and what is left in the end, is an outcome. Both runs must have
 * the same set of outcomes.
 */
#include "scenario.h"

#include <stdio.h>
#include <stdlib.h>

#define THREADS      3
#define OPS_MAX      4
#define PROGRAMS     1500
#define OUTCOMES_MAX 16384 /* a power of two */
#define WAIT_NS      10

enum op {
    LOAD_RELAXED,
    LOAD_ACQUIRE,
    STORE_RELAXED,
    STORE_RELEASE,
    ADD,
    CAS,
    LOAD_SEQ_CST,
    STORE_SEQ_CST,
    FENCE_SEQ_CST,
    FENCE_ACQ_REL,
    COUNT_LOCKED,
    TRY_COUNT,
    WAIT,
    WAKE,
    READ_CLOCK,
    YIELD,
    ADD_OWN,
    OPS
};

typedef struct step {
    enum op op;
    unsigned var; /* which of the two variables */
} step;

typedef struct thread {
    step steps[OPS_MAX];
    unsigned count;
    uint64_t seen; /* hash of what it read */
    uint32_t own;  /* atomic, of this thread alone */
} thread;

typedef struct outcomes {
    uint64_t hashes[OUTCOMES_MAX]; /* open addressing; 0: free */
    unsigned count;
} outcomes;

static thread threads[THREADS];
static unsigned thread_count;
static uint32_t vars[2]; /* atomic */
static bly_mutex lock;
static uint32_t counter; /* lock */
static outcomes reduced, full;
static outcomes *into = &reduced;

static uint64_t mixed(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ (hash >> 29);
}

static void note_outcome(uint64_t hash)
{
    unsigned slot = (unsigned)(hash >> 40) & (OUTCOMES_MAX - 1);
    hash |= 1;
    while (into->hashes[slot] != 0 && into->hashes[slot] != hash) {
        slot = (slot + 1) & (OUTCOMES_MAX - 1);
    }
    if (into->hashes[slot] == 0) {
        belay_model_check(into->count < OUTCOMES_MAX / 2);
        into->hashes[slot] = hash;
        into->count++;
    }
}

static uint64_t count_locked(void)
{
    uint64_t value = bly_read(&counter) + 1;
    bly_write(&counter, (uint32_t)value);
    return value;
}

static uint64_t run_lock_step(const step *one)
{
    uint64_t value = 0;
    if (one->op == COUNT_LOCKED) {
        bly_mutex_lock(&lock);
        value = count_locked();
        bly_fetch_add(&vars[one->var], 2u, BLY_RELAXED);
        bly_mutex_unlock(&lock);
    } else if (bly_mutex_trylock(&lock)) {
        value = count_locked();
        bly_mutex_unlock(&lock);
    }
    return value;
}

static uint64_t run_access(const step *one)
{
    uint32_t *var = &vars[one->var];
    uint32_t expected = 0;
    switch (one->op) {
    case LOAD_RELAXED:
        return bly_load(var, BLY_RELAXED);
    case LOAD_ACQUIRE:
        return bly_load(var, BLY_ACQUIRE);
    case LOAD_SEQ_CST:
        return bly_load(var, BLY_SEQ_CST);
    case STORE_RELAXED:
        bly_store(var, 1u, BLY_RELAXED);
        return 0;
    case STORE_RELEASE:
        bly_store(var, 3u, BLY_RELEASE);
        return 0;
    case STORE_SEQ_CST:
        bly_store(var, 5u, BLY_SEQ_CST);
        return 0;
    case ADD:
        return bly_fetch_add(var, 1u, BLY_ACQ_REL);
    default:
        return bly_cas(var, &expected, 7u, BLY_ACQ_REL, BLY_RELAXED) ? 1 : expected;
    }
}

static uint64_t run_step(thread *self, const step *one)
{
    switch (one->op) {
    case FENCE_SEQ_CST:
        bly_fence(BLY_SEQ_CST);
        return 0;
    case FENCE_ACQ_REL:
        bly_fence(BLY_ACQ_REL);
        return 0;
    case COUNT_LOCKED:
    case TRY_COUNT:
        return run_lock_step(one);
    case WAIT:
        return (uint64_t)bly_futex_wait(&vars[one->var], 0, bly_monotonic_ns() + WAIT_NS);
    case WAKE:
        bly_futex_wake(&vars[one->var], 1);
        return 0;
    case READ_CLOCK:
        return (uint64_t)bly_monotonic_ns();
    case YIELD:
        bly_yield();
        return 0;
    case ADD_OWN:
        return bly_fetch_add(&self->own, 1u, BLY_RELAXED);
    default:
        return run_access(one);
    }
}

static void run_thread(void *arg)
{
    thread *self = arg;
    for (unsigned i = 0; i < self->count; i++) {
        self->seen = mixed(self->seen, run_step(self, &self->steps[i]));
    }
}

static void run_program(void *arg)
{
    int started[THREADS];
    (void)arg;
    vars[0] = vars[1] = counter = 0;
    lock = (bly_mutex){0};
    for (unsigned i = 0; i < thread_count; i++) {
        threads[i].seen = i + 1;
        threads[i].own = 0;
        started[i] = belay_model_start(run_thread, &threads[i]);
    }
    uint64_t outcome = 1;
    for (unsigned i = 0; i < thread_count; i++) {
        belay_model_join(started[i]);
        outcome = mixed(outcome, threads[i].seen);
    }
    outcome = mixed(outcome, bly_load(&vars[0], BLY_RELAXED));
    outcome = mixed(outcome, bly_load(&vars[1], BLY_RELAXED));
    note_outcome(mixed(outcome, counter));
}

static unsigned pick(uint64_t *state, unsigned count)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (unsigned)(*state >> 33) % count;
}

/* Two threads of four steps, or three of at most three. */
static void make_program(uint64_t number)
{
    uint64_t state = number + 1;
    thread_count = 2 + pick(&state, 2);
    for (unsigned i = 0; i < thread_count; i++) {
        threads[i].count = thread_count == 2 ? OPS_MAX : 2 + pick(&state, 2);
        for (unsigned k = 0; k < threads[i].count; k++) {
            threads[i].steps[k] = (step){.op = (enum op)pick(&state, OPS), .var = pick(&state, 2)};
        }
    }
}

static bool collect(outcomes *outcomes_of, uint32_t preemptions, uint32_t is_full)
{
    belay_model_result result;
    belay_model_opts opts = {.size = sizeof opts,
                             .preemptions = preemptions,
                             .spurious = 1,
                             .stale_reads = 1,
                             .is_full = is_full};
    *outcomes_of = (outcomes){.count = 0};
    into = outcomes_of;
    /* The address of the options as the argument: what is known of another program is forgotten. */
    return belay_model_run("program", &opts, &result, run_program, &outcomes_of->count) == 0 &&
           result.is_exhausted;
}

static bool is_subset(const outcomes *some, const outcomes *all)
{
    for (unsigned i = 0; i < OUTCOMES_MAX; i++) {
        unsigned slot = (unsigned)(some->hashes[i] >> 40) & (OUTCOMES_MAX - 1);
        while (some->hashes[i] != 0 && all->hashes[slot] != some->hashes[i]) {
            if (all->hashes[slot] == 0) {
                return false;
            }
            slot = (slot + 1) & (OUTCOMES_MAX - 1);
        }
    }
    return true;
}

static const char *compare_programs(void *arg)
{
    static char text[96];
    (void)arg;
    for (unsigned number = 0; number < PROGRAMS; number++) {
        uint32_t preemptions = number % 3 == 0 ? BELAY_NONE : number % 3;
        make_program(number);
        bool is_whole = collect(&full, preemptions, 1) && collect(&reduced, preemptions, 0);
        if (!is_whole || !is_subset(&full, &reduced) || !is_subset(&reduced, &full)) {
            snprintf(text, sizeof text, "program %u: %u outcomes in full, %u reduced%s", number,
                     full.count, reduced.count, is_whole ? "" : ", not exhausted");
            return text;
        }
    }
    return NULL;
}

static void make_first(void *arg)
{
    (void)arg;
    into = &reduced;
    *into = (outcomes){.count = 0};
    make_program(0);
}

const scenario reduced_scenarios[] = {
    {.name = "engine/reduced-search",
     .fn = run_program,
     .before = make_first,
     .after = compare_programs,
     .opts = {.preemptions = 1, .spurious = 1}},
    {.name = NULL},
};
