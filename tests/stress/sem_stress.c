/*
 * sem_stress: threads do to one semaphore whatever can be done, and the history is checked.
 *
 *     stress_sem [OPERATIONS [SEED [THREADS]]]
 *
 * The run is cut into rounds, each with a semaphore of its own whose capacity, bound of waiters,
 * executor, resizes and close are drawn from the seed. Every acquire is an entry with a fresh
 * lease, and recorded in a history (belay/test.h). The semaphore numbers those that queue in the
 * order of its queue and those that it grants in the order of its grants, both under its lock, and
 * leaves the numbers in the lease. A round is right when
 *
 *   - its history is: one outcome each, callbacks included, the order of the queue, the capacity;
 *   - a try got nothing while another acquire of its thread stood in the queue;
 *   - at each look, and at the end, available + held + reserved = capacity + debt;
 *   - the counters of the semaphore agree with the outcomes that the callers saw.
 */
#include "belay/sem.h"
#include "belay/test.h"

#include "sem/state.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUND_ENTRIES 5000 /* of one thread in one round */
#define THREADS_MAX   16
#define CAPACITY_MAX  8

#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fail(#condition, __LINE__);                                                            \
        }                                                                                          \
    } while (0)

typedef struct entry {
    belay_lease lease;
    struct entry *next_held; /* the pool's lock */
    uint32_t permits;
    int number; /* in the history */
} entry;

typedef struct actor {
    pthread_t thread;
    uint64_t random;
    belay_cancel *token; /* fired and replaced now and then */
    entry *entries;
    uint32_t count;   /* of entries begun */
    uint32_t refused; /* second releases */
    entry *queued;    /* the last that was promised a callback */
    bool is_pump;     /* never waits without a deadline, so that the others go on */
} actor;

static belay_sem *sem;
static belay_history *history; /* of this round */
static actor actors[THREADS_MAX];
static uint32_t actor_count;
static belay_mailbox *mailbox; /* where callbacks come in this round; NULL: inline */
static uint64_t run_seed;
static uint32_t capacity_max; /* of this round */
static bool may_resize;       /* in this round */
static bool may_close;
static uint32_t busy_actors; /* atomic: that have not ended their part of the round */

/* Callbacks promised, and those that have returned; atomic. */
static uint64_t promised;
static uint64_t kept;

/* Leases held by nobody in particular: any thread may release them. */
static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static entry *pool;

static void fail(const char *what, int line)
{
    fprintf(stderr, "sem_stress: seed %llu, line %d: %s\n", (unsigned long long)run_seed, line,
            what);
    abort();
}

static uint64_t draw(uint64_t *state)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t mixed = *state;
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ (mixed >> 31);
}

static uint32_t draw_below(actor *self, uint32_t limit)
{
    return (uint32_t)(draw(&self->random) % limit);
}

static void release(entry *held)
{
    EXPECT(belay_history_release(history, held->number) == 0);
    EXPECT(belay_lease_release(&held->lease) == 0);
}

static void push_held(entry *held)
{
    pthread_mutex_lock(&pool_lock);
    held->next_held = pool;
    pool = held;
    pthread_mutex_unlock(&pool_lock);
}

static entry *pop_held(void)
{
    pthread_mutex_lock(&pool_lock);
    entry *held = pool;
    if (held != NULL) {
        pool = held->next_held;
    }
    pthread_mutex_unlock(&pool_lock);
    return held;
}

static void end(const entry *self, int outcome)
{
    EXPECT(belay_history_end(history, self->number, outcome) == 0);
}

static void called_back(belay_lease *lease, int result, void *arg)
{
    entry *self = arg;
    EXPECT(lease == &self->lease);
    end(self, result);
    if (result == 0) {
        /* By the address: half of them at once, half of them by whoever comes. */
        if (((uintptr_t)self / sizeof *self) % 2 == 0) {
            release(self);
        } else {
            push_held(self);
        }
    }
    __atomic_add_fetch(&kept, 1, __ATOMIC_SEQ_CST);
}

