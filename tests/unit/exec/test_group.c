/*
 * test_group.c: sets of calls: waiting, the first error, cancel trees, shields, reuse.
 */
#include "fault.h"
#include "group.h"
#include "unit.h"

#include <stdlib.h>

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
    belay_exec_stats_data metrics = pool_end(exec);
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
        fault_alloc_once(k);
        ck_assert_int_eq(belay_group_create(exec, NULL, 0, &group), BELAY_ENOMEM);
        ck_assert_ptr_null(group);
    }
    group = group_below(exec, NULL, 0);
    call one = {.gate = OPEN};
    fault_alloc_once(1);
    ck_assert_int_eq(belay_group_spawn(group, call_run, &one, call_drop), BELAY_ENOMEM);
    ck_assert_uint_eq(one.drops + one.runs, 0);
    ck_assert_uint_eq(pool_stats(exec).outstanding, 0);
    ck_assert_int_eq(belay_group_cancel(group), 0);
    int status = 77;
    fault_alloc_once(1);
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
          spawn_wait_and_cancel_meet_in_any_order,
          an_empty_group_is_destroyed_while_its_parent_is_being_fired,
          every_allocation_of_a_group_may_fail)
