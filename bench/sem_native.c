/* The semaphore, sem_t, and a twin that is one mutex and a count. */
#include "bench.h"

#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdlib.h>

#include "belay/sem.h"
#include "belay/clock.h"

#define PAIRS           20000000
#define HANDOVERS       4000000
#define HANDOVER_QUEUE  1000
#define CANCELS_LEAST   1000000
#define BYTES_WAITERS   100000
#define EXPIRIES        1000000
#define THREADS         2
#define SECTIONS        200000
#define SECTION_NS      500
#define THINK_NS        1500
#define BYPASS_ROUNDS   20
#define BYPASS_BEGIN_NS 20000000

/* What the parts of one workload share; a program runs one. */
static belay_sem *shared;
static belay_lease *leases;
static int64_t ended;

static belay_sem *open_sem(uint32_t capacity, belay_clock *clock, belay_timers *timers)
{
    belay_sem_opts opts = {.size = sizeof opts,
                           .capacity = capacity,
                           .waiters_max = BELAY_UNBOUNDED,
                           .clock = clock,
                           .timers = timers};
    belay_sem *sem = NULL;
    return belay_sem_create(&opts, &sem) == 0 ? sem : NULL;
}

/* pair: acquire and release with nobody else there. */

static double pair_belay(void)
{
    belay_lease lease = BELAY_LEASE_INIT;
    shared = open_sem(1, NULL, NULL);
    int failed = 0;
    int64_t start_ns = bench_now_ns();
    for (int i = 0; i < PAIRS; i++) {
        failed |= belay_sem_acquire(shared, &lease, 1, BELAY_FOREVER, NULL);
        failed |= belay_lease_release(&lease);
    }
    return failed ? -1 : (double)(bench_now_ns() - start_ns) / PAIRS;
}

static double pair_sem_t(void)
{
    sem_t sem;
    sem_init(&sem, 0, 1);
    int64_t start_ns = bench_now_ns();
    for (int i = 0; i < PAIRS; i++) {
        sem_wait(&sem);
        sem_post(&sem);
    }
    return (double)(bench_now_ns() - start_ns) / PAIRS;
}

/* The twin: what a semaphore costs whose every step takes one lock. */
static pthread_mutex_t twin_lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t twin_available = 1;

static void twin_change(uint32_t by)
{
    pthread_mutex_lock(&twin_lock);
    twin_available += by;
    pthread_mutex_unlock(&twin_lock);
}

static double pair_mutex(void)
{
    int64_t start_ns = bench_now_ns();
    for (int i = 0; i < PAIRS; i++) {
        twin_change(-1u);
        twin_change(1);
    }
    return (double)(bench_now_ns() - start_ns) / PAIRS;
}

/* handover: a permit goes round a queue of callbacks. */

static void hand_over(belay_lease *lease, int result, void *arg)
{
    (void)arg;
    ended++;
    (void)belay_lease_release(lease);
    if (result == 0 && ended < HANDOVERS) {
        (void)belay_sem_acquire_async(shared, lease, 1, BELAY_FOREVER, NULL, hand_over, NULL);
    }
}

static double handover_belay(void)
{
    belay_lease first = BELAY_LEASE_INIT;
    shared = open_sem(1, NULL, NULL);
    leases = calloc(HANDOVER_QUEUE, sizeof *leases);
    (void)belay_sem_acquire(shared, &first, 1, BELAY_NOW, NULL);
    for (int i = 0; i < HANDOVER_QUEUE; i++) {
        (void)belay_sem_acquire_async(shared, &leases[i], 1, BELAY_FOREVER, NULL, hand_over, NULL);
    }
    int64_t start_ns = bench_now_ns();
    (void)belay_lease_release(&first);
    return (double)(bench_now_ns() - start_ns) / (double)ended;
}

/* cancel: all who wait, in random order. */

static void count_end(belay_lease *lease, int result, void *arg)
{
    (void)lease;
    (void)result;
    (void)arg;
    ended++;
}

static uint32_t *shuffled(uint32_t count)
{
    uint32_t *order = malloc(count * sizeof *order);
    uint64_t state = 1;
    for (uint32_t i = 0; i < count; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        uint32_t other = (uint32_t)((state >> 32) * (i + 1) >> 32);
        order[i] = i;
        order[i] = order[other];
        order[other] = i;
    }
    return order;
}

static void queue_all(uint32_t count, belay_cancel *token, int64_t deadline_ns)
{
    for (uint32_t i = 0; i < count; i++) {
        (void)belay_sem_acquire_async(shared, &leases[i], 1, deadline_ns, token, count_end, NULL);
    }
}