static int64_t draw_deadline(actor *self)
{
    int64_t now_ns = belay_clock_now(NULL);
    switch (draw_below(self, 8)) {
    case 0:
        return BELAY_NOW;
    case 1:
        return now_ns;
    case 2:
    case 3:
        return now_ns + draw_below(self, 2000);
    case 4:
    case 5:
        return now_ns + draw_below(self, 200000);
    default:
        return self->is_pump ? now_ns + 100000 : BELAY_FOREVER;
    }
}

static entry *begin_entry(actor *self)
{
    entry *fresh = &self->entries[self->count++];
    *fresh = (entry){.lease = BELAY_LEASE_INIT, .permits = 1 + draw_below(self, capacity_max)};
    fresh->number = belay_history_begin(history, fresh->permits);
    EXPECT(fresh->number >= 0);
    return fresh;
}

static void acquire_async(actor *self)
{
    entry *fresh = begin_entry(self);
    belay_cancel *token = draw_below(self, 3) == 0 ? self->token : NULL;
    int result = belay_sem_acquire_async(sem, &fresh->lease, fresh->permits, draw_deadline(self),
                                         token, called_back, fresh);
    if (result == BELAY_PENDING) {
        self->queued = fresh;
        __atomic_add_fetch(&promised, 1, __ATOMIC_SEQ_CST);
        return;
    }
    end(fresh, result);
    if (result == 0) {
        push_held(fresh);
    }
}

static void acquire_blocking(actor *self)
{
    entry *fresh = begin_entry(self);
    belay_cancel *token = draw_below(self, 3) == 0 ? self->token : NULL;
    int result = belay_sem_acquire(sem, &fresh->lease, fresh->permits, draw_deadline(self), token);
    end(fresh, result);
    if (result == 0) {
        release(fresh);
    }
}

static void release_one(void)
{
    entry *held = pop_held();
    if (held != NULL) {
        release(held);
    }
}

/* One of the last sixteen of this thread's own, which may be in any state. */
static void cancel_one(actor *self)
{
    if (self->count > 0) {
        uint32_t back = 1 + draw_below(self, self->count < 16 ? self->count : 16);
        int result = belay_lease_cancel(&self->entries[self->count - back].lease);
        EXPECT(result == 0 || result == BELAY_ETOOLATE || result == BELAY_ENOENT);
    }
}

static bool is_waiting(const entry *self)
{
    return self != NULL && bly_lease_state_of(&self->lease) == BLY_LEASE_WAITING;
}

/* A try, which passes nobody who waits, and a lease that is released twice. */
static void release_twice(actor *self)
{
    entry *fresh = begin_entry(self);
    bool was_waiting = is_waiting(self->queued);
    int result = belay_sem_acquire(sem, &fresh->lease, fresh->permits, BELAY_NOW, NULL);
    EXPECT(result != 0 || !was_waiting || !is_waiting(self->queued));
    end(fresh, result);
    if (result == 0) {
        release(fresh);
        EXPECT(belay_lease_release(&fresh->lease) == BELAY_ERELEASED);
        self->refused++;
    } else {
        EXPECT(belay_lease_release(&fresh->lease) == BELAY_ENOTHELD);
    }
}

static void fire(actor *self)
{
    EXPECT(belay_cancel_fire(self->token) == 0);
    belay_cancel_unref(self->token);
    EXPECT(belay_cancel_create(NULL, 0, &self->token) == 0);
}

static void look(void)
{
    belay_sem_metrics stats = {.size = sizeof stats};
    EXPECT(belay_sem_stats(sem, &stats) == 0);
    EXPECT(stats.available + stats.held + stats.reserved == stats.capacity + stats.debt);
    EXPECT(stats.debt == 0 || stats.available == 0);
}

