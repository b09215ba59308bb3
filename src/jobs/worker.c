/*
 * worker.c: the thread that claims jobs for handlers.
 *
 * It sleeps on two descriptors, the store's watch and a mailbox; whoever has news for it puts the
 * one wake task in the mailbox. Only it claims, so nobody else changes what the store thinks that
 * this process has, but for ends. What it claims it hands to the scheduler, which decides on the
 * executor's threads what runs next.
 *
 * How it ends: a stop sets is_draining. The thread closes the scheduler and the semaphores, so that
 * everything that has not started is given back; then it waits, as always, until no run is active
 * and none unreported; then it frees what it made and says so. Who stopped it joins it. Memory and
 * mailbox stay until the last run has given up its reference, since the store's thread may wake the
 * worker just after its last run was taken out of the list.
 */
#include "jobs/worker_int.h"

#include <poll.h>
#include <string.h>

#define MEAN_OF 8 /* the mean is that of about so many runs, newer ones counting more */

static void take_wake(belay_task *task)
{
    bly_worker *worker = bly_container(task, bly_worker, wake);
    /* release, with the exchange of bly_worker_wake: the thread looks at everything after this. */
    bly_store(&worker->is_woken, 0u, BLY_SEQ_CST);
}

void bly_worker_wake(bly_worker *worker)
{
    if (bly_exchange(&worker->is_woken, 1u, BLY_SEQ_CST) == 0) {
        (void)belay_executor_submit(belay_mailbox_executor(worker->mailbox), &worker->wake, 0);
    }
}

void bly_worker_ref(bly_worker *worker)
{
    (void)bly_fetch_add(&worker->refs, 1u, BLY_RELAXED); /* relaxed: the caller has one */
}

void bly_worker_unref(bly_worker *worker)
{
    /* acquire and release, with the other unrefs: the last one sees what all did before. */
    if (worker == NULL || bly_fetch_sub(&worker->refs, 1u, BLY_ACQ_REL) != 1) {
        return;
    }
    if (worker->mailbox != NULL) {
        (void)belay_mailbox_run(worker->mailbox, 0); /* a last wake may be in it */
        (void)belay_mailbox_destroy(worker->mailbox);
    }
    bly_owner_discard(&worker->owner);
    bly_free(worker->queues);
    bly_free(worker);
}

/* How many runs beyond running_max should start within BELAY_JOBS_AHEAD_NS. */
static uint32_t ahead_locked(const bly_worker *worker)
{
    if (worker->mean_ns == 0) {
        return 0;
    }
    int64_t each = BELAY_JOBS_AHEAD_NS / worker->mean_ns;
    int64_t all = each * (int64_t)worker->running_max;
    return all > (int64_t)BELAY_JOBS_CLAIM_MAX ? BELAY_JOBS_CLAIM_MAX : (uint32_t)all;
}

bool bly_worker_ended_locked(bly_worker *worker, const belay_run *run, int64_t now_ns)
{
    if (run->start_ns != 0) {
        int64_t took_ns = now_ns - run->start_ns;
        took_ns = took_ns > 0 ? took_ns : 1;
        worker->mean_ns = worker->mean_ns == 0
                              ? took_ns
                              : worker->mean_ns - worker->mean_ns / MEAN_OF + took_ns / MEAN_OF;
        worker->mean_ns = worker->mean_ns > 0 ? worker->mean_ns : 1;
        worker->pause_ns = BELAY_NOW;
    }
    return worker->is_draining ||
           worker->owner.active <= worker->running_max + ahead_locked(worker) / 2;
}

/* How many jobs there is room for now. */
static uint32_t room(bly_worker *worker, int64_t now_ns)
{
    bly_mutex_lock(&worker->owner.jobs->lock);
    uint32_t all = worker->running_max + ahead_locked(worker);
    uint32_t active = worker->owner.active;
    bool is_off = worker->is_draining || now_ns < worker->pause_ns;
    bly_mutex_unlock(&worker->owner.jobs->lock);
    if (is_off || active >= all) {
        return 0;
    }
    return all - active > BELAY_JOBS_CLAIM_MAX ? BELAY_JOBS_CLAIM_MAX : all - active;
}

