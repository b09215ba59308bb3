/*
 * belay/job_row.h: the values of durable jobs: what is added, what is seen of it, how it ends.
 * What is done with them: belay/job.h, which includes this header.
 *
 * Commands, environments, results, ids and names are bytes, never text: they come back as they were
 * given. A belay_bytes that is given is borrowed for the call. One that is received belongs to the
 * block or run that it came with and lives as long as that.
 *
 * Times are nanoseconds of the store's wall clock (since 1970-01-01 UTC), but for deadlines, which
 * are on the monotonic clock as everywhere in belay. Zero is each field's default.
 *
 * Structs that are received grow only with a minor version.
 */
#ifndef BELAY_JOB_ROW_H
#define BELAY_JOB_ROW_H

#include "belay/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bounds. A value outside is BELAY_EINVAL. */
/* bytes of an id; 1 at least, no control character, not all digits */
#define BELAY_JOBS_ID_MAX   200u
#define BELAY_JOBS_NAME_MAX 200u /* bytes of the name of a queue, limit or handler; the same */
/* bytes of a command, environment, folder, detail, result or message */
#define BELAY_JOBS_BYTES_MAX   (8u << 20)
#define BELAY_JOBS_LIMITS_MAX  16u      /* limits of one job */
#define BELAY_JOBS_AFTER_MAX   64u      /* jobs that one runs after */
#define BELAY_JOBS_ADD_MAX     10000u   /* jobs of one call that adds */
#define BELAY_JOBS_PERMITS_MAX 1000000u /* permits of a job, capacity of a limit */
#define BELAY_JOBS_TRIES_MAX   1000000u
#define BELAY_JOBS_LOST_MAX    3u    /* lost runs of a job that says nothing: see lost_max */
#define BELAY_JOBS_QUEUES_MAX  64u   /* queues that one session takes jobs from */
#define BELAY_JOBS_CLAIM_MAX   1000u /* jobs of one claim */

typedef struct belay_bytes {
    const void *data; /* NULL only when len is 0 */
    size_t len;
} belay_bytes;

/* belay_bytes_text: the bytes of a C string, without its end; none for NULL. */
static inline belay_bytes belay_bytes_text(const char *text)
{
    belay_bytes bytes = {text, 0};
    while (text != NULL && text[bytes.len] != '\0') {
        bytes.len++;
    }
    return bytes;
}

/*
 * The states of a job. The numbers never change.
 *
 *     added -> SCHEDULED -> READY -> CLAIMED -> RUNNING -> DONE, FAILED, CANCELED
 *
 * WAITING and PARKED stand in the place of READY; RUNNING goes back to SCHEDULED for a further try
 * and to READY when its runner died; a pending one is CANCELED, SUPERSEDED or SKIPPED.
 */
enum {
    BELAY_JOBS_SCHEDULED = 1, /* its time has not come, or a further try waits for its back-off */
    BELAY_JOBS_READY,         /* may be claimed */
    BELAY_JOBS_CLAIMED,       /* a session has it and has not started it */
    BELAY_JOBS_RUNNING,       /* started: this try counts */
    BELAY_JOBS_WAITING,       /* for jobs that it is to run after */
    BELAY_JOBS_PARKED,        /* for permits of a limit */
    BELAY_JOBS_DONE,          /* ended, successfully */
    BELAY_JOBS_FAILED,        /* ended: tries or lost runs used up. The dead list */
    BELAY_JOBS_CANCELED,      /* ended: by its owner */
    BELAY_JOBS_SUPERSEDED,    /* ended unstarted: a newer version of its id took its place */
    BELAY_JOBS_SKIPPED        /* ended: a job that it needed did not end well, a slot was missed */
};
#define BELAY_JOBS_STATES    12u                      /* one more than the last state */
#define BELAY_JOBS_IN(state) (UINT32_C(1) << (state)) /* sets of states, for lists */
#define BELAY_JOBS_IN_PENDING                                                                      \
    (BELAY_JOBS_IN(BELAY_JOBS_SCHEDULED) | BELAY_JOBS_IN(BELAY_JOBS_READY) |                       \
     BELAY_JOBS_IN(BELAY_JOBS_CLAIMED) | BELAY_JOBS_IN(BELAY_JOBS_WAITING) |                       \
     BELAY_JOBS_IN(BELAY_JOBS_PARKED))
