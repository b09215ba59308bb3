/*
 * parker.h: where a thread sleeps.
 *
 * Each thread has one parker, whose memory is never given back while the process lives, so a waker
 * never touches a freed node: it takes the parker's address from the waiter under the object's
 * lock, and may wake it after the waiter has gone; a late wake is a spurious one for whoever waits
 * there next.
 *
 *     bly_parker *parker = bly_parker_self();   // NULL: no memory
 *     bly_parker_reset(parker);                 // before the waiter can be seen
 *     ... queue the waiter with its parker ...
 *     while (not decided) {
 *         if (bly_park(parker, clock, until_ns) == BELAY_ETIMEDOUT) ...
 *     }
 */
#ifndef BLY_TIME_PARKER_H
#define BLY_TIME_PARKER_H

#include "belay/clock.h"

typedef struct bly_parker bly_parker;

/* bly_parker_self: the calling thread's. Lends it; NULL when no memory is left. */
bly_parker *bly_parker_self(void);

/* bly_parker_reset: forgets an unpark that came before. */
void bly_parker_reset(bly_parker *parker);

/*
 * bly_park: sleeps on the clock until bly_unpark or until_ns; an unpark that came before makes it
 * return at once and is consumed. May return early. Announces itself as blocking. 0 or
 * BELAY_ETIMEDOUT. What the unparker did before is visible after.
 */
int bly_park(bly_parker *parker, belay_clock *clock, int64_t until_ns);

/* bly_unpark: ends the sleep of the parker's thread, now or its next one. Any thread, any lock. */
void bly_unpark(bly_parker *parker, belay_clock *clock);

#endif
