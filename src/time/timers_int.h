/*
 * timers_int.h: the timer service, as timers.c (timers and their firing) and service.c (who uses
 * it, how it begins and ends) share it.
 */
#ifndef BLY_TIME_TIMERS_INT_H
#define BLY_TIME_TIMERS_INT_H

#include "base/heap.h"
#include "base/hist.h"
#include "sync/sync.h"
#include "time/running.h"
#include "time/timers.h"

/* Who calls the functions of a service's timers. */
typedef enum bly_timers_mode {
    BLY_TIMERS_THREAD, /* a thread of its own */
    BLY_TIMERS_POLLED, /* the caller of belay_timers_poll */
    BLY_TIMERS_DRIVEN  /* its clock, when that is moved by hand */
} bly_timers_mode;

struct belay_timers {
    belay_clock *clock;   /* constant after create */
    bly_timers_mode mode; /* constant after create */
    bool is_shared;       /* constant after create: made by bly_timers_use */
    uint64_t generation;  /* constant after create: of the process that made it */

    bly_mutex lock;            /* of what follows; the last of the lock order */
    bly_heap armed;            /* lock: timers by (deadline, number of arming) */
    uint32_t room;             /* lock: timers that the heap has room for, one a use */
    uint64_t seq;              /* lock: the last number of arming */
    int64_t last_now_ns;       /* lock: the latest reading that was used */
    uint64_t steps_back;       /* lock: readings that were before last_now_ns */
    uint64_t fired;            /* lock: timers whose function was called */
    bly_hist lateness;         /* lock: from the deadline to that call, ns, of those armed ahead */
    bly_running running;       /* lock: the timer whose function is being called */
    bool is_polling;           /* lock: a call of belay_timers_poll is going on */
    bool is_stopping;          /* lock: the thread is to end */
    bool is_orphan;            /* lock: the thread frees the service when it ends */
    int64_t sleeps_until_ns;   /* lock: BELAY_NOW while the thread is awake or there is none */
    uint32_t word;             /* atomic: written under the lock, slept on by the thread */
    bly_thread thread;         /* who creates and ends the service */
    belay_clock_driver driver; /* the clock's */

    uint32_t uses;             /* the registry's lock: objects that use the service */
    belay_timers *next_shared; /* the registry's lock */
};

/* bly_timers_serve: the function of a service's thread. */
void bly_timers_serve(void *arg);

/* bly_timers_reserve: room for one more timer; BELAY_ENOMEM. bly_timers_spare gives it back. */
int bly_timers_reserve(belay_timers *timers);
void bly_timers_spare(belay_timers *timers);

/* bly_timers_drive: makes the service's driver ready for its clock. */
void bly_timers_drive(belay_timers *timers);

/* bly_timers_free: the memory of a service that has no timers, thread or driver left. */
void bly_timers_free(belay_timers *timers);

#endif
