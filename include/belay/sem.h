/*
 * belay/sem.h: a counting semaphore for threads and for callbacks.
 *
 * A semaphore has `capacity` permits. Who needs some acquires a lease of them, by waiting on its
 * thread or by a callback, and releases the lease once. Threads and callbacks stand in one queue
 * and are served in the order in which they came, whatever number of permits each wants [G-SEM-1].
 *
 * It is no mutex: it knows no owner, any thread may release a lease [G-SEM-16], who acquires
 * again waits like everybody else, and no priority is inherited. Permits come into being with the
 * semaphore and by belay_sem_resize only: nothing else can add one.
 *
 * A lease. Its storage is the caller's, all zero before the first use (BELAY_LEASE_INIT), and at
 * one address from then on. It belongs to belay from an acquire until the callback begins, and when
 * permits were granted until its release returns; a caller that frees or moves it meanwhile breaks
 * the semaphore. After BELAY_PENDING the callback may already have run on another thread: touch
 * nothing that it may free. A lease that ended (released, timed out, canceled, refused) can be used
 * for the next acquire as it is, of this semaphore or another, also from its own callback.
 *
 * What a releaser did before its release is visible to whom its permits are granted [G-SEM-29].
 */
#ifndef BELAY_SEM_H
#define BELAY_SEM_H

#include "belay/base.h"
#include "belay/cancel.h"
#include "belay/clock.h"
#include "belay/detail/cancel_reg.h"
#include "belay/detail/list.h"
#include "belay/task.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct belay_sem belay_sem;
typedef struct belay_lease belay_lease;

/* The most permits of a semaphore. */
#define BELAY_SEM_CAPACITY_MAX INT32_MAX

/*
 * A callback of belay_sem_acquire_async. result: 0 = the lease holds its permits; BELAY_ETIMEDOUT,
 * BELAY_ECANCELED, BELAY_ECLOSED or BELAY_ETOOBIG (the capacity was reduced below its permits) = it
 * holds nothing and may be used again or freed.
 * Called exactly once, on the thread or executor of the semaphore's options, under no lock of
 * belay's. It may call every function of belay that does not wait, on this semaphore too: release
 * the lease, acquire with it again, free it, close or destroy the semaphore [G-SEM-25].
 */
typedef void belay_sem_fn(belay_lease *lease, int result, void *arg);

/* While a lease waits with a deadline: its place among those. */
struct bly_lease_timing {
    bly_list link;       /* the semaphore's lock */
    int64_t deadline_ns; /* the semaphore's lock */
};

/*
 * A lease; 128 bytes on 64-bit machines. All fields are belay's. The first 64 bytes are what an
 * acquire and a release without waiting touch.
 */
struct belay_lease {
    const belay_lease *self; /* atomic: the acquirer writes its address at the first use */
    belay_sem *sem;          /* atomic: the acquirer writes, whoever cancels or releases reads */
    uint32_t state;          /* atomic: see src/sem/README.md */
    uint32_t permits;        /* the acquirer's until granted, constant while waiting and held */
    bly_list link;           /* the semaphore's lock: in its queue, or reserved, or holders list */
    int64_t since_ns;        /* the semaphore's lock: when it came to wait, or began to be held */
    uint64_t mark;    /* the semaphore's lock: place and turn in line, or the acquirer's site */
    belay_sem_fn *fn; /* constant while waiting; NULL: a thread waits */
    void *arg;        /* constant while waiting: fn's, or the parker of the thread */
    union {
        struct bly_lease_timing timing; /* while waiting */
        belay_task task;                /* once decided, until its callback begins */
    } phase;
    bly_cancel_reg reg; /* with the token of its acquire; see belay/detail/cancel_reg.h */
};

#ifdef __cplusplus
#define BELAY_LEASE_INIT                                                                           \
    {                                                                                              \
    }
#else
#define BELAY_LEASE_INIT                                                                           \
    {                                                                                              \
        0                                                                                          \
    }
#endif

