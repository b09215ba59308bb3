/* Quoting for the shell and for a person's eyes. */
#include "unit.h"

#include <string.h>

#include "cli/quote.h"

static void check(enum bly_quote quote, const char *from, const char *expected)
{
    struct bly_bytes to = {0};
    bly_quote_add(&to, quote, from, strlen(from));
    ck_assert_str_eq(bly_bytes_c(&to), expected);
    bly_bytes_free(&to);
}

START_TEST(each_place_is_quoted_its_own_way)
{
    check(BLY_QUOTE_NONE, "a'b\"$", "a'b\"$");
    check(BLY_QUOTE_BARE, "a", "'a'");
    check(BLY_QUOTE_BARE, "", "''");
    check(BLY_QUOTE_BARE, "a'b", "'a'\\''b'");
    check(BLY_QUOTE_SINGLE, "a'b\"$", "a'\\''b\"$");
    check(BLY_QUOTE_DOUBLE, "a'b\"$`\\\n", "a'b\\\"\\$\\`\\\\\n");
    check(BLY_QUOTE_WORD, "a/b.c-1_2:3,4@5%", "a/b.c-1_2:3,4@5%");
    check(BLY_QUOTE_WORD, "a b", "'a b'");
    check(BLY_QUOTE_WORD, "a=b", "'a=b'");
    check(BLY_QUOTE_WORD, "then", "'then'");
    check(BLY_QUOTE_WORD, "", "''");
}
END_TEST

START_TEST(a_command_is_written_as_one_types_it)
{
    struct bly_words words = {0};
    struct bly_bytes to = {0};
    bly_words_text(&words, "X=1");
    bly_words_text(&words, "X=1");
    bly_words_text(&words, "a b");
    bly_quote_argv(&to, &words);
    ck_assert_str_eq(bly_bytes_c(&to), "'X=1' X=1 'a b'");
    bly_bytes_free(&to);
    bly_words_free(&words);
}
END_TEST

static void check_shown(const char *from, size_t len, const char *expected)
{
    struct bly_bytes to = {0};
    bly_quote_show(&to, from, len, 40);
    ck_assert_str_eq(bly_bytes_c(&to), expected);
    bly_bytes_free(&to);
}

START_TEST(nothing_shown_reaches_a_terminal_raw)
{
    check_shown("plain caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", 20,
                "plain caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
    check_shown("a\nb\tc\x1b[31m\x7f", 11, "a\\nb\\tc\\x1b[31m\\x7f");
    check_shown("a\xffz", 3, "a\\xffz");
    check_shown("\xc3", 1, "\\xc3");
    check_shown("\xe2\x82", 2, "\\xe2\\x82");
    check_shown("\xc0\xaf", 2, "\\xc0\\xaf");            /* longer than needed */
    check_shown("\xed\xa0\x80", 3, "\\xed\\xa0\\x80");   /* a surrogate */
    check_shown("\xe2\x80\xae!", 4, "\\xe2\\x80\\xae!"); /* right to left override */
    check_shown("\xc2\x9b", 2, "\\xc2\\x9b");            /* a control of eight bits */
    check_shown("\xe2\x80\x8bx", 4, "\\xe2\\x80\\x8bx"); /* no width */
}
END_TEST

START_TEST(long_texts_are_cut)
{
    static const char text[] = "0123456789012345678901234567890123456789xyz";
    check_shown(text, 40, "0123456789012345678901234567890123456789");
    check_shown(text, 43, "0123456789012345678901234567890123456789...");
}
END_TEST

UNIT_MAIN("cli/quote", each_place_is_quoted_its_own_way, a_command_is_written_as_one_types_it,
          nothing_shown_reaches_a_terminal_raw, long_texts_are_cut)
