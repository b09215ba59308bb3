/*
 * stats.c: what a semaphore tells of itself.
 *
 * The clock is read before the lock, everything else under it, so one answer is one moment.
 */
#include "sem/sem_int.h"

#include "base/opts.h"

#include <string.h>

static int64_t age(int64_t now_ns, int64_t since_ns)
{
    return now_ns > since_ns ? now_ns - since_ns : 0;
}

/* The age of the first lease of a list. */
static int64_t first_age(const bly_list *list, int64_t now_ns)
{
    bly_list *first = bly_list_first(list);
    return first != NULL ? age(now_ns, bly_container(first, belay_lease, link)->since_ns) : 0;
}

static void fill_permits_locked(const belay_sem *sem, belay_sem_metrics *stats)
{
    stats->capacity = sem->capacity;
    stats->available = sem->available;
    stats->held = bly_sem_in_use_locked(sem) - sem->reserved;
    stats->reserved = sem->reserved;
    stats->debt = sem->debt;
    stats->waiting = sem->waiting;
    stats->waiting_max = sem->waiting_max;
    stats->undelivered = sem->undelivered;
    stats->is_closed = sem->is_closed;
    stats->tracks_holders = sem->tracks_holders;
}

static void fill_ages_locked(const belay_sem *sem, belay_sem_metrics *stats, int64_t now_ns)
{
    bly_list *head = bly_list_first(&sem->queue);
    if (head != NULL) {
        stats->head_permits = bly_container(head, belay_lease, link)->permits;
    }
    stats->head_age_ns = first_age(&sem->queue, now_ns);
    if (sem->counts.short_since_ns != BLY_SEM_NOT_READ) {
        stats->head_short_ns = age(now_ns, sem->counts.short_since_ns);
    }
    stats->short_total_ns = sem->counts.short_total_ns + stats->head_short_ns;
    stats->oldest_reserved_ns = first_age(&sem->reserved_order, now_ns);
    stats->oldest_held_ns = first_age(&sem->holders, now_ns);
}

/* Cancels of the last whole second. */
static uint64_t cancel_rate(const bly_sem_counts *counts, int64_t now_ns)
{
    int64_t second = now_ns / BLY_SEM_SECOND_NS;
    if (second <= counts->cancel_second) {
        return counts->cancels_previous;
    }
    return second == counts->cancel_second + 1 ? counts->cancels_now : 0;
}

static void fill_counts_locked(const belay_sem *sem, belay_sem_metrics *stats, int64_t now_ns)
{
    const bly_sem_counts *counts = &sem->counts;
    stats->granted_at_once = counts->granted_at_once;
    stats->granted_waiting = counts->granted_waiting;
    stats->canceled = counts->canceled;
    stats->canceled_per_s = cancel_rate(counts, now_ns);
    stats->timed_out = counts->timed_out;
    stats->closed = counts->closed;
    stats->too_big = counts->too_big;
    stats->refused_full = counts->refused_full;
    stats->late_cancels = counts->late_cancels;
    /* relaxed: counters of their own; nothing is ordered by them. */
    stats->releases_refused = bly_load(&sem->doubles, BLY_RELAXED);
    stats->deliveries_inline = bly_load(&sem->refused, BLY_RELAXED);
    stats->wait_p50_ns = (int64_t)bly_hist_quantile(&counts->waits, 500);
    stats->wait_p99_ns = (int64_t)bly_hist_quantile(&counts->waits, 990);
    stats->wait_max_ns = (int64_t)counts->waits.max;
}

int belay_sem_stats(belay_sem *sem, belay_sem_metrics *ret_metrics)
{
    if (sem == NULL || ret_metrics == NULL || ret_metrics->size < sizeof ret_metrics->size ||
        ret_metrics->size > BLY_OPTS_SIZE_MAX) {
        return BELAY_EINVAL;
    }
    belay_sem_metrics stats = {.size = ret_metrics->size};
    int64_t now_ns = sem->clock->now(sem->clock);
    bly_sem_lock(sem);
    fill_permits_locked(sem, &stats);
    fill_ages_locked(sem, &stats, now_ns);
    fill_counts_locked(sem, &stats, now_ns);
    bly_sem_unlock(sem);
    memcpy(stats.name, sem->name, sizeof sem->name);
    size_t known = stats.size < sizeof stats ? stats.size : sizeof stats;
    memset(ret_metrics, 0, stats.size);
    memcpy(ret_metrics, &stats, known);
    return 0;
}
