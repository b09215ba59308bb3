/*
 * sqlite_int.h: the SQLite body of the store: what its files share.
 *
 * Who uses what: the writer connection belongs to the committer, the one thread of a store that
 * writes; others hand it requests. The reader connection belongs to whoever holds the baton.
 */
#ifndef BLY_STORE_SQLITE_INT_H
#define BLY_STORE_SQLITE_INT_H

#include "base/assert.h"
#include "base/list.h"
#include "base/state.h"
#include "store/sql_int.h"
#include "store/store.h"
#include "sync/sync.h"

#include <assert.h>

#define BLY_SCHEMA_VERSION   1
#define BLY_APPLICATION_ID   0x62656c79 /* "bely", in the header of each store */
#define BLY_PAGE_BYTES       4096u      /* of the file, as open.c makes it */
#define BLY_CHECKPOINT_BYTES (8u << 20) /* of the WAL: past this it is written back */
#define BLY_PATH_MAX         4096u
#define BLY_STORE_PATH_MAX   4000u /* of the store's file: what stands beside it is longer */
#define BLY_TOKEN_BLOCK      1000  /* tokens that are reserved at once */

/* Marks in the column `hold`. */
enum { BLY_HOLD_PAUSED = 1, BLY_HOLD_QUARANTINED = 2 };

typedef struct bly_sqlite bly_sqlite;

/* A transaction, or a moment that is read. */
typedef struct bly_tx {
    bly_sqlite *store;
    bly_conn *conn;
    int64_t now_ns;
    bool rings;      /* others may wait for what it changed */
    bool is_durable; /* synced before it is acknowledged */
    uint64_t *ended; /* jobs that ended, whose dependents are still to be looked at */
    size_t ended_count, ended_room;
    bool is_resolving;
} bly_tx;

/* Something to do in a transaction; 0 or a positive result: keep what it did. */
typedef int bly_tx_fn(bly_tx *tx, void *arg);

/* A request to the committer: on the caller's stack until it is done. */
typedef struct bly_request {
    bly_tx_fn *fn;
    void *arg;
    bool is_durable;
    int result;
    uint32_t done; /* atomic: the committer sets it to 1, the caller waits */
    struct bly_request *next;
} bly_request;

struct bly_sqlite {
    bly_store base; /* first: a bly_store is one of these */
    /* Constant after open. */
    bool is_memory, is_read_only;
    char path[BLY_STORE_PATH_MAX]; /* of the store's file, in a folder without symbolic links */
    char boot[64];                 /* of the machine */
    belay_clock *clock;
    bly_store_next_fn *next_fn;
    void *next_arg;
    int64_t window_ns;
    const char *vfs;
    int lock_fd; /* beside the store; an flock on it is the right to write */
    int bell_fd; /* beside the store; written to after each commit that others may wait for */

    /* The committer's. */
    bly_conn writer;
    int synchronous;    /* what the writer was set to: 1 NORMAL, 2 FULL */
    uint64_t wal_bytes; /* atomic: the committer writes, others read */
    bool was_idle;
    bly_thread committer;

    /* The baton's. */
    uint32_t baton; /* atomic: 0 free, 1 held, 2 held and waited for */
    bly_conn reader;
    bly_list watches; /* of a memory store */

    /* The mutex's. */
    bly_mutex mutex;
    bly_request *first, **last; /* requests */
    bly_end *end_first, **end_last;
    int64_t end_due_ns; /* monotonic: when the oldest report must be committed */
    uint64_t ends_taken, ends_reported;
    bool is_flushing, is_closing;
    int64_t close_ns; /* monotonic: when the committer gives up on reports */
    bly_store_error error;
    uint64_t dropped, commits, grouped;
    struct own_lock *locks; /* of the sessions begun here; session.c */

    uint32_t work;     /* atomic: raised when the committer has something new to look at */
    uint32_t reported; /* atomic: raised when reports have been made */
};

#define BLY_SQLITE(store) bly_container(store, bly_sqlite, base)

extern const bly_store_ops bly_sqlite_ops;

/* schema.c */
int bly_schema_migrate(bly_conn *conn, int64_t version);

/* open.c */
int bly_sqlite_open(const char *path, const bly_store_opts *opts, bly_store **ret_store,
                    bly_store_error *ret_error);
