/* The life of a semaphore: create, resize, close, destroy. */
#include "sem_unit.h"

#include "fault.h"
#include "hooked_clock.h"

static belay_lease held;

static int create_with(belay_sem_opts opts)
{
    belay_sem *sem = NULL;
    int result = belay_sem_create(&opts, &sem);
    ck_assert_int_eq(result == 0, sem != NULL);
    ck_assert_int_eq(belay_sem_destroy(sem), 0);
    return result;
}

START_TEST(create_makes_all_permits_available)
{
    unit_open(7);
    unit_expect(7, 0, 0, 0);
    ck_assert_uint_eq(unit_stats().capacity, 7);
    ck_assert_str_eq(unit_stats().name, "sem");
    unit_close();
}
END_TEST

START_TEST(create_refuses_a_capacity_of_zero_or_beyond_the_most)
{
    ck_assert_int_eq(create_with((belay_sem_opts){.size = sizeof(belay_sem_opts)}), BELAY_EINVAL);
    belay_sem_opts opts = {.size = sizeof opts, .capacity = (uint32_t)BELAY_SEM_CAPACITY_MAX + 1};
    ck_assert_int_eq(create_with(opts), BELAY_EINVAL);
    opts.capacity = BELAY_SEM_CAPACITY_MAX;
    ck_assert_int_eq(create_with(opts), 0);
    opts.capacity = 1;
    ck_assert_int_eq(create_with(opts), 0);
}
END_TEST

START_TEST(create_refuses_options_that_mean_nothing)
{
    belay_sem *sem;
    belay_sem_opts opts = {.size = sizeof opts, .capacity = 1};
    ck_assert_int_eq(belay_sem_create(NULL, &sem), BELAY_EINVAL);
    ck_assert_int_eq(belay_sem_create(&opts, NULL), BELAY_EINVAL);
    opts.size = 3;
    ck_assert_int_eq(create_with(opts), BELAY_EINVAL);
    opts = (belay_sem_opts){.size = sizeof opts, .capacity = 1, .unfair = 2};
    ck_assert_int_eq(create_with(opts), BELAY_EINVAL);
    opts = (belay_sem_opts){.size = sizeof opts, .capacity = 1, .track_holders = 2};
    ck_assert_int_eq(create_with(opts), BELAY_EINVAL);
    opts = (belay_sem_opts){.size = sizeof opts, .capacity = 1, .zero = 1};
    ck_assert_int_eq(create_with(opts), BELAY_EINVAL);
}
END_TEST

START_TEST(create_takes_an_older_and_a_newer_options_struct)
{
    belay_sem *sem;
    struct {
        belay_sem_opts known;
        uint64_t later;
    } opts = {.known = {.size = 8, .capacity = 3}};
    ck_assert_int_eq(belay_sem_create(&opts.known, &sem), 0);
    ck_assert_uint_eq(unit_stats_of(sem).capacity, 3);
    ck_assert_int_eq(belay_sem_destroy(sem), 0);
    opts.known.size = sizeof opts;
    ck_assert_int_eq(belay_sem_create(&opts.known, &sem), 0);
    ck_assert_int_eq(belay_sem_destroy(sem), 0);
    opts.later = 1;
    ck_assert_int_eq(belay_sem_create(&opts.known, &sem), BELAY_EINVAL);
}
END_TEST

START_TEST(create_keeps_a_copy_of_the_name)
{
    char name[] = "connections of the database, main pool";
    belay_sem *sem;
    belay_sem_opts opts = {.size = sizeof opts, .capacity = 1, .name = name};
    ck_assert_int_eq(belay_sem_create(&opts, &sem), 0);
    memset(name, 'x', sizeof name - 1);
    ck_assert_str_eq(unit_stats_of(sem).name, "connections of the database, ma");
    ck_assert_int_eq(belay_sem_destroy(sem), 0);
}
END_TEST

START_TEST(create_refuses_timers_of_another_clock)
{
    unit_open_clock();
    belay_timers *timers;
    ck_assert_int_eq(belay_timers_create(NULL, &timers), 0);
    belay_sem_opts opts = unit_opts(1);
    opts.timers = timers;
    ck_assert_int_eq(create_with(opts), BELAY_EINVAL);
    fault_alloc_from(1);
    ck_assert_int_eq(create_with(opts), BELAY_EINVAL);
    (void)fault_alloc_stop();
    opts.clock = NULL;
    ck_assert_int_eq(create_with(opts), 0);
    ck_assert_int_eq(belay_timers_destroy(timers), 0);
    ck_assert_int_eq(belay_manual_clock_destroy(unit_clock), 0);
}
END_TEST

