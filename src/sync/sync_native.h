/*
 * sync_native.h: the body of the seam for real machines. See sync.h for what everything means.
 *
 * The mutex is the three-state futex lock of Drepper, "Futexes Are Tricky" (mutex 2): 0 free, 1
 * taken, 2 taken and perhaps somebody sleeps. Taking it is one compare-and-swap and giving it back
 * one exchange; the kernel is entered only under contention.
 */
#ifndef BLY_SYNC_SYNC_NATIVE_H
#define BLY_SYNC_SYNC_NATIVE_H

#include "base/assert.h"
#include "belay/base.h"
#include "belay/detail/atomic.h"
#include "sync/types.h"

#include <pthread.h>

#ifdef BLY_TSAN
#include <sanitizer/tsan_interface.h>
#else
#define __tsan_mutex_pre_lock(mutex, flags)             ((void)0)
#define __tsan_mutex_post_lock(mutex, flags, recursion) ((void)0)
#define __tsan_mutex_pre_unlock(mutex, flags)           ((void)0)
#define __tsan_mutex_post_unlock(mutex, flags)          ((void)0)
#define __tsan_mutex_destroy(mutex, flags)              ((void)0)
#define __tsan_mutex_try_lock                           0u
#define __tsan_mutex_try_lock_failed                    0u
#endif

/* Plain accesses. */
#define bly_read(ptr)         (*(ptr))
#define bly_write(ptr, value) ((void)(*(ptr) = (value)))

#define BLY_WAKE_ALL UINT32_MAX
#define BLY_SPIN_NS  INT64_C(6000) /* how long a thread looks before it sleeps */

/* Slots of the calling thread; ours so that reaching one is a single instruction. */
typedef struct bly_native_thread {
    void *local[BLY_LOCAL_COUNT]; /* owner thread */
    uint64_t id;                  /* owner thread; 0 until asked for */
    unsigned locks_held;          /* owner thread; counted in debug builds */
    bool has_exit;                /* owner thread: its end will be noticed */
} bly_native_thread;

extern _Thread_local bly_native_thread bly_native_self
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

typedef struct bly_mutex {
    uint32_t state; /* atomic: 0 free, 1 taken, 2 taken and perhaps waited for */
    uint32_t owner; /* atomic: low bits of the holder's thread id; kept in debug builds */
} bly_mutex;

typedef struct bly_once {
    pthread_once_t native; /* zero before the first run */
} bly_once;

typedef struct bly_thread {
    pthread_t native;   /* owner: who created it */
    void (*fn)(void *); /* constant after create */
    void *arg;          /* constant after create */
    char name[16];      /* constant after create */
} bly_thread;

/* Waiting. */
int bly_futex_wait(uint32_t *word, uint32_t expected, int64_t until_ns);
void bly_futex_wake(uint32_t *word, uint32_t count);
void bly_yield(void);

static inline void bly_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("isb" ::: "memory");
#endif
}

/* Threads. */
int bly_thread_create(bly_thread *thread, const bly_thread_opts *opts, void (*fn)(void *),
                      void *arg);
void bly_thread_join(bly_thread *thread);
void bly_thread_detach(bly_thread *thread);
void bly_thread_slack_least(void);
uint64_t bly_native_thread_new_id(void);
void bly_native_thread_watch(void);
void bly_local_at_exit(bly_local slot, void (*fn)(void *));

static inline uint64_t bly_thread_id(void)
{
    uint64_t id = bly_native_self.id;
    return bly_likely(id != 0) ? id : bly_native_thread_new_id();
}

static inline void *bly_local_get(bly_local slot)
{
    return bly_native_self.local[slot];
}

static inline void bly_local_set(bly_local slot, void *value)
{
    if (bly_unlikely(!bly_native_self.has_exit)) {
        bly_native_thread_watch();
    }
    bly_native_self.local[slot] = value;
}

static inline unsigned bly_locks_held(void)
{
    return bly_native_self.locks_held;
}

/* Locks. */
void bly_native_mutex_wait(bly_mutex *mutex);
void bly_native_mutex_wake(bly_mutex *mutex);

