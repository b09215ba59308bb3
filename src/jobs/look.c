/*
 * look.c: what can be seen of a store, and waiting for it to change.
 */
#include "jobs/jobs_int.h"

struct belay_jobs_watch {
    belay_jobs *jobs;       /* constant */
    bly_store_watch *watch; /* constant */
};

int belay_jobs_list(belay_jobs *jobs, const belay_jobs_filter *filter, belay_jobs_rows **ret_rows)
{
    belay_jobs_filter known;
    if (jobs == NULL || ret_rows == NULL || bly_opts_read(&known, sizeof known, filter) != 0) {
        return BELAY_EINVAL;
    }
    return bly_store_list(jobs->store, &known, ret_rows);
}

int belay_jobs_query(belay_jobs *jobs, const belay_jobs_ref *job, belay_jobs_rows **ret_rows)
{
    if (jobs == NULL || job == NULL || ret_rows == NULL) {
        return BELAY_EINVAL;
    }
    return bly_store_find(jobs->store, job, ret_rows);
}

void belay_jobs_rows_free(belay_jobs_rows *rows)
{
    bly_rows_free(rows);
}

int belay_jobs_list_table(belay_jobs *jobs, int which, belay_jobs_table **ret_table)
{
    return jobs == NULL || ret_table == NULL ? BELAY_EINVAL
                                             : bly_store_table(jobs->store, which, ret_table);
}

void belay_jobs_table_free(belay_jobs_table *table)
{
    bly_table_free(table);
}

const char *belay_jobs_state_name(uint32_t state)
{
    return bly_job_state_name(state);
}

int belay_jobs_stats(belay_jobs *jobs, belay_jobs_metrics *ret_metrics)
{
    if (jobs == NULL || ret_metrics == NULL || ret_metrics->size < sizeof ret_metrics->size ||
        ret_metrics->size > BLY_OPTS_SIZE_MAX) {
        return BELAY_EINVAL;
    }
    belay_jobs_metrics metrics = {0};
    int result = bly_store_stats_get(jobs->store, &metrics);
    if (result != 0) {
        return result;
    }
    bly_mutex_lock(&jobs->lock);
    metrics.claimed = jobs->claimed;
    metrics.started = jobs->started;
    metrics.given_back = jobs->given_back;
    metrics.held = jobs->held;
    bly_mutex_unlock(&jobs->lock);
    return bly_opts_write(ret_metrics, &metrics, sizeof metrics);
}

int belay_jobs_watch_create(belay_jobs *jobs, belay_jobs_watch **ret_watch)
{
    if (jobs == NULL || ret_watch == NULL) {
        return BELAY_EINVAL;
    }
    belay_jobs_watch *watch = bly_alloc(sizeof *watch);
    if (watch == NULL) {
        return BELAY_ENOMEM;
    }
    watch->jobs = jobs;
    int result = bly_jobs_attach(jobs, 1);
    if (result == 0) {
        result = bly_store_watch_create(jobs->store, &watch->watch);
        if (result != 0) {
            (void)bly_jobs_attach(jobs, -1);
        }
    }
    if (result != 0) {
        bly_free(watch);
        return result;
    }
    *ret_watch = watch;
    return 0;
}

void belay_jobs_watch_destroy(belay_jobs_watch *watch)
{
    if (watch != NULL) {
        belay_jobs *jobs = watch->jobs;
        bly_store_watch_destroy(watch->watch);
        bly_free(watch);
        (void)bly_jobs_attach(jobs, -1);
    }
}

int belay_jobs_watch_fd(const belay_jobs_watch *watch)
{
    return watch == NULL ? -1 : bly_store_watch_fd(watch->watch);
}

bool belay_jobs_watch_check(belay_jobs_watch *watch)
{
    return watch != NULL && bly_store_watch_check(watch->watch);
}

/*
 * The row of the job, which stays the same one once its number is known: 0, with *ret_rows, when it
 * has ended, BELAY_EAGAIN when it has not.
 */
static int look(belay_jobs *jobs, belay_jobs_ref *job, belay_jobs_rows **ret_rows)
{
    belay_jobs_rows *rows;
    int result = bly_store_find(jobs->store, job, &rows);
    if (result != 0) {
        return result;
    }
    *job = belay_jobs_ref_seq(rows->row[0].seq);
    if ((BELAY_JOBS_IN(rows->row[0].state) & BELAY_JOBS_IN_ENDED) == 0) {
        bly_rows_free(rows);
        return BELAY_EAGAIN;
    }
    *ret_rows = rows;
    return 0;
}

/* Looks, waits and looks again until the job has ended. */
static int wait_with(belay_jobs *jobs, bly_store_watch *watch, belay_jobs_ref *job,
                     int64_t deadline_ns, belay_jobs_rows **ret_rows)
{
    int64_t rescue_ns = BELAY_NOW;
    for (;;) {
        int result = look(jobs, job, ret_rows);
        int64_t now_ns = belay_clock_now(jobs->clock);
        if (result != BELAY_EAGAIN) {
            return result;
        }
        if (now_ns >= deadline_ns) {
            return BELAY_ETIMEDOUT;
        }
        if (now_ns >= rescue_ns) {
            uint32_t rescued = 0;
            uint32_t pending = 0;
            (void)bly_store_rescue(jobs->store, &rescued, &pending);
            rescue_ns = belay_time_add(now_ns, BLY_RESCUE_PERIOD_NS);
        }
        (void)bly_store_watch_wait(watch, deadline_ns < rescue_ns ? deadline_ns : rescue_ns);
    }
}

int belay_jobs_wait(belay_jobs *jobs, const belay_jobs_ref *job, int64_t deadline_ns,
                    belay_jobs_rows **ret_rows)
{
    if (jobs == NULL || job == NULL) {
        return BELAY_EINVAL;
    }
    belay_jobs_ref sought = *job;
    belay_jobs_rows *rows = NULL;
    int result = 0;
    if (deadline_ns == BELAY_NOW) {
        result = look(jobs, &sought, &rows);
    } else {
        bly_store_watch *watch;
        result = bly_store_watch_create(jobs->store, &watch);
        if (result == 0) {
            result = wait_with(jobs, watch, &sought, deadline_ns, &rows);
            bly_store_watch_destroy(watch);
        }
    }
    if (result == 0 && ret_rows != NULL) {
        *ret_rows = rows;
    } else {
        bly_rows_free(rows);
    }
    return result;
}

int belay_jobs_flush(belay_jobs *jobs, int64_t deadline_ns)
{
    return jobs == NULL ? BELAY_EINVAL : bly_store_flush(jobs->store, deadline_ns);
}