void bly_sqlite_close(bly_store *store, int64_t deadline_ns);
int bly_conn_open(bly_sqlite *store, bly_conn *conn, bool is_writer, bly_store_error *ret_error);

/* files.c */
int bly_files_prepare(bly_sqlite *store, const char *path, bool may_be_network,
                      bly_store_error *ret_error);
int bly_files_locate(const char *path, char *ret_path, bly_store_error *ret_error);
int bly_files_open(const char *path, int flags, bly_store_error *ret_error);
int bly_files_folder(const char *path, bly_store_error *ret_error);
void bly_files_boot(char *ret_boot, size_t size);

/* problem.c */
int bly_problem(bly_store_error *ret_error, int problem, int detail, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void bly_problem_of_conn(const bly_sqlite *store, const bly_conn *conn, bly_store_error *ret_error);
void bly_sqlite_problem(bly_store *store, bly_store_error *ret_error);

/* commit.c */
int bly_commit_start(bly_sqlite *store);
void bly_commit_stop(bly_sqlite *store, int64_t deadline_ns);

/*
 * bly_commit: lets the committer call fn in a transaction, and returns when that is committed; what
 * fn returned, or why it could not be committed. is_durable: synced before.
 * Context: any thread but the committer; blocks.
 */
int bly_commit(bly_sqlite *store, bly_tx_fn *fn, void *arg, bool is_durable);
void bly_commit_end(bly_store *store, bly_end *end);
int bly_commit_flush(bly_store *store, int64_t deadline_ns);

/* bly_writer_lock: the right to write, over all processes. Errors: BELAY_EIO. Blocks. */
int bly_writer_lock(bly_sqlite *store);
void bly_writer_unlock(bly_sqlite *store);

/* read.c */

/* bly_read_tx: calls fn in one moment of the store, for reading; returns what fn returned. */
int bly_read_tx(bly_sqlite *store, bly_tx_fn *fn, void *arg);

/* bly_now: wall time, of the store's clock. */
int64_t bly_now(bly_sqlite *store);

int bly_reader(bly_sqlite *store, bly_conn **ret_conn); /* for the baton's holder */
void bly_baton_take(bly_sqlite *store);
void bly_baton_give(bly_sqlite *store);

/* bell.c */
void bly_bell_ring(bly_sqlite *store);
int bly_sqlite_watch_create(bly_store *store, bly_store_watch **ret_watch);
void bly_sqlite_watch_destroy(bly_store_watch *watch);
int bly_sqlite_watch_fd(const bly_store_watch *watch);
bool bly_sqlite_watch_check(bly_store_watch *watch);
int bly_sqlite_watch_wait(bly_store_watch *watch, int64_t deadline_ns);

/* job.c: the row of a job, and its moves. */
typedef struct bly_job {
    uint64_t seq;
    bool has_id;
    uint64_t queue;
    uint32_t state, hold, flags;
    int32_t priority;
    int64_t run_at, added_at, start_at, ended_at, timeout;
    uint32_t tries, tried, lost, lost_max, runs;
    int64_t backoff, backoff_max;
    uint64_t token, session, owner, parked_on;
    uint32_t wants, waits;
    uint64_t batch, schedule;
    int64_t slot, missed;
    uint32_t cancel;
    int how;
    int64_t code, user_time, system_time, rss_max;
    uint64_t replaced_by, need;
} bly_job;

/* The columns of bly_job_read, in its order; `t` is "" or the table with a dot. */
#define BLY_JOB_COLUMNS_OF(t)                                                                      \
    t "seq, " t "id IS NOT NULL, " t "queue, " t "state, " t "hold, " t "flags, " t "priority, " t \
      "run_at, " t "added_at, " t "start_at, " t "ended_at, " t "timeout, " t "tries, " t          \
      "tried, " t "lost, " t "lost_max, " t "runs, " t "backoff, " t "backoff_max, " t "token, " t \
      "session, " t "owner, " t "parked_on, " t "wants, " t "waits, " t "batch, " t "schedule, " t \
      "slot, " t "missed, " t "cancel, " t "how, " t "code, " t "user_time, " t "system_time, " t  \
      "rss_max, " t "replaced_by, " t "need"
#define BLY_JOB_COLUMNS      BLY_JOB_COLUMNS_OF("")
#define BLY_JOB_COLUMN_COUNT 37

void bly_job_read(const bly_cursor *cursor, bly_job *ret_job);

/*
 * bly_job_load: the job of that number; bly_job_resolve: the one that is meant, of an id the newest
 * live one, else the newest. Errors: BELAY_ENOENT.
 */
int bly_job_load(bly_tx *tx, uint64_t seq, bly_job *ret_job);
int bly_job_resolve(bly_tx *tx, const bly_job_ref *ref, bly_job *ret_job);

/*
 * bly_job_save: writes what may change of a job. bly_job_move writes it in another state too, and
 * does what belongs to that: permits are held or given up, and whoever waits for them, or for the
 * end of the job, moves. bly_job_move_through: two moves as one. The table of job.c has the moves.
 */
int bly_job_save(bly_tx *tx, const bly_job *job);
int bly_job_move(bly_tx *tx, bly_job *job, uint32_t to);
int bly_job_move_through(bly_tx *tx, bly_job *job, uint32_t via, uint32_t to);

/* bly_job_end: moves the job to its end; a schedule that is to end with a failure does. */
int bly_job_end(bly_tx *tx, bly_job *job, uint32_t to, int how, int64_t code);

/* bly_job_pending_state: waiting, scheduled or ready, by what it waits for and its time. */
uint32_t bly_job_pending_state(const bly_tx *tx, const bly_job *job);

/*
 * bly_job_again: a job whose run is over or was given back is to run again: it moves to `to`,
 * unless it was canceled or a newer version of its id waits, which end it.
 */
int bly_job_again(bly_tx *tx, bly_job *job, uint32_t to);

/* limits.c */

/*
 * bly_limits_want: the limits of a job to add, made where they are missing. ret_ids: one a want.
 * Errors: BELAY_EINVAL (a limit twice), BELAY_EBUSY (another capacity), BELAY_ETOOBIG.
 */
int bly_limits_want(bly_tx *tx, const bly_want *wants, uint32_t count, uint64_t *ret_ids);

/* bly_limits_try: may the job have its permits? *ret_blocker: a limit without room; 0: it may. */
int bly_limits_try(bly_tx *tx, const bly_job *job, uint64_t *ret_blocker);

/* bly_limits_freed, bly_limit_freed: the limits of the job, the limit, may have room for others. */
int bly_limits_freed(bly_tx *tx, const bly_job *job);
int bly_limit_freed(bly_tx *tx, uint64_t limit);

/* bly_limits_unpark_queue: makes all parked jobs of the queue ready. */
int bly_limits_unpark_queue(bly_tx *tx, uint64_t queue);

/* bly_limit_used: the permits that are held. */
int bly_limit_used(bly_tx *tx, uint64_t limit, int64_t *ret_used);
int bly_sqlite_limit(bly_store *store, bly_bytes name, uint32_t capacity);

/* bly_queue_id: the queue of that name, "default" for an empty one; made where it is missing. */
int bly_queue_id(bly_tx *tx, bly_bytes name, uint64_t *ret_queue);
int bly_sqlite_queue(bly_store *store, bly_bytes name, uint32_t running_max);
int bly_sqlite_pause(bly_store *store, int what, const bly_job_ref *job, bly_bytes name, bool on);

/* deps.c */

/*
 * bly_deps_add: the jobs that a new one runs after; old: the job whose place it takes, 0: none.
 * Sets job->need when one of them has ended, and not as asked.
 * Errors: BELAY_ENOENT, BELAY_EDEADLK (it would run after itself).
 */
int bly_deps_add(bly_tx *tx, bly_job *job, const bly_after *after, uint32_t count, uint64_t old);

/* bly_deps_wait_for: one row, without a look at either job. bly_deps_count: rows not met. */
int bly_deps_wait_for(bly_tx *tx, uint64_t seq, uint64_t need, bool is_any);
int bly_deps_count(bly_tx *tx, uint64_t seq, uint32_t *ret_waits);

/* bly_deps_follow: whoever waits for the old job waits for the new one. */
int bly_deps_follow(bly_tx *tx, uint64_t old, uint64_t seq);

/* bly_deps_ended: the job has ended: its dependents lose a wait or are skipped. */
int bly_deps_ended(bly_tx *tx, const bly_job *job);

/* add.c, same.c */
int bly_sqlite_add(bly_store *store, const bly_new_job *jobs, uint32_t count,
                   const bly_add_key *key, bly_added *ret_added, uint32_t *ret_bad);
int bly_add_one(bly_tx *tx, const bly_new_job *spec, uint64_t owner, bly_added *ret_added);
int bly_same(bly_tx *tx, const bly_job *job, const bly_new_job *spec, bool *ret_same);

/* claim.c */
int bly_sqlite_claim(bly_store *store, uint64_t session, uint32_t max, uint32_t flags,
                     bly_claim_result *ret_result);
int bly_sqlite_claim_one(bly_store *store, uint64_t session, uint64_t seq, uint32_t flags,
                         bly_claimed **ret_claimed);
int bly_sqlite_take(bly_store *store, uint64_t session, const bly_new_job *job, uint64_t *ret_seq);
int bly_sqlite_start(bly_store *store, bly_claim_ref *claims, uint32_t count);
int bly_sqlite_orders(bly_store *store, uint64_t session, const bly_claim_ref *held,
                      uint32_t held_count, bly_claim_ref *ret_orders, uint32_t max,
                      uint32_t *ret_count);
int bly_token_take(bly_tx *tx, uint32_t count, uint64_t *ret_first);
int bly_claim_read(bly_tx *tx, const bly_job *job, bly_claimed **ret_claimed);

/* end.c */
int bly_end_apply(bly_tx *tx, bly_end *end);
int bly_end_lost(bly_tx *tx, bly_job *job);

/* schedule.c */
int bly_schedule_add(bly_tx *tx, const bly_new_job *spec, uint64_t *ret_schedule);
int bly_schedule_first(bly_tx *tx, const bly_new_job *spec, int64_t *ret_slot);
int64_t bly_schedule_start_of(const bly_schedule *rule, uint64_t id, int64_t slot);
int bly_schedule_settle(bly_tx *tx, bly_job *job, bool *ret_runs);
int bly_schedule_end(bly_tx *tx, uint64_t id);
int bly_schedule_stop(bly_tx *tx, uint64_t id);

/* session.c, live.c */
int bly_sqlite_session_begin(bly_store *store, const bly_session_opts *opts, uint64_t *ret_session);
int bly_sqlite_session_end(bly_store *store, uint64_t session);
int bly_sqlite_rescue(bly_store *store, uint32_t *ret_rescued, uint32_t *ret_pending);
int bly_session_check(bly_tx *tx, uint64_t session);
int bly_live_make(const char *store_path, const char *kind, bly_live *ret_live,
                  bly_store_error *ret_error);
void bly_session_forget(bly_sqlite *store);
int bly_live_path(const char *store_path, const char *name, char *ret_path);
void bly_live_sweep(bly_sqlite *store);
int64_t bly_live_start_of(pid_t pid);
int bly_live_kill_holders(int fd, uint32_t *ret_count);

/* owner.c */
int bly_sqlite_edit(bly_store *store, const bly_job_ref *job, const bly_edit *edit);
int bly_sqlite_cancel(bly_store *store, const bly_job_ref *job);
int bly_cancel_job(bly_tx *tx, bly_job *job);
int bly_sqlite_cancel_batch(bly_store *store, uint64_t batch, uint64_t *ret_canceled,
                            uint64_t *ret_told);
int bly_sqlite_retry(bly_store *store, const bly_job_ref *job, uint64_t *ret_seq);
int bly_sqlite_retry_all(bly_store *store, uint64_t batch, uint64_t *ret_count);

/* batch.c */
int bly_sqlite_batch_begin(bly_store *store, bly_bytes name, bly_bytes digest, uint32_t flags,
                           bly_table **ret_row);
int bly_sqlite_batch_end(bly_store *store, uint64_t batch, uint64_t total);

/* list.c, why.c, table.c */
int bly_sqlite_list(bly_store *store, const bly_query *query, bly_rows **ret_rows);
int bly_sqlite_find(bly_store *store, const bly_job_ref *job, bly_rows **ret_rows);
int bly_sqlite_table(bly_store *store, int which, bly_table **ret_table);
int bly_sqlite_stats(bly_store *store, bly_store_stats *ret_stats);

int bly_batch_table(bly_tx *tx, uint64_t batch, bly_table **ret_table);

/* gc.c */
int bly_sqlite_gc(bly_store *store, const bly_gc_opts *opts, bly_gc_result *ret_result);
int bly_sqlite_check(bly_store *store);

#endif
