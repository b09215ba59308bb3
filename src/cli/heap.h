/*
 * heap.h: a priority queue of pointers.
 * Context: the command's only thread.
 */
#ifndef BLY_CLI_HEAP_H
#define BLY_CLI_HEAP_H

#include <stdbool.h>
#include <stddef.h>

/* All zero but for `is_before` is an empty one. */
struct bly_heap {
    bool (*is_before)(const void *a, const void *b); /* a strict order */
    void **items;
    size_t count, max;
};

/* bly_heap_push: adds an item; takes nothing of it but the pointer. */
void bly_heap_push(struct bly_heap *heap, void *item);

/* bly_heap_first: the item before all others, or NULL. */
void *bly_heap_first(const struct bly_heap *heap);

/* bly_heap_pop: takes out the first item, or NULL. */
void *bly_heap_pop(struct bly_heap *heap);

/* bly_heap_free: forgets all items. */
void bly_heap_free(struct bly_heap *heap);

#endif
