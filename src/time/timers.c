/*
 * timers.c: timers, and the calls of their functions.
 *
 * Whoever serves the timers (the service's thread, a poller, a clock moved by hand) takes the first
 * due one off the order under the lock, marks it as running, and calls its function under no lock.
 * From there on the timer is known by its address only and is not touched, unless it is armed
 * again. Deliveries are held while the function runs: the callbacks of what it completed are called
 * when it no longer counts as running, so they may wait for nothing, disarm anything, destroy the
 * timer's object, and even end the service. Only one thread serves a service at a time.
 *
 * Disarm for good closes the timer first, so that a function that arms it again while somebody
 * waits for its end does nothing, and the wait is for one call at most.
 *
 * The thread sleeps on a word, until the first deadline. sleeps_until_ns tells those who arm
 * whether they come before that; then they change the word under the lock and wake the thread after
 * it.
 */
#include "base/opts.h"
#include "deliver/deliver.h"
#include "sync/grow.h"
#include "time/timers_int.h"

#include <limits.h>
#include <string.h>

/* Slots of a heap that hold no element; see heap.h. */
#define HEAP_UNUSED 3u

static int64_t first_deadline_locked(const belay_timers *timers)
{
    const bly_timer *first = bly_heap_first(&timers->armed);
    if (first == NULL) {
        return BELAY_FOREVER;
    }
    return bly_heap_value(bly_heap_key_of(&timers->armed, first).high);
}

static void disarm_locked(belay_timers *timers, bly_timer *timer)
{
    if (timer->place != 0) {
        bly_heap_remove(&timers->armed, timer);
    }
}

static void arm_locked(belay_timers *timers, bly_timer *timer, int64_t deadline_ns)
{
    bool is_driven = timers->mode == BLY_TIMERS_DRIVEN;
    uint64_t seq = is_driven ? timers->clock->order(timers->clock) : ++timers->seq;
    bly_assert(bly_heap_count(&timers->armed) < timers->room);
    timer->is_ahead = deadline_ns > timers->last_now_ns;
    bly_heap_push(&timers->armed, timer,
                  (bly_heap_key){.high = bly_heap_order(deadline_ns), .middle = seq});
    bly_assert_deep(bly_heap_is_sound(&timers->armed));
}

void bly_timer_init(bly_timer *timer, belay_timers *timers, void (*fn)(bly_timer *))
{
    bly_assert(timers != NULL && fn != NULL);
    *timer = (bly_timer){.timers = timers, .fn = fn};
}

void bly_timer_arm(bly_timer *timer, int64_t deadline_ns)
{
    belay_timers *timers = timer->timers;
    belay_clock *clock = timers->clock;
    bool is_earlier = false;
    bly_mutex_lock(&timers->lock);
    disarm_locked(timers, timer);
    if (deadline_ns != BELAY_FOREVER && !timer->is_closed) {
        arm_locked(timers, timer, deadline_ns);
        is_earlier = deadline_ns < timers->sleeps_until_ns;
    }
    if (is_earlier) {
        timers->sleeps_until_ns = deadline_ns;
        /* relaxed: the lock orders it; the sleeper compares the value read under the lock. */
        (void)bly_fetch_add(&timers->word, 1u, BLY_RELAXED);
    }
    bly_mutex_unlock(&timers->lock);
    /* The timer may have fired and its function ended the service by now; a wake of a word that is
     * freed memory is harmless. */
    if (is_earlier) {
        clock->wake(clock, &timers->word, 1);
    }
}

int64_t bly_timer_reached(const bly_timer *timer)
{
    belay_timers *timers = timer->timers;
    bly_mutex_lock(&timers->lock);
    int64_t now_ns = timers->last_now_ns;
    bly_mutex_unlock(&timers->lock);
    return now_ns;
}

void bly_timer_disarm(bly_timer *timer)
{
    bly_timer_arm(timer, BELAY_FOREVER);
}

