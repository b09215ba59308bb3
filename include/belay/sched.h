/*
 * belay/sched.h: the cancellable priority scheduler.
 *
 * A job is scheduled under an id for a time and with a priority; it may be replaced and canceled
 * until it starts, and a canceled job never starts. Due jobs are claimed in one fixed order:
 * earliest run_at_ns first, then the highest priority, then the order of the schedule calls.
 *
 * A scheduler is either started on an executor (belay_sched_start), which then runs the jobs, or
 * driven by the program's own threads (belay_sched_next and belay_claim_run).
 *
 * Unless a function says otherwise it may be called from any thread, from a job, and from a drop
 * function, and it never blocks but for short locks of the library.
 */
#ifndef BELAY_SCHED_H
#define BELAY_SCHED_H

#include "belay/cancel.h"
#include "belay/clock.h"
#include "belay/task.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct belay_sched belay_sched;
typedef struct belay_claim belay_claim;

/* Bounds. */
enum {
    BELAY_ID_MAX = 255,             /* bytes of an id */
    BELAY_PRIORITY_MIN = INT16_MIN, /* of a job; a higher one runs first */
    BELAY_PRIORITY_MAX = INT16_MAX,
    BELAY_RUNNING_MAX = INT32_MAX,          /* jobs at once of a started scheduler */
    BELAY_SCHED_PENDING_DEFAULT = 1 << 24,  /* pending_max when the options leave it zero */
    BELAY_SCHED_MISSED_MAX_DEFAULT = 100,   /* missed_max when a job leaves it zero */
    BELAY_SCHED_SLOTS_MAX = 100000,         /* slots of a series stepped over in one go */
    BELAY_SCHED_TICKET_RETRY_NS = 10000000, /* at the latest a refused ticket is sent again */
    BELAY_SCHED_LATENESS_BUCKETS = 64,      /* of the histogram in the metrics */
    BELAY_SCHED_BANDS = 8                   /* of priority, in the metrics */
};

/* How late a slot of a BELAY_MISSED_SKIP series may start when late_max_ns is zero: a minute. */
#define BELAY_SCHED_LATE_DEFAULT_NS INT64_C(60000000000)

/*
 * The name of a job: 1 to BELAY_ID_MAX bytes, or a number. An id of bytes and an id that is a
 * number are never equal. It is copied. Made by BELAY_ID, belay_id_bytes, belay_id_text;
 * BELAY_NO_ID is for a job that is reached by its handle alone.
 */
typedef struct belay_id {
    const void *data; /* NULL for a number, and for no id */
    size_t len;       /* bytes at data; 8 for a number; 0 for no id */
    uint64_t number;
} belay_id;

static inline belay_id belay_id_number(uint64_t number)
{
    belay_id id = {NULL, sizeof(uint64_t), number};
    return id;
}

static inline belay_id belay_id_bytes(const void *data, size_t len)
{
    belay_id id = {data, len, 0};
    return id;
}

static inline belay_id belay_id_text(const char *text)
{
    size_t len = 0;
    while (text[len] != '\0') {
        len++;
    }
    return belay_id_bytes(text, len);
}

#define BELAY_ID(number) belay_id_number(number)
#define BELAY_NO_ID      belay_id_bytes(NULL, 0)

/* One version of a job: what one schedule call stored. A plain value; it refers to nothing. */
typedef struct belay_job_handle {
    uint64_t version; /* never used again in the same scheduler */
    uint64_t place;
} belay_job_handle;

/*
 * belay_job_fn: the work of a job. Returns 0 for success, BELAY_PENDING when the work goes on
 * elsewhere and belay_claim_done will end it, anything else for a failure (counted, no more).
 * Called under no lock, by the thread that claimed the job; it may call everything of belay but
 * belay_sched_await of its own scheduler. The claim is lent until the job has ended.
 */
typedef int belay_job_fn(belay_claim *claim, void *arg);

