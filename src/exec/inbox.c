/*
 * inbox.c: a list under one lock.
 *
 * `next` of a queued task is never NULL, that of an idle one always is: it is the whole state of a
 * bare task. A claimed task that stands in no list, or last in one, points to `queued`.
 */
#include "exec/inbox.h"

#define WORK_BITS ((uintptr_t)3)

/* What the link of a claimed task holds when no task follows it. */
static belay_task queued;

_Static_assert(_Alignof(belay_task) > 3, "two low bits of a task's address are free");

bool bly_task_claim(belay_task *task)
{
    belay_task *idle = NULL;
    /* acquire, with the release of bly_task_release: who ran the task has read all it wanted. */
    return bly_cas(&task->next, &idle, &queued, BLY_ACQUIRE, BLY_RELAXED);
}

void bly_task_release(belay_task *task)
{
    bly_store(&task->next, NULL, BLY_RELEASE); /* with the acquire of bly_task_claim */
}

static uintptr_t tagged(belay_task *task, bly_work work)
{
    bly_assert_debug(((uintptr_t)task & WORK_BITS) == 0);
    return (uintptr_t)task | (uintptr_t)work;
}

void bly_inbox_put(bly_inbox *inbox, belay_task *task, bly_work work)
{
    bly_assert_debug(task->run != NULL);
    bly_mutex_lock(&inbox->lock);
    uintptr_t link = tagged(task, work);
    if (inbox->first == 0) {
        inbox->first = link;
    } else {
        /* relaxed: a second submit looks at it without the lock, only whether it is NULL. */
        bly_store(&inbox->last->next, (belay_task *)link, BLY_RELAXED);
    }
    inbox->last = task;
    uint32_t count = bly_load(&inbox->count, BLY_RELAXED); /* relaxed: written under the lock */
    bly_store(&inbox->count, count + 1, BLY_SEQ_CST);
    bly_mutex_unlock(&inbox->lock);
}

bly_item bly_inbox_take(bly_inbox *inbox)
{
    if (bly_inbox_count(inbox) == 0) {
        return (bly_item){.task = NULL};
    }
    bly_mutex_lock(&inbox->lock);
    uintptr_t link = inbox->first;
    belay_task *task = (belay_task *)(link & ~WORK_BITS);
    if (task != NULL) {
        bool is_last = task == inbox->last;
        /* relaxed: links are written under the lock. */
        inbox->first = is_last ? 0 : (uintptr_t)bly_load(&task->next, BLY_RELAXED);
        inbox->last = is_last ? NULL : inbox->last;
        bly_store(&task->next, &queued, BLY_RELAXED);
        uint32_t count = bly_load(&inbox->count, BLY_RELAXED);
        bly_assert(count != 0 && (count == 1) == is_last);
        bly_store(&inbox->count, count - 1, BLY_SEQ_CST);
    }
    bly_mutex_unlock(&inbox->lock);
    return (bly_item){.task = task, .work = (bly_work)(link & WORK_BITS)};
}
