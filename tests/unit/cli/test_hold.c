#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include "cli/hold.h"

static char path[] = "/tmp/belay-hold-XXXXXX";

START_TEST(a_new_log_is_locked_until_it_is_closed)
{
    int fd = mkstemp(path);
    int held = -1;
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(bly_hold_open(path, &held), 0);
    ck_assert_int_ge(held, 0);
    ck_assert_int_eq(flock(fd, LOCK_EX | LOCK_NB), -1);
    close(held);
    ck_assert_int_eq(flock(fd, LOCK_EX | LOCK_NB), 0);
    close(fd);
    unlink(path);
}
END_TEST

START_TEST(a_log_is_made_where_there_is_none)
{
    int held = -1;
    int fd = mkstemp(path);
    close(fd);
    unlink(path);
    ck_assert_int_eq(bly_hold_open(path, &held), 0);
    ck_assert_int_ge(held, 0);
    ck_assert_int_eq(access(path, F_OK), 0);
    close(held);
    unlink(path);
}
END_TEST

START_TEST(a_device_is_not_locked)
{
    int held = 7;
    ck_assert_int_eq(bly_hold_open("/dev/null", &held), 0);
    ck_assert_int_eq(held, -1);
}
END_TEST

START_TEST(a_log_that_cannot_be_opened_is_left_to_its_writer)
{
    int held = 7;
    ck_assert_int_eq(bly_hold_open("/nonexistent/log", &held), 0);
    ck_assert_int_eq(held, -1);
}
END_TEST

UNIT_MAIN("cli/hold", a_new_log_is_locked_until_it_is_closed, a_log_is_made_where_there_is_none,
          a_device_is_not_locked, a_log_that_cannot_be_opened_is_left_to_its_writer)