/*
 * belay_job_next: the slot after slot_ns of a recurring job. now_ns is the present. BELAY_FOREVER,
 * or a time that is not after slot_ns, ends the series.
 * Called under no lock, by the thread that ran the job, after fn returned (instead of fn, when the
 * slot is too late to be run); never twice at once for one version. With BELAY_MISSED_ONCE and
 * BELAY_MISSED_SKIP each slot is asked for once, in order; with BELAY_MISSED_ALL it may be asked
 * for again, so the answer may depend on the arguments alone. Slots that have passed are asked for
 * one after the other, at most BELAY_SCHED_SLOTS_MAX at a time, and then the one after now_ns.
 */
typedef int64_t belay_job_next(void *arg, int64_t slot_ns, int64_t now_ns);

/*
 * What becomes of the slots of a series that passed before an occurrence could take them, because
 * an occurrence ran, all workers were busy, or the clock jumped. With belay_every the claim is told
 * how many of them it stands for; with another `next`, which is asked after the run only, the claim
 * after it is told. Either way the runs and the missed together are all slots.
 */
enum {
    BELAY_MISSED_ONCE = 0, /* one run stands for all of them (default) */
    BELAY_MISSED_SKIP = 1, /* none is run, nor a slot later than late_max_ns */
    BELAY_MISSED_ALL = 2   /* each is run, but for those before the last missed_max */
};

/*
 * What to run, when. All zero but size and fn means: now, priority 0, once.
 *
 * A job without `next` runs once: it ends in exactly one of fn and drop. A job with `next` is a
 * series: fn is called for each of its occurrences, and drop once, after the last fn returned.
 * run_at_ns is the first slot of a series; slots are computed from slots, so jitter never adds up.
 */
typedef struct belay_job {
    uint32_t size;                    /* sizeof(belay_job) */
    int32_t priority;                 /* BELAY_PRIORITY_MIN to BELAY_PRIORITY_MAX */
    int64_t run_at_ns;                /* on the scheduler's clock; may be in the past */
    belay_job_fn *fn;                 /* required */
    void *arg;                        /* of fn and drop; the caller's until one of them ended it */
    void (*drop)(void *arg, int why); /* BELAY_DROP_…; NULL: nothing to free. See below */
    uint32_t no_replace;              /* 1: refuse with EEXIST when the id is taken */
    uint32_t missed;                  /* of a series: BELAY_MISSED_… */
    belay_job_next *next;             /* NULL: runs once */
    void *next_arg;                   /* of next; NULL: a pointer to a copy of period_ns */
    int64_t period_ns;                /* for belay_every and belay_after_each: at least 1 */
    int64_t jitter_ns;        /* starts up to this much after the slot: a hash of id and slot */
    int64_t late_max_ns;      /* BELAY_MISSED_SKIP: a slot later than this counts as passed */
    uint32_t missed_max;      /* BELAY_MISSED_ALL: slots kept; 0: the default above */
    uint32_t ends_on_failure; /* 1: a failed occurrence ends the series */
} belay_job;

/*
 * About drop. It is called once, under no lock, on the thread whose call ended the job
 * (trampolined: a call made inside another drop or inline callback is run when that one has
 * returned). It frees and reports, must not block, and may call everything of belay that does not
 * wait.
 */

/*
 * belay_every: a `next` whose slots stand a fixed period apart from the first: no drift. arg points
 * to an int64_t, the period; with next_arg NULL that is the job's period_ns.
 * belay_after_each: a `next` whose slot comes a fixed time after the last occurrence ended.
 * Return BELAY_FOREVER for a period below 1. Context: any thread, never block.
 */
BELAY_API int64_t belay_every(void *arg, int64_t slot_ns, int64_t now_ns);
BELAY_API int64_t belay_after_each(void *arg, int64_t slot_ns, int64_t now_ns);

