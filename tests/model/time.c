/*
 * time.c: tokens and timers: a callback against the end of the object that it belongs to.
 */
#include "scenario.h"

#include "belay/cancel.h"
#include "belay/clock.h"
#include "time/cancel.h"
#include "time/timers.h"

/* A waiter as the semaphore has one: a registration, and how often its function was called. */
typedef struct waiter {
    bly_cancel_reg reg;
    uint32_t calls;
    uint32_t is_over; /* unregister has returned */
} waiter;

static belay_cancel *token;

static void on_fire(bly_cancel_reg *reg)
{
    waiter *self = bly_container(reg, waiter, reg);
    belay_model_check(bly_load(&self->is_over, BLY_RELAXED) == 0);
    bly_write(&self->calls, bly_read(&self->calls) + 1);
}

static belay_cancel *new_token(belay_cancel *parent, unsigned flags)
{
    belay_cancel *made = NULL;
    belay_model_check(belay_cancel_create(parent, flags, &made) == 0);
    return made;
}

static void fire_token(void *arg)
{
    int result = belay_cancel_fire(arg);
    belay_model_check(result == 0 || result == BELAY_ETOOLATE);
}

static void fire_and_unref(void *arg)
{
    belay_model_check(belay_cancel_fire(arg) == 0);
    belay_cancel_unref(arg);
}

/* Registers, unregisters, and lets its memory go: nobody may touch it any more. */
static void wait_and_leave(void *arg)
{
    waiter self = {.calls = 0};
    int result = bly_cancel_register(arg, &self.reg, on_fire);
    if (result == 0) {
        bly_cancel_unregister(&self.reg);
        bly_store(&self.is_over, 1u, BLY_RELAXED);
        belay_model_check(bly_read(&self.calls) <= 1);
    } else {
        belay_model_check(result == BELAY_ECANCELED && belay_cancel_is_fired(arg));
        belay_model_check(bly_read(&self.calls) == 0);
    }
}

static void run_two(void (*first)(void *), void (*second)(void *), void *arg)
{
    int one = belay_model_start(first, arg);
    int two = belay_model_start(second, arg);
    belay_model_join(one);
    belay_model_join(two);
}

static void fire_against_unregister(void *arg)
{
    (void)arg;
    token = new_token(NULL, 0);
    run_two(fire_token, wait_and_leave, token);
    belay_cancel_unref(token);
}

static void two_fires_two_waiters(void *arg)
{
    (void)arg;
    token = new_token(NULL, 0);
    int third = belay_model_start(wait_and_leave, token);
    run_two(fire_token, fire_token, token);
    wait_and_leave(token);
    belay_model_join(third);
    belay_cancel_unref(token);
}

static void register_and_unref(void *arg)
{
    wait_and_leave(arg);
    belay_cancel_unref(arg);
}

/* The firing thread and the waiter each end a reference; whoever is last frees the token. */
static void fire_against_last_unref(void *arg)
{
    (void)arg;
    token = new_token(NULL, 0);
    belay_cancel_ref(token);
    run_two(fire_and_unref, register_and_unref, token);
}

static void make_child(void *arg)
{
    belay_cancel *child = new_token(arg, 0);
    wait_and_leave(child);
    belay_cancel_unref(child);
}

static void fire_against_new_child(void *arg)
{
    (void)arg;
    token = new_token(NULL, 0);
    run_two(fire_token, make_child, token);
    belay_cancel *late = new_token(token, 0);
    belay_cancel *shield = new_token(token, BELAY_CANCEL_SHIELD);
    belay_model_check(belay_cancel_is_fired(late) && !belay_cancel_is_fired(shield));
    belay_cancel_unref(late);
    belay_cancel_unref(shield);
    belay_cancel_unref(token);
}

static void fire_parent_and_child(void *arg)
{
    (void)arg;
    belay_cancel *parent = new_token(NULL, 0);
    token = new_token(parent, 0);
    int one = belay_model_start(fire_token, parent);
    int two = belay_model_start(fire_token, token);
    wait_and_leave(token);
    belay_model_join(one);
    belay_model_join(two);
    belay_model_check(belay_cancel_is_fired(token));
    belay_cancel_unref(token);
    belay_cancel_unref(parent);
}

/* An object with one timer, as the semaphore has it. */
typedef struct object {
    bly_timer timer;
    bly_mutex lock;
    uint32_t fired; /* lock */
} object;

