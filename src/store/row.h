/*
 * row.h: the values that go into a store and come out of it. What is done with them: store.h.
 *
 * Bytes are never text to the store: commands, environments, results and names of users come back
 * as they were given. A bly_bytes that is given is borrowed for the call; one that is received
 * belongs to the block it came in and lives as long as that.
 *
 * All times are nanoseconds of the wall clock of the store (1970-01-01 UTC).
 */
#ifndef BLY_STORE_ROW_H
#define BLY_STORE_ROW_H

#include "belay/base.h"

#include <sys/types.h>

/* Bounds, checked by every call that takes such a value (BELAY_EINVAL). */
/* bytes of an id; 1 at least, no control character, not all digits */
#define BLY_ID_MAX   200u
#define BLY_NAME_MAX 200u /* bytes of the name of a queue, limit or handler; the same rules */
/* bytes of a command, environment, folder, detail or result */
#define BLY_BYTES_MAX      (8u << 20)
#define BLY_JOB_LIMITS_MAX 16u      /* limits of one job */
#define BLY_JOB_AFTER_MAX  64u      /* dependencies of one job */
#define BLY_ADD_MAX        10000u   /* jobs of one call of add */
#define BLY_PERMITS_MAX    1000000u /* permits of a job and capacity of a limit */
#define BLY_TRIES_MAX      1000000u
#define BLY_LOST_MAX       3u /* times that a job whose runner died is run again, unless it says */

typedef struct bly_bytes {
    const void *data; /* NULL only when len is 0 */
    size_t len;
} bly_bytes;

/* The bytes of a string literal or a C string. */
#define BLY_BYTES(text) ((bly_bytes){(text), __builtin_strlen(text)})

/* States of a job. The numbers stand in stores and never change; docs/design/jobs.md has the moves.
 */
enum {
    BLY_JOB_SCHEDULED = 1, /* its time has not come, or a retry waits for its back-off */
    BLY_JOB_READY,         /* may be claimed */
    BLY_JOB_CLAIMED,       /* a session has it and has not started it */
    BLY_JOB_RUNNING,       /* started: this try counts */
    BLY_JOB_WAITING,       /* for jobs that it is to run after */
    BLY_JOB_PARKED,        /* for permits of a limit */
    BLY_JOB_DONE,          /* ended, successfully */
    BLY_JOB_FAILED,        /* ended: tries or lost runs used up. The dead list */
    BLY_JOB_CANCELED,      /* ended: by its owner */
    BLY_JOB_SUPERSEDED,    /* ended before it started: a newer version of its id took its place */
    BLY_JOB_SKIPPED        /* ended: a job that it needed did not end well, or a slot was missed */
};
#define BLY_JOB_IN(state) (UINT32_C(1) << (state))
#define BLY_JOB_PENDING                                                                            \
    (BLY_JOB_IN(BLY_JOB_SCHEDULED) | BLY_JOB_IN(BLY_JOB_READY) | BLY_JOB_IN(BLY_JOB_CLAIMED) |     \
     BLY_JOB_IN(BLY_JOB_WAITING) | BLY_JOB_IN(BLY_JOB_PARKED))
#define BLY_JOB_LIVE (BLY_JOB_PENDING | BLY_JOB_IN(BLY_JOB_RUNNING))
#define BLY_JOB_ENDED                                                                              \
    (BLY_JOB_IN(BLY_JOB_DONE) | BLY_JOB_IN(BLY_JOB_FAILED) | BLY_JOB_IN(BLY_JOB_CANCELED) |        \
     BLY_JOB_IN(BLY_JOB_SUPERSEDED) | BLY_JOB_IN(BLY_JOB_SKIPPED))

/* bly_job_state_name: "scheduled" and so on; "?" for a number that is no state. */
const char *bly_job_state_name(uint32_t state);

/* A job by its number or its id. seq != 0 counts; otherwise the id. */
typedef struct bly_job_ref {
    uint64_t seq;
    bly_bytes id; /* the newest job of that id, live ones before ended ones */
} bly_job_ref;

