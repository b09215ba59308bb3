/*
 * sync_native.c: waiting, clocks, fences, random numbers and the blocking hook of a real machine.
 *
 * A futex word may be freed between the store that ends a wait and the wake that follows it: the
 * kernel then wakes nobody, or a stranger who waits at the same address, or answers EFAULT. All
 * three are harmless, since every wait is in a loop and the answer of a wake is not looked at.
 */
#include "sync/sync.h"

#include <limits.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S INT64_C(1000000000)

/* Looks at a taken lock this often before sleeping: about the length of a short critical section.
 */
#define SPIN_MAX 40

static long futex(uint32_t *word, int op, uint32_t value, const struct timespec *until)
{
    return syscall(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, value, until, NULL,
                   FUTEX_BITSET_MATCH_ANY);
}

/* Sleeps without asking which locks are held: a second lock may have to be waited for. */
static int sleep_on(uint32_t *word, uint32_t expected, int64_t until_ns)
{
    if (until_ns == BELAY_FOREVER) {
        (void)futex(word, FUTEX_WAIT_BITSET, expected, NULL);
        return 0;
    }
    int64_t ns = until_ns < 0 ? 0 : until_ns;
    struct timespec until = {.tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S};
    bool is_late = futex(word, FUTEX_WAIT_BITSET, expected, &until) != 0 && errno == ETIMEDOUT;
    return is_late ? BELAY_ETIMEDOUT : 0;
}

int bly_futex_wait(uint32_t *word, uint32_t expected, int64_t until_ns)
{
    bly_assert_debug(bly_locks_held() == 0);
    return sleep_on(word, expected, until_ns);
}

void bly_futex_wake(uint32_t *word, uint32_t count)
{
    (void)futex(word, FUTEX_WAKE, count > INT_MAX ? INT_MAX : count, NULL);
}

void bly_yield(void)
{
    (void)sched_yield();
}

void bly_native_mutex_wait(bly_mutex *mutex)
{
    for (int i = 0; i < SPIN_MAX; i++) {
        uint32_t expected = 0;
        /* relaxed look, acquire take: with the release of bly_mutex_unlock. */
        if (bly_load(&mutex->state, BLY_RELAXED) == 0 &&
            bly_cas(&mutex->state, &expected, 1u, BLY_ACQUIRE, BLY_RELAXED)) {
            return;
        }
        bly_pause();
    }
    /* Who has once gone to sleep takes the lock as 2: others may sleep behind it. acquire as above.
     */
    while (bly_exchange(&mutex->state, 2u, BLY_ACQUIRE) != 0) {
        (void)sleep_on(&mutex->state, 2, BELAY_FOREVER);
    }
}

void bly_native_mutex_wake(bly_mutex *mutex)
{
    bly_futex_wake(&mutex->state, 1);
}

static int64_t read_clock(clockid_t id)
{
    struct timespec now;
    int failed = clock_gettime(id, &now);
    bly_assert(failed == 0);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

int64_t bly_monotonic_ns(void)
{
    bly_assert_debug(bly_locks_held() == 0);
    return read_clock(CLOCK_MONOTONIC);
}

int64_t bly_monotonic_coarse_ns(void)
{
    bly_assert_debug(bly_locks_held() == 0);
    return read_clock(CLOCK_MONOTONIC_COARSE);
}

int64_t bly_wall_ns(void)
{
    bly_assert_debug(bly_locks_held() == 0);
    return read_clock(CLOCK_REALTIME);
}

static long membarrier(int command)
{
    return syscall(SYS_membarrier, command, 0, 0);
}

static bool heavy_is_available; /* constant after heavy_once */

static void register_membarrier(void)
{
    heavy_is_available = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
}

bool bly_fence_heavy_available(void)
{
    static bly_once heavy_once;
    bly_once_run(&heavy_once, register_membarrier);
    return heavy_is_available;
}

void bly_fence_heavy(void)
{
    bool is_available = bly_fence_heavy_available();
    bly_assert(is_available);
    long failed = membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
    bly_assert(failed == 0);
    bly_fence(BLY_SEQ_CST);
}

uint64_t bly_random_seed(void)
{
    uint64_t seed = 0;
    if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) != (ssize_t)sizeof seed) {
        /* Not secret, only different: early in boot there is nothing better. */
        seed = (uint64_t)read_clock(CLOCK_MONOTONIC) ^ ((uint64_t)getpid() << 32) ^ bly_thread_id();
    }
    return seed;
}

/* atomic: written by bly_blocking_install, read by every wait. */
static const bly_blocking_hook *blocking_hook;

void bly_blocking_install(const bly_blocking_hook *hook)
{
    bly_assert(hook != NULL && hook->begin != NULL && hook->end != NULL);
    /* release, with the acquires below: the hook's fields are seen. */
    bly_store(&blocking_hook, hook, BLY_RELEASE);
}

void bly_blocking_begin(void)
{
    bly_assert_debug(bly_locks_held() == 0);
    const bly_blocking_hook *hook = bly_load(&blocking_hook, BLY_ACQUIRE);
    if (hook != NULL) {
        hook->begin();
    }
}

void bly_blocking_end(void)
{
    const bly_blocking_hook *hook = bly_load(&blocking_hook, BLY_ACQUIRE);
    if (hook != NULL) {
        hook->end();
    }
}
