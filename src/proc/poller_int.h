/*
 * poller_int.h: epoll with a function for each descriptor, safe against events of the past.
 *
 * Two things make an event stale: an earlier callback of the same batch removed the descriptor, or
 * the descriptor was closed while a copy of it lives in another process (a child between vfork and
 * exec has copies of them all), so that the kernel keeps it in the set. The first is met by a
 * generation in the event's data, the second by removing before closing.
 */
#ifndef BLY_PROC_POLLER_INT_H
#define BLY_PROC_POLLER_INT_H

#include "belay/base.h"

typedef void bly_poller_fn(void *arg, uint32_t epoll_events);

/* One watched descriptor; owner thread only, as all of a poller. */
typedef struct bly_poller_entry {
    bly_poller_fn *fn; /* NULL: free */
    void *arg;
    uint32_t generation; /* of this entry; grows at each removal */
    uint32_t next_free;  /* index + 1 of the next free entry, 0 at the end */
} bly_poller_entry;

typedef struct bly_poller {
    int epoll_fd;
    uint32_t capacity;  /* of entries */
    uint32_t limit;     /* capacity never grows past it; constant after init */
    uint32_t free_head; /* index + 1 of a free entry, 0 for none */
    uint64_t stale;     /* events dropped because their generation was over */
    bly_poller_entry *entries;
} bly_poller;

/*
 * bly_poller_init: makes an empty set of at most `limit` descriptors.
 * Gives the poller's insides; bly_poller_free takes them back.
 * Errors: BELAY_EIO (no descriptor; errno says why). Context: the owner.
 */
int bly_poller_init(bly_poller *poller, uint32_t limit);

/* bly_poller_free: closes the set; the descriptors in it are the caller's. */
void bly_poller_free(bly_poller *poller);

/*
 * bly_poller_add: calls fn while fd is ready for epoll_events, level-triggered.
 * Gives *ret_token, which bly_poller_remove takes.
 * Errors: BELAY_EFULL, BELAY_ENOMEM, BELAY_EINVAL (fd cannot be waited for), BELAY_EEXIST,
 * BELAY_EIO.
 */
int bly_poller_add(bly_poller *poller, int fd, uint32_t epoll_events, bly_poller_fn *fn, void *arg,
                   uint64_t *ret_token);

/* bly_poller_change: other events for a watched descriptor. Errors: BELAY_EIO. */
int bly_poller_change(bly_poller *poller, int fd, uint64_t token, uint32_t epoll_events);

/* bly_poller_remove: fn is never called again for it. Call it before fd is closed. */
void bly_poller_remove(bly_poller *poller, int fd, uint64_t token);

/*
 * bly_poller_wait: waits until deadline_ns (monotonic) and calls the functions of what is ready;
 * the number called, 0 when the deadline passed or a signal came.
 */
uint32_t bly_poller_wait(bly_poller *poller, int64_t deadline_ns);

#endif
