/* add.c: `belay add`: a job for later, run by `belay work`. */
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "addopts.h"
#include "capture.h"
#include "duration.h"
#include "help.h"
#include "jobstore.h"
#include "jsonout.h"
#include "limitspec.h"
#include "say.h"
#include "startwork.h"
#include "when.h"

/* What the job that is being added is made of; it lives until it was added. */
struct adding {
    struct bly_words argv;
    struct bly_words env;
    char *cwd;
    belay_jobs_want wants[BELAY_JOBS_LIMITS_MAX];
    belay_jobs_after after[BELAY_JOBS_AFTER_MAX];
    belay_jobs_new job;
};

static const char about[] =
    "Stores a command, to be run by `belay work`, and prints the number of the job. One word is a\n"
    "shell line, several words are executed as they are. The job runs in this folder, with this\n"
    "environment; variables that look like secrets are not stored, but come from the worker.\n"
    "\n"
    "A job may run more than once: when its worker or the machine dies, it runs again. It finds\n"
    "its number in BELAY_JOB, the try in BELAY_TRY, and in BELAY_FENCE a number that rises with\n"
    "every run, by which a later run can be told from an earlier one.\n";

static const char about_status[] =
    "Exit status: 0 the job is stored; 255 it is not, and a message says why.\n";

/* umask can only be read by setting it. */
static mode_t read_umask(void)
{
    mode_t mask = umask(0);
    umask(mask);
    return mask;
}

static void fill_limits(struct adding *adding, const struct bly_addopts *opts)
{
    for (size_t i = 0; i < opts->limits.count; i++) {
        struct bly_limitspec spec = {0};
        const char *text = bly_words_at(&opts->limits, i);
        (void)bly_limitspec_parse(text, &spec);
        adding->wants[i] = (belay_jobs_want){
            .name = {spec.name, spec.name_len}, .permits = spec.permits, .capacity = spec.capacity};
    }
    adding->job.wants = adding->wants;
    adding->job.want_count = (uint32_t)opts->limits.count;
}

static int fill_after(struct adding *adding, const struct bly_words *names, bool is_any)
{
    for (size_t i = 0; i < names->count; i++) {
        belay_jobs_after *after = &adding->after[adding->job.after_count++];
        int status = bly_jobstore_ref(bly_words_at(names, i), &after->job);
        if (status != 0) {
            return status;
        }
        after->is_any = is_any;
    }
    return 0;
}

static int fill_work(struct adding *adding, const struct bly_addopts *opts, char **words)
{
    const char *why = bly_capture_command(&adding->argv, words);
    if (why != NULL) {
        return bly_say_about(words[0], "%s", why);
    }
    adding->cwd = getcwd(NULL, 0);
    if (adding->cwd == NULL) {
        return bly_say_about("the current folder", "it is gone; go to another one");
    }
    bly_capture_env(&adding->env, environ, &opts->env, &opts->env_from_worker);
    adding->job.work = (belay_jobs_payload){
        .command = {bly_bytes_c(&adding->argv.text), adding->argv.text.len},
        .env = {bly_bytes_c(&adding->env.text), adding->env.text.len},
        .cwd = bly_jobstore_bytes(adding->cwd),
        .detail = bly_jobstore_bytes(opts->notify),
        .umask = (int32_t)read_umask(),
    };
    return 0;
}

static int fill(struct adding *adding, const struct bly_addopts *opts, char **words)
{
    belay_jobs_new *job = &adding->job;
    job->size = sizeof *job;
    int status = fill_work(adding, opts, words);
    job->id = bly_jobstore_bytes(opts->id);
    job->queue = bly_jobstore_bytes(opts->queue);
    job->flags = (opts->is_replacing ? BELAY_JOBS_NEW_REPLACE : 0) |
                 (opts->fails_when_lost ? BELAY_JOBS_NEW_LOST_FAIL : 0);
    job->priority = opts->priority;
    job->run_at_ns = opts->run_at_ns;
    job->timeout_ns = opts->timeout_ns;
    job->tries = (uint32_t)opts->tries;
    job->after = adding->after;
    if (opts->every_ns > 0) {
        job->schedule =
            (belay_jobs_schedule){.kind = BELAY_JOBS_EVERY, .period_ns = opts->every_ns};
    }
    fill_limits(adding, opts);
    if (status == 0) {
        status = fill_after(adding, &opts->after, false);
    }
    return status == 0 ? fill_after(adding, &opts->after_any, true) : status;
}

static void free_adding(struct adding *adding)
{
    bly_words_free(&adding->argv);
    bly_words_free(&adding->env);
    bly_mem_free(adding->cwd);
}

/* Why the store refuses the job. */
static int refuse(belay_jobs *jobs, const struct bly_addopts *opts, int result)
{
    switch (result) {
    case BELAY_ENOENT:
        return bly_say_about("--after", "there is no such job; see `belay ls --all`");
    case BELAY_EEXIST:
        return bly_say_about(opts->id, "a job of this id is pending and another one, or runs; "
                                       "--replace puts this one in its place");
    case BELAY_EDEADLK:
        return bly_say_about("--after", "the job would wait for itself");
    case BELAY_ETOOBIG:
        return bly_say_about("--limit", "the limit has fewer permits than the job wants; "
                                        "see `belay limit`");
    case BELAY_EBUSY:
        return bly_say_about("--limit", "the limit has another capacity; leave =N out, or change "
                                        "it by `belay limit NAME N`");
    case BELAY_EINVAL:
        return bly_say_about("the job", "a store takes 8 MiB of words and of environment; pass "
                                        "data in files");
    default:
        return bly_jobstore_failed(jobs, result);
    }
}

