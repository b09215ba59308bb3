/*
 * cpus.h: what the machine has: CPUs that this process may use, load, free memory.
 * Context: any; reads files of /proc and /sys.
 */
#ifndef BLY_CLI_CPUS_H
#define BLY_CLI_CPUS_H

#include <stdint.h>

/*
 * bly_cpus_count: CPUs by affinity and by the quota of the cgroups that hold the process; 1 or
 * more.
 */
uint32_t bly_cpus_count(void);

/*
 * bly_cpus_quota: the CPUs that the quotas of a cgroup and of those around it allow, rounded up;
 * UINT32_MAX without one. root: the mounted cgroup v2 tree, "/sys/fs/cgroup"; membership: the text
 * of /proc/self/cgroup.
 */
uint32_t bly_cpus_quota(const char *root, const char *membership);

/* bly_cpus_load: the load of the last minute; negative when it is not known. */
double bly_cpus_load(void);

/* bly_cpus_memory: bytes of memory available for new programs; UINT64_MAX when not known. */
uint64_t bly_cpus_memory(void);

#endif
