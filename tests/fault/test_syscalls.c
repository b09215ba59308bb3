/*
 * test_syscalls.c: runner and keeper when the system says no. Calls are counted in each process;
 * the keeper, a fork of the test, inherits what was set before it was made.
 */
#include "../unit/proc/harness.h"

#include "proc/runner_int.h"
#include "script.h"

#include <sched.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/statvfs.h>

static harness h;

static fault in_clone, in_pidfd_open, in_epoll_ctl, in_epoll_create, in_socketpair, in_fork,
    in_openat, in_open, in_pwrite, in_fstatvfs, in_sendmsg, in_prctl, in_signalfd, in_fcntl,
    in_alloc, in_realloc, in_inotify, in_ftruncate;

WRAP(int, pidfd_open, (pid_t pid, unsigned flags), (pid, flags), &in_pidfd_open)
WRAP(int, epoll_ctl, (int set, int op, int fd, struct epoll_event *event), (set, op, fd, event),
     &in_epoll_ctl)
WRAP(int, epoll_create1, (int flags), (flags), &in_epoll_create)
WRAP(int, socketpair, (int domain, int type, int protocol, int ends[2]),
     (domain, type, protocol, ends), &in_socketpair)
WRAP(pid_t, fork, (void), (), &in_fork)
WRAP(ssize_t, pwrite, (int fd, const void *bytes, size_t size, off_t offset),
     (fd, bytes, size, offset), &in_pwrite)
WRAP(int, fstatvfs, (int fd, struct statvfs *status), (fd, status), &in_fstatvfs)
WRAP(ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags), (fd, message, flags),
     &in_sendmsg)
WRAP(int, signalfd, (int fd, const sigset_t *mask, int flags), (fd, mask, flags), &in_signalfd)
WRAP(int, inotify_init1, (int flags), (flags), &in_inotify)
WRAP(int, ftruncate, (int fd, off_t size), (fd, size), &in_ftruncate)

int __real_clone(int (*fn)(void *), void *stack, int flags, void *arg, ...);
int __wrap_clone(int (*fn)(void *), void *stack, int flags, void *arg, ...);
int __wrap_clone(int (*fn)(void *), void *stack, int flags, void *arg, ...)
{
    va_list rest;
    va_start(rest, arg);
    int *pidfd = va_arg(rest, int *);
    va_end(rest);
    return fails(&in_clone) ? -1 : __real_clone(fn, stack, flags, arg, pidfd);
}

int __real_openat(int folder, const char *path, int flags, mode_t mode);
int __wrap_openat(int folder, const char *path, int flags, ...);
int __wrap_openat(int folder, const char *path, int flags, ...)
{
    return fails(&in_openat) ? -1 : __real_openat(folder, path, flags, 0600);
}

int __real_open(const char *path, int flags, mode_t mode);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
    return fails(&in_open) ? -1 : __real_open(path, flags, 0600);
}

int __real_fcntl(int fd, int command, long argument);
int __wrap_fcntl(int fd, int command, ...);
int __wrap_fcntl(int fd, int command, ...)
{
    va_list rest;
    va_start(rest, command);
    long argument = va_arg(rest, long);
    va_end(rest);
    if (command == F_DUPFD_CLOEXEC && fails(&in_fcntl)) {
        return -1;
    }
    return __real_fcntl(fd, command, argument);
}

int __real_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d);
int __wrap_prctl(int option, ...);
int __wrap_prctl(int option, ...)
{
    va_list rest;
    va_start(rest, option);
    unsigned long argument = va_arg(rest, unsigned long);
    va_end(rest);
    return fails(&in_prctl) ? -1 : __real_prctl(option, argument, 0, 0, 0);
}

void *__real_bly_alloc(size_t size);
void *__wrap_bly_alloc(size_t size);
void *__wrap_bly_alloc(size_t size)
{
    return fails(&in_alloc) ? NULL : __real_bly_alloc(size);
}

void *__real_bly_realloc(void *block, size_t size);
void *__wrap_bly_realloc(void *block, size_t size);
void *__wrap_bly_realloc(void *block, size_t size)
{
    return fails(&in_realloc) ? NULL : __real_bly_realloc(block, size);
}

static int create(void)
{
    bly_proc *proc = NULL;
    bly_proc_opts opts = {.size = sizeof opts, .jobs_max = 4};
    int result = bly_proc_create(&opts, &proc);
    ck_assert((result == 0) == (proc != NULL));
    bly_proc_destroy(proc);
    return result;
}

/* Neither a process nor a descriptor is left of a creation that failed. */
static void check_nothing_left(int first_free)
{
    int next = dup(0);
    close(next);
    ck_assert_int_eq(next, first_free);
    siginfo_t info;
    int64_t deadline_ns = soon();
    while (waitid(P_ALL, 0, &info, WEXITED) == 0) { /* a keeper that is still on its way out */
        ck_assert_int_lt(bly_monotonic_ns(), deadline_ns);
    }
}

