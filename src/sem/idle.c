/*
 * idle.c: waiting for the end of all use.
 *
 * Who makes the semaphore idle takes every waiting thread off the list and wakes it, all under the
 * lock: a thread that is told may destroy the semaphore at once, and destroy has to wait for that
 * lock. The thread itself does not take it again. Its node is on its own stack, which may be gone
 * as soon as is_done is set.
 */
#include "sem/sem_int.h"

#include "deliver/deliver.h"

typedef struct idler {
    bly_list link;      /* the semaphore's lock */
    bly_parker *parker; /* constant while linked */
    uint32_t is_done;   /* atomic: written under the lock, read by its thread */
} idler;

void bly_sem_wake_idlers_locked(belay_sem *sem)
{
    bly_list *link;
    while ((link = bly_list_pop_front(&sem->idlers)) != NULL) {
        idler *found = bly_container(link, idler, link);
        bly_parker *parker = found->parker;
        /* release, with the acquire of is_done below: what made it idle is seen. */
        bly_store(&found->is_done, 1u, BLY_RELEASE);
        bly_unpark(parker, sem->clock);
    }
}

static bool is_done(const idler *self)
{
    return bly_load(&self->is_done, BLY_ACQUIRE) != 0; /* acquire: see wake_idlers */
}

static int verdict_locked(const belay_sem *sem, const idler *self, int64_t deadline_ns,
                          int64_t now_ns)
{
    if (bly_sem_is_idle_locked(sem)) {
        return 0;
    }
    if (deadline_ns == BELAY_NOW) {
        return BELAY_EAGAIN;
    }
    if (deadline_ns <= now_ns) {
        return BELAY_ETIMEDOUT;
    }
    if (bly_deliver_active()) {
        return BELAY_EDEADLK;
    }
    return self->parker == NULL ? BELAY_ENOMEM : BELAY_PENDING;
}

static int wait_for_end(belay_sem *sem, idler *self, int64_t deadline_ns)
{
    int result = 0;
    while (!is_done(self) && result == 0) {
        if (bly_park(self->parker, sem->clock, deadline_ns) != BELAY_ETIMEDOUT) {
            continue;
        }
        bly_sem_lock(sem);
        if (!is_done(self)) {
            bly_list_remove(&self->link);
            result = BELAY_ETIMEDOUT;
        }
        bly_sem_unlock(sem);
    }
    return result;
}

int belay_sem_await_idle(belay_sem *sem, int64_t deadline_ns)
{
    if (sem == NULL) {
        return BELAY_EINVAL;
    }
    idler self = {.parker = bly_parker_self()};
    if (self.parker != NULL) {
        bly_parker_reset(self.parker);
    }
    int64_t now_ns = sem->clock->now(sem->clock);
    bly_sem_lock(sem);
    int result = verdict_locked(sem, &self, deadline_ns, now_ns);
    if (result == BELAY_PENDING) {
        bly_list_push_back(&sem->idlers, &self.link);
    }
    bly_sem_unlock(sem);
    return result == BELAY_PENDING ? wait_for_end(sem, &self, deadline_ns) : result;
}
