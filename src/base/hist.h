/*
 * hist.h: a histogram of durations with a relative error of at most one eighth.
 *
 * Log-linear: each power of two is cut into eight equal buckets; numbers below 16 have a bucket of
 * their own. Any 64-bit number fits. Fixed size, no memory of its own; all zero is empty.
 */
#ifndef BLY_BASE_HIST_H
#define BLY_BASE_HIST_H

#include <stdint.h>

#define BLY_HIST_SUB_LOG2 3u
#define BLY_HIST_BUCKETS  ((64u - BLY_HIST_SUB_LOG2 + 1u) << BLY_HIST_SUB_LOG2)

/* All fields are protected by what protects the histogram. */
typedef struct bly_hist {
    uint64_t count; /* numbers added */
    uint64_t max;   /* the largest of them, exact */
    uint64_t bucket[BLY_HIST_BUCKETS];
} bly_hist;

/* bly_hist_add: counts one number. */
void bly_hist_add(bly_hist *hist, uint64_t value);

/*
 * bly_hist_quantile: a number that at least `permille` thousandths of all are not above: the upper
 * end of the bucket where that many are reached, at most `max`; 0 when nothing was added.
 */
uint64_t bly_hist_quantile(const bly_hist *hist, unsigned permille);

#endif
