/*
 * jobs.c: an open store: open, close, what is wrong with it.
 *
 * The close goes from the outside in. First it stops the worker, whose runs hold references of it
 * and call into the store; then nobody is left who could call, but for reports that the store has
 * not made yet; then it closes the store, which makes those; then it frees.
 */
#include "jobs/worker_int.h"

#include <stdarg.h>
#include <stdio.h>

#define LOG_MAX 512 /* bytes of one message */

static int read_opts(belay_jobs_opts *ret_known, const belay_jobs_opts *opts)
{
    int result = bly_opts_read(ret_known, sizeof *ret_known, opts);
    if (result == 0 && (ret_known->is_read_only > 1 || ret_known->may_be_network > 1 ||
                        ret_known->reserved != 0 || ret_known->window_ns < 0)) {
        result = BELAY_EINVAL;
    }
    if (ret_known->clock == NULL) {
        ret_known->clock = belay_clock_system();
    }
    return result;
}

int belay_jobs_open(const char *url, const belay_jobs_opts *opts, belay_jobs **ret_jobs,
                    belay_jobs_error *ret_error)
{
    belay_jobs_opts known;
    if (url == NULL || ret_jobs == NULL || read_opts(&known, opts) != 0) {
        return BELAY_EINVAL;
    }
    belay_jobs *jobs = bly_alloc(sizeof *jobs);
    if (jobs == NULL) {
        return BELAY_ENOMEM;
    }
    jobs->clock = known.clock;
    jobs->log = known.log;
    jobs->log_arg = known.log_arg;
    bly_list_init(&jobs->handlers);
    bly_store_opts store = {
        .size = sizeof store,
        .is_read_only = known.is_read_only != 0,
        .may_be_network = known.may_be_network != 0,
        .clock = known.clock,
        .next = known.next,
        .next_arg = known.next_arg,
        .window_ns = known.window_ns,
    };
    int result = bly_store_open(url, &store, &jobs->store, ret_error);
    if (result != 0) {
        bly_free(jobs);
        return result;
    }
    *ret_jobs = jobs;
    return 0;
}

/* Tells every run of the worker that the store is being closed. */
static void tell_all(belay_jobs *jobs)
{
    for (;;) {
        belay_run *found = NULL;
        bly_mutex_lock(&jobs->lock);
        if (jobs->worker != NULL) {
            found = bly_worker_untold_locked(jobs->worker);
        }
        bly_mutex_unlock(&jobs->lock);
        if (found == NULL) {
            return;
        }
        bly_run_tell(found, BLY_TOLD_CLOSE);
        bly_run_unref(found);
    }
}

int belay_jobs_close(belay_jobs *jobs, int64_t deadline_ns)
{
    if (jobs == NULL) {
        return 0;
    }
    if (bly_handler_is_inside(jobs)) {
        return BELAY_EDEADLK;
    }
    bly_mutex_lock(&jobs->lock);
    bool is_busy = jobs->attached != 0 || jobs->is_starting;
    jobs->is_closing = jobs->is_closing || !is_busy;
    bly_mutex_unlock(&jobs->lock);
    if (is_busy) {
        return BELAY_EBUSY;
    }
    bly_worker *worker = NULL;
    tell_all(jobs);
    int result = bly_worker_stop(jobs, deadline_ns, true, &worker);
    if (result != 0) {
        return result;
    }
    bly_store_close(jobs->store, deadline_ns);
    bly_worker_unref(worker);
    bly_handlers_free(jobs);
    bly_mutex_destroy(&jobs->lock);
    bly_free(jobs);
    return 0;
}

int belay_jobs_problem(belay_jobs *jobs, belay_jobs_error *ret_error)
{
    if (jobs == NULL || ret_error == NULL) {
        return BELAY_EINVAL;
    }
    bly_store_problem(jobs->store, ret_error);
    return 0;
}

const char *belay_jobs_path(const belay_jobs *jobs)
{
    return jobs == NULL ? "" : bly_store_path(jobs->store);
}

void bly_jobs_log(belay_jobs *jobs, const char *format, ...)
{
    bly_assert_debug(bly_locks_held() == 0);
    if (jobs->log == NULL) {
        return;
    }
    char message[LOG_MAX];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(message, sizeof message, format, args);
    va_end(args);
    jobs->log(message, jobs->log_arg);
}

int bly_jobs_attach(belay_jobs *jobs, int change)
{
    bly_mutex_lock(&jobs->lock);
    int result = change > 0 && jobs->is_closing ? BELAY_ECLOSED : 0;
    if (result == 0) {
        jobs->attached = (uint32_t)((int)jobs->attached + change);
    }
    bly_mutex_unlock(&jobs->lock);
    return result;
}
