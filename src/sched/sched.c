/*
 * sched.c: the calls that store and remove jobs, and the frame that all calls share.
 *
 * One lock. Every call reads the clock before it takes the lock, decides under it, and leaves what
 * may not be done under it (freeing, firing a token, sending a ticket, drop functions) to
 * bly_leave.
 *
 * Teardown. A scheduler becomes CLOSED under the lock, when no version lives, nothing sleeps in
 * belay_sched_next and nothing is pinned: a pin is a ticket, a drop or a thread that will take the
 * lock again. Whoever unlocks last touches nothing afterwards; destroy takes the lock once, so that
 * thread is out of it. Awaiters look at the gate, which has a count of its own.
 */
#include "sched/sched_int.h"

#include "base/opts.h"
#include "deliver/deliver.h"

static const char *const state_names[] = {"OPEN", "CLOSING", "CLOSED"};
static const uint32_t state_moves[] = {
    [BLY_OPEN] = BLY_TO(BLY_CLOSING), [BLY_CLOSING] = BLY_TO(BLY_CLOSED), [BLY_CLOSED] = 0};
const bly_state_table bly_sched_states = {"scheduler", state_names, state_moves,
                                          bly_count(state_names)};

static const char *const mode_names[] = {"UNUSED", "DRIVEN", "STARTING", "STARTED"};
static const uint32_t mode_moves[] = {
    [BLY_UNUSED] = BLY_TO(BLY_DRIVEN) | BLY_TO(BLY_STARTING),
    [BLY_STARTING] = BLY_TO(BLY_STARTED) | BLY_TO(BLY_UNUSED),
    [BLY_STARTED] = 0,
};
const bly_state_table bly_sched_modes = {"scheduler's mode", mode_names, mode_moves,
                                         bly_count(mode_names)};

int64_t bly_sched_now(belay_sched *sched)
{
    /* acquire, with the release of bly_seen_locked: that reading was made before this one. */
    int64_t floor = bly_load(&sched->last_now, BLY_ACQUIRE);
    int64_t now = sched->clock->now(sched->clock);
    if (now < floor) {
        /* relaxed: a counter that stats read. */
        (void)bly_fetch_add(&sched->steps_back, UINT64_C(1), BLY_RELAXED);
        return floor;
    }
    return now;
}

void bly_seen_locked(belay_sched *sched, int64_t now_ns)
{
    bly_assert_debug(bly_mutex_is_mine(&sched->lock));
    if (now_ns > sched->last_now) {
        bly_store(&sched->last_now, now_ns, BLY_RELEASE); /* release: see bly_sched_now */
    }
}

void bly_discard(bly_after *after, void *block)
{
    if (block != NULL) {
        *(void **)block = after->garbage;
        after->garbage = block;
    }
}

static void free_garbage(void *block)
{
    while (block != NULL) {
        void *next = *(void **)block;
        bly_free(block);
        block = next;
    }
}

void bly_leave(belay_sched *sched, bly_after *after)
{
    bly_close_check_locked(sched);
    bly_mutex_unlock(&sched->lock);
    free_garbage(after->garbage);
    belay_cancel_unref(after->unref);
    if (after->fire != NULL) {
        (void)belay_cancel_fire(after->fire); /* fired before: all the same */
        belay_cancel_unref(after->fire);
    }
    if (after->is_sending) {
        bly_ticket_send(sched, after->ticket);
    }
    bly_deliver_run();
}

void bly_unpin_locked(belay_sched *sched)
{
    bly_assert_debug(bly_mutex_is_mine(&sched->lock));
    bly_assert(sched->pins > 0);
    sched->pins--;
}

static int check_opts(belay_sched_opts *opts, const belay_sched_opts *from)
{
    if (bly_opts_read(opts, sizeof *opts, from) != 0 || opts->aging_ns_per_priority < 0) {
        return BELAY_EINVAL;
    }
    if (opts->clock == NULL) {
        opts->clock = belay_clock_system();
    }
    switch (opts->pending_max) {
    case 0:
        opts->pending_max = BELAY_SCHED_PENDING_DEFAULT;
        break;
    case BELAY_NONE:
        return BELAY_EINVAL;
    default:
        break;
    }
    return 0;
}

static void init_lists(belay_sched *sched)
{
    bly_list *const lists[] = {&sched->held,    &sched->held_owed, &sched->due,   &sched->running,
                               &sched->waiters, &sched->told,      &sched->spares};
    for (size_t i = 0; i < bly_count(lists); i++) {
        bly_list_init(lists[i]);
    }
}

