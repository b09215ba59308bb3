/* How many rows make a job. */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "cli/pack.h"
#include "rows_of.h"

static struct bly_template make_template(void)
{
    static const struct bly_template_opts opts = {.appends = true};
    struct bly_template t = {0};
    struct bly_words words = {0};
    bly_words_text(&words, "echo");
    ck_assert_ptr_null(bly_template_argv(&t, &words, &opts));
    bly_words_free(&words);
    return t;
}

/* The arguments of all jobs: joined by '-', a blank between jobs. */
static const char *jobs(const char *sources, struct bly_pack_opts opts)
{
    static struct bly_bytes text;
    struct bly_rows rows = {0};
    struct bly_template t = make_template();
    struct bly_pack pack = {.opts = opts, .rows = &rows, .template = &t};
    struct bly_words args = {0};
    rows_of(&rows, sources);
    bly_bytes_clear(&text);
    while (bly_pack_next(&pack, &args) == BLY_INPUT_RECORD) {
        bly_bytes_text(&text, text.len > 0 ? " " : "");
        bly_bytes_text(&text, args.count == 0 ? "()" : "");
        for (size_t i = 0; i < args.count; i++) {
            bly_bytes_print(&text, "%s%s", i > 0 ? "-" : "", bly_words_at(&args, i));
        }
    }
    bly_words_free(&args);
    bly_pack_free(&pack);
    bly_rows_destroy(&rows);
    bly_template_free(&t);
    return bly_bytes_c(&text);
}

#define JOBS(sources, ...) jobs(sources, (struct bly_pack_opts){__VA_ARGS__})

START_TEST(a_job_has_one_row)
{
    ck_assert_str_eq(JOBS("a b", .rows_max = 0), "a b");
    ck_assert_str_eq(JOBS("a b|1 2", .rows_max = 0), "a-1 a-2 b-1 b-2");
}
END_TEST

START_TEST(a_job_has_n_rows_the_last_one_what_is_left)
{
    ck_assert_str_eq(JOBS("1 2 3 4 5", .rows_max = 2), "1-2 3-4 5");
    ck_assert_str_eq(JOBS("1 2 3 4 5 6", .rows_max = 3), "1-2-3 4-5-6");
}
END_TEST

START_TEST(n0_makes_jobs_without_arguments)
{
    ck_assert_str_eq(JOBS("1 2", .rows_max = 1, .is_dropped = true), "() ()");
}
END_TEST

START_TEST(filled_jobs_take_all_that_fits)
{
    ck_assert_str_eq(JOBS("1 2 3 4 5", .is_filled = true), "1-2-3-4-5");
    ck_assert_str_eq(JOBS("1 2 3 4 5", .is_filled = true, .rows_max = 2), "1-2 3-4 5");
}
END_TEST

START_TEST(filled_jobs_keep_to_the_length)
{
    /* "echo", what ends its two words, then two bytes an argument */
    ck_assert_str_eq(JOBS("1 2 3 4 5", .is_filled = true, .length_max = 10), "1-2 3-4 5");
}
END_TEST

START_TEST(a_row_that_fits_nowhere_breaks_the_input_behind_what_came_before)
{
    struct bly_rows rows = {0};
    struct bly_template t = make_template();
    struct bly_pack pack = {
        .opts = {.is_filled = true, .length_max = 10}, .rows = &rows, .template = &t};
    struct bly_words args = {0};
    rows_of(&rows, "a bbbbbbbbbbbbbbbbbbbb c");
    ck_assert_int_eq(bly_pack_next(&pack, &args), BLY_INPUT_RECORD);
    ck_assert_uint_eq(args.count, 1);
    ck_assert_str_eq(bly_words_at(&args, 0), "a");
    ck_assert_int_eq(bly_pack_next(&pack, &args), BLY_INPUT_BROKEN);
    ck_assert(pack.is_too_long);
    ck_assert_str_eq(bly_words_at(&pack.row, 0), "bbbbbbbbbbbbbbbbbbbb");
    bly_words_free(&args);
    bly_pack_free(&pack);
    bly_rows_destroy(&rows);
    bly_template_free(&t);
}
END_TEST

START_TEST(without_a_length_asked_for_a_long_row_goes_alone)
{
    static char sources[BLY_PACK_LENGTH_MAX + 4];
    memset(sources, 'b', sizeof sources - 1);
    sources[0] = 'a';
    sources[1] = sources[sizeof sources - 3] = ' ';
    sources[sizeof sources - 2] = 'c';
    const char *got = JOBS(sources, .is_filled = true);
    ck_assert_str_eq(got, sources);
}
END_TEST

START_TEST(the_last_arguments_are_dealt_evenly)
{
    ck_assert_str_eq(JOBS("1 2 3 4 5 6 7", .is_filled = true, .spread = 3), "1-2-3 4-5 6-7");
    ck_assert_str_eq(JOBS("1 2", .is_filled = true, .spread = 3), "1 2");
    ck_assert_str_eq(JOBS("1", .is_filled = true, .spread = 3), "1");
}
END_TEST

START_TEST(no_rows_make_no_job)
{
    struct bly_rows rows = {0};
    struct bly_template t = make_template();
    struct bly_pack pack = {.opts = {.is_filled = true}, .rows = &rows, .template = &t};
    struct bly_words args = {0};
    struct bly_input *input = bly_mem(sizeof *input);
    bly_input_words(input);
    ck_assert_ptr_null(bly_rows_add(&rows, input, false));
    ck_assert_int_eq(bly_pack_next(&pack, &args), BLY_INPUT_END);
    ck_assert_int_eq(bly_pack_next(&pack, &args), BLY_INPUT_END);
    bly_words_free(&args);
    bly_pack_free(&pack);
    bly_rows_destroy(&rows);
    bly_template_free(&t);
}
END_TEST

UNIT_MAIN("cli/pack", a_job_has_one_row, a_job_has_n_rows_the_last_one_what_is_left,
          n0_makes_jobs_without_arguments, filled_jobs_take_all_that_fits,
          filled_jobs_keep_to_the_length,
          a_row_that_fits_nowhere_breaks_the_input_behind_what_came_before,
          without_a_length_asked_for_a_long_row_goes_alone, the_last_arguments_are_dealt_evenly,
          no_rows_make_no_job)
