/* What a semaphore tells of itself. */
#include "sem_unit.h"

#define SECOND_NS INT64_C(1000000000)

static belay_lease held;

START_TEST(stats_refuse_a_struct_without_a_size)
{
    unit_open(1);
    belay_sem_metrics stats = {0};
    ck_assert_int_eq(belay_sem_stats(unit_sem, NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_sem_stats(unit_sem, &stats), BELAY_EINVAL);
    stats.size = 1 << 20;
    ck_assert_int_eq(belay_sem_stats(unit_sem, &stats), BELAY_EINVAL);
    stats.size = sizeof stats;
    ck_assert_int_eq(belay_sem_stats(NULL, &stats), BELAY_EINVAL);
    unit_close();
}
END_TEST

START_TEST(stats_write_no_more_than_the_caller_knows)
{
    unit_open(3);
    belay_sem_metrics old;
    memset(&old, 0xa5, sizeof old);
    old.size = offsetof(belay_sem_metrics, held);
    ck_assert_int_eq(belay_sem_stats(unit_sem, &old), 0);
    ck_assert_uint_eq(old.capacity, 3);
    ck_assert_uint_eq(old.available, 3);
    ck_assert_uint_eq(old.held, 0xa5a5a5a5);
    struct {
        belay_sem_metrics known;
        uint64_t later;
    } newer = {.later = 5};
    newer.known.size = sizeof newer;
    ck_assert_int_eq(belay_sem_stats(unit_sem, &newer.known), 0);
    ck_assert_uint_eq(newer.known.capacity, 3);
    ck_assert_uint_eq(newer.later, 0);
    unit_close();
}
END_TEST

START_TEST(stats_count_each_way_an_acquire_ends)
{
    unit_open_clock();
    belay_sem_opts opts = unit_opts(2);
    opts.waiters_max = 4;
    ck_assert_int_eq(belay_sem_create(&opts, &unit_sem), 0);
    waiter selves[6];
    for (int i = 0; i < 6; i++) {
        selves[i] = unit_waiter();
    }
    unit_hold(&held, 1);
    unit_queue(&selves[0], 2);
    unit_queue_until(&selves[1], 1, unit_after(10));
    unit_queue(&selves[2], 1);
    unit_queue(&selves[3], 2);
    ck_assert_int_eq(unit_ask(&selves[4], 1, BELAY_FOREVER, NULL), BELAY_EFULL);
    unit_advance(10);
    ck_assert_int_eq(belay_lease_cancel(&selves[0].lease), 0);
    ck_assert_int_eq(belay_sem_resize(unit_sem, 1), 0);
    unit_release(&held);
    unit_queue(&selves[5], 1);
    ck_assert_int_eq(belay_sem_close(unit_sem), 0);
    ck_assert_int_eq(belay_lease_cancel(&selves[2].lease), BELAY_ETOOLATE);
    unit_release(&selves[2].lease);
    ck_assert_int_eq(belay_lease_release(&held), BELAY_ERELEASED);
    belay_sem_metrics stats = unit_stats();
    ck_assert_uint_eq(stats.granted_waiting, 1);
    ck_assert_uint_eq(stats.timed_out, 1);
    ck_assert_uint_eq(stats.canceled, 1);
    ck_assert_uint_eq(stats.too_big, 1);
    ck_assert_uint_eq(stats.closed, 1);
    ck_assert_uint_eq(stats.refused_full, 1);
    ck_assert_uint_eq(stats.late_cancels, 1);
    ck_assert_uint_eq(stats.releases_refused, 1);
    ck_assert_uint_eq(stats.waiting_max, 4);
    ck_assert_uint_eq(stats.granted_at_once, 0);
    ck_assert_uint_eq(stats.tracks_holders, 0);
    unit_close();
}
END_TEST

START_TEST(stats_show_the_head_of_the_queue)
{
    unit_open(4);
    waiter selves[2] = {unit_waiter(), unit_waiter()};
    unit_hold(&held, 1);
    ck_assert_uint_eq(unit_stats().head_permits, 0);
    unit_queue(&selves[0], 4);
    unit_advance(30);
    unit_queue(&selves[1], 2);
    unit_advance(20);
    belay_sem_metrics stats = unit_stats();
    ck_assert_uint_eq(stats.head_permits, 4);
    ck_assert_int_eq(stats.head_age_ns, 50);
    ck_assert_int_eq(belay_lease_cancel(&selves[0].lease), 0);
    ck_assert_uint_eq(unit_stats().head_permits, 0);
    unit_release(&held);
    unit_release(&selves[1].lease);
    unit_close();
}
END_TEST

START_TEST(permits_taken_past_the_head_are_no_longer_too_few_for_it)
{
    unit_open_clock();
    belay_sem_opts opts = unit_opts(4);
    opts.unfair = 1;
    ck_assert_int_eq(belay_sem_create(&opts, &unit_sem), 0);
    belay_lease newcomer = BELAY_LEASE_INIT;
    waiter self = unit_waiter();
    unit_hold(&held, 2);
    unit_queue(&self, 3);
    unit_advance(40);
    unit_hold(&newcomer, 2);
    unit_advance(100);
    ck_assert_int_eq(unit_stats().head_short_ns, 0);
    ck_assert_int_eq(unit_stats().short_total_ns, 40);
    unit_release(&held);
    unit_release(&newcomer);
    unit_told(&self, 0, 1);
    unit_release(&self.lease);
    unit_close();
}
END_TEST

START_TEST(stats_show_how_long_permits_were_too_few_for_the_head)
{
    unit_open(4);
    belay_lease second = BELAY_LEASE_INIT;
    waiter selves[2] = {unit_waiter(), unit_waiter()};
    unit_hold(&held, 2);
    unit_hold(&second, 2);
    unit_queue(&selves[0], 3);
    unit_queue(&selves[1], 4);
    unit_advance(100);
    ck_assert_int_eq(unit_stats().head_short_ns, 0);
    unit_release(&held);
    unit_advance(40);
    ck_assert_int_eq(unit_stats().head_short_ns, 40);
    ck_assert_int_eq(unit_stats().short_total_ns, 40);
    /* One permit is left over for a head that wants four: its time begins anew. */
    unit_release(&second);
    unit_advance(7);
    ck_assert_int_eq(unit_stats().head_short_ns, 7);
    ck_assert_int_eq(unit_stats().short_total_ns, 47);
    unit_release(&selves[0].lease);
    unit_advance(1000);
    ck_assert_int_eq(unit_stats().head_short_ns, 0);
    ck_assert_int_eq(unit_stats().short_total_ns, 47);
    unit_release(&selves[1].lease);
    unit_close();
}
END_TEST

START_TEST(stats_show_how_long_waits_took)
{
    unit_open(1);
    waiter selves[100];
    unit_hold(&held, 1);
    for (int i = 0; i < 100; i++) {
        selves[i] = unit_waiter();
        unit_queue(&selves[i], 1);
    }
    belay_lease *holder = &held;
    for (int i = 0; i < 100; i++) {
        unit_advance(i == 99 ? 900 : 1);
        unit_release(holder);
        holder = &selves[i].lease;
    }
    unit_release(holder);
    belay_sem_metrics stats = unit_stats();
    ck_assert_uint_eq(stats.granted_waiting, 100);
    ck_assert_int_ge(stats.wait_p50_ns, 50);
    ck_assert_int_le(stats.wait_p50_ns, 57);
    ck_assert_int_ge(stats.wait_p99_ns, 99);
    ck_assert_int_le(stats.wait_p99_ns, 112);
    ck_assert_int_eq(stats.wait_max_ns, 999);
    unit_close();
}
END_TEST

START_TEST(stats_show_the_oldest_grant_that_was_not_delivered)
{
    belay_test_exec *exec;
    unit_open_clock();
    ck_assert_int_eq(belay_test_exec_create(NULL, &exec), 0);
    belay_sem_opts opts = unit_opts(2);
    opts.executor = belay_test_exec_executor(exec);
    ck_assert_int_eq(belay_sem_create(&opts, &unit_sem), 0);
    belay_lease second = BELAY_LEASE_INIT;
    waiter selves[2] = {unit_waiter(), unit_waiter()};
    unit_hold(&held, 1);
    unit_hold(&second, 1);
    unit_queue(&selves[0], 1);
    unit_queue(&selves[1], 1);
    unit_advance(500);
    unit_release(&held);
    unit_advance(60);
    unit_release(&second);
    unit_advance(3);
    ck_assert_int_eq(unit_stats().oldest_reserved_ns, 63);
    ck_assert_int_eq(belay_test_exec_step(exec), 1);
    ck_assert_int_eq(unit_stats().oldest_reserved_ns, 3);
    ck_assert_int_eq(belay_test_exec_step(exec), 1);
    ck_assert_int_eq(unit_stats().oldest_reserved_ns, 0);
    unit_release(&selves[0].lease);
    unit_release(&selves[1].lease);
    ck_assert_int_eq(belay_sem_destroy(unit_sem), 0);
    ck_assert_int_eq(belay_test_exec_destroy(exec), 0);
    ck_assert_int_eq(belay_manual_clock_destroy(unit_clock), 0);
}
END_TEST

static void cancel_some(int count)
{
    for (int i = 0; i < count; i++) {
        waiter self = unit_waiter();
        unit_queue(&self, 1);
        ck_assert_int_eq(belay_lease_cancel(&self.lease), 0);
    }
}

START_TEST(stats_show_the_cancels_of_the_last_second)
{
    unit_open(1);
    unit_hold(&held, 1);
    cancel_some(3);
    ck_assert_uint_eq(unit_stats().canceled_per_s, 0);
    unit_advance(SECOND_NS);
    ck_assert_uint_eq(unit_stats().canceled_per_s, 3);
    cancel_some(5);
    ck_assert_uint_eq(unit_stats().canceled_per_s, 3);
    unit_advance(SECOND_NS);
    ck_assert_uint_eq(unit_stats().canceled_per_s, 5);
    unit_advance(SECOND_NS);
    ck_assert_uint_eq(unit_stats().canceled_per_s, 0);
    cancel_some(2);
    ck_assert_uint_eq(unit_stats().canceled_per_s, 0);
    ck_assert_uint_eq(unit_stats().canceled, 10);
    unit_release(&held);
    unit_close();
}
END_TEST

UNIT_MAIN("sem/stats", stats_refuse_a_struct_without_a_size,
          stats_write_no_more_than_the_caller_knows, stats_count_each_way_an_acquire_ends,
          stats_show_the_head_of_the_queue, stats_show_how_long_permits_were_too_few_for_the_head,
          permits_taken_past_the_head_are_no_longer_too_few_for_it, stats_show_how_long_waits_took,
          stats_show_the_oldest_grant_that_was_not_delivered,
          stats_show_the_cancels_of_the_last_second)
