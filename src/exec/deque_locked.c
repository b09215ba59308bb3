/*
 * deque_locked.c: a deque under one lock.
 *
 * The tasks stand in a ring of slots, a power of two of them, from `top` (oldest) up to `bottom`
 * (the next free place). The lock guards both ends and the slots. The owner alone pushes, grows and
 * trims, so it may read `slots` and `capacity` without the lock, and what it finds free stays free;
 * it allocates and frees outside the lock. Thieves only raise `top`.
 *
 * The first ring is part of the deque: an owner that never has more than INITIAL tasks allocates
 * nothing, and an empty deque can go back to it without asking for memory.
 */
#include "exec/deque.h"

#include "sync/sync.h"

#define INITIAL      64u
#define CAPACITY_MAX (UINT64_C(1) << 32) /* tasks in one deque; a push above it fails */

struct bly_deque {
    bly_mutex lock;
    uint64_t top;               /* atomic: written under the lock, read by anyone */
    uint64_t bottom;            /* atomic: written under the lock, read by anyone */
    belay_task **slots;         /* lock to read; the owner writes it under the lock */
    uint64_t capacity;          /* as slots */
    belay_task *first[INITIAL]; /* lock: the ring that the deque starts with */
};

static uint64_t get_top(const bly_deque *deque)
{
    return bly_load(&deque->top, BLY_SEQ_CST); /* see the contract of size */
}

static uint64_t get_bottom(const bly_deque *deque)
{
    return bly_load(&deque->bottom, BLY_SEQ_CST); /* see the contract of size */
}

static belay_task **slot_locked(bly_deque *deque, uint64_t index)
{
    return &deque->slots[index & (deque->capacity - 1)];
}

static bly_deque *locked_create(uint64_t first_index)
{
    bly_deque *deque = bly_alloc(sizeof *deque);
    if (deque != NULL) {
        deque->slots = deque->first;
        deque->capacity = INITIAL;
        bly_store(&deque->top, first_index, BLY_SEQ_CST);
        bly_store(&deque->bottom, first_index, BLY_SEQ_CST);
    }
    return deque;
}

static void free_slots(bly_deque *deque, belay_task **slots)
{
    if (slots != deque->first) {
        bly_free(slots);
    }
}

static void locked_destroy(bly_deque *deque)
{
    bly_assert(get_top(deque) == get_bottom(deque));
    free_slots(deque, deque->slots);
    bly_mutex_destroy(&deque->lock);
    bly_free(deque);
}

/* Moves what there is to a ring of `capacity` slots; the owner's call. */
static void replace_slots(bly_deque *deque, belay_task **slots, uint64_t capacity)
{
    bly_mutex_lock(&deque->lock);
    uint64_t bottom = get_bottom(deque);
    bly_assert(bottom - get_top(deque) <= capacity);
    for (uint64_t i = get_top(deque); i != bottom; i++) {
        slots[i & (capacity - 1)] = *slot_locked(deque, i);
    }
    belay_task **outgrown = deque->slots;
    deque->slots = slots;
    deque->capacity = capacity;
    bly_mutex_unlock(&deque->lock);
    free_slots(deque, outgrown);
}

static bool locked_reserve(bly_deque *deque, uint32_t count)
{
    uint64_t needed = get_bottom(deque) - get_top(deque) + count;
    if (needed <= deque->capacity) {
        return true;
    }
    uint64_t capacity = deque->capacity;
    while (capacity < needed) {
        capacity *= 2;
    }
    belay_task **slots = capacity <= CAPACITY_MAX ? bly_alloc(capacity * sizeof *slots) : NULL;
    if (slots == NULL) {
        return false;
    }
    replace_slots(deque, slots, capacity);
    return true;
}

static bool locked_push(bly_deque *deque, belay_task *task)
{
    if (!locked_reserve(deque, 1)) {
        return false;
    }
    bly_mutex_lock(&deque->lock);
    uint64_t bottom = get_bottom(deque);
    bly_assert_debug(bottom - get_top(deque) < deque->capacity);
    *slot_locked(deque, bottom) = task;
    bly_store(&deque->bottom, bottom + 1, BLY_SEQ_CST); /* see the contract of push */
    bly_mutex_unlock(&deque->lock);
    return true;
}

static belay_task *locked_pop(bly_deque *deque, uint64_t mark)
{
    if (get_top(deque) == get_bottom(deque)) {
        return NULL;
    }
    belay_task *task = NULL;
    bly_mutex_lock(&deque->lock);
    uint64_t newest = get_bottom(deque) - 1;
    bool is_there = newest + 1 != get_top(deque);
    if (is_there && (int64_t)(newest - mark) >= 0) {
        task = *slot_locked(deque, newest);
        bly_store(&deque->bottom, newest, BLY_SEQ_CST);
    }
    bly_mutex_unlock(&deque->lock);
    return task;
}

static uint32_t locked_steal(bly_deque *deque, belay_task **ret_tasks, uint32_t max)
{
    if (get_top(deque) == get_bottom(deque)) {
        return 0;
    }
    bly_mutex_lock(&deque->lock);
    uint64_t top = get_top(deque);
    uint32_t count = bly_steal_count(get_bottom(deque) - top, max);
    for (uint32_t i = 0; i < count; i++) {
        ret_tasks[i] = *slot_locked(deque, top + i);
    }
    bly_store(&deque->top, top + count, BLY_SEQ_CST);
    bly_mutex_unlock(&deque->lock);
    bly_assert(count <= max);
    return count;
}

static belay_task *locked_pop_oldest(bly_deque *deque)
{
    belay_task *task = NULL;
    return locked_steal(deque, &task, 1) == 1 ? task : NULL;
}

static uint64_t locked_mark(const bly_deque *deque)
{
    return get_bottom(deque);
}

static uint64_t locked_size(const bly_deque *deque)
{
    /* top first: it only grows, and never past a bottom that was there before. */
    uint64_t top = get_top(deque);
    uint64_t bottom = get_bottom(deque);
    return (int64_t)(bottom - top) > 0 ? bottom - top : 0;
}

static void locked_trim(bly_deque *deque)
{
    if (deque->slots != deque->first && get_top(deque) == get_bottom(deque)) {
        replace_slots(deque, deque->first, INITIAL);
    }
}

const bly_deque_kind bly_deque_locked = {.name = "locked",
                                         .create = locked_create,
                                         .destroy = locked_destroy,
                                         .reserve = locked_reserve,
                                         .push = locked_push,
                                         .pop = locked_pop,
                                         .pop_oldest = locked_pop_oldest,
                                         .steal = locked_steal,
                                         .mark = locked_mark,
                                         .size = locked_size,
                                         .trim = locked_trim};