void bly_worker_pause(bly_worker *worker, int64_t now_ns)
{
    bly_mutex_lock(&worker->owner.jobs->lock);
    worker->pause_ns = belay_time_add(now_ns, BLY_RESCUE_PERIOD_NS);
    bly_mutex_unlock(&worker->owner.jobs->lock);
}

/* Claims up to `max` jobs and sends them on their way. */
static void claim(bly_worker *worker, uint32_t max, int64_t now_ns)
{
    belay_jobs *jobs = worker->owner.jobs;
    bly_claim_result got = {.next_run_at_ns = BELAY_FOREVER};
    int result = bly_owner_prepare(&worker->owner, max);
    if (result == 0) {
        result = bly_store_claim(jobs->store, worker->owner.session, max, 0, &got);
    }
    if (result != 0) {
        bly_worker_complain(worker, "claiming jobs", result);
        worker->is_stale = result == BELAY_ESTALE;
        if (!worker->is_stale) {
            bly_worker_pause(worker, now_ns);
        }
        return;
    }
    worker->last_error = 0;
    for (bly_claimed *claimed = got.first; claimed != NULL;) {
        bly_claimed *next = claimed->next;
        belay_run *run = bly_owner_add(&worker->owner, claimed, false);
        run->handler = bly_handler_find(jobs, claimed->work.handler);
        bly_handler_queue(run);
        claimed = next;
    }
    worker->is_dry = !got.has_more && got.count < max;
    worker->claim_ns = BELAY_FOREVER;
    if (got.next_run_at_ns != BELAY_FOREVER) {
        worker->claim_ns =
            belay_time_add(now_ns, got.next_run_at_ns - belay_clock_wall(jobs->clock));
    }
}

/* Claims while there is room and there may be jobs. */
static void claim_all(bly_worker *worker, bool rang)
{
    for (;;) {
        int64_t now_ns = belay_clock_now(worker->owner.jobs->clock);
        worker->is_dry = worker->is_dry && !rang && now_ns < worker->claim_ns;
        rang = false;
        uint32_t max = worker->is_dry || worker->is_stale ? 0 : room(worker, now_ns);
        if (max == 0) {
            return;
        }
        claim(worker, max, now_ns);
    }
}

/* Nothing starts from now on: what has not is given back. */
static void close_once(bly_worker *worker)
{
    if (worker->is_closed) {
        return;
    }
    worker->is_closed = true;
    (void)belay_sched_close(worker->sched, BELAY_CLOSE_DISCARD);
    bly_list_each (link, &worker->owner.jobs->handlers) {
        bly_handler *handler = bly_container(link, bly_handler, link);
        if (handler->sem != NULL) {
            (void)belay_sem_close(handler->sem);
        }
    }
}

static void wait_for_news(bly_worker *worker)
{
    belay_jobs *jobs = worker->owner.jobs;
    int64_t now_ns = belay_clock_now(jobs->clock);
    int64_t until_ns = belay_time_add(now_ns, BLY_WATCH_PERIOD_NS);
    bly_mutex_lock(&jobs->lock);
    int64_t late_ns = belay_time_add(worker->oldest_ns, BELAY_JOBS_AHEAD_NS);
    int64_t times[] = {worker->rescue_ns,
                       worker->next_timeout_ns,
                       late_ns,
                       worker->is_stale ? worker->stale_ns : BELAY_FOREVER,
                       worker->is_dry ? worker->claim_ns : BELAY_FOREVER,
                       worker->pause_ns > now_ns ? worker->pause_ns : BELAY_FOREVER};
    bly_mutex_unlock(&jobs->lock);
    for (size_t i = 0; i < bly_count(times); i++) {
        until_ns = times[i] < until_ns ? times[i] : until_ns;
    }
    int64_t rest_ns = until_ns > now_ns ? until_ns - now_ns : 0;
    struct timespec rest = {rest_ns / 1000000000, rest_ns % 1000000000};
    struct pollfd fds[] = {{belay_mailbox_fd(worker->mailbox), POLLIN, 0},
                           {bly_store_watch_fd(worker->watch), POLLIN, 0}};
    (void)ppoll(fds, bly_count(fds), &rest, NULL);
}

