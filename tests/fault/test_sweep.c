/*
 * test_sweep.c: ending all descendants when the system says no or moves meanwhile.
 *
 * The functions that the linker puts in place of the system's look at faults in memory that all
 * processes of a test share, so that one process, the keeper too, can be made to fail at any time.
 */
#include "../unit/proc/harness.h"

#include "proc/runner_int.h"

#include <dirent.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#define MS INT64_C(1000000)

static harness h;

enum { OPEN, OPENAT, OPENDIR, PREAD, PIDFD_OPEN, SEND, KILL, POLL, CALLS };

/* Calls of one function by one process: the next `times` fail. */
typedef struct fault {
    pid_t pid;
    int times, error;
} fault;

static fault *faults;

/* Called before that file is opened. */
static char hook_path[64];
static void (*hook)(void);

static void prepare(void)
{
    faults = mmap(NULL, CALLS * sizeof *faults, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                  -1, 0);
    ck_assert_ptr_ne(faults, MAP_FAILED);
}

static void arm(int call, pid_t pid, int times, int error)
{
    faults[call] = (fault){.pid = pid, .times = times, .error = error};
}

static bool fails(int call)
{
    if (faults == NULL || faults[call].times == 0 || faults[call].pid != getpid()) {
        return false;
    }
    faults[call].times--;
    errno = faults[call].error;
    return true;
}

int __real_open(const char *path, int flags, mode_t mode);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
    if (hook != NULL && strcmp(path, hook_path) == 0) {
        void (*fn)(void) = hook;
        hook = NULL;
        fn();
    }
    return fails(OPEN) ? -1 : __real_open(path, flags, 0600);
}

int __real_openat(int folder, const char *path, int flags, mode_t mode);
int __wrap_openat(int folder, const char *path, int flags, ...);
int __wrap_openat(int folder, const char *path, int flags, ...)
{
    return fails(OPENAT) ? -1 : __real_openat(folder, path, flags, 0600);
}

DIR *__real_opendir(const char *path);
DIR *__wrap_opendir(const char *path);
DIR *__wrap_opendir(const char *path)
{
    return fails(OPENDIR) ? NULL : __real_opendir(path);
}

ssize_t __real_pread(int fd, void *bytes, size_t size, off_t offset);
ssize_t __wrap_pread(int fd, void *bytes, size_t size, off_t offset);
ssize_t __wrap_pread(int fd, void *bytes, size_t size, off_t offset)
{
    return fails(PREAD) ? -1 : __real_pread(fd, bytes, size, offset);
}

int __real_pidfd_open(pid_t pid, unsigned flags);
int __wrap_pidfd_open(pid_t pid, unsigned flags);
int __wrap_pidfd_open(pid_t pid, unsigned flags)
{
    return fails(PIDFD_OPEN) ? -1 : __real_pidfd_open(pid, flags);
}

/* With errno 0 the signal is lost on its way, as one is to a process that hangs in the kernel. */
int __real_pidfd_send_signal(int fd, int number, siginfo_t *info, unsigned flags);
int __wrap_pidfd_send_signal(int fd, int number, siginfo_t *info, unsigned flags);
int __wrap_pidfd_send_signal(int fd, int number, siginfo_t *info, unsigned flags)
{
    if (fails(SEND)) {
        return errno == 0 ? 0 : -1;
    }
    return __real_pidfd_send_signal(fd, number, info, flags);
}

int __real_kill(pid_t pid, int number);
int __wrap_kill(pid_t pid, int number);
int __wrap_kill(pid_t pid, int number)
{
    return fails(KILL) ? -1 : __real_kill(pid, number);
}

/* One that fails has waited to the end of its time. */
int __real_poll(struct pollfd *waits, nfds_t count, int wait_ms);
int __wrap_poll(struct pollfd *waits, nfds_t count, int wait_ms);
int __wrap_poll(struct pollfd *waits, nfds_t count, int wait_ms)
{
    return fails(POLL) ? 0 : __real_poll(waits, count, wait_ms);
}

static void become_subreaper(void)
{
    ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
}