/* A limit that a job needs while it is claimed and running. */
typedef struct bly_want {
    bly_bytes name;
    uint32_t permits;  /* default 1 */
    uint32_t capacity; /* of the limit; 0: as it is, 1 when the limit is new */
} bly_want;

/* A job to run after. */
typedef struct bly_after {
    bly_job_ref job;
    bool is_any; /* true: after its end, however it ended; false: after its success */
} bly_after;

/* What a recurring job's slots are. */
enum {
    BLY_SCHEDULE_NONE = 0,
    BLY_SCHEDULE_EVERY, /* period_ns apart, anchored at the first slot */
    BLY_SCHEDULE_CRON   /* of an expression, by the function in bly_store_opts.next */
};
/* What becomes of slots that passed. The numbers stand in stores. */
enum {
    BLY_MISSED_ONCE = 0, /* one run, which is told how many were missed */
    BLY_MISSED_SKIP,     /* none */
    BLY_MISSED_ALL       /* a run each, the newest missed_max of them */
};

typedef struct bly_schedule {
    uint32_t kind;
    uint32_t missed;
    uint32_t missed_max; /* BLY_MISSED_ALL: default 100 */
    int64_t late_max_ns; /* BLY_MISSED_SKIP: a slot later than this has passed; default 1 min */
    int64_t period_ns;
    int64_t jitter_ns; /* each run begins up to this much after its slot; a hash of id and slot */
    bly_bytes expr;    /* BLY_SCHEDULE_CRON */
    bly_bytes zone;    /* name of the time zone; empty: UTC */
} bly_schedule;

/* Flags of a job. The first eight bits are stored. */
enum {
    BLY_NEW_AT = 1,        /* run_at_ns is part of what the job is: another time is another job */
    BLY_NEW_LOST_FAIL = 2, /* when its runner dies the job fails, instead of running again */
    BLY_NEW_STOP_ON_FAILURE = 4, /* a schedule ends when one of its runs has failed for good */
    BLY_NEW_REPLACE = 256,       /* takes the place of a live job of its id */
    BLY_NEW_PAUSED = 512         /* is not claimed before bly_store_unpause */
};

/* What the store knows of a job that it does not need itself: the caller's business. */
typedef struct bly_work {
    bly_bytes handler; /* name; the store never looks at it */
    bly_bytes command; /* argv, each word with its NUL; or the argument of a handler */
    bly_bytes env;     /* NAME=VALUE words, each with its NUL */
    bly_bytes cwd;
    bly_bytes detail; /* whatever else the caller wants back */
    int32_t umask;    /* -1: none */
} bly_work;

/* A job to add. Zero is each field's default, but for work.umask. */
typedef struct bly_new_job {
    bly_work work;
    bly_bytes id;    /* empty: none */
    bly_bytes queue; /* empty: "default" */
    uint32_t flags;
    int32_t priority;   /* -32768 to 32767, higher first */
    int64_t run_at_ns;  /* 0: now. Of a schedule: its first slot */
    int64_t timeout_ns; /* of one try; 0: none */
    uint32_t tries;     /* runs that may fail, in all; default 1 */
    uint32_t lost_max;  /* times that it runs again after its runner died; default BLY_LOST_MAX */
    int64_t backoff_ns; /* before the second try, doubled each time; default 1 s */
    int64_t backoff_max_ns; /* default 1 h */
    uint64_t batch;         /* 0: none */
    uint64_t batch_row;     /* its number in the batch */
    const bly_want *wants;
    uint32_t want_count;
    uint32_t after_count;
    const bly_after *after;
    bly_schedule schedule;
} bly_new_job;

