/*
 * run.c: a run from its claim to the report of its end, and who holds it.
 *
 * Who ends a run: whoever moves it to ENDED, under the lock; everybody else is told ESTALE. The
 * same thread frees what the run held here (its lease, its place in the scheduler), gives the end
 * to the store and counts the run out of `active`. The store's report, which may come before that
 * is over, moves it to REPORTED and takes it out of its owner's list. Each of the two holds a
 * reference, and a run of the worker holds one of the worker, so that the last of them can still
 * wake it.
 */
#include "jobs/worker_int.h"

#include <string.h>

static const char *const names[] = {"SPARE", "CLAIMED", "STARTING", "STARTED", "ENDED", "REPORTED"};
static const uint32_t moves[] = {
    [BLY_RUN_SPARE] = BLY_TO(BLY_RUN_CLAIMED) | BLY_TO(BLY_RUN_STARTED),
    [BLY_RUN_CLAIMED] = BLY_TO(BLY_RUN_STARTING) | BLY_TO(BLY_RUN_STARTED) | BLY_TO(BLY_RUN_ENDED),
    [BLY_RUN_STARTING] = BLY_TO(BLY_RUN_STARTED) | BLY_TO(BLY_RUN_ENDED),
    [BLY_RUN_STARTED] = BLY_TO(BLY_RUN_ENDED),
    [BLY_RUN_ENDED] = BLY_TO(BLY_RUN_REPORTED),
    [BLY_RUN_REPORTED] = 0,
};
const bly_state_table bly_run_states = {"run", names, moves, bly_count(moves)};

static void free_list(bly_list *list)
{
    for (bly_list *link; (link = bly_list_pop_front(list)) != NULL;) {
        bly_free(bly_container(link, belay_run, link));
    }
}

void bly_owner_init(bly_owner *owner, belay_jobs *jobs, belay_executor *executor,
                    bly_worker *worker)
{
    owner->jobs = jobs;
    owner->executor = executor;
    owner->worker = worker;
    bly_list_init(&owner->runs);
    bly_list_init(&owner->spare);
}

int bly_owner_prepare(bly_owner *owner, uint32_t count)
{
    while (owner->spare_count < count) {
        belay_run *run = bly_alloc(sizeof *run);
        if (run == NULL) {
            return BELAY_ENOMEM;
        }
        run->owner = owner;
        bly_list_push_front(&owner->spare, &run->link);
        owner->spare_count++;
    }
    return 0;
}

void bly_owner_discard(bly_owner *owner)
{
    bly_assert(owner->active == 0);
    free_list(&owner->spare);
    owner->spare_count = 0;
}

belay_run *bly_owner_add(bly_owner *owner, bly_claimed *claimed, bool is_started)
{
    bly_assert(owner->spare_count > 0);
    belay_run *run = bly_container(bly_list_pop_front(&owner->spare), belay_run, link);
    owner->spare_count--;
    belay_jobs *jobs = owner->jobs;
    run->claimed = claimed;
    run->timeout_ns = BELAY_FOREVER;
    run->claimed_ns = belay_clock_now(jobs->clock);
    bly_store(&run->refs, 1u, BLY_RELAXED); /* relaxed: nobody else has it */
    if (owner->worker != NULL) {
        bly_worker_ref(owner->worker);
    }
    bly_mutex_lock(&jobs->lock);
    bly_state_move(&bly_run_states, &run->state, is_started ? BLY_RUN_STARTED : BLY_RUN_CLAIMED);
    bly_list_push_back(&owner->runs, &run->link);
    owner->active++;
    jobs->claimed++;
    jobs->held++;
    jobs->started += is_started;
    bly_mutex_unlock(&jobs->lock);
    return run;
}

belay_run *bly_run_ref(belay_run *run)
{
    (void)bly_fetch_add(&run->refs, 1u, BLY_RELAXED); /* relaxed: the caller has one */
    return run;
}

void bly_run_unref(belay_run *run)
{
    /* acquire and release, with the other unrefs: the last one sees what all did before. */
    if (bly_fetch_sub(&run->refs, 1u, BLY_ACQ_REL) != 1) {
        return;
    }
    bly_worker *worker = run->owner->worker;
    belay_cancel_unref(run->token);
    bly_claimed_free(run->claimed);
    bly_free(run->bytes);
    bly_free(run);
    if (worker != NULL) {
        bly_worker_unref(worker);
    }
}

