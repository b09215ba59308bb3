/*
 * What went wrong in other semaphores, tried on this one. The names say what is right; the table in
 * docs/design/semaphore.md says where each was reported, and which cases stand in other files.
 */
#include "sem_unit.h"

#include "hooked_clock.h"

static belay_lease held;
static belay_test_exec *exec;
static waiter many[1000];

static void fresh(void)
{
    for (size_t i = 0; i < sizeof many / sizeof many[0]; i++) {
        many[i] = unit_waiter();
    }
}

/* A semaphore whose callbacks come when the test steps: the pause between "granted" and "told". */
static void open_stalled(uint32_t capacity)
{
    unit_open_clock();
    ck_assert_int_eq(belay_test_exec_create(NULL, &exec), 0);
    belay_sem_opts opts = unit_opts(capacity);
    opts.executor = belay_test_exec_executor(exec);
    ck_assert_int_eq(belay_sem_create(&opts, &unit_sem), 0);
    fresh();
}

static void close_stalled(void)
{
    ck_assert_int_eq(belay_sem_destroy(unit_sem), 0);
    ck_assert_int_eq(belay_test_exec_destroy(exec), 0);
    ck_assert_int_eq(belay_manual_clock_destroy(unit_clock), 0);
}

static void step(int count)
{
    ck_assert_int_eq(belay_test_exec_run(exec, 0), count);
}

START_TEST(a_grant_canceled_before_its_callback_leaves_no_later_acquire_hanging)
{
    open_stalled(1);
    unit_hold(&held, 1);
    unit_queue(&many[0], 1);
    unit_queue(&many[1], 1);
    unit_release(&held);
    unit_expect(0, 0, 1, 1);
    ck_assert_int_eq(belay_lease_cancel(&many[0].lease), BELAY_ETOOLATE);
    ck_assert_int_eq(belay_lease_cancel(&many[1].lease), 0);
    unit_expect(0, 0, 1, 0);
    unit_queue(&many[2], 1);
    step(2);
    unit_told(&many[0], 0, 1);
    unit_told(&many[1], BELAY_ECANCELED, 2);
    unit_not_told(&many[2]);
    unit_release(&many[0].lease);
    step(1);
    unit_told(&many[2], 0, 3);
    unit_release(&many[2].lease);
    close_stalled();
}
END_TEST

static char turns[16];

/* Each of three acquires twice: writes its name, releases, and queues again. */
static void then_take_a_second_turn(waiter *self)
{
    char name[2] = {(char)('A' + (self - many)), '\0'};
    strcat(turns, name);
    unit_release(&self->lease);
    if (self->calls < 2) {
        unit_queue(self, 1);
    }
}

START_TEST(who_releases_and_acquires_again_stands_behind_who_waits)
{
    unit_open(1);
    fresh();
    turns[0] = '\0';
    unit_hold(&held, 1);
    for (int i = 0; i < 3; i++) {
        many[i].then = then_take_a_second_turn;
        unit_queue(&many[i], 1);
    }
    unit_release(&held);
    ck_assert_str_eq(turns, "ABCABC");
    unit_close();
}
END_TEST

START_TEST(a_cancel_between_grant_and_callback_loses_no_permit)
{
    open_stalled(1);
    unit_hold(&held, 1);
    unit_queue(&many[0], 1);
    unit_queue(&many[1], 1);
    unit_release(&held);
    ck_assert_int_eq(belay_lease_cancel(&many[0].lease), BELAY_ETOOLATE);
    step(1);
    unit_told(&many[0], 0, 1);
    unit_release(&many[0].lease);
    step(1);
    unit_told(&many[1], 0, 2);
    unit_release(&many[1].lease);
    unit_expect(1, 0, 0, 0);
    close_stalled();
}
END_TEST

START_TEST(as_many_are_granted_in_one_turn_as_were_released_in_it)
{
    belay_lease leases[50] = {BELAY_LEASE_INIT};
    open_stalled(50);
    for (int i = 0; i < 50; i++) {
        unit_hold(&leases[i], 1);
    }
    for (int i = 0; i < 1000; i++) {
        unit_queue(&many[i], 1);
    }
    for (int i = 0; i < 50; i++) {
        unit_release(&leases[i]);
    }
    unit_expect(0, 0, 50, 950);
    ck_assert_uint_eq(belay_test_exec_pending(exec), 50);
    step(50);
    unit_expect(0, 50, 0, 950);
    ck_assert_int_eq(belay_sem_close(unit_sem), 0);
    step(950);
    for (int i = 0; i < 50; i++) {
        unit_told(&many[i], 0, i + 1);
        unit_release(&many[i].lease);
    }
    close_stalled();
}
END_TEST

