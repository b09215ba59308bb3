/*
 * pass.c: who gets permits, who ends without, and how they are told.
 *
 * All of it happens in a pass: one thread's hold of the semaphore's lock. Whatever changes permits
 * or the queue (release, cancel, timeout, close, resize) makes its change and ends with
 * bly_pass_end, which looks at the head of the queue until that can be neither granted nor refused.
 * So no head that fits is left waiting when the lock is free (I3), whatever it was that removed the
 * one before it.
 *
 * Batches. After BLY_SEM_BATCH decisions the lock is dropped once, so that others are not kept out
 * by a long run. Meanwhile a head that fits may stand in the queue; the queue is not empty then, so
 * newcomers queue behind it. `passes` keeps the semaphore from being idle, and thus from being
 * destroyed, before the thread has come back: those it has granted may all be gone by then.
 *
 * Telling. A callback's task goes to the list of the deciding thread, under the lock, so the list
 * has the order of the decisions; bly_deliver_run calls it or submits it to the executor. A thread
 * that waits is woken through its parker, whose address is copied here under the lock: once that is
 * dropped the thread may see its new state for other reasons and go, lease and stack with it.
 * Parkers are never freed, so waking late touches nothing that has gone. `undelivered` counts both
 * until they have come back to bly_sem_deliver, so that the semaphore outlives all who use it.
 *
 * bly_sem_deliver is the last use of the semaphore on behalf of a lease, and for a granted one the
 * moment from which it is held. The token is left before it and outside the lock: its function may
 * be waiting for that very lock on another thread.
 */
#include "sem/sem_int.h"

#include "deliver/deliver.h"

static belay_lease *head_of(const belay_sem *sem)
{
    bly_list *first = bly_list_first(&sem->queue);
    return first != NULL ? bly_container(first, belay_lease, link) : NULL;
}

uint32_t bly_sem_in_use_locked(const belay_sem *sem)
{
    return sem->capacity + sem->debt - sem->available;
}

bool bly_sem_is_idle_locked(const belay_sem *sem)
{
    return bly_sem_in_use_locked(sem) == 0 && sem->waiting == 0 && sem->undelivered == 0 &&
           sem->passes == 0;
}

void bly_sem_give_back_locked(belay_sem *sem, uint32_t permits)
{
    bly_assert(permits <= bly_sem_in_use_locked(sem));
    uint32_t repaid = permits < sem->debt ? permits : sem->debt;
    sem->debt -= repaid;
    sem->available += permits - repaid;
}

/* What must hold whenever the lock is free, as far as the counters and a short queue show it. */
static void check_locked(const belay_sem *sem)
{
    uint32_t in_use = bly_sem_in_use_locked(sem);
    bly_assert_deep(sem->available <= sem->capacity);
    bly_assert_deep(sem->debt == (in_use > sem->capacity ? in_use - sem->capacity : 0));
    bly_assert_deep(sem->debt == 0 || sem->available == 0);
    bly_assert_deep(sem->reserved <= in_use);
    uint32_t counted = 0;
    bly_list_each (link, &sem->queue) {
        if (++counted > BLY_SEM_BATCH) {
            break;
        }
    }
    bly_assert_deep(counted == sem->waiting || sem->waiting > BLY_SEM_BATCH);
}

void bly_sem_lock(belay_sem *sem)
{
    bly_mutex_lock(&sem->lock);
    if (bly_fast_is_open(&sem->fast)) {
        sem->available = bly_fast_shut(&sem->fast);
    }
}

/* Whether permits may change hands without the lock until it is next taken. */
static bool may_open(const belay_sem *sem)
{
    return sem->waiting == 0 && sem->debt == 0 && !sem->is_closed && !sem->tracks_holders &&
           bly_list_is_empty(&sem->idlers);
}

/* Every way out of the lock goes through here. */
static void unlock(belay_sem *sem)
{
    if (BELAY_DEBUG) {
        check_locked(sem);
    }
    if (may_open(sem)) {
        bly_fast_open(&sem->fast, sem->available);
    }
    bly_mutex_unlock(&sem->lock);
}

void bly_sem_unlock(belay_sem *sem)
{
    if (!bly_list_is_empty(&sem->idlers) && bly_sem_is_idle_locked(sem)) {
        bly_sem_wake_idlers_locked(sem);
    }
    unlock(sem);
}

void bly_pass_begin_at(belay_sem *sem, bly_pass *pass, int64_t now_ns)
{
    pass->now_ns = now_ns;
    pass->budget = BLY_SEM_BATCH;
    pass->parker_count = 0;
    bly_sem_lock(sem);
}

/* The time, if anybody waits for whom it matters; no lock is held. */
static int64_t read_clock(const belay_sem *sem)
{
    /*
     * relaxed: a hint. Who misses a waiter that has just come does not look whether it has expired,
     * which it has not, or was not when it looked itself.
     */
    return bly_load(&sem->waiting, BLY_RELAXED) != 0 ? sem->clock->now_coarse(sem->clock)
                                                     : BLY_SEM_NOT_READ;
}

