/* tables.c: see tables.h. Each kind has its headings, a row and an object. */
#include "tables.h"

#include <assert.h>
#include <inttypes.h>
#include <unistd.h>

#include "belay/clock.h"
#include "columns.h"
#include "duration.h"
#include "help.h"
#include "jobjson.h"
#include "jobstore.h"
#include "jobtext.h"
#include "jsonout.h"

static void add_number(struct bly_columns *columns, uint64_t number)
{
    struct bly_bytes text = {0};
    bly_bytes_print(&text, "%" PRIu64, number);
    bly_columns_text(columns, bly_bytes_c(&text));
    bly_bytes_free(&text);
}

static void add_length(struct bly_columns *columns, int64_t ns)
{
    struct bly_bytes text = {0};
    bly_duration_show(&text, ns > 0 ? ns : 0);
    bly_columns_text(columns, bly_bytes_c(&text));
    bly_bytes_free(&text);
}

static void set_number(json_t *object, const char *name, uint64_t number)
{
    bly_json_set(object, name, json_integer((json_int_t)number));
}

/*
 * Workers.
 */

static const struct bly_column worker_columns[] = {{"PID", true},     {"HOST", false},
                                                   {"RUNNING", true}, {"OF", true},
                                                   {"FOR", false},    {"QUEUES", false}};

static void add_worker(struct bly_columns *columns, const belay_jobs_table *table, uint32_t i)
{
    const belay_jobs_session_row *row = &table->of.session[i];
    struct bly_words queues = {0};
    struct bly_bytes text = {0};
    bly_jobtext_words(&queues, row->queues);
    for (size_t k = 0; k < queues.count; k++) {
        bly_bytes_print(&text, "%s%s", k > 0 ? " " : "", bly_words_at(&queues, k));
    }
    add_number(columns, (uint64_t)row->pid);
    bly_columns_add(columns, row->host.data, row->host.len);
    add_number(columns, row->running);
    add_number(columns, row->slots);
    add_length(columns, belay_clock_wall(NULL) - row->begun_ns);
    bly_columns_add(columns, bly_bytes_c(&text), text.len);
    bly_bytes_free(&text);
    bly_words_free(&queues);
}

static json_t *worker_object(const belay_jobs_table *table, uint32_t i)
{
    const belay_jobs_session_row *row = &table->of.session[i];
    json_t *object = bly_json_object();
    set_number(object, "worker", row->id);
    set_number(object, "pid", (uint64_t)row->pid);
    bly_json_set(object, "host", bly_json_bytes(row->host.data, row->host.len));
    set_number(object, "running", row->running);
    set_number(object, "claimed", row->claimed);
    set_number(object, "slots", row->slots);
    bly_json_set(object, "begun", bly_json_moment(row->begun_ns));
    bly_json_set(object, "queues", bly_jobjson_words(row->queues));
    return object;
}

/*
 * Batches.
 */

static const struct bly_column batch_columns[] = {
    {"BATCH", true},  {"NAME", false}, {"", false},     {"DONE", true},
    {"FAILED", true}, {"OTHER", true}, {"BEGUN", false}};

static uint64_t count_others(const belay_jobs_batch_row *row)
{
    uint64_t others = 0;
    for (uint32_t state = 0; state < BELAY_JOBS_STATES; state++) {
        bool is_counted = state == BELAY_JOBS_DONE || state == BELAY_JOBS_FAILED;
        others += is_counted ? 0 : row->counts[state];
    }
    return others;
}

static void add_batch(struct bly_columns *columns, const belay_jobs_table *table, uint32_t i)
{
    const belay_jobs_batch_row *row = &table->of.batch[i];
    struct bly_bytes text = {0};
    add_number(columns, row->batch);
    bly_columns_add(columns, row->name.data, row->name.len);
    bly_columns_text(columns, row->is_open ? "unfinished" : "finished");
    add_number(columns, row->counts[BELAY_JOBS_DONE]);
    add_number(columns, row->counts[BELAY_JOBS_FAILED]);
    add_number(columns, count_others(row));
    bly_jobtext_moment(&text, row->made_ns, belay_clock_wall(NULL));
    bly_columns_text(columns, bly_bytes_c(&text));
    bly_bytes_free(&text);
}

