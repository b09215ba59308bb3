/*
 * cpus.c: see cpus.h.
 *
 * /proc/self/cgroup has a line "number:controllers:path" for each hierarchy. That of cgroup v2 has
 * no controllers; its limits are in /sys/fs/cgroup/path/cpu.max ("max 100000", "150000 100000") of
 * the group and of every group above it. For v1 it is the line with the controller cpu, and the
 * files cpu.cfs_quota_us (negative: none) and cpu.cfs_period_us.
 */
#include "sync/cpus.h"

#include "sync/machine.h"
#include "sync/sync.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_SIZE   1024u /* longer paths limit nothing */
#define CGROUP_SIZE 4096u /* of /proc/self/cgroup */
#define NUMBER_SIZE 64u   /* of a file with a number or two */
#define DEPTH_MAX   64u   /* groups above each other that are looked at */

#define V2_ROOT "/sys/fs/cgroup"
#define V1_ROOT "/sys/fs/cgroup/cpu"

const bly_cpu_source bly_cpus_of_machine = {.count_allowed = bly_machine_cpus_allowed,
                                            .read_file = bly_machine_read_file};

/* Reads the file `name` of the group at root/path; false when there is none. */
static bool read_of_group(const bly_cpu_source *source, const char *group, const char *name,
                          char text[NUMBER_SIZE])
{
    char path[PATH_SIZE];
    int length = snprintf(path, sizeof path, "%s/%s", group, name);
    return length > 0 && (size_t)length < sizeof path &&
           source->read_file(path, text, NUMBER_SIZE) > 0;
}

/* quota / period, rounded up; BELAY_UNBOUNDED when they are no limit. */
static uint32_t limit_of(long long quota, long long period)
{
    if (quota <= 0 || period <= 0) {
        return BELAY_UNBOUNDED;
    }
    long long limit = quota / period + (quota % period != 0);
    return limit < BELAY_UNBOUNDED ? (uint32_t)limit : BELAY_UNBOUNDED;
}

static uint32_t limit_v2(const bly_cpu_source *source, const char *group)
{
    char text[NUMBER_SIZE];
    if (!read_of_group(source, group, "cpu.max", text)) {
        return BELAY_UNBOUNDED;
    }
    char *rest;
    long long quota = strtoll(text, &rest, 10); /* "max" is 0, which limits nothing */
    return limit_of(quota, strtoll(rest, NULL, 10));
}

static uint32_t limit_v1(const bly_cpu_source *source, const char *group)
{
    char quota[NUMBER_SIZE];
    char period[NUMBER_SIZE];
    if (!read_of_group(source, group, "cpu.cfs_quota_us", quota) ||
        !read_of_group(source, group, "cpu.cfs_period_us", period)) {
        return BELAY_UNBOUNDED;
    }
    return limit_of(strtoll(quota, NULL, 10), strtoll(period, NULL, 10));
}

/* The smallest limit of the group root/path and of those above it, root included. */
static uint32_t limit_up(const bly_cpu_source *source, const char *root, const char *path,
                         uint32_t (*limit)(const bly_cpu_source *, const char *))
{
    char group[PATH_SIZE];
    int length = snprintf(group, sizeof group, "%s%s", root, path);
    if (length <= 0 || (size_t)length >= sizeof group) {
        return BELAY_UNBOUNDED;
    }
    uint32_t least = BELAY_UNBOUNDED;
    for (uint32_t depth = 0; depth < DEPTH_MAX; depth++) {
        uint32_t here = limit(source, group);
        least = here < least ? here : least;
        if (strlen(group) <= strlen(root)) {
            break;
        }
        *strrchr(group, '/') = '\0';
    }
    return least;
}

/* Whether the comma-separated list, `length` bytes long, has the word cpu. */
static bool has_cpu(const char *list, size_t length)
{
    const char *end = list + length;
    while (list < end) {
        const char *comma = memchr(list, ',', (size_t)(end - list));
        size_t word = (size_t)((comma != NULL ? comma : end) - list);
        if (word == 3 && memcmp(list, "cpu", 3) == 0) {
            return true;
        }
        list += word + 1;
    }
    return false;
}

/* The limit of one line of /proc/self/cgroup. */
static uint32_t limit_of_line(const bly_cpu_source *source, const char *line)
{
    const char *controllers = strchr(line, ':');
    const char *path = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
    if (path == NULL || path[1] != '/') {
        return BELAY_UNBOUNDED;
    }
    controllers++;
    size_t length = (size_t)(path - controllers);
    path += path[2] == '\0' ? 2 : 1; /* the root group is "/" and adds nothing to the path */
    if (length == 0) {
        return limit_up(source, V2_ROOT, path, limit_v2);
    }
    return has_cpu(controllers, length) ? limit_up(source, V1_ROOT, path, limit_v1)
                                        : BELAY_UNBOUNDED;
}

static uint32_t quota(const bly_cpu_source *source)
{
    char text[CGROUP_SIZE];
    uint32_t least = BELAY_UNBOUNDED;
    if (source->read_file("/proc/self/cgroup", text, sizeof text) <= 0) {
        return least;
    }
    char *rest;
    for (char *line = strtok_r(text, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        uint32_t limit = limit_of_line(source, line);
        least = limit < least ? limit : least;
    }
    return least;
}

uint32_t bly_cpus_usable(const bly_cpu_source *source)
{
    uint32_t allowed = source->count_allowed();
    uint32_t limit = quota(source);
    uint32_t usable = allowed < limit ? allowed : limit;
    if (usable == 0) {
        return 1;
    }
    return usable < BLY_CPUS_MAX ? usable : BLY_CPUS_MAX;
}