START_TEST(a_large_head_that_times_out_serves_those_behind)
{
    unit_open(10);
    fresh();
    unit_hold(&held, 1);
    unit_queue_until(&many[0], 10, unit_after(50));
    unit_queue(&many[1], 1);
    unit_advance(50);
    unit_told(&many[0], BELAY_ETIMEDOUT, 1);
    unit_told(&many[1], 0, 2);
    unit_release(&held);
    unit_release(&many[1].lease);
    unit_close();
}
END_TEST

START_TEST(a_large_head_in_a_run_of_canceled_ones_serves_those_behind)
{
    unit_open(10);
    fresh();
    unit_hold(&held, 1);
    for (int i = 0; i < 5; i++) {
        unit_queue_until(&many[i], 10, i == 4 ? unit_after(50) : BELAY_FOREVER);
    }
    unit_queue(&many[5], 1);
    static const int order[] = {1, 3, 0, 2};
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(belay_lease_cancel(&many[order[i]].lease), 0);
    }
    unit_not_told(&many[5]);
    unit_advance(50);
    unit_told(&many[4], BELAY_ETIMEDOUT, 5);
    unit_told(&many[5], 0, 6);
    unit_release(&held);
    unit_release(&many[5].lease);
    unit_close();
}
END_TEST

START_TEST(a_grant_that_nobody_takes_is_shown_and_those_behind_time_out)
{
    open_stalled(1);
    unit_hold(&held, 1);
    unit_queue(&many[0], 1);
    unit_queue_until(&many[1], 1, unit_after(100));
    unit_release(&held);
    unit_advance(100);
    belay_sem_metrics stats = unit_stats();
    ck_assert_uint_eq(stats.reserved, 1);
    ck_assert_int_eq(stats.oldest_reserved_ns, 100);
    ck_assert_uint_eq(stats.undelivered, 2);
    ck_assert_uint_eq(stats.timed_out, 1);
    step(2);
    unit_told(&many[0], 0, 1);
    unit_told(&many[1], BELAY_ETIMEDOUT, 2);
    unit_release(&many[0].lease);
    close_stalled();
}
END_TEST

START_TEST(a_head_that_wants_more_than_is_free_takes_nothing_and_gives_nothing_back)
{
    unit_open(3);
    fresh();
    unit_hold(&held, 1);
    unit_queue(&many[0], 3);
    unit_expect(2, 1, 0, 1);
    unit_queue(&many[1], 1);
    unit_queue(&many[2], 1);
    belay_lease try = BELAY_LEASE_INIT;
    ck_assert_int_eq(belay_sem_acquire(unit_sem, &try, 1, BELAY_NOW, NULL), BELAY_EAGAIN);
    unit_expect(2, 1, 0, 3);
    ck_assert_int_eq(belay_lease_cancel(&many[0].lease), 0);
    unit_told(&many[1], 0, 2);
    unit_told(&many[2], 0, 3);
    unit_expect(0, 3, 0, 0);
    unit_release(&held);
    unit_release(&many[1].lease);
    unit_release(&many[2].lease);
    unit_close();
}
END_TEST

START_TEST(a_cancel_admits_nobody_while_no_permit_is_free)
{
    unit_open(1);
    fresh();
    unit_hold(&held, 1);
    unit_queue(&many[0], 1);
    unit_queue(&many[1], 1);
    ck_assert_int_eq(belay_lease_cancel(&many[0].lease), 0);
    unit_not_told(&many[1]);
    unit_expect(0, 1, 0, 1);
    unit_release(&held);
    unit_told(&many[1], 0, 2);
    unit_release(&many[1].lease);
    unit_close();
}
END_TEST

START_TEST(a_release_after_a_timeout_makes_no_permit)
{
    unit_open(1);
    fresh();
    unit_hold(&held, 1);
    unit_queue_until(&many[0], 1, unit_after(10));
    unit_advance(10);
    unit_told(&many[0], BELAY_ETIMEDOUT, 1);
    ck_assert_int_eq(belay_lease_release(&many[0].lease), BELAY_ENOTHELD);
    unit_expect(0, 1, 0, 0);
    unit_release(&held);
    ck_assert_int_eq(belay_lease_release(&many[0].lease), BELAY_ENOTHELD);
    unit_expect(1, 0, 0, 0);
    unit_close();
}
END_TEST

