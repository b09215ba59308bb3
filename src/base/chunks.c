/*
 * chunks.c: see chunks.h.
 */
#include "base/chunks.h"

#include "belay/base.h"

void bly_chunks_init(bly_chunks *chunks, size_t element_size)
{
    bly_assert(element_size != 0 && element_size <= UINT32_MAX >> BLY_CHUNKS_MAX);
    *chunks = (bly_chunks){.element_size = (uint32_t)element_size};
}

void bly_chunks_destroy(bly_chunks *chunks)
{
    while (chunks->chunk_count > 0) {
        bly_free(chunks->chunk[--chunks->chunk_count]);
    }
    chunks->used = 0;
}

static size_t next_size(const bly_chunks *chunks)
{
    return ((size_t)BLY_CHUNKS_FIRST << chunks->chunk_count) * chunks->element_size;
}

size_t bly_chunks_want(const bly_chunks *chunks, uint32_t extra)
{
    if ((uint64_t)chunks->used + extra <= bly_chunks_capacity(chunks)) {
        return 0;
    }
    return chunks->chunk_count < BLY_CHUNKS_MAX ? next_size(chunks) : SIZE_MAX;
}

bool bly_chunks_give(bly_chunks *chunks, void *block, size_t size)
{
    bly_assert(block != NULL);
    if (chunks->chunk_count == BLY_CHUNKS_MAX || size != next_size(chunks)) {
        return false;
    }
    chunks->chunk[chunks->chunk_count++] = block;
    return true;
}

void *bly_chunks_spare(bly_chunks *chunks)
{
    if (chunks->chunk_count < 2) {
        return NULL;
    }
    uint32_t last = chunks->chunk_count - 1;
    uint32_t without_last = (BLY_CHUNKS_FIRST << last) - BLY_CHUNKS_FIRST;
    if (chunks->used > without_last / 2) {
        return NULL;
    }
    void *block = chunks->chunk[last];
    chunks->chunk[last] = NULL;
    chunks->chunk_count = last;
    return block;
}

int bly_chunks_reserve(bly_chunks *chunks, uint32_t extra)
{
    size_t size;
    while ((size = bly_chunks_want(chunks, extra)) != 0) {
        void *block = bly_alloc(size);
        if (block == NULL) {
            return BELAY_ENOMEM;
        }
        bool is_taken = bly_chunks_give(chunks, block, size);
        bly_assert(is_taken);
    }
    return 0;
}
