/*
 * belay/exec.h: the work-stealing executor, futures and groups.
 *
 * A pool has a fixed number of workers, each with a deque of its own: a worker takes the newest of
 * its own tasks and is robbed of its oldest. Work comes as a bare belay_task (belay_exec_submit,
 * nothing is allocated), as a call with a future (belay_exec_call), or as a member of a group
 * (belay_group_spawn).
 *
 * A submit made on a worker's thread while it is inside a task (or inside a callback delivered to
 * it) is a child of that task; every other one is a root. Roots are refused from shutdown on and
 * counted against queue_max; children are taken as long as the pool drains, so that work that was
 * accepted can finish. What belay itself delivers (BELAY_DELIVERY) is neither: it is always taken
 * and always run.
 *
 *     ACCEPTING --shutdown--> DRAINING --nothing left--> STOPPING --last worker left--> TERMINATED
 *
 * After fork, in the child, a submit to a pool made before it is BELAY_ECLOSED; nothing else of
 * that pool may be used, and the child may exit, exec, or make pools of its own [G-EXEC-22].
 *
 * A task may end its thread with pthread_exit: it has failed then, and its worker gets a new thread
 * [G-EXEC-10]. To leave a task by longjmp or by a C++ exception is undefined.
 */
#ifndef BELAY_EXEC_H
#define BELAY_EXEC_H

#include "belay/base.h"
#include "belay/cancel.h"
#include "belay/task.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct belay_exec belay_exec;
typedef struct belay_future belay_future;
typedef struct belay_group belay_group;

#define BELAY_EXEC_WORKERS_MAX   1024u           /* workers of one pool */
#define BELAY_EXEC_QUEUE_DEFAULT 1048576u        /* queue_max when it is not given */
#define BELAY_EXEC_STACK_MIN     ((size_t)16384) /* bytes; smaller stacks are refused */

/* The states of a pool; it only moves forward. */
typedef enum belay_exec_state {
    BELAY_EXEC_ACCEPTING = 0,
    BELAY_EXEC_DRAINING = 1,  /* no more roots; accepted work and its children end */
    BELAY_EXEC_STOPPING = 2,  /* nothing left; workers leave */
    BELAY_EXEC_TERMINATED = 3 /* the last worker has run its stop hook */
} belay_exec_state;

/*
 * Options of a pool. Zero means the default.
 *
 * Hooks run on a worker's own thread, under no lock: start_hook before its first task, stop_hook
 * after its last. They must return, and waiting for the pool from them is BELAY_EDEADLK.
 * on_terminated runs once, on the thread of the last worker, when the state is TERMINATED: the
 * place to announce the end, since no thread of the pool can wait for it. The pool is destroyed
 * from another thread, which belay_exec_destroy makes wait for on_terminated to return.
 */
typedef struct belay_exec_opts {
    uint32_t size;      /* sizeof(belay_exec_opts) */
    uint32_t workers;   /* at most BELAY_EXEC_WORKERS_MAX; 0: as many as the CPUs that the affinity
                         * mask and the cgroup's quota (rounded up) leave, at least one */
    uint32_t queue_max; /* roots accepted and not started; 0: BELAY_EXEC_QUEUE_DEFAULT,
                         * BELAY_NONE: refuse all roots, BELAY_UNBOUNDED; a root more is
                         * BELAY_EFULL */
    uint32_t reserved;  /* zero */
    size_t stack_size;  /* bytes of each worker's stack; 0: the system's default */
    const char *name;   /* of the threads, with their number behind it; NULL: "belay"; copied */
    void (*start_hook)(uint32_t worker, void *arg);
    void (*stop_hook)(uint32_t worker, void *arg);
    void (*on_terminated)(void *arg);
    void (*log)(const char *message, void *arg); /* on any thread: what went wrong with no caller
                                                  * to tell, as a worker ended by its task */
    void *arg;                                   /* given to the hooks, on_terminated and log */
} belay_exec_opts;

/*
 * belay_exec_create: a pool; its workers have been started when it returns. opts may be NULL.
 * Gives the pool; belay_exec_destroy ends it. A create that fails leaves nothing [G-EXEC-16].
 * Errors: BELAY_EINVAL, BELAY_ENOMEM, BELAY_EAGAIN (a thread could not be made; nothing is left).
 * Context: any thread, a task included; never blocks.
 */
