/* Counts, sizes, and amounts relative to the CPUs. */
#include "unit.h"

#include "cli/number.h"

START_TEST(counts_have_digits_and_bounds)
{
    uint64_t value = 7;
    ck_assert_ptr_null(bly_number_parse("0", 0, 10, &value));
    ck_assert_uint_eq(value, 0);
    ck_assert_ptr_null(bly_number_parse("18446744073709551615", 0, UINT64_MAX, &value));
    ck_assert_uint_eq(value, UINT64_MAX);
    ck_assert_str_eq(bly_number_parse("0", 1, 10, &value), "it is too small");
    ck_assert_str_eq(bly_number_parse("11", 1, 10, &value), "it is too large");
    ck_assert_str_eq(bly_number_parse("18446744073709551616", 0, UINT64_MAX, &value),
                     "it is too large");
    ck_assert_str_eq(bly_number_parse("", 0, 10, &value), "it is not a whole number");
    ck_assert_str_eq(bly_number_parse("-1", 0, 10, &value), "it is not a whole number");
    ck_assert_str_eq(bly_number_parse("1x", 0, 10, &value), "it is not a whole number");
    ck_assert_uint_eq(value, UINT64_MAX);
}
END_TEST

static void check_size(const char *text, uint64_t bytes)
{
    uint64_t value = 0;
    ck_assert_ptr_null(bly_number_size(text, &value));
    ck_assert_uint_eq(value, bytes);
}

START_TEST(sizes_have_units_of_both_kinds)
{
    uint64_t value = 0;
    check_size("500", 500);
    check_size("1K", 1024);
    check_size("1k", 1000);
    check_size("2M", 2097152);
    check_size("1.5G", 1610612736);
    check_size("1t", 1000000000000);
    ck_assert_ptr_nonnull(bly_number_size("", &value));
    ck_assert_ptr_nonnull(bly_number_size("M", &value));
    ck_assert_ptr_nonnull(bly_number_size("1X", &value));
    ck_assert_ptr_nonnull(bly_number_size("1MB", &value));
}
END_TEST

static uint32_t jobs(const char *text, uint32_t cpus)
{
    struct bly_amount amount = {0};
    ck_assert_ptr_null(bly_number_amount(text, false, &amount));
    return bly_number_jobs(&amount, cpus, 100);
}

START_TEST(jobs_may_depend_on_the_cpus)
{
    struct bly_amount none = {0};
    ck_assert_uint_eq(bly_number_jobs(&none, 4, 100), 4);
    ck_assert_uint_eq(jobs("3", 4), 3);
    ck_assert_uint_eq(jobs("50%", 4), 2);
    ck_assert_uint_eq(jobs("37.5%", 8), 3);
    ck_assert_uint_eq(jobs("1%", 4), 1);
    ck_assert_uint_eq(jobs("+2", 4), 6);
    ck_assert_uint_eq(jobs("-1", 4), 3);
    ck_assert_uint_eq(jobs("-9", 4), 1);
    ck_assert_uint_eq(jobs("0", 4), 100);
    ck_assert_uint_eq(jobs("500", 4), 100);
}
END_TEST

START_TEST(what_is_no_amount_is_refused)
{
    static const char *const texts[] = {"", "x", "+", "%", "1%%", "+50%", "1.5", "1 ", "--1"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct bly_amount amount = {0};
        ck_assert_msg(bly_number_amount(texts[i], false, &amount) != NULL, "<%s>", texts[i]);
    }
}
END_TEST

START_TEST(a_load_may_have_decimals)
{
    struct bly_amount amount = {0};
    ck_assert_double_lt(bly_number_load(&amount, 4), 0);
    ck_assert_ptr_null(bly_number_amount("1.5", true, &amount));
    ck_assert_double_eq(bly_number_load(&amount, 4), 1.5);
    ck_assert_ptr_null(bly_number_amount("100%", true, &amount));
    ck_assert_double_eq(bly_number_load(&amount, 4), 4);
    ck_assert_ptr_null(bly_number_amount("-9", true, &amount));
    ck_assert_double_gt(bly_number_load(&amount, 4), 0);
}
END_TEST

UNIT_MAIN("cli/number", counts_have_digits_and_bounds, sizes_have_units_of_both_kinds,
          jobs_may_depend_on_the_cpus, what_is_no_amount_is_refused, a_load_may_have_decimals)
