/*
 * claim.c: an occurrence from its claim to its end, and the references to it.
 *
 * Two parties end an occurrence: the call of fn, if there is one, and the report of its status,
 * which may come from fn itself, from another thread while fn still runs, or long after. `phase`
 * decides who does what: the first to set DONE may say the status; whoever finds the other side
 * finished (REPORTED set by a thread that saw IN_FN clear, or IN_FN cleared by a thread that saw
 * REPORTED) ends the occurrence, and the other one touches nothing any more. The two
 * read-modify-writes are of one word, so exactly one of them is second.
 *
 * An occurrence holds one reference of its claim and gives it up at its end. A claim to which
 * nobody else refers then is used again; else the last belay_claim_unref frees it, without a look
 * at the scheduler, which may be gone.
 */
#include "sched/sched_int.h"

#include "base/opts.h"
#include "deliver/deliver.h"

belay_claim *bly_claim_create(belay_sched *sched, bool is_ticket)
{
    belay_claim *claim = bly_alloc(sizeof *claim);
    if (claim != NULL) {
        claim->sched = sched;
        claim->is_ticket = is_ticket;
        claim->refs = 1;
    }
    return claim;
}

belay_claim *bly_claim_spare_locked(belay_sched *sched)
{
    bly_assert_debug(bly_mutex_is_mine(&sched->lock));
    bly_list *link = bly_list_pop_front(&sched->spares);
    if (link == NULL) {
        return NULL;
    }
    sched->spare_count--;
    return bly_container(link, belay_claim, link);
}

void bly_claim_keep_locked(belay_sched *sched, belay_claim *claim, bly_after *after)
{
    bly_assert_debug(bly_mutex_is_mine(&sched->lock));
    bly_assert(claim->job == NULL && !claim->has_permit);
    /* acquire and release, with the other unrefs: the last one sees what all did before. */
    if (bly_fetch_sub(&claim->refs, 1u, BLY_ACQ_REL) != 1) {
        return;
    }
    if (sched->spare_count >= BLY_SPARES_MAX) {
        bly_discard(after, claim);
        return;
    }
    bly_store(&claim->refs, 1u, BLY_RELAXED); /* relaxed: nobody else has it */
    bly_list_push_front(&sched->spares, &claim->link);
    sched->spare_count++;
}

bool bly_claim_is_free(const belay_claim *claim)
{
    /* acquire, with the releases of unref: what its users did with it is over. */
    return bly_load(&claim->refs, BLY_ACQUIRE) == 1;
}

void bly_claim_begin_locked(belay_sched *sched, belay_claim *claim, bly_job *job)
{
    bly_assert_debug(bly_mutex_is_mine(&sched->lock));
    bly_state_move(&bly_job_states, &job->state, BLY_JOB_RUNNING);
    bly_assert(claim->job == NULL && bly_claim_is_free(claim));
    claim->job = job;
    job->claim = claim;
    /* relaxed: nobody has the claim yet; who is given it is given these as well. */
    bly_store(&claim->phase, 0u, BLY_RELAXED);
    bly_store(&claim->is_canceled, 0u, BLY_RELAXED);
    claim->status = 0;
    claim->number = sched->claims++;
    claim->due_ns = job->run_at_ns;
    claim->slot_ns = job->slot_ns;
    claim->claimed_ns = sched->last_now;
    claim->missed = 0;
    claim->occurrence = 1;
    if (job->series == NULL) {
        bly_uncount_locked(sched, job);
    } else {
        claim->occurrence = ++job->series->occurrence;
        claim->missed = job->series->missed;
        job->series->missed = 0;
    }
    bly_list_push_back(&sched->running, &claim->link);
    sched->running_count++;
    if (sched->running_count > sched->counts.running_peak) {
        sched->counts.running_peak = sched->running_count;
    }
    bly_assert(sched->mode != BLY_STARTED || sched->running_count <= sched->running_max);
    bly_count_claim_locked(sched, job);
}

