/*
 * belay/model.h: the explorer: runs a concurrent scenario under every schedule that matters.
 *
 * Link with libbelay_model instead of libbelay and define BELAY_MODEL, as `pkg-config belay-model`
 * and the CMake target belay::model do: then every lock, wait and atomic operation of belay, and of
 * code written with belay/seam.h, is a point where the explorer chooses who runs. Threads are
 * fibers of the calling thread, the clock is virtual, and nothing sleeps. A run that fails prints
 * a trace that replays it, byte for byte.
 */
#ifndef BELAY_MODEL_H
#define BELAY_MODEL_H

#include "belay/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How schedules are chosen. */
enum belay_model_strategy {
    BELAY_MODEL_DFS = 0,    /* every schedule within the bounds below, depth first */
    BELAY_MODEL_RANDOM = 1, /* uniformly at random */
    BELAY_MODEL_PCT = 2     /* random priorities with few changes (Burckhardt and others, 2010) */
};

/* Bounds and choices of a run. Zero means the default. BELAY_NONE in a bound means zero. */
typedef struct belay_model_opts {
    uint32_t size;        /* sizeof(belay_model_opts) */
    uint32_t strategy;    /* enum belay_model_strategy */
    uint32_t preemptions; /* switches away from a thread that could go on; 0: 3; BELAY_UNBOUNDED */
    uint32_t timeouts;    /* deadlines that pass while others could run; 0: BELAY_UNBOUNDED */
    uint32_t spurious;    /* waits that end for no reason; 0: BELAY_NONE */
    uint32_t stale_reads; /* atomic loads that do not see the newest store; 0: 1 */
    uint32_t alloc_failures; /* allocations that fail; 0: BELAY_NONE */
    uint32_t pct_depth;      /* ordering points of PCT; 0: 3 */
    uint32_t steps_max;      /* operations an execution; more is a livelock; 0: 10,000 */
    uint32_t is_quiet;       /* 1: print nothing, not even a failure */
    uint32_t is_full;        /* 1: depth first explores a state again that it has seen before */
    uint64_t executions_max; /* 0: no bound */
    int64_t time_max_ns;     /* of the machine's clock; 0: no bound */
    uint64_t seed;           /* of random choices; 0: 1 */
    const char *replay;      /* a trace as printed; NULL: explore */
} belay_model_opts;

/* What a run found. */
typedef struct belay_model_result {
    uint64_t executions; /* done */
    uint64_t cut;        /* of them, those that ended in a state seen before */
    uint64_t steps;      /* operations in all of them */
    bool is_exhausted;   /* depth first: nothing within the bounds is left */
    bool has_failed;     /* the last execution failed; message and trace say how */
    char message[512];   /* what failed */
    char trace[2048];    /* minimised; give it to `replay` */
} belay_model_result;

/*
 * belay_model_run: runs fn(arg) as the first thread of one execution after another until it fails,
 * all is explored, or a bound is reached. fn creates threads with belay_model_start, ends them with
 * belay_model_join, and frees what it made: what is left over is a leak and fails the execution. So
 * does a thread of belay that is neither joined nor detached.
 * On failure the message, the trace and a table with a column a thread go to standard output.
 * Returns 0 when no execution failed. Errors: BELAY_EINVAL (of the arguments), BELAY_EBUSY (called
 * from inside a run), BELAY_ENOMEM, BELAY_EINVAL (`replay` is no trace), BELAY_ECANCELED (an
 * execution failed; *ret_result says how); in this order.
 * Context: one thread of the process at a time.
 */
int belay_model_run(const char *name, const belay_model_opts *opts, belay_model_result *ret_result,
                    void (*fn)(void *arg), void *arg);

/*
 * belay_model_start: a thread of the explored program that calls fn(arg). Gives its number, for
 * belay_model_join. At most 7 in one execution. Context: inside a run.
 */
int belay_model_start(void (*fn)(void *arg), void *arg);

/* belay_model_join: waits until that thread has ended. Context: inside a run. */
void belay_model_join(int thread);

/* belay_model_choose: a decision of the test's own, 0 to options - 1. Context: inside a run. */
unsigned belay_model_choose(unsigned options);

/*
 * belay_model_check: fails the execution, with the text of the condition, when it does not hold.
 * belay_model_fail: fails it with a message of the caller's. Context: inside a run.
 */
#define belay_model_check(condition)                                                               \
    ((condition) ? (void)0 : belay_model_fail(#condition, __FILE__, __LINE__))
void belay_model_fail(const char *message, const char *file, int line);

/*
 * belay_model_invariant: fn(arg) is called before every operation of the execution, on no thread's
 * account; it may read, and call belay_model_check. NULL ends it. Context: inside a run.
 */
void belay_model_invariant(void (*fn)(void *arg), void *arg);

#ifdef __cplusplus
}
#endif

#endif
