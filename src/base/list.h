/*
 * list.h: intrusive doubly linked lists.
 *
 * A list is a ring through its head, a bly_list that stands in no object; an object embeds a
 * bly_list and is found again with bly_container. All operations are O(1). Whoever uses a list says
 * what protects it.
 */
#ifndef BLY_BASE_LIST_H
#define BLY_BASE_LIST_H

#include "base/assert.h"
#include "belay/detail/list.h"

#include <stdbool.h>

/* bly_list_init: an empty list. */
static inline void bly_list_init(bly_list *head)
{
    head->prev = head->next = head;
}

static inline bool bly_list_is_empty(const bly_list *head)
{
    return head->next == head;
}

/* bly_list_is_linked: whether a node, zero before its first use, stands in a list. */
static inline bool bly_list_is_linked(const bly_list *node)
{
    return node->next != NULL;
}

/* bly_list_first: the first node, NULL when the list is empty. */
static inline bly_list *bly_list_first(const bly_list *head)
{
    return bly_list_is_empty(head) ? NULL : head->next;
}

/* bly_list_last: the last node, NULL when the list is empty. */
static inline bly_list *bly_list_last(const bly_list *head)
{
    return bly_list_is_empty(head) ? NULL : head->prev;
}

/* bly_list_next: the node behind one that stands in the list, NULL behind the last. */
static inline bly_list *bly_list_next(const bly_list *head, const bly_list *node)
{
    return node->next == head ? NULL : node->next;
}

/* bly_list_insert_before: puts a node that is in no list in front of `place`. */
static inline void bly_list_insert_before(bly_list *place, bly_list *node)
{
    bly_assert_debug(!bly_list_is_linked(node));
    bly_assert_debug(place->prev->next == place);
    node->prev = place->prev;
    node->next = place;
    place->prev->next = node;
    place->prev = node;
}

static inline void bly_list_push_back(bly_list *head, bly_list *node)
{
    bly_list_insert_before(head, node);
}

static inline void bly_list_push_front(bly_list *head, bly_list *node)
{
    bly_list_insert_before(head->next, node);
}

/* bly_list_remove: takes a node out of its list; it is in none afterwards. */
static inline void bly_list_remove(bly_list *node)
{
    bly_assert(bly_list_is_linked(node));
    bly_assert_debug(node->prev->next == node && node->next->prev == node);
    node->prev->next = node->next;
    node->next->prev = node->prev;
    node->prev = node->next = NULL;
}

/* bly_list_pop_front: takes the first node out; NULL when the list is empty. */
static inline bly_list *bly_list_pop_front(bly_list *head)
{
    bly_list *first = bly_list_first(head);
    if (first != NULL) {
        bly_list_remove(first);
    }
    return first;
}

/* bly_list_append: moves all nodes of `from`, in order, behind those of `head`. */
static inline void bly_list_append(bly_list *head, bly_list *from)
{
    if (!bly_list_is_empty(from)) {
        from->next->prev = head->prev;
        from->prev->next = head;
        head->prev->next = from->next;
        head->prev = from->prev;
        bly_list_init(from);
    }
}

/* bly_list_each: for each node of the list, first to last; the body must not remove it. */
#define bly_list_each(node, head)                                                                  \
    for (bly_list *node = (head)->next; node != (head); node = node->next)

/* bly_list_each_safe: the same; the body may remove the node; `after` is the one behind it. */
#define bly_list_each_safe(node, after, head)                                                      \
    for (bly_list *node = (head)->next, *after = node->next; node != (head);                       \
         node = after, after = node->next)

#endif
