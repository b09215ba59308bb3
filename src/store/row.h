/*
 * row.h: the values that go into a store and come out of it. What is done with them: store.h.
 *
 * Most are the values that users see, under names of the store: belay/job_row.h says what they are.
 * The store does not look at a `size`: src/jobs does. A claim and a report are the store's own.
 */
#ifndef BLY_STORE_ROW_H
#define BLY_STORE_ROW_H

#include "belay/job.h"

#include <sys/types.h>

/* Bounds, checked by every call that takes such a value (BELAY_EINVAL). */
#define BLY_ID_MAX         BELAY_JOBS_ID_MAX
#define BLY_NAME_MAX       BELAY_JOBS_NAME_MAX
#define BLY_BYTES_MAX      BELAY_JOBS_BYTES_MAX
#define BLY_JOB_LIMITS_MAX BELAY_JOBS_LIMITS_MAX
#define BLY_JOB_AFTER_MAX  BELAY_JOBS_AFTER_MAX
#define BLY_ADD_MAX        BELAY_JOBS_ADD_MAX
#define BLY_PERMITS_MAX    BELAY_JOBS_PERMITS_MAX
#define BLY_TRIES_MAX      BELAY_JOBS_TRIES_MAX
#define BLY_LOST_MAX       BELAY_JOBS_LOST_MAX
#define BLY_QUEUES_MAX     BELAY_JOBS_QUEUES_MAX

typedef belay_bytes bly_bytes;

/* The bytes of a string literal or a C string. */
#define BLY_BYTES(text) ((bly_bytes){(text), __builtin_strlen(text)})

/* States of a job; docs/design/jobs.md has the moves. */
enum {
    BLY_JOB_SCHEDULED = BELAY_JOBS_SCHEDULED,
    BLY_JOB_READY = BELAY_JOBS_READY,
    BLY_JOB_CLAIMED = BELAY_JOBS_CLAIMED,
    BLY_JOB_RUNNING = BELAY_JOBS_RUNNING,
    BLY_JOB_WAITING = BELAY_JOBS_WAITING,
    BLY_JOB_PARKED = BELAY_JOBS_PARKED,
    BLY_JOB_DONE = BELAY_JOBS_DONE,
    BLY_JOB_FAILED = BELAY_JOBS_FAILED,
    BLY_JOB_CANCELED = BELAY_JOBS_CANCELED,
    BLY_JOB_SUPERSEDED = BELAY_JOBS_SUPERSEDED,
    BLY_JOB_SKIPPED = BELAY_JOBS_SKIPPED
};
#define BLY_JOB_IN(state) BELAY_JOBS_IN(state)
#define BLY_JOB_PENDING   BELAY_JOBS_IN_PENDING
#define BLY_JOB_LIVE      BELAY_JOBS_IN_LIVE

/* bly_job_state_name: "scheduled" and so on; "?" for a number that is no state. */
const char *bly_job_state_name(uint32_t state);

typedef belay_jobs_ref bly_job_ref;
typedef belay_jobs_want bly_want;
typedef belay_jobs_after bly_after;

/* What a recurring job's slots are. */
enum {
    BLY_SCHEDULE_NONE = BELAY_JOBS_ONCE,
    BLY_SCHEDULE_EVERY = BELAY_JOBS_EVERY,
    BLY_SCHEDULE_CRON = BELAY_JOBS_CRON
};
/* What becomes of slots that passed. */
enum {
    BLY_MISSED_ONCE = BELAY_JOBS_MISSED_ONCE,
    BLY_MISSED_SKIP = BELAY_JOBS_MISSED_SKIP,
    BLY_MISSED_ALL = BELAY_JOBS_MISSED_ALL
};
typedef belay_jobs_schedule bly_schedule;

/* Flags of a job. The first eight bits are stored. */
enum {
    BLY_NEW_AT = BELAY_JOBS_NEW_AT,
    BLY_NEW_LOST_FAIL = BELAY_JOBS_NEW_LOST_FAIL,
    BLY_NEW_STOP_ON_FAILURE = BELAY_JOBS_NEW_STOP_ON_FAILURE,
    BLY_NEW_REPLACE = BELAY_JOBS_NEW_REPLACE,
    BLY_NEW_PAUSED = BELAY_JOBS_NEW_PAUSED
};

typedef belay_jobs_payload bly_work; /* the store never looks at it */
typedef belay_jobs_new bly_new_job;  /* its queue, when empty, is "default" to the store */

/* What adding a job came to. */
enum {
    BLY_ADDED = BELAY_JOBS_ADDED,
    BLY_ADDED_SAME = BELAY_JOBS_ADDED_SAME,
    BLY_ADDED_REPLACED = BELAY_JOBS_ADDED_REPLACED,
    BLY_ADDED_BEHIND = BELAY_JOBS_ADDED_BEHIND,
    BLY_ADDED_SKIPPED = BELAY_JOBS_ADDED_SKIPPED
};
typedef belay_jobs_added bly_added;
typedef belay_jobs_key bly_add_key;

/* A job that a session has claimed. Its memory, and that of all its bytes, is one block. */
typedef struct bly_claimed {
    uint64_t seq;
    uint64_t token;   /* names this claim, in this store never used again, rising: the fence */
    uint32_t attempt; /* the number of this run, 1 for the first; failed and lost runs count */
    uint32_t tries;   /* runs that may fail */
    uint32_t tried;   /* runs that have failed */
    int32_t priority;
    uint32_t missed; /* slots that passed before this one without a run */
    int64_t slot_ns; /* of a schedule; 0 otherwise */
    int64_t run_at_ns;
    int64_t timeout_ns;
    uint64_t batch, batch_row;
    bly_bytes id, queue; /* of a schedule's run: the schedule's id */
    bly_work work;
    struct bly_claimed *next; /* for whoever has it */
} bly_claimed;

