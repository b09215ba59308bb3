/*
 * holders.c: who holds permits, since when and from where; with track_holders only.
 *
 * A holder is reported, never robbed: nothing here ends a lease.
 */
#include "sem/sem_int.h"

#include <inttypes.h>
#include <stdio.h>

/* Holders that a refused destroy tells the log. */
#define LOG_MAX 16

#define LINE_SIZE 160

int64_t bly_holders_now(const belay_sem *sem)
{
    return sem->tracks_holders ? sem->clock->now(sem->clock) : BLY_SEM_NOT_READ;
}

void bly_holders_add_locked(belay_sem *sem, belay_lease *lease, int64_t now_ns)
{
    if (sem->tracks_holders) {
        lease->since_ns = now_ns;
        bly_list_push_back(&sem->holders, &lease->link);
    }
}

void bly_holders_remove_locked(belay_sem *sem, belay_lease *lease)
{
    bly_assert(sem->tracks_holders);
    bly_list_remove(&lease->link);
}

void bly_holders_replace(belay_sem *sem, belay_lease *from, belay_lease *to)
{
    if (sem->tracks_holders) {
        bly_sem_lock(sem);
        to->since_ns = from->since_ns;
        bly_list_insert_before(&from->link, &to->link);
        bly_list_remove(&from->link);
        bly_sem_unlock(sem);
    }
}

static belay_sem_holder describe(const belay_lease *lease, int64_t now_ns)
{
    return (belay_sem_holder){
        .lease = lease,
        .site = (const void *)(uintptr_t)lease->mark,
        .age_ns = now_ns > lease->since_ns ? now_ns - lease->since_ns : 0,
        .permits = lease->permits,
    };
}

int belay_sem_holders(belay_sem *sem, belay_sem_holder *ret_holders, uint32_t max)
{
    if (sem == NULL || (ret_holders == NULL && max > 0)) {
        return BELAY_EINVAL;
    }
    max = max < BELAY_SEM_HOLDERS_MAX ? max : BELAY_SEM_HOLDERS_MAX;
    int64_t now_ns = bly_holders_now(sem);
    uint32_t count = 0;
    bly_sem_lock(sem);
    bly_list_each (link, &sem->holders) {
        if (count == max) {
            break;
        }
        ret_holders[count++] = describe(bly_container(link, belay_lease, link), now_ns);
    }
    bly_sem_unlock(sem);
    return (int)count;
}

void bly_holders_log(belay_sem *sem)
{
    if (sem->log == NULL) {
        return;
    }
    belay_sem_holder holders[LOG_MAX];
    int count = belay_sem_holders(sem, holders, LOG_MAX);
    for (int i = 0; i < count; i++) {
        char line[LINE_SIZE];
        (void)snprintf(line, sizeof line,
                       "%s: lease %p holds %" PRIu32 " for %" PRId64 " ns, acquired at %p",
                       sem->name, (const void *)holders[i].lease, holders[i].permits,
                       holders[i].age_ns, holders[i].site);
        sem->log(line, sem->log_arg);
    }
}
