/*
 * store.h: where jobs live. A store keeps jobs, limits, schedules and sessions so that nothing that
 * was acknowledged is lost, whoever is killed whenever.
 *
 * Delivery is at least once: a job whose runner died runs again. Whoever works on a job names its
 * claim by (seq, token); every change that depends on the claim is refused (BELAY_ESTALE) when the
 * claim is another by then.
 *
 * The functions below check their arguments and call the store's table of operations,
 * bly_store_ops; SQLite stands behind it, and another database can. All may be called from any
 * thread, all but those said to be asynchronous block until the change is committed, and none holds
 * a transaction open when it returns. What is read is one moment of the store.
 *
 * Errors of every call that reaches the store, after those that it lists itself: BELAY_ENOMEM,
 * BELAY_EFULL (the disk is full), BELAY_EIO (it cannot be read or written), BELAY_ECLOSED. Then
 * nothing was changed, except that after an EIO of a commit it is not known whether it was:
 * calls with an add key and those that name a claim may be repeated. bly_store_problem says what
 * is wrong, in a sentence.
 *
 * fork: not while a store is open; the child would break its locks.
 */
#ifndef BLY_STORE_STORE_H
#define BLY_STORE_STORE_H

#include "belay/clock.h"
#include "store/row.h"

typedef struct bly_store bly_store;
typedef struct bly_store_watch bly_store_watch;

/* What is wrong with a store. */
enum {
    BLY_PROBLEM_NONE = BELAY_JOBS_PROBLEM_NONE,
    BLY_PROBLEM_UNSAFE = BELAY_JOBS_PROBLEM_UNSAFE,
    BLY_PROBLEM_SYMLINK = BELAY_JOBS_PROBLEM_SYMLINK,
    BLY_PROBLEM_NETWORK = BELAY_JOBS_PROBLEM_NETWORK,
    BLY_PROBLEM_FOREIGN = BELAY_JOBS_PROBLEM_FOREIGN,
    BLY_PROBLEM_NEWER = BELAY_JOBS_PROBLEM_NEWER,
    BLY_PROBLEM_DAMAGED = BELAY_JOBS_PROBLEM_DAMAGED,
    BLY_PROBLEM_READ_ONLY = BELAY_JOBS_PROBLEM_READ_ONLY,
    BLY_PROBLEM_DISK_FULL = BELAY_JOBS_PROBLEM_DISK_FULL,
    BLY_PROBLEM_IO = BELAY_JOBS_PROBLEM_IO,
    BLY_PROBLEM_SCHEME = BELAY_JOBS_PROBLEM_SCHEME
};
typedef belay_jobs_error bly_store_error;

/*
 * The slot after `slot_ns` of a schedule of kind BLY_SCHEDULE_CRON; BELAY_FOREVER ends it. Called
 * on a thread of the store inside a transaction: it computes and does nothing else.
 */
typedef belay_jobs_next_fn bly_store_next_fn;

typedef struct bly_store_opts {
    uint32_t size;
    bool is_read_only;       /* only reads; the store must exist */
    bool may_be_network;     /* the user says that locks hold there */
    belay_clock *clock;      /* its wall clock is the store's; default belay_clock_system() */
    bly_store_next_fn *next; /* NULL: cron schedules are refused, and not claimed */
    void *next_arg;
    int64_t window_ns; /* how long a result may wait for others to be committed with;
                                 default 2 ms */
    const char *vfs;   /* SQLite: name of the file layer below; NULL: its own. For tests */
} bly_store_opts;

/*
 * bly_store_open: opens the store at `url`, made when missing: a path, or "memory:" for one that
 * ends with the process. Gives *ret_store. Brings an older store up to date. opts may be NULL.
 * ret_error: what is wrong, when the result is not 0; may be NULL.
 * Errors: BELAY_EINVAL, BELAY_ENOENT (read only, and there is none), BELAY_ENOMEM, BELAY_EAGAIN (no
 * thread), BELAY_EFULL, BELAY_EIO (every other problem).
 */
int bly_store_open(const char *url, const bly_store_opts *opts, bly_store **ret_store,
                   bly_store_error *ret_error);

/*
 * bly_store_close: reports what was given to bly_store_end, waits at most until deadline_ns
 * (monotonic) for that, and frees everything. Reports that could not be stored get BELAY_ECLOSED.
 * Sessions of this process that have not ended are left for others to rescue. NULL is allowed. No
 * call of the store may be running, and its watches must be destroyed before.
 */
