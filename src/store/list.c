/*
 * list.c: rows for people. All of a list is read in one transaction, into one block: the bly_rows,
 * its array, then bytes and small arrays, as offsets until the block is whole.
 */
#include "store/list_int.h"

#include <string.h>

#define ROWS_DEFAULT 1000u

/* The columns of read_row beside those of bly_job_read; table aliases as in FROM_JOB. */
#define ROW_COLUMNS                                                                                \
    BLY_JOB_COLUMNS_OF("job.")                                                                     \
    ", coalesce(job.id, schedule.name), queue.name, job.batch_row,"                                \
    " result.result, result.message, work.handler, work.command,"                                  \
    " work.env, work.cwd, work.detail, work.umask"
#define FROM_JOB                                                                                   \
    " FROM job JOIN queue ON queue.id = job.queue LEFT JOIN schedule ON"                           \
    " schedule.id = job.schedule LEFT JOIN result ON result.job = job.seq"                         \
    " LEFT JOIN work ON work.job = job.seq"
#define FILTER                                                                                     \
    " WHERE (1 << job.state) & ?1 AND (?2 = 0 OR job.batch = ?2) AND (?3 = 0 OR"                   \
    " (job.session = ?3 AND job.state IN (3, 4))) AND (?4 IS NULL OR queue.name = ?4)"             \
    " AND (?5 IS NULL OR job.id = ?5 OR schedule.name = ?5)"

/* What has ended, perhaps millions of jobs, is not looked at: each index holds live jobs alone. */
#define LIVE                                                                                       \
    " AND job.seq IN (SELECT seq FROM job WHERE state = 1 UNION ALL"                               \
    " SELECT seq FROM job WHERE state = 2 AND hold = 0 UNION ALL"                                  \
    " SELECT seq FROM job WHERE hold <> 0 AND state <= 6 UNION ALL"                                \
    " SELECT seq FROM job WHERE state IN (3, 4) UNION ALL"                                         \
    " SELECT seq FROM job WHERE state = 5 UNION ALL SELECT seq FROM job WHERE state = 6)"

static const char live_by_seq[] =
    "SELECT " ROW_COLUMNS FROM_JOB FILTER LIVE " AND job.seq > ?6 ORDER BY job.seq LIMIT ?7";
static const char live_newest[] = "SELECT " ROW_COLUMNS FROM_JOB FILTER LIVE
                                  " AND (?6 = 0 OR job.seq < ?6) ORDER BY job.seq DESC LIMIT ?7";
static const char by_seq[] =
    "SELECT " ROW_COLUMNS FROM_JOB FILTER " AND job.seq > ?6 ORDER BY job.seq LIMIT ?7";
static const char newest[] = "SELECT " ROW_COLUMNS FROM_JOB FILTER
                             " AND (?6 = 0 OR job.seq < ?6) ORDER BY job.seq DESC LIMIT ?7";
static const char last_ended[] =
    "SELECT " ROW_COLUMNS FROM_JOB FILTER " AND job.state >= 7 AND ?6 = ?6"
    " ORDER BY job.ended_at DESC, job.seq DESC LIMIT ?7";
static const char one[] = "SELECT " ROW_COLUMNS FROM_JOB " WHERE job.seq = ?1";

static void from_job(const bly_job *job, bly_row *row)
{
    row->seq = job->seq;
    row->state = job->state;
    row->flags = job->flags;
    row->is_paused = (job->hold & BLY_HOLD_PAUSED) != 0;
    row->is_quarantined = (job->hold & BLY_HOLD_QUARANTINED) != 0;
    row->is_cancel_requested = job->cancel != 0;
    row->priority = job->priority;
    row->tries = job->tries;
    row->tried = job->tried;
    row->lost = job->lost;
    row->lost_max = job->lost_max;
    row->runs = job->runs;
    row->missed = (uint32_t)job->missed;
    row->added_ns = job->added_at;
    row->run_at_ns = job->run_at;
    row->start_ns = job->start_at;
    row->end_ns = job->ended_at;
    row->timeout_ns = job->timeout;
    row->slot_ns = job->slot;
    row->backoff_ns = job->backoff;
    row->backoff_max_ns = job->backoff_max;
    row->user_ns = job->user_time;
    row->system_ns = job->system_time;
    row->rss_max_kib = (uint64_t)job->rss_max;
    row->token = job->token;
    row->session = job->session;
    row->batch = job->batch;
    row->schedule = job->schedule;
    row->replaced_by = job->replaced_by;
    row->need = job->need;
    row->how = job->how;
    row->code = job->code;
}

static void read_row(bly_block *block, const bly_cursor *cursor, uint32_t flags, bly_row *row)
{
    bly_job job;
    int at = BLY_JOB_COLUMN_COUNT;
    bly_job_read(cursor, &job);
    from_job(&job, row);
    row->id = bly_block_put(block, bly_col_bytes(cursor, at));
    row->queue = bly_block_put(block, bly_col_bytes(cursor, at + 1));
    row->batch_row = (uint64_t)bly_col(cursor, at + 2);
    row->work.umask = (int32_t)bly_col(cursor, at + 10);
    if ((flags & BLY_LIST_WORK) == 0) {
        return;
    }
    row->result = bly_block_put(block, bly_col_bytes(cursor, at + 3));
    row->message = bly_block_put(block, bly_col_bytes(cursor, at + 4));
    row->work.handler = bly_block_put(block, bly_col_bytes(cursor, at + 5));
    row->work.command = bly_block_put(block, bly_col_bytes(cursor, at + 6));
    row->work.env = bly_block_put(block, bly_col_bytes(cursor, at + 7));
    row->work.cwd = bly_block_put(block, bly_col_bytes(cursor, at + 8));
    row->work.detail = bly_block_put(block, bly_col_bytes(cursor, at + 9));
}

