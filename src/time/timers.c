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
#include "deliver/deliver.h"
#include "time/timers_int.h"

#include <limits.h>

static bly_timer *timer_of(bly_list *link)
{
    return bly_container(link, bly_timer, link);
}

static int64_t first_deadline_locked(const belay_timers *timers)
{
    bly_list *first = bly_list_first(&timers->armed);
    return first != NULL ? timer_of(first)->deadline_ns : BELAY_FOREVER;
}

static void disarm_locked(bly_timer *timer)
{
    if (bly_list_is_linked(&timer->link)) {
        bly_list_remove(&timer->link);
    }
}

static uint64_t next_seq_locked(belay_timers *timers)
{
    return timers->mode == BLY_TIMERS_DRIVEN ? timers->clock->order(timers->clock) : ++timers->seq;
}

/* Puts a timer behind all that are due before it or at the same time. */
static void arm_locked(belay_timers *timers, bly_timer *timer, int64_t deadline_ns)
{
    timer->deadline_ns = deadline_ns;
    timer->seq = next_seq_locked(timers);
    bly_list *place = &timers->armed;
    while (place->prev != &timers->armed && timer_of(place->prev)->deadline_ns > deadline_ns) {
        place = place->prev;
    }
    bly_list_insert_before(place, &timer->link);
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
    disarm_locked(timer);
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

void bly_timer_disarm(bly_timer *timer)
{
    bly_timer_arm(timer, BELAY_FOREVER);
}

void bly_timer_disarm_wait(bly_timer *timer)
{
    belay_timers *timers = timer->timers;
    bly_mutex_lock(&timers->lock);
    timer->is_closed = true;
    disarm_locked(timer);
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

/* Takes the first timer that is due off; NULL when there is none. */
static bly_timer *take_due_locked(belay_timers *timers, int64_t now_ns)
{
    if (first_deadline_locked(timers) > now_ns || bly_list_is_empty(&timers->armed)) {
        return NULL;
    }
    return timer_of(bly_list_pop_front(&timers->armed));
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
    bly_list *first = bly_list_first(&timers->armed);
    int64_t deadline_ns = first_deadline_locked(timers);
    *ret_order = first != NULL ? timer_of(first)->seq : UINT64_MAX;
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
