/*
 * ticket.c: a started scheduler: tickets, permits, the timer.
 *
 * A ticket is a claim that travels without a job. At most one is on its way at a time, the *probe*:
 *
 *     planned (bly_plan_locked) -> permit acquired -> submitted -> run on a worker
 *
 * On the worker it takes the job that is best at that moment; in the same section the next probe is
 * planned if more is due, so workers are called in one by one, each by the one before. A ticket
 * that has run a job takes the next due one at once, keeping its permit, or becomes the probe, or
 * gives its permit back. When fn returned BELAY_PENDING the ticket stays with the work, permit and
 * all, until belay_claim_done.
 *
 * A ticket pins the scheduler from its planning until it is kept again or freed. Whatever goes
 * wrong on the way (no memory, the executor refuses, it drops the ticket) ends in `refuse`: the
 * permit is given back and the timer set to try again, so a refused ticket loses nothing.
 *
 * `running_max` and the semaphore say the same, one under our lock and one under its own. Both are
 * needed for a claim: the count keeps running jobs below a bound that was just lowered, the permit
 * orders the probe behind those who are giving permits back.
 */
#include "sched/sched_int.h"

#include "deliver/deliver.h"
#include "exec/stopping.h"

/* The probe is where it was going, or nowhere. */
static void probe_over_locked(belay_sched *sched)
{
    bly_assert_debug(bly_mutex_is_mine(&sched->lock));
    bly_assert(sched->is_probing);
    sched->is_probing = false;
}

/* No lock is held: the release may serve the probe, which submits it. */
static void give_permit_back(belay_claim *ticket)
{
    if (ticket->has_permit) {
        ticket->has_permit = false;
        int result = belay_lease_release(&ticket->lease);
        bly_assert(result == 0);
    }
}

/* The ticket has no job and no permit any more: it pins the scheduler no longer. */
static void retire_locked(belay_sched *sched, belay_claim *ticket, bly_after *after)
{
    bly_assert_debug(bly_mutex_is_mine(&sched->lock));
    if (ticket != NULL) {
        bly_claim_keep_locked(sched, ticket, after);
    }
    bly_unpin_locked(sched);
}

/* The timer calls for the retry, or, when nothing is due any more, at the head's time. */
static void arm_retry_locked(belay_sched *sched)
{
    bly_assert_debug(bly_mutex_is_mine(&sched->lock));
    int64_t at = bly_earliest_locked(sched);
    if (at <= sched->last_now) {
        at = belay_time_add(sched->last_now, BELAY_SCHED_TICKET_RETRY_NS);
    }
    sched->armed_ns = at;
    bly_timer_arm(&sched->timer, sched->armed_ns);
}

/* The probe could not be sent; why is an error of the executor or BELAY_ENOMEM. */
static void refuse(belay_sched *sched, belay_claim *ticket, int why)
{
    if (ticket != NULL) {
        give_permit_back(ticket);
    }
    int64_t now = bly_sched_now(sched);
    bly_after after = {0};
    bly_mutex_lock(&sched->lock);
    bly_seen_locked(sched, now);
    probe_over_locked(sched);
    sched->counts.tickets_refused++;
    sched->is_executor_closed |= why == BELAY_ECLOSED;
    bool must_collect = sched->is_executor_closed && bly_close_begin_locked(sched);
    if (!sched->is_executor_closed && sched->state != BLY_CLOSED) {
        arm_retry_locked(sched);
    }
    if (!must_collect) {
        retire_locked(sched, ticket, &after);
        bly_leave(sched, &after);
        return;
    }
    bly_mutex_unlock(&sched->lock);
    bly_close_collect(sched);
    bly_mutex_lock(&sched->lock);
    retire_locked(sched, ticket, &after);
    bly_leave(sched, &after);
}

static void submit(belay_claim *ticket)
{
    belay_sched *sched = ticket->sched;
    bly_assert(ticket->has_permit && ticket->job == NULL);
    int result = belay_executor_submit(sched->executor, &ticket->task, BELAY_DELIVERY);
    if (result != 0) {
        refuse(sched, ticket, result);
    }
    /* Accepted: it may have run, and the scheduler may be gone. */
}

static void on_permit(belay_lease *lease, int result, void *arg)
{
    belay_claim *ticket = arg;
    bly_assert(result == 0 && lease == &ticket->lease);
    ticket->has_permit = true;
    submit(ticket);
}

static void run_ticket(belay_task *task);
static void drop_ticket(belay_task *task, int why);

