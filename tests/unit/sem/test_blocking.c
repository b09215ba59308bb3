/* Threads that wait. */
#include "sem_unit.h"

#include "hooked_clock.h"
#include "time/parker.h"

static belay_lease held;

/* A thread inside a blocking acquire. */
typedef struct sleeper {
    pthread_t thread;
    belay_lease lease;
    uint32_t permits;
    int64_t deadline_ns;
    belay_cancel *cancel;
    int result;
    bly_parker *parker; /* of its thread */
} sleeper;

static void *sleep_in_acquire(void *arg)
{
    sleeper *self = arg;
    self->parker = bly_parker_self();
    self->result =
        belay_sem_acquire(unit_sem, &self->lease, self->permits, self->deadline_ns, self->cancel);
    return NULL;
}

/* Starts the n-th sleeper and waits until it sleeps. */
static void start(sleeper *self, uint32_t nth, uint32_t permits, int64_t deadline_ns,
                  belay_cancel *cancel)
{
    *self = (sleeper){.permits = permits, .deadline_ns = deadline_ns, .cancel = cancel};
    ck_assert_int_eq(pthread_create(&self->thread, NULL, sleep_in_acquire, self), 0);
    ck_assert_int_eq(belay_manual_clock_await_sleepers(unit_clock, nth), 0);
}

static void finish(sleeper *self, int result)
{
    ck_assert_int_eq(pthread_join(self->thread, NULL), 0);
    ck_assert_int_eq(self->result, result);
}

START_TEST(a_thread_gets_the_permits_it_waits_for)
{
    sleeper self;
    unit_open(2);
    unit_hold(&held, 1);
    start(&self, 1, 2, BELAY_FOREVER, NULL);
    unit_expect(1, 1, 0, 1);
    unit_release(&held);
    finish(&self, 0);
    unit_expect(0, 2, 0, 0);
    unit_release(&self.lease);
    unit_close();
}
END_TEST

START_TEST(threads_and_callbacks_stand_in_one_queue)
{
    sleeper first;
    sleeper third;
    waiter second = unit_waiter();
    unit_open(1);
    unit_hold(&held, 1);
    start(&first, 1, 1, BELAY_FOREVER, NULL);
    unit_queue(&second, 1);
    start(&third, 2, 1, BELAY_FOREVER, NULL);
    unit_release(&held);
    finish(&first, 0);
    unit_not_told(&second);
    unit_release(&first.lease);
    unit_told(&second, 0, 1);
    unit_expect(0, 1, 0, 1);
    unit_release(&second.lease);
    finish(&third, 0);
    unit_release(&third.lease);
    unit_close();
}
END_TEST

START_TEST(a_thread_times_out_at_its_deadline)
{
    sleeper self;
    unit_open(1);
    unit_hold(&held, 1);
    start(&self, 1, 1, unit_after(100), NULL);
    unit_advance(99);
    unit_expect(0, 1, 0, 1);
    unit_advance(1);
    finish(&self, BELAY_ETIMEDOUT);
    unit_expect(0, 1, 0, 0);
    ck_assert_uint_eq(unit_stats().timed_out, 1);
    ck_assert_int_eq(belay_lease_release(&self.lease), BELAY_ENOTHELD);
    unit_release(&held);
    unit_close();
}
END_TEST

START_TEST(a_thread_that_times_out_at_the_head_serves_those_behind)
{
    sleeper self;
    waiter behind = unit_waiter();
    unit_open(2);
    unit_hold(&held, 1);
    start(&self, 1, 2, unit_after(100), NULL);
    unit_queue(&behind, 1);
    unit_advance(100);
    finish(&self, BELAY_ETIMEDOUT);
    unit_told(&behind, 0, 1);
    unit_release(&held);
    unit_release(&behind.lease);
    unit_close();
}
END_TEST

START_TEST(a_thread_times_out_though_nobody_polls_its_timers)
{
    unit_open_clock();
    belay_timers *timers;
    belay_timers_opts timers_opts = {
        .size = sizeof timers_opts, .is_polled = 1, .clock = unit_clock};
    ck_assert_int_eq(belay_timers_create(&timers_opts, &timers), 0);
    belay_sem_opts opts = unit_opts(1);
    opts.timers = timers;
    ck_assert_int_eq(belay_sem_create(&opts, &unit_sem), 0);
    unit_hold(&held, 1);
    sleeper self;
    start(&self, 1, 1, unit_after(100), NULL);
    unit_advance(100);
    finish(&self, BELAY_ETIMEDOUT);
    unit_release(&held);
    ck_assert_int_eq(belay_sem_destroy(unit_sem), 0);
    ck_assert_int_eq(belay_timers_destroy(timers), 0);
    ck_assert_int_eq(belay_manual_clock_destroy(unit_clock), 0);
}
END_TEST

