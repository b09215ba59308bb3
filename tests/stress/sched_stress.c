/*
 * sched_stress.c: threads that schedule, replace, cancel and close, against a count of what became
 * of every job.
 *
 * usage: stress_sched [ROUNDS [SEED]]
 *
 * Each round makes a scheduler, started on a pool or driven by threads, lets a few threads work on
 * a few ids, closes it in the middle of that or after, and destroys it as soon as await has
 * returned. Every job is an entry of a history (belay/test.h): it is refused, or a one-shot ends in
 * one of fn and drop, a series in one drop after its last fn. Runs of one id never overlap; no more
 * than running_max run at once. With the sanitizers this also says that nothing is touched after
 * the end.
 */
#include "belay/exec.h"
#include "belay/sched.h"
#include "belay/test.h"
#include "sync/sync.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS      300
#define THREADS     3
#define OPS         200 /* of a thread in a round */
#define IDS         40
#define RUNNING_MAX 3

#define CHECK(condition)                                                                           \
    ((condition) ? (void)0                                                                         \
                 : (fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition), abort()))

/* What a job is to do. */
enum { PLAIN, FAILS, PENDING, SERIES, SCHEDULES, KINDS };

typedef struct record {
    uint32_t runs;  /* atomic */
    uint32_t drops; /* atomic */
    uint32_t in_fn; /* atomic: 1 from the begin of fn to its end, elsewhere or not */
    int number;     /* in the history */
    int kind;
    int id;
    struct record *elsewhere; /* pile_lock: the next that waits to be ended */
    belay_claim *claim;
} record;

static belay_sched *sched;
static belay_history *history;   /* of this round */
static uint32_t running;         /* atomic */
static uint32_t id_running[IDS]; /* atomic */
static bool is_started;
static pthread_mutex_t pile_lock = PTHREAD_MUTEX_INITIALIZER;
static record *pile; /* pile_lock: jobs that go on elsewhere */
static record records[THREADS][OPS];
static uint32_t stop;       /* atomic: the helpers are to end */
static uint64_t total_runs; /* the main thread, as is the next one */
static uint64_t total_drops;

static uint32_t add(uint32_t *word, uint32_t count)
{
    return bly_fetch_add(word, count, BLY_SEQ_CST) + count;
}

static void begin(record *self)
{
    CHECK(add(&self->in_fn, 1) == 1);
    CHECK(bly_load(&self->drops, BLY_SEQ_CST) == 0);
    uint32_t now_running = add(&running, 1);
    CHECK(!is_started || now_running <= RUNNING_MAX);
    CHECK(add(&id_running[self->id], 1) == 1);
    (void)add(&self->runs, 1);
    if (self->kind != SERIES) {
        CHECK(belay_history_end(history, self->number, 0) == 0);
    }
}

static void end(record *self)
{
    CHECK(add(&id_running[self->id], (uint32_t)-1) == 0);
    (void)add(&running, (uint32_t)-1);
    CHECK(add(&self->in_fn, (uint32_t)-1) == 0);
}

static int work(belay_claim *claim, void *arg);

static void drop(void *arg, int why)
{
    record *self = arg;
    CHECK(why != 0);
    CHECK(bly_load(&self->in_fn, BLY_SEQ_CST) == 0);
    (void)add(&self->drops, 1);
    CHECK(belay_history_end(history, self->number, why) == 0);
    (void)belay_sched_cancel(sched, BELAY_ID(IDS)); /* a call from inside a drop */
}

static void schedule(record *self, int kind, int id, int64_t delay_ns)
{
    *self = (record){.kind = kind, .id = id, .number = belay_history_begin(history, 0)};
    CHECK(self->number >= 0);
    belay_job job = {.size = sizeof job,
                     .run_at_ns = belay_time_add(belay_clock_now(NULL), delay_ns),
                     .priority = id % 3,
                     .fn = work,
                     .arg = self,
                     .drop = drop,
                     .next = kind == SERIES ? belay_every : NULL,
                     .period_ns = 20000};
    int result = belay_sched_schedule(sched, BELAY_ID((uint64_t)id), &job, NULL);
    CHECK(result >= 0 || result == BELAY_ECLOSED);
    if (result < 0) {
        CHECK(belay_history_end(history, self->number, result) == 0);
    }
}

static int work(belay_claim *claim, void *arg)
{
    record *self = arg;
    begin(self);
    if (self->kind == PENDING) {
        self->claim = claim;
        pthread_mutex_lock(&pile_lock);
        self->elsewhere = pile;
        pile = self;
        pthread_mutex_unlock(&pile_lock);
        return BELAY_PENDING; /* it may have been ended already */
    }
    if (self->kind == SCHEDULES) {
        (void)belay_sched_cancel(sched, BELAY_ID((uint64_t)((self->id + 1) % IDS)));
        (void)belay_claim_is_canceled(claim);
    }
    end(self);
    return self->kind == FAILS ? -1 : 0;
}

/* Ends one job of the pile; false: there is none. */
static bool end_elsewhere(void)
{
    pthread_mutex_lock(&pile_lock);
    record *self = pile;
    if (self != NULL) {
        pile = self->elsewhere;
    }
    pthread_mutex_unlock(&pile_lock);
    if (self == NULL) {
        return false;
    }
    belay_claim *claim = self->claim;
    end(self);
    CHECK(belay_claim_done(claim, 0) == 0);
    return true;
}

static void *help(void *arg)
{
    (void)arg;
    while (end_elsewhere() || bly_load(&stop, BLY_SEQ_CST) == 0) {
        bly_yield();
    }
    return NULL;
}

