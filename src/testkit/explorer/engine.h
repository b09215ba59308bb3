/*
 * engine.h: the explorer's inside, shared by the files of this folder.
 *
 * One execution is one run of a scenario. Its threads are fibers on the calling thread; each
 * operation of the seam first calls model_point, where another thread may be chosen. Whatever may
 * go one way or another is a decision, and the list of decisions is the trace: feeding it back
 * repeats the execution exactly.
 */
#ifndef BLY_TESTKIT_EXPLORER_ENGINE_H
#define BLY_TESTKIT_EXPLORER_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "belay/model.h"
#include "sync/sync.h"
#include "testkit/explorer/fiber.h"

#define MODEL_THREADS_MAX   8     /* the lanes of a vector clock */
#define MODEL_DECISIONS_MAX 20000 /* an execution that decides more is a livelock */
#define MODEL_MESSAGE_MAX   512
#define MODEL_STEP          UINT64_C(0x8d2e5ac1f0b3a697) /* what a step adds to a past: odd */
#define MODEL_START_NS      INT64_C(1000000000)          /* what the virtual clock shows at first */

/* A vector clock: for each thread, how many of its events are known. */
typedef int16_t model_clock __attribute__((vector_size(16)));

/*
 * What a thread knows. `happened` is happens-before; `visible` holds in addition the events that a
 * sequentially consistent fence makes visible without ordering them.
 */
typedef struct model_view {
    model_clock happened;
    model_clock visible;
} model_view;

static inline model_clock model_clock_join(model_clock a, model_clock b)
{
    model_clock a_is_later = a > b;
    return (a & a_is_later) | (b & ~a_is_later);
}

/* True when something in the clock is not known in the other one. */
static inline bool model_clock_exceeds(model_clock clock, model_clock known)
{
    model_clock lanes = clock > known;
    uint64_t halves[2];
    memcpy(halves, &lanes, sizeof halves);
    return (halves[0] | halves[1]) != 0;
}

static inline void model_view_join(model_view *into, const model_view *from)
{
    into->happened = model_clock_join(into->happened, from->happened);
    into->visible = model_clock_join(into->visible, from->visible);
}

/* Mixes a number into a hash of what has been so far. */
static inline uint64_t model_mix(uint64_t past, uint64_t seen)
{
    uint64_t mixed = (past + UINT64_C(0x2545f4914f6cdd1d)) * UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ (mixed >> 32) ^ seen) * UINT64_C(0xd6e8feb86659fd93);
    return mixed ^ (mixed >> 29);
}

enum model_state {
    MODEL_FREE,      /* not started in this execution */
    MODEL_RUNNABLE,  /* may be chosen */
    MODEL_ON_MUTEX,  /* waits for wait_on, a bly_mutex */
    MODEL_ON_FUTEX,  /* waits on wait_on, a word, until until_ns */
    MODEL_ON_THREAD, /* joins the thread wait_on */
    MODEL_ENDED
};

typedef struct model_thread {
    model_view view;     /* what it knows now */
    model_view released; /* what it knew at its last release fence */
    model_view read;     /* what it read without acquiring, for its next acquire fence */
    bly_fiber fiber;
    enum model_state state;
    bool has_timed_out;   /* its wait ended by its deadline */
    bool is_owed;         /* bly_thread_create made it, and it is neither joined nor detached */
    uint64_t past;        /* of all that it has done and seen: see state.c */
    uint32_t index;       /* its lane */
    uint32_t fence_epoch; /* of its last sequentially consistent fence */
    uint64_t wait_seq;    /* order of arrival at a futex */
    const void *wait_on;
    const void *wants; /* the free lock that it takes when it is chosen */
    int64_t until_ns;
    const char *where; /* the source line of its current operation */
    const char *operation;
    void (*fn)(void *);
    void *arg;
    void *locals[BLY_LOCAL_COUNT];
} model_thread;

