/*
 * fast.h: permits that are taken and given back without the lock.
 *
 * The available permits of a semaphore are in one of two places. While its word is open they are in
 * the word, and whoever takes or gives some does it by one compare-and-swap. While it is shut they
 * are in belay_sem.available, under the lock. Whoever takes the lock shuts the word and has the
 * permits; whoever gives the lock back opens it again, unless something must be seen to at each
 * release or refused at each acquire: somebody waits, there is a debt, the semaphore is closed.
 * So a step on the word is as good as the lock taken for that one step: it happens wholly before
 * the word is shut, or not at all.
 *
 * Orders. take acquires and give releases: what was done under a lease is seen by who gets its
 * permits next. All writes of an open word are read-modify-writes, so a take or a shut
 * synchronises with every give before it, not with the last alone. shut acquires for those served
 * under the lock, and open releases what came in by the lock. No order between this word and
 * another is needed: nobody writes one and then reads the other, since "somebody waits" is the word
 * itself.
 */
#ifndef BLY_SEM_FAST_H
#define BLY_SEM_FAST_H

#include "sync/sync.h"

#define BLY_FAST_SHUT UINT32_C(0)
#define BLY_FAST_OPEN UINT32_C(0x80000000) /* and the available permits in the bits below */

/* bly_fast_take: takes permits, at least 1; false: there are too few, or the word is shut. */
static inline bool bly_fast_take(uint32_t *word, uint32_t permits)
{
    uint32_t found = bly_load(word, BLY_RELAXED); /* relaxed: the compare-and-swap decides */
    /* Each turn but the last is one in which another thread took or gave. */
    while (found >= (uint64_t)BLY_FAST_OPEN + permits) {
        /* acquire, with the releases of give and open. */
        if (bly_cas(word, &found, found - permits, BLY_ACQUIRE, BLY_RELAXED)) {
            return true;
        }
    }
    return false;
}

/*
 * bly_fast_give: gives permits back; false: the word is shut, and the caller still has them. After
 * true the word may be gone.
 */
static inline bool bly_fast_give(uint32_t *word, uint32_t permits)
{
    uint32_t found = bly_load(word, BLY_RELAXED); /* relaxed: the compare-and-swap decides */
    while (found != BLY_FAST_SHUT) {              /* bounded as in take */
        bly_assert_debug(found - BLY_FAST_OPEN <= INT32_MAX - permits);
        /* release, with the acquires of take and shut. */
        if (bly_cas(word, &found, found + permits, BLY_RELEASE, BLY_RELAXED)) {
            return true;
        }
    }
    return false;
}

/* bly_fast_is_open: constant while the lock is held, by whose holders alone it is changed. */
static inline bool bly_fast_is_open(const uint32_t *word)
{
    return bly_load(word, BLY_RELAXED) != BLY_FAST_SHUT; /* relaxed: the lock orders it */
}

/* bly_fast_shut: shuts the open word and returns the permits in it. Context: the lock is held. */
static inline uint32_t bly_fast_shut(uint32_t *word)
{
    uint32_t found = bly_exchange(word, BLY_FAST_SHUT, BLY_ACQUIRE); /* acquire: see above */
    bly_assert(found >= BLY_FAST_OPEN);
    return found - BLY_FAST_OPEN;
}

/* bly_fast_open: opens the shut word with these permits. Context: the lock is held. */
static inline void bly_fast_open(uint32_t *word, uint32_t permits)
{
    bly_assert_debug(!bly_fast_is_open(word) && permits <= INT32_MAX);
    bly_store(word, BLY_FAST_OPEN | permits, BLY_RELEASE); /* release: see above */
}

#endif
