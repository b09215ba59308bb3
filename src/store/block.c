#include "store/block_int.h"

#include "base/memory.h"

#include <string.h>

#define FIRST_ROOM 4096u

size_t bly_block_take(bly_block *block, size_t size)
{
    size_t offset = (block->used + 15) & ~(size_t)15;
    if (block->failed) {
        return 0;
    }
    if (offset + size > block->room) {
        size_t room = block->room == 0 ? FIRST_ROOM : block->room;
        while (room < offset + size) {
            room *= 2;
        }
        char *grown = bly_realloc(block->data, room);
        if (grown == NULL) {
            block->failed = true;
            return 0;
        }
        block->data = grown;
        block->room = room;
    }
    memset(block->data + block->used, 0, offset + size - block->used);
    block->used = offset + size;
    return offset;
}

bly_bytes bly_block_put(bly_block *block, bly_bytes bytes)
{
    if (bytes.len == 0) {
        return (bly_bytes){NULL, 0};
    }
    size_t offset = bly_block_take(block, bytes.len);
    if (block->failed) {
        return (bly_bytes){NULL, 0};
    }
    memcpy(block->data + offset, bytes.data, bytes.len);
    return (bly_bytes){(const void *)(uintptr_t)(offset + 1), bytes.len};
}

void bly_block_fix(const bly_block *block, bly_bytes *bytes)
{
    if (bytes->data != NULL) {
        bytes->data = block->data + ((uintptr_t)bytes->data - 1);
    }
}
