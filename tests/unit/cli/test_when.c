/* Moments, read and shown, with the clocks of Berlin. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/when.h"

#define S INT64_C(1000000000)

/* 2026-03-28T12:00:00+01:00, the day before the clocks go forward at 02:00. */
#define NOW (INT64_C(1774695600) * S)

static void use_berlin(void)
{
    setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
    tzset();
}

static void check(const char *text, int64_t seconds)
{
    int64_t ns = -1;
    const char *why = bly_when_parse(text, NOW, &ns);
    ck_assert_msg(why == NULL, "%s: %s", text, why);
    ck_assert_msg(ns == seconds * S, "%s is %lld, not %lld", text, (long long)(ns / S),
                  (long long)seconds);
}

START_TEST(moments_are_read_in_local_time_or_their_zone)
{
    use_berlin();
    check("now", 1774695600);
    check("now+90", 1774695690);
    check("now+1h30m", 1774695600 + 5400);
    check("@1774700000", 1774700000);
    check("13:00", 1774695600 + 3600);
    check("13:00:01", 1774695600 + 3601);
    check("2026-03-28T13:00", 1774695600 + 3600);
    check("2026-03-28 13:00:30", 1774695600 + 3630);
    check("2026-03-28T12:00:00Z", 1774695600 + 3600);
    check("2026-03-28T13:00+01:00", 1774695600 + 3600);
    check("2026-03-28T08:00-0500", 1774695600 + 7200);
    check("2026-03-28 13:00 +01:00", 1774695600 + 3600);
    check("2026-03-30", 1774821600);
}
END_TEST

START_TEST(a_time_of_day_that_is_past_is_tomorrow)
{
    use_berlin();
    /* tomorrow has 23 hours before 11:00 of the new clocks */
    check("11:00", 1774695600 + 22 * 3600);
    check("12:00", 1774695600 + 23 * 3600);
}
END_TEST

START_TEST(a_time_that_the_clocks_skip_is_the_next_there_is)
{
    use_berlin();
    /* 02:30 does not exist on the 29th: the 30th has one */
    check("02:30", 1774830600);
}
END_TEST

START_TEST(what_is_no_moment_is_refused)
{
    static const char *const texts[] = {
        "",
        "25:00",
        "12:60",
        "1:00",
        "12:0",
        "12:00x",
        "tomorrow",
        "now+",
        "now+1y",
        "nowish",
        "@",
        "@x",
        "@-1",
        "2026-13-01",
        "2026-02-30",
        "2026-03-29T02:30",
        "2026-03-30T25:00",
        "2026-03-30T10:00+1",
        "2026-03-30T10:00 CET",
        "2026-3-30",
        "@99999999999999999999",
        "2026-03-30T",
        "2026-03-30T10:00+25:00",
    };
    use_berlin();
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        int64_t ns = 0;
        ck_assert_msg(bly_when_parse(texts[i], NOW, &ns) != NULL, "<%s>", texts[i]);
    }
}
END_TEST

START_TEST(a_full_date_that_is_past_is_refused)
{
    int64_t ns = 0;
    use_berlin();
    ck_assert_ptr_nonnull(strstr(bly_when_parse("2026-03-28T11:59", NOW, &ns), "past"));
    ck_assert_ptr_nonnull(strstr(bly_when_parse("2025-01-01", NOW, &ns), "past"));
}
END_TEST

static void check_shown(int64_t seconds, const char *expected)
{
    struct bly_bytes to = {0};
    bly_when_show(&to, seconds * S);
    ck_assert_str_eq(bly_bytes_c(&to), expected);
    bly_bytes_free(&to);
}

START_TEST(moments_are_shown_by_rfc_3339)
{
    use_berlin();
    check_shown(1774695600, "2026-03-28T12:00:00+01:00");
    check_shown(1774821600, "2026-03-30T00:00:00+02:00");
    setenv("TZ", "UTC0", 1);
    tzset();
    check_shown(1774695600, "2026-03-28T11:00:00Z");
    setenv("TZ", "XST3:30", 1);
    tzset();
    check_shown(1774695600, "2026-03-28T07:30:00-03:30");
}
END_TEST

UNIT_MAIN("cli/when", moments_are_read_in_local_time_or_their_zone,
          a_time_of_day_that_is_past_is_tomorrow, a_time_that_the_clocks_skip_is_the_next_there_is,
          what_is_no_moment_is_refused, a_full_date_that_is_past_is_refused,
          moments_are_shown_by_rfc_3339)
