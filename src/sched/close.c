/*
 * close.c: closing, collecting what a close drops, and awaiting the end.
 *
 * A close decides in one section: from the moment in which the state is CLOSING, a version that is
 * not owed counts as gone (bly_is_doomed_locked) although it still lies in a heap. One thread, the
 * collector, then takes such versions out of the heaps and the held list, in batches; what is owed
 * moves to the due heap on the way, so that the future heap ends up empty. It sorts what it took
 * out by key outside the lock and drops it in that order. A close that escalates while a collector
 * is at work leaves it to that.
 *
 * Invariant: when nobody collects, nothing living is doomed.
 */
#include "sched/sched_int.h"

#include "deliver/deliver.h"

bly_gate *bly_gate_create(belay_clock *clock)
{
    bly_gate *gate = bly_alloc(sizeof *gate);
    if (gate != NULL) {
        gate->clock = clock;
        gate->refs = 1;
    }
    return gate;
}

void bly_gate_unref(bly_gate *gate)
{
    /* acquire and release, with the other unrefs: the last one sees what all did before. */
    if (gate != NULL && bly_fetch_sub(&gate->refs, 1u, BLY_ACQ_REL) == 1) {
        bly_free(gate);
    }
}

/*
 * Under the scheduler's lock: until it is given back nobody destroys the scheduler, or its clock.
 */
static void open_gate_locked(bly_gate *gate)
{
    /* release, with the acquire of is_open: all that ended is visible to awaiters. */
    bly_store(&gate->is_open, 1u, BLY_RELEASE);
    gate->clock->wake(gate->clock, &gate->is_open, UINT32_MAX);
}

static bool is_open(const bly_gate *gate)
{
    return bly_load(&gate->is_open, BLY_ACQUIRE) != 0; /* acquire: see open_gate_locked */
}

void bly_close_check_locked(belay_sched *sched)
{
    bly_assert_debug(bly_mutex_is_mine(&sched->lock));
    if (sched->state != BLY_CLOSING) {
        return;
    }
    if (!sched->is_told && bly_is_all_given_locked(sched)) {
        sched->is_told = true;
        bly_wake_all_locked(sched);
    }
    if (sched->versions.live > 0 || sched->pins > 0 || sched->is_collecting ||
        !bly_list_is_empty(&sched->waiters)) {
        return;
    }
    bly_assert(sched->running_count == 0 && sched->coming == 0 && !sched->is_probing);
    bly_state_move(&bly_sched_states, &sched->state, BLY_CLOSED);
    if (sched->mode == BLY_STARTED) {
        bly_timer_disarm(&sched->timer);
    }
    open_gate_locked(sched->gate);
}

bool bly_close_begin_locked(belay_sched *sched)
{
    bly_assert_debug(bly_mutex_is_mine(&sched->lock));
    if (sched->state != BLY_CLOSING) {
        return false;
    }
    if (sched->is_executor_closed) {
        sched->how = BELAY_CLOSE_DISCARD;
    }
    if (sched->is_collecting) {
        return false;
    }
    sched->is_collecting = true;
    return true;
}

/*
 * The next version that the collector has to look at, taken out of its place; NULL: none is left.
 */
static bly_job *take_any_locked(belay_sched *sched)
{
    bly_assert_debug(bly_mutex_is_mine(&sched->lock));
    bool takes_all = sched->how == BELAY_CLOSE_DISCARD;
    bly_job *job = bly_versions_first(&sched->versions, BLY_IN_FUTURE);
    if (job == NULL && takes_all) {
        job = bly_versions_first(&sched->versions, BLY_IN_DUE);
    }
    if (job != NULL) {
        bly_unqueue_locked(sched, job);
        return job;
    }
    bly_list *link = bly_list_first(&sched->held);
    if (link == NULL && takes_all) {
        link = bly_list_first(&sched->held_owed);
    }
    return link == NULL ? NULL : bly_container(link, bly_job, link);
}

/* What is owed goes where the collector does not look again. */
static void keep_owed_locked(belay_sched *sched, bly_job *job)
{
    bly_assert_debug(bly_mutex_is_mine(&sched->lock));
    if (job->state == BLY_JOB_PENDING) {
        bly_to_due_locked(sched, job);
    } else {
        bly_list_remove(&job->link);
        bly_list_push_back(&sched->held_owed, &job->link);
    }
}

static void bury_doomed_locked(belay_sched *sched, bly_job *job, bly_list *doomed, bly_after *after)
{
    bly_assert_debug(bly_mutex_is_mine(&sched->lock));
    if (job->state == BLY_JOB_HELD) {
        bly_detach_held_locked(job);
    } else {
        bly_versions_unname(&sched->versions, job);
    }
    if (bly_bury_locked(sched, job, BLY_JOB_DROPPED, after)) {
        bly_list_push_back(doomed, &job->link);
    }
}

/* Looks at a batch. True: nothing was left, and this thread is the collector no longer. */
static bool collect_batch(belay_sched *sched, bly_list *doomed)
{
    bly_after after = {0};
    bly_mutex_lock(&sched->lock);
    bool is_over = false;
    for (uint32_t i = 0; i < BLY_BATCH && !is_over; i++) {
        bly_job *job = take_any_locked(sched);
        if (job == NULL) {
            is_over = true;
            sched->is_collecting = false;
        } else if (bly_is_doomed_locked(sched, job)) {
            bury_doomed_locked(sched, job, doomed, &after);
        } else {
            keep_owed_locked(sched, job);
        }
    }
    bly_plan_locked(sched, &after);
    bly_leave(sched, &after);
    return is_over;
}

