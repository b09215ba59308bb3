/*
 * test_group.c: sets of calls: waiting, the first error, cancel trees, shields, reuse.
 */
#include "fault.h"
#include "call.h"
#include "unit.h"

#include <stdlib.h>

static belay_group *group_below(belay_exec *exec, belay_cancel *parent, unsigned flags)
{
    belay_group *group = NULL;
    ck_assert_int_eq(belay_group_create(exec, parent, flags, &group), 0);
    ck_assert_ptr_nonnull(group);
    return group;
}

static void spawn(belay_group *group, call *self)
{
    ck_assert_int_eq(belay_group_spawn(group, call_run, self, call_drop), 0);
}

static int status_of(belay_group *group)
{
    int status = 77;
    ck_assert_int_eq(belay_group_wait(group, BELAY_FOREVER, &status), 0);
    return status;
}

static int return_status(void *arg)
{
    return *(int *)arg;
}

START_TEST(wait_returns_when_every_member_has_ended)
{
    enum { MEMBERS = 200 };
    static call members[MEMBERS];
    belay_exec *exec = pool_of(2);
    belay_group *group = group_below(exec, NULL, 0);
    for (int i = 0; i < MEMBERS; i++) {
        members[i] = (call){.gate = OPEN};
        spawn(group, &members[i]);
    }
    ck_assert_int_eq(status_of(group), 0);
    for (int i = 0; i < MEMBERS; i++) {
        ck_assert_uint_eq(members[i].runs, 1);
    }
    ck_assert_int_eq(belay_group_destroy(group), 0);
    pool_end(exec);
}
END_TEST

START_TEST(a_group_without_members_is_not_waited_for)
{
    belay_exec *exec = pool_of(1);
    belay_group *group = group_below(exec, NULL, 0);
    int status = 77;
    ck_assert_int_eq(belay_group_wait(group, BELAY_NOW, &status), 0);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(belay_group_wait(group, BELAY_FOREVER, NULL), 0);
    ck_assert_int_eq(belay_group_destroy(group), 0);
    pool_end(exec);
}
END_TEST

