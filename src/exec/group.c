/*
 * group.c: sets of calls that are waited for and canceled together.
 *
 * `active` counts members that have not ended, and sweeps. Members that nobody has claimed stand on
 * a list, so that a waiter can run them wherever their shells are queued, and a cancel can drop
 * them at once. Whoever claims a member takes it off the list; whoever looks for one to claim takes
 * it off as well, so each is looked at once.
 *
 * Cancel. The group has a registration with its own token. Its function only marks the group and
 * pushes `sweep` on the deliveries of the firing thread; the sweep takes members off one at a time,
 * claims and drops them, under no lock. It is counted in `active`, so the group cannot go
 * meanwhile.
 *
 * A token stays fired, so a group that was canceled gets a new one at the end of a wait that found
 * it empty. Whoever renews it marks that; other waiters return, and spawns are refused until then.
 *
 * The last touch of a member's end is the unlock, or the wake of waiters by address alone. destroy
 * takes the lock before it frees.
 */
#include "deliver/deliver.h"
#include "exec/future_int.h"
#include "exec/wait.h"

struct belay_group {
    belay_exec *exec;     /* constant after create: attached to it */
    belay_cancel *parent; /* constant after create: a reference; NULL: none */
    unsigned flags;       /* constant after create: of the token */
    bly_mutex lock;       /* of what follows */
    belay_cancel *token;  /* lock: a reference */
    bly_cancel_reg reg;   /* who creates, renews or destroys: with the token */
    belay_future *newest; /* lock: the list of unclaimed members, through prev to the oldest */
    uint64_t active;      /* lock */
    uint32_t waiters;     /* lock */
    int status;           /* lock: the first error */
    bool is_canceled;     /* lock */
    bool is_renewing;     /* lock */
    uint32_t turn;        /* atomic: written under the lock; waiters sleep on it */
    belay_task sweep;     /* the firing thread's deliveries */
};

static void keep_status_locked(belay_group *group, int status)
{
    if (group->status == 0) {
        group->status = status;
    }
}

/* One fewer; true when the waiters must be woken, after unlocking and by address alone. */
static bool leave_locked(belay_group *group)
{
    bly_assert(group->active != 0);
    group->active--;
    if (group->active != 0) {
        return false;
    }
    /* relaxed: written under the lock; a waiter read it there, and sleeps only while it is so. */
    bly_store(&group->turn, bly_load(&group->turn, BLY_RELAXED) + 1, BLY_RELAXED);
    return group->waiters != 0;
}

static void leave(belay_group *group, int status)
{
    uint32_t *turn = &group->turn;
    bly_mutex_lock(&group->lock);
    keep_status_locked(group, status);
    bool is_wanted = leave_locked(group);
    bly_mutex_unlock(&group->lock);
    if (is_wanted) {
        bly_futex_wake(turn, BLY_WAKE_ALL);
    }
}

void bly_group_member_ended(belay_group *group, int status)
{
    leave(group, status);
}

static void list_locked(belay_group *group, belay_future *member)
{
    member->is_listed = true;
    member->prev = group->newest;
    member->next = NULL;
    if (group->newest != NULL) {
        group->newest->next = member;
    }
    group->newest = member;
}

static void unlist_locked(belay_group *group, belay_future *member)
{
    bly_assert(member->is_listed);
    member->is_listed = false;
    *(member->next != NULL ? &member->next->prev : &group->newest) = member->prev;
    if (member->prev != NULL) {
        member->prev->next = member->next;
    }
}

void bly_group_unlist(belay_group *group, belay_future *member)
{
    bly_mutex_lock(&group->lock);
    if (member->is_listed) {
        unlist_locked(group, member);
    }
    bly_mutex_unlock(&group->lock);
}

/* Takes the newest unclaimed member off the list, with a reference; NULL: there is none. */
static belay_future *take_member(belay_group *group)
{
    bly_mutex_lock(&group->lock);
    belay_future *member = group->newest;
    if (member != NULL) {
        unlist_locked(group, member);
        (void)belay_future_ref(member);
    }
    bly_mutex_unlock(&group->lock);
    return member;
}

/* Drops what has not begun. Takes the group's count of the sweep. */
static void sweep(belay_task *task)
{
    belay_group *group = bly_container(task, belay_group, sweep);
    /* Bounded by the members there are: a canceled group takes no more. */
    for (belay_future *member = take_member(group); member != NULL; member = take_member(group)) {
        if (bly_future_claim(member, BLY_FUTURE_CANCELED)) {
            bly_future_drop_claimed(member);
        } else {
            belay_future_unref(member);
        }
    }
    leave(group, 0);
}

