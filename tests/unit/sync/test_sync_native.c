/*
 * test_sync_native.c: locks, waiting, clocks, fences, random numbers and the blocking hook.
 */
#include "aborts.h"
#include "unit.h"

#include "sync/sync.h"

#include <linux/membarrier.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>

static bool refuses_membarrier, refuses_random;
static int membarriers; /* of the expedited kind */

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
ssize_t __real_getrandom(void *buffer, size_t len, unsigned flags);
ssize_t __wrap_getrandom(void *buffer, size_t len, unsigned flags);

/* All of belay's system calls have at most six arguments of a word each. */
long __wrap_syscall(long number, ...)
{
    long args[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++) {
        args[i] = va_arg(list, long);
    }
    va_end(list);
    if (number == SYS_membarrier && refuses_membarrier) {
        errno = ENOSYS;
        return -1;
    }
    if (number == SYS_membarrier && (int)args[0] == MEMBARRIER_CMD_PRIVATE_EXPEDITED) {
        membarriers++;
    }
    return __real_syscall(number, args[0], args[1], args[2], args[3], args[4], args[5]);
}

ssize_t __wrap_getrandom(void *buffer, size_t len, unsigned flags)
{
    return refuses_random ? -1 : __real_getrandom(buffer, len, flags);
}

#define ROUNDS  20000
#define THREADS 4

static bly_mutex lock;
static uint32_t word;
static int64_t counter;

static void until(uint32_t *field, uint32_t value)
{
    while (bly_load(field, BLY_ACQUIRE) != value) {
        bly_yield();
    }
}

static void add_under_the_lock(void *arg)
{
    int64_t *total = arg;
    for (int i = 0; i < ROUNDS; i++) {
        bly_mutex_lock(&lock);
        bly_write(total, bly_read(total) + 1);
        bly_mutex_unlock(&lock);
    }
}

START_TEST(mutex_keeps_threads_apart)
{
    bly_thread threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(bly_thread_create(&threads[i], NULL, add_under_the_lock, &counter), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        bly_thread_join(&threads[i]);
    }
    ck_assert_int_eq(counter, (int64_t)THREADS * ROUNDS);
    bly_mutex_destroy(&lock);
}
END_TEST

static void try_once(void *arg)
{
    bool *is_taken = arg;
    *is_taken = bly_mutex_trylock(&lock);
    if (*is_taken) {
        bly_mutex_unlock(&lock);
    }
}

START_TEST(trylock_takes_a_free_mutex_alone)
{
    bly_thread thread;
    bool is_taken = true;
    ck_assert(bly_mutex_trylock(&lock));
    ck_assert_int_eq(bly_thread_create(&thread, NULL, try_once, &is_taken), 0);
    bly_thread_join(&thread);
    ck_assert(!is_taken);
    bly_mutex_unlock(&lock);
    ck_assert_int_eq(bly_thread_create(&thread, NULL, try_once, &is_taken), 0);
    bly_thread_join(&thread);
    ck_assert(is_taken);
}
END_TEST

START_TEST(sleeping_locker_is_woken_by_unlock)
{
    bly_thread thread;
    bly_mutex_lock(&lock);
    ck_assert_int_eq(bly_thread_create(&thread, NULL, add_under_the_lock, &counter), 0);
    until(&lock.state, 2); /* it has announced its sleep */
    ck_assert_int_eq(bly_read(&counter), 0);
    bly_mutex_unlock(&lock);
    bly_thread_join(&thread);
    ck_assert_int_eq(counter, ROUNDS);
}
END_TEST

START_TEST(debug_builds_know_the_holder)
{
    ck_assert(bly_mutex_is_mine(&lock) == !BELAY_DEBUG);
    ck_assert_uint_eq(bly_locks_held(), 0);
    bly_mutex_lock(&lock);
    ck_assert(bly_mutex_is_mine(&lock));
    ck_assert_uint_eq(bly_locks_held(), BELAY_DEBUG ? 1 : 0);
    bly_mutex_unlock(&lock);
    ck_assert_uint_eq(bly_locks_held(), 0);
}
END_TEST

static void lock_twice(void)
{
    bly_mutex_lock(&lock);
    bly_mutex_lock(&lock);
}

static void unlock_unlocked(void)
{
    bly_mutex_unlock(&lock);
}

static void destroy_locked(void)
{
    bly_mutex_lock(&lock);
    bly_mutex_destroy(&lock);
}

static void read_clock_under_a_lock(void)
{
    bly_mutex_lock(&lock);
    (void)bly_monotonic_ns();
}

static void wait_under_a_lock(void)
{
    bly_mutex_lock(&lock);
    (void)bly_futex_wait(&word, 0, BELAY_NOW);
}

static void announce_under_a_lock(void)
{
    bly_mutex_lock(&lock);
    bly_blocking_begin();
}

