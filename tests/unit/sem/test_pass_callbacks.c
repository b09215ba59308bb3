/* How callbacks come: by an executor or inline, in order, and what they may do. */
#include "sem_unit.h"

static belay_lease held;
static waiter many[10];

static void fresh(void)
{
    for (int i = 0; i < 10; i++) {
        many[i] = unit_waiter();
    }
}

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

UNIT_MAIN("sem/pass_callbacks", callbacks_are_submitted_in_the_order_of_grants,
          a_reserved_grant_is_kept_whatever_comes_later,
          an_executor_that_refuses_gets_its_callbacks_run_inline,
          a_callback_without_a_grant_counts_as_undelivered_until_it_begins,
          the_stack_stays_flat_however_long_the_chain,
          a_callback_may_acquire_again_with_its_own_lease,
          a_callback_of_a_timeout_may_wait_again_with_its_lease, a_callback_may_free_its_lease,
          a_callback_may_close_the_semaphore, a_callback_may_destroy_the_semaphore,
          a_callback_of_a_timeout_may_destroy_the_semaphore)