static void mark_canceled(belay_group *group)
{
    bly_mutex_lock(&group->lock);
    group->is_canceled = true;
    keep_status_locked(group, BELAY_ECANCELED);
    bool must_sweep = group->newest != NULL;
    group->active += must_sweep;
    bly_mutex_unlock(&group->lock);
    if (must_sweep) {
        group->sweep = (belay_task){.run = sweep};
        bly_deliver_push(&group->sweep);
    }
}

static void token_fired(bly_cancel_reg *reg)
{
    mark_canceled(bly_container(reg, belay_group, reg));
}

/* Watches the token that was put in; a parent that has fired cancels the group at once. */
static void watch_token(belay_group *group, belay_cancel *token)
{
    if (bly_cancel_register(token, &group->reg, token_fired) != 0) {
        mark_canceled(group);
        bly_deliver_run();
    }
}

int belay_group_create(belay_exec *exec, belay_cancel *parent, unsigned flags,
                       belay_group **ret_group)
{
    if (exec == NULL || ret_group == NULL || (flags & ~BELAY_CANCEL_SHIELD) != 0) {
        return BELAY_EINVAL;
    }
    belay_group *group = bly_alloc(sizeof *group);
    if (group == NULL) {
        return BELAY_ENOMEM;
    }
    if (belay_cancel_create(parent, flags, &group->token) != 0) {
        bly_free(group);
        return BELAY_ENOMEM;
    }
    group->exec = exec;
    group->parent = belay_cancel_ref(parent);
    group->flags = flags;
    bly_executor_attach(&exec->executor, 1);
    watch_token(group, group->token);
    *ret_group = group;
    return 0;
}

belay_cancel *belay_group_token(belay_group *group)
{
    if (group == NULL) {
        return NULL;
    }
    bly_mutex_lock(&group->lock);
    belay_cancel *token = group->token;
    bly_mutex_unlock(&group->lock);
    return token;
}

/* The token, with a reference; NULL when the group is canceled. */
static belay_cancel *open_token(belay_group *group)
{
    bly_mutex_lock(&group->lock);
    belay_cancel *token = group->is_canceled ? NULL : belay_cancel_ref(group->token);
    bly_mutex_unlock(&group->lock);
    return token;
}

/* Makes the call a member; false when the group has been canceled meanwhile. */
static bool join(belay_group *group, belay_future *member)
{
    bly_mutex_lock(&group->lock);
    bool is_open = !group->is_canceled;
    if (is_open) {
        member->group = group;
        group->active++;
        list_locked(group, member);
    }
    bly_mutex_unlock(&group->lock);
    return is_open;
}

/* Makes the member and hands it in, or gives the entry back. */
static int spawn(belay_group *group, bly_entry *entry, const bly_call *call, belay_cancel *token)
{
    belay_future *member = bly_future_create(group->exec, call, token);
    if (member == NULL || !join(group, member)) {
        int result = member == NULL ? BELAY_ENOMEM : BELAY_ECANCELED;
        belay_future_unref(member);
        bly_entry_abort(entry);
        return result;
    }
    bly_entry_submit(entry, &member->task);
    return 0;
}

int belay_group_spawn(belay_group *group, int (*fn)(void *arg), void *arg,
                      void (*drop)(void *arg, int why))
{
    if (group == NULL || fn == NULL) {
        return BELAY_EINVAL;
    }
    belay_cancel *token = open_token(group);
    if (token == NULL) {
        return BELAY_ECANCELED;
    }
    bly_entry entry;
    int result = bly_entry_open(&entry, group->exec, 0);
    if (result == 0) {
        result = spawn(group, &entry, &(bly_call){fn, arg, drop}, token);
    }
    belay_cancel_unref(token);
    return result;
}

int belay_group_cancel(belay_group *group)
{
    if (group == NULL) {
        return BELAY_EINVAL;
    }
    belay_cancel *token = open_token(group);
    if (token == NULL) {
        return BELAY_ETOOLATE;
    }
    int result = belay_cancel_fire(token);
    belay_cancel_unref(token);
    return result;
}

