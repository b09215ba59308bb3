/*
 * slots.c: see slots_int.h.
 */
#include "sched/slots_int.h"

/* Free places and numbers without a block form lists through their own entries: odd values. */
static uintptr_t mark(uint32_t next)
{
    return ((uintptr_t)next << 1) | 1;
}

static bool is_mark(uintptr_t value)
{
    return (value & 1) != 0;
}

static uint32_t marked(uintptr_t value)
{
    bly_assert(is_mark(value));
    return (uint32_t)(value >> 1);
}

static uintptr_t *number_at(const bly_slots *slots, uint32_t number)
{
    return bly_chunks_at(&slots->numbers, number);
}

void bly_slots_init(bly_slots *slots)
{
    bly_chunks_init(&slots->numbers, sizeof(uintptr_t));
    bly_list_init(&slots->partial);
    slots->number_first = 0;
    slots->empty_count = 0;
}

void bly_slots_destroy(bly_slots *slots)
{
    bly_list *link = NULL;
    while ((link = bly_list_pop_front(&slots->partial)) != NULL) {
        bly_slots_block *block = bly_container(link, bly_slots_block, link);
        bly_assert(block->used == 0);
        bly_free(block);
    }
    bly_chunks_destroy(&slots->numbers);
}

/* Whether every number there is has its block. */
static bool are_numbers_taken(const bly_slots *slots)
{
    return slots->number_first == slots->numbers.used;
}

size_t bly_slots_want(const bly_slots *slots)
{
    if (!bly_list_is_empty(&slots->partial)) {
        return 0;
    }
    size_t room = are_numbers_taken(slots) ? bly_chunks_want(&slots->numbers, 1) : 0;
    return room != 0 ? room : sizeof(bly_slots_block);
}

static uint32_t take_number(bly_slots *slots)
{
    uint32_t number = slots->number_first;
    if (are_numbers_taken(slots)) {
        slots->number_first = ++slots->numbers.used;
    } else {
        slots->number_first = marked(*number_at(slots, number));
    }
    return number;
}

static void add_block(bly_slots *slots, bly_slots_block *block)
{
    block->number = take_number(slots);
    for (uint32_t i = 0; i < BLY_SLOTS_BLOCK; i++) {
        block->places[i].free = mark(i + 1);
    }
    *number_at(slots, block->number) = (uintptr_t)block;
    bly_list_push_back(&slots->partial, &block->link);
    slots->empty_count++;
}

bool bly_slots_give(bly_slots *slots, void *block, size_t size)
{
    bly_assert(block != NULL && size != 0);
    if (bly_slots_want(slots) != size) {
        return false;
    }
    if (are_numbers_taken(slots) && bly_chunks_want(&slots->numbers, 1) != 0) {
        return bly_chunks_give(&slots->numbers, block, size);
    }
    add_block(slots, block);
    return true;
}

void bly_slots_put(bly_slots *slots, bly_job *job)
{
    bly_list *link = bly_list_first(&slots->partial);
    bly_assert(link != NULL && !is_mark((uintptr_t)job));
    bly_slots_block *block = bly_container(link, bly_slots_block, link);
    uint32_t place = block->free_first;
    block->free_first = marked(block->places[place].free);
    block->places[place].job = job;
    job->place = block->number * BLY_SLOTS_BLOCK + place;
    if (block->used++ == 0) {
        slots->empty_count--;
    }
    if (block->free_first == BLY_SLOTS_BLOCK) {
        bly_list_remove(&block->link);
    }
}

void *bly_slots_take(bly_slots *slots, const bly_job *job)
{
    uint32_t place = job->place % BLY_SLOTS_BLOCK;
    uint32_t number = job->place / BLY_SLOTS_BLOCK;
    bly_slots_block *block = (bly_slots_block *)*number_at(slots, number);
    bly_assert(block->number == number && block->places[place].job == job);
    if (block->free_first == BLY_SLOTS_BLOCK) {
        bly_list_push_front(&slots->partial, &block->link);
    }
    block->places[place].free = mark(block->free_first);
    block->free_first = place;
    if (--block->used > 0) {
        return NULL;
    }
    if (slots->empty_count == 0) {
        slots->empty_count = 1;
        return NULL;
    }
    bly_list_remove(&block->link);
    *number_at(slots, number) = mark(slots->number_first);
    slots->number_first = number;
    return block;
}

bly_job *bly_slots_find(const bly_slots *slots, belay_job_handle handle)
{
    uint64_t number = handle.place / BLY_SLOTS_BLOCK;
    if (number >= slots->numbers.used || is_mark(*number_at(slots, (uint32_t)number))) {
        return NULL;
    }
    const bly_slots_block *block = (const bly_slots_block *)*number_at(slots, (uint32_t)number);
    uint32_t place = (uint32_t)(handle.place % BLY_SLOTS_BLOCK);
    if (is_mark(block->places[place].free)) {
        return NULL;
    }
    bly_job *job = block->places[place].job;
    return job->version == handle.version ? job : NULL;
}
