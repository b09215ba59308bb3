/*
 * child.c: vfork-style spawning.
 *
 * The child shares the caller's memory until it has executed the command, while the caller stands
 * still. It therefore runs on a stack of its own, calls only what is safe in a signal handler, and
 * its last act on failure is to write why into the struct they share. Signals are blocked
 * throughout, so no handler of the caller can run in the child; the command's mask is set just
 * before execve.
 *
 * Descriptors: every one of the caller's above 2 is close-on-exec, so the command gets 0 to 2 and
 * what is duplicated here. posix_spawn can set neither umask, nor limits, nor the death signal.
 */
#include "proc/child_int.h"

#include "proc/proc.h"
#include "sync/sync.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define STACK_SIZE 65536

/* The one stack for children: the caller stands still while it is used. */
static _Alignas(64) char child_stack[STACK_SIZE];

/*
 * Sanitizers keep records of stacks and calls per thread, which the child would spoil for the
 * caller.
 */
#define CHILD_CODE __attribute__((no_sanitize("address", "thread", "undefined")))

static _Noreturn CHILD_CODE void fail(bly_child *child, int stage, int error)
{
    child->error = error;
    child->stage = stage;
    _exit(127);
}

static CHILD_CODE void set_streams(bly_child *child)
{
    for (int target = 0; target < BLY_CHILD_FDS; target++) {
        int source = child->fds[target];
        if (source >= 0 && dup2(source, target) < 0) {
            fail(child, BLY_PROC_AT_STREAM, errno);
        }
    }
}

static CHILD_CODE void set_surroundings(bly_child *child)
{
    if (setsid() < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) {
        fail(child, BLY_PROC_AT_START, errno);
    }
    if (getppid() != child->parent) { /* it died before the line above */
        _exit(127);
    }
    if (child->umask >= 0) {
        umask((mode_t)child->umask);
    }
    if (child->cwd != NULL && chdir(child->cwd) != 0) {
        fail(child, BLY_PROC_AT_CHDIR, errno);
    }
    if (child->files != NULL && setrlimit(RLIMIT_NOFILE, child->files) != 0) {
        fail(child, BLY_PROC_AT_START, errno);
    }
}

/* A script without a #! line: what execvp does with it. */
static CHILD_CODE void execute_by_shell(bly_child *child, const char *path)
{
    char *first = child->argv[0];
    child->argv[-1] = (char *)"sh";
    child->argv[0] = (char *)path;
    execve("/bin/sh", child->argv - 1, child->envp);
    child->argv[0] = first;
}

/* Errors that mean "not here": the next folder of PATH may have it. */
static CHILD_CODE bool is_elsewhere(int error)
{
    return error == ENOENT || error == ENOTDIR || error == EACCES || error == ESTALE ||
           error == ENODEV || error == ETIMEDOUT;
}

static CHILD_CODE int child_main(void *arg)
{
    bly_child *child = arg;
    set_surroundings(child);
    set_streams(child);
    if (sigprocmask(SIG_SETMASK, child->mask, NULL) != 0) {
        fail(child, BLY_PROC_AT_START, errno);
    }
    int error = ENOENT;
    for (const char *const *path = child->paths; *path != NULL; path++) {
        child->used = path;
        execve(*path, child->argv, child->envp);
        if (errno == ENOEXEC) {
            execute_by_shell(child, *path);
        }
        if (!is_elsewhere(errno)) {
            fail(child, BLY_PROC_AT_EXEC, errno);
        }
        if (error != EACCES) { /* one that may not be executed is worth more than none */
            error = errno;
        }
    }
    fail(child, BLY_PROC_AT_EXEC, error);
}

int bly_child_start(bly_child *child, pid_t *ret_pid, int *ret_pidfd)
{
    child->stage = 0;
    child->error = 0;
    int pidfd = -1;
    pid_t pid = clone(child_main, child_stack + STACK_SIZE,
                      CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, child, &pidfd);
    if (pid < 0) {
        child->stage = BLY_PROC_AT_START;
        child->error = errno;
        return child->error;
    }
    if (child->stage != 0) {
        int status = 0;
        pid_t reaped = waitpid(pid, &status, 0);
        bly_assert(reaped == pid);
        close(pidfd);
        return child->error;
    }
    *ret_pid = pid;
    *ret_pidfd = pidfd;
    return 0;
}
