/*
 * registry.c: which semaphores live.
 *
 * The second release of a lease may come when its semaphore has been destroyed: the first release
 * may have been the last thing that kept it. Such a call is refused by the lease alone, but it is
 * counted by the semaphore, so it must know whether that still lives. It looks for the address here
 * without following it. When a new semaphore stands at the same address, the count is its.
 *
 * Only create, destroy and refused releases come here. The lock is never taken with another.
 */
#include "sem/sem_int.h"

static bly_mutex registry_lock;
static bly_list registry = {&registry, &registry}; /* registry_lock */

static void lock_before_fork(void)
{
    bly_mutex_lock(&registry_lock);
}

static void unlock_after_fork(void)
{
    bly_mutex_unlock(&registry_lock);
}

static void watch_forks(void)
{
    static bly_fork_hook hook = {
        .before = lock_before_fork, .parent = unlock_after_fork, .child = unlock_after_fork};
    bly_at_fork(&hook);
}

void bly_registry_add(belay_sem *sem)
{
    static bly_once watch_once;
    bly_once_run(&watch_once, watch_forks);
    bly_mutex_lock(&registry_lock);
    bly_list_push_back(&registry, &sem->registered);
    bly_mutex_unlock(&registry_lock);
}

void bly_registry_remove(belay_sem *sem)
{
    bly_mutex_lock(&registry_lock);
    bly_list_remove(&sem->registered);
    bly_mutex_unlock(&registry_lock);
}

void bly_registry_count_double(const belay_sem *sem)
{
    bly_mutex_lock(&registry_lock);
    /* Bounded by the number of semaphores of the process. */
    bly_list_each (link, &registry) {
        belay_sem *found = bly_container(link, belay_sem, registered);
        if (found == sem) {
            /* relaxed: a counter that statistics read; nothing is ordered by it. */
            (void)bly_fetch_add(&found->doubles, UINT64_C(1), BLY_RELAXED);
            break;
        }
    }
    bly_mutex_unlock(&registry_lock);
}
