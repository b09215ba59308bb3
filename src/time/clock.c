/*
 * clock.c: the machine's clock, and the readings of any clock.
 */
#include "belay/clock.h"

#include "sync/sync.h"
#include "time/wall.h"

static int64_t system_now(belay_clock *self)
{
    (void)self;
    return bly_monotonic_ns();
}

static int64_t system_now_coarse(belay_clock *self)
{
    (void)self;
    return bly_monotonic_coarse_ns();
}

static int64_t system_wall(belay_clock *self)
{
    (void)self;
    return bly_wall_ns();
}

static int system_wait(belay_clock *self, uint32_t *word, uint32_t expected, int64_t until_ns)
{
    (void)self;
    return bly_futex_wait(word, expected, until_ns);
}

static void system_wake(belay_clock *self, uint32_t *word, uint32_t count)
{
    (void)self;
    bly_futex_wake(word, count);
}

static int system_watch(belay_clock *self, belay_clock_watcher *watcher)
{
    (void)self;
    return bly_wall_watch(watcher);
}

static void system_unwatch(belay_clock *self, belay_clock_watcher *watcher)
{
    (void)self;
    bly_wall_unwatch(watcher);
}

belay_clock *belay_clock_system(void)
{
    static belay_clock clock = {.now = system_now,
                                .now_coarse = system_now_coarse,
                                .wall = system_wall,
                                .wait = system_wait,
                                .wake = system_wake,
                                .watch = system_watch,
                                .unwatch = system_unwatch};
    return &clock;
}

int64_t belay_clock_now(belay_clock *clock)
{
    return clock != NULL ? clock->now(clock) : bly_monotonic_ns();
}

int64_t belay_clock_wall(belay_clock *clock)
{
    return clock != NULL ? clock->wall(clock) : bly_wall_ns();
}
