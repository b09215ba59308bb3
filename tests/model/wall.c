/*
 * wall.c: watchers of the machine's wall clock: they come, go and are told, and the source that
 * they share goes with the last of them.
 */
#include "scenario.h"

#include "belay/cancel.h"
#include "belay/clock.h"
#include "deliver/deliver.h"
#include "time/wall.h"

#include <string.h>

#define SOURCES_MAX 4

enum { QUIET = 0, STEPPED = 1, STOPPED = 2 };

/* What the kernel has of each source: whether the clock was set, or the source stopped. */
typedef struct kernel_source {
    uint32_t state;   /* atomic: QUIET, STEPPED or STOPPED */
    uint32_t is_open; /* plain: open and close are ordered with everything between */
} kernel_source;

static kernel_source sources[SOURCES_MAX];
static uint32_t opened; /* atomic */
static uint32_t closed; /* atomic */
static uint32_t is_refusing;

static int open_source(void)
{
    if (is_refusing) {
        return BELAY_EAGAIN;
    }
    uint32_t fd = bly_fetch_add(&opened, 1u, BLY_RELAXED);
    belay_model_check(fd < SOURCES_MAX);
    bly_write(&sources[fd].is_open, 1u);
    return (int)fd;
}

static bool await_step(int fd)
{
    belay_model_check(bly_read(&sources[fd].is_open) == 1);
    uint32_t state;
    while ((state = bly_load(&sources[fd].state, BLY_SEQ_CST)) == QUIET) {
        (void)bly_futex_wait(&sources[fd].state, QUIET, BELAY_FOREVER);
    }
    if (state == STEPPED) {
        (void)bly_cas(&sources[fd].state, &state, QUIET, BLY_SEQ_CST, BLY_SEQ_CST);
        return true;
    }
    return false;
}

static void set_state(int fd, uint32_t state)
{
    bly_store(&sources[fd].state, state, BLY_SEQ_CST);
    bly_futex_wake(&sources[fd].state, BLY_WAKE_ALL);
}

static void stop_source(int fd)
{
    belay_model_check(bly_read(&sources[fd].is_open) == 1);
    set_state(fd, STOPPED);
}

static void close_source(int fd)
{
    belay_model_check(bly_read(&sources[fd].is_open) == 1);
    bly_write(&sources[fd].is_open, 0u);
    bly_fetch_add(&closed, 1u, BLY_RELAXED);
}

static const bly_wall_table steps = {
    .open = open_source, .await = await_step, .stop = stop_source, .close = close_source};

typedef struct watcher {
    belay_clock_watcher watcher;
    uint32_t tells;   /* atomic */
    uint32_t is_over; /* atomic: unwatch has returned */
} watcher;

static watcher watchers[2];
static belay_clock *machine;

static void on_change(belay_clock_watcher *told)
{
    watcher *self = bly_container(told, watcher, watcher);
    belay_model_check(bly_load(&self->is_over, BLY_SEQ_CST) == 0);
    bly_fetch_add(&self->tells, 1u, BLY_SEQ_CST);
}

static void watch(watcher *self)
{
    self->watcher.on_change = on_change;
    belay_model_check(machine->watch(machine, &self->watcher) == 0);
}

static void unwatch(watcher *self)
{
    machine->unwatch(machine, &self->watcher);
    bly_store(&self->is_over, 1u, BLY_SEQ_CST);
}

static void open_wall(void)
{
    bly_wall_steps = &steps;
    machine = belay_clock_system();
    memset(sources, 0, sizeof sources);
    memset(watchers, 0, sizeof watchers);
    opened = closed = is_refusing = 0;
}

/* Sources that were given up by an inline callback end by themselves. */
static void close_wall(void)
{
    while (bly_load(&closed, BLY_RELAXED) != bly_load(&opened, BLY_RELAXED)) {
        bly_yield();
    }
}

static void watch_and_leave(void *arg)
{
    watch(arg);
    unwatch(arg);
}

static void watchers_come_and_go(void *arg)
{
    (void)arg;
    open_wall();
    int one = belay_model_start(watch_and_leave, &watchers[0]);
    watch_and_leave(&watchers[1]);
    belay_model_join(one);
    belay_model_check(opened == closed && opened > 0);
    close_wall();
}

static void step(void *arg)
{
    (void)arg;
    set_state(0, STEPPED);
}

static void leave(void *arg)
{
    unwatch(arg);
}

/* One watcher goes while the step is told; the one that stays hears of it. */
static void step_against_unwatch(void *arg)
{
    (void)arg;
    open_wall();
    watch(&watchers[0]);
    watch(&watchers[1]);
    int one = belay_model_start(step, NULL);
    int two = belay_model_start(leave, &watchers[0]);
    while (bly_load(&watchers[1].tells, BLY_SEQ_CST) == 0) {
        bly_yield();
    }
    belay_model_join(one);
    belay_model_join(two);
    belay_model_check(opened == 1 && closed == 0);
    unwatch(&watchers[1]);
    belay_model_check(closed == 1);
    close_wall();
}

/* The last watcher goes on the source's own thread, from an inline callback, or beside a step. */
static void unwatch_myself(belay_clock_watcher *told)
{
    watcher *self = bly_container(told, watcher, watcher);
    bly_fetch_add(&self->tells, 1u, BLY_SEQ_CST);
    machine->unwatch(machine, told);
    bly_store(&self->is_over, 1u, BLY_SEQ_CST);
}

static void last_leaves_when_told(void *arg)
{
    (void)arg;
    open_wall();
    watchers[0].watcher.on_change = unwatch_myself;
    belay_model_check(machine->watch(machine, &watchers[0].watcher) == 0);
    step(NULL);
    while (bly_load(&watchers[0].is_over, BLY_SEQ_CST) == 0) {
        bly_yield();
    }
    belay_model_check(watchers[0].tells == 1);
    close_wall();
}

static void leave_inline(belay_task *task)
{
    (void)task;
    unwatch(&watchers[0]);
}

static void last_leaves_from_a_callback(void *arg)
{
    belay_task task = {.run = leave_inline};
    (void)arg;
    open_wall();
    watch(&watchers[0]);
    belay_model_check(belay_executor_submit(belay_inline(), &task, 0) == 0);
    belay_model_check(watchers[0].is_over == 1);
    close_wall();
}

/* Nothing is left of a watch that finds no descriptor, memory or thread. */
static void watch_that_fails(void *arg)
{
    (void)arg;
    open_wall();
    is_refusing = belay_model_choose(2);
    watchers[0].watcher.on_change = on_change;
    int result = machine->watch(machine, &watchers[0].watcher);
    belay_model_check(result == 0 || result == BELAY_EAGAIN);
    belay_model_check(!is_refusing || result == BELAY_EAGAIN);
    if (result == 0) {
        unwatch(&watchers[0]);
    }
    belay_model_check(opened == closed);
}

#define WALL(title, function, bound)                                                               \
    {                                                                                              \
        .name = "wall/" title, .fn = function, .opts = {.preemptions = bound, .spurious = 1 }      \
    }

const scenario wall_scenarios[] = {
    WALL("watchers-come-and-go", watchers_come_and_go, 3),
    WALL("step-against-unwatch", step_against_unwatch, 2),
    WALL("last-leaves-when-told", last_leaves_when_told, 3),
    WALL("last-leaves-from-a-callback", last_leaves_from_a_callback, 3),
    {.name = "wall/watch-that-fails",
     .fn = watch_that_fails,
     .opts = {.preemptions = 1, .alloc_failures = 1}},
    {.name = NULL},
};
