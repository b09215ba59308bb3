/*
 * jobs_int.h: what the files of src/jobs share. The states of a run and the lock: README.md.
 */
#ifndef BLY_JOBS_JOBS_INT_H
#define BLY_JOBS_JOBS_INT_H

#include "base/list.h"
#include "base/opts.h"
#include "base/state.h"
#include "belay/job.h"
#include "belay/sched.h"
#include "belay/sem.h"
#include "store/store.h"
#include "sync/sync.h"

#define BLY_RESCUE_PERIOD_NS INT64_C(1000000000) /* between looks for sessions that died */

typedef struct bly_handler bly_handler;
typedef struct bly_owner bly_owner;
typedef struct bly_worker bly_worker;

/* A name and the function of its jobs. */
struct bly_handler {
    bly_list link;        /* of belay_jobs.handlers; constant while a worker lives */
    belay_jobs_fn *fn;    /* constant */
    void *arg;            /* constant */
    uint32_t running_max; /* constant; 0: no bound */
    belay_sem *sem;       /* the worker's: permits of running_max; NULL without a bound or worker */
    size_t len;           /* constant: bytes of the name */
    bool is_any;          /* constant: for names without a handler of their own */
    char name[];          /* constant */
};

struct belay_jobs {
    bly_store *store;                            /* constant until the close */
    belay_clock *clock;                          /* constant */
    void (*log)(const char *message, void *arg); /* constant; may be NULL */
    void *log_arg;                               /* constant */
    bly_mutex lock;                              /* of all that follows, and of the runs */
    uint32_t attached;                           /* sessions and watches */
    bool is_closing;                             /* what fails from now on is given back */
    bool is_starting;                            /* a worker is being made */
    bly_worker *worker;                          /* NULL: none */
    bly_list handlers;                           /* of bly_handler, in the order of their calls */
    uint32_t handler_count;                      /* those with a name */
    uint64_t claimed, started, given_back, held; /* see belay_jobs_metrics */
    /* atomic: raised under the lock when a worker has come to its end or nearer */
    uint32_t drained;
};

/* Who claims runs: a session that is driven, or the worker. */
struct bly_owner {
    belay_jobs *jobs;         /* constant */
    belay_executor *executor; /* constant: of `reported`; NULL: the store's thread */
    bly_worker *worker;       /* constant: the worker that this is part of; NULL: a session */
    uint64_t session;         /* the claimer's thread; for others constant while it has runs */
    bly_list runs;            /* the lock's: claimed, and not yet reported */
    bly_list spare;           /* the claimer's thread: runs for the next claim, all zero */
    uint32_t spare_count;     /* the claimer's thread */
    uint32_t active;          /* the lock's: runs whose end has not been given to the store */
    uint32_t unreported;      /* the lock's: runs whose end has, and was not reported */
};

enum bly_run_state {
    BLY_RUN_SPARE = 0, /* no job */
    BLY_RUN_CLAIMED,   /* a job that has not been started */
    BLY_RUN_STARTING,  /* handlers: its start is being stored */
    BLY_RUN_STARTED,
    BLY_RUN_ENDED,   /* somebody has its end */
    BLY_RUN_REPORTED /* the store has said what became of it */
};

/* Why a run is to end. */
enum bly_run_why {
    BLY_TOLD_NOTHING = 0,
    BLY_TOLD_CANCEL,  /* its owner canceled it */
    BLY_TOLD_LOST,    /* its claim is another's */
    BLY_TOLD_TIMEOUT, /* its time is over */
    BLY_TOLD_CLOSE    /* the store is being closed */
};

struct belay_run {
    bly_list link;        /* the lock's: of its owner's runs, or the claimer's: spare */
    bly_owner *owner;     /* constant */
    bly_claimed *claimed; /* constant from the claim on */
    uint32_t state;       /* the lock's: bly_run_state */
    uint32_t refs;        /* atomic: the owner's until the report, and who looks at it */
    uint32_t why;         /* atomic: written once under the lock */
    bool is_told;         /* the lock's: belay_jobs_session_orders gave it out */
    belay_cancel *token;  /* the lock's: NULL until somebody asks; a reference */

    /* Of a run with a handler. */
    bly_handler *handler;         /* constant from the claim on; NULL: nobody knows the name */
    belay_job_handle entry;       /* the worker's thread: in the scheduler */
    belay_claim *claim;           /* the lock's: set with STARTING */
    belay_lease lease;            /* of the handler's sem */
    bool has_lease;               /* the lock's */
    bool is_queued;               /* the lock's: it is in the scheduler */
    uint64_t thread;              /* the lock's: which is inside fn; 0: none */
    int64_t claimed_ns, start_ns; /* the lock's: monotonic */
    int64_t timeout_ns;           /* the lock's: monotonic, when it is told; BELAY_FOREVER: never */