/* A child, one of its own and one in a session of its own; all three have said their pids. */
static void start_family(pid_t *pids)
{
    voice v = voice_open();
    pid_t child = fork();
    if (child == 0) {
        dup2(v.ends[1], 1);
        execl("/bin/sh", "sh", "-c",
              "echo $$; sleep 1000 & echo $!; setsid sh -c 'echo $$; exec sleep 1000' & wait",
              (char *)NULL);
        _exit(127);
    }
    for (int i = 0; i < 3; i++) {
        pids[i] = hear_pid(NULL, &v);
    }
}

static void check_family_is_gone(const pid_t *pids)
{
    for (int i = 0; i < 3; i++) {
        ck_assert(!is_alive(pids[i]));
    }
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
    ck_assert_int_eq(errno, ECHILD);
}

START_TEST(a_look_that_fails_is_no_sign_that_nobody_is_there)
{
    prepare();
    become_subreaper();
    const int calls[] = {OPEN, OPENAT, OPENDIR, PREAD, PIDFD_OPEN};
    const int errors[] = {EMFILE, ENFILE, ENOMEM, EIO};
    for (size_t i = 0; i < bly_count(calls); i++) {
        for (size_t k = 0; k < bly_count(errors); k++) {
            pid_t pids[3];
            start_family(pids);
            arm(calls[i], getpid(), 3, errors[k]);
            ck_assert_int_eq(bly_tree_end(NULL, BELAY_FOREVER, NULL), 0);
            ck_assert_msg(faults[calls[i]].times == 0, "call %zu was not made", i);
            check_family_is_gone(pids);
        }
    }
}
END_TEST

START_TEST(not_a_descriptor_to_be_had_does_not_protect_children)
{
    prepare();
    become_subreaper();
    pid_t pids[3];
    start_family(pids);
    arm(PIDFD_OPEN, getpid(), 1000000, EMFILE);
    ck_assert_int_eq(bly_tree_end(NULL, BELAY_FOREVER, NULL), 0);
    faults[PIDFD_OPEN].times = 0;
    check_family_is_gone(pids);
}
END_TEST

START_TEST(a_look_that_fails_for_good_is_an_error)
{
    prepare();
    become_subreaper();
    pid_t pids[3];
    start_family(pids);
    arm(OPEN, getpid(), 1000000, EMFILE);
    ck_assert_int_eq(bly_tree_end(NULL, 20 * MS, NULL), BELAY_EIO);
    arm(OPEN, getpid(), 1000000, ENOMEM);
    ck_assert_int_eq(bly_tree_end(NULL, 20 * MS, NULL), BELAY_ENOMEM);
    arm(OPEN, 0, 0, 0);
    ck_assert_int_eq(bly_tree_end(NULL, BELAY_FOREVER, NULL), 0);
    check_family_is_gone(pids);
}
END_TEST

START_TEST(who_may_not_be_signalled_is_told_and_not_waited_for)
{
    prepare();
    become_subreaper();
    pid_t pids[3];
    start_family(pids);
    bly_tree_list left = {0};
    arm(SEND, getpid(), 1000000, EPERM);
    ck_assert_int_eq(bly_tree_end(NULL, BELAY_FOREVER, &left), BELAY_EBUSY);
    ck_assert_uint_eq(left.count, 3);
    ck_assert_int_eq(left.procs[0].pid, pids[0]);
    bly_tree_list_free(&left);
    arm(SEND, 0, 0, 0);
    ck_assert_int_eq(bly_tree_end(NULL, BELAY_FOREVER, &left), 0);
    ck_assert_uint_eq(left.count, 0);
    check_family_is_gone(pids);
}
END_TEST

START_TEST(who_does_not_die_is_told_when_the_patience_is_over)
{
    prepare();
    become_subreaper();
    pid_t pids[3];
    start_family(pids);
    bly_tree_list left = {0};
    arm(SEND, getpid(), 1000000, 0);
    ck_assert_int_eq(bly_tree_end(NULL, 20 * MS, &left), BELAY_EBUSY);
    ck_assert_uint_eq(left.count, 3);
    bly_tree_list_free(&left);
    arm(SEND, 0, 0, 0);
    ck_assert_int_eq(bly_tree_end(NULL, BELAY_FOREVER, NULL), 0);
    check_family_is_gone(pids);
}
END_TEST

static pid_t doomed;

/* Returns when the process has gone, reaped by nobody, and its children are this process's. */
static void doom(void)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%d", doomed);
    __real_kill(doomed, SIGKILL);
    int64_t deadline_ns = soon();
    while (access(path, F_OK) == 0) {
        ck_assert_int_lt(bly_monotonic_ns(), deadline_ns);
    }
}

