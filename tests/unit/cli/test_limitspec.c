/* The words for named limits. */
#include "unit.h"

#include <string.h>

#include "cli/limitspec.h"
#include "cli/name.h"

static void check(const char *text, size_t name_len, uint32_t permits, uint32_t capacity)
{
    struct bly_limitspec spec = {0};
    ck_assert_ptr_null(bly_limitspec_parse(text, &spec));
    ck_assert_ptr_eq(spec.name, text);
    ck_assert_uint_eq(spec.name_len, name_len);
    ck_assert_uint_eq(spec.permits, permits);
    ck_assert_uint_eq(spec.capacity, capacity);
}

START_TEST(the_three_forms_are_read)
{
    check("db", 2, 1, 0);
    check("db:3", 2, 3, 0);
    check("db=4", 2, 1, 4);
}
END_TEST

START_TEST(other_forms_are_refused)
{
    static const char *const texts[] = {"",    ":1",    "=1",    "a:",   "a=",    "a:0",      "a=0",
                                        "a:x", "a:1=2", "a=1:2", "a\nb", "a\x7f", "a=1000001"};
    struct bly_limitspec spec = {0};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        ck_assert_msg(bly_limitspec_parse(texts[i], &spec) != NULL, "<%s>", texts[i]);
    }
    char name[BLY_CLI_NAME_MAX + 2];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    ck_assert_ptr_nonnull(bly_limitspec_parse(name, &spec));
    ck_assert_ptr_null(bly_limitspec_parse(name + 1, &spec));
}
END_TEST

UNIT_MAIN("cli/limitspec", the_three_forms_are_read, other_forms_are_refused)