void bly_timer_disarm_wait(bly_timer *timer)
{
    belay_timers *timers = timer->timers;
    bly_mutex_lock(&timers->lock);
    timer->is_closed = true;
    disarm_locked(timers, timer);
    bly_running_wait(&timers->running, timer, &timers->lock);
    bly_mutex_unlock(&timers->lock);
}

/* A reading that is before an earlier one is counted and held at that one. */
static int64_t clamp_locked(belay_timers *timers, int64_t now_ns)
{
    if (now_ns < timers->last_now_ns) {
        timers->steps_back++;
    } else {
        timers->last_now_ns = now_ns;
    }
    return timers->last_now_ns;
}

/* Takes the first timer that is due off and counts it; NULL when there is none. */
static bly_timer *take_due_locked(belay_timers *timers, int64_t now_ns)
{
    int64_t deadline_ns = first_deadline_locked(timers);
    if (deadline_ns > now_ns) {
        return NULL;
    }
    bly_timer *timer = bly_heap_pop(&timers->armed);
    bly_assert_deep(bly_heap_is_sound(&timers->armed));
    timers->fired++;
    if (timer->is_ahead) {
        bly_hist_add(&timers->lateness, (uint64_t)now_ns - (uint64_t)deadline_ns);
    }
    return timer;
}

/*
 * Calls the function of the first timer due, if there is one; the lock is held at the call and not
 * at return. True when one was called; then *ret_outermost is for bly_deliver_release.
 */
static bool fire_first_unlock(belay_timers *timers, int64_t now_ns, bool *ret_outermost)
{
    bly_timer *timer = take_due_locked(timers, now_ns);
    if (timer == NULL) {
        bly_mutex_unlock(&timers->lock);
        return false;
    }
    bly_running_begin(&timers->running, timer);
    bly_mutex_unlock(&timers->lock);
    *ret_outermost = bly_deliver_hold();
    timer->fn(timer);
    bly_mutex_lock(&timers->lock);
    bool is_waited_for = bly_running_end(&timers->running);
    bly_mutex_unlock(&timers->lock);
    if (is_waited_for) {
        bly_running_wake(&timers->running);
    }
    return true;
}

/* The thread: fires what is due, else sleeps until something is. */
void bly_timers_serve(void *arg)
{
    belay_timers *timers = arg;
    belay_clock *clock = timers->clock;
    bool is_outermost = false;
    bly_thread_slack_least();
    for (;;) {
        int64_t now_ns = clock->now(clock);
        bly_mutex_lock(&timers->lock);
        now_ns = clamp_locked(timers, now_ns);
        timers->sleeps_until_ns = BELAY_NOW;
        if (timers->is_stopping) {
            break;
        }
        if (first_deadline_locked(timers) <= now_ns) {
            (void)fire_first_unlock(timers, now_ns, &is_outermost);
            bly_deliver_release(is_outermost);
            continue;
        }
        int64_t until_ns = timers->sleeps_until_ns = first_deadline_locked(timers);
        uint32_t word = bly_load(&timers->word, BLY_RELAXED); /* relaxed: written under the lock */
        bly_mutex_unlock(&timers->lock);
        (void)clock->wait(clock, &timers->word, word, until_ns);
    }
    bool is_orphan = timers->is_orphan;
    bly_mutex_unlock(&timers->lock);
    if (is_orphan) {
        bly_timers_free(timers);
    }
}

int belay_timers_poll(belay_timers *timers, int64_t now_ns)
{
    if (timers == NULL || timers->mode != BLY_TIMERS_POLLED || now_ns == BELAY_FOREVER) {
        return BELAY_EINVAL;
    }
    bly_mutex_lock(&timers->lock);
    if (timers->is_polling) {
        bly_mutex_unlock(&timers->lock);
        return BELAY_EBUSY;
    }
    timers->is_polling = true;
    now_ns = clamp_locked(timers, now_ns);
    int fired = 0;
    bool is_outermost = false;
    /* Bounded by what is due: a function arms again at or before now only for work that is left. */
    while (fire_first_unlock(timers, now_ns, &is_outermost)) {
        bly_deliver_release(is_outermost);
        fired += fired < INT_MAX;
        bly_mutex_lock(&timers->lock);
    }
    bly_mutex_lock(&timers->lock);
    timers->is_polling = false;
    bly_mutex_unlock(&timers->lock);
    return fired;
}

