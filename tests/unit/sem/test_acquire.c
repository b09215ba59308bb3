/* Acquires: what is granted, refused or queued, and in which order of checks. */
#include "sem_unit.h"

#include "fault.h"
#include "hooked_clock.h"

static waiter other; /* zero: unit_waiter() where its result matters */
static belay_lease held;
static belay_cancel *token;

START_TEST(acquire_takes_free_permits)
{
    unit_open(3);
    belay_lease lease = BELAY_LEASE_INIT;
    ck_assert_int_eq(belay_sem_acquire(unit_sem, &lease, 2, BELAY_FOREVER, NULL), 0);
    unit_expect(1, 2, 0, 0);
    unit_release(&lease);
    unit_expect(3, 0, 0, 0);
    unit_close();
}
END_TEST

START_TEST(acquire_async_takes_free_permits_without_calling_back)
{
    unit_open(2);
    waiter first = unit_waiter();
    ck_assert_int_eq(unit_ask(&first, 2, BELAY_FOREVER, NULL), 0);
    unit_not_told(&first);
    unit_expect(0, 2, 0, 0);
    unit_release(&first.lease);
    unit_close();
}
END_TEST

START_TEST(acquire_async_calls_back_once_when_its_turn_comes)
{
    unit_open(1);
    unit_hold(&held, 1);
    waiter first = unit_waiter();
    unit_queue(&first, 1);
    unit_expect(0, 1, 0, 1);
    unit_not_told(&first);
    unit_release(&held);
    unit_told(&first, 0, 1);
    unit_expect(0, 1, 0, 0);
    unit_release(&first.lease);
    unit_told(&first, 0, 1);
    unit_close();
}
END_TEST