void bly_run_tell(belay_run *run, uint32_t why)
{
    belay_jobs *jobs = run->owner->jobs;
    belay_cancel *token = NULL;
    bly_mutex_lock(&jobs->lock);
    /* relaxed: written under the lock alone. */
    if (bly_load(&run->why, BLY_RELAXED) == BLY_TOLD_NOTHING && run->state < BLY_RUN_ENDED) {
        /* release, with the acquire of belay_run_is_canceled. */
        bly_store(&run->why, why, BLY_RELEASE);
        token = run->token == NULL ? NULL : belay_cancel_ref(run->token);
    }
    bly_mutex_unlock(&jobs->lock);
    if (token != NULL) {
        (void)belay_cancel_fire(token);
        belay_cancel_unref(token);
    }
}

uint64_t belay_run_fence(const belay_run *run)
{
    return run == NULL ? 0 : run->claimed->token;
}

bool belay_run_is_canceled(const belay_run *run)
{
    /* acquire, with the release of bly_run_tell: what was done before is seen. */
    return run != NULL && bly_load(&run->why, BLY_ACQUIRE) != BLY_TOLD_NOTHING;
}

int belay_run_token(belay_run *run, belay_cancel **ret_token)
{
    if (run == NULL || ret_token == NULL) {
        return BELAY_EINVAL;
    }
    bly_mutex *lock = &run->owner->jobs->lock;
    bly_mutex_lock(lock);
    belay_cancel *token = run->token;
    bly_mutex_unlock(lock);
    if (token == NULL) {
        belay_cancel *made;
        int result = belay_cancel_create(NULL, 0, &made);
        if (result != 0) {
            return result;
        }
        bly_mutex_lock(lock);
        bool is_first = run->token == NULL;
        run->token = is_first ? made : run->token;
        token = run->token;
        bly_mutex_unlock(lock);
        if (!is_first) {
            belay_cancel_unref(made);
        } else if (belay_run_is_canceled(run)) {
            (void)belay_cancel_fire(token);
        }
    }
    *ret_token = token;
    return 0;
}

int belay_run_info(const belay_run *run, belay_run_details *ret_info)
{
    if (run == NULL || ret_info == NULL) {
        return BELAY_EINVAL;
    }
    const bly_claimed *claimed = run->claimed;
    belay_run_details info = {
        .attempt = claimed->attempt,
        .tries = claimed->tries,
        .tried = claimed->tried,
        .priority = claimed->priority,
        .missed = claimed->missed,
        .seq = claimed->seq,
        .fence = claimed->token,
        .run_at_ns = claimed->run_at_ns,
        .timeout_ns = claimed->timeout_ns,
        .slot_ns = claimed->slot_ns,
        .batch = claimed->batch,
        .batch_row = claimed->batch_row,
        .id = claimed->id,
        .queue = claimed->queue,
        .work = claimed->work,
    };
    return bly_opts_write(ret_info, &info, sizeof info);
}

/* Its end is known: nobody but those who hold a reference knows it any more. */
static void forget(belay_run *run)
{
    bly_owner *owner = run->owner;
    belay_jobs *jobs = owner->jobs;
    bly_mutex_lock(&jobs->lock);
    bly_list_remove(&run->link);
    owner->unreported--;
    jobs->held--;
    bool wakes = owner->worker != NULL && owner->worker->is_draining;
    bly_mutex_unlock(&jobs->lock);
    if (wakes) {
        bly_worker_wake(owner->worker);
    }
    bly_run_unref(run);
}

static void call_reported(belay_task *task)
{
    belay_run *run = bly_container(task, belay_run, task);
    run->reported(run->result, run->reported_arg);
    forget(run);
}

/* On a thread of the store, in or after the call that gave it the end. */
static void take_report(bly_end *end, int result, void *arg)
{
    (void)end;
    belay_run *run = arg;
    belay_jobs *jobs = run->owner->jobs;
    run->result = result;
    bly_mutex_lock(&jobs->lock);
    bly_state_move(&bly_run_states, &run->state, BLY_RUN_REPORTED);
    belay_executor *executor = run->owner->executor;
    bly_mutex_unlock(&jobs->lock);
    if (run->reported == NULL) {
        forget(run);
        return;
    }
    run->task.run = call_reported;
    if (executor == NULL || belay_executor_submit(executor, &run->task, BELAY_DELIVERY) != 0) {
        call_reported(&run->task);
    }
}

