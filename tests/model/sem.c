/*
 * sem.c: the semaphore: each pair of its operations at once, on one permit that is held and one
 * request that waits for it.
 *
 * The world of a scenario: `held` holds the only permit; `waiting` waits for it through a callback,
 * with a token and, where the pair is about time, a deadline. Two threads do one operation each
 * while the first thread releases `held`. Afterwards everything is brought to an end, and every
 * request must have ended exactly once, every permit be back, and destroy succeed.
 */
#include "scenario.h"

#include <stdio.h>

#include "belay/sem.h"
#include "sem/sem_int.h"

#define OPERATIONS     10
#define PAIRS          (OPERATIONS * (OPERATIONS + 1) / 2)
#define DEADLINE_NS    1000
#define TIMEOUT_IN_USE BELAY_ETIMEDOUT
#define RESIZE         8 /* its place among the operations */

/* One acquire by callback, and how it ended. */
typedef struct request {
    belay_lease lease;
    uint32_t calls; /* of its callback; written by whoever delivers */
    int result;
} request;

typedef struct world {
    belay_sem *sem;
    belay_timers *timers; /* polled by nobody: no deadline of these worlds stands in them */
    belay_cancel *token;
    belay_lease held;
    request waiting;
    request late[3];        /* of the threads' async acquires */
    belay_lease *others[3]; /* the leases of blocking acquires that are at work, or NULL */
    unsigned calls;         /* takes and gives that are at work; counted outside the schedule */
    bool is_exclusive;      /* there is one permit throughout */
    uint32_t guarded;       /* written by whoever has the only permit */
    uint32_t inside;        /* atomic: holders now */
    uint32_t released;      /* atomic: releases of `held` that returned 0 */
    uint32_t capacity_most; /* atomic: the largest capacity there was */
    uint32_t is_closed;     /* atomic: somebody called close */
    uint32_t thread_count;  /* atomic: gives each thread its number */
} world;

static world *now;

static uint32_t held_by(const belay_lease *lease)
{
    bool is_held = lease->state == BLY_LEASE_HELD || lease->state == BLY_LEASE_RELEASING;
    return is_held ? lease->permits : 0;
}

/*
 * Whenever the lock is free: no more is available, reserved and held than there is, and all of it
 * unless a take or a give is at work, between its step on the permits and that on its lease.
 */
static void check_permits(void *arg)
{
    const world *here = arg;
    const belay_sem *sem = here->sem;
    if (sem == NULL || sem->lock.holder != 0) {
        return;
    }
    bool is_open = sem->fast != BLY_FAST_SHUT;
    uint32_t available = is_open ? sem->fast - BLY_FAST_OPEN : sem->available;
    uint32_t held = held_by(&here->held) + held_by(&here->waiting.lease);
    for (unsigned i = 0; i < 3; i++) {
        held += held_by(&here->late[i].lease);
        held += here->others[i] != NULL ? held_by(here->others[i]) : 0;
    }
    uint32_t all = sem->capacity + sem->debt;
    belay_model_check(available + held + sem->reserved <= all);
    belay_model_check(here->calls > 0 || available + held + sem->reserved == all);
    belay_model_check(sem->debt == 0 || available == 0);
    belay_model_check(!is_open || (sem->waiting == 0 && !sem->is_closed && sem->debt == 0));
}

/* Relaxed, so that nothing but the semaphore orders what its holders write. */
static void hold(void)
{
    uint32_t before = bly_fetch_add(&now->inside, 1u, BLY_RELAXED);
    /* An update sees the newest value: who resized may be ordered with the other holder alone. */
    belay_model_check(before < bly_fetch_add(&now->capacity_most, 0u, BLY_RELAXED));
    if (now->is_exclusive) {
        bly_write(&now->guarded, now->guarded + 1);
    }
}

static int give(belay_lease *lease)
{
    now->calls++;
    int result = belay_lease_release(lease);
    now->calls--;
    return result;
}

static void let_go(belay_lease *lease)
{
    bly_fetch_sub(&now->inside, 1u, BLY_RELAXED);
    belay_model_check(give(lease) == 0);
}

static int take(belay_lease *lease, int64_t deadline_ns, belay_cancel *token)
{
    now->calls++;
    int result = belay_sem_acquire(now->sem, lease, 1, deadline_ns, token);
    now->calls--;
    return result;
}

static void on_end(belay_lease *lease, int result, void *arg)
{
    request *self = arg;
    belay_model_check(lease == &self->lease);
    belay_model_check(bly_fetch_add(&self->calls, 1u, BLY_RELAXED) == 0);
    self->result = result;
    if (result == 0) {
        hold();
        let_go(lease);
    }
}

