/* The median in constant memory. */
#include "unit.h"

#include "cli/median.h"

START_TEST(it_is_near_the_true_one)
{
    static const int64_t values[] = {1, 15, 16, 17, 100, 12345, 1000000000, INT64_MAX};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        struct bly_median median = {0};
        bly_median_add(&median, values[i]);
        ck_assert_int_ge(bly_median_get(&median), values[i]);
        ck_assert_int_le(bly_median_get(&median) - values[i], values[i] / 16);
    }
}
END_TEST

START_TEST(half_of_the_values_are_at_most_it)
{
    struct bly_median median = {0};
    ck_assert_int_eq(bly_median_get(&median), 0);
    for (int64_t value = 1; value <= 9; value++) {
        bly_median_add(&median, value);
    }
    ck_assert_int_eq(bly_median_get(&median), 5);
    bly_median_add(&median, 1000);
    bly_median_add(&median, 1000);
    ck_assert_int_eq(bly_median_get(&median), 6);
}
END_TEST

START_TEST(zero_is_a_value)
{
    struct bly_median median = {0};
    bly_median_add(&median, 0);
    ck_assert_uint_eq(median.count, 1);
    ck_assert_int_eq(bly_median_get(&median), 0);
}
END_TEST

UNIT_MAIN("cli/median", it_is_near_the_true_one, half_of_the_values_are_at_most_it, zero_is_a_value)