void bly_claim_signal_locked(belay_sched *sched, bly_job *job, bly_after *after)
{
    bly_assert_debug(bly_mutex_is_mine(&sched->lock));
    bly_assert(job->state == BLY_JOB_RUNNING);
    if (job->is_canceled) {
        return;
    }
    job->is_canceled = true;
    sched->counts.signalled++;
    /* release, with the acquire of belay_claim_is_canceled. */
    bly_store(&job->claim->is_canceled, 1u, BLY_RELEASE);
    if (job->claim->token != NULL) {
        after->fire = belay_cancel_ref(job->claim->token);
    }
}

int64_t bly_claim_after(belay_claim *claim, int64_t now_ns)
{
    /* A canceled series is asked no more; one that is replaced or closed meanwhile may be. */
    if (claim->job->series == NULL || belay_claim_is_canceled(claim)) {
        return BELAY_FOREVER;
    }
    return bly_series_next(claim, now_ns, &claim->job->series->missed);
}

void bly_claim_pass(belay_claim *claim)
{
    bly_assert(claim->job->series != NULL && claim->occurrence != 0);
    claim->occurrence = 0;
}

/* The occurrence of a driven job is over: nothing is touched after the unlock. */
static void end_driven(belay_claim *claim)
{
    belay_sched *sched = claim->sched;
    int64_t now = bly_sched_now(sched);
    int64_t next = bly_claim_after(claim, now);
    bly_after after = {0};
    bly_mutex_lock(&sched->lock);
    bly_seen_locked(sched, now);
    bly_end_locked(sched, claim, next, &after);
    bly_claim_keep_locked(sched, claim, &after);
    bly_plan_locked(sched, &after);
    bly_leave(sched, &after);
}

static void end_claim(belay_claim *claim)
{
    if (claim->is_ticket) {
        bly_ticket_done(claim);
    } else {
        end_driven(claim);
    }
}

/* The right to say how the occurrence ended; only its first asker has it. */
static bool take_report(belay_claim *claim)
{
    /* relaxed: it decides who reports; the report shows what came before. */
    return (bly_fetch_or(&claim->phase, BLY_CLAIM_DONE, BLY_RELAXED) & BLY_CLAIM_DONE) == 0;
}

/* Whoever has that right says it. True: fn has returned, or was never called. */
static bool report(belay_claim *claim, int status)
{
    claim->status = status;
    uint32_t before = bly_fetch_or(&claim->phase, BLY_CLAIM_REPORTED, BLY_ACQ_REL);
    bly_assert((before & BLY_CLAIM_REPORTED) == 0);
    return (before & BLY_CLAIM_IN_FN) == 0;
}

/* fn has returned. True: its end has been reported, so the occurrence is over. */
static bool leave_fn(belay_claim *claim)
{
    uint32_t before = bly_fetch_and(&claim->phase, ~(uint32_t)BLY_CLAIM_IN_FN, BLY_ACQ_REL);
    bly_assert((before & BLY_CLAIM_IN_FN) != 0);
    return (before & BLY_CLAIM_REPORTED) != 0;
}

/* A job ended its thread: it has failed, and so have those that it was called from. */
static void end_at_exit(void *innermost)
{
    belay_claim *claim = innermost;
    while (claim != NULL) {
        belay_claim *outer = claim->outer;
        if (take_report(claim)) {
            (void)report(claim, BELAY_ECANCELED);
        }
        if (leave_fn(claim)) {
            end_claim(claim);
        }
        claim = outer;
    }
}

static void watch_exits(void)
{
    bly_local_at_exit(BLY_LOCAL_SCHED, end_at_exit);
}

void bly_claim_inside(belay_claim *claim)
{
    claim->outer = bly_local_get(BLY_LOCAL_SCHED);
    bly_local_set(BLY_LOCAL_SCHED, claim);
}

void bly_claim_outside(belay_claim *claim)
{
    bly_assert(bly_local_get(BLY_LOCAL_SCHED) == claim);
    bly_local_set(BLY_LOCAL_SCHED, claim->outer);
}

bool bly_claim_call(belay_claim *claim)
{
    static bly_once watch_once;
    bly_once_run(&watch_once, watch_exits);
    bly_assert_debug(bly_locks_held() == 0);
    bly_claim_inside(claim);
    int status = claim->job->fn(claim, claim->job->arg);
    bly_claim_outside(claim);
    if (status != BELAY_PENDING && take_report(claim)) {
        (void)report(claim, status);
    }
    return leave_fn(claim);
}

