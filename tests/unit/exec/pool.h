/*
 * pool.h: what the tests of the executor share: pools of any settings, tasks that count, gates that
 * threads wait at. Nothing here sleeps: who waits, waits for an event.
 */
#ifndef BELAY_TESTS_EXEC_POOL_H
#define BELAY_TESTS_EXEC_POOL_H

#include "belay/exec.h"
#include "exec/tuning.h"
#include "sync/sync.h"

#include <check.h>

/* A gate that is closed until somebody opens it, and a counter that somebody waits for. */
typedef struct event {
    uint32_t value;
} event;

static inline void event_add(event *self, uint32_t count)
{
    bly_fetch_add(&self->value, count, BLY_SEQ_CST);
    bly_futex_wake(&self->value, BLY_WAKE_ALL);
}

static inline uint32_t event_value(const event *self)
{
    return bly_load(&self->value, BLY_SEQ_CST);
}

static inline void event_await(event *self, uint32_t at_least)
{
    for (uint32_t value = event_value(self); value < at_least; value = event_value(self)) {
        (void)bly_futex_wait(&self->value, value, BELAY_FOREVER);
    }
}

static inline belay_exec *pool_tuned(belay_exec_opts opts, bly_exec_tuning tuning)
{
    belay_exec *exec = NULL;
    opts.size = sizeof opts;
    ck_assert_int_eq(bly_exec_create_tuned(&opts, &tuning, &exec), 0);
    ck_assert_ptr_nonnull(exec);
    return exec;
}

static inline belay_exec *pool_of(uint32_t workers)
{
    return pool_tuned((belay_exec_opts){.workers = workers}, bly_exec_tuning_default());
}

static inline belay_exec_stats_data pool_stats(belay_exec *exec)
{
    belay_exec_stats_data metrics = {.size = sizeof metrics};
    ck_assert_int_eq(belay_exec_stats(exec, &metrics), 0);
    return metrics;
}

/* Waits for the end and checks what holds for every pool then. Gives the final counters. */
static inline belay_exec_stats_data pool_await(belay_exec *exec)
{
    ck_assert_int_eq(belay_exec_await_termination(exec, BELAY_FOREVER), 0);
    belay_exec_stats_data metrics = pool_stats(exec);
    ck_assert_uint_eq(metrics.state, BELAY_EXEC_TERMINATED);
    ck_assert_uint_eq(metrics.outstanding, 0);
    ck_assert_uint_eq(metrics.queued_roots, 0);
    ck_assert_uint_eq(metrics.total.queued, 0);
    ck_assert_uint_eq(metrics.sleeping, 0);
    return metrics;
}

static inline belay_exec_stats_data pool_end(belay_exec *exec)
{
    ck_assert_int_eq(belay_exec_shutdown(exec), 0);
    belay_exec_stats_data metrics = pool_await(exec);
    ck_assert_int_eq(belay_exec_destroy(exec), 0);
    return metrics;
}

/* A bare task that counts how often it was run and dropped, and tells an event. */
typedef struct counted {
    belay_task task;
    uint32_t runs;  /* atomic */
    uint32_t drops; /* atomic */
    event *told;    /* NULL: nobody */
} counted;

static inline void counted_run(belay_task *task)
{
    counted *self = bly_container(task, counted, task);
    event *told = self->told;
    bly_fetch_add(&self->runs, 1u, BLY_RELAXED);
    if (told != NULL) {
        event_add(told, 1);
    }
}

static inline void counted_drop(belay_task *task, int why)
{
    counted *self = bly_container(task, counted, task);
    event *told = self->told;
    ck_assert_int_eq(why, BELAY_DROP_SHUTDOWN);
    bly_fetch_add(&self->drops, 1u, BLY_RELAXED);
    if (told != NULL) {
        event_add(told, 1);
    }
}

static inline counted counted_of(event *told)
{
    return (counted){.task = {.run = counted_run, .drop = counted_drop}, .told = told};
}

/* A task that says that it has begun and then holds its worker until the gate opens. */
typedef struct holder {
    belay_task task;
    event begun;
    event gate;
} holder;

static inline void holder_run(belay_task *task)
{
    holder *self = bly_container(task, holder, task);
    event_add(&self->begun, 1);
    event_await(&self->gate, 1);
}

/* Submits the holder and waits until it holds a worker. */
static inline void hold_worker(belay_exec *exec, holder *self)
{
    *self = (holder){.task = {.run = holder_run}};
    ck_assert_int_eq(belay_exec_submit(exec, &self->task), 0);
    event_await(&self->begun, 1);
}

static inline void release_worker(holder *self)
{
    event_add(&self->gate, 1);
}

#endif