START_TEST(a_token_ends_the_wait_of_a_thread)
{
    sleeper self;
    unit_open(1);
    belay_cancel *token = unit_token();
    unit_hold(&held, 1);
    start(&self, 1, 1, BELAY_FOREVER, token);
    ck_assert_int_eq(belay_cancel_fire(token), 0);
    finish(&self, BELAY_ECANCELED);
    unit_expect(0, 1, 0, 0);
    unit_release(&held);
    belay_cancel_unref(token);
    unit_close();
}
END_TEST

START_TEST(a_cancel_ends_the_wait_of_a_thread)
{
    sleeper self;
    unit_open(1);
    unit_hold(&held, 1);
    start(&self, 1, 1, BELAY_FOREVER, NULL);
    ck_assert_int_eq(belay_lease_cancel(&self.lease), 0);
    finish(&self, BELAY_ECANCELED);
    unit_release(&held);
    unit_close();
}
END_TEST

START_TEST(a_close_ends_the_wait_of_all_threads)
{
    sleeper selves[3];
    unit_open(1);
    unit_hold(&held, 1);
    for (uint32_t i = 0; i < 3; i++) {
        start(&selves[i], i + 1, 1, BELAY_FOREVER, NULL);
    }
    ck_assert_int_eq(belay_sem_close(unit_sem), 0);
    for (int i = 0; i < 3; i++) {
        finish(&selves[i], BELAY_ECLOSED);
    }
    unit_release(&held);
    unit_close();
}
END_TEST

START_TEST(a_resize_ends_the_wait_of_a_thread_that_wants_more)
{
    sleeper self;
    unit_open(3);
    unit_hold(&held, 1);
    start(&self, 1, 3, BELAY_FOREVER, NULL);
    ck_assert_int_eq(belay_sem_resize(unit_sem, 2), 0);
    finish(&self, BELAY_ETOOBIG);
    unit_release(&held);
    unit_close();
}
END_TEST

START_TEST(two_releases_in_a_row_wake_two_threads)
{
    sleeper selves[2];
    belay_lease second = BELAY_LEASE_INIT;
    unit_open(2);
    unit_hold(&held, 1);
    unit_hold(&second, 1);
    start(&selves[0], 1, 1, BELAY_FOREVER, NULL);
    start(&selves[1], 2, 1, BELAY_FOREVER, NULL);
    unit_release(&held);
    unit_release(&second);
    finish(&selves[0], 0);
    finish(&selves[1], 0);
    unit_release(&selves[0].lease);
    unit_release(&selves[1].lease);
    unit_close();
}
END_TEST

START_TEST(a_thread_woken_for_no_reason_goes_on_waiting)
{
    sleeper self;
    unit_open(1);
    unit_hold(&held, 1);
    start(&self, 1, 1, BELAY_FOREVER, NULL);
    for (int i = 0; i < 100; i++) {
        bly_unpark(self.parker, unit_clock);
    }
    ck_assert_int_eq(belay_manual_clock_await_sleepers(unit_clock, 1), 0);
    unit_expect(0, 1, 0, 1);
    unit_release(&held);
    finish(&self, 0);
    unit_release(&self.lease);
    unit_close();
}
END_TEST

static void release_what_is_held(void)
{
    unit_release(&held);
}

static void release_at_the_second_reading(void)
{
    hooked_fn = release_what_is_held;
}

START_TEST(a_grant_between_the_deadline_and_the_look_at_it_is_kept)
{
    hooked_open(1);
    unit_hold(&held, 1);
    belay_lease lease = BELAY_LEASE_INIT;
    /*
     * This clock sleeps not at all: it says at once that the deadline has come. The first reading
     * is that of the queueing, the second that of the thread whose deadline has passed: there the
     * permit is released.
     */
    hooked_now_ns = UNIT_BEGIN_NS;
    hooked_fn = release_at_the_second_reading;
    hooked_has_passed = true;
    ck_assert_int_eq(belay_sem_acquire(unit_sem, &lease, 1, UNIT_BEGIN_NS + 1, NULL), 0);
    ck_assert_uint_eq(unit_stats().timed_out, 0);
    unit_release(&lease);
    hooked_has_passed = false;
    hooked_close();
}
END_TEST