/* What an option of a decision costs; each class has a budget an execution. */
enum model_cost {
    MODEL_COST_FREE,
    MODEL_COST_PREEMPT,
    MODEL_COST_TIMEOUT,
    MODEL_COST_SPURIOUS,
    MODEL_COST_STALE,
    MODEL_COST_ALLOC,
    MODEL_COST_COUNT
};

enum model_kind {
    MODEL_KIND_THREAD,
    MODEL_KIND_READ,
    MODEL_KIND_WAKE,
    MODEL_KIND_ALLOC,
    MODEL_KIND_CHOICE
};

/*
 * A decision: its options are numbered from 0, the free ones first, then those of the classes that
 * its kind has, in the order of enum model_cost.
 */
typedef struct model_decision {
    uint8_t kind;
    uint8_t chosen;
    uint8_t counts[MODEL_COST_COUNT]; /* options in each class */
    /* What model_decide adds. */
    uint8_t cost;   /* the class of the chosen option */
    uint8_t thread; /* that was chosen, where the kind is that */
    bool is_fixed; /* depth first leaves it at 0: before an operation on what nobody contends for */
} model_decision;

typedef struct model_strategy model_strategy;

/* How decisions are made. One object a run. */
struct model_strategy {
    void (*begin)(model_strategy *self);                              /* an execution begins */
    unsigned (*choose)(model_strategy *self, const model_decision *); /* past the fixed prefix */
    unsigned (*choose_thread)(model_strategy *self, const model_decision *, const uint8_t *threads);
    bool (*next)(model_strategy *self); /* false: everything has been explored */
};

typedef struct model_engine {
    /* The run: constant while it lasts. */
    const belay_model_opts *opts;
    model_strategy *strategy;
    bool is_reducing; /* depth first, without what another execution shows as well */
    bool is_walking; /* depth first: the given decisions but the last are those of the run before */
    bool has_learned; /* an object turned out to be contended for: depth first begins again */
    uint32_t budgets[MODEL_COST_COUNT]; /* options of a class that one execution may take */
    bool is_logging;
    uint64_t total_steps; /* of all its executions */
    uint64_t total_cut;   /* executions that led to a state seen before */

    /* The execution. */
    model_thread *current;
    uint32_t runnable;     /* bit i: thread i is MODEL_RUNNABLE and has not yielded */
    uint32_t yielded;      /* bit i: yielded, and may run when another thread has stepped */
    uint32_t timed;        /* bit i: waits with a deadline */
    uint32_t thread_count; /* started so far, the first included */
    uint32_t steps;
    uint32_t decision_count;
    uint32_t prefix_count; /* decisions [0, prefix_count) are given, not chosen */
    uint32_t spent[MODEL_COST_COUNT];
    uint32_t sc_epoch; /* sequentially consistent stores and fences so far */
    uint64_t wait_seq;
    int64_t now_ns;
    uint64_t fences_past;  /* of the last sequentially consistent fence */
    model_clock sc_fences; /* what has been made visible by sequentially consistent fences */
    bool has_failed;
    bool is_cut; /* its end has been seen before: it leads to an explored state */
    char message[MODEL_MESSAGE_MAX];
    void (*invariant)(void *); /* the scenario's, called before every operation */
    void *invariant_arg;
    bool is_observing;   /* inside the invariant: nothing is a step */
    bool is_local;       /* the operation that comes is on an object that nobody contends for */
    uint32_t last_local; /* the decision made before it; UINT32_MAX: none */
    bool is_raw;         /* one thread alone so far, or observing: operations are plain */

    uintptr_t stacks_low; /* all fibers' stacks lie between: constant once open */
    uintptr_t stacks_high;
    model_thread threads[MODEL_THREADS_MAX];
    bly_fiber home; /* the caller of the explorer */
    model_decision decisions[MODEL_DECISIONS_MAX];
} model_engine;

extern model_engine model;

