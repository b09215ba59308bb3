/* The job log, byte for byte, and what is read back from it. */
#include "unit.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cli/files.h"
#include "cli/joblog.h"

#define MS    INT64_C(1000000)
#define TITLE "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n"

static const char path[] = "joblog_of_the_test";

static void write_log(const char *text, size_t len)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(bly_files_write(fd, text, len), 0);
    close(fd);
}

static const char *read_log(void)
{
    static struct bly_bytes text;
    bly_bytes_clear(&text);
    int fd = open(path, O_RDONLY);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(bly_files_read_all(fd, &text, 1 << 20), 0);
    close(fd);
    return bly_bytes_c(&text);
}

static struct bly_joblog_entry entry_of(uint64_t seq, int exit_value, int signal,
                                        const char *command)
{
    return (struct bly_joblog_entry){.seq = seq,
                                     .start_wall_ns = INT64_C(1796080266477) * MS,
                                     .run_ns = 1322 * MS,
                                     .received = 12,
                                     .exit_value = exit_value,
                                     .signal = signal,
                                     .command = command,
                                     .command_len = strlen(command)};
}

START_TEST(lines_are_those_of_parallel)
{
    struct bly_joblog log;
    unlink(path);
    ck_assert_int_eq(bly_joblog_open(&log, path, BLY_JOBLOG_NEW), 0);
    struct bly_joblog_entry entry = entry_of(1, 0, 0, "echo a");
    ck_assert_int_eq(bly_joblog_add(&log, &entry), 0);
    entry = entry_of(12, -1, 15, "sleep 3");
    ck_assert_int_eq(bly_joblog_add(&log, &entry), 0);
    bly_joblog_close(&log);
    ck_assert_str_eq(read_log(),
                     TITLE "1\t:\t1796080266.477\t     1.322\t0\t12\t0\t0\techo a\n"
                           "12\t:\t1796080266.477\t     1.322\t0\t12\t-1\t15\tsleep 3\n");
    unlink(path);
}
END_TEST

START_TEST(newlines_of_a_command_become_nul_bytes_and_come_back)
{
    struct bly_bytes line = {0};
    struct bly_joblog_entry entry = entry_of(1, 0, 0, "a\nb\tc");
    bly_joblog_format(&entry, &line);
    ck_assert_int_eq(line.at[line.len - 1], '\n');
    ck_assert_ptr_eq(memchr(line.at, '\n', line.len), line.at + line.len - 1);
    struct bly_joblog_entry back;
    ck_assert(bly_joblog_parse(line.at, line.len - 1, &back));
    ck_assert_uint_eq(back.command_len, 5);
    ck_assert_mem_eq(back.command, "a\0b\tc", 5);
    ck_assert_int_eq(back.run_ns, 1322 * MS);
    ck_assert_int_eq(back.start_wall_ns, INT64_C(1796080266477) * MS);
    ck_assert_uint_eq(back.received, 12);
    bly_bytes_free(&line);
}
END_TEST

START_TEST(other_lines_are_none)
{
    static const char *const lines[] = {
        "",
        "x",
        "1\t:\t1.0\t1.0\t0\t0\t0\t0",
        "0\t:\t1.0\t1.0\t0\t0\t0\t0\tx",
        "x\t:\t1.0\t1.0\t0\t0\t0\t0\tx",
        "1\t:\tx\t1.0\t0\t0\t0\t0\tx",
        "1\t:\t1.0\t1.0\t0\t0\tx\t0\tx",
        "1\t:\t1.0\t1.0\t0\t0\t0\t\tx",
        "99999999999999999999\t:\t1.0\t1.0\t0\t0\t0\t0\tx",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct bly_joblog_entry entry;
        ck_assert_msg(!bly_joblog_parse(lines[i], strlen(lines[i]), &entry), "<%s>", lines[i]);
    }
}
END_TEST

