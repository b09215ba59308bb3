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
    uint32_t place;          /* the service's lock: in its heap; 0: not armed */
    bool is_ahead;           /* the service's lock: armed before its deadline had come */
    bool is_closed;          /* the service's lock: no longer armed, whoever tries */
};

/*
 * bly_timers_use: counts one more user of the service. `timers` NULL gives the one that the process
 * shares for the clock (NULL: the system's), made by its first user: it starts the thread, so that
 * arming cannot fail. Gives a use, which has room for one timer; bly_timers_unuse ends it.
 * Errors: BELAY_EINVAL (the service has another clock), BELAY_ENOMEM, BELAY_EAGAIN (no thread).
 * Context: no lock is held.
 *
 * bly_timers_unuse: the last use of a shared service ends it, and waits for the end of its thread
 * and so of the callback that this is running; called from a callback that is delivered inline (the
 * service's own thread included) it does not wait, and the thread ends by itself.
 * Context: no lock is held; the timers of this use were disarmed with bly_timer_disarm_wait.
 */
int bly_timers_use(belay_timers *timers, belay_clock *clock, belay_timers **ret_timers);
void bly_timers_unuse(belay_timers *timers);

/*
 * bly_timer_init: the timer of one use of the service, not armed. Its memory stays valid until
 * disarm_wait. fn is called under no lock, on the service's thread, by the caller of poll, or by
 * who moves the clock. It takes its object's lock, completes, arms again, unlocks and calls
 * bly_deliver_run, which here does nothing yet: callbacks run when the service has let go of the
 * timer. So disarm_wait waits for library code only, and a callback may free the object, timer
 * included.
 */
void bly_timer_init(bly_timer *timer, belay_timers *timers, void (*fn)(bly_timer *));

/*
 * bly_timer_arm: sets, moves forward or moves back the deadline; BELAY_FOREVER disarms. Never
 * fails, allocates nothing (the service has room for each timer that was initialised).
 * Context: any lock of an object may be held.
 */
void bly_timer_arm(bly_timer *timer, int64_t deadline_ns);

/*
 * bly_timer_reached: the time that the timer's service goes by. It may be ahead of the clock, which
 * may step back, and the caller of a poll names the time himself. A timer's function takes what is
 * due by then as expired: armed for it again, it would be called again at once.
 * Context: called from the timer's function, or while its use lasts.
 */
int64_t bly_timer_reached(const bly_timer *timer);

/* bly_timer_disarm: the function will not begin after this returns; it may be running. */
void bly_timer_disarm(bly_timer *timer);

/*
 * bly_timer_disarm_wait: disarms for good, and waits until the function is not running, unless
 * called from it. Called before the object is freed; the counterpart of init.
 * Context: no lock is held.
 */
void bly_timer_disarm_wait(bly_timer *timer);

#endif
