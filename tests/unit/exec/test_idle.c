/*
 * test_idle.c: who is woken, and by whom.
 */
#include "exec/idle.h"

#include "pool.h"
#include "fault.h"
#include "unit.h"

#define WORKERS 3

typedef struct dormitory {
    bly_idle idle;
    bly_bed beds[WORKERS];
    bly_thread threads[WORKERS];
    event up; /* how many have got up */
} dormitory;

typedef struct sleeper {
    dormitory *in;
    uint32_t number;
} sleeper;

static void open_dormitory(dormitory *self)
{
    *self = (dormitory){.up = {0}};
    ck_assert_int_eq(bly_idle_init(&self->idle, WORKERS), 0);
    for (uint32_t i = 0; i < WORKERS; i++) {
        self->idle.beds[i] = &self->beds[i];
    }
}

static void sleep_until_woken(void *arg)
{
    sleeper *self = arg;
    bly_idle_sleep(&self->in->idle, self->number);
    event_add(&self->in->up, 1);
}

/* All go to bed on this thread, in order, and sleep on threads of their own. */
static void all_sleep(dormitory *self, sleeper sleepers[WORKERS])
{
    for (uint32_t i = 0; i < WORKERS; i++) {
        bly_idle_search_begin(&self->idle);
        bly_idle_go_to_bed(&self->idle, i);
        sleepers[i] = (sleeper){.in = self, .number = i};
        ck_assert_int_eq(
            bly_thread_create(&self->threads[i], NULL, sleep_until_woken, &sleepers[i]), 0);
    }
    ck_assert_uint_eq(bly_idle_sleepers(&self->idle), WORKERS);
}

static void close_dormitory(dormitory *self, uint32_t searchers)
{
    for (uint32_t i = 0; i < WORKERS; i++) {
        bly_thread_join(&self->threads[i]);
    }
    while (searchers-- > 0) {
        ck_assert_int_eq(bly_idle_search_end(&self->idle), searchers == 0);
    }
    ck_assert_uint_eq(bly_idle_sleepers(&self->idle), 0);
    bly_idle_destroy(&self->idle);
}

START_TEST(one_is_woken_at_a_time_while_nobody_searches)
{
    dormitory all;
    sleeper sleepers[WORKERS];
    open_dormitory(&all);
    ck_assert_uint_eq(bly_idle_top(&all.idle), BLY_NO_WORKER);
    all_sleep(&all, sleepers);
    ck_assert_uint_eq(bly_idle_top(&all.idle), WORKERS - 1);
    bly_idle_wake_one(&all.idle);
    event_await(&all.up, 1);
    ck_assert_uint_eq(bly_idle_sleepers(&all.idle), WORKERS - 1);
    bly_idle_wake_one(&all.idle); /* the first one still searches */
    ck_assert_uint_eq(bly_idle_sleepers(&all.idle), WORKERS - 1);
    ck_assert(bly_idle_search_end(&all.idle));
    bly_idle_wake_one(&all.idle);
    ck_assert_uint_eq(bly_idle_sleepers(&all.idle), WORKERS - 2);
    bly_idle_wake_all(&all.idle);
    event_await(&all.up, WORKERS);
    close_dormitory(&all, WORKERS - 1);
}
END_TEST

START_TEST(all_are_woken_at_the_end_whoever_searches)
{
    dormitory all;
    sleeper sleepers[WORKERS];
    open_dormitory(&all);
    all_sleep(&all, sleepers);
    bly_idle_wake_all(&all.idle);
    bly_idle_wake_all(&all.idle);
    event_await(&all.up, WORKERS);
    close_dormitory(&all, WORKERS);
}
END_TEST

START_TEST(who_gets_up_by_itself_is_not_woken)
{
    dormitory all;
    open_dormitory(&all);
    for (uint32_t i = 0; i < WORKERS; i++) {
        bly_idle_search_begin(&all.idle);
        bly_idle_go_to_bed(&all.idle, i);
    }
    bly_idle_get_up(&all.idle, 1); /* out of the middle */
    ck_assert_uint_eq(bly_idle_sleepers(&all.idle), 2);
    ck_assert_uint_eq(bly_idle_top(&all.idle), 2);
    bly_idle_get_up(&all.idle, 2);
    ck_assert_uint_eq(bly_idle_top(&all.idle), 0);
    bly_idle_wake_all(&all.idle);
    bly_idle_get_up(&all.idle, 0); /* was woken meanwhile */
    ck_assert_uint_eq(bly_idle_sleepers(&all.idle), 0);
    ck_assert(!bly_idle_search_end(&all.idle));
    ck_assert(!bly_idle_search_end(&all.idle));
    ck_assert(bly_idle_search_end(&all.idle));
    bly_idle_destroy(&all.idle);
}
END_TEST

START_TEST(without_memory_there_is_nothing)
{
    for (uint32_t k = 1; k <= 2; k++) {
        bly_idle idle = {0};
        fault_alloc_once(k);
        ck_assert_int_eq(bly_idle_init(&idle, WORKERS), BELAY_ENOMEM);
        ck_assert_ptr_null(idle.stack);
        ck_assert_ptr_null(idle.beds);
    }
}
END_TEST

UNIT_MAIN("exec/idle", one_is_woken_at_a_time_while_nobody_searches,
          all_are_woken_at_the_end_whoever_searches, who_gets_up_by_itself_is_not_woken,
          without_memory_there_is_nothing)
