/*
 * machine.c: see machine.h.
 */
#include "sync/machine.h"

#include "base/assert.h"
#include "belay/base.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

uint32_t bly_machine_cpus_allowed(void)
{
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? (uint32_t)CPU_COUNT(&allowed) : 0;
}

int bly_machine_read_file(const char *path, char *ret_text, size_t size)
{
    bly_assert(size > 1 && size <= INT32_MAX);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return BELAY_EIO;
    }
    size_t length = 0;
    ssize_t count;
    do {
        count = read(fd, ret_text + length, size - 1 - length);
        length += count > 0 ? (size_t)count : 0;
    } while ((count > 0 && length < size - 1) || (count < 0 && errno == EINTR));
    (void)close(fd);
    ret_text[length] = '\0';
    return count < 0 ? BELAY_EIO : (int)length;
}
