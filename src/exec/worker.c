/*
 * worker.c: a worker's thread, from its start to its end.
 *
 * A worker runs what it finds; when it finds nothing near at hand it becomes a searcher, and when
 * it finds nothing anywhere it sleeps (idle.h). It leaves only when the pool is STOPPING, which is
 * when nothing is outstanding.
 *
 * A task may end its thread (pthread_exit, pthread_cancel). The thread's exit function then fails
 * the tasks that it was inside of, and starts another thread on the same worker: deque, inbox and
 * counters are the worker's, not the thread's. The new thread joins the old one before it ends
 * itself, or before it is replaced in its turn, so a worker has two places for threads and the last
 * thread is joined with the pool. When no thread can be made, the old one goes on as the worker
 * from inside its exit function.
 */
#include "deliver/deliver.h"
#include "exec/exec_int.h"

#include <stdio.h>

#define NAME_DEFAULT "belay"
#define NAME_PREFIX  10 /* letters of the pool's name in that of a thread; its number follows */

static bly_once watch_once;

static void run_first_thread(void *arg);
static void run_later_thread(void *arg);

bly_worker *bly_worker_create(belay_exec *exec, uint32_t number)
{
    bly_worker *worker = bly_alloc_aligned(BLY_CACHE_LINE, sizeof *worker);
    if (worker == NULL) {
        return NULL;
    }
    worker->exec = exec;
    worker->number = number;
    worker->random = exec->tuning.seed + number;
    worker->first_mark = exec->tuning.first_index;
    const char *name = exec->opts.name != NULL ? exec->opts.name : NAME_DEFAULT;
    (void)snprintf(worker->name, sizeof worker->name, "%.*s-%u", NAME_PREFIX, name, number);
    worker->deque = exec->tuning.deque->create(worker->first_mark);
    if (worker->deque == NULL) {
        bly_free(worker);
        return NULL;
    }
    return worker;
}

void bly_worker_destroy(bly_worker *worker)
{
    if (worker == NULL) {
        return;
    }
    bly_assert(worker->frame == NULL && bly_inbox_count(&worker->inbox) == 0);
    worker->exec->tuning.deque->destroy(worker->deque);
    bly_mutex_destroy(&worker->inbox.lock);
    bly_mutex_destroy(&worker->shown_lock);
    bly_free(worker);
}

static int start_thread(bly_worker *worker, void (*fn)(void *))
{
    bly_thread_opts opts = {.stack_size = worker->exec->opts.stack_size, .name = worker->name};
    return bly_thread_create(&worker->threads[worker->thread], &opts, fn, worker);
}

/* --- The loop. --- */

/* Looks for work everywhere and sleeps in between; nothing when the pool stops. */
static bly_item search(bly_worker *worker)
{
    belay_exec *exec = worker->exec;
    bly_idle_search_begin(&exec->idle);
    for (;;) {
        bly_item item = bly_find_far(worker);
        bly_count_add(&worker->sum.spurious_wakes, item.task == NULL && worker->was_woken);
        worker->was_woken = false;
        if (item.task != NULL || bly_life_state(&exec->life) >= BELAY_EXEC_STOPPING) {
            if (bly_idle_search_end(&exec->idle) && bly_find_visible(exec)) {
                bly_idle_wake_one(&exec->idle);
            }
            return item;
        }
        exec->tuning.deque->trim(worker->deque);
        bly_idle_go_to_bed(&exec->idle, worker->number);
        if (bly_find_visible(exec) || bly_life_state(&exec->life) >= BELAY_EXEC_STOPPING) {
            bly_idle_get_up(&exec->idle, worker->number);
        } else {
            bly_count_add(&worker->sum.parks, 1);
            bly_idle_sleep(&exec->idle, worker->number);
            bly_count_add(&worker->sum.wakes, 1);
            worker->was_woken = true;
        }
    }
}

static void loop(bly_worker *worker)
{
    for (;;) {
        bly_item item = bly_find(worker);
        if (item.task == NULL) {
            item = search(worker);
        }
        if (item.task == NULL) {
            return;
        }
        bly_run(worker, item);
        bly_assert_debug(worker->frame == NULL && !bly_deliver_active());
    }
}

/* --- The thread. --- */

static void join_predecessor(bly_worker *worker)
{
    if (worker->has_predecessor) {
        bly_thread_join(&worker->threads[1 - worker->thread]);
        worker->has_predecessor = false;
    }
}

static void work(bly_worker *worker)
{
    belay_exec *exec = worker->exec;
    loop(worker);
    if (exec->opts.stop_hook != NULL) {
        exec->opts.stop_hook(worker->number, exec->opts.arg);
    }
    join_predecessor(worker);
    bly_exec_worker_left(exec);
    bly_local_set(BLY_LOCAL_WORKER, NULL);
}

static void run_later_thread(void *arg)
{
    bly_worker *worker = arg;
    bly_local_set(BLY_LOCAL_WORKER, worker);
    if (worker->exec->opts.start_hook != NULL) {
        worker->exec->opts.start_hook(worker->number, worker->exec->opts.arg);
    }
    work(worker);
}

/* Waits until create knows that all threads could be made; else no hook is called. */
static void run_first_thread(void *arg)
{
    bly_worker *worker = arg;
    uint32_t *start = &worker->exec->start;
    while (bly_load(start, BLY_ACQUIRE) == BLY_START_WAIT) {
        (void)bly_futex_wait(start, BLY_START_WAIT, BELAY_FOREVER);
    }
    if (bly_load(start, BLY_ACQUIRE) == BLY_START_GO) {
        run_later_thread(worker);
    }
}

/*
 * Starts another thread on the worker; false when none can be made. Not to be touched after true.
 */
static bool replace_thread(bly_worker *worker)
{
    join_predecessor(worker);
    worker->thread = 1 - worker->thread;
    worker->has_predecessor = true;
    if (start_thread(worker, run_later_thread) == 0) {
        return true;
    }
    worker->thread = 1 - worker->thread;
    worker->has_predecessor = false;
    return false;
}

static void tell(const bly_worker *worker, const char *message)
{
    if (worker->exec->opts.log != NULL) {
        worker->exec->opts.log(message, worker->exec->opts.arg);
    }
}

/* The exit function of a thread that is a worker: a task has ended it. */
static void thread_ended(void *value)
{
    bly_worker *worker = value;
    if (bly_forked_since(worker->exec->fork_generation)) {
        return;
    }
    bool is_inside_task = worker->frame != NULL && !worker->frame->is_drop;
    bly_assert(is_inside_task && "hooks and callbacks of a pool return");
    bly_local_set(BLY_LOCAL_WORKER, worker);
    if (bly_deliver_active()) {
        bly_deliver_release(true);
    }
    bly_frames_abandon(worker);
    bly_count_add(&worker->sum.replaced, 1);
    tell(worker, "a task ended the thread of its worker");
    if (!replace_thread(worker)) {
        tell(worker, "no new thread for the worker: it goes on inside the old one's exit");
        work(worker);
    }
    bly_local_set(BLY_LOCAL_WORKER, NULL);
}

static void watch_exits(void)
{
    bly_local_at_exit(BLY_LOCAL_WORKER, thread_ended);
}

int bly_worker_start(bly_worker *worker)
{
    bly_once_run(&watch_once, watch_exits);
    return start_thread(worker, run_first_thread);
}

void bly_worker_join(bly_worker *worker)
{
    bly_thread_join(&worker->threads[worker->thread]);
}

belay_exec *belay_exec_current(void)
{
    bly_worker *worker = bly_worker_self();
    return worker != NULL ? worker->exec : NULL;
}