void bly_store_close(bly_store *store, int64_t deadline_ns);

/*
 * bly_store_problem: the last problem of the store; BLY_PROBLEM_NONE when its last commit worked.
 */
void bly_store_problem(bly_store *store, bly_store_error *ret_error);

/* bly_store_path: the store's file; "" for one in memory. Lends it until the close. */
const char *bly_store_path(const bly_store *store);

/*
 * Adding.
 */

/*
 * bly_store_add: adds `count` jobs, all or none, in this order. ret_added: an array of `count`.
 * key: names the call; one that was committed before, with the same key, gives what that gave, even
 *   if it came to an end since. NULL: not named.
 * ret_bad: the index of the job that was refused; may be NULL.
 * Errors: BELAY_EINVAL, BELAY_ENOENT (it is to run after a job that is not there, or of a batch
 *   that is not), BELAY_EEXIST (a live job of its id is different or runs; BLY_NEW_REPLACE is not
 *   set), BELAY_EDEADLK (it would run after itself), BELAY_ETOOBIG (more permits than the limit
 *   has), BELAY_EBUSY (a limit's capacity differs from what the job says).
 */
int bly_store_add(bly_store *store, const bly_new_job *jobs, uint32_t count, const bly_add_key *key,
                  bly_added *ret_added, uint32_t *ret_bad);

/* What may change of a pending job without its becoming another. */
typedef struct bly_edit {
    bool has_priority, has_run_at, has_timeout, has_tries, has_queue;
    int32_t priority;
    int64_t run_at_ns; /* 0: now */
    int64_t timeout_ns;
    uint32_t tries;
    bly_bytes queue;
} bly_edit;

/*
 * bly_store_edit: changes a pending job. Errors: BELAY_EINVAL, BELAY_ENOENT, BELAY_ETOOLATE
 * (claimed, running or ended).
 */
int bly_store_edit(bly_store *store, const bly_job_ref *job, const bly_edit *edit);

/*
 * Sessions: who works on jobs. A session is alive while its process is, by a lock that the kernel
 * keeps, not by a clock.
 */

/*
 * A live file: locked as long as one process has it open. Made before the store is opened and
 * before a keeper is forked, which is given `fd` to hold and hand to every job.
 */
typedef belay_jobs_live bly_live;

/*
 * bly_live_create: makes a live file beside the store at `url`, its folder too when missing.
 * Errors: BELAY_EINVAL, BELAY_EIO (errno). bly_live_destroy closes and removes it; the caller's
 * jobs have ended by then.
 */
int bly_live_create(const char *url, bly_live *ret_live, bly_store_error *ret_error);
void bly_live_destroy(const char *url, bly_live *live);

typedef struct bly_session_opts {
    uint32_t size;
    uint32_t slots;          /* jobs that it runs at once, for `stats`; default 1 */
    const bly_bytes *queues; /* those whose jobs it takes; NULL: "default" */
    uint32_t queue_count;    /* at most BLY_QUEUES_MAX */
    const bly_live *live;    /* what its jobs hold; NULL: it starts no processes */
} bly_session_opts;

/*
 * bly_store_session_begin: *ret_session is never 0 and never used again. Rescues the jobs of dead
 * sessions first. Errors: BELAY_EINVAL.
 * bly_store_session_end: claimed jobs go back, running ones of it count as lost. Errors:
 * BELAY_ENOENT.
 */
int bly_store_session_begin(bly_store *store, const bly_session_opts *opts, uint64_t *ret_session);
int bly_store_session_end(bly_store *store, uint64_t session);

/*
 * bly_store_rescue: for each session whose process is gone, kills what its jobs left behind, and
 * when that is over gives its jobs back: claimed ones are ready, running ones are lost.
 * ret_rescued: jobs; ret_pending: dead sessions whose processes have not ended yet (call again
 * soon). Everybody who waits for jobs calls it when it begins and then once a second; it costs a
 * lock call a session.
 */
int bly_store_rescue(bly_store *store, uint32_t *ret_rescued, uint32_t *ret_pending);

/*
 * Working.
 */

enum { BLY_CLAIM_START = 1 }; /* flags: the jobs are marked as started in the same transaction */