/* Options of a scheduler. Zero means the default. */
typedef struct belay_sched_opts {
    uint32_t size;        /* sizeof(belay_sched_opts) */
    uint32_t pending_max; /* jobs stored at once, not counting running ones that will not come back;
                             BELAY_UNBOUNDED; 0: BELAY_SCHED_PENDING_DEFAULT */
    belay_clock *clock;   /* NULL: the system's; borrowed until destroy */
    belay_timers *timers; /* on the same clock; NULL: the service of the process; for start */
    /*
     * How much earlier a due job counts for each step of priority. 0: run_at alone decides, so that
     * a job is never overtaken by one due later, and priority only between equal times. A: a job is
     * overtaken only by jobs due before its own time + A * (their priority - its own).
     * BELAY_FOREVER: among due jobs priority decides first; low ones may starve.
     */
    int64_t aging_ns_per_priority;
} belay_sched_opts;

/*
 * belay_sched_create: an open scheduler without jobs. opts may be NULL.
 * Gives the scheduler; belay_sched_destroy ends it.
 * Errors: BELAY_EINVAL, BELAY_ENOMEM (in this order).
 * Context: any thread, a job or drop included; never blocks.
 */
BELAY_API int belay_sched_create(const belay_sched_opts *opts, belay_sched **ret_sched);

/*
 * belay_sched_schedule: stores a version of the job `id` [G-SCHED-1]. A pending one of that id is
 * dropped for it (BELAY_REPLACED in the result). A running one is left alone (BELAY_STILL_RUNNING);
 * the new version is held back until it returned, then enters the order with its own key, and a
 * running series gets no further occurrence [G-SCHED-8].
 * Copies *job and the id; on success takes job->arg until fn or drop ended the version. ret_handle
 * may be NULL.
 * Returns 0, or the bits BELAY_REPLACED and BELAY_STILL_RUNNING.
 * Errors: BELAY_EINVAL, BELAY_ECLOSED, BELAY_EEXIST (job->no_replace), BELAY_EFULL (pending_max,
 *         when no version that counts leaves for it), BELAY_ENOMEM (in this order); nothing is
 *         stored then.
 * Context: any thread, a job or drop included; never blocks.
 */
BELAY_API int belay_sched_schedule(belay_sched *sched, belay_id id, const belay_job *job,
                                   belay_job_handle *ret_handle);

/*
 * belay_sched_cancel: drops the pending or held-back version of the id and signals the running one:
 * its token fires, and a series has no further occurrence [G-SCHED-9].
 * Returns 0: nothing of that id runs or will run [G-SCHED-3]; BELAY_STILL_RUNNING: it was told, and
 * has not returned.
 * Errors: BELAY_EINVAL, BELAY_ENOENT (nothing lives under the id) (in this order).
 * Context: any thread, a job or drop included; never blocks.
 */
BELAY_API int belay_sched_cancel(belay_sched *sched, belay_id id);

/*
 * belay_sched_cancel_handle: the same for one version alone, never for its successor. O(1).
 * Returns 0 or BELAY_STILL_RUNNING.
 * Errors: BELAY_EINVAL, BELAY_ESTALE (that version has ended) (in this order).
 * Context: any thread, a job or drop included; never blocks.
 */
BELAY_API int belay_sched_cancel_handle(belay_sched *sched, belay_job_handle handle);

/*
 * belay_sched_next: claims the first due job, for a program that drives the scheduler itself.
 * deadline_ns: BELAY_NOW only looks: the same calls at the same times give the same jobs. Another
 * deadline sleeps until a job is due; any number of threads may wait, and one of them keeps the
 * time for all.
 * Gives a claim; belay_claim_run or belay_claim_done ends it. *ret_next_ns (may be NULL) is set
 * with BELAY_EAGAIN and BELAY_ETIMEDOUT: when the next job is due, BELAY_FOREVER when there is
 * none. A time that has come already says that many slots were passed over: ask again.
 * Errors: BELAY_EINVAL, BELAY_EBUSY (the scheduler was started), BELAY_ECLOSED (closed, and nothing
 *         is owed any more), BELAY_ENOMEM, BELAY_EAGAIN (BELAY_NOW), BELAY_ETIMEDOUT,
 *         BELAY_EDEADLK (it would wait inside an inline callback) (in this order).
 * Context: any thread, a job or drop included; may block unless deadline_ns is BELAY_NOW.
 */
