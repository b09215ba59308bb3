/*
 * timers.c: a timer service as its users see it: what is armed fires, at its time, by the service's
 * thread, a poller or a clock that is moved by hand; and the service goes with its last user.
 */
#include "scenario.h"

#include "belay/clock.h"
#include "belay/test.h"
#include "deliver/deliver.h"
#include "time/timers.h"

#define EARLY_NS 1000
#define LATE_NS  1000000

/* An object with one timer. Its function may arm the timer again, or deliver `task`. */
typedef struct object {
    bly_timer timer;
    belay_timers *timers;
    uint32_t fired;      /* atomic: calls of the timer's function */
    int64_t fired_at_ns; /* written before `fired` */
    int64_t deadline_ns; /* of the last arming */
    int64_t again_ns;    /* the function arms for it, once; 0: it does not */
    belay_task *task;    /* what the function delivers; NULL: nothing */
} object;

/* The machine's clock, which counts whom it wakes and who went to sleep. */
static belay_clock counting;
static uint32_t wakes;  /* atomic */
static uint32_t sleeps; /* atomic */
static int64_t begun_ns;

static void wake_and_count(belay_clock *self, uint32_t *word, uint32_t count)
{
    (void)self;
    bly_fetch_add(&wakes, 1u, BLY_RELAXED);
    bly_futex_wake(word, count);
}

static int wait_and_count(belay_clock *self, uint32_t *word, uint32_t expected, int64_t until_ns)
{
    (void)self;
    bly_fetch_add(&sleeps, 1u, BLY_RELAXED);
    return bly_futex_wait(word, expected, until_ns);
}

static void open_clock(void)
{
    counting = *belay_clock_system();
    counting.wake = wake_and_count;
    counting.wait = wait_and_count;
    wakes = sleeps = 0;
    begun_ns = bly_monotonic_ns();
}

static void await_sleeps(uint32_t count)
{
    while (bly_load(&sleeps, BLY_RELAXED) < count) {
        bly_yield();
    }
}

static void on_timer(bly_timer *timer)
{
    object *self = bly_container(timer, object, timer);
    int64_t again_ns = self->again_ns;
    belay_model_check(bly_timer_reached(timer) >= self->deadline_ns);
    self->fired_at_ns = bly_timer_reached(timer);
    if (again_ns != 0) {
        self->again_ns = 0;
        self->deadline_ns = again_ns;
        bly_timer_arm(timer, again_ns);
    }
    if (self->task != NULL) {
        bly_deliver_push(self->task);
    }
    bly_fetch_add(&self->fired, 1u, BLY_RELEASE);
    bly_futex_wake(&self->fired, BLY_WAKE_ALL);
}

static void open_object(object *self, belay_timers *timers, belay_clock *clock)
{
    *self = (object){.timers = NULL};
    belay_model_check(bly_timers_use(timers, clock, &self->timers) == 0);
    bly_timer_init(&self->timer, self->timers, on_timer);
}

static void close_object(object *self)
{
    bly_timer_disarm_wait(&self->timer);
    bly_timers_unuse(self->timers);
}

static void arm(object *self, int64_t deadline_ns)
{
    self->deadline_ns = deadline_ns;
    bly_timer_arm(&self->timer, deadline_ns);
}

/* Arms for so long after the machine's clock began. */
static void arm_after(object *self, int64_t delay_ns)
{
    arm(self, begun_ns + delay_ns);
}

static bool is_before(int64_t delay_ns)
{
    return bly_monotonic_ns() < begun_ns + delay_ns;
}

static void await_fired(object *self, uint32_t count)
{
    uint32_t fired;
    while ((fired = bly_load(&self->fired, BLY_ACQUIRE)) < count) {
        (void)bly_futex_wait(&self->fired, fired, BELAY_FOREVER);
    }
}

/* The thread sleeps for nobody, or for a later timer, when an earlier one is armed. */
static void an_earlier_timer_wakes_the_thread(void *arg)
{
    object late, early;
    (void)arg;
    open_clock();
    open_object(&late, NULL, &counting);
    open_object(&early, NULL, &counting);
    belay_model_check(late.timers == early.timers);
    arm_after(&late, LATE_NS);
    arm_after(&early, EARLY_NS);
    bool is_in_time = is_before(EARLY_NS);
    await_fired(&early, 1);
    belay_model_check(!is_in_time || early.fired_at_ns < begun_ns + LATE_NS);
    close_object(&early);
    await_fired(&late, 1);
    close_object(&late);
}

