/*
 * submit.c: from a submit to a queue and a wake-up.
 *
 * Every submit goes through one entry: the pool accepts it (life.h), it is put where its kind goes,
 * and a sleeper is woken. A child goes to its own worker's deque; a root and a delivery to an
 * inbox, since a delivery must not need memory and a root comes from a thread that has no deque. A
 * child whose deque cannot grow goes to its worker's inbox: a submit never fails for want of
 * memory.
 *
 * A thread that is no worker may still be inside a submit when the task has run, has told somebody,
 * and that somebody has awaited and destroyed the pool. Such threads are counted in `callers`
 * before the pool accepts, and destroy waits for them; leaving is their last touch. A worker's own
 * submits need no count: the pool does not end before its threads do.
 */
#include "exec/stopping.h"

#include "exec/exec_int.h"

#define CALLER_WAITED   (UINT32_C(1) << 31) /* in `callers`: destroy sleeps on it */
#define ROOTS_A_TURN    64u                 /* roots that follow each other into one inbox */
#define UNBOUNDED_ROOTS UINT64_MAX

void bly_exec_enter(belay_exec *exec)
{
    /* relaxed: destroy reads it after something that this thread does later has reached it. */
    uint32_t before = bly_fetch_add(&exec->callers, 1u, BLY_RELAXED);
    bly_assert((before & CALLER_WAITED) == 0);
}

void bly_exec_leave(belay_exec *exec)
{
    uint32_t *callers = &exec->callers;
    /* release, with the acquire of bly_exec_wait_left: the pool is freed after this. */
    uint32_t before = bly_fetch_sub(callers, 1u, BLY_RELEASE);
    bly_assert((before & ~CALLER_WAITED) != 0);
    if (before == (CALLER_WAITED | 1)) {
        bly_futex_wake(callers, BLY_WAKE_ALL); /* by address alone */
    }
}

void bly_exec_wait_left(belay_exec *exec)
{
    /* acquire, with the release of bly_exec_leave. */
    uint32_t callers = bly_fetch_or(&exec->callers, CALLER_WAITED, BLY_ACQUIRE) | CALLER_WAITED;
    while (callers != CALLER_WAITED) {
        (void)bly_futex_wait(&exec->callers, callers, BELAY_FOREVER);
        callers = bly_load(&exec->callers, BLY_ACQUIRE);
    }
}

static uint64_t roots_max(const belay_exec *exec)
{
    switch (exec->opts.queue_max) {
    case 0:
        return BELAY_EXEC_QUEUE_DEFAULT;
    case BELAY_NONE:
        return 0;
    case BELAY_UNBOUNDED:
        return UNBOUNDED_ROOTS;
    default:
        return exec->opts.queue_max;
    }
}

/* Counts a root as queued; false when there are queue_max of them. */
static bool count_root(belay_exec *exec)
{
    uint64_t max = roots_max(exec);
    if (max == UNBOUNDED_ROOTS) {
        return true;
    }
    /* relaxed: a number with a bound; the queues order the tasks. */
    uint64_t queued = bly_load(&exec->queued_roots, BLY_RELAXED);
    while (queued < max) {
        if (bly_cas(&exec->queued_roots, &queued, queued + 1, BLY_RELAXED, BLY_RELAXED)) {
            return true;
        }
    }
    return false;
}

void bly_exec_root_left(belay_exec *exec)
{
    if (exec->opts.queue_max != BELAY_UNBOUNDED) {
        uint64_t before = bly_fetch_sub(&exec->queued_roots, UINT64_C(1), BLY_RELAXED);
        bly_assert(before != 0);
    }
}

static bly_work work_of(const bly_worker *worker, unsigned flags)
{
    if ((flags & BELAY_DELIVERY) != 0) {
        return BLY_DELIVERY;
    }
    bool is_inside = worker != NULL && worker->frame != NULL && !worker->frame->is_drop;
    return is_inside ? BLY_CHILD : BLY_ROOT;
}

/* The submit has ended, with or without a task handed in. */
static void close_entry(bly_entry *entry)
{
    if (entry->worker == NULL) {
        bly_exec_leave(entry->exec);
    }
}

