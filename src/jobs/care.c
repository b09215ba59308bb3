/*
 * care.c: what the worker's thread looks after beside claiming: sessions that died, runs that are
 * to end, runs that did not start in time.
 */
#include "jobs/worker_int.h"

void bly_worker_complain(bly_worker *worker, const char *what, int error)
{
    if (error == 0 || error == worker->last_error) {
        return;
    }
    worker->last_error = error;
    bly_store_error problem = {0};
    bly_store_problem(worker->owner.jobs->store, &problem);
    bly_jobs_log(worker->owner.jobs, "jobs: %s: %s%s%s", what, belay_strerror(error),
                 problem.text[0] == '\0' ? "" : ": ", problem.text);
}

/* A run that waits in the scheduler leaves it and is given back. */
static void drop_unstarted(belay_run *run)
{
    bly_mutex *lock = &run->owner->jobs->lock;
    bly_mutex_lock(lock);
    bool was_queued = run->is_queued;
    belay_job_handle entry = run->entry;
    run->is_queued = false;
    bly_mutex_unlock(lock);
    if (was_queued) {
        /* Its drop gives it back. Should it have begun, it goes on: nobody asks its claim. */
        (void)belay_sched_cancel_handle(run->owner->worker->sched, entry);
    }
}

belay_run *bly_worker_untold_locked(bly_worker *worker)
{
    bly_list_each (link, &worker->owner.runs) {
        belay_run *run = bly_container(link, belay_run, link);
        /* relaxed: written under the lock alone. */
        if (run->state < BLY_RUN_ENDED && bly_load(&run->why, BLY_RELAXED) == BLY_TOLD_NOTHING) {
            return bly_run_ref(run);
        }
    }
    return NULL;
}

/*
 * A run whose time is over, with a reference; NULL when there is none, and then next_timeout_ns is
 * right again.
 */
static belay_run *timed_out(bly_worker *worker, int64_t now_ns)
{
    belay_run *found = NULL;
    int64_t next_ns = BELAY_FOREVER;
    bly_mutex *lock = &worker->owner.jobs->lock;
    bly_mutex_lock(lock);
    if (now_ns >= worker->next_timeout_ns) {
        bly_list_each (link, &worker->owner.runs) {
            belay_run *run = bly_container(link, belay_run, link);
            if (run->state != BLY_RUN_STARTED) {
                continue;
            }
            if (run->timeout_ns <= now_ns) {
                run->timeout_ns = BELAY_FOREVER;
                found = bly_run_ref(run);
                break;
            }
            next_ns = run->timeout_ns < next_ns ? run->timeout_ns : next_ns;
        }
        worker->next_timeout_ns = found != NULL ? now_ns : next_ns;
    }
    bly_mutex_unlock(lock);
    return found;
}

/* The same for a run that waits in the scheduler and was claimed BELAY_JOBS_AHEAD_NS ago. */
static belay_run *too_late(bly_worker *worker, int64_t now_ns)
{
    belay_run *found = NULL;
    int64_t oldest_ns = BELAY_FOREVER;
    bly_mutex *lock = &worker->owner.jobs->lock;
    bly_mutex_lock(lock);
    if (now_ns >= belay_time_add(worker->oldest_ns, BELAY_JOBS_AHEAD_NS)) {
        bly_list_each (link, &worker->owner.runs) {
            belay_run *run = bly_container(link, belay_run, link);
            if (!run->is_queued || run->state != BLY_RUN_CLAIMED) {
                continue;
            }
            if (run->claimed_ns <= now_ns - BELAY_JOBS_AHEAD_NS) {
                found = bly_run_ref(run);
                break;
            }
            oldest_ns = run->claimed_ns < oldest_ns ? run->claimed_ns : oldest_ns;
        }
        worker->oldest_ns = found != NULL ? worker->oldest_ns : oldest_ns;
    }
    bly_mutex_unlock(lock);
    return found;
}

/* Others may have a free place: what did not start in time goes back, and no more comes soon. */
static void give_back_late(bly_worker *worker, int64_t now_ns)
{
    bool gave = false;
    for (belay_run *run; (run = too_late(worker, now_ns)) != NULL;) {
        drop_unstarted(run);
        bly_run_unref(run);
        gave = true;
    }
    if (gave) {
        bly_worker_pause(worker, now_ns);
    }
}

/* Tells all runs of a session that was taken for dead, and begins another one. */
static void begin_again(bly_worker *worker, int64_t now_ns)
{
    for (;;) {
        bly_mutex_lock(&worker->owner.jobs->lock);
        belay_run *run = bly_worker_untold_locked(worker);
        bly_mutex_unlock(&worker->owner.jobs->lock);
        if (run == NULL) {
            break;
        }
        bly_run_tell(run, BLY_TOLD_LOST);
        drop_unstarted(run);
        bly_run_unref(run);
    }
    int result = bly_worker_session(worker);
    bly_worker_complain(worker, "beginning a session", result);
    worker->is_stale = result != 0;
    worker->stale_ns = belay_time_add(now_ns, BLY_RESCUE_PERIOD_NS);
}

/* Runs of which the store was told that they are to end: those that have not begun go at once. */
static void drop_told(bly_worker *worker)
{
    for (;;) {
        belay_run *found = NULL;
        bly_mutex_lock(&worker->owner.jobs->lock);
        bly_list_each (link, &worker->owner.runs) {
            belay_run *run = bly_container(link, belay_run, link);
            if (run->is_queued && run->state == BLY_RUN_CLAIMED && belay_run_is_canceled(run)) {
                found = bly_run_ref(run);
                break;
            }
        }
        bly_mutex_unlock(&worker->owner.jobs->lock);
        if (found == NULL) {
            return;
        }
        drop_unstarted(found);
        bly_run_unref(found);
    }
}

void bly_worker_care(bly_worker *worker, int64_t now_ns, bool rang)
{
    bool is_time = now_ns >= worker->rescue_ns;
    if (is_time) {
        uint32_t rescued = 0;
        uint32_t pending = 0;
        int result = bly_store_rescue(worker->owner.jobs->store, &rescued, &pending);
        bly_worker_complain(worker, "looking for sessions that died", result);
        worker->rescue_ns = belay_time_add(now_ns, BLY_RESCUE_PERIOD_NS);
    }
    if (is_time || rang) {
        bly_worker_complain(worker, "looking for canceled jobs", bly_owner_orders(&worker->owner));
        drop_told(worker);
    }
    for (belay_run *run; (run = timed_out(worker, now_ns)) != NULL;) {
        bly_run_tell(run, BLY_TOLD_TIMEOUT);
        bly_run_unref(run);
    }
    give_back_late(worker, now_ns);
    if (worker->is_stale && now_ns >= worker->stale_ns) {
        begin_again(worker, now_ns);
    }
}
