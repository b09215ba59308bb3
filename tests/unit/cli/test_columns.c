/* Tables: widths, cutting, escaping. */
#include "unit.h"

#include <string.h>
#include <unistd.h>

#include "cli/columns.h"

static const struct bly_column columns[] = {{"JOB", true}, {"ID", false}, {"COMMAND", false}};

static void check(const char *const *cells, size_t count, size_t width_max, const char *expected)
{
    struct bly_columns table = {.columns = columns, .count = 3};
    struct bly_bytes to = {0};
    for (size_t i = 0; i < count; i++) {
        bly_columns_add(&table, cells[i], strlen(cells[i]));
    }
    bly_columns_print(&table, width_max, &to);
    ck_assert_str_eq(bly_bytes_c(&to), expected);
    bly_bytes_free(&to);
    bly_columns_free(&table);
}

#define CHECK(width_max, expected, ...)                                                            \
    check((const char *const[]){__VA_ARGS__},                                                      \
          sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *), width_max, expected)

START_TEST(columns_are_as_wide_as_their_widest_cell)
{
    CHECK(0,
          " JOB  ID       COMMAND\n"
          "   7           echo a\n"
          "1234  nightly  true\n",
          "7", "", "echo a", "1234", "nightly", "true");
}
END_TEST

START_TEST(wide_and_combining_letters_count_as_a_terminal_shows_them)
{
    CHECK(0,
          "JOB  ID     COMMAND\n"
          "  1  \xe6\x9d\xb1\xe4\xba\xac   x\n"
          "  2  e\xcc\x81      x\n"
          "  3  abcde  x\n",
          "1", "\xe6\x9d\xb1\xe4\xba\xac", "x", "2", "e\xcc\x81", "x", "3", "abcde", "x");
}
END_TEST

START_TEST(lines_are_cut_at_the_width_of_the_terminal)
{
    CHECK(16,
          "JOB  ID  COMMAND\n"
          "  1  a   echo...\n"
          "  2  b   true\n",
          "1", "a", "echo one two", "2", "b", "true");
    /* a wide letter is not cut in the middle */
    CHECK(14,
          "JOB  ID  CO...\n"
          "  1  a   \xe6\x9d\xb1...\n",
          "1", "a", "\xe6\x9d\xb1\xe4\xba\xac\xe6\x9d\xb1");
}
END_TEST

START_TEST(what_a_user_gave_is_escaped)
{
    CHECK(0,
          "JOB  ID           COMMAND\n"
          "  1  \\x1b[31mred  a\\nb\n",
          "1", "\x1b[31mred", "a\nb");
    CHECK(0,
          "JOB  ID               COMMAND\n"
          "  1  \\xe2\\x80\\xaered  \\xff\n",
          "1", "\xe2\x80\xaered", "\xff");
}
END_TEST

START_TEST(a_pipe_is_no_terminal)
{
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_uint_eq(bly_columns_terminal(ends[1]), 0);
    close(ends[0]);
    close(ends[1]);
}
END_TEST

UNIT_MAIN("cli/columns", columns_are_as_wide_as_their_widest_cell,
          wide_and_combining_letters_count_as_a_terminal_shows_them,
          lines_are_cut_at_the_width_of_the_terminal, what_a_user_gave_is_escaped,
          a_pipe_is_no_terminal)
