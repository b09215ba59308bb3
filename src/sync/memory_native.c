/*
 * memory_native.c: base/memory.h on the C library's allocator, and the abort.
 */
#include "sync/sync.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *bly_alloc(size_t size)
{
    bly_assert_debug(bly_locks_held() == 0);
    return calloc(1, size == 0 ? 1 : size);
}

void *bly_alloc_aligned(size_t align, size_t size)
{
    bly_assert_debug(bly_locks_held() == 0);
    bly_assert(align != 0 && (align & (align - 1)) == 0);
    if (size > SIZE_MAX - align) {
        return NULL;
    }
    size_t whole = size == 0 ? align : (size + align - 1) & ~(align - 1);
    void *block = aligned_alloc(align, whole);
    return block != NULL ? memset(block, 0, whole) : NULL;
}

void *bly_realloc(void *block, size_t size)
{
    bly_assert_debug(bly_locks_held() == 0);
    bly_assert(size != 0);
    return realloc(block, size);
}

void bly_memory_keep(void *block)
{
    (void)block;
}

void bly_free(void *block)
{
    free(block);
}

void bly_abort(const char *invariant, const char *file, int line)
{
    char text[512];
    int len =
        snprintf(text, sizeof text, "belay: broken invariant: %s (%s:%d)\n", invariant, file, line);
    if (len > 0) {
        size_t whole = (size_t)len < sizeof text ? (size_t)len : sizeof text - 1;
        ssize_t written = write(STDERR_FILENO, text, whole);
        (void)written;
    }
    abort();
}
