/* Lengths of time. */
#include "unit.h"

#include <string.h>

#include "cli/duration.h"

#define S INT64_C(1000000000)

static const struct good {
    const char *text;
    int64_t ns;
} goods[] = {
    {"0", 0},
    {"90", 90 * S},
    {"1.5", 1500000000},
    {".5s", 500000000},
    {"250ms", 250000000},
    {"0.001ms", 1000},
    {"2m", 120 * S},
    {"2min", 120 * S},
    {"1.5h", 5400 * S},
    {"2d", 172800 * S},
    {"1w", 604800 * S},
    {"1h30m", 5400 * S},
    {"1d 4h 3min 2s 1ms", (86400 + 4 * 3600 + 3 * 60 + 2) * S + 1000000},
    {" 5 s ", 5 * S},
    {"2 d 4 h", (2 * 86400 + 4 * 3600) * S},
    {"1.000000001s", S + 1},
    {"0.0000000019s", 1},
};

START_TEST(good_ones_are_read)
{
    for (size_t i = 0; i < sizeof goods / sizeof goods[0]; i++) {
        int64_t ns = -1;
        const char *why = bly_duration_parse(goods[i].text, &ns);
        ck_assert_msg(why == NULL, "%s: %s", goods[i].text, why);
        ck_assert_msg(ns == goods[i].ns, "%s is %lld, not %lld", goods[i].text, (long long)ns,
                      (long long)goods[i].ns);
    }
}
END_TEST

START_TEST(bad_ones_are_refused)
{
    static const char *const texts[] = {"",
                                        " ",
                                        "s",
                                        "-1",
                                        "1x",
                                        "1h30",
                                        "1hm",
                                        "1..5",
                                        "1e3",
                                        "1 2",
                                        "1sec",
                                        "0x10",
                                        "1h-",
                                        "h1",
                                        "99999999999999999999",
                                        "400000d400000d"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        int64_t ns = -1;
        ck_assert_msg(bly_duration_parse(texts[i], &ns) != NULL, "<%s>", texts[i]);
        ck_assert_int_eq(ns, -1);
    }
}
END_TEST

START_TEST(years_and_months_are_refused_by_name)
{
    int64_t ns = 0;
    ck_assert_ptr_nonnull(strstr(bly_duration_parse("1y", &ns), "years and months"));
    ck_assert_ptr_nonnull(strstr(bly_duration_parse("2M", &ns), "years and months"));
}
END_TEST

static void check_shown(int64_t ns, const char *expected)
{
    struct bly_bytes to = {0};
    bly_duration_show(&to, ns);
    ck_assert_str_eq(bly_bytes_c(&to), expected);
    bly_bytes_free(&to);
}

START_TEST(the_two_largest_units_are_shown)
{
    check_shown(0, "0 ms");
    check_shown(120000000, "120 ms");
    check_shown(1500000000, "1.5 s");
    check_shown(40 * S, "40 s");
    check_shown(61 * S, "1 min 1 s");
    check_shown((3 * 3600 + 58 * 60 + 59) * S, "3 h 58 min");
    check_shown((2 * 86400 + 5 * 3600) * S, "2 d 5 h");
}
END_TEST

UNIT_MAIN("cli/duration", good_ones_are_read, bad_ones_are_refused,
          years_and_months_are_refused_by_name, the_two_largest_units_are_shown)