static double cancel_all(uint32_t count)
{
    belay_lease first = BELAY_LEASE_INIT;
    uint32_t *order = shuffled(count);
    shared = open_sem(1, NULL, NULL);
    leases = calloc(count, sizeof *leases);
    (void)belay_sem_acquire(shared, &first, 1, BELAY_NOW, NULL);
    int64_t sum_ns = 0;
    while (ended < CANCELS_LEAST) {
        queue_all(count, NULL, BELAY_FOREVER);
        int64_t start_ns = bench_now_ns();
        for (uint32_t i = 0; i < count; i++) {
            (void)belay_lease_cancel(&leases[order[i]]);
        }
        sum_ns += bench_now_ns() - start_ns;
    }
    return (double)sum_ns / (double)ended;
}

static double cancel_1k(void)
{
    return cancel_all(1000);
}

static double cancel_1m(void)
{
    return cancel_all(1000000);
}

static double cancel_10m(void)
{
    return cancel_all(10000000);
}

/* waiter-bytes: what one that waits needs, with a deadline and a token. */
static double waiter_bytes(void)
{
    belay_lease first = BELAY_LEASE_INIT;
    belay_cancel *token = NULL;
    shared = open_sem(1, NULL, NULL);
    leases = calloc(BYTES_WAITERS, sizeof *leases);
    (void)belay_cancel_create(NULL, 0, &token);
    (void)belay_sem_acquire(shared, &first, 1, BELAY_NOW, NULL);
    size_t before = mallinfo2().uordblks;
    queue_all(BYTES_WAITERS, token, bench_now_ns() + INT64_C(1000000000000));
    size_t after = mallinfo2().uordblks;
    return (double)sizeof *leases + (double)(after - before) / BYTES_WAITERS;
}

/* expiry: a million deadlines pass, on a clock that the program moves. */

static int64_t clock_ns = 1000;

static int64_t read_clock(belay_clock *self)
{
    (void)self;
    return clock_ns;
}

static int never_wait(belay_clock *self, uint32_t *word, uint32_t expected, int64_t until_ns)
{
    (void)self;
    (void)word;
    (void)expected;
    (void)until_ns;
    return 0;
}

static void never_wake(belay_clock *self, uint32_t *word, uint32_t count)
{
    (void)self;
    (void)word;
    (void)count;
}

static double expiry_belay(void)
{
    static belay_clock clock = {
        .now = read_clock, .now_coarse = read_clock, .wait = never_wait, .wake = never_wake};
    belay_timers_opts opts = {.size = sizeof opts, .is_polled = 1, .clock = &clock};
    belay_timers *timers = NULL;
    belay_lease first = BELAY_LEASE_INIT;
    uint32_t *order = shuffled(EXPIRIES);
    if (belay_timers_create(&opts, &timers) != 0) {
        return -1;
    }
    shared = open_sem(1, &clock, timers);
    leases = calloc(EXPIRIES, sizeof *leases);
    (void)belay_sem_acquire(shared, &first, 1, BELAY_NOW, NULL);
    for (uint32_t i = 0; i < EXPIRIES; i++) {
        (void)belay_sem_acquire_async(shared, &leases[i], 1, 2000 + order[i] * INT64_C(1000), NULL,
                                      count_end, NULL);
    }
    clock_ns = INT64_C(10000000000);
    int64_t start_ns = bench_now_ns();
    (void)belay_timers_poll(timers, clock_ns);
    double result = (double)(bench_now_ns() - start_ns) / EXPIRIES;
    return ended == EXPIRIES ? result : -1;
}

/* blocking: threads around one permit, a section of half a microsecond each. */

typedef struct subject {
    void (*enter)(belay_lease *lease);
    void (*leave)(belay_lease *lease);
    bool (*has_waiting)(void);
} subject;

static sem_t native;

static void enter_belay(belay_lease *lease)
{
    (void)belay_sem_acquire(shared, lease, 1, BELAY_FOREVER, NULL);
}

static void leave_belay(belay_lease *lease)
{
    (void)belay_lease_release(lease);
}

static bool has_waiting_belay(void)
{
    belay_sem_metrics metrics = {.size = sizeof metrics};
    return belay_sem_stats(shared, &metrics) == 0 && metrics.waiting > 0;
}

static void enter_native(belay_lease *lease)
{
    (void)lease;
    sem_wait(&native);
}

static void leave_native(belay_lease *lease)
{
    (void)lease;
    sem_post(&native);
}

/* glibc does not tell; a thread that has had so much time waits. */
static bool has_waiting_native(void)
{
    static int64_t since_ns;
    since_ns = since_ns == 0 ? bench_now_ns() : since_ns;
    bool has = bench_now_ns() - since_ns > BYPASS_BEGIN_NS;
    since_ns = has ? 0 : since_ns;
    return has;
}

