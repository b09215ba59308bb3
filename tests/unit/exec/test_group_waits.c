/*
 * test_group_waits.c: waiting for groups inside the pool: what a waiter runs, and what not.
 */
#include "group.h"
#include "unit.h"

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
    belay_exec_stats_data metrics = pool_stats(exec);
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
    for (int i = 0; i < 4000; i++) {
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
    ck_assert_uint_eq(total, 2 * 3 * 4000);
    ck_assert_int_eq(belay_group_destroy(group), 0);
    pool_end(exec);
}
END_TEST

UNIT_MAIN("exec/group_waits", a_member_that_waits_for_its_group_is_told_of_the_deadlock,
          the_only_worker_runs_the_members_it_waits_for_out_of_its_inbox,
          a_tree_of_groups_runs_each_leaf_once_on_any_number_of_workers,
          a_lock_held_over_a_group_is_no_deadlock_as_no_sibling_starts_on_top,
          many_scopes_fit_a_small_stack)
