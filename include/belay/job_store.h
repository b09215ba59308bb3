/*
 * belay/job_store.h: the store of durable jobs: adding, control, looking. Included by belay/job.h,
 * which has the overview; working on jobs is in belay/job_run.h.
 */
#ifndef BELAY_JOB_STORE_H
#define BELAY_JOB_STORE_H

#include "belay/cancel.h"
#include "belay/clock.h"
#include "belay/job_row.h"
#include "belay/task.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct belay_jobs belay_jobs; /* an open store */
typedef struct belay_jobs_watch belay_jobs_watch;

/*
 * The store.
 */

/* What is wrong with a store. */
enum {
    BELAY_JOBS_PROBLEM_NONE = 0,
    BELAY_JOBS_PROBLEM_UNSAFE,  /* file or folder is somebody else's, or may be written by others */
    BELAY_JOBS_PROBLEM_SYMLINK, /* a symbolic link where a file of the store should be */
    BELAY_JOBS_PROBLEM_NETWORK, /* on a network file system, where locks do not hold */
    BELAY_JOBS_PROBLEM_FOREIGN, /* a file, but no store of belay's */
    BELAY_JOBS_PROBLEM_NEWER,   /* made by a newer belay */
    BELAY_JOBS_PROBLEM_DAMAGED, /* its structure is broken */
    BELAY_JOBS_PROBLEM_READ_ONLY, /* it cannot be written */
    BELAY_JOBS_PROBLEM_DISK_FULL,
    BELAY_JOBS_PROBLEM_IO,    /* errno or the database's own code in `detail` */
    BELAY_JOBS_PROBLEM_SCHEME /* no such kind of store */
};
typedef struct belay_jobs_error {
    int problem;
    int detail;
    char text[400]; /* a sentence for people: the thing, the reason, the next step */
} belay_jobs_error;

/*
 * belay_jobs_next_fn: the slot after slot_ns of a recurring job of kind BELAY_JOBS_CRON;
 * BELAY_FOREVER ends it. Called on a thread of the store inside a transaction: it computes and does
 * nothing else.
 */
typedef int64_t belay_jobs_next_fn(const belay_jobs_schedule *rule, int64_t slot_ns, void *arg);

typedef struct belay_jobs_opts {
    uint32_t size;            /* sizeof(belay_jobs_opts) */
    uint32_t is_read_only;    /* 1: only reads; the store must exist */
    uint32_t may_be_network;  /* 1: the caller knows that locks hold there */
    uint32_t reserved;        /* zero */
    belay_clock *clock;       /* NULL: the system's; borrowed until the close */
    belay_jobs_next_fn *next; /* NULL: cron expressions are refused and not claimed */
    void *next_arg;
    int64_t window_ns; /* how long an end may wait to be committed with others; default 2 ms */
    void (*log)(const char *message, void *arg); /* on any thread, under no lock: what went wrong
                                                  * with no caller to tell; may be NULL */
    void *log_arg;
} belay_jobs_opts;

/*
 * belay_jobs_open: opens the store at `url`, made when missing: the path of a file, or "memory:"
 * for one that ends with the process. Brings an older one up to date. opts may be NULL.
 * Gives *ret_jobs; belay_jobs_close ends it. ret_error: what is wrong when the result is not 0; may
 * be NULL.
 * Errors: BELAY_EINVAL, BELAY_ENOENT (read only, and there is none), BELAY_ENOMEM, BELAY_EAGAIN (no
 *         thread), BELAY_EFULL, BELAY_EIO (all else: see *ret_error).
 * Context: any thread; may block.
 */
BELAY_API int belay_jobs_open(const char *url, const belay_jobs_opts *opts, belay_jobs **ret_jobs,
                              belay_jobs_error *ret_error);

/*
 * belay_jobs_close: claims no more, gives back what was claimed and has not started, and cancels
 * what handlers run: their tokens fire, and one that then fails is given back, as if that run had
 * not been. When they have returned, what they reported is stored, and all is freed [G-JOBS-7].
 * NULL is allowed. Sessions and watches are ended by their owners before.
 * deadline_ns: for all of it. When reports cannot be stored by then they are lost, and their jobs
 *   run again.
 * Errors: BELAY_EDEADLK (from a handler of this store), BELAY_EBUSY (a session or watch is left),
 *         BELAY_ETIMEDOUT (a handler still runs: nothing is freed; close again) (in this order).
 * Context: a thread that knows that no other one still calls into it; may block.
 */
BELAY_API int belay_jobs_close(belay_jobs *jobs, int64_t deadline_ns);

/*
 * belay_jobs_problem: what is wrong with the store; BELAY_JOBS_PROBLEM_NONE when its last commit
 * worked. Errors: BELAY_EINVAL. Context: any thread, never blocks.
 */
