/* Rows of several sources. */
#include "unit.h"

#include <string.h>
#include <unistd.h>

#include "rows_of.h"

/* All rows: their words joined by '-', a blank between rows. */
static const char *all(struct bly_rows *rows)
{
    static struct bly_bytes text;
    struct bly_words row = {0};
    bly_bytes_clear(&text);
    while (bly_rows_next(rows, &row) == BLY_INPUT_RECORD) {
        bly_bytes_text(&text, text.len > 0 ? " " : "");
        for (size_t i = 0; i < row.count; i++) {
            bly_bytes_print(&text, "%s%s", i > 0 ? "-" : "", bly_words_at(&row, i));
        }
        bly_words_clear(&row);
    }
    bly_words_free(&row);
    bly_rows_destroy(rows);
    return bly_bytes_c(&text);
}

static const char *combine(const char *sources)
{
    struct bly_rows rows = {0};
    rows_of(&rows, sources);
    return all(&rows);
}

START_TEST(one_source_is_its_records)
{
    ck_assert_str_eq(combine("a b c"), "a b c");
}
END_TEST

START_TEST(sources_are_combined_the_last_changing_fastest)
{
    ck_assert_str_eq(combine("a b|1 2"), "a-1 a-2 b-1 b-2");
    ck_assert_str_eq(combine("a b|1|x y z"), "a-1-x a-1-y a-1-z b-1-x b-1-y b-1-z");
}
END_TEST

START_TEST(linked_sources_go_together_to_the_shortest)
{
    ck_assert_str_eq(combine("a b+1 2"), "a-1 b-2");
    ck_assert_str_eq(combine("a b c+1 2"), "a-1 b-2");
    ck_assert_str_eq(combine("a b+1 2 3|x y"), "a-1-x a-1-y b-2-x b-2-y");
    ck_assert_str_eq(combine("x y|a b+1 2"), "x-a-1 x-b-2 y-a-1 y-b-2");
}
END_TEST

START_TEST(with_link_the_shorter_begin_again)
{
    struct bly_rows rows = {.wraps = true};
    rows_of(&rows, "a b c|1 2");
    ck_assert_str_eq(all(&rows), "a-1 b-2 c-1");
}
END_TEST

START_TEST(an_empty_source_leaves_no_rows)
{
    struct bly_rows rows = {0};
    rows_of(&rows, "a b");
    struct bly_input *input = bly_mem(sizeof *input);
    bly_input_words(input);
    ck_assert_ptr_null(bly_rows_add(&rows, input, false));
    ck_assert_str_eq(all(&rows), "");
}
END_TEST

START_TEST(columns_are_cut_by_a_regular_expression)
{
    static const struct {
        const char *pattern, *source, *rows;
    } cases[] = {
        {",", "a,1 b,2", "a-1 b-2"}, {",", "a,,b ,", "a--b -"}, {"[,;]+", "a,;b", "a-b"},
        {"\\t", "a\tb", "a-b"},      {"x*", "ab", "ab"},        {"^a", "aab", "-ab"},
        {"\\.", "a.b", "a-b"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bly_rows rows = {0};
        ck_assert_ptr_null(bly_rows_colsep(&rows, cases[i].pattern));
        rows_of(&rows, cases[i].source);
        ck_assert_str_eq(all(&rows), cases[i].rows);
    }
}
END_TEST

START_TEST(a_bad_regular_expression_is_refused)
{
    struct bly_rows rows = {0};
    ck_assert_ptr_nonnull(bly_rows_colsep(&rows, "("));
    bly_rows_destroy(&rows);
}
END_TEST

START_TEST(a_link_needs_a_source_before_it)
{
    struct bly_rows rows = {0};
    struct bly_input input;
    bly_input_words(&input);
    ck_assert_ptr_nonnull(bly_rows_add(&rows, &input, true));
}
END_TEST

START_TEST(there_is_a_bound_to_sources)
{
    struct bly_rows rows = {0};
    for (int i = 0; i < BLY_ROWS_SOURCES_MAX; i++) {
        rows_of(&rows, "a");
    }
    struct bly_input input;
    bly_input_words(&input);
    ck_assert_ptr_nonnull(bly_rows_add(&rows, &input, false));
    bly_rows_destroy(&rows);
}
END_TEST

START_TEST(a_source_without_input_yet_makes_the_rows_wait)
{
    int ends[2];
    struct bly_rows rows = {0};
    struct bly_words row = {0};
    struct bly_input *input = bly_mem(sizeof *input);
    ck_assert_int_eq(pipe(ends), 0);
    *input = (struct bly_input){.fd = ends[0], .owns_fd = true, .opts = {.delimiter = '\n'}};
    rows_of(&rows, "a b");
    ck_assert_ptr_null(bly_rows_add(&rows, input, true));
    ck_assert_int_eq(bly_rows_next(&rows, &row), BLY_INPUT_WAIT);
    ck_assert_ptr_eq(rows.held, input);
    ck_assert_int_eq(write(ends[1], "1\n", 2), 2);
    ck_assert_int_eq(bly_rows_next(&rows, &row), BLY_INPUT_RECORD);
    ck_assert_str_eq(bly_words_at(&row, 0), "a");
    ck_assert_str_eq(bly_words_at(&row, 1), "1");
    close(ends[1]);
    ck_assert_int_eq(bly_rows_next(&rows, &row), BLY_INPUT_END);
    bly_words_free(&row);
    bly_rows_destroy(&rows);
}
END_TEST

UNIT_MAIN("cli/rows", one_source_is_its_records, sources_are_combined_the_last_changing_fastest,
          linked_sources_go_together_to_the_shortest, with_link_the_shorter_begin_again,
          an_empty_source_leaves_no_rows, columns_are_cut_by_a_regular_expression,
          a_bad_regular_expression_is_refused, a_link_needs_a_source_before_it,
          there_is_a_bound_to_sources, a_source_without_input_yet_makes_the_rows_wait)
