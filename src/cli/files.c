/* files.c: see files.h. */
#include "files.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "mem.h"

enum { READ_SIZE = 65536 };

int bly_files_occupy_standard(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) >= 0) {
            continue;
        }
        /* The wrong way round: reading standard input, or writing the others, says EBADF. */
        int got = open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
        if (got < 0) {
            return -1;
        }
        assert(got == fd);
    }
    return 0;
}

/* A descriptor that someone made non-blocking is waited for, not given up. */
static int wait_until_writable(int fd)
{
    struct pollfd pollfd = {.fd = fd, .events = POLLOUT};
    int count = poll(&pollfd, 1, -1);
    return count < 0 && errno != EINTR ? -1 : 0;
}

int bly_files_write(int fd, const void *from, size_t len)
{
    const char *at = from;
    while (len > 0) {
        ssize_t wrote = write(fd, at, len);
        if (wrote >= 0) {
            at += wrote;
            len -= (size_t)wrote;
        } else if (errno == EAGAIN) {
            if (wait_until_writable(fd) != 0) {
                return -1;
            }
        } else if (errno != EINTR) {
            return -1;
        }
    }
    return 0;
}

ssize_t bly_files_read(int fd, void *to, size_t len)
{
    ssize_t got = read(fd, to, len);
    while (got < 0 && errno == EINTR) {
        got = read(fd, to, len);
    }
    return got;
}

int bly_files_read_all(int fd, struct bly_bytes *to, size_t max)
{
    for (;;) {
        bly_bytes_room(to, READ_SIZE);
        ssize_t got = bly_files_read(fd, to->at + to->len, READ_SIZE);
        if (got <= 0) {
            to->at[to->len] = '\0';
            return (int)got;
        }
        to->len += (size_t)got;
        if (to->len > max) {
            errno = EFBIG;
            return -1;
        }
    }
}
