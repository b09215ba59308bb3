/* median.c: see median.h. A histogram whose classes grow with their values. */
#include "median.h"

#include <assert.h>

/* Values below one step of the first power have classes of their own. */
static unsigned class_of(uint64_t value)
{
    if (value < BLY_MEDIAN_STEPS) {
        return (unsigned)value;
    }
    unsigned power = 63 - (unsigned)__builtin_clzll(value);
    unsigned step = (unsigned)(value >> (power - 4)) & (BLY_MEDIAN_STEPS - 1);
    return (power - 3) * BLY_MEDIAN_STEPS + step;
}

/* The largest value of a class. */
static uint64_t end_of(unsigned number)
{
    if (number < BLY_MEDIAN_STEPS) {
        return number;
    }
    unsigned power = number / BLY_MEDIAN_STEPS + 3;
    uint64_t step = number % BLY_MEDIAN_STEPS;
    return (UINT64_C(1) << power) + ((step + 1) << (power - 4)) - 1;
}

void bly_median_add(struct bly_median *median, int64_t value)
{
    assert(value >= 0);
    median->counts[class_of((uint64_t)value)]++;
    median->count++;
}

int64_t bly_median_get(const struct bly_median *median)
{
    uint64_t seen = 0;
    for (unsigned i = 0; i < BLY_MEDIAN_CLASSES; i++) {
        seen += median->counts[i];
        if (median->count > 0 && seen * 2 >= median->count) {
            return (int64_t)end_of(i);
        }
    }
    return 0;
}
