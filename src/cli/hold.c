/* hold.c: see hold.h. */
#include "hold.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "say.h"

/* The kernel tells nobody when a lock ends, so it is tried again and again. */
enum { TRY_EVERY_MS = 20, MODE_OF_NEW_FILE = 0666 };

static bool can_lock(int fd)
{
    struct stat about;
    return fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
}

/* True when another process holds the lock; a file system without locks has none to hold. */
static bool is_taken(int fd)
{
    return flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

int bly_hold_open(const char *path, int *ret_fd)
{
    *ret_fd = -1;
    int fd = open(path, O_RDONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, MODE_OF_NEW_FILE);
    if (fd < 0) {
        return 0;
    }
    if (!can_lock(fd)) {
        close(fd);
        return 0;
    }
    for (int waited_ms = 0; is_taken(fd); waited_ms += TRY_EVERY_MS) {
        if (waited_ms == BLY_HOLD_WAIT_MS) {
            close(fd);
            return bly_say_about(path, "another run works with this job log, or processes of one "
                                       "still end; wait for it, or name another --joblog");
        }
        (void)poll(NULL, 0, TRY_EVERY_MS);
    }
    *ret_fd = fd;
    return 0;
}