START_TEST(acquire_refuses_arguments_that_are_none)
{
    unit_open(1);
    waiter self = unit_waiter();
    belay_lease *lease = &self.lease;
    ck_assert_int_eq(belay_sem_acquire(NULL, lease, 1, BELAY_NOW, NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_sem_acquire(unit_sem, NULL, 1, BELAY_NOW, NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_sem_acquire(unit_sem, lease, 0, BELAY_NOW, NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_sem_acquire_async(NULL, lease, 1, BELAY_NOW, NULL, unit_note, &self),
                     BELAY_EINVAL);
    ck_assert_int_eq(belay_sem_acquire_async(unit_sem, NULL, 1, BELAY_NOW, NULL, unit_note, &self),
                     BELAY_EINVAL);
    ck_assert_int_eq(belay_sem_acquire_async(unit_sem, lease, 0, BELAY_NOW, NULL, unit_note, &self),
                     BELAY_EINVAL);
    ck_assert_int_eq(belay_sem_acquire_async(unit_sem, lease, 1, BELAY_NOW, NULL, NULL, &self),
                     BELAY_EINVAL);
    unit_not_told(&self);
    unit_close();
}
END_TEST

START_TEST(acquire_refuses_a_lease_in_use)
{
    unit_open(1);
    waiter waiting = unit_waiter();
    unit_hold(&held, 1);
    ck_assert_int_eq(belay_sem_acquire(unit_sem, &held, 1, BELAY_NOW, NULL), BELAY_EBUSY);
    unit_queue(&waiting, 1);
    ck_assert_int_eq(unit_ask(&waiting, 1, BELAY_FOREVER, NULL), BELAY_EBUSY);
    unit_expect(0, 1, 0, 1);
    unit_release(&held);
    ck_assert_int_eq(unit_ask(&waiting, 1, BELAY_FOREVER, NULL), BELAY_EBUSY);
    unit_release(&waiting.lease);
    unit_close();
}
END_TEST

START_TEST(acquire_refuses_a_lease_whose_callback_has_not_come)
{
    belay_test_exec *exec;
    unit_open_clock();
    ck_assert_int_eq(belay_test_exec_create(NULL, &exec), 0);
    belay_sem_opts opts = unit_opts(1);
    opts.executor = belay_test_exec_executor(exec);
    ck_assert_int_eq(belay_sem_create(&opts, &unit_sem), 0);
    waiter granted = unit_waiter();
    waiter canceled = unit_waiter();
    unit_hold(&held, 1);
    unit_queue(&granted, 1);
    unit_queue(&canceled, 1);
    unit_release(&held);
    ck_assert_int_eq(belay_lease_cancel(&canceled.lease), 0);
    ck_assert_int_eq(unit_ask(&granted, 1, BELAY_FOREVER, NULL), BELAY_EBUSY);
    ck_assert_int_eq(unit_ask(&canceled, 1, BELAY_FOREVER, NULL), BELAY_EBUSY);
    ck_assert_int_eq(belay_test_exec_run(exec, 0), 2);
    ck_assert_int_eq(unit_ask(&canceled, 1, BELAY_FOREVER, NULL), BELAY_PENDING);
    unit_release(&granted.lease);
    ck_assert_int_eq(belay_test_exec_run(exec, 0), 1);
    unit_release(&canceled.lease);
    ck_assert_int_eq(belay_sem_destroy(unit_sem), 0);
    ck_assert_int_eq(belay_test_exec_destroy(exec), 0);
    ck_assert_int_eq(belay_manual_clock_destroy(unit_clock), 0);
}
END_TEST

START_TEST(acquire_refuses_a_live_lease_copied_by_value)
{
    unit_open(2);
    unit_hold(&held, 1);
    belay_lease copy = held;
    ck_assert_int_eq(belay_sem_acquire(unit_sem, &copy, 1, BELAY_NOW, NULL), BELAY_EINVAL);
    unit_expect(1, 1, 0, 0);
    unit_release(&held);
    copy = held; /* of a dead one: plain storage */
    unit_hold(&copy, 1);
    unit_release(&copy);
    unit_close();
}
END_TEST

/* Each step removes the reason that came first and meets the next one. */
START_TEST(acquire_checks_in_the_documented_order)
{
    unit_open_clock();
    belay_sem_opts opts = unit_opts(2);
    opts.waiters_max = 1;
    ck_assert_int_eq(belay_sem_create(&opts, &unit_sem), 0);
    token = unit_token();
    ck_assert_int_eq(belay_cancel_fire(token), 0);
    unit_hold(&held, 1);
    ck_assert_int_eq(belay_sem_acquire(unit_sem, &held, 0, BELAY_NOW, token), BELAY_EINVAL);
    ck_assert_int_eq(belay_sem_acquire(unit_sem, &held, 3, BELAY_NOW, token), BELAY_EBUSY);
    waiter first = unit_waiter();
    ck_assert_int_eq(unit_ask(&first, 3, BELAY_NOW, token), BELAY_ETOOBIG);
    ck_assert_int_eq(unit_ask(&first, 1, BELAY_NOW, token), BELAY_ECANCELED);
    ck_assert_int_eq(unit_ask(&first, 1, BELAY_NOW, NULL), 0);
    unit_queue(&other, 1);
    waiter next = unit_waiter();
    ck_assert_int_eq(unit_ask(&next, 1, BELAY_NOW, NULL), BELAY_EAGAIN);
    ck_assert_int_eq(unit_ask(&next, 1, unit_after(0), NULL), BELAY_ETIMEDOUT);
    ck_assert_int_eq(unit_ask(&next, 1, unit_after(1), NULL), BELAY_EFULL);
    ck_assert_int_eq(belay_sem_close(unit_sem), 0);
    ck_assert_int_eq(unit_ask(&next, 3, BELAY_NOW, token), BELAY_ETOOBIG);
    ck_assert_int_eq(unit_ask(&next, 1, BELAY_NOW, token), BELAY_ECLOSED);
    unit_not_told(&next);
    unit_told(&other, BELAY_ECLOSED, 1);
    unit_release(&first.lease);
    unit_release(&held);
    belay_cancel_unref(token);
    unit_close();
}
END_TEST

static void block_in_a_callback(waiter *self)
{
    belay_lease lease = BELAY_LEASE_INIT;
    /* The queue is full: that comes first. */
    unit_queue(&other, 1);
    ck_assert_int_eq(belay_sem_acquire(unit_sem, &lease, 1, BELAY_FOREVER, NULL), BELAY_EFULL);
    ck_assert_int_eq(belay_lease_cancel(&other.lease), 0);
    ck_assert_int_eq(belay_sem_acquire(unit_sem, &lease, 1, BELAY_NOW, NULL), BELAY_EAGAIN);
    ck_assert_int_eq(belay_sem_acquire(unit_sem, &lease, 1, unit_after(0), NULL), BELAY_ETIMEDOUT);
    ck_assert_int_eq(belay_sem_acquire(unit_sem, &lease, 1, BELAY_FOREVER, NULL), BELAY_EDEADLK);
    ck_assert_int_eq(belay_lease_release(&lease), BELAY_ENOTHELD);
    /* What need not wait is legal. */
    unit_release(&self->lease);
    ck_assert_int_eq(belay_sem_acquire(unit_sem, &lease, 1, BELAY_FOREVER, NULL), 0);
    unit_release(&lease);
}

START_TEST(a_blocking_acquire_in_an_inline_callback_never_waits)
{
    unit_open_clock();
    belay_sem_opts opts = unit_opts(1);
    opts.waiters_max = 1;
    ck_assert_int_eq(belay_sem_create(&opts, &unit_sem), 0);
    waiter first = unit_waiter();
    other = unit_waiter();
    first.then = block_in_a_callback;
    unit_hold(&held, 1);
    unit_queue(&first, 1);
    unit_release(&held);
    unit_told(&first, 0, 1);
    unit_told(&other, BELAY_ECANCELED, 2);
    unit_close();
}
END_TEST

START_TEST(a_try_never_passes_who_waits)
{
    unit_open(3);
    unit_hold(&held, 1);
    waiter big = unit_waiter();
    unit_queue(&big, 3);
    waiter small = unit_waiter();
    ck_assert_int_eq(unit_ask(&small, 1, BELAY_NOW, NULL), BELAY_EAGAIN);
    unit_expect(2, 1, 0, 1);
    unit_queue(&small, 1);
    unit_not_told(&small);
    unit_release(&held);
    unit_told(&big, 0, 1);
    unit_release(&big.lease);
    unit_told(&small, 0, 2);
    unit_release(&small.lease);
    unit_close();
}
END_TEST

START_TEST(unfair_lets_newcomers_take_free_permits)
{
    unit_open_clock();
    belay_sem_opts opts = unit_opts(3);
    opts.unfair = 1;
    ck_assert_int_eq(belay_sem_create(&opts, &unit_sem), 0);
    unit_hold(&held, 1);
    waiter big = unit_waiter();
    unit_queue(&big, 3);
    belay_lease small = BELAY_LEASE_INIT;
    unit_hold(&small, 2);
    unit_release(&held);
    unit_not_told(&big);
    unit_release(&small);
    unit_told(&big, 0, 1);
    unit_release(&big.lease);
    unit_close();
}
END_TEST

START_TEST(a_deadline_that_has_passed_still_takes_free_permits)
{
    unit_open(1);
    ck_assert_int_eq(belay_sem_acquire(unit_sem, &held, 1, UNIT_BEGIN_NS - 1, NULL), 0);
    waiter late = unit_waiter();
    ck_assert_int_eq(unit_ask(&late, 1, UNIT_BEGIN_NS, NULL), BELAY_ETIMEDOUT);
    unit_not_told(&late);
    ck_assert_uint_eq(unit_stats().timed_out, 1);
    unit_release(&held);
    unit_close();
}
END_TEST

START_TEST(a_fired_token_refuses_free_permits)
{
    unit_open(1);
    token = unit_token();
    ck_assert_int_eq(belay_cancel_fire(token), 0);
    ck_assert_int_eq(belay_sem_acquire(unit_sem, &held, 1, BELAY_FOREVER, token), BELAY_ECANCELED);
    ck_assert_uint_eq(unit_stats().canceled, 1);
    belay_cancel_unref(token);
    unit_close();
}
END_TEST

START_TEST(more_than_the_capacity_is_refused_at_once)
{
    unit_open(2);
    waiter big = unit_waiter();
    ck_assert_int_eq(unit_ask(&big, 3, BELAY_FOREVER, NULL), BELAY_ETOOBIG);
    ck_assert_int_eq(unit_ask(&big, UINT32_MAX, BELAY_FOREVER, NULL), BELAY_ETOOBIG);
    ck_assert_uint_eq(unit_stats().too_big, 2);
    unit_close();
}
END_TEST

START_TEST(a_refused_lease_is_idle_and_can_be_used_again)
{
    unit_open(1);
    unit_hold(&held, 1);
    unit_release(&held);
    ck_assert_int_eq(belay_lease_release(&held), BELAY_ERELEASED);
    ck_assert_int_eq(belay_sem_acquire(unit_sem, &held, 2, BELAY_NOW, NULL), BELAY_ETOOBIG);
    ck_assert_int_eq(belay_lease_release(&held), BELAY_ENOTHELD);
    ck_assert_int_eq(belay_lease_cancel(&held), BELAY_ENOENT);
    unit_hold(&held, 1);
    unit_release(&held);
    unit_close();
}
END_TEST

START_TEST(waiters_none_lets_nobody_wait)
{
    unit_open_clock();
    belay_sem_opts opts = unit_opts(1);
    opts.waiters_max = BELAY_NONE;
    ck_assert_int_eq(belay_sem_create(&opts, &unit_sem), 0);
    unit_hold(&held, 1);
    waiter first = unit_waiter();
    ck_assert_int_eq(unit_ask(&first, 1, BELAY_FOREVER, NULL), BELAY_EFULL);
    ck_assert_int_eq(unit_ask(&first, 1, BELAY_NOW, NULL), BELAY_EAGAIN);
    unit_release(&held);
    unit_close();
}
END_TEST

/* How many can wait, when `waiters_max` is asked for and at most `tries` try. */
static uint32_t count_waiters(uint32_t waiters_max, uint32_t tries)
{
    unit_open_clock();
    belay_sem_opts opts = unit_opts(1);
    opts.waiters_max = waiters_max;
    ck_assert_int_eq(belay_sem_create(&opts, &unit_sem), 0);
    unit_hold(&held, 1);
    waiter *all = calloc(tries, sizeof *all);
    uint32_t count = 0;
    int result = BELAY_PENDING;
    while (count < tries && result == BELAY_PENDING) {
        result = unit_ask(&all[count], 1, BELAY_FOREVER, NULL);
        count += result == BELAY_PENDING;
    }
    ck_assert(result == BELAY_PENDING || result == BELAY_EFULL);
    ck_assert_int_eq(belay_sem_close(unit_sem), 0);
    unit_release(&held);
    unit_close();
    free(all);
    return count;
}

START_TEST(waiters_are_4096_by_default_and_unbounded_on_demand)
{
    ck_assert_uint_eq(count_waiters(0, 5000), 4096);
    ck_assert_uint_eq(count_waiters(7, 5000), 7);
    ck_assert_uint_eq(count_waiters(BELAY_UNBOUNDED, 5000), 5000);
}
END_TEST

static void fire_the_token(void)
{
    ck_assert_int_eq(belay_cancel_fire(token), 0);
}

static void release_what_is_held(void)
{
    unit_release(&held);
}

static void fire_and_release(void)
{
    fire_the_token();
    release_what_is_held();
}

static void close_the_semaphore(void)
{
    ck_assert_int_eq(belay_sem_close(unit_sem), 0);
}

static void shrink_the_semaphore(void)
{
    ck_assert_int_eq(belay_sem_resize(unit_sem, 1), 0);
}

static void queue_the_other(void)
{
    unit_queue(&other, 1);
}

/* What an acquire of `permits` says when `between` happens once it registered, before it queues. */
static int ask_with(waiter *self, uint32_t permits, void (*between)(void))
{
    other = unit_waiter();
    token = unit_token();
    hooked_open(2);
    unit_hold(&held, 2);
    hooked_fn = between;
    return unit_ask(self, permits, BELAY_FOREVER, token);
}

START_TEST(a_token_that_fires_before_the_queueing_refuses)
{
    waiter self = unit_waiter();
    ck_assert_int_eq(ask_with(&self, 1, fire_the_token), BELAY_ECANCELED);
    unit_expect(0, 2, 0, 0);
    unit_not_told(&self);
    unit_release(&held);
    ck_assert_int_eq(belay_lease_cancel(&self.lease), BELAY_ENOENT);
    belay_cancel_unref(token);
    hooked_close();
}
END_TEST

START_TEST(a_token_that_fires_before_the_queueing_refuses_free_permits_too)
{
    waiter self = unit_waiter();
    ck_assert_int_eq(ask_with(&self, 1, fire_and_release), BELAY_ECANCELED);
    unit_expect(2, 0, 0, 0);
    belay_cancel_unref(token);
    hooked_close();
}
END_TEST

START_TEST(permits_released_before_the_queueing_are_taken)
{
    waiter self = unit_waiter();
    ck_assert_int_eq(ask_with(&self, 1, release_what_is_held), 0);
    unit_not_told(&self);
    unit_expect(1, 1, 0, 0);
    /* The token has let go of the lease: nothing is counted late. */
    fire_the_token();
    ck_assert_uint_eq(unit_stats().late_cancels, 0);
    unit_release(&self.lease);
    belay_cancel_unref(token);
    hooked_close();
}
END_TEST

START_TEST(a_close_before_the_queueing_refuses)
{
    waiter self = unit_waiter();
    ck_assert_int_eq(ask_with(&self, 1, close_the_semaphore), BELAY_ECLOSED);
    unit_release(&held);
    belay_cancel_unref(token);
    hooked_close();
}
END_TEST

START_TEST(a_resize_before_the_queueing_refuses)
{
    waiter self = unit_waiter();
    ck_assert_int_eq(ask_with(&self, 2, shrink_the_semaphore), BELAY_ETOOBIG);
    unit_release(&held);
    belay_cancel_unref(token);
    hooked_close();
}
END_TEST

START_TEST(who_queues_in_between_is_served_first)
{
    waiter self = unit_waiter();
    ck_assert_int_eq(ask_with(&self, 1, queue_the_other), BELAY_PENDING);
    unit_release(&held);
    unit_told(&other, 0, 1);
    unit_told(&self, 0, 2);
    unit_release(&other.lease);
    unit_release(&self.lease);
    belay_cancel_unref(token);
    hooked_close();
}
END_TEST

/* A newcomer behind a head that has expired but which no timer has ended yet. */
static int ask_behind_an_expired_head(waiter *head, waiter *newcomer, int64_t deadline_ns)
{
    belay_sem_opts opts = hooked_opts(2);
    opts.waiters_max = 1;
    ck_assert_int_eq(belay_sem_create(&opts, &unit_sem), 0);
    *head = unit_waiter();
    *newcomer = unit_waiter();
    unit_hold(&held, 1);
    unit_queue_until(head, 2, UNIT_BEGIN_NS + 100);
    ck_assert_int_eq(unit_ask(newcomer, 1, deadline_ns, NULL),
                     deadline_ns == BELAY_NOW ? BELAY_EAGAIN : BELAY_EFULL);
    hooked_now_ns = UNIT_BEGIN_NS + 200;
    int result = unit_ask(newcomer, 1, deadline_ns, NULL);
    unit_told(head, BELAY_ETIMEDOUT, 1);
    return result;
}

START_TEST(an_expired_head_refuses_no_newcomer)
{
    waiter head, newcomer;
    ck_assert_int_eq(ask_behind_an_expired_head(&head, &newcomer, BELAY_FOREVER), 0);
    unit_release(&newcomer.lease);
    unit_release(&held);
    hooked_close();
}
END_TEST

START_TEST(an_expired_head_refuses_no_try)
{
    waiter head, newcomer;
    ck_assert_int_eq(ask_behind_an_expired_head(&head, &newcomer, BELAY_NOW), 0);
    unit_release(&newcomer.lease);
    unit_release(&held);
    hooked_close();
}
END_TEST

START_TEST(an_ended_acquire_has_left_its_token)
{
    unit_open(1);
    token = unit_token();
    unit_hold(&held, 1);
    waiter self = unit_waiter();
    ck_assert_int_eq(unit_ask(&self, 1, BELAY_FOREVER, token), BELAY_PENDING);
    unit_release(&held);
    unit_told(&self, 0, 1);
    ck_assert_int_eq(belay_cancel_fire(token), 0);
    ck_assert_uint_eq(unit_stats().late_cancels, 0);
    unit_release(&self.lease);
    belay_cancel_unref(token);
    unit_close();
}
END_TEST

START_TEST(the_first_wait_of_a_thread_without_memory_is_refused)
{
    unit_open(1);
    unit_hold(&held, 1);
    belay_lease lease = BELAY_LEASE_INIT;
    fault_alloc_from(1);
    ck_assert_int_eq(belay_sem_acquire(unit_sem, &lease, 1, BELAY_FOREVER, NULL), BELAY_ENOMEM);
    (void)fault_alloc_stop();
    unit_expect(0, 1, 0, 0);
    ck_assert_int_eq(belay_lease_release(&lease), BELAY_ENOTHELD);
    unit_release(&held);
    unit_close();
}
END_TEST

static int inside(void *arg)
{
    belay_sem_metrics stats = unit_stats();
    ck_assert_uint_eq(stats.held, 2);
    return *(int *)arg;
}

START_TEST(with_releases_whatever_its_function_returns)
{
    unit_open(2);
    for (int result = -7; result <= 7; result += 7) {
        ck_assert_int_eq(belay_sem_with(unit_sem, 2, BELAY_NOW, NULL, inside, &result), result);
        unit_expect(2, 0, 0, 0);
    }
    unit_close();
}
END_TEST

START_TEST(with_calls_nothing_when_it_acquires_nothing)
{
    unit_open(1);
    int never = 0;
    ck_assert_int_eq(belay_sem_with(unit_sem, 1, BELAY_NOW, NULL, NULL, NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_sem_with(NULL, 1, BELAY_NOW, NULL, inside, &never), BELAY_EINVAL);
    ck_assert_int_eq(belay_sem_with(unit_sem, 2, BELAY_NOW, NULL, inside, &never), BELAY_ETOOBIG);
    unit_hold(&held, 1);
    ck_assert_int_eq(belay_sem_with(unit_sem, 1, BELAY_NOW, NULL, inside, &never), BELAY_EAGAIN);
    ck_assert_int_eq(belay_sem_with(unit_sem, 1, unit_after(0), NULL, inside, &never),
                     BELAY_ETIMEDOUT);
    unit_release(&held);
    unit_close();
}
END_TEST

UNIT_MAIN("sem/acquire", acquire_takes_free_permits,
          acquire_async_takes_free_permits_without_calling_back,
          acquire_async_calls_back_once_when_its_turn_comes,
          acquire_refuses_arguments_that_are_none, acquire_refuses_a_lease_in_use,
          acquire_refuses_a_lease_whose_callback_has_not_come,
          acquire_refuses_a_live_lease_copied_by_value, acquire_checks_in_the_documented_order,
          a_blocking_acquire_in_an_inline_callback_never_waits, a_try_never_passes_who_waits,
          unfair_lets_newcomers_take_free_permits,
          a_deadline_that_has_passed_still_takes_free_permits, a_fired_token_refuses_free_permits,
          more_than_the_capacity_is_refused_at_once, a_refused_lease_is_idle_and_can_be_used_again,
          waiters_none_lets_nobody_wait, waiters_are_4096_by_default_and_unbounded_on_demand,
          a_token_that_fires_before_the_queueing_refuses,
          a_token_that_fires_before_the_queueing_refuses_free_permits_too,
          permits_released_before_the_queueing_are_taken, a_close_before_the_queueing_refuses,
          a_resize_before_the_queueing_refuses, who_queues_in_between_is_served_first,
          an_expired_head_refuses_no_newcomer, an_expired_head_refuses_no_try,
          an_ended_acquire_has_left_its_token, the_first_wait_of_a_thread_without_memory_is_refused,
          with_releases_whatever_its_function_returns, with_calls_nothing_when_it_acquires_nothing)
