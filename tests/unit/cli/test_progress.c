/* The line that tells how far a batch is. */
#include "unit.h"

#include <string.h>
#include <unistd.h>

#include "cli/progress.h"

#define S INT64_C(1000000000)

static const char *format(bool has_bar, bool has_eta, struct bly_tally tally, unsigned columns)
{
    static struct bly_bytes text;
    struct bly_progress progress = {.fd = -1, .has_bar = has_bar, .has_eta = has_eta};
    struct bly_progress_state state = {.tally = &tally, .running = 3, .now_ns = 10 * S};
    bly_bytes_clear(&text);
    bly_progress_format(&progress, &state, columns, &text);
    return bly_bytes_c(&text);
}

START_TEST(counts_are_told)
{
    ck_assert_str_eq(format(false, true, (struct bly_tally){0}, 80), "0 done, 3 running");
    ck_assert_str_eq(
        format(false, false, (struct bly_tally){.done = 2, .failed = 1, .total = 9}, 80),
        "2/9 done, 1 failed, 3 running");
}
END_TEST

START_TEST(what_is_left_is_told_from_what_is_done)
{
    ck_assert_str_eq(format(false, true, (struct bly_tally){.done = 2, .total = 8}, 80),
                     "2/8 done, 3 running, 30 s left");
    ck_assert_str_eq(format(false, true, (struct bly_tally){.done = 3, .total = 8}, 80),
                     "3/8 done, 3 running, 17 s left");
}
END_TEST

START_TEST(a_bar_fills_the_line)
{
    const char *text = format(true, false, (struct bly_tally){.done = 1, .total = 2}, 40);
    ck_assert_str_eq(text, "[########.........] 1/2 done, 3 running");
    ck_assert_uint_le(strlen(text), 40);
}
END_TEST

START_TEST(a_narrow_terminal_gets_what_fits)
{
    ck_assert_str_eq(format(true, false, (struct bly_tally){.done = 1, .total = 2}, 10),
                     "1/2 done,");
}
END_TEST

START_TEST(nothing_is_drawn_where_there_is_no_terminal)
{
    int ends[2];
    char byte;
    struct bly_tally tally = {.done = 1};
    struct bly_progress_state state = {.tally = &tally};
    struct bly_progress progress;
    ck_assert_int_eq(pipe(ends), 0);
    bly_progress_init(&progress, ends[1], true, true, 0);
    ck_assert_int_eq(bly_progress_draw(&progress, &state), INT64_MAX);
    bly_progress_clear(&progress);
    bly_progress_free(&progress);
    close(ends[1]);
    ck_assert_int_eq(read(ends[0], &byte, 1), 0);
    close(ends[0]);
}
END_TEST

START_TEST(it_is_drawn_at_most_ten_times_a_second_and_taken_away)
{
    int ends[2];
    char text[200];
    struct bly_tally tally = {.done = 1};
    struct bly_progress_state state = {.tally = &tally, .now_ns = S};
    struct bly_progress progress = {.has_eta = true};
    ck_assert_int_eq(pipe(ends), 0);
    progress.fd = ends[1];
    ck_assert_int_eq(bly_progress_draw(&progress, &state), S + BLY_PROGRESS_EVERY_NS);
    state.now_ns = S + 1;
    ck_assert_int_eq(bly_progress_draw(&progress, &state), S + BLY_PROGRESS_EVERY_NS);
    bly_progress_free(&progress);
    close(ends[1]);
    ssize_t got = read(ends[0], text, sizeof text - 1);
    text[got] = '\0';
    ck_assert_str_eq(text, "\r\033[K1 done, 0 running\r\033[K");
    close(ends[0]);
}
END_TEST

UNIT_MAIN("cli/progress", counts_are_told, what_is_left_is_told_from_what_is_done,
          a_bar_fills_the_line, a_narrow_terminal_gets_what_fits,
          nothing_is_drawn_where_there_is_no_terminal,
          it_is_drawn_at_most_ten_times_a_second_and_taken_away)
