/* addopts.c: see addopts.h. */
#include "addopts.h"

#include <string.h>

#include "belay/clock.h"
#include "capture.h"
#include "duration.h"
#include "limitspec.h"
#include "number.h"
#include "when.h"

static const char *set_at(void *target, const char *value)
{
    struct bly_addopts *opts = target;
    return bly_when_parse(value, belay_clock_wall(NULL), &opts->run_at_ns);
}

static const char *set_in(void *target, const char *value)
{
    struct bly_addopts *opts = target;
    int64_t delay_ns = 0;
    const char *why = bly_duration_parse(value, &delay_ns);
    opts->run_at_ns = belay_time_add(belay_clock_wall(NULL), delay_ns);
    return why;
}

static const char *set_every(void *target, const char *value)
{
    struct bly_addopts *opts = target;
    const char *why = bly_duration_parse(value, &opts->every_ns);
    return why == NULL && opts->every_ns == 0 ? "it is no time at all" : why;
}

static const char *add_after(void *target, const char *value)
{
    struct bly_addopts *opts = target;
    struct bly_jobname name;
    bly_words_text(&opts->after, value);
    return bly_name_job(value, &name);
}

static const char *add_after_any(void *target, const char *value)
{
    struct bly_addopts *opts = target;
    struct bly_jobname name;
    bly_words_text(&opts->after_any, value);
    return bly_name_job(value, &name);
}

static const char *set_priority(void *target, const char *value)
{
    struct bly_addopts *opts = target;
    return bly_number_priority(value, &opts->priority);
}

static const char *add_limit(void *target, const char *value)
{
    struct bly_addopts *opts = target;
    struct bly_limitspec spec;
    bly_words_text(&opts->limits, value);
    if (opts->limits.count > BELAY_JOBS_LIMITS_MAX) {
        return "a job has at most 16 limits";
    }
    return bly_limitspec_parse(value, &spec);
}

static const char *set_timeout(void *target, const char *value)
{
    struct bly_addopts *opts = target;
    return bly_duration_parse(value, &opts->timeout_ns);
}

static const char *set_tries(void *target, const char *value)
{
    struct bly_addopts *opts = target;
    return bly_number_parse(value, 1, BELAY_JOBS_TRIES_MAX, &opts->tries);
}

static const char *set_lost(void *target, const char *value)
{
    struct bly_addopts *opts = target;
    opts->fails_when_lost = strcmp(value, "fail") == 0;
    return opts->fails_when_lost || strcmp(value, "rerun") == 0 ? NULL
                                                                : "it is neither rerun nor fail";
}

static const char *set_queue(void *target, const char *value)
{
    struct bly_addopts *opts = target;
    opts->queue = value;
    return bly_name_check(value, strlen(value));
}

static const char *set_id(void *target, const char *value)
{
    struct bly_addopts *opts = target;
    opts->id = value;
    return bly_name_check_id(value);
}

static const char *set_replace(void *target, const char *value)
{
    (void)value;
    ((struct bly_addopts *)target)->is_replacing = true;
    return NULL;
}

static const char *add_env(void *target, const char *value)
{
    struct bly_addopts *opts = target;
    bly_words_text(&opts->env, value);
    return bly_capture_env_check(value);
}

static const char *add_env_from_worker(void *target, const char *value)
{
    struct bly_addopts *opts = target;
    bly_words_text(&opts->env_from_worker, value);
    return strchr(value, '=') != NULL ? "it is a name without a value"
                                      : bly_capture_env_check(value);
}

static const char *set_notify(void *target, const char *value)
{
    ((struct bly_addopts *)target)->notify = value;
    return value[0] == '\0' ? "it is empty" : NULL;
}

static const char *set_start(void *target, const char *value)
{
    (void)value;
    ((struct bly_addopts *)target)->starts_worker = true;
    return NULL;
}

static const struct bly_option table[] = {
    {.help = "When:"},
    {"at", 0, "MOMENT", "not before HH:MM, a date with time, @SECONDS or now+TIME", set_at, NULL},
    {"in", 0, "TIME", "not before TIME has passed", set_in, NULL},
    {"every", 0, "TIME", "again and again, TIME apart", set_every, NULL},
    {"after", 0, "JOB", "when that job has ended well; else it is skipped", add_after, NULL},
    {"after-any", 0, "JOB", "when that job has ended, however", add_after_any, NULL},
    {.help = "How:"},
    {"priority", 0, "N", "larger starts first among jobs that are due", set_priority, NULL},
    {"limit", 0, "NAME", "take a permit of a limit; NAME:K takes K, NAME=N makes N", add_limit,
     NULL},
    {"timeout", 0, "TIME", "end a run after TIME", set_timeout, NULL},
    {"tries", 0, "N", "run it up to N times until it ends well", set_tries, NULL},
    {"lost", 0, "HOW", "when its worker dies: rerun (up to 3 times) or fail", set_lost, NULL},
    {"queue", 0, "NAME", "for workers of this queue", set_queue, NULL},
    {.help = "Who:"},
    {"id", 0, "NAME", "a name; only one job of a name is pending or runs", set_id, NULL},
    {"replace", 0, NULL, "take the place of the job of that name", set_replace, NULL},
    {.help = "Environment:"},
    {"env", 0, "NAME", "store the variable as it is; NAME=VALUE: with this value", add_env, NULL},
    {"env-from-worker", 0, "NAME", "the variable is the worker's, and not stored",
     add_env_from_worker, NULL},
    {.help = "And then:"},
    {"notify", 0, "COMMAND", "a shell line for its worker when it has ended", set_notify, NULL},
    {"start", 0, NULL, "start a worker when none is there", set_start, NULL},
    BLY_JOBOPTS_STORE,
    BLY_JOBOPTS_JSON,
    BLY_JOBOPTS_HELP,
};

const struct bly_options bly_addopts_options = {
    .table = table, .count = sizeof table / sizeof table[0], .command = "add"};

void bly_addopts_free(struct bly_addopts *opts)
{
    bly_words_free(&opts->after);
    bly_words_free(&opts->after_any);
    bly_words_free(&opts->limits);
    bly_words_free(&opts->env);
    bly_words_free(&opts->env_from_worker);
}
