/*
 * sync_model.h: the body of the seam under the explorer. See sync.h for what everything means, and
 * src/testkit/explorer for what happens here.
 *
 * Calls that may be chosen to wait carry the source line they stand on, for the table of a failure.
 */
#ifndef BLY_SYNC_SYNC_MODEL_H
#define BLY_SYNC_SYNC_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "belay/detail/atomic.h"
#include "sync/types.h"

#define BLY_WAKE_ALL UINT32_MAX
#define BLY_SPIN_NS  INT64_C(0) /* nothing is won by looking: the explorer decides who runs */

/* Plain accesses, checked for races. */
#define bly_read(ptr) (bly_model_plain(ptr, sizeof *(ptr), false, BLY_WHERE), *(ptr))
#define bly_write(ptr, value)                                                                      \
    (bly_model_plain(ptr, sizeof *(ptr), true, BLY_WHERE), (void)(*(ptr) = (value)))

typedef struct bly_mutex {
    uint64_t past;       /* what its last holder had done and seen: the explorer's state.c */
    uint32_t holder;     /* index of the thread + 1; 0 free */
    int16_t happened[8]; /* what the last holder knew */
    int16_t visible[8];
} bly_mutex;

typedef struct bly_once {
    uint32_t state; /* atomic: 0 not run, 1 running, 2 done */
} bly_once;

typedef struct bly_thread {
    uint32_t index; /* of the explorer's thread */
} bly_thread;

void bly_model_mutex_lock(bly_mutex *mutex, const char *where);
bool bly_model_mutex_trylock(bly_mutex *mutex, const char *where);
void bly_model_mutex_unlock(bly_mutex *mutex, const char *where);
void bly_mutex_destroy(bly_mutex *mutex);
bool bly_mutex_is_mine(const bly_mutex *mutex);
unsigned bly_locks_held(void);
#define bly_mutex_lock(mutex)    bly_model_mutex_lock(mutex, BLY_WHERE)
#define bly_mutex_trylock(mutex) bly_model_mutex_trylock(mutex, BLY_WHERE)
#define bly_mutex_unlock(mutex)  bly_model_mutex_unlock(mutex, BLY_WHERE)

int bly_model_futex_wait(uint32_t *word, uint32_t expected, int64_t until_ns, const char *where);
void bly_model_futex_wake(uint32_t *word, uint32_t count, const char *where);
#define bly_futex_wait(word, expected, until_ns)                                                   \
    bly_model_futex_wait(word, expected, until_ns, BLY_WHERE)
#define bly_futex_wake(word, count) bly_model_futex_wake(word, count, BLY_WHERE)
#define bly_pause()                 bly_model_yield(BLY_WHERE)
#define bly_yield()                 bly_model_yield(BLY_WHERE)

/* Both halves of an asymmetric fence are full fences here: light orders against heavy alone, so no
 * proof that leans on the pair is weaker for it. */
#define bly_fence_heavy() bly_fence(BLY_SEQ_CST)
bool bly_fence_heavy_available(void);

int bly_thread_create(bly_thread *thread, const bly_thread_opts *opts, void (*fn)(void *),
                      void *arg);
void bly_model_thread_join(bly_thread *thread, const char *where);
#define bly_thread_join(thread) bly_model_thread_join(thread, BLY_WHERE)
void bly_thread_detach(bly_thread *thread);
void bly_thread_slack_least(void);
uint64_t bly_thread_id(void);

void *bly_local_get(bly_local slot);
void bly_local_set(bly_local slot, void *value);
void bly_local_at_exit(bly_local slot, void (*fn)(void *));

void bly_once_run(bly_once *once, void (*fn)(void));

int64_t bly_monotonic_ns(void);
int64_t bly_monotonic_coarse_ns(void);
int64_t bly_wall_ns(void);

uint64_t bly_random(uint64_t *state);
uint64_t bly_random_seed(void);

void bly_at_fork(bly_fork_hook *hook);
uint64_t bly_fork_generation(void);
bool bly_forked_since(uint64_t generation);

void bly_blocking_install(const bly_blocking_hook *hook);
void bly_blocking_begin(void);
void bly_blocking_end(void);

#endif