START_TEST(arguments_are_checked)
{
    belay_exec *exec = pool_of(1);
    belay_group *group = NULL;
    ck_assert_int_eq(belay_group_create(NULL, NULL, 0, &group), BELAY_EINVAL);
    ck_assert_int_eq(belay_group_create(exec, NULL, 0, NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_group_create(exec, NULL, 2, &group), BELAY_EINVAL);
    ck_assert_ptr_null(group);
    ck_assert_ptr_null(belay_group_token(NULL));
    ck_assert_int_eq(belay_group_spawn(NULL, call_run, NULL, NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_group_wait(NULL, BELAY_NOW, NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_group_cancel(NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_group_destroy(NULL), 0);
    group = group_below(exec, NULL, 0);
    ck_assert_int_eq(belay_group_spawn(group, NULL, NULL, NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_group_destroy(group), 0);
    pool_end(exec);
}
END_TEST

START_TEST(the_first_error_is_kept_until_the_wait)
{
    static int statuses[] = {0, -5, -6, 0};
    belay_exec *exec = pool_of(1);
    belay_group *group = group_below(exec, NULL, 0);
    holder busy;
    hold_worker(exec, &busy);
    for (size_t i = 0; i < bly_count(statuses); i++) {
        ck_assert_int_eq(belay_group_spawn(group, return_status, &statuses[i], NULL), 0);
    }
    release_worker(&busy);
    ck_assert_int_eq(status_of(group), -5);
    ck_assert_int_eq(status_of(group), 0);
    ck_assert_int_eq(belay_group_destroy(group), 0);
    ck_assert_uint_eq(pool_end(exec).total.failed, 2);
}
END_TEST

START_TEST(a_wait_that_cannot_wait_says_why)
{
    belay_exec *exec = pool_of(1);
    belay_group *group = group_below(exec, NULL, 0);
    call one = {.status = 0};
    int status = 77;
    spawn(group, &one);
    ck_assert_int_eq(belay_group_wait(group, BELAY_NOW, &status), BELAY_EAGAIN);
    ck_assert_int_eq(belay_group_wait(group, 0, &status), BELAY_ETIMEDOUT);
    ck_assert_int_eq(belay_group_wait(group, belay_time_add(bly_monotonic_ns(), 1000000), &status),
                     BELAY_ETIMEDOUT);
    ck_assert_int_eq(belay_group_destroy(group), BELAY_EBUSY);
    ck_assert_int_eq(status, 77);
    event_add(&one.gate, 1);
    ck_assert_int_eq(status_of(group), 0);
    ck_assert_int_eq(belay_group_destroy(group), 0);
    pool_end(exec);
}
END_TEST

START_TEST(a_pool_with_a_group_is_not_destroyed)
{
    belay_exec *exec = pool_of(1);
    belay_group *group = group_below(exec, NULL, 0);
    ck_assert_int_eq(belay_exec_shutdown(exec), 0);
    pool_await(exec);
    ck_assert_int_eq(belay_exec_destroy(exec), BELAY_EBUSY);
    call one = {.status = 0};
    ck_assert_int_eq(belay_group_spawn(group, call_run, &one, call_drop), BELAY_ECLOSED);
    ck_assert_int_eq(belay_group_destroy(group), 0);
    ck_assert_int_eq(belay_exec_destroy(exec), 0);
    ck_assert_uint_eq(one.drops, 0);
}
END_TEST

/* --- cancel. --- */

START_TEST(cancel_drops_what_has_not_begun_and_refuses_what_comes)
{
    enum { MEMBERS = 100 };
    static call members[MEMBERS];
    belay_exec *exec = pool_of(1);
    belay_group *group = group_below(exec, NULL, 0);
    call running = {.status = 0};
    spawn(group, &running);
    event_await(&running.begun, 1);
    for (int i = 0; i < MEMBERS; i++) {
        members[i] = (call){.gate = OPEN};
        spawn(group, &members[i]);
    }
    ck_assert(!belay_cancel_is_fired(belay_group_token(group)));
    ck_assert_int_eq(belay_group_cancel(group), 0);
    ck_assert(belay_cancel_is_fired(belay_group_token(group)));
    for (int i = 0; i < MEMBERS; i++) {
        ck_assert_uint_eq(members[i].drops, 1);
        ck_assert_int_eq(members[i].why, BELAY_DROP_CANCELED);
    }
    call late = {.status = 0};
    ck_assert_int_eq(belay_group_spawn(group, call_run, &late, call_drop), BELAY_ECANCELED);
    ck_assert_int_eq(belay_group_cancel(group), BELAY_ETOOLATE);
    ck_assert_int_eq(belay_group_destroy(group), BELAY_EBUSY);
    event_add(&running.gate, 1);
    ck_assert_int_eq(status_of(group), BELAY_ECANCELED);
    ck_assert_int_eq(belay_group_destroy(group), 0);
    belay_exec_metrics metrics = pool_end(exec);
    ck_assert_uint_eq(running.runs, 1);
    ck_assert_uint_eq(late.drops + late.runs, 0);
    ck_assert_uint_eq(metrics.total.canceled, MEMBERS);
    ck_assert_uint_eq(metrics.total.executed, 1);
}
END_TEST

START_TEST(a_canceled_group_is_usable_again_after_its_wait)
{
    belay_exec *exec = pool_of(1);
    belay_group *group = group_below(exec, NULL, 0);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(belay_group_cancel(group), 0);
        ck_assert_int_eq(status_of(group), BELAY_ECANCELED);
        ck_assert(!belay_cancel_is_fired(belay_group_token(group)));
        call one = {.gate = OPEN, .status = i};
        spawn(group, &one);
        ck_assert_int_eq(status_of(group), i);
        ck_assert_uint_eq(one.runs, 1);
    }
    ck_assert_int_eq(belay_group_destroy(group), 0);
    pool_end(exec);
}
END_TEST

START_TEST(an_error_before_the_cancel_is_the_status)
{
    belay_exec *exec = pool_of(1);
    belay_group *group = group_below(exec, NULL, 0);
    int error = -9;
    ck_assert_int_eq(belay_group_spawn(group, return_status, &error, NULL), 0);
    call next = {.status = 0};
    spawn(group, &next);
    event_await(&next.begun, 1);
    ck_assert_int_eq(belay_group_cancel(group), 0);
    event_add(&next.gate, 1);
    ck_assert_int_eq(status_of(group), -9);
    ck_assert_int_eq(belay_group_destroy(group), 0);
    pool_end(exec);
}
END_TEST

START_TEST(firing_the_parent_cancels_groups_below_but_not_through_a_shield)
{
    belay_exec *exec = pool_of(1);
    belay_group *outer = group_below(exec, NULL, 0);
    belay_group *inner = group_below(exec, belay_group_token(outer), 0);
    belay_group *whole = group_below(exec, belay_group_token(outer), BELAY_CANCEL_SHIELD);
    holder busy;
    hold_worker(exec, &busy);
    call members[3] = {{.gate = OPEN}, {.gate = OPEN}, {.gate = OPEN}};
    spawn(outer, &members[0]);
    spawn(inner, &members[1]);
    spawn(whole, &members[2]);
    ck_assert_int_eq(belay_group_cancel(outer), 0);
    ck_assert_uint_eq(members[0].drops, 1);
    ck_assert_uint_eq(members[1].drops, 1);
    ck_assert_uint_eq(members[2].drops, 0);
    release_worker(&busy);
    ck_assert_int_eq(status_of(outer), BELAY_ECANCELED);
    ck_assert_int_eq(status_of(inner), BELAY_ECANCELED);
    ck_assert_int_eq(status_of(whole), 0);
    ck_assert_uint_eq(members[2].runs, 1);
    ck_assert_int_eq(belay_group_destroy(inner), 0);
    ck_assert_int_eq(belay_group_destroy(whole), 0);
    ck_assert_int_eq(belay_group_destroy(outer), 0);
    pool_end(exec);
}
END_TEST

START_TEST(a_group_below_a_fired_token_is_canceled_from_birth_and_stays_so)
{
    belay_exec *exec = pool_of(1);
    belay_cancel *parent;
    ck_assert_int_eq(belay_cancel_create(NULL, 0, &parent), 0);
    ck_assert_int_eq(belay_cancel_fire(parent), 0);
    belay_group *group = group_below(exec, parent, 0);
    call one = {.gate = OPEN};
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(belay_group_spawn(group, call_run, &one, call_drop), BELAY_ECANCELED);
        ck_assert_int_eq(status_of(group), BELAY_ECANCELED);
    }
    ck_assert_int_eq(belay_group_destroy(group), 0);
    belay_cancel_unref(parent);
    pool_end(exec);
}
END_TEST

static int run_until_fired(void *arg)
{
    call *self = arg;
    event_add(&self->begun, 1);
    while (!belay_cancel_is_fired(belay_group_token((belay_group *)self->future))) {
        bly_yield();
    }
    return 0;
}

START_TEST(shutdown_now_fires_the_token_of_a_group_that_runs)
{
    belay_exec *exec = pool_of(1);
    belay_group *group = group_below(exec, NULL, 0);
    call running = {.future = (belay_future *)group};
    call queued = {.gate = OPEN};
    ck_assert_int_eq(belay_group_spawn(group, run_until_fired, &running, NULL), 0);
    event_await(&running.begun, 1);
    spawn(group, &queued);
    ck_assert_int_eq(belay_exec_shutdown_now(exec), 0);
    pool_await(exec);
    ck_assert_uint_eq(queued.drops, 1);
    ck_assert_int_eq(status_of(group), BELAY_ECANCELED);
    ck_assert_int_eq(belay_group_destroy(group), 0);
    ck_assert_int_eq(belay_exec_destroy(exec), 0);
}
END_TEST

START_TEST(members_that_shutdown_now_drops_give_the_status)
{
    belay_exec *exec = pool_of(1);
    belay_group *group = group_below(exec, NULL, 0);
    holder busy;
    hold_worker(exec, &busy);
    call one = {.gate = OPEN};
    spawn(group, &one);
    ck_assert_int_eq(belay_exec_shutdown_now(exec), 0);
    release_worker(&busy);
    ck_assert_int_eq(status_of(group), BELAY_ECLOSED);
    ck_assert_int_eq(one.why, BELAY_DROP_SHUTDOWN);
    pool_await(exec);
    ck_assert_int_eq(belay_group_destroy(group), 0);
    ck_assert_int_eq(belay_exec_destroy(exec), 0);
}
END_TEST

static int cancel_own_group(void *arg)
{
    call *self = arg;
    self->runs++;
    return belay_group_cancel((belay_group *)self->future);
}

START_TEST(a_member_may_cancel_its_group)
{
    belay_exec *exec = pool_of(2);
    belay_group *group = group_below(exec, NULL, 0);
    call one = {.future = (belay_future *)group};
    ck_assert_int_eq(belay_group_spawn(group, cancel_own_group, &one, NULL), 0);
    ck_assert_int_eq(status_of(group), BELAY_ECANCELED);
    ck_assert_uint_eq(one.runs, 1);
    ck_assert_int_eq(belay_group_destroy(group), 0);
    pool_end(exec);
}
END_TEST

/* --- Waiting inside the pool. --- */

typedef struct scope {
    belay_exec *exec;
    belay_group *group; /* to wait for; NULL: its own */
    int depth;
    int result;
    event ready;
    event go;
    uint64_t *total;
} scope;

static int wait_for_group(void *arg)
{
    scope *self = arg;
    event_add(&self->ready, 1);
    event_await(&self->go, 1);
    self->result = belay_group_wait(self->group, BELAY_FOREVER, NULL);
    return 0;
}

START_TEST(a_member_that_waits_for_its_group_is_told_of_the_deadlock)
{
    belay_exec *exec = pool_of(2);
    scope self = {.exec = exec, .group = group_below(exec, NULL, 0)};
    event_add(&self.go, 1);
    ck_assert_int_eq(belay_group_spawn(self.group, wait_for_group, &self, NULL), 0);
    ck_assert_int_eq(status_of(self.group), 0);
    ck_assert_int_eq(self.result, BELAY_EDEADLK);
    ck_assert_int_eq(belay_group_destroy(self.group), 0);
    pool_end(exec);
}
END_TEST

START_TEST(the_only_worker_runs_the_members_it_waits_for_out_of_its_inbox)
{
    belay_exec *exec = pool_of(1);
    scope self = {.exec = exec, .group = group_below(exec, NULL, 0), .result = -1};
    call unrelated = {.status = 0};
    call members[3] = {{.gate = OPEN}, {.gate = OPEN}, {.gate = OPEN}};
    ck_assert_int_eq(belay_exec_call(exec, wait_for_group, &self, NULL, NULL, NULL), 0);
    event_await(&self.ready, 1);
    start(exec, &unrelated, NULL); /* would hold the worker for ever */
    for (int i = 0; i < 3; i++) {
        spawn(self.group, &members[i]);
    }
    event_add(&self.go, 1);
    ck_assert_int_eq(status_of(self.group), 0);
    event_add(&unrelated.gate, 1);
    belay_exec_metrics metrics = pool_stats(exec);
    ck_assert_uint_eq(metrics.total.claimed, 3);
    ck_assert_int_eq(wait_for(&unrelated, NULL), 0);
    belay_future_unref(unrelated.future);
    ck_assert_int_eq(belay_exec_shutdown(exec), 0);
    pool_await(exec);
    ck_assert_int_eq(self.result, 0);
    ck_assert_int_eq(belay_group_destroy(self.group), 0);
    ck_assert_int_eq(belay_exec_destroy(exec), 0);
}
END_TEST

/* A tree of groups, each waited for by the member that made it. */
static int grow(void *arg)
{
    scope *self = arg;
    if (self->depth == 0) {
        bly_fetch_add(self->total, UINT64_C(1), BLY_RELAXED);
        return 0;
    }
    scope below[3];
    belay_group *group = group_below(self->exec, NULL, 0);
    for (int i = 0; i < 3; i++) {
        below[i] = (scope){.exec = self->exec, .depth = self->depth - 1, .total = self->total};
        ck_assert_int_eq(belay_group_spawn(group, grow, &below[i], NULL), 0);
    }
    int status = status_of(group);
    ck_assert_int_eq(belay_group_destroy(group), 0);
    return status;
}

START_TEST(a_tree_of_groups_runs_each_leaf_once_on_any_number_of_workers)
{
    for (uint32_t workers = 1; workers <= 4; workers++) {
        belay_exec *exec = pool_of(workers);
        uint64_t leaves = 0;
        scope root = {.exec = exec, .depth = 7, .total = &leaves};
        ck_assert_int_eq(belay_exec_call(exec, grow, &root, NULL, NULL, NULL), 0);
        pool_end(exec);
        ck_assert_uint_eq(leaves, 2187);
    }
}
END_TEST

/* A lock held over an inner group: a waiter that started a sibling would wait for itself. It is
 * made of a word, since debug builds allow no wait under a lock of the seam. */
typedef struct guarded {
    belay_exec *exec;
    uint32_t *owner; /* atomic: 1 while a member is inside */
    uint64_t *total;
} guarded;

static int add_one(void *arg)
{
    bly_fetch_add((uint64_t *)arg, UINT64_C(1), BLY_RELAXED);
    return 0;
}

static int inner_group_under_lock(void *arg)
{
    guarded *self = arg;
    uint32_t free_word = 0;
    while (!bly_cas(self->owner, &free_word, 1u, BLY_ACQUIRE, BLY_RELAXED)) {
        (void)bly_futex_wait(self->owner, 1, BELAY_FOREVER);
        free_word = 0;
    }
    belay_group *group = group_below(self->exec, NULL, 0);
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(belay_group_spawn(group, add_one, self->total, NULL), 0);
    }
    ck_assert_int_eq(status_of(group), 0);
    ck_assert_int_eq(belay_group_destroy(group), 0);
    bly_store(self->owner, 0u, BLY_RELEASE);
    bly_futex_wake(self->owner, 1);
    return 0;
}

START_TEST(a_lock_held_over_a_group_is_no_deadlock_as_no_sibling_starts_on_top)
{
    enum { MEMBERS = 200 };
    belay_exec *exec = pool_of(2);
    uint32_t owner = 0;
    uint64_t total = 0;
    guarded shared = {.exec = exec, .owner = &owner, .total = &total};
    belay_group *group = group_below(exec, NULL, 0);
    for (int i = 0; i < MEMBERS; i++) {
        ck_assert_int_eq(belay_group_spawn(group, inner_group_under_lock, &shared, NULL), 0);
    }
    ck_assert_int_eq(status_of(group), 0);
    ck_assert_uint_eq(total, 4 * MEMBERS);
    ck_assert_int_eq(belay_group_destroy(group), 0);
    pool_end(exec);
}
END_TEST

/* Many scopes one after the other on a small stack: waits must not pile up. */
static int open_scopes(void *arg)
{
    scope *self = arg;
    for (int i = 0; i < 20000; i++) {
        belay_group *group = group_below(self->exec, NULL, 0);
        for (int k = 0; k < 3; k++) {
            ck_assert_int_eq(belay_group_spawn(group, add_one, self->total, NULL), 0);
        }
        ck_assert_int_eq(belay_group_wait(group, BELAY_FOREVER, NULL), 0);
        ck_assert_int_eq(belay_group_destroy(group), 0);
    }
    return 0;
}

START_TEST(many_scopes_fit_a_small_stack)
{
    belay_exec *exec = pool_tuned((belay_exec_opts){.workers = 2, .stack_size = (size_t)256 * 1024},
                                  bly_exec_tuning_default());
    uint64_t total = 0;
    scope scopes[2];
    belay_group *group = group_below(exec, NULL, 0);
    for (int i = 0; i < 2; i++) {
        scopes[i] = (scope){.exec = exec, .total = &total};
        ck_assert_int_eq(belay_group_spawn(group, open_scopes, &scopes[i], NULL), 0);
    }
    ck_assert_int_eq(status_of(group), 0);
    ck_assert_uint_eq(total, 2 * 3 * 20000);
    ck_assert_int_eq(belay_group_destroy(group), 0);
    pool_end(exec);
}
END_TEST

/* --- Races and failures. --- */

static void cancel_from_outside(void *arg)
{
    int result = belay_group_cancel(arg);
    ck_assert(result == 0 || result == BELAY_ETOOLATE);
}

START_TEST(spawn_wait_and_cancel_meet_in_any_order)
{
    enum { MEMBERS = 20 };
    for (int round = 0; round < 200; round++) {
        belay_exec *exec = pool_of(2);
        belay_group *group = group_below(exec, NULL, 0);
        call members[MEMBERS];
        bly_thread other;
        uint32_t taken = 0;
        ck_assert_int_eq(bly_thread_create(&other, NULL, cancel_from_outside, group), 0);
        for (int i = 0; i < MEMBERS; i++) {
            members[i] = (call){.gate = OPEN};
            taken += belay_group_spawn(group, call_run, &members[i], call_drop) == 0;
        }
        int status = status_of(group);
        bly_thread_join(&other);
        uint32_t ended = 0;
        for (int i = 0; i < MEMBERS; i++) {
            ck_assert_uint_le(members[i].runs + members[i].drops, 1);
            ended += members[i].runs + members[i].drops;
        }
        ck_assert_uint_eq(ended, taken);
        ck_assert(status == BELAY_ECANCELED || (status == 0 && taken == MEMBERS));
        ck_assert_int_eq(belay_group_wait(group, BELAY_FOREVER, NULL), 0);
        ck_assert_int_eq(belay_group_destroy(group), 0);
        pool_end(exec);
    }
}
END_TEST

static void fire(void *arg)
{
    ck_assert_int_eq(belay_cancel_fire(arg), 0);
}

START_TEST(an_empty_group_is_destroyed_while_its_parent_is_being_fired)
{
    belay_exec *exec = pool_of(1);
    for (int round = 0; round < 500; round++) {
        belay_cancel *parent;
        bly_thread other;
        ck_assert_int_eq(belay_cancel_create(NULL, 0, &parent), 0);
        belay_group *group = group_below(exec, parent, 0);
        call one = {.gate = OPEN};
        spawn(group, &one);
        ck_assert_int_eq(bly_thread_create(&other, NULL, fire, parent), 0);
        int status = status_of(group);
        ck_assert(status == 0 || status == BELAY_ECANCELED);
        ck_assert_int_eq(belay_group_destroy(group), 0);
        bly_thread_join(&other);
        belay_cancel_unref(parent);
        ck_assert_uint_eq(one.runs + one.drops, 1);
    }
    pool_end(exec);
}
END_TEST

START_TEST(every_allocation_of_a_group_may_fail)
{
    belay_exec *exec = pool_of(1);
    belay_group *group = NULL;
    for (uint32_t k = 1; k <= 2; k++) {
        fault_alloc_in = k;
        ck_assert_int_eq(belay_group_create(exec, NULL, 0, &group), BELAY_ENOMEM);
        ck_assert_ptr_null(group);
    }
    group = group_below(exec, NULL, 0);
    call one = {.gate = OPEN};
    fault_alloc_in = 1;
    ck_assert_int_eq(belay_group_spawn(group, call_run, &one, call_drop), BELAY_ENOMEM);
    ck_assert_uint_eq(one.drops + one.runs, 0);
    ck_assert_uint_eq(pool_stats(exec).outstanding, 0);
    ck_assert_int_eq(belay_group_cancel(group), 0);
    int status = 77;
    fault_alloc_in = 1;
    ck_assert_int_eq(belay_group_wait(group, BELAY_FOREVER, &status), BELAY_ENOMEM);
    ck_assert_int_eq(status, 77);
    ck_assert_int_eq(belay_group_spawn(group, call_run, &one, call_drop), BELAY_ECANCELED);
    ck_assert_int_eq(status_of(group), BELAY_ECANCELED);
    ck_assert_int_eq(belay_group_destroy(group), 0);
    pool_end(exec);
}
END_TEST

UNIT_MAIN("exec/group", wait_returns_when_every_member_has_ended,
          a_group_without_members_is_not_waited_for, arguments_are_checked,
          the_first_error_is_kept_until_the_wait, a_wait_that_cannot_wait_says_why,
          a_pool_with_a_group_is_not_destroyed,
          cancel_drops_what_has_not_begun_and_refuses_what_comes,
          a_canceled_group_is_usable_again_after_its_wait, an_error_before_the_cancel_is_the_status,
          firing_the_parent_cancels_groups_below_but_not_through_a_shield,
          a_group_below_a_fired_token_is_canceled_from_birth_and_stays_so,
          shutdown_now_fires_the_token_of_a_group_that_runs,
          members_that_shutdown_now_drops_give_the_status, a_member_may_cancel_its_group,
          a_member_that_waits_for_its_group_is_told_of_the_deadlock,
          the_only_worker_runs_the_members_it_waits_for_out_of_its_inbox,
          a_tree_of_groups_runs_each_leaf_once_on_any_number_of_workers,
          a_lock_held_over_a_group_is_no_deadlock_as_no_sibling_starts_on_top,
          many_scopes_fit_a_small_stack, spawn_wait_and_cancel_meet_in_any_order,
          an_empty_group_is_destroyed_while_its_parent_is_being_fired,
          every_allocation_of_a_group_may_fail)