#define BELAY_JOBS_IN_LIVE (BELAY_JOBS_IN_PENDING | BELAY_JOBS_IN(BELAY_JOBS_RUNNING))
#define BELAY_JOBS_IN_ENDED                                                                        \
    (BELAY_JOBS_IN(BELAY_JOBS_DONE) | BELAY_JOBS_IN(BELAY_JOBS_FAILED) |                           \
     BELAY_JOBS_IN(BELAY_JOBS_CANCELED) | BELAY_JOBS_IN(BELAY_JOBS_SUPERSEDED) |                   \
     BELAY_JOBS_IN(BELAY_JOBS_SKIPPED))

/* A job by its number or its id. seq counts unless it is 0. */
typedef struct belay_jobs_ref {
    uint64_t seq;
    belay_bytes id; /* the newest job of that id, live ones before ended ones */
} belay_jobs_ref;

/* belay_jobs_ref_seq, belay_jobs_ref_id: a job by its number, by its id. */
static inline belay_jobs_ref belay_jobs_ref_seq(uint64_t seq)
{
    belay_jobs_ref ref = {seq, {NULL, 0}};
    return ref;
}

static inline belay_jobs_ref belay_jobs_ref_id(const char *id)
{
    belay_jobs_ref ref = {0, belay_bytes_text(id)};
    return ref;
}

/* A limit whose permits a job holds while it is claimed and running. */
typedef struct belay_jobs_want {
    belay_bytes name;
    uint32_t permits;  /* default 1 */
    uint32_t capacity; /* of the limit; 0: as it is, 1 when the limit is new */
} belay_jobs_want;

/* A job to run after. */
typedef struct belay_jobs_after {
    belay_jobs_ref job;
    bool is_any; /* true: after its end, however it ended; false: after its success */
} belay_jobs_after;

/* What the slots of a recurring job are. */
enum {
    BELAY_JOBS_ONCE = 0,  /* it does not recur */
    BELAY_JOBS_EVERY = 1, /* period_ns apart, anchored at the first slot: no drift */
    BELAY_JOBS_CRON = 2   /* of an expression: see belay_jobs_opts.next */
};
/* What becomes of slots that passed without a run. The numbers never change. */
enum {
    BELAY_JOBS_MISSED_ONCE = 0, /* one run, which is told how many were missed */
    BELAY_JOBS_MISSED_SKIP = 1, /* none */
    BELAY_JOBS_MISSED_ALL = 2   /* a run each, the newest missed_max of them */
};

typedef struct belay_jobs_schedule {
    uint32_t kind;
    uint32_t missed;
    uint32_t missed_max; /* BELAY_JOBS_MISSED_ALL: default 100 */
    int64_t late_max_ns; /* BELAY_JOBS_MISSED_SKIP: a slot later than this passed; default 1 min */
    int64_t period_ns;
    int64_t jitter_ns; /* each run begins up to this much after its slot: a hash of id and slot */
    belay_bytes expr;  /* BELAY_JOBS_CRON */
    belay_bytes zone;  /* name of the time zone; empty: UTC */
} belay_jobs_schedule;

/* Flags of a job to add. Those below 256 are kept with it. */
enum {
    BELAY_JOBS_NEW_AT = 1,        /* run_at_ns is part of what it is: another time, another job */
    BELAY_JOBS_NEW_LOST_FAIL = 2, /* when its runner dies it fails, instead of running again */
    BELAY_JOBS_NEW_STOP_ON_FAILURE = 4, /* a recurring job ends when a run has failed for good */
    BELAY_JOBS_NEW_REPLACE = 256,       /* takes the place of a live job of its id */
    BELAY_JOBS_NEW_PAUSED = 512         /* is not claimed before belay_jobs_unpause */
};

/* What a job is about. belay keeps it and looks at the handler's name only. */
typedef struct belay_jobs_payload {
    belay_bytes handler; /* its name; empty: a command line, for the command `belay` */
    belay_bytes command; /* the handler's argument; of a command argv, each word with its NUL */
    belay_bytes env;     /* of a command: NAME=VALUE words, each with its NUL */
    belay_bytes cwd;     /* of a command */
    belay_bytes detail;  /* whatever else the caller wants back */
    int32_t umask;       /* of a command; -1: none */
} belay_jobs_payload;