BELAY_API int belay_exec_create(const belay_exec_opts *opts, belay_exec **ret_exec);

/*
 * belay_exec_destroy: frees a pool that has terminated; NULL is allowed. Waits for calls on it that
 * other threads are still inside of, which is short, and joins its threads when no
 * belay_exec_await_termination has done so.
 * Errors: BELAY_EBUSY (not TERMINATED, or a group or another object still names it),
 * BELAY_EDEADLK (called on a thread of the pool).
 * Context: any thread; after on_terminated has returned it never blocks for long.
 */
BELAY_API int belay_exec_destroy(belay_exec *exec);

/*
 * belay_exec_submit: runs the task on the pool, exactly once [G-EXEC-1]. Allocates nothing; the
 * task cannot be canceled. What the caller did before is visible to the task [G-EXEC-2].
 * Takes the task on success, until its run or drop is entered.
 * Errors: BELAY_EINVAL, BELAY_EBUSY (the task is queued), BELAY_ECLOSED, BELAY_EFULL.
 * Context: any thread, any callback; never blocks.
 */
BELAY_API int belay_exec_submit(belay_exec *exec, belay_task *task);

/*
 * belay_exec_executor: the pool as an executor, for belay_future_then and the options of semaphores
 * and schedulers. Its submit is belay_exec_submit.
 * Lends it until belay_exec_destroy; NULL for NULL. Errors: none. Context: any thread, never
 * blocks.
 */
BELAY_API belay_executor *belay_exec_executor(belay_exec *exec);

/*
 * belay_exec_current: the pool whose worker the calling thread is, NULL on all other threads.
 * Lends it. Errors: none. Context: any thread, never blocks.
 */
BELAY_API belay_exec *belay_exec_current(void);

/*
 * belay_exec_call: calls fn(arg) on the pool. A result other than 0 is a failed task: the future
 * has it and the pool counts it, and nothing else happens [G-EXEC-9].
 * arg: taken on success: exactly one of fn(arg) and drop(arg, why) is called [G-EXEC-3]; drop may
 *   be NULL. It runs on the thread whose call ended the work, must return and must not wait.
 * cancel: firing it before the call has begun ends it as belay_future_cancel does; borrowed until
 *   the call ends; NULL: none. belay_exec_shutdown_now fires the token of a call that is running,
 *   so give a call a token of its own (a child of a shared one).
 * ret_future: NULL where nobody will ask; else gives one reference, which belay_future_unref ends.
 * Errors: BELAY_EINVAL, BELAY_ECANCELED (the token had fired), BELAY_ECLOSED, BELAY_EFULL,
 *   BELAY_ENOMEM; arg is still the caller's then.
 * Context: any thread, any callback; never blocks.
 */
BELAY_API int belay_exec_call(belay_exec *exec, int (*fn)(void *arg), void *arg,
                              void (*drop)(void *arg, int why), belay_cancel *cancel,
                              belay_future **ret_future);

/*
 * belay_future_wait: waits until the call has ended. On a worker of the pool it does not merely
 * sleep: a call that has not begun is run here and now, on top of the waiter; while it runs
 * elsewhere the waiter runs tasks that it submitted itself, to a bounded depth. It never starts
 * unrelated work [G-EXEC-14].
 * ret_status: what fn returned, BELAY_ECANCELED when its thread ended inside it; may be NULL.
 * Errors: BELAY_EINVAL, BELAY_ECANCELED (canceled before it began), BELAY_ECLOSED (dropped by
 *   belay_exec_shutdown_now), BELAY_EAGAIN, BELAY_ETIMEDOUT, BELAY_EDEADLK (it is this task or one
 *   lower on this stack, or this thread is delivering inline). An ended call is never an error of
 *   the last three.
 * Context: any thread that holds a reference; may block.
 */
BELAY_API int belay_future_wait(belay_future *future, int64_t deadline_ns, int *ret_status);

/*
 * belay_future_then: calls fn(future, result, status, arg) once the call has ended, however it
 * ended; at once when it has ended already [G-EXEC-17]. result is what belay_future_wait returns
 * then, status what it gives (0 beside an error). The future is borrowed until fn returns, and fn
 * must return.
 * executor: where fn is called; borrowed until then; NULL: inline.
 * Errors: BELAY_EINVAL, BELAY_EBUSY (this future has one).
 * Context: any thread that holds a reference; may call fn before it returns.
 */