/* The list has been read when the parent goes away; only then its children are in that list. */
START_TEST(children_whose_parent_goes_during_the_look_are_found_by_the_next)
{
    prepare();
    become_subreaper();
    ck_assert(signal(SIGCHLD, SIG_IGN) != SIG_ERR);
    pid_t pids[3];
    start_family(pids);
    doomed = pids[0];
    snprintf(hook_path, sizeof hook_path, "/proc/%d/stat", doomed);
    hook = doom;
    ck_assert_int_eq(bly_tree_end(NULL, BELAY_FOREVER, NULL), 0);
    ck_assert_ptr_null(hook);
    check_family_is_gone(pids);
}
END_TEST

/* A job that says the pid of a child it will leave in its session, and ends when told to. */
typedef struct leaver {
    voice v, gate;
    pid_t left;
} leaver;

static leaver start_leaver(uint32_t flags)
{
    leaver job = {.v = voice_open(), .gate = voice_open()};
    char *argv[] = {WORD("sh"), WORD("-c"), WORD("sleep 1000 & echo $! >&3; read -r x; exit 0"),
                    NULL};
    bly_proc_spec spec = spec_of(&h, argv);
    spec.in = (bly_proc_stream){.kind = BLY_PROC_FD, .fd = job.gate.ends[0]};
    spec.live = voice_stream(&job.v);
    spec.flags = flags;
    spawn(&h, &spec);
    job.left = hear_pid(&h, &job.v);
    return job;
}

static const end_record *let_end(const leaver *job)
{
    ck_assert_int_eq(write(job->gate.ends[1], "\n", 1), 1);
    return await_ends(&h, h.ends + 1);
}

START_TEST(what_a_job_left_is_found_even_if_the_first_looks_fail)
{
    prepare();
    harness_open(&h, 2);
    const int calls[] = {OPEN, OPENAT, OPENDIR, PREAD};
    for (size_t i = 0; i < bly_count(calls); i++) {
        leaver job = start_leaver(0);
        arm(calls[i], h.proc->keeper, 2, EMFILE);
        ck_assert_uint_eq(let_end(&job)->end.left, 1);
        ck_assert_int_eq(faults[calls[i]].times, 0);
        ck_assert(!is_alive(job.left));
    }
    bly_proc_destroy(h.proc);
}
END_TEST

START_TEST(what_is_to_be_kept_is_kept_even_if_the_first_looks_fail)
{
    prepare();
    harness_open(&h, 2);
    const int calls[] = {OPEN, OPENAT, OPENDIR, PREAD};
    for (size_t i = 0; i < bly_count(calls); i++) {
        leaver job = start_leaver(BLY_PROC_KEEP_CHILDREN);
        arm(calls[i], h.proc->keeper, 2, EMFILE);
        ck_assert_uint_eq(let_end(&job)->end.kept, 1);
        ck_assert_int_eq(faults[calls[i]].times, 0);
        ck_assert(is_alive(job.left));
        kill(job.left, SIGKILL);
        ck_assert(is_gone_soon(job.left));
    }
    bly_proc_destroy(h.proc);
}
END_TEST

/* The lowest number that is no descriptor of the process. */
static rlim_t first_free(pid_t pid)
{
    rlim_t number = 0;
    char path[64];
    do {
        snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, (int)number++);
    } while (faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0);
    return number - 1;
}

START_TEST(a_keeper_without_a_free_descriptor_ends_all)
{
    prepare();
    harness_open(&h, 2);
    leaver jobs[2] = {start_leaver(0), start_leaver(0)};
    rlim_t used = first_free(h.proc->keeper);
    struct rlimit none = {.rlim_cur = used, .rlim_max = used};
    ck_assert_int_eq(prlimit(h.proc->keeper, RLIMIT_NOFILE, &none, NULL), 0);
    bly_proc_destroy(h.proc);
    ck_assert(!is_alive(jobs[0].left));
    ck_assert(!is_alive(jobs[1].left));
    for (size_t i = 0; i < bly_count(h.notices); i++) {
        ck_assert_uint_eq(h.notices[i], 0);
    }
}
END_TEST

static pid_t survivor;