static bool is_an_end(int result)
{
    return result == 0 || result == BELAY_ETIMEDOUT || result == BELAY_ECANCELED ||
           result == BELAY_ECLOSED || result == BELAY_ETOOBIG;
}

/* The operations. */

/* Acquires on a lease that goes with the call, as a lease on a stack does. */
static void acquire_for(request *mine, int64_t deadline_ns, belay_cancel *token)
{
    belay_lease **place = &now->others[mine - now->late];
    belay_lease *lease = *place = bly_alloc(sizeof *lease);
    int result = take(lease, deadline_ns, token);
    belay_model_check(is_an_end(result) || (result == BELAY_EAGAIN && deadline_ns == BELAY_NOW));
    if (result == 0) {
        hold();
        let_go(lease);
    }
    *place = NULL;
    bly_free(lease);
}

static void acquire_blocking(request *mine)
{
    acquire_for(mine, BELAY_FOREVER, NULL);
}

static void acquire_timed(request *mine)
{
    acquire_for(mine, bly_monotonic_ns() + DEADLINE_NS, now->token);
}

static void acquire_async(request *mine)
{
    now->calls++;
    int result =
        belay_sem_acquire_async(now->sem, &mine->lease, 1, BELAY_FOREVER, NULL, on_end, mine);
    now->calls--;
    if (result == 0) {
        hold();
        let_go(&mine->lease);
    } else {
        belay_model_check(result == BELAY_PENDING || result == BELAY_ECLOSED);
    }
    if (result != BELAY_PENDING) {
        mine->calls = 1;
        mine->result = result;
    }
}

static void release_held(request *unused)
{
    (void)unused;
    int result = give(&now->held);
    belay_model_check(result == 0 || result == BELAY_ERELEASED);
    if (result == 0) {
        bly_fetch_add(&now->released, 1u, BLY_RELAXED);
    }
}

static void cancel_waiting(request *unused)
{
    (void)unused;
    int result = belay_lease_cancel(&now->waiting.lease);
    belay_model_check(result == 0 || result == BELAY_ETOOLATE || result == BELAY_ENOENT);
}

static void fire(request *unused)
{
    (void)unused;
    (void)belay_cancel_fire(now->token);
}

static void try_once(request *mine)
{
    acquire_for(mine, BELAY_NOW, NULL);
}

static void close_sem(request *unused)
{
    (void)unused;
    bly_store(&now->is_closed, 1u, BLY_RELAXED);
    belay_model_check(belay_sem_close(now->sem) == 0);
}

static void resize(request *unused)
{
    (void)unused;
    bly_store(&now->capacity_most, 2u, BLY_RELAXED);
    int up = belay_sem_resize(now->sem, 2);
    int down = belay_sem_resize(now->sem, 1);
    belay_model_check((up == 0 || up == BELAY_ECLOSED) && (down == 0 || down == BELAY_ECLOSED));
}

static void await_idle(request *unused)
{
    (void)unused;
    int result = belay_sem_await_idle(now->sem, bly_monotonic_ns() + DEADLINE_NS);
    belay_model_check(result == 0 || result == TIMEOUT_IN_USE);
}

static const struct {
    const char *name;
    void (*run)(request *mine);
} operations[OPERATIONS] = {
    {"acquire", acquire_blocking},
    {"timeout", acquire_timed},
    {"async", acquire_async},
    {"release", release_held},
    {"cancel", cancel_waiting},
    {"fire", fire},
    {"try", try_once},
    {"close", close_sem},
    {"resize", resize},
    {"await-idle", await_idle},
};

typedef struct pair {
    unsigned first, second;
    char name[40];
} pair;

static void run_operation(void *arg)
{
    uint32_t number = bly_fetch_add(&now->thread_count, 1u, BLY_RELAXED);
    operations[*(unsigned *)arg].run(&now->late[number]);
}

static void open_world(bool has_waiting, bool is_exclusive)
{
    belay_timers_opts polled = {.size = sizeof polled, .is_polled = 1};
    belay_sem_opts opts = {.size = sizeof opts, .capacity = 1};
    now = bly_alloc(sizeof *now);
    belay_model_check(belay_timers_create(&polled, &now->timers) == 0);
    opts.timers = now->timers;
    now->capacity_most = 1;
    now->is_exclusive = is_exclusive;
    belay_model_check(belay_cancel_create(NULL, 0, &now->token) == 0);
    belay_model_check(belay_sem_create(&opts, &now->sem) == 0);
    belay_model_check(take(&now->held, BELAY_NOW, NULL) == 0);
    if (has_waiting) {
        int result = belay_sem_acquire_async(now->sem, &now->waiting.lease, 1, BELAY_FOREVER,
                                             now->token, on_end, &now->waiting);
        belay_model_check(result == BELAY_PENDING);
    }
    bly_write(&now->guarded, 1);
    belay_model_invariant(check_permits, now);
}

