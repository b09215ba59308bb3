/*
 * deliver.h: handing completions to their callbacks, exactly once and with constant stack.
 *
 * An object that completes something embeds a belay_task in it. Under its own lock it pushes the
 * task on the calling thread's list; after unlocking it runs the list. A push made while this
 * thread is running its list (a callback that releases, cancels or closes) is only appended: the
 * outermost bly_deliver_run calls it.
 *
 *     bly_mutex_lock(&object->lock);
 *     ... decide the outcome of `waiter` ...
 *     bly_deliver_push(&waiter->task);      // task.run knows what to do
 *     bly_mutex_unlock(&object->lock);
 *     bly_deliver_run();                    // touches no object after its last callback is entered
 */
#ifndef BLY_DELIVER_DELIVER_H
#define BLY_DELIVER_DELIVER_H

#include "belay/task.h"

/*
 * bly_deliver_push: appends the task, which is not queued anywhere, to the calling thread's list.
 * task->run(task) is called by this thread's bly_deliver_run, with task->next NULL again.
 * Context: any lock may be held.
 */
void bly_deliver_push(belay_task *task);

/*
 * bly_deliver_run: calls everything on the calling thread's list, in order, and what is appended
 * meanwhile; returns at once when this thread is inside such a call already.
 * Context: no lock of belay's is held.
 */
void bly_deliver_run(void);

/*
 * bly_deliver_hold: from here on bly_deliver_run only appends on this thread, until
 * bly_deliver_release calls everything on the list. For code that must finish something of its own
 * between a library function that completes things and the callbacks of those. Returns what release
 * is given: whether this is the outermost hold or run of the thread.
 * Context: hold: any; release: no lock of belay's is held.
 */
bool bly_deliver_hold(void);
void bly_deliver_release(bool is_outermost);

/*
 * bly_deliver_active: true while the calling thread is inside a task that belay runs inline, where
 * a call that would have to wait returns BELAY_EDEADLK. While a task is merely being submitted to
 * another executor (bly_deliver_to) nothing of the user's runs, so the question does not arise.
 */
bool bly_deliver_active(void);

/*
 * bly_deliver_to: sends the task to the executor as BELAY_DELIVERY, to call run(task) there. With
 * NULL or belay_inline() it calls run(task) here and now; the caller is itself running from
 * bly_deliver_run, so the stack stays constant. When the executor refuses all the same,
 * *refused is counted up (relaxed) and run(task) is called here, since exactly once outranks the
 * choice of thread.
 * Context: from a task called by bly_deliver_run; no lock is held. After it returns the task, and
 * the object that holds `refused`, may be gone.
 */
void bly_deliver_to(belay_executor *executor, belay_task *task, void (*run)(belay_task *),
                    uint64_t *refused);

/* bly_executor_attach: +1 or -1 to what is attached to the executor; NULL is allowed. */
void bly_executor_attach(belay_executor *executor, int change);

#endif
