/*
 * acquire.c: from the call to the grant, the refusal or the queue.
 *
 * An acquire first claims its lease, so that a second one with the same lease is refused. Then it
 * tries to take permits from the open word, which is all when there are some and nobody waits.
 *
 * Otherwise it asks under the lock. Whatever waiting may need is prepared before: it reads the
 * clock, finds the parker of its thread and registers with its token. A token that fires in between
 * finds the lease claimed but not queued and leaves the mark FIRED on it. Permits released in
 * between are seen, since one hold of the lock looks for them and queues. Heads that have expired
 * are ended first, so that they refuse nobody.
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
static inline int claim(belay_sem *sem, belay_lease *lease, uint32_t permits)
{
    bly_lease_state state = bly_lease_state_of(lease);
    if (bly_unlikely(!bly_lease_is_reusable(state))) {
        return in_use(lease, state);
    }
    if (bly_unlikely(!bly_lease_claim(lease, state, BLY_LEASE_CLAIMED, &state))) {
        return BELAY_EBUSY;
    }
    /* relaxed: both are published by the state that follows. */
    bly_store(&lease->self, lease, BLY_RELAXED);
    bly_store(&lease->sem, sem, BLY_RELAXED);
    bly_write(&lease->permits, permits);
    return 0;
}

/*
 * All of an acquire that finds free permits and nobody waiting. BELAY_PENDING: the lease is
 * claimed, and the rest is for the lock.
 */
static inline int take_at_once(belay_sem *sem, belay_lease *lease, uint32_t permits,
                               const belay_cancel *cancel)
{
    if (bly_unlikely(sem == NULL || lease == NULL || permits == 0)) {
        return BELAY_EINVAL;
    }
    int result = claim(sem, lease, permits);
    if (bly_unlikely(result != 0)) {
        return result;
    }
    if (belay_cancel_is_fired(cancel) || !bly_fast_take(&sem->fast, permits)) {
        return BELAY_PENDING;
    }
    bly_lease_go(lease, BLY_LEASE_CLAIMED, BLY_LEASE_HELD);
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
static int obstacle_locked(const bly_request *request)
{
    const belay_sem *sem = request->sem;
    if (request->deadline_ns <= request->since_ns) {
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

static void take_locked(const bly_request *request)
{
    belay_sem *sem = request->sem;
    bly_assert(request->permits <= sem->available);
    sem->available -= request->permits;
    if (sem->tracks_holders) {
        request->lease->mark = (uint64_t)(uintptr_t)request->site;
        sem->counts.granted_at_once++;
        bly_holders_add_locked(sem, request->lease, request->since_ns);
    }
    bly_lease_enter(request->lease, BLY_LEASE_HELD);
}

static void queue_locked(const bly_request *request)
{
    belay_sem *sem = request->sem;
    belay_lease *lease = request->lease;
    lease->since_ns = request->since_ns;
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
        bly_deadlines_add(&sem->deadlines, lease, request->since_ns);
        bly_sem_arm_locked(sem);
    }
}

/*
 * Prepares what waiting needs and may not be done under the lock: the parker of the thread and the
 * registration with the token. Whether the token has fired.
 */
static bool prepare(bly_request *request)
{
    belay_cancel *cancel = request->cancel;
    if (request->deadline_ns == BELAY_NOW) {
        return belay_cancel_is_fired(cancel);
    }
    if (request->fn == NULL) {
        request->arg = bly_parker_self();
        if (request->arg != NULL) {
            bly_parker_reset(request->arg);
        }
    }
    return cancel != NULL &&
           bly_cancel_register(cancel, &request->lease->reg, bly_sem_on_fire) != 0;
}

/* The time that a request comes at: exact where it pays, or where the caller sleeps anyway. */
static int64_t arrival(const bly_request *request)
{
    belay_clock *clock = request->sem->clock;
    bool is_exact =
        request->sem->tracks_holders || (request->fn == NULL && request->deadline_ns != BELAY_NOW);
    return is_exact ? clock->now(clock) : clock->now_coarse(clock);
}

/* The look under the lock, and the place in the queue. */
static int ask(bly_request *request)
{
    belay_sem *sem = request->sem;
    bool has_fired = prepare(request);
    request->since_ns = arrival(request);
    bly_pass pass;
    bly_pass_begin_at(sem, &pass, request->since_ns);
    if (sem->passes == 0) {
        bly_pass_serve(sem, &pass); /* heads that have expired refuse nobody */
    }
    has_fired = has_fired || bly_lease_state_of(request->lease) == BLY_LEASE_FIRED;
    int result = verdict_locked(request, has_fired);
    if (result == BELAY_PENDING) {
        result = obstacle_locked(request);
    }
    if (result == 0) {
        take_locked(request);
    } else if (result == BELAY_PENDING) {
        queue_locked(request);
    } else {
        bly_sem_count_locked(sem, result, request->since_ns);
    }
    bly_pass_end(sem, &pass);
    if (result != BELAY_PENDING) {
        bly_cancel_unregister(&request->lease->reg);
    }
    return result;
}

/* An acquire whose lease is claimed, up to the point where it waits: BELAY_PENDING when it does. */
static int begin(bly_request *request)
{
    int result = ask(request);
    if (result < 0) {
        bly_lease_enter(request->lease, BLY_LEASE_IDLE);
    }
    bly_deliver_run();
    return result;
}

static int acquire(bly_request *request)
{
    int result = begin(request);
    return result == BELAY_PENDING ? bly_sem_wait(request) : result;
}

int belay_sem_acquire(belay_sem *sem, belay_lease *lease, uint32_t permits, int64_t deadline_ns,
                      belay_cancel *cancel)
{
    int result = take_at_once(sem, lease, permits, cancel);
    if (bly_likely(result != BELAY_PENDING)) {
        return result;
    }
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
    int result = fn != NULL ? take_at_once(sem, lease, permits, cancel) : BELAY_EINVAL;
    if (bly_likely(result != BELAY_PENDING)) {
        return result;
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
    int result = take_at_once(sem, &lease, permits, cancel);
    if (result == BELAY_PENDING) {
        bly_request request = {.sem = sem,
                               .lease = &lease,
                               .permits = permits,
                               .deadline_ns = deadline_ns,
                               .cancel = cancel,
                               .site = __builtin_return_address(0)};
        result = acquire(&request);
    }
    if (result != 0) {
        return result;
    }
    result = fn(arg);
    int released = belay_lease_release(&lease);
    bly_assert(released == 0);
    return result;
}
