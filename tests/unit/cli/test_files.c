/* Whole reads and writes. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "cli/files.h"
#include "cli/mem.h"

enum { MUCH = 1000000 };

static void *read_much(void *arg)
{
    static struct bly_bytes text;
    ck_assert_int_eq(bly_files_read_all(*(int *)arg, &text, MUCH + 1), 0);
    return &text;
}

START_TEST(writing_to_a_non_blocking_pipe_waits_for_its_reader)
{
    int ends[2];
    pthread_t reader;
    void *result = NULL;
    static char block[MUCH];
    memset(block, 'x', MUCH);
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
    ck_assert_int_eq(pthread_create(&reader, NULL, read_much, &ends[0]), 0);
    ck_assert_int_eq(bly_files_write(ends[1], block, MUCH), 0);
    close(ends[1]);
    pthread_join(reader, &result);
    struct bly_bytes *text = result;
    ck_assert_uint_eq(text->len, MUCH);
    bly_bytes_free(text);
    close(ends[0]);
}
END_TEST

START_TEST(a_file_that_is_too_large_is_refused)
{
    struct bly_bytes text = {0};
    int fd = open("/dev/zero", O_RDONLY);
    ck_assert_int_eq(bly_files_read_all(fd, &text, 100000), -1);
    ck_assert_int_eq(errno, EFBIG);
    close(fd);
    bly_bytes_free(&text);
}
END_TEST

START_TEST(errors_are_told)
{
    char byte = 0;
    ck_assert_int_eq(bly_files_write(-1, "a", 1), -1);
    ck_assert_int_eq(errno, EBADF);
    ck_assert_int_eq(bly_files_read(-1, &byte, 1), -1);
    ck_assert_int_eq(bly_files_write(-1, "", 0), 0);
    int fd = open("/dev/full", O_WRONLY);
    ck_assert_int_eq(bly_files_write(fd, "a", 1), -1);
    ck_assert_int_eq(errno, ENOSPC);
    close(fd);
}
END_TEST

START_TEST(closed_standard_streams_get_a_file_that_fails_as_before)
{
    char byte = 'x';
    int saved[STDERR_FILENO + 1];
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        saved[fd] = fcntl(fd, F_DUPFD, STDERR_FILENO + 1);
        ck_assert_int_gt(saved[fd], STDERR_FILENO);
        ck_assert_int_eq(close(fd), 0);
    }
    int occupied = bly_files_occupy_standard();
    ssize_t got = bly_files_read(STDIN_FILENO, &byte, 1);
    int read_error = errno;
    int wrote = bly_files_write(STDOUT_FILENO, &byte, 1);
    int write_error = errno;
    int next = open("/dev/null", O_RDONLY);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        dup2(saved[fd], fd);
        close(saved[fd]);
    }
    close(next);
    ck_assert_int_eq(occupied, 0);
    ck_assert_int_eq(got, -1);
    ck_assert_int_eq(read_error, EBADF);
    ck_assert_int_eq(wrote, -1);
    ck_assert_int_eq(write_error, EBADF);
    ck_assert_int_gt(next, STDERR_FILENO);
}
END_TEST

UNIT_MAIN("cli/files", writing_to_a_non_blocking_pipe_waits_for_its_reader,
          a_file_that_is_too_large_is_refused, errors_are_told,
          closed_standard_streams_get_a_file_that_fails_as_before)
