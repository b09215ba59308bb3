/*
 * belay/detail/atomic.h: atomic operations on plain fields, for belay's own headers.
 *
 * Not for users. Fields are plain integers and pointers, since _Atomic is not C++17. The operations
 * are the compiler's __atomic builtins, or, when BELAY_MODEL is defined, calls to the explorer,
 * for which each is a point where another thread may run.
 */
#ifndef BELAY_DETAIL_ATOMIC_H
#define BELAY_DETAIL_ATOMIC_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__SANITIZE_THREAD__)
#define BLY_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define BLY_TSAN 1
#endif
#endif

#define BLY_RELAXED __ATOMIC_RELAXED
#define BLY_ACQUIRE __ATOMIC_ACQUIRE
#define BLY_RELEASE __ATOMIC_RELEASE
#define BLY_ACQ_REL __ATOMIC_ACQ_REL
#define BLY_SEQ_CST __ATOMIC_SEQ_CST

#ifndef BELAY_MODEL

#define bly_load(ptr, order)             __atomic_load_n(ptr, order)
#define bly_store(ptr, value, order)     __atomic_store_n(ptr, value, order)
#define bly_exchange(ptr, value, order)  __atomic_exchange_n(ptr, value, order)
#define bly_fetch_add(ptr, value, order) __atomic_fetch_add(ptr, value, order)
#define bly_fetch_sub(ptr, value, order) __atomic_fetch_sub(ptr, value, order)
#define bly_fetch_or(ptr, value, order)  __atomic_fetch_or(ptr, value, order)
#define bly_fetch_and(ptr, value, order) __atomic_fetch_and(ptr, value, order)

/* Strong: true and desired stored, or false and *expected set to what was there. */
#define bly_cas(ptr, expected, desired, ok_order, fail_order)                                      \
    __atomic_compare_exchange_n(ptr, expected, desired, false, ok_order, fail_order)

/*
 * bly_fence: a full C11 fence. bly_fence_light: the cheap side of an asymmetric pair; it only keeps
 * the compiler from reordering, and its partner is bly_fence_heavy of src/sync, which makes every
 * thread pass a real fence.
 *
 * ThreadSanitizer does not model fences. In its builds they become read-modify-writes of one word,
 * which orders every fence after the fences before it: no false alarm, and a race that only a
 * wrongly placed fence would show is left to the explorer.
 */
#ifdef BLY_TSAN

#ifdef __cplusplus
extern "C" {
#endif
__attribute__((weak)) uint32_t bly_tsan_fence_word;
#ifdef __cplusplus
}
#endif

#define bly_fence(order)  ((void)__atomic_fetch_add(&bly_tsan_fence_word, 0u, __ATOMIC_SEQ_CST))
#define bly_fence_light() bly_fence(BLY_SEQ_CST)

#else

#define bly_fence(order)  __atomic_thread_fence(order)
#define bly_fence_light() __atomic_signal_fence(BLY_SEQ_CST)

#endif

#else

#include "belay/detail/atomic_model.h"

#endif

#endif
