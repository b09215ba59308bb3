/* test_spool.c: files used again and again, outputs that wait, and a disk without room. */
#include "proc/spool_int.h"
#include "sync/sync.h"
#include "unit.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static uint32_t dropped_count, dropped_last;

static void on_dropped(uint32_t number, void *arg)
{
    (void)arg;
    dropped_count++;
    dropped_last = number;
}

static bly_spool spool;

static void open_spool(uint32_t files_max)
{
    ck_assert_int_eq(bly_spool_init(&spool, "/tmp", files_max, on_dropped, NULL), 0);
}

static uint32_t take(uint64_t owner)
{
    uint32_t number = BLY_SPOOL_NONE;
    ck_assert_int_eq(bly_spool_take(&spool, owner, &number), 0);
    return number;
}

static void write_to(uint32_t number, const char *text)
{
    size_t size = strlen(text);
    ck_assert_int_eq(write(bly_spool_file_of(&spool, number)->fd, text, size), (ssize_t)size);
}

static bly_output *close_out(uint32_t number)
{
    bly_output *output = NULL;
    ck_assert_int_eq(bly_spool_close_out(&spool, number, &output), 0);
    return output;
}

/* An output of one job that wrote this text. */
static bly_output *output_of(const char *text)
{
    uint32_t number = take(1);
    write_to(number, text);
    return close_out(number);
}

static void check_text(const bly_output *output, const char *wanted)
{
    char text[256] = {0};
    ck_assert_uint_eq(bly_output_size(output), strlen(wanted));
    ck_assert_int_eq(bly_output_read(output, 0, text, sizeof text - 1), (ssize_t)strlen(wanted));
    ck_assert_str_eq(text, wanted);
}

static uint32_t open_files(void)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < spool.files_used; i++) {
        count += spool.files[i].fd >= 0;
    }
    return count;
}

START_TEST(what_was_written_is_read)
{
    open_spool(4);
    bly_output *output = output_of("hello\n");
    check_text(output, "hello\n");
    char part[4] = {0};
    ck_assert_int_eq(bly_output_read(output, 4, part, 3), 2);
    ck_assert_str_eq(part, "o\n");
    ck_assert_int_eq(bly_output_read(output, 6, part, 3), 0);
    ck_assert_int_eq(bly_output_read(output, 1000, part, 3), 0);
    bly_output_free(output);
    bly_spool_free(&spool);
}
END_TEST

START_TEST(nothing_written_is_no_output)
{
    open_spool(4);
    uint32_t number = take(1);
    ck_assert_ptr_null(close_out(number));
    ck_assert_uint_eq(take(2), number);
    bly_output_free(NULL);
    bly_spool_free(&spool);
}
END_TEST

START_TEST(a_file_is_used_again_and_is_empty)
{
    open_spool(4);
    for (int i = 0; i < 100; i++) {
        char text[16];
        snprintf(text, sizeof text, "%d", i);
        bly_output *output = output_of(text);
        check_text(output, text);
        bly_output_free(output);
    }
    ck_assert_uint_eq(open_files(), 1);
    ck_assert_uint_eq(dropped_count, 0);
    bly_spool_free(&spool);
}
END_TEST

START_TEST(writers_append_whatever_they_do_to_the_offset)
{
    open_spool(4);
    uint32_t number = take(1);
    write_to(number, "one");
    ck_assert_int_eq(lseek(bly_spool_file_of(&spool, number)->fd, 0, SEEK_SET), 0);
    write_to(number, "two");
    bly_output *output = close_out(number);
    check_text(output, "onetwo");
    bly_output_free(output);
    bly_spool_free(&spool);
}
END_TEST

START_TEST(a_held_output_gives_its_file_back_and_reads_the_same)
{
    open_spool(2);
    bly_output *first = output_of("first");
    bly_output *second = output_of("second");
    ck_assert_int_eq(bly_output_hold(first), 0);
    ck_assert_int_eq(bly_output_hold(first), 0);
    ck_assert_int_eq(bly_output_hold(second), 0);
    bly_output *third = output_of("third");
    check_text(first, "first");
    check_text(second, "second");
    check_text(third, "third");
    bly_output_free(first);
    check_text(second, "second");
    bly_output_free(second);
    ck_assert_uint_eq(spool.held_end, 0);
    bly_output_free(third);
    ck_assert_uint_eq(spool.outputs_count, 0);
    bly_spool_free(&spool);
}
END_TEST

