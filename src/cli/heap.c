/* heap.c: see heap.h. A binary heap in an array. */
#include "heap.h"

#include <assert.h>

#include "mem.h"

static void swap(struct bly_heap *heap, size_t a, size_t b)
{
    void *item = heap->items[a];
    heap->items[a] = heap->items[b];
    heap->items[b] = item;
}

void bly_heap_push(struct bly_heap *heap, void *item)
{
    assert(heap->is_before != NULL);
    heap->items = bly_mem_grow(heap->items, &heap->max, heap->count + 1, sizeof *heap->items);
    size_t at = heap->count++;
    heap->items[at] = item;
    while (at > 0 && heap->is_before(heap->items[at], heap->items[(at - 1) / 2])) {
        swap(heap, at, (at - 1) / 2);
        at = (at - 1) / 2;
    }
}

void *bly_heap_first(const struct bly_heap *heap)
{
    return heap->count > 0 ? heap->items[0] : NULL;
}

void *bly_heap_pop(struct bly_heap *heap)
{
    if (heap->count == 0) {
        return NULL;
    }
    void *first = heap->items[0];
    heap->items[0] = heap->items[--heap->count];
    size_t at = 0;
    for (;;) {
        size_t least = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < heap->count; child++) {
            if (heap->is_before(heap->items[child], heap->items[least])) {
                least = child;
            }
        }
        if (least == at) {
            return first;
        }
        swap(heap, at, least);
        at = least;
    }
}

void bly_heap_free(struct bly_heap *heap)
{
    bly_mem_free(heap->items);
    heap->items = NULL;
    heap->count = 0;
    heap->max = 0;
}
