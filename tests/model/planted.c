/*
 * planted.c: faults that the explorer must find, in small models of the parts they belong to.
 *
 * Each model is right with FAULT_NONE and must then pass; each fault is one that has happened in
 * real code. The models are a semaphore (a counter with a queue of waiters on their stacks), the
 * flag and fence with which a worker goes to sleep, and the deque of Chase and Lev.
 */
#include "scenario.h"

enum fault {
    FAULT_NONE,
    FAULT_LOST_WAKEUP,     /* the counter is looked at before the lock is taken */
    FAULT_DOUBLE_GRANT,    /* a timeout gives back what a release had granted */
    FAULT_BARGING,         /* the fast path does not look at the queue */
    FAULT_CHECK_THEN_ACT,  /* a release looks at the lease and then marks it */
    FAULT_ONE_WAKE,        /* two permits come back, one waiter is served */
    FAULT_NODE_FREED,      /* the waker touches the node after the waiter may have gone */
    FAULT_NO_PARK_FENCE,   /* store to load without a fence, going to sleep */
    FAULT_WEAK_TAKE_FENCE, /* the deque's owner orders its two steps too weakly */
    FAULT_RELAXED_PUSH     /* an element is published before it is written */
};

/* A semaphore. */

enum { WAITING, GRANTED };

typedef struct waiter {
    struct waiter *next;
    uint32_t state;
    uint32_t permits;
} waiter;

typedef struct counter {
    bly_mutex lock;
    uint32_t available; /* lock; atomic for the fault that reads it outside */
    waiter *head;
    enum fault fault;
    uint32_t inside; /* atomic: holders now */
    uint32_t capacity;
} counter;

static counter sem;

static void append_waiter(waiter *node)
{
    waiter **end = &sem.head;
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = node;
}

static bool remove_waiter(waiter *node)
{
    for (waiter **link = &sem.head; *link != NULL; link = &(*link)->next) {
        if (*link == node) {
            *link = node->next;
            return true;
        }
    }
    return false;
}

static bool give_up(waiter *node)
{
    bly_mutex_lock(&sem.lock);
    bool was_queued = remove_waiter(node);
    if (!was_queued && sem.fault == FAULT_DOUBLE_GRANT) {
        bly_store(&sem.available, bly_load(&sem.available, BLY_RELAXED) + 1, BLY_RELAXED);
    }
    bly_mutex_unlock(&sem.lock);
    return was_queued;
}

/* True when the permits were got before until_ns. */
static bool acquire_many(uint32_t permits, int64_t until_ns)
{
    bool is_free =
        sem.fault == FAULT_LOST_WAKEUP && bly_load(&sem.available, BLY_RELAXED) >= permits;
    bly_mutex_lock(&sem.lock);
    if (sem.fault != FAULT_LOST_WAKEUP) {
        is_free = bly_load(&sem.available, BLY_RELAXED) >= permits;
    }
    if (is_free && (sem.head == NULL || sem.fault == FAULT_BARGING)) {
        belay_model_check(sem.head == NULL);
        bly_store(&sem.available, bly_load(&sem.available, BLY_RELAXED) - permits, BLY_RELAXED);
        bly_mutex_unlock(&sem.lock);
        return true;
    }
    waiter node = {.state = WAITING, .permits = permits};
    append_waiter(&node);
    bly_mutex_unlock(&sem.lock);
    while (bly_load(&node.state, BLY_ACQUIRE) == WAITING) {
        if (bly_futex_wait(&node.state, WAITING, until_ns) == BELAY_ETIMEDOUT && give_up(&node)) {
            return false;
        }
    }
    return true;
}

static bool acquire(int64_t until_ns)
{
    return acquire_many(1, until_ns);
}

/* Takes the first waiter that can be served out of the queue; it is granted by the caller. */
static waiter *next_served(void)
{
    waiter *node = sem.head;
    if (node == NULL || bly_load(&sem.available, BLY_RELAXED) < node->permits) {
        return NULL;
    }
    sem.head = node->next;
    bly_store(&sem.available, bly_load(&sem.available, BLY_RELAXED) - node->permits, BLY_RELAXED);
    return node;
}