START_TEST(create_gives_everything_back_when_memory_ends)
{
    unit_open_clock();
    int result = BELAY_ENOMEM;
    int nth = 1;
    for (; result == BELAY_ENOMEM; nth++) {
        fault_alloc_from(nth);
        result = create_with(unit_opts(1));
        (void)fault_alloc_stop();
    }
    ck_assert_int_eq(result, 0);
    ck_assert_int_gt(nth, 2);
    ck_assert_int_eq(belay_manual_clock_destroy(unit_clock), 0);
}
END_TEST

START_TEST(a_release_and_a_grant_allocate_nothing)
{
    unit_open(1);
    belay_cancel *token = unit_token();
    waiter selves[4] = {unit_waiter(), unit_waiter(), unit_waiter(), unit_waiter()};
    fault_alloc_from(1);
    unit_hold(&held, 1);
    unit_queue(&selves[0], 1);
    unit_queue_until(&selves[1], 1, unit_after(100));
    ck_assert_int_eq(unit_ask(&selves[2], 1, BELAY_FOREVER, token), BELAY_PENDING);
    unit_queue(&selves[3], 1);
    unit_release(&held);
    unit_advance(100);
    ck_assert_int_eq(belay_cancel_fire(token), 0);
    ck_assert_int_eq(belay_lease_cancel(&selves[3].lease), 0);
    ck_assert_int_eq(belay_sem_close(unit_sem), 0);
    (void)fault_alloc_stop();
    unit_told(&selves[0], 0, 1);
    unit_told(&selves[1], BELAY_ETIMEDOUT, 2);
    unit_told(&selves[2], BELAY_ECANCELED, 3);
    unit_told(&selves[3], BELAY_ECANCELED, 4);
    unit_release(&selves[0].lease);
    belay_cancel_unref(token);
    unit_close();
}
END_TEST

START_TEST(resize_refuses_what_is_no_capacity)
{
    unit_open(1);
    ck_assert_int_eq(belay_sem_resize(NULL, 1), BELAY_EINVAL);
    ck_assert_int_eq(belay_sem_resize(unit_sem, 0), BELAY_EINVAL);
    ck_assert_int_eq(belay_sem_resize(unit_sem, (uint32_t)BELAY_SEM_CAPACITY_MAX + 1),
                     BELAY_EINVAL);
    ck_assert_int_eq(belay_sem_close(unit_sem), 0);
    ck_assert_int_eq(belay_sem_resize(unit_sem, 0), BELAY_EINVAL);
    ck_assert_int_eq(belay_sem_resize(unit_sem, 2), BELAY_ECLOSED);
    ck_assert_uint_eq(unit_stats().capacity, 1);
    unit_close();
}
END_TEST

START_TEST(resize_upwards_grants_at_once)
{
    waiter selves[3] = {unit_waiter(), unit_waiter(), unit_waiter()};
    unit_open(1);
    unit_hold(&held, 1);
    for (int i = 0; i < 3; i++) {
        unit_queue(&selves[i], 1);
    }
    ck_assert_int_eq(belay_sem_resize(unit_sem, 3), 0);
    unit_told(&selves[0], 0, 1);
    unit_told(&selves[1], 0, 2);
    unit_not_told(&selves[2]);
    unit_expect(0, 3, 0, 1);
    unit_release(&held);
    unit_told(&selves[2], 0, 3);
    for (int i = 0; i < 3; i++) {
        unit_release(&selves[i].lease);
    }
    unit_close();
}
END_TEST

START_TEST(resize_downwards_takes_free_permits_first)
{
    unit_open(5);
    unit_hold(&held, 2);
    ck_assert_int_eq(belay_sem_resize(unit_sem, 3), 0);
    unit_expect(1, 2, 0, 0);
    ck_assert_uint_eq(unit_stats().debt, 0);
    unit_release(&held);
    unit_expect(3, 0, 0, 0);
    unit_close();
}
END_TEST

START_TEST(releases_repay_a_debt_before_anyone_is_served)
{
    belay_lease leases[5] = {BELAY_LEASE_INIT};
    waiter first = unit_waiter();
    unit_open(5);
    for (int i = 0; i < 5; i++) {
        unit_hold(&leases[i], 1);
    }
    unit_queue(&first, 2);
    ck_assert_int_eq(belay_sem_resize(unit_sem, 2), 0);
    ck_assert_uint_eq(unit_stats().debt, 3);
    for (int i = 0; i < 4; i++) {
        unit_release(&leases[i]);
        ck_assert_uint_eq(unit_stats().debt, i < 3 ? 2 - (uint32_t)i : 0);
        unit_expect(i < 3 ? 0 : 1, 4 - (uint32_t)i, 0, 1);
        unit_not_told(&first);
    }
    unit_release(&leases[4]);
    unit_told(&first, 0, 1);
    unit_release(&first.lease);
    unit_expect(2, 0, 0, 0);
    unit_close();
}
END_TEST

