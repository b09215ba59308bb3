/*
 * hist.c: see hist.h.
 */
#include "base/hist.h"

#include "base/assert.h"

#define SUB (1u << BLY_HIST_SUB_LOG2)

static uint32_t bucket_of(uint64_t value)
{
    if (value < SUB) {
        return (uint32_t)value;
    }
    uint32_t shift = 63u - (uint32_t)__builtin_clzll(value) - BLY_HIST_SUB_LOG2;
    return (shift << BLY_HIST_SUB_LOG2) + (uint32_t)(value >> shift);
}

/* The largest number of a bucket. */
static uint64_t upper_end(uint32_t bucket)
{
    if (bucket < 2 * SUB) {
        return bucket;
    }
    uint32_t shift = (bucket >> BLY_HIST_SUB_LOG2) - 1;
    uint64_t first = (uint64_t)(SUB + (bucket & (SUB - 1))) << shift;
    return first + ((UINT64_C(1) << shift) - 1);
}

void bly_hist_add(bly_hist *hist, uint64_t value)
{
    uint32_t bucket = bucket_of(value);
    bly_assert_debug(bucket < BLY_HIST_BUCKETS);
    hist->bucket[bucket]++;
    hist->count++;
    if (value > hist->max) {
        hist->max = value;
    }
}

/* ceil(count * permille / 1000), without the product that might not fit. */
static uint64_t rank_of(uint64_t count, unsigned permille)
{
    return count / 1000 * permille + (count % 1000 * permille + 999) / 1000;
}

uint64_t bly_hist_quantile(const bly_hist *hist, unsigned permille)
{
    bly_assert(permille <= 1000);
    uint64_t wanted = rank_of(hist->count, permille);
    uint64_t seen = 0;
    for (uint32_t i = 0; i < BLY_HIST_BUCKETS && hist->count > 0; i++) {
        seen += hist->bucket[i];
        if (seen >= wanted && seen > 0) {
            uint64_t end = upper_end(i);
            return end < hist->max ? end : hist->max;
        }
    }
    return 0;
}
