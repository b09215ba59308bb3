/* ls.c: `belay ls`: the jobs of a store, the live ones and those that ended last. */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "belay/clock.h"
#include "columns.h"
#include "help.h"
#include "jobjson.h"
#include "jobstore.h"
#include "jobtext.h"
#include "jsonout.h"
#include "say.h"
#include "tables.h"

enum { ENDED_SHOWN = 20, PAGE = 1000 };

/* Past this the log of the store is held by a reader, and commits get slow. */
#define WAL_LARGE (UINT64_C(256) << 20)

struct lsopts {
    struct bly_jobopts common;
    uint32_t states; /* 0: the live ones and the last that ended */
    const char *queue;
    const char *batch;
    int table; /* what is listed instead of jobs; 0: jobs */
};

static const char *set_all(void *target, const char *value)
{
    (void)value;
    ((struct lsopts *)target)->states |= BELAY_JOBS_IN_LIVE | BELAY_JOBS_IN_ENDED;
    return NULL;
}

static const char *add_state(void *target, const char *value)
{
    struct lsopts *opts = target;
    for (uint32_t state = BELAY_JOBS_SCHEDULED; state <= BELAY_JOBS_SKIPPED; state++) {
        if (strcmp(belay_jobs_state_name(state), value) == 0) {
            opts->states |= BELAY_JOBS_IN(state);
            return NULL;
        }
    }
    return "it is none of scheduled, ready, claimed, running, waiting, parked, done, failed, "
           "canceled, superseded and skipped";
}

static const char *set_queue(void *target, const char *value)
{
    ((struct lsopts *)target)->queue = value;
    return bly_name_check(value, strlen(value));
}

static const char *set_batch(void *target, const char *value)
{
    ((struct lsopts *)target)->batch = value;
    return bly_name_check(value, strlen(value));
}

static const char *set_workers(void *target, const char *value)
{
    (void)value;
    ((struct lsopts *)target)->table = BELAY_JOBS_SESSIONS;
    return NULL;
}

static const char *set_batches(void *target, const char *value)
{
    (void)value;
    ((struct lsopts *)target)->table = BELAY_JOBS_BATCHES;
    return NULL;
}

static const char *set_recurring(void *target, const char *value)
{
    (void)value;
    ((struct lsopts *)target)->table = BELAY_JOBS_SCHEDULES;
    return NULL;
}

static const struct bly_option table[] = {
    {.help = "Which jobs:"},
    {"all", 'a', NULL, "all, however long ago they ended", set_all, NULL},
    {"state", 's', "STATE", "those in a state (several: in any of them)", add_state, NULL},
    {"queue", 0, "NAME", "those of a queue", set_queue, NULL},
    {"batch", 0, "NAME", "those of the newest batch of a name", set_batch, NULL},
    {.help = "Instead of jobs:"},
    {"workers", 0, NULL, "the workers that are alive", set_workers, NULL},
    {"batches", 0, NULL, "the batches of `belay run --name`", set_batches, NULL},
    {"recurring", 0, NULL, "the jobs of `belay add --every`", set_recurring, NULL},
    {.help = "And:"},
    BLY_JOBOPTS_STORE,
    BLY_JOBOPTS_JSON,
    BLY_JOBOPTS_HELP,
};

static const struct bly_options options = {
    .table = table, .count = sizeof table / sizeof table[0], .command = "ls", .are_anywhere = true};

/* What is being listed. */
struct listing {
    belay_jobs *jobs;
    const struct lsopts *opts;
    int64_t now_ns;
    struct bly_columns columns;
    struct bly_bytes text;
};

static const struct bly_column headings[] = {
    {"JOB", true}, {"STATE", false}, {"ID", false}, {"WHY", false}, {"COMMAND", false}};

static void add_row(struct listing *listing, const belay_jobs_row *row)
{
    struct bly_bytes text = {0};
    if (listing->opts->common.is_json) {
        bly_json_line(&listing->text, bly_jobjson_row(row, listing->now_ns));
        return;
    }
    bly_bytes_print(&text, "%" PRIu64, row->seq);
    bly_columns_text(&listing->columns, bly_bytes_c(&text));
    bly_columns_text(&listing->columns, belay_jobs_state_name(row->state));
    bly_columns_add(&listing->columns, row->id.data, row->id.len);
    bly_bytes_clear(&text);
    bly_jobtext_why(&text, row, listing->now_ns);
    bly_columns_text(&listing->columns, bly_bytes_c(&text));
    bly_bytes_clear(&text);
    bly_jobtext_command(&text, row);
    bly_columns_add(&listing->columns, bly_bytes_c(&text), text.len);
    bly_bytes_free(&text);
}

