/* supervisor.c: see supervisor.h. */
#include "supervisor.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "belay/base.h"
#include "number.h"

/* Twice as often as it is wanted, so that one late turn of the loop ends nothing. */
enum { US_NS = 1000, TWICE = 2 };

/* A path, or '@' and a name that is in no file system. 0: it is none. */
static socklen_t make_address(const char *name, struct sockaddr_un *address)
{
    size_t len = strlen(name);
    if ((name[0] != '/' && name[0] != '@') || len >= sizeof address->sun_path) {
        return 0;
    }
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(address->sun_path, name, len);
    if (name[0] == '@') {
        address->sun_path[0] = '\0';
    }
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
}

void bly_supervisor_tell(const char *state)
{
    struct sockaddr_un address;
    const char *name = getenv("NOTIFY_SOCKET");
    socklen_t len = name != NULL ? make_address(name, &address) : 0;
    int fd = len > 0 ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0) : -1;
    if (fd < 0) {
        return;
    }
    (void)!sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&address, len);
    close(fd);
}

int64_t bly_supervisor_period_ns(void)
{
    uint64_t us = 0;
    uint64_t pid = 0;
    const char *period = getenv("WATCHDOG_USEC");
    const char *whose = getenv("WATCHDOG_PID");
    if (period == NULL || bly_number_parse(period, 1, INT64_MAX / US_NS, &us) != NULL) {
        return BELAY_FOREVER;
    }
    if (whose != NULL &&
        (bly_number_parse(whose, 1, INT64_MAX, &pid) != NULL || pid != (uint64_t)getpid())) {
        return BELAY_FOREVER;
    }
    return (int64_t)us * US_NS / TWICE;
}
