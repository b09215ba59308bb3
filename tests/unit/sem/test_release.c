/* Releases, cancels and moves of leases. */
#include "sem_unit.h"

#include "hooked_clock.h"
#include "sem/state.h"

#define ROUNDS 10000

static belay_lease held;
static waiter five[5];

static void fresh(void)
{
    for (int i = 0; i < 5; i++) {
        five[i] = unit_waiter();
    }
}

START_TEST(release_returns_zero_once)
{
    unit_open(1);
    unit_hold(&held, 1);
    ck_assert_int_eq(belay_lease_release(&held), 0);
    ck_assert_int_eq(belay_lease_release(&held), BELAY_ERELEASED);
    ck_assert_int_eq(belay_lease_release(&held), BELAY_ERELEASED);
    unit_expect(1, 0, 0, 0);
    ck_assert_uint_eq(unit_stats().releases_refused, 2);
    unit_hold(&held, 1);
    ck_assert_int_eq(belay_lease_release(&held), 0);
    unit_close();
}
END_TEST

START_TEST(release_refuses_what_holds_nothing)
{
    unit_open(1);
    fresh();
    ck_assert_int_eq(belay_lease_release(NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_lease_release(&five[0].lease), BELAY_ENOTHELD);
    unit_hold(&held, 1);
    unit_queue(&five[0], 1);
    ck_assert_int_eq(belay_lease_release(&five[0].lease), BELAY_ENOTHELD);
    ck_assert_int_eq(belay_lease_cancel(&five[0].lease), 0);
    ck_assert_int_eq(belay_lease_release(&five[0].lease), BELAY_ENOTHELD);
    unit_expect(0, 1, 0, 0);
    ck_assert_uint_eq(unit_stats().releases_refused, 0);
    unit_release(&held);
    unit_close();
}
END_TEST

START_TEST(release_refuses_a_copy_of_a_held_lease)
{
    unit_open(2);
    unit_hold(&held, 1);
    belay_lease copy = held;
    ck_assert_int_eq(belay_lease_release(&copy), BELAY_ENOTHELD);
    unit_expect(1, 1, 0, 0);
    unit_release(&held);
    ck_assert_int_eq(belay_lease_release(&copy), BELAY_ENOTHELD);
    unit_expect(2, 0, 0, 0);
    unit_close();
}
END_TEST

START_TEST(release_works_on_a_closed_semaphore)
{
    unit_open(1);
    unit_hold(&held, 1);
    ck_assert_int_eq(belay_sem_close(unit_sem), 0);
    unit_expect(0, 1, 0, 0);
    unit_release(&held);
    unit_expect(1, 0, 0, 0);
    unit_close();
}
END_TEST

START_TEST(release_after_destroy_is_refused_all_the_same)
{
    unit_open(1);
    unit_hold(&held, 1);
    unit_release(&held);
    unit_close();
    ck_assert_int_eq(belay_lease_release(&held), BELAY_ERELEASED);
    ck_assert_int_eq(belay_lease_cancel(&held), BELAY_ETOOLATE);
}
END_TEST

START_TEST(a_held_lease_has_no_expiry)
{
    unit_open(1);
    belay_cancel *token = unit_token();
    ck_assert_int_eq(belay_sem_acquire(unit_sem, &held, 1, unit_after(10), token), 0);
    ck_assert_int_eq(belay_cancel_fire(token), 0);
    unit_advance(INT64_C(1) << 60);
    unit_expect(0, 1, 0, 0);
    unit_release(&held);
    belay_cancel_unref(token);
    unit_close();
}
END_TEST

static pthread_barrier_t barrier;
static int results[2];

static void *release_in_rounds(void *arg)
{
    int *result = arg;
    for (int i = 0; i < ROUNDS; i++) {
        pthread_barrier_wait(&barrier);
        *result = belay_lease_release(&held);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

START_TEST(of_two_threads_that_release_one_lease_exactly_one_gets_zero)
{
    unit_open(1);
    pthread_t thread;
    pthread_barrier_init(&barrier, NULL, 2);
    ck_assert_int_eq(pthread_create(&thread, NULL, release_in_rounds, &results[1]), 0);
    for (int i = 0; i < ROUNDS; i++) {
        unit_hold(&held, 1);
        pthread_barrier_wait(&barrier);
        results[0] = belay_lease_release(&held);
        pthread_barrier_wait(&barrier);
        ck_assert_int_eq(results[0] + results[1], BELAY_ERELEASED);
        ck_assert(results[0] == 0 || results[1] == 0);
        unit_expect(1, 0, 0, 0);
    }
    pthread_join(thread, NULL);
    ck_assert_uint_eq(unit_stats().releases_refused, ROUNDS);
    unit_close();
}
END_TEST

static void *cancel_in_rounds(void *arg)
{
    int *result = arg;
    for (int i = 0; i < ROUNDS; i++) {
        pthread_barrier_wait(&barrier);
        *result = belay_lease_cancel(&five[0].lease);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

START_TEST(a_release_against_a_cancel_loses_no_permit)
{
    unit_open(1);
    pthread_t thread;
    pthread_barrier_init(&barrier, NULL, 2);
    ck_assert_int_eq(pthread_create(&thread, NULL, cancel_in_rounds, &results[1]), 0);
    for (int i = 0; i < ROUNDS; i++) {
        fresh();
        unit_hold(&held, 1);
        unit_queue(&five[0], 1);
        pthread_barrier_wait(&barrier);
        unit_release(&held);
        pthread_barrier_wait(&barrier);
        ck_assert_int_eq(five[0].calls, 1);
        ck_assert_int_eq(results[1], five[0].result == 0 ? BELAY_ETOOLATE : 0);
        ck_assert(five[0].result == 0 || five[0].result == BELAY_ECANCELED);
        if (five[0].result == 0) {
            unit_release(&five[0].lease);
        }
        unit_expect(1, 0, 0, 0);
    }
    pthread_join(thread, NULL);
    unit_close();
}
END_TEST

/* Cancels one of three; the others must be served in their order. */
static void cancel_one_of_three(int which)
{
    unit_open(1);
    fresh();
    unit_hold(&held, 1);
    for (int i = 0; i < 3; i++) {
        five[i].then = unit_then_release;
        unit_queue(&five[i], 1);
    }
    ck_assert_int_eq(belay_lease_cancel(&five[which].lease), 0);
    unit_told(&five[which], BELAY_ECANCELED, 1);
    unit_expect(0, 1, 0, 2);
    unit_release(&held);
    int order = 2;
    for (int i = 0; i < 3; i++) {
        if (i != which) {
            unit_told(&five[i], 0, order++);
        }
    }
    unit_close();
}

START_TEST(cancel_at_the_head_takes_out_that_one)
{
    cancel_one_of_three(0);
}
END_TEST

START_TEST(cancel_in_the_middle_takes_out_that_one)
{
    cancel_one_of_three(1);
}
END_TEST

START_TEST(cancel_at_the_tail_takes_out_that_one)
{
    cancel_one_of_three(2);
}
END_TEST

START_TEST(cancel_of_a_large_head_serves_those_behind)
{
    unit_open(10);
    fresh();
    unit_hold(&held, 1);
    unit_queue(&five[0], 10);
    unit_queue(&five[1], 1);
    unit_queue(&five[2], 9);
    ck_assert_int_eq(belay_lease_cancel(&five[0].lease), 0);
    unit_told(&five[0], BELAY_ECANCELED, 1);
    unit_told(&five[1], 0, 2);
    unit_not_told(&five[2]);
    unit_release(&held);
    unit_told(&five[2], 0, 3);
    unit_release(&five[1].lease);
    unit_release(&five[2].lease);
    unit_close();
}
END_TEST

START_TEST(cancel_tells_idle_from_decided)
{
    unit_open(1);
    fresh();
    ck_assert_int_eq(belay_lease_cancel(NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_lease_cancel(&five[0].lease), BELAY_ENOENT);
    unit_hold(&held, 1);
    ck_assert_int_eq(belay_lease_cancel(&held), BELAY_ETOOLATE);
    ck_assert_uint_eq(unit_stats().late_cancels, 1);
    belay_lease copy = held;
    ck_assert_int_eq(belay_lease_cancel(&copy), BELAY_ENOENT);
    unit_queue(&five[0], 1);
    ck_assert_int_eq(belay_lease_cancel(&five[0].lease), 0);
    ck_assert_int_eq(belay_lease_cancel(&five[0].lease), BELAY_ETOOLATE);
    unit_release(&held);
    ck_assert_int_eq(belay_lease_cancel(&held), BELAY_ETOOLATE);
    unit_told(&five[0], BELAY_ECANCELED, 1);
    unit_close();
}
END_TEST

static int seen_by_cancel;
static int seen_by_release;

static void cancel_and_release_the_first(void)
{
    seen_by_cancel = belay_lease_cancel(&five[0].lease);
    seen_by_release = belay_lease_release(&five[0].lease);
}

static belay_cancel *token;

static void fire_and_look_at_the_first(void)
{
    ck_assert_int_eq(belay_cancel_fire(token), 0);
    cancel_and_release_the_first();
}

START_TEST(a_lease_whose_acquire_has_not_queued_is_idle_to_others)
{
    hooked_open(1);
    fresh();
    token = unit_token();
    unit_hold(&held, 1);
    hooked_fn = cancel_and_release_the_first;
    ck_assert_int_eq(unit_ask(&five[0], 1, BELAY_FOREVER, token), BELAY_PENDING);
    ck_assert_int_eq(seen_by_cancel, BELAY_ENOENT);
    ck_assert_int_eq(seen_by_release, BELAY_ENOTHELD);
    ck_assert_int_eq(belay_lease_cancel(&five[0].lease), 0);
    hooked_fn = fire_and_look_at_the_first;
    ck_assert_int_eq(unit_ask(&five[0], 1, BELAY_FOREVER, token), BELAY_ECANCELED);
    ck_assert_int_eq(seen_by_cancel, BELAY_ENOENT);
    ck_assert_int_eq(seen_by_release, BELAY_ENOTHELD);
    unit_release(&held);
    belay_cancel_unref(token);
    hooked_close();
}
END_TEST

START_TEST(a_lease_whose_release_is_at_work_is_released_to_others)
{
    hooked_open(1);
    fresh();
    unit_hold(&five[0].lease, 1);
    unit_queue(&five[1], 1);
    hooked_fn = cancel_and_release_the_first;
    unit_release(&five[0].lease);
    ck_assert_int_eq(seen_by_cancel, BELAY_ETOOLATE);
    ck_assert_int_eq(seen_by_release, BELAY_ERELEASED);
    unit_told(&five[1], 0, 1);
    unit_release(&five[1].lease);
    hooked_close();
}
END_TEST

static belay_sem *other_sem;
static belay_lease other_held;

static void then_wait_elsewhere(waiter *self)
{
    unit_release(&self->lease);
    self->then = NULL;
    self->calls = 0;
    ck_assert_int_eq(
        belay_sem_acquire_async(other_sem, &self->lease, 1, BELAY_FOREVER, NULL, unit_note, self),
        BELAY_PENDING);
}

static void release_what_is_held(void)
{
    unit_release(&held);
}

START_TEST(a_cancel_that_comes_too_late_leaves_the_next_acquire_alone)
{
    hooked_open(1);
    fresh();
    belay_sem_opts opts = {.size = sizeof opts, .capacity = 1};
    ck_assert_int_eq(belay_sem_create(&opts, &other_sem), 0);
    ck_assert_int_eq(belay_sem_acquire(other_sem, &other_held, 1, BELAY_NOW, NULL), 0);
    unit_hold(&held, 1);
    five[0].then = then_wait_elsewhere;
    unit_queue(&five[0], 1);
    /* While the cancel is on its way to the lock, the lease is granted, released and used again. */
    hooked_fn = release_what_is_held;
    ck_assert_int_eq(belay_lease_cancel(&five[0].lease), BELAY_ETOOLATE);
    ck_assert_uint_eq(unit_stats_of(other_sem).waiting, 1);
    ck_assert_uint_eq(unit_stats().late_cancels, 0);
    unit_release(&other_held);
    ck_assert_int_eq(five[0].result, 0);
    unit_release(&five[0].lease);
    ck_assert_int_eq(belay_sem_destroy(other_sem), 0);
    hooked_close();
}
END_TEST

static void *acquire_in_rounds(void *arg)
{
    int *result = arg;
    for (int i = 0; i < ROUNDS; i++) {
        pthread_barrier_wait(&barrier);
        *result = belay_sem_acquire(unit_sem, &held, 1, BELAY_NOW, NULL);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

START_TEST(of_two_threads_that_acquire_with_one_lease_exactly_one_gets_it)
{
    unit_open(2);
    pthread_t thread;
    pthread_barrier_init(&barrier, NULL, 2);
    ck_assert_int_eq(pthread_create(&thread, NULL, acquire_in_rounds, &results[1]), 0);
    for (int i = 0; i < ROUNDS; i++) {
        pthread_barrier_wait(&barrier);
        results[0] = belay_sem_acquire(unit_sem, &held, 1, BELAY_NOW, NULL);
        pthread_barrier_wait(&barrier);
        ck_assert_int_eq(results[0] + results[1], BELAY_EBUSY);
        ck_assert(results[0] == 0 || results[1] == 0);
        unit_expect(1, 1, 0, 0);
        unit_release(&held);
    }
    pthread_join(thread, NULL);
    unit_close();
}
END_TEST

static void then_release_and_cancel(waiter *self)
{
    unit_then_release(self);
    ck_assert_int_eq(belay_lease_cancel(&five[1].lease), 0);
}

START_TEST(a_callback_may_cancel_another)
{
    unit_open(2);
    fresh();
    belay_lease second = BELAY_LEASE_INIT;
    unit_hold(&held, 1);
    unit_hold(&second, 1);
    five[0].then = then_release_and_cancel;
    unit_queue(&five[0], 1);
    unit_queue(&five[1], 2);
    unit_queue(&five[2], 1);
    unit_release(&held);
    unit_told(&five[0], 0, 1);
    unit_told(&five[1], BELAY_ECANCELED, 2);
    unit_told(&five[2], 0, 3);
    unit_release(&second);
    unit_release(&five[2].lease);
    unit_close();
}
END_TEST

START_TEST(move_takes_a_held_lease_to_other_storage)
{
    unit_open(3);
    belay_lease to;
    memset(&to, 0xa5, sizeof to);
    unit_hold(&held, 2);
    ck_assert_int_eq(belay_lease_move(&held, &to), 0);
    unit_expect(1, 2, 0, 0);
    ck_assert_int_eq(belay_lease_release(&held), BELAY_ENOTHELD);
    ck_assert_int_eq(belay_lease_cancel(&held), BELAY_ENOENT);
    unit_hold(&held, 1);
    unit_release(&to);
    ck_assert_int_eq(belay_lease_release(&to), BELAY_ERELEASED);
    unit_release(&held);
    unit_close();
}
END_TEST

START_TEST(move_refuses_what_is_not_held)
{
    unit_open(1);
    fresh();
    belay_lease to = BELAY_LEASE_INIT;
    ck_assert_int_eq(belay_lease_move(NULL, &to), BELAY_EINVAL);
    ck_assert_int_eq(belay_lease_move(&held, NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_lease_move(&held, &held), BELAY_EINVAL);
    ck_assert_int_eq(belay_lease_move(&held, &to), BELAY_ENOTHELD);
    unit_hold(&held, 1);
    unit_queue(&five[0], 1);
    ck_assert_int_eq(belay_lease_move(&five[0].lease, &to), BELAY_ENOTHELD);
    belay_lease copy = held;
    ck_assert_int_eq(belay_lease_move(&copy, &to), BELAY_ENOTHELD);
    ck_assert_int_eq(belay_sem_close(unit_sem), 0);
    unit_release(&held);
    ck_assert_int_eq(belay_lease_move(&held, &to), BELAY_ERELEASED);
    ck_assert_uint_eq(unit_stats().releases_refused, 0);
    unit_close();
}
END_TEST

static void *release_on_a_thread(void *arg)
{
    unit_release(&held);
    return arg;
}

START_TEST(any_thread_may_release)
{
    unit_open(1);
    pthread_t thread;
    unit_hold(&held, 1);
    ck_assert_int_eq(pthread_create(&thread, NULL, release_on_a_thread, NULL), 0);
    pthread_join(thread, NULL);
    unit_expect(1, 0, 0, 0);
    unit_close();
}
END_TEST

/* What another thread sees while a call is at work on the lease. */
static void see(bly_lease_state state, int acquired, int canceled, int released)
{
    held.state = (uint32_t)state;
    ck_assert_int_eq(belay_sem_acquire(unit_sem, &held, 1, BELAY_NOW, NULL), acquired);
    ck_assert_int_eq(belay_lease_cancel(&held), canceled);
    ck_assert_int_eq(belay_lease_release(&held), released);
    ck_assert_uint_eq(held.state, (uint32_t)state);
}

START_TEST(a_lease_on_which_a_call_is_at_work_is_refused)
{
    unit_open(2);
    unit_hold(&held, 1);
    see(BLY_LEASE_CLAIMED, BELAY_EBUSY, BELAY_ENOENT, BELAY_ENOTHELD);
    see(BLY_LEASE_FIRED, BELAY_EBUSY, BELAY_ENOENT, BELAY_ENOTHELD);
    see(BLY_LEASE_RELEASING, BELAY_EBUSY, BELAY_ETOOLATE, BELAY_ERELEASED);
    held.state = BLY_LEASE_HELD;
    unit_release(&held);
    unit_close();
}
END_TEST

UNIT_MAIN("sem/release", a_lease_on_which_a_call_is_at_work_is_refused, release_returns_zero_once,
          release_refuses_what_holds_nothing, release_refuses_a_copy_of_a_held_lease,
          release_works_on_a_closed_semaphore, release_after_destroy_is_refused_all_the_same,
          a_held_lease_has_no_expiry, of_two_threads_that_release_one_lease_exactly_one_gets_zero,
          a_release_against_a_cancel_loses_no_permit, cancel_at_the_head_takes_out_that_one,
          cancel_in_the_middle_takes_out_that_one, cancel_at_the_tail_takes_out_that_one,
          cancel_of_a_large_head_serves_those_behind, cancel_tells_idle_from_decided,
          a_lease_whose_acquire_has_not_queued_is_idle_to_others,
          a_lease_whose_release_is_at_work_is_released_to_others,
          a_cancel_that_comes_too_late_leaves_the_next_acquire_alone,
          of_two_threads_that_acquire_with_one_lease_exactly_one_gets_it,
          a_callback_may_cancel_another, move_takes_a_held_lease_to_other_storage,
          move_refuses_what_is_not_held, any_thread_may_release)
