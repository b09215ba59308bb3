/*
 * test_version.c: the version as text and as numbers.
 */
#include "unit.h"

#include "belay/base.h"

#include <stdio.h>

START_TEST(text_agrees_with_the_numbers)
{
    int major, minor, patch, len = 0;
    ck_assert_int_eq(sscanf(belay_version(), "%d.%d.%d%n", &major, &minor, &patch, &len), 3);
    ck_assert_int_eq(major, BELAY_VERSION_MAJOR);
    ck_assert_int_eq(minor, BELAY_VERSION_MINOR);
    ck_assert_int_eq(patch, BELAY_VERSION_PATCH);
    ck_assert_int_eq(belay_version()[len], '\0');
}
END_TEST

UNIT_MAIN("base/version", text_agrees_with_the_numbers)