static void resize(actor *self)
{
    if (may_resize) {
        int result = belay_sem_resize(sem, 1 + draw_below(self, capacity_max));
        EXPECT(result == 0 || result == BELAY_ECLOSED);
    }
}

static void act(actor *self)
{
    uint32_t choice = draw_below(self, 100);
    if (choice < 40) {
        acquire_async(self);
    } else if (choice < 60) {
        acquire_blocking(self);
    } else if (choice < 80) {
        release_one();
    } else if (choice < 88) {
        cancel_one(self);
    } else if (choice < 93) {
        release_twice(self);
    } else if (choice < 95) {
        fire(self);
    } else if (choice < 98) {
        look();
        if (self->is_pump && mailbox != NULL) {
            EXPECT(belay_mailbox_run(mailbox, 1 + (int)draw_below(self, 8)) >= 0);
        }
    } else {
        resize(self);
    }
}

/* Releases whatever stands in the pool, and calls what stands in the mailbox. */
static void drain(void)
{
    int called = 0;
    do {
        called = mailbox != NULL ? belay_mailbox_run(mailbox, 0) : 0;
        for (entry *held = pop_held(); held != NULL; held = pop_held()) {
            release(held);
        }
    } while (called > 0);
}

static void *run_actor(void *arg)
{
    actor *self = arg;
    while (self->count < ROUND_ENTRIES) {
        act(self);
        if (may_close && self->is_pump && self->count == ROUND_ENTRIES / 2) {
            EXPECT(belay_sem_close(sem) == 0);
        }
    }
    __atomic_sub_fetch(&busy_actors, 1, __ATOMIC_SEQ_CST);
    /* The pump releases until all have ended: they may wait for what stands in the pool. */
    while (self->is_pump && __atomic_load_n(&busy_actors, __ATOMIC_SEQ_CST) > 0) {
        drain();
        sched_yield();
    }
    return NULL;
}

/* Tells the history what the leases say of the queue; gives how many were granted from it. */
static uint32_t add_order(void)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < actor_count; i++) {
        for (uint32_t j = 0; j < actors[i].count; j++) {
            const entry *self = &actors[i].entries[j];
            uint64_t turn = self->lease.mark >> 32;
            if (turn != 0) {
                uint64_t place = (uint32_t)self->lease.mark;
                EXPECT(belay_history_order(history, self->number, place, turn) == 0);
                found++;
            }
        }
    }
    return found;
}

static void check_history(void)
{
    uint32_t shown = 0;
    const char *broken = belay_history_check(history, &shown);
    if (broken != NULL) {
        fprintf(stderr, "sem_stress: acquire %u: %s\n", shown, broken);
    }
    EXPECT(broken == NULL);
}

/* How often each outcome came, over the whole run: a mix without one of them tests less. */
static uint64_t totals[8];

static void add_totals(const belay_sem_metrics *stats)
{
    const uint64_t counts[] = {stats->granted_waiting, stats->timed_out,       stats->canceled,
                               stats->closed,          stats->too_big,         stats->refused_full,
                               stats->late_cancels,    stats->releases_refused};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        totals[i] += counts[i];
    }
}

static void check_round(void)
{
    belay_sem_metrics stats = {.size = sizeof stats};
    EXPECT(belay_sem_stats(sem, &stats) == 0);
    EXPECT(stats.available == stats.capacity && stats.debt == 0);
    EXPECT(add_order() == stats.granted_waiting);
    check_history();
    EXPECT(belay_history_count(history, BELAY_ETIMEDOUT) == stats.timed_out);
    EXPECT(belay_history_count(history, BELAY_ECANCELED) == stats.canceled);
    EXPECT(belay_history_count(history, BELAY_ECLOSED) == stats.closed);
    EXPECT(belay_history_count(history, BELAY_ETOOBIG) == stats.too_big);
    EXPECT(belay_history_count(history, BELAY_EFULL) == stats.refused_full);
    uint64_t refused = 0;
    for (uint32_t i = 0; i < actor_count; i++) {
        refused += actors[i].refused;
    }
    EXPECT(refused == stats.releases_refused);
    add_totals(&stats);
}