BELAY_API int belay_jobs_problem(belay_jobs *jobs, belay_jobs_error *ret_error);

/*
 * belay_jobs_path: the file of the store; "" for one in memory. Lends it until the close.
 * Errors: none. Context: any thread, never blocks.
 */
BELAY_API const char *belay_jobs_path(const belay_jobs *jobs);

/*
 * Adding. What a call that adds has returned 0 for is not lost [G-JOBS-1].
 */

/*
 * belay_jobs_add: adds one job. Copies everything. ret_added may be NULL.
 * A job of an id that is live already: the same again gives that job, a different one is EEXIST
 * unless BELAY_JOBS_NEW_REPLACE is set, which takes the place of a pending one and stands behind a
 * running one [G-JOBS-8].
 * Errors: BELAY_EINVAL, BELAY_ENOENT (it is to run after a job that is not there, or belongs to a
 *         batch that is not), BELAY_EEXIST, BELAY_EDEADLK (it would run after itself),
 *         BELAY_ETOOBIG (more permits than the limit has), BELAY_EBUSY (a limit has another
 *         capacity than the job says), then those of the store.
 */
BELAY_API int belay_jobs_add(belay_jobs *jobs, const belay_jobs_new *job,
                             belay_jobs_added *ret_added);

/*
 * belay_jobs_add_many: adds `count` jobs (1 to BELAY_JOBS_ADD_MAX), all or none, in this order, in
 * one transaction. ret_added: an array of `count`, or NULL.
 * key: names the call, so that it can be repeated when it is not known whether it was committed.
 *   One with a key that was committed before adds nothing and gives what that gave. NULL: no name.
 * ret_bad: the index of the job that was refused; may be NULL. Errors: as belay_jobs_add.
 */
BELAY_API int belay_jobs_add_many(belay_jobs *jobs, const belay_jobs_new *job, uint32_t count,
                                  const belay_jobs_key *key, belay_jobs_added *ret_added,
                                  uint32_t *ret_bad);

/* What may change of a pending job without its becoming another. */
enum {
    BELAY_JOBS_EDIT_PRIORITY = 1,
    BELAY_JOBS_EDIT_RUN_AT = 2,
    BELAY_JOBS_EDIT_TIMEOUT = 4,
    BELAY_JOBS_EDIT_TRIES = 8,
    BELAY_JOBS_EDIT_QUEUE = 16
};
typedef struct belay_jobs_edition {
    uint32_t size;  /* sizeof(belay_jobs_edition) */
    uint32_t which; /* set of BELAY_JOBS_EDIT_…: the fields that count */
    int32_t priority;
    uint32_t tries;
    int64_t run_at_ns; /* 0: now */
    int64_t timeout_ns;
    belay_bytes queue;
} belay_jobs_edition;

/*
 * belay_jobs_edit: changes a job that is not claimed yet.
 * Errors: BELAY_EINVAL, BELAY_ENOENT, BELAY_ETOOLATE (claimed, running or ended), then those of the
 *         store.
 */
BELAY_API int belay_jobs_edit(belay_jobs *jobs, const belay_jobs_ref *job,
                              const belay_jobs_edition *edition);

/*
 * Control of jobs that are there.
 */

/*
 * belay_jobs_cancel: a pending job is canceled and never starts [G-JOBS-4]: 0. A running one is
 * told, wherever it runs: BELAY_STILL_RUNNING. A recurring job does not recur any more.
 * Errors: BELAY_EINVAL, BELAY_ENOENT, BELAY_ETOOLATE (it has ended), then those of the store.
 */
BELAY_API int belay_jobs_cancel(belay_jobs *jobs, const belay_jobs_ref *job);

/*
 * belay_jobs_cancel_batch: the same for every live job of a batch. ret_canceled, ret_told: how many
 * will never start, and how many were told; may be NULL. Errors: as belay_jobs_cancel.
 */
BELAY_API int belay_jobs_cancel_batch(belay_jobs *jobs, uint64_t batch, uint64_t *ret_canceled,
                                      uint64_t *ret_told);

/*
 * belay_jobs_retry: a failed, canceled or skipped job is tried again, from zero, under its number.
 * ret_seq: that number; may be NULL.
 * Errors: BELAY_EINVAL, BELAY_ENOENT, BELAY_EEXIST (a live job has its id), BELAY_ETOOLATE (it is
 *         live, done or superseded), then those of the store.
 */
BELAY_API int belay_jobs_retry(belay_jobs *jobs, const belay_jobs_ref *job, uint64_t *ret_seq);

/*
 * belay_jobs_retry_all: the same for the failed jobs of a batch, of the whole store for 0: up to
 * 10,000 a call. ret_count: how many; may be NULL. Errors: BELAY_EINVAL, then those of the store.
 */
