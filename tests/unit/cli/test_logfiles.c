/* Logs of jobs: files by number, their middle and their age. */
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/files.h"
#include "cli/logfiles.h"

static char path[] = "/tmp/belay-logfiles-XXXXXX";
static char inside[64];

static int open_folder(void)
{
    ck_assert_ptr_nonnull(mkdtemp(path));
    snprintf(inside, sizeof inside, "%s/logs", path);
    int folder = bly_logfiles_open(inside, true);
    ck_assert_int_ge(folder, 0);
    return folder;
}

static void remove_folder(int folder)
{
    DIR *list = fdopendir(folder);
    ck_assert_ptr_nonnull(list);
    for (struct dirent *entry = readdir(list); entry != NULL; entry = readdir(list)) {
        unlinkat(dirfd(list), entry->d_name, 0);
    }
    closedir(list);
    rmdir(inside);
    rmdir(path);
}

static void put(int folder, uint64_t seq, int stream, const char *text)
{
    int fd = bly_logfiles_create(folder, seq, stream);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(bly_files_write(fd, text, strlen(text)), 0);
    close(fd);
}

static bool is_there(int folder, const char *name)
{
    return faccessat(folder, name, F_OK, 0) == 0;
}

START_TEST(files_have_numbers_and_belong_to_their_user_alone)
{
    int folder = open_folder();
    struct stat stat;
    put(folder, 12, BLY_LOG_OUT, "hello\n");
    ck_assert_int_eq(fstatat(folder, "12.out", &stat, 0), 0);
    ck_assert_uint_eq(stat.st_mode & 0777, 0600);
    ck_assert_int_eq(fstat(folder, &stat), 0);
    ck_assert_uint_eq(stat.st_mode & 0777, 0700);
    remove_folder(folder);
}
END_TEST

START_TEST(a_further_run_begins_anew)
{
    int folder = open_folder();
    put(folder, 1, BLY_LOG_ERR, "first and long");
    put(folder, 1, BLY_LOG_ERR, "second");
    int fd = bly_logfiles_read(folder, 1, BLY_LOG_ERR);
    struct bly_bytes text = {0};
    ck_assert_int_eq(bly_files_read_all(fd, &text, 100), 0);
    ck_assert_str_eq(bly_bytes_c(&text), "second");
    bly_bytes_free(&text);
    close(fd);
    remove_folder(folder);
}
END_TEST

START_TEST(what_is_empty_at_the_end_is_removed)
{
    int folder = open_folder();
    put(folder, 3, BLY_LOG_OUT, "");
    put(folder, 3, BLY_LOG_ERR, "x");
    bly_logfiles_end(folder, 3);
    ck_assert(!is_there(folder, "3.out"));
    ck_assert(is_there(folder, "3.err"));
    bly_logfiles_end(folder, 4);
    remove_folder(folder);
}
END_TEST

START_TEST(a_folder_that_others_may_write_to_is_refused)
{
    int folder = open_folder();
    ck_assert_int_eq(chmod(inside, 0770), 0);
    ck_assert_int_eq(bly_logfiles_open(inside, true), -1);
    ck_assert_int_eq(errno, EPERM);
    ck_assert_int_eq(chmod(inside, 0700), 0);
    char link[80];
    snprintf(link, sizeof link, "%s/link", path);
    ck_assert_int_eq(symlink(inside, link), 0);
    ck_assert_int_eq(bly_logfiles_open(link, false), -1);
    unlink(link);
    remove_folder(folder);
}
END_TEST

START_TEST(a_missing_folder_is_made_only_when_told)
{
    int folder = open_folder();
    rmdir(inside);
    ck_assert_int_eq(bly_logfiles_open(inside, false), -1);
    ck_assert_int_eq(errno, ENOENT);
    remove_folder(folder);
}
END_TEST

/* What the copy of a file, from its beginning, writes. */
static void copy(int fd, struct bly_bytes *text)
{
    int64_t at = 0;
    FILE *to = tmpfile();
    ck_assert_ptr_nonnull(to);
    ck_assert_int_eq(bly_logfiles_copy(fd, &at, fileno(to)), 0);
    struct stat stat;
    fstat(fd, &stat);
    ck_assert_int_eq(at, stat.st_size);
    ck_assert_int_eq(lseek(fileno(to), 0, SEEK_SET), 0);
    ck_assert_int_eq(bly_files_read_all(fileno(to), text, 1U << 20), 0);
    fclose(to);
}