/* What adding a job came to. */
enum {
    BLY_ADDED = 1,      /* a new job */
    BLY_ADDED_SAME,     /* an identical one is pending; that is the job */
    BLY_ADDED_REPLACED, /* a new one; `old` was pending and is superseded */
    BLY_ADDED_BEHIND,   /* a new one, which starts after `old`, which runs */
    BLY_ADDED_SKIPPED   /* a new one, skipped at once: what it needs has ended otherwise */
};
typedef struct bly_added {
    uint64_t seq;
    uint64_t old; /* 0: none */
    int outcome;
} bly_added;

/* 128 random bits that name a call of add, so that it can be repeated; all zero: no such name. */
typedef struct bly_add_key {
    uint8_t bytes[16];
} bly_add_key;

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

/* How a run ended. The numbers stand in stores. */
enum {
    BLY_END_NONE = 0,
    BLY_END_EXITED,       /* code: exit status, or the handler's result */
    BLY_END_SIGNALED,     /* code: signal */
    BLY_END_TIMED_OUT,    /* code: what it ended with afterwards */
    BLY_END_NOT_RUNNABLE, /* code: errno */
    BLY_END_LOST,         /* its runner died */
    BLY_END_CANCELED,     /* told to end by its owner */
    BLY_END_REPLACED,     /* not tried again: the next version of its id waits */
    BLY_END_NEED,         /* skipped: code: the seq, truncated, of what it needed; see need */
    BLY_END_MISSED        /* a slot that had passed */
};

/* What to do with a claimed or running job. */
enum {
    BLY_DO_DONE = 1, /* running → done */
    BLY_DO_FAIL,     /* running → scheduled while it has tries, else failed */
    BLY_DO_FAIL_NOW, /* running → failed */
    BLY_DO_CANCELED, /* running → canceled: it ended because it was told to */
    BLY_DO_GIVE_BACK /* claimed → ready; running → ready, as if this run had not been */
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
};

/* Why a job is not running, for people. */
enum {
    BLY_WHY_NONE = 0,
    BLY_WHY_AT,           /* run_at_ns has not come */
    BLY_WHY_RETRY,        /* the same, for its next try */
    BLY_WHY_AFTER,        /* why.seq, which is in why.state */
    BLY_WHY_LIMIT,        /* why.name: why.used of why.capacity permits are held, by why.holders */
    BLY_WHY_TOO_BIG,      /* why.name: it wants more than why.capacity */
    BLY_WHY_PAUSED,       /* itself */
    BLY_WHY_QUEUE_PAUSED, /* why.name */
    BLY_WHY_LIMIT_PAUSED, /* why.name */
    BLY_WHY_STORE_PAUSED,
    BLY_WHY_QUEUE_MAX, /* why.used of why.capacity jobs of its queue run */
    BLY_WHY_NO_WORKER, /* no session takes jobs of why.name */
    BLY_WHY_BUSY,      /* sessions do, and all their places are taken, or they are about to */
    BLY_WHY_UNREADABLE /* quarantined: its row cannot be read */
};
#define BLY_WHY_HOLDERS 4u

typedef struct bly_why {
    int kind;
    uint32_t state;
    uint64_t seq;
    bly_bytes name;
    int64_t used, capacity;
    uint64_t holders[BLY_WHY_HOLDERS]; /* seqs; 0 behind the last */
} bly_why;

/* One job as `ls` and `show` see it. */
typedef struct bly_row {
    uint64_t seq;
    uint32_t state;
    uint32_t flags; /* BLY_NEW_… that are stored */
    bool is_paused, is_quarantined, is_cancel_requested;
    int32_t priority;
    uint32_t tries, tried, lost, lost_max, runs;
    uint32_t missed;
    int64_t added_ns, run_at_ns, start_ns, end_ns; /* 0: not yet */
    int64_t timeout_ns, slot_ns, backoff_ns, backoff_max_ns;
    int64_t user_ns, system_ns;
    uint64_t rss_max_kib;
    uint64_t token, session, batch, batch_row, schedule;
    uint64_t replaced_by; /* superseded: the newer version */
    uint64_t need;        /* skipped: the job that did not end well */
    int how;
    int64_t code;
    bly_bytes id, queue, result, message;
    bly_work work;
    const bly_want *wants; /* with BLY_LIST_WHY */
    const bly_after *after;
    uint32_t want_count, after_count;
    bly_why why; /* with BLY_LIST_WHY */
} bly_row;

