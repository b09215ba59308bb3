/*
 * stats.c: what a scheduler tells of itself and of its jobs.
 */
#include "sched/sched_int.h"

#include "base/opts.h"

/* The bit length: 0 for 0, i for 2^(i-1) to 2^i - 1. */
static uint32_t bits_of(uint64_t value)
{
    return value == 0 ? 0 : 64u - (uint32_t)__builtin_clzll(value);
}

static uint32_t band_of(int16_t priority)
{
    if (priority < 0) {
        return 0;
    }
    uint32_t bits = bits_of((uint64_t)priority);
    if (bits <= 4) {
        return 1 + bits; /* 0, 1, 2-3, 4-7, 8-15 */
    }
    return bits <= 8 ? 6 : 7;
}

void bly_count_claim_locked(belay_sched *sched, const bly_job *job)
{
    bly_assert_debug(bly_mutex_is_mine(&sched->lock));
    belay_sched_metrics *counts = &sched->counts;
    int64_t since = job->run_at_ns > job->submitted_ns ? job->run_at_ns : job->submitted_ns;
    int64_t late = sched->last_now > since ? sched->last_now - since : 0;
    uint32_t bucket = bits_of((uint64_t)late);
    counts->lateness[bucket < BELAY_SCHED_LATENESS_BUCKETS ? bucket
                                                           : BELAY_SCHED_LATENESS_BUCKETS - 1]++;
    if (late > counts->lateness_max_ns) {
        counts->lateness_max_ns = late;
    }
    belay_sched_wait *wait = &counts->wait[band_of(job->priority)];
    wait->count++;
    wait->sum_ns = belay_time_add(wait->sum_ns, late);
    if (late > wait->max_ns) {
        wait->max_ns = late;
    }
    /* claims counts this claim already. At most due_before of the others were due first. */
    uint64_t claims = sched->claims - 1 - job->claims_before;
    if (sched->aging_ns != 0 && claims > job->due_before) {
        uint64_t overtaken = claims - job->due_before;
        counts->overtaken_max =
            overtaken > counts->overtaken_max ? overtaken : counts->overtaken_max;
    }
}

static int64_t oldest_due_locked(const belay_sched *sched)
{
    bly_assert_debug(bly_mutex_is_mine(&sched->lock));
    const bly_job *job = bly_versions_first(&sched->versions, BLY_IN_FUTURE);
    const bly_list *link = bly_list_first(&sched->due);
    if (link != NULL) {
        const bly_job *due = bly_container(link, bly_job, link);
        job = job == NULL || due->run_at_ns < job->run_at_ns ? due : job;
    }
    if (job == NULL || job->run_at_ns >= sched->last_now) {
        return 0;
    }
    int64_t since = job->run_at_ns > job->submitted_ns ? job->run_at_ns : job->submitted_ns;
    return sched->last_now - since;
}

static uint64_t due_locked(const belay_sched *sched)
{
    bly_assert_debug(bly_mutex_is_mine(&sched->lock));
    uint32_t moved = bly_versions_count(&sched->versions, BLY_IN_DUE);
    if (moved >= BLY_DUE_COUNT_MAX) {
        return BLY_DUE_COUNT_MAX;
    }
    const bly_job last = {
        .run_at_ns = sched->last_now, .priority = INT16_MIN, .version = UINT64_MAX};
    return moved + bly_heap_count_until(&sched->versions.future, bly_job_key(&last, 0),
                                        BLY_DUE_COUNT_MAX - moved);
}

int belay_sched_stats(belay_sched *sched, belay_sched_metrics *ret_metrics)
{
    if (sched == NULL || ret_metrics == NULL) {
        return BELAY_EINVAL;
    }
    int64_t now = bly_sched_now(sched);
    bly_mutex_lock(&sched->lock);
    bly_seen_locked(sched, now);
    belay_sched_metrics metrics = sched->counts;
    metrics.is_closing = sched->state != BLY_OPEN;
    metrics.pending = metrics.entries = bly_versions_count(&sched->versions, BLY_IN_FUTURE) +
                                        bly_versions_count(&sched->versions, BLY_IN_DUE);
    metrics.held = sched->versions.live - metrics.pending - sched->running_count;
    metrics.due = due_locked(sched);
    metrics.running = sched->running_count;
    metrics.oldest_due_ns = oldest_due_locked(sched);
    bly_mutex_unlock(&sched->lock);
    /* relaxed: a counter. */
    metrics.clock_steps_back = bly_load(&sched->steps_back, BLY_RELAXED);
    return bly_opts_write(ret_metrics, &metrics, sizeof metrics);
}

static void fill_info_locked(const belay_sched *sched, const bly_job *job, belay_job_info *info)
{
    bly_assert_debug(bly_mutex_is_mine(&sched->lock));
    bool is_running = job->state == BLY_JOB_RUNNING;
    const bly_job *held = is_running ? job->other : NULL;
    info->state = is_running ? BELAY_JOB_RUNNING : BELAY_JOB_PENDING;
    info->priority = job->priority;
    info->is_canceled = job->is_canceled;
    info->run_at_ns = job->run_at_ns;
    info->occurrence = 1;
    info->handle = bly_job_handle(job);
    if (job->series != NULL) {
        info->occurrence = job->series->occurrence + (is_running ? 0 : 1);
        info->failures = job->series->failures;
    }
    if (held != NULL && !bly_is_doomed_locked(sched, held)) {
        info->has_held = 1;
        info->held_priority = held->priority;
        info->held_run_at_ns = held->run_at_ns;
        info->held_handle = bly_job_handle(held);
    }
}

int belay_sched_query(belay_sched *sched, belay_id id, belay_job_info *ret_info)
{
    bly_id key;
    if (sched == NULL || ret_info == NULL || bly_id_read(&key, &id, false, sched->seed) != 0) {
        return BELAY_EINVAL;
    }
    belay_job_info info = {0};
    if (bly_opts_write(ret_info, &info, sizeof(uint32_t)) != 0) {
        return BELAY_EINVAL;
    }
    bly_mutex_lock(&sched->lock);
    const bly_job *job = bly_find_locked(sched, &key);
    if (job != NULL) {
        fill_info_locked(sched, job, &info);
    }
    bly_mutex_unlock(&sched->lock);
    return job == NULL ? BELAY_ENOENT : bly_opts_write(ret_info, &info, sizeof info);
}
