/* jobacts.c: `belay cancel`, `retry`, `pause`, `unpause`: the same for each job that is named. */
#include <inttypes.h>
#include <string.h>

#include "jobstore.h"
#include "say.h"

struct actopts {
    struct bly_jobopts common;
    const char *batch;
    const char *queue;
    const char *limit;
    bool is_all;
};

static const char *set_batch(void *target, const char *value)
{
    ((struct actopts *)target)->batch = value;
    return bly_name_check(value, strlen(value));
}

static const char *set_queue(void *target, const char *value)
{
    ((struct actopts *)target)->queue = value;
    return bly_name_check(value, strlen(value));
}

static const char *set_limit(void *target, const char *value)
{
    ((struct actopts *)target)->limit = value;
    return bly_name_check(value, strlen(value));
}

static const char *set_all(void *target, const char *value)
{
    (void)value;
    ((struct actopts *)target)->is_all = true;
    return NULL;
}

/* What one of the commands does. */
struct act {
    const struct bly_command *command;
    int (*one)(belay_jobs *jobs, const char *word, const belay_jobs_ref *ref);
    int (*others)(belay_jobs *jobs, const struct actopts *opts); /* what options name */
};

static int refuse(belay_jobs *jobs, const char *word, int result, const char *too_late)
{
    if (result == BELAY_ENOENT) {
        return bly_say_about(word, "there is no such job; see `belay ls --all`");
    }
    if (result == BELAY_ETOOLATE) {
        return bly_say_about(word, "%s", too_late);
    }
    return bly_jobstore_failed(jobs, result);
}

static int act_on(const struct act *act, const struct actopts *opts, char **words)
{
    belay_jobs *jobs = NULL;
    int status = bly_jobstore_open(opts->common.store, BLY_JOBSTORE_READ, &jobs);
    if (status != 0) {
        return status;
    }
    for (; *words != NULL; words++) {
        belay_jobs_ref ref;
        int result = bly_jobstore_ref(*words, &ref);
        result = result == 0 ? act->one(jobs, *words, &ref) : result;
        status = status != 0 ? status : result;
    }
    if (status == 0) {
        status = act->others(jobs, opts);
    }
    bly_jobstore_close(jobs);
    return status;
}

static int act(const struct act *act, int argc, char **argv)
{
    struct actopts opts = {0};
    int rest = 0;
    int status = 0;
    if (!bly_jobopts_take(act->command, argc, argv, &opts, &rest, &status)) {
        return status;
    }
    bool has_option = opts.batch != NULL || opts.queue != NULL || opts.limit != NULL || opts.is_all;
    if (rest == argc && !has_option) {
        return bly_say_about("the job", "which one? see `belay ls`");
    }
    return act_on(act, &opts, argv + rest);
}

/*
 * cancel
 */

static int cancel_one(belay_jobs *jobs, const char *word, const belay_jobs_ref *ref)
{
    int result = belay_jobs_cancel(jobs, ref);
    if (result == BELAY_STILL_RUNNING) {
        bly_say_about(word,
                      "it runs, and its worker is told to end it; `belay wait` waits for that");
        return 0;
    }
    return result == 0 ? 0 : refuse(jobs, word, result, "it has ended already");
}

static int cancel_batch(belay_jobs *jobs, const struct actopts *opts)
{
    uint64_t batch = 0;
    uint64_t canceled = 0;
    uint64_t told = 0;
    if (opts->batch == NULL) {
        return 0;
    }
    int status = bly_jobstore_batch(jobs, opts->batch, &batch);
    if (status != 0) {
        return status;
    }
    int result = belay_jobs_cancel_batch(jobs, batch, &canceled, &told);
    if (result != 0) {
        return bly_jobstore_failed(jobs, result);
    }
    bly_say_about(opts->batch, "%" PRIu64 " canceled, %" PRIu64 " told to end", canceled, told);
    return 0;
}

static const struct bly_option cancel_table[] = {
    {.help = "Options:"},
    {"batch", 0, "NAME", "all jobs of the newest batch of that name", set_batch, NULL},
    BLY_JOBOPTS_STORE,
    BLY_JOBOPTS_HELP,
};

static const struct bly_options cancel_options = {.table = cancel_table,
                                                  .count =
                                                      sizeof cancel_table / sizeof cancel_table[0],
                                                  .command = "cancel",
                                                  .are_anywhere = true};

static int cancel(int argc, char **argv)
{
    static const struct act it = {&bly_command_cancel, cancel_one, cancel_batch};
    return act(&it, argc, argv);
}

const struct bly_command bly_command_cancel = {
    .name = "cancel",
    .summary = "end jobs, or take them back before they start",
    .usage = "[OPTION...] JOB...",
    .about =
        "A job that has not started never does. One that runs gets TERM, and 10 seconds later\n"
        "KILL, and so does all that it has started. A recurring job ends.\n",
    .options = &cancel_options,
    .operands = BLY_OPERANDS_WORDS,
    .run = cancel,
};

/*
 * retry
 */

static int retry_one(belay_jobs *jobs, const char *word, const belay_jobs_ref *ref)
{
    uint64_t seq = 0;
    int result = belay_jobs_retry(jobs, ref, &seq);
    if (result == BELAY_EEXIST) {
        return bly_say_about(word, "another job of its id is pending or runs; cancel that first");
    }
    return result == 0 ? 0
                       : refuse(jobs, word, result,
                                "it has not failed; only what failed, was canceled or skipped can "
                                "be tried again");
}

