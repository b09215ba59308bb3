/*
 * blocking.c: the wait of a thread.
 *
 * The thread sleeps in its parker until its lease is decided, and times out by itself: it does not
 * depend on a timer service, which the caller may be polling on this very thread. Once its deadline
 * has passed it takes the lock, and unless its lease has been decided meanwhile it takes it out of
 * the queue; so a grant that comes in the same instant is either seen or has not happened.
 *
 * However it ends, the thread comes back to bly_sem_deliver before it returns: until then the
 * semaphore counts it and cannot be destroyed.
 */
#include "sem/sem_int.h"

#include "deliver/deliver.h"

/* The deadline of a lease that waits has passed, if it still waits. */
static void time_out(belay_sem *sem, belay_lease *lease)
{
    bly_pass pass;
    bly_pass_begin_at(sem, &pass, sem->clock->now(sem->clock));
    if (bly_lease_state_of(lease) == BLY_LEASE_WAITING) {
        bly_pass_decide(sem, &pass, lease, BLY_LEASE_TIMED_OUT);
    }
    bly_pass_end(sem, &pass);
}

int bly_sem_wait(belay_sem *sem, belay_lease *lease, int64_t deadline_ns)
{
    bly_assert(lease->fn == NULL && lease->arg != NULL);
    while (bly_lease_state_of(lease) == BLY_LEASE_WAITING) {
        if (bly_park(lease->arg, sem->clock, deadline_ns) == BELAY_ETIMEDOUT) {
            time_out(sem, lease);
        }
    }
    bly_cancel_unregister(&lease->reg);
    int result = bly_sem_deliver(sem, lease);
    bly_deliver_run();
    return result;
}