/* Rows; one block with all bytes in it. */
typedef struct bly_rows {
    uint32_t count;
    bool has_more;
    bly_row *row;
} bly_rows;

/* bly_rows_free: takes the block back; NULL is allowed. Any thread. */
void bly_rows_free(bly_rows *rows);

/* Orders of a list. */
enum {
    BLY_LIST_BY_SEQ = 0, /* rising; `after_seq` continues */
    BLY_LIST_NEWEST,     /* falling; `after_seq` continues below it */
    BLY_LIST_LAST_ENDED  /* the newest ends first; no continuing */
};
enum { BLY_LIST_WHY = 1, BLY_LIST_WORK = 2 }; /* flags: what to fill in beside the short columns */

typedef struct bly_query {
    uint32_t states; /* set of BLY_JOB_IN; 0: all */
    uint32_t order;
    uint32_t flags;
    uint32_t rows_max; /* default 1000, at most 10000 */
    uint64_t after_seq;
    uint64_t batch;   /* 0: any */
    uint64_t session; /* 0: any */
    bly_bytes queue;  /* empty: any */
    bly_bytes id;     /* empty: any; every version of it */
} bly_query;

/* A session as `ls --workers` and `stats` see it. */
typedef struct bly_session_row {
    uint64_t id;
    bly_bytes host;
    int64_t pid;
    int64_t begun_ns;
    uint32_t slots, claimed, running;
    bly_bytes queues; /* names, each with a NUL */
} bly_session_row;

/* A limit or a queue, as `belay limit` and `belay queue` see it. */
typedef struct bly_limit_row {
    bly_bytes name;
    bool is_paused;
    int64_t capacity;  /* 0: a queue without a bound */
    int64_t used;      /* permits held, or jobs claimed and running */
    uint64_t waiting;  /* jobs parked on it, or ready in it */
    uint64_t sessions; /* a queue: those that take its jobs */
} bly_limit_row;

typedef struct bly_schedule_row {
    uint64_t schedule;
    uint64_t job; /* the pending run; 0: none */
    int64_t slot_ns;
    bly_bytes id;
    bly_schedule rule;
} bly_schedule_row;

/* A batch: the jobs of one `belay run`. */
typedef struct bly_batch_row {
    uint64_t batch;
    bool is_open;
    bly_bytes name, digest; /* digest: of what the batch does, to be compared at a resume */
    int64_t made_ns, ended_ns;
    uint64_t total;                       /* as the caller said; 0: not known */
    uint64_t counts[BLY_JOB_SKIPPED + 1]; /* jobs by state */
} bly_batch_row;

/* Tables of the four above: `of` is an array of `count` of them; one block. */
typedef struct bly_table {
    uint32_t count;
    union {
        bly_session_row *session;
        bly_limit_row *limit;
        bly_schedule_row *schedule;
        bly_batch_row *batch;
    } of;
} bly_table;

/* bly_table_free: takes the block back; NULL is allowed. Any thread. */
void bly_table_free(bly_table *table);

typedef struct bly_store_stats {
    uint64_t jobs[BLY_JOB_SKIPPED + 1]; /* by state */
    uint64_t quarantined, paused;
    uint64_t sessions;
    int64_t oldest_ready_ns;   /* since when the longest waiting ready job is due; 0: none */
    int64_t next_run_at_ns;    /* of the first scheduled job; BELAY_FOREVER: none */
    uint64_t dropped;          /* results of lost claims, in this process */
    uint64_t commits, grouped; /* of this process: transactions, and the requests in them */
    uint64_t store_bytes, free_bytes, wal_bytes;
    bool is_paused;
} bly_store_stats;

#endif
