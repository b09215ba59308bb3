/*
 * exec_int.h: the structures of the executor and what its files offer each other.
 *
 *   exec.c     create and destroy            worker.c  a worker's thread, from start to end
 *   submit.c   from a call to a queue        find.c    where a worker's next task comes from
 *   stop.c     shutdown and its awaiting     run.c     running or dropping what was found
 *   future.c   calls with a future           group.c   sets of calls
 */
#ifndef BLY_EXEC_INT_H
#define BLY_EXEC_INT_H

#include "belay/cancel.h"
#include "belay/exec.h"
#include "exec/deque.h"
#include "exec/idle.h"
#include "exec/inbox.h"
#include "exec/life.h"
#include "exec/tuning.h"
#include "sync/sync.h"
#include "time/cancel.h"

#define BLY_CACHE_LINE  64
#define BLY_NAME_SIZE   16  /* of a thread, its end included */
#define BLY_FAIR_PERIOD 61u /* every so many tasks a worker looks at what is oldest */

typedef struct bly_worker bly_worker;
typedef struct bly_frame bly_frame;

/*
 * A task that a worker's thread is inside of. It lives in the worker or in the call that runs, not
 * on the stack: when a task ends its thread the stack is gone before anybody can look at it.
 */
struct bly_frame {
    bly_frame *below;       /* owner thread: what the task was started on top of */
    belay_future *future;   /* owner thread: the call that runs; NULL: a bare task */
    uint64_t mark;          /* owner thread: what stands in the deque from here on is its own */
    bool is_drop;           /* owner thread: inside drop, not inside the task */
    belay_cancel *token;    /* the worker's shown_lock: fired by shutdown_now; NULL: not shown */
    bool is_fired;          /* the worker's shown_lock: that was done */
    bly_frame *shown_below; /* the worker's shown_lock */
};

/* A bare task's drop on its way through the trampoline. */
typedef struct bly_bare_drop {
    belay_task task;                         /* owner thread */
    belay_task *dropped;                     /* owner thread */
    void (*drop)(belay_task *task, int why); /* owner thread */
} bly_bare_drop;

struct bly_worker {
    belay_exec *exec;    /* constant after create */
    uint32_t number;     /* constant after create */
    bly_deque *deque;    /* constant after create */
    uint64_t first_mark; /* constant after create: every task of the deque is above it */
    bly_inbox inbox;     /* its own lock */
    bly_bed bed;         /* see idle.h */
    bly_frame *frame;    /* owner thread: the innermost task; NULL outside tasks */
    bly_frame bare[BLY_HELP_MAX + 1]; /* owner thread: the frames of bare tasks */
    uint32_t bare_depth;              /* owner thread: how many of them are in use */
    uint32_t help_depth;              /* owner thread: tasks that waiters are helping with */
    uint32_t tick;                    /* owner thread: turns of the loop */
    uint64_t random;                  /* owner thread */
    bool was_woken;                   /* owner thread: woken, and has not found anything yet */
    bly_bare_drop bare_drop;          /* owner thread */
    bly_mutex shown_lock;             /* of the list of shown frames */
    bly_frame *shown;                 /* shown_lock: the innermost frame with a token */
    bly_thread threads[2];            /* the thread that created each; see worker.c */
    uint32_t thread;          /* owner thread; after its end who joins it: which of the two */
    bool has_predecessor;     /* as thread: the other of the two is to be joined */
    char name[BLY_NAME_SIZE]; /* constant after create */
    belay_exec_worker_stats_data sum; /* atomic: written by the owner thread, read by anyone */
};

struct belay_exec {
    belay_executor executor;  /* constant after create */
    bly_life life;            /* see life.h */
    bly_idle idle;            /* see idle.h */
    bly_worker **workers;     /* constant after create */
    uint32_t worker_count;    /* constant after create */
    belay_exec_opts opts;     /* constant after create */
    bly_exec_tuning tuning;   /* constant after create */
    uint64_t fork_generation; /* constant after create */
    uint32_t start;           /* atomic: BLY_START_…, written by create, workers wait for it */
    uint32_t alive;           /* atomic: workers that have not run their stop hook */
    uint32_t has_ended;       /* atomic: 1 once on_terminated has returned; awaiters sleep on it */
    uint32_t join;            /* atomic: BLY_JOIN_…, awaiters sleep on it */
    uint32_t callers;         /* atomic: threads inside a call, see submit.c */
    uint32_t next_inbox;      /* atomic: roots put into inboxes in turn */
    uint64_t queued_roots;    /* atomic: accepted and not started; kept where it is bounded */
    uint64_t attached;        /* atomic: objects that name this executor */
    uint64_t deliveries_inline; /* atomic: refused by other executors */
};

enum { BLY_START_WAIT = 0, BLY_START_GO = 1, BLY_START_ABORT = 2 };
enum { BLY_JOIN_NONE = 0, BLY_JOIN_RUNNING = 1, BLY_JOIN_DONE = 2 };

