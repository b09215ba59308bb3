/*
 * heap.h: a priority queue of elements that know their own place in it.
 *
 * A 4-ary heap whose slots hold the key beside the element, so comparing touches no element. Each
 * element has a uint32_t for its place, 0 while it is in no heap, with which it is removed or given
 * another key in O(log n). Every operation is O(log n) at worst and copies nothing when the heap
 * grows (chunks.h). The place is the heap's, opaque to others but for 0.
 *
 * Pushing needs room. Under a lock, get it with bly_chunks_grow(&heap->slots, 1, &lock) of
 * sync/grow.h; elsewhere with bly_chunks_reserve(&heap->slots, 1). After removals, free what
 * bly_chunks_spare(&heap->slots) returns, outside the lock.
 */
#ifndef BLY_BASE_HEAP_H
#define BLY_BASE_HEAP_H

#include "base/chunks.h"

/* Compared word by word, as numbers, `high` first. Keys that are equal come in no certain order. */
typedef struct bly_heap_key {
    uint64_t high, middle, low;
} bly_heap_key;

/* All fields are protected by what protects the heap. */
typedef struct bly_heap {
    bly_chunks slots;      /* the first three are unused: sisters share an aligned group of four */
    uint32_t place_offset; /* bytes from an element to its place; constant after init */
} bly_heap;

/* bly_heap_init: an empty heap without memory. place_offset: offsetof(element, its uint32_t). */
void bly_heap_init(bly_heap *heap, size_t place_offset);

/* bly_heap_destroy: frees the memory of an empty heap. */
void bly_heap_destroy(bly_heap *heap);

uint32_t bly_heap_count(const bly_heap *heap);

/* bly_heap_push: adds an element that is in no heap; there is room. */
void bly_heap_push(bly_heap *heap, void *element, bly_heap_key key);

/* bly_heap_first: the element with the smallest key, NULL when the heap is empty. */
void *bly_heap_first(const bly_heap *heap);

/* bly_heap_pop: removes the element with the smallest key and returns it; NULL when empty. */
void *bly_heap_pop(bly_heap *heap);

/* bly_heap_remove: removes an element that is in the heap. */
void bly_heap_remove(bly_heap *heap, void *element);

/* bly_heap_key_of: the key of an element that is in the heap. */
bly_heap_key bly_heap_key_of(const bly_heap *heap, const void *element);

/*
 * bly_heap_count_until: how many elements have a key that does not come after `last`; counts no
 * further than `max`. O(the number returned).
 */
uint32_t bly_heap_count_until(const bly_heap *heap, bly_heap_key last, uint32_t max);

/* bly_heap_is_sound: checks the whole structure, in O(n); for tests and deep assertions. */
bool bly_heap_is_sound(const bly_heap *heap);

/* bly_heap_order: a number whose order as unsigned is that of `value` as signed. */
static inline uint64_t bly_heap_order(int64_t value)
{
    return (uint64_t)value ^ (UINT64_C(1) << 63);
}

/* bly_heap_value: the value that bly_heap_order made this number of. */
static inline int64_t bly_heap_value(uint64_t order)
{
    return (int64_t)(order ^ (UINT64_C(1) << 63));
}

#endif
