/*
 * memory.h: allocation and the abort, as base and all above it see them.
 *
 * base makes no system calls: these functions are declared here and defined by the body of the seam
 * (src/sync), so a build for the explorer supplies its own.
 */
#ifndef BLY_BASE_MEMORY_H
#define BLY_BASE_MEMORY_H

#include <stddef.h>

/* bly_alloc: zeroed memory aligned for any type; NULL when there is none. Gives it. */
void *bly_alloc(size_t size);

/* bly_alloc_aligned: the same on a multiple of `align`, a power of two; bly_free frees it too. */
void *bly_alloc_aligned(size_t align, size_t size);

/*
 * bly_realloc: the block grown or shrunk, its old bytes kept and the new ones undefined; NULL
 * leaves the old block as it was.
 */
void *bly_realloc(void *block, size_t size);

/* bly_free: takes back a block; NULL is allowed. */
void bly_free(void *block);

/*
 * bly_memory_keep: says that the block lives as long as the process and is never given back, so
 * that the explorer does not take it for a leak. Does nothing elsewhere.
 */
void bly_memory_keep(void *block);

/* bly_abort: writes one line that names the broken invariant to stderr and aborts [G-BASE-4]. */
_Noreturn void bly_abort(const char *invariant, const char *file, int line);

#endif