START_TEST(every_failure_of_create_is_an_error_and_leaves_nothing)
{
    fault *const faults[] = {&in_pidfd_open, &in_epoll_ctl, &in_epoll_create, &in_socketpair,
                             &in_fork,       &in_openat,    &in_open,         &in_prctl,
                             &in_signalfd,   &in_alloc};
    int first_free = dup(0);
    close(first_free);
    for (size_t i = 0; i < bly_count(faults); i++) {
        int failed = 0;
        for (int call = 1; call <= 10; call++) {
            arm(faults[i], call, EMFILE);
            int result = create();
            failed += result != 0;
            ck_assert_msg(result == 0 || result == BELAY_EIO || result == BELAY_ENOMEM, "%d %d: %d",
                          (int)i, call, result);
            *faults[i] = (fault){0};
            check_nothing_left(first_free);
        }
        ck_assert_msg(failed > 0, "fault %d", (int)i);
    }
    ck_assert_int_eq(create(), 0);
}
END_TEST

START_TEST(no_process_for_one_job_fails_that_one)
{
    arm(&in_clone, 2, EAGAIN);
    harness_open(&h, 2);
    ck_assert_int_eq(run_shell(&h, "exit 1")->end.code, 1);
    const end_record *end = run_shell(&h, "exit 2");
    ck_assert_int_eq(end->end.how, BLY_PROC_FAILED);
    ck_assert_int_eq(end->end.stage, BLY_PROC_AT_START);
    ck_assert_int_eq(end->end.code, EAGAIN);
    ck_assert_int_eq(bly_proc_status(&end->end), 126);
    ck_assert_int_eq(run_shell(&h, "exit 3")->end.code, 3);
    bly_proc_destroy(h.proc);
}
END_TEST

/* A job that cannot be watched would never end: the keeper gives up, and with it the jobs. */
START_TEST(a_pidfd_that_cannot_be_watched_loses_the_jobs_and_leaves_none)
{
    arm(&in_epoll_ctl, 4, ENOMEM); /* three of the keeper's own come before the job's */
    harness_open(&h, 2);
    voice v = voice_open();
    char *argv[] = {WORD("sh"), WORD("-c"), WORD("echo $$ >&3; exec sleep 1000"), NULL};
    bly_proc_spec spec = spec_of(&h, argv);
    spec.live = voice_stream(&v);
    in_epoll_ctl = (fault){0};
    spawn(&h, &spec);
    const end_record *end = await_ends(&h, 1);
    ck_assert_int_eq(end->end.how, BLY_PROC_LOST);
    ck_assert_uint_eq(h.notices[BLY_PROC_NOTICE_KEEPER_LOST], 1);
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
    bly_proc_destroy(h.proc);
}
END_TEST

START_TEST(no_file_for_the_spool_refuses_the_spawn)
{
    harness_open(&h, 4);
    char *argv[] = {WORD("echo"), WORD("x"), NULL};
    bly_proc_spec spec = spec_of(&h, argv);
    const int errors[] = {EMFILE, ENFILE, ENOSPC, EIO};
    for (size_t i = 0; i < bly_count(errors); i++) {
        arm(&in_openat, 1, errors[i]);
        ck_assert_int_eq(bly_proc_spawn(h.proc, &spec, NULL), BELAY_EIO);
        ck_assert_int_eq(errno, errors[i]);
    }
    ck_assert_uint_eq(bly_proc_count(h.proc), 0);
    ck_assert_str_eq(run(&h, &spec)->out, "x\n");
    bly_proc_destroy(h.proc);
}
END_TEST

START_TEST(no_descriptor_for_a_stream_refuses_the_spawn)
{
    harness_open(&h, 4);
    voice v = voice_open();
    char *argv[] = {WORD("echo"), WORD("x"), NULL};
    bly_proc_spec spec = spec_of(&h, argv);
    spec.in = (bly_proc_stream){.kind = BLY_PROC_FD, .fd = v.ends[0]};
    spec.live = voice_stream(&v);
    for (int call = 1; call <= 2; call++) {
        arm(&in_fcntl, call, EMFILE);
        ck_assert_int_eq(bly_proc_spawn(h.proc, &spec, NULL), BELAY_EIO);
        ck_assert_int_eq(errno, EMFILE);
    }
    ck_assert_str_eq(run(&h, &spec)->out, "x\n");
    bly_proc_destroy(h.proc);
}
END_TEST

START_TEST(no_watch_for_growing_output_refuses_the_spawn)
{
    harness_open(&h, 4);
    char *argv[] = {WORD("echo"), WORD("x"), NULL};
    bly_proc_spec spec = spec_of(&h, argv);
    spec.flags = BLY_PROC_WATCH_OUTPUT;
    arm(&in_inotify, 1, EMFILE);
    ck_assert_int_eq(bly_proc_spawn(h.proc, &spec, NULL), BELAY_EIO);
    ck_assert_str_eq(run(&h, &spec)->out, "x\n");
    bly_proc_destroy(h.proc);
}
END_TEST

