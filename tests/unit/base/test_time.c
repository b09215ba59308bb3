/*
 * test_time.c: adding to times.
 */
#include "unit.h"

#include "belay/base.h"

START_TEST(ordinary_sums_are_exact)
{
    ck_assert_int_eq(belay_time_add(5, 7), 12);
    ck_assert_int_eq(belay_time_add(5, -7), -2);
    ck_assert_int_eq(belay_time_add(0, INT64_MAX - 1), INT64_MAX - 1);
}
END_TEST

START_TEST(sums_too_large_are_forever)
{
    ck_assert_int_eq(belay_time_add(1, INT64_MAX), BELAY_FOREVER);
    ck_assert_int_eq(belay_time_add(INT64_MAX - 1, 1), BELAY_FOREVER);
    ck_assert_int_eq(belay_time_add(INT64_MAX - 1, INT64_MAX), BELAY_FOREVER);
}
END_TEST

START_TEST(sums_too_small_stay_above_now)
{
    ck_assert_int_eq(belay_time_add(INT64_MIN + 1, -1), BELAY_NOW + 1);
    ck_assert_int_eq(belay_time_add(INT64_MIN + 2, -5), BELAY_NOW + 1);
    ck_assert_int_eq(belay_time_add(-5, INT64_MIN), BELAY_NOW + 1);
    ck_assert_int_eq(belay_time_add(0, INT64_MIN), BELAY_NOW + 1);
}
END_TEST

START_TEST(now_and_forever_do_not_move)
{
    ck_assert_int_eq(belay_time_add(BELAY_NOW, 10), BELAY_NOW);
    ck_assert_int_eq(belay_time_add(BELAY_NOW, INT64_MAX), BELAY_NOW);
    ck_assert_int_eq(belay_time_add(BELAY_FOREVER, -10), BELAY_FOREVER);
    ck_assert_int_eq(belay_time_add(BELAY_FOREVER, INT64_MIN), BELAY_FOREVER);
}
END_TEST

UNIT_MAIN("base/time", ordinary_sums_are_exact, sums_too_large_are_forever,
          sums_too_small_stay_above_now, now_and_forever_do_not_move)