START_TEST(misuse_of_locks_aborts)
{
    ck_assert_aborts(destroy_locked, "bly_load(&mutex->state, ");
    if (BELAY_DEBUG) {
        ck_assert_aborts(lock_twice, "!= (uint32_t)bly_thread_id()");
        ck_assert_aborts(unlock_unlocked, "bly_mutex_is_mine(mutex)");
        ck_assert_aborts(read_clock_under_a_lock, "bly_locks_held() == 0");
        ck_assert_aborts(wait_under_a_lock, "bly_locks_held() == 0");
        ck_assert_aborts(announce_under_a_lock, "bly_locks_held() == 0");
    }
}
END_TEST

START_TEST(wait_on_another_value_returns_at_once)
{
    word = 5;
    ck_assert_int_eq(bly_futex_wait(&word, 4, BELAY_FOREVER), 0);
}
END_TEST

START_TEST(wait_until_the_past_times_out)
{
    static const int64_t deadlines[] = {BELAY_NOW, -1, 0, 1, INT64_C(999999999)};
    for (size_t i = 0; i < bly_count(deadlines); i++) {
        ck_assert_int_eq(bly_futex_wait(&word, 0, deadlines[i]), BELAY_ETIMEDOUT);
    }
}
END_TEST

START_TEST(wait_times_out_not_before_its_deadline)
{
    int64_t deadline = bly_monotonic_ns() + 2000000;
    int result;
    do {
        result = bly_futex_wait(&word, 0, deadline);
    } while (result == 0);
    ck_assert_int_eq(result, BELAY_ETIMEDOUT);
    ck_assert_int_ge(bly_monotonic_ns(), deadline);
}
END_TEST

static void wait_for_one(void *arg)
{
    uint32_t *waiting = arg;
    (void)bly_fetch_add(waiting, 1u, BLY_RELEASE);
    while (bly_load(&word, BLY_ACQUIRE) == 0) {
        ck_assert_int_eq(bly_futex_wait(&word, 0, BELAY_FOREVER), 0);
    }
}

START_TEST(wake_of_all_ends_every_wait)
{
    bly_thread threads[THREADS];
    uint32_t waiting = 0;
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(bly_thread_create(&threads[i], NULL, wait_for_one, &waiting), 0);
    }
    until(&waiting, THREADS);
    bly_store(&word, 1u, BLY_RELEASE);
    bly_futex_wake(&word, BLY_WAKE_ALL);
    for (int i = 0; i < THREADS; i++) {
        bly_thread_join(&threads[i]);
    }
}
END_TEST

START_TEST(wake_of_memory_that_is_gone_is_harmless)
{
    uint32_t *gone = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(gone, MAP_FAILED);
    ck_assert_int_eq(munmap(gone, 4096), 0);
    bly_futex_wake(gone, 1);
}
END_TEST

START_TEST(clocks_agree_with_each_other)
{
    int64_t before = bly_monotonic_ns();
    int64_t coarse = bly_monotonic_coarse_ns();
    int64_t after = bly_monotonic_ns();
    ck_assert_int_ge(after, before);
    ck_assert_int_le(coarse, after);
    ck_assert_int_gt(bly_wall_ns(), INT64_C(1600000000000000000));
}
END_TEST

START_TEST(random_numbers_differ_and_repeat_from_one_seed)
{
    uint64_t first = 1;
    uint64_t second = 1;
    uint64_t all = 0;
    uint64_t any = UINT64_MAX;
    for (int i = 0; i < 200; i++) {
        uint64_t number = bly_random(&first);
        ck_assert_uint_eq(number, bly_random(&second));
        all |= number;
        any &= number;
    }
    ck_assert_uint_eq(all, UINT64_MAX);
    ck_assert_uint_eq(any, 0);
    ck_assert_uint_ne(bly_random_seed(), bly_random_seed());
}
END_TEST

START_TEST(seed_without_the_kernels_help_differs_from_zero)
{
    refuses_random = true;
    ck_assert_uint_ne(bly_random_seed(), 0);
}
END_TEST

/* The first number of the published splitmix64 from seed 0. */
START_TEST(random_is_splitmix64)
{
    uint64_t state = 0;
    ck_assert_uint_eq(bly_random(&state), UINT64_C(0xe220a8397b1dcdaf));
}
END_TEST

static void fence_heavily(void)
{
    bly_fence_heavy();
}

START_TEST(heavy_fence_is_one_barrier_of_the_kernel)
{
    if (bly_fence_heavy_available()) {
        bly_fence_heavy();
        ck_assert_int_eq(membarriers, 1);
    }
}
END_TEST

START_TEST(heavy_fence_is_said_to_be_missing_where_it_is)
{
    refuses_membarrier = true;
    ck_assert(!bly_fence_heavy_available());
    ck_assert_aborts(fence_heavily, "is_available");
}
END_TEST

