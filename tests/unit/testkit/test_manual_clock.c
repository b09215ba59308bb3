#include "belay/test.h"

#include "deliver/deliver.h"
#include "sync/sync.h"
#include "time/parker.h"
#include "time/timers.h"
#include "fault.h"
#include "unit.h"

#define START_NS 1000
#define WALL_NS  5000000

static belay_clock *manual;
static int calls;

static void use_clock(void)
{
    ck_assert_int_eq(belay_manual_clock_create(START_NS, WALL_NS, &manual), 0);
}

static void end_clock(void)
{
    ck_assert_int_eq(belay_manual_clock_destroy(manual), 0);
}

/* A timer that notes when it fired. */
typedef struct probe {
    bly_timer timer;
    belay_task task; /* delivered when its run is set */
    int order;
    int64_t seen_ns;
    struct probe *other; /* armed by the function, for other_ns */
    int64_t other_ns;
} probe;

static void probe_fire(bly_timer *timer)
{
    probe *self = bly_container(timer, probe, timer);
    self->order = ++calls;
    self->seen_ns = manual->now(manual);
    if (self->other != NULL) {
        bly_timer_arm(&self->other->timer, self->other_ns);
    }
    if (self->task.run != NULL) {
        bly_deliver_push(&self->task);
        bly_deliver_run();
    }
}

/* A probe's timer of the service, or of the clock's own when that is NULL. */
static void probe_init(probe *self, belay_timers *timers)
{
    *self = (probe){.order = 0};
    ck_assert_int_eq(bly_timers_use(timers, manual, &timers), 0);
    bly_timer_init(&self->timer, timers, probe_fire);
}

static void probe_end(probe *self)
{
    bly_timer_disarm_wait(&self->timer);
    bly_timers_unuse(self->timer.timers);
}

