/*
 * sem_int.h: a semaphore, and what the files of this folder do for each other. See README.md for
 * the invariants and sem.c for the argument.
 */
#ifndef BLY_SEM_SEM_INT_H
#define BLY_SEM_SEM_INT_H

#include "base/hist.h"
#include "base/list.h"
#include "belay/sem.h"
#include "sem/deadlines.h"
#include "sem/fast.h"
#include "sem/state.h"
#include "sync/sync.h"
#include "time/cancel.h"
#include "time/parker.h"
#include "time/timers.h"

/* How many leases are decided, and deadlines looked at, before the lock is dropped once. */
#define BLY_SEM_BATCH 64

#define BLY_SEM_WAITERS_DEFAULT 4096
#define BLY_SEM_NAME_SIZE       32
#define BLY_SEM_SECOND_NS       INT64_C(1000000000)

/* pass.now_ns while the clock was not read: nobody was waiting before the lock was taken. */
#define BLY_SEM_NOT_READ INT64_MIN

/* What a semaphore has counted. */
typedef struct bly_sem_counts {
    uint64_t granted_at_once; /* kept with track_holders only */
    uint64_t granted_waiting;
    uint64_t canceled;
    uint64_t timed_out;
    uint64_t closed;
    uint64_t too_big;
    uint64_t refused_full;
    uint64_t late_cancels;
    int64_t cancel_second;     /* the second that the next two belong to */
    uint64_t cancels_now;      /* cancels in that second */
    uint64_t cancels_previous; /* cancels in the second before it */
    int64_t short_since_ns;    /* permits are free but too few for the head; NOT_READ: not so */
    int64_t short_total_ns;    /* the sum over earlier heads */
    bly_hist waits;            /* how long those granted after waiting waited */
} bly_sem_counts;

struct belay_sem {
    uint32_t fast;       /* atomic: the available permits, or shut: see fast.h */
    bool is_unfair;      /* constant after create */
    bool tracks_holders; /* constant after create */
    bool is_inline;      /* constant after create: callbacks run where they were decided */
    uint32_t looks_long; /* atomic, a hint: threads that wait had better look for longer */
    bly_mutex lock;      /* of all that follows, but where it says otherwise */
    /* Permits; held ones are what is missing: see bly_sem_in_use_locked. */
    uint32_t capacity;
    uint32_t available; /* while the word is shut */
    uint32_t reserved;
    uint32_t debt;
    /* Requests. */
    uint32_t waiting;     /* atomic: written under the lock; read without it by bly_pass_begin */
    uint32_t waiting_max; /* the most there ever were */
    uint32_t undelivered; /* leases decided whose callers have not been told */
    uint32_t passes;      /* threads that dropped the lock inside a pass and will take it again */
    uint32_t next_place;  /* of the next to queue */
    uint32_t next_turn;   /* of the next to be granted */
    bool is_closed;
    bly_list queue;          /* waiting leases, first come first */
    bly_list reserved_order; /* reserved leases, first granted first */
    bly_list holders;        /* held leases, first granted first; empty unless tracks_holders */
    bly_list idlers;         /* threads inside belay_sem_await_idle */
    bly_sem_counts counts;
    int64_t armed_ns;    /* what the timer is armed for, at the latest; BELAY_FOREVER: nothing */
    bly_timer timer;     /* armed under the lock; its service knows the rest */
    uint64_t refused;    /* atomic: deliveries that the executor refused */
    uint64_t doubles;    /* atomic: second releases, counted under the registry's lock */
    bly_list registered; /* the registry's lock */
    /* Constant after create. */
    uint32_t waiters_max;
    belay_clock *clock;
    belay_timers *timers;
    belay_executor *executor;
    void (*log)(const char *line, void *arg);
    void *log_arg;
    char name[BLY_SEM_NAME_SIZE];
    bly_deadlines deadlines; /* lock: of async leases that wait with a deadline */
};

/*
 * A pass: one thread's hold of the lock, in which leases may be decided. Threads to be woken are
 * noted here and woken after unlocking.
 */
typedef struct bly_pass {
    int64_t now_ns;  /* read before the lock was taken */
    uint32_t budget; /* what may still be decided before the lock is dropped */
    uint32_t parker_count;
    bly_parker *parkers[BLY_SEM_BATCH];
} bly_pass;

/* One acquire on its way. */
typedef struct bly_request {
    belay_sem *sem;
    belay_lease *lease;
    uint32_t permits;
    int64_t deadline_ns;
    belay_cancel *cancel;
    belay_sem_fn *fn; /* NULL: the calling thread waits */
    void *arg;
    int64_t since_ns; /* when it came to the lock */
    const void *site; /* the return address of the public call */
} bly_request;