static belay_timers *timers;

static void on_timer(bly_timer *timer)
{
    object *self = bly_container(timer, object, timer);
    bly_mutex_lock(&self->lock);
    self->fired++;
    bly_mutex_unlock(&self->lock);
}

static void on_timer_again(bly_timer *timer)
{
    object *self = bly_container(timer, object, timer);
    bly_mutex_lock(&self->lock);
    if (++self->fired < 2) {
        bly_timer_arm(timer, bly_monotonic_ns() + 10);
    }
    bly_mutex_unlock(&self->lock);
}

static void poll_all(void *arg)
{
    (void)arg;
    int fired = belay_timers_poll(timers, bly_monotonic_ns() + 1000);
    belay_model_check(fired >= 0 || fired == BELAY_EBUSY);
}

static void open_polled(void)
{
    belay_timers_opts opts = {.size = sizeof opts, .is_polled = 1};
    belay_model_check(belay_timers_create(&opts, &timers) == 0);
    belay_model_check(bly_timers_use(timers, NULL, &timers) == 0);
}

static void close_polled(void)
{
    bly_timers_unuse(timers);
    belay_model_check(belay_timers_destroy(timers) == 0);
}

static void arm_and_disarm(void (*fn)(bly_timer *))
{
    object *self = bly_alloc(sizeof *self);
    belay_model_check(self != NULL);
    bly_timer_init(&self->timer, timers, fn);
    bly_timer_arm(&self->timer, bly_monotonic_ns() + 100);
    bly_timer_disarm_wait(&self->timer);
    belay_model_check(self->fired <= 2);
    bly_mutex_destroy(&self->lock);
    bly_free(self);
}

static void arm_once(void *arg)
{
    (void)arg;
    arm_and_disarm(on_timer);
}

static void arm_itself(void *arg)
{
    (void)arg;
    arm_and_disarm(on_timer_again);
}

static void poll_against_disarm(void *arg)
{
    open_polled();
    run_two(poll_all, arm_once, arg);
    close_polled();
}

static void rearm_against_disarm(void *arg)
{
    open_polled();
    int third = belay_model_start(poll_all, arg);
    run_two(poll_all, arm_itself, arg);
    belay_model_join(third);
    close_polled();
}

/* The service has a thread of its own: the deadline passes whether the object lives or not. */
static void thread_against_disarm(void *arg)
{
    (void)arg;
    belay_model_check(bly_timers_use(NULL, NULL, &timers) == 0);
    arm_and_disarm(on_timer_again);
    bly_timers_unuse(timers);
}

static void use_and_leave(void *arg)
{
    (void)arg;
    belay_timers *used = NULL;
    belay_model_check(bly_timers_use(NULL, NULL, &used) == 0);
    bly_timers_unuse(used);
}

static void shared_service_comes_and_goes(void *arg)
{
    run_two(use_and_leave, use_and_leave, arg);
}

const scenario time_scenarios[] = {
    {.name = "cancel/fire-against-unregister",
     .fn = fire_against_unregister,
     .opts = {.preemptions = 4, .spurious = 1}},
    {.name = "cancel/two-fires-two-waiters",
     .fn = two_fires_two_waiters,
     .opts = {.preemptions = 2, .spurious = 1}},
    {.name = "cancel/fire-against-last-unref",
     .fn = fire_against_last_unref,
     .opts = {.preemptions = 3, .spurious = 1}},
    {.name = "cancel/fire-against-new-child",
     .fn = fire_against_new_child,
     .opts = {.preemptions = 3, .spurious = 1}},
    {.name = "cancel/fire-parent-and-child",
     .fn = fire_parent_and_child,
     .opts = {.preemptions = 2, .spurious = 1}},
    {.name = "timers/poll-against-disarm",
     .fn = poll_against_disarm,
     .opts = {.preemptions = 3, .spurious = 1}},
    {.name = "timers/rearm-against-disarm",
     .fn = rearm_against_disarm,
     .opts = {.preemptions = 2, .spurious = 1}},
    {.name = "timers/thread-against-disarm",
     .fn = thread_against_disarm,
     .opts = {.preemptions = 3, .spurious = 1}},
    {.name = "timers/shared-service-comes-and-goes",
     .fn = shared_service_comes_and_goes,
     .opts = {.preemptions = 2, .spurious = 1}},
    {.name = NULL},
};
