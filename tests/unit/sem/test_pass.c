/* Who is served or ended, in what order, and how they are told. */
#include "sem_unit.h"

#include "hooked_clock.h"

#define MANY 1000

static belay_lease held;
static waiter many[MANY];

static void fresh(void)
{
    for (int i = 0; i < MANY; i++) {
        many[i] = unit_waiter();
    }
}

START_TEST(grants_are_first_in_first_out_with_one_permit)
{
    unit_open(1);
    fresh();
    unit_hold(&held, 1);
    for (int i = 0; i < 10; i++) {
        unit_queue(&many[i], 1);
    }
    belay_lease *holder = &held;
    for (int i = 0; i < 10; i++) {
        unit_release(holder);
        unit_told(&many[i], 0, i + 1);
        ck_assert_int_eq(unit_calls, i + 1);
        holder = &many[i].lease;
    }
    unit_release(holder);
    unit_close();
}
END_TEST

START_TEST(grants_are_first_in_first_out_with_any_sizes)
{
    static const uint32_t sizes[] = {3, 1, 5, 2, 2, 5, 1, 4};
    unit_open(5);
    fresh();
    unit_hold(&held, 5);
    for (int i = 0; i < 8; i++) {
        many[i].then = unit_then_release;
        unit_queue(&many[i], sizes[i]);
    }
    unit_release(&held);
    for (int i = 0; i < 8; i++) {
        unit_told(&many[i], 0, i + 1);
    }
    unit_close();
}
END_TEST

START_TEST(a_request_waits_for_exactly_those_before_it)
{
    unit_open(2);
    fresh();
    unit_hold(&held, 2);
    unit_queue(&many[0], 1);
    /* An endless stream of newcomers, each asking again as soon as it is told. */
    unit_queue(&many[1], 2);
    for (int i = 2; i < 100; i++) {
        many[i].then = unit_then_release;
        unit_queue(&many[i], 1);
    }
    unit_release(&held);
    unit_told(&many[0], 0, 1);
    ck_assert_int_eq(unit_calls, 1);
    unit_release(&many[0].lease);
    unit_told(&many[1], 0, 2);
    ck_assert_int_eq(unit_calls, 2);
    unit_release(&many[1].lease);
    ck_assert_int_eq(unit_calls, 100);
    unit_close();
}
END_TEST

START_TEST(a_release_serves_every_head_that_fits)
{
    unit_open(6);
    fresh();
    unit_hold(&held, 6);
    unit_queue(&many[0], 1);
    unit_queue(&many[1], 2);
    unit_queue(&many[2], 3);
    unit_queue(&many[3], 1);
    unit_release(&held);
    ck_assert_int_eq(unit_calls, 3);
    unit_expect(0, 6, 0, 1);
    unit_release(&many[1].lease);
    unit_told(&many[3], 0, 4);
    unit_release(&many[0].lease);
    unit_release(&many[2].lease);
    unit_release(&many[3].lease);
    unit_close();
}
END_TEST

START_TEST(nothing_is_assigned_in_part)
{
    belay_lease second = BELAY_LEASE_INIT;
    unit_open(4);
    fresh();
    unit_hold(&held, 2);
    unit_hold(&second, 2);
    unit_queue(&many[0], 3);
    unit_queue(&many[1], 1);
    unit_release(&held);
    unit_expect(2, 2, 0, 2);
    ck_assert_int_eq(unit_calls, 0);
    unit_release(&second);
    unit_told(&many[0], 0, 1);
    unit_told(&many[1], 0, 2);
    unit_release(&many[0].lease);
    unit_release(&many[1].lease);
    unit_close();
}
END_TEST

