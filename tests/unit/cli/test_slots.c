/* The places in which jobs run. */
#include "unit.h"

#include "cli/slots.h"

START_TEST(the_lowest_free_slot_is_taken)
{
    struct bly_slots slots;
    bly_slots_init(&slots, 3, 5);
    ck_assert_uint_eq(bly_slots_take(&slots), 1);
    ck_assert_uint_eq(bly_slots_take(&slots), 2);
    ck_assert_uint_eq(bly_slots_take(&slots), 3);
    ck_assert(!bly_slots_has_free(&slots));
    bly_slots_give(&slots, 2);
    ck_assert(bly_slots_has_free(&slots));
    ck_assert_uint_eq(bly_slots_take(&slots), 2);
    bly_slots_free(&slots);
}
END_TEST

START_TEST(slots_are_opened_and_closed_within_bounds)
{
    struct bly_slots slots;
    bly_slots_init(&slots, 1, 2);
    ck_assert_uint_eq(bly_slots_take(&slots), 1);
    bly_slots_change(&slots, 1);
    ck_assert(bly_slots_has_free(&slots));
    bly_slots_change(&slots, 1);
    ck_assert_uint_eq(slots.open, 2);
    ck_assert_uint_eq(bly_slots_take(&slots), 2);
    bly_slots_change(&slots, -1);
    bly_slots_change(&slots, -1);
    ck_assert_uint_eq(slots.open, 1);
    ck_assert(!bly_slots_has_free(&slots));
    bly_slots_give(&slots, 1);
    ck_assert(!bly_slots_has_free(&slots));
    bly_slots_give(&slots, 2);
    ck_assert(bly_slots_has_free(&slots));
    bly_slots_free(&slots);
}
END_TEST

UNIT_MAIN("cli/slots", the_lowest_free_slot_is_taken, slots_are_opened_and_closed_within_bounds)
