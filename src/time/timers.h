/*
 * timers.h: one deadline of one object, waited for by a belay_timers service.
 *
 * A semaphore or scheduler has one bly_timer and an index of its own deadlines. The timer's
 * function takes the object's lock, completes what has expired, arms again, unlocks and delivers.
 * Lock order: the object's lock, then the service's.
 */
#ifndef BLY_TIME_TIMERS_H
#define BLY_TIME_TIMERS_H

#include "belay/clock.h"

typedef struct bly_timer bly_timer;

struct bly_timer {
    belay_timers *timers;    /* constant after init */
    void (*fn)(bly_timer *); /* constant after init; called under no lock */
    int64_t deadline_ns;     /* the service's lock */
    uint64_t seq;            /* the service's lock: order of arming among equal deadlines */
    uint32_t heap_index;     /* the service's lock: place in its heap + 1; 0 = not armed */
    uint32_t is_running;     /* the service's lock: fn has begun and not returned */
};

/*
 * bly_timers_use: counts one more user of the service; `timers` NULL gives the one that the process
 * shares for `clock` NULL or the system clock, made on first use (for a manual clock: the service
 * that its advance drives). Gives a use; bly_timers_unuse ends it, and the last ends a shared one.
 * Errors: BELAY_EINVAL (the service has another clock), BELAY_ENOMEM, BELAY_EAGAIN.
 */
int bly_timers_use(belay_timers *timers, belay_clock *clock, belay_timers **ret_timers);
void bly_timers_unuse(belay_timers *timers);

/* bly_timer_init: a timer of the service, not armed. Its memory stays valid until disarm_wait. */
void bly_timer_init(bly_timer *timer, belay_timers *timers, void (*fn)(bly_timer *));

/*
 * bly_timer_arm: sets, moves forward or moves back the deadline; BELAY_FOREVER disarms. Never
 * fails, allocates nothing (the service has room for each timer that was initialised).
 * Context: any lock of an object may be held.
 */
void bly_timer_arm(bly_timer *timer, int64_t deadline_ns);

/* bly_timer_disarm: the function will not begin after this returns; it may be running. */
void bly_timer_disarm(bly_timer *timer);

/*
 * bly_timer_disarm_wait: disarms for good, and waits until the function is not running, unless
 * called from it. Called before the object is freed; the counterpart of init.
 * Context: no lock is held.
 */
void bly_timer_disarm_wait(bly_timer *timer);

#endif