    /* Its end. */
    bly_end end; /* the store's from ENDED to REPORTED */
    void *bytes; /* copies of result and message */
    void (*reported)(int result, void *arg);
    void *reported_arg;
    belay_task task; /* that calls it */
    int result;
};

/* jobs.c */

/* bly_jobs_log: a line for the log of the options, if there is one. Context: no lock is held. */
void bly_jobs_log(belay_jobs *jobs, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * bly_jobs_attach: counts a session or watch, 1, or counts it out, -1. Errors: BELAY_ECLOSED (1:
 * the store is being closed).
 */
int bly_jobs_attach(belay_jobs *jobs, int change);

/* values.c */

/* bly_new_read: as bly_opts_read; a job without a queue is in that of its handler. */
int bly_new_read(belay_jobs_new *ret_job, const belay_jobs_new *job);

/* run.c */

void bly_owner_init(bly_owner *owner, belay_jobs *jobs, belay_executor *executor,
                    bly_worker *worker);

/*
 * bly_owner_prepare: sees to it that `count` runs are spare. Errors: BELAY_ENOMEM.
 * bly_owner_add: makes a run of the claim, which it takes; one must be spare. The reference is the
 * owner's until the end of the run has been reported.
 * Context of both: the claimer's thread.
 */
int bly_owner_prepare(bly_owner *owner, uint32_t count);
belay_run *bly_owner_add(bly_owner *owner, bly_claimed *claimed, bool is_started);

/* bly_owner_discard: frees the spare runs. No run is active. */
void bly_owner_discard(bly_owner *owner);

/* bly_owner_orders: tells the runs that the store wants to end. Errors: those of the store. */
int bly_owner_orders(bly_owner *owner);

/* bly_run_ref: one reference more, for who has one or holds the lock; returns the run. */
belay_run *bly_run_ref(belay_run *run);
void bly_run_unref(belay_run *run);

/*
 * bly_run_tell: the run is to end, and why, unless it has been told or has ended. Fires its token.
 * Context: any thread with a reference; no lock is held.
 */
void bly_run_tell(belay_run *run, uint32_t why);

/*
 * bly_run_finish: ends the run as belay_run_end does; what, how, code: as there. message: a
 * constant text, or NULL. Errors: BELAY_EINVAL, BELAY_ESTALE, as of belay_run_end.
 */
int bly_run_finish(belay_run *run, int what, int how, int64_t code, const char *message);

/* handler.c */

/* bly_handler_find: the handler of that name, else the one for any name; NULL: there is none. */
bly_handler *bly_handler_find(belay_jobs *jobs, bly_bytes name);
void bly_handlers_free(belay_jobs *jobs);

/* bly_handler_is_inside: whether the calling thread is in a handler of this store. */
bool bly_handler_is_inside(belay_jobs *jobs);

/* bly_handler_queue: sends a claimed run to its handler. Context: the worker's thread. */
void bly_handler_queue(belay_run *run);

/* bly_handler_give_back: ends a run that its handler does not run, unless it has ended. */
void bly_handler_give_back(belay_run *run);

/* worker.c: worker_int.h has the rest. */

/* bly_worker_wake: lets the worker's thread look again. Context: any thread with a reference. */
void bly_worker_wake(bly_worker *worker);
void bly_worker_ref(bly_worker *worker);
void bly_worker_unref(bly_worker *worker); /* NULL is allowed */

/* bly_worker_ended_locked: notes how long the run took. True: the thread is to be woken. */
bool bly_worker_ended_locked(bly_worker *worker, const belay_run *run, int64_t now_ns);

/*
 * bly_worker_stop: lets the worker drain, and joins its thread. may_abandon: when the time is over
 * it ends all the same, once no run is active, whatever has not been reported. *ret_worker: the
 * worker, whose last reference of belay_jobs is the caller's now; NULL: there is none, or another
 * thread has stopped it.
 * Errors: BELAY_ETIMEDOUT (it goes on draining). Context: any thread outside handlers; blocks.
 */
int bly_worker_stop(belay_jobs *jobs, int64_t deadline_ns, bool may_abandon,
                    bly_worker **ret_worker);

#endif
