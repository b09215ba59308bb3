/*
 * test_assert.c: the three levels of assertions.
 */
#include "aborts.h"
#include "unit.h"

#include "base/assert.h"

static int evaluated;

static int count_and_fail(void)
{
    evaluated++;
    return 0;
}

static void fail_always(void)
{
    int permits = 1;
    bly_assert(permits == 2);
}

static void fail_debug(void)
{
    bly_assert_debug(count_and_fail() == 1);
}

static void fail_deep(void)
{
    bly_assert_deep(count_and_fail() == 2);
}

START_TEST(broken_invariant_is_named_with_its_place)
{
    ck_assert_aborts(fail_always, "belay: broken invariant: permits == 2 (");
    ck_assert_aborts(fail_always, "test_assert.c:");
}
END_TEST

START_TEST(true_conditions_pass_and_are_evaluated_once)
{
    evaluated = 0;
    bly_assert(count_and_fail() == 0);
    ck_assert_int_eq(evaluated, 1);
    bly_assert_debug(count_and_fail() == 0);
    bly_assert_deep(count_and_fail() == 0);
    ck_assert_int_eq(evaluated, BELAY_DEBUG ? 3 : 1);
}
END_TEST

START_TEST(debug_levels_abort_in_debug_builds_alone)
{
    if (BELAY_DEBUG) {
        ck_assert_aborts(fail_debug, "count_and_fail() == 1");
        ck_assert_aborts(fail_deep, "count_and_fail() == 2");
    } else {
        fail_debug();
        fail_deep();
        ck_assert_int_eq(evaluated, 0);
    }
}
END_TEST

START_TEST(container_leads_back_to_the_object)
{
    struct {
        int first;
        long member;
    } object = {1, 2};
    ck_assert_ptr_eq(bly_container(&object.member, __typeof__(object), member), &object);
}
END_TEST

UNIT_MAIN("base/assert", broken_invariant_is_named_with_its_place,
          true_conditions_pass_and_are_evaluated_once, debug_levels_abort_in_debug_builds_alone,
          container_leads_back_to_the_object)
