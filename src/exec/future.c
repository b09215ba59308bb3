/*
 * future.c: calls with a future.
 *
 * A call has one word. It is pending until CLAIMED is set, by one compare-and-swap that one party
 * wins: a worker that took its shell from a queue, a waiter that runs it on top of itself, or a
 * cancel (from the owner, a token, a group). The winner alone calls fn or drop, writes result and
 * status, and sets DONE; so the word goes PENDING -> CLAIMED -> DONE or
 * PENDING -> CLAIMED|CANCELED -> DONE. drop has returned before DONE is set: whoever waits may
 * then free what arg points to.
 *
 * The shell. Taking the shell out of the queue gives only the right to try the claim. A call that
 * ends without its shell, because a waiter or a cancel was faster, leaves an empty shell behind
 * that a worker throws away. The pool counts the call as outstanding until both have happened:
 * FINISHED and REMOVED are set by atomic or, and whichever comes second retires it. So a pool that
 * has terminated has no shell left, nobody is inside a drop of its calls, and their then-callbacks
 * have been sent on their way.
 *
 * References: the queue's (until the shell is removed; a worker that claims it keeps it for the
 * run), the caller's, one of a claimer that is not the queue's, one of the then-callback.
 *
 * A wait sets WAITED before it sleeps on the word, so DONE wakes only where somebody sleeps. The
 * then-callback's fields are written between THEN and THEN_READY; of THEN_READY and DONE, each set
 * by atomic or, the second finds the first and delivers.
 */
#include "deliver/deliver.h"
#include "exec/future_int.h"
#include "exec/wait.h"

/* A shell is run by the pool only; this function is how it knows one. */
static void run_shell(belay_task *task)
{
    (void)task;
    bly_abort("a call's shell is run by its pool", __FILE__, __LINE__);
}

belay_future *bly_future_from(belay_task *task)
{
    return task->run == run_shell ? bly_container(task, belay_future, task) : NULL;
}

belay_future *bly_future_create(belay_exec *exec, const bly_call *call, belay_cancel *token)
{
    belay_future *future = bly_alloc(sizeof *future);
    if (future != NULL) {
        future->task.run = run_shell;
        future->exec = exec;
        future->fn = call->fn;
        future->arg = call->arg;
        future->drop = call->drop;
        future->token = belay_cancel_ref(token);
        bly_store(&future->refs, 1u, BLY_RELAXED); /* relaxed: nobody else knows it yet */
    }
    return future;
}

belay_future *belay_future_ref(belay_future *future)
{
    if (future != NULL) {
        /* relaxed: who adds a reference has one, so nothing can be freed meanwhile. */
        uint32_t before = bly_fetch_add(&future->refs, 1u, BLY_RELAXED);
        bly_assert(before != 0 && before != UINT32_MAX);
    }
    return future;
}

void belay_future_unref(belay_future *future)
{
    if (future == NULL) {
        return;
    }
    /* release, and acquire for the last: all uses of the call come before its end. */
    uint32_t before = bly_fetch_sub(&future->refs, 1u, BLY_ACQ_REL);
    bly_assert(before != 0);
    if (before == 1) {
        belay_cancel_unref(future->token);
        bly_free(future);
    }
}

static uint32_t get_word(const belay_future *future)
{
    return bly_load(&future->word, BLY_ACQUIRE); /* with the releases of add_bits and claim */
}

/* Sets bits and returns the word before; what was done before is visible to who sees them. */
static uint32_t add_bits(belay_future *future, uint32_t bits)
{
    return bly_fetch_or(&future->word, bits, BLY_ACQ_REL);
}

bool bly_future_claim(belay_future *future, uint32_t with)
{
    uint32_t word = get_word(future);
    while ((word & BLY_FUTURE_CLAIMED) == 0) {
        /* acquire and release: the claimer sees what the creator wrote. */
        if (bly_cas(&future->word, &word, word | BLY_FUTURE_CLAIMED | with, BLY_ACQ_REL,
                    BLY_ACQUIRE)) {
            return true;
        }
    }
    return false;
}

/* On the then-callback's executor, or inline. Takes the reference that the delivery holds. */
static void run_then(belay_task *task)
{
    belay_future *future = bly_container(task, belay_future, deliver);
    bly_executor_attach(future->then_executor, -1);
    future->then_fn(future, future->result, future->status, future->then_arg);
    belay_future_unref(future);
}

/* Retires the call; on a thread that is no worker the pool may be destroyed right after. */
static void retire(belay_exec *exec)
{
    bool is_worker = bly_worker_of(exec) != NULL;
    if (!is_worker) {
        bly_exec_enter(exec);
    }
    bly_exec_retire(exec);
    if (!is_worker) {
        bly_exec_leave(exec);
    }
}