/* Gives an empty group that was canceled a token that has not fired. */
static int renew(belay_group *group)
{
    belay_cancel *token;
    if (belay_cancel_create(group->parent, group->flags, &token) != 0) {
        return BELAY_ENOMEM;
    }
    bly_cancel_unregister(&group->reg);
    bly_mutex_lock(&group->lock);
    bly_assert(group->is_renewing && group->newest == NULL);
    belay_cancel *old = group->token;
    group->token = token;
    group->is_canceled = false;
    group->status = 0;
    bly_mutex_unlock(&group->lock);
    belay_cancel_unref(old);
    watch_token(group, token);
    return 0;
}

/* The group is empty, its lock is held and will not be: gives the status and starts it anew. */
static int end_wait(belay_group *group, int *ret_status)
{
    int status = group->status;
    bool must_renew = group->is_canceled && !group->is_renewing;
    if (must_renew) {
        group->is_renewing = true;
    } else if (!group->is_renewing) {
        group->status = 0;
    }
    bly_mutex_unlock(&group->lock);
    int result = 0;
    if (must_renew) {
        result = renew(group);
        bly_mutex_lock(&group->lock);
        group->is_renewing = false;
        bly_mutex_unlock(&group->lock);
    }
    if (result == 0 && ret_status != NULL) {
        *ret_status = status;
    }
    return result;
}

/* Whether the calling worker is inside a member of the group. */
static bool is_inside(const bly_worker *worker, const belay_group *group)
{
    for (const bly_frame *frame = worker->frame; frame != NULL; frame = frame->below) {
        if (frame->future != NULL && frame->future->group == group) {
            return true;
        }
    }
    return false;
}

/* A waiting worker runs a member that has not begun, or a task of its own; false: there is none. */
static bool run_member(bly_worker *worker, belay_group *group)
{
    belay_future *member = take_member(group);
    if (member == NULL) {
        return bly_help(worker);
    }
    (void)bly_future_run_waited(worker, member); /* claimed by somebody else: look again */
    belay_future_unref(member);
    return true;
}

static void sleep_until_empty(belay_group *group, int64_t deadline_ns)
{
    bly_mutex_lock(&group->lock);
    bool is_empty = group->active == 0;
    group->waiters += !is_empty;
    uint32_t turn = bly_load(&group->turn, BLY_RELAXED); /* relaxed: written under the lock */
    bly_mutex_unlock(&group->lock);
    if (is_empty) {
        return;
    }
    bly_wait_on(&group->turn, turn, deadline_ns);
    bly_mutex_lock(&group->lock);
    group->waiters--;
    bly_mutex_unlock(&group->lock);
}

/* One step of a wait: runs something that it may run, or sleeps. */
static int wait_step(belay_group *group, int64_t deadline_ns)
{
    int result = bly_wait_check(deadline_ns);
    bly_worker *worker = bly_worker_of(group->exec);
    if (result != 0) {
        return result;
    }
    if (worker != NULL) {
        if (is_inside(worker, group)) {
            return BELAY_EDEADLK;
        }
        if (run_member(worker, group)) {
            return 0;
        }
    }
    sleep_until_empty(group, deadline_ns);
    return 0;
}

int belay_group_wait(belay_group *group, int64_t deadline_ns, int *ret_status)
{
    if (group == NULL) {
        return BELAY_EINVAL;
    }
    for (;;) {
        bly_mutex_lock(&group->lock);
        if (group->active == 0) {
            return end_wait(group, ret_status);
        }
        bly_mutex_unlock(&group->lock);
        int result = wait_step(group, deadline_ns);
        if (result != 0) {
            return result;
        }
    }
}

static bool is_busy(belay_group *group)
{
    bly_mutex_lock(&group->lock);
    bool is_busy = group->active != 0 || group->waiters != 0 || group->is_renewing;
    bly_mutex_unlock(&group->lock);
    return is_busy;
}

int belay_group_destroy(belay_group *group)
{
    if (group == NULL) {
        return 0;
    }
    if (is_busy(group)) {
        return BELAY_EBUSY;
    }
    /* A fire that is just reaching the group has left it when this returns. */
    bly_cancel_unregister(&group->reg);
    bly_assert(!is_busy(group)); /* who spawns while it is destroyed */
    bly_executor_attach(&group->exec->executor, -1);
    belay_cancel_unref(group->token);
    belay_cancel_unref(group->parent);
    bly_mutex_destroy(&group->lock);
    bly_free(group);
    return 0;
}