START_TEST(any_number_of_outputs_waits_on_few_files)
{
    enum { OUTPUTS = 1500 };
    static bly_output *outputs[OUTPUTS];
    char text[32];
    open_spool(4);
    for (int i = 0; i < OUTPUTS; i++) {
        snprintf(text, sizeof text, "output %d\n", i);
        outputs[i] = output_of(text);
    }
    ck_assert_uint_le(open_files(), 4);
    for (int i = 0; i < OUTPUTS; i++) {
        snprintf(text, sizeof text, "output %d\n", i);
        check_text(outputs[i], text);
        bly_output_free(outputs[i]);
    }
    ck_assert_uint_eq(spool.outputs_count, 0);
    ck_assert_uint_eq(spool.held_used, 0);
    bly_spool_free(&spool);
}
END_TEST

START_TEST(a_large_output_is_held_whole)
{
    open_spool(2);
    uint32_t number = take(1);
    static char block[100000];
    for (int i = 0; i < 10; i++) {
        memset(block, 'a' + i, sizeof block);
        ck_assert_int_eq(write(bly_spool_file_of(&spool, number)->fd, block, sizeof block),
                         sizeof block);
    }
    bly_output *output = close_out(number);
    ck_assert_int_eq(bly_output_hold(output), 0);
    ck_assert_uint_eq(bly_output_size(output), 1000000);
    for (int i = 0; i < 10; i++) {
        ck_assert_int_eq(bly_output_read(output, (uint64_t)i * 100000, block, sizeof block),
                         sizeof block);
        ck_assert_int_eq(block[0], 'a' + i);
        ck_assert_int_eq(block[sizeof block - 1], 'a' + i);
    }
    bly_output_free(output);
    bly_spool_free(&spool);
}
END_TEST

START_TEST(a_freed_hold_gives_room_back_before_the_others_are_freed)
{
    open_spool(2);
    uint32_t number = take(1);
    static char block[1 << 20];
    memset(block, 'x', sizeof block);
    ck_assert_int_eq(write(bly_spool_file_of(&spool, number)->fd, block, sizeof block),
                     sizeof block);
    bly_output *large = close_out(number);
    bly_output *small = output_of("small");
    ck_assert_int_eq(bly_output_hold(large), 0);
    ck_assert_int_eq(bly_output_hold(small), 0);
    bly_output_free(large);
    struct stat status;
    ck_assert_int_eq(fstat(spool.held_fd, &status), 0);
    ck_assert_int_lt(status.st_blocks * 512, (1 << 20) / 2);
    check_text(small, "small");
    bly_output_free(small);
    bly_spool_free(&spool);
}
END_TEST

START_TEST(a_dirty_file_is_closed_and_the_keeper_told)
{
    open_spool(2);
    uint32_t number = take(1);
    bly_spool_file *file = bly_spool_file_of(&spool, number);
    file->is_known = true;
    file->is_dirty = true;
    int late_writer = fcntl(file->fd, F_DUPFD_CLOEXEC, 0);
    write_to(number, "text");
    bly_output *output = close_out(number);
    ck_assert_int_eq(write(late_writer, "late", 4), 4);
    check_text(output, "text");
    bly_output_free(output);
    ck_assert_uint_eq(dropped_count, 1);
    ck_assert_uint_eq(dropped_last, number);
    bly_output *next = output_of("next");
    ck_assert_int_eq(write(late_writer, "late", 4), 4);
    check_text(next, "next");
    bly_output_free(next);
    close(late_writer);
    bly_spool_free(&spool);
}
END_TEST

START_TEST(no_more_files_than_the_bound_run_at_once)
{
    open_spool(2);
    uint32_t number;
    take(1);
    take(2);
    ck_assert_int_eq(bly_spool_take(&spool, 3, &number), BELAY_EIO);
    ck_assert_int_eq(errno, EMFILE);
    bly_spool_free(&spool);
}
END_TEST

START_TEST(at_the_limit_of_descriptors_waiting_outputs_are_put_aside)
{
    open_spool(100);
    bly_output *outputs[6];
    outputs[0] = output_of("0");
    ck_assert_int_eq(bly_output_hold(outputs[0]), 0); /* the shared file is open */
    outputs[1] = output_of("1");
    outputs[2] = output_of("2");
    struct rlimit limit;
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = (rlim_t)dup(0); /* none is left */
    close((int)limit.rlim_cur);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    for (int i = 3; i < 6; i++) {
        outputs[i] = output_of(&"345"[i - 3]);
    }
    for (int i = 0; i < 6; i++) {
        char text[8] = {0};
        ck_assert_int_ge(bly_output_read(outputs[i], 0, text, 1), 1);
        ck_assert_int_eq(text[0], '0' + i);
        bly_output_free(outputs[i]);
    }
    bly_spool_free(&spool);
}
END_TEST