/* Options of a semaphore. Zero means the default; capacity has none. */
typedef struct belay_sem_opts {
    uint32_t size;          /* sizeof(belay_sem_opts) */
    uint32_t capacity;      /* 1 to BELAY_SEM_CAPACITY_MAX */
    uint32_t waiters_max;   /* the most that wait; 0: 4096; BELAY_NONE; BELAY_UNBOUNDED */
    uint32_t unfair;        /* 1: free permits may be taken past those who wait, who may starve */
    uint32_t track_holders; /* 1: remember who holds what since when; costs time in every acquire */
    uint32_t zero;          /* must be 0 */
    belay_clock *clock;   /* NULL: the system's; borrowed until destroy and the end of all calls */
    belay_timers *timers; /* NULL: the service that the process shares; borrowed until destroy */
    belay_executor *executor; /* where callbacks run; NULL: inline; borrowed until destroy */
    const char *name; /* for stats and the log; NULL: "sem"; copied, at most 31 bytes of it */
    void (*log)(const char *line, void *arg); /* told what deserves it; NULL: nobody is */
    void *log_arg;
} belay_sem_opts;

/*
 * belay_sem_create: a semaphore of opts->capacity permits, all of them available.
 * opts: copied; the objects that it names are borrowed. Gives the semaphore; belay_sem_destroy
 * ends it.
 * Errors: BELAY_EINVAL (also: the timers run on another clock), BELAY_ENOMEM, BELAY_EAGAIN (no
 * thread for the shared timers).
 * Context: any thread, never blocks.
 */
BELAY_API int belay_sem_create(const belay_sem_opts *opts, belay_sem **ret_sem);

/*
 * belay_sem_acquire: waits on the calling thread for `permits` permits, behind everyone who came
 * before [G-SEM-1].
 * Takes the lease's storage; on success gives a lease, and exactly one belay_lease_release takes it
 * back. After an error the lease is idle (BELAY_EINVAL and BELAY_EBUSY leave it as it was)
 * [G-SEM-22].
 * permits: at least 1. deadline_ns: on the semaphore's clock; it limits the waiting alone, so free
 * permits are granted after it too; BELAY_NOW only tries, and never passes anyone who waits
 * [G-SEM-4]; BELAY_FOREVER never times out. cancel: NULL, or a token whose fire ends the wait;
 * fired before, it refuses even free permits [G-SEM-8]; borrowed until the call returns.
 * Errors: BELAY_EINVAL (also: a live lease copied by value), BELAY_EBUSY (the lease is in use),
 *         BELAY_ETOOBIG (more than the capacity), BELAY_ECLOSED, BELAY_ECANCELED, BELAY_EAGAIN
 *         (BELAY_NOW), BELAY_ETIMEDOUT, BELAY_EFULL (waiters_max wait already), BELAY_EDEADLK,
 *         BELAY_ENOMEM (the first wait of this thread finds no memory).
 * Context: any thread; may block; from a callback that runs inline it never waits (BELAY_EDEADLK)
 * [G-SEM-23].
 */
BELAY_API int belay_sem_acquire(belay_sem *sem, belay_lease *lease, uint32_t permits,
                                int64_t deadline_ns, belay_cancel *cancel);

/*
 * belay_sem_acquire_async: the same without waiting. Returns 0: granted now, and fn is not called.
 * Returns BELAY_PENDING: fn(lease, result, arg) is called exactly once, later or already [G-SEM-2].
 * Takes the lease's storage until fn begins, or its release when granted.
 * permits, deadline_ns, cancel: as for belay_sem_acquire; the token is borrowed until fn begins.
 * Errors, with fn not called and the lease idle: BELAY_EINVAL, BELAY_EBUSY, BELAY_ETOOBIG,
 *         BELAY_ECLOSED, BELAY_ECANCELED, BELAY_EAGAIN, BELAY_ETIMEDOUT, BELAY_EFULL.
 * Context: any thread or callback, never blocks.
 */
