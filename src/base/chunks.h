/*
 * chunks.h: a growable array of which no element ever moves.
 *
 * The array is a sequence of chunks, each twice as long as the one before, so growing copies
 * nothing: it costs one allocation and one store, however long the array is. Neither growing nor
 * shrinking allocates or frees by itself, since the caller holds a lock as a rule: `want` says what
 * to allocate, `give` takes it, `spare` hands back what is no longer needed.
 *
 *     size_t size;
 *     while ((size = bly_chunks_want(&chunks, 1)) != 0) {
 *         bly_mutex_unlock(&lock);
 *         void *block = bly_alloc(size);
 *         bly_mutex_lock(&lock);
 *         ...
 *     }
 *
 * is what bly_chunks_grow of sync/grow.h does. An element is found with one count of leading zeros
 * and two loads. The elements of an aligned group of 4, 8, 16 or 32 are neighbours in memory.
 */
#ifndef BLY_BASE_CHUNKS_H
#define BLY_BASE_CHUNKS_H

#include "base/assert.h"

#include <stdbool.h>
#include <stdint.h>

#define BLY_CHUNKS_FIRST_LOG2 5u
#define BLY_CHUNKS_FIRST      (1u << BLY_CHUNKS_FIRST_LOG2) /* elements of the first chunk */
#define BLY_CHUNKS_MAX        26u                           /* chunks: 2^31 - 32 elements */

/* All fields are protected by what protects the array. */
typedef struct bly_chunks {
    void *chunk[BLY_CHUNKS_MAX]; /* chunk k has BLY_CHUNKS_FIRST << k elements */
    uint32_t chunk_count;        /* chunks that exist */
    uint32_t element_size;       /* bytes; constant after init */
    uint32_t used;               /* elements in use, counted by the owner of the array */
} bly_chunks;

/* bly_chunks_init: an array without elements or memory. */
void bly_chunks_init(bly_chunks *chunks, size_t element_size);

/* bly_chunks_destroy: frees the memory; the elements are the caller's affair. */
void bly_chunks_destroy(bly_chunks *chunks);

/*
 * bly_chunks_want: 0 when `extra` elements beyond `used` have room; else the size in bytes of the
 * zeroed block to give next, SIZE_MAX (which no allocation satisfies) at the array's bound.
 */
size_t bly_chunks_want(const bly_chunks *chunks, uint32_t extra);

/*
 * bly_chunks_give: takes a zeroed block of the size that `want` said. False when the array has
 * grown meanwhile: the block is still the caller's then.
 */
bool bly_chunks_give(bly_chunks *chunks, void *block, size_t size);

/*
 * bly_chunks_spare: a block that the array no longer needs, for the caller to free, or NULL. The
 * array keeps room for at least twice `used`, so an insertion that alternates with a removal does
 * not allocate each time. Called after each removal it keeps the capacity at four times `used` and
 * the first chunk at most.
 */
void *bly_chunks_spare(bly_chunks *chunks);

/*
 * bly_chunks_reserve: allocates until `extra` elements beyond `used` have room; for arrays that no
 * lock protects. Errors: BELAY_ENOMEM: the elements are as they were.
 */
int bly_chunks_reserve(bly_chunks *chunks, uint32_t extra);

/* bly_chunks_capacity: elements that have room. */
static inline uint32_t bly_chunks_capacity(const bly_chunks *chunks)
{
    return (BLY_CHUNKS_FIRST << chunks->chunk_count) - BLY_CHUNKS_FIRST;
}

/* bly_chunks_at: the element at `index`, which has room. */
static inline void *bly_chunks_at(const bly_chunks *chunks, uint32_t index)
{
    bly_assert_debug(index < bly_chunks_capacity(chunks));
    uint32_t place = index + BLY_CHUNKS_FIRST;
    uint32_t log2 = 31u - (uint32_t)__builtin_clz(place);
    uint32_t offset = place - (1u << log2);
    return (char *)chunks->chunk[log2 - BLY_CHUNKS_FIRST_LOG2] +
           (size_t)offset * chunks->element_size;
}

#endif