START_TEST(a_resize_back_up_forgives_the_debt)
{
    unit_open(4);
    unit_hold(&held, 4);
    ck_assert_int_eq(belay_sem_resize(unit_sem, 1), 0);
    ck_assert_uint_eq(unit_stats().debt, 3);
    ck_assert_int_eq(belay_sem_resize(unit_sem, 3), 0);
    ck_assert_uint_eq(unit_stats().debt, 1);
    ck_assert_int_eq(belay_sem_resize(unit_sem, 6), 0);
    ck_assert_uint_eq(unit_stats().debt, 0);
    unit_expect(2, 4, 0, 0);
    unit_release(&held);
    unit_expect(6, 0, 0, 0);
    unit_close();
}
END_TEST

START_TEST(a_head_too_big_after_a_resize_ends_and_makes_way)
{
    waiter selves[4] = {unit_waiter(), unit_waiter(), unit_waiter(), unit_waiter()};
    unit_open(10);
    unit_hold(&held, 2);
    unit_queue(&selves[0], 9);
    unit_queue(&selves[1], 3);
    unit_queue(&selves[2], 8);
    unit_queue(&selves[3], 1);
    ck_assert_int_eq(belay_sem_resize(unit_sem, 6), 0);
    unit_told(&selves[0], BELAY_ETOOBIG, 1);
    unit_told(&selves[1], 0, 2);
    unit_told(&selves[2], BELAY_ETOOBIG, 3);
    unit_told(&selves[3], 0, 4);
    ck_assert_uint_eq(unit_stats().too_big, 2);
    unit_release(&held);
    unit_release(&selves[1].lease);
    unit_release(&selves[3].lease);
    unit_close();
}
END_TEST

START_TEST(a_request_that_fits_again_when_its_turn_comes_is_served)
{
    waiter selves[2] = {unit_waiter(), unit_waiter()};
    unit_open(4);
    unit_hold(&held, 4);
    unit_queue(&selves[0], 2);
    unit_queue(&selves[1], 4);
    ck_assert_int_eq(belay_sem_resize(unit_sem, 3), 0);
    ck_assert_int_eq(belay_sem_resize(unit_sem, 4), 0);
    unit_release(&held);
    unit_told(&selves[0], 0, 1);
    unit_release(&selves[0].lease);
    unit_told(&selves[1], 0, 2);
    unit_release(&selves[1].lease);
    unit_close();
}
END_TEST

