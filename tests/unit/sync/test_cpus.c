/*
 * test_cpus.c: the number of CPUs that a process may use, from made-up machines and, once,
 * from files of a folder.
 */
#include "sync/cpus.h"

#include "base/assert.h"
#include "belay/base.h"
#include "sync/machine.h"
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES_MAX 12

typedef struct fake_file {
    const char *path;
    const char *text;
} fake_file;

static uint32_t allowed;
static fake_file files[FILES_MAX];

static uint32_t fake_count_allowed(void)
{
    return allowed;
}

static int fake_read_file(const char *path, char *ret_text, size_t size)
{
    for (size_t i = 0; i < FILES_MAX && files[i].path != NULL; i++) {
        if (strcmp(files[i].path, path) == 0) {
            return snprintf(ret_text, size, "%s", files[i].text);
        }
    }
    return BELAY_EIO;
}

static const bly_cpu_source fake = {fake_count_allowed, fake_read_file};

static void machine(uint32_t cpus, const fake_file *with, size_t count)
{
    allowed = cpus;
    memset(files, 0, sizeof files);
    memcpy(files, with, count * sizeof *with);
}

#define MACHINE(cpus, ...)                                                                         \
    machine(cpus, (fake_file[]){__VA_ARGS__},                                                      \
            sizeof((fake_file[]){__VA_ARGS__}) / sizeof(fake_file))

START_TEST(without_a_quota_the_affinity_counts)
{
    MACHINE(6, {"/proc/self/cgroup", "0::/a\n"}, {"/sys/fs/cgroup/a/cpu.max", "max 100000\n"});
    ck_assert_uint_eq(bly_cpus_usable(&fake), 6);
    MACHINE(3, {"/proc/self/cgroup", "0::/\n"});
    ck_assert_uint_eq(bly_cpus_usable(&fake), 3);
    MACHINE(5, {"/nowhere", ""});
    ck_assert_uint_eq(bly_cpus_usable(&fake), 5);
}
END_TEST

START_TEST(a_quota_is_rounded_up)
{
    MACHINE(8, {"/proc/self/cgroup", "0::/a\n"}, {"/sys/fs/cgroup/a/cpu.max", "100000 100000\n"});
    ck_assert_uint_eq(bly_cpus_usable(&fake), 1);
    MACHINE(8, {"/proc/self/cgroup", "0::/a\n"}, {"/sys/fs/cgroup/a/cpu.max", "150000 100000\n"});
    ck_assert_uint_eq(bly_cpus_usable(&fake), 2);
    MACHINE(8, {"/proc/self/cgroup", "0::/a\n"}, {"/sys/fs/cgroup/a/cpu.max", "1000 100000\n"});
    ck_assert_uint_eq(bly_cpus_usable(&fake), 1);
}
END_TEST

START_TEST(the_smaller_of_affinity_and_quota_counts)
{
    MACHINE(2, {"/proc/self/cgroup", "0::/a\n"}, {"/sys/fs/cgroup/a/cpu.max", "900000 100000\n"});
    ck_assert_uint_eq(bly_cpus_usable(&fake), 2);
    MACHINE(16, {"/proc/self/cgroup", "0::/a\n"}, {"/sys/fs/cgroup/a/cpu.max", "900000 100000\n"});
    ck_assert_uint_eq(bly_cpus_usable(&fake), 9);
}
END_TEST

START_TEST(a_group_above_may_be_the_tighter_one)
{
    MACHINE(8, {"/proc/self/cgroup", "0::/a/b/c\n"},
            {"/sys/fs/cgroup/a/b/c/cpu.max", "600000 100000\n"},
            {"/sys/fs/cgroup/a/b/cpu.max", "max 100000\n"},
            {"/sys/fs/cgroup/a/cpu.max", "300000 100000\n"});
    ck_assert_uint_eq(bly_cpus_usable(&fake), 3);
    MACHINE(8, {"/proc/self/cgroup", "0::/\n"}, {"/sys/fs/cgroup/cpu.max", "400000 100000\n"});
    ck_assert_uint_eq(bly_cpus_usable(&fake), 4);
}
END_TEST

