/*
 * sem_unit.h: what the tests of the semaphore share.
 *
 * A test begins with unit_open(capacity) or unit_open_with(options), which make a manual clock and
 * a semaphore on it, and ends with unit_close(), which expects the semaphore to be idle. A waiter
 * is a lease with what its callback was told; the callbacks are numbered in the order in which they
 * come.
 */
#ifndef BELAY_TESTS_SEM_UNIT_H
#define BELAY_TESTS_SEM_UNIT_H

#include "unit.h"

#include "belay/sem.h"
#include "belay/test.h"

#include <pthread.h>
#include <string.h>

#define UNIT_BEGIN_NS 1000  /* what the clock reads at first */
#define UNIT_NO_CALL  12345 /* the result of a waiter whose callback has not come */

typedef struct waiter {
    belay_lease lease;
    int result;
    int calls;
    int order;                         /* of its last callback among all */
    void (*then)(struct waiter *self); /* what its callback does besides; NULL: nothing */
} waiter;

static belay_clock *unit_clock;
static belay_sem *unit_sem;
static int unit_calls;

static inline belay_sem_opts unit_opts(uint32_t capacity)
{
    return (belay_sem_opts){
        .size = sizeof(belay_sem_opts), .capacity = capacity, .clock = unit_clock};
}

static inline void unit_open_clock(void)
{
    unit_calls = 0;
    ck_assert_int_eq(belay_manual_clock_create(UNIT_BEGIN_NS, 0, &unit_clock), 0);
}

static inline void unit_open(uint32_t capacity)
{
    unit_open_clock();
    belay_sem_opts opts = unit_opts(capacity);
    ck_assert_int_eq(belay_sem_create(&opts, &unit_sem), 0);
}

static inline void unit_close(void)
{
    ck_assert_int_eq(belay_sem_destroy(unit_sem), 0);
    ck_assert_int_eq(belay_manual_clock_destroy(unit_clock), 0);
}

static inline void unit_advance(int64_t delay_ns)
{
    int64_t to_ns = belay_clock_now(unit_clock) + delay_ns;
    ck_assert_int_eq(belay_manual_clock_advance(unit_clock, to_ns), 0);
}

static inline int64_t unit_after(int64_t delay_ns)
{
    return belay_clock_now(unit_clock) + delay_ns;
}

static inline belay_sem_metrics unit_stats_of(belay_sem *sem)
{
    belay_sem_metrics stats = {.size = sizeof stats};
    ck_assert_int_eq(belay_sem_stats(sem, &stats), 0);
    ck_assert_uint_eq(stats.available + stats.held + stats.reserved, stats.capacity + stats.debt);
    return stats;
}

static inline belay_sem_metrics unit_stats(void)
{
    return unit_stats_of(unit_sem);
}

/* What the semaphore must say of itself. */
static inline void unit_expect(uint32_t available, uint32_t held, uint32_t reserved,
                               uint32_t waiting)
{
    belay_sem_metrics stats = unit_stats();
    ck_assert_uint_eq(stats.available, available);
    ck_assert_uint_eq(stats.held, held);
    ck_assert_uint_eq(stats.reserved, reserved);
    ck_assert_uint_eq(stats.waiting, waiting);
}

static inline waiter unit_waiter(void)
{
    return (waiter){.lease = BELAY_LEASE_INIT, .result = UNIT_NO_CALL};
}

static inline void unit_note(belay_lease *lease, int result, void *arg)
{
    waiter *self = arg;
    ck_assert_ptr_eq(lease, &self->lease);
    self->result = result;
    self->calls++;
    self->order = ++unit_calls;
    if (self->then != NULL) {
        self->then(self);
    }
}

/* Takes free permits. */
static inline void unit_hold(belay_lease *lease, uint32_t permits)
{
    ck_assert_int_eq(belay_sem_acquire(unit_sem, lease, permits, BELAY_NOW, NULL), 0);
}

static inline void unit_release(belay_lease *lease)
{
    ck_assert_int_eq(belay_lease_release(lease), 0);
}

/* An asynchronous acquire, whatever it says. */
static inline int unit_ask(waiter *self, uint32_t permits, int64_t deadline_ns,
                           belay_cancel *cancel)
{
    return belay_sem_acquire_async(unit_sem, &self->lease, permits, deadline_ns, cancel, unit_note,
                                   self);
}

/* One that is queued. */
static inline void unit_queue(waiter *self, uint32_t permits)
{
    ck_assert_int_eq(unit_ask(self, permits, BELAY_FOREVER, NULL), BELAY_PENDING);
}

static inline void unit_queue_until(waiter *self, uint32_t permits, int64_t deadline_ns)
{
    ck_assert_int_eq(unit_ask(self, permits, deadline_ns, NULL), BELAY_PENDING);
}

/* The callback came once, with this result, as the order-th of all. */
static inline void unit_told(const waiter *self, int result, int order)
{
    ck_assert_int_eq(self->calls, 1);
    ck_assert_int_eq(self->result, result);
    ck_assert_int_eq(self->order, order);
}

static inline void unit_not_told(const waiter *self)
{
    ck_assert_int_eq(self->calls, 0);
}

static inline belay_cancel *unit_token(void)
{
    belay_cancel *token;
    ck_assert_int_eq(belay_cancel_create(NULL, 0, &token), 0);
    return token;
}

/* Things for `then`. */
static inline void unit_then_release(waiter *self)
{
    if (self->result == 0) {
        unit_release(&self->lease);
    }
}

#endif
