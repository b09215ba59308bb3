/*
 * main.c: runs the scenarios of the explorer.
 *
 * usage: belay-model [--list] [--strategy dfs|random|pct] [--preemptions N] [--full] [--seed N]
 *                    [--replay TRACE] [--seconds S] [--executions N] [--fail-fast] [--jobs N]
 *                    [NAME...]
 * Each scenario is explored depth first with no preemption, with one, and so on up to 3 or N (where
 * that does not end in half of its time, in the other half without stale reads); then,
 * unless that saw every schedule there is, at random and by PCT. --seconds is its share of time: of
 * that depth first has half, and what earlier scenarios left of theirs; the two others have a
 * quarter each. --full explores a state again that was seen before. NAME is a part of a scenario's
 * name; the scenarios run in the order of the names. The last lines count.
 * With --jobs the scenarios are dealt out to so many processes, and shown a process after another.
 */
#include "scenario.h"

#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SECONDS_DEFAULT 2.0
#define JOBS_MAX        64
#define BOUND_DEFAULT   3
#define BOUNDS          (BOUND_DEFAULT + 1)
#define NOT_EXHAUSTED   (-1)
#define WITHOUT_BOUND   INT_MAX
#define SAVINGS_SHARE   0.25 /* of what earlier scenarios left, for one of those after them */

typedef struct settings {
    int strategy; /* -1: all three */
    double seconds;
    uint64_t executions;
    uint64_t seed;
    const char *replay;
    uint32_t preemptions; /* the highest bound; 0: the scenario's */
    bool is_full;
    bool is_fail_fast; /* the first failure ends the run */
    unsigned jobs;     /* processes */
    unsigned job;      /* which of them this is */
} settings;

/* What one process has done; the processes' totals are shared memory. */
typedef struct totals {
    uint64_t executions;
    int failed;
    int passed;
    int whole;             /* scenarios that ended at bound 3 or without one, with stale reads */
    int ended[BOUNDS + 1]; /* others by 1 + the highest bound at which they ended; 0: at none */
} totals;

static totals *total;
static bool is_exhausted; /* the last run explored everything within its bounds */
static uint64_t left;     /* executions that depth first may still make of a scenario */
static double saved;      /* seconds that earlier scenarios did not need */

static const char *const strategy_names[] = {"dfs", "random", "pct"};

static belay_model_opts opts_of(const scenario *test, const settings *how, unsigned strategy,
                                double seconds)
{
    belay_model_opts opts = test->opts;
    opts.size = sizeof opts;
    opts.strategy = strategy;
    opts.seed = how->seed;
    opts.replay = how->replay;
    opts.is_quiet = test->finds != NULL && how->replay == NULL;
    opts.executions_max = how->executions;
    opts.time_max_ns = (int64_t)(seconds * 1e9);
    opts.is_full = how->is_full;
    return opts;
}

static void complain(const scenario *test, const char *what)
{
    printf("FAIL %s: %s\n", test->name, what);
}

/* A planted fault must be found by its stored trace, the same way twice. */
static bool check_stored_trace(const scenario *test)
{
    belay_model_result results[2];
    for (int i = 0; i < 2; i++) {
        belay_model_opts opts = test->opts;
        opts.size = sizeof opts;
        opts.is_quiet = 1;
        opts.replay = test->trace;
        (void)belay_model_run(test->name, &opts, &results[i], test->fn, test->arg);
    }
    if (!results[0].has_failed || strstr(results[0].message, test->finds) == NULL) {
        complain(test, "its stored trace no longer finds the fault");
        return false;
    }
    if (strcmp(results[0].message, results[1].message) != 0 ||
        strcmp(results[0].trace, results[1].trace) != 0) {
        complain(test, "two replays differ");
        return false;
    }
    return true;
}

static double clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* What one run found; false when it showed that something is wrong. */
static bool judge(const scenario *test, const belay_model_result *result, bool *ret_found)
{
    if (!result->has_failed) {
        return true;
    }
    if (test->finds != NULL && strstr(result->message, test->finds) != NULL) {
        printf("  %-44s trace  %s\n", "", result->trace);
        *ret_found = true;
        return true;
    }
    printf("  replay: ./dev model %s --replay '%s'\n", test->name, result->trace);
    complain(test, result->message);
    return false;
}

