/*
 * jobslots.h: the places in which jobs run: the lowest free one is taken, so that {%} stays small.
 * How many may be taken at once is a semaphore.
 * Context: the command's only thread.
 */
#ifndef BLY_CLI_JOBSLOTS_H
#define BLY_CLI_JOBSLOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "belay/sem.h"

struct bly_jobslots {
    struct bly_jobslot *all; /* all[n]: slot n + 1 */
    belay_sem *sem;          /* of `open` permits, one a taken slot */
    uint32_t max;            /* slots there can be */
    uint32_t open;           /* of these, how many may be taken now: -j, USR1, USR2 */
    uint32_t running;        /* taken ones; more than `open` while jobs of before still run */
};

/*
 * bly_jobslots_init: `open` of at most `max` slots, all free; bly_jobslots_free ends them when they
 * are free again. timers: from bly_sems_open; borrowed.
 */
void bly_jobslots_init(struct bly_jobslots *slots, uint32_t open, uint32_t max,
                       belay_timers *timers);

/* bly_jobslots_has_free: may another job be started? */
bool bly_jobslots_has_free(const struct bly_jobslots *slots);

/* bly_jobslots_take: takes the lowest free slot; there must be one. Its number, from 1. */
uint32_t bly_jobslots_take(struct bly_jobslots *slots);

/* bly_jobslots_give: gives a slot back. */
void bly_jobslots_give(struct bly_jobslots *slots, uint32_t slot);

/* bly_jobslots_change: opens one more, or one fewer; at least one stays open, at most `max` are. */
void bly_jobslots_change(struct bly_jobslots *slots, int by);

void bly_jobslots_free(struct bly_jobslots *slots);

#endif
