/*
 * sched_int.h: the scheduler itself, and what its files offer each other.
 *
 * The form of every entry: read the clock, lock, bly_seen_locked, decide, bly_leave. Whatever must
 * not happen under the lock is noted in a bly_after and done by bly_leave after unlocking.
 *
 * "Lock" in the comments of fields is `lock`. `_locked` functions are called with it held.
 */
#ifndef BLY_SCHED_SCHED_INT_H
#define BLY_SCHED_SCHED_INT_H

#include "belay/sem.h"
#include "sched/versions_int.h"
#include "sync/sync.h"
#include "time/timers.h"

#define BLY_BATCH         64u   /* the most that is moved under one hold of the lock */
#define BLY_TICKET_RUNS   64u   /* jobs that a ticket runs before it goes back to its executor */
#define BLY_SPARES_MAX    64u   /* claims kept for later */
#define BLY_DUE_COUNT_MAX 1000u /* the due jobs that stats count */

/* The life of a scheduler, and who runs its jobs. */
enum { BLY_OPEN, BLY_CLOSING, BLY_CLOSED };
enum { BLY_UNUSED, BLY_DRIVEN, BLY_STARTING, BLY_STARTED };
extern const bly_state_table bly_sched_states;
extern const bly_state_table bly_sched_modes;

/* What awaiters wait on; it outlives the scheduler while one of them still looks at it. */
typedef struct bly_gate {
    uint32_t is_open; /* atomic: set once by the thread that closes, read by awaiters */
    uint32_t refs;    /* atomic */
    belay_clock *clock;
} bly_gate;

/* A thread that sleeps in belay_sched_next; on its own stack. */
typedef struct bly_waiter {
    bly_list link; /* lock */
    struct bly_parker *parker;
} bly_waiter;

/* The phase bits of a claim. Each is set once, but for IN_FN, which is cleared once. */
enum {
    BLY_CLAIM_RUN = 1,     /* somebody has the right to call fn */
    BLY_CLAIM_IN_FN = 2,   /* fn is being called */
    BLY_CLAIM_DONE = 4,    /* somebody has the right to say the status */
    BLY_CLAIM_REPORTED = 8 /* the status is there */
};

struct belay_claim {
    belay_task task;   /* the executor's, while it is a ticket */
    belay_lease lease; /* the running permit, when has_permit */
    belay_sched *sched;
    bly_job *job;         /* constant from the claim to the end */
    bly_list link;        /* lock: in `running` or `told`, or among the spares */
    belay_claim *outer;   /* its thread, inside a function: the claim whose function called it */
    belay_cancel *token;  /* lock: made when asked for */
    uint32_t refs;        /* atomic: the occurrence's own, and the users' */
    uint32_t phase;       /* atomic: BLY_CLAIM_… */
    uint32_t is_canceled; /* atomic: set under the lock, read by anyone */
    bool is_ticket;       /* constant: runs on the executor */
    bool has_permit;      /* whoever has the ticket in hand */
    int status;           /* who set DONE writes, before REPORTED; who ends it reads */
    uint64_t number;      /* constant during the occurrence: of all claims, as are the next ones */
    uint64_t occurrence;
    uint64_t missed;
    int64_t due_ns;
    int64_t slot_ns;
    int64_t claimed_ns;
};

struct belay_sched {
    bly_mutex lock;
    belay_clock *clock;         /* constant, as are the next ones */
    uint64_t generation;        /* of forks, at create */
    uint64_t seed;              /* of the id map */
    belay_timers *timers_given; /* of the options */
    int64_t aging_ns;
    uint32_t pending_max;

    int64_t last_now;    /* atomic: written under the lock, read before reading the clock */
    uint64_t steps_back; /* atomic: counted by readers of the clock */

    /* The rest is protected by the lock. */
    uint8_t state;           /* BLY_OPEN … */
    uint8_t mode;            /* BLY_UNUSED … */
    uint8_t how;             /* once closing: BELAY_CLOSE_DRAIN_DUE or _DISCARD */
    bool is_collecting;      /* a thread is taking out what the close dropped */
    bool is_executor_closed; /* it has answered ECLOSED */
    bool is_probing;         /* a ticket without a job is on its way */
    bool is_resizing;        /* a thread is telling the semaphore */
    bool is_told;            /* the waiters know that nothing is owed */
    int64_t close_ns;        /* T of the close */
    uint64_t pins;           /* tickets and threads that will come back to the lock */
    bly_gate *gate;

