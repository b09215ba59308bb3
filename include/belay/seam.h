/*
 * belay/seam.h: atomic operations that can be explored.
 *
 * Code written with these runs as it stands in a program, where each is the compiler's own
 * operation, and under the explorer of belay/model.h when BELAY_MODEL is defined, where each is a
 * point at which another thread may run, and a load may read an older store where C11 allows it.
 * Fields are plain integers of 32 or 64 bits or pointers; every access of one goes through here.
 *
 *   value belay_load(ptr, order)               void belay_store(ptr, value, order)
 *   value belay_exchange(ptr, value, order)
 *   value belay_fetch_add(ptr, value, order), and _sub, _or, _and
 *   bool belay_cas(ptr, &expected, desired, ok_order, fail_order): strong; false sets expected
 *   void belay_fence(order)                    void belay_spin(void): inside a loop that waits
 *   value belay_read(ptr), void belay_write(ptr, value): plain data; the explorer tells of races
 *
 * The value of a fetch is what was there before. Orders are BELAY_RELAXED to BELAY_SEQ_CST.
 * Errors: none. Context: any thread, never blocks.
 */
#ifndef BELAY_SEAM_H
#define BELAY_SEAM_H

#include "belay/detail/atomic.h"

#define BELAY_RELAXED BLY_RELAXED
#define BELAY_ACQUIRE BLY_ACQUIRE
#define BELAY_RELEASE BLY_RELEASE
#define BELAY_ACQ_REL BLY_ACQ_REL
#define BELAY_SEQ_CST BLY_SEQ_CST

#define belay_load(ptr, order)             bly_load(ptr, order)
#define belay_store(ptr, value, order)     bly_store(ptr, value, order)
#define belay_exchange(ptr, value, order)  bly_exchange(ptr, value, order)
#define belay_fetch_add(ptr, value, order) bly_fetch_add(ptr, value, order)
#define belay_fetch_sub(ptr, value, order) bly_fetch_sub(ptr, value, order)
#define belay_fetch_or(ptr, value, order)  bly_fetch_or(ptr, value, order)
#define belay_fetch_and(ptr, value, order) bly_fetch_and(ptr, value, order)
#define belay_cas(ptr, expected, desired, ok_order, fail_order)                                    \
    bly_cas(ptr, expected, desired, ok_order, fail_order)
#define belay_fence(order) bly_fence(order)

#ifdef BELAY_MODEL
#define belay_spin()    bly_model_yield(BLY_WHERE)
#define belay_read(ptr) (bly_model_plain(ptr, sizeof *(ptr), false, BLY_WHERE), *(ptr))
#define belay_write(ptr, value)                                                                    \
    (bly_model_plain(ptr, sizeof *(ptr), true, BLY_WHERE), (void)(*(ptr) = (value)))
#else
#define belay_spin()            ((void)0)
#define belay_read(ptr)         (*(ptr))
#define belay_write(ptr, value) ((void)(*(ptr) = (value)))
#endif

#endif
