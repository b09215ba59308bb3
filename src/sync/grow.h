/*
 * grow.h: room in an array that a lock protects, without allocating under the lock.
 */
#ifndef BLY_SYNC_GROW_H
#define BLY_SYNC_GROW_H

#include "base/chunks.h"
#include "sync/sync.h"

/*
 * bly_chunks_grow: with the lock held, gives the array room for `extra` elements beyond those in
 * use. Where that needs memory the lock is dropped and taken again, so the caller looks at its
 * object only afterwards; on return the lock is held, whatever the result.
 * Errors: BELAY_ENOMEM: the elements are as they were.
 */
static inline int bly_chunks_grow(bly_chunks *chunks, uint32_t extra, bly_mutex *lock)
{
    size_t size;
    while (bly_unlikely((size = bly_chunks_want(chunks, extra)) != 0)) {
        bly_mutex_unlock(lock);
        void *block = bly_alloc(size);
        bly_mutex_lock(lock);
        if (block == NULL) {
            return BELAY_ENOMEM;
        }
        if (!bly_chunks_give(chunks, block, size)) {
            bly_mutex_unlock(lock);
            bly_free(block);
            bly_mutex_lock(lock);
        }
    }
    return 0;
}

#endif