/* One strategy within one bound; false when it showed that something is wrong. */
static bool run_once(const scenario *test, const belay_model_opts *opts, const char *title,
                     bool *ret_found)
{
    belay_model_result result;
    if (test->before != NULL) {
        test->before(test->arg);
    }
    int error = belay_model_run(test->name, opts, &result, test->fn, test->arg);
    if (error != 0 && error != BELAY_ECANCELED) {
        complain(test, belay_strerror(error));
        return false;
    }
    total->executions += result.executions;
    left -= result.executions < left ? result.executions : left;
    is_exhausted = result.is_exhausted;
    const char *ending = result.has_failed                   ? result.message
                         : result.is_exhausted               ? "exhausted"
                         : opts->strategy == BELAY_MODEL_DFS ? "not exhausted within its share"
                                                             : "";
    printf("  %-44s %-14s %10llu executions %s\n", test->name, title,
           (unsigned long long)result.executions, ending);
    return judge(test, &result, ret_found);
}

/* The bound up to which depth first goes: at least the default. */
static uint32_t highest_bound(const scenario *test, const settings *how)
{
    if (how->preemptions != 0) {
        return how->preemptions;
    }
    return test->opts.preemptions > BOUND_DEFAULT ? test->opts.preemptions : BOUND_DEFAULT;
}

/* How far depth first came: the highest bound that it exhausted, with stale reads and without. */
typedef struct reach {
    int with_stale;
    int without_stale;
} reach;

/*
 * Depth first within bound after bound, from `first` on, until one does not end in time or within
 * the executions that are left. *ret_bound is set to the highest that did.
 */
static bool run_bounds(const scenario *test, const settings *how, uint32_t first, bool is_stale,
                       double end, bool *ret_found, int *ret_bound)
{
    uint32_t highest = highest_bound(test, how);
    bool is_right = true;
    is_exhausted = true;
    for (uint32_t bound = highest == BELAY_UNBOUNDED ? highest : first;
         bound <= highest && is_right && is_exhausted && left > 0 && !*ret_found; bound++) {
        char title[32] = "unbounded";
        double seconds = end - clock_seconds();
        belay_model_opts opts = opts_of(test, how, BELAY_MODEL_DFS, seconds > 0 ? seconds : 1e-9);
        opts.executions_max = left;
        opts.preemptions = bound != 0 ? bound : BELAY_NONE;
        opts.stale_reads = is_stale ? opts.stale_reads : BELAY_NONE;
        if (bound != BELAY_UNBOUNDED) {
            snprintf(title, sizeof title, "bound %u%s", bound, is_stale ? "" : " newest");
        }
        is_right = run_once(test, &opts, title, ret_found);
        is_exhausted = is_exhausted && left > 0; /* with none left, higher bounds are not tried */
        if (is_exhausted) {
            *ret_bound = bound != BELAY_UNBOUNDED ? (int)bound : WITHOUT_BOUND;
        }
        if (bound == BELAY_UNBOUNDED) {
            break;
        }
    }
    return is_right;
}

/*
 * Depth first. Stale reads multiply schedules more than anything else: where they do not let the
 * highest bound end in half of the time, the rest goes to bounds at which every load reads the
 * newest store. What a scenario says of its outcomes is asked when everything was exhausted.
 */
static bool run_depth_first(const scenario *test, const settings *how, double seconds,
                            bool *ret_found, reach *ret_reach)
{
    double begin = clock_seconds();
    left = how->executions > 0 ? how->executions : UINT64_MAX;
    *ret_reach = (reach){NOT_EXHAUSTED, NOT_EXHAUSTED};
    bool is_right =
        run_bounds(test, how, 0, true, begin + seconds / 2, ret_found, &ret_reach->with_stale);
    bool is_whole = is_exhausted;
    if (is_right && !*ret_found && !is_whole) {
        ret_reach->without_stale = ret_reach->with_stale;
        is_right = run_bounds(test, how, (uint32_t)(ret_reach->with_stale + 1), false,
                              begin + seconds, ret_found, &ret_reach->without_stale);
    }
    const char *wrong =
        is_right && is_whole && !*ret_found && test->after != NULL ? test->after(test->arg) : NULL;
    if (wrong != NULL) {
        complain(test, wrong);
    }
    return is_right && wrong == NULL;
}

static bool run_replay(const scenario *test, const settings *how)
{
    bool is_found = false;
    belay_model_opts opts = opts_of(test, how, BELAY_MODEL_DFS, 0);
    return run_once(test, &opts, "replay", &is_found);
}