BELAY_API int belay_sem_acquire_async(belay_sem *sem, belay_lease *lease, uint32_t permits,
                                      int64_t deadline_ns, belay_cancel *cancel, belay_sem_fn *fn,
                                      void *arg);

/*
 * belay_lease_cancel: takes a waiting lease out of the queue; its acquire ends with
 * BELAY_ECANCELED [G-SEM-10].
 * Errors: BELAY_EINVAL, BELAY_ENOENT (the lease is idle), BELAY_ETOOLATE (its end is decided,
 *         whichever way: the callback comes or came).
 * Context: any thread or callback that knows the lease and its semaphore to live; never blocks.
 */
BELAY_API int belay_lease_cancel(belay_lease *lease);

/*
 * belay_lease_release: gives the permits back, to the head of the queue first [G-SEM-5]. Never
 * fails for a lease that is held, allocates nothing, works on a closed semaphore. Exactly one of
 * several calls, from several threads too, returns 0 [G-SEM-12] [G-SEM-13].
 * Errors: BELAY_EINVAL, BELAY_ERELEASED (released before, and not acquired with since),
 *         BELAY_ENOTHELD (idle, waiting, granted but not delivered yet, ended without a grant, or a
 *         copy of the lease).
 * Context: any thread or callback, never blocks; callbacks of those served run inline before it
 * returns, unless the semaphore names an executor.
 */
BELAY_API int belay_lease_release(belay_lease *lease);

/*
 * belay_lease_move: moves a held lease to other storage, which need not be initialised [G-SEM-24].
 * Takes to's storage; `from` is idle afterwards.
 * Errors: BELAY_EINVAL (also: to == from), BELAY_ERELEASED, BELAY_ENOTHELD.
 * Context: any thread or callback, never blocks.
 */
BELAY_API int belay_lease_move(belay_lease *from, belay_lease *to);

/*
 * belay_sem_resize: changes the number of permits. New ones are granted at once. Those taken away
 * while in use become a debt, which releases repay before anyone is served [G-SEM-20]. A waiting
 * request that exceeds the capacity when it is at the head ends with BELAY_ETOOBIG [G-SEM-21].
 * capacity: 1 to BELAY_SEM_CAPACITY_MAX.
 * Errors: BELAY_EINVAL, BELAY_ECLOSED.
 * Context: any thread or callback, never blocks; may run callbacks inline.
 */
BELAY_API int belay_sem_resize(belay_sem *sem, uint32_t capacity);

/*
 * belay_sem_close: no more is acquired from now on, and all who wait end with BELAY_ECLOSED in the
 * order of the queue [G-SEM-19]. Leases that are held or granted stay valid until their release.
 * Idempotent.
 * Errors: BELAY_EINVAL.
 * Context: any thread or callback, never blocks; may run callbacks inline.
 */
BELAY_API int belay_sem_close(belay_sem *sem);

/*
 * belay_sem_await_idle: waits until belay_sem_destroy would succeed: nothing is held, granted,
 * waiting or undelivered [G-SEM-18]. It was so at one moment; only a closed semaphore stays so.
 * deadline_ns: as for belay_sem_acquire.
 * Errors: BELAY_EINVAL, BELAY_EAGAIN (BELAY_NOW), BELAY_ETIMEDOUT, BELAY_EDEADLK, BELAY_ENOMEM.
 * Context: any thread; may block; from a callback that runs inline it never waits (BELAY_EDEADLK).
 */
BELAY_API int belay_sem_await_idle(belay_sem *sem, int64_t deadline_ns);

/*
 * belay_sem_destroy: ends the semaphore; NULL is allowed. Legal as soon as it is idle, from a
 * callback too, and while the release that made it so is still returning on another thread
 * [G-SEM-17].
 * With track_holders a refusal tells opts->log who holds what.
 * Errors: BELAY_EBUSY (something is held, granted, waiting or undelivered).
 * Context: any thread or callback; no other call on it but a release may be in progress. The last
 * of those that share the process's timers waits for the end of their thread.
 */
BELAY_API int belay_sem_destroy(belay_sem *sem);