BELAY_API int belay_future_then(belay_future *future, belay_executor *executor,
                                void (*fn)(belay_future *future, int result, int status, void *arg),
                                void *arg);

/*
 * belay_future_cancel: ends a call that has not begun: the future has ended and drop has been
 * called, on this thread, when it returns 0 (inside an inline callback: when that returns).
 * Errors: BELAY_EINVAL, BELAY_ETOOLATE (it has begun, or has ended in any way).
 * Context: any thread that holds a reference, any callback; never blocks.
 */
BELAY_API int belay_future_cancel(belay_future *future);

/*
 * belay_future_ref, belay_future_unref: one reference more, one fewer. Giving up the last does not
 * cancel the call. A future may outlive its pool. unref of NULL is allowed.
 * Errors: none. Context: any thread, never blocks.
 */
BELAY_API belay_future *belay_future_ref(belay_future *future);
BELAY_API void belay_future_unref(belay_future *future);

/*
 * belay_group_create: a set of calls on the pool that are waited for and canceled together
 * [G-EXEC-18].
 * It has a token of its own below `parent` (NULL: none): firing the parent cancels the group,
 * unless flags has BELAY_CANCEL_SHIELD. Attached to the pool until destroyed.
 * Gives the group; belay_group_destroy ends it.
 * Errors: BELAY_EINVAL, BELAY_ENOMEM. Context: any thread, never blocks.
 */
BELAY_API int belay_group_create(belay_exec *exec, belay_cancel *parent, unsigned flags,
                                 belay_group **ret_group);

/*
 * belay_group_token: the token of the group, for its members to look at and for the groups below it
 * to name as parent. A group that was canceled gets another one at belay_group_wait.
 * Lends it until belay_group_wait returns or belay_group_destroy. Errors: none (NULL for NULL).
 * Context: any thread, never blocks.
 */
BELAY_API belay_cancel *belay_group_token(belay_group *group);

/*
 * belay_group_spawn: calls fn(arg) on the pool as a member of the group. The first member that
 * returns other than 0 gives the group its status; the others go on.
 * arg: taken on success, as by belay_exec_call.
 * Errors: BELAY_EINVAL, BELAY_ECANCELED (the group is canceled), BELAY_ECLOSED, BELAY_EFULL,
 *   BELAY_ENOMEM; nothing is stored then.
 * Context: any thread, a member included, any callback; never blocks.
 */
BELAY_API int belay_group_spawn(belay_group *group, int (*fn)(void *arg), void *arg,
                                void (*drop)(void *arg, int why));

/*
 * belay_group_wait: waits until the group has no members, and makes it ready for use again: without
 * a status and, if it was canceled by belay_group_cancel, with a new token. On a worker of the pool
 * it runs members that have not begun, and tasks that the waiter submitted, as belay_future_wait.
 * ret_status: the first error kept: of a member, BELAY_ECANCELED when the group was canceled first,
 *   BELAY_ECLOSED when the pool dropped a member first; 0 when every member returned 0. May be
 *   NULL.
 * Errors: BELAY_EINVAL, BELAY_EAGAIN, BELAY_ETIMEDOUT, BELAY_EDEADLK (called by a member, or while
 *   this thread is delivering inline), BELAY_ENOMEM (no new token: the group stays as it was).
 * Context: one thread at a time gets the status; may block.
 */
BELAY_API int belay_group_wait(belay_group *group, int64_t deadline_ns, int *ret_status);

/*
 * belay_group_cancel: fires the group's token [G-EXEC-19]. Members that have not begun are dropped
 * on this thread before it returns (inside an inline callback: when that returns); those that run
 * may look at the token; groups below are canceled.
 * Errors: BELAY_EINVAL, BELAY_ETOOLATE (it is canceled). Context: any thread, any callback.
 */
BELAY_API int belay_group_cancel(belay_group *group);

/*
 * belay_group_destroy: frees a group without members; NULL is allowed. Every belay_group_wait of it
 * has returned before: one that is on its way out may still look at the group.
 * Errors: BELAY_EBUSY (it has members, or somebody sleeps in a wait for it).
 * Context: any thread; never blocks for long.
 */
