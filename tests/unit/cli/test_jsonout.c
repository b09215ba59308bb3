/* Lines of JSON. */
#include "unit.h"

#include <stdlib.h>
#include <time.h>

#include "cli/jsonout.h"

static void check(json_t *value, const char *expected)
{
    struct bly_bytes to = {0};
    json_t *object = bly_json_object();
    bly_json_set(object, "v", value);
    bly_json_line(&to, object);
    ck_assert_str_eq(bly_bytes_c(&to), expected);
    bly_bytes_free(&to);
}

START_TEST(bytes_are_strings_where_they_are_utf_8)
{
    check(bly_json_bytes("caf\xc3\xa9 \"\n", 8), "{\"v\":\"caf\xc3\xa9 \\\"\\n\"}\n");
    check(bly_json_bytes("a\0b", 3), "{\"v\":\"a\\u0000b\"}\n");
    check(bly_json_bytes(NULL, 0), "{\"v\":\"\"}\n");
    check(bly_json_bytes("\xff\xfe", 2), "{\"v\":{\"b64\":\"//4=\"}}\n");
    check(bly_json_bytes("\xed\xa0\x80", 3), "{\"v\":{\"b64\":\"7aCA\"}}\n");
}
END_TEST

START_TEST(moments_have_a_zone_and_zero_is_none)
{
    setenv("TZ", "UTC0", 1);
    tzset();
    check(bly_json_moment(INT64_C(1774695600) * 1000000000), "{\"v\":\"2026-03-28T11:00:00Z\"}\n");
    check(bly_json_moment(0), "{\"v\":null}\n");
}
END_TEST

START_TEST(lengths_are_seconds)
{
    check(bly_json_seconds(1500000000), "{\"v\":1.5}\n");
}
END_TEST

UNIT_MAIN("cli/jsonout", bytes_are_strings_where_they_are_utf_8,
          moments_have_a_zone_and_zero_is_none, lengths_are_seconds)
