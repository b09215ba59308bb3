/*
 * sync.c: locks, waiting, threads, slots, time and random numbers of the seam, under the explorer.
 *
 * A lock is taken in one step. Who wants one that is held waits for it at once: to be chosen would
 * change nothing. There is a point before it is taken, and none before it is given
 * back: whatever another thread could do in between it can also do while the lock is held or after,
 * unless it only tries; a scenario about bly_mutex_trylock sees the lock held at the points inside
 * the critical section.
 */
#include "testkit/explorer/engine.h"

#include <stdio.h>
#include <string.h>

#define COARSE_LAG_NS INT64_C(1000000) /* how far the coarse clock is behind */
#define FUTEX_DIFFERS 1                /* the three answers to a wait on a word */
#define FUTEX_EXPIRED 2
#define FUTEX_WAITS   3
#define YIELD_NS      INT64_C(1000) /* what a turn of a spin loop takes */

static void (*exit_functions[BLY_LOCAL_COUNT])(void *);
static bly_blocking_hook blocking_hook;
static unsigned held_count[MODEL_THREADS_MAX];

extern char __start_bly_process[] __attribute__((weak, visibility("hidden")));
extern char __stop_bly_process[] __attribute__((weak, visibility("hidden")));

static char process_image[64 * 1024];
static bool has_image;

/* Variables of the library that live as long as the process begin each execution anew. */
static void reset_process_variables(void)
{
    size_t size = (size_t)(__stop_bly_process - __start_bly_process);
    bly_assert(size <= sizeof process_image);
    if (!has_image) {
        memcpy(process_image, __start_bly_process, size);
        has_image = true;
    } else {
        memcpy(__start_bly_process, process_image, size);
    }
}

void model_sync_reset(void)
{
    memset(exit_functions, 0, sizeof exit_functions);
    memset(held_count, 0, sizeof held_count);
    blocking_hook = (bly_blocking_hook){NULL, NULL};
    if (__start_bly_process != NULL) {
        reset_process_variables();
    }
}

void model_thread_end(model_thread *thread)
{
    for (unsigned slot = 0; slot < BLY_LOCAL_COUNT; slot++) {
        void *value = thread->locals[slot];
        thread->locals[slot] = NULL;
        if (value != NULL && exit_functions[slot] != NULL) {
            exit_functions[slot](value);
        }
    }
}

_Noreturn void bly_abort(const char *invariant, const char *file, int line)
{
    if (model.current == NULL) {
        fprintf(stderr, "belay: broken invariant: %s (%s:%d)\n", invariant, file, line);
        __builtin_trap();
    }
    model_fail("broken invariant: %s (%s:%d)", invariant, file, line);
}

static void log_call(const char *operation, const void *ptr, uint64_t value)
{
    if (model.is_logging && !model.is_observing) {
        model_log(operation, ptr, value, "");
    }
}

/* Locks. */

static void note_contention(const bly_mutex *mutex)
{
    if (model.is_reducing) {
        model_note_contention(mutex);
    }
}

static void take(bly_mutex *mutex)
{
    model_thread *self = model.current;
    model_view known;
    mutex->holder = self->index + 1;
    held_count[self->index]++;
    memcpy(&known.happened, mutex->happened, sizeof known.happened);
    if (model_clock_exceeds(known.happened, self->view.happened)) {
        note_contention(mutex);
    }
    memcpy(&known.visible, mutex->visible, sizeof known.visible);
    model_view_join(&self->view, &known);
    model_saw(mutex->past);
    mutex->past = self->past;
    for (uint32_t left = model.runnable & ~(1U << self->index); left != 0; left &= left - 1) {
        model_thread *other = &model.threads[__builtin_ctz(left)];
        if (other->wants == mutex) {
            other->state = MODEL_ON_MUTEX;
            other->wait_on = mutex;
            model.runnable &= ~(1U << other->index);
        }
    }
    log_call("lock", mutex, 0);
}

void bly_model_mutex_lock(bly_mutex *mutex, const char *where)
{
    model_thread *self = model.current;
    model_arena_check_address(mutex, "lock");
    if (mutex->holder == self->index + 1) {
        model_fail("deadlock: lock at %s of a lock that the thread holds already", where);
    }
    if (mutex->holder == 0) {
        self->wants = mutex;
        model_point_on(mutex, "lock", where);
        self->wants = NULL;
        model_arena_check_address(mutex, "lock");
    } else {
        model_step("lock", where);
        note_contention(mutex);
    }
    while (mutex->holder != 0) {
        model_block(MODEL_ON_MUTEX, mutex, BELAY_FOREVER);
        model_arena_check_address(mutex, "lock");
    }
    take(mutex);
}

bool bly_model_mutex_trylock(bly_mutex *mutex, const char *where)
{
    model_point_on(mutex, "trylock", where);
    model_arena_check_address(mutex, "trylock");
    if (mutex->holder != 0) {
        model_saw(mutex->past + 1);
        note_contention(mutex);
        log_call("trylock failed", mutex, 0);
        return false;
    }
    take(mutex);
    return true;
}