BELAY_API int belay_group_destroy(belay_group *group);

/*
 * belay_exec_shutdown: refuses roots from now on; what was accepted, and its children, end
 * [G-EXEC-6]. Returns 0, again and in every state. Errors: BELAY_EINVAL.
 * Context: any thread, a task and a hook included; never blocks.
 */
BELAY_API int belay_exec_shutdown(belay_exec *exec);

/*
 * belay_exec_shutdown_now: as belay_exec_shutdown, and more: children are refused too, what has not
 * begun is dropped (BELAY_DROP_SHUTDOWN) by the workers, and the tokens of running calls and groups
 * are fired. Deliveries are still run [G-EXEC-7].
 * Returns 0, again and in every state. Errors: BELAY_EINVAL.
 * Context: any thread, a task and a hook included; never blocks for long.
 */
BELAY_API int belay_exec_shutdown_now(belay_exec *exec);

/*
 * belay_exec_await_termination: waits until the pool has terminated, on_terminated has returned and
 * the threads are joined. Any number of threads may wait [G-EXEC-20]. It does not shut the pool
 * down.
 * Errors: BELAY_EINVAL, BELAY_EDEADLK (on a thread of the pool), BELAY_EAGAIN, BELAY_ETIMEDOUT,
 *   BELAY_EDEADLK (this thread is delivering inline).
 * Context: any thread; may block.
 */
BELAY_API int belay_exec_await_termination(belay_exec *exec, int64_t deadline_ns);

/* What one worker has counted; each number only grows, but `queued` and `queued_max`. */
typedef struct belay_exec_worker_stats_data {
    uint64_t executed;     /* tasks, calls and deliveries run to their end, failed ones included */
    uint64_t failed;       /* calls that returned other than 0 or whose thread ended */
    uint64_t canceled;     /* calls found canceled and thrown away */
    uint64_t dropped;      /* tasks and calls dropped by shutdown_now */
    uint64_t own_pops;     /* taken from the own deque */
    uint64_t inbox_takes;  /* taken from an inbox, the own or another's */
    uint64_t steals_tried; /* looks into another worker's deque */
    uint64_t steals_won;   /* of them, those that brought something */
    uint64_t stolen;       /* tasks that came from them */
    uint64_t claimed;      /* calls that a waiter ran on top of itself */
    uint64_t parks;        /* times it went to sleep */
    uint64_t wakes;        /* times it was woken */
    uint64_t spurious_wakes; /* of them, those after which it found nothing */
    uint64_t replaced;       /* threads of this worker that a task ended */
    uint64_t queued;         /* tasks in its deque and inbox now */
    uint64_t queued_max;     /* the most there were in its deque */
} belay_exec_worker_stats_data;

/* What a pool tells of itself. Counters count since create. */
typedef struct belay_exec_stats_data {
    uint32_t size; /* sizeof(belay_exec_stats_data), set by the caller */
    uint32_t workers;
    uint32_t state;             /* a belay_exec_state */
    uint32_t sleeping;          /* workers asleep */
    uint64_t outstanding;       /* accepted and not finished */
    uint64_t queued_roots;      /* accepted roots that have not been started; 0 when unbounded */
    uint64_t deliveries_inline; /* then-callbacks that an executor refused, run inline instead */
    belay_exec_worker_stats_data total; /* sums over the workers */
} belay_exec_stats_data;

/*
 * belay_exec_stats: reads the counters [G-EXEC-24]. While the pool works they are of slightly
 * different instants, after belay_exec_await_termination they are final. ret_stats->size says how
 * much of it the caller knows; no more is written.
 * Errors: BELAY_EINVAL. Context: any thread, never blocks.
 */
BELAY_API int belay_exec_stats(belay_exec *exec, belay_exec_stats_data *ret_stats);

/*
 * belay_exec_worker_stats: the counters of one worker, 0 to workers - 1.
 * Errors: BELAY_EINVAL (no such worker). Context: any thread, never blocks.
 */
BELAY_API int belay_exec_worker_stats(belay_exec *exec, uint32_t worker,
                                      belay_exec_worker_stats_data *ret_stats);

#ifdef __cplusplus
}
#endif

#endif
