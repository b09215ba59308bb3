/*
 * child_int.h: makes one process that runs a command, without copying the caller's memory.
 */
#ifndef BLY_PROC_CHILD_INT_H
#define BLY_PROC_CHILD_INT_H

#include "belay/base.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#define BLY_CHILD_FDS 4 /* stdin, stdout, stderr, live */

/* What the child becomes; everything is borrowed for the call of bly_child_start. */
typedef struct bly_child {
    const char *const *paths; /* files to try, in order, NULL-terminated */
    char **argv;              /* NULL-terminated; the place before argv[0] is free to be written */
    char *const *envp;
    const char *cwd;            /* NULL: as the caller's */
    int fds[BLY_CHILD_FDS];     /* the source of each descriptor, above 3; -1: the caller's own */
    int umask;                  /* -1: as the caller's */
    const sigset_t *mask;       /* signals blocked in the command */
    const struct rlimit *files; /* limit of descriptors of the command; NULL: as the caller's */
    pid_t parent;               /* the caller */
    /* Written by the child, read by the caller after it has let go of the memory. */
    volatile int stage; /* BLY_PROC_AT_..., 0 when the command runs */
    volatile int error;
    const char *const *volatile used; /* the place in `paths` tried last */
} bly_child;

/*
 * bly_child_start: a process in a session of its own that runs the first of `paths` that can be
 * executed; one without a #! line that the kernel does not know is given to /bin/sh. It is killed
 * if the caller dies. The caller is suspended until the command runs or has failed.
 * Gives *ret_pid (to be reaped) and *ret_pidfd (to be closed) on success.
 * Errors: the errno, positive, of what child->stage names; nothing is left to reap then.
 * Context: one thread of a process at a time; all signals blocked.
 */
int bly_child_start(bly_child *child, pid_t *ret_pid, int *ret_pidfd);

#endif
