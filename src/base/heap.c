/*
 * heap.c: see heap.h.
 *
 * Places begin at 3. The children of place p are 4p-8 … 4p-5 and its parent is p/4+2: sisters then
 * begin at a multiple of four, and lie side by side in one chunk. Moving an element means moving a
 * hole through the slots and filling it once.
 */
#include "base/heap.h"

#define ROOT  3u
#define ARITY 4u

typedef struct heap_slot {
    bly_heap_key key;
    void *element;
} heap_slot;

static inline bool is_before(const bly_heap_key *left, const bly_heap_key *right)
{
    if (left->high != right->high) {
        return left->high < right->high;
    }
    if (left->middle != right->middle) {
        return left->middle < right->middle;
    }
    return left->low < right->low;
}

static inline heap_slot *slot_at(const bly_heap *heap, uint32_t place)
{
    return bly_chunks_at(&heap->slots, place);
}

static inline uint32_t parent_of(uint32_t place)
{
    return place / ARITY + 2;
}

/* The first child of a place; wide, since it may lie beyond every place there can be. */
static inline uint64_t first_child_of(uint32_t place)
{
    return (uint64_t)place * ARITY - 2 * ARITY;
}

static inline uint32_t *place_of(const bly_heap *heap, const void *element)
{
    return (uint32_t *)(void *)((char *)element + heap->place_offset);
}

static inline void put(bly_heap *heap, uint32_t place, heap_slot slot)
{
    *slot_at(heap, place) = slot;
    *place_of(heap, slot.element) = place;
}

/* True when the slot knows its place and stands behind its parent. */
static bool is_sound_at(const bly_heap *heap, uint32_t place)
{
    const heap_slot *slot = slot_at(heap, place);
    if (*place_of(heap, slot->element) != place) {
        return false;
    }
    return place == ROOT || !is_before(&slot->key, &slot_at(heap, parent_of(place))->key);
}

bool bly_heap_is_sound(const bly_heap *heap)
{
    for (uint32_t place = ROOT; place < heap->slots.used; place++) {
        if (!is_sound_at(heap, place)) {
            return false;
        }
    }
    return true;
}

/* Fills the hole at `place` with the slot, or with an ancestor that must come behind it. */
static void sift_up(bly_heap *heap, uint32_t place, heap_slot slot)
{
    while (place > ROOT) {
        uint32_t parent = parent_of(place);
        const heap_slot *above = slot_at(heap, parent);
        if (!is_before(&slot.key, &above->key)) {
            break;
        }
        put(heap, place, *above);
        place = parent;
    }
    put(heap, place, slot);
    bly_assert_deep(is_sound_at(heap, place));
}

/* The smallest of the `count` sisters, as an index among them. */
static inline uint32_t smallest(const heap_slot *sisters, uint32_t count)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < count; i++) {
        if (is_before(&sisters[i].key, &sisters[best].key)) {
            best = i;
        }
    }
    return best;
}

/* Fills the hole at `place` with the slot, or with the best child when that must come before it. */
static void sift_down(bly_heap *heap, uint32_t place, heap_slot slot)
{
    uint32_t end = heap->slots.used;
    for (uint64_t child = first_child_of(place); child < end; child = first_child_of(place)) {
        uint32_t first = (uint32_t)child;
        const heap_slot *sisters = slot_at(heap, first);
        uint32_t best = smallest(sisters, end - first < ARITY ? end - first : ARITY);
        if (!is_before(&sisters[best].key, &slot.key)) {
            break;
        }
        put(heap, place, sisters[best]);
        place = first + best;
    }
    put(heap, place, slot);
    bly_assert_deep(is_sound_at(heap, place));
}

static void settle(bly_heap *heap, uint32_t place, heap_slot slot)
{
    if (place > ROOT && is_before(&slot.key, &slot_at(heap, parent_of(place))->key)) {
        sift_up(heap, place, slot);
    } else {
        sift_down(heap, place, slot);
    }
}

void bly_heap_init(bly_heap *heap, size_t place_offset)
{
    bly_assert(place_offset <= UINT32_MAX);
    bly_chunks_init(&heap->slots, sizeof(heap_slot));
    heap->slots.used = ROOT;
    heap->place_offset = (uint32_t)place_offset;
}

void bly_heap_destroy(bly_heap *heap)
{
    bly_assert(bly_heap_count(heap) == 0);
    bly_chunks_destroy(&heap->slots);
}

uint32_t bly_heap_count(const bly_heap *heap)
{
    return heap->slots.used - ROOT;
}

void bly_heap_push(bly_heap *heap, void *element, bly_heap_key key)
{
    bly_assert(*place_of(heap, element) == 0);
    bly_assert(heap->slots.used < bly_chunks_capacity(&heap->slots));
    sift_up(heap, heap->slots.used++, (heap_slot){key, element});
}

void *bly_heap_first(const bly_heap *heap)
{
    return bly_heap_count(heap) == 0 ? NULL : slot_at(heap, ROOT)->element;
}

void *bly_heap_pop(bly_heap *heap)
{
    void *first = bly_heap_first(heap);
    if (first != NULL) {
        bly_heap_remove(heap, first);
    }
    return first;
}

static uint32_t checked_place(const bly_heap *heap, const void *element)
{
    uint32_t place = *place_of(heap, element);
    bly_assert(place >= ROOT && place < heap->slots.used);
    bly_assert(slot_at(heap, place)->element == element);
    return place;
}

void bly_heap_remove(bly_heap *heap, void *element)
{
    uint32_t place = checked_place(heap, element);
    *place_of(heap, element) = 0;
    uint32_t last = --heap->slots.used;
    heap_slot *gap = slot_at(heap, last);
    heap_slot moved = *gap;
    *gap = (heap_slot){0};
    if (place != last) {
        settle(heap, place, moved);
    }
}

bly_heap_key bly_heap_key_of(const bly_heap *heap, const void *element)
{
    return slot_at(heap, checked_place(heap, element))->key;
}

/*
 * The place that a walk visits after `place`: its first child where that is wanted, else its next
 * sister, else that of the nearest ancestor that has one. 0: the walk is over.
 */
static uint32_t next_of_walk(const bly_heap *heap, uint32_t place, bool wants_children)
{
    uint64_t child = first_child_of(place);
    if (wants_children && child < heap->slots.used) {
        return (uint32_t)child;
    }
    /* The last of four sisters has a place that is 3 more than a multiple of four, as the root. */
    while (place % ARITY == ARITY - 1 || place + 1 == heap->slots.used) {
        if (place == ROOT) {
            return 0;
        }
        place = parent_of(place);
    }
    return place + 1;
}

uint32_t bly_heap_count_until(const bly_heap *heap, bly_heap_key last, uint32_t max)
{
    uint32_t found = 0;
    uint32_t place = bly_heap_count(heap) == 0 ? 0 : ROOT;
    while (place != 0 && found < max) {
        bool is_counted = !is_before(&last, &slot_at(heap, place)->key);
        found += is_counted;
        place = next_of_walk(heap, place, is_counted);
    }
    return found;
}
