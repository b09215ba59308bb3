/* sems.c: see sems.h. */
#include "sems.h"

#include <assert.h>
#include <stddef.h>

#include "mem.h"

belay_timers *bly_sems_open(void)
{
    belay_timers *timers = NULL;
    belay_timers_opts opts = {.size = sizeof opts, .is_polled = 1};
    bly_mem_check(belay_timers_create(&opts, &timers));
    return timers;
}

void bly_sems_close(belay_timers *timers)
{
    int result = belay_timers_destroy(timers);
    assert(result == 0);
    (void)result;
}

belay_sem *bly_sems_make(belay_timers *timers, uint32_t capacity)
{
    belay_sem *sem = NULL;
    belay_sem_opts opts = {.size = sizeof opts,
                           .capacity = capacity,
                           .waiters_max = BELAY_UNBOUNDED,
                           .timers = timers};
    bly_mem_check(belay_sem_create(&opts, &sem));
    return sem;
}

void bly_sems_end(belay_sem *sem)
{
    int result = belay_sem_destroy(sem);
    assert(result == 0);
    (void)result;
}
