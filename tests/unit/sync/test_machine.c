/*
 * test_machine.c: the affinity mask and small files.
 */
#include "unit.h"

#include "sync/machine.h"

#include "belay/base.h"

#include <sched.h>
#include <string.h>
#include <unistd.h>

START_TEST(allowed_cpus_follow_the_affinity_mask)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    uint32_t all = bly_machine_cpus_allowed();
    ck_assert_uint_ge(all, 1);
    CPU_SET((size_t)sched_getcpu(), &one);
    ck_assert_int_eq(sched_setaffinity(0, sizeof one, &one), 0);
    ck_assert_uint_eq(bly_machine_cpus_allowed(), 1);
}
END_TEST

/* Makes a file of that text and gives its path. */
static const char *file_of(const char *text)
{
    static char path[] = "/tmp/belay-machine-XXXXXX";
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    return path;
}

START_TEST(file_that_fits_is_read_whole)
{
    char text[32];
    const char *path = file_of("max 100000\n");
    ck_assert_int_eq(bly_machine_read_file(path, text, sizeof text), 11);
    ck_assert_str_eq(text, "max 100000\n");
    unlink(path);
}
END_TEST

START_TEST(longer_file_is_cut)
{
    char text[5];
    const char *path = file_of("max 100000\n");
    ck_assert_int_eq(bly_machine_read_file(path, text, sizeof text), 4);
    ck_assert_str_eq(text, "max ");
    unlink(path);
}
END_TEST

START_TEST(empty_file_gives_no_text)
{
    char text[5] = "old";
    const char *path = file_of("");
    ck_assert_int_eq(bly_machine_read_file(path, text, sizeof text), 0);
    ck_assert_str_eq(text, "");
    unlink(path);
}
END_TEST

START_TEST(what_cannot_be_read_is_eio)
{
    char text[5];
    ck_assert_int_eq(bly_machine_read_file("/nonexistent/file", text, sizeof text), BELAY_EIO);
    ck_assert_int_eq(bly_machine_read_file("/tmp", text, sizeof text), BELAY_EIO);
}
END_TEST

UNIT_MAIN("sync/machine", allowed_cpus_follow_the_affinity_mask, file_that_fits_is_read_whole,
          longer_file_is_cut, empty_file_gives_no_text, what_cannot_be_read_is_eio)
