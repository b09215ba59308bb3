/*
 * mailbox.c: an executor whose tasks run when the caller's own event loop says so.
 *
 * Tasks wait in a ring under the lock. The descriptor is readable while there are some: the submit
 * that finds the box empty signals it, after unlocking. A run clears it before it looks, then takes
 * what is there, at most `max`, and signals it again when it leaves any. So there is always a
 * signal that comes after the last clear while a task waits:
 *   - a submit to an empty box signals after it has linked its task; a clear before that signal
 *     leaves it, and a clear after it belongs to a run that finds the task;
 *   - a submit to a box that is not empty needs none: the signal for what is there already was
 *     cleared by no run, or by one that has not taken anything yet and signals if it leaves any.
 *
 * A run takes its tasks off the box before it calls the first, so what they submit waits for the
 * next run. They stay linked to each other, and thereby known as queued, until each is entered.
 *
 * Destroy. The last task may end the box while its submit still has to signal: such submits are
 * counted in `signals`, and destroy waits for them, which lasts as long as a write to the
 * descriptor. A submit touches nothing of the box after it has counted itself out.
 */
#include "deliver/event.h"
#include "deliver/ring.h"

#include "base/opts.h"

#include <limits.h>

/* In `signals`: destroy waits for the others. */
#define ENDING (1u << 31)

struct belay_mailbox {
    belay_executor executor; /* constant after create */
    uint64_t generation;     /* constant after create: of the process that made it */
    int fd;                  /* constant after create */
    bly_mutex lock;          /* of what follows */
    belay_task *last;        /* lock: the ring of waiting tasks */
    uint32_t attached;       /* lock: objects that name this executor */
    bool is_running;         /* lock */
    uint32_t signals;        /* atomic: submits that are signalling, and ENDING */
};

static bool has_forked(const belay_mailbox *mailbox)
{
    return bly_forked_since(mailbox->generation);
}

/* Signals for a submit that was counted in; the box may be gone when it returns. */
static void signal_counted(belay_mailbox *mailbox)
{
    bly_events->signal(mailbox->fd);
    /*
     * release, with the acquire of await_signals: destroy closes the descriptor after the signal.
     */
    if (bly_fetch_sub(&mailbox->signals, 1u, BLY_RELEASE) == (ENDING | 1u)) {
        bly_futex_wake(&mailbox->signals, BLY_WAKE_ALL);
    }
}

static int mailbox_submit(belay_executor *self, belay_task *task, unsigned flags)
{
    (void)flags;
    belay_mailbox *mailbox = self->data;
    if (bly_ring_has(task)) {
        return BELAY_EBUSY;
    }
    if (has_forked(mailbox)) {
        return BELAY_ECLOSED;
    }
    bly_mutex_lock(&mailbox->lock);
    bool was_empty = mailbox->last == NULL;
    mailbox->last = bly_ring_append(mailbox->last, task);
    if (was_empty) {
        /* relaxed: destroy takes the lock before it looks. */
        (void)bly_fetch_add(&mailbox->signals, 1u, BLY_RELAXED);
    }
    bly_mutex_unlock(&mailbox->lock);
    if (was_empty) {
        signal_counted(mailbox);
    }
    return 0;
}

static void mailbox_attach(belay_executor *self, int change)
{
    belay_mailbox *mailbox = self->data;
    bly_mutex_lock(&mailbox->lock);
    bly_assert(change == 1 || mailbox->attached != 0);
    mailbox->attached += (uint32_t)change;
    bly_mutex_unlock(&mailbox->lock);
}

int belay_mailbox_create(const belay_mailbox_opts *opts, belay_mailbox **ret_mailbox)
{
    belay_mailbox_opts own;
    if (ret_mailbox == NULL || bly_opts_read(&own, sizeof own, opts) != 0) {
        return BELAY_EINVAL;
    }
    belay_mailbox *mailbox = bly_alloc(sizeof *mailbox);
    if (mailbox == NULL) {
        return BELAY_ENOMEM;
    }
    mailbox->fd = bly_events->create();
    if (mailbox->fd < 0) {
        bly_free(mailbox);
        return BELAY_EIO;
    }
    mailbox->executor =
        (belay_executor){.submit = mailbox_submit, .attach = mailbox_attach, .data = mailbox};
    mailbox->generation = bly_fork_generation();
    *ret_mailbox = mailbox;
    return 0;
}

belay_executor *belay_mailbox_executor(belay_mailbox *mailbox)
{
    return &mailbox->executor;
}

int belay_mailbox_fd(const belay_mailbox *mailbox)
{
    return mailbox->fd;
}

static bool begin_run(belay_mailbox *mailbox)
{
    bly_mutex_lock(&mailbox->lock);
    bool was_running = mailbox->is_running;
    mailbox->is_running = true;
    bly_mutex_unlock(&mailbox->lock);
    return !was_running;
}

static void end_run(belay_mailbox *mailbox)
{
    bly_mutex_lock(&mailbox->lock);
    mailbox->is_running = false;
    bly_mutex_unlock(&mailbox->lock);
}

/* Takes the first `max` tasks, in order, as a ring of their own; tells whether any are left. */
static belay_task *take(belay_mailbox *mailbox, int max, bool *ret_left)
{
    bly_mutex_lock(&mailbox->lock);
    belay_task *taken = mailbox->last;
    if (taken != NULL && max > 0) {
        belay_task *end = taken->next;
        for (int i = 1; i < max && end != taken; i++) {
            end = end->next;
        }
        taken = bly_ring_split(&mailbox->last, end);
    } else {
        mailbox->last = NULL;
    }
    *ret_left = mailbox->last != NULL;
    bly_mutex_unlock(&mailbox->lock);
    return taken;
}

int belay_mailbox_run(belay_mailbox *mailbox, int max)
{
    if (mailbox == NULL || max < 0) {
        return BELAY_EINVAL;
    }
    if (!begin_run(mailbox)) {
        return BELAY_EBUSY;
    }
    bool is_left = false;
    bly_events->clear(mailbox->fd);
    belay_task *last = take(mailbox, max, &is_left);
    if (is_left) {
        bly_events->signal(mailbox->fd);
    }
    int ran = 0;
    while (last != NULL) {
        belay_task *task = bly_ring_pop(&last);
        task->run(task);
        ran += ran < INT_MAX;
    }
    end_run(mailbox);
    return ran;
}

/* Waits for submits that have linked their task and are about to signal. */
static void await_signals(belay_mailbox *mailbox)
{
    /* acquire, with the release of signal_counted. */
    uint32_t signals = bly_fetch_or(&mailbox->signals, ENDING, BLY_ACQUIRE) | ENDING;
    while (signals != ENDING) {
        (void)bly_futex_wait(&mailbox->signals, signals, BELAY_FOREVER);
        signals = bly_load(&mailbox->signals, BLY_ACQUIRE);
    }
}

int belay_mailbox_destroy(belay_mailbox *mailbox)
{
    if (mailbox == NULL) {
        return 0;
    }
    bly_mutex_lock(&mailbox->lock);
    bool is_busy = mailbox->last != NULL || mailbox->is_running || mailbox->attached != 0;
    bly_mutex_unlock(&mailbox->lock);
    if (is_busy) {
        return BELAY_EBUSY;
    }
    await_signals(mailbox);
    bly_events->close(mailbox->fd);
    bly_mutex_destroy(&mailbox->lock);
    bly_free(mailbox);
    return 0;
}
