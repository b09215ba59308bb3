/*
 * release.c: what ends a lease, or a wait for one, from outside: release, cancel, move.
 *
 * Exactly one of all releases of a lease moves its state from HELD to RELEASING; the others are
 * refused by that word alone, without following the lease's semaphore, which the first may have
 * been the last to need. The one reads permits and semaphore only then: before, another could have
 * released the lease and used it again. It has left the lease before it gives the permits back,
 * which is the last that it does with either when the word of fast.h is open.
 */
#include "sem/sem_int.h"

#include "deliver/deliver.h"

/* The error for who wanted a held lease and found another state. */
static int not_held(bly_lease_state found)
{
    return found == BLY_LEASE_RELEASING || found == BLY_LEASE_RELEASED ? BELAY_ERELEASED
                                                                       : BELAY_ENOTHELD;
}

int belay_lease_cancel(belay_lease *lease)
{
    if (lease == NULL) {
        return BELAY_EINVAL;
    }
    /* What waits is seldom in the cache; both halves are on their way while the lock is taken. */
    __builtin_prefetch(&lease->fn, 1);
    bly_lease_state state = bly_lease_state_of(lease);
    if (!bly_lease_is_itself(lease) || state == BLY_LEASE_IDLE || state == BLY_LEASE_CLAIMED ||
        state == BLY_LEASE_FIRED) {
        return BELAY_ENOENT;
    }
    if (state == BLY_LEASE_RELEASING || bly_lease_is_reusable(state)) {
        return BELAY_ETOOLATE;
    }
    /* relaxed: published by the state. */
    belay_sem *sem = bly_load(&lease->sem, BLY_RELAXED);
    bly_pass pass;
    bly_pass_begin(sem, &pass);
    int result = BELAY_ETOOLATE;
    state = bly_lease_state_of(lease);
    /* A lease that ended meanwhile may wait for another semaphore by now. */
    if (bly_load(&lease->sem, BLY_RELAXED) == sem) {
        if (state == BLY_LEASE_WAITING) {
            bly_pass_decide(sem, &pass, lease, BLY_LEASE_CANCELED);
            result = 0;
        } else if (state == BLY_LEASE_RESERVED || state == BLY_LEASE_HELD) {
            sem->counts.late_cancels++;
        }
    }
    bly_pass_end(sem, &pass);
    bly_deliver_run();
    return result;
}

int belay_lease_release(belay_lease *lease)
{
    if (lease == NULL) {
        return BELAY_EINVAL;
    }
    if (!bly_lease_is_itself(lease)) {
        return BELAY_ENOTHELD;
    }
    bly_lease_state found;
    if (!bly_lease_claim(lease, BLY_LEASE_HELD, BLY_LEASE_RELEASING, &found)) {
        int error = not_held(found);
        if (error == BELAY_ERELEASED) {
            /* relaxed: an address to compare with; see registry.c. */
            bly_registry_count_double(bly_load(&lease->sem, BLY_RELAXED));
        }
        return error;
    }
    /* relaxed: published by the state. */
    belay_sem *sem = bly_load(&lease->sem, BLY_RELAXED);
    uint32_t permits = bly_read(&lease->permits);
    bool is_listed = sem->tracks_holders;
    if (!is_listed) {
        bly_lease_go(lease, BLY_LEASE_RELEASING, BLY_LEASE_RELEASED);
        if (bly_fast_give(&sem->fast, permits)) {
            return 0;
        }
    }
    bly_pass pass;
    bly_pass_begin(sem, &pass);
    if (is_listed) {
        bly_holders_remove_locked(sem, lease);
        bly_lease_enter(lease, BLY_LEASE_RELEASED);
    }
    bly_sem_give_back_locked(sem, permits);
    bly_pass_end(sem, &pass);
    bly_deliver_run();
    return 0;
}

int belay_lease_move(belay_lease *from, belay_lease *to)
{
    if (from == NULL || to == NULL || from == to) {
        return BELAY_EINVAL;
    }
    if (!bly_lease_is_itself(from)) {
        return BELAY_ENOTHELD;
    }
    bly_lease_state found;
    if (!bly_lease_claim(from, BLY_LEASE_HELD, BLY_LEASE_CLAIMED, &found)) {
        return not_held(found);
    }
    *to = (belay_lease)BELAY_LEASE_INIT;
    bly_store(&to->self, to, BLY_RELAXED); /* relaxed: published by the state */
    to->permits = from->permits;
    to->mark = from->mark;
    /* relaxed: published by the state. */
    belay_sem *sem = bly_load(&from->sem, BLY_RELAXED);
    bly_store(&to->sem, sem, BLY_RELAXED);
    bly_holders_replace(sem, from, to);
    bly_lease_enter(to, BLY_LEASE_CLAIMED);
    bly_lease_enter(to, BLY_LEASE_HELD);
    bly_lease_enter(from, BLY_LEASE_IDLE);
    return 0;
}
