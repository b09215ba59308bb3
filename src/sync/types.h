/*
 * types.h: the types that both bodies of the seam share. See sync.h, which is what others include.
 */
#ifndef BLY_SYNC_TYPES_H
#define BLY_SYNC_TYPES_H

#include <stddef.h>

/* The slots of bly_local_get and _set, in the order in which a thread's end empties them. */
typedef enum bly_local {
    BLY_LOCAL_SCHED,      /* sched: the claim that this thread is running */
    BLY_LOCAL_WORKER,     /* exec: the worker that this thread is */
    BLY_LOCAL_TASK,       /* exec: the task or frame that this thread is running */
    BLY_LOCAL_DELIVERY,   /* deliver: this thread's list of completions */
    BLY_LOCAL_DELIVERING, /* deliver: set while this thread runs that list */
    BLY_LOCAL_PARKER,     /* time: where this thread sleeps; emptied after all who may sleep */
    BLY_LOCAL_TEST,       /* for unit tests */
    BLY_LOCAL_COUNT
} bly_local;

/* What exec is told about waits of belay on its workers' threads. */
typedef struct bly_blocking_hook {
    void (*begin)(void);
    void (*end)(void);
} bly_blocking_hook;

/* Functions around fork; each may be NULL. The storage is the caller's and stays for ever. */
typedef struct bly_fork_hook {
    void (*before)(void);       /* in the parent, last linked first */
    void (*parent)(void);       /* in the parent afterwards, first linked first */
    void (*child)(void);        /* in the child, first linked first */
    struct bly_fork_hook *next; /* atomic: written before the hook is published, read at a fork */
} bly_fork_hook;

typedef struct bly_thread_opts {
    size_t stack_size; /* bytes, raised to the system's least; 0: the system's default */
    const char *name;  /* copied, 15 bytes of it; NULL: the creator's */
} bly_thread_opts;

#endif