    bly_versions versions;
    uint64_t last_version;
    uint64_t coming;    /* versions that pending_max counts */
    bly_list held;      /* HELD versions */
    bly_list held_owed; /* those of them that a closing scheduler still owes */
    bly_list due;       /* versions in versions.due, in the order in which they came there */
    bly_list running;   /* claims, in the order of claiming */
    bly_list told;      /* those of them that a close has signalled */
    uint64_t running_count;
    uint64_t claims; /* ever */

    bly_list waiters;  /* driven: the first is the leader */
    int64_t leader_ns; /* driven: what the leader waits for besides its deadline */

    belay_executor *executor; /* started: constant from then on, as are the next two */
    belay_timers *timers;
    belay_sem *permits;
    uint32_t running_max; /* started */
    uint32_t told_max;    /* started: the capacity that the semaphore has been told */
    bly_timer timer;      /* started: at the head's time */
    int64_t armed_ns;     /* started: what the timer stands at, as far as is known */

    bly_list spares; /* claims without an occurrence */
    uint32_t spare_count;
    belay_sched_metrics counts;
};

/* What is to be done after unlocking; all zero: nothing. */
typedef struct bly_after {
    void *garbage;       /* blocks to free, linked through their first word */
    belay_cancel *fire;  /* a token to fire; a reference */
    belay_cancel *unref; /* a reference to give up */
    belay_claim *ticket; /* a ticket to send, or NULL with is_sending: one is to be made */
    bool is_sending;     /* the scheduler is pinned for it */
} bly_after;

/* sched.c */

/* bly_sched_now: the clock, never before an earlier reading. No lock is held. */
int64_t bly_sched_now(belay_sched *sched);

/* bly_seen_locked: the time that was read before locking. */
void bly_seen_locked(belay_sched *sched, int64_t now_ns);

/* bly_find_locked: the version under an id; NULL: none, or a close has dropped it already. */
bly_job *bly_find_locked(const belay_sched *sched, const bly_id *id);

/* bly_leave: unlocks and does what is noted. The scheduler may be gone when it returns. */
void bly_leave(belay_sched *sched, bly_after *after);

/* bly_discard: notes a block of at least a pointer's size to be freed; NULL is allowed. */
void bly_discard(bly_after *after, void *block);

/* bly_unpin_locked: one fewer ticket or thread that will come back. */
void bly_unpin_locked(belay_sched *sched);

/* order.c: what is pending, and when it may be claimed */

/* bly_is_doomed_locked: whether a close has dropped this pending or held version already. */
bool bly_is_doomed_locked(const belay_sched *sched, const bly_job *job);

/* bly_enter_locked: the version becomes PENDING. */
void bly_enter_locked(belay_sched *sched, bly_job *job);

/* bly_to_due_locked: puts a version that is in no heap in the due order. */
void bly_to_due_locked(belay_sched *sched, bly_job *job);

/* bly_unqueue_locked: takes a PENDING version out of the order. */
void bly_unqueue_locked(belay_sched *sched, bly_job *job);

/* bly_earliest_locked: when something can be claimed; BELAY_FOREVER: nothing is pending. */
int64_t bly_earliest_locked(const belay_sched *sched);

/* bly_is_all_given_locked: closing, and nothing is owed that could still be claimed. */
bool bly_is_all_given_locked(const belay_sched *sched);

/* bly_pick_locked: takes the job that is to run now out of the order; NULL: none is due. */
bly_job *bly_pick_locked(belay_sched *sched);

/* bly_plan_locked: sees to it that whatever is due, or will be, is claimed by somebody. */
void bly_plan_locked(belay_sched *sched, bly_after *after);

/* end.c: the ends of versions */

/* bly_uncount_locked: the version is no longer one that pending_max counts. */
void bly_uncount_locked(belay_sched *sched, bly_job *job);

/*
 * bly_bury_locked: a version that is in no heap, list or map ends in that state. True: it owes a
 * drop; the scheduler is pinned until job->task, which the caller has delivered, has run. False: it
 * is garbage.
 */
bool bly_bury_locked(belay_sched *sched, bly_job *job, uint32_t state, bly_after *after);

/* bly_drop_pending_locked, bly_drop_held_locked: the version ends by its drop, on this thread. */
void bly_drop_pending_locked(belay_sched *sched, bly_job *job, uint32_t state, bly_after *after);
void bly_drop_held_locked(belay_sched *sched, bly_job *job, uint32_t state, bly_after *after);

