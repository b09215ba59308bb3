/* slots.c: see slots.h. */
#include "slots.h"

#include <assert.h>

#include "mem.h"

void bly_slots_init(struct bly_slots *slots, uint32_t open, uint32_t max)
{
    assert(open > 0 && open <= max);
    *slots =
        (struct bly_slots){.taken = bly_mem(max * sizeof *slots->taken), .max = max, .open = open};
}

bool bly_slots_has_free(const struct bly_slots *slots)
{
    return slots->running < slots->open;
}

uint32_t bly_slots_take(struct bly_slots *slots)
{
    uint32_t slot = 0;
    while (slots->taken[slot]) {
        slot++;
        assert(slot < slots->max);
    }
    slots->taken[slot] = true;
    slots->running++;
    return slot + 1;
}

void bly_slots_give(struct bly_slots *slots, uint32_t slot)
{
    assert(slot > 0 && slot <= slots->max && slots->taken[slot - 1] && slots->running > 0);
    slots->taken[slot - 1] = false;
    slots->running--;
}

void bly_slots_change(struct bly_slots *slots, int by)
{
    if (by > 0 && slots->open < slots->max) {
        slots->open++;
    } else if (by < 0 && slots->open > 1) {
        slots->open--;
    }
}

void bly_slots_free(struct bly_slots *slots)
{
    bly_mem_free(slots->taken);
    *slots = (struct bly_slots){0};
}