void bly_ticket_send(belay_sched *sched, belay_claim *ticket)
{
    if (ticket == NULL) {
        ticket = bly_claim_create(sched, true);
    }
    if (ticket == NULL) {
        refuse(sched, NULL, BELAY_ENOMEM);
        return;
    }
    ticket->task = (belay_task){.run = run_ticket, .drop = drop_ticket};
    if (!ticket->has_permit) {
        int result = belay_sem_acquire_async(sched->permits, &ticket->lease, 1, BELAY_FOREVER, NULL,
                                             on_permit, ticket);
        if (result == BELAY_PENDING) {
            return; /* on_permit may have run already */
        }
        bly_assert(result == 0);
        ticket->has_permit = true;
    }
    submit(ticket);
}

/* Ends a probe or a ticket that found nothing; the scheduler may be gone afterwards. */
static void give_up(belay_claim *ticket)
{
    belay_sched *sched = ticket->sched;
    give_permit_back(ticket);
    bly_after after = {0};
    bly_mutex_lock(&sched->lock);
    retire_locked(sched, ticket, &after);
    bly_plan_locked(sched, &after);
    bly_leave(sched, &after);
}

static void drop_ticket(belay_task *task, int why)
{
    belay_claim *ticket = bly_container(task, belay_claim, task);
    (void)why; /* an executor drops what it was given only when it stops for good */
    refuse(ticket->sched, ticket, BELAY_ECLOSED);
}

/* Gives the ticket the best due job. False: there is none, or no room for one more to run. */
static bool take_locked(belay_sched *sched, belay_claim *ticket)
{
    bly_assert_debug(bly_mutex_is_mine(&sched->lock));
    if (sched->running_count >= sched->running_max || sched->is_executor_closed) {
        return false;
    }
    bly_job *job = bly_pick_locked(sched);
    if (job == NULL) {
        return false;
    }
    bly_claim_begin_locked(sched, ticket, job);
    bool is_taken = bly_claim_take(ticket);
    bly_assert(is_taken);
    return true;
}

/* The ticket arrives at the executor as the probe. True: it has a job. */
static bool arrive(belay_claim *ticket)
{
    belay_sched *sched = ticket->sched;
    int64_t now = bly_sched_now(sched);
    bly_after after = {0};
    bly_mutex_lock(&sched->lock);
    bly_seen_locked(sched, now);
    probe_over_locked(sched);
    sched->counts.tickets_run++;
    bool has_job = take_locked(sched, ticket);
    if (has_job) {
        sched->counts.wakeups++;
    } else {
        sched->counts.wakeups_spurious++;
    }
    bly_plan_locked(sched, &after);
    bly_leave(sched, &after);
    return has_job;
}

/*
 * The ticket's job has ended. may_take: this is the executor, and a next job may run here. Returns
 * true when the ticket has one. Else the ticket is gone, on its way as the probe, or given up, and
 * with it perhaps the scheduler.
 */
static bool end_ticket(belay_claim *ticket, int64_t next_ns, int64_t now_ns, bool may_take)
{
    belay_sched *sched = ticket->sched;
    bly_after after = {0};
    bly_mutex_lock(&sched->lock);
    bly_seen_locked(sched, now_ns);
    bly_end_locked(sched, ticket, next_ns, &after);
    /* Somebody who still refers to this claim must find it ended, so it can be no other's. */
    bool is_reusable = bly_claim_is_free(ticket);
    bool has_job = is_reusable && may_take && take_locked(sched, ticket);
    if (is_reusable && !has_job) {
        after.ticket = ticket;
    }
    bly_plan_locked(sched, &after);
    bool is_idle = !has_job && !(after.is_sending && after.ticket == ticket);
    bly_leave(sched, &after);
    if (is_idle) {
        give_up(ticket);
    }
    return has_job;
}

void bly_ticket_done(belay_claim *ticket)
{
    int64_t now = bly_sched_now(ticket->sched);
    (void)end_ticket(ticket, bly_claim_after(ticket, now), now, false);
}

/* The slot that the ticket claimed is passed over. As end_ticket. */
static bool pass_ticket(belay_claim *ticket, int64_t next_ns, bool may_take)
{
    bly_claim_pass(ticket);
    return end_ticket(ticket, next_ns, bly_sched_now(ticket->sched), may_take);
}

/* Runs the ticket's job. As end_ticket; a job that goes on elsewhere takes the ticket with it. */
static bool run_job(belay_claim *ticket, bool may_take)
{
    int64_t next = BELAY_FOREVER;
    if (!bly_series_settle(ticket, &next)) {
        return pass_ticket(ticket, next, may_take);
    }
    if (!bly_claim_call(ticket)) {
        return false;
    }
    int64_t now = bly_sched_now(ticket->sched);
    may_take = may_take && !bly_exec_is_stopping(ticket->sched->executor);
    return end_ticket(ticket, bly_claim_after(ticket, now), now, may_take);
}