BELAY_API int belay_jobs_retry_all(belay_jobs *jobs, uint64_t batch, uint64_t *ret_count);

/* What can be paused. What runs goes on; nothing more of it is claimed. */
enum {
    BELAY_JOBS_PAUSE_JOB = 1, /* `job` */
    BELAY_JOBS_PAUSE_QUEUE,   /* `name`, made when missing */
    BELAY_JOBS_PAUSE_LIMIT,   /* `name` */
    BELAY_JOBS_PAUSE_STORE    /* all */
};

/*
 * belay_jobs_pause: nothing more of it is claimed until belay_jobs_unpause.
 * job: NULL unless it is a job; name: empty unless it is a queue or a limit.
 * Errors: BELAY_EINVAL, BELAY_ENOENT, BELAY_ETOOLATE (the job has ended), then those of the store.
 */
BELAY_API int belay_jobs_pause(belay_jobs *jobs, int what, const belay_jobs_ref *job,
                               belay_bytes name);
BELAY_API int belay_jobs_unpause(belay_jobs *jobs, int what, const belay_jobs_ref *job,
                                 belay_bytes name);

/*
 * belay_jobs_limit: makes a limit of `capacity` permits, or changes its capacity: 1 to
 * BELAY_JOBS_PERMITS_MAX. Jobs that hold permits keep them. Of all processes together no more are
 * held, but for those held when the capacity was lowered [G-JOBS-5].
 * belay_jobs_queue: how many jobs of the queue may be claimed and running in all; 0: no bound.
 * Errors: BELAY_EINVAL, then those of the store.
 */
BELAY_API int belay_jobs_limit(belay_jobs *jobs, belay_bytes name, uint32_t capacity);
BELAY_API int belay_jobs_queue(belay_jobs *jobs, belay_bytes name, uint32_t running_max);

/*
 * Batches: jobs that belong together under a name.
 */

enum { BELAY_JOBS_BATCH_RESUME = 1, BELAY_JOBS_BATCH_FRESH = 2 };

/*
 * belay_jobs_batch_begin: begins a batch of that name. When an open one of the name has jobs that
 * have not ended well: EEXIST without a flag; with RESUME it is the batch; with FRESH its pending
 * jobs are canceled, it is closed, and a new one begins.
 * ret_row: a table with the batch, or with the one that is in the way; belay_jobs_table_free. Set
 *   with 0, EEXIST, ESTALE and EBUSY.
 * belay_jobs_batch_end: closes it; total: how many jobs it had, when that is known.
 * Errors: BELAY_EINVAL, BELAY_EEXIST, BELAY_ESTALE (RESUME, and its digest is another), BELAY_EBUSY
 *         (FRESH, and one of its jobs runs), then those of the store; of the end BELAY_ENOENT.
 */
BELAY_API int belay_jobs_batch_begin(belay_jobs *jobs, belay_bytes name, belay_bytes digest,
                                     uint32_t flags, belay_jobs_table **ret_row);
BELAY_API int belay_jobs_batch_end(belay_jobs *jobs, uint64_t batch, uint64_t total);

/*
 * Looking. What is given is of one moment of the store.
 */

/*
 * belay_jobs_list: the rows that the filter wants; NULL: all, by number.
 * belay_jobs_query: the row of one job, with everything filled in.
 * Give *ret_rows; belay_jobs_rows_free, which takes NULL too, ends it.
 * Errors: BELAY_EINVAL, BELAY_ENOENT (query), then those of the store.
 */
BELAY_API int belay_jobs_list(belay_jobs *jobs, const belay_jobs_filter *filter,
                              belay_jobs_rows **ret_rows);
BELAY_API int belay_jobs_query(belay_jobs *jobs, const belay_jobs_ref *job,
                               belay_jobs_rows **ret_rows);
BELAY_API void belay_jobs_rows_free(belay_jobs_rows *rows);

enum {
    BELAY_JOBS_SESSIONS = 1, /* those that are alive */
    BELAY_JOBS_LIMITS,
    BELAY_JOBS_QUEUES,
    BELAY_JOBS_SCHEDULES,
    BELAY_JOBS_BATCHES
};

/*
 * belay_jobs_list_table: all sessions, limits, queues, recurring jobs or batches.
 * Gives *ret_table; belay_jobs_table_free, which takes NULL too, ends it.
 * Errors: BELAY_EINVAL, then those of the store.
 */
BELAY_API int belay_jobs_list_table(belay_jobs *jobs, int which, belay_jobs_table **ret_table);
BELAY_API void belay_jobs_table_free(belay_jobs_table *table);