/* Moves the run to ENDED, if it may. */
static int decide(belay_run *run, int what)
{
    bly_owner *owner = run->owner;
    belay_jobs *jobs = owner->jobs;
    int result = 0;
    bly_mutex_lock(&jobs->lock);
    if (run->state >= BLY_RUN_ENDED) {
        result = BELAY_ESTALE;
    } else if (run->state == BLY_RUN_CLAIMED && what != BELAY_RUN_GIVE_BACK) {
        result = BELAY_EINVAL;
    } else {
        bly_state_move(&bly_run_states, &run->state, BLY_RUN_ENDED);
        owner->unreported++;
        jobs->given_back += what == BELAY_RUN_GIVE_BACK;
    }
    bly_mutex_unlock(&jobs->lock);
    return result;
}

/* Gives up what the run held in this process: its lease, its place among those that run. */
static void let_go(belay_run *run)
{
    belay_jobs *jobs = run->owner->jobs;
    bly_mutex_lock(&jobs->lock);
    belay_claim *claim = run->claim;
    bool has_lease = run->has_lease;
    run->has_lease = false;
    bly_mutex_unlock(&jobs->lock);
    if (has_lease) {
        (void)belay_lease_release(&run->lease);
    }
    if (claim != NULL) {
        (void)belay_claim_done(claim, run->end.what == BELAY_RUN_DONE ? 0 : BELAY_ECANCELED);
    }
}

/* The store has its end: the run is not active any more. */
static void count_out(belay_run *run)
{
    bly_owner *owner = run->owner;
    belay_jobs *jobs = owner->jobs;
    int64_t now_ns = belay_clock_now(jobs->clock);
    bly_mutex_lock(&jobs->lock);
    owner->active--;
    bool wakes = owner->worker != NULL && bly_worker_ended_locked(owner->worker, run, now_ns);
    bly_mutex_unlock(&jobs->lock);
    if (wakes) {
        bly_worker_wake(owner->worker);
    }
}

/* Ends the run as `ending` says; takes `bytes`, a block with the bytes that it names. */
static int end_run(belay_run *run, const belay_run_ending *ending, void *bytes)
{
    int result = decide(run, ending->what);
    if (result != 0) {
        return result;
    }
    (void)bly_run_ref(run);
    run->bytes = bytes;
    run->reported = ending->reported;
    run->reported_arg = ending->arg;
    run->end = (bly_end){
        .seq = run->claimed->seq,
        .token = run->claimed->token,
        .what = ending->what,
        .how = ending->how == BELAY_JOBS_HOW_NONE ? BELAY_JOBS_HOW_EXITED : ending->how,
        .code = ending->code,
        .backoff_ns = ending->backoff_ns,
        .start_ns = ending->start_ns,
        .end_ns = ending->end_ns,
        .user_ns = ending->user_ns,
        .system_ns = ending->system_ns,
        .rss_max_kib = ending->rss_max_kib,
        .result = ending->result,
        .message = ending->message,
        .reported = take_report,
        .arg = run,
    };
    let_go(run);
    bly_store_end(run->owner->jobs->store, &run->end);
    count_out(run);
    bly_run_unref(run);
    return 0;
}

static bool is_ending(const belay_run_ending *ending)
{
    return ending->what >= BELAY_RUN_DONE && ending->what <= BELAY_RUN_GIVE_BACK &&
           ending->how >= 0 && ending->how <= BELAY_JOBS_HOW_CANCELED && ending->reserved == 0 &&
           ending->backoff_ns >= 0 && ending->result.len <= BELAY_JOBS_BYTES_MAX &&
           ending->message.len <= BELAY_JOBS_BYTES_MAX;
}

/* Copies the bytes of the ending into one block, and lets it name those. */
static int copy_bytes(belay_run_ending *ending, char **ret_block)
{
    size_t len = ending->result.len + ending->message.len;
    char *block = NULL;
    if (len != 0) {
        block = bly_alloc(len);
        if (block == NULL) {
            return BELAY_ENOMEM;
        }
        if (ending->result.len != 0) {
            memcpy(block, ending->result.data, ending->result.len);
        }
        if (ending->message.len != 0) {
            memcpy(block + ending->result.len, ending->message.data, ending->message.len);
        }
        ending->result.data = block;
        ending->message.data = block + ending->result.len;
    }
    *ret_block = block;
    return 0;
}

