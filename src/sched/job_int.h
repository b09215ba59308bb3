/*
 * job_int.h: one version of a job, as the scheduler keeps it.
 *
 * All fields without a word of their own are constant from schedule on. "Lock" is the scheduler's.
 */
#ifndef BLY_SCHED_JOB_INT_H
#define BLY_SCHED_JOB_INT_H

#include "base/heap.h"
#include "base/list.h"
#include "base/map.h"
#include "base/state.h"
#include "belay/sched.h"

/* The states of a version; src/sched/README.md draws them. The ends stand last. */
enum {
    BLY_JOB_NEW,
    BLY_JOB_PENDING,   /* in one of the two heaps */
    BLY_JOB_HELD,      /* behind the running version of its id */
    BLY_JOB_RUNNING,   /* has a claim */
    BLY_JOB_COMPLETED, /* ended by its fn, as are FAILED ones */
    BLY_JOB_FAILED,
    BLY_JOB_CANCELED, /* ended by drop, as are the next two */
    BLY_JOB_REPLACED,
    BLY_JOB_DROPPED
};
extern const bly_state_table bly_job_states;

/* Where a pending version stands. */
enum { BLY_IN_NONE, BLY_IN_FUTURE, BLY_IN_DUE };

/* What sort of id it has. */
enum { BLY_ID_NONE, BLY_ID_IS_NUMBER, BLY_ID_IS_BYTES };

/* An id as the scheduler looks it up; it lends the bytes of the belay_id that it was made from. */
typedef struct bly_id {
    const void *data;
    uint64_t number; /* its own place for `data` to point to */
    uint64_t hash;   /* by the scheduler's own seed */
    uint8_t len;
    uint8_t kind;
} bly_id;

/* What a recurring job has besides. */
typedef struct bly_series {
    belay_job_next *next;
    void *next_arg; /* NULL: period_ns */
    int64_t period_ns;
    int64_t late_max_ns;
    uint32_t missed_max;
    uint8_t policy; /* BELAY_MISSED_… */
    bool ends_on_failure;
    uint64_t failures;   /* lock */
    uint64_t occurrence; /* lock: of the one that runs, or ran last; 0 before the first */
    uint64_t missed;     /* whoever runs it, else lock: slots passed over since then */
} bly_series;

typedef struct bly_job bly_job;

struct bly_job {
    belay_task task; /* from its end on: delivers drop */
    belay_sched *sched;
    belay_job_fn *fn;
    void *arg;
    void (*drop)(void *arg, int why);
    bly_series *series; /* NULL: runs once */
    uint64_t version;   /* also its place among equal keys */
    uint64_t hash;      /* of the id, by the scheduler's own seed */
    bly_map_link named; /* lock: in the map of ids */
    bly_job *other;     /* lock: RUNNING: the version held back behind it; HELD: the running one */
    belay_claim *claim; /* lock: RUNNING */
    bly_list link;      /* lock: HELD: held list; in the due heap: due list. Then its closer's */
    int64_t run_at_ns;  /* lock */
    int64_t slot_ns;    /* lock: run_at_ns without jitter */
    int64_t jitter_ns;
    int64_t submitted_ns;
    uint64_t claims_before; /* lock: claims made when it came due; with aging alone */
    uint32_t due_before;    /* lock: jobs that were due before it; with aging alone */
    uint32_t heap_place;    /* lock: in the heap that `where` names */
    uint32_t place;         /* lock: of its handle */
    int16_t priority;
    uint8_t state;      /* lock: BLY_JOB_… */
    uint8_t where;      /* lock: BLY_IN_… */
    uint8_t why;        /* lock, then its dropper: BELAY_DROP_… */
    bool is_canceled;   /* lock: RUNNING, and told to stop */
    bool is_superseded; /* lock: RUNNING, and a newer version was scheduled */
    bool is_counted;    /* lock: by pending_max */
    uint8_t id_kind;
    uint8_t id_len;
    unsigned char id[]; /* id_len bytes; a series stands behind them */
};

/*
 * bly_id_read: checks an id and makes of it what can be looked up. *id must stay where it is.
 * 0 or BELAY_EINVAL (empty where that is not allowed, too long, neither bytes nor a number).
 */
int bly_id_read(bly_id *id, const belay_id *from, bool may_be_none, uint64_t seed);

/* bly_job_copy: checks a belay_job and copies it. 0 or BELAY_EINVAL. */
int bly_job_copy(belay_job *job, const belay_job *from);

/* bly_job_create: a NEW version of the checked job; NULL when there is no memory. */
bly_job *bly_job_create(const belay_job *job, const bly_id *id);

/*
 * bly_job_is_named: whether the version of the link goes by the bly_id at `id`; for bly_map_find.
 */
bool bly_job_is_named(const bly_map_link *named, const void *id);

/*
 * bly_job_key: its place in the order of the contract. aging 0: (run_at, -priority, version). A:
 * (run_at - A * priority, -priority, version), without overflow. BELAY_FOREVER: (-priority, run_at,
 * version).
 */
bly_heap_key bly_job_key(const bly_job *job, int64_t aging_ns);

/* bly_job_is_before: that order without aging. */
bool bly_job_is_before(const bly_job *a, const bly_job *b);

/* bly_job_id: the id of the version, which lends its bytes. */
belay_id bly_job_id(const bly_job *job);

/* bly_job_handle: the handle of the version. */
belay_job_handle bly_job_handle(const bly_job *job);

/* bly_job_start_of: when the job may start for that slot: jitter added, the same at each call. */
int64_t bly_job_start_of(const bly_job *job, int64_t slot_ns);

#endif