/* engine.c */
void model_point_slow(const char *operation, const char *where);
void model_step(const char *operation, const char *where);
void model_block(enum model_state state, const void *wait_on, int64_t until_ns);
bool model_wakes_for_nothing(void);
void model_wake(model_thread *thread);
void model_yield(void);
model_thread *model_start_thread(void (*fn)(void *), void *arg);
unsigned model_decide(const model_decision *options, const uint8_t *threads);
_Noreturn void model_cut(void);
_Noreturn void model_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
void model_execute(void (*fn)(void *), void *arg);
bool model_engine_open(void);

/* sync.c: locks, waiting, threads, time and random numbers. */
void model_sync_reset(void);
void model_thread_end(model_thread *thread);

/* memory.c: atomics with a short history, and marked plain data. */
void model_memory_reset(void);
void model_memory_note_wait(const uint32_t *word);
/* Fails when an access to memory that is being freed did not happen before. */
void model_memory_check_free(const void *block, size_t size);

/* arena.c: the memory of one execution. */
bool model_arena_open(void);
void model_arena_reset(void);
void model_arena_check_address(const void *ptr, const char *what);
size_t model_arena_leaks(size_t *ret_first_size, const char **ret_where);

/* state.c: states that have been explored. */
bool model_states_reset(void);
bool model_state_was_seen(void);

/* contention.c: objects that threads contend for. */
void model_contention_reset(void (*fn)(void *), void *arg);
bool model_is_contended(const void *object);
void model_note_contention(const void *object);
void model_note_yield(void);

/* trace.c */
void model_log(const char *operation, const void *ptr, uint64_t value, const char *note);
void model_log_reset(void);
char *model_trace_format(const model_decision *decisions, uint32_t count);
bool model_trace_parse(const char *text, model_decision *decisions, uint32_t *ret_count);
void model_trace_print_table(void);

/* strategy.c */
model_strategy *model_strategy_dfs(void);
model_strategy *model_strategy_random(uint64_t seed);
model_strategy *model_strategy_pct(uint64_t seed, uint32_t depth);
model_strategy *model_strategy_replay(void);

static inline unsigned model_decision_options(const model_decision *decision)
{
    unsigned total = 0;
    for (unsigned cost = 0; cost < MODEL_COST_COUNT; cost++) {
        total += decision->counts[cost];
    }
    return total;
}

/* The class that an option of a decision is in. */
static inline enum model_cost model_decision_cost(const model_decision *decision, unsigned option)
{
    unsigned cost = 0;
    while (option >= decision->counts[cost]) {
        option -= decision->counts[cost];
        cost++;
    }
    return (enum model_cost)cost;
}

/* model_saw: an operation of the current thread was given this answer. */
static inline void model_saw(uint64_t answer)
{
    if (model.is_reducing) {
        model.current->past = model_mix(model.current->past, answer);
    }
}

/*
 * model_point: an operation of the current thread is about to take effect; another thread may run
 * first. Quick where nothing but going on is possible.
 */
static inline void model_point(const char *operation, const char *where)
{
    model_thread *self = model.current;
    if (model.is_observing) {
        return;
    }
    self->where = where;
    self->operation = operation;
    model.steps++;
    self->past += MODEL_STEP;
    model.last_local = UINT32_MAX;
    if (model.runnable != 1U << self->index || (model.timed | model.yielded) != 0 ||
        model.invariant != NULL || model.steps > model.opts->steps_max) {
        model_point_slow(operation, where);
    }
}

/* The operation that came last has told others something: depth first branches before it. */
static inline void model_not_local(void)
{
    if (model.last_local != UINT32_MAX) {
        model.decisions[model.last_local].is_fixed = false;
    }
}

/* model_point_on: the same of an operation on an object, for which nobody may contend. */
static inline void model_point_on(const void *object, const char *operation, const char *where)
{
    model.is_local = model.is_reducing && !model_is_contended(object);
    model_point(operation, where);
    model.is_local = false;
}

#endif
