/* caps.c: `belay limit` and `belay queue`: how many at once, and how many there are. */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "columns.h"
#include "help.h"
#include "jobstore.h"
#include "jsonout.h"
#include "limitspec.h"
#include "number.h"
#include "say.h"

struct capopts {
    struct bly_jobopts common;
    bool has_max;
    uint64_t max;
};

static const char *set_max(void *target, const char *value)
{
    struct capopts *opts = target;
    opts->has_max = true;
    return bly_number_parse(value, 0, UINT32_MAX, &opts->max);
}

/* One of the two. */
struct kind {
    int table;
    const struct bly_column *columns;
    size_t count;
    const char *unknown;
    bool has_workers;
};

static void add_number(struct bly_columns *columns, uint64_t number)
{
    struct bly_bytes text = {0};
    bly_bytes_print(&text, "%" PRIu64, number);
    bly_columns_text(columns, bly_bytes_c(&text));
    bly_bytes_free(&text);
}

static void add_row(struct bly_columns *columns, const struct kind *kind,
                    const belay_jobs_limit_row *row)
{
    bly_columns_add(columns, row->name.data, row->name.len);
    add_number(columns, (uint64_t)row->used);
    if (row->capacity == 0) {
        bly_columns_text(columns, "-");
    } else {
        add_number(columns, (uint64_t)row->capacity);
    }
    add_number(columns, row->waiting);
    if (kind->has_workers) {
        add_number(columns, row->sessions);
    }
    bly_columns_text(columns, row->is_paused ? "paused" : "");
}

static void add_line(struct bly_bytes *to, const struct kind *kind, const belay_jobs_limit_row *row)
{
    json_t *object = bly_json_object();
    bly_json_set(object, "name", bly_json_bytes(row->name.data, row->name.len));
    bly_json_set(object, "used", json_integer(row->used));
    bly_json_set(object, "max", row->capacity != 0 ? json_integer(row->capacity) : json_null());
    bly_json_set(object, "waiting", json_integer((json_int_t)row->waiting));
    if (kind->has_workers) {
        bly_json_set(object, "workers", json_integer((json_int_t)row->sessions));
    }
    bly_json_set(object, "paused", json_boolean(row->is_paused));
    bly_json_line(to, object);
}

static bool is_wanted(const belay_jobs_limit_row *row, const char *name)
{
    return name == NULL ||
           (row->name.len == strlen(name) && memcmp(row->name.data, name, row->name.len) == 0);
}

/* Prints all of them, or the one of that name. */
static int print(belay_jobs *jobs, const struct kind *kind, bool is_json, const char *name)
{
    belay_jobs_table *table = NULL;
    struct bly_columns columns = {.columns = kind->columns, .count = kind->count};
    struct bly_bytes text = {0};
    uint32_t found = 0;
    int result = belay_jobs_list_table(jobs, kind->table, &table);
    if (result != 0) {
        return bly_jobstore_failed(jobs, result);
    }
    for (uint32_t i = 0; i < table->count; i++) {
        const belay_jobs_limit_row *row = &table->of.limit[i];
        if (!is_wanted(row, name)) {
            continue;
        }
        found++;
        if (is_json) {
            add_line(&text, kind, row);
        } else {
            add_row(&columns, kind, row);
        }
    }
    belay_jobs_table_free(table);
    if (!is_json) {
        bly_columns_print(&columns, bly_columns_terminal(STDOUT_FILENO), &text);
    }
    int status = name != NULL && found == 0 ? bly_say_about(name, "%s", kind->unknown)
                                            : bly_help_print(&text);
    bly_columns_free(&columns);
    bly_bytes_free(&text);
    return status;
}

static int look(const struct kind *kind, const struct capopts *opts, const char *name)
{
    belay_jobs *jobs = NULL;
    int status = bly_jobstore_open(opts->common.store, BLY_JOBSTORE_READ, &jobs);
    if (status == 0) {
        status = print(jobs, kind, opts->common.is_json, name);
        bly_jobstore_close(jobs);
    }
    return status;
}

static int check_name(const char *name)
{
    const char *why = name != NULL ? bly_name_check(name, strlen(name)) : NULL;
    return why != NULL ? bly_say_about(name, "%s", why) : 0;
}

/*
 * limit
 */

static const struct bly_column limit_columns[] = {
    {"LIMIT", false}, {"USED", true}, {"OF", true}, {"WAITING", true}, {"", false}};

static const struct bly_option limit_table[] = {
    {.help = "Options:"},
    BLY_JOBOPTS_STORE,
    BLY_JOBOPTS_JSON,
    BLY_JOBOPTS_HELP,
};