int belay_sched_create(const belay_sched_opts *from, belay_sched **ret_sched)
{
    belay_sched_opts opts;
    if (ret_sched == NULL || check_opts(&opts, from) != 0) {
        return BELAY_EINVAL;
    }
    belay_sched *sched = bly_alloc(sizeof *sched);
    if (sched == NULL) {
        return BELAY_ENOMEM;
    }
    sched->clock = opts.clock;
    sched->timers_given = opts.timers;
    sched->aging_ns = opts.aging_ns_per_priority;
    sched->pending_max = opts.pending_max;
    sched->generation = bly_fork_generation();
    sched->seed = bly_random_seed();
    sched->last_now = BELAY_NOW;
    sched->armed_ns = BELAY_FOREVER;
    sched->leader_ns = BELAY_FOREVER;
    init_lists(sched);
    sched->gate = bly_gate_create(opts.clock);
    if (sched->gate == NULL || bly_versions_init(&sched->versions, sched->aging_ns) != 0) {
        bly_gate_unref(sched->gate);
        bly_free(sched);
        return BELAY_ENOMEM;
    }
    *ret_sched = sched;
    return 0;
}

static void free_spares(belay_sched *sched)
{
    bly_list *link = NULL;
    while ((link = bly_list_pop_front(&sched->spares)) != NULL) {
        bly_free(bly_container(link, belay_claim, link));
    }
}

int belay_sched_destroy(belay_sched *sched)
{
    if (sched == NULL) {
        return 0;
    }
    bly_mutex_lock(&sched->lock);
    bool is_closed = sched->state == BLY_CLOSED;
    bly_mutex_unlock(&sched->lock);
    if (!is_closed) {
        return BELAY_EBUSY;
    }
    if (sched->mode == BLY_STARTED) {
        bly_ticket_stop(sched);
    }
    bly_mutex_destroy(&sched->lock);
    free_spares(sched);
    bly_versions_destroy(&sched->versions);
    bly_gate_unref(sched->gate);
    bly_free(sched);
    return 0;
}

/* Why a version cannot be stored; 0: it can. */
static int check_schedule_locked(const belay_sched *sched, const bly_job *old, bool no_replace)
{
    bly_assert_debug(bly_mutex_is_mine(&sched->lock));
    if (sched->state != BLY_OPEN) {
        return BELAY_ECLOSED;
    }
    if (old != NULL && no_replace) {
        return BELAY_EEXIST;
    }
    const bly_job *leaves = old == NULL || old->state != BLY_JOB_RUNNING ? old : old->other;
    bool makes_room = leaves != NULL || (old != NULL && old->is_counted);
    if (sched->versions.live >= BLY_LIVE_MAX) {
        return BELAY_EFULL;
    }
    return sched->coming >= sched->pending_max && !makes_room ? BELAY_EFULL : 0;
}

/* The version is held back behind the running one. */
static int hold_locked(belay_sched *sched, bly_job *running, bly_job *job, bly_after *after)
{
    bly_assert_debug(bly_mutex_is_mine(&sched->lock));
    int result = BELAY_STILL_RUNNING;
    if (running->other != NULL) {
        bly_drop_held_locked(sched, running->other, BLY_JOB_REPLACED, after);
        result |= BELAY_REPLACED;
    }
    running->is_superseded = true;
    bly_uncount_locked(sched, running);
    bly_state_move(&bly_job_states, &job->state, BLY_JOB_HELD);
    running->other = job;
    job->other = running;
    bly_list_push_back(&sched->held, &job->link);
    return result;
}

static int admit_locked(belay_sched *sched, bly_job *old, bly_job *job, bly_after *after)
{
    bly_assert_debug(bly_mutex_is_mine(&sched->lock));
    job->sched = sched;
    job->version = ++sched->last_version;
    job->submitted_ns = sched->last_now;
    job->run_at_ns = bly_job_start_of(job, job->slot_ns);
    job->is_counted = true;
    sched->coming++;
    sched->counts.scheduled++;
    bly_versions_add(&sched->versions, job);
    if (old != NULL && old->state == BLY_JOB_RUNNING) {
        return hold_locked(sched, old, job, after);
    }
    if (old != NULL) {
        bly_drop_pending_locked(sched, old, BLY_JOB_REPLACED, after);
    }
    bly_versions_name(&sched->versions, job);
    bly_enter_locked(sched, job);
    return old != NULL ? BELAY_REPLACED : 0;
}

