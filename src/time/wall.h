/*
 * wall.h: who wants to know that the machine's wall clock stepped.
 */
#ifndef BLY_TIME_WALL_H
#define BLY_TIME_WALL_H

#include "belay/clock.h"

/* bly_wall_watch, bly_wall_unwatch: watch and unwatch of the system's clock, see belay_clock. */
int bly_wall_watch(belay_clock_watcher *watcher);
void bly_wall_unwatch(belay_clock_watcher *watcher);

/*
 * How steps are noticed. Tests put a table of their own in bly_wall_steps before anybody watches.
 *
 * open: gives a descriptor to wait with; BELAY_EAGAIN when there is none.
 * await: waits until the wall clock was set, and returns true; false after stop.
 * stop: ends the await that is going on, or the next one, from another thread or the same.
 * close: takes the descriptor back.
 */
typedef struct bly_wall_table {
    int (*open)(void);
    bool (*await)(int fd);
    void (*stop)(int fd);
    void (*close)(int fd);
} bly_wall_table;

/* Constant while somebody watches. */
extern const bly_wall_table *bly_wall_steps;

#endif
