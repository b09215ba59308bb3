/*
 * slots.h: the places in which jobs run: the lowest free one is taken, so that {%} stays small.
 * Context: the command's only thread.
 */
#ifndef BLY_CLI_SLOTS_H
#define BLY_CLI_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

struct bly_slots {
    bool *taken;      /* taken[n]: slot n + 1 */
    uint32_t max;     /* slots there can be */
    uint32_t open;    /* of these, how many may be taken now: -j, USR1, USR2 */
    uint32_t running; /* taken ones; more than `open` while jobs of before still run */
};

/* bly_slots_init: `open` of at most `max` slots, all free; bly_slots_free ends them. */
void bly_slots_init(struct bly_slots *slots, uint32_t open, uint32_t max);

/* bly_slots_has_free: may another job be started? */
bool bly_slots_has_free(const struct bly_slots *slots);

/* bly_slots_take: takes the lowest free slot; there must be one. Its number, from 1. */
uint32_t bly_slots_take(struct bly_slots *slots);

/* bly_slots_give: gives a slot back. */
void bly_slots_give(struct bly_slots *slots, uint32_t slot);

/* bly_slots_change: opens one more, or one fewer; at least one stays open, at most `max` are. */
void bly_slots_change(struct bly_slots *slots, int by);

void bly_slots_free(struct bly_slots *slots);

#endif