static const subject with_belay = {enter_belay, leave_belay, has_waiting_belay};
static const subject with_native = {enter_native, leave_native, has_waiting_native};
static const subject *used;
static int64_t think_ns;

static void work(int64_t for_ns)
{
    int64_t end_ns = bench_now_ns() + for_ns;
    while (bench_now_ns() < end_ns) {
    }
}

static void *enter_and_leave(void *arg)
{
    belay_lease lease = BELAY_LEASE_INIT;
    (void)arg;
    for (int i = 0; i < SECTIONS; i++) {
        used->enter(&lease);
        work(SECTION_NS);
        used->leave(&lease);
        if (think_ns > 0) {
            work(think_ns);
        }
    }
    return NULL;
}

static void open_subject(const subject *which)
{
    used = which;
    shared = open_sem(1, NULL, NULL);
    sem_init(&native, 0, 1);
}

static double blocking(const subject *which, int64_t think)
{
    pthread_t threads[THREADS];
    open_subject(which);
    think_ns = think;
    int64_t start_ns = bench_now_ns();
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, enter_and_leave, NULL);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    return (double)(bench_now_ns() - start_ns) / ((double)SECTIONS * THREADS);
}

static double think_belay(void)
{
    return blocking(&with_belay, THINK_NS);
}

static double think_sem_t(void)
{
    return blocking(&with_native, THINK_NS);
}

static double tight_belay(void)
{
    return blocking(&with_belay, 0);
}

static double tight_sem_t(void)
{
    return blocking(&with_native, 0);
}

/* bypass: how many of a later thread's entries come before that of one who waits already. */

static uint32_t is_served, later_entries;

static void *wait_once(void *arg)
{
    belay_lease lease = BELAY_LEASE_INIT;
    (void)arg;
    used->enter(&lease);
    __atomic_store_n(&is_served, 1, __ATOMIC_SEQ_CST);
    used->leave(&lease);
    return NULL;
}

static void *come_later(void *arg)
{
    belay_lease lease = BELAY_LEASE_INIT;
    (void)arg;
    while (!__atomic_load_n(&is_served, __ATOMIC_SEQ_CST)) {
        used->enter(&lease);
        later_entries += !__atomic_load_n(&is_served, __ATOMIC_SEQ_CST);
        used->leave(&lease);
    }
    return NULL;
}

static double bypass(const subject *which)
{
    uint32_t most = 0;
    open_subject(which);
    for (int round = 0; round < BYPASS_ROUNDS; round++) {
        pthread_t early, late;
        belay_lease lease = BELAY_LEASE_INIT;
        is_served = later_entries = 0;
        used->enter(&lease);
        pthread_create(&early, NULL, wait_once, NULL);
        while (!used->has_waiting()) {
        }
        pthread_create(&late, NULL, come_later, NULL);
        work(SECTION_NS);
        used->leave(&lease);
        pthread_join(early, NULL);
        pthread_join(late, NULL);
        most = later_entries > most ? later_entries : most;
    }
    return most;
}

static double bypass_belay(void)
{
    return bypass(&with_belay);
}

static double bypass_sem_t(void)
{
    return bypass(&with_native);
}

static const struct bench_case cases[] = {
    {"pair", "ns", BENCH_LOW, "belay", pair_belay},
    {"pair", "ns", BENCH_LOW, "sem_t", pair_sem_t},
    {"pair", "ns", BENCH_LOW, "mutex", pair_mutex},
    {"handover", "ns", BENCH_LOW, "belay", handover_belay},
    {"cancel-1k", "ns", BENCH_LOW, "belay", cancel_1k},
    {"cancel-1m", "ns", BENCH_LOW, "belay", cancel_1m},
    {"cancel-10m", "ns", BENCH_LOW, "belay", cancel_10m},
    {"waiter-bytes", "bytes", BENCH_LOW, "belay", waiter_bytes},
    {"expiry", "ns", BENCH_LOW, "belay", expiry_belay},
    {"blocking-think", "ns", BENCH_LOW, "belay", think_belay},
    {"blocking-think", "ns", BENCH_LOW, "sem_t", think_sem_t},
    {"blocking-tight", "ns", BENCH_LOW, "belay", tight_belay},
    {"blocking-tight", "ns", BENCH_LOW, "sem_t", tight_sem_t},
    {"bypass", "entries", BENCH_LOW, "belay", bypass_belay},
    {"bypass", "entries", BENCH_LOW, "sem_t", bypass_sem_t},
};

BENCH_MAIN(cases)