/* Numbers of a store. Those of the process count since its open. */
typedef struct belay_jobs_metrics {
    uint32_t size; /* sizeof(belay_jobs_metrics), set by the caller */
    uint32_t is_paused;
    uint64_t jobs[BELAY_JOBS_STATES]; /* by state */
    uint64_t quarantined, paused;
    uint64_t sessions;
    int64_t oldest_ready_ns; /* since when the longest waiting ready job is due; 0: none */
    int64_t next_run_at_ns;  /* of the first scheduled job; BELAY_FOREVER: none */
    uint64_t store_bytes, free_bytes, wal_bytes;
    uint64_t dropped;          /* of the process: results of runs that had lost their claim */
    uint64_t commits, grouped; /* of the process: transactions, and the requests in them */
    uint64_t claimed;          /* of the process: runs, with handlers or driven */
    uint64_t started;          /* of those: that were started */
    uint64_t given_back;       /* of those: that went back unstarted, or at a close */
    uint64_t held;             /* of those: that have not ended now */
} belay_jobs_metrics;

/*
 * belay_jobs_stats: the numbers of this moment. ret_metrics->size is set by the caller, and fields
 * beyond it are not written. Errors: BELAY_EINVAL, then those of the store.
 */
BELAY_API int belay_jobs_stats(belay_jobs *jobs, belay_jobs_metrics *ret_metrics);

/*
 * belay_jobs_state_name: "scheduled" and so on; "?" for a number that is no state.
 * Lends a constant string. Errors: none. Context: any thread, never blocks.
 */
BELAY_API const char *belay_jobs_state_name(uint32_t state);

/*
 * belay_jobs_wait: waits until the job has ended. An id is looked up once, at the call. Jobs of
 * processes that died meanwhile are given back.
 * ret_rows: its row, as of belay_jobs_query; may be NULL.
 * Errors: BELAY_EINVAL, BELAY_ENOENT, BELAY_EAGAIN (BELAY_NOW was asked for; or no descriptor),
 *         BELAY_ETIMEDOUT, then those of the store.
 */
BELAY_API int belay_jobs_wait(belay_jobs *jobs, const belay_jobs_ref *job, int64_t deadline_ns,
                              belay_jobs_rows **ret_rows);

/*
 * Watches. A watch is ready when any process has committed something that somebody may wait for: an
 * end, a job that is due, free permits, a cancel. Make it, look at the store, wait for it, look
 * again: nothing is missed in between.
 */

/*
 * belay_jobs_watch_create: gives *ret_watch; belay_jobs_watch_destroy, which takes NULL too, ends
 * it. Errors: BELAY_EINVAL, BELAY_ENOMEM, BELAY_EAGAIN (no descriptor).
 * belay_jobs_watch_fd: readable when the watch is ready; the caller only polls it. Lends it.
 * belay_jobs_watch_check: true when the watch was ready, which it is not any more. It also notices
 * what the descriptor missed, so a loop calls it at least every BELAY_JOBS_WATCH_PERIOD_NS.
 * Context: one thread at a time; never block but for reading the file.
 */
#define BELAY_JOBS_WATCH_PERIOD_NS INT64_C(500000000)
BELAY_API int belay_jobs_watch_create(belay_jobs *jobs, belay_jobs_watch **ret_watch);
BELAY_API void belay_jobs_watch_destroy(belay_jobs_watch *watch);
BELAY_API int belay_jobs_watch_fd(const belay_jobs_watch *watch);
BELAY_API bool belay_jobs_watch_check(belay_jobs_watch *watch);

/*
 * Care.
 */

typedef struct belay_jobs_gc_opts {
    uint32_t size;          /* sizeof(belay_jobs_gc_opts) */
    uint32_t jobs_max;      /* jobs of one call; default 10000 */
    int64_t keep_ns;        /* ended jobs younger than this stay; default 14 days */
    int64_t keep_failed_ns; /* failed ones: default 14 days */
} belay_jobs_gc_opts;
typedef struct belay_jobs_gc_result {
    uint64_t jobs, batches, sessions; /* removed */
    uint64_t bytes;                   /* given back to the file system */
    bool has_more;
} belay_jobs_gc_result;

/*
 * belay_jobs_gc: removes ended jobs whose time is over and that no live job needs, and gives free
 * pages back, in several transactions. opts and ret_result may be NULL.
 * belay_jobs_check: reads the whole store. Errors: BELAY_EINVAL, BELAY_EIO (check: it is damaged,
 *         or one of its rules does not hold: see belay_jobs_problem), then those of the store.
 */
BELAY_API int belay_jobs_gc(belay_jobs *jobs, const belay_jobs_gc_opts *opts,
                            belay_jobs_gc_result *ret_result);
BELAY_API int belay_jobs_check(belay_jobs *jobs);

#ifdef __cplusplus
}
#endif

#endif
