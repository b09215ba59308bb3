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

int bly_sem_wait(const bly_request *request)
{
    belay_sem *sem = request->sem;
    belay_lease *lease = request->lease;
    bly_assert(request->fn == NULL && request->arg != NULL);
    while (bly_lease_state_of(lease) == BLY_LEASE_WAITING) {
        if (bly_park(request->arg, sem->clock, request->deadline_ns) == BELAY_ETIMEDOUT) {
            time_out(sem, lease);
        }
    }
    bly_cancel_unregister(&lease->reg);
    int64_t now_ns = sem->clock->now(sem->clock);
    int result =
        bly_sem_deliver(sem, lease, now_ns > request->since_ns ? now_ns - request->since_ns : 0);
    bly_deliver_run();
    return result;
}