/* fn or drop has returned. Takes the claimer's reference. */
static void finish(belay_future *future, int result, int status)
{
    belay_exec *exec = future->exec;
    belay_group *group = future->group;
    future->result = result;
    future->status = status;
    (void)belay_future_ref(future); /* the then-callback's, if there is one */
    uint32_t before = add_bits(future, BLY_FUTURE_DONE);
    bly_assert((before & BLY_FUTURE_CLAIMED) != 0 && (before & BLY_FUTURE_DONE) == 0);
    if ((before & BLY_FUTURE_WAITED) != 0) {
        bly_futex_wake(&future->word, BLY_WAKE_ALL);
    }
    if ((before & BLY_FUTURE_THEN_READY) != 0) {
        bool is_outermost = bly_deliver_hold();
        bly_deliver_to(future->then_executor, &future->deliver, run_then, &exec->deliveries_inline);
        bly_deliver_release(is_outermost);
    } else {
        belay_future_unref(future);
    }
    if (group != NULL) {
        bly_group_member_ended(group, result != 0 ? result : status);
    }
    /* Only now may the other half retire the call: the pool was there for the callback. */
    if (((before | add_bits(future, BLY_FUTURE_FINISHED)) & BLY_FUTURE_REMOVED) != 0) {
        retire(exec);
    }
    belay_future_unref(future);
}

/* The claimer's first steps: nothing else will try the claim on its own any more. */
static void claimed(belay_future *future)
{
    bly_cancel_unregister(&future->reg);
    if (future->group != NULL) {
        bly_group_unlist(future->group, future);
    }
}

static void call_drop(belay_future *future, int why)
{
    if (future->drop != NULL) {
        future->drop(future->arg, why);
    }
}

void bly_future_drop_claimed(belay_future *future)
{
    bly_assert(bly_deliver_active());
    claimed(future);
    call_drop(future, BELAY_DROP_CANCELED);
    finish(future, BELAY_ECANCELED, 0);
}

static void deliver_cancel(belay_task *task)
{
    bly_future_drop_claimed(bly_container(task, belay_future, deliver));
}

/* Claims it for a cancel; the rest waits in this thread's deliveries. */
static bool start_cancel(belay_future *future)
{
    if (!bly_future_claim(future, BLY_FUTURE_CANCELED)) {
        return false;
    }
    (void)belay_future_ref(future);
    future->deliver.run = deliver_cancel;
    bly_deliver_push(&future->deliver);
    return true;
}

static void token_fired(bly_cancel_reg *reg)
{
    (void)start_cancel(bly_container(reg, belay_future, reg));
}

int belay_future_cancel(belay_future *future)
{
    if (future == NULL) {
        return BELAY_EINVAL;
    }
    if (!start_cancel(future)) {
        return BELAY_ETOOLATE;
    }
    bly_deliver_run();
    return 0;
}

static void deliver_shutdown(belay_task *task)
{
    call_drop(bly_container(task, belay_future, deliver), BELAY_DROP_SHUTDOWN);
}

static void drop_at_shutdown(bly_worker *worker, belay_future *future)
{
    bly_assert(!bly_deliver_active());
    bly_count_add(&worker->sum.dropped, 1);
    worker->frame->is_drop = true;
    future->deliver = (belay_task){.run = deliver_shutdown};
    bly_deliver_push(&future->deliver);
    bly_deliver_run();
}

void bly_future_run_claimed(bly_worker *worker, belay_future *future)
{
    claimed(future);
    bly_frame_enter(worker, &future->frame, future);
    if (future->token != NULL) {
        bly_frame_show(worker, &future->frame, future->token);
    }
    /* After showing the token: either shutdown_now finds it, or its flag is seen here. */
    bool is_dropped = bly_life_is_now(&worker->exec->life);
    int status = 0;
    if (is_dropped) {
        drop_at_shutdown(worker, future);
    } else {
        status = future->fn(future->arg);
        bly_count_add(&worker->sum.executed, 1);
        bly_count_add(&worker->sum.failed, status != 0);
    }
    bly_frame_leave(worker, &future->frame);
    finish(future, is_dropped ? BELAY_ECLOSED : 0, status);
}

void bly_future_abandon(bly_worker *worker, belay_future *future)
{
    bly_assert(worker->exec == future->exec && !future->frame.is_drop);
    finish(future, 0, BELAY_ECANCELED);
}

void bly_future_removed(bly_worker *worker, belay_future *future)
{
    if (bly_future_claim(future, BLY_FUTURE_REMOVED)) {
        bly_future_run_claimed(worker, future);
        return;
    }
    uint32_t before = add_bits(future, BLY_FUTURE_REMOVED);
    bly_assert((before & BLY_FUTURE_REMOVED) == 0);
    bly_count_add(&worker->sum.canceled, (before & BLY_FUTURE_CANCELED) != 0);
    if ((before & BLY_FUTURE_FINISHED) != 0) {
        bly_exec_retire(worker->exec);
    }
    belay_future_unref(future);
}