static void note_survivor(int notice, void *arg)
{
    on_notice(notice, arg);
    if (notice == BLY_PROC_NOTICE_SURVIVORS) {
        pid_t pids[4];
        ck_assert_uint_eq(bly_proc_survivors(h.proc, pids, bly_count(pids)), 1);
        survivor = pids[0];
    }
}

/* A runner whose job has left a process that has nobody to answer to but the keeper. */
static pid_t open_with_daemon(void)
{
    prepare();
    harness_open(&h, 2);
    h.proc->opts.notice = note_survivor;
    return leave_daemon(&h, 0);
}

START_TEST(what_outlives_the_keeper_and_kill_is_named)
{
    pid_t left = open_with_daemon();
    arm(SEND, getpid(), 1000000, EPERM);
    ck_assert_int_eq(__real_kill(h.proc->keeper, SIGKILL), 0);
    ck_assert(is_gone_soon(h.proc->keeper)); /* or it would be one more that cannot be signalled */
    while (h.notices[BLY_PROC_NOTICE_KEEPER_LOST] == 0) {
        ck_assert_int_eq(bly_proc_poll(h.proc, soon()), 0);
    }
    ck_assert_uint_eq(h.notices[BLY_PROC_NOTICE_SURVIVORS], 1);
    ck_assert_int_eq(survivor, left);
    bly_proc_destroy(h.proc);
    ck_assert_int_eq(__real_kill(left, SIGKILL), 0);
}
END_TEST

START_TEST(what_outlives_destroy_is_named)
{
    pid_t left = open_with_daemon();
    arm(SEND, getpid(), 1000000, EPERM);
    ck_assert_int_eq(__real_kill(h.proc->keeper, SIGKILL), 0);
    ck_assert(is_gone_soon(h.proc->keeper));
    bly_proc_destroy(h.proc);
    ck_assert_uint_eq(h.notices[BLY_PROC_NOTICE_KEEPER_LOST], 0);
    ck_assert_uint_eq(h.notices[BLY_PROC_NOTICE_SURVIVORS], 1);
    ck_assert_int_eq(survivor, left);
    ck_assert_int_eq(__real_kill(left, SIGKILL), 0);
}
END_TEST

START_TEST(what_the_keeper_may_not_signal_is_named_at_the_end)
{
    pid_t left = open_with_daemon();
    arm(SEND, h.proc->keeper, 1000000, EPERM);
    arm(KILL, getpid(), 1000000, EPERM);
    bly_proc_destroy(h.proc);
    ck_assert_uint_eq(h.notices[BLY_PROC_NOTICE_SURVIVORS], 1);
    ck_assert_int_eq(survivor, left);
    ck_assert_int_eq(__real_kill(left, SIGKILL), 0);
}
END_TEST

START_TEST(a_keeper_that_takes_too_long_is_left_behind_and_named)
{
    pid_t left = open_with_daemon();
    pid_t keeper = bly_proc_keeper(h.proc);
    ck_assert_int_eq(__real_kill(keeper, SIGSTOP), 0);
    arm(POLL, getpid(), 1, 0);
    bly_proc_destroy(h.proc);
    ck_assert_uint_eq(h.notices[BLY_PROC_NOTICE_KEEPER_STAYS], 1);
    ck_assert(is_alive(left));
    ck_assert_int_eq(__real_kill(keeper, SIGCONT), 0);
    ck_assert(is_gone_soon(left));
    ck_assert(is_gone_soon(keeper));
}
END_TEST

UNIT_MAIN("fault/sweep", a_look_that_fails_is_no_sign_that_nobody_is_there,
          not_a_descriptor_to_be_had_does_not_protect_children,
          a_look_that_fails_for_good_is_an_error,
          who_may_not_be_signalled_is_told_and_not_waited_for,
          who_does_not_die_is_told_when_the_patience_is_over,
          children_whose_parent_goes_during_the_look_are_found_by_the_next,
          what_a_job_left_is_found_even_if_the_first_looks_fail,
          what_is_to_be_kept_is_kept_even_if_the_first_looks_fail,
          a_keeper_without_a_free_descriptor_ends_all, what_outlives_the_keeper_and_kill_is_named,
          what_outlives_destroy_is_named, what_the_keeper_may_not_signal_is_named_at_the_end,
          a_keeper_that_takes_too_long_is_left_behind_and_named)
