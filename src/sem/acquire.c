/*
 * acquire.c: from the call to the grant, the refusal or the queue.
 *
 * An acquire first claims its lease, so that a second one with the same lease is refused. Then it
 * knocks: it takes permits from the open word, or looks under the lock whether it is granted or
 * refused at once. What remains wants to
 * wait, and prepares for that outside the lock: it reads the clock, finds the parker of its thread
 * and registers with its token. Then it takes the lock again, asks everything once more, and only
 * then queues; so permits that were released in between are seen, and so is a token that fired: its
 * function has found the lease claimed but not queued and has left the mark FIRED on it. The order
 * of the queue is the order of this second step.
 *
 * A lease that is not queued in the end leaves its token outside the lock before the call returns.
 * From the moment a lease is queued another thread may decide it, call its callback and free it, so
 * an asynchronous acquire touches neither lease nor semaphore after the lock.
 */
#include "sem/sem_int.h"

#include "deliver/deliver.h"

/* The error for a lease that may not be acquired with now. */
static int in_use(const belay_lease *lease, bly_lease_state state)
{
    /*
     * A claimed lease may be a copy of a dead one whose acquire has not written `self` yet. In all
     * other states `self` is seen: it was written before the claim was left, and is constant then.
     */
    bool is_claimed = state == BLY_LEASE_CLAIMED || state == BLY_LEASE_FIRED;
    return is_claimed || bly_lease_is_itself(lease) ? BELAY_EBUSY : BELAY_EINVAL;
}

/*
 * Claims the lease for this acquire: 0, BELAY_EINVAL or BELAY_EBUSY. Until the claim has succeeded
 * another acquire may be writing all but the state.
 */
static int claim(const bly_request *request)
{
    belay_lease *lease = request->lease;
    bly_lease_state state = bly_lease_state_of(lease);
    if (!bly_lease_is_reusable(state)) {
        return in_use(lease, state);
    }
    if (!bly_lease_claim(lease, state, BLY_LEASE_CLAIMED, &state)) {
        return BELAY_EBUSY;
    }
    if (!bly_lease_is_itself(lease)) {
        /* relaxed: published by the state that follows. */
        bly_store(&lease->self, lease, BLY_RELAXED);
    }
    /* relaxed: as above. */
    bly_store(&lease->sem, request->sem, BLY_RELAXED);
    bly_write(&lease->permits, request->permits);
    return 0;
}

/* What an acquire is told that does not wait: BELAY_PENDING when it has to. */
static int verdict_locked(const bly_request *request, bool has_fired)
{
    const belay_sem *sem = request->sem;
    if (request->permits > sem->capacity) {
        return BELAY_ETOOBIG;
    }
    if (sem->is_closed) {
        return BELAY_ECLOSED;
    }
    if (has_fired) {
        return BELAY_ECANCELED;
    }
    bool is_open = sem->waiting == 0 || sem->is_unfair;
    if (is_open && request->permits <= sem->available) {
        return 0;
    }
    return request->deadline_ns == BELAY_NOW ? BELAY_EAGAIN : BELAY_PENDING;
}

/* Why an acquire that has to wait may not: BELAY_PENDING when it may. */
static int obstacle_locked(const bly_request *request, int64_t now_ns)
{
    const belay_sem *sem = request->sem;
    if (request->deadline_ns <= now_ns) {
        return BELAY_ETIMEDOUT;
    }
    if (sem->waiting >= sem->waiters_max) {
        return BELAY_EFULL;
    }
    if (request->fn != NULL) {
        return BELAY_PENDING;
    }
    if (bly_deliver_active()) {
        return BELAY_EDEADLK;
    }
    return request->arg == NULL ? BELAY_ENOMEM : BELAY_PENDING;
}

static void take_locked(const bly_request *request, int64_t now_ns)
{
    belay_sem *sem = request->sem;
    bly_assert(request->permits <= sem->available);
    sem->available -= request->permits;
    if (sem->tracks_holders) {
        request->lease->mark = (uint64_t)(uintptr_t)request->site;
        sem->counts.granted_at_once++;
        bly_holders_add_locked(sem, request->lease, now_ns);
    }
    bly_lease_enter(request->lease, BLY_LEASE_HELD);
}

static void queue_locked(const bly_request *request, int64_t now_ns)
{
    belay_sem *sem = request->sem;
    belay_lease *lease = request->lease;
    lease->since_ns = now_ns;
    lease->mark = sem->tracks_holders ? (uint64_t)(uintptr_t)request->site : sem->next_place;
    lease->fn = request->fn;
    lease->arg = request->arg;
    lease->phase.timing = (struct bly_lease_timing){.deadline_ns = request->deadline_ns};
    sem->next_place++;
    bly_list_push_back(&sem->queue, &lease->link);
    bly_store(&sem->waiting, sem->waiting + 1, BLY_RELAXED); /* relaxed: a hint without the lock */
    sem->waiting_max = sem->waiting > sem->waiting_max ? sem->waiting : sem->waiting_max;
    bly_lease_enter(lease, BLY_LEASE_WAITING);
    if (lease->fn != NULL && request->deadline_ns != BELAY_FOREVER) {
        bly_deadlines_add(&sem->deadlines, lease, now_ns);
        bly_sem_arm_locked(sem);
    }
}