/* A job to add. In an array the size of the first is that of all. */
typedef struct belay_jobs_new {
    uint32_t size;  /* sizeof(belay_jobs_new) */
    uint32_t flags; /* BELAY_JOBS_NEW_… */
    belay_jobs_payload work;
    belay_bytes id;    /* empty: none */
    belay_bytes queue; /* empty: the handler's name, or "default" when there is no handler */
    int32_t priority;  /* -32768 to 32767; a higher one runs first */
    uint32_t tries;    /* runs that may fail, in all; default 1 */
    uint32_t lost_max; /* runs again after its runner died; default BELAY_JOBS_LOST_MAX */
    uint32_t want_count;
    uint32_t after_count;
    int64_t run_at_ns;      /* 0: now. Of a recurring job: its first slot */
    int64_t timeout_ns;     /* of one run; 0: none */
    int64_t backoff_ns;     /* before the second try, doubled each time, jittered; default 1 s */
    int64_t backoff_max_ns; /* default 1 h */
    uint64_t batch;         /* 0: none */
    uint64_t batch_row;     /* its number in the batch */
    const belay_jobs_want *wants;
    const belay_jobs_after *after;
    belay_jobs_schedule schedule;
} belay_jobs_new;

/* What adding a job came to. */
enum {
    BELAY_JOBS_ADDED = 1,      /* a new job */
    BELAY_JOBS_ADDED_SAME,     /* an identical one is pending; that is the job */
    BELAY_JOBS_ADDED_REPLACED, /* a new one; `old` was pending and is superseded */
    BELAY_JOBS_ADDED_BEHIND,   /* a new one, which starts after `old`, which runs */
    BELAY_JOBS_ADDED_SKIPPED   /* a new one, skipped at once: what it needs ended otherwise */
};
typedef struct belay_jobs_added {
    uint64_t seq;
    uint64_t old; /* 0: none */
    int outcome;
} belay_jobs_added;

/* 128 random bits that name one call that adds, so that it can be repeated; all zero: no name. */
typedef struct belay_jobs_key {
    uint8_t bytes[16];
} belay_jobs_key;

/* How a run ended. The numbers never change. */
enum {
    BELAY_JOBS_HOW_NONE = 0,
    BELAY_JOBS_HOW_EXITED,       /* code: exit status, or the handler's result */
    BELAY_JOBS_HOW_SIGNALED,     /* code: signal */
    BELAY_JOBS_HOW_TIMED_OUT,    /* code: what it ended with afterwards */
    BELAY_JOBS_HOW_NOT_RUNNABLE, /* code: errno */
    BELAY_JOBS_HOW_LOST,         /* its runner died */
    BELAY_JOBS_HOW_CANCELED,     /* told to end by its owner */
    BELAY_JOBS_HOW_REPLACED,     /* not tried again: the next version of its id waits */
    BELAY_JOBS_HOW_NEED,         /* skipped: see belay_jobs_row.need */
    BELAY_JOBS_HOW_MISSED        /* a slot that had passed */
};

/* Why a job is not running, for people. */
enum {
    BELAY_JOBS_WHY_NONE = 0,
    BELAY_JOBS_WHY_AT,           /* run_at_ns has not come */
    BELAY_JOBS_WHY_RETRY,        /* the same, for its next try */
    BELAY_JOBS_WHY_AFTER,        /* why.seq, which is in why.state */
    BELAY_JOBS_WHY_LIMIT,        /* why.name: why.used of why.capacity are held, by why.holders */
    BELAY_JOBS_WHY_TOO_BIG,      /* why.name: it wants more than why.capacity */
    BELAY_JOBS_WHY_PAUSED,       /* itself */
    BELAY_JOBS_WHY_QUEUE_PAUSED, /* why.name */
    BELAY_JOBS_WHY_LIMIT_PAUSED, /* why.name */
    BELAY_JOBS_WHY_STORE_PAUSED,
    BELAY_JOBS_WHY_QUEUE_MAX, /* why.used of why.capacity jobs of its queue run */
    BELAY_JOBS_WHY_NO_WORKER, /* no session takes jobs of why.name */
    BELAY_JOBS_WHY_BUSY,      /* sessions do, and all their places are taken, or will do at once */
    BELAY_JOBS_WHY_UNREADABLE /* quarantined: its row cannot be read */
};
#define BELAY_JOBS_WHY_HOLDERS 4u

typedef struct belay_jobs_why {
    int kind;
    uint32_t state;
    uint64_t seq;
    belay_bytes name;
    int64_t used, capacity;
    uint64_t holders[BELAY_JOBS_WHY_HOLDERS]; /* numbers of jobs; 0 behind the last */
} belay_jobs_why;

