/* The places in which jobs run. */
#include "unit.h"

#include "cli/jobslots.h"
#include "cli/sems.h"

START_TEST(the_lowest_free_slot_is_taken)
{
    struct bly_jobslots slots;
    belay_timers *timers = bly_sems_open();
    bly_jobslots_init(&slots, 3, 5, timers);
    ck_assert_uint_eq(bly_jobslots_take(&slots), 1);
    ck_assert_uint_eq(bly_jobslots_take(&slots), 2);
    ck_assert_uint_eq(bly_jobslots_take(&slots), 3);
    ck_assert(!bly_jobslots_has_free(&slots));
    bly_jobslots_give(&slots, 2);
    ck_assert(bly_jobslots_has_free(&slots));
    ck_assert_uint_eq(bly_jobslots_take(&slots), 2);
    for (uint32_t slot = 1; slot <= 3; slot++) {
        bly_jobslots_give(&slots, slot);
    }
    ck_assert_uint_eq(slots.running, 0);
    bly_jobslots_free(&slots);
    bly_sems_close(timers);
}
END_TEST

START_TEST(slots_are_opened_and_closed_within_bounds)
{
    struct bly_jobslots slots;
    belay_timers *timers = bly_sems_open();
    bly_jobslots_init(&slots, 1, 2, timers);
    ck_assert_uint_eq(bly_jobslots_take(&slots), 1);
    bly_jobslots_change(&slots, 1);
    ck_assert(bly_jobslots_has_free(&slots));
    bly_jobslots_change(&slots, 1);
    ck_assert_uint_eq(slots.open, 2);
    ck_assert_uint_eq(bly_jobslots_take(&slots), 2);
    bly_jobslots_change(&slots, -1);
    bly_jobslots_change(&slots, -1);
    ck_assert_uint_eq(slots.open, 1);
    ck_assert(!bly_jobslots_has_free(&slots));
    bly_jobslots_give(&slots, 1);
    ck_assert(!bly_jobslots_has_free(&slots));
    bly_jobslots_give(&slots, 2);
    ck_assert(bly_jobslots_has_free(&slots));
    bly_jobslots_free(&slots);
    bly_sems_close(timers);
}
END_TEST

UNIT_MAIN("cli/jobslots", the_lowest_free_slot_is_taken, slots_are_opened_and_closed_within_bounds)