/* The time of the first look, as far as anybody needs it; no lock is held. */
static int64_t knock_time(const belay_sem *sem)
{
    /* relaxed: a hint; without it the time for which permits were short ends a little early. */
    bool is_past_others = sem->is_unfair && bly_load(&sem->waiting, BLY_RELAXED) != 0;
    return is_past_others ? sem->clock->now(sem->clock) : bly_holders_now(sem);
}

/* The first look. */
static int knock(const bly_request *request)
{
    belay_sem *sem = request->sem;
    bool has_fired = belay_cancel_is_fired(request->cancel);
    if (!has_fired && bly_fast_take(&sem->fast, request->permits)) {
        bly_lease_enter(request->lease, BLY_LEASE_HELD);
        return 0;
    }
    bly_pass pass;
    bly_pass_begin_at(sem, &pass, knock_time(sem));
    int result = verdict_locked(request, has_fired);
    if (result == 0) {
        take_locked(request, pass.now_ns);
    } else {
        bly_sem_count_locked(sem, result, BLY_SEM_NOT_READ);
    }
    if (result == 0 && sem->is_unfair) {
        bly_pass_end(sem, &pass); /* what was free for the head may be no more */
    } else {
        bly_sem_unlock(sem);
    }
    return result;
}

/* The second look, and the place in the queue. */
static int enqueue(bly_request *request)
{
    belay_sem *sem = request->sem;
    belay_lease *lease = request->lease;
    if (request->fn == NULL) {
        request->arg = bly_parker_self();
        if (request->arg != NULL) {
            bly_parker_reset(request->arg);
        }
    }
    bool has_fired = request->cancel != NULL &&
                     bly_cancel_register(request->cancel, &lease->reg, bly_sem_on_fire) != 0;
    bly_pass pass;
    bly_pass_begin_at(sem, &pass, sem->clock->now(sem->clock));
    has_fired = has_fired || bly_lease_state_of(lease) == BLY_LEASE_FIRED;
    int result = verdict_locked(request, has_fired);
    if (result == BELAY_PENDING) {
        result = obstacle_locked(request, pass.now_ns);
    }
    if (result == 0) {
        take_locked(request, pass.now_ns);
    } else if (result == BELAY_PENDING) {
        queue_locked(request, pass.now_ns);
    } else {
        bly_sem_count_locked(sem, result, pass.now_ns);
    }
    bly_pass_end(sem, &pass);
    if (result != BELAY_PENDING) {
        bly_cancel_unregister(&lease->reg);
    }
    return result;
}

/* An acquire up to the point where it waits: BELAY_PENDING when it does. */
static int begin(bly_request *request)
{
    if (request->sem == NULL || request->lease == NULL || request->permits == 0) {
        return BELAY_EINVAL;
    }
    int result = claim(request);
    if (result != 0) {
        return result;
    }
    result = knock(request);
    if (result == BELAY_PENDING) {
        result = enqueue(request);
    }
    if (result < 0) {
        bly_lease_enter(request->lease, BLY_LEASE_IDLE);
    }
    bly_deliver_run();
    return result;
}

static int acquire(bly_request *request)
{
    int result = begin(request);
    return result == BELAY_PENDING
               ? bly_sem_wait(request->sem, request->lease, request->deadline_ns)
               : result;
}

int belay_sem_acquire(belay_sem *sem, belay_lease *lease, uint32_t permits, int64_t deadline_ns,
                      belay_cancel *cancel)
{
    bly_request request = {.sem = sem,
                           .lease = lease,
                           .permits = permits,
                           .deadline_ns = deadline_ns,
                           .cancel = cancel,
                           .site = __builtin_return_address(0)};
    return acquire(&request);
}

int belay_sem_acquire_async(belay_sem *sem, belay_lease *lease, uint32_t permits,
                            int64_t deadline_ns, belay_cancel *cancel, belay_sem_fn *fn, void *arg)
{
    if (fn == NULL) {
        return BELAY_EINVAL;
    }
    bly_request request = {.sem = sem,
                           .lease = lease,
                           .permits = permits,
                           .deadline_ns = deadline_ns,
                           .cancel = cancel,
                           .fn = fn,
                           .arg = arg,
                           .site = __builtin_return_address(0)};
    return begin(&request);
}

int belay_sem_with(belay_sem *sem, uint32_t permits, int64_t deadline_ns, belay_cancel *cancel,
                   int (*fn)(void *arg), void *arg)
{
    if (fn == NULL) {
        return BELAY_EINVAL;
    }
    belay_lease lease = BELAY_LEASE_INIT;
    bly_request request = {.sem = sem,
                           .lease = &lease,
                           .permits = permits,
                           .deadline_ns = deadline_ns,
                           .cancel = cancel,
                           .site = __builtin_return_address(0)};
    int result = acquire(&request);
    if (result != 0) {
        return result;
    }
    result = fn(arg);
    int released = belay_lease_release(&lease);
    bly_assert(released == 0);
    return result;
}
