/*
 * sem.c: the life of a semaphore.
 *
 * While nobody waits, permits change hands by one step on a word of their own, which whoever takes
 * the lock shuts first (fast.h). What follows is about the rest.
 *
 * One lock guards permits, queue and all decisions, so each transition is one step: an acquire is
 * granted or queued, a release moves its permits to the head of the queue or to `available`, a
 * waiting lease leaves for exactly one of its ends. The files of this folder share the work:
 * acquire.c and blocking.c bring leases in, release.c takes them out, pass.c decides who is served
 * and how they are told, idle.c waits for the end, and this file makes, changes and ends the whole.
 *
 * Teardown. Destroy succeeds when nobody holds, waits, is to be told or is inside a pass. It learns
 * that under the lock, so whoever made it true has left the lock. What can still come then is the
 * timer's function, which finds nothing to do; it is waited for unless it is what called destroy
 * (a callback of what timed out, run inline). A release that is still returning on another thread
 * has done its last access by unlocking.
 */
#include "sem/sem_int.h"

#include "base/opts.h"
#include "deliver/deliver.h"
#include "time/spin.h"

#include <stdio.h>

static bool are_valid(const belay_sem_opts *opts)
{
    return opts->capacity >= 1 && opts->capacity <= BELAY_SEM_CAPACITY_MAX && opts->unfair <= 1 &&
           opts->track_holders <= 1 && opts->zero == 0;
}

static uint32_t waiters_max_of(const belay_sem_opts *opts)
{
    switch (opts->waiters_max) {
    case 0:
        return BLY_SEM_WAITERS_DEFAULT;
    case BELAY_NONE:
        return 0;
    default:
        return opts->waiters_max;
    }
}

static void init(belay_sem *sem, const belay_sem_opts *opts)
{
    sem->capacity = sem->available = opts->capacity;
    sem->next_place = sem->next_turn = 1; /* 0 in a lease: it never queued, or was never granted */
    sem->counts.short_since_ns = BLY_SEM_NOT_READ;
    sem->counts.cancel_second = BLY_SEM_NOT_READ;
    sem->armed_ns = BELAY_FOREVER;
    sem->waiters_max = waiters_max_of(opts);
    sem->is_unfair = opts->unfair == 1;
    sem->tracks_holders = opts->track_holders == 1;
    sem->executor = opts->executor;
    sem->is_inline = opts->executor == NULL || opts->executor == belay_inline();
    sem->log = opts->log;
    sem->log_arg = opts->log_arg;
    (void)snprintf(sem->name, sizeof sem->name, "%s", opts->name != NULL ? opts->name : "sem");
    bly_list_init(&sem->queue);
    bly_list_init(&sem->reserved_order);
    bly_list_init(&sem->holders);
    bly_list_init(&sem->idlers);
    bly_deadlines_init(&sem->deadlines);
    if (!sem->tracks_holders) {
        bly_fast_open(&sem->fast, sem->available);
    }
}

int belay_sem_create(const belay_sem_opts *opts, belay_sem **ret_sem)
{
    belay_sem_opts known;
    if (ret_sem == NULL || bly_opts_read(&known, sizeof known, opts) != 0 || !are_valid(&known)) {
        return BELAY_EINVAL;
    }
    belay_clock *clock = known.clock != NULL ? known.clock : belay_clock_system();
    belay_timers *timers = NULL;
    int result = bly_timers_use(known.timers, clock, &timers);
    if (result != 0) {
        return result;
    }
    belay_sem *sem = bly_alloc(sizeof *sem);
    if (sem == NULL) {
        bly_timers_unuse(timers);
        return BELAY_ENOMEM;
    }
    sem->clock = clock;
    sem->timers = timers;
    init(sem, &known);
    bly_timer_init(&sem->timer, sem->timers, bly_sem_on_timer);
    bly_executor_attach(sem->executor, 1);
    bly_registry_add(sem);
    bly_spin_prepare();
    *ret_sem = sem;
    return 0;
}

int belay_sem_resize(belay_sem *sem, uint32_t capacity)
{
    if (sem == NULL || capacity == 0 || capacity > BELAY_SEM_CAPACITY_MAX) {
        return BELAY_EINVAL;
    }
    int result = BELAY_ECLOSED;
    bly_pass pass;
    bly_pass_begin(sem, &pass);
    if (!sem->is_closed) {
        uint32_t in_use = bly_sem_in_use_locked(sem);
        sem->capacity = capacity;
        sem->available = capacity > in_use ? capacity - in_use : 0;
        sem->debt = in_use > capacity ? in_use - capacity : 0;
        result = 0;
    }
    bly_pass_end(sem, &pass);
    bly_deliver_run();
    return result;
}

int belay_sem_close(belay_sem *sem)
{
    if (sem == NULL) {
        return BELAY_EINVAL;
    }
    bly_pass pass;
    bly_pass_begin(sem, &pass);
    sem->is_closed = true;
    bly_pass_end(sem, &pass);
    bly_deliver_run();
    return 0;
}

int belay_sem_destroy(belay_sem *sem)
{
    if (sem == NULL) {
        return 0;
    }
    bly_sem_lock(sem);
    bool is_idle = bly_sem_is_idle_locked(sem);
    bly_sem_unlock(sem);
    if (!is_idle) {
        bly_holders_log(sem);
        return BELAY_EBUSY;
    }
    bly_registry_remove(sem);
    bly_timer_disarm_wait(&sem->timer);
    bly_timers_unuse(sem->timers);
    bly_executor_attach(sem->executor, -1);
    bly_mutex_destroy(&sem->lock);
    bly_free(sem);
    return 0;
}
