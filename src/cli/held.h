/*
 * held.h: `belay with` runs its command in its own process group, with its own terminal and files.
 * The process is forked first and held, so that nothing is forked while a store is open, and let go
 * when the permits are there.
 * Context: the command's only thread.
 */
#ifndef BLY_CLI_HELD_H
#define BLY_CLI_HELD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct bly_held {
    pid_t pid;
    int gate; /* closed: it ends; a byte: it executes */
};

/*
 * bly_held_fork: forks the process, which keeps `live` open, also in what it executes: argv. 0, or
 * BLY_SAY_OWN_ERROR after a message. It ends when this process does before it was let go.
 */
int bly_held_fork(struct bly_held *held, char *const *argv, int live);

/* bly_held_drop: it is not to run: ends it and waits for that. */
void bly_held_drop(struct bly_held *held);

/* What it is watched by while it runs. */
struct bly_held_watch {
    int64_t timeout_ns;           /* after that it is to end; 0: never */
    int fd;                       /* readable, or half a second has passed: is_wanted is asked */
    bool (*is_wanted)(void *arg); /* false: it is to end */
    void *arg;
};

/*
 * bly_held_run: lets it go and waits for its end. When it is to end it gets TERM, and 10 seconds
 * later KILL. TERM and HUP to this process are passed on; INT and QUIT reach both from the
 * terminal. Its status as a shell would have it, 124 after the timeout.
 */
int bly_held_run(struct bly_held *held, const struct bly_held_watch *watch);

#endif
