/*
 * belay/job_run.h: working on durable jobs. Included by belay/job.h, which has the overview.
 */
#ifndef BELAY_JOB_RUN_H
#define BELAY_JOB_RUN_H

#include "belay/job_store.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct belay_run belay_run;                   /* a claimed job, until it has ended */
typedef struct belay_jobs_session belay_jobs_session; /* who claims, in a loop of its own */

/*
 * Working with handlers.
 */

/*
 * belay_jobs_fn: a handler: does the work of a job. Returns 0 when it is done, BELAY_PENDING when
 * the work goes on elsewhere and belay_run_done or belay_run_end will end it, anything else for a
 * failure, which is tried again while the job has tries.
 * Called once a try [G-JOBS-3], under no lock, on the executor. The run is lent until it is ended.
 * It may call everything of belay but what waits for its own store to drain or close.
 */
typedef int belay_jobs_fn(belay_run *run, void *arg);

typedef struct belay_jobs_handler_opts {
    uint32_t size;        /* sizeof(belay_jobs_handler_opts) */
    uint32_t running_max; /* runs of it at once in this process; 0: no bound of its own. A run that
                           * waits for it stays claimed: a limit of the store leaves it to others */
} belay_jobs_handler_opts;

/*
 * belay_jobs_handle: lets fn run the jobs whose handler has that name. A NULL name stands for all
 * names without a handler of their own, commands included. opts may be NULL.
 * Copies the name; borrows arg until the close.
 * Errors: BELAY_EINVAL, BELAY_EBUSY (belay_jobs_work was called), BELAY_EEXIST (it has one),
 *         BELAY_EFULL (BELAY_JOBS_QUEUES_MAX handlers), BELAY_ENOMEM (in this order).
 * Context: any thread, never blocks.
 */
BELAY_API int belay_jobs_handle(belay_jobs *jobs, const char *name,
                                const belay_jobs_handler_opts *opts, belay_jobs_fn *fn, void *arg);

typedef struct belay_jobs_work_opts {
    uint32_t size;             /* sizeof(belay_jobs_work_opts) */
    uint32_t queue_count;      /* at most BELAY_JOBS_QUEUES_MAX */
    const belay_bytes *queues; /* those whose jobs are taken; NULL: one named as each handler */
    belay_timers *timers;      /* on the clock of the store; NULL: the service of the process */
} belay_jobs_work_opts;

/*
 * belay_jobs_work: takes jobs from now on and lets the executor run their handlers, at most
 * running_max (1 to BELAY_JOBS_CLAIM_MAX) at once, best first: the highest priority, then the
 * earliest run_at_ns, then the lowest number. A job whose handler returned BELAY_PENDING counts
 * until it is ended. What is claimed beyond running_max is no more than should start within
 * BELAY_JOBS_AHEAD_NS by the time that runs have taken, and goes back when it has not by then. A
 * job whose handler nobody gave a function to fails (BELAY_JOBS_HOW_NOT_RUNNABLE). opts may be
 * NULL.
 * Borrows the executor, and is attached to it, until belay_jobs_drain or the close. When it takes
 * no more (BELAY_ECLOSED), what was claimed is given back.
 * Errors: BELAY_EINVAL (no queue among them), BELAY_EBUSY (it works already, or is draining),
 *         BELAY_ENOMEM, BELAY_EAGAIN (no thread, no descriptor), then those of the store.
 */
#define BELAY_JOBS_AHEAD_NS INT64_C(50000000)
BELAY_API int belay_jobs_work(belay_jobs *jobs, belay_executor *executor, uint32_t running_max,
                              const belay_jobs_work_opts *opts);

/*
 * belay_jobs_drain: claims no more, gives back what has not started, and waits until what runs has
 * ended and been stored. When it has returned 0, belay_jobs_work may be called again; without
 * work it is 0 at once.
 * Errors: BELAY_EINVAL, BELAY_EDEADLK (from a handler of this store), BELAY_ETIMEDOUT (it goes on
 *         draining; BELAY_NOW begins it and asks).
 */