/* The newest ends come first from the store, and last to the eye. */
static void add_rows(struct listing *listing, belay_jobs_filter *query, const belay_jobs_rows *rows)
{
    for (uint32_t i = 0; i < rows->count; i++) {
        bool is_turned = query->order == BELAY_JOBS_LIST_LAST_ENDED;
        add_row(listing, &rows->row[is_turned ? rows->count - 1 - i : i]);
        query->after_seq = rows->row[i].seq;
    }
}

/* Rows of one query, page by page: no read of the store is left open between two pages. */
static int list(struct listing *listing, belay_jobs_filter *query)
{
    bool has_more = true;
    while (has_more) {
        belay_jobs_rows *rows = NULL;
        int result = belay_jobs_list(listing->jobs, query, &rows);
        if (result != 0) {
            return bly_jobstore_failed(listing->jobs, result);
        }
        add_rows(listing, query, rows);
        has_more = rows->has_more && query->order == BELAY_JOBS_LIST_BY_SEQ;
        belay_jobs_rows_free(rows);
    }
    return 0;
}

static int list_jobs(struct listing *listing)
{
    const struct lsopts *opts = listing->opts;
    belay_jobs_filter query = {.size = sizeof query,
                               .states = opts->states != 0 ? opts->states : BELAY_JOBS_IN_LIVE,
                               .flags = BELAY_JOBS_LIST_WHY | BELAY_JOBS_LIST_WORK,
                               .rows_max = PAGE,
                               .queue = bly_jobstore_bytes(opts->queue)};
    int status = 0;
    if (opts->batch != NULL) {
        status = bly_jobstore_batch(listing->jobs, opts->batch, &query.batch);
    }
    belay_jobs_filter ended = query;
    if (status == 0 && opts->states == 0) {
        ended.states = BELAY_JOBS_IN_ENDED;
        ended.order = BELAY_JOBS_LIST_LAST_ENDED;
        ended.rows_max = ENDED_SHOWN;
        status = list(listing, &ended);
    }
    return status == 0 ? list(listing, &query) : status;
}

static void warn_about_wal(belay_jobs *jobs)
{
    belay_jobs_metrics stats = {.size = sizeof stats};
    if (belay_jobs_stats(jobs, &stats) == 0 && stats.wal_bytes > WAL_LARGE) {
        bly_say_about(belay_jobs_path(jobs),
                      "its log has grown to %" PRIu64 " MiB: a process that reads the store for "
                      "long holds it, perhaps sqlite3; commits are slow until that ends",
                      stats.wal_bytes >> 20);
    }
}

static int print(struct listing *listing)
{
    if (!listing->opts->common.is_json) {
        bly_columns_print(&listing->columns, bly_columns_terminal(STDOUT_FILENO), &listing->text);
    }
    return bly_help_print(&listing->text);
}

static int list_all(const struct lsopts *opts)
{
    struct listing listing = {
        .opts = opts,
        .now_ns = belay_clock_wall(NULL),
        .columns = {.columns = headings, .count = sizeof headings / sizeof headings[0]}};
    int status = bly_jobstore_open(opts->common.store, BLY_JOBSTORE_LOOK, &listing.jobs);
    if (status == 0 && listing.jobs != NULL && opts->table != 0) {
        status = bly_tables_print(listing.jobs, opts->table, opts->common.is_json);
        bly_jobstore_close(listing.jobs);
        return status;
    }
    if (status == 0 && listing.jobs != NULL) {
        status = list_jobs(&listing);
        warn_about_wal(listing.jobs);
        bly_jobstore_close(listing.jobs);
    }
    if (status == 0) {
        status = print(&listing);
    }
    bly_columns_free(&listing.columns);
    bly_bytes_free(&listing.text);
    return status;
}

static int ls(int argc, char **argv)
{
    struct lsopts opts = {0};
    int rest = 0;
    int status = 0;
    if (!bly_jobopts_take(&bly_command_ls, argc, argv, &opts, &rest, &status)) {
        return status;
    }
    if (rest < argc) {
        return bly_say_about(argv[rest], "ls takes options only; about one job: `belay show`");
    }
    return list_all(&opts);
}

const struct bly_command bly_command_ls = {
    .name = "ls",
    .summary = "list jobs: those that wait or run, and the last 20 that ended",
    .usage = "[OPTION...]",
    .about = "Lists the jobs of a store. WHY says what a job waits for, how long one has been\n"
             "running, or how one ended.\n",
    .options = &options,
    .run = ls,
};