typedef struct bly_claim_result {
    bly_claimed *first;     /* a list, in order; each freed by bly_claimed_free */
    uint32_t count;         /* in it */
    bool has_more;          /* call again: there may be more that this call did not look at */
    int64_t next_run_at_ns; /* when the next scheduled job is due; BELAY_FOREVER: none */
} bly_claim_result;

/*
 * bly_store_claim: claims up to `max` (1 to 1000) due jobs of the session's queues, best first: the
 * highest priority, then the earliest run_at, then the lowest seq. Never waits for a limit.
 * Errors: BELAY_EINVAL, BELAY_ESTALE (the session has ended or was taken for dead).
 */
int bly_store_claim(bly_store *store, uint64_t session, uint32_t max, uint32_t flags,
                    bly_claim_result *ret_result);

/*
 * bly_store_claim_one: claims that job, or says why not. For `belay with` and `belay run`, whose
 * jobs are for one session alone.
 * Errors: BELAY_EINVAL, BELAY_ENOENT, BELAY_ESTALE (session), BELAY_ETOOLATE (it is claimed, runs
 * or has ended), BELAY_EAGAIN (not due, waiting or parked for a limit: again when the watch is
 * ready).
 */
int bly_store_claim_one(bly_store *store, uint64_t session, uint64_t seq, uint32_t flags,
                        bly_claimed **ret_claimed);

/*
 * bly_store_take: puts up a request for permits, for `belay with`: a job of `session` in a queue
 * that no session claims from, with wants, id, priority and work of `job` (all else is ignored).
 * Permits are held from the bly_store_claim_one that succeeds until bly_store_end; bly_store_cancel
 * takes the request back; the end of the session does both. Errors: as bly_store_add; BELAY_ESTALE.
 */
int bly_store_take(bly_store *store, uint64_t session, const bly_new_job *job, uint64_t *ret_seq);

/* A claim, as a name. */
typedef struct bly_claim_ref {
    uint64_t seq, token;
    int result; /* set by the call: 0, BELAY_ESTALE, BELAY_ECANCELED */
} bly_claim_ref;

/*
 * bly_store_start: claimed → running, the try counted, for each of `count` claims; start no job
 * whose `result` is not 0. Errors: none of its own.
 */
int bly_store_start(bly_store *store, bly_claim_ref *claims, uint32_t count);

/*
 * bly_store_end: asynchronous: takes the report and returns; `end->reported` is called when it is
 * committed, after at most window_ns and one commit, or, while the store cannot be written, when it
 * can. Errors: none.
 */
void bly_store_end(bly_store *store, bly_end *end);

/*
 * bly_store_flush: returns when each report taken before the call was committed and `reported` has
 * returned. deadline_ns: monotonic. Errors: BELAY_ETIMEDOUT.
 */
int bly_store_flush(bly_store *store, int64_t deadline_ns);

/*
 * bly_store_orders: running and claimed jobs of the session that somebody wants to end, up to
 * `max`; look when the watch is ready. A claim that was lost altogether is among them, with result
 * ESTALE, when it stands in `held`, the claims that the caller has. Errors: none of its own.
 */
int bly_store_orders(bly_store *store, uint64_t session, const bly_claim_ref *held,
                     uint32_t held_count, bly_claim_ref *ret_orders, uint32_t max,
                     uint32_t *ret_count);

/*
 * Control of jobs that are there.
 */

/*
 * bly_store_cancel: a pending job is canceled and 0 returned; a running one is told, which its
 * session sees in bly_store_orders, and BELAY_STILL_RUNNING returned. For the id or a run of a
 * schedule, the schedule ends as well. Errors: BELAY_ENOENT, BELAY_ETOOLATE (it has ended).
 */
int bly_store_cancel(bly_store *store, const bly_job_ref *job);

/* bly_store_cancel_batch: the same for every live job of a batch; counts of both. */
int bly_store_cancel_batch(bly_store *store, uint64_t batch, uint64_t *ret_canceled,
                           uint64_t *ret_told);

/*
 * bly_store_retry: a failed, canceled or skipped job is tried again, from zero. ret_seq: the job,
 * which keeps its number. Errors: BELAY_ENOENT, BELAY_EEXIST (a live job has its id),
 * BELAY_ETOOLATE (it is live, done or superseded).
 */
int bly_store_retry(bly_store *store, const bly_job_ref *job, uint64_t *ret_seq);