static int destroyed_early;

static void then_cancel_and_destroy(waiter *self)
{
    ck_assert_int_eq(self->result, 0);
    ck_assert_int_eq(belay_lease_cancel(&many[1].lease), 0);
    unit_release(&self->lease);
    destroyed_early = belay_sem_destroy(unit_sem);
    ck_assert_int_eq(belay_sem_await_idle(unit_sem, BELAY_NOW), BELAY_EAGAIN);
}

START_TEST(destroy_right_after_a_cancel_is_refused_until_its_callback_begins)
{
    unit_open(1);
    fresh();
    many[0].then = then_cancel_and_destroy;
    unit_hold(&held, 1);
    unit_queue(&many[0], 1);
    unit_queue(&many[1], 1);
    unit_release(&held);
    ck_assert_int_eq(destroyed_early, BELAY_EBUSY);
    unit_told(&many[1], BELAY_ECANCELED, 2);
    ck_assert_int_eq(belay_sem_await_idle(unit_sem, BELAY_NOW), 0);
    unit_close();
}
END_TEST

START_TEST(canceled_requests_behind_a_live_head_are_gone_at_once)
{
    enum { LONG = 100000 };
    unit_open_clock();
    belay_sem_opts opts = unit_opts(1);
    opts.waiters_max = BELAY_UNBOUNDED;
    ck_assert_int_eq(belay_sem_create(&opts, &unit_sem), 0);
    fresh();
    waiter *behind = calloc(LONG, sizeof *behind);
    unit_hold(&held, 1);
    unit_queue(&many[0], 1);
    for (int i = 0; i < LONG; i++) {
        unit_queue(&behind[i], 1);
    }
    for (int i = 0; i < LONG; i++) {
        int which = (int)((unsigned)i * 7919u % LONG);
        ck_assert_int_eq(belay_lease_cancel(&behind[which].lease), 0);
        ck_assert_int_eq(behind[which].result, BELAY_ECANCELED);
        memset(&behind[which], 0x5a, sizeof behind[which]);
    }
    free(behind);
    unit_expect(0, 1, 0, 1);
    unit_release(&held);
    ck_assert_int_eq(many[0].result, 0);
    unit_release(&many[0].lease);
    unit_close();
}
END_TEST

START_TEST(requests_that_timed_out_take_no_permits_later)
{
    belay_lease leases[8] = {BELAY_LEASE_INIT};
    unit_open(8);
    fresh();
    for (int i = 0; i < 8; i++) {
        unit_hold(&leases[i], 1);
    }
    for (int i = 0; i < 8; i++) {
        unit_queue_until(&many[i], 1, unit_after(10));
    }
    unit_advance(10);
    for (int i = 0; i < 8; i++) {
        unit_release(&leases[i]);
        unit_told(&many[i], BELAY_ETIMEDOUT, i + 1);
    }
    unit_expect(8, 0, 0, 0);
    unit_close();
}
END_TEST

START_TEST(a_try_between_grant_and_callback_finds_nothing)
{
    open_stalled(1);
    unit_hold(&held, 1);
    unit_queue(&many[0], 1);
    unit_release(&held);
    ck_assert_int_eq(unit_ask(&many[1], 1, BELAY_NOW, NULL), BELAY_EAGAIN);
    unit_expect(0, 0, 1, 0);
    step(1);
    ck_assert_int_eq(unit_ask(&many[1], 1, BELAY_NOW, NULL), BELAY_EAGAIN);
    unit_release(&many[0].lease);
    close_stalled();
}
END_TEST

START_TEST(requests_that_expire_just_before_their_turn_are_skipped_in_one_run)
{
    hooked_open(1);
    fresh();
    unit_hold(&held, 1);
    for (int i = 0; i < 999; i++) {
        unit_queue_until(&many[i], 1, UNIT_BEGIN_NS + 1 + i % 7);
    }
    unit_queue(&many[999], 1);
    hooked_now_ns = UNIT_BEGIN_NS + 100;
    unit_release(&held);
    for (int i = 0; i < 999; i++) {
        unit_told(&many[i], BELAY_ETIMEDOUT, i + 1);
    }
    unit_told(&many[999], 0, 1000);
    ck_assert_uint_eq(unit_stats().timed_out, 999);
    unit_release(&many[999].lease);
    hooked_close();
}
END_TEST

