/*
 * sync.h: the only door of the library to threads, locks, atomics, waiting, time, memory and random
 * numbers.
 *
 * Two bodies stand behind it. sync_native.h is pthread, futex and the machine's clock; under
 * -DBELAY_MODEL, sync_model.h makes each operation a point where the explorer decides who runs.
 * Library sources include this header alone and have no other condition on the build.
 *
 * Atomics (belay/detail/atomic.h): bly_load, bly_store, bly_exchange, bly_cas,
 * bly_fetch_add/sub/or/and and bly_fence, on plain 32-bit, 64-bit and pointer fields, each with its
 * memory order.
 */
#ifndef BLY_SYNC_SYNC_H
#define BLY_SYNC_SYNC_H

#include "base/assert.h"
#include "base/memory.h"
#include "belay/base.h"
#include "belay/detail/atomic.h"
#include "sync/types.h"

#ifndef BELAY_MODEL
#include "sync/sync_native.h"
#else
#include "sync/sync_model.h"
#endif

/*
 * What both bodies offer, beside the atomics. Types: bly_mutex, bly_thread, bly_once.
 *
 * Fences. bly_fence(order) is C11's. light and heavy are the two halves of an asymmetric pair:
 * light costs nothing and orders only against a heavy one, which makes every running thread of the
 * process pass a full fence (microseconds). heavy is not called where it is not available.
 *   void bly_fence_light(void);
 *   void bly_fence_heavy(void);
 *   bool bly_fence_heavy_available(void);
 *
 * Plain shared data. Plain accesses, which the explorer checks for races. Marking is optional.
 *   value bly_read(ptr);
 *   void bly_write(ptr, value);
 *
 * Locks. A bly_mutex that is all zero is unlocked and ready; destroy frees nothing but checks.
 * is_mine is true in release builds. locks_held counts those of the calling thread, and is 0 in
 * release builds; debug builds assert that it is 0 in what may not be done under a lock: to
 * allocate, to read the clock, to wait.
 *   void bly_mutex_lock(bly_mutex *);
 *   bool bly_mutex_trylock(bly_mutex *);
 *   void bly_mutex_unlock(bly_mutex *);
 *   void bly_mutex_destroy(bly_mutex *);
 *   bool bly_mutex_is_mine(const bly_mutex *);
 *   unsigned bly_locks_held(void);
 *
 * Waiting. until_ns is on the monotonic clock; BELAY_FOREVER never times out. futex_wait returns 0
 * when woken, when the word differs, or for no reason, else BELAY_ETIMEDOUT: callers loop. The word
 * of a wake may be freed memory by then; BLY_WAKE_ALL as count wakes everybody.
 *   int bly_futex_wait(uint32_t *word, uint32_t expected, int64_t until_ns);
 *   void bly_futex_wake(uint32_t *word, uint32_t count);
 *   void bly_pause(void);   a hint inside a spin loop
 *   void bly_yield(void);   lets others run
 *
 * Threads. create returns 0 or BELAY_EAGAIN; opts may be NULL. The bly_thread stays where it is
 * until the join, or, when it is detached, until fn has begun. All signals are blocked in the new
 * thread [G-BASE-5]. An id is never 0 and never used again. slack_least makes timed waits of
 * the calling thread end as exactly as the system can.
 *   int bly_thread_create(bly_thread *, const bly_thread_opts *, void (*fn)(void *), void *arg);
 *   void bly_thread_join(bly_thread *);
 *   void bly_thread_detach(bly_thread *);
 *   void bly_thread_slack_least(void);
 *   uint64_t bly_thread_id(void);
 *
 * Per-thread slots, each a pointer that starts as NULL. An exit function is called with the slot's
 * value, when that is not NULL, as a thread ends (pthread_exit included), lowest slot first, and
 * the slot is NULL by then. It is registered before any thread sets the slot, always the same for
 * one slot, and not called for the thread that ends the process.
 *   void *bly_local_get(bly_local);
 *   void bly_local_set(bly_local, void *);
 *   void bly_local_at_exit(bly_local, void (*fn)(void *));
 *
 * Once. A bly_once that is all zero has not run.
 *   void bly_once_run(bly_once *, void (*fn)(void));
 *
 * Time, in nanoseconds. coarse is a few milliseconds old at most and never ahead of monotonic.
 *   int64_t bly_monotonic_ns(void);
 *   int64_t bly_monotonic_coarse_ns(void);
 *   int64_t bly_wall_ns(void);
 *
 * Random. A fast generator (splitmix64), not for secrets. In the explorer each number is a
 * decision.
 *   uint64_t bly_random(uint64_t *state);
 *   uint64_t bly_random_seed(void);
 *
 * Fork. A hook is linked for ever. Objects remember the generation that they were made in.
 *   void bly_at_fork(bly_fork_hook *);
 *   uint64_t bly_fork_generation(void);
 *   bool bly_forked_since(uint64_t generation);
 *
 * Blocking. exec installs its hook before its first worker and never takes it back; belay's waits
 * call begin and end around the part that sleeps, with no lock held.
 *   void bly_blocking_install(const bly_blocking_hook *);
 *   void bly_blocking_begin(void);
 *   void bly_blocking_end(void);
 */

#endif
