/*
 * belay/task.h: a unit of work and the interface it is handed to.
 *
 * Every callback of belay (a semaphore's grant, a timer, a job, a future's end) is a task submitted
 * to an executor. There are four: belay_inline() below, the mailbox below, the pool of
 * belay/exec.h, and the controlled executor of belay/test.h; a program may write its own.
 */
#ifndef BELAY_TASK_H
#define BELAY_TASK_H

#include "belay/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct belay_task belay_task;
typedef struct belay_executor belay_executor;
typedef struct belay_mailbox belay_mailbox;

/*
 * A task lives in its caller's storage. It belongs to the executor from submit until run or drop is
 * entered, and the executor does not touch it afterwards: run may free it or submit it again.
 * All fields are zero, but run and drop, before the first submit.
 */
struct belay_task {
    belay_task *next;              /* the executor's link; NULL while not queued */
    void (*run)(belay_task *task); /* does the work */
    void (*drop)(belay_task *task,
                 int why); /* frees it unrun (BELAY_DROP_…); NULL: nothing to do */
};

/* A submit of work that belay owes somebody: see belay_executor.submit. */
enum { BELAY_DELIVERY = 1 };

/*
 * An executor: where tasks are sent. Its functions may be called from any thread, under no lock of
 * belay's, and must not block.
 *
 * submit: takes the task, to call task->run exactly once later (or task->drop, when it is told to
 *   stop at once). With BELAY_DELIVERY in flags it must accept: past its queue limit, without
 *   allocating, while draining, and it must run the task, never drop it.
 *   Errors: BELAY_EINVAL, BELAY_EBUSY (the task is queued already), BELAY_ECLOSED, BELAY_EFULL,
 *   BELAY_ENOMEM (in this order); the task is still the caller's then.
 * attach: change is +1 when an object begins to name this executor and -1 when that object is
 *   destroyed. An executor with anything attached refuses to be destroyed. May be NULL.
 */
struct belay_executor {
    int (*submit)(belay_executor *self, belay_task *task, unsigned flags);
    void (*attach)(belay_executor *self, int change);
    void *data; /* for the writer of the executor */
};

/*
 * belay_executor_submit: executor->submit after checking the arguments.
 * Takes the task on success. Errors: BELAY_EINVAL (no executor, task or run function; unknown
 * flags), then those of the executor.
 * Context: any thread, never blocks (with belay_inline() it runs the task, see there).
 */
BELAY_API int belay_executor_submit(belay_executor *executor, belay_task *task, unsigned flags);

/*
 * belay_inline: the executor that runs a task on the thread that delivers it, before the call that
 * caused it returns. A task submitted while this thread is inside another inline task waits until
 * that one returns, so the stack stays constant however many there are [G-BASE-6].
 * Lends one constant object. Errors of its submit: BELAY_EINVAL, BELAY_EBUSY.
 * Context: any thread. A call of belay that would have to wait returns BELAY_EDEADLK inside.
 */
BELAY_API belay_executor *belay_inline(void);

/* Options of a mailbox. All zero means the defaults. */
typedef struct belay_mailbox_opts {
    uint32_t size; /* sizeof(belay_mailbox_opts) */
} belay_mailbox_opts;

/*
 * belay_mailbox_create: an executor whose tasks run when the caller's own event loop calls
 * belay_mailbox_run. opts may be NULL.
 * Gives the mailbox; belay_mailbox_destroy ends it.
 * Errors: BELAY_EINVAL, BELAY_ENOMEM, BELAY_EIO (no descriptor could be made).
 * Context: any thread, never blocks.
 */
BELAY_API int belay_mailbox_create(const belay_mailbox_opts *opts, belay_mailbox **ret_mailbox);

/*
 * belay_mailbox_executor: the mailbox as an executor. It never refuses a valid task.
 * Lends it until belay_mailbox_destroy. Errors: none. Context: any thread, never blocks.
 */
BELAY_API belay_executor *belay_mailbox_executor(belay_mailbox *mailbox);

/*
 * belay_mailbox_fd: a descriptor that polls readable while tasks wait [G-BASE-9]. The caller only
 * polls it.
 * Lends it until belay_mailbox_destroy. Errors: none. Context: any thread, never blocks.
 */
BELAY_API int belay_mailbox_fd(const belay_mailbox *mailbox);

/*
 * belay_mailbox_run: runs at most `max` (0: all) of the tasks that were there when it began, in the
 * order of their submits, and leaves the descriptor readable if any remain. Tasks submitted
 * meanwhile wait for the next call, so a task that submits itself cannot hold the loop
 * [G-BASE-10].
 * Returns the number run. Errors: BELAY_EINVAL, BELAY_EBUSY (another thread is running it, or this
 * call was made from one of its tasks).
 * Context: one thread at a time; blocks only as long as the tasks do.
 */
BELAY_API int belay_mailbox_run(belay_mailbox *mailbox, int max);

/*
 * belay_mailbox_destroy: ends the mailbox; NULL is allowed.
 * Errors: BELAY_EBUSY (tasks wait in it, it is running, or an object is attached to it).
 * Context: any thread that knows that nobody submits any more; never blocks.
 */
BELAY_API int belay_mailbox_destroy(belay_mailbox *mailbox);

#ifdef __cplusplus
}
#endif

#endif
