/*
 * token.c: what a token's fire makes visible, its descriptor, and the parkers of threads that come
 * and go.
 */
#include "scenario.h"

#include "belay/cancel.h"
#include "belay/clock.h"
#include "deliver/event.h"
#include "time/parker.h"

#include <string.h>

#define DESCRIPTORS_MAX 4

/* Descriptors as the kernel has them. The lowest free number is 0, as when stdin is closed. */
typedef struct descriptor {
    uint32_t is_open;     /* plain: whoever may use it is ordered before who closes it */
    uint32_t is_closed;   /* plain */
    uint32_t is_readable; /* atomic */
} descriptor;

static descriptor descriptors[DESCRIPTORS_MAX];
static uint32_t opened; /* atomic */
static uint32_t closed; /* atomic */

static int open_event(void)
{
    uint32_t fd = bly_fetch_add(&opened, 1u, BLY_RELAXED);
    belay_model_check(fd < DESCRIPTORS_MAX);
    bly_write(&descriptors[fd].is_open, 1u);
    return (int)fd;
}

static descriptor *opened_descriptor(int fd)
{
    belay_model_check(fd >= 0 && fd < DESCRIPTORS_MAX);
    descriptor *self = &descriptors[fd];
    belay_model_check(bly_read(&self->is_open) == 1 && bly_read(&self->is_closed) == 0);
    return self;
}

static void signal_event(int fd)
{
    belay_model_check(bly_exchange(&opened_descriptor(fd)->is_readable, 1u, BLY_RELAXED) == 0);
}

static void clear_event(int fd)
{
    bly_store(&opened_descriptor(fd)->is_readable, 0u, BLY_RELAXED);
}

static void close_event(int fd)
{
    bly_write(&opened_descriptor(fd)->is_closed, 1u);
    bly_fetch_add(&closed, 1u, BLY_RELAXED);
}

static const bly_event_table events = {
    .create = open_event, .signal = signal_event, .clear = clear_event, .close = close_event};

static belay_cancel *token;

static void open_token(void)
{
    memset(descriptors, 0, sizeof descriptors);
    opened = closed = 0;
    bly_events = &events;
    belay_model_check(belay_cancel_create(NULL, 0, &token) == 0);
}

static void close_token(void)
{
    belay_cancel_unref(token);
    belay_model_check(opened == closed);
}

static void fire(void *arg)
{
    (void)arg;
    int result = belay_cancel_fire(token);
    belay_model_check(result == 0 || result == BELAY_ETOOLATE);
}

/* Whoever asks gets the same descriptor, and it is readable once the token has fired. */
static void ask(void *arg)
{
    uint32_t was_fired = belay_cancel_is_fired(token);
    int fd = belay_cancel_fd(token);
    (void)arg;
    belay_model_check(belay_cancel_fd(token) == fd);
    descriptor *mine = opened_descriptor(fd);
    belay_model_check(!was_fired || bly_load(&mine->is_readable, BLY_RELAXED) == 1);
}

static void run_all(void (*const threads[])(void *), unsigned count)
{
    int started[3];
    for (unsigned i = 0; i < count; i++) {
        started[i] = belay_model_start(threads[i], NULL);
    }
    for (unsigned i = 0; i < count; i++) {
        belay_model_join(started[i]);
    }
}

static void descriptor_against_fires(void *arg)
{
    static void (*const threads[])(void *) = {fire, fire, ask};
    (void)arg;
    open_token();
    run_all(threads, 3);
    int fd = belay_cancel_fd(token);
    belay_model_check(bly_load(&opened_descriptor(fd)->is_readable, BLY_RELAXED) == 1);
    close_token();
}

static void two_ask_for_the_descriptor(void *arg)
{
    static void (*const threads[])(void *) = {ask, ask};
    (void)arg;
    open_token();
    run_all(threads, 2);
    belay_model_check(opened - closed == 1);
    fire(NULL);
    close_token();
}

static void fire_and_unref(void *arg)
{
    fire(arg);
    belay_cancel_unref(token);
}

static void ask_and_unref(void *arg)
{
    ask(arg);
    belay_cancel_unref(token);
}

/* The last to leave closes the descriptor, after the other's last use of it. */
static void descriptor_closed_by_the_last(void *arg)
{
    static void (*const threads[])(void *) = {fire_and_unref, ask_and_unref};
    (void)arg;
    open_token();
    belay_cancel_ref(token);
    run_all(threads, 2);
    belay_model_check(opened == 1 && closed == 1);
}

static uint32_t told; /* plain: written before the fire, read by who sees it */

static void tell_and_fire(void *arg)
{
    bly_write(&told, 1u);
    fire(arg);
}

static void look(void *arg)
{
    (void)arg;
    if (belay_cancel_is_fired(token)) {
        belay_model_check(bly_read(&told) == 1);
    }
}

static void fire_shows_what_came_before(void *arg)
{
    static void (*const threads[])(void *) = {tell_and_fire, look};
    (void)arg;
    told = 0;
    open_token();
    run_all(threads, 2);
    close_token();
}

/* Parkers: those of ended threads are given to later ones, each to one. */

static bly_parker *parkers[4];

static void take_parker(void *arg)
{
    bly_parker **place = arg;
    *place = bly_parker_self();
    belay_model_check(*place != NULL && bly_parker_self() == *place);
}

static void take_two(bly_parker **places)
{
    int one = belay_model_start(take_parker, &places[0]);
    int two = belay_model_start(take_parker, &places[1]);
    belay_model_join(one);
    belay_model_join(two);
}

static bool is_one_of(const bly_parker *parker, bly_parker *const *of)
{
    return parker == of[0] || parker == of[1];
}

static bly_parker *kept[2];
static uint32_t have_both; /* atomic */

/* Holds its parker until the other has one as well. */
static void take_and_hold(void *arg)
{
    take_parker(arg);
    bly_fetch_add(&have_both, 1u, BLY_RELAXED);
    while (bly_load(&have_both, BLY_RELAXED) < 2) {
        bly_yield();
    }
}

static void hold_two(bly_parker **places)
{
    have_both = 0;
    int one = belay_model_start(take_and_hold, &places[0]);
    int two = belay_model_start(take_and_hold, &places[1]);
    belay_model_join(one);
    belay_model_join(two);
    belay_model_check(places[0] != places[1]);
}

static void parkers_of_ended_threads(void *arg)
{
    (void)arg;
    hold_two(kept);
    hold_two(parkers);
    belay_model_check(is_one_of(parkers[0], kept) && is_one_of(parkers[1], kept));
    take_two(parkers);
    belay_model_check(is_one_of(parkers[0], kept) && is_one_of(parkers[1], kept));
}

const scenario token_scenarios[] = {
    {.name = "cancel/descriptor-against-fires",
     .fn = descriptor_against_fires,
     .opts = {.preemptions = 2, .spurious = 1}},
    {.name = "cancel/two-ask-for-the-descriptor",
     .fn = two_ask_for_the_descriptor,
     .opts = {.preemptions = 3, .spurious = 1}},
    {.name = "cancel/descriptor-closed-by-the-last",
     .fn = descriptor_closed_by_the_last,
     .opts = {.preemptions = 3, .spurious = 1}},
    {.name = "cancel/fire-shows-what-came-before",
     .fn = fire_shows_what_came_before,
     .opts = {.preemptions = 3, .stale_reads = 2}},
    {.name = "parker/of-ended-threads",
     .fn = parkers_of_ended_threads,
     .opts = {.preemptions = 2, .spurious = 1}},
    {.name = NULL},
};