int belay_run_end(belay_run *run, const belay_run_ending *ending)
{
    belay_run_ending known;
    if (run == NULL || ending == NULL || bly_opts_read(&known, sizeof known, ending) != 0 ||
        !is_ending(&known)) {
        return BELAY_EINVAL;
    }
    char *block;
    int result = copy_bytes(&known, &block);
    if (result == 0) {
        result = end_run(run, &known, block);
        if (result != 0) {
            bly_free(block);
        }
    }
    return result;
}

int bly_run_finish(belay_run *run, int what, int how, int64_t code, const char *message)
{
    belay_run_ending ending = {
        .what = what,
        .how = how,
        .code = code,
        .message = belay_bytes_text(message),
    };
    return end_run(run, &ending, NULL);
}

int belay_run_done(belay_run *run, int status)
{
    if (run == NULL || status == BELAY_PENDING) {
        return BELAY_EINVAL;
    }
    /* relaxed: a run that is told at this moment may end either way. */
    uint32_t why = status == 0 ? BLY_TOLD_NOTHING : bly_load(&run->why, BLY_RELAXED);
    int what = status == 0 ? BELAY_RUN_DONE : BELAY_RUN_FAIL;
    int how = BELAY_JOBS_HOW_EXITED;
    if (why == BLY_TOLD_CANCEL) {
        what = BELAY_RUN_CANCELED;
        how = BELAY_JOBS_HOW_CANCELED;
    } else if (why == BLY_TOLD_TIMEOUT) {
        how = BELAY_JOBS_HOW_TIMED_OUT;
    } else if (why == BLY_TOLD_CLOSE) {
        what = BELAY_RUN_GIVE_BACK;
    }
    return bly_run_finish(run, what, how, status, NULL);
}

/* The claims of the owner's runs that have not ended, at most `max`; returns how many. */
static uint32_t held_claims(bly_owner *owner, bly_claim_ref *ret_held, uint32_t max)
{
    uint32_t count = 0;
    bly_mutex_lock(&owner->jobs->lock);
    bly_list_each (link, &owner->runs) {
        const belay_run *run = bly_container(link, belay_run, link);
        if (count < max && run->state < BLY_RUN_ENDED) {
            ret_held[count++] = (bly_claim_ref){run->claimed->seq, run->claimed->token, 0};
        }
    }
    bly_mutex_unlock(&owner->jobs->lock);
    return count;
}

/* The run of that claim, with a reference; NULL when it is not here any more. */
static belay_run *find_run(bly_owner *owner, const bly_claim_ref *claim)
{
    belay_run *found = NULL;
    bly_mutex_lock(&owner->jobs->lock);
    bly_list_each (link, &owner->runs) {
        belay_run *run = bly_container(link, belay_run, link);
        if (run->claimed->seq == claim->seq &&
            (run->claimed->token == claim->token || claim->token == 0)) {
            found = bly_run_ref(run);
            break;
        }
    }
    bly_mutex_unlock(&owner->jobs->lock);
    return found;
}

int bly_owner_orders(bly_owner *owner)
{
    bly_mutex_lock(&owner->jobs->lock);
    uint32_t max = owner->active;
    bly_mutex_unlock(&owner->jobs->lock);
    if (max == 0) {
        return 0;
    }
    bly_claim_ref *held = bly_alloc(2 * (size_t)max * sizeof *held);
    if (held == NULL) {
        return BELAY_ENOMEM;
    }
    bly_claim_ref *orders = held + max;
    uint32_t count = 0;
    uint32_t held_count = held_claims(owner, held, max);
    int result = held_count == 0 ? 0
                                 : bly_store_orders(owner->jobs->store, owner->session, held,
                                                    held_count, orders, max, &count);
    for (uint32_t i = 0; result == 0 && i < count; i++) {
        belay_run *run = find_run(owner, &orders[i]);
        if (run != NULL) {
            bly_run_tell(run, orders[i].result == BELAY_ESTALE ? BLY_TOLD_LOST : BLY_TOLD_CANCEL);
            bly_run_unref(run);
        }
    }
    bly_free(held);
    return result;
}
