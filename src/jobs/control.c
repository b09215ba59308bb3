/*
 * control.c: owners control jobs that are there: cancel, retry, pause, limits, batches, care.
 */
#include "jobs/jobs_int.h"

int belay_jobs_cancel(belay_jobs *jobs, const belay_jobs_ref *job)
{
    return jobs == NULL || job == NULL ? BELAY_EINVAL : bly_store_cancel(jobs->store, job);
}

int belay_jobs_cancel_batch(belay_jobs *jobs, uint64_t batch, uint64_t *ret_canceled,
                            uint64_t *ret_told)
{
    if (jobs == NULL) {
        return BELAY_EINVAL;
    }
    uint64_t canceled = 0;
    uint64_t told = 0;
    int result = bly_store_cancel_batch(jobs->store, batch, &canceled, &told);
    if (result >= 0 && ret_canceled != NULL) {
        *ret_canceled = canceled;
    }
    if (result >= 0 && ret_told != NULL) {
        *ret_told = told;
    }
    return result;
}

int belay_jobs_retry(belay_jobs *jobs, const belay_jobs_ref *job, uint64_t *ret_seq)
{
    uint64_t seq = 0;
    int result =
        jobs == NULL || job == NULL ? BELAY_EINVAL : bly_store_retry(jobs->store, job, &seq);
    if (result == 0 && ret_seq != NULL) {
        *ret_seq = seq;
    }
    return result;
}

int belay_jobs_retry_all(belay_jobs *jobs, uint64_t batch, uint64_t *ret_count)
{
    uint64_t count = 0;
    int result = jobs == NULL ? BELAY_EINVAL : bly_store_retry_all(jobs->store, batch, &count);
    if (result == 0 && ret_count != NULL) {
        *ret_count = count;
    }
    return result;
}

int belay_jobs_pause(belay_jobs *jobs, int what, const belay_jobs_ref *job, belay_bytes name)
{
    if (jobs == NULL || (what == BELAY_JOBS_PAUSE_JOB && job == NULL)) {
        return BELAY_EINVAL;
    }
    return bly_store_pause(jobs->store, what, job, name);
}

int belay_jobs_unpause(belay_jobs *jobs, int what, const belay_jobs_ref *job, belay_bytes name)
{
    if (jobs == NULL || (what == BELAY_JOBS_PAUSE_JOB && job == NULL)) {
        return BELAY_EINVAL;
    }
    return bly_store_unpause(jobs->store, what, job, name);
}

int belay_jobs_limit(belay_jobs *jobs, belay_bytes name, uint32_t capacity)
{
    return jobs == NULL ? BELAY_EINVAL : bly_store_limit(jobs->store, name, capacity);
}

int belay_jobs_queue(belay_jobs *jobs, belay_bytes name, uint32_t running_max)
{
    return jobs == NULL ? BELAY_EINVAL : bly_store_queue(jobs->store, name, running_max);
}

int belay_jobs_batch_begin(belay_jobs *jobs, belay_bytes name, belay_bytes digest, uint32_t flags,
                           belay_jobs_table **ret_row)
{
    if (jobs == NULL || ret_row == NULL) {
        return BELAY_EINVAL;
    }
    return bly_store_batch_begin(jobs->store, name, digest, flags, ret_row);
}

int belay_jobs_batch_end(belay_jobs *jobs, uint64_t batch, uint64_t total)
{
    return jobs == NULL ? BELAY_EINVAL : bly_store_batch_end(jobs->store, batch, total);
}

int belay_jobs_gc(belay_jobs *jobs, const belay_jobs_gc_opts *opts,
                  belay_jobs_gc_result *ret_result)
{
    belay_jobs_gc_opts known;
    if (jobs == NULL || bly_opts_read(&known, sizeof known, opts) != 0) {
        return BELAY_EINVAL;
    }
    belay_jobs_gc_result done = {0};
    int result = bly_store_gc(jobs->store, &known, &done);
    if (result == 0 && ret_result != NULL) {
        *ret_result = done;
    }
    return result;
}

int belay_jobs_check(belay_jobs *jobs)
{
    return jobs == NULL ? BELAY_EINVAL : bly_store_check(jobs->store);
}

int belay_jobs_rescue(belay_jobs *jobs, uint32_t *ret_rescued, uint32_t *ret_pending)
{
    if (jobs == NULL) {
        return BELAY_EINVAL;
    }
    uint32_t rescued = 0;
    uint32_t pending = 0;
    int result = bly_store_rescue(jobs->store, &rescued, &pending);
    if (result == 0 && ret_rescued != NULL) {
        *ret_rescued = rescued;
    }
    if (result == 0 && ret_pending != NULL) {
        *ret_pending = pending;
    }
    return result;
}

int belay_jobs_live_create(const char *url, belay_jobs_live *ret_live, belay_jobs_error *ret_error)
{
    return url == NULL || ret_live == NULL ? BELAY_EINVAL
                                           : bly_live_create(url, ret_live, ret_error);
}

void belay_jobs_live_destroy(const char *url, belay_jobs_live *live)
{
    if (url != NULL && live != NULL) {
        bly_live_destroy(url, live);
    }
}