bly_job *bly_find_locked(const belay_sched *sched, const bly_id *id)
{
    bly_assert_debug(bly_mutex_is_mine(&sched->lock));
    bly_job *job = bly_versions_find(&sched->versions, id);
    return job == NULL || bly_is_doomed_locked(sched, job) ? NULL : job;
}

/* Stores the version; job is NULL when there was no memory for one. */
static int store_locked(belay_sched *sched, const bly_id *id, bool no_replace, bly_job *job,
                        bly_after *after)
{
    bly_assert_debug(bly_mutex_is_mine(&sched->lock));
    /* First of all, since the lock may be given up for it. */
    bool has_room = job != NULL && bly_versions_grow(&sched->versions, &sched->lock) == 0;
    bly_job *old = bly_find_locked(sched, id);
    int result = check_schedule_locked(sched, old, no_replace);
    if (result != 0 || !has_room) {
        return result != 0 ? result : BELAY_ENOMEM;
    }
    return admit_locked(sched, old, job, after);
}

int belay_sched_schedule(belay_sched *sched, belay_id id, const belay_job *from,
                         belay_job_handle *ret_handle)
{
    belay_job checked;
    bly_id key;
    if (sched == NULL || bly_job_copy(&checked, from) != 0 ||
        bly_id_read(&key, &id, true, sched->seed) != 0) {
        return BELAY_EINVAL;
    }
    if (bly_forked_since(sched->generation)) {
        return BELAY_ECLOSED;
    }
    bly_job *job = bly_job_create(&checked, &key);
    bly_after after = {0};
    int64_t now = bly_sched_now(sched);
    bly_mutex_lock(&sched->lock);
    bly_seen_locked(sched, now);
    int result = store_locked(sched, &key, checked.no_replace != 0, job, &after);
    if (result < 0) {
        bly_discard(&after, job);
    } else if (ret_handle != NULL) {
        *ret_handle = bly_job_handle(job);
    }
    bly_plan_locked(sched, &after);
    bly_leave(sched, &after);
    return result;
}

/* The running version is told, and a series has no further occurrence. */
static int stop_running_locked(belay_sched *sched, bly_job *job, bly_after *after)
{
    bly_assert_debug(bly_mutex_is_mine(&sched->lock));
    bly_claim_signal_locked(sched, job, after);
    bly_uncount_locked(sched, job);
    return BELAY_STILL_RUNNING;
}

int belay_sched_cancel(belay_sched *sched, belay_id id)
{
    bly_id key;
    if (sched == NULL || bly_id_read(&key, &id, false, sched->seed) != 0) {
        return BELAY_EINVAL;
    }
    int result = BELAY_ENOENT;
    bly_after after = {0};
    bly_mutex_lock(&sched->lock);
    bly_job *job = bly_find_locked(sched, &key);
    if (job != NULL && job->state == BLY_JOB_RUNNING) {
        bly_job *held = job->other;
        if (held != NULL && !bly_is_doomed_locked(sched, held)) {
            bly_drop_held_locked(sched, held, BLY_JOB_CANCELED, &after);
        }
        result = stop_running_locked(sched, job, &after);
    } else if (job != NULL) {
        bly_drop_pending_locked(sched, job, BLY_JOB_CANCELED, &after);
        result = 0;
    }
    bly_plan_locked(sched, &after);
    bly_leave(sched, &after);
    return result;
}

int belay_sched_cancel_handle(belay_sched *sched, belay_job_handle handle)
{
    if (sched == NULL) {
        return BELAY_EINVAL;
    }
    int result = 0;
    bly_after after = {0};
    bly_mutex_lock(&sched->lock);
    bly_job *job = bly_slots_find(&sched->versions.slots, handle);
    if (job == NULL || bly_is_doomed_locked(sched, job)) {
        result = BELAY_ESTALE;
    } else if (job->state == BLY_JOB_RUNNING) {
        result = stop_running_locked(sched, job, &after);
    } else if (job->state == BLY_JOB_HELD) {
        bly_drop_held_locked(sched, job, BLY_JOB_CANCELED, &after);
    } else {
        bly_drop_pending_locked(sched, job, BLY_JOB_CANCELED, &after);
    }
    bly_plan_locked(sched, &after);
    bly_leave(sched, &after);
    return result;
}
