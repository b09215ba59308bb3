/* What systemd is told. */
#include "unit.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "belay/base.h"
#include "cli/supervisor.h"

START_TEST(states_go_to_the_socket)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char folder[] = "/tmp/belay-supervisor-XXXXXX";
    char got[20] = "";
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(address.sun_path, sizeof address.sun_path, "%s/socket", folder);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    setenv("NOTIFY_SOCKET", address.sun_path, 1);
    bly_supervisor_tell("READY=1");
    ck_assert_int_eq((int)recv(fd, got, sizeof got - 1, MSG_DONTWAIT), 7);
    ck_assert_str_eq(got, "READY=1");
    close(fd);
    unlink(address.sun_path);
    rmdir(folder);
}
END_TEST

START_TEST(a_name_in_no_file_system_is_a_socket_too)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char name[40];
    char got[20] = "";
    int len = snprintf(name, sizeof name, "@belay-test-%d", (int)getpid());
    memcpy(address.sun_path, name, (size_t)len);
    address.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)len);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, size), 0);
    setenv("NOTIFY_SOCKET", name, 1);
    bly_supervisor_tell("WATCHDOG=1");
    ck_assert_int_eq((int)recv(fd, got, sizeof got - 1, MSG_DONTWAIT), 10);
    close(fd);
}
END_TEST

START_TEST(without_a_socket_nothing_happens)
{
    unsetenv("NOTIFY_SOCKET");
    bly_supervisor_tell("READY=1");
    setenv("NOTIFY_SOCKET", "relative", 1);
    bly_supervisor_tell("READY=1");
    setenv("NOTIFY_SOCKET", "/nowhere/at/all", 1);
    bly_supervisor_tell("READY=1");
}
END_TEST

START_TEST(the_watchdog_is_fed_twice_as_often_as_it_asks)
{
    char pid[20];
    unsetenv("WATCHDOG_USEC");
    ck_assert_int_eq(bly_supervisor_period_ns(), BELAY_FOREVER);
    setenv("WATCHDOG_USEC", "60000000", 1);
    unsetenv("WATCHDOG_PID");
    ck_assert_int_eq(bly_supervisor_period_ns(), INT64_C(30000000000));
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    setenv("WATCHDOG_PID", pid, 1);
    ck_assert_int_eq(bly_supervisor_period_ns(), INT64_C(30000000000));
    setenv("WATCHDOG_PID", "1", 1);
    ck_assert_int_eq(bly_supervisor_period_ns(), BELAY_FOREVER);
    unsetenv("WATCHDOG_PID");
    setenv("WATCHDOG_USEC", "soon", 1);
    ck_assert_int_eq(bly_supervisor_period_ns(), BELAY_FOREVER);
}
END_TEST

UNIT_MAIN("cli/supervisor", states_go_to_the_socket, a_name_in_no_file_system_is_a_socket_too,
          without_a_socket_nothing_happens, the_watchdog_is_fed_twice_as_often_as_it_asks)
