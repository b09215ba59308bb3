/*
 * belay/clock.h: where time comes from, and the timers that wait for it.
 *
 * A clock has two readings. `now` is monotonic: deadlines and waiting use it alone. `wall` is the
 * time of day: it may step, and only jobs that ask for wall time look at it. Both count
 * nanoseconds; wall counts them from 1970-01-01 UTC.
 */
#ifndef BELAY_CLOCK_H
#define BELAY_CLOCK_H

#include "belay/base.h"
#include "belay/detail/list.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct belay_clock belay_clock;
typedef struct belay_clock_watcher belay_clock_watcher;
typedef struct belay_clock_driver belay_clock_driver;
typedef struct belay_timers belay_timers;

/* Who wants to know that a clock moved. Caller's storage, from watch to unwatch. */
struct belay_clock_watcher {
    bly_list link;                                   /* the clock's */
    void (*on_change)(belay_clock_watcher *watcher); /* called under no lock */
};

/*
 * A timer service on a clock that is moved by hand. The service's storage, from drive to undrive;
 * the clock calls earliest under its own lock, fire and finish under none.
 *
 * earliest: the first armed deadline, BELAY_FOREVER when there is none, and the place of that timer
 *   in the order of arming, as belay_clock.order gave it.
 * fire: calls the function of the first timer due at now_ns, if there is one. Returns what finish
 *   is to be given.
 * finish: runs the callbacks of what that timer completed. Called after each fire, when the clock
 *   no longer needs the driver, which those callbacks may end.
 */
struct belay_clock_driver {
    bly_list link; /* the clock's */
    int64_t (*earliest)(belay_clock_driver *driver, uint64_t *ret_order);
    bool (*fire)(belay_clock_driver *driver, int64_t now_ns);
    void (*finish)(bool fired);
};

/*
 * A clock is a table of functions. belay_clock_system() is the machine's; belay/test.h has one that
 * a test moves by hand. All functions may be called from any thread.
 *
 * now, wall: the two readings. now never steps back.
 * now_coarse: a cheap reading of `now`, at most a few milliseconds old and never ahead of it.
 * wait: sleeps while *word == expected and `now` is before until_ns; may return early. Returns 0,
 *   or BELAY_ETIMEDOUT once until_ns has come.
 * wake: wakes up to `count` threads that wait on the word.
 * watch: calls watcher->on_change after the clock was moved by hand and after its wall time
 *   stepped, until unwatch, which returns only when no such call runs on another thread. Returns 0
 *   or BELAY_EAGAIN (no thread or descriptor to watch with).
 * drive: NULL for a clock that moves by itself. On one that is moved by hand a timer service has no
 *   thread of its own but gives itself to the clock, until undrive, which returns only when fire
 *   does not run on another thread.
 * order: with drive: a number greater than all it gave before, for what begins to wait now. Called
 *   under locks of belay's.
 */
struct belay_clock {
    int64_t (*now)(belay_clock *self);
    int64_t (*now_coarse)(belay_clock *self);
    int64_t (*wall)(belay_clock *self);
    int (*wait)(belay_clock *self, uint32_t *word, uint32_t expected, int64_t until_ns);
    void (*wake)(belay_clock *self, uint32_t *word, uint32_t count);
    int (*watch)(belay_clock *self, belay_clock_watcher *watcher);
    void (*unwatch)(belay_clock *self, belay_clock_watcher *watcher);
    void (*drive)(belay_clock *self, belay_clock_driver *driver);
    void (*undrive)(belay_clock *self, belay_clock_driver *driver);
    uint64_t (*order)(belay_clock *self);
    void *data; /* for the writer of the clock */
};

/*
 * belay_clock_system: CLOCK_MONOTONIC and CLOCK_REALTIME.
 * Lends one constant object. Errors: none. Context: any thread, never blocks.
 */
BELAY_API belay_clock *belay_clock_system(void);

/*
 * belay_clock_now, belay_clock_wall: a reading; `clock` NULL means the system's.
 * Errors: none. Context: any thread, never blocks.
 */
BELAY_API int64_t belay_clock_now(belay_clock *clock);
BELAY_API int64_t belay_clock_wall(belay_clock *clock);

/* Options of a timer service. Zero means the default. */
typedef struct belay_timers_opts {
    uint32_t size;      /* sizeof(belay_timers_opts) */
    uint32_t is_polled; /* 1: no thread; the caller calls belay_timers_poll */
    belay_clock *clock; /* NULL: the system's; borrowed until destroy */
    const char *name;   /* of its thread; NULL: "belay-timers"; copied */
} belay_timers_opts;

/*
 * belay_timers_create: a timer service that semaphores and schedulers can be given in their
 * options. Without is_polled it has a thread of its own from create to destroy; on a clock that is
 * moved by hand, moving the clock fires its timers instead.
 * opts may be NULL. Gives the service; belay_timers_destroy ends it.
 * Errors: BELAY_EINVAL, BELAY_ENOMEM, BELAY_EAGAIN (no thread).
 * Context: any thread, never blocks.
 */
BELAY_API int belay_timers_create(const belay_timers_opts *opts, belay_timers **ret_timers);

/*
 * belay_timers_poll: fires every timer whose deadline is at or before now_ns, in the order of
 * (deadline, arming) [G-BASE-11]. Returns how many fired.
 * Errors: BELAY_EINVAL (not a polled service; now_ns is BELAY_FOREVER), BELAY_EBUSY (another thread
 * polls it, or called from a timer).
 * Context: any one thread at a time; runs inline deliveries of what timed out.
 */
BELAY_API int belay_timers_poll(belay_timers *timers, int64_t now_ns);

/*
 * belay_timers_next_deadline: the earliest armed deadline, BELAY_FOREVER when there is none.
 * Errors: none. Context: any thread, never blocks.
 */
BELAY_API int64_t belay_timers_next_deadline(belay_timers *timers);

/* What a timer service tells of itself. Counters count since create. */
typedef struct belay_timers_metrics {
    uint32_t size;       /* sizeof(belay_timers_metrics), set by the caller */
    uint32_t armed;      /* timers that wait for their deadline */
    uint64_t fired;      /* timers whose deadline came */
    uint64_t steps_back; /* readings of the clock that were before an earlier one, and held there */
    /* From the deadline to the call of the timer's function, of timers armed before it had come. */
    int64_t lateness_p50_ns;
    int64_t lateness_p99_ns;
    int64_t lateness_max_ns;
} belay_timers_metrics;

/*
 * belay_timers_stats: one consistent snapshot. ret_metrics->size says how much of it the caller
 * knows; no more is written.
 * Errors: BELAY_EINVAL. Context: any thread or callback, never blocks.
 */
BELAY_API int belay_timers_stats(belay_timers *timers, belay_timers_metrics *ret_metrics);

/*
 * belay_timers_destroy: ends the service and joins its thread; NULL is allowed.
 * Errors: BELAY_EBUSY (an object uses it, or it is being polled), BELAY_EDEADLK (it has a thread,
 * and the caller is a callback that runs inline).
 * Context: any thread; waits for its thread to end.
 */
BELAY_API int belay_timers_destroy(belay_timers *timers);

#ifdef __cplusplus
}
#endif

#endif