static void check_ended(const request *one, bool was_used)
{
    belay_model_check(!was_used || one->calls == 1);
    belay_model_check(is_an_end(one->result));
}

static void close_world(void)
{
    belay_model_check(bly_load(&now->released, BLY_RELAXED) == 1);
    belay_model_check(bly_load(&now->inside, BLY_RELAXED) == 0);
    check_ended(&now->waiting, now->waiting.lease.self != NULL);
    for (unsigned i = 0; i < 3; i++) {
        check_ended(&now->late[i], now->late[i].lease.self != NULL);
    }
    belay_sem_metrics stats = {.size = sizeof stats};
    belay_model_check(belay_sem_stats(now->sem, &stats) == 0);
    belay_model_check(stats.available == stats.capacity && stats.held == 0 && stats.waiting == 0);
    belay_model_check(stats.undelivered == 0 && stats.debt == 0);
    belay_model_invariant(NULL, NULL);
    belay_model_check(belay_sem_destroy(now->sem) == 0);
    belay_model_check(belay_timers_destroy(now->timers) == 0);
    belay_cancel_unref(now->token);
    bly_free(now);
    now = NULL;
}

static void run_pair(void *arg)
{
    pair *both = arg;
    open_world(true, both->first != RESIZE && both->second != RESIZE);
    int first = belay_model_start(run_operation, &both->first);
    int second = belay_model_start(run_operation, &both->second);
    release_held(NULL);
    belay_model_join(first);
    belay_model_join(second);
    close_world();
}

/*
 * Nobody waits at first: one operation and any other, while the permit is given back without the
 * lock or with it.
 */
static void run_open(void *arg)
{
    unsigned first = *(unsigned *)arg;
    unsigned second = belay_model_choose(OPERATIONS);
    open_world(false, first != RESIZE && second != RESIZE);
    int threads[2] = {belay_model_start(run_operation, &first),
                      belay_model_start(run_operation, &second)};
    release_held(NULL);
    belay_model_join(threads[0]);
    belay_model_join(threads[1]);
    close_world();
}

/* Any three of the operations: which ones is a decision of the explorer's too. */
static void run_any_three(void *arg)
{
    unsigned chosen[3];
    int threads[3];
    (void)arg;
    open_world(true, false);
    for (unsigned i = 0; i < 3; i++) {
        chosen[i] = belay_model_choose(OPERATIONS);
        threads[i] = belay_model_start(run_operation, &chosen[i]);
    }
    release_held(NULL);
    for (unsigned i = 0; i < 3; i++) {
        belay_model_join(threads[i]);
    }
    close_world();
}

/* The last release frees the semaphore in its callback, while a second thread releases too. */

static void destroy_from_callback(belay_lease *lease, int result, void *arg)
{
    (void)arg;
    belay_model_check(result == 0);
    belay_model_check(belay_lease_release(lease) == 0);
    belay_model_check(belay_sem_destroy(now->sem) == 0);
    now->sem = NULL;
}

static void release_other(void *arg)
{
    belay_model_check(belay_lease_release(arg) == 0);
}

static void destroyed_by_the_last(void *arg)
{
    (void)arg;
    belay_sem_opts opts = {.size = sizeof opts, .capacity = 2};
    static belay_lease both, other;
    both = other = (belay_lease)BELAY_LEASE_INIT;
    now = bly_alloc(sizeof *now);
    belay_model_check(belay_sem_create(&opts, &now->sem) == 0);
    belay_model_check(belay_sem_acquire(now->sem, &now->held, 1, BELAY_NOW, NULL) == 0);
    belay_model_check(belay_sem_acquire(now->sem, &other, 1, BELAY_NOW, NULL) == 0);
    belay_model_check(belay_sem_acquire_async(now->sem, &both, 2, BELAY_FOREVER, NULL,
                                              destroy_from_callback, NULL) == BELAY_PENDING);
    int first = belay_model_start(release_other, &other);
    release_other(&now->held);
    belay_model_join(first);
    belay_model_check(now->sem == NULL);
    bly_free(now);
}

/*
 * A request times out on the service's thread, or is granted, beside the release of what is held.
 * In one scenario the last of the two to end destroys the semaphore, and with it its timers, on
 * either thread; in the other a third thread waits until it is idle and destroys it at once, beside
 * calls that are still returning.
 */

