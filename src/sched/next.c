/*
 * next.c: a driven scheduler: claiming, and sleeping until there is something to claim.
 *
 * Those who sleep stand in a queue; the first of it is the leader, who sleeps until the head's
 * time, while the others sleep until their own deadlines. `leader_ns` is the time that the leader
 * knows of. Whoever changes the head under the lock compares it with that (bly_plan_locked) and
 * wakes the leader when it differs; whoever leaves the queue as its first wakes the new first, if
 * there is anything to wait for. So at any time somebody knows when the head is due, and, with `n`
 * jobs due at once, each one who claims calls in the next.
 *
 * A sleeper stands in the queue until it has taken the lock again: the queue keeps the scheduler
 * from being CLOSED, and so from being destroyed under a thread that has just been woken. One that
 * has passed over a slot, which may have been the last thing alive, pins the scheduler until it has
 * looked again.
 */
#include "sched/sched_int.h"

#include "deliver/deliver.h"
#include "time/parker.h"

/* One call of belay_sched_next. */
struct request {
    int64_t deadline_ns;
    int64_t next_ns;    /* of the last look */
    int64_t until_ns;   /* how long to sleep */
    belay_claim *claim; /* one to use, or NULL; with a job once something was claimed */
    bly_waiter waiter;
    uint32_t passes; /* slots that were claimed and passed over */
    bool has_slept;
    bool has_pin; /* the scheduler is pinned until the next look */
};

/* Results of a look besides those of belay_sched_next. */
enum { LOOK_SLEEP = 1, LOOK_NEEDS_CLAIM = 2 };

static bly_waiter *leader_locked(const belay_sched *sched)
{
    bly_assert_debug(bly_mutex_is_mine(&sched->lock));
    bly_list *link = bly_list_first(&sched->waiters);
    return link == NULL ? NULL : bly_container(link, bly_waiter, link);
}

void bly_lead_locked(belay_sched *sched)
{
    bly_assert_debug(bly_mutex_is_mine(&sched->lock));
    bly_waiter *leader = leader_locked(sched);
    int64_t at = bly_earliest_locked(sched);
    if (leader != NULL && at != sched->leader_ns) {
        sched->leader_ns = at;
        bly_unpark(leader->parker, sched->clock);
    }
}

void bly_wake_all_locked(belay_sched *sched)
{
    bly_assert_debug(bly_mutex_is_mine(&sched->lock));
    bly_list_each (link, &sched->waiters) {
        bly_unpark(bly_container(link, bly_waiter, link)->parker, sched->clock);
    }
}

/* The thread sleeps no more. Its successor as the leader knows of no time yet. */
static void leave_queue_locked(belay_sched *sched, struct request *request)
{
    bly_assert_debug(bly_mutex_is_mine(&sched->lock));
    bly_list *link = &request->waiter.link;
    if (!bly_list_is_linked(link)) {
        return;
    }
    if (bly_list_first(&sched->waiters) == link) {
        sched->leader_ns = BELAY_FOREVER;
    }
    bly_list_remove(link);
}

static void join_queue_locked(belay_sched *sched, struct request *request)
{
    bly_assert_debug(bly_mutex_is_mine(&sched->lock));
    if (!bly_list_is_linked(&request->waiter.link)) {
        bly_list_push_back(&sched->waiters, &request->waiter.link);
    }
    request->until_ns = request->deadline_ns;
    if (leader_locked(sched) == &request->waiter) {
        sched->leader_ns = request->next_ns;
        if (request->next_ns < request->until_ns) {
            request->until_ns = request->next_ns;
        }
    }
}

/* Nothing can be claimed now: what the caller is told, or LOOK_SLEEP. */
static int nothing_due_locked(const belay_sched *sched, const struct request *request)
{
    bly_assert_debug(bly_mutex_is_mine(&sched->lock));
    if (bly_is_all_given_locked(sched)) {
        return BELAY_ECLOSED;
    }
    if (request->deadline_ns == BELAY_NOW) {
        return BELAY_EAGAIN;
    }
    if (request->deadline_ns <= sched->last_now) {
        return BELAY_ETIMEDOUT;
    }
    return bly_deliver_active() ? BELAY_EDEADLK : LOOK_SLEEP;
}

