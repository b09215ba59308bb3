/*
 * wait.h: how the calls of the executor that wait do it. They sleep on the system's clock.
 */
#ifndef BLY_EXEC_WAIT_H
#define BLY_EXEC_WAIT_H

#include "belay/clock.h"
#include "deliver/deliver.h"
#include "sync/sync.h"

/*
 * bly_wait_check: whether the calling thread may go on waiting: 0, BELAY_EAGAIN, BELAY_ETIMEDOUT or
 * BELAY_EDEADLK, in this order. Called when what is waited for is not there yet.
 */
static inline int bly_wait_check(int64_t deadline_ns)
{
    if (deadline_ns == BELAY_NOW) {
        return BELAY_EAGAIN;
    }
    if (deadline_ns != BELAY_FOREVER && belay_clock_now(NULL) >= deadline_ns) {
        return BELAY_ETIMEDOUT;
    }
    return bly_deliver_active() ? BELAY_EDEADLK : 0;
}

/* bly_wait_on: sleeps while the word has that value, until the deadline; may return early. */
static inline void bly_wait_on(uint32_t *word, uint32_t value, int64_t deadline_ns)
{
    belay_clock *clock = belay_clock_system();
    bly_blocking_begin();
    (void)clock->wait(clock, word, value, deadline_ns);
    bly_blocking_end();
}

#endif
