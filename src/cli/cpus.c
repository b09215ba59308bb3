/* cpus.c: see cpus.h. */
#include "cpus.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files.h"
#include "mem.h"

enum { FILE_MAX = 1 << 20, CPUS_MAX = 1 << 16 };

static bool read_file(const char *path, struct bly_bytes *to)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    bly_bytes_clear(to);
    bool is_read = bly_files_read_all(fd, to, FILE_MAX) == 0;
    close(fd);
    return is_read;
}

/* The CPUs of the affinity mask; a machine may have more than cpu_set_t holds. */
static uint32_t count_affinity(void)
{
    for (int cpus = CPU_SETSIZE; cpus <= CPUS_MAX; cpus *= 2) {
        cpu_set_t *set = CPU_ALLOC((size_t)cpus);
        if (set == NULL) {
            return 1;
        }
        size_t size = CPU_ALLOC_SIZE((size_t)cpus);
        int failed = sched_getaffinity(0, size, set);
        int count = failed == 0 ? CPU_COUNT_S(size, set) : 0;
        CPU_FREE(set);
        if (failed == 0) {
            return count > 0 ? (uint32_t)count : 1;
        }
        if (errno != EINVAL) {
            return 1;
        }
    }
    return 1;
}

/* The quota of one cgroup: "max 100000" or "150000 100000", in microseconds. */
static uint32_t read_quota(const char *folder)
{
    struct bly_bytes path = {0};
    struct bly_bytes text = {0};
    bly_bytes_print(&path, "%s/cpu.max", folder);
    uint64_t quota = 0;
    uint64_t period = 0;
    uint32_t cpus = UINT32_MAX;
    if (read_file(path.at, &text) &&
        sscanf(bly_bytes_c(&text), "%" SCNu64 " %" SCNu64, &quota, &period) == 2 && period > 0) {
        uint64_t up = quota / period + (quota % period > 0 ? 1 : 0);
        cpus = up < 1 ? 1 : (uint32_t)(up < UINT32_MAX ? up : UINT32_MAX);
    }
    bly_bytes_free(&path);
    bly_bytes_free(&text);
    return cpus;
}

uint32_t bly_cpus_quota(const char *root, const char *membership)
{
    const char *line = strncmp(membership, "0::", 3) == 0 ? membership : NULL;
    if (line == NULL) {
        const char *later = strstr(membership, "\n0::");
        line = later != NULL ? later + 1 : NULL;
    }
    if (line == NULL) {
        return UINT32_MAX;
    }
    struct bly_bytes folder = {0};
    bly_bytes_text(&folder, root);
    size_t root_len = folder.len;
    bly_bytes_add(&folder, line + 3, strcspn(line + 3, "\n"));
    uint32_t least = UINT32_MAX;
    for (;;) {
        uint32_t cpus = read_quota(folder.at);
        least = cpus < least ? cpus : least;
        if (folder.len <= root_len) {
            break;
        }
        folder.len = (size_t)(strrchr(folder.at, '/') - folder.at);
        folder.len = folder.len < root_len ? root_len : folder.len;
        folder.at[folder.len] = '\0';
    }
    bly_bytes_free(&folder);
    return least;
}

uint32_t bly_cpus_count(void)
{
    uint32_t cpus = count_affinity();
    struct bly_bytes membership = {0};
    if (read_file("/proc/self/cgroup", &membership)) {
        uint32_t quota = bly_cpus_quota("/sys/fs/cgroup", bly_bytes_c(&membership));
        cpus = quota < cpus ? quota : cpus;
    }
    bly_bytes_free(&membership);
    return cpus;
}

double bly_cpus_load(void)
{
    double load = -1;
    return getloadavg(&load, 1) == 1 ? load : -1;
}

uint64_t bly_cpus_memory(void)
{
    struct bly_bytes text = {0};
    uint64_t kib = UINT64_MAX;
    if (read_file("/proc/meminfo", &text)) {
        const char *line = strstr(bly_bytes_c(&text), "MemAvailable:");
        if (line == NULL || sscanf(line, "MemAvailable: %" SCNu64, &kib) != 1) {
            kib = UINT64_MAX;
        }
    }
    bly_bytes_free(&text);
    return kib == UINT64_MAX ? UINT64_MAX : kib * 1024;
}
