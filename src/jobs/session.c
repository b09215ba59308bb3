/*
 * session.c: sessions that the program drives. What a session has claimed is a list of runs, as of
 * the worker; here the caller is the loop.
 */
#include "jobs/worker_int.h"

struct belay_jobs_session {
    bly_owner owner;
};

static int check(const belay_jobs_session_opts *opts)
{
    bool has_queues = opts->queues != NULL;
    if (opts->queue_count > BELAY_JOBS_QUEUES_MAX || has_queues != (opts->queue_count != 0) ||
        opts->claims_no_queue > 1 || (has_queues && opts->claims_no_queue != 0)) {
        return BELAY_EINVAL;
    }
    return 0;
}

int belay_jobs_session_begin(belay_jobs *jobs, const belay_jobs_session_opts *opts,
                             belay_jobs_session **ret_session)
{
    belay_jobs_session_opts known;
    if (jobs == NULL || ret_session == NULL || bly_opts_read(&known, sizeof known, opts) != 0 ||
        check(&known) != 0) {
        return BELAY_EINVAL;
    }
    belay_jobs_session *session = bly_alloc(sizeof *session);
    if (session == NULL) {
        return BELAY_ENOMEM;
    }
    static const bly_bytes none[1];
    bly_session_opts store = {
        .size = sizeof store,
        .slots = known.slots,
        .queues = known.claims_no_queue != 0 ? none : known.queues,
        .queue_count = known.queue_count,
        .live = known.live,
    };
    bly_owner_init(&session->owner, jobs, known.executor, NULL);
    int result = bly_jobs_attach(jobs, 1);
    if (result == 0) {
        result = bly_store_session_begin(jobs->store, &store, &session->owner.session);
        if (result != 0) {
            (void)bly_jobs_attach(jobs, -1);
        }
    }
    if (result != 0) {
        bly_free(session);
        return result;
    }
    if (known.executor != NULL && known.executor->attach != NULL) {
        known.executor->attach(known.executor, 1);
    }
    *ret_session = session;
    return 0;
}

/* Takes what the session still has away from it; false when an end is on its way. */
static bool take_runs(belay_jobs_session *session, bly_list *ret_runs)
{
    belay_jobs *jobs = session->owner.jobs;
    bly_list_init(ret_runs);
    bly_mutex_lock(&jobs->lock);
    bool is_quiet = session->owner.unreported == 0;
    if (is_quiet) {
        bly_list_append(ret_runs, &session->owner.runs);
        jobs->held -= session->owner.active;
        session->owner.active = 0;
    }
    bly_mutex_unlock(&jobs->lock);
    return is_quiet;
}

int belay_jobs_session_end(belay_jobs_session *session)
{
    if (session == NULL) {
        return 0;
    }
    bly_list runs;
    if (!take_runs(session, &runs)) {
        return BELAY_EBUSY;
    }
    belay_jobs *jobs = session->owner.jobs;
    belay_executor *executor = session->owner.executor;
    int result = bly_store_session_end(jobs->store, session->owner.session);
    for (bly_list *link; (link = bly_list_pop_front(&runs)) != NULL;) {
        bly_run_unref(bly_container(link, belay_run, link));
    }
    if (executor != NULL && executor->attach != NULL) {
        executor->attach(executor, -1);
    }
    bly_owner_discard(&session->owner);
    bly_free(session);
    (void)bly_jobs_attach(jobs, -1);
    return result;
}

uint64_t belay_jobs_session_id(const belay_jobs_session *session)
{
    return session == NULL ? 0 : session->owner.session;
}

int belay_jobs_session_claim(belay_jobs_session *session, uint32_t max, uint32_t flags,
                             belay_run **ret_runs, uint32_t *ret_count, int64_t *ret_next_ns)
{
    if (session == NULL || max == 0 || max > BELAY_JOBS_CLAIM_MAX ||
        (flags & ~(uint32_t)BELAY_JOBS_CLAIM_START) != 0 || ret_runs == NULL || ret_count == NULL) {
        return BELAY_EINVAL;
    }
    bly_owner *owner = &session->owner;
    bly_claim_result got = {.next_run_at_ns = BELAY_FOREVER};
    int result = bly_owner_prepare(owner, max);
    if (result == 0) {
        result = bly_store_claim(owner->jobs->store, owner->session, max, flags, &got);
    }
    if (result != 0) {
        return result;
    }
    uint32_t count = 0;
    for (bly_claimed *claimed = got.first; claimed != NULL;) {
        bly_claimed *next = claimed->next;
        bool is_started = (flags & BELAY_JOBS_CLAIM_START) != 0;
        ret_runs[count++] = bly_owner_add(owner, claimed, is_started);
        claimed = next;
    }
    *ret_count = count;
    if (ret_next_ns != NULL) {
        *ret_next_ns = got.has_more ? 0 : got.next_run_at_ns;
    }
    return 0;
}

