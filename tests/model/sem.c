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
#define REQUESTS_MAX   6
#define TIMEOUT_IN_USE BELAY_ETIMEDOUT

/* One acquire by callback, and how it ended. */
typedef struct request {
    belay_lease lease;
    uint32_t calls; /* of its callback; written by whoever delivers */
    int result;
} request;

typedef struct world {
    belay_sem *sem;
    belay_cancel *token;
    belay_lease held;
    request waiting;
    request late[3];        /* of the threads' async acquires */
    uint32_t inside;        /* atomic: holders now */
    uint32_t released;      /* atomic: releases of `held` that returned 0 */
    uint32_t capacity_most; /* atomic: the largest capacity there was */
    uint32_t is_closed;     /* atomic: somebody called close */
    uint32_t thread_count;  /* atomic: gives each thread its number */
} world;

static world *now;

/* Rule 1, whenever the lock is free. */
static void check_permits(void *arg)
{
    const world *here = arg;
    const belay_sem *sem = here->sem;
    if (sem == NULL || sem->lock.holder != 0) {
        return;
    }
    uint32_t in_use = sem->capacity + sem->debt - sem->available;
    belay_model_check(sem->reserved <= in_use);
    belay_model_check(sem->debt == 0 || sem->available == 0);
    belay_model_check(sem->available <= sem->capacity);
}

static void hold(void)
{
    uint32_t before = bly_fetch_add(&now->inside, 1u, BLY_ACQ_REL);
    belay_model_check(before < bly_load(&now->capacity_most, BLY_RELAXED));
}

static void let_go(belay_lease *lease)
{
    bly_fetch_sub(&now->inside, 1u, BLY_ACQ_REL);
    belay_model_check(belay_lease_release(lease) == 0);
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

static void acquire_blocking(request *unused)
{
    (void)unused;
    belay_lease *lease = bly_alloc(sizeof *lease);
    int result = belay_sem_acquire(now->sem, lease, 1, BELAY_FOREVER, NULL);
    belay_model_check(result == 0 || result == BELAY_ECLOSED);
    if (result == 0) {
        hold();
        let_go(lease);
    }
    bly_free(lease);
}

static void acquire_timed(request *unused)
{
    (void)unused;
    belay_lease lease = BELAY_LEASE_INIT;
    int64_t deadline_ns = bly_monotonic_ns() + DEADLINE_NS;
    int result = belay_sem_acquire(now->sem, &lease, 1, deadline_ns, now->token);
    belay_model_check(is_an_end(result));
    if (result == 0) {
        hold();
        let_go(&lease);
    }
}

static void acquire_async(request *mine)
{
    int result =
        belay_sem_acquire_async(now->sem, &mine->lease, 1, BELAY_FOREVER, NULL, on_end, mine);
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
    int result = belay_lease_release(&now->held);
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

static void try_once(request *unused)
{
    (void)unused;
    belay_lease lease = BELAY_LEASE_INIT;
    int result = belay_sem_acquire(now->sem, &lease, 1, BELAY_NOW, NULL);
    belay_model_check(result == 0 || result == BELAY_EAGAIN || result == BELAY_ECLOSED);
    if (result == 0) {
        hold();
        let_go(&lease);
    }
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

static void open_world(void)
{
    belay_sem_opts opts = {.size = sizeof opts, .capacity = 1};
    now = bly_alloc(sizeof *now);
    now->capacity_most = 1;
    belay_model_check(belay_cancel_create(NULL, 0, &now->token) == 0);
    belay_model_check(belay_sem_create(&opts, &now->sem) == 0);
    belay_model_check(belay_sem_acquire(now->sem, &now->held, 1, BELAY_NOW, NULL) == 0);
    int result = belay_sem_acquire_async(now->sem, &now->waiting.lease, 1, BELAY_FOREVER,
                                         now->token, on_end, &now->waiting);
    belay_model_check(result == BELAY_PENDING);
    belay_model_invariant(check_permits, now);
}

static void check_ended(const request *one, bool was_used)
{
    belay_model_check(!was_used || one->calls == 1);
    belay_model_check(is_an_end(one->result));
}

static void close_world(const pair *both)
{
    belay_model_check(bly_load(&now->released, BLY_RELAXED) == 1);
    belay_model_check(bly_load(&now->inside, BLY_RELAXED) == 0);
    check_ended(&now->waiting, true);
    for (unsigned i = 0; i < 3; i++) {
        check_ended(&now->late[i], now->late[i].lease.self != NULL);
    }
    belay_sem_metrics stats = {.size = sizeof stats};
    belay_model_check(belay_sem_stats(now->sem, &stats) == 0);
    belay_model_check(stats.available == stats.capacity && stats.held == 0 && stats.waiting == 0);
    belay_model_check(stats.undelivered == 0 && stats.debt == 0);
    belay_model_check(both != NULL);
    belay_model_invariant(NULL, NULL);
    belay_model_check(belay_sem_destroy(now->sem) == 0);
    belay_cancel_unref(now->token);
    bly_free(now);
    now = NULL;
}

static void run_pair(void *arg)
{
    pair *both = arg;
    open_world();
    int first = belay_model_start(run_operation, &both->first);
    int second = belay_model_start(run_operation, &both->second);
    release_held(NULL);
    belay_model_join(first);
    belay_model_join(second);
    close_world(both);
}

/* Any three of the operations: which ones is a decision of the explorer's too. */
static void run_any_three(void *arg)
{
    unsigned chosen[3];
    int threads[3];
    open_world();
    for (unsigned i = 0; i < 3; i++) {
        chosen[i] = belay_model_choose(OPERATIONS);
        threads[i] = belay_model_start(run_operation, &chosen[i]);
    }
    release_held(NULL);
    for (unsigned i = 0; i < 3; i++) {
        belay_model_join(threads[i]);
    }
    close_world(arg);
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
    bly_fetch_add(&now->released, 1u, BLY_RELAXED);
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
    while (bly_load(&now->released, BLY_RELAXED) == 0) {
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

static pair pairs[PAIRS];
static scenario pair_scenarios[PAIRS + 7];

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
    pair_scenarios[count++] = (scenario){.name = "sem/any-three",
                                         .fn = run_any_three,
                                         .arg = &pairs[0],
                                         .opts = {.preemptions = 3, .spurious = 1}};
    pair_scenarios[count++] = (scenario){.name = "sem/destroyed-by-the-last",
                                         .fn = destroyed_by_the_last,
                                         .opts = {.preemptions = 3, .spurious = 1}};
    pair_scenarios[count++] = (scenario){.name = "sem/destroyed-beside-a-timeout",
                                         .fn = destroyed_beside_a_timeout,
                                         .opts = {.preemptions = 2, .spurious = 1}};
    pair_scenarios[count++] = (scenario){.name = "sem/destroyed-as-soon-as-idle",
                                         .fn = destroyed_as_soon_as_idle,
                                         .opts = {.preemptions = 2, .spurious = 1}};
    pair_scenarios[count++] =
        (scenario){.name = "sem/one-lease-two-acquires", .fn = one_lease_two_acquires};
    pair_scenarios[count] = (scenario){.name = "sem/canceled-head-lets-others-pass",
                                       .fn = canceled_head_lets_others_pass,
                                       .opts = {.preemptions = 3, .spurious = 1}};
    return pair_scenarios;
}
