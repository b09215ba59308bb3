/*
 * future_int.h: what a call consists of; for future.c, group.c and the frames.
 */
#ifndef BLY_EXEC_FUTURE_INT_H
#define BLY_EXEC_FUTURE_INT_H

#include "exec/exec_int.h"

typedef void bly_then_fn(belay_future *future, int result, int status, void *arg);

struct belay_future {
    belay_task task;      /* the queue's: the shell, from submit until it is removed */
    belay_task deliver;   /* whoever ends the call: drop, then the then-callback */
    uint32_t word;        /* atomic: see future.c */
    uint32_t refs;        /* atomic: the queue, the caller, the claimer, the then-callback */
    belay_exec *exec;     /* constant after create; not used once DONE and removed */
    int (*fn)(void *arg); /* constant after create */
    void (*drop)(void *arg, int why); /* constant after create */
    void *arg;                        /* constant after create */
    belay_cancel *token;              /* constant after create: a reference; NULL: none */
    bly_cancel_reg reg;               /* the creator until it is queued, then the claimer */
    bly_frame frame;                  /* the worker that claimed it */
    int result;                       /* the claimer until DONE, constant afterwards: of wait */
    int status;                       /* as result: what fn returned; 0 beside an error */
    belay_executor *then_executor;    /* who set THEN until THEN_READY, constant afterwards */
    bly_then_fn *then_fn;             /* as then_executor */
    void *then_arg;                   /* as then_executor */
    uint64_t refused;          /* atomic: see bly_deliver_to; for a call that ended long ago */
    belay_group *group;        /* constant after create: whose member it is; NULL: nobody's */
    belay_future *prev, *next; /* the group's lock: its list of members that may be claimed */
    bool is_listed;            /* the group's lock */
};

/* Bits of `word`. */
enum {
    BLY_FUTURE_CLAIMED = 1,     /* its claimer alone may go on: the move out of pending */
    BLY_FUTURE_CANCELED = 2,    /* set with CLAIMED: by a cancel */
    BLY_FUTURE_DONE = 4,        /* fn or drop has returned */
    BLY_FUTURE_FINISHED = 8,    /* all who wanted to know have been told */
    BLY_FUTURE_REMOVED = 16,    /* the shell has left the queue */
    BLY_FUTURE_WAITED = 32,     /* somebody may sleep on the word */
    BLY_FUTURE_THEN = 64,       /* a then-callback was given */
    BLY_FUTURE_THEN_READY = 128 /* its fields are written */
};

/* A call that may be submitted: fn, arg and drop, and whose it is. */
typedef struct bly_call {
    int (*fn)(void *arg);
    void *arg;
    void (*drop)(void *arg, int why);
} bly_call;

/* bly_future_create: a pending call with one reference, the queue's; NULL without memory. */
belay_future *bly_future_create(belay_exec *exec, const bly_call *call, belay_cancel *token);

/* bly_future_claim: moves it out of pending; `with` is added to the word. False: too late. */
bool bly_future_claim(belay_future *future, uint32_t with);

/*
 * bly_future_run_claimed: the calling worker claimed it and runs it, or drops it when shutdown_now
 * was called. Takes a reference.
 */
void bly_future_run_claimed(bly_worker *worker, belay_future *future);

/* bly_future_drop_claimed: calls drop and ends it, from a delivery. Takes a reference. */
void bly_future_drop_claimed(belay_future *future);

/*
 * bly_future_run_waited: a waiting task claims the call and runs it on top of itself; false when it
 * is too late for that.
 */
bool bly_future_run_waited(bly_worker *worker, belay_future *future);

#endif