START_TEST(the_middle_of_a_long_stream_is_given_back)
{
    int folder = open_folder();
    int fd = bly_logfiles_create(folder, 5, BLY_LOG_OUT);
    char block[4096];
    for (int i = 0; i < 100; i++) {
        memset(block, 'a' + i % 26, sizeof block);
        ck_assert_int_eq(bly_files_write(fd, block, sizeof block), 0);
    }
    ck_assert_int_eq(bly_logfiles_trim(fd, 16 * 4096), 0);
    struct stat stat;
    ck_assert_int_eq(fstat(fd, &stat), 0);
    ck_assert_int_eq(stat.st_size, 100 * 4096);
    ck_assert_int_le(stat.st_blocks * 512, 17 * 4096);
    close(fd);
    fd = bly_logfiles_read(folder, 5, BLY_LOG_OUT);
    struct bly_bytes text = {0};
    copy(fd, &text);
    static const char hole[] = "\n[belay: 344064 bytes are not kept here]\n";
    ck_assert_uint_eq(text.len, 16 * 4096 + sizeof hole - 1);
    ck_assert_int_eq(text.at[8 * 4096 - 1], 'a' + 7);
    ck_assert_mem_eq(text.at + 8L * 4096, hole, sizeof hole - 1);
    ck_assert_int_eq(text.at[text.len - 1], 'a' + 99 % 26);
    bly_bytes_free(&text);
    close(fd);
    remove_folder(folder);
}
END_TEST

START_TEST(a_short_stream_stays_whole)
{
    int folder = open_folder();
    put(folder, 6, BLY_LOG_OUT, "all of it");
    int fd = openat(folder, "6.out", O_RDWR | O_CLOEXEC);
    ck_assert_int_eq(bly_logfiles_trim(fd, 16 * 4096), 0);
    struct bly_bytes text = {0};
    copy(fd, &text);
    ck_assert_str_eq(bly_bytes_c(&text), "all of it");
    bly_bytes_free(&text);
    close(fd);
    remove_folder(folder);
}
END_TEST

/* Makes a log written `age` seconds before second 1,000,000. */
static void put_old(int folder, uint64_t seq, int age)
{
    char name[32];
    put(folder, seq, BLY_LOG_OUT, "some");
    snprintf(name, sizeof name, "%u.out", (unsigned)seq);
    struct timespec times[2] = {{.tv_sec = 1000000 - age}, {.tv_sec = 1000000 - age}};
    ck_assert_int_eq(utimensat(folder, name, times, 0), 0);
}

static bool is_seven(uint64_t seq, void *arg)
{
    (void)arg;
    return seq == 7;
}

START_TEST(old_logs_go_and_then_the_oldest_until_the_rest_fits)
{
    int folder = open_folder();
    put_old(folder, 1, 500);
    put_old(folder, 2, 50);
    put_old(folder, 3, 40);
    put_old(folder, 4, 30);
    put_old(folder, 7, 900);
    int other = openat(folder, "notes.txt", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    close(other);
    struct stat stat;
    ck_assert_int_eq(fstatat(folder, "2.out", &stat, 0), 0);
    struct bly_logfiles_gc gc = {.now_ns = INT64_C(1000000) * 1000000000,
                                 .keep_ns = INT64_C(100) * 1000000000,
                                 .bytes_max = 2 * stat.st_blocks * 512,
                                 .is_live = is_seven};
    ck_assert_int_eq(bly_logfiles_gc(folder, &gc), 0);
    ck_assert_uint_eq(gc.files, 2);
    ck_assert_uint_eq(gc.bytes, 2 * (uint64_t)stat.st_blocks * 512);
    ck_assert(!is_there(folder, "1.out"));
    ck_assert(!is_there(folder, "2.out"));
    ck_assert(is_there(folder, "3.out"));
    ck_assert(is_there(folder, "4.out"));
    ck_assert(is_there(folder, "7.out"));
    ck_assert(is_there(folder, "notes.txt"));
    remove_folder(folder);
}
END_TEST

UNIT_MAIN("cli/logfiles", files_have_numbers_and_belong_to_their_user_alone,
          a_further_run_begins_anew, what_is_empty_at_the_end_is_removed,
          a_folder_that_others_may_write_to_is_refused, a_missing_folder_is_made_only_when_told,
          the_middle_of_a_long_stream_is_given_back, a_short_stream_stays_whole,
          old_logs_go_and_then_the_oldest_until_the_rest_fits)
