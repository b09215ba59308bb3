/*
 * deque.h: the queue of one worker, as the rest of the executor sees it.
 *
 * A deque belongs to one thread, its owner, for life. The owner pushes and pops at the newest end;
 * any other thread steals at the oldest. The executor knows a deque by this table alone, so that
 * a locked one and lock-free ones take the same tests and can be compared.
 *
 * Places in a deque are numbered by 64-bit indices that grow with each push and are compared by the
 * sign of their difference, so they may wrap. `mark` is the index of the next push: what is pushed
 * from then on and still there is at or above it. A kind that moves its slots keeps an offset, so
 * that marks stay true.
 *
 * Contract of each kind:
 * - A task pushed is given to exactly one of pop, pop_oldest and steal, and what was written before
 *   its push is visible to the thread that gets it.
 * - push makes the task visible with a sequentially consistent operation, or a full fence after it,
 *   and size reads with one: a thread that pushes and then sees nobody awake, and a thread that
 *   goes to sleep and then sees size 0, cannot both happen (see idle.h).
 * - steal never takes past the owner's end, however the owner pops meanwhile.
 */
#ifndef BLY_EXEC_DEQUE_H
#define BLY_EXEC_DEQUE_H

#include "belay/task.h"

/* The most tasks that one steal takes. */
#define BLY_STEAL_MAX 8u

typedef struct bly_deque bly_deque;

typedef struct bly_deque_kind {
    const char *name;

    /* An empty deque whose first index is given; NULL without memory. */
    bly_deque *(*create)(uint64_t first_index);

    /* Frees a deque that is empty and that nobody uses any more. */
    void (*destroy)(bly_deque *deque);

    /* Owner: the next `count` pushes will not fail; false without memory. */
    bool (*reserve)(bly_deque *deque, uint32_t count);

    /* Owner: adds a task at the newest end; false without memory, the task is not taken then. */
    bool (*push)(bly_deque *deque, belay_task *task);

    /* Owner: takes the newest task at or above `mark`; NULL when there is none. */
    belay_task *(*pop)(bly_deque *deque, uint64_t mark);

    /* Owner: takes the oldest task; NULL when there is none. */
    belay_task *(*pop_oldest)(bly_deque *deque);

    /*
     * Any other thread: takes the oldest tasks, oldest first: half of what it sees but at most
     * `max`, one when it sees fewer than four. Returns how many, 0 also when it lost a race.
     */
    uint32_t (*steal)(bly_deque *deque, belay_task **ret_tasks, uint32_t max);

    /* Owner: the index of the next push. */
    uint64_t (*mark)(const bly_deque *deque);

    /* Any thread: how many tasks there are at this instant. */
    uint64_t (*size)(const bly_deque *deque);

    /* Owner: gives back what an empty deque has outgrown. */
    void (*trim)(bly_deque *deque);
} bly_deque_kind;

/* One lock a deque: the baseline, and what the others are compared with. */
extern const bly_deque_kind bly_deque_locked;

/* How many a thief takes of `seen` tasks. */
static inline uint32_t bly_steal_count(uint64_t seen, uint32_t max)
{
    if (seen < 4) {
        return seen != 0 && max != 0;
    }
    return seen / 2 < max ? (uint32_t)(seen / 2) : max;
}

#endif