bool bly_claim_is_inside(const belay_sched *sched)
{
    const belay_claim *claim = bly_local_get(BLY_LOCAL_SCHED);
    while (claim != NULL && claim->sched != sched) {
        claim = claim->outer;
    }
    return claim != NULL;
}

bool bly_claim_take(belay_claim *claim)
{
    uint32_t bits = BLY_CLAIM_RUN | BLY_CLAIM_IN_FN;
    uint32_t phase = 0;
    /* relaxed: the claim and what it needs were given to the caller by whoever claimed. */
    return bly_cas(&claim->phase, &phase, bits, BLY_RELAXED, BLY_RELAXED);
}

int belay_claim_run(belay_claim *claim)
{
    if (claim == NULL) {
        return BELAY_EINVAL;
    }
    if (!bly_claim_take(claim)) {
        return BELAY_ESTALE;
    }
    if (!bly_claim_call(claim)) {
        return BELAY_PENDING;
    }
    end_claim(claim);
    return 0;
}

int belay_claim_done(belay_claim *claim, int status)
{
    if (claim == NULL || status == BELAY_PENDING) {
        return BELAY_EINVAL;
    }
    if (!take_report(claim)) {
        return BELAY_ESTALE;
    }
    if (report(claim, status)) {
        end_claim(claim);
    }
    return 0;
}

bool belay_claim_is_canceled(const belay_claim *claim)
{
    /* acquire, with the release of bly_claim_signal_locked. */
    return claim != NULL && bly_load(&claim->is_canceled, BLY_ACQUIRE) != 0;
}

/* Gives the claim that token, or gives it up when there is one already. */
static belay_cancel *install_token(belay_claim *claim, belay_cancel *made)
{
    belay_sched *sched = claim->sched;
    bly_mutex_lock(&sched->lock);
    belay_cancel *token = claim->token;
    if (token == NULL) {
        claim->token = token = made;
    }
    bly_mutex_unlock(&sched->lock);
    if (token != made) {
        belay_cancel_unref(made);
    } else if (belay_claim_is_canceled(claim)) {
        (void)belay_cancel_fire(token);
    }
    return token;
}

int belay_claim_token(belay_claim *claim, belay_cancel **ret_token)
{
    if (claim == NULL || ret_token == NULL) {
        return BELAY_EINVAL;
    }
    bly_mutex_lock(&claim->sched->lock);
    belay_cancel *token = claim->token;
    bly_mutex_unlock(&claim->sched->lock);
    if (token == NULL) {
        belay_cancel *made = NULL;
        if (belay_cancel_create(NULL, 0, &made) != 0) {
            return BELAY_ENOMEM;
        }
        token = install_token(claim, made);
    }
    *ret_token = token;
    return 0;
}

int belay_claim_info(const belay_claim *claim, belay_claim_details *ret_info)
{
    if (claim == NULL || ret_info == NULL) {
        return BELAY_EINVAL;
    }
    belay_claim_details info = {
        .priority = claim->job->priority,
        .due_ns = claim->due_ns,
        .slot_ns = claim->slot_ns,
        .claimed_ns = claim->claimed_ns,
        .occurrence = claim->occurrence,
        .missed = claim->missed,
        .id = bly_job_id(claim->job),
        .handle = bly_job_handle(claim->job),
    };
    return bly_opts_write(ret_info, &info, sizeof info);
}

belay_claim *belay_claim_ref(belay_claim *claim)
{
    if (claim != NULL) {
        /* relaxed: the caller is lent the claim, so it is not the last. */
        (void)bly_fetch_add(&claim->refs, 1u, BLY_RELAXED);
    }
    return claim;
}

void belay_claim_unref(belay_claim *claim)
{
    /* acquire and release, with the other unrefs: the last one sees what all did before. */
    if (claim != NULL && bly_fetch_sub(&claim->refs, 1u, BLY_ACQ_REL) == 1) {
        bly_free(claim);
    }
}