START_TEST(timeouts_come_in_the_order_of_deadlines)
{
    unit_open(1);
    fresh();
    unit_hold(&held, 1);
    unit_queue_until(&many[0], 1, unit_after(300));
    unit_queue_until(&many[1], 1, unit_after(100));
    unit_queue_until(&many[2], 1, unit_after(200));
    unit_queue(&many[3], 1);
    unit_advance(99);
    ck_assert_int_eq(unit_calls, 0);
    unit_advance(1);
    unit_told(&many[1], BELAY_ETIMEDOUT, 1);
    unit_expect(0, 1, 0, 3);
    unit_advance(1000);
    unit_told(&many[2], BELAY_ETIMEDOUT, 2);
    unit_told(&many[0], BELAY_ETIMEDOUT, 3);
    unit_release(&held);
    unit_told(&many[3], 0, 4);
    unit_release(&many[3].lease);
    unit_close();
}
END_TEST

START_TEST(a_later_deadline_does_not_hide_an_earlier_one)
{
    unit_open(1);
    fresh();
    unit_hold(&held, 1);
    unit_queue_until(&many[0], 1, unit_after(500));
    unit_queue_until(&many[1], 1, unit_after(50));
    unit_queue_until(&many[2], 1, unit_after(5000));
    unit_advance(50);
    unit_told(&many[1], BELAY_ETIMEDOUT, 1);
    unit_advance(450);
    unit_told(&many[0], BELAY_ETIMEDOUT, 2);
    unit_advance(4500);
    unit_told(&many[2], BELAY_ETIMEDOUT, 3);
    unit_release(&held);
    unit_close();
}
END_TEST

START_TEST(a_granted_request_does_not_time_out)
{
    unit_open(1);
    fresh();
    unit_hold(&held, 1);
    unit_queue_until(&many[0], 1, unit_after(100));
    unit_release(&held);
    unit_told(&many[0], 0, 1);
    unit_advance(100000);
    unit_told(&many[0], 0, 1);
    ck_assert_uint_eq(unit_stats().timed_out, 0);
    unit_expect(0, 1, 0, 0);
    unit_release(&many[0].lease);
    unit_close();
}
END_TEST

START_TEST(a_head_that_times_out_makes_way)
{
    unit_open(2);
    fresh();
    unit_hold(&held, 1);
    unit_queue_until(&many[0], 2, unit_after(10));
    unit_queue(&many[1], 1);
    unit_advance(10);
    unit_told(&many[0], BELAY_ETIMEDOUT, 1);
    unit_told(&many[1], 0, 2);
    unit_release(&held);
    unit_release(&many[1].lease);
    unit_close();
}
END_TEST

START_TEST(a_head_found_expired_is_skipped)
{
    hooked_open(1);
    fresh();
    unit_hold(&held, 1);
    unit_queue_until(&many[0], 1, UNIT_BEGIN_NS + 10);
    unit_queue(&many[1], 1);
    hooked_now_ns = UNIT_BEGIN_NS + 11;
    unit_release(&held);
    unit_told(&many[0], BELAY_ETIMEDOUT, 1);
    unit_told(&many[1], 0, 2);
    /* The timer, which comes late, finds nothing. */
    ck_assert_int_eq(belay_timers_poll(hooked_timers, hooked_now_ns), 1);
    ck_assert_int_eq(unit_calls, 2);
    unit_release(&many[1].lease);
    hooked_close();
}
END_TEST

START_TEST(at_the_instant_of_the_deadline_the_first_to_come_wins)
{
    hooked_open(1);
    fresh();
    unit_hold(&held, 1);
    unit_queue_until(&many[0], 1, UNIT_BEGIN_NS + 10);
    hooked_now_ns = UNIT_BEGIN_NS + 10;
    unit_release(&held);
    ck_assert_int_eq(belay_timers_poll(hooked_timers, hooked_now_ns), 1);
    unit_told(&many[0], 0, 1);
    unit_queue_until(&many[1], 1, UNIT_BEGIN_NS + 20);
    hooked_now_ns = UNIT_BEGIN_NS + 20;
    ck_assert_int_eq(belay_timers_poll(hooked_timers, hooked_now_ns), 1);
    unit_release(&many[0].lease);
    unit_told(&many[1], BELAY_ETIMEDOUT, 2);
    unit_expect(1, 0, 0, 0);
    hooked_close();
}
END_TEST