static const struct bly_options limit_options = {.table = limit_table,
                                                 .count =
                                                     sizeof limit_table / sizeof limit_table[0],
                                                 .command = "limit",
                                                 .are_anywhere = true};

static int set_limit(const struct capopts *opts, const char *name, const char *number)
{
    belay_jobs *jobs = NULL;
    uint64_t capacity = 0;
    const char *why = bly_number_parse(number, 1, BLY_LIMIT_PERMITS_MAX, &capacity);
    if (why != NULL) {
        return bly_say_about(number, "%s; a limit has 1 to 1000000 permits", why);
    }
    int status = bly_jobstore_open(opts->common.store, BLY_JOBSTORE_WRITE, &jobs);
    if (status != 0) {
        return status;
    }
    int result = belay_jobs_limit(jobs, bly_jobstore_bytes(name), (uint32_t)capacity);
    status = result != 0 ? bly_jobstore_failed(jobs, result) : 0;
    bly_jobstore_close(jobs);
    return status;
}

static int limit(int argc, char **argv)
{
    static const struct kind kind = {
        BELAY_JOBS_LIMITS, limit_columns, sizeof limit_columns / sizeof limit_columns[0],
        "there is no such limit; `belay limit NAME N` makes it", false};
    struct capopts opts = {0};
    int rest = 0;
    int status = 0;
    if (!bly_jobopts_take(&bly_command_limit, argc, argv, &opts, &rest, &status)) {
        return status;
    }
    char **words = argv + rest;
    if (argc - rest > 2) {
        return bly_say_about(words[2], "limit takes a name and a number");
    }
    status = check_name(words[0]);
    if (status != 0) {
        return status;
    }
    return argc - rest == 2 ? set_limit(&opts, words[0], words[1]) : look(&kind, &opts, words[0]);
}

const struct bly_command bly_command_limit = {
    .name = "limit",
    .summary = "list the limits, or set how many permits one has",
    .usage = "[OPTION...] [NAME [N]]",
    .about =
        "Lists all limits, or one, with the permits in use; with N sets how many there are. When\n"
        "more are in use than that, none is given out until enough have come back.\n",
    .options = &limit_options,
    .operands = BLY_OPERANDS_WORDS,
    .run = limit,
};

/*
 * queue
 */

static const struct bly_column queue_columns[] = {{"QUEUE", false}, {"RUNNING", true}, {"OF", true},
                                                  {"READY", true},  {"WORKERS", true}, {"", false}};

static const struct bly_option queue_table[] = {
    {.help = "Options:"},
    {"max", 0, "N", "at most N jobs of the queue run at once, of all workers; 0: any number",
     set_max, NULL},
    BLY_JOBOPTS_STORE,
    BLY_JOBOPTS_JSON,
    BLY_JOBOPTS_HELP,
};

static const struct bly_options queue_options = {.table = queue_table,
                                                 .count =
                                                     sizeof queue_table / sizeof queue_table[0],
                                                 .command = "queue",
                                                 .are_anywhere = true};

static int set_queue(const struct capopts *opts, const char *name)
{
    belay_jobs *jobs = NULL;
    if (name == NULL) {
        return bly_say_about("--max", "of which queue? name it");
    }
    int status = bly_jobstore_open(opts->common.store, BLY_JOBSTORE_WRITE, &jobs);
    if (status != 0) {
        return status;
    }
    int result = belay_jobs_queue(jobs, bly_jobstore_bytes(name), (uint32_t)opts->max);
    status = result != 0 ? bly_jobstore_failed(jobs, result) : 0;
    bly_jobstore_close(jobs);
    return status;
}

static int queue(int argc, char **argv)
{
    static const struct kind kind = {BELAY_JOBS_QUEUES, queue_columns,
                                     sizeof queue_columns / sizeof queue_columns[0],
                                     "there is no such queue; the first job makes it", true};
    struct capopts opts = {0};
    int rest = 0;
    int status = 0;
    if (!bly_jobopts_take(&bly_command_queue, argc, argv, &opts, &rest, &status)) {
        return status;
    }
    char **words = argv + rest;
    if (argc - rest > 1) {
        return bly_say_about(words[1], "queue takes one name");
    }
    status = check_name(words[0]);
    if (status != 0) {
        return status;
    }
    return opts.has_max ? set_queue(&opts, words[0]) : look(&kind, &opts, words[0]);
}

const struct bly_command bly_command_queue = {
    .name = "queue",
    .summary = "list the queues, or set how many jobs of one run at once",
    .usage = "[OPTION...] [NAME]",
    .about =
        "Lists all queues, or one, with what runs and waits in them and how many workers take\n"
        "their jobs.\n",
    .options = &queue_options,
    .operands = BLY_OPERANDS_WORDS,
    .run = queue,
};