/*
 * bly_store_retry_all: the same for every failed job of a batch (0: of the store), up to 10,000 a
 * call; ret_count: how many.
 */
int bly_store_retry_all(bly_store *store, uint64_t batch, uint64_t *ret_count);

/* What can be paused. Paused work goes on running where it runs; nothing more is claimed. */
enum { BLY_PAUSE_JOB = 1, BLY_PAUSE_QUEUE, BLY_PAUSE_LIMIT, BLY_PAUSE_STORE };
/*
 * bly_store_pause, bly_store_unpause: `name` of a queue or limit, which is made when missing (a
 * limit: ENOENT); `job` of a job. Errors: BELAY_EINVAL, BELAY_ENOENT, BELAY_ETOOLATE (an ended
 * job).
 */
int bly_store_pause(bly_store *store, int what, const bly_job_ref *job, bly_bytes name);
int bly_store_unpause(bly_store *store, int what, const bly_job_ref *job, bly_bytes name);

/* bly_store_limit: makes the limit or sets its capacity, 1 to BLY_PERMITS_MAX. BELAY_EINVAL. */
int bly_store_limit(bly_store *store, bly_bytes name, uint32_t capacity);

/* bly_store_queue: how many jobs of the queue may be claimed and running in all; 0: no bound. */
int bly_store_queue(bly_store *store, bly_bytes name, uint32_t running_max);

/*
 * Batches.
 */

enum { BLY_BATCH_RESUME = 1, BLY_BATCH_FRESH = 2 };
/*
 * bly_store_batch_begin: a batch of that name. An open one of the name with jobs that have not
 * ended well: BELAY_EEXIST without a flag; with RESUME it is the batch (BELAY_ESTALE when its
 * digest is another); with FRESH its pending jobs are canceled, it is closed, and a new one begins
 * (BELAY_EBUSY while one of its jobs runs). ret_row: the batch, or the one that is in the way;
 * freed by bly_table_free; set with 0, EEXIST, ESTALE and EBUSY.
 * bly_store_batch_end: closes it; `total` as known by then. Errors: BELAY_ENOENT.
 */
int bly_store_batch_begin(bly_store *store, bly_bytes name, bly_bytes digest, uint32_t flags,
                          bly_table **ret_row);
int bly_store_batch_end(bly_store *store, uint64_t batch, uint64_t total);

/*
 * Looking. Each gives a block that one call frees.
 */

/* bly_store_list: the rows that the query wants. Errors: BELAY_EINVAL. */
int bly_store_list(bly_store *store, const bly_query *query, bly_rows **ret_rows);

/* bly_store_find: the row of one job, with everything. Errors: BELAY_EINVAL, BELAY_ENOENT. */
int bly_store_find(bly_store *store, const bly_job_ref *job, bly_rows **ret_rows);

/* bly_store_table: sessions that are alive, limits, queues, schedules, or batches, all of them. */
enum {
    BLY_TABLE_SESSIONS = 1,
    BLY_TABLE_LIMITS,
    BLY_TABLE_QUEUES,
    BLY_TABLE_SCHEDULES,
    BLY_TABLE_BATCHES
};
int bly_store_table(bly_store *store, int which, bly_table **ret_table);

int bly_store_stats_get(bly_store *store, bly_store_stats *ret_stats);

/*
 * Watching. A watch is ready when something has been committed, by whatever process, that somebody
 * may wait for: an end, a job that is due, free permits, an order. Make it, look at the store,
 * wait, look again: nothing is missed in between.
 */

/* bly_store_watch_create: gives *ret_watch. Errors: BELAY_ENOMEM, BELAY_EAGAIN (no descriptor). */
int bly_store_watch_create(bly_store *store, bly_store_watch **ret_watch);
void bly_store_watch_destroy(bly_store_watch *watch);

/* bly_store_watch_fd: readable when the watch is ready; for poll and epoll. Lends it. */
int bly_store_watch_fd(const bly_store_watch *watch);

/*
 * bly_store_watch_check: true when the watch was ready, which it is not any more. Also notices what
 * its descriptor missed, so an event loop calls it every BLY_WATCH_PERIOD_NS at the latest.
 * bly_store_watch_wait: waits for that. Errors: BELAY_ETIMEDOUT.
 */
#define BLY_WATCH_PERIOD_NS INT64_C(500000000)
bool bly_store_watch_check(bly_store_watch *watch);
int bly_store_watch_wait(bly_store_watch *watch, int64_t deadline_ns);

