/*
 * series.h: recurring jobs of the tests of the scheduler.
 */
#ifndef BELAY_TESTS_SERIES_H
#define BELAY_TESTS_SERIES_H

#include "sched.h"

static inline belay_job series_of(probe *self, int64_t first_ns, int64_t period_ns, uint32_t missed)
{
    belay_job job = job_of(self, first_ns, 0);
    job.next = belay_every;
    job.period_ns = period_ns;
    job.missed = missed;
    return job;
}

static inline void put_job(uint64_t id, const belay_job *job)
{
    ck_assert_int_eq(belay_sched_schedule(test_sched, BELAY_ID(id), job, NULL), 0);
}

/* A `next` of the user's: a fixed step, and a count of how often it was asked. */
typedef struct stepper {
    int64_t step_ns;
    int64_t last_ns; /* the last slot; later ones end the series */
    int asked;
    int64_t asked_slot_ns;
} stepper;

static inline int64_t step(void *arg, int64_t slot_ns, int64_t now_ns)
{
    (void)now_ns;
    stepper *self = arg;
    self->asked++;
    self->asked_slot_ns = slot_ns;
    int64_t next = slot_ns + self->step_ns;
    return next > self->last_ns ? BELAY_FOREVER : next;
}

static inline belay_job stepping_of(probe *self, stepper *steps, uint32_t missed)
{
    belay_job job = series_of(self, 0, 0, missed);
    job.next = step;
    job.next_arg = steps;
    return job;
}

#endif