static inline bool bly_mutex_is_mine(const bly_mutex *mutex)
{
    /* relaxed: the only value that matters is the one this thread wrote itself. */
    return !BELAY_DEBUG || bly_load(&mutex->owner, BLY_RELAXED) == (uint32_t)bly_thread_id();
}

static inline void bly_native_mutex_taken(bly_mutex *mutex)
{
    if (BELAY_DEBUG) {
        /* relaxed: see bly_mutex_is_mine. */
        bly_store(&mutex->owner, (uint32_t)bly_thread_id(), BLY_RELAXED);
        bly_native_self.locks_held++;
    }
}

static inline void bly_mutex_lock(bly_mutex *mutex)
{
    bly_assert_debug(bly_load(&mutex->owner, BLY_RELAXED) != (uint32_t)bly_thread_id());
    __tsan_mutex_pre_lock(mutex, 0);
    uint32_t expected = 0;
    /* acquire, with the release of bly_mutex_unlock: what was written under the lock is seen. */
    if (bly_unlikely(!bly_cas(&mutex->state, &expected, 1u, BLY_ACQUIRE, BLY_RELAXED))) {
        bly_native_mutex_wait(mutex);
    }
    __tsan_mutex_post_lock(mutex, 0, 0);
    bly_native_mutex_taken(mutex);
}

static inline bool bly_mutex_trylock(bly_mutex *mutex)
{
    __tsan_mutex_pre_lock(mutex, __tsan_mutex_try_lock);
    uint32_t expected = 0;
    /* acquire, with the release of bly_mutex_unlock. */
    if (!bly_cas(&mutex->state, &expected, 1u, BLY_ACQUIRE, BLY_RELAXED)) {
        __tsan_mutex_post_lock(mutex, __tsan_mutex_try_lock | __tsan_mutex_try_lock_failed, 0);
        return false;
    }
    __tsan_mutex_post_lock(mutex, __tsan_mutex_try_lock, 0);
    bly_native_mutex_taken(mutex);
    return true;
}

static inline void bly_mutex_unlock(bly_mutex *mutex)
{
    bly_assert_debug(bly_mutex_is_mine(mutex));
    if (BELAY_DEBUG) {
        bly_store(&mutex->owner, 0u, BLY_RELAXED);
        bly_native_self.locks_held--;
    }
    __tsan_mutex_pre_unlock(mutex, 0);
    /* release, with the acquire of whoever takes the lock next. */
    if (bly_unlikely(bly_exchange(&mutex->state, 0u, BLY_RELEASE) == 2)) {
        bly_native_mutex_wake(mutex);
    }
    __tsan_mutex_post_unlock(mutex, 0);
}

static inline void bly_mutex_destroy(bly_mutex *mutex)
{
    /* relaxed: the caller knows that nobody uses the lock any more. */
    bly_assert(bly_load(&mutex->state, BLY_RELAXED) == 0);
    __tsan_mutex_destroy(mutex, 0);
}

static inline void bly_once_run(bly_once *once, void (*fn)(void))
{
    (void)pthread_once(&once->native, fn);
}

/* Fences. */
void bly_fence_heavy(void);
bool bly_fence_heavy_available(void);

/* Time. */
int64_t bly_monotonic_ns(void);
int64_t bly_monotonic_coarse_ns(void);
int64_t bly_wall_ns(void);

/* Random: splitmix64 of Steele, Lea and Flood (2014), with the constants of Vigna's version. */
uint64_t bly_random_seed(void);

static inline uint64_t bly_random(uint64_t *state)
{
    uint64_t value = (*state += UINT64_C(0x9e3779b97f4a7c15));
    value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
    return value ^ (value >> 31);
}

/* Fork. */
extern uint64_t bly_native_generation; /* atomic: one more in each child, before it has threads */

void bly_at_fork(bly_fork_hook *hook);
uint64_t bly_fork_generation(void);

static inline bool bly_forked_since(uint64_t generation)
{
    /* relaxed: the child has one thread when the number changes, and creates the others itself. */
    return bly_unlikely(bly_load(&bly_native_generation, BLY_RELAXED) != generation);
}

/* Blocking. */
void bly_blocking_install(const bly_blocking_hook *hook);
void bly_blocking_begin(void);
void bly_blocking_end(void);

#endif
