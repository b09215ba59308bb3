/* CPUs, load and memory of the machine. */
#include "unit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cpus.h"
#include "cli/files.h"
#include "cli/mem.h"

static char root[] = "cgroup_XXXXXX";

static void make_group(const char *name, const char *quota)
{
    struct bly_bytes path = {0};
    bly_bytes_print(&path, "%s%s", root, name);
    mkdir(path.at, 0700);
    bly_bytes_text(&path, "/cpu.max");
    int fd = open(path.at, O_WRONLY | O_CREAT, 0600);
    ck_assert_int_ge(fd, 0);
    struct bly_bytes text = {0};
    bly_bytes_print(&text, "%s\n", quota);
    ck_assert_int_eq(bly_files_write(fd, text.at, text.len), 0);
    close(fd);
    bly_bytes_free(&path);
    bly_bytes_free(&text);
}

START_TEST(the_smallest_quota_of_all_groups_around_counts)
{
    ck_assert_ptr_nonnull(mkdtemp(root));
    make_group("/outer", "150000 100000");
    make_group("/outer/inner", "max 100000");
    make_group("/outer/inner/small", "1000 100000");
    make_group("/free", "max 100000");
    ck_assert_uint_eq(bly_cpus_quota(root, "0::/outer\n"), 2);
    ck_assert_uint_eq(bly_cpus_quota(root, "0::/outer/inner\n"), 2);
    ck_assert_uint_eq(bly_cpus_quota(root, "0::/outer/inner/small\n"), 1);
    ck_assert_uint_eq(bly_cpus_quota(root, "1:cpu:/x\n0::/outer\n"), 2);
    ck_assert_uint_eq(bly_cpus_quota(root, "0::/free\n"), UINT32_MAX);
    ck_assert_uint_eq(bly_cpus_quota(root, "0::/\n"), UINT32_MAX);
    ck_assert_uint_eq(bly_cpus_quota(root, "0::/gone/away\n"), UINT32_MAX);
    ck_assert_uint_eq(bly_cpus_quota(root, "1:cpu:/x\n"), UINT32_MAX);
    ck_assert_uint_eq(bly_cpus_quota(root, ""), UINT32_MAX);
}
END_TEST

START_TEST(the_machine_has_what_it_has)
{
    ck_assert_uint_ge(bly_cpus_count(), 1);
    ck_assert_double_ge(bly_cpus_load(), 0);
    ck_assert_uint_gt(bly_cpus_memory(), 1 << 20);
}
END_TEST

UNIT_MAIN("cli/cpus", the_smallest_quota_of_all_groups_around_counts, the_machine_has_what_it_has)