static void run_ticket(belay_task *task)
{
    belay_claim *ticket = bly_container(task, belay_claim, task);
    if (bly_exec_is_stopping(ticket->sched->executor)) {
        refuse(ticket->sched, ticket, BELAY_ECLOSED);
        return;
    }
    bool has_job = arrive(ticket);
    if (!has_job) {
        give_up(ticket);
    }
    for (uint32_t runs = 1; has_job; runs++) {
        has_job = run_job(ticket, runs < BLY_TICKET_RUNS);
    }
}

static void on_timer(bly_timer *timer)
{
    belay_sched *sched = bly_container(timer, belay_sched, timer);
    int64_t reached = bly_timer_reached(timer);
    int64_t now = bly_sched_now(sched);
    bly_after after = {0};
    bly_mutex_lock(&sched->lock);
    bly_seen_locked(sched, now > reached ? now : reached);
    sched->armed_ns = BELAY_FOREVER;
    bly_plan_locked(sched, &after);
    bly_leave(sched, &after);
}

/* What start needs besides the lock. Errors: BELAY_EINVAL, BELAY_ENOMEM, BELAY_EAGAIN. */
static int make_parts(belay_sched *sched, uint32_t running_max)
{
    int result = bly_timers_use(sched->timers_given, sched->clock, &sched->timers);
    if (result != 0) {
        return result;
    }
    belay_sem_opts opts = {.size = sizeof opts,
                           .capacity = running_max,
                           .clock = sched->clock,
                           .timers = sched->timers_given,
                           .name = "running"};
    result = belay_sem_create(&opts, &sched->permits);
    if (result != 0) {
        bly_timers_unuse(sched->timers);
    }
    return result;
}

int belay_sched_start(belay_sched *sched, belay_executor *executor, uint32_t running_max)
{
    if (sched == NULL || executor == NULL || running_max == 0 || running_max > BELAY_RUNNING_MAX) {
        return BELAY_EINVAL;
    }
    bly_after after = {0};
    bly_mutex_lock(&sched->lock);
    int result = sched->mode != BLY_UNUSED ? BELAY_EBUSY : 0;
    if (result == 0 && sched->state != BLY_OPEN) {
        result = BELAY_ECLOSED;
    }
    if (result != 0) {
        bly_mutex_unlock(&sched->lock);
        return result;
    }
    bly_state_move(&bly_sched_modes, &sched->mode, BLY_STARTING);
    sched->pins++;
    bly_mutex_unlock(&sched->lock);
    result = make_parts(sched, running_max);
    if (result == 0) {
        bly_timer_init(&sched->timer, sched->timers, on_timer);
        bly_executor_attach(executor, +1);
    }
    int64_t now = bly_sched_now(sched);
    bly_mutex_lock(&sched->lock);
    bly_seen_locked(sched, now);
    sched->executor = executor;
    sched->running_max = sched->told_max = running_max;
    bly_state_move(&bly_sched_modes, &sched->mode, result == 0 ? BLY_STARTED : BLY_UNUSED);
    bly_unpin_locked(sched);
    bly_plan_locked(sched, &after);
    bly_leave(sched, &after);
    return result;
}

void bly_ticket_stop(belay_sched *sched)
{
    bly_timer_disarm_wait(&sched->timer);
    int result = belay_sem_destroy(sched->permits);
    bly_assert(result == 0);
    bly_timers_unuse(sched->timers);
    bly_executor_attach(sched->executor, -1);
}

int belay_sched_resize(belay_sched *sched, uint32_t running_max)
{
    if (sched == NULL || running_max == 0 || running_max > BELAY_RUNNING_MAX) {
        return BELAY_EINVAL;
    }
    bly_after after = {0};
    bly_mutex_lock(&sched->lock);
    int result = sched->mode != BLY_STARTED ? BELAY_EBUSY : 0;
    if (result == 0 && sched->state == BLY_CLOSED) {
        result = BELAY_ECLOSED;
    }
    if (result == 0) {
        sched->running_max = running_max;
        sched->pins++;
    }
    /* One thread tells the semaphore, until it has heard the last word. */
    while (result == 0 && !sched->is_resizing && sched->told_max != sched->running_max) {
        sched->is_resizing = true;
        uint32_t told = sched->running_max;
        bly_mutex_unlock(&sched->lock);
        int resized = belay_sem_resize(sched->permits, told);
        bly_assert(resized == 0);
        bly_mutex_lock(&sched->lock);
        sched->told_max = told;
        sched->is_resizing = false;
    }
    if (result == 0) {
        bly_unpin_locked(sched);
    }
    bly_plan_locked(sched, &after);
    bly_leave(sched, &after);
    return result;
}
