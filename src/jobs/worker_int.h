/*
 * worker_int.h: the worker, which claims for handlers. Who runs what: worker.c.
 */
#ifndef BLY_JOBS_WORKER_INT_H
#define BLY_JOBS_WORKER_INT_H

#include "jobs/jobs_int.h"

/* Each field is the worker thread's unless it says otherwise. */
struct bly_worker {
    bly_owner owner;
    uint32_t refs;           /* atomic: one of belay_jobs, one of each of its runs */
    uint32_t running_max;    /* constant */
    belay_sched *sched;      /* constant until the end of the thread: what was claimed */
    belay_mailbox *mailbox;  /* constant: wakes the thread */
    bly_store_watch *watch;  /* constant until the end of the thread */
    bly_thread thread;       /* who made it and who joins it */
    belay_task wake;         /* the mailbox's while is_woken */
    uint32_t is_woken;       /* atomic: 1: the wake is in the mailbox */
    int64_t wall_offset_ns;  /* constant: wall time minus monotonic time, as at the start */
    bly_bytes *queues;       /* constant: one block with their bytes */
    uint32_t queue_count;    /* constant */
    bool is_closed;          /* the scheduler was */
    bool is_stale;           /* the session was taken for dead: another one is to begin */
    int64_t stale_ns;        /* monotonic: but not before */
    bool is_dry;             /* the last claim found less than it wanted */
    int64_t claim_ns;        /* monotonic: is_dry: when the next job is due */
    int64_t rescue_ns;       /* monotonic: when to look for dead sessions */
    int last_error;          /* logged, and not again before a claim has worked */
    bool is_draining;        /* the lock's: claims no more */
    bool is_abandoned;       /* the lock's: ends although reports are outstanding */
    bool has_ended;          /* the lock's */
    int64_t mean_ns;         /* the lock's: of the time that runs have taken; 0: none has */
    int64_t next_timeout_ns; /* the lock's: no run is to be told before */
    int64_t oldest_ns;       /* the lock's: no run that waits was claimed before; or FOREVER */
    int64_t pause_ns;        /* the lock's: nothing is claimed before, unless one that ran ends */
};

extern const bly_state_table bly_run_states;

/* care.c */

/*
 * bly_worker_care: what the thread looks after beside claiming; rang: the store's watch was ready.
 * bly_worker_complain: logs an error, unless it is 0 or the last one that was logged.
 * Context of both: the worker's thread, no lock is held.
 */
void bly_worker_care(bly_worker *worker, int64_t now_ns, bool rang);
void bly_worker_complain(bly_worker *worker, const char *what, int error);

/* bly_worker_untold_locked: a run, with a reference, that was not told to end; NULL: none. */
belay_run *bly_worker_untold_locked(bly_worker *worker);

/* worker.c */

/* bly_worker_session: begins a session. Errors: those of the store. */
int bly_worker_session(bly_worker *worker);

/* bly_worker_pause: claims nothing for BLY_RESCUE_PERIOD_NS, unless a run ends before. */
void bly_worker_pause(bly_worker *worker, int64_t now_ns);

#endif
