/*
 * ring.h: a queue of tasks through their one link.
 *
 * The queue is a ring that is known by its last task; NULL is an empty one. `next` of a queued task
 * is never NULL, which is how a second submit of it is recognised.
 */
#ifndef BLY_DELIVER_RING_H
#define BLY_DELIVER_RING_H

#include "belay/task.h"
#include "sync/sync.h"

/* bly_ring_has: true while the task is queued in some ring. */
static inline bool bly_ring_has(const belay_task *task)
{
    /* relaxed: another thread may be taking it out; who submits it again must know that it did. */
    return bly_load(&task->next, BLY_RELAXED) != NULL;
}

static inline void bly_ring_link(belay_task *task, belay_task *next)
{
    bly_store(&task->next, next, BLY_RELAXED); /* relaxed: see bly_ring_has; order is the lock's */
}

/* bly_ring_append: adds the task behind `last`; returns the new last one. */
static inline belay_task *bly_ring_append(belay_task *last, belay_task *task)
{
    bly_assert_debug(!bly_ring_has(task));
    if (last == NULL) {
        bly_ring_link(task, task);
    } else {
        bly_ring_link(task, last->next);
        bly_ring_link(last, task);
    }
    return task;
}

/* bly_ring_pop_after: takes out the task behind `prev` of the ring *last, which is not empty. */
static inline belay_task *bly_ring_pop_after(belay_task **last, belay_task *prev)
{
    belay_task *task = prev->next;
    if (task == prev) {
        *last = NULL;
    } else {
        bly_ring_link(prev, task->next);
        if (*last == task) {
            *last = prev;
        }
    }
    bly_ring_link(task, NULL);
    return task;
}

/* bly_ring_pop: takes out the first task of the ring *last, which is not empty. */
static inline belay_task *bly_ring_pop(belay_task **last)
{
    return bly_ring_pop_after(last, *last);
}

/*
 * bly_ring_split: cuts the ring *last behind `end`, one of its tasks. Returns the front part, a
 * ring known by `end`; *last keeps what was behind it.
 */
static inline belay_task *bly_ring_split(belay_task **last, belay_task *end)
{
    if (end == *last) {
        *last = NULL;
        return end;
    }
    belay_task *first = (*last)->next;
    bly_ring_link(*last, end->next);
    bly_ring_link(end, first);
    return end;
}

#endif
