#include "deliver/event.h"

#include "belay/base.h"
#include "unit.h"

#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <unistd.h>

static bool is_readable(int fd)
{
    struct pollfd polled = {.fd = fd, .events = POLLIN};
    ck_assert_int_ge(poll(&polled, 1, 0), 0);
    return (polled.revents & POLLIN) != 0;
}

START_TEST(signal_makes_it_readable_and_clear_makes_it_not)
{
    int fd = bly_events->create();
    ck_assert_int_ge(fd, 0);
    ck_assert(!is_readable(fd));
    bly_events->clear(fd);
    bly_events->signal(fd);
    bly_events->signal(fd);
    ck_assert(is_readable(fd));
    bly_events->clear(fd);
    ck_assert(!is_readable(fd));
    bly_events->close(fd);
    ck_assert_int_eq(fcntl(fd, F_GETFD), -1);
}
END_TEST

START_TEST(it_is_closed_on_exec)
{
    int fd = bly_events->create();
    ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
    bly_events->close(fd);
}
END_TEST

START_TEST(create_without_descriptors_is_an_io_error)
{
    struct rlimit limit;
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    struct rlimit none = {.rlim_cur = 0, .rlim_max = limit.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    int result = bly_events->create();
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    ck_assert_int_eq(result, BELAY_EIO);
}
END_TEST

START_TEST(the_lowest_descriptor_is_as_good_as_any)
{
    (void)close(STDIN_FILENO);
    ck_assert_int_eq(bly_events->create(), STDIN_FILENO);
    bly_events->close(STDIN_FILENO);
}
END_TEST

UNIT_MAIN("deliver/event", signal_makes_it_readable_and_clear_makes_it_not, it_is_closed_on_exec,
          create_without_descriptors_is_an_io_error, the_lowest_descriptor_is_as_good_as_any)