START_TEST(a_log_knows_what_is_done_and_what_failed)
{
    struct bly_joblog log;
    static const char text[] = TITLE "3\t:\t1.000\t     0.001\t0\t0\t0\t9\tc\n"
                                     "1\t:\t1.000\t     0.001\t0\t0\t0\t0\ta\n"
                                     "2\t:\t1.000\t     0.001\t0\t0\t1\t0\tb\n"
                                     "2\t:\t1.000\t     0.001\t0\t0\t0\t0\tb again\n";
    write_log(text, sizeof text - 1);
    ck_assert_int_eq(bly_joblog_open(&log, path, BLY_JOBLOG_READ), 0);
    ck_assert_uint_eq(log.count, 3);
    ck_assert(bly_joblog_find(&log, 1)->is_done);
    ck_assert(bly_joblog_find(&log, 2)->is_done);
    ck_assert(!bly_joblog_find(&log, 3)->is_done);
    ck_assert_ptr_null(bly_joblog_find(&log, 4));
    const struct bly_joblog_known *known = bly_joblog_find(&log, 2);
    ck_assert_uint_eq(known->command_len, 7);
    ck_assert_mem_eq(log.commands.at + known->command, "b again", 7);
    bly_joblog_close(&log);
    unlink(path);
}
END_TEST

START_TEST(a_torn_last_line_does_not_count_and_is_cut_off)
{
    struct bly_joblog log;
    static const char text[] = TITLE "1\t:\t1.000\t     0.001\t0\t0\t0\t0\ta\n"
                                     "2\t:\t1.000\t     0.0";
    write_log(text, sizeof text - 1);
    ck_assert_int_eq(bly_joblog_open(&log, path, BLY_JOBLOG_READ), 0);
    ck_assert_ptr_nonnull(bly_joblog_find(&log, 1));
    ck_assert_ptr_null(bly_joblog_find(&log, 2));
    struct bly_joblog_entry entry = entry_of(2, 0, 0, "b");
    ck_assert_int_eq(bly_joblog_add(&log, &entry), 0);
    bly_joblog_close(&log);
    ck_assert_str_eq(read_log(), TITLE "1\t:\t1.000\t     0.001\t0\t0\t0\t0\ta\n"
                                       "2\t:\t1796080266.477\t     1.322\t0\t12\t0\t0\tb\n");
    unlink(path);
}
END_TEST

START_TEST(a_torn_title_is_written_again)
{
    struct bly_joblog log;
    write_log("Seq\tHo", 6);
    ck_assert_int_eq(bly_joblog_open(&log, path, BLY_JOBLOG_READ), 0);
    bly_joblog_close(&log);
    ck_assert_str_eq(read_log(), TITLE);
    unlink(path);
}
END_TEST

START_TEST(a_new_log_forgets_and_an_appended_one_keeps)
{
    struct bly_joblog log;
    static const char text[] = TITLE "1\t:\t1.000\t     0.001\t0\t0\t0\t0\ta\n";
    write_log(text, sizeof text - 1);
    ck_assert_int_eq(bly_joblog_open(&log, path, BLY_JOBLOG_APPEND), 0);
    bly_joblog_close(&log);
    ck_assert_str_eq(read_log(), text);
    ck_assert_int_eq(bly_joblog_open(&log, path, BLY_JOBLOG_NEW), 0);
    bly_joblog_close(&log);
    ck_assert_str_eq(read_log(), TITLE);
    unlink(path);
}
END_TEST

START_TEST(a_file_that_is_no_job_log_is_refused_and_kept)
{
    struct bly_joblog log;
    write_log("important\n", 10);
    ck_assert_int_eq(bly_joblog_open(&log, path, BLY_JOBLOG_READ), 255);
    bly_joblog_close(&log);
    ck_assert_str_eq(read_log(), "important\n");
    ck_assert_int_eq(bly_joblog_open(&log, "/no/such/folder/log", BLY_JOBLOG_NEW), 255);
    bly_joblog_close(&log);
    unlink(path);
}
END_TEST

START_TEST(a_full_disk_is_reported)
{
    struct bly_joblog log;
    struct bly_joblog_entry entry = entry_of(1, 0, 0, "a");
    ck_assert_int_eq(bly_joblog_open(&log, "/dev/full", BLY_JOBLOG_NEW), 255);
    ck_assert_int_eq(bly_joblog_add(&log, &entry), -1);
    bly_joblog_close(&log);
}
END_TEST

UNIT_MAIN("cli/joblog", lines_are_those_of_parallel,
          newlines_of_a_command_become_nul_bytes_and_come_back, other_lines_are_none,
          a_log_knows_what_is_done_and_what_failed, a_torn_last_line_does_not_count_and_is_cut_off,
          a_torn_title_is_written_again, a_new_log_forgets_and_an_appended_one_keeps,
          a_file_that_is_no_job_log_is_refused_and_kept, a_full_disk_is_reported)