START_TEST(the_older_cgroups_have_a_quota_too)
{
    MACHINE(8, {"/proc/self/cgroup", "5:cpuset:/x\n4:cpu,cpuacct:/y/z\n1:name=systemd:/w\n0::/\n"},
            {"/sys/fs/cgroup/cpu/y/z/cpu.cfs_quota_us", "-1\n"},
            {"/sys/fs/cgroup/cpu/y/z/cpu.cfs_period_us", "100000\n"},
            {"/sys/fs/cgroup/cpu/y/cpu.cfs_quota_us", "250000\n"},
            {"/sys/fs/cgroup/cpu/y/cpu.cfs_period_us", "100000\n"},
            {"/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "1000\n"},
            {"/sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "1000\n"});
    ck_assert_uint_eq(bly_cpus_usable(&fake), 3);
}
END_TEST

START_TEST(what_cannot_be_understood_limits_nothing)
{
    static const char *const groups[] = {
        "", "\n", "0", "0:", "0::", "0::a\n", "::\n", "x:cpu:/a\n"};
    for (size_t i = 0; i < bly_count(groups); i++) {
        MACHINE(4, {"/proc/self/cgroup", groups[i]}, {"/sys/fs/cgroup/cpu.max", "max\n"});
        ck_assert_uint_eq(bly_cpus_usable(&fake), 4);
    }
    static const char *const quotas[] = {
        "", "max", "-5 100000", "100000", "100000 0", "a b", "99999999999999999999 1"};
    for (size_t i = 0; i < bly_count(quotas); i++) {
        MACHINE(4, {"/proc/self/cgroup", "0::/a\n"}, {"/sys/fs/cgroup/a/cpu.max", quotas[i]});
        ck_assert_uint_eq(bly_cpus_usable(&fake), 4);
    }
}
END_TEST

START_TEST(there_is_at_least_one_cpu_and_at_most_the_bound)
{
    MACHINE(0, {"/nowhere", ""});
    ck_assert_uint_eq(bly_cpus_usable(&fake), 1);
    MACHINE(100000, {"/nowhere", ""});
    ck_assert_uint_eq(bly_cpus_usable(&fake), BLY_CPUS_MAX);
}
END_TEST

START_TEST(paths_that_are_too_long_or_too_deep_limit_nothing_and_end)
{
    char groups[4096];
    memset(groups, 'a', sizeof groups);
    memcpy(groups, "0::/", 4);
    groups[sizeof groups - 1] = '\0';
    MACHINE(4, {"/proc/self/cgroup", groups});
    ck_assert_uint_eq(bly_cpus_usable(&fake), 4);
    size_t length = (size_t)snprintf(groups, sizeof groups, "0::");
    for (int depth = 0; depth < 200; depth++) {
        length += (size_t)snprintf(groups + length, sizeof groups - length, "/d");
    }
    MACHINE(4, {"/proc/self/cgroup", groups});
    ck_assert_uint_eq(bly_cpus_usable(&fake), 4);
}
END_TEST

/* --- Real files, below a folder of the test's own. --- */

static char root[64];

static int rooted_read_file(const char *path, char *ret_text, size_t size)
{
    char rooted[256];
    (void)snprintf(rooted, sizeof rooted, "%s%s", root, path);
    return bly_machine_read_file(rooted, ret_text, size);
}

static void write_file(const char *path, const char *text)
{
    char rooted[256];
    (void)snprintf(rooted, sizeof rooted, "%s%s", root, path);
    for (char *slash = strchr(rooted + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        ck_assert(mkdir(rooted, 0700) == 0 || errno == EEXIST);
        *slash = '/';
    }
    FILE *file = fopen(rooted, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

START_TEST(a_cgroup_tree_in_a_folder_sets_the_default)
{
    const bly_cpu_source rooted = {fake_count_allowed, rooted_read_file};
    (void)strcpy(root, "/tmp/belay-cpus-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(root));
    allowed = 8;
    write_file("/proc/self/cgroup", "0::/box/inner\n");
    write_file("/sys/fs/cgroup/box/cpu.max", "100000 100000\n");
    write_file("/sys/fs/cgroup/box/inner/cpu.max", "max 100000\n");
    ck_assert_uint_eq(bly_cpus_usable(&rooted), 1);
    write_file("/sys/fs/cgroup/box/cpu.max", "210000 100000\n");
    ck_assert_uint_eq(bly_cpus_usable(&rooted), 3);
    char command[128];
    (void)snprintf(command, sizeof command, "rm -r %s", root);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

START_TEST(this_machine_has_at_least_one_cpu)
{
    ck_assert_uint_ge(bly_cpus_usable(&bly_cpus_of_machine), 1);
    ck_assert_uint_ge(bly_machine_cpus_allowed(), 1);
    char text[2];
    ck_assert_int_eq(bly_machine_read_file("/proc/self/stat", text, sizeof text), 1);
    ck_assert_int_eq(bly_machine_read_file("/no/such/file", text, sizeof text), BELAY_EIO);
    ck_assert_int_eq(bly_machine_read_file("/proc", text, sizeof text), BELAY_EIO);
}
END_TEST

UNIT_MAIN("sync/cpus", without_a_quota_the_affinity_counts, a_quota_is_rounded_up,
          the_smaller_of_affinity_and_quota_counts, a_group_above_may_be_the_tighter_one,
          the_older_cgroups_have_a_quota_too, what_cannot_be_understood_limits_nothing,
          there_is_at_least_one_cpu_and_at_most_the_bound,
          paths_that_are_too_long_or_too_deep_limit_nothing_and_end,
          a_cgroup_tree_in_a_folder_sets_the_default, this_machine_has_at_least_one_cpu)