START_TEST(a_head_found_canceled_is_skipped)
{
    unit_open(3);
    fresh();
    belay_cancel *token = unit_token();
    unit_hold(&held, 1);
    ck_assert_int_eq(unit_ask(&many[0], 3, BELAY_FOREVER, token), BELAY_PENDING);
    ck_assert_int_eq(unit_ask(&many[1], 2, BELAY_FOREVER, token), BELAY_PENDING);
    unit_queue(&many[2], 1);
    /* The first to be told makes room for the second, whose token has fired too. */
    ck_assert_int_eq(belay_cancel_fire(token), 0);
    unit_told(&many[0], BELAY_ECANCELED, 1);
    unit_told(&many[1], BELAY_ECANCELED, 2);
    unit_told(&many[2], 0, 3);
    ck_assert_uint_eq(unit_stats().canceled, 2);
    ck_assert_uint_eq(unit_stats().late_cancels, 0);
    unit_release(&held);
    unit_release(&many[2].lease);
    belay_cancel_unref(token);
    unit_close();
}
END_TEST

START_TEST(a_token_ends_the_waits_of_all_who_named_it)
{
    unit_open(1);
    fresh();
    belay_cancel *token = unit_token();
    unit_hold(&held, 1);
    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(unit_ask(&many[i], 1, BELAY_FOREVER, i % 2 == 0 ? token : NULL),
                         BELAY_PENDING);
    }
    ck_assert_int_eq(belay_cancel_fire(token), 0);
    unit_told(&many[0], BELAY_ECANCELED, 1);
    unit_told(&many[2], BELAY_ECANCELED, 2);
    unit_told(&many[4], BELAY_ECANCELED, 3);
    unit_expect(0, 1, 0, 2);
    ck_assert_int_eq(belay_sem_close(unit_sem), 0);
    unit_release(&held);
    belay_cancel_unref(token);
    unit_close();
}
END_TEST

static int seen_between; /* waiting when the lock was dropped inside a long run */

/* Stands for another thread while a long run has dropped the lock. */
static void look_between(void)
{
    waiter newcomer = unit_waiter();
    belay_sem_metrics stats = unit_stats();
    seen_between = (int)stats.waiting;
    ck_assert_int_eq(belay_sem_destroy(unit_sem), BELAY_EBUSY);
    if (stats.is_closed == 0) {
        ck_assert_int_eq(unit_ask(&newcomer, 1, BELAY_NOW, NULL), BELAY_EAGAIN);
    } else {
        ck_assert_int_eq(unit_ask(&newcomer, 1, BELAY_NOW, NULL), BELAY_ECLOSED);
    }
}

static void look_at_the_second_reading(void)
{
    hooked_fn = look_between;
}

START_TEST(a_long_run_of_grants_drops_the_lock_and_newcomers_stay_queued)
{
    hooked_open(MANY);
    fresh();
    unit_hold(&held, MANY);
    for (int i = 0; i < 200; i++) {
        unit_queue(&many[i], 1);
    }
    seen_between = -1;
    hooked_fn = look_at_the_second_reading;
    unit_release(&held);
    ck_assert_int_eq(seen_between, 200 - 64);
    ck_assert_int_eq(unit_calls, 200);
    for (int i = 0; i < 200; i++) {
        unit_told(&many[i], 0, i + 1);
        unit_release(&many[i].lease);
    }
    hooked_close();
}
END_TEST

