/* run.c: `belay run`. */
#include <inttypes.h>
#include <sys/resource.h>
#include <unistd.h>

#include "commands.h"
#include "cpus.h"
#include "dry.h"
#include "engine.h"
#include "help.h"
#include "runopts.h"
#include "say.h"

/* What proc keeps open: four descriptors a job, and 32. */
enum { FDS_A_JOB = 4, FDS_BESIDE = 32, FDS_UNLIMITED = 65536 };

static const char about[] =
    "Runs the command for each argument: of ::: ARG..., of the lines of :::: FILE..., of -a FILE, "
    "or\n"
    "of standard input. Several sources are combined, :::+ and ::::+ go along with the one "
    "before.\n"
    "One word is a shell line; several words are executed as they are; without a command each "
    "line\n"
    "of the input is a shell line.\n"
    "\n"
    "In the command: {} the argument, {.} without extension, {/} base name, {//} folder, {/.} "
    "base\n"
    "name without extension, {#} job number, {%} slot, {1} {2} {1/.} ... of argument n. Without "
    "any\n"
    "of these, the argument is added at the end. Arguments are quoted where a shell reads them.\n";

static const char about_status[] = "Exit status: 0 all well; 1 to 100 so many jobs failed; 101 "
                                   "more; 255 an error of belay itself;\n"
                                   "with --halt the status of the job, or the percentage. A job's "
                                   "own: 124 its time ran out, 126 not\n"
                                   "runnable, 127 not found, 128+N ended by signal N.\n";

/* How many jobs at once the descriptor limit allows. */
static uint32_t jobs_possible(void)
{
    struct rlimit limit = {0};
    rlim_t fds = FDS_UNLIMITED;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < FDS_UNLIMITED) {
        fds = limit.rlim_cur;
    }
    uint32_t jobs = fds > FDS_BESIDE ? ((uint32_t)fds - FDS_BESIDE) / FDS_A_JOB : 1;
    return jobs > 0 ? jobs : 1;
}

static uint32_t find_jobs(const struct bly_runopts *opts, uint32_t possible)
{
    uint32_t jobs = bly_number_jobs(&opts->jobs, bly_cpus_count(), possible);
    if (opts->jobs.kind == BLY_AMOUNT_NUMBER && opts->jobs.value > jobs) {
        bly_say("--jobs: only %" PRIu32 " at once, by the limit of open files; "
                "raise it with ulimit -n",
                jobs);
    }
    return jobs;
}

static int check(const struct bly_runopts *opts)
{
    bool has_store = opts->name != NULL && !opts->is_dry && opts->resume != BLY_RETRY_FAILED;
    if (opts->resume != BLY_RESUME_NO && opts->joblog == NULL && !has_store) {
        bly_say("--resume: there is no job log to go on from; add --joblog FILE, or give the batch "
                "a --name");
        return BLY_SAY_OWN_ERROR;
    }
    if (opts->is_fresh && (opts->name == NULL || opts->resume != BLY_RESUME_NO)) {
        bly_say("--fresh: it starts a batch over that has a --name, and does not go with --resume");
        return BLY_SAY_OWN_ERROR;
    }
    if (opts->has_no_store && opts->name != NULL) {
        bly_say("--no-store: a batch with a --name is kept in the store; leave one of them out");
        return BLY_SAY_OWN_ERROR;
    }
    if (opts->results != NULL && opts->mode == BLY_OUTPUT_RAW) {
        bly_say("--results: with -u jobs write to the terminal themselves; leave one of them out");
        return BLY_SAY_OWN_ERROR;
    }
    return 0;
}

static int run_batch(const struct bly_runopts *opts, char **words)
{
    int status = check(opts);
    if (status != 0) {
        return status;
    }
    uint32_t possible = jobs_possible();
    uint32_t jobs = find_jobs(opts, possible);
    return opts->is_dry ? bly_dry_run(opts, words, jobs)
                        : bly_engine_run(opts, words, jobs, possible);
}

static int run(int argc, char **argv)
{
    struct bly_runopts opts = {.input = {.delimiter = '\n'}};
    int rest = 0;
    int status = BLY_SAY_OWN_ERROR;
    if (bly_options_parse(&bly_runopts_options, argc, argv, &opts, &rest) == 0) {
        status = opts.has_help ? bly_help_command(&bly_command_run) : run_batch(&opts, argv + rest);
    }
    bly_runopts_free(&opts);
    return status;
}

const struct bly_command bly_command_run = {
    .name = "run",
    .summary = "run a command for each of many arguments",
    .usage = "[OPTION...] [COMMAND...] [::: ARG...] [:::: FILE...]",
    .about = about,
    .about_status = about_status,
    .options = &bly_runopts_options,
    .operands = BLY_OPERANDS_COMMAND,
    .run = run,
};
