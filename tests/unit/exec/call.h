/*
 * call.h: a call with a future whose fate tests look at.
 */
#ifndef BELAY_TESTS_EXEC_CALL_H
#define BELAY_TESTS_EXEC_CALL_H

#include "pool.h"

/* A call that counts what became of it. */
typedef struct call {
    event begun;
    event gate; /* opened at the start unless the test wants to hold the call */
    event ended;
    int status; /* what it returns */
    uint32_t runs;
    uint32_t drops;
    int why;
    belay_future *future;
} call;

static inline int call_run(void *arg)
{
    call *self = arg;
    bly_fetch_add(&self->runs, 1u, BLY_SEQ_CST);
    event_add(&self->begun, 1);
    event_await(&self->gate, 1);
    return self->status;
}

static inline void call_drop(void *arg, int why)
{
    call *self = arg;
    self->why = why;
    bly_fetch_add(&self->drops, 1u, BLY_SEQ_CST);
}

static inline void start(belay_exec *exec, call *self, belay_cancel *token)
{
    ck_assert_int_eq(belay_exec_call(exec, call_run, self, call_drop, token, &self->future), 0);
    ck_assert_ptr_nonnull(self->future);
}

#define OPEN                                                                                       \
    {                                                                                              \
        .value = 1                                                                                 \
    }

static inline int wait_for(call *self, int *ret_status)
{
    return belay_future_wait(self->future, BELAY_FOREVER, ret_status);
}

#endif
