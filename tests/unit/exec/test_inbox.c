/*
 * test_inbox.c: the list of an inbox and the one link of a task.
 */
#include "exec/inbox.h"
#include "unit.h"

static void run_nothing(belay_task *task)
{
    (void)task;
}

START_TEST(tasks_come_out_in_the_order_they_went_in_with_their_kind)
{
    static const bly_work works[] = {BLY_ROOT, BLY_DELIVERY, BLY_CHILD, BLY_ROOT, BLY_DELIVERY};
    belay_task tasks[bly_count(works)] = {{0}};
    bly_inbox inbox = {0};
    for (size_t i = 0; i < bly_count(works); i++) {
        tasks[i].run = run_nothing;
        ck_assert(bly_task_claim(&tasks[i]));
        bly_inbox_put(&inbox, &tasks[i], works[i]);
    }
    ck_assert_uint_eq(bly_inbox_count(&inbox), bly_count(works));
    for (size_t i = 0; i < bly_count(works); i++) {
        bly_item item = bly_inbox_take(&inbox);
        ck_assert_ptr_eq(item.task, &tasks[i]);
        ck_assert_int_eq(item.work, works[i]);
    }
    ck_assert_ptr_null(bly_inbox_take(&inbox).task);
    ck_assert_uint_eq(bly_inbox_count(&inbox), 0);
}
END_TEST

START_TEST(an_emptied_inbox_takes_again)
{
    belay_task task = {.run = run_nothing};
    bly_inbox inbox = {0};
    for (int i = 0; i < 3; i++) {
        ck_assert(bly_task_claim(&task));
        bly_inbox_put(&inbox, &task, BLY_ROOT);
        ck_assert_ptr_eq(bly_inbox_take(&inbox).task, &task);
        bly_task_release(&task);
    }
}
END_TEST

START_TEST(a_task_is_claimed_once_until_it_is_released)
{
    belay_task task = {.run = run_nothing};
    bly_inbox inbox = {0};
    ck_assert(bly_task_claim(&task));
    ck_assert(!bly_task_claim(&task));
    bly_inbox_put(&inbox, &task, BLY_ROOT);
    ck_assert(!bly_task_claim(&task));
    ck_assert_ptr_nonnull(bly_inbox_take(&inbox).task);
    ck_assert(!bly_task_claim(&task));
    bly_task_release(&task);
    ck_assert_ptr_null(task.next);
    ck_assert(bly_task_claim(&task));
}
END_TEST

UNIT_MAIN("exec/inbox", tasks_come_out_in_the_order_they_went_in_with_their_kind,
          an_emptied_inbox_takes_again, a_task_is_claimed_once_until_it_is_released)