BELAY_API int belay_jobs_drain(belay_jobs *jobs, int64_t deadline_ns);

/*
 * Runs. A run is lent to its handler, and to whoever that passes it to, until it is ended; a driven
 * one is its claimer's. Its functions may be called from any thread that it is lent to.
 */

/*
 * belay_run_fence: the fencing token: names this claim, never used again in the store, and rises
 * from run to run of a job. What the job writes to can refuse a lower one than it has seen.
 * Errors: none; 0 for NULL. Never blocks.
 */
BELAY_API uint64_t belay_run_fence(const belay_run *run);

/*
 * belay_run_token: a token that fires when the run is to end: its owner canceled it, its claim was
 * lost, its timeout is over (of a handler's), or the store is being closed. Made at the first call.
 * Lends it until the run has ended; belay_cancel_ref keeps it.
 * Errors: BELAY_EINVAL, BELAY_ENOMEM. Never blocks.
 */
BELAY_API int belay_run_token(belay_run *run, belay_cancel **ret_token);

/* belay_run_is_canceled: true once that token has fired, or would have. False for NULL. */
BELAY_API bool belay_run_is_canceled(const belay_run *run);

/* What is known of a run. Bytes are lent until it has ended. */
typedef struct belay_run_details {
    uint32_t size;    /* sizeof(belay_run_details), set by the caller */
    uint32_t attempt; /* 1 for the first run; failed and lost ones count */
    uint32_t tries;   /* runs that may fail */
    uint32_t tried;   /* runs that have failed */
    int32_t priority;
    uint32_t missed; /* slots that passed before this one without a run */
    uint64_t seq;
    uint64_t fence;
    int64_t run_at_ns, timeout_ns;
    int64_t slot_ns; /* of a recurring job; 0 otherwise */
    uint64_t batch, batch_row;
    belay_bytes id, queue; /* id of a recurring job: the one it was added under */
    belay_jobs_payload work;
} belay_run_details;

/*
 * belay_run_info: what is known of the run. ret_info->size is set by the caller, and fields beyond
 * it are not written. Errors: BELAY_EINVAL. Never blocks.
 */
BELAY_API int belay_run_info(const belay_run *run, belay_run_details *ret_info);

/* What becomes of a job at the end of a run. */
enum {
    BELAY_RUN_DONE = 1, /* it is done */
    BELAY_RUN_FAIL,     /* tried again while it has tries, else failed */
    BELAY_RUN_FAIL_NOW, /* failed, whatever tries it has left */
    BELAY_RUN_CANCELED, /* canceled: it ended because its owner wanted that */
    BELAY_RUN_GIVE_BACK /* ready again, as if this run had not been; a claim that did not start */
};

/* The end of a run, with all that `show` can tell of it. */
typedef struct belay_run_ending {
    uint32_t size; /* sizeof(belay_run_ending) */
    int32_t what;  /* BELAY_RUN_… */
    int32_t how;   /* BELAY_JOBS_HOW_…; 0: EXITED */
    uint32_t reserved;
    int64_t code;
    int64_t backoff_ns;       /* BELAY_RUN_FAIL: instead of the job's own; 0: that, jittered */
    int64_t start_ns, end_ns; /* wall times; 0: as the store saw them */
    int64_t user_ns, system_ns;
    uint64_t rss_max_kib;
    belay_bytes result;  /* kept, at most BELAY_JOBS_BYTES_MAX */
    belay_bytes message; /* why, in words; at most BELAY_JOBS_BYTES_MAX */
    /*
     * Called once, when the end is stored (0), or never will be: BELAY_ESTALE, the claim was lost,
     * the result is dropped and the job runs elsewhere [G-JOBS-6]; BELAY_ECLOSED or BELAY_EIO, the
     * store was closed before. On the executor of the work or session, or on a thread of the store
     * when there is none; under no lock. It must not wait. May be NULL.
     */
    void (*reported)(int result, void *arg);
    void *arg;
} belay_run_ending;