static void count_ending(const reach *how_far)
{
    if (how_far->with_stale >= BOUND_DEFAULT) {
        total->whole++;
    } else {
        int bound = how_far->without_stale > how_far->with_stale ? how_far->without_stale
                                                                 : how_far->with_stale;
        total->ended[bound + 1]++;
    }
}

/* Depth first, then the two that are random; a fault that is planted ends it when it is found. */
static bool run_strategies(const scenario *test, const settings *how, bool *ret_found)
{
    bool is_only = how->strategy >= 0;
    bool is_right = true;
    reach how_far = {NOT_EXHAUSTED, NOT_EXHAUSTED};
    double share = is_only ? how->seconds : how->seconds / 2;
    if (!is_only || how->strategy == BELAY_MODEL_DFS) {
        double begin = clock_seconds();
        double allowed = share + (is_only ? 0 : saved * SAVINGS_SHARE);
        is_right = run_depth_first(test, how, allowed, ret_found, &how_far);
        saved += share - (clock_seconds() - begin);
        if (test->finds == NULL) {
            count_ending(&how_far);
        }
    }
    for (int strategy = BELAY_MODEL_RANDOM; strategy <= BELAY_MODEL_PCT; strategy++) {
        double part = is_only ? share : share / 2;
        if (!is_right || *ret_found || (is_only && how->strategy != strategy)) {
            continue;
        }
        if (how_far.with_stale == WITHOUT_BOUND) {
            saved += part;
            continue;
        }
        belay_model_opts opts = opts_of(test, how, (uint32_t)strategy, part);
        is_right = run_once(test, &opts, strategy_names[strategy], ret_found);
    }
    return is_right;
}

static bool run_scenario(const scenario *test, const settings *how)
{
    bool is_found = false;
    if (how->replay != NULL) {
        return run_replay(test, how);
    }
    bool is_right = run_strategies(test, how, &is_found);
    if (is_right && test->finds != NULL && !is_found) {
        complain(test, "the planted fault was not found");
        is_right = false;
    }
    return is_right && (test->trace == NULL || check_stored_trace(test));
}

/* True when it is the scenario's turn: `turn` is the first of the names that is part of its own. */
static bool is_its_turn(const scenario *test, char **names, char **turn)
{
    char **name = names;
    while (*name != NULL && strstr(test->name, *name) == NULL) {
        name++;
    }
    return name == turn && (*name != NULL || *names == NULL);
}

/* False when the run is to end. */
static bool run_turn(const settings *how, char **names, char **turn, bool is_list)
{
    static unsigned number;
    const scenario *const tables[] = {
        litmus_scenarios,  planted_scenarios, engine_scenarios,    reduced_scenarios,
        deliver_scenarios, time_scenarios,    token_scenarios,     wall_scenarios,
        timers_scenarios,  sem_scenarios(),   sem_order_scenarios, exec_scenarios,
        sched_scenarios,   claims_scenarios,  tickets_scenarios,   pool_scenarios};
    for (size_t i = 0; i < bly_count(tables); i++) {
        for (const scenario *test = tables[i]; test->name != NULL; test++) {
            if (!is_its_turn(test, names, turn) || number++ % how->jobs != how->job) {
                continue;
            }
            if (is_list) {
                printf("%s\n", test->name);
            } else if (run_scenario(test, how)) {
                total->passed++;
            } else {
                total->failed++;
                if (how->is_fail_fast) {
                    return false;
                }
            }
        }
    }
    return true;
}

static void run_all(const settings *how, char **names, bool is_list)
{
    char **turn = names;
    while (run_turn(how, names, turn, is_list) && *turn != NULL && *++turn != NULL) {
    }
}

static int usage(void)
{
    fprintf(stderr,
            "usage: belay-model [--list] [--strategy dfs|random|pct] [--preemptions N] [--full] "
            "[--seed N] [--replay TRACE] [--seconds S] [--executions N] [--fail-fast] [--jobs N] "
            "[NAME...]\n");
    return 2;
}

static int strategy_named(const char *name)
{
    for (int i = 0; i < 3; i++) {
        if (strcmp(name, strategy_names[i]) == 0) {
            return i;
        }
    }
    return -2;
}

static void show(FILE *from)
{
    char text[4096];
    size_t count;
    rewind(from);
    while ((count = fread(text, 1, sizeof text, from)) > 0) {
        fwrite(text, 1, count, stdout);
    }
    fclose(from);
}

