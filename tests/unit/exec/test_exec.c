/*
 * test_exec.c: making a pool, with options of any kind and with failures at every point.
 */
#include "fault.h"
#include "pool.h"
#include "unit.h"

#include <sched.h>

#include <string.h>

START_TEST(options_are_checked)
{
    belay_exec *exec = NULL;
    const belay_exec_opts wrong[] = {
        {.size = 1},
        {.size = sizeof(belay_exec_opts), .workers = BELAY_EXEC_WORKERS_MAX + 1},
        {.size = sizeof(belay_exec_opts), .reserved = 1},
        {.size = sizeof(belay_exec_opts), .stack_size = BELAY_EXEC_STACK_MIN - 1},
    };
    for (size_t i = 0; i < bly_count(wrong); i++) {
        ck_assert_int_eq(belay_exec_create(&wrong[i], &exec), BELAY_EINVAL);
        ck_assert_ptr_null(exec);
    }
    ck_assert_int_eq(belay_exec_create(NULL, NULL), BELAY_EINVAL);
}
END_TEST

START_TEST(no_options_give_a_pool_of_this_machines_size)
{
    belay_exec *exec = NULL;
    ck_assert_int_eq(belay_exec_create(NULL, &exec), 0);
    ck_assert_uint_ge(pool_stats(exec).workers, 1);
    pool_end(exec);
}
END_TEST

START_TEST(a_shorter_struct_and_a_longer_one_that_ends_in_zeros_are_taken)
{
    struct {
        belay_exec_opts opts;
        char tail[8];
    } longer = {.opts = {.size = sizeof longer, .workers = 3}};
    belay_exec *exec = NULL;
    ck_assert_int_eq(belay_exec_create(&longer.opts, &exec), 0);
    ck_assert_uint_eq(pool_stats(exec).workers, 3);
    pool_end(exec);
    longer.tail[7] = 1;
    ck_assert_int_eq(belay_exec_create(&longer.opts, &exec), BELAY_EINVAL);
    longer.opts.size = offsetof(belay_exec_opts, queue_max);
    longer.opts.queue_max = BELAY_NONE;
    ck_assert_int_eq(belay_exec_create(&longer.opts, &exec), 0);
    counted one = counted_of(NULL);
    ck_assert_int_eq(belay_exec_submit(exec, &one.task), 0);
    pool_end(exec);
}
END_TEST

START_TEST(the_name_is_copied)
{
    char name[] = "once";
    belay_exec *exec =
        pool_tuned((belay_exec_opts){.workers = 1, .name = name}, bly_exec_tuning_default());
    memset(name, 'x', sizeof name - 1);
    pool_end(exec);
}
END_TEST

START_TEST(an_allocation_that_fails_at_any_point_leaves_nothing)
{
    belay_exec_opts opts = {.size = sizeof opts, .workers = 3};
    belay_exec *exec = NULL;
    int result = BELAY_ENOMEM;
    uint32_t failures = 0;
    for (uint32_t k = 1; result == BELAY_ENOMEM; k++) {
        fault_alloc_once(k);
        result = belay_exec_create(&opts, &exec);
        failures += result == BELAY_ENOMEM;
        ck_assert(result == 0 || exec == NULL);
    }
    (void)fault_alloc_stop();
    ck_assert_int_eq(result, 0);
    ck_assert_uint_ge(failures, 4 + 2 * 3);
    pool_end(exec);
}
END_TEST

static uint32_t hooks_called;

static void count_hook(uint32_t worker, void *arg)
{
    (void)worker;
    (void)arg;
    bly_fetch_add(&hooks_called, 1u, BLY_SEQ_CST);
}

static void count_terminated(void *arg)
{
    count_hook(0, arg);
}

START_TEST(a_thread_that_cannot_be_made_at_any_point_leaves_nothing_and_calls_no_hook)
{
    belay_exec_opts opts = {.size = sizeof opts,
                            .workers = 4,
                            .start_hook = count_hook,
                            .stop_hook = count_hook,
                            .on_terminated = count_terminated};
    belay_exec *exec = NULL;
    for (uint32_t k = 1; k <= 4; k++) {
        fault_thread_once(k);
        ck_assert_int_eq(belay_exec_create(&opts, &exec), BELAY_EAGAIN);
        ck_assert_ptr_null(exec);
    }
    ck_assert_uint_eq(hooks_called, 0);
    ck_assert_int_eq(belay_exec_create(&opts, &exec), 0);
    pool_end(exec);
    ck_assert_uint_eq(hooks_called, 9);
}
END_TEST

static int return_zero(void *arg)
{
    (void)arg;
    return 0;
}

START_TEST(a_call_without_memory_is_refused_and_leaves_nothing)
{
    belay_exec *exec = pool_of(1);
    belay_future *future = NULL;
    fault_alloc_once(1);
    ck_assert_int_eq(belay_exec_call(exec, return_zero, NULL, NULL, NULL, &future), BELAY_ENOMEM);
    ck_assert_ptr_null(future);
    ck_assert_uint_eq(pool_stats(exec).outstanding, 0);
    ck_assert_uint_eq(pool_stats(exec).queued_roots, 0);
    ck_assert_int_eq(belay_exec_call(exec, return_zero, NULL, NULL, NULL, NULL), 0);
    ck_assert_uint_eq(pool_end(exec).total.executed, 1);
}
END_TEST

static void create_in_task(belay_task *task)
{
    (void)task;
    belay_exec *inner = pool_of(1);
    counted one = counted_of(NULL);
    ck_assert_int_eq(belay_exec_submit(inner, &one.task), 0);
    ck_assert_uint_eq(pool_end(inner).total.executed, 1);
}

START_TEST(a_task_may_make_use_and_destroy_another_pool)
{
    belay_exec *exec = pool_of(1);
    belay_task task = {.run = create_in_task};
    ck_assert_int_eq(belay_exec_submit(exec, &task), 0);
    ck_assert_uint_eq(pool_end(exec).total.executed, 1);
}
END_TEST

START_TEST(a_pool_on_one_allowed_cpu_has_one_worker)
{
    cpu_set_t all, one;
    CPU_ZERO(&one);
    ck_assert_int_eq(sched_getaffinity(0, sizeof all, &all), 0);
    for (int cpu = 0; CPU_COUNT(&one) == 0; cpu++) {
        if (CPU_ISSET(cpu, &all)) {
            CPU_SET(cpu, &one);
        }
    }
    ck_assert_int_eq(sched_setaffinity(0, sizeof one, &one), 0);
    belay_exec *exec = pool_of(0);
    ck_assert_uint_eq(pool_stats(exec).workers, 1);
    pool_end(exec);
}
END_TEST

UNIT_MAIN("exec/exec", options_are_checked, no_options_give_a_pool_of_this_machines_size,
          a_shorter_struct_and_a_longer_one_that_ends_in_zeros_are_taken, the_name_is_copied,
          an_allocation_that_fails_at_any_point_leaves_nothing,
          a_thread_that_cannot_be_made_at_any_point_leaves_nothing_and_calls_no_hook,
          a_call_without_memory_is_refused_and_leaves_nothing,
          a_task_may_make_use_and_destroy_another_pool, a_pool_on_one_allowed_cpu_has_one_worker)