void bly_pass_begin(belay_sem *sem, bly_pass *pass)
{
    bly_pass_begin_at(sem, pass, read_clock(sem));
}

static int64_t later(int64_t a_ns, int64_t b_ns)
{
    return a_ns > b_ns ? a_ns : b_ns;
}

/* The time since `since_ns`, as far as this pass knows it. */
static int64_t elapsed(const bly_pass *pass, int64_t since_ns)
{
    return later(pass->now_ns, since_ns) - since_ns;
}

/* Permits stop being free but too few for the head: it goes, or none are free. */
static void end_short(belay_sem *sem, const bly_pass *pass)
{
    if (sem->counts.short_since_ns != BLY_SEM_NOT_READ) {
        sem->counts.short_total_ns += elapsed(pass, sem->counts.short_since_ns);
        sem->counts.short_since_ns = BLY_SEM_NOT_READ;
    }
}

/* Notes whether permits are free but too few for the head. */
static void note_short(belay_sem *sem, const bly_pass *pass)
{
    belay_lease *head = head_of(sem);
    if (head == NULL || sem->available == 0) {
        end_short(sem, pass);
    } else if (sem->counts.short_since_ns == BLY_SEM_NOT_READ) {
        /* A head that came since the clock was read, or not read, has just come. */
        sem->counts.short_since_ns = later(pass->now_ns, head->since_ns);
    }
}

static void count_cancel(bly_sem_counts *counts, int64_t now_ns)
{
    int64_t second = now_ns / BLY_SEM_SECOND_NS;
    counts->canceled++;
    if (second > counts->cancel_second) {
        counts->cancels_previous = second == counts->cancel_second + 1 ? counts->cancels_now : 0;
        counts->cancels_now = 0;
        counts->cancel_second = second;
    }
    counts->cancels_now++;
}

void bly_sem_count_locked(belay_sem *sem, int error, int64_t now_ns)
{
    switch (error) {
    case BELAY_ETIMEDOUT:
        sem->counts.timed_out++;
        break;
    case BELAY_ECANCELED:
        count_cancel(&sem->counts, now_ns);
        break;
    case BELAY_ECLOSED:
        sem->counts.closed++;
        break;
    case BELAY_ETOOBIG:
        sem->counts.too_big++;
        break;
    case BELAY_EFULL:
        sem->counts.refused_full++;
        break;
    default:
        break;
    }
}

static void reserve(belay_sem *sem, const bly_pass *pass, belay_lease *lease)
{
    bly_assert(lease->permits <= sem->available);
    sem->available -= lease->permits;
    sem->reserved += lease->permits;
    sem->counts.granted_waiting++;
    if (lease->fn != NULL) {
        bly_hist_add(&sem->counts.waits, (uint64_t)elapsed(pass, lease->since_ns));
    }
    lease->since_ns = later(pass->now_ns, lease->since_ns);
    if (!sem->tracks_holders) {
        lease->mark |= (uint64_t)sem->next_turn << 32;
    }
    sem->next_turn++;
    bly_list_push_back(&sem->reserved_order, &lease->link);
}

/* The callback of an asynchronous acquire, on its executor or inline. */
static void run_callback(belay_task *task)
{
    belay_lease *lease = bly_container(task, belay_lease, phase.task);
    belay_sem_fn *fn = lease->fn;
    void *arg = lease->arg;
    if (lease->reg.token != NULL) {
        bly_cancel_unregister(&lease->reg);
    }
    /* relaxed: written by the acquirer before the lease was queued. */
    int result = bly_sem_deliver(bly_load(&lease->sem, BLY_RELAXED), lease, -1);
    fn(lease, result, arg);
}

static void send_callback(belay_task *task)
{
    belay_lease *lease = bly_container(task, belay_lease, phase.task);
    belay_sem *sem = bly_load(&lease->sem, BLY_RELAXED); /* relaxed: see run_callback */
    bly_deliver_to(sem->executor, task, run_callback, &sem->refused);
}

void bly_pass_decide(belay_sem *sem, bly_pass *pass, belay_lease *lease, bly_lease_state outcome)
{
    bly_assert(pass->budget > 0 && sem->waiting > 0);
    pass->budget--;
    if (lease == head_of(sem)) {
        end_short(sem, pass);
    }
    bly_list_remove(&lease->link);
    bly_store(&sem->waiting, sem->waiting - 1, BLY_RELAXED); /* relaxed: see read_clock */
    bly_deadlines_remove(&sem->deadlines, lease);
    if (outcome == BLY_LEASE_RESERVED) {
        reserve(sem, pass, lease);
    } else {
        bly_sem_count_locked(sem, bly_lease_result(outcome), pass->now_ns);
    }
    sem->undelivered++;
    if (lease->fn == NULL) {
        pass->parkers[pass->parker_count++] = lease->arg;
    } else {
        lease->phase.task = (belay_task){.run = sem->is_inline ? run_callback : send_callback};
        bly_deliver_push(&lease->phase.task);
    }
    bly_lease_enter(lease, outcome);
}