static void destroy_now(void)
{
    belay_model_check(belay_sem_destroy(now->sem) == 0);
    bly_fetch_add(&now->released, 1u, BLY_RELEASE); /* who sees it frees `now` */
    bly_futex_wake(&now->released, 1);
}

static void destroy_as_second(void)
{
    if (bly_fetch_add(&now->inside, 1u, BLY_ACQ_REL) == 1) {
        destroy_now();
    }
}

static void end_then_destroy(belay_lease *lease, int result, void *arg)
{
    const bool *is_destroyer = arg;
    belay_model_check(result == 0 || result == BELAY_ETIMEDOUT);
    if (result == 0) {
        belay_model_check(belay_lease_release(lease) == 0);
    }
    if (*is_destroyer) {
        destroy_as_second();
    }
}

static void open_with_deadline(bool *is_destroyer)
{
    belay_sem_opts opts = {.size = sizeof opts, .capacity = 1};
    now = bly_alloc(sizeof *now);
    belay_model_check(belay_sem_create(&opts, &now->sem) == 0);
    belay_model_check(belay_sem_acquire(now->sem, &now->held, 1, BELAY_NOW, NULL) == 0);
    int64_t deadline_ns = bly_monotonic_ns() + DEADLINE_NS;
    int result = belay_sem_acquire_async(now->sem, &now->waiting.lease, 1, deadline_ns, NULL,
                                         end_then_destroy, is_destroyer);
    belay_model_check(result == BELAY_PENDING || result == BELAY_ETIMEDOUT);
    if (result == BELAY_ETIMEDOUT) {
        now->inside = 1;
    }
}

static void destroyed_beside_a_timeout(void *arg)
{
    static bool is_destroyer = true;
    (void)arg;
    open_with_deadline(&is_destroyer);
    release_other(&now->held);
    destroy_as_second();
    /* The callback may be the second, on the service's thread: it tells through the word. */
    while (bly_load(&now->released, BLY_ACQUIRE) == 0) {
        (void)bly_futex_wait(&now->released, 0, BELAY_FOREVER);
    }
    belay_model_check(bly_load(&now->released, BLY_RELAXED) == 1);
    bly_free(now);
}

static void await_and_destroy(void *arg)
{
    (void)arg;
    belay_model_check(belay_sem_await_idle(now->sem, BELAY_FOREVER) == 0);
    destroy_now();
}

static void destroyed_as_soon_as_idle(void *arg)
{
    static bool is_destroyer = false;
    (void)arg;
    open_with_deadline(&is_destroyer);
    int first = belay_model_start(await_and_destroy, NULL);
    release_other(&now->held);
    belay_model_join(first);
    belay_model_check(bly_load(&now->released, BLY_RELAXED) == 1);
    bly_free(now);
}

/* A large request at the head, a small one behind it: the head is canceled while permits return. */

static void cancel_large(void *arg)
{
    int result = belay_lease_cancel(arg);
    belay_model_check(result == 0 || result == BELAY_ETOOLATE);
}

static void canceled_head_lets_others_pass(void *arg)
{
    (void)arg;
    belay_sem_opts opts = {.size = sizeof opts, .capacity = 2};
    now = bly_alloc(sizeof *now);
    now->capacity_most = 3;
    belay_model_check(belay_sem_create(&opts, &now->sem) == 0);
    belay_model_check(belay_sem_acquire(now->sem, &now->held, 1, BELAY_NOW, NULL) == 0);
    request *large = &now->waiting, *small = &now->late[0];
    belay_model_check(belay_sem_acquire_async(now->sem, &large->lease, 2, BELAY_FOREVER, NULL,
                                              on_end, large) == BELAY_PENDING);
    belay_model_check(belay_sem_acquire_async(now->sem, &small->lease, 1, BELAY_FOREVER, NULL,
                                              on_end, small) == BELAY_PENDING);
    int first = belay_model_start(cancel_large, &large->lease);
    release_other(&now->held);
    belay_model_join(first);
    belay_model_check(large->calls == 1 && small->calls == 1 && small->result == 0);
    belay_model_check(belay_sem_destroy(now->sem) == 0);
    bly_free(now);
}

/*
 * Two threads acquire with one lease, which is a copy of one that has ended: exactly one gets it,
 * and releases it beside the other. The fields of the lease are marked, so one that is touched
 * before the lease is claimed is a race.
 */

