/*
 * sems.h: the semaphores of a batch: -j and the named limits.
 *
 * Nothing in the command waits on a thread: a semaphore is asked by BELAY_NOW, or answers by a
 * callback, which runs inside the release that serves it. Their timer service is a polled one, so
 * that no thread is started for it; no wait here has a deadline, so nobody has to poll it.
 * Context: the command's only thread.
 */
#ifndef BLY_CLI_SEMS_H
#define BLY_CLI_SEMS_H

#include <stdint.h>

#include "belay/sem.h"

/* bly_sems_open: gives the timer service of all of them; bly_sems_close ends it, after them. */
belay_timers *bly_sems_open(void);
void bly_sems_close(belay_timers *timers);

/* bly_sems_make: gives a semaphore that any number may wait for; bly_sems_end ends an idle one. */
belay_sem *bly_sems_make(belay_timers *timers, uint32_t capacity);
void bly_sems_end(belay_sem *sem);

#endif
