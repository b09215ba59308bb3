/* Records of one source. */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/input.h"

/* A source whose bytes are `len` of `text`, in a pipe that is closed then. */
static struct bly_input from(const char *text, size_t len, struct bly_input_opts opts)
{
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(write(ends[1], text, len), (ssize_t)len);
    close(ends[1]);
    return (struct bly_input){.name = "pipe", .fd = ends[0], .owns_fd = true, .opts = opts};
}

/* All records, each in brackets, then how it ended. */
static const char *read_all(struct bly_input *input)
{
    static struct bly_bytes all;
    bly_bytes_clear(&all);
    struct bly_slice record;
    enum bly_input_result result = BLY_INPUT_RECORD;
    while ((result = bly_input_next(input, &record)) == BLY_INPUT_RECORD) {
        bly_bytes_byte(&all, '[');
        bly_bytes_add(&all, record.at, record.len);
        bly_bytes_byte(&all, ']');
    }
    bly_bytes_text(&all, result == BLY_INPUT_END ? "." : "!");
    bly_input_close(input);
    return bly_bytes_c(&all);
}

#define READ(text, ...)                                                                            \
    read_all((struct bly_input[]){                                                                 \
        from(text, sizeof text - 1, (struct bly_input_opts){.delimiter = '\n', __VA_ARGS__})})

START_TEST(lines_keep_their_blanks)
{
    ck_assert_str_eq(READ("a b\n c  d \n\ne"), "[a b][ c  d ][][e].");
    ck_assert_str_eq(READ(""), ".");
    ck_assert_str_eq(READ("\n"), "[].");
    ck_assert_str_eq(READ("caf\xe9\xff\n"), "[caf\xe9\xff].");
}
END_TEST

START_TEST(blank_lines_can_be_left_out)
{
    ck_assert_str_eq(READ("a\n \t\n\nb\n", .skips_blank = true), "[a][b].");
}
END_TEST

START_TEST(a_trailing_blank_can_join_lines)
{
    ck_assert_str_eq(READ("a \nb\t\nc\nd\n", .joins_blank = true), "[a b\tc][d].");
    ck_assert_str_eq(READ("a \n", .joins_blank = true), "[a ].");
}
END_TEST

START_TEST(an_end_mark_ends_the_input)
{
    ck_assert_str_eq(READ("a\nEND\nb\n", .end_at = "END"), "[a].");
    ck_assert_str_eq(READ("a\nENDED\nb\n", .end_at = "END"), "[a][ENDED][b].");
}
END_TEST

START_TEST(other_delimiters_keep_newlines)
{
    struct bly_input input = from("a\nb\0c\0", 6, (struct bly_input_opts){.delimiter = '\0'});
    ck_assert_str_eq(read_all(&input), "[a\nb][c].");
    input = from("a,b\n,", 5, (struct bly_input_opts){.delimiter = ','});
    ck_assert_str_eq(read_all(&input), "[a][b\n].");
}
END_TEST

START_TEST(a_nul_byte_in_a_line_breaks_the_input)
{
    struct bly_input input = from("ok\na\0b\n", 7, (struct bly_input_opts){.delimiter = '\n'});
    ck_assert_str_eq(read_all(&input), "[ok]!");
    ck_assert_ptr_nonnull(strstr(input.why, "NUL"));
}
END_TEST

START_TEST(long_records_are_read_whole)
{
    enum { LEN = 300000 };
    struct bly_slice record;
    char path[] = "long_records_XXXXXX";
    int fd = mkstemp(path);
    static char text[LEN];
    memset(text, 'x', LEN);
    text[LEN - 1] = '\n';
    ck_assert_int_eq(write(fd, text, LEN), LEN);
    ck_assert_int_eq(write(fd, "y", 1), 1);
    close(fd);
    struct bly_input input;
    struct bly_input_opts opts = {.delimiter = '\n'};
    ck_assert_int_eq(bly_input_open(&input, path, &opts), 0);
    ck_assert_int_eq(bly_input_next(&input, &record), BLY_INPUT_RECORD);
    ck_assert_uint_eq(record.len, LEN - 1);
    ck_assert_int_eq(bly_input_next(&input, &record), BLY_INPUT_RECORD);
    ck_assert_uint_eq(record.len, 1);
    ck_assert_uint_eq(input.count, 2);
    bly_input_close(&input);
    unlink(path);
}
END_TEST

START_TEST(an_empty_pipe_is_not_waited_for)
{
    int ends[2];
    struct bly_slice record;
    ck_assert_int_eq(pipe(ends), 0);
    struct bly_input input = {
        .name = "pipe", .fd = ends[0], .owns_fd = true, .opts = {.delimiter = '\n'}};
    ck_assert_int_eq(bly_input_next(&input, &record), BLY_INPUT_WAIT);
    ck_assert_int_eq(write(ends[1], "ab", 2), 2);
    ck_assert_int_eq(bly_input_next(&input, &record), BLY_INPUT_WAIT);
    ck_assert_int_eq(write(ends[1], "c\nd", 3), 3);
    ck_assert_int_eq(bly_input_next(&input, &record), BLY_INPUT_RECORD);
    ck_assert_uint_eq(record.len, 3);
    ck_assert_mem_eq(record.at, "abc", 3);
    ck_assert_int_eq(bly_input_next(&input, &record), BLY_INPUT_WAIT);
    close(ends[1]);
    ck_assert_int_eq(bly_input_next(&input, &record), BLY_INPUT_RECORD);
    ck_assert_mem_eq(record.at, "d", 1);
    ck_assert_int_eq(bly_input_next(&input, &record), BLY_INPUT_END);
    bly_input_close(&input);
}
END_TEST

START_TEST(words_are_records_too)
{
    struct bly_input input;
    struct bly_words *words = bly_input_words(&input);
    bly_words_text(words, "a b");
    bly_words_text(words, "");
    ck_assert_str_eq(read_all(&input), "[a b][].");
}
END_TEST

START_TEST(what_cannot_be_opened_or_read_says_so)
{
    struct bly_input input;
    struct bly_slice record;
    struct bly_input_opts opts = {.delimiter = '\n'};
    ck_assert_int_eq(bly_input_open(&input, "/no/such/file", &opts), -1);
    ck_assert_int_eq(bly_input_open(&input, "/", &opts), 0);
    ck_assert_int_eq(bly_input_next(&input, &record), BLY_INPUT_BROKEN);
    ck_assert_str_eq(input.why, "Is a directory");
    bly_input_close(&input);
}
END_TEST

UNIT_MAIN("cli/input", lines_keep_their_blanks, blank_lines_can_be_left_out,
          a_trailing_blank_can_join_lines, an_end_mark_ends_the_input,
          other_delimiters_keep_newlines, a_nul_byte_in_a_line_breaks_the_input,
          long_records_are_read_whole, an_empty_pipe_is_not_waited_for, words_are_records_too,
          what_cannot_be_opened_or_read_says_so)
