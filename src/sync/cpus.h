/*
 * cpus.h: how many CPUs this process may use: what its affinity mask holds and its cgroup's quota
 * allows.
 */
#ifndef BLY_SYNC_CPUS_H
#define BLY_SYNC_CPUS_H

#include <stddef.h>
#include <stdint.h>

#define BLY_CPUS_MAX 1024u /* more are not told */

/* Where the answers come from; tests have a folder of their own. */
typedef struct bly_cpu_source {
    /* CPUs of the affinity mask; 0 when unknown. */
    uint32_t (*count_allowed)(void);

    /*
     * Reads a file from its beginning, at most size - 1 bytes, and ends them with a zero. Returns
     * how many, or a negative error.
     */
    int (*read_file)(const char *path, char *ret_text, size_t size);
} bly_cpu_source;

extern const bly_cpu_source bly_cpus_of_machine;

/*
 * bly_cpus_usable: max(1, min(affinity, ceil(quota), BLY_CPUS_MAX)), the quota being the smallest
 * of the cgroup and all above it, in cgroup v2 and v1. What cannot be read or understood limits
 * nothing.
 */
uint32_t bly_cpus_usable(const bly_cpu_source *source);

#endif
