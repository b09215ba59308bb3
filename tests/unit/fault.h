/*
 * fault.h: allocations and thread creations that fail on demand, for programs linked with
 * --wrap=bly_alloc, --wrap=bly_alloc_aligned and --wrap=bly_thread_create.
 *
 *     uint32_t k = 0;
 *     do {
 *         fault_alloc_once(++k);
 *         result = belay_sem_create(&opts, &sem);
 *     } while (fault_alloc_stop() != 0);
 *
 * makes each allocation of the call fail once, until a call meets no failure.
 */
#ifndef BELAY_TESTS_FAULT_H
#define BELAY_TESTS_FAULT_H

#include "sync/sync.h"

/* Which calls of one kind fail. All fields are atomic. */
typedef struct fault {
    uint32_t left;    /* calls until the first that fails, 1 being the next; 0: none fails */
    uint32_t is_last; /* 1: those after it fail too */
    uint32_t count;   /* that have failed */
} fault;

static fault fault_alloc;
static fault fault_thread;
static void (*fault_before_alloc)(void); /* called at each allocation; NULL: nothing is */

static inline void fault_arm(fault *self, uint32_t nth, bool is_last)
{
    bly_store(&self->count, 0u, BLY_SEQ_CST);
    bly_store(&self->is_last, is_last ? 1u : 0u, BLY_SEQ_CST);
    bly_store(&self->left, nth, BLY_SEQ_CST);
}

/* Counts down to the call that fails; true for that one, or for all from it on. */
static inline bool fault_hits(fault *self)
{
    uint32_t before = bly_load(&self->left, BLY_SEQ_CST);
    uint32_t after;
    do {
        after = before == 1 && bly_load(&self->is_last, BLY_SEQ_CST) != 0 ? 1 : before - 1;
    } while (before != 0 && !bly_cas(&self->left, &before, after, BLY_SEQ_CST, BLY_SEQ_CST));
    if (before == 1) {
        bly_fetch_add(&self->count, 1u, BLY_SEQ_CST);
    }
    return before == 1;
}

/* The nth allocation from now on fails, 1 being the next; those after it work again. */
static inline void fault_alloc_once(uint32_t nth)
{
    fault_arm(&fault_alloc, nth, false);
}

/* The nth allocation from now on fails, and all after it. */
static inline void fault_alloc_from(uint32_t nth)
{
    fault_arm(&fault_alloc, nth, true);
}

/* All work again. Returns how many have failed. */
static inline uint32_t fault_alloc_stop(void)
{
    bly_store(&fault_alloc.left, 0u, BLY_SEQ_CST);
    return bly_load(&fault_alloc.count, BLY_SEQ_CST);
}

/* The same of thread creations. */
static inline void fault_thread_once(uint32_t nth)
{
    fault_arm(&fault_thread, nth, false);
}

static inline void fault_thread_from(uint32_t nth)
{
    fault_arm(&fault_thread, nth, true);
}

static inline uint32_t fault_thread_stop(void)
{
    bly_store(&fault_thread.left, 0u, BLY_SEQ_CST);
    return bly_load(&fault_thread.count, BLY_SEQ_CST);
}

void *__real_bly_alloc(size_t size);
void *__wrap_bly_alloc(size_t size);
void *__real_bly_alloc_aligned(size_t align, size_t size);
void *__wrap_bly_alloc_aligned(size_t align, size_t size);
int __real_bly_thread_create(bly_thread *thread, const bly_thread_opts *opts, void (*fn)(void *),
                             void *arg);
int __wrap_bly_thread_create(bly_thread *thread, const bly_thread_opts *opts, void (*fn)(void *),
                             void *arg);

static inline bool fault_alloc_fails(void)
{
    if (fault_before_alloc != NULL) {
        fault_before_alloc();
    }
    return fault_hits(&fault_alloc);
}

void *__wrap_bly_alloc(size_t size)
{
    return fault_alloc_fails() ? NULL : __real_bly_alloc(size);
}

void *__wrap_bly_alloc_aligned(size_t align, size_t size)
{
    return fault_alloc_fails() ? NULL : __real_bly_alloc_aligned(align, size);
}

int __wrap_bly_thread_create(bly_thread *thread, const bly_thread_opts *opts, void (*fn)(void *),
                             void *arg)
{
    return fault_hits(&fault_thread) ? BELAY_EAGAIN
                                     : __real_bly_thread_create(thread, opts, fn, arg);
}

#endif
