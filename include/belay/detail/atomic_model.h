/*
 * belay/detail/atomic_model.h: the operations of belay/detail/atomic.h as calls to the explorer.
 *
 * Not for users; included where BELAY_MODEL is defined. Values travel as uint64_t, whatever their
 * type, and each call says where in the source it stands.
 */
#ifndef BELAY_DETAIL_ATOMIC_MODEL_H
#define BELAY_DETAIL_ATOMIC_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BLY_WHERE_TEXT(line) #line
#define BLY_WHERE_LINE(line) BLY_WHERE_TEXT(line)
#define BLY_WHERE            __FILE__ ":" BLY_WHERE_LINE(__LINE__)

enum bly_model_rmw {
    BLY_MODEL_EXCHANGE,
    BLY_MODEL_ADD,
    BLY_MODEL_SUB,
    BLY_MODEL_OR,
    BLY_MODEL_AND
};

uint64_t bly_model_load(const void *ptr, unsigned size, int order, const char *where);
void bly_model_store(void *ptr, uint64_t value, unsigned size, int order, const char *where);
uint64_t bly_model_rmw(void *ptr, enum bly_model_rmw op, uint64_t operand, unsigned size, int order,
                       const char *where);
bool bly_model_cas(void *ptr, void *expected, uint64_t desired, unsigned size, int ok_order,
                   int fail_order, const char *where);
void bly_model_fence(int order, const char *where);
void bly_model_plain(const void *ptr, unsigned size, bool is_write, const char *where);
void bly_model_yield(const char *where);

#ifdef __cplusplus
}
#endif

#define bly_model_as(ptr, value) ((__typeof__(*(ptr)))(value))

#define bly_load(ptr, order) bly_model_as(ptr, bly_model_load(ptr, sizeof *(ptr), order, BLY_WHERE))
#define bly_store(ptr, value, order)                                                               \
    bly_model_store(ptr, (uint64_t)bly_model_as(ptr, value), sizeof *(ptr), order, BLY_WHERE)
#define bly_model_update(ptr, op, value, order)                                                    \
    __extension__({                                                                                \
        bly_model_as(ptr,                                                                          \
                     bly_model_rmw(ptr, op, (uint64_t)(value), sizeof *(ptr), order, BLY_WHERE));  \
    })
#define bly_exchange(ptr, value, order)                                                            \
    bly_model_update(ptr, BLY_MODEL_EXCHANGE, bly_model_as(ptr, value), order)
#define bly_fetch_add(ptr, value, order) bly_model_update(ptr, BLY_MODEL_ADD, value, order)
#define bly_fetch_sub(ptr, value, order) bly_model_update(ptr, BLY_MODEL_SUB, value, order)
#define bly_fetch_or(ptr, value, order)  bly_model_update(ptr, BLY_MODEL_OR, value, order)
#define bly_fetch_and(ptr, value, order) bly_model_update(ptr, BLY_MODEL_AND, value, order)
#define bly_cas(ptr, expected, desired, ok_order, fail_order)                                      \
    bly_model_cas(ptr, expected, (uint64_t)bly_model_as(ptr, desired), sizeof *(ptr), ok_order,    \
                  fail_order, BLY_WHERE)
#define bly_fence(order)  bly_model_fence(order, BLY_WHERE)
#define bly_fence_light() bly_fence(BLY_SEQ_CST)

#endif