/*
 * belay_run_done: ends the run of a handler that returned BELAY_PENDING, or of one that is driven:
 * done for status 0, else failed with that code.
 * belay_run_end: the same, in detail. A handler that calls it returns BELAY_PENDING after it.
 * Take the run; exactly one call ends it. Return before it is stored: see `reported`, and
 * belay_jobs_flush. Copy what they are given.
 * Errors: BELAY_EINVAL (also: it has not been started, and is not given back), BELAY_ENOMEM (end:
 *         the run is still the caller's), BELAY_ESTALE (ended before; only the handler may still
 *         ask) (in this order, but that a run that was not started is looked for last).
 * Context: whoever the run is lent to; never block.
 */
BELAY_API int belay_run_done(belay_run *run, int status);
BELAY_API int belay_run_end(belay_run *run, const belay_run_ending *ending);

/*
 * belay_jobs_flush: waits until each end given before the call is stored, and `reported` on a
 * thread of the store has returned.
 * Errors: BELAY_EINVAL, BELAY_ETIMEDOUT. Context: any thread but from `reported`; may block.
 */
BELAY_API int belay_jobs_flush(belay_jobs *jobs, int64_t deadline_ns);

/*
 * Sessions that the program drives. The functions of one session are called by one thread at a
 * time. Whether a session is alive is told by a lock that the kernel keeps, not by a clock.
 */

/*
 * A live file: locked as long as one process has it open. A session whose jobs are processes hands
 * its descriptor to each of them, so that the jobs of a session that died run again only when the
 * last of those processes is gone.
 */
typedef struct belay_jobs_live {
    int fd; /* close-on-exec, locked */
    char name[64];
} belay_jobs_live;

/*
 * belay_jobs_live_create: makes a live file beside the store at `url`, before it is opened and
 * before a helper that starts the processes is forked. Gives *ret_live.
 * belay_jobs_live_destroy: closes and removes it, when session and processes have ended.
 * Errors: BELAY_EINVAL, BELAY_EIO (see *ret_error, which may be NULL).
 * Context: any thread; may block.
 */
BELAY_API int belay_jobs_live_create(const char *url, belay_jobs_live *ret_live,
                                     belay_jobs_error *ret_error);
BELAY_API void belay_jobs_live_destroy(const char *url, belay_jobs_live *live);

typedef struct belay_jobs_session_opts {
    uint32_t size;               /* sizeof(belay_jobs_session_opts) */
    uint32_t slots;              /* jobs that it runs at once, to be shown; default 1 */
    const belay_bytes *queues;   /* those whose jobs it takes; NULL: "default" */
    uint32_t queue_count;        /* at most BELAY_JOBS_QUEUES_MAX */
    uint32_t claims_no_queue;    /* 1: it takes jobs by belay_jobs_session_claim_one alone */
    const belay_jobs_live *live; /* what its processes hold; NULL: it starts none */
    belay_executor *executor;    /* where `reported` is called: a mailbox, say; NULL: on a thread of
                                  * the store. Borrowed, and attached to, until the session's end */
} belay_jobs_session_opts;

/*
 * belay_jobs_session_begin: gives back the jobs of sessions that died, then begins one. opts may be
 * NULL. Gives *ret_session.
 * belay_jobs_session_end: ends it; NULL is allowed. Claimed jobs go back; those that run and were
 * not ended count as lost. Runs that it still has are freed.
 * Errors: BELAY_EINVAL, BELAY_ENOMEM, then those of the store; of the end BELAY_EBUSY (an end is
 *         not stored yet, or `reported` has not returned: flush first), then those of the store:
 *         the session is freed all the same.
 */
