/*
 * inbox.h: work that comes to a worker from other threads, and what may not allocate.
 *
 * A first-in-first-out list through the tasks' own links. Anybody puts in; any worker takes out.
 * Beside each task stands what kind of work it is, in the low bits of the link that points to it:
 * a bare task has no room of its own for that.
 *
 * Roots come here, and deliveries from wherever they come, since a delivery must be accepted
 * without memory; so does a child whose worker's deque could not grow.
 */
#ifndef BLY_EXEC_INBOX_H
#define BLY_EXEC_INBOX_H

#include "belay/task.h"
#include "sync/sync.h"

/* What is handed in. */
typedef enum bly_work {
    BLY_CHILD,   /* by a task of the same pool: taken while the pool drains */
    BLY_ROOT,    /* by anybody else: taken while the pool accepts, counted against queue_max */
    BLY_DELIVERY /* by belay: taken while anything is outstanding, and always run */
} bly_work;

/* A task taken from a queue; task is NULL when there was none. */
typedef struct bly_item {
    belay_task *task;
    bly_work work;
} bly_item;

/* All zero: empty. */
typedef struct bly_inbox {
    bly_mutex lock;
    uintptr_t first;  /* lock: tagged pointer to the oldest task; 0 when empty */
    belay_task *last; /* lock: the newest task */
    uint32_t count;   /* atomic: written under the lock, read by anyone */
} bly_inbox;

/*
 * bly_task_claim: marks an idle task as queued; false when it is queued already. The one who
 * claimed it puts it into a queue, or gives it back with bly_task_release.
 */
bool bly_task_claim(belay_task *task);

/* bly_task_release: the task is idle again; what this thread read of it was read before. */
void bly_task_release(belay_task *task);

/* bly_inbox_put: adds a claimed task. Sequentially consistent, as a deque's push. */
void bly_inbox_put(bly_inbox *inbox, belay_task *task, bly_work work);

/* bly_inbox_take: takes the oldest out, still claimed. */
bly_item bly_inbox_take(bly_inbox *inbox);

/* bly_inbox_count: how many there are at this instant. */
static inline uint32_t bly_inbox_count(const bly_inbox *inbox)
{
    return bly_load(&inbox->count, BLY_SEQ_CST); /* see the contract of a deque's size */
}

#endif