/* One job as it is seen. Times are 0 when they have not come yet. */
typedef struct belay_jobs_row {
    uint64_t seq;
    uint32_t state;
    uint32_t flags; /* BELAY_JOBS_NEW_… that are kept */
    bool is_paused, is_quarantined, is_cancel_requested;
    int32_t priority;
    uint32_t tries, tried, lost, lost_max, runs;
    uint32_t missed;
    int64_t added_ns, run_at_ns, start_ns, end_ns;
    int64_t timeout_ns, slot_ns, backoff_ns, backoff_max_ns;
    int64_t user_ns, system_ns;
    uint64_t rss_max_kib;
    uint64_t token, session, batch, batch_row, schedule;
    uint64_t replaced_by; /* superseded: the newer version */
    uint64_t need;        /* skipped: the job that did not end well */
    int how;
    int64_t code;
    belay_bytes id, queue, result, message;
    belay_jobs_payload work;      /* with BELAY_JOBS_LIST_WORK */
    const belay_jobs_want *wants; /* with BELAY_JOBS_LIST_WHY, as the three below */
    const belay_jobs_after *after;
    uint32_t want_count, after_count;
    belay_jobs_why why;
} belay_jobs_row;

/* Rows. One block with all its bytes; belay_jobs_rows_free. */
typedef struct belay_jobs_rows {
    uint32_t count;
    bool has_more;
    belay_jobs_row *row;
} belay_jobs_rows;

/* Orders of a list. */
enum {
    BELAY_JOBS_LIST_BY_SEQ = 0, /* rising; `after_seq` continues */
    BELAY_JOBS_LIST_NEWEST,     /* falling; `after_seq` continues below it */
    BELAY_JOBS_LIST_LAST_ENDED  /* the newest ends first; no continuing */
};
/* What a list fills in beside the short columns. */
enum { BELAY_JOBS_LIST_WHY = 1, BELAY_JOBS_LIST_WORK = 2 };

typedef struct belay_jobs_filter {
    uint32_t size;   /* sizeof(belay_jobs_filter) */
    uint32_t states; /* set of BELAY_JOBS_IN; 0: all */
    uint32_t order;
    uint32_t flags;    /* BELAY_JOBS_LIST_… */
    uint32_t rows_max; /* default 1000, at most 10000 */
    uint64_t after_seq;
    uint64_t batch;    /* 0: any */
    uint64_t session;  /* 0: any */
    belay_bytes queue; /* empty: any */
    belay_bytes id;    /* empty: any; every version of it */
} belay_jobs_filter;

/* Somebody who works on jobs. */
typedef struct belay_jobs_session_row {
    uint64_t id;
    belay_bytes host;
    int64_t pid;
    int64_t begun_ns;
    uint32_t slots, claimed, running;
    belay_bytes queues; /* names, each with a NUL */
} belay_jobs_session_row;

/* A limit or a queue. */
typedef struct belay_jobs_limit_row {
    belay_bytes name;
    bool is_paused;
    int64_t capacity;  /* 0: a queue without a bound */
    int64_t used;      /* permits held, or jobs claimed and running */
    uint64_t waiting;  /* jobs parked on it, or ready in it */
    uint64_t sessions; /* a queue: those that take its jobs */
} belay_jobs_limit_row;

/* A recurring job. */
typedef struct belay_jobs_schedule_row {
    uint64_t schedule;
    uint64_t job; /* the pending run; 0: none */
    int64_t slot_ns;
    belay_bytes id;
    belay_jobs_schedule rule;
} belay_jobs_schedule_row;

/* A batch: jobs that were added under one name. */
typedef struct belay_jobs_batch_row {
    uint64_t batch;
    bool is_open;
    belay_bytes name, digest; /* digest: of what the batch does, compared at a resume */
    int64_t made_ns, ended_ns;
    uint64_t total;                     /* as the caller said; 0: not known */
    uint64_t counts[BELAY_JOBS_STATES]; /* jobs by state */
} belay_jobs_batch_row;

/* `count` of one of the four above. One block; belay_jobs_table_free. */
typedef struct belay_jobs_table {
    uint32_t count;
    union {
        belay_jobs_session_row *session;
        belay_jobs_limit_row *limit;
        belay_jobs_schedule_row *schedule;
        belay_jobs_batch_row *batch;
    } of;
} belay_jobs_table;

#ifdef __cplusplus
}
#endif

#endif