START_TEST(a_timeout_in_the_middle_takes_out_that_one_alone)
{
    unit_open(1);
    fresh();
    unit_hold(&held, 1);
    for (int i = 0; i < 5; i++) {
        many[i].then = unit_then_release;
        unit_queue_until(&many[i], 1, unit_after(i == 2 ? 10 : 1000));
    }
    unit_advance(10);
    unit_told(&many[2], BELAY_ETIMEDOUT, 1);
    unit_expect(0, 1, 0, 4);
    unit_release(&held);
    static const int rest[] = {0, 1, 3, 4};
    for (int i = 0; i < 4; i++) {
        unit_told(&many[rest[i]], 0, i + 2);
    }
    unit_advance(10000);
    ck_assert_int_eq(unit_calls, 5);
    unit_close();
}
END_TEST

START_TEST(a_request_refused_as_full_leaves_nothing_behind)
{
    unit_open_clock();
    belay_sem_opts opts = unit_opts(1);
    opts.waiters_max = 2;
    ck_assert_int_eq(belay_sem_create(&opts, &unit_sem), 0);
    fresh();
    unit_hold(&held, 1);
    unit_queue(&many[0], 1);
    unit_queue(&many[1], 1);
    belay_cancel *token = unit_token();
    ck_assert_int_eq(unit_ask(&many[2], 1, unit_after(10), token), BELAY_EFULL);
    ck_assert_uint_eq(unit_stats().refused_full, 1);
    ck_assert_uint_eq(unit_stats().waiting, 2);
    ck_assert_int_eq(belay_lease_cancel(&many[2].lease), BELAY_ENOENT);
    ck_assert_int_eq(belay_cancel_fire(token), 0);
    unit_advance(100);
    unit_not_told(&many[2]);
    unit_release(&held);
    unit_release(&many[0].lease);
    unit_release(&many[1].lease);
    unit_expect(1, 0, 0, 0);
    belay_cancel_unref(token);
    unit_close();
}
END_TEST

#define STORM_THREADS 3
#define STORM_LOOPS   2000

static void *time_out_in_a_loop(void *arg)
{
    for (int i = 0; i < STORM_LOOPS; i++) {
        belay_lease lease = BELAY_LEASE_INIT;
        int64_t deadline_ns = belay_time_add(belay_clock_now(NULL), 1000);
        ck_assert_int_eq(belay_sem_acquire(unit_sem, &lease, 1, deadline_ns, NULL),
                         BELAY_ETIMEDOUT);
    }
    return arg;
}

START_TEST(a_storm_of_short_timeouts_leaves_the_semaphore_as_it_was)
{
    belay_sem_opts opts = {.size = sizeof opts, .capacity = 2};
    ck_assert_int_eq(belay_sem_create(&opts, &unit_sem), 0);
    unit_hold(&held, 2);
    pthread_t threads[STORM_THREADS];
    for (int i = 0; i < STORM_THREADS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, time_out_in_a_loop, NULL), 0);
    }
    for (int i = 0; i < STORM_THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    unit_expect(0, 2, 0, 0);
    ck_assert_uint_eq(unit_stats().timed_out, STORM_THREADS * STORM_LOOPS);
    unit_release(&held);
    unit_hold(&held, 2);
    unit_release(&held);
    ck_assert_int_eq(belay_sem_destroy(unit_sem), 0);
}
END_TEST

UNIT_MAIN("sem/cases", a_grant_canceled_before_its_callback_leaves_no_later_acquire_hanging,
          who_releases_and_acquires_again_stands_behind_who_waits,
          a_cancel_between_grant_and_callback_loses_no_permit,
          as_many_are_granted_in_one_turn_as_were_released_in_it,
          a_large_head_that_times_out_serves_those_behind,
          a_large_head_in_a_run_of_canceled_ones_serves_those_behind,
          a_grant_that_nobody_takes_is_shown_and_those_behind_time_out,
          a_head_that_wants_more_than_is_free_takes_nothing_and_gives_nothing_back,
          a_cancel_admits_nobody_while_no_permit_is_free, a_release_after_a_timeout_makes_no_permit,
          destroy_right_after_a_cancel_is_refused_until_its_callback_begins,
          canceled_requests_behind_a_live_head_are_gone_at_once,
          requests_that_timed_out_take_no_permits_later,
          a_try_between_grant_and_callback_finds_nothing,
          requests_that_expire_just_before_their_turn_are_skipped_in_one_run,
          a_timeout_in_the_middle_takes_out_that_one_alone,
          a_request_refused_as_full_leaves_nothing_behind,
          a_storm_of_short_timeouts_leaves_the_semaphore_as_it_was)
