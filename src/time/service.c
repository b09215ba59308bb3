/*
 * service.c: how a timer service begins, who uses it, and how it ends.
 *
 * Shared services. The registry lists one for each clock in use, made by its first user. Nothing
 * blocks or is allocated under the registry's lock, so a first user makes a service speculatively
 * and throws it away when another was faster. The last user takes it off the list under the lock
 * and ends it afterwards; who comes in between makes a new one.
 *
 * Threads. A service's thread starts when the service is made, not with the first timer, since
 * arming happens under an object's lock and cannot fail. It is joined by who ends the service, but
 * for one case: a callback that is delivered inline may give up the last object of a shared
 * service, on the service's own thread or on one that the service's thread may be waiting for. Then
 * the thread is detached and frees the service as it ends.
 *
 * Fork. The child's registry is empty; services of the parent's are left as they are, since their
 * threads do not exist and their locks may be taken.
 */
#include "base/opts.h"
#include "deliver/deliver.h"
#include "time/timers_int.h"

#define DEFAULT_NAME "belay-timers"

static bly_mutex registry_lock;
static belay_timers *shared; /* registry_lock: the shared services */

static void lock_before_fork(void)
{
    bly_mutex_lock(&registry_lock);
}

static void unlock_in_parent(void)
{
    bly_mutex_unlock(&registry_lock);
}

static void forget_in_child(void)
{
    shared = NULL;
    bly_mutex_unlock(&registry_lock);
}

static void watch_forks(void)
{
    static bly_fork_hook hook = {
        .before = lock_before_fork, .parent = unlock_in_parent, .child = forget_in_child};
    bly_at_fork(&hook);
}

void bly_timers_free(belay_timers *timers)
{
    bly_heap_destroy(&timers->armed);
    bly_mutex_destroy(&timers->lock);
    bly_free(timers);
}

static int start(belay_timers *timers, const char *name)
{
    bly_thread_opts opts = {.name = name != NULL ? name : DEFAULT_NAME};
    if (timers->mode == BLY_TIMERS_THREAD) {
        return bly_thread_create(&timers->thread, &opts, bly_timers_serve, timers);
    }
    if (timers->mode == BLY_TIMERS_DRIVEN) {
        bly_timers_drive(timers);
        timers->clock->drive(timers->clock, &timers->driver);
    }
    return 0;
}

static bly_timers_mode mode_of(const belay_timers_opts *opts, const belay_clock *clock)
{
    if (opts->is_polled) {
        return BLY_TIMERS_POLLED;
    }
    return clock->drive != NULL ? BLY_TIMERS_DRIVEN : BLY_TIMERS_THREAD;
}

static int make(const belay_timers_opts *opts, bool is_shared, belay_timers **ret_timers)
{
    static bly_once fork_once;
    bly_once_run(&fork_once, watch_forks);
    belay_timers *timers = bly_alloc(sizeof *timers);
    if (timers == NULL) {
        return BELAY_ENOMEM;
    }
    timers->clock = opts->clock != NULL ? opts->clock : belay_clock_system();
    timers->mode = mode_of(opts, timers->clock);
    timers->is_shared = is_shared;
    timers->generation = bly_fork_generation();
    timers->last_now_ns = timers->sleeps_until_ns = BELAY_NOW;
    bly_heap_init(&timers->armed, offsetof(bly_timer, place));
    int result = start(timers, opts->name);
    if (result != 0) {
        bly_timers_free(timers);
        return result;
    }
    *ret_timers = timers;
    return 0;
}

/* Ends the thread; when is_orphan, without waiting for it, and the service ends with it. */
static void stop_thread(belay_timers *timers, bool is_orphan)
{
    belay_clock *clock = timers->clock;
    if (is_orphan) {
        bly_thread_detach(&timers->thread);
    }
    bly_mutex_lock(&timers->lock);
    timers->is_stopping = true;
    timers->is_orphan = is_orphan;
    (void)bly_fetch_add(&timers->word, 1u, BLY_RELAXED); /* relaxed: ordered by the lock */
    bly_mutex_unlock(&timers->lock);
    clock->wake(clock, &timers->word, 1);
    if (!is_orphan) {
        bly_thread_join(&timers->thread);
    }
}