static void grant_all(void)
{
    waiter *node;
    while ((node = next_served()) != NULL) {
        if (sem.fault == FAULT_NODE_FREED) {
            bly_mutex_unlock(&sem.lock);
            bly_store(&node->state, GRANTED, BLY_RELEASE);
            bly_futex_wake(&node->state, 1);
            bly_store(&node->state, GRANTED, BLY_RELAXED);
            bly_mutex_lock(&sem.lock);
            continue;
        }
        uint32_t *word = &node->state;
        bly_store(word, GRANTED, BLY_RELEASE);
        bly_futex_wake(word, 1);
        if (sem.fault == FAULT_ONE_WAKE) {
            return;
        }
    }
}

static void release(uint32_t permits)
{
    bly_mutex_lock(&sem.lock);
    bly_store(&sem.available, bly_load(&sem.available, BLY_RELAXED) + permits, BLY_RELAXED);
    grant_all();
    bly_mutex_unlock(&sem.lock);
}

static void enter(void)
{
    /* relaxed: only the number counts, and the explorer sees every order of the additions. */
    uint32_t others = bly_fetch_add(&sem.inside, 1u, BLY_RELAXED);
    belay_model_check(others < sem.capacity);
}

static void leave(void)
{
    bly_fetch_sub(&sem.inside, 1u, BLY_RELAXED);
    release(1);
}

static void acquire_once(void *arg)
{
    (void)arg;
    belay_model_check(acquire(BELAY_FOREVER));
    enter();
    leave();
}

static void acquire_timed(void *arg)
{
    (void)arg;
    if (acquire(bly_monotonic_ns() + 1000)) {
        enter();
        leave();
    }
}

static void open_counter(void *arg, uint32_t capacity)
{
    sem = (counter){.available = capacity, .capacity = capacity, .fault = *(enum fault *)arg};
}

static void run_both(void (*first)(void *), void (*second)(void *), void *arg)
{
    int one = belay_model_start(first, arg);
    int two = belay_model_start(second, arg);
    belay_model_join(one);
    belay_model_join(two);
}

static void counter_scenario(void *arg)
{
    open_counter(arg, 1);
    run_both(acquire_once, acquire_timed, arg);
    belay_model_check(bly_load(&sem.available, BLY_RELAXED) == 1);
}

static void three_acquire(void *arg)
{
    open_counter(arg, 1);
    int third = belay_model_start(acquire_once, arg);
    run_both(acquire_once, acquire_once, arg);
    belay_model_join(third);
}

static void acquire_and_keep(void *arg)
{
    (void)arg;
    belay_model_check(acquire(BELAY_FOREVER));
}

/* Both permits are held; two wait; both permits come back in one call. */
static void two_permits_return(void *arg)
{
    open_counter(arg, 2);
    belay_model_check(acquire(BELAY_FOREVER) && acquire(BELAY_FOREVER));
    int one = belay_model_start(acquire_and_keep, arg);
    int two = belay_model_start(acquire_and_keep, arg);
    release(2);
    belay_model_join(one);
    belay_model_join(two);
}

static void acquire_two(void *arg)
{
    (void)arg;
    belay_model_check(acquire_many(2, BELAY_FOREVER));
    release(2);
}

/* One of two permits is held; somebody waits for both; somebody else wants the free one. */
static void large_request_waits(void *arg)
{
    open_counter(arg, 2);
    belay_model_check(acquire(BELAY_FOREVER));
    int large = belay_model_start(acquire_two, arg);
    int small = belay_model_start(acquire_once, arg);
    release(1);
    belay_model_join(large);
    belay_model_join(small);
}

static uint32_t lease_is_held;

static void release_lease(void *arg)
{
    uint32_t held = 1;
    if (*(enum fault *)arg == FAULT_CHECK_THEN_ACT) {
        if (bly_load(&lease_is_held, BLY_ACQUIRE) == 1) {
            bly_store(&lease_is_held, 0u, BLY_RELEASE);
            release(1);
        }
    } else if (bly_cas(&lease_is_held, &held, 0u, BLY_ACQ_REL, BLY_ACQUIRE)) {
        release(1);
    }
}

static void released_twice(void *arg)
{
    open_counter(arg, 1);
    belay_model_check(acquire(BELAY_FOREVER));
    lease_is_held = 1;
    run_both(release_lease, release_lease, arg);
    belay_model_check(bly_load(&sem.available, BLY_RELAXED) == 1);
}

