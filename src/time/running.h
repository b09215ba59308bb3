/*
 * running.h: whose function is being called at this moment, and waiting until it no longer is.
 *
 * For an owner that calls functions of others one at a time, under no lock: a token its
 * registrations, a service its timers, a clock its watchers. Who wants to free the storage of such
 * a function must first know that it does not run on another thread. What ends is looked at by
 * address under the owner's lock only, never touched: the function may have freed it.
 */
#ifndef BLY_TIME_RUNNING_H
#define BLY_TIME_RUNNING_H

#include "sync/sync.h"

/* All zero: nothing runs. */
typedef struct bly_running {
    const void *subject; /* owner's lock: whose function runs; NULL: none, or forgotten */
    uint64_t thread;     /* owner's lock: the thread that it runs on; 0: none runs */
    uint32_t turn;       /* atomic: written under the owner's lock, slept on by waiters */
    uint32_t waiters;    /* owner's lock */
} bly_running;

/* bly_running_begin: the function of `subject` is about to be called on this thread. Lock held. */
static inline void bly_running_begin(bly_running *running, const void *subject)
{
    bly_assert(running->subject == NULL && running->thread == 0);
    running->subject = subject;
    running->thread = bly_thread_id();
}

/* bly_running_end: it has returned. True when bly_running_wake must follow. Lock held. */
static inline bool bly_running_end(bly_running *running)
{
    bly_assert(running->thread == bly_thread_id());
    running->subject = NULL;
    running->thread = 0;
    /* relaxed: the lock orders it; a waiter that missed it finds another value than it read. */
    (void)bly_fetch_add(&running->turn, 1u, BLY_RELAXED);
    return running->waiters != 0;
}

/* bly_running_wake: wakes who waits. No lock; the owner may be gone already. */
static inline void bly_running_wake(bly_running *running)
{
    bly_futex_wake(&running->turn, BLY_WAKE_ALL);
}

/*
 * bly_running_wait: returns when the function of `subject` does not run on another thread. Called
 * from within that function it forgets the subject instead, so that nobody waits for a later one at
 * the same address. The lock is held at call and return, and dropped meanwhile.
 */
static inline void bly_running_wait(bly_running *running, const void *subject, bly_mutex *lock)
{
    if (running->subject == subject && running->thread == bly_thread_id()) {
        running->subject = NULL;
        return;
    }
    while (running->subject == subject) {
        uint32_t turn = bly_load(&running->turn, BLY_RELAXED); /* relaxed: see bly_running_end */
        running->waiters++;
        bly_mutex_unlock(lock);
        (void)bly_futex_wait(&running->turn, turn, BELAY_FOREVER);
        bly_mutex_lock(lock);
        running->waiters--;
    }
}

#endif
