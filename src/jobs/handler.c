/*
 * handler.c: functions under names, and the way of a claimed run to its function and out of it.
 *
 *     worker's thread         lease of the handler        executor's thread
 *     bly_handler_queue ----> take_lease (any thread) --> run_job: start, fn, end
 *                     \____ no bound of its own _____/
 *
 * What is not run leaves by bly_handler_give_back: when the scheduler drops it, when the semaphore
 * is closed, when the store says that the claim is lost.
 */
#include "jobs/worker_int.h"

#include <string.h>

static bly_handler *find(belay_jobs *jobs, const char *name, size_t len, bool may_be_any)
{
    bly_handler *any = NULL;
    bly_list_each (link, &jobs->handlers) {
        bly_handler *handler = bly_container(link, bly_handler, link);
        if (handler->is_any) {
            any = handler;
        } else if (handler->len == len && memcmp(handler->name, name, len) == 0) {
            return handler;
        }
    }
    return may_be_any ? any : NULL;
}

bly_handler *bly_handler_find(belay_jobs *jobs, bly_bytes name)
{
    return find(jobs, name.len == 0 ? "" : name.data, name.len, true);
}

void bly_handlers_free(belay_jobs *jobs)
{
    for (bly_list *link; (link = bly_list_pop_front(&jobs->handlers)) != NULL;) {
        bly_free(bly_container(link, bly_handler, link));
    }
}

/* Puts the handler among the others, when it may be. */
static int keep(belay_jobs *jobs, bly_handler *handler)
{
    int result = 0;
    bly_mutex_lock(&jobs->lock);
    bly_handler *other = find(jobs, handler->name, handler->len, handler->is_any);
    if (jobs->worker != NULL || jobs->is_starting || jobs->is_closing) {
        result = BELAY_EBUSY;
    } else if (other != NULL && other->is_any == handler->is_any) {
        result = BELAY_EEXIST;
    } else if (!handler->is_any && jobs->handler_count == BELAY_JOBS_QUEUES_MAX) {
        result = BELAY_EFULL;
    } else {
        bly_list_push_back(&jobs->handlers, &handler->link);
        jobs->handler_count += !handler->is_any;
    }
    bly_mutex_unlock(&jobs->lock);
    return result;
}

int belay_jobs_handle(belay_jobs *jobs, const char *name, const belay_jobs_handler_opts *opts,
                      belay_jobs_fn *fn, void *arg)
{
    belay_jobs_handler_opts known;
    size_t len = name == NULL ? 0 : strlen(name);
    if (jobs == NULL || fn == NULL || (name != NULL && len == 0) || len > BELAY_JOBS_NAME_MAX ||
        bly_opts_read(&known, sizeof known, opts) != 0 ||
        known.running_max > BELAY_SEM_CAPACITY_MAX) {
        return BELAY_EINVAL;
    }
    bly_handler *handler = bly_alloc(sizeof *handler + len + 1);
    if (handler == NULL) {
        return BELAY_ENOMEM;
    }
    handler->fn = fn;
    handler->arg = arg;
    handler->running_max = known.running_max;
    handler->is_any = name == NULL;
    handler->len = len;
    if (len != 0) {
        memcpy(handler->name, name, len);
    }
    int result = keep(jobs, handler);
    if (result != 0) {
        bly_free(handler);
    }
    return result;
}

bool bly_handler_is_inside(belay_jobs *jobs)
{
    uint64_t self = bly_thread_id();
    bool is_inside = false;
    bly_mutex_lock(&jobs->lock);
    if (jobs->worker != NULL) {
        bly_list_each (link, &jobs->worker->owner.runs) {
            is_inside = is_inside || bly_container(link, belay_run, link)->thread == self;
        }
    }
    bly_mutex_unlock(&jobs->lock);
    return is_inside;
}

void bly_handler_give_back(belay_run *run)
{
    /* Another may have ended it already. */
    (void)bly_run_finish(run, BELAY_RUN_GIVE_BACK, BELAY_JOBS_HOW_NONE, 0, NULL);
}

/*
 * Marks the run as started in the store. False: it was lost, canceled or given back, and has been
 * ended.
 */