/* What is to become of the head: WAITING when it stays. */
static bly_lease_state judge(const belay_sem *sem, const bly_pass *pass, const belay_lease *lease)
{
    if (sem->is_closed) {
        return BLY_LEASE_CLOSED;
    }
    if (lease->permits > sem->capacity) {
        return BLY_LEASE_TOO_BIG;
    }
    if (lease->phase.timing.deadline_ns < pass->now_ns) {
        return BLY_LEASE_TIMED_OUT;
    }
    if (belay_cancel_is_fired(lease->reg.token)) {
        return BLY_LEASE_CANCELED;
    }
    return lease->permits <= sem->available ? BLY_LEASE_RESERVED : BLY_LEASE_WAITING;
}

static bool serve_head(belay_sem *sem, bly_pass *pass)
{
    belay_lease *head = head_of(sem);
    bly_lease_state outcome = head != NULL ? judge(sem, pass, head) : BLY_LEASE_WAITING;
    if (outcome == BLY_LEASE_WAITING) {
        return false;
    }
    bly_pass_decide(sem, pass, head, outcome);
    return true;
}

static void wake(bly_pass *pass, belay_clock *clock)
{
    for (uint32_t i = 0; i < pass->parker_count; i++) {
        bly_unpark(pass->parkers[i], clock);
    }
}

void bly_pass_breathe(belay_sem *sem, bly_pass *pass)
{
    sem->passes++;
    unlock(sem);
    wake(pass, sem->clock);
    int64_t now_ns = read_clock(sem);
    bly_pass_begin_at(sem, pass, now_ns);
    bly_assert(sem->passes > 0);
    sem->passes--;
}

void bly_pass_serve(belay_sem *sem, bly_pass *pass)
{
    while (serve_head(sem, pass)) {
        if (pass->budget == 0) {
            bly_pass_breathe(sem, pass);
        }
    }
}

void bly_pass_end(belay_sem *sem, bly_pass *pass)
{
    bly_pass_serve(sem, pass);
    note_short(sem, pass);
    belay_clock *clock = sem->clock;
    bly_sem_unlock(sem);
    wake(pass, clock);
}

int bly_sem_deliver(belay_sem *sem, belay_lease *lease, int64_t waited_ns)
{
    int64_t now_ns = bly_holders_now(sem);
    bly_sem_lock(sem);
    bly_assert(sem->undelivered > 0);
    sem->undelivered--;
    bly_lease_state outcome = bly_lease_state_of(lease);
    int result = bly_lease_result(outcome);
    if (outcome == BLY_LEASE_RESERVED) {
        sem->reserved -= lease->permits;
        if (waited_ns >= 0) {
            bly_hist_add(&sem->counts.waits, (uint64_t)waited_ns);
        }
        bly_list_remove(&lease->link);
        bly_holders_add_locked(sem, lease, now_ns);
        bly_lease_enter(lease, BLY_LEASE_HELD);
    } else {
        bly_lease_enter(lease, BLY_LEASE_ENDED);
    }
    bly_sem_unlock(sem);
    return result;
}

void bly_sem_on_fire(bly_cancel_reg *reg)
{
    belay_lease *lease = bly_container(reg, belay_lease, reg);
    belay_sem *sem = bly_load(&lease->sem, BLY_RELAXED); /* relaxed: constant while registered */
    bly_pass pass;
    bly_pass_begin(sem, &pass);
    switch (bly_lease_state_of(lease)) {
    case BLY_LEASE_CLAIMED:
        bly_lease_enter(lease, BLY_LEASE_FIRED);
        break;
    case BLY_LEASE_WAITING:
        bly_pass_decide(sem, &pass, lease, BLY_LEASE_CANCELED);
        break;
    case BLY_LEASE_RESERVED:
    case BLY_LEASE_HELD:
        sem->counts.late_cancels++;
        break;
    default:
        break;
    }
    bly_pass_end(sem, &pass);
}

void bly_sem_arm_locked(belay_sem *sem)
{
    int64_t next_ns = bly_deadlines_next(&sem->deadlines);
    if (next_ns < sem->armed_ns) {
        sem->armed_ns = next_ns;
        bly_timer_arm(&sem->timer, next_ns);
    }
}

void bly_sem_on_timer(bly_timer *timer)
{
    belay_sem *sem = bly_container(timer, belay_sem, timer);
    int64_t now_ns = later(sem->clock->now(sem->clock), bly_timer_reached(timer));
    bly_pass pass;
    bly_pass_begin_at(sem, &pass, now_ns);
    sem->armed_ns = BELAY_FOREVER;
    for (;;) {
        belay_lease *lease = bly_deadlines_expired(&sem->deadlines, now_ns, &pass.budget);
        if (lease != NULL) {
            bly_pass_decide(sem, &pass, lease, BLY_LEASE_TIMED_OUT);
        } else if (pass.budget > 0) {
            break;
        }
        if (pass.budget == 0) {
            bly_pass_breathe(sem, &pass);
        }
    }
    bly_sem_arm_locked(sem);
    bly_pass_end(sem, &pass);
    bly_deliver_run();
}