/* pass.c */

/* bly_sem_lock: takes the lock, and shuts the word. */
void bly_sem_lock(belay_sem *sem);

/* bly_pass_begin: reads the clock if anybody waits, and takes the lock. */
void bly_pass_begin(belay_sem *sem, bly_pass *pass);

/* bly_pass_begin_at: the same with the time known. */
void bly_pass_begin_at(belay_sem *sem, bly_pass *pass, int64_t now_ns);

/*
 * bly_pass_decide: the waiting lease leaves the queue for `outcome`: RESERVED, TIMED_OUT, CANCELED,
 * CLOSED or TOO_BIG. Its caller is told after the pass. The pass has budget.
 */
void bly_pass_decide(belay_sem *sem, bly_pass *pass, belay_lease *lease, bly_lease_state outcome);

/* bly_pass_breathe: drops the lock, wakes who is to be woken, takes it again. */
void bly_pass_breathe(belay_sem *sem, bly_pass *pass);

/* bly_pass_serve: serves the queue until its head can neither be granted nor ended. */
void bly_pass_serve(belay_sem *sem, bly_pass *pass);

/*
 * bly_pass_end: serves the queue in the same way, unlocks and
 * wakes threads. The semaphore may be gone when it returns; completions are on the calling thread's
 * list, which the caller runs unless it is the function of a token.
 */
void bly_pass_end(belay_sem *sem, bly_pass *pass);

/* bly_sem_unlock: unlocks where nothing was decided but the semaphore may have become idle. */
void bly_sem_unlock(belay_sem *sem);

/* bly_sem_in_use_locked: permits held and reserved. */
uint32_t bly_sem_in_use_locked(const belay_sem *sem);

/* bly_sem_is_idle_locked: whether destroy would succeed. */
bool bly_sem_is_idle_locked(const belay_sem *sem);

/* bly_sem_give_back_locked: permits return, to the debt first. */
void bly_sem_give_back_locked(belay_sem *sem, uint32_t permits);

/*
 * bly_sem_deliver: the caller of a decided lease is told now. Its state becomes HELD or ENDED, and
 * the result of its acquire is returned. The semaphore may be gone afterwards.
 * waited_ns: how long a thread waited for it; -1 for callbacks, whose waits are known already.
 */
int bly_sem_deliver(belay_sem *sem, belay_lease *lease, int64_t waited_ns);

/* bly_sem_on_fire: the function of a lease's registration with its token. */
void bly_sem_on_fire(bly_cancel_reg *reg);

/* bly_sem_on_timer: the function of the semaphore's timer. */
void bly_sem_on_timer(bly_timer *timer);

/* bly_sem_arm_locked: sees to it that the timer comes in time for the earliest deadline. */
void bly_sem_arm_locked(belay_sem *sem);

/*
 * bly_sem_count_locked: one acquire more that ended with this error.
 * now_ns: the time as far as it is known, or BLY_SEM_NOT_READ.
 */
void bly_sem_count_locked(belay_sem *sem, int error, int64_t now_ns);

/* blocking.c */

/* bly_sem_wait: waits on this thread for the end of a request that was queued for it. */
int bly_sem_wait(const bly_request *request);

/* idle.c */

/* bly_sem_wake_idlers_locked: ends the wait of all threads inside belay_sem_await_idle. */
void bly_sem_wake_idlers_locked(belay_sem *sem);

/* holders.c */

/* bly_holders_now: the time, with track_holders; others do not pay for it. No lock is held. */
int64_t bly_holders_now(const belay_sem *sem);

/*
 * bly_holders_add_locked, _remove_locked: a lease begins and ends to be held. Remove only with
 * track_holders.
 */
void bly_holders_add_locked(belay_sem *sem, belay_lease *lease, int64_t now_ns);
void bly_holders_remove_locked(belay_sem *sem, belay_lease *lease);

/* bly_holders_replace: `to` stands for `from` from now on. No lock is held. */
void bly_holders_replace(belay_sem *sem, belay_lease *from, belay_lease *to);

/* bly_holders_log: tells the log who holds permits. No lock is held. */
void bly_holders_log(belay_sem *sem);

/* registry.c */

/* bly_registry_add, _remove: a semaphore begins and ends to live. */
void bly_registry_add(belay_sem *sem);
void bly_registry_remove(belay_sem *sem);

/* bly_registry_count_double: counts a second release, if that semaphore still lives. */
void bly_registry_count_double(const belay_sem *sem);

#endif
