/* jobslots.c: see jobslots.h. */
#include "jobslots.h"

#include <assert.h>

#include "mem.h"
#include "sems.h"

struct bly_jobslot {
    bool is_taken;
    belay_lease lease; /* held while it is */
};

void bly_jobslots_init(struct bly_jobslots *slots, uint32_t open, uint32_t max,
                       belay_timers *timers)
{
    assert(open > 0 && open <= max);
    *slots = (struct bly_jobslots){.all = bly_mem(max * sizeof *slots->all),
                                   .sem = bly_sems_make(timers, open),
                                   .max = max,
                                   .open = open};
}

bool bly_jobslots_has_free(const struct bly_jobslots *slots)
{
    belay_lease lease = BELAY_LEASE_INIT;
    int result = belay_sem_acquire(slots->sem, &lease, 1, BELAY_NOW, NULL);
    assert(result == 0 || result == BELAY_EAGAIN);
    return result == 0 && belay_lease_release(&lease) == 0;
}

uint32_t bly_jobslots_take(struct bly_jobslots *slots)
{
    uint32_t slot = 0;
    while (slots->all[slot].is_taken) {
        slot++;
        assert(slot < slots->max);
    }
    struct bly_jobslot *taken = &slots->all[slot];
    int result = belay_sem_acquire(slots->sem, &taken->lease, 1, BELAY_NOW, NULL);
    assert(result == 0);
    taken->is_taken = result == 0;
    slots->running++;
    return slot + 1;
}

void bly_jobslots_give(struct bly_jobslots *slots, uint32_t slot)
{
    assert(slot > 0 && slot <= slots->max && slots->running > 0);
    struct bly_jobslot *taken = &slots->all[slot - 1];
    int result = belay_lease_release(&taken->lease);
    assert(taken->is_taken && result == 0);
    taken->is_taken = result != 0;
    slots->running--;
}

void bly_jobslots_change(struct bly_jobslots *slots, int by)
{
    if (by > 0 && slots->open < slots->max) {
        slots->open++;
    } else if (by < 0 && slots->open > 1) {
        slots->open--;
    }
    int result = belay_sem_resize(slots->sem, slots->open);
    assert(result == 0);
    (void)result;
}

void bly_jobslots_free(struct bly_jobslots *slots)
{
    bly_sems_end(slots->sem);
    bly_mem_free(slots->all);
    *slots = (struct bly_jobslots){0};
}