START_TEST(no_memory_for_a_spawn_is_enomem_and_changes_nothing)
{
    harness_open(&h, 4);
    char *argv[] = {WORD("echo"), WORD("x"), NULL};
    bly_proc_spec spec = spec_of(&h, argv);
    int refused = 0;
    for (int call = 1; call <= 3; call++) {
        arm(&in_realloc, call, ENOMEM);
        int spawned = bly_proc_spawn(h.proc, &spec, NULL);
        refused += spawned == BELAY_ENOMEM;
        ck_assert(spawned == 0 || spawned == BELAY_ENOMEM);
        in_realloc = (fault){0};
    }
    ck_assert_int_gt(refused, 0);
    while (bly_proc_count(h.proc) > 0) {
        ck_assert_int_eq(bly_proc_poll(h.proc, soon()), 0);
    }
    ck_assert_str_eq(run(&h, &spec)->out, "x\n");
    bly_proc_destroy(h.proc);
}
END_TEST

/* The bytes are lost, and the job says so. */
START_TEST(no_memory_for_an_output_makes_the_job_incomplete)
{
    harness_open(&h, 2);
    shell(&h, "echo x");
    arm(&in_alloc, 1, ENOMEM);
    const end_record *end = await_ends(&h, 1);
    ck_assert(end->end.is_incomplete);
    ck_assert_str_eq(end->out, "");
    end = run_shell(&h, "echo y");
    ck_assert(!end->end.is_incomplete);
    ck_assert_str_eq(end->out, "y\n");
    bly_proc_destroy(h.proc);
}
END_TEST

START_TEST(requests_wait_while_the_socket_takes_nothing)
{
    harness_open(&h, 2);
    shell(&h, "exit 4");
    in_sendmsg = (fault){.calls_left = 1, .error = EAGAIN, .times = 3};
    ck_assert_int_eq(await_ends(&h, 1)->end.code, 4);
    shell(&h, "exit 5");
    in_sendmsg = (fault){.calls_left = 1, .error = EINTR, .times = 3};
    ck_assert_int_eq(await_ends(&h, 2)->end.code, 5);
    bly_proc_destroy(h.proc);
}
END_TEST

START_TEST(a_trial_write_that_finds_no_room_makes_the_job_incomplete)
{
    harness_open(&h, 2);
    const int errors[] = {ENOSPC, EDQUOT};
    for (size_t i = 0; i < bly_count(errors); i++) {
        shell(&h, "echo x; exit 1");
        h.proc->spool.tried_ns = -BLY_SPOOL_TRIAL_NS; /* one is due */
        arm(&in_pwrite, 1, errors[i]);
        const end_record *end = await_ends(&h, (uint32_t)i + 1);
        ck_assert(end->end.is_incomplete);
        ck_assert_str_eq(end->out, "x\n");
    }
    ck_assert(!run_shell(&h, "echo x")->end.is_incomplete);
    ck_assert_uint_eq(h.notices[BLY_PROC_NOTICE_DISK_FULL], 1);
    bly_proc_destroy(h.proc);
}
END_TEST

START_TEST(free_space_that_cannot_be_looked_at_is_taken_for_room)
{
    harness_open(&h, 2);
    shell(&h, "echo x; exit 1");
    in_fstatvfs = (fault){.calls_left = 1, .error = ENOSYS, .times = 100};
    ck_assert(!await_ends(&h, 1)->end.is_incomplete);
    bly_proc_destroy(h.proc);
}
END_TEST

/* A file that cannot be emptied would show one job's output in another's. */
START_TEST(a_file_that_cannot_be_emptied_is_not_used_again)
{
    harness_open(&h, 1);
    shell(&h, "echo first");
    bly_spool *spool = &h.proc->spool;
    spool->tried_ns = bly_monotonic_ns(); /* no trial write, which truncates too */
    arm(&in_ftruncate, 1, EIO);
    ck_assert_str_eq(await_ends(&h, 1)->out, "first\n");
    ck_assert_str_eq(run_shell(&h, "echo second")->out, "second\n");
    ck_assert_str_eq(run_shell(&h, "echo third")->out, "third\n");
    bly_proc_destroy(h.proc);
}
END_TEST

UNIT_MAIN("fault/syscalls", every_failure_of_create_is_an_error_and_leaves_nothing,
          no_process_for_one_job_fails_that_one,
          a_pidfd_that_cannot_be_watched_loses_the_jobs_and_leaves_none,
          no_file_for_the_spool_refuses_the_spawn, no_descriptor_for_a_stream_refuses_the_spawn,
          no_watch_for_growing_output_refuses_the_spawn,
          no_memory_for_a_spawn_is_enomem_and_changes_nothing,
          no_memory_for_an_output_makes_the_job_incomplete,
          requests_wait_while_the_socket_takes_nothing,
          a_trial_write_that_finds_no_room_makes_the_job_incomplete,
          free_space_that_cannot_be_looked_at_is_taken_for_room,
          a_file_that_cannot_be_emptied_is_not_used_again)
