/*
 * sched.h: what the tests of the scheduler share: a scheduler on a manual clock, jobs that note
 * when they ran and how they were dropped, and an executor that is stepped by hand.
 */
#ifndef BELAY_TESTS_SCHED_H
#define BELAY_TESTS_SCHED_H

#include "unit.h"

#include "belay/sched.h"
#include "belay/test.h"

#include <string.h>

#define MS     INT64_C(1000000)
#define SECOND INT64_C(1000000000)

#define NOTES_MAX 4096

/* What happened to one job, in the test's own storage. */
typedef struct probe {
    int status;      /* what its fn returns */
    int runs;        /* how often fn was called */
    int drops;       /* how often drop was called */
    int why;         /* the reason that the last drop was told */
    uint64_t missed; /* of the last run */
    uint64_t missed_sum;
    int64_t slot_ns;                     /* of the last run */
    int64_t due_ns;                      /* of the last run */
    belay_claim *claim;                  /* of the last run */
    void (*inside)(struct probe *self);  /* called from fn */
    void (*dropped)(struct probe *self); /* called from drop */
    belay_sched *sched;
    int number;
} probe;

/* The order in which probes ran, by number, and were dropped, by -number. */
static int notes[NOTES_MAX];
static int note_count;

static inline void note(int number)
{
    ck_assert_int_lt(note_count, NOTES_MAX);
    notes[note_count++] = number;
}

static inline int probe_fn(belay_claim *claim, void *arg)
{
    probe *self = arg;
    belay_claim_details details = {.size = sizeof details};
    ck_assert_int_eq(belay_claim_info(claim, &details), 0);
    self->runs++;
    self->missed = details.missed;
    self->missed_sum += details.missed;
    self->slot_ns = details.slot_ns;
    self->due_ns = details.due_ns;
    self->claim = claim;
    if (self->number != 0) {
        note(self->number);
    }
    if (self->inside != NULL) {
        self->inside(self);
    }
    return self->status;
}

static inline void probe_drop(void *arg, int why)
{
    probe *self = arg;
    self->drops++;
    self->why = why;
    if (self->number != 0) {
        note(-self->number);
    }
    if (self->dropped != NULL) {
        self->dropped(self);
    }
}

/* A job that runs once at run_at_ns and notes it in the probe. */
static inline belay_job job_of(probe *self, int64_t run_at_ns, int32_t priority)
{
    return (belay_job){.size = sizeof(belay_job),
                       .priority = priority,
                       .run_at_ns = run_at_ns,
                       .fn = probe_fn,
                       .arg = self,
                       .drop = probe_drop};
}

/* The fixture of the tests that use it. */
static belay_clock *test_clock;
static belay_sched *test_sched;
static belay_test_exec *test_exec;

static inline void make_with(belay_sched_opts opts)
{
    ck_assert_int_eq(belay_manual_clock_create(0, 0, &test_clock), 0);
    opts.size = sizeof opts;
    opts.clock = test_clock;
    ck_assert_int_eq(belay_sched_create(&opts, &test_sched), 0);
}

static inline void make(void)
{
    make_with((belay_sched_opts){0});
}

/* The scheduler is started on an executor that the test steps. */
static inline void make_started(uint32_t running_max)
{
    make();
    belay_test_exec_opts opts = {.size = sizeof opts, .clock = test_clock};
    ck_assert_int_eq(belay_test_exec_create(&opts, &test_exec), 0);
    ck_assert_int_eq(
        belay_sched_start(test_sched, belay_test_exec_executor(test_exec), running_max), 0);
}

static inline void unmake(void)
{
    ck_assert_int_eq(belay_sched_close(test_sched, BELAY_CLOSE_DISCARD), 0);
    if (test_exec != NULL) {
        ck_assert_int_ge(belay_test_exec_run(test_exec, 0), 0);
    }
    ck_assert_int_eq(belay_sched_await(test_sched, BELAY_NOW), 0);
    ck_assert_int_eq(belay_sched_destroy(test_sched), 0);
    ck_assert_int_eq(belay_test_exec_destroy(test_exec), 0);
    ck_assert_int_eq(belay_manual_clock_destroy(test_clock), 0);
    test_sched = NULL;
    test_exec = NULL;
}

static inline void advance(int64_t to_ns)
{
    ck_assert_int_eq(belay_manual_clock_advance(test_clock, to_ns), 0);
}

static inline int64_t now(void)
{
    return belay_clock_now(test_clock);
}

static inline int put(uint64_t id, probe *self, int64_t run_at_ns, int32_t priority)
{
    belay_job job = job_of(self, run_at_ns, priority);
    return belay_sched_schedule(test_sched, BELAY_ID(id), &job, NULL);
}

/* Claims and runs one due job; the result of the claim. */
static inline int run_one(void)
{
    belay_claim *claim = NULL;
    int result = belay_sched_next(test_sched, BELAY_NOW, &claim, NULL);
    if (result == 0) {
        ck_assert_int_ge(belay_claim_run(claim), 0);
    }
    return result;
}

/* Runs all that is due now; how many. */
static inline int run_due(void)
{
    int count = 0;
    while (run_one() == 0) {
        count++;
    }
    return count;
}

/* Steps the executor until it has nothing left; how many tickets ran. */
static inline int run_exec(void)
{
    return belay_test_exec_run(test_exec, 0);
}

static inline belay_sched_metrics stats(void)
{
    belay_sched_metrics metrics = {.size = sizeof metrics};
    ck_assert_int_eq(belay_sched_stats(test_sched, &metrics), 0);
    return metrics;
}

/* The state of an id as belay_sched_query tells it, or its error. */
static inline int state_of(uint64_t id)
{
    belay_job_info info = {.size = sizeof info};
    int result = belay_sched_query(test_sched, BELAY_ID(id), &info);
    return result == 0 ? info.state : result;
}

#endif
