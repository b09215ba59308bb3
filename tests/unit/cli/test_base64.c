/* Bytes as letters and back. */
#include "unit.h"

#include <string.h>

#include "cli/base64.h"

static void check(const char *bytes, size_t len, const char *letters)
{
    struct bly_bytes to = {0};
    bly_base64_add(&to, bytes, len);
    ck_assert_str_eq(bly_bytes_c(&to), letters);
    bly_bytes_clear(&to);
    ck_assert(bly_base64_decode(&to, letters));
    ck_assert_uint_eq(to.len, len);
    ck_assert_mem_eq(bly_bytes_c(&to), bytes, len);
    bly_bytes_free(&to);
}

/* The vectors of RFC 4648, and all bits. */
START_TEST(bytes_and_letters_turn_into_each_other)
{
    check("", 0, "");
    check("f", 1, "Zg==");
    check("fo", 2, "Zm8=");
    check("foo", 3, "Zm9v");
    check("foob", 4, "Zm9vYg==");
    check("fooba", 5, "Zm9vYmE=");
    check("foobar", 6, "Zm9vYmFy");
    check("\xff\x00\xfb\xef\xbe", 5, "/wD7774=");
}
END_TEST

START_TEST(what_is_not_base64_is_refused)
{
    static const char *const texts[] = {"Z", "Zg=x", "Zm9v!", "Zm 9v", "Zm9vY"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct bly_bytes to = {0};
        ck_assert_msg(!bly_base64_decode(&to, texts[i]), "<%s>", texts[i]);
        bly_bytes_free(&to);
    }
}
END_TEST

START_TEST(padding_may_be_missing)
{
    struct bly_bytes to = {0};
    ck_assert(bly_base64_decode(&to, "Zg"));
    ck_assert_str_eq(bly_bytes_c(&to), "f");
    bly_bytes_free(&to);
}
END_TEST

UNIT_MAIN("cli/base64", bytes_and_letters_turn_into_each_other, what_is_not_base64_is_refused,
          padding_may_be_missing)