START_TEST(close_before_an_acquire_refuses_it)
{
    unit_open(1);
    ck_assert_int_eq(belay_sem_close(NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_sem_close(unit_sem), 0);
    ck_assert_int_eq(belay_sem_close(unit_sem), 0);
    waiter self = unit_waiter();
    ck_assert_int_eq(unit_ask(&self, 1, BELAY_FOREVER, NULL), BELAY_ECLOSED);
    ck_assert_int_eq(belay_sem_acquire(unit_sem, &held, 1, BELAY_NOW, NULL), BELAY_ECLOSED);
    ck_assert_uint_eq(unit_stats().closed, 2);
    ck_assert_uint_eq(unit_stats().is_closed, 1);
    unit_close();
}
END_TEST

START_TEST(close_during_an_acquire_ends_it)
{
    unit_open(1);
    unit_hold(&held, 1);
    waiter selves[3] = {unit_waiter(), unit_waiter(), unit_waiter()};
    for (int i = 0; i < 3; i++) {
        unit_queue(&selves[i], 1);
    }
    ck_assert_int_eq(belay_sem_close(unit_sem), 0);
    for (int i = 0; i < 3; i++) {
        unit_told(&selves[i], BELAY_ECLOSED, i + 1);
    }
    ck_assert_int_eq(belay_sem_close(unit_sem), 0);
    ck_assert_int_eq(unit_calls, 3);
    unit_release(&held);
    unit_close();
}
END_TEST

START_TEST(close_after_an_acquire_leaves_it_valid)
{
    unit_open(1);
    unit_hold(&held, 1);
    ck_assert_int_eq(belay_sem_close(unit_sem), 0);
    unit_expect(0, 1, 0, 0);
    ck_assert_int_eq(belay_sem_destroy(unit_sem), BELAY_EBUSY);
    unit_release(&held);
    unit_close();
}
END_TEST

START_TEST(destroy_refuses_a_semaphore_in_use)
{
    waiter self = unit_waiter();
    unit_open(1);
    ck_assert_int_eq(belay_sem_destroy(NULL), 0);
    unit_hold(&held, 1);
    ck_assert_int_eq(belay_sem_destroy(unit_sem), BELAY_EBUSY);
    unit_queue(&self, 1);
    ck_assert_int_eq(belay_sem_destroy(unit_sem), BELAY_EBUSY);
    ck_assert_int_eq(belay_sem_resize(unit_sem, 2), 0);
    unit_release(&held);
    ck_assert_int_eq(belay_sem_destroy(unit_sem), BELAY_EBUSY);
    unit_release(&self.lease);
    unit_close();
}
END_TEST

static int destroyed;

static void release_and_destroy(void)
{
    unit_release(&held);
    destroyed = belay_sem_destroy(unit_sem);
}

static void destroy_at_the_second_reading(void)
{
    hooked_fn = release_and_destroy;
}

START_TEST(destroy_refuses_a_semaphore_in_the_middle_of_a_long_run)
{
    static waiter many[65];
    hooked_open(1);
    unit_hold(&held, 1);
    for (int i = 0; i < 65; i++) {
        many[i] = unit_waiter();
        unit_queue(&many[i], 1);
    }
    hooked_fn = destroy_at_the_second_reading;
    ck_assert_int_eq(belay_sem_close(unit_sem), 0);
    ck_assert_int_eq(destroyed, BELAY_EBUSY);
    hooked_close();
}
END_TEST

static void destroy_only(void)
{
    destroyed = belay_sem_destroy(unit_sem);
}

static void destroy_at_the_fourth_reading(void)
{
    hooked_fn = destroy_only;
}

static void release_at_the_second_reading(void)
{
    hooked_fn = destroy_at_the_fourth_reading;
    unit_release(&held);
}

static void begin_to_release(void)
{
    hooked_fn = release_at_the_second_reading;
}

START_TEST(destroy_refuses_a_semaphore_with_a_queue_that_is_being_ended)
{
    static waiter many[200];
    hooked_open(1);
    unit_hold(&held, 1);
    for (int i = 0; i < 200; i++) {
        many[i] = unit_waiter();
        unit_queue(&many[i], 1);
    }
    /* The second run of ends begins with a release, so nothing is in use in the middle of it. */
    hooked_fn = begin_to_release;
    ck_assert_int_eq(belay_sem_close(unit_sem), 0);
    ck_assert_int_eq(destroyed, BELAY_EBUSY);
    hooked_close();
}
END_TEST

START_TEST(the_inline_executor_is_none)
{
    unit_open_clock();
    belay_sem_opts opts = unit_opts(1);
    opts.executor = belay_inline();
    ck_assert_int_eq(belay_sem_create(&opts, &unit_sem), 0);
    waiter self = unit_waiter();
    unit_hold(&held, 1);
    unit_queue(&self, 1);
    unit_release(&held);
    unit_told(&self, 0, 1);
    unit_release(&self.lease);
    unit_close();
}
END_TEST

UNIT_MAIN("sem/sem", create_makes_all_permits_available,
          create_refuses_a_capacity_of_zero_or_beyond_the_most,
          create_refuses_options_that_mean_nothing,
          create_takes_an_older_and_a_newer_options_struct, create_keeps_a_copy_of_the_name,
          create_refuses_timers_of_another_clock, create_gives_everything_back_when_memory_ends,
          a_release_and_a_grant_allocate_nothing, resize_refuses_what_is_no_capacity,
          resize_upwards_grants_at_once, resize_downwards_takes_free_permits_first,
          releases_repay_a_debt_before_anyone_is_served, a_resize_back_up_forgives_the_debt,
          a_head_too_big_after_a_resize_ends_and_makes_way,
          a_request_that_fits_again_when_its_turn_comes_is_served,
          close_before_an_acquire_refuses_it, close_during_an_acquire_ends_it,
          close_after_an_acquire_leaves_it_valid, destroy_refuses_a_semaphore_in_use,
          destroy_refuses_a_semaphore_in_the_middle_of_a_long_run,
          destroy_refuses_a_semaphore_with_a_queue_that_is_being_ended, the_inline_executor_is_none)