BELAY_API int belay_sched_next(belay_sched *sched, int64_t deadline_ns, belay_claim **ret_claim,
                               int64_t *ret_next_ns);

/*
 * belay_sched_start: lets the executor run the jobs, at most running_max (1 to BELAY_RUNNING_MAX)
 * at once [G-SCHED-3]. A job that returned BELAY_PENDING counts until belay_claim_done. No thread
 * is made: what is sent to the executor is a ticket that claims the best job at the last moment. An
 * executor that refuses a ticket is asked again when a job is scheduled or ends, and after
 * BELAY_SCHED_TICKET_RETRY_NS at the latest; one that answers BELAY_ECLOSED is never asked again.
 * Borrows the executor, and is attached to it, until belay_sched_destroy.
 * Errors: BELAY_EINVAL, BELAY_EBUSY (started, or driven by belay_sched_next), BELAY_ECLOSED,
 *         BELAY_ENOMEM, BELAY_EAGAIN (no thread for the timer service) (in this order).
 * Context: any thread, a job or drop included; never blocks.
 */
BELAY_API int belay_sched_start(belay_sched *sched, belay_executor *executor, uint32_t running_max);

/*
 * belay_sched_resize: changes running_max of a started scheduler. More jobs start at once; fewer
 * start from now on, and those that run are left alone.
 * Errors: BELAY_EINVAL (0 or above BELAY_RUNNING_MAX), BELAY_EBUSY (not started), BELAY_ECLOSED
 *         (all has ended) (in this order).
 * Context: any thread, a job or drop included; never blocks.
 */
BELAY_API int belay_sched_resize(belay_sched *sched, uint32_t running_max);

/* How belay_sched_close ends a scheduler: one of the first two, and BELAY_CLOSE_SIGNAL or not. */
enum {
    BELAY_CLOSE_DRAIN_DUE = 1, /* what is due at the close still runs, once; the rest is dropped */
    BELAY_CLOSE_DISCARD = 2,   /* everything that has not started is dropped */
    BELAY_CLOSE_SIGNAL = 4     /* also cancel what runs: it is told, as by belay_sched_cancel */
};

/*
 * belay_sched_close: takes no more jobs and drops what is not owed, in key order, with
 * BELAY_DROP_CLOSED [G-SCHED-10]. Does not wait for what runs: see belay_sched_await. Called again
 * it may only escalate: from DRAIN_DUE to DISCARD, and to SIGNAL. Once the executor has answered
 * BELAY_ECLOSED, DRAIN_DUE is DISCARD.
 * Errors: BELAY_EINVAL.
 * Context: any thread, a job or drop included; never blocks.
 */
BELAY_API int belay_sched_close(belay_sched *sched, unsigned how);

/*
 * belay_sched_await: waits until the scheduler is closed and all has ended: nothing pending or
 * running, every drop returned. It may be destroyed then, by any thread.
 * Errors: BELAY_EINVAL, BELAY_EDEADLK (from a job, its next or a drop of this scheduler, or from an
 *         inline callback), BELAY_ETIMEDOUT (nothing is changed; BELAY_NOW asks) (in this order).
 * Context: any thread but those; may block.
 */
BELAY_API int belay_sched_await(belay_sched *sched, int64_t deadline_ns);

/*
 * belay_sched_destroy: frees a scheduler that has ended; NULL is allowed.
 * Errors: BELAY_EBUSY (belay_sched_await would still wait).
 * Context: a thread that knows that no other one still calls into it; may wait for the scheduler's
 *          timer function to return.
 */
BELAY_API int belay_sched_destroy(belay_sched *sched);

