/*
 * deliver.c: the mailbox and its descriptor, and threads that sleep: no signal, task or wake is
 * lost.
 */
#include "scenario.h"

#include "belay/task.h"
#include "belay/test.h"
#include "deliver/event.h"
#include "deliver/ring.h"
#include "time/parker.h"

/* A descriptor as the kernel has it: readable or not, open or not. */
static uint32_t is_readable; /* atomic */
static uint32_t is_open;     /* atomic */

static bool is_refusing;

/* The lowest number is free, as when stdin is closed. */
static int open_event(void)
{
    if (is_refusing) {
        return BELAY_EIO;
    }
    bly_store(&is_open, 1u, BLY_SEQ_CST);
    bly_store(&is_readable, 0u, BLY_SEQ_CST);
    return 0;
}

static void signal_event(int fd)
{
    (void)fd;
    belay_model_check(bly_load(&is_open, BLY_SEQ_CST) == 1);
    bly_store(&is_readable, 1u, BLY_SEQ_CST);
    bly_futex_wake(&is_readable, BLY_WAKE_ALL);
}

static void clear_event(int fd)
{
    (void)fd;
    bly_store(&is_readable, 0u, BLY_SEQ_CST);
}

static void close_event(int fd)
{
    (void)fd;
    bly_store(&is_open, 0u, BLY_SEQ_CST);
}

static const bly_event_table events = {
    .create = open_event, .signal = signal_event, .clear = clear_event, .close = close_event};

static void await_readable(void)
{
    while (bly_load(&is_readable, BLY_SEQ_CST) == 0) {
        (void)bly_futex_wait(&is_readable, 0, BELAY_FOREVER);
    }
}

typedef struct counted {
    belay_task task;
    uint32_t runs; /* the thread that runs the mailbox */
} counted;

static belay_mailbox *box;
static counted tasks[2];

static void count_run(belay_task *task)
{
    counted *self = bly_container(task, counted, task);
    bly_write(&self->runs, bly_read(&self->runs) + 1);
}

static void open_box(void)
{
    bly_events = &events;
    belay_model_check(belay_mailbox_create(NULL, &box) == 0);
    for (int i = 0; i < 2; i++) {
        tasks[i] = (counted){.task = {.run = count_run}};
    }
}

static void submit_task(void *arg)
{
    counted *self = arg;
    belay_model_check(belay_executor_submit(belay_mailbox_executor(box), &self->task, 0) == 0);
}

/* An event loop that runs at most `max` at a time, and only when the descriptor says so. */
static void loop_until_both_ran(int max)
{
    while (tasks[0].runs + tasks[1].runs < 2) {
        await_readable();
        int ran = belay_mailbox_run(box, max);
        belay_model_check(ran >= 0 && (max == 0 || ran <= max));
    }
    belay_model_check(tasks[0].runs == 1 && tasks[1].runs == 1);
}

/* The box is ended as soon as its tasks have run, while their submits may still be on the way. */
static void two_submits_against_a_loop(void *arg)
{
    open_box();
    int one = belay_model_start(submit_task, &tasks[0]);
    int two = belay_model_start(submit_task, &tasks[1]);
    loop_until_both_ran((int)(intptr_t)arg);
    belay_model_check(belay_mailbox_destroy(box) == 0);
    belay_model_join(one);
    belay_model_join(two);
    belay_model_check(bly_load(&is_open, BLY_SEQ_CST) == 0);
}

static void run_box(void *arg)
{
    (void)arg;
    int ran = belay_mailbox_run(box, 0);
    belay_model_check(ran >= 0 || ran == BELAY_EBUSY);
}

static void two_runners(void *arg)
{
    (void)arg;
    open_box();
    submit_task(&tasks[0]);
    int one = belay_model_start(run_box, NULL);
    int two = belay_model_start(submit_task, &tasks[1]);
    run_box(NULL);
    belay_model_join(one);
    belay_model_join(two);
    while (tasks[0].runs + tasks[1].runs < 2) {
        belay_model_check(bly_load(&is_readable, BLY_SEQ_CST) == 1);
        belay_model_check(belay_mailbox_run(box, 0) > 0);
    }
    belay_model_check(tasks[0].runs == 1 && tasks[1].runs == 1);
    belay_model_check(belay_mailbox_destroy(box) == 0);
}

static void box_without_descriptor(void *arg)
{
    (void)arg;
    bly_events = &events;
    is_refusing = true;
    belay_model_check(belay_mailbox_create(NULL, &box) == BELAY_EIO);
    is_refusing = false;
}

/* A waiter that leaves as soon as it is told, as a lease on a stack does. */
typedef struct sleeping {
    bly_parker *parker;
    belay_clock *clock;
    uint32_t is_told; /* atomic */
} sleeping;

static void tell(void *arg)
{
    sleeping *self = arg;
    bly_parker *parker = self->parker;
    belay_clock *clock = self->clock;
    bly_store(&self->is_told, 1u, BLY_RELEASE);
    bly_unpark(parker, clock);
}

static void sleep_until_told(sleeping *self)
{
    bly_parker_reset(self->parker);
    int teller = belay_model_start(tell, self);
    while (bly_load(&self->is_told, BLY_ACQUIRE) == 0) {
        (void)bly_park(self->parker, self->clock, BELAY_FOREVER);
    }
    belay_model_join(teller);
}

/* The late wake of the first wait may come in the second one. */
static void two_waits_of_one_thread(void *arg)
{
    (void)arg;
    sleeping first = {.parker = bly_parker_self(), .clock = belay_clock_system()};
    sleeping second = first;
    sleep_until_told(&first);
    sleep_until_told(&second);
}

static belay_clock *manual;

static void advance_manual(void *arg)
{
    (void)arg;
    belay_model_check(belay_manual_clock_advance(manual, 10) == 0);
}

/* On a manual clock the wake and the deadline come at once: the sleep ends, by either. */
static void wake_against_advance(void *arg)
{
    (void)arg;
    belay_model_check(belay_manual_clock_create(0, 0, &manual) == 0);
    sleeping self = {.parker = bly_parker_self(), .clock = manual};
    bly_parker_reset(self.parker);
    int one = belay_model_start(tell, &self);
    int two = belay_model_start(advance_manual, NULL);
    int result = bly_park(self.parker, manual, 10);
    belay_model_check(result == 0 || belay_clock_now(manual) == 10);
    belay_model_join(one);
    belay_model_join(two);
    belay_model_check(bly_load(&self.is_told, BLY_RELAXED) == 1);
    belay_model_check(belay_manual_clock_destroy(manual) == 0);
}

const scenario deliver_scenarios[] = {
    {.name = "mailbox/two-submits-against-a-loop",
     .fn = two_submits_against_a_loop,
     .opts = {.preemptions = 3}},
    {.name = "mailbox/two-submits-against-a-loop-of-one",
     .fn = two_submits_against_a_loop,
     .arg = (void *)(intptr_t)1,
     .opts = {.preemptions = 3}},
    {.name = "mailbox/two-runners", .fn = two_runners, .opts = {.preemptions = 3}},
    {.name = "mailbox/without-descriptor", .fn = box_without_descriptor},
    {.name = "parker/two-waits-of-one-thread",
     .fn = two_waits_of_one_thread,
     .opts = {.preemptions = 3, .spurious = 1}},
    {.name = "manual-clock/wake-against-advance",
     .fn = wake_against_advance,
     .opts = {.preemptions = 3, .spurious = 1}},
    {.name = NULL},
};