START_TEST(a_poll_ahead_of_the_clock_times_out_what_is_due_by_then)
{
    waiter early = unit_waiter();
    waiter late = unit_waiter();
    hooked_open(1);
    unit_hold(&held, 1);
    unit_queue_until(&early, 1, UNIT_BEGIN_NS + 10);
    unit_queue_until(&late, 1, UNIT_BEGIN_NS + 1000);
    ck_assert_int_ge(belay_timers_poll(hooked_timers, UNIT_BEGIN_NS + 500), 1);
    unit_told(&early, BELAY_ETIMEDOUT, 1);
    unit_not_told(&late);
    ck_assert_int_ge(belay_timers_poll(hooked_timers, UNIT_BEGIN_NS + 1000), 1);
    unit_told(&late, BELAY_ETIMEDOUT, 2);
    unit_release(&held);
    hooked_close();
}
END_TEST

START_TEST(a_clock_that_steps_back_does_not_hold_the_poll)
{
    waiter self = unit_waiter();
    hooked_open(1);
    unit_hold(&held, 1);
    hooked_now_ns = UNIT_BEGIN_NS + 500;
    ck_assert_int_eq(belay_timers_poll(hooked_timers, hooked_now_ns), 0);
    hooked_now_ns = UNIT_BEGIN_NS;
    unit_queue_until(&self, 1, UNIT_BEGIN_NS + 10);
    ck_assert_int_ge(belay_timers_poll(hooked_timers, hooked_now_ns), 1);
    unit_told(&self, BELAY_ETIMEDOUT, 1);
    unit_release(&held);
    hooked_close();
}
END_TEST

#define THREADS 4
#define LOOPS   3000

static int holders_now;
static int holders_max;

static int hold_inside(void *arg)
{
    int now = __atomic_add_fetch(&holders_now, 1, __ATOMIC_SEQ_CST);
    int most = __atomic_load_n(&holders_max, __ATOMIC_SEQ_CST);
    while (now > most && !__atomic_compare_exchange_n(&holders_max, &most, now, false,
                                                      __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
    }
    __atomic_sub_fetch(&holders_now, 1, __ATOMIC_SEQ_CST);
    (void)arg;
    return 0;
}

static void *loop_with(void *arg)
{
    for (int i = 0; i < LOOPS; i++) {
        int result = belay_sem_with(unit_sem, 1, BELAY_FOREVER, NULL, hold_inside, NULL);
        ck_assert_int_eq(result, 0);
    }
    return arg;
}

START_TEST(at_most_the_capacity_is_inside_at_once)
{
    belay_sem_opts opts = {.size = sizeof opts, .capacity = 2};
    ck_assert_int_eq(belay_sem_create(&opts, &unit_sem), 0);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, loop_with, NULL), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    ck_assert_int_le(holders_max, 2);
    unit_expect(2, 0, 0, 0);
    ck_assert_int_eq(belay_sem_destroy(unit_sem), 0);
}
END_TEST

static int counted; /* plain: a lease of the only permit protects it */

static int count_up(void *arg)
{
    counted++;
    (void)arg;
    return 0;
}

static void *loop_counting(void *arg)
{
    for (int i = 0; i < LOOPS; i++) {
        ck_assert_int_eq(belay_sem_with(unit_sem, 1, BELAY_FOREVER, NULL, count_up, NULL), 0);
    }
    return arg;
}

START_TEST(what_was_done_under_a_lease_is_seen_under_the_next)
{
    belay_sem_opts opts = {.size = sizeof opts, .capacity = 1};
    ck_assert_int_eq(belay_sem_create(&opts, &unit_sem), 0);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, loop_counting, NULL), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    ck_assert_int_eq(counted, THREADS * LOOPS);
    ck_assert_int_eq(belay_sem_destroy(unit_sem), 0);
}
END_TEST

UNIT_MAIN("sem/blocking", a_thread_gets_the_permits_it_waits_for,
          threads_and_callbacks_stand_in_one_queue, a_thread_times_out_at_its_deadline,
          a_thread_that_times_out_at_the_head_serves_those_behind,
          a_thread_times_out_though_nobody_polls_its_timers, a_token_ends_the_wait_of_a_thread,
          a_cancel_ends_the_wait_of_a_thread, a_close_ends_the_wait_of_all_threads,
          a_resize_ends_the_wait_of_a_thread_that_wants_more,
          two_releases_in_a_row_wake_two_threads, a_thread_woken_for_no_reason_goes_on_waiting,
          a_grant_between_the_deadline_and_the_look_at_it_is_kept,
          a_poll_ahead_of_the_clock_times_out_what_is_due_by_then,
          a_clock_that_steps_back_does_not_hold_the_poll, at_most_the_capacity_is_inside_at_once,
          what_was_done_under_a_lease_is_seen_under_the_next)