static void open_round(uint64_t *random)
{
    capacity_max = 1 + (uint32_t)(draw(random) % CAPACITY_MAX);
    may_resize = draw(random) % 2 == 0;
    may_close = draw(random) % 2 == 0;
    belay_sem_opts opts = {.size = sizeof opts, .capacity = capacity_max};
    opts.waiters_max = draw(random) % 3 == 0 ? 8 : 0;
    mailbox = NULL;
    if (draw(random) % 3 == 0) {
        EXPECT(belay_mailbox_create(NULL, &mailbox) == 0);
        opts.executor = belay_mailbox_executor(mailbox);
    }
    EXPECT(belay_sem_create(&opts, &sem) == 0);
    EXPECT(belay_history_create(capacity_max, actor_count * ROUND_ENTRIES, &history) == 0);
    busy_actors = actor_count;
    for (uint32_t i = 0; i < actor_count; i++) {
        actor *self = &actors[i];
        self->random = draw(random);
        self->is_pump = i == 0;
        self->count = self->refused = 0;
        self->queued = NULL;
        EXPECT(belay_cancel_create(NULL, 0, &self->token) == 0);
    }
}

static void run_round(uint64_t *random)
{
    open_round(random);
    for (uint32_t i = 0; i < actor_count; i++) {
        EXPECT(pthread_create(&actors[i].thread, NULL, run_actor, &actors[i]) == 0);
    }
    for (uint32_t i = 0; i < actor_count; i++) {
        EXPECT(pthread_join(actors[i].thread, NULL) == 0);
    }
    /* Whoever still waits is served by the rest of the pool, or ended. */
    drain();
    EXPECT(belay_sem_close(sem) == 0);
    while (belay_sem_await_idle(sem, belay_clock_now(NULL) + 100000) != 0) {
        drain(); /* the timers' thread may have granted some more */
    }
    /* Idle means that the last callback has begun; here it has to be over. */
    while (__atomic_load_n(&kept, __ATOMIC_SEQ_CST) != promised) {
        sched_yield();
    }
    check_round();
    EXPECT(belay_sem_destroy(sem) == 0);
    EXPECT(belay_mailbox_destroy(mailbox) == 0);
    belay_history_destroy(history);
    for (uint32_t i = 0; i < actor_count; i++) {
        belay_cancel_unref(actors[i].token);
    }
}

int main(int argc, char **argv)
{
    uint64_t operations = argc > 1 ? strtoull(argv[1], NULL, 0) : 300000;
    run_seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    actor_count = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 0) : 4;
    if (actor_count < 1 || actor_count > THREADS_MAX) {
        fprintf(stderr, "usage: stress_sem [OPERATIONS [SEED [THREADS, at most %d]]]\n",
                THREADS_MAX);
        return 2;
    }
    for (uint32_t i = 0; i < actor_count; i++) {
        actors[i].entries = calloc(ROUND_ENTRIES, sizeof *actors[i].entries);
        EXPECT(actors[i].entries != NULL);
    }
    uint64_t random = run_seed;
    uint64_t done = 0;
    for (; done < operations; done += (uint64_t)ROUND_ENTRIES * actor_count) {
        run_round(&random);
    }
    for (uint32_t i = 0; i < actor_count; i++) {
        free(actors[i].entries);
    }
    static const char *const names[] = {
        "granted after waiting", "timed out",      "canceled", "closed", "too big", "full",
        "late cancels",          "second releases"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        printf("%s %llu, ", names[i], (unsigned long long)totals[i]);
    }
    printf("\n%llu acquires by %u threads: histories are right\n", (unsigned long long)done,
           actor_count);
    return 0;
}
