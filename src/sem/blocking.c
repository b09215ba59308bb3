/*
 * blocking.c: the wait of a thread.
 *
 * The thread looks for a few microseconds, then sleeps in its parker, until its lease is decided.
 * It times out by itself and does not depend on a timer service, which the caller may be polling on
 * this very thread. Once its deadline has passed it takes the lock, and unless its lease has been
 * decided meanwhile it takes it out of the queue; so a grant that comes in the same instant is
 * either seen or has not happened.
 *
 * Looking pays while the one that holds the permits runs on another CPU (spin.h). Two threads that
 * have both gone to sleep would go on so for ever: each is woken, works for a moment, hands over to
 * the other and waits for the length of that one's wake, which is longer than it looks. So a thread
 * whose whole wait was as short as a wake makes those that come next look for longer.
 *
 * However it ends, the thread comes back to bly_sem_deliver before it returns: until then the
 * semaphore counts it and cannot be destroyed.
 */
#include "sem/sem_int.h"

#include "deliver/deliver.h"
#include "time/spin.h"

/* A wake takes up to so many times as long as one usually looks. */
#define LOOK_LONG 10

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

/* How long it pays to look for the end before sleeping. */
static int64_t look_limit(const belay_sem *sem)
{
    /* relaxed: a hint. */
    return bly_load(&sem->looks_long, BLY_RELAXED) != 0 ? LOOK_LONG * BLY_SPIN_NS : BLY_SPIN_NS;
}

/* Looks for a while whether the lease has been decided, unless the deadline is too near. */
static void look(const bly_request *request, int64_t limit_ns)
{
    bly_spin spin;
    if (request->deadline_ns < belay_time_add(request->since_ns, limit_ns) ||
        !bly_spin_begin(&spin, limit_ns)) {
        return;
    }
    while (bly_lease_state_of(request->lease) == BLY_LEASE_WAITING && bly_spin_go_on(&spin)) {
    }
    bly_spin_end();
}

/* A thread that has slept knows whether it had better looked for longer. */
static void learn(belay_sem *sem, int64_t waited_ns)
{
    uint32_t looks_long = waited_ns < LOOK_LONG * BLY_SPIN_NS;
    if (bly_load(&sem->looks_long, BLY_RELAXED) != looks_long) { /* relaxed: a hint */
        bly_store(&sem->looks_long, looks_long, BLY_RELAXED);
    }
}

int bly_sem_wait(const bly_request *request)
{
    belay_sem *sem = request->sem;
    belay_lease *lease = request->lease;
    bly_assert(request->fn == NULL && request->arg != NULL);
    look(request, look_limit(sem));
    bool has_slept = false;
    while (bly_lease_state_of(lease) == BLY_LEASE_WAITING) {
        has_slept = true;
        if (bly_park(request->arg, sem->clock, request->deadline_ns) == BELAY_ETIMEDOUT) {
            time_out(sem, lease);
        }
    }
    bly_cancel_unregister(&lease->reg);
    int64_t now_ns = sem->clock->now(sem->clock);
    int64_t waited_ns = now_ns > request->since_ns ? now_ns - request->since_ns : 0;
    if (has_slept) {
        learn(sem, waited_ns);
    }
    int result = bly_sem_deliver(sem, lease, waited_ns);
    bly_deliver_run();
    return result;
}