/* Whether the thread may end; sets *ret_drains. */
static bool is_over(bly_worker *worker, bool *ret_drains)
{
    bly_mutex_lock(&worker->owner.jobs->lock);
    bool drains = worker->is_draining;
    bool is_idle =
        worker->owner.active == 0 && (worker->owner.unreported == 0 || worker->is_abandoned);
    bly_mutex_unlock(&worker->owner.jobs->lock);
    *ret_drains = drains;
    return drains && is_idle;
}

static void free_limits(belay_jobs *jobs)
{
    bly_list_each (link, &jobs->handlers) {
        bly_handler *handler = bly_container(link, bly_handler, link);
        if (handler->sem != NULL) {
            (void)belay_sem_await_idle(handler->sem, BELAY_FOREVER);
            (void)belay_sem_destroy(handler->sem);
            handler->sem = NULL;
        }
    }
}

/* Frees what only a worker with runs needs. */
static void unmake(bly_worker *worker)
{
    if (worker->sched != NULL) {
        (void)belay_sched_close(worker->sched, BELAY_CLOSE_DISCARD);
        (void)belay_sched_await(worker->sched, BELAY_FOREVER);
        (void)belay_sched_destroy(worker->sched);
        worker->sched = NULL;
    }
    free_limits(worker->owner.jobs);
    if (worker->watch != NULL) {
        bly_store_watch_destroy(worker->watch);
        worker->watch = NULL;
    }
}

static void worker_main(void *arg)
{
    bly_worker *worker = arg;
    belay_jobs *jobs = worker->owner.jobs;
    bool drains = false;
    while (!is_over(worker, &drains)) {
        if (drains) {
            close_once(worker);
        }
        bool rang = bly_store_watch_check(worker->watch);
        bly_worker_care(worker, belay_clock_now(jobs->clock), rang);
        claim_all(worker, rang);
        wait_for_news(worker);
        (void)belay_mailbox_run(worker->mailbox, 0);
    }
    unmake(worker);
    bly_mutex_lock(&jobs->lock);
    bool is_abandoned = worker->is_abandoned;
    worker->owner.executor = NULL; /* what is reported from now on is reported by the store */
    bly_mutex_unlock(&jobs->lock);
    if (!is_abandoned) {
        bly_worker_complain(worker, "ending the session",
                            bly_store_session_end(jobs->store, worker->owner.session));
    }
    bly_mutex_lock(&jobs->lock);
    worker->has_ended = true;
    (void)bly_fetch_add(&jobs->drained, 1u, BLY_RELEASE); /* release, with who waits for it */
    bly_mutex_unlock(&jobs->lock);
    jobs->clock->wake(jobs->clock, &jobs->drained, UINT32_MAX);
}

int bly_worker_session(bly_worker *worker)
{
    bly_session_opts opts = {
        .size = sizeof opts,
        .slots = worker->running_max,
        .queues = worker->queues,
        .queue_count = worker->queue_count,
    };
    return bly_store_session_begin(worker->owner.jobs->store, &opts, &worker->owner.session);
}

/* Copies names and their bytes into one block. */
static int copy_queues(bly_worker *worker, const bly_bytes *names, uint32_t count)
{
    size_t size = count * sizeof *names;
    for (uint32_t i = 0; i < count; i++) {
        size += names[i].len;
    }
    bly_bytes *copy = bly_alloc(size);
    if (copy == NULL) {
        return BELAY_ENOMEM;
    }
    char *at = (char *)(copy + count);
    for (uint32_t i = 0; i < count; i++) {
        copy[i] = (bly_bytes){at, names[i].len};
        memcpy(at, names[i].data, names[i].len);
        at += names[i].len;
    }
    worker->queues = copy;
    worker->queue_count = count;
    return 0;
}

