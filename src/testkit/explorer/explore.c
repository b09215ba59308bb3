/*
 * explore.c: a run: one execution after another, and what is made of a failure.
 *
 * A failing trace is minimised by turning its decisions to 0 from the end, keeping each change
 * under which the execution still fails with the same message; then it is replayed once more to
 * write the table. Both ends of that are the same code that replays a trace given by hand.
 */
#include "testkit/explorer/engine.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MINIMISE_TRIES_MAX 20000
#define CLOCK_EVERY        256 /* executions between two looks at the clock */
#define SIGNAL_STACK_SIZE  (64 * 1024)

static const belay_model_opts defaults = {
    .preemptions = 3,
    .timeouts = BELAY_UNBOUNDED,
    .stale_reads = 1,
    .pct_depth = 3,
    .steps_max = 10000,
    .seed = 1,
};

static uint32_t bound(uint32_t value, uint32_t otherwise)
{
    if (value == BELAY_NONE) {
        return 0;
    }
    return value == 0 ? otherwise : value;
}

static int read_opts(const belay_model_opts *given, belay_model_opts *ret_opts)
{
    belay_model_opts opts = {.size = sizeof opts};
    if (given != NULL) {
        if (given->size != sizeof opts || given->strategy > BELAY_MODEL_PCT) {
            return BELAY_EINVAL;
        }
        opts = *given;
    }
    opts.preemptions = bound(opts.preemptions, defaults.preemptions);
    opts.timeouts = bound(opts.timeouts, defaults.timeouts);
    opts.spurious = bound(opts.spurious, 0);
    opts.stale_reads = bound(opts.stale_reads, defaults.stale_reads);
    opts.alloc_failures = bound(opts.alloc_failures, 0);
    opts.pct_depth = bound(opts.pct_depth, defaults.pct_depth);
    opts.steps_max = bound(opts.steps_max, defaults.steps_max);
    opts.seed = opts.seed == 0 ? defaults.seed : opts.seed;
    *ret_opts = opts;
    return 0;
}

/* Preemptions are the strategy's business: a trace stays valid under another bound. */
static void set_budgets(const belay_model_opts *opts)
{
    model.budgets[MODEL_COST_FREE] = UINT32_MAX;
    model.budgets[MODEL_COST_PREEMPT] = UINT32_MAX;
    model.budgets[MODEL_COST_TIMEOUT] = opts->timeouts;
    model.budgets[MODEL_COST_SPURIOUS] = opts->spurious;
    model.budgets[MODEL_COST_STALE] = opts->stale_reads;
    model.budgets[MODEL_COST_ALLOC] = opts->alloc_failures;
}

static int64_t machine_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* A crash of the scenario ends its execution as a failure, with the trace that leads to it. */
static void on_crash(int number)
{
    if (model.current != NULL) {
        model_fail("signal %d (%s) near %s", number, strsignal(number), model.current->where);
    }
    signal(number, SIG_DFL);
    raise(number);
}

static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
static struct sigaction before[bly_count(crashes)];
static char signal_stack[SIGNAL_STACK_SIZE];

static void catch_crashes(void)
{
    stack_t alternate = {.ss_sp = signal_stack, .ss_size = sizeof signal_stack};
    sigaltstack(&alternate, NULL);
    struct sigaction action = {.sa_handler = on_crash, .sa_flags = SA_ONSTACK | SA_NODEFER};
    for (size_t i = 0; i < bly_count(crashes); i++) {
        sigaction(crashes[i], &action, &before[i]);
    }
}

static void release_crashes(void)
{
    for (size_t i = 0; i < bly_count(crashes); i++) {
        sigaction(crashes[i], &before[i], NULL);
    }
}

static void run_execution(void (*fn)(void *), void *arg)
{
    model_execute(fn, arg);
    model.current = NULL;
}

/* Runs with the first `count` decisions given; true when it fails with that message. */
static bool fails_with(const model_decision *decisions, uint32_t count, const char *message,
                       void (*fn)(void *), void *arg)
{
    memmove(model.decisions, decisions, count * sizeof *decisions);
    model.prefix_count = count;
    run_execution(fn, arg);
    return model.has_failed && strcmp(model.message, message) == 0;
}

/*
 * Turns decisions to 0, from the last one on, while the failure stays, until no change is kept or
 * too many were tried. A given decision whose option does not exist any more counts as 0, so each
 * attempt is a whole execution. Returns the number of decisions up to the last that is not 0.
 */
