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

static belay_test_exec *exec;

static void open_on_executor(uint32_t capacity)
{
    unit_open_clock();
    ck_assert_int_eq(belay_test_exec_create(NULL, &exec), 0);
    belay_sem_opts opts = unit_opts(capacity);
    opts.executor = belay_test_exec_executor(exec);
    ck_assert_int_eq(belay_sem_create(&opts, &unit_sem), 0);
    fresh();
}

static void close_on_executor(void)
{
    ck_assert_int_eq(belay_test_exec_destroy(exec), BELAY_EBUSY); /* attached */
    ck_assert_int_eq(belay_sem_destroy(unit_sem), 0);
    ck_assert_int_eq(belay_test_exec_destroy(exec), 0);
    ck_assert_int_eq(belay_manual_clock_destroy(unit_clock), 0);
}

START_TEST(callbacks_are_submitted_in_the_order_of_grants)
{
    open_on_executor(3);
    unit_hold(&held, 3);
    for (int i = 0; i < 3; i++) {
        unit_queue(&many[i], 1);
    }
    unit_release(&held);
    unit_expect(0, 0, 3, 0);
    ck_assert_uint_eq(unit_stats().undelivered, 3);
    ck_assert_uint_eq(belay_test_exec_pending(exec), 3);
    ck_assert_int_eq(unit_calls, 0);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(belay_test_exec_step(exec), 1);
        unit_told(&many[i], 0, i + 1);
        unit_expect(0, (uint32_t)i + 1, 2 - (uint32_t)i, 0);
    }
    for (int i = 0; i < 3; i++) {
        unit_release(&many[i].lease);
    }
    close_on_executor();
}
END_TEST

START_TEST(a_reserved_grant_is_kept_whatever_comes_later)
{
    open_on_executor(1);
    belay_cancel *token = unit_token();
    unit_hold(&held, 1);
    ck_assert_int_eq(unit_ask(&many[0], 1, unit_after(10), token), BELAY_PENDING);
    unit_release(&held);
    ck_assert_int_eq(belay_lease_cancel(&many[0].lease), BELAY_ETOOLATE);
    ck_assert_int_eq(belay_cancel_fire(token), 0);
    unit_advance(100);
    ck_assert_int_eq(belay_sem_close(unit_sem), 0);
    unit_expect(0, 0, 1, 0);
    ck_assert_uint_eq(unit_stats().late_cancels, 2);
    ck_assert_int_eq(belay_lease_release(&many[0].lease), BELAY_ENOTHELD);
    ck_assert_int_eq(belay_test_exec_run(exec, 0), 1);
    unit_told(&many[0], 0, 1);
    unit_release(&many[0].lease);
    belay_cancel_unref(token);
    close_on_executor();
}
END_TEST

START_TEST(an_executor_that_refuses_gets_its_callbacks_run_inline)
{
    open_on_executor(1);
    unit_hold(&held, 1);
    unit_queue(&many[0], 1);
    unit_queue_until(&many[1], 1, unit_after(10));
    ck_assert_int_eq(belay_test_exec_refuse(exec, 2, BELAY_ECLOSED), 0);
    unit_release(&held);
    unit_told(&many[0], 0, 1);
    unit_advance(10);
    unit_told(&many[1], BELAY_ETIMEDOUT, 2);
    ck_assert_uint_eq(unit_stats().deliveries_inline, 2);
    unit_release(&many[0].lease);
    close_on_executor();
}
END_TEST

