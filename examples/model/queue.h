/*
 * queue.h: a queue of many producers and one consumer without locks (Vyukov, "Non-intrusive MPSC
 * node-based queue", 2010), written with belay/seam.h so that it can be explored.
 */
#ifndef EXAMPLE_QUEUE_H
#define EXAMPLE_QUEUE_H

#include <belay/seam.h>
#include <stddef.h>

typedef struct node {
    struct node *next; /* atomic: its producer links the one behind it, the consumer reads */
    int value;         /* written before the node is linked */
} node;

typedef struct queue {
    node *newest; /* atomic: producers exchange it */
    node *oldest; /* the consumer's: the node before the first one that it has not taken */
} queue;

static inline void queue_init(queue *self, node *stub)
{
    stub->next = NULL;
    self->newest = self->oldest = stub;
}

static inline void queue_push(queue *self, node *added)
{
    belay_store(&added->next, NULL, BELAY_RELAXED);
    /* acquire and release: the producer before has made its node; the one after sees this one. */
    node *before = belay_exchange(&self->newest, added, BELAY_ACQ_REL);
    /* release, with the acquire of queue_pop: the value travels with the link. */
    belay_store(&before->next, added, BELAY_RELEASE);
}

/* Takes a value; false when there is none, or the next one is not linked yet. */
static inline bool queue_pop(queue *self, int *ret_value)
{
    node *next = belay_load(&self->oldest->next, BELAY_ACQUIRE);
    if (next == NULL) {
        return false;
    }
    *ret_value = belay_read(&next->value);
    self->oldest = next;
    return true;
}

#endif