void bly_model_mutex_unlock(bly_mutex *mutex, const char *where)
{
    model_thread *self = model.current;
    self->where = where;
    self->operation = "unlock";
    model_arena_check_address(mutex, "unlock");
    if (mutex->holder != self->index + 1) {
        model_fail("unlock at %s of a lock that the thread does not hold", where);
    }
    memcpy(mutex->happened, &self->view.happened, sizeof mutex->happened);
    memcpy(mutex->visible, &self->view.visible, sizeof mutex->visible);
    self->view.happened[self->index]++;
    self->view.visible[self->index]++;
    mutex->holder = 0;
    if (model.is_reducing && model_is_contended(mutex)) {
        model_not_local();
    }
    held_count[self->index]--;
    for (unsigned i = 0; i < model.thread_count; i++) {
        model_thread *other = &model.threads[i];
        if (other->state == MODEL_ON_MUTEX && other->wait_on == mutex) {
            model_wake(other);
        }
    }
    log_call("unlock", mutex, 0);
}

void bly_mutex_destroy(bly_mutex *mutex)
{
    model_arena_check_address(mutex, "destroy");
    bly_assert(mutex->holder == 0);
}

bool bly_mutex_is_mine(const bly_mutex *mutex)
{
    return model.is_observing || mutex->holder == model.current->index + 1;
}

unsigned bly_locks_held(void)
{
    return held_count[model.current->index];
}

/* Waiting. */

/* Who has waited longest on the word, of those that came after that place in the order. */
static model_thread *first_waiter(const uint32_t *word, uint64_t after)
{
    model_thread *first = NULL;
    for (unsigned i = 0; i < model.thread_count; i++) {
        model_thread *other = &model.threads[i];
        if (other->state == MODEL_ON_FUTEX && other->wait_on == word && other->wait_seq > after &&
            (first == NULL || other->wait_seq < first->wait_seq)) {
            first = other;
        }
    }
    return first;
}

/* A waiter's past holds who waits there already, in order of arrival: the order of wakes. */
static void see_queue(const uint32_t *word)
{
    uint64_t last_seq = 0;
    uint64_t waiters = FUTEX_WAITS;
    for (;;) {
        const model_thread *next = first_waiter(word, last_seq);
        if (next == NULL) {
            break;
        }
        waiters = model_mix(waiters, next->past);
        last_seq = next->wait_seq;
    }
    model_saw(waiters);
}

int bly_model_futex_wait(uint32_t *word, uint32_t expected, int64_t until_ns, const char *where)
{
    model_point("futex wait", where);
    model_arena_check_address(word, "futex wait");
    model_memory_note_wait(word);
    if (*word != expected) {
        model_saw(FUTEX_DIFFERS);
        log_call("futex differs", word, *word);
        return 0;
    }
    if (until_ns <= model.now_ns) {
        model_saw(FUTEX_EXPIRED);
        log_call("futex expired", word, *word);
        return BELAY_ETIMEDOUT;
    }
    log_call("futex wait", word, expected);
    if (model_wakes_for_nothing()) {
        log_call("woke for nothing", word, 0);
        return 0;
    }
    see_queue(word);
    model_block(MODEL_ON_FUTEX, word, until_ns);
    log_call(model.current->has_timed_out ? "timed out" : "woke", word, 0);
    return model.current->has_timed_out ? BELAY_ETIMEDOUT : 0;
}

void bly_model_futex_wake(uint32_t *word, uint32_t count, const char *where)
{
    model_point("futex wake", where);
    log_call("futex wake", word, count);
    while (count > 0) {
        model_thread *first = first_waiter(word, 0);
        if (first == NULL) {
            return;
        }
        model_saw(first->past);
        first->past = model_mix(first->past, model.current->past);
        model_wake(first);
        count--;
    }
}

void bly_model_yield(const char *where)
{
    model_thread *self = model.current;
    self->where = where;
    self->operation = "yield";
    model.steps++;
    self->past += MODEL_STEP;
    model_note_yield();
    model.now_ns += YIELD_NS;
    if (model.steps > model.opts->steps_max) {
        model_fail("livelock: more than %u operations in one execution, the last a yield at %s",
                   model.opts->steps_max, where);
    }
    model_yield();
}

/* Threads. */

int bly_thread_create(bly_thread *thread, const bly_thread_opts *opts, void (*fn)(void *),
                      void *arg)
{
    (void)opts;
    model_point("create thread", "bly_thread_create");
    if (model.spent[MODEL_COST_ALLOC] < model.budgets[MODEL_COST_ALLOC]) {
        model_decision options = {.kind = MODEL_KIND_ALLOC};
        options.counts[MODEL_COST_FREE] = 1;
        options.counts[MODEL_COST_ALLOC] = 1;
        if (model_decide(&options, NULL) != 0) {
            return BELAY_EAGAIN;
        }
    }
    model_thread *started = model_start_thread(fn, arg);
    if (started == NULL) {
        model_fail("more than %d threads in one execution", MODEL_THREADS_MAX);
    }
    started->is_owed = true;
    thread->index = started->index;
    return 0;
}

