/*
 * strategy.c: the three ways of making decisions, and the one that makes none.
 *
 * Depth first walks the tree of decisions: each execution repeats the last one up to its deepest
 * decision that has an option left within the budgets, takes that, and goes on with option 0.
 *
 * PCT is Burckhardt, Kothari, Musuvathi and Nagarakatte, "A Randomized Scheduler with Probabilistic
 * Guarantees of Finding Bugs" (2010): threads run by random priority, and at depth - 1 randomly
 * chosen steps the running one falls below all others. The length of an execution, which it needs
 * to choose those steps, is that of the longest so far. Decisions that are not about threads, and
 * timeouts and spurious wake-ups, are taken at random.
 */
#include "testkit/explorer/engine.h"

#include <string.h>

#define PCT_DEPTH_MAX 8
#define RARE          8 /* one time in so many a decision that costs something is taken */

static uint64_t next_random(uint64_t *state)
{
    uint64_t value = (*state += UINT64_C(0x9e3779b97f4a7c15));
    value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
    return value ^ (value >> 31);
}

static void begin_nothing(model_strategy *self)
{
    (void)self;
}

static unsigned choose_first(model_strategy *self, const model_decision *options)
{
    (void)self;
    (void)options;
    return 0;
}

static unsigned choose_first_thread(model_strategy *self, const model_decision *options,
                                    const uint8_t *threads)
{
    (void)self;
    (void)options;
    (void)threads;
    return 0;
}

/* Depth first. */

static bool is_affordable(const uint32_t *spent, enum model_cost cost)
{
    return cost != MODEL_COST_PREEMPT || spent[MODEL_COST_PREEMPT] < model.opts->preemptions;
}

/* Goes on with the current thread, unless all that can follow has been explored already. */
static unsigned dfs_choose_thread(model_strategy *self, const model_decision *options,
                                  const uint8_t *threads)
{
    if (model.is_reducing && model_state_was_seen()) {
        model_cut();
    }
    return choose_first_thread(self, options, threads);
}

/* Moves the deepest decision that can be moved to its next option; all before it is the prefix. */
static bool dfs_next(model_strategy *self)
{
    (void)self;
    while (model.decision_count > 0) {
        model_decision *last = &model.decisions[model.decision_count - 1];
        unsigned total = last->is_fixed ? 0 : model_decision_options(last);
        model.spent[model_decision_cost(last, last->chosen)]--;
        for (unsigned option = last->chosen + 1u; option < total; option++) {
            if (is_affordable(model.spent, model_decision_cost(last, option))) {
                last->chosen = (uint8_t)option;
                model.prefix_count = model.decision_count;
                return true;
            }
        }
        model.decision_count--;
    }
    return false;
}

model_strategy *model_strategy_dfs(void)
{
    static model_strategy dfs = {begin_nothing, choose_first, dfs_choose_thread, dfs_next};
    return &dfs;
}

static bool replay_next(model_strategy *self)
{
    (void)self;
    return false;
}

model_strategy *model_strategy_replay(void)
{
    static model_strategy replay = {begin_nothing, choose_first, choose_first_thread, replay_next};
    return &replay;
}

/* Random. */

typedef struct random_strategy {
    model_strategy base;
    uint64_t state;
    uint32_t depth;
    uint32_t steps_longest;
    uint32_t change_at[PCT_DEPTH_MAX];
    int32_t priority[MODEL_THREADS_MAX];
    int32_t lowest;
} random_strategy;

static random_strategy shared;

static unsigned choose_random(model_strategy *self, const model_decision *options)
{
    (void)self;
    unsigned total = model_decision_options(options);
    unsigned free_count = options->counts[MODEL_COST_FREE];
    if (free_count > 0 && options->kind != MODEL_KIND_CHOICE &&
        next_random(&shared.state) % RARE != 0) {
        total = free_count;
    }
    return (unsigned)(next_random(&shared.state) % total);
}

static unsigned choose_random_thread(model_strategy *self, const model_decision *options,
                                     const uint8_t *threads)
{
    (void)self;
    (void)threads;
    unsigned cheap = options->counts[MODEL_COST_FREE] + options->counts[MODEL_COST_PREEMPT];
    unsigned total = model_decision_options(options);
    if (cheap > 0 && (cheap == total || next_random(&shared.state) % RARE != 0)) {
        total = cheap;
    }
    return (unsigned)(next_random(&shared.state) % total);
}

static bool random_next(model_strategy *self)
{
    (void)self;
    model.prefix_count = 0;
    return true;
}

model_strategy *model_strategy_random(uint64_t seed)
{
    memset(&shared, 0, sizeof shared);
    shared.base = (model_strategy){begin_nothing, choose_random, choose_random_thread, random_next};
    shared.state = seed;
    return &shared.base;
}

/* PCT. */

static void pct_begin(model_strategy *self)
{
    (void)self;
    if (model.steps > shared.steps_longest) {
        shared.steps_longest = model.steps;
    }
    for (unsigned i = 0; i < MODEL_THREADS_MAX; i++) {
        shared.priority[i] = (int32_t)(next_random(&shared.state) & 0xffff) + PCT_DEPTH_MAX;
    }
    for (unsigned i = 0; i + 1 < shared.depth; i++) {
        shared.change_at[i] = (uint32_t)(next_random(&shared.state) % (shared.steps_longest + 1u));
    }
    shared.lowest = PCT_DEPTH_MAX;
}

static void pct_change_priorities(void)
{
    for (unsigned i = 0; i + 1 < shared.depth; i++) {
        if (shared.change_at[i] != 0 && model.steps >= shared.change_at[i]) {
            shared.change_at[i] = 0;
            shared.priority[model.current->index] = --shared.lowest;
        }
    }
}

static unsigned pct_choose_thread(model_strategy *self, const model_decision *options,
                                  const uint8_t *threads)
{
    unsigned cheap = options->counts[MODEL_COST_FREE] + options->counts[MODEL_COST_PREEMPT];
    unsigned total = model_decision_options(options);
    pct_change_priorities();
    if (cheap == 0 || (cheap < total && next_random(&shared.state) % RARE == 0)) {
        return choose_random_thread(self, options, threads);
    }
    unsigned best = 0;
    for (unsigned i = 1; i < cheap; i++) {
        if (shared.priority[threads[i]] > shared.priority[threads[best]]) {
            best = i;
        }
    }
    return best;
}

model_strategy *model_strategy_pct(uint64_t seed, uint32_t depth)
{
    memset(&shared, 0, sizeof shared);
    shared.base = (model_strategy){pct_begin, choose_random, pct_choose_thread, random_next};
    shared.state = seed;
    shared.depth = depth < PCT_DEPTH_MAX ? depth : PCT_DEPTH_MAX;
    shared.steps_longest = 32;
    return &shared.base;
}