int belay_jobs_session_claim_one(belay_jobs_session *session, uint64_t seq, uint32_t flags,
                                 belay_run **ret_run)
{
    if (session == NULL || seq == 0 || (flags & ~(uint32_t)BELAY_JOBS_CLAIM_START) != 0 ||
        ret_run == NULL) {
        return BELAY_EINVAL;
    }
    bly_owner *owner = &session->owner;
    bly_claimed *claimed = NULL;
    int result = bly_owner_prepare(owner, 1);
    if (result == 0) {
        result = bly_store_claim_one(owner->jobs->store, owner->session, seq, flags, &claimed);
    }
    if (result == 0) {
        *ret_run = bly_owner_add(owner, claimed, (flags & BELAY_JOBS_CLAIM_START) != 0);
    }
    return result;
}

int belay_jobs_session_take(belay_jobs_session *session, const belay_jobs_new *job,
                            uint64_t *ret_seq)
{
    belay_jobs_new known;
    if (session == NULL || job == NULL || ret_seq == NULL || bly_new_read(&known, job) != 0) {
        return BELAY_EINVAL;
    }
    return bly_store_take(session->owner.jobs->store, session->owner.session, &known, ret_seq);
}

/* The claims of the runs; false when one of them is not the session's, or was started or ended. */
static bool name_claims(belay_jobs_session *session, belay_run *const *runs, uint32_t count,
                        bly_claim_ref *ret_claims)
{
    bool is_good = true;
    bly_mutex_lock(&session->owner.jobs->lock);
    for (uint32_t i = 0; i < count && is_good; i++) {
        is_good = runs[i] != NULL && runs[i]->owner == &session->owner &&
                  runs[i]->state == BLY_RUN_CLAIMED;
        if (is_good) {
            ret_claims[i] = (bly_claim_ref){runs[i]->claimed->seq, runs[i]->claimed->token, 0};
        }
    }
    bly_mutex_unlock(&session->owner.jobs->lock);
    return is_good;
}

/* What came of starting them. */
static void mark(belay_jobs_session *session, belay_run *const *runs, uint32_t count,
                 const bly_claim_ref *claims, int *ret_results)
{
    belay_jobs *jobs = session->owner.jobs;
    bly_mutex_lock(&jobs->lock);
    for (uint32_t i = 0; i < count; i++) {
        ret_results[i] = claims[i].result;
        if (claims[i].result == 0) {
            bly_state_move(&bly_run_states, &runs[i]->state, BLY_RUN_STARTED);
            jobs->started++;
        }
    }
    bly_mutex_unlock(&jobs->lock);
}

int belay_jobs_session_start(belay_jobs_session *session, belay_run *const *runs, uint32_t count,
                             int *ret_results)
{
    if (session == NULL || runs == NULL || count == 0 || count > BELAY_JOBS_CLAIM_MAX ||
        ret_results == NULL) {
        return BELAY_EINVAL;
    }
    bly_claim_ref *claims = bly_alloc(count * sizeof *claims);
    if (claims == NULL) {
        return BELAY_ENOMEM;
    }
    int result = name_claims(session, runs, count, claims) ? 0 : BELAY_EINVAL;
    if (result == 0) {
        result = bly_store_start(session->owner.jobs->store, claims, count);
    }
    if (result == 0) {
        mark(session, runs, count, claims, ret_results);
    }
    bly_free(claims);
    return result;
}

int belay_jobs_session_orders(belay_jobs_session *session, belay_run **ret_runs, uint32_t max,
                              uint32_t *ret_count)
{
    if (session == NULL || ret_runs == NULL || max == 0 || ret_count == NULL) {
        return BELAY_EINVAL;
    }
    int result = bly_owner_orders(&session->owner);
    if (result != 0) {
        return result;
    }
    uint32_t count = 0;
    bly_mutex_lock(&session->owner.jobs->lock);
    bly_list_each (link, &session->owner.runs) {
        belay_run *run = bly_container(link, belay_run, link);
        /* relaxed: written under the lock alone. */
        uint32_t why = bly_load(&run->why, BLY_RELAXED);
        if (count < max && why != BLY_TOLD_NOTHING && !run->is_told && run->state < BLY_RUN_ENDED) {
            run->is_told = true;
            ret_runs[count++] = run;
        }
    }
    bly_mutex_unlock(&session->owner.jobs->lock);
    *ret_count = count;
    return 0;
}