bool bly_future_run_waited(bly_worker *worker, belay_future *future)
{
    const bly_deque_kind *kind = worker->exec->tuning.deque;
    if (!bly_future_claim(future, 0)) {
        return false;
    }
    bly_count_add(&worker->sum.claimed, 1);
    uint64_t mark = kind->mark(worker->deque);
    bly_future_run_claimed(worker, belay_future_ref(future));
    /* What the call left in the deque need not be the waiter's: it will not help with that. */
    if (worker->frame != NULL && (int64_t)(kind->mark(worker->deque) - mark) > 0) {
        worker->frame->mark = kind->mark(worker->deque);
    }
    return true;
}

/* Whether the calling worker is inside this call, on whatever level of its stack. */
static bool is_on_stack(const bly_worker *worker, const belay_future *future)
{
    const bly_frame *frame = worker->frame;
    while (frame != NULL && frame->future != future) {
        frame = frame->below;
    }
    return frame != NULL;
}

/* One step of a wait: runs something that it may run, or sleeps. */
static int wait_step(belay_future *future, int64_t deadline_ns)
{
    int result = bly_wait_check(deadline_ns);
    bly_worker *worker = bly_worker_of(future->exec);
    if (result != 0) {
        return result;
    }
    if (worker != NULL) {
        if (is_on_stack(worker, future)) {
            return BELAY_EDEADLK;
        }
        if (bly_future_run_waited(worker, future) || bly_help(worker)) {
            return 0;
        }
    }
    uint32_t word = add_bits(future, BLY_FUTURE_WAITED);
    if ((word & BLY_FUTURE_DONE) == 0) {
        bly_wait_on(&future->word, word | BLY_FUTURE_WAITED, deadline_ns);
    }
    return 0;
}

int belay_future_wait(belay_future *future, int64_t deadline_ns, int *ret_status)
{
    if (future == NULL) {
        return BELAY_EINVAL;
    }
    while ((get_word(future) & BLY_FUTURE_DONE) == 0) {
        int result = wait_step(future, deadline_ns);
        if (result != 0) {
            return result;
        }
    }
    if (future->result == 0 && ret_status != NULL) {
        *ret_status = future->status;
    }
    return future->result;
}

static void deliver_late(belay_task *task)
{
    belay_future *future = bly_container(task, belay_future, deliver);
    bly_deliver_to(future->then_executor, task, run_then, &future->refused);
}

int belay_future_then(belay_future *future, belay_executor *executor, bly_then_fn *fn, void *arg)
{
    if (future == NULL || fn == NULL) {
        return BELAY_EINVAL;
    }
    if ((add_bits(future, BLY_FUTURE_THEN) & BLY_FUTURE_THEN) != 0) {
        return BELAY_EBUSY;
    }
    bly_executor_attach(executor, 1);
    future->then_executor = executor;
    future->then_fn = fn;
    future->then_arg = arg;
    /* Until this bit is set the call's end leaves the callback alone, and the caller has its
     * reference; afterwards the callback may have run. */
    if ((add_bits(future, BLY_FUTURE_THEN_READY) & BLY_FUTURE_DONE) != 0) {
        (void)belay_future_ref(future);
        future->deliver = (belay_task){.run = deliver_late};
        bly_deliver_push(&future->deliver);
        bly_deliver_run();
    }
    return 0;
}

/* Takes the token's registration; false when the token has fired. */
static bool watch_token(belay_future *future)
{
    return future->token == NULL ||
           bly_cancel_register(future->token, &future->reg, token_fired) == 0;
}

int belay_exec_call(belay_exec *exec, int (*fn)(void *arg), void *arg,
                    void (*drop)(void *arg, int why), belay_cancel *cancel,
                    belay_future **ret_future)
{
    if (exec == NULL || fn == NULL) {
        return BELAY_EINVAL;
    }
    if (belay_cancel_is_fired(cancel)) {
        return BELAY_ECANCELED;
    }
    bly_entry entry;
    int result = bly_entry_open(&entry, exec, 0);
    if (result != 0) {
        return result;
    }
    belay_future *future = bly_future_create(exec, &(bly_call){fn, arg, drop}, cancel);
    if (future == NULL || !watch_token(future)) {
        result = future == NULL ? BELAY_ENOMEM : BELAY_ECANCELED;
        belay_future_unref(future);
        bly_entry_abort(&entry);
        return result;
    }
    if (ret_future != NULL) {
        *ret_future = belay_future_ref(future);
    }
    bly_entry_submit(&entry, &future->task);
    return 0;
}
