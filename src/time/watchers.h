/*
 * watchers.h: those who want to know that a clock moved, and telling them.
 *
 * For the writer of a clock, who owns the lock. Watchers come and go while others are being told: a
 * mark in the list keeps the place of who tells. One thread at a time tells.
 */
#ifndef BLY_TIME_WATCHERS_H
#define BLY_TIME_WATCHERS_H

#include "base/list.h"
#include "belay/clock.h"
#include "time/running.h"

typedef struct bly_watchers {
    bly_list list;       /* owner's lock: watchers, and the mark */
    bly_running running; /* owner's lock: the watcher that is being told */
} bly_watchers;

static inline void bly_watchers_init(bly_watchers *watchers)
{
    *watchers = (bly_watchers){.running = {.subject = NULL}};
    bly_list_init(&watchers->list);
}

/* bly_watchers_add: a watcher that stands in no list. Lock held. */
static inline void bly_watchers_add(bly_watchers *watchers, belay_clock_watcher *watcher)
{
    bly_list_push_back(&watchers->list, &watcher->link);
}

/*
 * bly_watchers_remove: returns when the watcher is not being told on another thread. The lock is
 * held at call and return, and may be dropped meanwhile.
 */
static inline void bly_watchers_remove(bly_watchers *watchers, belay_clock_watcher *watcher,
                                       bly_mutex *lock)
{
    bly_list_remove(&watcher->link);
    bly_running_wait(&watchers->running, watcher, lock);
}

/* bly_watchers_tell: calls each watcher that is there when its turn comes. No lock is held. */
static inline void bly_watchers_tell(bly_watchers *watchers, bly_mutex *lock)
{
    bly_list mark = {NULL, NULL};
    bly_list *next;
    bly_mutex_lock(lock);
    bly_list_push_front(&watchers->list, &mark);
    while ((next = bly_list_next(&watchers->list, &mark)) != NULL) {
        belay_clock_watcher *watcher = bly_container(next, belay_clock_watcher, link);
        bly_list_remove(&mark);
        bly_list_insert_before(next->next, &mark);
        bly_running_begin(&watchers->running, watcher);
        bly_mutex_unlock(lock);
        watcher->on_change(watcher);
        bly_mutex_lock(lock);
        if (bly_running_end(&watchers->running)) {
            bly_running_wake(&watchers->running);
        }
    }
    bly_list_remove(&mark);
    bly_mutex_unlock(lock);
}

#endif