/*
 * belay_sem_with: acquires, calls fn(arg) and releases when fn returns [G-SEM-28].
 * Returns the result of fn, whatever it is, or an error of belay_sem_acquire with fn not called.
 * permits, deadline_ns, cancel: as for belay_sem_acquire. fn must return: leaving it by longjmp, an
 * exception or the end of its thread keeps the permits for ever.
 * Errors: those of belay_sem_acquire, in its order (BELAY_EINVAL also for fn NULL).
 * Context: as belay_sem_acquire; fn runs on the calling thread, under no lock of belay's.
 */
BELAY_API int belay_sem_with(belay_sem *sem, uint32_t permits, int64_t deadline_ns,
                             belay_cancel *cancel, int (*fn)(void *arg), void *arg);

/*
 * What a semaphore tells of itself: one moment, seen under its lock. Ages and waits are in
 * nanoseconds of its clock; 0 where there is none. Counters count since create.
 */
typedef struct belay_sem_metrics {
    uint32_t size; /* sizeof(belay_sem_metrics), set by the caller */
    /* Permits: available + held + reserved = capacity + debt. */
    uint32_t capacity;
    uint32_t available;
    uint32_t held;
    uint32_t reserved; /* granted to callers who have not begun to hold them */
    uint32_t debt;     /* in use beyond a reduced capacity */
    /* Requests. */
    uint32_t waiting;
    uint32_t waiting_max; /* the most that ever waited */
    uint32_t undelivered; /* decided, whichever way, and their callers not yet told */
    uint32_t is_closed;
    uint32_t tracks_holders;
    uint32_t head_permits;  /* what the head of the queue wants */
    int64_t head_age_ns;    /* how long it has waited, longest of all */
    int64_t head_short_ns;  /* for how long permits have been free, but too few for this head */
    int64_t short_total_ns; /* the sum of that over all heads so far */
    int64_t oldest_reserved_ns;
    int64_t oldest_held_ns;   /* with track_holders */
    uint64_t granted_at_once; /* with track_holders; 0 and not counted without */
    uint64_t granted_waiting; /* granted after waiting */
    uint64_t canceled;
    uint64_t canceled_per_s; /* in the last whole second */
    uint64_t timed_out;
    uint64_t closed;
    uint64_t too_big;
    uint64_t refused_full;
    uint64_t late_cancels;      /* cancels that came after the grant */
    uint64_t releases_refused;  /* second releases of a lease */
    uint64_t deliveries_inline; /* callbacks that the executor refused */
    /* How long those waited who were granted after waiting; of callbacks to a few milliseconds. */
    int64_t wait_p50_ns;
    int64_t wait_p99_ns;
    int64_t wait_max_ns;
    char name[32];
} belay_sem_metrics;

/*
 * belay_sem_stats: one consistent snapshot [G-SEM-30]. ret_metrics->size says how much of it the
 * caller knows; no more is written.
 * Errors: BELAY_EINVAL. Context: any thread or callback, never blocks.
 */
BELAY_API int belay_sem_stats(belay_sem *sem, belay_sem_metrics *ret_metrics);

/* One lease that is held, of a semaphore with track_holders. */
typedef struct belay_sem_holder {
    const belay_lease *lease;
    const void *site; /* the return address of its acquire, for addr2line */
    int64_t age_ns;   /* how long it has been held */
    uint32_t permits;
    uint32_t zero;
} belay_sem_holder;

/* The most holders that one call of belay_sem_holders tells. */
#define BELAY_SEM_HOLDERS_MAX 64

/*
 * belay_sem_holders: the oldest leases held, oldest first: at most max of them, and at most
 * BELAY_SEM_HOLDERS_MAX. Returns how many were written to ret_holders; none without track_holders
 * [G-SEM-31].
 * Errors: BELAY_EINVAL. Context: any thread or callback, never blocks.
 */
BELAY_API int belay_sem_holders(belay_sem *sem, belay_sem_holder *ret_holders, uint32_t max);

#ifdef __cplusplus
}
#endif

#endif