static bool start(belay_run *run, belay_claim *claim)
{
    bly_worker *worker = run->owner->worker;
    belay_jobs *jobs = run->owner->jobs;
    bly_mutex_lock(&jobs->lock);
    run->claim = claim;
    run->is_queued = false;
    bool may_start = run->state == BLY_RUN_CLAIMED && !worker->is_draining;
    if (may_start) {
        bly_state_move(&bly_run_states, &run->state, BLY_RUN_STARTING);
    }
    bly_mutex_unlock(&jobs->lock);
    bly_claim_ref ref = {run->claimed->seq, run->claimed->token, 0};
    int result = may_start ? bly_store_start(jobs->store, &ref, 1) : BELAY_ECLOSED;
    if (result != 0 || ref.result != 0) {
        bly_handler_give_back(run);
        return false;
    }
    int64_t now_ns = belay_clock_now(jobs->clock);
    int64_t timeout_ns = run->claimed->timeout_ns == 0
                             ? BELAY_FOREVER
                             : belay_time_add(now_ns, run->claimed->timeout_ns);
    bly_mutex_lock(&jobs->lock);
    bly_state_move(&bly_run_states, &run->state, BLY_RUN_STARTED);
    run->thread = bly_thread_id();
    run->start_ns = now_ns;
    run->timeout_ns = timeout_ns;
    jobs->started++;
    bool wakes = timeout_ns < worker->next_timeout_ns;
    worker->next_timeout_ns = wakes ? timeout_ns : worker->next_timeout_ns;
    bool is_closing = jobs->is_closing;
    bly_mutex_unlock(&jobs->lock);
    if (is_closing) {
        bly_run_tell(run, BLY_TOLD_CLOSE); /* the close may have looked before it was started */
    }
    if (wakes) {
        bly_worker_wake(worker);
    }
    return true;
}

/* The job of the scheduler: runs the handler of a claimed run. */
static int run_job(belay_claim *claim, void *arg)
{
    belay_run *run = bly_run_ref(arg);
    bly_handler *handler = run->handler;
    if (!start(run, claim)) {
        bly_run_unref(run);
        return BELAY_PENDING;
    }
    int status = BELAY_PENDING;
    if (handler == NULL) {
        (void)bly_run_finish(run, BELAY_RUN_FAIL, BELAY_JOBS_HOW_NOT_RUNNABLE, ENOENT,
                             "this process has no handler of that name");
    } else {
        status = handler->fn(run, handler->arg);
    }
    bly_mutex *lock = &run->owner->jobs->lock;
    bly_mutex_lock(lock);
    run->thread = 0;
    bly_mutex_unlock(lock);
    if (status != BELAY_PENDING) {
        (void)belay_run_done(run, status);
    }
    bly_run_unref(run);
    return BELAY_PENDING;
}

static void drop_job(void *arg, int why)
{
    (void)why;
    bly_handler_give_back(arg);
}

/* Puts a run that has what it needs in the scheduler. */
static void schedule(belay_run *run)
{
    bly_worker *worker = run->owner->worker;
    bly_mutex *lock = &run->owner->jobs->lock;
    /* It is due, whatever the wall clock did since the worker began: the time is for the order. */
    int64_t run_at_ns = belay_time_add(run->claimed->run_at_ns, -worker->wall_offset_ns);
    belay_job job = {
        .size = sizeof job,
        .priority = run->claimed->priority,
        .run_at_ns = run_at_ns < run->claimed_ns ? run_at_ns : run->claimed_ns,
        .fn = run_job,
        .arg = run,
        .drop = drop_job,
    };
    belay_job_handle entry = {0};
    (void)bly_run_ref(run); /* it may have run before the call returns */
    int result = belay_sched_schedule(worker->sched, BELAY_NO_ID, &job, &entry);
    if (result < 0) {
        bly_handler_give_back(run);
    } else {
        bly_mutex_lock(lock);
        run->entry = entry;
        run->is_queued = run->state == BLY_RUN_CLAIMED && run->claim == NULL;
        if (run->is_queued && run->claimed_ns < worker->oldest_ns) {
            worker->oldest_ns = run->claimed_ns;
        }
        bly_mutex_unlock(lock);
    }
    bly_run_unref(run);
}

static void take_lease(belay_lease *lease, int result, void *arg)
{
    (void)lease;
    belay_run *run = arg;
    if (result != 0) {
        bly_handler_give_back(run);
        return;
    }
    bly_mutex *lock = &run->owner->jobs->lock;
    bly_mutex_lock(lock);
    run->has_lease = true;
    bly_mutex_unlock(lock);
    schedule(run);
}

void bly_handler_queue(belay_run *run)
{
    bly_handler *handler = run->handler;
    if (handler == NULL || handler->sem == NULL) {
        schedule(run);
        return;
    }
    int result =
        belay_sem_acquire_async(handler->sem, &run->lease, 1, BELAY_FOREVER, NULL, take_lease, run);
    if (result != BELAY_PENDING) {
        take_lease(&run->lease, result, run);
    }
}