/* Ends a service that nobody uses. */
static void end(belay_timers *timers)
{
    if (bly_forked_since(timers->generation)) {
        return;
    }
    bool is_orphan = timers->mode == BLY_TIMERS_THREAD && bly_deliver_active();
    if (timers->mode == BLY_TIMERS_THREAD) {
        stop_thread(timers, is_orphan);
    } else if (timers->mode == BLY_TIMERS_DRIVEN) {
        timers->clock->undrive(timers->clock, &timers->driver);
    }
    if (!is_orphan) {
        bly_timers_free(timers);
    }
}

int belay_timers_create(const belay_timers_opts *opts, belay_timers **ret_timers)
{
    belay_timers_opts own;
    if (ret_timers == NULL || bly_opts_read(&own, sizeof own, opts) != 0 || own.is_polled > 1) {
        return BELAY_EINVAL;
    }
    return make(&own, false, ret_timers);
}

int belay_timers_destroy(belay_timers *timers)
{
    if (timers == NULL) {
        return 0;
    }
    bly_mutex_lock(&registry_lock);
    bool is_used = timers->uses != 0;
    bly_mutex_unlock(&registry_lock);
    bly_mutex_lock(&timers->lock);
    is_used = is_used || timers->is_polling;
    bly_mutex_unlock(&timers->lock);
    if (is_used) {
        return BELAY_EBUSY;
    }
    if (timers->mode == BLY_TIMERS_THREAD && bly_deliver_active()) {
        return BELAY_EDEADLK;
    }
    end(timers);
    return 0;
}

/* One more use of the shared service of the clock; NULL when there is none. */
static belay_timers *use_shared_locked(const belay_clock *clock)
{
    belay_timers *timers = shared;
    while (timers != NULL && timers->clock != clock) {
        timers = timers->next_shared;
    }
    if (timers != NULL) {
        timers->uses++;
    }
    return timers;
}

/* Lists a service with its first use, unless there is one for its clock by now; gives that. */
static belay_timers *enlist(belay_timers *made)
{
    bly_mutex_lock(&registry_lock);
    belay_timers *timers = use_shared_locked(made->clock);
    if (timers == NULL) {
        made->uses = 1;
        made->next_shared = shared;
        shared = timers = made;
    }
    bly_mutex_unlock(&registry_lock);
    return timers;
}

static int use_shared(belay_clock *clock, belay_timers **ret_timers)
{
    bly_mutex_lock(&registry_lock);
    belay_timers *timers = use_shared_locked(clock);
    bly_mutex_unlock(&registry_lock);
    if (timers == NULL) {
        belay_timers *made = NULL;
        int result = make(&(belay_timers_opts){.clock = clock}, true, &made);
        if (result != 0) {
            return result;
        }
        timers = enlist(made);
        if (timers != made) {
            end(made);
        }
    }
    *ret_timers = timers;
    return 0;
}

static void delist_locked(belay_timers *timers)
{
    belay_timers **place = &shared;
    while (*place != NULL && *place != timers) {
        place = &(*place)->next_shared;
    }
    if (*place != NULL) {
        *place = timers->next_shared;
    }
}

/* Ends a use; the last of a shared service ends that. */
static void give_up(belay_timers *timers)
{
    bly_mutex_lock(&registry_lock);
    bly_assert(timers->uses != 0);
    bool is_over = --timers->uses == 0 && timers->is_shared;
    if (is_over) {
        delist_locked(timers);
    }
    bly_mutex_unlock(&registry_lock);
    if (is_over) {
        end(timers);
    }
}

int bly_timers_use(belay_timers *timers, belay_clock *clock, belay_timers **ret_timers)
{
    if (clock == NULL) {
        clock = belay_clock_system();
    }
    if (timers == NULL) {
        int result = use_shared(clock, &timers);
        if (result != 0) {
            return result;
        }
    } else if (timers->clock != clock) {
        return BELAY_EINVAL;
    } else {
        bly_mutex_lock(&registry_lock);
        timers->uses++;
        bly_mutex_unlock(&registry_lock);
    }
    int result = bly_timers_reserve(timers);
    if (result != 0) {
        give_up(timers);
        return result;
    }
    *ret_timers = timers;
    return 0;
}

void bly_timers_unuse(belay_timers *timers)
{
    if (!bly_forked_since(timers->generation)) {
        bly_timers_spare(timers);
    }
    give_up(timers);
}
