/*
 * wall.h: who wants to know that the machine's wall clock stepped.
 */
#ifndef BLY_TIME_WALL_H
#define BLY_TIME_WALL_H

#include "belay/clock.h"

/* bly_wall_watch, bly_wall_unwatch: watch and unwatch of the system's clock, see belay_clock. */
int bly_wall_watch(belay_clock_watcher *watcher);
void bly_wall_unwatch(belay_clock_watcher *watcher);

#endif