/* The queues of the options, or one of the name of each handler. */
static int make_queues(bly_worker *worker, const belay_jobs_work_opts *opts)
{
    if (opts->queues != NULL) {
        return copy_queues(worker, opts->queues, opts->queue_count);
    }
    bly_bytes names[BELAY_JOBS_QUEUES_MAX];
    uint32_t count = 0;
    bly_list_each (link, &worker->owner.jobs->handlers) {
        const bly_handler *handler = bly_container(link, bly_handler, link);
        if (!handler->is_any && count < bly_count(names)) {
            names[count++] = (bly_bytes){handler->name, handler->len};
        }
    }
    return copy_queues(worker, names, count);
}

/* A semaphore for each handler with a bound. */
static int make_limits(belay_jobs *jobs, const belay_jobs_work_opts *opts)
{
    int result = 0;
    bly_list_each (link, &jobs->handlers) {
        bly_handler *handler = bly_container(link, bly_handler, link);
        if (result == 0 && handler->running_max != 0) {
            belay_sem_opts sem = {
                .size = sizeof sem,
                .capacity = handler->running_max,
                .waiters_max = BELAY_UNBOUNDED,
                .clock = jobs->clock,
                .timers = opts->timers,
                .name = handler->name,
            };
            result = belay_sem_create(&sem, &handler->sem);
        }
    }
    return result;
}

/* Everything but the thread. */
static int make(bly_worker *worker, belay_executor *executor, const belay_jobs_work_opts *opts)
{
    belay_jobs *jobs = worker->owner.jobs;
    belay_sched_opts sched = {
        .size = sizeof sched,
        .pending_max = BELAY_UNBOUNDED,
        .clock = jobs->clock,
        .timers = opts->timers,
        .aging_ns_per_priority = BELAY_FOREVER,
    };
    int result = belay_mailbox_create(NULL, &worker->mailbox);
    if (result == BELAY_EIO) {
        result = BELAY_EAGAIN;
    }
    if (result == 0) {
        result = make_queues(worker, opts);
    }
    if (result == 0) {
        result = belay_sched_create(&sched, &worker->sched);
    }
    if (result == 0) {
        result = belay_sched_start(worker->sched, executor, worker->running_max);
    }
    if (result == 0) {
        result = make_limits(jobs, opts);
    }
    if (result == 0) {
        result = bly_store_watch_create(jobs->store, &worker->watch);
    }
    return result == 0 ? bly_worker_session(worker) : result;
}

static int begin(belay_jobs *jobs, belay_executor *executor, uint32_t running_max,
                 const belay_jobs_work_opts *opts, bly_worker **ret_worker)
{
    bly_worker *worker = bly_alloc(sizeof *worker);
    if (worker == NULL) {
        return BELAY_ENOMEM;
    }
    bly_owner_init(&worker->owner, jobs, executor, worker);
    bly_store(&worker->refs, 1u, BLY_RELAXED); /* relaxed: nobody else has it */
    worker->running_max = running_max;
    worker->wake.run = take_wake;
    worker->wall_offset_ns = belay_clock_wall(jobs->clock) - belay_clock_now(jobs->clock);
    worker->next_timeout_ns = worker->oldest_ns = BELAY_FOREVER;
    worker->rescue_ns = worker->pause_ns = BELAY_NOW;
    int result = make(worker, executor, opts);
    bool has_session = result == 0;
    if (result == 0) {
        const bly_thread_opts thread = {.name = "belay-jobs"};
        result = bly_thread_create(&worker->thread, &thread, worker_main, worker);
    }
    if (result != 0) {
        unmake(worker);
        if (has_session) {
            (void)bly_store_session_end(jobs->store, worker->owner.session);
        }
        bly_worker_unref(worker);
        return result;
    }
    *ret_worker = worker;
    return 0;
}

static int check(const belay_jobs *jobs, const belay_executor *executor, uint32_t running_max,
                 const belay_jobs_work_opts *opts)
{
    bool has_queues = opts->queues != NULL;
    if (executor == NULL || running_max == 0 || running_max > BELAY_JOBS_CLAIM_MAX ||
        opts->queue_count > BELAY_JOBS_QUEUES_MAX || has_queues != (opts->queue_count != 0) ||
        (!has_queues && jobs->handler_count == 0)) {
        return BELAY_EINVAL;
    }
    for (uint32_t i = 0; i < opts->queue_count; i++) {
        if (opts->queues[i].len == 0 || opts->queues[i].len > BELAY_JOBS_NAME_MAX) {
            return BELAY_EINVAL;
        }
    }
    return 0;
}