/* bly_detach_held_locked: takes a HELD version away from the running one and out of its list. */
void bly_detach_held_locked(bly_job *held);

/* bly_end_locked: the claim's occurrence is over; next_ns is the next slot of a series. */
void bly_end_locked(belay_sched *sched, belay_claim *claim, int64_t next_ns, bly_after *after);

/* claim.c */

/* bly_claim_create: a claim without an occurrence; NULL when there is no memory. */
belay_claim *bly_claim_create(belay_sched *sched, bool is_ticket);

/* bly_claim_spare_locked: one that was kept; NULL: none. */
belay_claim *bly_claim_spare_locked(belay_sched *sched);

/* bly_claim_keep_locked: keeps a claim that nobody refers to, or notes it as garbage. */
void bly_claim_keep_locked(belay_sched *sched, belay_claim *claim, bly_after *after);

/* bly_claim_begin_locked: the picked job runs under this claim. */
void bly_claim_begin_locked(belay_sched *sched, belay_claim *claim, bly_job *job);

/* bly_claim_is_free: whether nobody but the scheduler refers to the claim. */
bool bly_claim_is_free(const belay_claim *claim);

/* bly_claim_take: the right to call fn. False: somebody had it, or the occurrence has ended. */
bool bly_claim_take(belay_claim *claim);

/*
 * bly_claim_call: calls fn, for who took that right. True: the caller must end the occurrence;
 * false: touch nothing.
 */
bool bly_claim_call(belay_claim *claim);

/*
 * bly_claim_inside, bly_claim_outside: the thread is inside a function of the claimed job from here
 * to there. Nobody else is.
 */
void bly_claim_inside(belay_claim *claim);
void bly_claim_outside(belay_claim *claim);

/* bly_claim_signal_locked: the running version is told to stop. */
void bly_claim_signal_locked(belay_sched *sched, bly_job *job, bly_after *after);

/* bly_claim_after: the next slot of the claimed job, when it may have one. No lock is held. */
int64_t bly_claim_after(belay_claim *claim, int64_t now_ns);

/* bly_claim_is_inside: whether this thread is inside a job of the scheduler. */
bool bly_claim_is_inside(const belay_sched *sched);

/* bly_claim_pass: makes the claim one that never ran, so that its end counts no occurrence. */
void bly_claim_pass(belay_claim *claim);

/* series.c: pure but for the calls of `next`; no lock is held */

/*
 * bly_series_settle: which slot the claim stands for (slot_ns and missed of the claim). False: it
 * is to be passed over, *ret_next_ns is the slot to go on with.
 */
bool bly_series_settle(belay_claim *claim, int64_t *ret_next_ns);

/*
 * bly_series_next: the slot after the claim's, by its policy; what is passed over goes to *missed.
 */
int64_t bly_series_next(const belay_claim *claim, int64_t now_ns, uint64_t *missed);

/* ticket.c */

/* bly_ticket_send: sends a probe, making it when ticket is NULL. The scheduler is pinned for it. */
void bly_ticket_send(belay_sched *sched, belay_claim *ticket);

/* bly_ticket_stop: takes back what start made; the scheduler is CLOSED. */
void bly_ticket_stop(belay_sched *sched);

/* bly_ticket_done: a ticket whose job has ended elsewhere gives its permit back. */
void bly_ticket_done(belay_claim *ticket);

/* close.c */

/* bly_close_begin_locked: whether the caller must call bly_close_collect after unlocking. */
bool bly_close_begin_locked(belay_sched *sched);

/*
 * bly_close_collect: takes out what the close does not owe; the next bly_leave of this thread
 * delivers its drops. The scheduler is pinned.
 */
void bly_close_collect(belay_sched *sched);

/* bly_close_check_locked: CLOSED when all has ended. */
void bly_close_check_locked(belay_sched *sched);

/* bly_gate_create, _unref: see bly_gate. */
bly_gate *bly_gate_create(belay_clock *clock);
void bly_gate_unref(bly_gate *gate);

/* next.c */

/* bly_lead_locked: the first waiter must look again, when what it waits for has changed. */
void bly_lead_locked(belay_sched *sched);

/* bly_wake_all_locked: all waiters must look again. */
void bly_wake_all_locked(belay_sched *sched);

/* stats.c */

/* bly_count_claim_locked: the job is claimed: its wait, its lateness, who overtook it. */
void bly_count_claim_locked(belay_sched *sched, const bly_job *job);

#endif
