/*
 * test_metrics.c: reading the counters, while the pool works and afterwards.
 */
#include "call.h"
#include "unit.h"

#include <string.h>

START_TEST(arguments_are_checked)
{
    belay_exec *exec = pool_of(2);
    belay_exec_stats_data metrics = {.size = sizeof metrics};
    belay_exec_worker_stats_data worker;
    ck_assert_int_eq(belay_exec_stats(NULL, &metrics), BELAY_EINVAL);
    ck_assert_int_eq(belay_exec_stats(exec, NULL), BELAY_EINVAL);
    metrics.size = 3;
    ck_assert_int_eq(belay_exec_stats(exec, &metrics), BELAY_EINVAL);
    metrics.size = 1u << 20;
    ck_assert_int_eq(belay_exec_stats(exec, &metrics), BELAY_EINVAL);
    ck_assert_int_eq(belay_exec_worker_stats(NULL, 0, &worker), BELAY_EINVAL);
    ck_assert_int_eq(belay_exec_worker_stats(exec, 2, &worker), BELAY_EINVAL);
    ck_assert_int_eq(belay_exec_worker_stats(exec, 0, NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_exec_worker_stats(exec, 1, &worker), 0);
    pool_end(exec);
}
END_TEST

START_TEST(a_shorter_struct_is_filled_as_far_as_it_goes_and_a_longer_one_with_zeros)
{
    belay_exec *exec = pool_of(2);
    belay_exec_stats_data metrics;
    memset(&metrics, 0x55, sizeof metrics);
    metrics.size = offsetof(belay_exec_stats_data, outstanding);
    ck_assert_int_eq(belay_exec_stats(exec, &metrics), 0);
    ck_assert_uint_eq(metrics.workers, 2);
    ck_assert_uint_eq(metrics.state, BELAY_EXEC_ACCEPTING);
    ck_assert_uint_eq(metrics.outstanding, UINT64_C(0x5555555555555555));
    struct {
        belay_exec_stats_data known;
        uint64_t unknown;
    } longer = {.known = {.size = sizeof longer}, .unknown = 5};
    ck_assert_int_eq(belay_exec_stats(exec, &longer.known), 0);
    ck_assert_uint_eq(longer.known.workers, 2);
    ck_assert_uint_eq(longer.unknown, 0);
    pool_end(exec);
}
END_TEST

START_TEST(they_are_readable_while_the_pool_works_and_add_up_afterwards)
{
    enum { CALLS = 2000 };
    belay_exec *exec = pool_of(2);
    uint64_t executed = 0;
    for (int i = 0; i < CALLS; i++) {
        static call one = {.gate = OPEN};
        ck_assert_int_eq(belay_exec_call(exec, call_run, &one, NULL, NULL, NULL), 0);
        belay_exec_stats_data now = pool_stats(exec);
        ck_assert_uint_ge(now.total.executed, executed);
        ck_assert_uint_le(now.outstanding, CALLS);
        executed = now.total.executed;
    }
    ck_assert_int_eq(belay_exec_shutdown(exec), 0);
    belay_exec_stats_data metrics = pool_await(exec);
    belay_exec_worker_stats_data sum = {0};
    for (uint32_t i = 0; i < metrics.workers; i++) {
        belay_exec_worker_stats_data worker;
        ck_assert_int_eq(belay_exec_worker_stats(exec, i, &worker), 0);
        sum.executed += worker.executed;
        sum.inbox_takes += worker.inbox_takes;
        sum.own_pops += worker.own_pops;
        sum.stolen += worker.stolen;
    }
    ck_assert_uint_eq(metrics.total.executed, CALLS);
    ck_assert_uint_eq(sum.executed, CALLS);
    ck_assert_uint_eq(sum.inbox_takes, CALLS);
    ck_assert_uint_eq(sum.own_pops + sum.stolen, 0);
    ck_assert_int_eq(belay_exec_destroy(exec), 0);
}
END_TEST

static int submit_children(void *arg)
{
    counted *children = arg;
    for (int i = 0; i < 10; i++) {
        children[i] = counted_of(NULL);
        ck_assert_int_eq(belay_exec_submit(belay_exec_current(), &children[i].task), 0);
    }
    belay_exec_worker_stats_data worker;
    ck_assert_int_eq(belay_exec_worker_stats(belay_exec_current(), 0, &worker), 0);
    return worker.queued == 10 ? 0 : 1;
}

START_TEST(queue_lengths_and_their_maximum_are_seen)
{
    counted children[10];
    belay_exec *exec = pool_of(1);
    belay_future *future;
    int status = -1;
    ck_assert_int_eq(belay_exec_call(exec, submit_children, children, NULL, NULL, &future), 0);
    ck_assert_int_eq(belay_future_wait(future, BELAY_FOREVER, &status), 0);
    ck_assert_int_eq(status, 0);
    belay_future_unref(future);
    belay_exec_stats_data metrics = pool_end(exec);
    ck_assert_uint_eq(metrics.total.queued_max, 10);
    ck_assert_uint_eq(metrics.total.own_pops, 10);
}
END_TEST

UNIT_MAIN("exec/metrics", arguments_are_checked,
          a_shorter_struct_is_filled_as_far_as_it_goes_and_a_longer_one_with_zeros,
          they_are_readable_while_the_pool_works_and_add_up_afterwards,
          queue_lengths_and_their_maximum_are_seen)
