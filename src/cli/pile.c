/* pile.c: see pile.h. A binary heap in an array. */
#include "pile.h"

#include <assert.h>

#include "mem.h"

static void swap(struct bly_pile *pile, size_t a, size_t b)
{
    void *item = pile->items[a];
    pile->items[a] = pile->items[b];
    pile->items[b] = item;
}

void bly_pile_push(struct bly_pile *pile, void *item)
{
    assert(pile->is_before != NULL);
    pile->items = bly_mem_grow(pile->items, &pile->max, pile->count + 1, sizeof *pile->items);
    size_t at = pile->count++;
    pile->items[at] = item;
    while (at > 0 && pile->is_before(pile->items[at], pile->items[(at - 1) / 2])) {
        swap(pile, at, (at - 1) / 2);
        at = (at - 1) / 2;
    }
}

void *bly_pile_first(const struct bly_pile *pile)
{
    return pile->count > 0 ? pile->items[0] : NULL;
}

void *bly_pile_pop(struct bly_pile *pile)
{
    if (pile->count == 0) {
        return NULL;
    }
    void *first = pile->items[0];
    pile->items[0] = pile->items[--pile->count];
    size_t at = 0;
    for (;;) {
        size_t least = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < pile->count; child++) {
            if (pile->is_before(pile->items[child], pile->items[least])) {
                least = child;
            }
        }
        if (least == at) {
            return first;
        }
        swap(pile, at, least);
        at = least;
    }
}

void bly_pile_free(struct bly_pile *pile)
{
    bly_mem_free(pile->items);
    pile->items = NULL;
    pile->count = 0;
    pile->max = 0;
}
