/*
 * pile.h: a priority queue of pointers.
 * Context: the command's only thread.
 */
#ifndef BLY_CLI_PILE_H
#define BLY_CLI_PILE_H

#include <stdbool.h>
#include <stddef.h>

/* All zero but for `is_before` is an empty one. */
struct bly_pile {
    bool (*is_before)(const void *a, const void *b); /* a strict order */
    void **items;
    size_t count, max;
};

/* bly_pile_push: adds an item; takes nothing of it but the pointer. */
void bly_pile_push(struct bly_pile *pile, void *item);

/* bly_pile_first: the item before all others, or NULL. */
void *bly_pile_first(const struct bly_pile *pile);

/* bly_pile_pop: takes out the first item, or NULL. */
void *bly_pile_pop(struct bly_pile *pile);

/* bly_pile_free: forgets all items. */
void bly_pile_free(struct bly_pile *pile);

#endif