/* Claims, or says why not. */
static int look_locked(belay_sched *sched, struct request *request)
{
    bly_assert_debug(bly_mutex_is_mine(&sched->lock));
    if (sched->mode == BLY_STARTED || sched->mode == BLY_STARTING) {
        return BELAY_EBUSY;
    }
    if (sched->mode == BLY_UNUSED) {
        bly_state_move(&bly_sched_modes, &sched->mode, BLY_DRIVEN);
    }
    if (request->claim == NULL) {
        request->claim = bly_claim_spare_locked(sched);
    }
    request->next_ns = bly_earliest_locked(sched);
    bool is_exhausted = request->deadline_ns == BELAY_NOW && request->passes >= BLY_BATCH;
    if (request->next_ns > sched->last_now || is_exhausted) {
        return nothing_due_locked(sched, request);
    }
    if (request->claim == NULL) {
        return LOOK_NEEDS_CLAIM;
    }
    bly_job *job = bly_pick_locked(sched);
    bly_assert(job != NULL);
    bly_claim_begin_locked(sched, request->claim, job);
    return 0;
}

/* A look under the lock, and what follows from it under the lock. */
static int look(belay_sched *sched, struct request *request)
{
    int64_t now = bly_sched_now(sched);
    bly_after after = {0};
    bly_mutex_lock(&sched->lock);
    bly_seen_locked(sched, now);
    if (request->has_pin) {
        request->has_pin = false;
        bly_unpin_locked(sched);
    }
    int result = look_locked(sched, request);
    if (request->has_slept && result != LOOK_NEEDS_CLAIM) {
        request->has_slept = false;
        sched->counts.wakeups += result == 0;
        sched->counts.wakeups_spurious += result != 0;
    }
    if (result == LOOK_SLEEP) {
        join_queue_locked(sched, request);
    } else if (result != LOOK_NEEDS_CLAIM) {
        leave_queue_locked(sched, request);
    }
    if (result < 0 && request->claim != NULL) {
        bly_claim_keep_locked(sched, request->claim, &after);
    }
    bly_plan_locked(sched, &after);
    bly_leave(sched, &after);
    return result;
}

/* The claimed slot is passed over: the series goes on with a later one. */
static void pass(belay_sched *sched, struct request *request, int64_t next_ns)
{
    bly_after after = {0};
    bly_claim_pass(request->claim);
    bly_mutex_lock(&sched->lock);
    sched->pins++;
    request->has_pin = true;
    bly_end_locked(sched, request->claim, next_ns, &after);
    bly_plan_locked(sched, &after);
    bly_leave(sched, &after);
    request->passes++;
}

/* There is no memory for a claim: somebody else is to take the job. */
static int give_up(belay_sched *sched, struct request *request)
{
    bly_after after = {0};
    bly_mutex_lock(&sched->lock);
    leave_queue_locked(sched, request);
    bly_plan_locked(sched, &after);
    bly_leave(sched, &after);
    return BELAY_ENOMEM;
}

/* Goes on until there is a claim or an error. */
static int serve(belay_sched *sched, struct request *request)
{
    for (;;) {
        int result = look(sched, request);
        int64_t next = BELAY_FOREVER;
        if (result < 0) {
            return result;
        }
        if (result == LOOK_SLEEP) {
            (void)bly_park(request->waiter.parker, sched->clock, request->until_ns);
            request->has_slept = true;
        } else if (result == LOOK_NEEDS_CLAIM) {
            request->claim = bly_claim_create(sched, false);
            if (request->claim == NULL) {
                return give_up(sched, request);
            }
        } else if (bly_series_settle(request->claim, &next)) {
            return 0;
        } else {
            pass(sched, request, next);
        }
    }
}

/* False: there is no memory for one. The request can then only look, and may not need to sleep. */
static bool find_bed(struct request *request)
{
    request->waiter.parker = bly_parker_self();
    if (request->waiter.parker == NULL) {
        request->deadline_ns = BELAY_NOW;
        return false;
    }
    bly_parker_reset(request->waiter.parker);
    return true;
}

int belay_sched_next(belay_sched *sched, int64_t deadline_ns, belay_claim **ret_claim,
                     int64_t *ret_next_ns)
{
    if (sched == NULL || ret_claim == NULL) {
        return BELAY_EINVAL;
    }
    struct request request = {.deadline_ns = deadline_ns};
    bool can_sleep = deadline_ns == BELAY_NOW || find_bed(&request);
    int result = serve(sched, &request);
    if (result == BELAY_EAGAIN && !can_sleep) {
        result = BELAY_ENOMEM;
    }
    if (result == 0) {
        *ret_claim = request.claim;
    } else if ((result == BELAY_EAGAIN || result == BELAY_ETIMEDOUT) && ret_next_ns != NULL) {
        *ret_next_ns = request.next_ns;
    }
    return result;
}