/* A thread that drives. */
static void *drive(void *arg)
{
    (void)arg;
    for (;;) {
        belay_claim *claim = NULL;
        int64_t next = 0;
        int64_t deadline = belay_time_add(belay_clock_now(NULL), 100000);
        int result = belay_sched_next(sched, deadline, &claim, &next);
        if (result == BELAY_ECLOSED) {
            return NULL;
        }
        CHECK(result == 0 || result == BELAY_ETIMEDOUT);
        if (result == 0) {
            CHECK(belay_claim_run(claim) >= 0);
        }
    }
}

/* A thread that uses the scheduler. */
static void *use(void *arg)
{
    record *mine = arg;
    uint64_t random = (uint64_t)(uintptr_t)arg ^ bly_random_seed();
    for (int i = 0; i < OPS; i++) {
        uint64_t draw = bly_random(&random);
        int id = (int)(draw % IDS);
        schedule(&mine[i], (int)(draw >> 8) % KINDS, id, (draw >> 16) % 4 == 0 ? 20000 : 0);
        if ((draw >> 20) % 4 == 0) {
            bly_yield();
        }
        if ((draw >> 24) % 3 == 0) {
            int result = belay_sched_cancel(sched, BELAY_ID((draw >> 32) % IDS));
            CHECK(result == 0 || result == BELAY_STILL_RUNNING || result == BELAY_ENOENT);
        }
        if ((draw >> 40) % 16 == 0 && is_started) {
            int result = belay_sched_resize(sched, 1 + (uint32_t)(draw >> 48) % RUNNING_MAX);
            CHECK(result == 0 || result == BELAY_ECLOSED);
        }
    }
    return NULL;
}

static void check_records(void)
{
    const char *broken = belay_history_check(history, NULL);
    if (broken != NULL) {
        fprintf(stderr, "stress_sched: %s\n", broken);
    }
    CHECK(broken == NULL);
    for (int t = 0; t < THREADS; t++) {
        for (int i = 0; i < OPS; i++) {
            const record *self = &records[t][i];
            CHECK(self->in_fn == 0);
            total_runs += self->runs;
            total_drops += self->drops;
        }
    }
}

static void start_all(pthread_t *threads, int count, void *(*fn)(void *), bool has_records)
{
    for (int i = 0; i < count; i++) {
        CHECK(pthread_create(&threads[i], NULL, fn, has_records ? records[i] : NULL) == 0);
    }
}

static void join_all(pthread_t *threads, int count)
{
    for (int i = 0; i < count; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
}

static belay_exec *make_pool(void)
{
    belay_exec_opts opts = {.size = sizeof opts, .workers = 2};
    belay_exec *exec = NULL;
    CHECK(belay_exec_create(&opts, &exec) == 0);
    return exec;
}

static void run_round(uint64_t *random)
{
    uint64_t draw = bly_random(random);
    belay_sched_opts opts = {.size = sizeof opts,
                             .aging_ns_per_priority = (int64_t)(draw % 3) * 1000};
    is_started = (draw >> 8) % 3 != 0;
    CHECK(belay_sched_create(&opts, &sched) == 0);
    CHECK(belay_history_create(0, THREADS * OPS, &history) == 0);
    belay_exec *exec = is_started ? make_pool() : NULL;
    if (is_started) {
        CHECK(belay_sched_start(sched, belay_exec_executor(exec), RUNNING_MAX) == 0);
    }
    pthread_t users[THREADS];
    pthread_t helper;
    pthread_t drivers[2];
    bly_store(&stop, 0u, BLY_SEQ_CST);
    start_all(users, THREADS, use, true);
    start_all(&helper, 1, help, false);
    if (!is_started) {
        start_all(drivers, 2, drive, false);
    }
    /* A close in the middle, or after them all; the pool may be stopped under the scheduler. */
    bool is_early = (draw >> 16) % 2 == 0;
    if (!is_early) {
        join_all(users, THREADS);
    }
    if (is_started && (draw >> 24) % 4 == 0) {
        CHECK(belay_exec_shutdown_now(exec) == 0);
    }
    unsigned how = (draw >> 32) % 2 == 0 ? BELAY_CLOSE_DRAIN_DUE : BELAY_CLOSE_DISCARD;
    CHECK(belay_sched_close(sched, how | ((draw >> 40) % 2 == 0 ? BELAY_CLOSE_SIGNAL : 0)) == 0);
    if (is_early) {
        join_all(users, THREADS); /* what they schedule is refused */
    }
    CHECK(belay_sched_await(sched, BELAY_FOREVER) == 0);
    if (!is_started) {
        join_all(drivers, 2); /* each asks once more, to be told that it is closed */
    }
    CHECK(belay_sched_destroy(sched) == 0);
    check_records();
    bly_store(&stop, 1u, BLY_SEQ_CST);
    join_all(&helper, 1);
    if (is_started) {
        CHECK(belay_exec_shutdown(exec) == 0);
        CHECK(belay_exec_await_termination(exec, BELAY_FOREVER) == 0);
        CHECK(belay_exec_destroy(exec) == 0);
    }
    belay_history_destroy(history);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : ROUNDS;
    uint64_t random = argc > 2 ? strtoull(argv[2], NULL, 0) : bly_random_seed();
    printf("stress_sched %d %llu\n", rounds, (unsigned long long)random);
    fflush(stdout);
    for (int i = 0; i < rounds; i++) {
        run_round(&random);
    }
    printf("%llu runs, %llu drops\n", (unsigned long long)total_runs,
           (unsigned long long)total_drops);
    CHECK(rounds < 10 || (total_runs > 0 && total_drops > 0));
    return EXIT_SUCCESS;
}
