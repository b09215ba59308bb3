/* edit.c: `belay edit`: changes what may change of a job that has not started. */
#include <string.h>

#include "belay/clock.h"
#include "duration.h"
#include "jobstore.h"
#include "number.h"
#include "say.h"
#include "when.h"

struct editopts {
    struct bly_jobopts common;
    belay_jobs_edition edit;
};

static const char *set_priority(void *target, const char *value)
{
    struct editopts *opts = target;
    opts->edit.which |= BELAY_JOBS_EDIT_PRIORITY;
    return bly_number_priority(value, &opts->edit.priority);
}

static const char *set_at(void *target, const char *value)
{
    struct editopts *opts = target;
    opts->edit.which |= BELAY_JOBS_EDIT_RUN_AT;
    return bly_when_parse(value, belay_clock_wall(NULL), &opts->edit.run_at_ns);
}

static const char *set_in(void *target, const char *value)
{
    struct editopts *opts = target;
    int64_t delay_ns = 0;
    const char *why = bly_duration_parse(value, &delay_ns);
    opts->edit.which |= BELAY_JOBS_EDIT_RUN_AT;
    opts->edit.run_at_ns = belay_time_add(belay_clock_wall(NULL), delay_ns);
    return why;
}

static const char *set_timeout(void *target, const char *value)
{
    struct editopts *opts = target;
    opts->edit.which |= BELAY_JOBS_EDIT_TIMEOUT;
    return bly_duration_parse(value, &opts->edit.timeout_ns);
}

static const char *set_tries(void *target, const char *value)
{
    struct editopts *opts = target;
    uint64_t tries = 0;
    const char *why = bly_number_parse(value, 1, BELAY_JOBS_TRIES_MAX, &tries);
    opts->edit.which |= BELAY_JOBS_EDIT_TRIES;
    opts->edit.tries = (uint32_t)tries;
    return why;
}

static const char *set_queue(void *target, const char *value)
{
    struct editopts *opts = target;
    opts->edit.which |= BELAY_JOBS_EDIT_QUEUE;
    opts->edit.queue = bly_jobstore_bytes(value);
    return bly_name_check(value, strlen(value));
}

static const struct bly_option table[] = {
    {.help = "Options:"},
    {"priority", 0, "N", "larger starts first among jobs that are due", set_priority, NULL},
    {"at", 0, "MOMENT", "not before HH:MM, a date with time, @SECONDS or now+TIME", set_at, NULL},
    {"in", 0, "TIME", "not before TIME has passed", set_in, NULL},
    {"timeout", 0, "TIME", "end a run after TIME; 0: never", set_timeout, NULL},
    {"tries", 0, "N", "run it up to N times until it ends well", set_tries, NULL},
    {"queue", 0, "NAME", "for workers of this queue", set_queue, NULL},
    BLY_JOBOPTS_STORE,
    BLY_JOBOPTS_HELP,
};

static const struct bly_options options = {.table = table,
                                           .count = sizeof table / sizeof table[0],
                                           .command = "edit",
                                           .are_anywhere = true};

static int edit_one(belay_jobs *jobs, const belay_jobs_edition *edit, const char *word)
{
    belay_jobs_ref ref;
    int status = bly_jobstore_ref(word, &ref);
    if (status != 0) {
        return status;
    }
    int result = belay_jobs_edit(jobs, &ref, edit);
    if (result == BELAY_ENOENT) {
        return bly_say_about(word, "there is no such job; see `belay ls --all`");
    }
    if (result == BELAY_ETOOLATE) {
        return bly_say_about(word, "it has been started or has ended; add another one");
    }
    return result != 0 ? bly_jobstore_failed(jobs, result) : 0;
}

static int edit_all(const struct editopts *opts, char **words)
{
    belay_jobs *jobs = NULL;
    int status = bly_jobstore_open(opts->common.store, BLY_JOBSTORE_READ, &jobs);
    for (; status == 0 && *words != NULL; words++) {
        status = edit_one(jobs, &opts->edit, *words);
    }
    bly_jobstore_close(jobs);
    return status;
}

static int edit(int argc, char **argv)
{
    struct editopts opts = {.edit = {.size = sizeof opts.edit}};
    int rest = 0;
    int status = 0;
    if (!bly_jobopts_take(&bly_command_edit, argc, argv, &opts, &rest, &status)) {
        return status;
    }
    if (rest == argc || opts.edit.which == 0) {
        return bly_say_about("the job", "say which one, and what of it; see `belay help edit`");
    }
    return edit_all(&opts, argv + rest);
}

const struct bly_command bly_command_edit = {
    .name = "edit",
    .summary = "change priority, time, tries or queue of a job that waits",
    .usage = "OPTION... JOB...",
    .about =
        "Changes jobs that have not been started. What a job runs does not change: cancel it and\n"
        "add another one, or give it an id and use `belay add --replace`.\n",
    .options = &options,
    .operands = BLY_OPERANDS_WORDS,
    .run = edit,
};