/* bly_claimed_free: takes the block back; NULL is allowed. Any thread. */
void bly_claimed_free(bly_claimed *claimed);

/* How a run ended. */
enum {
    BLY_END_NONE = BELAY_JOBS_HOW_NONE,
    BLY_END_EXITED = BELAY_JOBS_HOW_EXITED,
    BLY_END_SIGNALED = BELAY_JOBS_HOW_SIGNALED,
    BLY_END_TIMED_OUT = BELAY_JOBS_HOW_TIMED_OUT,
    BLY_END_NOT_RUNNABLE = BELAY_JOBS_HOW_NOT_RUNNABLE,
    BLY_END_LOST = BELAY_JOBS_HOW_LOST,
    BLY_END_CANCELED = BELAY_JOBS_HOW_CANCELED,
    BLY_END_REPLACED = BELAY_JOBS_HOW_REPLACED,
    BLY_END_NEED = BELAY_JOBS_HOW_NEED,
    BLY_END_MISSED = BELAY_JOBS_HOW_MISSED
};

/* What to do with a claimed or running job. */
enum {
    BLY_DO_DONE = BELAY_RUN_DONE, /* running → done */
    BLY_DO_FAIL = BELAY_RUN_FAIL, /* running → scheduled while it has tries, else failed */
    BLY_DO_FAIL_NOW = BELAY_RUN_FAIL_NOW, /* running → failed */
    BLY_DO_CANCELED = BELAY_RUN_CANCELED, /* running → canceled: it ended because it was told to */
    BLY_DO_GIVE_BACK = BELAY_RUN_GIVE_BACK /* claimed → ready; running → ready, as if not run */
};

/*
 * A report on a claimed job: the caller's storage from bly_store_end until `reported` is called.
 * reported: on a thread of the store, under no lock; result 0, BELAY_ESTALE when the claim is lost
 *   (the result was dropped and counted), BELAY_ECLOSED or BELAY_EIO when it could not be stored
 *   before the store was closed. May call bly_store_end and nothing else of the store.
 */
typedef struct bly_end bly_end;
struct bly_end {
    uint64_t seq;
    uint64_t token;
    int what; /* BLY_DO_… */
    int how;  /* BLY_END_… */
    int64_t code;
    int64_t backoff_ns; /* BLY_DO_FAIL: instead of the job's own; 0: the job's own, with jitter */
    int64_t start_ns, end_ns; /* wall times; 0: as the store saw them */
    int64_t user_ns, system_ns;
    uint64_t rss_max_kib;
    bly_bytes result;                                      /* of a handler */
    bly_bytes message;                                     /* why, in words, for `show` */
    void (*reported)(bly_end *end, int result, void *arg); /* may be NULL */
    void *arg;
    bly_end *next; /* the store's */
    int outcome;   /* the store's */
};

/* Why a job is not running, for people. */
enum {
    BLY_WHY_NONE = BELAY_JOBS_WHY_NONE,
    BLY_WHY_AT = BELAY_JOBS_WHY_AT,
    BLY_WHY_RETRY = BELAY_JOBS_WHY_RETRY,
    BLY_WHY_AFTER = BELAY_JOBS_WHY_AFTER,
    BLY_WHY_LIMIT = BELAY_JOBS_WHY_LIMIT,
    BLY_WHY_TOO_BIG = BELAY_JOBS_WHY_TOO_BIG,
    BLY_WHY_PAUSED = BELAY_JOBS_WHY_PAUSED,
    BLY_WHY_QUEUE_PAUSED = BELAY_JOBS_WHY_QUEUE_PAUSED,
    BLY_WHY_LIMIT_PAUSED = BELAY_JOBS_WHY_LIMIT_PAUSED,
    BLY_WHY_STORE_PAUSED = BELAY_JOBS_WHY_STORE_PAUSED,
    BLY_WHY_QUEUE_MAX = BELAY_JOBS_WHY_QUEUE_MAX,
    BLY_WHY_NO_WORKER = BELAY_JOBS_WHY_NO_WORKER,
    BLY_WHY_BUSY = BELAY_JOBS_WHY_BUSY,
    BLY_WHY_UNREADABLE = BELAY_JOBS_WHY_UNREADABLE
};
#define BLY_WHY_HOLDERS BELAY_JOBS_WHY_HOLDERS

typedef belay_jobs_why bly_why;
typedef belay_jobs_row bly_row;
typedef belay_jobs_rows bly_rows;

/* bly_rows_free: takes the block back; NULL is allowed. Any thread. */
void bly_rows_free(bly_rows *rows);

/* Orders of a list, and what to fill in beside the short columns. */
enum {
    BLY_LIST_BY_SEQ = BELAY_JOBS_LIST_BY_SEQ,
    BLY_LIST_NEWEST = BELAY_JOBS_LIST_NEWEST,
    BLY_LIST_LAST_ENDED = BELAY_JOBS_LIST_LAST_ENDED
};
enum { BLY_LIST_WHY = BELAY_JOBS_LIST_WHY, BLY_LIST_WORK = BELAY_JOBS_LIST_WORK };
typedef belay_jobs_filter bly_query;

typedef belay_jobs_session_row bly_session_row;
typedef belay_jobs_limit_row bly_limit_row;
typedef belay_jobs_schedule_row bly_schedule_row;
typedef belay_jobs_batch_row bly_batch_row;
typedef belay_jobs_table bly_table;

/* bly_table_free: takes the block back; NULL is allowed. Any thread. */
void bly_table_free(bly_table *table);

typedef belay_jobs_metrics bly_store_stats; /* without what src/jobs counts */

#endif
