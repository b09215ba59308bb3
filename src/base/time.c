/*
 * time.c: arithmetic on times. See belay/base.h.
 */
#include "belay/base.h"

int64_t belay_time_add(int64_t time_ns, int64_t delay_ns)
{
    if (time_ns == BELAY_NOW || time_ns == BELAY_FOREVER) {
        return time_ns;
    }
    int64_t sum;
    if (__builtin_add_overflow(time_ns, delay_ns, &sum)) {
        return delay_ns > 0 ? BELAY_FOREVER : BELAY_NOW + 1;
    }
    return sum == BELAY_NOW ? BELAY_NOW + 1 : sum;
}
