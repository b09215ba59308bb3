/*
 * test_submit.c: what becomes of a submitted task.
 */
#include "pool.h"
#include "unit.h"

#include <stdlib.h>

START_TEST(a_task_runs_once)
{
    belay_exec *exec = pool_of(2);
    event told = {0};
    counted one = counted_of(&told);
    ck_assert_int_eq(belay_exec_submit(exec, &one.task), 0);
    event_await(&told, 1);
    belay_exec_metrics metrics = pool_end(exec);
    ck_assert_uint_eq(one.runs, 1);
    ck_assert_uint_eq(one.drops, 0);
    ck_assert_uint_eq(metrics.total.executed, 1);
}
END_TEST

UNIT_MAIN("exec/submit", a_task_runs_once)