START_TEST(a_callback_without_a_grant_counts_as_undelivered_until_it_begins)
{
    open_on_executor(1);
    unit_hold(&held, 1);
    unit_queue(&many[0], 1);
    ck_assert_int_eq(belay_lease_cancel(&many[0].lease), 0);
    unit_release(&held);
    ck_assert_uint_eq(unit_stats().undelivered, 1);
    ck_assert_int_eq(belay_sem_destroy(unit_sem), BELAY_EBUSY);
    ck_assert_int_eq(belay_lease_cancel(&many[0].lease), BELAY_ETOOLATE);
    ck_assert_int_eq(belay_lease_release(&many[0].lease), BELAY_ENOTHELD);
    ck_assert_uint_eq(unit_stats().late_cancels, 0);
    ck_assert_int_eq(belay_test_exec_run(exec, 0), 1);
    unit_told(&many[0], BELAY_ECANCELED, 1);
    close_on_executor();
}
END_TEST

static int seen_between; /* waiting when the lock was dropped inside a long run */

/* Stands for another thread while a long run has dropped the lock. */
static void look_between(void)
{
    waiter newcomer = unit_waiter();
    belay_sem_stats_data stats = unit_stats();
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

START_TEST(the_stack_stays_flat_however_long_the_chain)
{
    enum { LONG = 100000 };
    unit_open_clock();
    belay_sem_opts opts = unit_opts(1);
    opts.waiters_max = BELAY_UNBOUNDED;
    ck_assert_int_eq(belay_sem_create(&opts, &unit_sem), 0);
    waiter *chain = calloc(LONG, sizeof *chain);
    unit_hold(&held, 1);
    for (int i = 0; i < LONG; i++) {
        chain[i].then = unit_then_release;
        unit_queue(&chain[i], 1);
    }
    unit_release(&held);
    ck_assert_int_eq(unit_calls, LONG);
    unit_close();
    free(chain);
}
END_TEST

static int rounds;

static void then_acquire_again(waiter *self)
{
    if (self->result != 0) {
        return;
    }
    unit_release(&self->lease);
    if (--rounds > 0) {
        self->calls = 0;
        int result = unit_ask(self, 1, BELAY_FOREVER, NULL);
        ck_assert(result == BELAY_PENDING || result == 0);
        if (result == 0) {
            unit_release(&self->lease);
        }
    }
}

START_TEST(a_callback_may_acquire_again_with_its_own_lease)
{
    unit_open(1);
    fresh();
    rounds = 20;
    many[0].then = many[1].then = then_acquire_again;
    unit_hold(&held, 1);
    unit_queue(&many[0], 1);
    unit_queue(&many[1], 1);
    unit_release(&held);
    ck_assert_int_le(rounds, 1);
    unit_expect(1, 0, 0, 0);
    unit_close();
}
END_TEST

static void then_retry_once(waiter *self)
{
    if (self->result == BELAY_ETIMEDOUT) {
        self->calls = 0;
        ck_assert_int_eq(unit_ask(self, 1, BELAY_FOREVER, NULL), BELAY_PENDING);
    }
}

START_TEST(a_callback_of_a_timeout_may_wait_again_with_its_lease)
{
    unit_open(1);
    fresh();
    many[0].then = then_retry_once;
    unit_hold(&held, 1);
    unit_queue_until(&many[0], 1, unit_after(10));
    unit_advance(10);
    unit_not_told(&many[0]);
    unit_expect(0, 1, 0, 1);
    unit_release(&held);
    unit_told(&many[0], 0, 2);
    unit_release(&many[0].lease);
    unit_close();
}
END_TEST

static void then_free(waiter *self)
{
    if (self->result == 0) {
        unit_release(&self->lease);
    }
    memset(self, 0x5a, sizeof *self);
    free(self);
}

START_TEST(a_callback_may_free_its_lease)
{
    unit_open(1);
    belay_cancel *token = unit_token();
    unit_hold(&held, 1);
    for (int i = 0; i < 6; i++) {
        waiter *self = calloc(1, sizeof *self);
        self->then = then_free;
        int64_t deadline_ns = i % 3 == 1 ? unit_after(10) : BELAY_FOREVER;
        ck_assert_int_eq(unit_ask(self, 1, deadline_ns, i % 3 == 2 ? token : NULL), BELAY_PENDING);
    }
    ck_assert_int_eq(belay_cancel_fire(token), 0);
    unit_advance(10);
    unit_release(&held);
    ck_assert_int_eq(unit_calls, 6);
    belay_cancel_unref(token);
    unit_close();
}
END_TEST

static void then_close(waiter *self)
{
    ck_assert_int_eq(belay_sem_close(unit_sem), 0);
    unit_then_release(self);
}

START_TEST(a_callback_may_close_the_semaphore)
{
    unit_open(2);
    fresh();
    many[0].then = then_close;
    many[1].then = unit_then_release;
    unit_hold(&held, 2);
    unit_queue(&many[0], 1);
    unit_queue(&many[1], 1);
    unit_queue(&many[2], 1);
    unit_release(&held);
    unit_told(&many[0], 0, 1);
    unit_told(&many[1], 0, 2);
    unit_told(&many[2], BELAY_ECLOSED, 3);
    unit_close();
}
END_TEST

static void then_destroy(waiter *self)
{
    unit_then_release(self);
    ck_assert_int_eq(belay_sem_destroy(unit_sem), 0);
    unit_sem = NULL;
}

START_TEST(a_callback_may_destroy_the_semaphore)
{
    unit_open(1);
    fresh();
    many[0].then = then_destroy;
    unit_hold(&held, 1);
    unit_queue(&many[0], 1);
    unit_release(&held);
    ck_assert_ptr_null(unit_sem);
    ck_assert_int_eq(belay_lease_release(&held), BELAY_ERELEASED);
    ck_assert_int_eq(belay_manual_clock_destroy(unit_clock), 0);
}
END_TEST

static void then_release_held_and_destroy(waiter *self)
{
    unit_release(&held);
    then_destroy(self);
}

START_TEST(a_callback_of_a_timeout_may_destroy_the_semaphore)
{
    unit_open(1);
    fresh();
    many[0].then = then_release_held_and_destroy;
    unit_hold(&held, 1);
    unit_queue_until(&many[0], 1, unit_after(10));
    unit_advance(1000);
    unit_told(&many[0], BELAY_ETIMEDOUT, 1);
    ck_assert_ptr_null(unit_sem);
    ck_assert_int_eq(belay_manual_clock_destroy(unit_clock), 0);
}
END_TEST

UNIT_MAIN("sem/pass", grants_are_first_in_first_out_with_one_permit,
          grants_are_first_in_first_out_with_any_sizes, a_request_waits_for_exactly_those_before_it,
          a_release_serves_every_head_that_fits, nothing_is_assigned_in_part,
          timeouts_come_in_the_order_of_deadlines, a_later_deadline_does_not_hide_an_earlier_one,
          a_granted_request_does_not_time_out, a_head_that_times_out_makes_way,
          a_head_found_expired_is_skipped, at_the_instant_of_the_deadline_the_first_to_come_wins,
          a_head_found_canceled_is_skipped, a_token_ends_the_waits_of_all_who_named_it,
          callbacks_are_submitted_in_the_order_of_grants,
          a_reserved_grant_is_kept_whatever_comes_later,
          an_executor_that_refuses_gets_its_callbacks_run_inline,
          a_callback_without_a_grant_counts_as_undelivered_until_it_begins,
          a_long_run_of_grants_drops_the_lock_and_newcomers_stay_queued,
          a_long_close_drops_the_lock_and_keeps_the_order,
          a_release_in_the_middle_of_a_close_grants_nothing,
          many_timeouts_come_in_batches_and_in_order, the_stack_stays_flat_however_long_the_chain,
          a_callback_may_acquire_again_with_its_own_lease,
          a_callback_of_a_timeout_may_wait_again_with_its_lease, a_callback_may_free_its_lease,
          a_callback_may_close_the_semaphore, a_callback_may_destroy_the_semaphore,
          a_callback_of_a_timeout_may_destroy_the_semaphore)
