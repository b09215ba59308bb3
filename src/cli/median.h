/*
 * median.h: the median of run times, in constant memory and to a sixteenth of its value.
 * Context: any; pure.
 */
#ifndef BLY_CLI_MEDIAN_H
#define BLY_CLI_MEDIAN_H

#include <stdint.h>

/* Sixteen classes for each power of two. */
enum { BLY_MEDIAN_STEPS = 16, BLY_MEDIAN_CLASSES = 64 * BLY_MEDIAN_STEPS };

/* All zero: no values yet. */
struct bly_median {
    uint64_t counts[BLY_MEDIAN_CLASSES];
    uint64_t count;
};

/* bly_median_add: one more value, 0 or more. */
void bly_median_add(struct bly_median *median, int64_t value);

/* bly_median_get: the median, rounded up to the end of its class; 0 without values. */
int64_t bly_median_get(const struct bly_median *median);

#endif
