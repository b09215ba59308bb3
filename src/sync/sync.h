/*
 * sync.h: the only door of the library to threads, locks, atomics, waiting, time, memory and random
 * numbers.
 *
 * Two bodies stand behind it. sync_native.h is pthread, futex and the machine's clock; under
 * -DBELAY_MODEL, sync_model.h makes each operation a point where the explorer decides who runs.
 * Library sources include this header alone and have no other condition on the build.
 *
 * Atomics (belay/detail/atomic.h): bly_load, bly_store, bly_exchange, bly_cas, bly_fetch_add, _sub,
 * _or, _and, bly_fence, on plain 32-bit, 64-bit and pointer fields, each with its memory order.
 */
#ifndef BLY_SYNC_SYNC_H
#define BLY_SYNC_SYNC_H

#include "base/assert.h"
#include "base/memory.h"
#include "belay/base.h"
#include "belay/detail/atomic.h"

#ifndef BELAY_MODEL
#include "sync/sync_native.h"
#else
#include "sync/sync_model.h"
#endif

/*
 * What both bodies offer, beside the atomics. Types: bly_mutex, bly_thread, bly_once.
 *
 * Locks. A bly_mutex that is all zero is unlocked and ready; destroy frees nothing but checks.
 *   void bly_mutex_lock(bly_mutex *), bly_mutex_unlock(bly_mutex *);
 *   void bly_mutex_destroy(bly_mutex *);   bool bly_mutex_trylock(bly_mutex *);
 *   bool bly_mutex_is_mine(const bly_mutex *): true when debug builds know it; true in release.
 *
 * Waiting. until_ns is on the monotonic clock; BELAY_FOREVER never times out.
 *   int bly_futex_wait(uint32_t *word, uint32_t expected, int64_t until_ns): 0 when woken, when the
 *     word differs, or for no reason; BELAY_ETIMEDOUT. Callers loop.
 *   void bly_futex_wake(uint32_t *word, uint32_t count): the word may be freed memory by then.
 *   void bly_pause(void): a hint inside a spin loop.   void bly_yield(void): lets others run.
 *
 * Threads.
 *   int bly_thread_create(bly_thread *, const bly_thread_opts *, void (*fn)(void *), void *arg):
 *     0 or BELAY_EAGAIN. opts { size_t stack_size; const char *name; } may be NULL. All signals are
 *     blocked in the new thread.
 *   void bly_thread_join(bly_thread *).
 *   uint64_t bly_thread_id(void): of the calling thread; never 0, never used again.
 *
 * Per-thread slots, each a pointer that starts as NULL:
 *   void *bly_local_get(bly_local), void bly_local_set(bly_local, void *), for a slot of the enum
 *   below. A slot's function given to bly_local_at_exit(bly_local, void (*)(void *)) is called with
 *   its value, when that is not NULL, as a thread ends (pthread_exit included), lowest slot first.
 *
 * void bly_once_run(bly_once *, void (*fn)(void)).
 *
 * Time. int64_t bly_monotonic_ns(void), bly_monotonic_coarse_ns(void), bly_wall_ns(void).
 *
 * Random. uint64_t bly_random(uint64_t *state): a fast generator (splitmix64); seeded with
 *   uint64_t bly_random_seed(void). In the explorer a choice is a decision of its own.
 *
 * Fork. void bly_at_fork(bly_fork_hook *): hook { void (*before)(void), (*parent)(void),
 *   (*child)(void); next } is linked for ever. bool bly_forked_since(uint64_t generation) and
 *   uint64_t bly_fork_generation(void): objects remember the generation they were made in.
 *
 * Blocking. extern bly_blocking_hook { void (*begin)(void), (*end)(void) }: filled by exec; belay's
 *   waits call bly_blocking_begin() and bly_blocking_end() around the part that sleeps.
 */

#endif