#define DUELS 20000

/* Store buffering: in no round may both sides miss the other's store. */
typedef struct duel {
    _Alignas(64) uint32_t round;     /* atomic: the round that the light side may play */
    _Alignas(64) uint32_t done;      /* atomic: the round that it has played */
    _Alignas(64) uint32_t light;     /* atomic: the last round whose store the light side made */
    _Alignas(64) uint32_t heavy;     /* atomic: the same of the heavy side */
    _Alignas(64) uint32_t light_saw; /* by the light side, before `done` */
} duel;

/* Spins first, so that both sides start together where two processors are free. */
static void until_soon(uint32_t *field, uint32_t value)
{
    for (int i = 0; i < 2000 && bly_load(field, BLY_ACQUIRE) != value; i++) {
        bly_pause();
    }
    until(field, value);
}

static void play_light(void *arg)
{
    duel *game = arg;
    for (uint32_t round = 1; round <= DUELS; round++) {
        until_soon(&game->round, round);
        bly_store(&game->light, round, BLY_RELAXED);
        bly_fence_light();
        game->light_saw = bly_load(&game->heavy, BLY_RELAXED);
        bly_store(&game->done, round, BLY_RELEASE);
    }
}

/* One round; true when at least one side saw the other. */
static bool play_heavy(duel *game, uint32_t round, uint32_t delay)
{
    bly_store(&game->round, round, BLY_RELEASE);
    for (uint32_t i = 0; i < delay; i++) {
        (void)bly_load(&game->round, BLY_RELAXED);
    }
    bly_store(&game->heavy, round, BLY_RELAXED);
    bly_fence_heavy();
    bool heavy_saw = bly_load(&game->light, BLY_RELAXED) == round;
    until_soon(&game->done, round);
    return heavy_saw || game->light_saw == round;
}

START_TEST(heavy_fence_pairs_with_light_ones)
{
    static duel game;
    bly_thread thread;
    uint64_t random = 1;
    if (!bly_fence_heavy_available()) {
        return; /* the kernel has no such thing, and says so: nothing else is promised */
    }
    ck_assert_int_eq(bly_thread_create(&thread, NULL, play_light, &game), 0);
    for (uint32_t round = 1; round <= DUELS; round++) {
        ck_assert(play_heavy(&game, round, (uint32_t)(bly_random(&random) % 256)));
    }
    bly_thread_join(&thread);
}
END_TEST

START_TEST(heavy_fence_works_in_a_forked_child)
{
    bool is_available = bly_fence_heavy_available();
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        if (is_available) {
            bly_fence_heavy();
        }
        _exit(0);
    }
    int status = -1;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}
END_TEST

static int begun, ended;

static void count_begin(void)
{
    begun++;
}

static void count_end(void)
{
    ended++;
}

START_TEST(blocking_hook_is_told_once_installed)
{
    static const bly_blocking_hook hook = {count_begin, count_end};
    bly_blocking_begin();
    bly_blocking_end();
    ck_assert_int_eq(begun, 0);
    bly_blocking_install(&hook);
    bly_blocking_begin();
    ck_assert_int_eq(begun, 1);
    ck_assert_int_eq(ended, 0);
    bly_blocking_end();
    ck_assert_int_eq(ended, 1);
}
END_TEST

static int once_count;

static void count_once(void)
{
    once_count++;
}

static void run_once(void *arg)
{
    bly_once_run(arg, count_once);
    ck_assert_int_eq(once_count, 1);
}

START_TEST(once_runs_once_and_others_wait_for_it)
{
    static bly_once once;
    bly_thread threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(bly_thread_create(&threads[i], NULL, run_once, &once), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        bly_thread_join(&threads[i]);
    }
    ck_assert_int_eq(once_count, 1);
}
END_TEST

UNIT_MAIN("sync/sync_native", mutex_keeps_threads_apart, trylock_takes_a_free_mutex_alone,
          sleeping_locker_is_woken_by_unlock, debug_builds_know_the_holder, misuse_of_locks_aborts,
          wait_on_another_value_returns_at_once, wait_until_the_past_times_out,
          wait_times_out_not_before_its_deadline, wake_of_all_ends_every_wait,
          wake_of_memory_that_is_gone_is_harmless, clocks_agree_with_each_other,
          random_numbers_differ_and_repeat_from_one_seed, random_is_splitmix64,
          seed_without_the_kernels_help_differs_from_zero, heavy_fence_is_one_barrier_of_the_kernel,
          heavy_fence_is_said_to_be_missing_where_it_is, heavy_fence_pairs_with_light_ones,
          heavy_fence_works_in_a_forked_child, blocking_hook_is_told_once_installed,
          once_runs_once_and_others_wait_for_it)