/* Counters have one writer, so a load and a store do; relaxed: readers want numbers, no order. */
#define bly_count_add(counter, n)                                                                  \
    bly_store(counter, bly_load(counter, BLY_RELAXED) + (n), BLY_RELAXED)

/* --- worker.c --- */

/* bly_worker_self: the worker that the calling thread is, of whichever pool; NULL: none. */
static inline bly_worker *bly_worker_self(void)
{
    return bly_local_get(BLY_LOCAL_WORKER);
}

/* bly_worker_of: the calling thread as a worker of that pool; NULL on all other threads. */
static inline bly_worker *bly_worker_of(const belay_exec *exec)
{
    bly_worker *worker = bly_worker_self();
    return worker != NULL && worker->exec == exec ? worker : NULL;
}

/* bly_worker_create: a worker without a thread; NULL without memory. */
bly_worker *bly_worker_create(belay_exec *exec, uint32_t number);
void bly_worker_destroy(bly_worker *worker);

/* bly_worker_start: its first thread; 0 or BELAY_EAGAIN. bly_worker_join waits for its last. */
int bly_worker_start(bly_worker *worker);
void bly_worker_join(bly_worker *worker);

/* --- find.c --- */

/* bly_find: the next task of a worker that has just finished one; none: nothing near at hand. */
bly_item bly_find(bly_worker *worker);

/* bly_find_far: looks everywhere, again and again as often as spinning is set. */
bly_item bly_find_far(bly_worker *worker);

/* bly_find_visible: true while any queue of the pool holds something. */
bool bly_find_visible(const belay_exec *exec);

/* --- run.c --- */

/* bly_run: runs, drops or throws away what was taken from a queue. */
void bly_run(bly_worker *worker, bly_item item);

/* bly_frame_enter, bly_frame_leave: the thread is inside a task from here to there. */
void bly_frame_enter(bly_worker *worker, bly_frame *frame, belay_future *future);
void bly_frame_leave(bly_worker *worker, bly_frame *frame);

/* bly_frame_show: shutdown_now will find and fire the token while the frame lasts. */
void bly_frame_show(bly_worker *worker, bly_frame *frame, belay_cancel *token);

/* bly_frames_fire: fires every token that a frame of this worker shows, once. Any thread. */
void bly_frames_fire(bly_worker *worker);

/* bly_frames_abandon: the thread ends inside its tasks: each of them has failed. */
void bly_frames_abandon(bly_worker *worker);

/*
 * bly_help: a waiting task runs one task that it submitted itself; false when it has none, or is
 * too deep for it.
 */
bool bly_help(bly_worker *worker);

/* --- submit.c --- */

/* One submit, from its acceptance to its wake-up. */
typedef struct bly_entry {
    belay_exec *exec;
    bly_worker *worker; /* the calling thread, when it is a worker of the pool */
    bly_work work;
} bly_entry;

/*
 * bly_entry_open: the pool accepts one task: BELAY_ECLOSED or BELAY_EFULL when not. Exactly one of
 * the two below follows; until then the pool cannot end.
 */
int bly_entry_open(bly_entry *entry, belay_exec *exec, unsigned flags);
void bly_entry_submit(bly_entry *entry, belay_task *task);
void bly_entry_abort(bly_entry *entry);

/* bly_exec_init_executor: the pool's face as an executor. */
void bly_exec_init_executor(belay_exec *exec);

/* bly_exec_root_left: a root has left the queue. */
void bly_exec_root_left(belay_exec *exec);

/*
 * bly_exec_enter, bly_exec_leave: a thread that is no worker is inside a call that may outlast the
 * pool's work; destroy waits for it. leave is its last touch of the pool.
 */
void bly_exec_enter(belay_exec *exec);
void bly_exec_leave(belay_exec *exec);
void bly_exec_wait_left(belay_exec *exec);

/* --- stop.c --- */

/* bly_exec_retire: one accepted task has finished. */
void bly_exec_retire(belay_exec *exec);

/* bly_exec_worker_left: a worker has run its stop hook; the last ends the pool. */
void bly_exec_worker_left(belay_exec *exec);

/* bly_exec_join: joins the threads of a terminated pool, once for all who ask. */
void bly_exec_join(belay_exec *exec);

/* --- future.c --- */

/* bly_future_from: the call that a queued task is the shell of; NULL: it is a bare task. */
belay_future *bly_future_from(belay_task *task);

/* bly_future_removed: its shell was taken from a queue: run it, drop it or throw it away. */
void bly_future_removed(bly_worker *worker, belay_future *future);

/* bly_future_abandon: its thread ended inside it; the frame has been left. */
void bly_future_abandon(bly_worker *worker, belay_future *future);

/* --- group.c --- */

/* bly_group_unlist: the member has been claimed. */
void bly_group_unlist(belay_group *group, belay_future *member);

/*
 * bly_group_member_ended: with the error that it brings, 0 for none. The group may go after this.
 */
void bly_group_member_ended(belay_group *group, int status);

#endif
