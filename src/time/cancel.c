/*
 * cancel.c: cancellation tokens.
 *
 * Fire. Whoever sets is_fired under the token's lock owns the rest: it takes the registrations off
 * one at a time under the lock and calls each outside, then takes off the children, fires those in
 * turn and unlinks what it has. Fired tokens wait in a queue through next_fired, so a deep or wide
 * tree costs no stack. What the functions completed is delivered at the end: no callback of the
 * user's runs while a registration is called, and unregister waits for library code only.
 *
 * Unregister against fire. A registration is on the list, or being called, or done; the lock
 * decides which. On the list it is taken off and will not be called; while it is called on another
 * thread unregister waits for the end of that call (running.h). The token is touched by the firing
 * thread only while it holds a reference of its own; the registration not after its function began.
 *
 * Trees. A child holds a reference of its parent and stands on its list. The parent's lock guards
 * that list: a child whose last reference goes takes itself off under it before it is freed, so a
 * firing parent may look at any child it finds there, but must not revive one that has no
 * reference left. Freeing walks up the tree in a loop.
 *
 * A shield does not stand on its parent's list: nothing of the parent concerns it.
 */
#include "time/cancel.h"

#include "base/list.h"
#include "deliver/deliver.h"
#include "deliver/event.h"
#include "sync/sync.h"
#include "time/running.h"

#define NO_FD (-1)

struct belay_cancel {
    uint32_t refs;            /* atomic: whoever holds one; the last frees */
    uint32_t is_fired;        /* atomic: written once, under the lock; read by anyone */
    bly_mutex lock;           /* of what follows */
    bly_list regs;            /* lock: registrations that were not called yet */
    bly_running running;      /* lock: the registration that the firing thread is calling */
    int fd;                   /* lock: readable once fired; NO_FD until asked for */
    bly_list children;        /* lock: those that this token fires */
    belay_cancel *parent;     /* constant after create; NULL for a root and for a shield */
    bly_list link;            /* parent's lock: among its children */
    belay_cancel *next_fired; /* the firing thread's */
};

/* Puts a new token below its parent; true when the parent has fired. */
static bool join_parent(belay_cancel *parent, belay_cancel *child)
{
    child->parent = belay_cancel_ref(parent);
    bly_mutex_lock(&parent->lock);
    bool is_fired = bly_load(&parent->is_fired, BLY_RELAXED); /* relaxed: written under the lock */
    if (!is_fired) {
        bly_list_push_back(&parent->children, &child->link);
    }
    bly_mutex_unlock(&parent->lock);
    return is_fired;
}

int belay_cancel_create(belay_cancel *parent, unsigned flags, belay_cancel **ret_token)
{
    if (ret_token == NULL || (flags & ~BELAY_CANCEL_SHIELD) != 0) {
        return BELAY_EINVAL;
    }
    belay_cancel *token = bly_alloc(sizeof *token);
    if (token == NULL) {
        return BELAY_ENOMEM;
    }
    bly_store(&token->refs, 1u, BLY_RELAXED); /* relaxed: nobody else knows the token yet */
    bly_list_init(&token->regs);
    bly_list_init(&token->children);
    token->fd = NO_FD;
    if (parent != NULL && (flags & BELAY_CANCEL_SHIELD) == 0 && join_parent(parent, token)) {
        bly_store(&token->is_fired, 1u, BLY_RELAXED); /* relaxed: as above */
    }
    *ret_token = token;
    return 0;
}

belay_cancel *belay_cancel_ref(belay_cancel *token)
{
    if (token == NULL) {
        return NULL;
    }
    /* relaxed: who adds a reference has one, so nothing can be freed meanwhile. */
    uint32_t before = bly_fetch_add(&token->refs, 1u, BLY_RELAXED);
    bly_assert(before != 0 && before != UINT32_MAX);
    return token;
}

/* A reference of a child found on its parent's list; false when its last one is gone. */
static bool try_ref_locked(belay_cancel *token)
{
    uint32_t refs = bly_load(&token->refs, BLY_RELAXED);
    /* relaxed: the parent's lock keeps the memory; the reference orders nothing. */
    while (refs != 0 && !bly_cas(&token->refs, &refs, refs + 1, BLY_RELAXED, BLY_RELAXED)) {
    }
    return refs != 0;
}

/* Ends one reference; true when it was the last. */
static bool unref(belay_cancel *token)
{
    /* release, and acquire for the last: all uses of the token come before its end. */
    uint32_t before = bly_fetch_sub(&token->refs, 1u, BLY_ACQ_REL);
    bly_assert(before != 0);
    return before == 1;
}

static void free_token(belay_cancel *token)
{
    bly_assert(bly_list_is_empty(&token->regs) && bly_list_is_empty(&token->children));
    if (token->fd != NO_FD) {
        bly_events->close(token->fd);
    }
    bly_mutex_destroy(&token->lock);
    bly_free(token);
}