/*
 * Takes the first `count` of the list, sorted by key; merge sort, stable, no recursion beyond log
 * n.
 */
static void sort(bly_list *list, uint64_t count)
{
    if (count < 2) {
        return;
    }
    bly_list left;
    bly_list_init(&left);
    for (uint64_t i = 0; i < count / 2; i++) {
        bly_list_push_back(&left, bly_list_pop_front(list));
    }
    sort(&left, count / 2);
    sort(list, count - count / 2);
    bly_list merged;
    bly_list_init(&merged);
    while (!bly_list_is_empty(&left) && !bly_list_is_empty(list)) {
        bly_job *a = bly_container(bly_list_first(&left), bly_job, link);
        bly_job *b = bly_container(bly_list_first(list), bly_job, link);
        bool is_left_first = bly_job_is_before(a, b);
        bly_list_push_back(&merged, bly_list_pop_front(is_left_first ? &left : list));
    }
    bly_list_append(&merged, &left);
    bly_list_append(&merged, list);
    bly_list_append(list, &merged);
}

void bly_close_collect(belay_sched *sched)
{
    bly_list doomed;
    bly_list_init(&doomed);
    while (!collect_batch(sched, &doomed)) {
    }
    uint64_t count = 0;
    bly_list_each (link, &doomed) {
        count++;
    }
    sort(&doomed, count);
    bly_list *link = NULL;
    while ((link = bly_list_pop_front(&doomed)) != NULL) {
        bly_deliver_push(&bly_container(link, bly_job, link)->task);
    }
}

/* Tells the next claim made before `until` that it is to stop. False: all know. */
static bool signal_next(belay_sched *sched, uint64_t until)
{
    bly_after after = {0};
    bly_mutex_lock(&sched->lock);
    bly_list *link = bly_list_first(&sched->running);
    belay_claim *claim = link == NULL ? NULL : bly_container(link, belay_claim, link);
    bool is_one = claim != NULL && claim->number < until;
    if (is_one) {
        bly_list_remove(&claim->link);
        bly_list_push_back(&sched->told, &claim->link);
        bly_claim_signal_locked(sched, claim->job, &after);
        bly_uncount_locked(sched, claim->job);
    }
    bly_leave(sched, &after);
    return is_one;
}

int belay_sched_close(belay_sched *sched, unsigned how)
{
    unsigned what = how & ~(unsigned)BELAY_CLOSE_SIGNAL;
    if (sched == NULL || (what != BELAY_CLOSE_DRAIN_DUE && what != BELAY_CLOSE_DISCARD)) {
        return BELAY_EINVAL;
    }
    bly_after after = {0};
    int64_t now = bly_sched_now(sched);
    bly_mutex_lock(&sched->lock);
    bly_seen_locked(sched, now);
    if (sched->state == BLY_CLOSED) {
        bly_mutex_unlock(&sched->lock);
        return 0;
    }
    if (sched->state == BLY_OPEN) {
        bly_state_move(&bly_sched_states, &sched->state, BLY_CLOSING);
        sched->close_ns = sched->last_now;
        sched->how = (uint8_t)what;
    } else if (what == BELAY_CLOSE_DISCARD) {
        sched->how = BELAY_CLOSE_DISCARD;
    }
    uint64_t claims = sched->claims;
    sched->pins++;
    bool must_collect = bly_close_begin_locked(sched);
    bly_leave(sched, &after);
    while ((how & BELAY_CLOSE_SIGNAL) != 0 && signal_next(sched, claims)) {
    }
    if (must_collect) {
        bly_close_collect(sched);
    }
    after = (bly_after){0};
    bly_mutex_lock(&sched->lock);
    bly_unpin_locked(sched);
    bly_leave(sched, &after);
    return 0;
}

/* Sleeps until the gate is open. 0 or BELAY_ETIMEDOUT. Touches the scheduler no more. */
static int await_gate(bly_gate *gate, int64_t deadline_ns)
{
    belay_clock *clock = gate->clock;
    bly_blocking_begin();
    int result = 0;
    while (!is_open(gate) && result == 0) {
        result = clock->wait(clock, &gate->is_open, 0, deadline_ns);
    }
    bly_blocking_end();
    return is_open(gate) ? 0 : BELAY_ETIMEDOUT;
}

int belay_sched_await(belay_sched *sched, int64_t deadline_ns)
{
    if (sched == NULL) {
        return BELAY_EINVAL;
    }
    if (is_open(sched->gate)) {
        return 0;
    }
    if (bly_claim_is_inside(sched) || bly_deliver_active()) {
        return BELAY_EDEADLK;
    }
    if (deadline_ns == BELAY_NOW) {
        return BELAY_ETIMEDOUT;
    }
    bly_gate *gate = sched->gate;
    /* relaxed: the scheduler's own reference is there until destroy. */
    (void)bly_fetch_add(&gate->refs, 1u, BLY_RELAXED);
    int result = await_gate(gate, deadline_ns);
    bly_gate_unref(gate);
    return result;
}
