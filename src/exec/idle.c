/*
 * idle.c: see idle.h for the rule and its proof.
 *
 * The word holds the number of sleepers in its upper half and of searchers in its lower half.
 * Sleepers change only under the lock, with the stack; searchers anywhere. A waker takes the
 * sleeper off the stack and counts it as a searcher before it is awake, so that each push made
 * meanwhile sees that somebody is coming, and a sleep costs one wake at most.
 */
#include "exec/idle.h"

#define ONE_SEARCHER 1u
#define ONE_SLEEPER  (1u << 16)
#define SEARCHERS    (ONE_SLEEPER - 1)

int bly_idle_init(bly_idle *idle, uint32_t workers)
{
    bly_assert(workers != 0 && workers < SEARCHERS);
    idle->stack = bly_alloc(workers * sizeof *idle->stack);
    idle->beds = bly_alloc(workers * sizeof *idle->beds);
    if (idle->stack == NULL || idle->beds == NULL) {
        bly_idle_destroy(idle);
        return BELAY_ENOMEM;
    }
    idle->workers = workers;
    bly_store(&idle->top, BLY_NO_WORKER, BLY_RELAXED); /* relaxed: nobody else knows it yet */
    return 0;
}

void bly_idle_destroy(bly_idle *idle)
{
    bly_free(idle->stack);
    bly_free(idle->beds);
    bly_mutex_destroy(&idle->lock);
    *idle = (bly_idle){.workers = 0};
}

static uint32_t get_word(const bly_idle *idle)
{
    return bly_load(&idle->word, BLY_SEQ_CST); /* with the queues' writes, see idle.h */
}

static uint32_t sleepers_of(uint32_t word)
{
    return word / ONE_SLEEPER;
}

static bool needs_wake(uint32_t word)
{
    return sleepers_of(word) != 0 && (word & SEARCHERS) == 0;
}

void bly_idle_search_begin(bly_idle *idle)
{
    uint32_t before = bly_fetch_add(&idle->word, ONE_SEARCHER, BLY_SEQ_CST);
    bly_assert((before & SEARCHERS) < idle->workers);
}

bool bly_idle_search_end(bly_idle *idle)
{
    uint32_t before = bly_fetch_sub(&idle->word, ONE_SEARCHER, BLY_SEQ_CST);
    bly_assert((before & SEARCHERS) != 0);
    return (before & SEARCHERS) == 1;
}

static void show_top_locked(bly_idle *idle, uint32_t sleepers)
{
    bly_store(&idle->top, sleepers != 0 ? idle->stack[sleepers - 1] : BLY_NO_WORKER, BLY_RELAXED);
}

void bly_idle_go_to_bed(bly_idle *idle, uint32_t worker)
{
    bly_assert(worker < idle->workers);
    bly_mutex_lock(&idle->lock);
    /* relaxed: the waker finds the worker on the stack, under the lock, first. */
    bly_store(&idle->beds[worker]->is_woken, 0u, BLY_RELAXED);
    uint32_t sleepers = sleepers_of(get_word(idle));
    bly_assert(sleepers < idle->workers);
    idle->stack[sleepers] = worker;
    show_top_locked(idle, sleepers + 1);
    (void)bly_fetch_add(&idle->word, ONE_SLEEPER - ONE_SEARCHER, BLY_SEQ_CST);
    bly_mutex_unlock(&idle->lock);
}

/* Takes the worker off the stack, as a searcher; false when a waker has done so. */
static bool leave_stack(bly_idle *idle, uint32_t worker)
{
    bly_mutex_lock(&idle->lock);
    uint32_t sleepers = sleepers_of(get_word(idle));
    uint32_t place = 0;
    while (place < sleepers && idle->stack[place] != worker) {
        place++;
    }
    bool is_there = place < sleepers;
    if (is_there) {
        for (uint32_t i = place; i + 1 < sleepers; i++) {
            idle->stack[i] = idle->stack[i + 1];
        }
        show_top_locked(idle, sleepers - 1);
        (void)bly_fetch_sub(&idle->word, ONE_SLEEPER - ONE_SEARCHER, BLY_SEQ_CST);
    }
    bly_mutex_unlock(&idle->lock);
    return is_there;
}

void bly_idle_sleep(bly_idle *idle, uint32_t worker)
{
    uint32_t *is_woken = &idle->beds[worker]->is_woken;
    /* acquire, with the release of wake_top. */
    while (bly_load(is_woken, BLY_ACQUIRE) == 0) {
        (void)bly_futex_wait(is_woken, 0, BELAY_FOREVER);
    }
}

void bly_idle_get_up(bly_idle *idle, uint32_t worker)
{
    if (!leave_stack(idle, worker)) {
        bly_idle_sleep(idle, worker); /* short: its waker is about to store is_woken */
    }
}

/* Wakes the top of the stack if `is_wanted` of the word still holds; false when it does not. */
static bool wake_top(bly_idle *idle, bool (*is_wanted)(uint32_t word))
{
    bly_mutex_lock(&idle->lock);
    uint32_t word = get_word(idle);
    if (!is_wanted(word)) {
        bly_mutex_unlock(&idle->lock);
        return false;
    }
    uint32_t sleepers = sleepers_of(word);
    bly_bed *bed = idle->beds[idle->stack[sleepers - 1]];
    show_top_locked(idle, sleepers - 1);
    (void)bly_fetch_sub(&idle->word, ONE_SLEEPER - ONE_SEARCHER, BLY_SEQ_CST);
    bly_mutex_unlock(&idle->lock);
    bly_store(&bed->is_woken, 1u, BLY_RELEASE); /* with the acquire of bly_idle_sleep */
    bly_futex_wake(&bed->is_woken, 1);
    return true;
}

void bly_idle_wake_one(bly_idle *idle)
{
    if (needs_wake(get_word(idle))) {
        (void)wake_top(idle, needs_wake);
    }
}

static bool has_sleepers(uint32_t word)
{
    return sleepers_of(word) != 0;
}

void bly_idle_wake_all(bly_idle *idle)
{
    while (wake_top(idle, has_sleepers)) {
    }
}

uint32_t bly_idle_sleepers(const bly_idle *idle)
{
    return sleepers_of(get_word(idle));
}