/* Going to sleep. */

static uint32_t work;
static uint32_t is_sleeping;
static uint32_t bell;

static void maybe_fence(void *arg)
{
    if (*(enum fault *)arg != FAULT_NO_PARK_FENCE) {
        bly_fence(BLY_SEQ_CST);
    }
}

static void submit_work(void *arg)
{
    bly_store(&work, 1u, BLY_RELEASE);
    maybe_fence(arg);
    if (bly_load(&is_sleeping, BLY_RELAXED) == 1) {
        bly_store(&bell, 1u, BLY_RELEASE);
        bly_futex_wake(&bell, 1);
    }
}

static void take_work(void *arg)
{
    bly_store(&is_sleeping, 1u, BLY_RELAXED);
    maybe_fence(arg);
    if (bly_load(&work, BLY_ACQUIRE) == 0) {
        while (bly_load(&bell, BLY_ACQUIRE) == 0) {
            (void)bly_futex_wait(&bell, 0, BELAY_FOREVER);
        }
    }
}

static void sleep_or_work(void *arg)
{
    work = is_sleeping = bell = 0;
    run_both(submit_work, take_work, arg);
}

/* The deque: Le, Pop, Cohen, Zappa Nardelli, "Correct and Efficient Work-Stealing" (2013), without
 * growth, and with every store to bottom a release. */

#define DEQUE_SIZE 4

static uint64_t top, bottom;
static uint32_t slots[DEQUE_SIZE];
static uint32_t claims[4];

static void claim(uint32_t item)
{
    belay_model_check(item > 0 && item < bly_count(claims));
    belay_model_check(bly_fetch_add(&claims[item], 1u, BLY_RELAXED) == 0);
}

static void push_item(void *arg, uint32_t item)
{
    bool is_early = *(enum fault *)arg == FAULT_RELAXED_PUSH;
    uint64_t end = bly_load(&bottom, BLY_RELAXED);
    bly_store(&slots[end % DEQUE_SIZE], item, BLY_RELAXED);
    bly_store(&bottom, end + 1, is_early ? BLY_RELAXED : BLY_RELEASE);
}

static void take_item(void *arg)
{
    bool is_weak = *(enum fault *)arg == FAULT_WEAK_TAKE_FENCE;
    uint64_t end = bly_load(&bottom, BLY_RELAXED) - 1;
    bly_store(&bottom, end, BLY_RELEASE);
    bly_fence(is_weak ? BLY_ACQ_REL : BLY_SEQ_CST);
    uint64_t start = bly_load(&top, BLY_RELAXED);
    if ((int64_t)(end - start) > 0) {
        claim(bly_load(&slots[end % DEQUE_SIZE], BLY_RELAXED));
        return;
    }
    if (start == end) {
        uint32_t item = bly_load(&slots[end % DEQUE_SIZE], BLY_RELAXED);
        if (bly_cas(&top, &start, start + 1, BLY_SEQ_CST, BLY_RELAXED)) {
            claim(item);
        }
    }
    bly_store(&bottom, end + 1, BLY_RELEASE);
}

static void steal_item(void *arg)
{
    (void)arg;
    uint64_t start = bly_load(&top, BLY_ACQUIRE);
    bly_fence(BLY_SEQ_CST);
    uint64_t end = bly_load(&bottom, BLY_ACQUIRE);
    if ((int64_t)(end - start) > 0) {
        uint32_t item = bly_load(&slots[start % DEQUE_SIZE], BLY_RELAXED);
        if (bly_cas(&top, &start, start + 1, BLY_SEQ_CST, BLY_RELAXED)) {
            claim(item);
        }
    }
}

static void steal_twice(void *arg)
{
    steal_item(arg);
    steal_item(arg);
}

static void own_the_deque(void *arg)
{
    push_item(arg, 1);
    push_item(arg, 2);
    take_item(arg);
    take_item(arg);
}

static void deque_scenario(void *arg)
{
    top = bottom = UINT64_MAX - 1; /* the indices wrap */
    for (size_t i = 0; i < bly_count(claims); i++) {
        claims[i] = 0;
    }
    for (size_t i = 0; i < DEQUE_SIZE; i++) {
        slots[i] = 0;
    }
    run_both(own_the_deque, steal_twice, arg);
    belay_model_check(bly_load(&claims[1], BLY_RELAXED) == 1);
    belay_model_check(bly_load(&claims[2], BLY_RELAXED) == 1);
}

