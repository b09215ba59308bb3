/*
 * limits.h: the named limits of a batch, each a semaphore, and what a job takes of them.
 * Context: the command's only thread.
 */
#ifndef BLY_CLI_LIMITS_H
#define BLY_CLI_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "belay/sem.h"
#include "mem.h"

/* More limits than this a batch does not have. */
enum { BLY_LIMITS_MAX = 1000 };

struct bly_limits {
    belay_timers *timers; /* of the semaphores; borrowed */
    struct bly_limit *items;
    size_t count, max;
};

/*
 * The permits that one job wants, in the order of the limits, each limit once. All zero is a job
 * that wants none. At one address from the first bly_permits_take on.
 */
struct bly_permits {
    struct bly_want *wants;
    size_t count;
    size_t lacking;  /* the want that was not had, and is waited for */
    bool holds_some; /* it keeps what it has while it waits for the rest: see limits.c */
    void (*fn)(void *arg, bool is_had);
    void *arg;
};

/*
 * bly_limits_declare: makes the limits that `specs` (see limitspec.h) name and that are new, and
 * gives what a job with these specs wants; bly_permits_free ends that.
 * NULL, or why not: another capacity than the one it has, more permits than it has, too many
 * limits.
 */
const char *bly_limits_declare(struct bly_limits *limits, const struct bly_words *specs,
                               struct bly_permits *ret_permits);

/* bly_permits_take: takes all that is wanted, or nothing, past nobody who waits. True: taken. */
bool bly_permits_take(struct bly_permits *permits);

/*
 * bly_permits_await: after bly_permits_take gave false, waits for what is wanted, first come first
 * served. fn(arg, true) is called once when all of it is held, at once or in a bly_permits_give of
 * another job; fn(arg, false) when the limits are closed: nothing is held then, and fn may free
 * the permits.
 */
void bly_permits_await(struct bly_permits *permits, void (*fn)(void *arg, bool is_had), void *arg);

/* bly_permits_give: gives back all that is held. Who waited for it gets it before this returns. */
void bly_permits_give(struct bly_permits *permits);

/* bly_permits_free: forgets permits of which none is held or waited for. */
void bly_permits_free(struct bly_permits *permits);

/* bly_limits_close: ends all waits; who waits is told. */
void bly_limits_close(struct bly_limits *limits);

/* bly_limits_free: ends limits of which no permit is held or waited for. */
void bly_limits_free(struct bly_limits *limits);

#endif