/* Where a version is. */
enum {
    BELAY_JOB_PENDING = 1, /* in the order */
    BELAY_JOB_HELD = 2,    /* behind a running version of the same id */
    BELAY_JOB_RUNNING = 3  /* claimed, and not ended */
};

/* What belay_sched_query tells: the running version of an id, or else the pending one. */
typedef struct belay_job_info {
    uint32_t size; /* sizeof(belay_job_info), set by the caller */
    int32_t state; /* BELAY_JOB_PENDING or BELAY_JOB_RUNNING */
    int32_t priority;
    uint32_t is_canceled;    /* 1: running, and told to stop */
    int64_t run_at_ns;       /* of this occurrence, jitter included */
    uint64_t occurrence;     /* 1 for the first; of a pending one the one to come */
    uint64_t failures;       /* occurrences that failed so far */
    belay_job_handle handle; /* of this version */
    uint32_t has_held;       /* 1: a newer version waits behind it; the next three are its own */
    int32_t held_priority;
    int64_t held_run_at_ns;
    belay_job_handle held_handle;
} belay_job_info;

/*
 * belay_sched_query: what lives under the id. *ret_info is written only on success; its size is set
 * by the caller, and fields beyond it are not written.
 * Errors: BELAY_EINVAL, BELAY_ENOENT (in this order).
 * Context: any thread, a job or drop included; never blocks.
 */
BELAY_API int belay_sched_query(belay_sched *sched, belay_id id, belay_job_info *ret_info);

/* Waits of the jobs of one band of priority, from due to claimed. */
typedef struct belay_sched_wait {
    uint64_t count;
    int64_t sum_ns;
    int64_t max_ns;
} belay_sched_wait;

/* Numbers of a scheduler, all of one moment. Counts are since create. */
typedef struct belay_sched_metrics {
    uint32_t size;             /* sizeof(belay_sched_metrics), set by the caller */
    uint32_t is_closing;       /* 1 from the close on */
    uint64_t pending;          /* in the order now */
    uint64_t held;             /* behind a running version now */
    uint64_t due;              /* pending ones whose time has come; counting stops at 1,000 */
    uint64_t running;          /* now */
    uint64_t running_peak;     /* the most at once */
    uint64_t entries;          /* places taken in the order: as many as pending, none is dead */
    uint64_t scheduled;        /* accepted schedule calls */
    uint64_t replaced;         /* versions that a newer one ended, at once or after their run */
    uint64_t canceled;         /* versions that a cancel ended, at once or after their run */
    uint64_t signalled;        /* running versions told to stop */
    uint64_t completed;        /* occurrences that returned 0 */
    uint64_t failed;           /* occurrences that returned another status */
    uint64_t dropped;          /* versions that a close ended */
    uint64_t missed;           /* slots of series that had no run of their own */
    uint64_t tickets_run;      /* that arrived on the executor */
    uint64_t tickets_refused;  /* by it, or not to be sent for want of memory */
    uint64_t wakeups;          /* of a thread or ticket that found a job */
    uint64_t wakeups_spurious; /* of one that found none */
    uint64_t clock_steps_back; /* readings before an earlier one; held at it */
    uint64_t overtaken_max;    /* with aging: the most that came due after a job and ran first */
    int64_t oldest_due_ns;     /* how long the job that is due longest has waited; 0: none */
    int64_t lateness_max_ns;   /* from due to claimed */
    /* How many were claimed that late: in place i less than 2^i ns, and at least 2^(i-1). */
    uint64_t lateness[BELAY_SCHED_LATENESS_BUCKETS];
    /* By priority: below 0, 0, 1, 2 to 3, 4 to 7, 8 to 15, 16 to 255, above. */
    belay_sched_wait wait[BELAY_SCHED_BANDS];
} belay_sched_metrics;

/*
 * belay_sched_stats: the numbers of this moment. ret_metrics->size is set by the caller, and fields
 * beyond it are not written. Errors: BELAY_EINVAL.
 * Context: any thread, a job or drop included; never blocks.
 */
