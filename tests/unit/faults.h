/*
 * faults.h: allocations that fail. A program that includes it is linked with
 * -Wl,--wrap=bly_alloc -Wl,--wrap=bly_alloc_aligned, and until faults_fail_from is called every
 * allocation works.
 */
#ifndef BELAY_TESTS_FAULTS_H
#define BELAY_TESTS_FAULTS_H

#include <limits.h>
#include <stddef.h>

void *__real_bly_alloc(size_t size);
void *__real_bly_alloc_aligned(size_t align, size_t size);
void *__wrap_bly_alloc(size_t size);
void *__wrap_bly_alloc_aligned(size_t align, size_t size);

/* How many allocations still work; not atomic: for tests with one thread. */
static int faults_left = INT_MAX;

/* The nth allocation from now on, 1 being the next, and all after it fail. */
static inline void faults_fail_from(int nth)
{
    faults_left = nth - 1;
}

static inline void faults_stop(void)
{
    faults_left = INT_MAX;
}

static inline int faults_take(void)
{
    if (faults_left == 0) {
        return 0;
    }
    faults_left -= faults_left != INT_MAX;
    return 1;
}

void *__wrap_bly_alloc(size_t size)
{
    return faults_take() ? __real_bly_alloc(size) : NULL;
}

void *__wrap_bly_alloc_aligned(size_t align, size_t size)
{
    return faults_take() ? __real_bly_alloc_aligned(align, size) : NULL;
}

#endif
