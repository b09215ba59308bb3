/*
 * fault.h: failures on demand, for programs linked with --wrap=bly_alloc, --wrap=bly_alloc_aligned
 * and --wrap=bly_thread_create.
 */
#ifndef BELAY_TESTS_FAULT_H
#define BELAY_TESTS_FAULT_H

#include "sync/sync.h"

/* The calls that are left until the one that fails; 0: none fails. Atomic. */
static uint32_t fault_alloc_in;
static uint32_t fault_thread_in;
static uint32_t fault_thread_always; /* 1: every one */
static uint32_t fault_alloc_always;

/* Counts down to the call that fails; true for that one. */
static inline bool fault_is_due(uint32_t *left)
{
    uint32_t before = bly_load(left, BLY_SEQ_CST);
    while (before != 0 && !bly_cas(left, &before, before - 1, BLY_SEQ_CST, BLY_SEQ_CST)) {
    }
    return before == 1;
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
    return bly_load(&fault_alloc_always, BLY_SEQ_CST) != 0 || fault_is_due(&fault_alloc_in);
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
    bool fails = bly_load(&fault_thread_always, BLY_SEQ_CST) != 0 || fault_is_due(&fault_thread_in);
    return fails ? BELAY_EAGAIN : __real_bly_thread_create(thread, opts, fn, arg);
}

#endif