/* A thread is given up once, by a join or by detaching it. */
static void give_up_thread(uint32_t index, const char *where)
{
    if (!model.threads[index].is_owed) {
        model_fail("thread %u is given up for the second time at %s", index, where);
    }
    model.threads[index].is_owed = false;
}

static void join(uint32_t index, const char *where)
{
    model_thread *other = &model.threads[index];
    if (other->state == MODEL_ENDED) {
        model_point("join", where);
    } else {
        model_step("join", where);
        model_block(MODEL_ON_THREAD, other, BELAY_FOREVER);
    }
    model_view_join(&model.current->view, &other->view);
    model_saw(other->past);
}

void bly_model_thread_join(bly_thread *thread, const char *where)
{
    give_up_thread(thread->index, where);
    join(thread->index, where);
}

void bly_thread_detach(bly_thread *thread)
{
    give_up_thread(thread->index, "bly_thread_detach");
}

void bly_thread_slack_least(void)
{
}

uint64_t bly_thread_id(void)
{
    return model.current->index + 1;
}

int belay_model_start(void (*fn)(void *), void *arg)
{
    model_thread *started = model_start_thread(fn, arg);
    if (started == NULL) {
        model_fail("more than %d threads in one execution", MODEL_THREADS_MAX);
    }
    return (int)started->index;
}

void belay_model_join(int thread)
{
    join((uint32_t)thread, "belay_model_join");
}

/* Slots. */

void *bly_local_get(bly_local slot)
{
    return model.current->locals[slot];
}

void bly_local_set(bly_local slot, void *value)
{
    model.current->locals[slot] = value;
}

void bly_local_at_exit(bly_local slot, void (*fn)(void *))
{
    exit_functions[slot] = fn;
}

void bly_once_run(bly_once *once, void (*fn)(void))
{
    uint32_t state = 0;
    /* acquire, with the release below: what fn wrote is seen. */
    if (bly_cas(&once->state, &state, 1u, BLY_ACQUIRE, BLY_ACQUIRE)) {
        fn();
        bly_store(&once->state, 2u, BLY_RELEASE);
        bly_futex_wake(&once->state, BLY_WAKE_ALL);
    }
    while (bly_load(&once->state, BLY_ACQUIRE) == 1) {
        (void)bly_futex_wait(&once->state, 1, BELAY_FOREVER);
    }
}

/* Time and random numbers. */

/* What the clock says, as an answer to the current thread. */
static int64_t read_clock(void)
{
    if (!model.is_observing) {
        model_saw((uint64_t)model.now_ns);
        model_not_local();
    }
    return model.now_ns;
}

int64_t bly_monotonic_ns(void)
{
    return read_clock();
}

int64_t bly_monotonic_coarse_ns(void)
{
    (void)read_clock();
    return model.now_ns > COARSE_LAG_NS ? model.now_ns - COARSE_LAG_NS : 0;
}

int64_t bly_wall_ns(void)
{
    return INT64_C(1700000000000000000) + read_clock();
}

unsigned belay_model_choose(unsigned options)
{
    if (options == 0 || options > UINT8_MAX) {
        model_fail("belay_model_choose of %u options; 1 to %u are possible", options, UINT8_MAX);
    }
    model_decision decision = {.kind = MODEL_KIND_CHOICE};
    decision.counts[MODEL_COST_FREE] = (uint8_t)options;
    return model_decide(&decision, NULL);
}

uint64_t bly_random(uint64_t *state)
{
    (void)state;
    return belay_model_choose(2);
}

uint64_t bly_random_seed(void)
{
    return 1;
}

/* Fork and blocking: an execution never forks. */

void bly_at_fork(bly_fork_hook *hook)
{
    (void)hook;
}

uint64_t bly_fork_generation(void)
{
    return 0;
}

bool bly_forked_since(uint64_t generation)
{
    return generation != 0;
}

bool bly_fence_heavy_available(void)
{
    return true;
}

void bly_blocking_install(const bly_blocking_hook *hook)
{
    blocking_hook = *hook;
}

void bly_blocking_begin(void)
{
    if (blocking_hook.begin != NULL) {
        blocking_hook.begin();
    }
}

void bly_blocking_end(void)
{
    if (blocking_hook.end != NULL) {
        blocking_hook.end();
    }
}

/* What scenarios say. */

void belay_model_fail(const char *message, const char *file, int line)
{
    model_fail("%s (%s:%d)", message, file, line);
}

void belay_model_invariant(void (*fn)(void *), void *arg)
{
    model.invariant = fn;
    model.invariant_arg = arg;
}