static json_t *batch_object(const belay_jobs_table *table, uint32_t i)
{
    const belay_jobs_batch_row *row = &table->of.batch[i];
    json_t *object = bly_json_object();
    set_number(object, "batch", row->batch);
    bly_json_set(object, "name", bly_json_bytes(row->name.data, row->name.len));
    bly_json_set(object, "is_open", json_boolean(row->is_open));
    bly_json_set(object, "begun", bly_json_moment(row->made_ns));
    bly_json_set(object, "ended", bly_json_moment(row->ended_ns));
    for (uint32_t state = BELAY_JOBS_SCHEDULED; state < BELAY_JOBS_STATES; state++) {
        set_number(object, belay_jobs_state_name(state), row->counts[state]);
    }
    return object;
}

/*
 * Recurring jobs.
 */

static const struct bly_column schedule_columns[] = {
    {"ID", false}, {"EVERY", false}, {"NEXT", false}, {"JOB", true}};

static void add_schedule(struct bly_columns *columns, const belay_jobs_table *table, uint32_t i)
{
    const belay_jobs_schedule_row *row = &table->of.schedule[i];
    struct bly_bytes text = {0};
    bly_columns_add(columns, row->id.data, row->id.len);
    if (row->rule.kind == BELAY_JOBS_EVERY) {
        add_length(columns, row->rule.period_ns);
    } else {
        bly_columns_add(columns, row->rule.expr.data, row->rule.expr.len);
    }
    bly_jobtext_moment(&text, row->slot_ns, belay_clock_wall(NULL));
    bly_columns_text(columns, bly_bytes_c(&text));
    add_number(columns, row->job);
    bly_bytes_free(&text);
}

static json_t *schedule_object(const belay_jobs_table *table, uint32_t i)
{
    const belay_jobs_schedule_row *row = &table->of.schedule[i];
    json_t *object = bly_json_object();
    bly_json_set(object, "id", bly_json_bytes(row->id.data, row->id.len));
    if (row->rule.kind == BELAY_JOBS_EVERY) {
        bly_json_set(object, "every_s", bly_json_seconds(row->rule.period_ns));
    } else {
        bly_json_set(object, "cron", bly_json_bytes(row->rule.expr.data, row->rule.expr.len));
    }
    bly_json_set(object, "next", bly_json_moment(row->slot_ns));
    set_number(object, "job", row->job);
    return object;
}

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const struct kind {
    int which;
    const struct bly_column *columns;
    size_t count;
    void (*add)(struct bly_columns *columns, const belay_jobs_table *table, uint32_t i);
    json_t *(*object)(const belay_jobs_table *table, uint32_t i);
} kinds[] = {
    {BELAY_JOBS_SESSIONS, worker_columns, COUNT(worker_columns), add_worker, worker_object},
    {BELAY_JOBS_BATCHES, batch_columns, COUNT(batch_columns), add_batch, batch_object},
    {BELAY_JOBS_SCHEDULES, schedule_columns, COUNT(schedule_columns), add_schedule,
     schedule_object},
};

static const struct kind *find_kind(int which)
{
    const struct kind *kind = kinds;
    while (kind->which != which) {
        kind++;
        assert(kind < kinds + COUNT(kinds));
    }
    return kind;
}

int bly_tables_print(belay_jobs *jobs, int which, bool is_json)
{
    const struct kind *kind = find_kind(which);
    belay_jobs_table *table = NULL;
    struct bly_columns columns = {.columns = kind->columns, .count = kind->count};
    struct bly_bytes text = {0};
    int result = belay_jobs_list_table(jobs, which, &table);
    if (result != 0) {
        return bly_jobstore_failed(jobs, result);
    }
    for (uint32_t i = 0; i < table->count; i++) {
        if (is_json) {
            bly_json_line(&text, kind->object(table, i));
        } else {
            kind->add(&columns, table, i);
        }
    }
    belay_jobs_table_free(table);
    if (!is_json) {
        bly_columns_print(&columns, bly_columns_terminal(STDOUT_FILENO), &text);
    }
    int status = bly_help_print(&text);
    bly_columns_free(&columns);
    bly_bytes_free(&text);
    return status;
}