int belay_jobs_work(belay_jobs *jobs, belay_executor *executor, uint32_t running_max,
                    const belay_jobs_work_opts *opts)
{
    belay_jobs_work_opts known;
    if (jobs == NULL || bly_opts_read(&known, sizeof known, opts) != 0) {
        return BELAY_EINVAL;
    }
    bly_mutex_lock(&jobs->lock);
    int result = check(jobs, executor, running_max, &known);
    if (result == 0 && (jobs->worker != NULL || jobs->is_starting)) {
        result = BELAY_EBUSY;
    }
    if (result == 0 && jobs->is_closing) {
        result = BELAY_ECLOSED;
    }
    jobs->is_starting = jobs->is_starting || result == 0;
    bly_mutex_unlock(&jobs->lock);
    if (result != 0) {
        return result;
    }
    bly_worker *worker = NULL;
    result = begin(jobs, executor, running_max, &known, &worker);
    bly_mutex_lock(&jobs->lock);
    jobs->worker = worker;
    jobs->is_starting = false;
    bly_mutex_unlock(&jobs->lock);
    return result;
}

/*
 * What a stop finds after a look: whether the worker has ended, and, when its time is over, whether
 * it may be left alone with what the store has not reported.
 */
static bool look_at_end(bly_worker *worker, bool may_abandon, bool is_late, uint32_t *ret_seen)
{
    belay_jobs *jobs = worker->owner.jobs;
    bly_mutex_lock(&jobs->lock);
    bool has_ended = worker->has_ended;
    worker->is_abandoned =
        worker->is_abandoned || (is_late && may_abandon && worker->owner.active == 0);
    /* acquire, with the end of the thread. */
    *ret_seen = bly_load(&jobs->drained, BLY_ACQUIRE);
    bly_mutex_unlock(&jobs->lock);
    return has_ended;
}

/* Waits for the end of the worker's thread. */
static int await(bly_worker *worker, int64_t deadline_ns, bool may_abandon)
{
    belay_jobs *jobs = worker->owner.jobs;
    for (;;) {
        uint32_t seen;
        bool is_late = belay_clock_now(jobs->clock) >= deadline_ns;
        if (look_at_end(worker, may_abandon, is_late, &seen)) {
            return 0;
        }
        if (is_late && !worker->is_abandoned) {
            return BELAY_ETIMEDOUT;
        }
        if (is_late) {
            bly_worker_wake(worker); /* nothing that it has to do now takes long */
            deadline_ns = BELAY_FOREVER;
        }
        (void)jobs->clock->wait(jobs->clock, &jobs->drained, seen, deadline_ns);
    }
}

int bly_worker_stop(belay_jobs *jobs, int64_t deadline_ns, bool may_abandon,
                    bly_worker **ret_worker)
{
    *ret_worker = NULL;
    bly_mutex_lock(&jobs->lock);
    bly_worker *worker = jobs->worker;
    if (worker != NULL) {
        worker->is_draining = true;
        bly_worker_ref(worker);
    }
    bly_mutex_unlock(&jobs->lock);
    if (worker == NULL) {
        return 0;
    }
    bly_worker_wake(worker);
    int result = await(worker, deadline_ns, may_abandon);
    if (result == 0) {
        bly_mutex_lock(&jobs->lock);
        bool is_mine = jobs->worker == worker;
        jobs->worker = is_mine ? NULL : jobs->worker;
        bly_mutex_unlock(&jobs->lock);
        if (is_mine) {
            bly_thread_join(&worker->thread);
            *ret_worker = worker;
        }
    }
    bly_worker_unref(worker);
    return result;
}

int belay_jobs_drain(belay_jobs *jobs, int64_t deadline_ns)
{
    if (jobs == NULL) {
        return BELAY_EINVAL;
    }
    if (bly_handler_is_inside(jobs)) {
        return BELAY_EDEADLK;
    }
    bly_worker *worker;
    int result = bly_worker_stop(jobs, deadline_ns, false, &worker);
    bly_worker_unref(worker);
    return result;
}