static bly_row *row_of(const bly_listing *self, uint32_t index)
{
    return (bly_row *)bly_block_at(&self->block, self->rows) + index;
}

static int read_rows(bly_tx *tx, bly_listing *self, const char *sql, const bly_arg *args,
                     size_t count)
{
    bly_cursor cursor = bly_cursor_begin(tx->conn, sql, args, count);
    while (!self->block.failed && bly_cursor_next(&cursor)) {
        if (self->count == self->max) {
            self->has_more = true;
            break;
        }
        bly_row row = {0};
        read_row(&self->block, &cursor, self->flags, &row);
        if (!self->block.failed) {
            *row_of(self, self->count++) = row;
        }
    }
    int result = bly_cursor_end(&cursor);
    for (uint32_t i = 0; result == 0 && (self->flags & BLY_LIST_WHY) != 0 && i < self->count; i++) {
        result = bly_why_fill(tx, self, i);
    }
    return result != 0 || !self->block.failed ? result : BELAY_ENOMEM;
}

static void fix_row(const bly_block *block, bly_row *row)
{
    bly_bytes *const bytes[] = {
        &row->id,           &row->queue,        &row->result,   &row->message,     &row->work.cwd,
        &row->work.handler, &row->work.command, &row->work.env, &row->work.detail, &row->why.name};
    for (size_t i = 0; i < bly_count(bytes); i++) {
        bly_block_fix(block, bytes[i]);
    }
    if (row->wants != NULL) {
        bly_want *wants = bly_block_at(block, (uintptr_t)row->wants - 1);
        for (uint32_t i = 0; i < row->want_count; i++) {
            bly_block_fix(block, &wants[i].name);
        }
        row->wants = wants;
    }
    if (row->after != NULL) {
        row->after = bly_block_at(block, (uintptr_t)row->after - 1);
    }
}

static bly_rows *finish(bly_listing *self)
{
    bly_rows *rows = bly_block_at(&self->block, 0);
    rows->count = self->count;
    rows->has_more = self->has_more;
    rows->row = row_of(self, 0);
    for (uint32_t i = 0; i < self->count; i++) {
        fix_row(&self->block, &rows->row[i]);
    }
    return rows;
}

static const char *query_of(const bly_query *query)
{
    bool is_live = query->states != 0 && (query->states & ~(uint32_t)BLY_JOB_LIVE) == 0;
    switch (query->order) {
    case BLY_LIST_LAST_ENDED:
        return last_ended;
    case BLY_LIST_NEWEST:
        return is_live ? live_newest : newest;
    default:
        return is_live ? live_by_seq : by_seq;
    }
}

static int list(bly_tx *tx, void *arg)
{
    bly_listing *self = arg;
    const bly_query *query = self->query;
    const char *sql = query_of(query);
    bly_listing_begin(self);
    return self->block.failed
               ? BELAY_ENOMEM
               : read_rows(tx, self, sql,
                           BLY_ARGS(BLY_INT(query->states != 0 ? query->states : UINT32_MAX),
                                    BLY_INT(query->batch), BLY_INT(query->session),
                                    BLY_OR_NULL(query->queue), BLY_OR_NULL(query->id),
                                    BLY_INT(query->after_seq), BLY_INT(self->max + 1)));
}

static int find(bly_tx *tx, void *arg)
{
    bly_listing *self = arg;
    bly_job job;
    int result = bly_job_resolve(tx, self->ref, &job);
    if (result != 0) {
        return result;
    }
    bly_listing_begin(self);
    return self->block.failed ? BELAY_ENOMEM : read_rows(tx, self, one, BLY_ARGS(BLY_INT(job.seq)));
}

void bly_listing_begin(bly_listing *self)
{
    bly_free(self->block.data);
    self->block = (bly_block){0};
    self->count = 0;
    self->has_more = false;
    (void)bly_block_take(&self->block, sizeof(bly_rows));
    self->rows = bly_block_take(&self->block, sizeof(bly_row) * self->max);
}

static int read_all(bly_store *store, bly_listing *self, bly_tx_fn *fn, bly_rows **ret_rows)
{
    int result = bly_read_tx(BLY_SQLITE(store), fn, self);
    if (result != 0) {
        bly_free(self->block.data);
        return result;
    }
    *ret_rows = finish(self);
    return 0;
}

int bly_sqlite_list(bly_store *store, const bly_query *query, bly_rows **ret_rows)
{
    bly_listing self = {
        .query = query,
        .flags = query->flags,
        .max = query->rows_max != 0 ? query->rows_max : ROWS_DEFAULT,
    };
    return read_all(store, &self, list, ret_rows);
}

int bly_sqlite_find(bly_store *store, const bly_job_ref *job, bly_rows **ret_rows)
{
    bly_listing self = {.ref = job, .flags = BLY_LIST_WHY | BLY_LIST_WORK, .max = 1};
    return read_all(store, &self, find, ret_rows);
}
