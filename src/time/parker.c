/*
 * parker.c: one word a thread to sleep on.
 *
 * The word says EMPTY, NOTIFIED or PARKED. A thread that wants to sleep moves EMPTY to PARKED and
 * sleeps while it stays so; unpark stores NOTIFIED, and wakes unless the word was EMPTY: then its
 * thread is not asleep and will find NOTIFIED instead. An unpark that finds NOTIFIED wakes all the
 * same: the earlier one may be a late one of another wait, which woke on another clock.
 *
 * Parkers are never freed, so a waker may hold the address of one whose thread has ended: they go
 * to a list and are given to threads that come later. There are as many as there were threads
 * asleep in belay at one time.
 */
#include "time/parker.h"

#include "deliver/deliver.h"
#include "sync/sync.h"

#define CACHE_LINE 64

enum { EMPTY = 0, NOTIFIED = 1, PARKED = 2 };

struct bly_parker {
    uint32_t word;    /* atomic: its thread sets EMPTY and PARKED, wakers set NOTIFIED */
    bly_parker *next; /* unused_lock, while its thread has ended */
};

static bly_mutex unused_lock;
static bly_parker *unused; /* unused_lock: parkers of threads that have ended */

static void give_back(void *value)
{
    bly_parker *parker = value;
    bly_mutex_lock(&unused_lock);
    parker->next = unused;
    unused = parker;
    bly_mutex_unlock(&unused_lock);
}

static void lock_before_fork(void)
{
    bly_mutex_lock(&unused_lock);
}

static void unlock_after_fork(void)
{
    bly_mutex_unlock(&unused_lock);
}

static void prepare(void)
{
    static bly_fork_hook hook = {
        .before = lock_before_fork, .parent = unlock_after_fork, .child = unlock_after_fork};
    bly_at_fork(&hook);
    bly_local_at_exit(BLY_LOCAL_PARKER, give_back);
}

static bly_parker *take_unused(void)
{
    bly_mutex_lock(&unused_lock);
    bly_parker *parker = unused;
    if (parker != NULL) {
        unused = parker->next;
    }
    bly_mutex_unlock(&unused_lock);
    return parker;
}

bly_parker *bly_parker_self(void)
{
    static bly_once prepare_once;
    bly_parker *parker = bly_local_get(BLY_LOCAL_PARKER);
    if (parker != NULL) {
        return parker;
    }
    bly_once_run(&prepare_once, prepare);
    parker = take_unused();
    if (parker == NULL) {
        parker = bly_alloc_aligned(CACHE_LINE, sizeof *parker);
        if (parker != NULL) {
            bly_memory_keep(parker);
        }
    }
    if (parker != NULL) {
        bly_local_set(BLY_LOCAL_PARKER, parker);
    }
    return parker;
}

void bly_parker_reset(bly_parker *parker)
{
    if (bly_deliver_active()) {
        return; /* a wait further out on this thread may have been told already */
    }
    /* relaxed: forgets what came before; what comes after is exchanged with acquire in bly_park. */
    bly_store(&parker->word, EMPTY, BLY_RELAXED);
}

int bly_park(bly_parker *parker, belay_clock *clock, int64_t until_ns)
{
    bly_assert_debug(parker == bly_local_get(BLY_LOCAL_PARKER));
    bly_assert_debug(!bly_deliver_active());
    uint32_t found = EMPTY;
    int result = 0;
    /* relaxed: the exchange below acquires, whichever way this goes. */
    if (bly_cas(&parker->word, &found, PARKED, BLY_RELAXED, BLY_RELAXED)) {
        bly_blocking_begin();
        result = clock->wait(clock, &parker->word, PARKED, until_ns);
        bly_blocking_end();
    }
    /* acquire, with the release of bly_unpark: what the waker did before is seen. */
    return bly_exchange(&parker->word, EMPTY, BLY_ACQUIRE) == NOTIFIED ? 0 : result;
}

void bly_unpark(bly_parker *parker, belay_clock *clock)
{
    /* release, with the acquires of bly_park. */
    if (bly_exchange(&parker->word, NOTIFIED, BLY_RELEASE) != EMPTY) {
        clock->wake(clock, &parker->word, 1);
    }
}