static uint32_t minimise(model_decision *best, uint32_t count, const char *message,
                         void (*fn)(void *), void *arg)
{
    static model_decision attempt[MODEL_DECISIONS_MAX];
    unsigned tries = 0;
    bool is_smaller = true;
    while (is_smaller && tries < MINIMISE_TRIES_MAX) {
        is_smaller = false;
        for (uint32_t i = count; i-- > 0 && tries < MINIMISE_TRIES_MAX;) {
            if (best[i].chosen == 0) {
                continue;
            }
            memcpy(attempt, best, count * sizeof *best);
            attempt[i].chosen = 0;
            tries++;
            if (fails_with(attempt, count, message, fn, arg)) {
                memcpy(best, attempt, count * sizeof *best);
                is_smaller = true;
            }
        }
    }
    while (count > 0 && best[count - 1].chosen == 0) {
        count--;
    }
    return count;
}

static void report_failure(const char *name, belay_model_result *result, void (*fn)(void *),
                           void *arg)
{
    static model_decision best[MODEL_DECISIONS_MAX];
    static char message[MODEL_MESSAGE_MAX];
    belay_model_opts opts = *model.opts;
    uint32_t count = model.decision_count;
    memcpy(best, model.decisions, count * sizeof *best);
    memcpy(message, model.message, sizeof message);
    model.strategy = model_strategy_replay();
    model.is_walking = false;
    model.is_reducing = false;
    count = minimise(best, count, message, fn, arg);
    model.is_logging = opts.is_quiet == 0;
    bool is_same = fails_with(best, count, message, fn, arg);
    model.is_logging = false;
    snprintf(result->message, sizeof result->message, "%s", message);
    snprintf(result->trace, sizeof result->trace, "%s",
             model_trace_format(model.decisions, model.decision_count));
    if (opts.is_quiet == 0) {
        printf("%s: %s%s\n  trace: '%s'\n", name, message, is_same ? "" : " (the replay differs)",
               result->trace);
        model_trace_print_table();
        fflush(stdout);
    }
}

static model_strategy *strategy_of(const belay_model_opts *opts)
{
    if (opts->replay != NULL) {
        return model_strategy_replay();
    }
    switch (opts->strategy) {
    case BELAY_MODEL_RANDOM:
        return model_strategy_random(opts->seed);
    case BELAY_MODEL_PCT:
        return model_strategy_pct(opts->seed, opts->pct_depth);
    default:
        return model_strategy_dfs();
    }
}

/* Depth first from the start, with what is now known to be contended for. */
static void begin_again(void)
{
    model.has_learned = false;
    model.decision_count = 0;
    model.prefix_count = 0;
    (void)model_states_reset();
}

static void explore(const belay_model_opts *opts, belay_model_result *result, void (*fn)(void *),
                    void *arg)
{
    int64_t end_ns = opts->time_max_ns > 0 ? machine_ns() + opts->time_max_ns : INT64_MAX;
    for (;;) {
        model.strategy->begin(model.strategy);
        run_execution(fn, arg);
        result->executions++;
        if (model.has_failed) {
            result->has_failed = true;
            return;
        }
        if (model.has_learned) {
            begin_again();
        } else if (!model.strategy->next(model.strategy)) {
            result->is_exhausted = opts->replay == NULL;
            return;
        }
        if (result->executions == opts->executions_max ||
            (result->executions % CLOCK_EVERY == 0 && machine_ns() >= end_ns)) {
            return;
        }
    }
}

int belay_model_run(const char *name, const belay_model_opts *given, belay_model_result *ret_result,
                    void (*fn)(void *), void *arg)
{
    belay_model_opts opts;
    int error =
        name == NULL || ret_result == NULL || fn == NULL ? BELAY_EINVAL : read_opts(given, &opts);
    if (error != 0) {
        return error;
    }
    if (model.current != NULL) {
        return BELAY_EBUSY;
    }
    if (!model_engine_open() || !model_arena_open() || !model_states_reset()) {
        return BELAY_ENOMEM;
    }
    model.prefix_count = 0;
    if (opts.replay != NULL &&
        !model_trace_parse(opts.replay, model.decisions, &model.prefix_count)) {
        return BELAY_EINVAL;
    }
    memset(ret_result, 0, sizeof *ret_result);
    model.opts = &opts;
    model.strategy = strategy_of(&opts);
    model.is_walking = opts.strategy == BELAY_MODEL_DFS && opts.replay == NULL;
    model.is_reducing = model.is_walking && opts.is_full == 0;
    model.has_learned = false;
    model_contention_reset(fn, arg);
    model.total_steps = 0;
    model.total_cut = 0;
    set_budgets(&opts);
    catch_crashes();
    explore(&opts, ret_result, fn, arg);
    ret_result->steps = model.total_steps;
    ret_result->cut = model.total_cut;
    if (ret_result->has_failed) {
        report_failure(name, ret_result, fn, arg);
    }
    release_crashes();
    return ret_result->has_failed ? BELAY_ECANCELED : 0;
}