/* Nobody is woken for what is no earlier than what the thread sleeps for, nor while it is awake. */
static void a_later_timer_wakes_nobody(void *arg)
{
    object first, second;
    (void)arg;
    open_clock();
    open_object(&first, NULL, &counting);
    open_object(&second, NULL, &counting);
    await_sleeps(1);
    bly_timer_disarm(&second.timer);
    belay_model_check(bly_load(&wakes, BLY_RELAXED) == 0);
    arm_after(&first, EARLY_NS);
    arm_after(&second, EARLY_NS);
    bly_timer_arm(&second.timer, begun_ns + LATE_NS);
    bly_timer_disarm(&second.timer);
    uint32_t woken = bly_load(&wakes, BLY_RELAXED);
    belay_model_check(woken <= 1 || !is_before(EARLY_NS));
    await_fired(&first, 1);
    close_object(&second);
    close_object(&first);
}

static void an_arming_function_wakes_nobody(void *arg)
{
    object self;
    (void)arg;
    open_clock();
    open_object(&self, NULL, &counting);
    self.again_ns = 1; /* long ago */
    arm_after(&self, EARLY_NS);
    await_fired(&self, 2);
    belay_model_check(bly_load(&wakes, BLY_RELAXED) <= 1);
    close_object(&self);
}

static object shared_object;

static void close_from_callback(belay_task *task)
{
    (void)task;
    close_object(&shared_object);
    bly_fetch_add(&shared_object.fired, 1u, BLY_RELEASE);
    bly_futex_wake(&shared_object.fired, BLY_WAKE_ALL);
}

/* The last use is given up on the service's own thread, which ends by itself. */
static void the_last_use_ends_in_a_callback(void *arg)
{
    static belay_task task;
    (void)arg;
    task = (belay_task){.run = close_from_callback};
    open_clock();
    open_object(&shared_object, NULL, &counting);
    shared_object.task = &task;
    arm_after(&shared_object, EARLY_NS);
    await_fired(&shared_object, 2);
}

static uint32_t is_inside; /* atomic: the callback runs */

static void stay_inside(belay_task *task)
{
    (void)task;
    bly_store(&is_inside, 1u, BLY_RELAXED);
    bly_yield();
    bly_store(&is_inside, 0u, BLY_RELAXED);
}

/* Who gives up the last use waits for the callback that the service's thread is running. */
static void the_last_use_waits_for_the_callback(void *arg)
{
    static belay_task task;
    (void)arg;
    task = (belay_task){.run = stay_inside};
    is_inside = 0;
    open_clock();
    open_object(&shared_object, NULL, &counting);
    shared_object.task = &task;
    arm_after(&shared_object, EARLY_NS);
    await_fired(&shared_object, 1);
    close_object(&shared_object);
    belay_model_check(bly_load(&is_inside, BLY_RELAXED) == 0);
}

/* Services of two clocks, which go in either order; each is one for all users of its clock. */
static void two_clocks_have_two_services(void *arg)
{
    object first, second, third;
    belay_clock *manual = NULL;
    (void)arg;
    belay_model_check(belay_manual_clock_create(0, 0, &manual) == 0);
    open_object(&first, NULL, NULL);
    open_object(&second, NULL, manual);
    open_object(&third, NULL, NULL);
    belay_model_check(first.timers == third.timers && first.timers != second.timers);
    close_object(&third);
    unsigned order = belay_model_choose(2);
    close_object(order == 0 ? &first : &second);
    open_object(&third, NULL, order == 0 ? manual : NULL);
    belay_model_check(third.timers == (order == 0 ? &second : &first)->timers);
    close_object(order == 0 ? &second : &first);
    close_object(&third);
    belay_model_check(belay_manual_clock_destroy(manual) == 0);
}

static belay_clock *moved;

static void advance(void *arg)
{
    (void)arg;
    belay_model_check(belay_manual_clock_advance(moved, EARLY_NS) == 0);
}

static void fire_once(void *arg)
{
    object *self = arg;
    bly_timer_disarm_wait(&self->timer);
    belay_model_check(bly_load(&self->fired, BLY_RELAXED) <= 1);
}

