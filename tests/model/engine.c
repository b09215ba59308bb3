/*
 * engine.c: the explorer on code that is right, and the scenario that its speed is measured with.
 */
#include "scenario.h"

static uint32_t shared_count;
static bly_mutex lock;

static void add_some(void *arg)
{
    (void)arg;
    for (int i = 0; i < 6; i++) {
        bly_fetch_add(&shared_count, 1u, BLY_RELAXED);
        (void)bly_load(&shared_count, BLY_ACQUIRE);
    }
}

/* Three threads, 40 operations: what ./dev bench model measures. */
static void forty_steps(void *arg)
{
    int started[3];
    shared_count = 0;
    for (int i = 0; i < 3; i++) {
        started[i] = belay_model_start(add_some, arg);
    }
    for (int i = 0; i < 3; i++) {
        belay_model_join(started[i]);
    }
    belay_model_check(shared_count == 18);
}

static void count_locked(void *arg)
{
    (void)arg;
    for (int i = 0; i < 2; i++) {
        bly_mutex_lock(&lock);
        bly_write(&shared_count, bly_read(&shared_count) + 1);
        bly_mutex_unlock(&lock);
    }
}

static void locked_counter(void *arg)
{
    shared_count = 0;
    lock = (bly_mutex){0};
    int first = belay_model_start(count_locked, arg);
    int second = belay_model_start(count_locked, arg);
    belay_model_join(first);
    belay_model_join(second);
    belay_model_check(shared_count == 4);
    bly_mutex_destroy(&lock);
}

const scenario engine_scenarios[] = {
    {.name = "engine/forty-steps", .fn = forty_steps},
    {.name = "engine/locked-counter",
     .fn = locked_counter,
     .opts = {.preemptions = BELAY_UNBOUNDED}},
    {.name = NULL},
};
