/*
 * main.c: runs the scenarios of the explorer.
 *
 * usage: belay-model [--list] [--strategy dfs|random|pct] [--seed N] [--replay TRACE]
 *                    [--seconds S] [--executions N] [--fail-fast] [--jobs N] [NAME...]
 * Without a strategy each scenario is explored depth first until that ends or its share of time is
 * over, then at random and by PCT. NAME is a part of a scenario's name; the scenarios run in the
 * order of the names. The last line counts.
 * With --jobs the scenarios are dealt out to so many processes, and shown a process after another.
 */
#include "scenario.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECONDS_DEFAULT 1.0
#define JOBS_MAX        64

typedef struct settings {
    int strategy; /* -1: all three */
    double seconds;
    uint64_t executions;
    uint64_t seed;
    const char *replay;
    bool is_fail_fast; /* the first failure ends the run */
    unsigned jobs;     /* processes */
    unsigned job;      /* which of them this is */
} settings;

/* What one process has done; the processes' totals are shared memory. */
typedef struct totals {
    uint64_t executions;
    int failed;
    int passed;
} totals;

static totals *total;
static bool is_exhausted; /* the last run explored everything within its bounds */

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

/* One strategy on one scenario; false when it showed that something is wrong. */
static bool run_once(const scenario *test, const settings *how, unsigned strategy, double seconds,
                     bool *ret_found)
{
    belay_model_result result;
    belay_model_opts opts = opts_of(test, how, strategy, seconds);
    if (test->before != NULL) {
        test->before(test->arg);
    }
    int error = belay_model_run(test->name, &opts, &result, test->fn, test->arg);
    if (error != 0 && error != BELAY_ECANCELED) {
        complain(test, belay_strerror(error));
        return false;
    }
    total->executions += result.executions;
    is_exhausted = result.is_exhausted;
    printf("  %-44s %-6s %10llu%s%s%s\n", test->name, strategy_names[strategy],
           (unsigned long long)result.executions, result.is_exhausted ? " all" : "",
           result.has_failed ? " " : "", result.has_failed ? result.message : "");
    if (result.has_failed && test->finds != NULL && strstr(result.message, test->finds) != NULL) {
        printf("  %-44s trace  %s\n", "", result.trace);
        *ret_found = true;
        return true;
    }
    if (result.has_failed) {
        printf("  replay: ./dev model %s --replay '%s'\n", test->name, result.trace);
        complain(test, result.message);
        return false;
    }
    const char *wrong = result.is_exhausted && test->after != NULL ? test->after(test->arg) : NULL;
    if (wrong != NULL) {
        complain(test, wrong);
        return false;
    }
    return true;
}

/* True when depth first has seen every schedule there is, so that no other strategy adds to it. */
static bool is_complete(const scenario *test)
{
    return is_exhausted && test->opts.preemptions == BELAY_UNBOUNDED;
}

static bool run_scenario(const scenario *test, const settings *how)
{
    bool is_found = false;
    is_exhausted = false;
    bool is_right = true;
    for (unsigned strategy = 0; strategy < 3 && is_right && !is_found && !is_complete(test);
         strategy++) {
        if (how->strategy >= 0 && (unsigned)how->strategy != strategy) {
            continue;
        }
        is_right = run_once(test, how, strategy, how->seconds, &is_found);
        if (how->replay != NULL) {
            return is_right;
        }
    }
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
        litmus_scenarios, planted_scenarios, engine_scenarios, deliver_scenarios, time_scenarios,
        token_scenarios,  wall_scenarios,    timers_scenarios, sem_scenarios(),   exec_scenarios,
        sched_scenarios,  claims_scenarios,  pool_scenarios};
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
            "usage: belay-model [--list] [--strategy dfs|random|pct] [--seed N] "
            "[--replay TRACE] [--seconds S] [--executions N] [--fail-fast] [--jobs N] [NAME...]\n");
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
    }
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
