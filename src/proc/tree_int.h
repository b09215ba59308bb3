/*
 * tree_int.h: the process tree below this process, as /proc shows it, and signals for its members.
 *
 * A pid alone is not an identity: it may belong to somebody else by the time it is used. A process
 * is named here by its pid and the time it started, and is signalled through a pidfd checked for
 * both.
 */
#ifndef BLY_PROC_TREE_INT_H
#define BLY_PROC_TREE_INT_H

#include "belay/base.h"

#include <sys/types.h>

typedef struct bly_tree_proc {
    pid_t pid, parent, group, session;
    char state;     /* as in /proc/PID/stat: Z for one that has ended and is not reaped */
    uint64_t start; /* clock ticks since boot */
} bly_tree_proc;

/* A growing list of processes; owner thread only. Grows without bound but memory. */
typedef struct bly_tree_list {
    bly_tree_proc *procs;
    uint32_t count, capacity;
} bly_tree_list;

/* bly_tree_list_free: takes the memory back; the list is empty and usable. */
void bly_tree_list_free(bly_tree_list *list);

/* bly_tree_list_add: one more. Errors: BELAY_ENOMEM. */
int bly_tree_list_add(bly_tree_list *list, const bly_tree_proc *proc);

/* bly_tree_list_has: is that very process (pid and start) in it. */
bool bly_tree_list_has(const bly_tree_list *list, const bly_tree_proc *proc);

/* bly_tree_list_has_session: is a process of that session in it. */
bool bly_tree_list_has_session(const bly_tree_list *list, pid_t session);

/*
 * bly_tree_open: a descriptor on the list of children of the calling thread, kept by a process of
 * one thread. Errors: BELAY_EIO (no /proc, or a kernel without these lists).
 */
int bly_tree_open(int *ret_fd);

/*
 * bly_tree_own: the pids of the calling process's children, from a descriptor of bly_tree_open,
 * dead ones that are not reaped included. Exact for a process of one thread: only it takes children
 * away. Fills pids[0..max) and gives how many there are in all; what is past max is only counted.
 * Errors: BELAY_EIO (errno says why).
 */
int bly_tree_own(int fd, pid_t *pids, uint32_t max, uint32_t *ret_count);

/*
 * bly_tree_look: what /proc says of a pid.
 * Errors: BELAY_ENOENT (there is no such process), BELAY_ENOMEM, BELAY_EIO (it cannot be looked at
 * now, for want of a descriptor for example; errno says why).
 */
int bly_tree_look(pid_t pid, bly_tree_proc *ret_proc);

/*
 * bly_tree_below: adds all descendants of `root` to the list, a parent before its children, except
 * those in `spare`, those in a session of `spare`, and what is below them. spare may be NULL.
 * Errors: BELAY_ENOMEM, BELAY_EIO (the list is then a part, as large as could be had).
 */
int bly_tree_below(pid_t root, const bly_tree_list *spare, bly_tree_list *list);

/* bly_tree_signal: the signal to that very process. Errors: BELAY_ENOENT (gone), BELAY_EIO. */
int bly_tree_signal(const bly_tree_proc *proc, int signal_number);

/*
 * bly_tree_end: KILL to all descendants of the calling process except those in `spare` (see
 * bly_tree_below), reaping what becomes its child, until none is left or, for patience_ns, none has
 * ended. BELAY_FOREVER: until none is left but those that may not be signalled. Those that live on
 * are added to `left`, which may be NULL, as far as there is memory.
 * Errors: BELAY_EBUSY (some live on), BELAY_ENOMEM, BELAY_EIO (for patience_ns it was impossible to
 * look). Context: any thread; blocks.
 */
int bly_tree_end(const bly_tree_list *spare, int64_t patience_ns, bly_tree_list *left);

#endif
