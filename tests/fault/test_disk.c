/*
 * test_disk.c: a disk that fills up while jobs write to it: a small tmpfs in a mount namespace of
 * the test, or, where that is not allowed, a limit on the size of files, which a job runs into
 * alike.
 */
#include "../unit/proc/harness.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>

#define DISK_SIZE "size=1536k"

static harness h;
static char folder[] = "/tmp/belay-test-disk-XXXXXX";

static bool mount_small_disk(void)
{
    if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) {
        return false;
    }
    /* EINVAL: in a chroot, whose root is no mount; the disk is unmounted at the end of the test. */
    return (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 || errno == EINVAL) &&
           mount("belay-test", folder, "tmpfs", 0, DISK_SIZE) == 0;
}

static void limit_file_size(void)
{
    struct rlimit small = {.rlim_cur = 1 << 20, .rlim_max = RLIM_INFINITY};
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
}

/* A harness whose spool is on a disk of 1.5 MiB; false: it is a file of 1 MiB that is too much. */
static bool open_on_small_disk(void)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
    bool is_disk = mount_small_disk();
    if (!is_disk) {
        limit_file_size();
    }
    harness_open_with(&h, (bly_proc_opts){.jobs_max = 4, .spool_dir = folder});
    return is_disk;
}

static void close_disk(void)
{
    bly_proc_destroy(h.proc);
    umount(folder);
    rmdir(folder);
}

START_TEST(a_job_that_fills_the_disk_is_incomplete)
{
    bool is_disk = open_on_small_disk();
    ck_assert(!run_shell(&h, "echo fine")->end.is_incomplete);
    const end_record *end = run_shell(&h, "head -c 4000000 /dev/zero");
    ck_assert_int_ne(bly_proc_status(&end->end), 0);
    ck_assert_uint_lt(end->out_size, 4000000);
    if (is_disk) {
        ck_assert(end->end.is_incomplete);
        ck_assert_int_eq(bly_proc_poll(h.proc, BELAY_NOW), BELAY_ETIMEDOUT);
        ck_assert_uint_eq(h.notices[BLY_PROC_NOTICE_DISK_FULL], 1);
    }
    end = run_shell(&h, "echo fine again");
    ck_assert(!end->end.is_incomplete);
    ck_assert_str_eq(end->out, "fine again\n");
    close_disk();
}
END_TEST

/*
 * The job itself says nothing: echo's failure is ignored and it ends well, with a part of its
 * text.
 */
START_TEST(a_job_that_ignores_the_failure_is_incomplete_all_the_same)
{
    bool is_disk = open_on_small_disk();
    const end_record *end = run_shell(
        &h, "head -c 4000000 /dev/zero 2>/dev/null; echo 'the last line' 2>/dev/null; exit 0");
    ck_assert_int_eq(end->end.code, 0);
    ck_assert(end->end.is_incomplete || !is_disk);
    close_disk();
}
END_TEST

/* A long job is not waited for: whoever runs the batch knows within a second or two. */
START_TEST(a_disk_that_fills_up_is_noticed_while_the_job_runs)
{
    bool is_disk = open_on_small_disk();
    shell(&h, "head -c 4000000 /dev/zero; exec sleep 1000");
    int64_t deadline_ns = soon();
    while (is_disk && h.notices[BLY_PROC_NOTICE_DISK_FULL] == 0) {
        ck_assert_int_eq(bly_proc_poll(h.proc, deadline_ns), 0);
    }
    ck_assert_uint_eq(h.ends, 0);
    bly_proc_kill_all(h.proc);
    ck_assert(await_ends(&h, 1)->end.is_incomplete || !is_disk);
    close_disk();
}
END_TEST

UNIT_MAIN("fault/disk", a_job_that_fills_the_disk_is_incomplete,
          a_job_that_ignores_the_failure_is_incomplete_all_the_same,
          a_disk_that_fills_up_is_noticed_while_the_job_runs)