START_TEST(a_long_close_drops_the_lock_and_keeps_the_order)
{
    hooked_open(1);
    fresh();
    unit_hold(&held, 1);
    for (int i = 0; i < 200; i++) {
        unit_queue(&many[i], 1);
    }
    seen_between = -1;
    hooked_fn = look_at_the_second_reading;
    ck_assert_int_eq(belay_sem_close(unit_sem), 0);
    ck_assert_int_eq(seen_between, 200 - 64);
    for (int i = 0; i < 200; i++) {
        unit_told(&many[i], BELAY_ECLOSED, i + 1);
    }
    unit_release(&held);
    hooked_close();
}
END_TEST

static void release_between(void)
{
    unit_release(&held);
}

static void release_at_the_second_reading(void)
{
    hooked_fn = release_between;
}

START_TEST(a_release_in_the_middle_of_a_close_grants_nothing)
{
    hooked_open(100);
    fresh();
    unit_hold(&held, 100);
    for (int i = 0; i < 100; i++) {
        unit_queue(&many[i], 1);
    }
    hooked_fn = release_at_the_second_reading;
    ck_assert_int_eq(belay_sem_close(unit_sem), 0);
    for (int i = 0; i < 100; i++) {
        unit_told(&many[i], BELAY_ECLOSED, i + 1);
    }
    unit_expect(100, 0, 0, 0);
    hooked_close();
}
END_TEST

START_TEST(many_timeouts_come_in_batches_and_in_order)
{
    hooked_open(1);
    fresh();
    unit_hold(&held, 1);
    for (int i = 0; i < 300; i++) {
        unit_queue_until(&many[i], 1, UNIT_BEGIN_NS + 1000 + i);
    }
    unit_queue(&many[300], 1);
    hooked_now_ns = UNIT_BEGIN_NS + 5000;
    seen_between = -1;
    hooked_fn = look_at_the_second_reading;
    ck_assert_int_eq(belay_timers_poll(hooked_timers, hooked_now_ns), 1);
    ck_assert_int_gt(seen_between, 200);
    for (int i = 0; i < 300; i++) {
        unit_told(&many[i], BELAY_ETIMEDOUT, i + 1);
    }
    unit_release(&held);
    unit_told(&many[300], 0, 301);
    unit_release(&many[300].lease);
    hooked_close();
}
END_TEST

START_TEST(deadlines_that_are_sorted_in_several_runs_end_at_their_time)
{
    static waiter timed[100];
    static belay_lease holder;
    unit_open(1);
    unit_hold(&holder, 1);
    for (int i = 0; i < 100; i++) {
        timed[i] = unit_waiter();
        unit_queue_until(&timed[i], 1, UNIT_BEGIN_NS + 100000 + i);
    }
    unit_advance(100050);
    for (int i = 0; i < 100; i++) {
        ck_assert_int_eq(timed[i].calls, i <= 50);
    }
    ck_assert_int_eq(belay_sem_close(unit_sem), 0);
    unit_release(&holder);
    unit_close();
}
END_TEST

UNIT_MAIN("sem/pass", deadlines_that_are_sorted_in_several_runs_end_at_their_time,
          grants_are_first_in_first_out_with_one_permit,
          grants_are_first_in_first_out_with_any_sizes, a_request_waits_for_exactly_those_before_it,
          a_release_serves_every_head_that_fits, nothing_is_assigned_in_part,
          timeouts_come_in_the_order_of_deadlines, a_later_deadline_does_not_hide_an_earlier_one,
          a_granted_request_does_not_time_out, a_head_that_times_out_makes_way,
          a_head_found_expired_is_skipped, at_the_instant_of_the_deadline_the_first_to_come_wins,
          a_head_found_canceled_is_skipped, a_token_ends_the_waits_of_all_who_named_it,
          a_long_run_of_grants_drops_the_lock_and_newcomers_stay_queued,
          a_long_close_drops_the_lock_and_keeps_the_order,
          a_release_in_the_middle_of_a_close_grants_nothing,
          many_timeouts_come_in_batches_and_in_order)
