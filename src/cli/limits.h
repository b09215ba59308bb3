/*
 * limits.h: the named limits of a batch and the permits that its jobs hold.
 * Context: the command's only thread.
 */
#ifndef BLY_CLI_LIMITS_H
#define BLY_CLI_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mem.h"

/* More limits than this a batch does not have. */
enum { BLY_LIMITS_MAX = 1000 };

struct bly_limits {
    struct bly_limit *items;
    size_t count, max;
};

/*
 * bly_limits_declare: makes the limits that `specs` (see limitspec.h) name and that are new.
 * NULL, or why not: another capacity than the one it has, more permits than it has, too many
 * limits.
 */
const char *bly_limits_declare(struct bly_limits *limits, const struct bly_words *specs);

/* bly_limits_take: takes the permits of all specs, which were declared, or none. True: taken. */
bool bly_limits_take(struct bly_limits *limits, const struct bly_words *specs);

/* bly_limits_give: gives back what one bly_limits_take took. */
void bly_limits_give(struct bly_limits *limits, const struct bly_words *specs);

void bly_limits_free(struct bly_limits *limits);

#endif
