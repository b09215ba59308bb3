/*
 * run.c: what a worker does with a task that it has taken out of a queue.
 *
 * Taking it out is the claim of a bare task: it is run or, once shutdown_now was called, dropped. A
 * call with a future is claimed by a move of its own word (future.c), because a waiter or a cancel
 * may have been faster than the queue.
 *
 * The tasks that a thread is inside of are a list of frames. The list tells which submits are
 * children, which wait would wait for itself, which tasks a waiter may help with, whose tokens
 * shutdown_now fires, and what has failed when a task ends its thread.
 */
#include "deliver/deliver.h"
#include "exec/exec_int.h"

void bly_frame_enter(bly_worker *worker, bly_frame *frame, belay_future *future)
{
    *frame = (bly_frame){.below = worker->frame, .future = future};
    frame->mark = worker->exec->tuning.deque->mark(worker->deque);
    worker->frame = frame;
}

void bly_frame_leave(bly_worker *worker, bly_frame *frame)
{
    bly_assert(worker->frame == frame);
    worker->frame = frame->below;
    if (frame->token != NULL) {
        bly_mutex_lock(&worker->shown_lock);
        bly_assert(worker->shown == frame);
        worker->shown = frame->shown_below;
        bly_mutex_unlock(&worker->shown_lock);
    }
}

void bly_frame_show(bly_worker *worker, bly_frame *frame, belay_cancel *token)
{
    bly_assert(worker->frame == frame && token != NULL);
    bly_mutex_lock(&worker->shown_lock);
    frame->token = token;
    frame->shown_below = worker->shown;
    worker->shown = frame;
    bly_mutex_unlock(&worker->shown_lock);
}

/* A reference of the token of the first shown frame that has not been fired; NULL: none is left. */
static belay_cancel *take_token(bly_worker *worker)
{
    belay_cancel *token = NULL;
    bly_mutex_lock(&worker->shown_lock);
    for (bly_frame *frame = worker->shown; frame != NULL; frame = frame->shown_below) {
        if (!frame->is_fired) {
            frame->is_fired = true;
            token = belay_cancel_ref(frame->token);
            break;
        }
    }
    bly_mutex_unlock(&worker->shown_lock);
    return token;
}

void bly_frames_fire(bly_worker *worker)
{
    /* Bounded by the frames of one stack: after shutdown_now none is shown that goes on. */
    for (belay_cancel *token = take_token(worker); token != NULL; token = take_token(worker)) {
        (void)belay_cancel_fire(token); /* fired before is as good */
        belay_cancel_unref(token);
    }
}

static void run_bare_drop(belay_task *task)
{
    bly_bare_drop *bare = bly_container(task, bly_bare_drop, task);
    bare->drop(bare->dropped, BELAY_DROP_SHUTDOWN);
}

/* Through the trampoline, so that what drop ends is not ended on top of it. */
static void drop_bare(bly_worker *worker, belay_task *task, void (*drop)(belay_task *, int))
{
    bly_assert(!bly_deliver_active());
    worker->bare_drop =
        (bly_bare_drop){.task = {.run = run_bare_drop}, .dropped = task, .drop = drop};
    bly_deliver_push(&worker->bare_drop.task);
    bly_deliver_run();
}

static void run_bare(bly_worker *worker, belay_task *task, bly_work work)
{
    void (*run)(belay_task *) = task->run;
    void (*drop)(belay_task *, int) = task->drop;
    bool is_dropped = work != BLY_DELIVERY && bly_life_is_now(&worker->exec->life);
    bly_assert(worker->bare_depth < bly_count(worker->bare));
    bly_frame *frame = &worker->bare[worker->bare_depth++];
    bly_frame_enter(worker, frame, NULL);
    frame->is_drop = is_dropped;
    bly_task_release(task);
    if (!is_dropped) {
        run(task);
        bly_count_add(&worker->sum.executed, 1);
    } else {
        bly_count_add(&worker->sum.dropped, 1);
        if (drop != NULL) {
            drop_bare(worker, task, drop);
        }
    }
    bly_frame_leave(worker, frame);
    worker->bare_depth--;
    bly_exec_retire(worker->exec);
}

void bly_run(bly_worker *worker, bly_item item)
{
    bly_assert(item.task != NULL);
    if (item.work == BLY_ROOT) {
        bly_exec_root_left(worker->exec);
    }
    belay_future *future = bly_future_from(item.task);
    if (future != NULL) {
        bly_future_removed(worker, future);
    } else {
        run_bare(worker, item.task, item.work);
    }
}

bool bly_help(bly_worker *worker)
{
    if (worker->frame == NULL || worker->help_depth >= worker->exec->tuning.help_max) {
        return false;
    }
    belay_task *task = worker->exec->tuning.deque->pop(worker->deque, worker->frame->mark);
    if (task == NULL) {
        return false;
    }
    bly_count_add(&worker->sum.own_pops, 1);
    worker->help_depth++;
    bly_run(worker, (bly_item){.task = task, .work = BLY_CHILD});
    worker->help_depth--;
    return true;
}

/* The innermost task of a thread that has ended: it has failed. */
static void abandon(bly_worker *worker)
{
    bly_frame *frame = worker->frame;
    bly_frame_leave(worker, frame);
    bly_count_add(&worker->sum.executed, 1);
    bly_count_add(&worker->sum.failed, 1);
    if (frame->future != NULL) {
        bly_future_abandon(worker, frame->future);
    } else {
        bly_exec_retire(worker->exec);
    }
}

void bly_frames_abandon(bly_worker *worker)
{
    while (worker->frame != NULL) {
        abandon(worker);
    }
    worker->bare_depth = 0;
    worker->help_depth = 0;
}
