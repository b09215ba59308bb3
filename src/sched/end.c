/*
 * end.c: how versions end, each exactly once.
 *
 * A version leaves the store under the lock, at one of three places: before it ran
 * (bly_drop_locked, from cancel, replace and close), or at the end of a run (bly_end_locked),
 * where re-arming, cancel, replacement and close are decided together, so that none of them can
 * slip in between. From then on nobody can find it. If it owes a drop, it is handed to this
 * thread's deliveries and pins the scheduler until its drop has returned; its own memory is freed
 * before drop is entered, since drop may do anything that does not wait.
 */
#include "sched/sched_int.h"

#include "deliver/deliver.h"

void bly_uncount_locked(belay_sched *sched, bly_job *job)
{
    bly_assert_debug(bly_mutex_is_mine(&sched->lock));
    if (job->is_counted) {
        job->is_counted = false;
        bly_assert(sched->coming > 0);
        sched->coming--;
    }
}

static void deliver_drop(belay_task *task)
{
    bly_job *job = bly_container(task, bly_job, task);
    belay_sched *sched = job->sched;
    void (*drop)(void *arg, int why) = job->drop;
    void *arg = job->arg;
    int why = job->why;
    bly_free(job);
    drop(arg, why);
    bly_after after = {0};
    bly_mutex_lock(&sched->lock);
    bly_unpin_locked(sched);
    bly_leave(sched, &after);
}

/* What drop is told of each end. */
static const uint8_t reasons[] = {[BLY_JOB_COMPLETED] = BELAY_DROP_ENDED,
                                  [BLY_JOB_FAILED] = BELAY_DROP_ENDED,
                                  [BLY_JOB_CANCELED] = BELAY_DROP_CANCELED,
                                  [BLY_JOB_REPLACED] = BELAY_DROP_REPLACED,
                                  [BLY_JOB_DROPPED] = BELAY_DROP_CLOSED};

bool bly_bury_locked(belay_sched *sched, bly_job *job, uint32_t state, bly_after *after)
{
    bly_assert_debug(bly_mutex_is_mine(&sched->lock));
    bool has_run_out = state == BLY_JOB_COMPLETED || state == BLY_JOB_FAILED;
    bly_uncount_locked(sched, job);
    bly_state_move(&bly_job_states, &job->state, state);
    sched->counts.canceled += state == BLY_JOB_CANCELED;
    sched->counts.replaced += state == BLY_JOB_REPLACED;
    sched->counts.dropped += state == BLY_JOB_DROPPED;
    sched->counts.missed += job->series != NULL ? job->series->missed : 0;
    bly_discard(after, bly_versions_remove(&sched->versions, job));
    void *block = NULL;
    while ((block = bly_versions_spare(&sched->versions)) != NULL) {
        bly_discard(after, block);
    }
    if (job->drop == NULL || (has_run_out && job->series == NULL)) {
        bly_discard(after, job);
        return false;
    }
    job->why = reasons[state];
    job->task = (belay_task){.run = deliver_drop};
    sched->pins++;
    return true;
}

static void bury_and_drop_locked(belay_sched *sched, bly_job *job, uint32_t state, bly_after *after)
{
    bly_assert_debug(bly_mutex_is_mine(&sched->lock));
    if (bly_bury_locked(sched, job, state, after)) {
        bly_deliver_push(&job->task);
    }
}

void bly_drop_pending_locked(belay_sched *sched, bly_job *job, uint32_t state, bly_after *after)
{
    bly_assert_debug(bly_mutex_is_mine(&sched->lock));
    bly_unqueue_locked(sched, job);
    bly_versions_unname(&sched->versions, job);
    bury_and_drop_locked(sched, job, state, after);
}

void bly_detach_held_locked(bly_job *held)
{
    bly_assert(held->state == BLY_JOB_HELD && held->other->other == held);
    bly_list_remove(&held->link);
    held->other->other = NULL;
    held->other = NULL;
}

void bly_drop_held_locked(belay_sched *sched, bly_job *job, uint32_t state, bly_after *after)
{
    bly_assert_debug(bly_mutex_is_mine(&sched->lock));
    bly_detach_held_locked(job);
    bury_and_drop_locked(sched, job, state, after);
}

/* The running version's place under its id goes to the one held back behind it, if there is one. */
static void pass_id_on_locked(belay_sched *sched, bly_job *job)
{
    bly_assert_debug(bly_mutex_is_mine(&sched->lock));
    bly_job *held = job->other;
    bly_versions_unname(&sched->versions, job);
    if (held != NULL) {
        bly_detach_held_locked(held);
        bly_versions_name(&sched->versions, held);
        bly_enter_locked(sched, held);
    }
}

/*
 * The state in which a version leaves RUNNING, PENDING being the next occurrence. What was asked of
 * a series first counts: a cancel, then a replacement, then its own end, then a close.
 */
static uint32_t state_after_locked(const belay_sched *sched, const bly_job *job, bool has_failed,
                                   int64_t next_ns)
{
    bly_assert_debug(bly_mutex_is_mine(&sched->lock));
    uint32_t ran_out = has_failed ? BLY_JOB_FAILED : BLY_JOB_COMPLETED;
    if (job->series == NULL) {
        return ran_out;
    }
    if (job->is_canceled) {
        return BLY_JOB_CANCELED;
    }
    if (job->is_superseded) {
        return BLY_JOB_REPLACED;
    }
    if (next_ns == BELAY_FOREVER || (has_failed && job->series->ends_on_failure)) {
        return ran_out;
    }
    return sched->state == BLY_OPEN ? BLY_JOB_PENDING : BLY_JOB_DROPPED;
}

static void end_version_locked(belay_sched *sched, bly_job *job, bool has_failed, int64_t next_ns,
                               bly_after *after)
{
    bly_assert_debug(bly_mutex_is_mine(&sched->lock));
    uint32_t state = state_after_locked(sched, job, has_failed, next_ns);
    if (state == BLY_JOB_PENDING) {
        job->slot_ns = next_ns;
        job->run_at_ns = bly_job_start_of(job, next_ns);
        bly_enter_locked(sched, job);
    } else {
        pass_id_on_locked(sched, job);
        bury_and_drop_locked(sched, job, state, after);
    }
}

void bly_end_locked(belay_sched *sched, belay_claim *claim, int64_t next_ns, bly_after *after)
{
    bly_assert_debug(bly_mutex_is_mine(&sched->lock));
    bly_job *job = claim->job;
    bool has_run = claim->occurrence != 0;
    bool has_failed = has_run && claim->status != 0;
    bly_assert(job->state == BLY_JOB_RUNNING && job->claim == claim);
    sched->counts.completed += has_run && !has_failed;
    sched->counts.failed += has_failed;
    if (job->series != NULL) {
        job->series->failures += has_failed;
        job->series->occurrence -= !has_run; /* the slot was passed over */
        sched->counts.missed += has_run ? claim->missed : 0;
    }
    after->unref = claim->token;
    claim->token = NULL;
    claim->job = NULL;
    job->claim = NULL;
    bly_list_remove(&claim->link);
    bly_assert(sched->running_count > 0);
    sched->running_count--;
    end_version_locked(sched, job, has_failed, next_ns, after);
}