/* What came of it, beside the number. */
static void tell(const struct bly_addopts *opts, const belay_jobs_added *added)
{
    struct bly_bytes text = {0};
    int64_t now_ns = belay_clock_wall(NULL);
    switch (added->outcome) {
    case BELAY_JOBS_ADDED_SAME:
        bly_say("job %" PRIu64 " is the same and pending already", added->seq);
        break;
    case BELAY_JOBS_ADDED_REPLACED:
        bly_say("it takes the place of job %" PRIu64, added->old);
        break;
    case BELAY_JOBS_ADDED_BEHIND:
        bly_say("it starts when job %" PRIu64 ", which runs, has ended", added->old);
        break;
    case BELAY_JOBS_ADDED_SKIPPED:
        bly_say("job %" PRIu64 " is skipped: what it was to run after did not end well",
                added->seq);
        break;
    default:
        break;
    }
    if (opts->run_at_ns > now_ns && added->outcome != BELAY_JOBS_ADDED_SKIPPED) {
        bly_when_show(&text, opts->run_at_ns);
        bly_bytes_text(&text, ", in ");
        bly_duration_show(&text, opts->run_at_ns - now_ns);
        bly_say("it is due %s", bly_bytes_c(&text));
    }
    bly_bytes_free(&text);
}

static int print(const struct bly_addopts *opts, const belay_jobs_added *added)
{
    struct bly_bytes text = {0};
    static const char *const outcomes[] = {"", "added", "same", "replaced", "behind", "skipped"};
    if (opts->common.is_json) {
        json_t *object = bly_json_object();
        bly_json_set(object, "job", json_integer((json_int_t)added->seq));
        bly_json_set(object, "outcome", json_string(outcomes[added->outcome]));
        if (added->old != 0) {
            bly_json_set(object, "old", json_integer((json_int_t)added->old));
        }
        if (opts->run_at_ns != 0) {
            bly_json_set(object, "at", bly_json_moment(opts->run_at_ns));
        }
        bly_json_line(&text, object);
    } else {
        bly_bytes_print(&text, "%" PRIu64 "\n", added->seq);
    }
    int status = bly_help_print(&text);
    bly_bytes_free(&text);
    return status;
}

/* Stores the job, tells about it, and whether somebody will run it. */
static int add_to(belay_jobs *jobs, const struct bly_addopts *opts, const belay_jobs_new *job,
                  bool *ret_has_worker)
{
    belay_jobs_added added = {0};
    int result = belay_jobs_add(jobs, job, &added);
    if (result != 0) {
        return refuse(jobs, opts, result);
    }
    *ret_has_worker = bly_startwork_is_there(jobs, opts->queue);
    int status = print(opts, &added);
    tell(opts, &added);
    return status;
}

static int add_job(const struct bly_addopts *opts, const belay_jobs_new *job)
{
    belay_jobs *jobs = NULL;
    bool has_worker = false;
    int status = bly_jobstore_open(opts->common.store, BLY_JOBSTORE_WRITE, &jobs);
    if (status != 0) {
        return status;
    }
    status = add_to(jobs, opts, job, &has_worker);
    bly_jobstore_close(jobs); /* before a worker is forked */
    if (status != 0 || has_worker) {
        return status;
    }
    const char *queue = opts->queue != NULL ? opts->queue : BLY_STARTWORK_QUEUE;
    if (opts->starts_worker) {
        return bly_startwork(opts->common.store, queue);
    }
    bly_say_about(queue, "no worker takes jobs of this queue; start one by `belay work`, or add "
                         "with --start");
    return 0;
}

static int check(const struct bly_addopts *opts)
{
    if (opts->is_replacing && opts->id == NULL) {
        return bly_say_about("--replace", "whose place? name the job by --id");
    }
    if (opts->every_ns > 0 && opts->id == NULL) {
        return bly_say_about("--every", "a job that runs again and again needs a name; add --id");
    }
    if (opts->every_ns > 0 && opts->after.count + opts->after_any.count > 0) {
        return bly_say_about("--every", "it does not go with --after");
    }
    if (opts->after.count + opts->after_any.count > BELAY_JOBS_AFTER_MAX) {
        return bly_say_about("--after", "a job runs after at most 64 others");
    }
    return 0;
}

static int add_words(const struct bly_addopts *opts, char **words)
{
    struct adding adding = {0};
    if (words[0] == NULL) {
        return bly_say_about("the command", "it is missing; see `belay help add`");
    }
    int status = check(opts);
    if (status == 0) {
        status = fill(&adding, opts, words);
    }
    if (status == 0) {
        status = add_job(opts, &adding.job);
    }
    free_adding(&adding);
    return status;
}

static int add(int argc, char **argv)
{
    struct bly_addopts opts = {0};
    int rest = 0;
    int status = 0;
    if (bly_jobopts_take(&bly_command_add, argc, argv, &opts, &rest, &status)) {
        status = add_words(&opts, argv + rest);
    }
    bly_addopts_free(&opts);
    return status;
}

const struct bly_command bly_command_add = {
    .name = "add",
    .summary = "store a command, to be run by a worker, now or later",
    .usage = "[OPTION...] [--] COMMAND...",
    .about = about,
    .about_status = about_status,
    .options = &bly_addopts_options,
    .operands = BLY_OPERANDS_COMMAND,
    .run = add,
};