BELAY_API int belay_jobs_session_begin(belay_jobs *jobs, const belay_jobs_session_opts *opts,
                                       belay_jobs_session **ret_session);
BELAY_API int belay_jobs_session_end(belay_jobs_session *session);

/* belay_jobs_session_id: its number, as in rows of jobs and sessions. Never 0. */
BELAY_API uint64_t belay_jobs_session_id(const belay_jobs_session *session);

enum { BELAY_JOBS_CLAIM_START = 1 }; /* the jobs are started in the same transaction */

/*
 * belay_jobs_session_claim: claims up to `max` (1 to BELAY_JOBS_CLAIM_MAX) due jobs of its queues,
 * best first. Never waits for a limit. ret_runs: an array of `max`. Gives *ret_count runs.
 * ret_next_ns: wall time at which it is worth to ask again, a time that has come when there may be
 *   more now; BELAY_FOREVER: when a watch is ready. May be NULL.
 * Errors: BELAY_EINVAL, BELAY_ESTALE (the session was taken for dead), then those of the store.
 */
BELAY_API int belay_jobs_session_claim(belay_jobs_session *session, uint32_t max, uint32_t flags,
                                       belay_run **ret_runs, uint32_t *ret_count,
                                       int64_t *ret_next_ns);

/*
 * belay_jobs_session_claim_one: claims that job, of whatever queue, or says why not. Gives a run.
 * Errors: BELAY_EINVAL, BELAY_ENOENT, BELAY_ESTALE (the session), BELAY_ETOOLATE (claimed, running
 *         or ended), BELAY_EAGAIN (not due, waiting or parked: again when a watch is ready), then
 *         those of the store.
 */
BELAY_API int belay_jobs_session_claim_one(belay_jobs_session *session, uint64_t seq,
                                           uint32_t flags, belay_run **ret_run);

/*
 * belay_jobs_session_take: asks for permits alone: a job of this session in a queue that nobody
 * claims from, with wants, id, priority and work of `job`. The permits are held from the
 * belay_jobs_session_claim_one that succeeds until the end of its run; belay_jobs_cancel takes the
 * request back, the end of the session does both.
 * Errors: as belay_jobs_add; BELAY_ESTALE (the session).
 */
BELAY_API int belay_jobs_session_take(belay_jobs_session *session, const belay_jobs_new *job,
                                      uint64_t *ret_seq);

/*
 * belay_jobs_session_start: claimed runs are running from now on, their tries counted. results: one
 * a run: 0; BELAY_ESTALE or BELAY_ECANCELED: it must not be started; end it, with GIVE_BACK.
 * Errors: BELAY_EINVAL, then those of the store: none was started.
 */
BELAY_API int belay_jobs_session_start(belay_jobs_session *session, belay_run *const *runs,
                                       uint32_t count, int *ret_results);

/*
 * belay_jobs_session_orders: the runs of the session that are to end, each told once: its owner
 * canceled it, or its claim was lost. Fires their tokens. Ask when a watch is ready. ret_runs: an
 * array of `max`; call again when *ret_count is max. Errors: BELAY_EINVAL, then those of the store.
 */
BELAY_API int belay_jobs_session_orders(belay_jobs_session *session, belay_run **ret_runs,
                                        uint32_t max, uint32_t *ret_count);

/*
 * belay_jobs_rescue: for each session whose process is gone, kills what its jobs left behind, and
 * when that is over gives its jobs back. Whoever drives a session, or waits by a watch, calls it
 * once a second; belay_jobs_work and belay_jobs_wait do so themselves.
 * ret_rescued: jobs; ret_pending: dead sessions whose processes have not ended yet. May be NULL.
 * Errors: BELAY_EINVAL, then those of the store.
 */
BELAY_API int belay_jobs_rescue(belay_jobs *jobs, uint32_t *ret_rescued, uint32_t *ret_pending);

#ifdef __cplusplus
}
#endif

#endif