void belay_cancel_unref(belay_cancel *token)
{
    while (token != NULL && unref(token)) {
        belay_cancel *parent = token->parent;
        if (parent != NULL) {
            bly_mutex_lock(&parent->lock);
            if (bly_list_is_linked(&token->link)) {
                bly_list_remove(&token->link);
            }
            bly_mutex_unlock(&parent->lock);
        }
        free_token(token);
        token = parent;
    }
}

/* Marks the token and its descriptor; false when it was marked before. */
static bool mark_fired(belay_cancel *token)
{
    bly_mutex_lock(&token->lock);
    bool is_first = !bly_load(&token->is_fired, BLY_RELAXED); /* relaxed: written under the lock */
    /* release, with the acquire of belay_cancel_is_fired. */
    bly_store(&token->is_fired, 1u, BLY_RELEASE);
    int fd = token->fd;
    bly_mutex_unlock(&token->lock);
    if (is_first && fd != NO_FD) {
        bly_events->signal(fd);
    }
    return is_first;
}

/* Calls the function of the first registration; false when there is none left. */
static bool call_first(belay_cancel *token)
{
    bly_mutex_lock(&token->lock);
    bly_list *first = bly_list_pop_front(&token->regs);
    if (first == NULL) {
        bly_mutex_unlock(&token->lock);
        return false;
    }
    bly_cancel_reg *reg = bly_container(first, bly_cancel_reg, link);
    bly_running_begin(&token->running, reg);
    bly_mutex_unlock(&token->lock);
    reg->fn(reg);
    bly_mutex_lock(&token->lock);
    bool is_waited_for = bly_running_end(&token->running);
    bly_mutex_unlock(&token->lock);
    if (is_waited_for) {
        bly_running_wake(&token->running);
    }
    return true;
}

/* Takes the first child off; NULL when there is none left that lives. Gives a reference. */
static belay_cancel *take_child(belay_cancel *token)
{
    belay_cancel *alive = NULL;
    bly_mutex_lock(&token->lock);
    while (alive == NULL && !bly_list_is_empty(&token->children)) {
        bly_list *first = bly_list_pop_front(&token->children);
        belay_cancel *child = bly_container(first, belay_cancel, link);
        alive = try_ref_locked(child) ? child : NULL;
    }
    bly_mutex_unlock(&token->lock);
    return alive;
}

int belay_cancel_fire(belay_cancel *token)
{
    if (token == NULL) {
        return BELAY_EINVAL;
    }
    if (!mark_fired(token)) {
        return BELAY_ETOOLATE;
    }
    bool is_outermost = bly_deliver_hold();
    belay_cancel *last = belay_cancel_ref(token);
    while (token != NULL) {
        while (call_first(token)) {
        }
        for (belay_cancel *child = take_child(token); child != NULL; child = take_child(token)) {
            if (mark_fired(child)) {
                last->next_fired = child;
                last = child;
            } else {
                belay_cancel_unref(child);
            }
        }
        belay_cancel *next = token->next_fired;
        belay_cancel_unref(token);
        token = next;
    }
    bly_deliver_release(is_outermost);
    return 0;
}

bool belay_cancel_is_fired(const belay_cancel *token)
{
    /* acquire, with the release of mark_fired: what the firing thread did before is seen. */
    return token != NULL && bly_load(&token->is_fired, BLY_ACQUIRE);
}

int belay_cancel_fd(belay_cancel *token)
{
    if (token == NULL) {
        return BELAY_EINVAL;
    }
    bly_mutex_lock(&token->lock);
    int fd = token->fd;
    bly_mutex_unlock(&token->lock);
    if (fd != NO_FD) {
        return fd;
    }
    int made = bly_events->create();
    if (made < 0) {
        return made;
    }
    bly_mutex_lock(&token->lock);
    if (token->fd == NO_FD) {
        token->fd = made;
    }
    fd = token->fd;
    bool is_fired = bly_load(&token->is_fired, BLY_RELAXED); /* relaxed: written under the lock */
    bly_mutex_unlock(&token->lock);
    if (fd != made) {
        bly_events->close(made);
    } else if (is_fired) {
        bly_events->signal(made);
    }
    return fd;
}

int bly_cancel_register(belay_cancel *token, bly_cancel_reg *reg, void (*fn)(bly_cancel_reg *))
{
    bly_assert(fn != NULL && reg->token == NULL);
    bly_mutex_lock(&token->lock);
    if (bly_load(&token->is_fired, BLY_RELAXED)) { /* relaxed: written under the lock */
        bly_mutex_unlock(&token->lock);
        return BELAY_ECANCELED;
    }
    reg->fn = fn;
    reg->token = belay_cancel_ref(token);
    bly_list_push_back(&token->regs, &reg->link);
    bly_mutex_unlock(&token->lock);
    return 0;
}

void bly_cancel_unregister(bly_cancel_reg *reg)
{
    belay_cancel *token = reg->token;
    if (token == NULL) {
        return;
    }
    reg->token = NULL;
    bly_mutex_lock(&token->lock);
    if (bly_list_is_linked(&reg->link)) {
        bly_list_remove(&reg->link);
    } else {
        bly_running_wait(&token->running, reg, &token->lock);
    }
    bly_mutex_unlock(&token->lock);
    belay_cancel_unref(token);
}
