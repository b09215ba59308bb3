/*
 * idle.h: which workers sleep, which are looking for work, and who is woken.
 *
 * Rule of waking. Who makes a task visible calls bly_idle_wake_one afterwards; it wakes a sleeper
 * only when nobody is searching. A searcher that finds work while it is the last one looks whether
 * more is visible, and if so wakes the next. A searcher that found nothing goes to sleep: it is
 * counted as a sleeper, and no longer as a searcher, and only then looks once more.
 *
 * Why no wake-up is lost. Both numbers are one word. The one who submits writes the queue and then
 * reads the word; the one who goes to sleep writes the word and then reads the queues; all four
 * are sequentially consistent, so one of the two sees the other. If the submitter saw a searcher,
 * that searcher's own look comes after it leaves the word, so it sees the task; and a searcher that
 * leaves because it found another task looks as well when it is the last. A thief that moves tasks
 * to its own deque makes them visible anew, and calls bly_idle_wake_one as well.
 */
#ifndef BLY_EXEC_IDLE_H
#define BLY_EXEC_IDLE_H

#include "sync/sync.h"

#define BLY_NO_WORKER UINT32_MAX

/* Where one worker sleeps. */
typedef struct bly_bed {
    uint32_t is_woken; /* atomic: 0 from going to bed until a waker stores 1 */
} bly_bed;

typedef struct bly_idle {
    uint32_t word;    /* atomic: sleepers and searchers, see idle.c */
    uint32_t top;     /* atomic: written under the lock; the sleeper that is woken next, a hint */
    bly_mutex lock;   /* of the stack */
    uint32_t *stack;  /* lock: the numbers of the sleepers, the last woken first */
    bly_bed **beds;   /* constant after init: of each worker */
    uint32_t workers; /* constant after init */
} bly_idle;

/* bly_idle_init: for that many workers; BELAY_ENOMEM. Beds are added by the caller. */
int bly_idle_init(bly_idle *idle, uint32_t workers);
void bly_idle_destroy(bly_idle *idle);

/* bly_idle_search_begin: the calling worker looks for work from now on. */
void bly_idle_search_begin(bly_idle *idle);

/* bly_idle_search_end: it has found some, or leaves; true when it was the last that searched. */
bool bly_idle_search_end(bly_idle *idle);

/*
 * bly_idle_go_to_bed: the calling worker, a searcher, counts as a sleeper from now on. It looks at
 * the queues and the pool's state once more and then calls bly_idle_get_up when there is something,
 * else bly_idle_sleep. After either it is a searcher again.
 */
void bly_idle_go_to_bed(bly_idle *idle, uint32_t worker);
void bly_idle_get_up(bly_idle *idle, uint32_t worker);
void bly_idle_sleep(bly_idle *idle, uint32_t worker);

/* bly_idle_wake_one: wakes a sleeper unless somebody searches. It wakes as a searcher. */
void bly_idle_wake_one(bly_idle *idle);

/* bly_idle_wake_all: wakes all sleepers. */
void bly_idle_wake_all(bly_idle *idle);

/* bly_idle_sleepers: how many sleep at this instant. */
uint32_t bly_idle_sleepers(const bly_idle *idle);

/* bly_idle_top: the sleeper that will be woken next, or BLY_NO_WORKER; a hint. */
static inline uint32_t bly_idle_top(const bly_idle *idle)
{
    return bly_load(&idle->top, BLY_RELAXED); /* relaxed: a hint where to put a task, no more */
}

#endif
