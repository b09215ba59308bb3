/*
 * deliver.c: the trampoline of completions, the inline executor, and the way to any executor.
 *
 * Each thread has a list of completions. The thread that decides an outcome pushes the task under
 * the object's lock and runs the list after unlocking; so the list belongs to one thread and needs
 * no lock. Only the outermost bly_deliver_run of a thread calls anything: the stack holds one
 * callback at a time however long the chain of releases is that callbacks cause.
 *
 * Exactly once. A task is on the list from push until it is popped, and is popped just before its
 * function is entered; nothing of it is read afterwards. When a callback ends its thread with
 * pthread_exit, what is left on the list is run by the slot's exit function.
 *
 * A list is a ring held by its last element, so that `next` of a queued task is never NULL: that is
 * how a task submitted twice is recognised.
 */
#include "deliver/deliver.h"

#include "deliver/ring.h"
#include "sync/sync.h"

/* The value of the slot BLY_LOCAL_DELIVERING while its thread runs its list. */
static char delivering;

/* The thread ended inside a callback: what was still to be delivered is delivered now. */
static void deliver_at_exit(void *last)
{
    bly_local_set(BLY_LOCAL_DELIVERY, last);
    bly_local_set(BLY_LOCAL_DELIVERING, NULL);
    bly_deliver_run();
}

static void watch_exits(void)
{
    bly_local_at_exit(BLY_LOCAL_DELIVERY, deliver_at_exit);
}

void bly_deliver_push(belay_task *task)
{
    static bly_once watch_once;
    bly_assert(task->run != NULL && task->next == NULL);
    belay_task *last = bly_local_get(BLY_LOCAL_DELIVERY);
    if (last == NULL) {
        bly_once_run(&watch_once, watch_exits);
    }
    bly_local_set(BLY_LOCAL_DELIVERY, bly_ring_append(last, task));
}

bool bly_deliver_hold(void)
{
    if (bly_local_get(BLY_LOCAL_DELIVERING) != NULL) {
        return false;
    }
    bly_local_set(BLY_LOCAL_DELIVERING, &delivering);
    return true;
}

void bly_deliver_release(bool is_outermost)
{
    if (!is_outermost) {
        return;
    }
    bly_assert(bly_deliver_active());
    bly_assert_debug(bly_locks_held() == 0);
    /* Bounded by what the callbacks themselves cause: each turn ends one completion. */
    for (;;) {
        belay_task *last = bly_local_get(BLY_LOCAL_DELIVERY);
        if (last == NULL) {
            break;
        }
        belay_task *task = bly_ring_pop(&last);
        bly_local_set(BLY_LOCAL_DELIVERY, last);
        task->run(task);
    }
    bly_local_set(BLY_LOCAL_DELIVERING, NULL);
}

void bly_deliver_run(void)
{
    if (bly_local_get(BLY_LOCAL_DELIVERY) != NULL) {
        bly_deliver_release(bly_deliver_hold());
    }
}

bool bly_deliver_active(void)
{
    return bly_local_get(BLY_LOCAL_DELIVERING) != NULL;
}

void bly_deliver_to(belay_executor *executor, belay_task *task, void (*run)(belay_task *),
                    uint64_t *refused)
{
    bly_assert(bly_deliver_active() && task->next == NULL);
    task->run = run;
    if (executor != NULL && executor != belay_inline()) {
        if (executor->submit(executor, task, BELAY_DELIVERY) == 0) {
            return;
        }
        /* relaxed: a counter that statistics read; nothing is ordered by it. */
        (void)bly_fetch_add(refused, UINT64_C(1), BLY_RELAXED);
    }
    run(task);
}

void bly_executor_attach(belay_executor *executor, int change)
{
    bly_assert(change == 1 || change == -1);
    if (executor != NULL && executor->attach != NULL) {
        executor->attach(executor, change);
    }
}

int belay_executor_submit(belay_executor *executor, belay_task *task, unsigned flags)
{
    if (executor == NULL || task == NULL || task->run == NULL || (flags & ~BELAY_DELIVERY) != 0) {
        return BELAY_EINVAL;
    }
    return executor->submit(executor, task, flags);
}

static int inline_submit(belay_executor *self, belay_task *task, unsigned flags)
{
    (void)self;
    (void)flags;
    if (bly_ring_has(task)) {
        return BELAY_EBUSY;
    }
    bly_deliver_push(task);
    bly_deliver_run();
    return 0;
}

belay_executor *belay_inline(void)
{
    static belay_executor executor = {.submit = inline_submit};
    return &executor;
}