BELAY_API int belay_sched_stats(belay_sched *sched, belay_sched_metrics *ret_metrics);

/*
 * Claims. A claim is one occurrence of one job from the moment it was taken until it ended. It is
 * lent to fn, and to whoever fn passes it to, until then: until fn returned, and, when fn returned
 * BELAY_PENDING, until belay_claim_done. A thread that may look at it later holds a reference.
 */

/*
 * belay_claim_run: calls the job's fn and reports its status. On a claim given by belay_sched_next.
 * Takes the claim. Returns 0: it has ended; BELAY_PENDING: fn returned that, and belay_claim_done
 * ends it (or did already).
 * Errors: BELAY_EINVAL, BELAY_ESTALE (run before, or ended) (in this order).
 * Context: any thread; blocks as long as fn does.
 */
BELAY_API int belay_claim_run(belay_claim *claim);

/*
 * belay_claim_done: ends a job whose fn returned, or is about to return, BELAY_PENDING, or one that
 * was claimed by belay_sched_next and never run. status: 0 for success, anything else but
 * BELAY_PENDING for a failure. Called while fn still runs, it takes effect when fn has returned.
 * Takes the claim: exactly one call gets 0.
 * Errors: BELAY_EINVAL, BELAY_ESTALE (ended before; only fn, and who holds a reference, may still
 *         ask) (in this order).
 * Context: any thread, a job or drop included; never blocks.
 */
BELAY_API int belay_claim_done(belay_claim *claim, int status);

/*
 * belay_claim_is_canceled: true once somebody canceled the running job, or closed its scheduler
 * with BELAY_CLOSE_SIGNAL; false for NULL. What the canceling thread did before is visible then.
 * Errors: none. Context: whoever the claim is lent to, or holds a reference; never blocks.
 */
BELAY_API bool belay_claim_is_canceled(const belay_claim *claim);

/*
 * belay_claim_token: a token that fires when the job is canceled; made at the first call.
 * Lends it until the job has ended; belay_cancel_ref keeps it.
 * Errors: BELAY_EINVAL, BELAY_ENOMEM (in this order).
 * Context: whoever the claim is lent to; never blocks.
 */
BELAY_API int belay_claim_token(belay_claim *claim, belay_cancel **ret_token);

/* What is known of a claim. */
typedef struct belay_claim_details {
    uint32_t size; /* sizeof(belay_claim_details), set by the caller */
    int32_t priority;
    int64_t due_ns;          /* when it was to start, jitter included */
    int64_t slot_ns;         /* the slot that it runs for; run_at_ns of a job that runs once */
    int64_t claimed_ns;      /* the scheduler's time at the claim */
    uint64_t occurrence;     /* 1 for the first */
    uint64_t missed;         /* slots since the last occurrence that have no run of their own */
    belay_id id;             /* lent until the job has ended */
    belay_job_handle handle; /* of its version */
} belay_claim_details;

/*
 * belay_claim_info: what is known of the claim. ret_info->size is set by the caller, and fields
 * beyond it are not written. Errors: BELAY_EINVAL.
 * Context: whoever the claim is lent to; never blocks.
 */
BELAY_API int belay_claim_info(const belay_claim *claim, belay_claim_details *ret_info);

/*
 * belay_claim_ref, belay_claim_unref: one reference more, one fewer. A reference keeps the memory
 * of the claim, not the job: after the end belay_claim_run and belay_claim_done answer ESTALE, and
 * belay_claim_is_canceled what was last true; the rest may not be called. unref of NULL is allowed.
 * Errors: none. Context: ref: while the claim is lent to the caller; unref: any thread.
 */
BELAY_API belay_claim *belay_claim_ref(belay_claim *claim);
BELAY_API void belay_claim_unref(belay_claim *claim);

#ifdef __cplusplus
}
#endif

#endif
