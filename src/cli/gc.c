/* gc.c: `belay gc`: removes jobs and logs whose time is over. */
#include <inttypes.h>
#include <stdlib.h>

#include "belay/clock.h"
#include "care.h"
#include "duration.h"
#include "help.h"
#include "jobtext.h"
#include "jsonout.h"
#include "number.h"
#include "say.h"

struct gcopts {
    struct bly_jobopts common;
    struct bly_care care;
};

static const char *set_keep(void *target, const char *value)
{
    return bly_duration_parse(value, &((struct gcopts *)target)->care.keep_ns);
}

static const char *set_keep_failed(void *target, const char *value)
{
    return bly_duration_parse(value, &((struct gcopts *)target)->care.keep_failed_ns);
}

static const char *set_keep_logs(void *target, const char *value)
{
    return bly_duration_parse(value, &((struct gcopts *)target)->care.keep_logs_ns);
}

static const char *set_logs_max(void *target, const char *value)
{
    struct gcopts *opts = target;
    uint64_t bytes = 0;
    const char *why = bly_number_size(value, &bytes);
    opts->care.logs_max = bytes < INT64_MAX ? (int64_t)bytes : INT64_MAX;
    return why;
}

static const struct bly_option table[] = {
    {.help = "Options:"},
    {"keep", 0, "TIME", "keep jobs that ended since (default: 14d)", set_keep, NULL},
    {"keep-failed", 0, "TIME", "keep jobs that failed since (default: 14d)", set_keep_failed, NULL},
    {"keep-logs", 0, "TIME", "keep logs written since (default: 14d)", set_keep_logs, NULL},
    {"logs-max", 0, "SIZE", "keep the newest logs up to so many bytes (default: 2G)", set_logs_max,
     NULL},
    BLY_JOBOPTS_STORE,
    BLY_JOBOPTS_JSON,
    BLY_JOBOPTS_HELP,
};

static const struct bly_options options = {
    .table = table, .count = sizeof table / sizeof table[0], .command = "gc", .are_anywhere = true};

static void add_line(struct bly_bytes *to, const struct bly_care_result *result)
{
    json_t *object = bly_json_object();
    bly_json_set(object, "jobs", json_integer((json_int_t)result->jobs));
    bly_json_set(object, "batches", json_integer((json_int_t)result->batches));
    bly_json_set(object, "store_bytes", json_integer((json_int_t)result->store_bytes));
    bly_json_set(object, "logs", json_integer((json_int_t)result->logs));
    bly_json_set(object, "log_bytes", json_integer((json_int_t)result->log_bytes));
    bly_json_line(to, object);
}

static void add_sentence(struct bly_bytes *to, const struct bly_care_result *result)
{
    bly_jobtext_count(to, result->jobs);
    bly_bytes_text(to, " jobs and ");
    bly_jobtext_count(to, result->logs);
    bly_bytes_text(to, " logs removed; ");
    bly_jobtext_count(to, result->store_bytes + result->log_bytes);
    bly_bytes_text(to, " bytes given back\n");
}

static int collect(const struct gcopts *opts)
{
    belay_jobs *jobs = NULL;
    struct bly_care_result result = {0};
    struct bly_bytes text = {0};
    int status = bly_jobstore_open(opts->common.store, BLY_JOBSTORE_READ, &jobs);
    if (status != 0) {
        return status;
    }
    status = bly_care_take(jobs, &opts->care, &result);
    bly_jobstore_close(jobs);
    if (status == 0 && opts->common.is_json) {
        add_line(&text, &result);
    } else if (status == 0) {
        add_sentence(&text, &result);
    }
    status = status == 0 ? bly_help_print(&text) : status;
    bly_bytes_free(&text);
    return status;
}

static int gc(int argc, char **argv)
{
    struct gcopts opts = {.care = bly_care_default()};
    int rest = 0;
    int status = 0;
    if (!bly_jobopts_take(&bly_command_gc, argc, argv, &opts, &rest, &status)) {
        return status;
    }
    if (rest < argc) {
        return bly_say_about(argv[rest], "gc takes options only");
    }
    return collect(&opts);
}

const struct bly_command bly_command_gc = {
    .name = "gc",
    .summary = "remove jobs and logs whose time is over",
    .usage = "[OPTION...]",
    .about =
        "Removes jobs that ended long ago and logs that are old or too many, and gives the room\n"
        "back to the file system. Jobs that wait or run, and what they need, stay. Workers do\n"
        "the same, with these defaults, when they start and once an hour.\n",
    .options = &options,
    .run = gc,
};