/* One of several processes: what it prints goes to a file, which its parent shows at the end. */
static pid_t start_job(const settings *how, char **names, FILE *output)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        dup2(fileno(output), STDOUT_FILENO);
        run_all(how, names, false);
        fflush(stdout);
        _exit(0);
    }
    return child;
}

/* True when every process came to its end. */
static bool run_jobs(const settings *how, char **names, totals *each)
{
    FILE *outputs[JOBS_MAX];
    pid_t children[JOBS_MAX];
    bool is_whole = true;
    for (unsigned i = 0; i < how->jobs; i++) {
        settings own = *how;
        own.job = i;
        total = &each[i];
        outputs[i] = tmpfile();
        children[i] = outputs[i] != NULL ? start_job(&own, names, outputs[i]) : -1;
    }
    for (unsigned i = 0; i < how->jobs; i++) {
        int status = 1;
        is_whole =
            children[i] > 0 && waitpid(children[i], &status, 0) > 0 && status == 0 && is_whole;
        if (outputs[i] != NULL) {
            show(outputs[i]);
        }
    }
    return is_whole;
}

/* How far depth first came, over the scenarios in which nothing is planted. */
static void print_endings(const totals *sum)
{
    printf("exhausted: %d scenarios at bound 3 or more; with newest stores only", sum->whole);
    for (unsigned bound = BOUNDS; bound-- > 0;) {
        printf("%s %d at bound %u", bound == BOUND_DEFAULT ? "" : ",", sum->ended[bound + 1],
               bound);
    }
    printf("; %d at none\n", sum->ended[0]);
}

static int run_and_count(const settings *how, char **names)
{
    size_t size = JOBS_MAX * sizeof(totals);
    totals *each = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (each == MAP_FAILED) {
        perror("belay-model");
        return 2;
    }
    bool is_whole = true;
    total = each;
    if (how->jobs > 1) {
        is_whole = run_jobs(how, names, each);
    } else {
        run_all(how, names, false);
    }
    totals sum = {.failed = is_whole ? 0 : 1};
    for (unsigned i = 0; i < how->jobs; i++) {
        sum.executions += each[i].executions;
        sum.passed += each[i].passed;
        sum.failed += each[i].failed;
        sum.whole += each[i].whole;
        for (unsigned bound = 0; bound <= BOUNDS; bound++) {
            sum.ended[bound] += each[i].ended[bound];
        }
    }
    print_endings(&sum);
    printf("model: %llu executions\n%d passed, %d failed\n", (unsigned long long)sum.executions,
           sum.passed, sum.failed);
    munmap(each, size);
    return sum.failed == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"list", no_argument, NULL, 'l'},
        {"strategy", required_argument, NULL, 's'},
        {"seed", required_argument, NULL, 'e'},
        {"replay", required_argument, NULL, 'r'},
        {"seconds", required_argument, NULL, 't'},
        {"executions", required_argument, NULL, 'x'},
        {"preemptions", required_argument, NULL, 'p'},
        {"full", no_argument, NULL, 'u'},
        {"fail-fast", no_argument, NULL, 'f'},
        {"jobs", required_argument, NULL, 'j'},
        {NULL, 0, NULL, 0},
    };
    settings how = {.strategy = -1, .seconds = SECONDS_DEFAULT, .seed = 1, .jobs = 1};
    bool is_list = false;
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (option) {
        case 'l':
            is_list = true;
            break;
        case 's':
            how.strategy = strategy_named(optarg);
            break;
        case 'e':
            how.seed = strtoull(optarg, NULL, 10);
            break;
        case 'r':
            how.replay = optarg;
            how.strategy = 0;
            break;
        case 't':
            how.seconds = strtod(optarg, NULL);
            break;
        case 'p':
            how.preemptions = (uint32_t)strtoul(optarg, NULL, 10);
            break;
        case 'u':
            how.is_full = true;
            break;
        case 'f':
            how.is_fail_fast = true;
            break;
        case 'j':
            how.jobs = (unsigned)strtoul(optarg, NULL, 10);
            break;
        case 'x':
            how.executions = strtoull(optarg, NULL, 10);
            break;
        default:
            return usage();
        }
    }
    if (how.strategy == -2 || how.jobs == 0 || how.jobs > JOBS_MAX) {
        return usage();
    }
    if (is_list) {
        how.jobs = 1;
        run_all(&how, argv + optind, true);
        return 0;
    }
    return run_and_count(&how, argv + optind);
}
