/*
 * jobs.h: a scheduler for scenarios of the explorer, and jobs that count their runs and drops.
 */
#ifndef BELAY_TESTS_MODEL_JOBS_H
#define BELAY_TESTS_MODEL_JOBS_H

#include "scenario.h"

#include "belay/cancel.h"
#include "belay/sched.h"

#define DELAY_NS 1000
#define MANY     150

typedef struct world {
    belay_sched *sched;
    belay_claim *claim;      /* atomic: of the job that runs; NULL before */
    belay_cancel *tokens[2]; /* what each asker got */
    uint32_t asked;          /* atomic: who has got one */
    uint32_t is_canceled;    /* atomic: cancel has returned */
    uint32_t before;         /* plain: written before a cancel */
    uint32_t in_fn;          /* plain: written by fn */
    uint32_t elsewhere;      /* plain: written before belay_claim_done */
    uint32_t runs;           /* atomic */
    uint32_t drops;          /* atomic */
    uint32_t inside;         /* atomic */
    uint32_t inside_max;     /* constant while jobs run */
    int result;              /* of belay_sched_start */
} world;

static world *now;

static inline void open_world(const belay_sched_opts *opts)
{
    now = bly_alloc(sizeof *now);
    now->inside_max = 1;
    belay_model_check(belay_sched_create(opts, &now->sched) == 0);
}

static inline void destroy_world(void)
{
    belay_model_check(belay_sched_await(now->sched, BELAY_FOREVER) == 0);
    belay_model_check(belay_sched_destroy(now->sched) == 0);
    bly_free(now);
}

static inline void close_world(void)
{
    (void)belay_sched_close(now->sched, BELAY_CLOSE_DISCARD);
    destroy_world();
}

static inline void count_drop(void *arg, int why)
{
    (void)arg;
    belay_model_check(why != 0);
    bly_fetch_add(&now->drops, 1u, BLY_RELAXED);
}

static inline belay_job job_of(belay_job_fn *fn, int64_t run_at_ns)
{
    return (belay_job){
        .size = sizeof(belay_job), .fn = fn, .drop = count_drop, .run_at_ns = run_at_ns};
}

static inline void put(uint64_t id, const belay_job *job)
{
    int result = belay_sched_schedule(now->sched, BELAY_ID(id), job, NULL);
    belay_model_check(result >= 0);
}

static inline int count_run(belay_claim *claim, void *arg)
{
    (void)claim;
    (void)arg;
    belay_model_check(bly_fetch_add(&now->inside, 1u, BLY_RELAXED) < now->inside_max);
    bly_fetch_add(&now->runs, 1u, BLY_RELAXED);
    bly_fetch_sub(&now->inside, 1u, BLY_RELAXED);
    return 0;
}

/* A scenario within the bounds that these all have, but for that of preemptions. */
#define SCHED_SCENARIO(title, function, argument, bound)                                           \
    {                                                                                              \
        .name = "sched/" title, .fn = function, .arg = argument, .opts = {                         \
            .preemptions = bound,                                                                  \
            .spurious = 1,                                                                         \
            .stale_reads = 2                                                                       \
        }                                                                                          \
    }

#endif
