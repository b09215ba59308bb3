/*
 * hooked_clock.h: a clock for tests whose reading calls a function of the test. A semaphore reads
 * its clock just outside its lock, so the function stands for what another thread does there.
 * Its timer service is polled, so nothing times out but by a poll.
 */
#ifndef BELAY_TESTS_HOOKED_CLOCK_H
#define BELAY_TESTS_HOOKED_CLOCK_H

#include "sem_unit.h"

static int64_t hooked_now_ns;
static void (*hooked_fn)(void); /* called once */
static bool hooked_has_passed;  /* every sleep ends at once by its deadline */
static belay_timers *hooked_timers;

static inline int64_t hooked_now(belay_clock *self)
{
    (void)self;
    void (*fn)(void) = hooked_fn;
    hooked_fn = NULL;
    if (fn != NULL) {
        fn();
    }
    return hooked_now_ns;
}

static inline int hooked_wait(belay_clock *self, uint32_t *word, uint32_t expected,
                              int64_t until_ns)
{
    (void)self;
    (void)word;
    (void)expected;
    return hooked_has_passed || until_ns <= hooked_now_ns ? BELAY_ETIMEDOUT : 0;
}

static inline void hooked_wake(belay_clock *self, uint32_t *word, uint32_t count)
{
    (void)self;
    (void)word;
    (void)count;
}

static inline int hooked_watch(belay_clock *self, belay_clock_watcher *watcher)
{
    (void)self;
    (void)watcher;
    return 0;
}

static inline void hooked_unwatch(belay_clock *self, belay_clock_watcher *watcher)
{
    (void)self;
    (void)watcher;
}

static belay_clock hooked_clock = {.now = hooked_now,
                                   .now_coarse = hooked_now,
                                   .wall = hooked_now,
                                   .wait = hooked_wait,
                                   .wake = hooked_wake,
                                   .watch = hooked_watch,
                                   .unwatch = hooked_unwatch};

/* Options of a semaphore on the clock, which reads 1,000. */
static inline belay_sem_opts hooked_opts(uint32_t capacity)
{
    hooked_now_ns = UNIT_BEGIN_NS;
    unit_calls = 0;
    belay_timers_opts opts = {.size = sizeof opts, .is_polled = 1, .clock = &hooked_clock};
    ck_assert_int_eq(belay_timers_create(&opts, &hooked_timers), 0);
    return (belay_sem_opts){.size = sizeof(belay_sem_opts),
                            .capacity = capacity,
                            .clock = &hooked_clock,
                            .timers = hooked_timers};
}

static inline void hooked_open(uint32_t capacity)
{
    belay_sem_opts opts = hooked_opts(capacity);
    ck_assert_int_eq(belay_sem_create(&opts, &unit_sem), 0);
}

static inline void hooked_close(void)
{
    ck_assert_int_eq(belay_sem_destroy(unit_sem), 0);
    ck_assert_int_eq(belay_timers_destroy(hooked_timers), 0);
}

#endif