static int retry_failed(belay_jobs *jobs, const struct actopts *opts)
{
    uint64_t batch = 0;
    uint64_t count = 0;
    int status = 0;
    if (opts->batch == NULL && !opts->is_all) {
        return 0;
    }
    if (opts->batch != NULL) {
        status = bly_jobstore_batch(jobs, opts->batch, &batch);
    }
    uint64_t all = 0;
    do {
        int result = status == 0 ? belay_jobs_retry_all(jobs, batch, &count) : 0;
        status = result != 0 ? bly_jobstore_failed(jobs, result) : status;
        all += status == 0 ? count : 0;
    } while (status == 0 && count > 0);
    if (status == 0) {
        bly_say("%" PRIu64 " are tried again", all);
    }
    return status;
}

static const struct bly_option retry_table[] = {
    {.help = "Options:"},
    {"batch", 0, "NAME", "what failed of the newest batch of that name", set_batch, NULL},
    {"failed", 0, NULL, "all that failed", set_all, NULL},
    BLY_JOBOPTS_STORE,
    BLY_JOBOPTS_HELP,
};

static const struct bly_options retry_options = {.table = retry_table,
                                                 .count =
                                                     sizeof retry_table / sizeof retry_table[0],
                                                 .command = "retry",
                                                 .are_anywhere = true};

static int retry(int argc, char **argv)
{
    static const struct act it = {&bly_command_retry, retry_one, retry_failed};
    return act(&it, argc, argv);
}

const struct bly_command bly_command_retry = {
    .name = "retry",
    .summary = "try jobs again that failed, were canceled or skipped",
    .usage = "[OPTION...] JOB...",
    .about = "Each job keeps its number, and has all of its tries again.\n",
    .options = &retry_options,
    .operands = BLY_OPERANDS_WORDS,
    .run = retry,
};

/*
 * pause and unpause
 */

typedef int pause_fn(belay_jobs *jobs, int what, const belay_jobs_ref *job, belay_bytes name);

static int pause_one_by(pause_fn *fn, belay_jobs *jobs, const char *word, const belay_jobs_ref *ref)
{
    int result = fn(jobs, BELAY_JOBS_PAUSE_JOB, ref, (belay_bytes){0});
    return result == 0 ? 0 : refuse(jobs, word, result, "it has ended already");
}

static int pause_others_by(pause_fn *fn, belay_jobs *jobs, const struct actopts *opts)
{
    int result = 0;
    if (opts->queue != NULL) {
        result = fn(jobs, BELAY_JOBS_PAUSE_QUEUE, NULL, bly_jobstore_bytes(opts->queue));
    }
    if (result == 0 && opts->limit != NULL) {
        result = fn(jobs, BELAY_JOBS_PAUSE_LIMIT, NULL, bly_jobstore_bytes(opts->limit));
        if (result == BELAY_ENOENT) {
            return bly_say_about(opts->limit, "there is no such limit; see `belay limit`");
        }
    }
    if (result == 0 && opts->is_all) {
        result = fn(jobs, BELAY_JOBS_PAUSE_STORE, NULL, (belay_bytes){0});
    }
    return result == 0 ? 0 : bly_jobstore_failed(jobs, result);
}

static int pause_one(belay_jobs *jobs, const char *word, const belay_jobs_ref *ref)
{
    return pause_one_by(belay_jobs_pause, jobs, word, ref);
}

static int pause_others(belay_jobs *jobs, const struct actopts *opts)
{
    return pause_others_by(belay_jobs_pause, jobs, opts);
}

static int unpause_one(belay_jobs *jobs, const char *word, const belay_jobs_ref *ref)
{
    return pause_one_by(belay_jobs_unpause, jobs, word, ref);
}

static int unpause_others(belay_jobs *jobs, const struct actopts *opts)
{
    return pause_others_by(belay_jobs_unpause, jobs, opts);
}

static const struct bly_option pause_table[] = {
    {.help = "Options:"},
    {"queue", 0, "NAME", "the jobs of a queue", set_queue, NULL},
    {"limit", 0, "NAME", "the jobs that want a limit", set_limit, NULL},
    {"all", 0, NULL, "all jobs of the store", set_all, NULL},
    BLY_JOBOPTS_STORE,
    BLY_JOBOPTS_HELP,
};

static const struct bly_options pause_options = {.table = pause_table,
                                                 .count =
                                                     sizeof pause_table / sizeof pause_table[0],
                                                 .command = "pause",
                                                 .are_anywhere = true};

static const struct bly_options unpause_options = {.table = pause_table,
                                                   .count =
                                                       sizeof pause_table / sizeof pause_table[0],
                                                   .command = "unpause",
                                                   .are_anywhere = true};

static int pause_them(int argc, char **argv)
{
    static const struct act it = {&bly_command_pause, pause_one, pause_others};
    return act(&it, argc, argv);
}

static int unpause_them(int argc, char **argv)
{
    static const struct act it = {&bly_command_unpause, unpause_one, unpause_others};
    return act(&it, argc, argv);
}

const struct bly_command bly_command_pause = {
    .name = "pause",
    .summary = "start no jobs of a queue, a limit, or certain ones",
    .usage = "[OPTION...] [JOB...]",
    .about = "What runs goes on running; nothing more is started until `belay unpause`.\n",
    .options = &pause_options,
    .operands = BLY_OPERANDS_WORDS,
    .run = pause_them,
};

const struct bly_command bly_command_unpause = {
    .name = "unpause",
    .summary = "start them again",
    .usage = "[OPTION...] [JOB...]",
    .about = "Takes a `belay pause` of the same jobs, queue, limit or store back.\n",
    .options = &unpause_options,
    .operands = BLY_OPERANDS_WORDS,
    .run = unpause_them,
};