START_TEST(create_refuses_bad_arguments)
{
    belay_clock *made = NULL;
    ck_assert_int_eq(belay_manual_clock_create(0, 0, NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_manual_clock_create(BELAY_NOW, 0, &made), BELAY_EINVAL);
    ck_assert_int_eq(belay_manual_clock_create(BELAY_FOREVER, 0, &made), BELAY_EINVAL);
    ck_assert_ptr_null(made);
}
END_TEST

START_TEST(other_clocks_are_refused)
{
    belay_clock *other = belay_clock_system();
    ck_assert_int_eq(belay_manual_clock_advance(other, 1), BELAY_EINVAL);
    ck_assert_int_eq(belay_manual_clock_advance(NULL, 1), BELAY_EINVAL);
    ck_assert_int_eq(belay_manual_clock_set_wall(other, 1), BELAY_EINVAL);
    ck_assert_int_eq(belay_manual_clock_await_sleepers(other, 0), BELAY_EINVAL);
    ck_assert_int_eq(belay_manual_clock_next_deadline(other), BELAY_FOREVER);
    ck_assert_int_eq(belay_manual_clock_destroy(other), BELAY_EINVAL);
    ck_assert_int_eq(belay_manual_clock_destroy(NULL), 0);
}
END_TEST

START_TEST(it_stands_still_until_it_is_moved)
{
    use_clock();
    ck_assert_int_eq(belay_clock_now(manual), START_NS);
    ck_assert_int_eq(manual->now_coarse(manual), START_NS);
    ck_assert_int_eq(belay_clock_wall(manual), WALL_NS);
    ck_assert_int_eq(belay_manual_clock_advance(manual, START_NS + 7), 0);
    ck_assert_int_eq(belay_clock_now(manual), START_NS + 7);
    ck_assert_int_eq(belay_clock_wall(manual), WALL_NS + 7);
    end_clock();
}
END_TEST

START_TEST(advance_refuses_to_go_back_or_to_the_end_of_time)
{
    use_clock();
    ck_assert_int_eq(belay_manual_clock_advance(manual, START_NS - 1), BELAY_EINVAL);
    ck_assert_int_eq(belay_manual_clock_advance(manual, BELAY_FOREVER), BELAY_EINVAL);
    ck_assert_int_eq(belay_manual_clock_advance(manual, START_NS), 0);
    end_clock();
}
END_TEST

START_TEST(set_wall_moves_the_time_of_day_alone)
{
    use_clock();
    ck_assert_int_eq(belay_manual_clock_set_wall(manual, 17), 0);
    ck_assert_int_eq(belay_clock_wall(manual), 17);
    ck_assert_int_eq(belay_clock_now(manual), START_NS);
    ck_assert_int_eq(belay_manual_clock_advance(manual, START_NS + 3), 0);
    ck_assert_int_eq(belay_clock_wall(manual), 20);
    end_clock();
}
END_TEST

START_TEST(advance_fires_timers_deadline_by_deadline)
{
    use_clock();
    probe late, early, future;
    probe_init(&late, NULL);
    probe_init(&early, NULL);
    probe_init(&future, NULL);
    bly_timer_arm(&late.timer, START_NS + 20);
    bly_timer_arm(&early.timer, START_NS + 10);
    bly_timer_arm(&future.timer, START_NS + 31);
    ck_assert_int_eq(belay_manual_clock_next_deadline(manual), START_NS + 10);
    ck_assert_int_eq(belay_manual_clock_advance(manual, START_NS + 30), 0);
    ck_assert_int_eq(early.order, 1);
    ck_assert_int_eq(early.seen_ns, START_NS + 10);
    ck_assert_int_eq(late.order, 2);
    ck_assert_int_eq(late.seen_ns, START_NS + 20);
    ck_assert_int_eq(future.order, 0);
    ck_assert_int_eq(belay_manual_clock_next_deadline(manual), START_NS + 31);
    probe_end(&late);
    probe_end(&early);
    probe_end(&future);
    end_clock();
}
END_TEST

START_TEST(advance_includes_what_is_armed_meanwhile)
{
    use_clock();
    probe first, second, between;
    probe_init(&first, NULL);
    probe_init(&second, NULL);
    probe_init(&between, NULL);
    first.other = &between;
    first.other_ns = START_NS + 15;
    bly_timer_arm(&first.timer, START_NS + 10);
    bly_timer_arm(&second.timer, START_NS + 20);
    ck_assert_int_eq(belay_manual_clock_advance(manual, START_NS + 20), 0);
    ck_assert_int_eq(between.order, 2);
    ck_assert_int_eq(between.seen_ns, START_NS + 15);
    ck_assert_int_eq(second.order, 3);
    probe_end(&first);
    probe_end(&second);
    probe_end(&between);
    end_clock();
}
END_TEST

START_TEST(what_was_due_before_fires_at_the_reading)
{
    use_clock();
    probe past;
    probe_init(&past, NULL);
    bly_timer_arm(&past.timer, START_NS - 500);
    ck_assert_int_eq(belay_manual_clock_advance(manual, START_NS), 0);
    ck_assert_int_eq(past.order, 1);
    ck_assert_int_eq(past.seen_ns, START_NS);
    probe_end(&past);
    end_clock();
}
END_TEST

START_TEST(equal_deadlines_of_two_services_fire_in_order_of_arming)
{
    use_clock();
    belay_timers_opts opts = {.size = sizeof opts, .clock = manual};
    belay_timers *timers[2] = {NULL, NULL};
    ck_assert_int_eq(belay_timers_create(&opts, &timers[0]), 0);
    ck_assert_int_eq(belay_timers_create(&opts, &timers[1]), 0);
    probe probes[6];
    for (int i = 0; i < 6; i++) {
        probe_init(&probes[i], timers[i % 2]);
    }
    for (int i = 5; i >= 0; i--) {
        bly_timer_arm(&probes[i].timer, START_NS + 1);
    }
    ck_assert_int_eq(belay_manual_clock_advance(manual, START_NS + 1), 0);
    for (int i = 0; i < 6; i++) {
        ck_assert_int_eq(probes[i].order, 6 - i);
        probe_end(&probes[i]);
    }
    ck_assert_int_eq(belay_timers_destroy(timers[0]), 0);
    ck_assert_int_eq(belay_timers_destroy(timers[1]), 0);
    end_clock();
}
END_TEST

static int nested_advance, nested_wall;

static void move_run(belay_task *task)
{
    (void)task;
    nested_advance = belay_manual_clock_advance(manual, START_NS + 100);
    nested_wall = belay_manual_clock_set_wall(manual, 1);
}

START_TEST(moving_it_from_a_callback_is_busy)
{
    use_clock();
    probe only;
    probe_init(&only, NULL);
    only.task.run = move_run;
    bly_timer_arm(&only.timer, START_NS + 1);
    ck_assert_int_eq(belay_manual_clock_advance(manual, START_NS + 2), 0);
    ck_assert_int_eq(nested_advance, BELAY_EBUSY);
    ck_assert_int_eq(nested_wall, BELAY_EBUSY);
    ck_assert_int_eq(belay_clock_now(manual), START_NS + 2);
    probe_end(&only);
    end_clock();
}
END_TEST

static void leave_run(belay_task *task)
{
    probe *self = bly_container(task, probe, task);
    probe_end(self);
    free(self);
}

START_TEST(a_callback_may_end_the_service_that_fired)
{
    use_clock();
    probe *only = malloc(sizeof *only);
    probe_init(only, NULL);
    only->task.run = leave_run;
    bly_timer_arm(&only->timer, START_NS + 1);
    ck_assert_int_eq(belay_manual_clock_advance(manual, START_NS + 2), 0);
    end_clock();
}
END_TEST

START_TEST(destroy_of_a_used_clock_is_busy)
{
    use_clock();
    probe only;
    probe_init(&only, NULL);
    ck_assert_int_eq(belay_manual_clock_destroy(manual), BELAY_EBUSY);
    probe_end(&only);
    end_clock();
}
END_TEST

/* A watcher that notes its calls and may go away while it is called. */
typedef struct observer {
    belay_clock_watcher watcher;
    int order;
    int calls;
    int64_t seen_wall_ns;
    bool leaves;
} observer;

static void observe(belay_clock_watcher *watcher)
{
    observer *self = bly_container(watcher, observer, watcher);
    self->order = ++calls;
    self->calls++;
    self->seen_wall_ns = manual->wall(manual);
    if (self->leaves) {
        manual->unwatch(manual, watcher);
    }
}

START_TEST(watchers_are_told_after_each_move)
{
    use_clock();
    observer first = {.watcher = {.on_change = observe}}, second = first, third = first;
    second.leaves = true;
    ck_assert_int_eq(manual->watch(manual, &first.watcher), 0);
    ck_assert_int_eq(manual->watch(manual, &second.watcher), 0);
    ck_assert_int_eq(manual->watch(manual, &third.watcher), 0);
    ck_assert_int_eq(belay_manual_clock_set_wall(manual, 77), 0);
    ck_assert_int_eq(first.order, 1);
    ck_assert_int_eq(second.order, 2);
    ck_assert_int_eq(third.order, 3);
    ck_assert_int_eq(third.seen_wall_ns, 77);
    ck_assert_int_eq(belay_manual_clock_advance(manual, START_NS + 3), 0);
    ck_assert_int_eq(first.seen_wall_ns, 80);
    ck_assert_int_eq(first.calls, 2);
    ck_assert_int_eq(second.calls, 1);
    ck_assert_int_eq(third.calls, 2);
    ck_assert_int_eq(belay_manual_clock_destroy(manual), BELAY_EBUSY);
    manual->unwatch(manual, &first.watcher);
    manual->unwatch(manual, &third.watcher);
    end_clock();
}
END_TEST

START_TEST(wait_answers_at_once_when_there_is_nothing_to_wait_for)
{
    use_clock();
    uint32_t word = 1;
    ck_assert_int_eq(manual->wait(manual, &word, 0, BELAY_FOREVER), 0);
    ck_assert_int_eq(manual->wait(manual, &word, 1, BELAY_NOW), BELAY_ETIMEDOUT);
    ck_assert_int_eq(manual->wait(manual, &word, 1, START_NS), BELAY_ETIMEDOUT);
    end_clock();
}
END_TEST

/* A thread that parks on the clock. */
typedef struct sleeping {
    bly_thread thread;
    bly_parker *parker; /* atomic: set by the thread */
    int64_t until_ns;
    int result;
    int64_t woke_ns;
    uint32_t order; /* in which the sleeps ended, as far as threads can tell */
} sleeping;

static uint32_t ended; /* atomic */

static void sleep_on_clock(void *arg)
{
    sleeping *self = arg;
    bly_parker *parker = bly_parker_self();
    bly_parker_reset(parker);
    bly_store(&self->parker, parker, BLY_RELEASE);
    self->result = bly_park(parker, manual, self->until_ns);
    self->woke_ns = manual->now(manual);
    self->order = bly_fetch_add(&ended, 1u, BLY_ACQ_REL) + 1;
}

static void start_sleeping(sleeping *self, int64_t until_ns)
{
    *self = (sleeping){.until_ns = until_ns};
    ck_assert_int_eq(bly_thread_create(&self->thread, NULL, sleep_on_clock, self), 0);
}

START_TEST(advance_wakes_threads_whose_deadline_came)
{
    use_clock();
    sleeping near, far;
    start_sleeping(&far, START_NS + 20);
    start_sleeping(&near, START_NS + 10);
    ck_assert_int_eq(belay_manual_clock_await_sleepers(manual, 2), 0);
    ck_assert_int_eq(belay_manual_clock_next_deadline(manual), START_NS + 10);
    ck_assert_int_eq(belay_manual_clock_destroy(manual), BELAY_EBUSY);
    ck_assert_int_eq(belay_manual_clock_advance(manual, START_NS + 10), 0);
    bly_thread_join(&near.thread);
    ck_assert_int_eq(near.result, BELAY_ETIMEDOUT);
    ck_assert_int_eq(near.woke_ns, START_NS + 10);
    ck_assert_int_eq(belay_manual_clock_next_deadline(manual), START_NS + 20);
    ck_assert_int_eq(belay_manual_clock_advance(manual, START_NS + 20), 0);
    bly_thread_join(&far.thread);
    ck_assert_int_eq(far.result, BELAY_ETIMEDOUT);
    end_clock();
}
END_TEST

START_TEST(unpark_wakes_its_thread_and_no_other)
{
    use_clock();
    sleeping first, second;
    start_sleeping(&first, BELAY_FOREVER);
    start_sleeping(&second, BELAY_FOREVER);
    ck_assert_int_eq(belay_manual_clock_await_sleepers(manual, 2), 0);
    bly_unpark(bly_load(&second.parker, BLY_ACQUIRE), manual);
    bly_thread_join(&second.thread);
    ck_assert_int_eq(second.result, 0);
    ck_assert_uint_eq(bly_load(&ended, BLY_ACQUIRE), 1);
    bly_unpark(bly_load(&first.parker, BLY_ACQUIRE), manual);
    bly_thread_join(&first.thread);
    ck_assert_int_eq(first.result, 0);
    end_clock();
}
END_TEST

static void unpark_run(belay_task *task)
{
    probe *self = bly_container(task, probe, task);
    bly_unpark((bly_parker *)(uintptr_t)self->other_ns, manual);
}

START_TEST(a_timer_before_a_thread_s_deadline_may_wake_it)
{
    use_clock();
    sleeping thread;
    start_sleeping(&thread, START_NS + 10);
    ck_assert_int_eq(belay_manual_clock_await_sleepers(manual, 1), 0);
    probe waker;
    probe_init(&waker, NULL);
    waker.other_ns = (int64_t)(uintptr_t)bly_load(&thread.parker, BLY_ACQUIRE);
    waker.task.run = unpark_run;
    bly_timer_arm(&waker.timer, START_NS + 9);
    ck_assert_int_eq(belay_manual_clock_advance(manual, START_NS + 20), 0);
    bly_thread_join(&thread.thread);
    ck_assert_int_eq(thread.result, 0);
    probe_end(&waker);
    end_clock();
}
END_TEST

START_TEST(create_without_memory_leaves_nothing)
{
    fault_alloc_once(1);
    ck_assert_int_eq(belay_manual_clock_create(0, 0, &manual), BELAY_ENOMEM);
    ck_assert_ptr_null(manual);
}
END_TEST

UNIT_MAIN("testkit/manual_clock", create_refuses_bad_arguments, other_clocks_are_refused,
          it_stands_still_until_it_is_moved, advance_refuses_to_go_back_or_to_the_end_of_time,
          set_wall_moves_the_time_of_day_alone, advance_fires_timers_deadline_by_deadline,
          advance_includes_what_is_armed_meanwhile, what_was_due_before_fires_at_the_reading,
          equal_deadlines_of_two_services_fire_in_order_of_arming,
          moving_it_from_a_callback_is_busy, a_callback_may_end_the_service_that_fired,
          destroy_of_a_used_clock_is_busy, watchers_are_told_after_each_move,
          wait_answers_at_once_when_there_is_nothing_to_wait_for,
          advance_wakes_threads_whose_deadline_came, unpark_wakes_its_thread_and_no_other,
          a_timer_before_a_thread_s_deadline_may_wake_it, create_without_memory_leaves_nothing)