int bly_entry_open(bly_entry *entry, belay_exec *exec, unsigned flags)
{
    if (bly_forked_since(exec->fork_generation)) {
        return BELAY_ECLOSED;
    }
    bly_worker *worker = bly_worker_of(exec);
    *entry = (bly_entry){.exec = exec, .worker = worker, .work = work_of(worker, flags)};
    if (worker == NULL) {
        bly_exec_enter(exec);
    }
    int result = bly_life_admit(&exec->life, entry->work);
    if (result == 0 && entry->work == BLY_ROOT && !count_root(exec)) {
        bly_exec_retire(exec);
        result = BELAY_EFULL;
    }
    if (result != 0) {
        close_entry(entry);
    }
    return result;
}

void bly_entry_abort(bly_entry *entry)
{
    if (entry->work == BLY_ROOT) {
        bly_exec_root_left(entry->exec);
    }
    bly_exec_retire(entry->exec);
    close_entry(entry);
}

/* A root prefers a worker that sleeps: it will be woken, and finds the task at home. */
static bly_inbox *choose_inbox(belay_exec *exec)
{
    uint32_t number = exec->tuning.forced_inbox;
    if (number == BLY_NO_WORKER) {
        number = bly_idle_top(&exec->idle);
    }
    if (number == BLY_NO_WORKER) {
        /* relaxed: any inbox is right. */
        uint32_t turn = bly_fetch_add(&exec->next_inbox, 1u, BLY_RELAXED);
        number = turn / ROOTS_A_TURN % exec->worker_count;
    }
    return &exec->workers[number]->inbox;
}

static bool push_child(bly_worker *worker, belay_task *task)
{
    const bly_deque_kind *kind = worker->exec->tuning.deque;
    if (!kind->push(worker->deque, task)) {
        return false;
    }
    uint64_t size = kind->size(worker->deque);
    if (size > bly_load(&worker->sum.queued_max, BLY_RELAXED)) {
        bly_store(&worker->sum.queued_max, size, BLY_RELAXED);
    }
    return true;
}

void bly_entry_submit(bly_entry *entry, belay_task *task)
{
    bly_worker *worker = entry->worker;
    if (entry->work != BLY_CHILD || !push_child(worker, task)) {
        bly_inbox *inbox = worker != NULL ? &worker->inbox : choose_inbox(entry->exec);
        bly_inbox_put(inbox, task, entry->work);
    }
    bly_idle_wake_one(&entry->exec->idle);
    close_entry(entry);
}

static int submit(belay_exec *exec, belay_task *task, unsigned flags)
{
    if (!bly_task_claim(task)) {
        return BELAY_EBUSY;
    }
    bly_entry entry;
    int result = bly_entry_open(&entry, exec, flags);
    if (result != 0) {
        bly_task_release(task);
        return result;
    }
    bly_entry_submit(&entry, task);
    return 0;
}

static int pool_submit(belay_executor *self, belay_task *task, unsigned flags)
{
    return submit(bly_container(self, belay_exec, executor), task, flags);
}

static void pool_attach(belay_executor *self, int change)
{
    belay_exec *exec = bly_container(self, belay_exec, executor);
    /* release, with the acquire of destroy: what the object did with the pool was before. */
    uint64_t before = bly_fetch_add(&exec->attached, (uint64_t)(int64_t)change, BLY_ACQ_REL);
    bly_assert(change > 0 || before != 0);
}

void bly_exec_init_executor(belay_exec *exec)
{
    exec->executor = (belay_executor){.submit = pool_submit, .attach = pool_attach};
}

bool bly_exec_is_stopping(const belay_executor *executor)
{
    return executor->submit == pool_submit &&
           bly_life_is_now(&bly_container(executor, const belay_exec, executor)->life);
}

int belay_exec_submit(belay_exec *exec, belay_task *task)
{
    if (exec == NULL || task == NULL || task->run == NULL) {
        return BELAY_EINVAL;
    }
    return submit(exec, task, 0);
}

belay_executor *belay_exec_executor(belay_exec *exec)
{
    return exec != NULL ? &exec->executor : NULL;
}
