/*
 * order.c: what is pending, when it may be claimed, and by whom.
 *
 * One function, bly_plan_locked, keeps the promise that something due is claimed by somebody. Every
 * section that may change the head, the number of running jobs or the probe calls it before it
 * unlocks, so there is no state in which all sleep while work is due:
 *   driven: the leader knows the head's time, or has been woken to read it;
 *   started: a probe is on its way, or no permit is left (the end of a run plans again), or the
 *     timer stands at the head's time, or at the retry of a refused ticket.
 */
#include "sched/sched_int.h"

#define DEEP_MAX 64u /* living versions up to which debug builds check the whole structure */

/* Nothing pending will run any more, collected or not. */
static bool is_discarding_locked(const belay_sched *sched)
{
    bly_assert_debug(bly_mutex_is_mine(&sched->lock));
    return sched->state != BLY_OPEN && sched->how == BELAY_CLOSE_DISCARD;
}

bool bly_is_doomed_locked(const belay_sched *sched, const bly_job *job)
{
    bly_assert_debug(bly_mutex_is_mine(&sched->lock));
    if (sched->state == BLY_OPEN || job->state == BLY_JOB_RUNNING) {
        return false;
    }
    return is_discarding_locked(sched) || job->run_at_ns > sched->close_ns;
}

void bly_to_due_locked(belay_sched *sched, bly_job *job)
{
    bly_assert_debug(bly_mutex_is_mine(&sched->lock));
    bly_assert(job->run_at_ns <= sched->last_now);
    job->claims_before = sched->claims;
    job->due_before = bly_versions_count(&sched->versions, BLY_IN_DUE);
    bly_versions_queue(&sched->versions, job, BLY_IN_DUE);
    bly_list_push_back(&sched->due, &job->link);
}

void bly_enter_locked(belay_sched *sched, bly_job *job)
{
    bly_assert_debug(bly_mutex_is_mine(&sched->lock));
    bly_state_move(&bly_job_states, &job->state, BLY_JOB_PENDING);
    /* What a closing scheduler still owes waits where its collector has been already. */
    if (sched->state != BLY_OPEN && !bly_is_doomed_locked(sched, job)) {
        bly_to_due_locked(sched, job);
    } else {
        bly_versions_queue(&sched->versions, job, BLY_IN_FUTURE);
    }
}

void bly_unqueue_locked(belay_sched *sched, bly_job *job)
{
    bly_assert_debug(bly_mutex_is_mine(&sched->lock));
    bly_assert(job->state == BLY_JOB_PENDING);
    if (job->where == BLY_IN_DUE) {
        bly_list_remove(&job->link);
    }
    bly_versions_unqueue(&sched->versions, job);
}

/* The first of the future that is not dropped by a close; NULL: none. */
static bly_job *future_head_locked(const belay_sched *sched)
{
    bly_assert_debug(bly_mutex_is_mine(&sched->lock));
    bly_job *job = bly_versions_first(&sched->versions, BLY_IN_FUTURE);
    return job == NULL || bly_is_doomed_locked(sched, job) ? NULL : job;
}

int64_t bly_earliest_locked(const belay_sched *sched)
{
    bly_assert_debug(bly_mutex_is_mine(&sched->lock));
    if (is_discarding_locked(sched)) {
        return BELAY_FOREVER;
    }
    const bly_job *future = future_head_locked(sched);
    const bly_job *due = bly_versions_first(&sched->versions, BLY_IN_DUE);
    int64_t at = future == NULL ? BELAY_FOREVER : future->run_at_ns;
    return due != NULL && due->run_at_ns < at ? due->run_at_ns : at;
}

bool bly_is_all_given_locked(const belay_sched *sched)
{
    bly_assert_debug(bly_mutex_is_mine(&sched->lock));
    if (sched->state == BLY_OPEN) {
        return false;
    }
    return is_discarding_locked(sched) ||
           (future_head_locked(sched) == NULL &&
            bly_versions_count(&sched->versions, BLY_IN_DUE) == 0 &&
            bly_list_is_empty(&sched->held) && bly_list_is_empty(&sched->held_owed));
}

/* With aging: moves what has come due, at most a batch, to its own order. */
static void move_due_locked(belay_sched *sched)
{
    bly_assert_debug(bly_mutex_is_mine(&sched->lock));
    for (uint32_t moved = 0; moved < BLY_BATCH; moved++) {
        bly_job *job = future_head_locked(sched);
        if (job == NULL || job->run_at_ns > sched->last_now) {
            return;
        }
        bly_versions_unqueue(&sched->versions, job);
        bly_to_due_locked(sched, job);
    }
}

bly_job *bly_pick_locked(belay_sched *sched)
{
    bly_assert_debug(bly_mutex_is_mine(&sched->lock));
    if (is_discarding_locked(sched)) {
        return NULL;
    }
    if (sched->aging_ns != 0) {
        move_due_locked(sched);
    }
    bly_job *due = bly_versions_first(&sched->versions, BLY_IN_DUE);
    bly_job *job = future_head_locked(sched);
    if (job == NULL || (due != NULL && (sched->aging_ns != 0 || bly_job_is_before(due, job)))) {
        job = due;
    }
    if (job == NULL || job->run_at_ns > sched->last_now) {
        return NULL;
    }
    bly_unqueue_locked(sched, job);
    return job;
}

/* Whether the executor should be sent a ticket as soon as something is due. */
static bool may_probe_locked(const belay_sched *sched)
{
    bly_assert_debug(bly_mutex_is_mine(&sched->lock));
    return sched->mode == BLY_STARTED && !sched->is_executor_closed && !sched->is_probing &&
           sched->running_count < sched->running_max;
}

static void plan_started_locked(belay_sched *sched, bly_after *after)
{
    bly_assert_debug(bly_mutex_is_mine(&sched->lock));
    int64_t at = may_probe_locked(sched) ? bly_earliest_locked(sched) : BELAY_FOREVER;
    if (at <= sched->last_now) {
        sched->is_probing = true;
        after->is_sending = true;
        if (after->ticket == NULL) {
            sched->pins++;
            after->ticket = bly_claim_spare_locked(sched);
        }
        at = BELAY_FOREVER;
    }
    if (sched->armed_ns != at) {
        sched->armed_ns = at;
        bly_timer_arm(&sched->timer, at);
    }
}

void bly_plan_locked(belay_sched *sched, bly_after *after)
{
    bly_assert_debug(bly_mutex_is_mine(&sched->lock));
    bly_assert_deep(sched->versions.live > DEEP_MAX || bly_versions_is_sound(&sched->versions));
    bly_assert_debug(sched->coming <= sched->versions.live);
    if (sched->state == BLY_CLOSED) {
        return;
    }
    if (sched->mode == BLY_STARTED) {
        plan_started_locked(sched, after);
    } else if (sched->mode == BLY_DRIVEN) {
        bly_lead_locked(sched);
    }
}
