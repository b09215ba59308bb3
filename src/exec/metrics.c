/*
 * metrics.c: reading the counters.
 *
 * Each counter has one writer, the worker's thread, so counting costs a load and a store. A reader
 * gets each number as it was at some instant; numbers of one reading need not be of the same one.
 */
#include "base/opts.h"
#include "exec/exec_int.h"

#include <string.h>

#define COUNTERS (sizeof(belay_exec_worker_stats_data) / sizeof(uint64_t))

_Static_assert(sizeof(belay_exec_worker_stats_data) % sizeof(uint64_t) == 0, "counters alone");

/* Reads a worker's counters one by one: they are written meanwhile. */
static belay_exec_worker_stats_data read_worker(const belay_exec *exec, uint32_t number)
{
    const bly_worker *worker = exec->workers[number];
    const uint64_t *from = &worker->sum.executed;
    uint64_t counters[COUNTERS];
    for (size_t i = 0; i < COUNTERS; i++) {
        counters[i] = bly_load(&from[i], BLY_RELAXED); /* relaxed: numbers, no order */
    }
    belay_exec_worker_stats_data metrics;
    memcpy(&metrics, counters, sizeof metrics);
    metrics.queued = exec->tuning.deque->size(worker->deque) + bly_inbox_count(&worker->inbox);
    return metrics;
}

static void add(belay_exec_worker_stats_data *sum, const belay_exec_worker_stats_data *metrics)
{
    uint64_t most = sum->queued_max > metrics->queued_max ? sum->queued_max : metrics->queued_max;
    uint64_t *to = &sum->executed;
    const uint64_t *from = &metrics->executed;
    for (size_t i = 0; i < COUNTERS; i++) {
        to[i] += from[i];
    }
    sum->queued_max = most;
}

int belay_exec_stats(belay_exec *exec, belay_exec_stats_data *ret_stats)
{
    if (exec == NULL || ret_stats == NULL || ret_stats->size < sizeof ret_stats->size ||
        ret_stats->size > BLY_OPTS_SIZE_MAX) {
        return BELAY_EINVAL;
    }
    belay_exec_stats_data metrics = {.size = ret_stats->size, .workers = exec->worker_count};
    metrics.state = (uint32_t)bly_life_state(&exec->life);
    metrics.sleeping = bly_idle_sleepers(&exec->idle);
    metrics.outstanding = bly_life_outstanding(&exec->life);
    metrics.queued_roots =
        bly_load(&exec->queued_roots, BLY_RELAXED); /* relaxed: see read_worker */
    metrics.deliveries_inline = bly_load(&exec->deliveries_inline, BLY_RELAXED);
    for (uint32_t i = 0; i < exec->worker_count; i++) {
        belay_exec_worker_stats_data of_worker = read_worker(exec, i);
        add(&metrics.total, &of_worker);
    }
    size_t known = metrics.size < sizeof metrics ? metrics.size : sizeof metrics;
    memset(ret_stats, 0, metrics.size);
    memcpy(ret_stats, &metrics, known);
    return 0;
}

int belay_exec_worker_stats(belay_exec *exec, uint32_t worker,
                            belay_exec_worker_stats_data *ret_stats)
{
    if (exec == NULL || ret_stats == NULL || worker >= exec->worker_count) {
        return BELAY_EINVAL;
    }
    *ret_stats = read_worker(exec, worker);
    return 0;
}