static enum fault faults[] = {FAULT_NONE,        FAULT_LOST_WAKEUP,    FAULT_DOUBLE_GRANT,
                              FAULT_BARGING,     FAULT_CHECK_THEN_ACT, FAULT_ONE_WAKE,
                              FAULT_NODE_FREED,  FAULT_NO_PARK_FENCE,  FAULT_WEAK_TAKE_FENCE,
                              FAULT_RELAXED_PUSH};

/* A count of references whose last drop does not acquire what the others did. */
static void drop_reference(void *arg)
{
    uint32_t *refs = arg;
    if (bly_fetch_sub(refs, 1u, BLY_RELEASE) == 1) {
        bly_free(refs);
    }
}

static void freed_too_early(void *arg)
{
    uint32_t *refs = bly_alloc(sizeof *refs);
    (void)arg;
    bly_store(refs, 2u, BLY_RELAXED);
    int other = belay_model_start(drop_reference, refs);
    drop_reference(refs);
    belay_model_join(other);
}

static void do_nothing(void *arg)
{
    (void)arg;
}

static void thread_left_behind(void *arg)
{
    bly_thread thread;
    (void)arg;
    belay_model_check(bly_thread_create(&thread, NULL, do_nothing, NULL) == 0);
}

#define RIGHT(title, function, ...)                                                                \
    {                                                                                              \
        .name = "right/" title, .fn = function, .arg = &faults[FAULT_NONE], .opts = {              \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define PLANTED(title, function, fault, message, stored)                                           \
    {                                                                                              \
        .name = "planted/" title, .fn = function, .arg = &faults[fault],                           \
        .opts = {.stale_reads = 2}, .finds = message, .trace = stored                              \
    }

const scenario planted_scenarios[] = {
    RIGHT("counter", counter_scenario, .spurious = 1, .preemptions = 3),
    RIGHT("counter-three", three_acquire, .spurious = 1, .preemptions = 2),
    RIGHT("two-permits", two_permits_return, .spurious = 1, .preemptions = 3),
    RIGHT("large-request", large_request_waits, .spurious = 1, .preemptions = 2),
    RIGHT("release-twice", released_twice, .spurious = 1, .preemptions = BELAY_UNBOUNDED),
    RIGHT("sleep", sleep_or_work, .spurious = 1, .preemptions = BELAY_UNBOUNDED, .stale_reads = 2),
    RIGHT("deque", deque_scenario, .preemptions = 3, .stale_reads = 2),
    PLANTED("lost-wake-up", three_acquire, FAULT_LOST_WAKEUP, "deadlock", "(23)1"),
    PLANTED("double-grant", counter_scenario, FAULT_DOUBLE_GRANT, "available", "(7)1(10)1"),
    PLANTED("fast-path-past-the-queue", large_request_waits, FAULT_BARGING, "sem.head == NULL",
            NULL),
    PLANTED("check-then-act-release", released_twice, FAULT_CHECK_THEN_ACT, "available", "(8)1"),
    PLANTED("one-wake-for-two", two_permits_return, FAULT_ONE_WAKE, "deadlock", "1"),
    PLANTED("node-freed-under-its-waker", counter_scenario, FAULT_NODE_FREED, "use after return",
            "(7)1(10)1"),
    PLANTED("no-fence-before-sleep", sleep_or_work, FAULT_NO_PARK_FENCE, "deadlock", "(6)1"),
    PLANTED("weak-take-fence", deque_scenario, FAULT_WEAK_TAKE_FENCE, "claims", "(18)10002(6)2"),
    PLANTED("relaxed-push", deque_scenario, FAULT_RELAXED_PUSH, "item > 0", "(9)1000101"),
    {.name = "planted/last-reference-without-acquire",
     .fn = freed_too_early,
     .finds = "is not ordered after the last access",
     .trace = ""},
    {.name = "planted/thread-left-behind",
     .fn = thread_left_behind,
     .finds = "neither joined nor detached",
     .trace = ""},
    {.name = NULL},
};
