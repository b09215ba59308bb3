/*
 * spin.c: see spin.h.
 *
 * The number of those that spin is a hint: it orders nothing, and who misjudges it sleeps a little
 * too early or looks a little in vain.
 */
#include "time/spin.h"

#include "sync/cpus.h"
#include "sync/sync.h"

#define TURNS_PER_LOOK 16u /* pauses between two readings of the clock */

static uint32_t cpus;     /* atomic: written once, or by tests; 0: nobody spins */
static uint32_t spinning; /* atomic: threads between begin and end */

static void count_cpus(void)
{
    /* relaxed: a number of its own. */
    bly_store(&cpus, bly_cpus_usable(&bly_cpus_of_machine), BLY_RELAXED);
}

void bly_spin_prepare(void)
{
    static bly_once once;
    bly_once_run(&once, count_cpus);
}

bool bly_spin_begin(bly_spin *spin, int64_t limit_ns)
{
    if (limit_ns == 0) {
        return false;
    }
    *spin = (bly_spin){.limit_ns = limit_ns};
    /* relaxed, here and below: see above. */
    uint32_t others = bly_fetch_add(&spinning, 1u, BLY_RELAXED);
    if (others + 1 < bly_load(&cpus, BLY_RELAXED)) {
        return true;
    }
    bly_spin_end();
    return false;
}

void bly_spin_end(void)
{
    (void)bly_fetch_sub(&spinning, 1u, BLY_RELAXED);
}

bool bly_spin_go_on(bly_spin *spin)
{
    bly_pause();
    if (++spin->turns % TURNS_PER_LOOK != 0) {
        return true;
    }
    int64_t now_ns = bly_monotonic_ns();
    if (spin->end_ns == 0) {
        spin->end_ns = now_ns + spin->limit_ns;
    }
    return now_ns < spin->end_ns;
}

uint32_t bly_spin_set_cpus(uint32_t count)
{
    return bly_exchange(&cpus, count, BLY_RELAXED);
}