static void acquire_shared(void *lease)
{
    int result = belay_sem_acquire(now->sem, lease, 1, BELAY_NOW, NULL);
    belay_model_check(result == 0 || result == BELAY_EBUSY);
    if (result == 0) {
        bly_fetch_add(&now->inside, 1u, BLY_RELAXED);
        belay_model_check(belay_lease_release(lease) == 0);
    }
}

static void one_lease_two_acquires(void *arg)
{
    (void)arg;
    belay_sem_opts opts = {.size = sizeof opts, .capacity = 2};
    now = bly_alloc(sizeof *now);
    belay_model_check(belay_sem_create(&opts, &now->sem) == 0);
    acquire_shared(&now->held);
    now->waiting.lease = now->held;
    int first = belay_model_start(acquire_shared, &now->waiting.lease);
    acquire_shared(&now->waiting.lease);
    belay_model_join(first);
    belay_model_check(now->inside == 2 || now->inside == 3);
    belay_model_check(belay_sem_destroy(now->sem) == 0);
    bly_free(now);
}

/*
 * Two leases are given back while a third thread waits until the semaphore is idle, and destroys it
 * at once: both releases may still be returning.
 */
static void destroyed_beside_releases(void *arg)
{
    static belay_lease other;
    (void)arg;
    belay_sem_opts opts = {.size = sizeof opts, .capacity = 2};
    other = (belay_lease)BELAY_LEASE_INIT;
    now = bly_alloc(sizeof *now);
    belay_model_check(belay_sem_create(&opts, &now->sem) == 0);
    belay_model_check(belay_sem_acquire(now->sem, &now->held, 1, BELAY_NOW, NULL) == 0);
    belay_model_check(belay_sem_acquire(now->sem, &other, 1, BELAY_NOW, NULL) == 0);
    int first = belay_model_start(await_and_destroy, NULL);
    int second = belay_model_start(release_other, &other);
    release_other(&now->held);
    belay_model_join(first);
    belay_model_join(second);
    belay_model_check(bly_load(&now->released, BLY_RELAXED) == 1);
    bly_free(now);
}

static pair pairs[PAIRS];
static unsigned firsts[OPERATIONS];
static char open_names[OPERATIONS][40];
static scenario pair_scenarios[PAIRS + OPERATIONS + 8];

const scenario *sem_scenarios(void)
{
    unsigned count = 0;
    for (unsigned i = 0; i < OPERATIONS; i++) {
        for (unsigned j = i; j < OPERATIONS; j++) {
            pair *both = &pairs[count];
            *both = (pair){.first = i, .second = j};
            snprintf(both->name, sizeof both->name, "sem/%s-%s", operations[i].name,
                     operations[j].name);
            pair_scenarios[count++] = (scenario){.name = both->name,
                                                 .fn = run_pair,
                                                 .arg = both,
                                                 .opts = {.preemptions = 2, .spurious = 1}};
        }
    }
    for (unsigned i = 0; i < OPERATIONS; i++) {
        firsts[i] = i;
        snprintf(open_names[i], sizeof open_names[i], "sem/open-%s", operations[i].name);
        pair_scenarios[count++] = (scenario){.name = open_names[i],
                                             .fn = run_open,
                                             .arg = &firsts[i],
                                             .opts = {.preemptions = 2, .spurious = 1}};
    }
    pair_scenarios[count++] = (scenario){
        .name = "sem/any-three", .fn = run_any_three, .opts = {.preemptions = 3, .spurious = 1}};
    pair_scenarios[count++] = (scenario){.name = "sem/destroyed-by-the-last",
                                         .fn = destroyed_by_the_last,
                                         .opts = {.preemptions = 3, .spurious = 1}};
    pair_scenarios[count++] = (scenario){.name = "sem/destroyed-beside-a-timeout",
                                         .fn = destroyed_beside_a_timeout,
                                         .opts = {.preemptions = 2, .spurious = 1}};
    pair_scenarios[count++] = (scenario){.name = "sem/destroyed-as-soon-as-idle",
                                         .fn = destroyed_as_soon_as_idle,
                                         .opts = {.preemptions = 2, .spurious = 1}};
    pair_scenarios[count++] = (scenario){.name = "sem/destroyed-beside-releases",
                                         .fn = destroyed_beside_releases,
                                         .opts = {.preemptions = 3, .spurious = 1}};
    pair_scenarios[count++] =
        (scenario){.name = "sem/one-lease-two-acquires", .fn = one_lease_two_acquires};
    pair_scenarios[count] = (scenario){.name = "sem/canceled-head-lets-others-pass",
                                       .fn = canceled_head_lets_others_pass,
                                       .opts = {.preemptions = 3, .spurious = 1}};
    return pair_scenarios;
}