int64_t belay_timers_next_deadline(belay_timers *timers)
{
    bly_mutex_lock(&timers->lock);
    int64_t deadline_ns = first_deadline_locked(timers);
    bly_mutex_unlock(&timers->lock);
    return deadline_ns;
}

static belay_timers *driven(belay_clock_driver *driver)
{
    return bly_container(driver, belay_timers, driver);
}

static int64_t driver_earliest(belay_clock_driver *driver, uint64_t *ret_order)
{
    belay_timers *timers = driven(driver);
    bly_mutex_lock(&timers->lock);
    const bly_timer *first = bly_heap_first(&timers->armed);
    int64_t deadline_ns = first_deadline_locked(timers);
    *ret_order = first != NULL ? bly_heap_key_of(&timers->armed, first).middle : UINT64_MAX;
    bly_mutex_unlock(&timers->lock);
    return deadline_ns;
}

static bool driver_fire(belay_clock_driver *driver, int64_t now_ns)
{
    belay_timers *timers = driven(driver);
    bool is_outermost = false;
    bly_mutex_lock(&timers->lock);
    now_ns = clamp_locked(timers, now_ns);
    (void)fire_first_unlock(timers, now_ns, &is_outermost);
    return is_outermost;
}

void bly_timers_drive(belay_timers *timers)
{
    timers->driver = (belay_clock_driver){
        .earliest = driver_earliest, .fire = driver_fire, .finish = bly_deliver_release};
}

int bly_timers_reserve(belay_timers *timers)
{
    int result = 0;
    bly_mutex_lock(&timers->lock);
    timers->room++;
    /* The lock is dropped to allocate, so others arm and disarm meanwhile: look again. */
    while (result == 0 && bly_chunks_capacity(&timers->armed.slots) < timers->room + HEAP_UNUSED) {
        uint32_t missing = timers->room - bly_heap_count(&timers->armed);
        result = bly_chunks_grow(&timers->armed.slots, missing, &timers->lock);
    }
    if (result != 0) {
        timers->room--;
    }
    bly_mutex_unlock(&timers->lock);
    return result;
}

void bly_timers_spare(belay_timers *timers)
{
    bly_mutex_lock(&timers->lock);
    bly_assert(timers->room > bly_heap_count(&timers->armed));
    timers->room--;
    bly_mutex_unlock(&timers->lock);
}

int belay_timers_stats(belay_timers *timers, belay_timers_metrics *ret_metrics)
{
    if (timers == NULL || ret_metrics == NULL || ret_metrics->size < sizeof ret_metrics->size ||
        ret_metrics->size > BLY_OPTS_SIZE_MAX) {
        return BELAY_EINVAL;
    }
    belay_timers_metrics stats = {.size = ret_metrics->size};
    bly_mutex_lock(&timers->lock);
    stats.armed = bly_heap_count(&timers->armed);
    stats.fired = timers->fired;
    stats.steps_back = timers->steps_back;
    stats.lateness_p50_ns = (int64_t)bly_hist_quantile(&timers->lateness, 500);
    stats.lateness_p99_ns = (int64_t)bly_hist_quantile(&timers->lateness, 990);
    stats.lateness_max_ns = (int64_t)timers->lateness.max;
    bly_mutex_unlock(&timers->lock);
    memset(ret_metrics, 0, stats.size);
    memcpy(ret_metrics, &stats, stats.size < sizeof stats ? stats.size : sizeof stats);
    return 0;
}
