/*
 * state.c: states that depth first has seen before.
 *
 * An execution is a function of its decisions, so the state that it is in is known from what each
 * thread has done and has been answered: which store a load read and which was the newest, who held
 * the lock before, who was waiting, what the clock said. Each thread carries one number for all
 * that, `past`; the numbers of all threads, who is running, and what the choice of the next thread
 * looks at make the key of a state. Two executions that differ only in the order of operations that
 * do not touch each other have the same key, and then everything that can follow is the same.
 * (Musuvathi and Qadeer, "Partial-Order Reduction for Context-Bounded State Exploration", 2007.)
 *
 * A state is not explored again when it was with at least as much of every budget left. Depth first
 * has then walked everything behind it before it comes there again, as the past only grows. The
 * table forgets when it is full, which costs time and nothing else. Keys have 64 bits: among a
 * hundred million states, the chance that any two share one is below 1 in 3,000.
 */
#include "testkit/explorer/engine.h"

#include <stdlib.h>
#include <string.h>

#define WAYS         4 /* entries of a bucket, which is one cache line */
#define BUCKETS_MIN  ((size_t)1 << 8)
#define BUCKETS_MAX  ((size_t)1 << 21) /* 128 MiB */
#define BUDGET_BITS  6                 /* of each class in `left`, the highest always 0 */
#define BUDGET_MOST  31u
#define BUDGET_CARRY 0x20820820u /* the highest bit of each class */

typedef struct entry {
    uint64_t key;
    uint32_t left; /* of each budget when it was explored, BUDGET_BITS a class */
    uint32_t run;  /* that it belongs to; 0: none */
} entry;

typedef struct bucket {
    entry ways[WAYS];
} bucket;

static bucket *buckets;
static size_t bucket_count;
static size_t entry_count;
static uint32_t run = 1;

/* A run begins: nothing has been seen. False when there is no memory. */
bool model_states_reset(void)
{
    if (buckets == NULL) {
        buckets = calloc(BUCKETS_MIN, sizeof *buckets);
        bucket_count = buckets != NULL ? BUCKETS_MIN : 0;
    }
    run++;
    entry_count = 0;
    return buckets != NULL;
}

static uint64_t key_of_state(void)
{
    uint64_t masks = model.runnable | (uint64_t)model.yielded << 8 | (uint64_t)model.timed << 16 |
                     (uint64_t)model.current->index << 24;
    uint64_t key = model_mix(masks, (uint64_t)model.now_ns);
    for (unsigned i = 0; i < model.thread_count; i++) {
        key = model_mix(key, model.threads[i].past);
    }
    return key;
}

/* What is left of each budget, packed; what does not fit is mixed into the key instead. */
static uint32_t budgets_left(uint64_t *key)
{
    uint32_t packed = 0;
    for (unsigned cost = MODEL_COST_PREEMPT; cost < MODEL_COST_COUNT; cost++) {
        uint32_t budget =
            cost == MODEL_COST_PREEMPT ? model.opts->preemptions : model.budgets[cost];
        uint32_t left = budget == BELAY_UNBOUNDED ? BUDGET_MOST : budget - model.spent[cost];
        if (left > BUDGET_MOST) {
            *key = model_mix(*key, left);
            left = BUDGET_MOST;
        }
        packed = packed << BUDGET_BITS | left;
    }
    return packed;
}

/* True when no class of `more` has less than in `less`. */
static bool covers(uint32_t more, uint32_t less)
{
    return (((more | BUDGET_CARRY) - less) & BUDGET_CARRY) == BUDGET_CARRY;
}

static void insert(const entry *added)
{
    bucket *place = &buckets[added->key & (bucket_count - 1)];
    entry *victim = &place->ways[(added->key >> 60) % WAYS];
    for (unsigned i = 0; i < WAYS; i++) {
        entry *here = &place->ways[i];
        if (here->run != run || (here->key == added->key && covers(added->left, here->left))) {
            victim = here;
            break;
        }
    }
    entry_count += victim->run != run;
    *victim = *added;
}

/* Doubles the table; without memory it stays as it is. */
static void grow(void)
{
    bucket *old = buckets;
    size_t old_count = bucket_count;
    bucket *larger = calloc(old_count * 2, sizeof *larger);
    if (larger == NULL) {
        return;
    }
    buckets = larger;
    bucket_count = old_count * 2;
    entry_count = 0;
    for (size_t i = 0; i < old_count; i++) {
        for (unsigned way = 0; way < WAYS; way++) {
            if (old[i].ways[way].run == run) {
                insert(&old[i].ways[way]);
            }
        }
    }
    free(old);
}

/* True when the state before a choice of thread was explored with as much left; else it is now. */
bool model_state_was_seen(void)
{
    entry now = {.key = key_of_state(), .run = run};
    now.left = budgets_left(&now.key);
    const bucket *place = &buckets[now.key & (bucket_count - 1)];
    for (unsigned i = 0; i < WAYS; i++) {
        const entry *seen = &place->ways[i];
        if (seen->key == now.key && seen->run == run && covers(seen->left, now.left)) {
            return true;
        }
    }
    if (entry_count > bucket_count * WAYS / 2 && bucket_count < BUCKETS_MAX) {
        grow();
    }
    insert(&now);
    return false;
}