START_TEST(a_folder_that_cannot_be_used_is_refused)
{
    bly_spool other;
    ck_assert_int_eq(bly_spool_init(&other, "/nowhere", 4, on_dropped, NULL), BELAY_EIO);
    ck_assert_int_eq(errno, ENOENT);
    ck_assert_int_eq(bly_spool_init(&other, "/proc", 4, on_dropped, NULL), BELAY_EIO);
}
END_TEST

/* A limit on the size of files stands for a disk without room: a write fails all the same. */
static void fill_disk(void)
{
    struct rlimit none = {.rlim_cur = BLY_SPOOL_TRIAL_SIZE / 2, .rlim_max = RLIM_INFINITY};
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &none), 0);
}

static void empty_disk(void)
{
    struct rlimit all = {.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &all), 0);
}

START_TEST(a_trial_write_finds_the_disk_full_and_then_free_again)
{
    open_spool(2);
    ck_assert(!bly_spool_look(&spool, bly_monotonic_ns()));
    fill_disk();
    ck_assert(bly_spool_look(&spool, bly_monotonic_ns() + BLY_SPOOL_TRIAL_NS));
    ck_assert_uint_eq(spool.full_count, 1);
    empty_disk();
    ck_assert(!bly_spool_look(&spool, bly_monotonic_ns() + 2 * BLY_SPOOL_TRIAL_NS));
    ck_assert_uint_eq(spool.full_count, 1);
    bly_spool_free(&spool);
}
END_TEST

START_TEST(an_output_that_cannot_be_held_stays_as_it_was)
{
    open_spool(2);
    uint32_t number = take(1);
    static char block[20000];
    memset(block, 'x', sizeof block);
    ck_assert_int_eq(write(bly_spool_file_of(&spool, number)->fd, block, sizeof block),
                     sizeof block);
    bly_output *output = close_out(number);
    fill_disk();
    ck_assert_int_eq(bly_output_hold(output), BELAY_EIO);
    empty_disk();
    ck_assert_uint_eq(bly_output_size(output), sizeof block);
    block[19999] = 0;
    ck_assert_int_eq(bly_output_read(output, 0, block, sizeof block), sizeof block);
    ck_assert_int_eq(block[19999], 'x');
    ck_assert_int_eq(bly_output_hold(output), 0);
    ck_assert_int_eq(bly_output_read(output, 0, block, sizeof block), sizeof block);
    ck_assert_int_eq(block[19999], 'x');
    bly_output_free(output);
    bly_spool_free(&spool);
}
END_TEST

static uint64_t changed_owner;
static uint32_t changed_count;

static void on_changed(uint64_t owner, void *arg)
{
    (void)arg;
    changed_owner = owner;
    changed_count++;
}

START_TEST(a_watched_file_tells_when_it_grows)
{
    open_spool(4);
    uint32_t watched = take(7);
    uint32_t other = take(8);
    ck_assert_int_eq(bly_spool_watch(&spool, watched), 0);
    ck_assert_int_eq(bly_spool_watch(&spool, watched), 0);
    write_to(other, "x");
    struct pollfd ready = {.fd = spool.inotify_fd, .events = POLLIN};
    ck_assert_int_eq(poll(&ready, 1, 0), 0);
    write_to(watched, "x");
    ck_assert_int_eq(poll(&ready, 1, 0), 1);
    bly_spool_changed(&spool, on_changed, NULL);
    ck_assert_uint_eq(changed_count, 1);
    ck_assert_uint_eq(changed_owner, 7);
    bly_spool_free(&spool);
}
END_TEST

UNIT_MAIN("proc/spool", what_was_written_is_read, nothing_written_is_no_output,
          a_file_is_used_again_and_is_empty, writers_append_whatever_they_do_to_the_offset,
          a_held_output_gives_its_file_back_and_reads_the_same,
          any_number_of_outputs_waits_on_few_files, a_large_output_is_held_whole,
          a_freed_hold_gives_room_back_before_the_others_are_freed,
          a_dirty_file_is_closed_and_the_keeper_told, no_more_files_than_the_bound_run_at_once,
          at_the_limit_of_descriptors_waiting_outputs_are_put_aside,
          a_folder_that_cannot_be_used_is_refused,
          a_trial_write_finds_the_disk_full_and_then_free_again,
          an_output_that_cannot_be_held_stays_as_it_was, a_watched_file_tells_when_it_grows)