/* A clock moved by hand against the end of a timer; the clock begins before 0. */
static void advance_against_disarm(void *arg)
{
    object self;
    (void)arg;
    belay_model_check(belay_manual_clock_create(-EARLY_NS, 0, &moved) == 0);
    open_object(&self, NULL, moved);
    arm(&self, -EARLY_NS / 2);
    int one = belay_model_start(advance, NULL);
    fire_once(&self);
    belay_model_join(one);
    belay_model_check(self.fired == 0 || self.fired_at_ns == -EARLY_NS / 2);
    bly_timers_unuse(self.timers);
    belay_model_check(belay_manual_clock_destroy(moved) == 0);
}

/* In the order of (deadline, arming), by the clock and by the poll alike. */
static void the_order_is_that_of_deadlines(void *arg)
{
    object objects[3];
    static const int64_t deadlines[] = {20, 10, 20};
    (void)arg;
    belay_model_check(belay_manual_clock_create(-EARLY_NS, 0, &moved) == 0);
    for (int i = 0; i < 3; i++) {
        open_object(&objects[i], NULL, moved);
        arm(&objects[i], deadlines[i]);
    }
    belay_model_check(belay_manual_clock_next_deadline(moved) == 10);
    belay_model_check(belay_manual_clock_advance(moved, 15) == 0);
    belay_model_check(objects[0].fired == 0 && objects[1].fired == 1);
    belay_model_check(objects[1].fired_at_ns == 10);
    belay_model_check(belay_manual_clock_advance(moved, 20) == 0);
    for (int i = 0; i < 3; i++) {
        belay_model_check(objects[i].fired == 1 && objects[i].fired_at_ns == deadlines[i]);
        close_object(&objects[i]);
    }
    belay_model_check(belay_manual_clock_destroy(moved) == 0);
}

/* Where memory or a thread is wanting nothing is left behind. */
static void use_without_memory(void *arg)
{
    belay_timers *used = NULL;
    (void)arg;
    int result = bly_timers_use(NULL, NULL, &used);
    belay_model_check(result == 0 || result == BELAY_ENOMEM || result == BELAY_EAGAIN);
    if (result == 0) {
        bly_timers_unuse(used);
    }
}

/* A polled service ends in a callback like any other; nobody but its poller fires. */
static belay_timers *polled;

static void end_polled(belay_task *task)
{
    (void)task;
    belay_model_check(belay_timers_destroy(polled) == 0);
}

static void polled_ends_in_a_callback(void *arg)
{
    belay_timers_opts opts = {.size = sizeof opts, .is_polled = 1};
    belay_task task = {.run = end_polled};
    (void)arg;
    belay_model_check(belay_timers_create(&opts, &polled) == 0);
    open_object(&shared_object, polled, NULL);
    arm(&shared_object, EARLY_NS);
    belay_model_check(belay_timers_next_deadline(polled) == EARLY_NS);
    belay_model_check(belay_timers_poll(polled, EARLY_NS - 1) == 0);
    belay_model_check(belay_timers_poll(polled, EARLY_NS) == 1);
    close_object(&shared_object);
    belay_model_check(belay_executor_submit(belay_inline(), &task, 0) == 0);
}

#define TIMERS(title, function, bound)                                                             \
    {                                                                                              \
        .name = "timers/" title, .fn = function, .opts = {.preemptions = bound, .spurious = 1 }    \
    }

const scenario timers_scenarios[] = {
    TIMERS("an-earlier-timer-wakes-the-thread", an_earlier_timer_wakes_the_thread, 2),
    TIMERS("a-later-timer-wakes-nobody", a_later_timer_wakes_nobody, 2),
    TIMERS("an-arming-function-wakes-nobody", an_arming_function_wakes_nobody, 2),
    TIMERS("the-last-use-ends-in-a-callback", the_last_use_ends_in_a_callback, 3),
    TIMERS("the-last-use-waits-for-the-callback", the_last_use_waits_for_the_callback, 3),
    TIMERS("two-clocks-have-two-services", two_clocks_have_two_services, 1),
    TIMERS("advance-against-disarm", advance_against_disarm, 3),
    TIMERS("the-order-is-that-of-deadlines", the_order_is_that_of_deadlines, 1),
    {.name = "timers/use-without-memory",
     .fn = use_without_memory,
     .opts = {.preemptions = 1, .alloc_failures = 1}},
    TIMERS("polled-ends-in-a-callback", polled_ends_in_a_callback, 1),
    {.name = NULL},
};
