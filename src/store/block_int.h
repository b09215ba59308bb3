/*
 * block_int.h: a block of memory in which an array and the bytes that its elements name stand
 * together.
 *
 * While the block grows it moves, so bytes are offsets until bly_block_done: `data` of a bly_bytes
 * is then the offset plus one, and bly_block_fix turns it into an address.
 */
#ifndef BLY_STORE_BLOCK_INT_H
#define BLY_STORE_BLOCK_INT_H

#include "store/sql_int.h"

typedef struct bly_block {
    char *data;
    size_t used, room;
    bool failed; /* there was no memory */
} bly_block;

/* bly_block_take: zeroed room for `size` bytes, aligned; its offset. */
size_t bly_block_take(bly_block *block, size_t size);

/* bly_block_put: the bytes, copied; `data` is an offset until bly_block_fix. */
bly_bytes bly_block_put(bly_block *block, bly_bytes bytes);

/* bly_block_at: what stands at an offset, until the block grows. */
static inline void *bly_block_at(const bly_block *block, size_t offset)
{
    return block->data + offset;
}

/* bly_block_fix: the bytes at their place in the block, which does not grow any more. */
void bly_block_fix(const bly_block *block, bly_bytes *bytes);

#endif
