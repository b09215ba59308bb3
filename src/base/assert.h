/*
 * assert.h: assertions at three levels.
 *
 * bly_assert stays in every build: it costs a predictable branch. bly_assert_debug is for checks on
 * hot paths and bly_assert_deep for those that walk a whole structure; both exist where BELAY_DEBUG
 * is 1, and are compiled but never evaluated elsewhere.
 */
#ifndef BLY_BASE_ASSERT_H
#define BLY_BASE_ASSERT_H

#include "base/memory.h"

#ifndef BELAY_DEBUG
#define BELAY_DEBUG 0
#endif

#define bly_likely(condition)   __builtin_expect(!!(condition), 1)
#define bly_unlikely(condition) __builtin_expect(!!(condition), 0)

#define bly_assert(condition)                                                                      \
    (bly_likely(condition) ? (void)0 : bly_abort(#condition, __FILE__, __LINE__))
#define bly_assert_debug(condition) (BELAY_DEBUG ? bly_assert(condition) : (void)0)
#define bly_assert_deep(condition)  (BELAY_DEBUG ? bly_assert(condition) : (void)0)

#define bly_container(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))
#define bly_count(array)                 (sizeof(array) / sizeof((array)[0]))

#endif