/*
 * Care.
 */

typedef belay_jobs_gc_opts bly_gc_opts;
typedef belay_jobs_gc_result bly_gc_result;

/*
 * bly_store_gc: removes ended jobs whose time is over and that no live job needs, and gives free
 * pages back. In several transactions, so that others get their turn. Errors: BELAY_EINVAL.
 */
int bly_store_gc(bly_store *store, const bly_gc_opts *opts, bly_gc_result *ret_result);

/*
 * bly_store_check: reads the whole store; BELAY_EIO, and bly_store_problem, when it is damaged or
 * one of its own rules does not hold.
 */
int bly_store_check(bly_store *store);

/*
 * What a kind of store provides. The functions above check arguments, then call these, which have
 * the same contracts. `store` is the body's own, whose first member is the bly_store.
 */
typedef struct bly_store_ops {
    void (*close)(bly_store *store, int64_t deadline_ns);
    void (*problem)(bly_store *store, bly_store_error *ret_error);
    const char *(*path)(const bly_store *store);
    int (*add)(bly_store *store, const bly_new_job *jobs, uint32_t count, const bly_add_key *key,
               bly_added *ret_added, uint32_t *ret_bad);
    int (*edit)(bly_store *store, const bly_job_ref *job, const bly_edit *edit);
    int (*session_begin)(bly_store *store, const bly_session_opts *opts, uint64_t *ret_session);
    int (*session_end)(bly_store *store, uint64_t session);
    int (*rescue)(bly_store *store, uint32_t *ret_rescued, uint32_t *ret_pending);
    int (*claim)(bly_store *store, uint64_t session, uint32_t max, uint32_t flags,
                 bly_claim_result *ret_result);
    int (*claim_one)(bly_store *store, uint64_t session, uint64_t seq, uint32_t flags,
                     bly_claimed **ret_claimed);
    int (*take)(bly_store *store, uint64_t session, const bly_new_job *job, uint64_t *ret_seq);
    int (*start)(bly_store *store, bly_claim_ref *claims, uint32_t count);
    void (*end)(bly_store *store, bly_end *end);
    int (*flush)(bly_store *store, int64_t deadline_ns);
    int (*orders)(bly_store *store, uint64_t session, const bly_claim_ref *held,
                  uint32_t held_count, bly_claim_ref *ret_orders, uint32_t max,
                  uint32_t *ret_count);
    int (*cancel)(bly_store *store, const bly_job_ref *job);
    int (*cancel_batch)(bly_store *store, uint64_t batch, uint64_t *ret_canceled,
                        uint64_t *ret_told);
    int (*retry)(bly_store *store, const bly_job_ref *job, uint64_t *ret_seq);
    int (*retry_all)(bly_store *store, uint64_t batch, uint64_t *ret_count);
    int (*pause)(bly_store *store, int what, const bly_job_ref *job, bly_bytes name, bool on);
    int (*limit)(bly_store *store, bly_bytes name, uint32_t capacity);
    int (*queue)(bly_store *store, bly_bytes name, uint32_t running_max);
    int (*batch_begin)(bly_store *store, bly_bytes name, bly_bytes digest, uint32_t flags,
                       bly_table **ret_row);
    int (*batch_end)(bly_store *store, uint64_t batch, uint64_t total);
    int (*list)(bly_store *store, const bly_query *query, bly_rows **ret_rows);
    int (*find)(bly_store *store, const bly_job_ref *job, bly_rows **ret_rows);
    int (*table)(bly_store *store, int which, bly_table **ret_table);
    int (*stats)(bly_store *store, bly_store_stats *ret_stats);
    int (*watch_create)(bly_store *store, bly_store_watch **ret_watch);
    void (*watch_destroy)(bly_store_watch *watch);
    int (*watch_fd)(const bly_store_watch *watch);
    bool (*watch_check)(bly_store_watch *watch);
    int (*watch_wait)(bly_store_watch *watch, int64_t deadline_ns);
    int (*gc)(bly_store *store, const bly_gc_opts *opts, bly_gc_result *ret_result);
    int (*check)(bly_store *store);
} bly_store_ops;

struct bly_store {
    const bly_store_ops *ops; /* constant */
};

struct bly_store_watch {
    const bly_store_ops *ops; /* constant */
};

#endif
