/*
 * table.c: sessions, limits, queues, schedules, batches, and the figures of the whole store.
 */
#include "store/block_int.h"
#include "store/sqlite_int.h"

#include <stdio.h>
#include <sys/stat.h>

typedef struct reading {
    int which;
    uint64_t only; /* a batch alone; 0: all */
    bly_block block;
    size_t array;
    uint32_t count;
} reading;

static size_t size_of(int which)
{
    switch (which) {
    case BLY_TABLE_SESSIONS:
        return sizeof(bly_session_row);
    case BLY_TABLE_LIMITS:
    case BLY_TABLE_QUEUES:
        return sizeof(bly_limit_row);
    case BLY_TABLE_SCHEDULES:
        return sizeof(bly_schedule_row);
    default:
        return sizeof(bly_batch_row);
    }
}

/* The queries; the first column of each is the number of rows. */
static const char sessions_sql[] =
    "SELECT count(*) OVER (), id, host, pid, begun_at, slots,"
    " (SELECT count(*) FROM job WHERE job.session = session.id AND state IN (3, 4) AND state = 3),"
    " (SELECT count(*) FROM job WHERE job.session = session.id AND state IN (3, 4) AND state = 4),"
    " (SELECT cast(group_concat(cast(queue.name AS TEXT) || char(0), '') AS BLOB) FROM "
    "session_queue"
    " JOIN queue ON queue.id = session_queue.queue WHERE session_queue.session = session.id)"
    " FROM session WHERE ended_at IS NULL ORDER BY id";
static const char limits_sql[] =
    "SELECT count(*) OVER (), name, paused, capacity, (SELECT coalesce(sum(permits), 0) FROM"
    " job_lim WHERE lim = lim.id AND held = 1), (SELECT count(*) FROM job WHERE state = 6 AND"
    " parked_on = lim.id), 0 FROM lim ORDER BY name";
static const char queues_sql[] =
    "SELECT count(*) OVER (), name, paused, running_max, (SELECT count(*) FROM job WHERE queue ="
    " queue.id AND state IN (3, 4)), (SELECT count(*) FROM job WHERE state = 2 AND hold = 0 AND"
    " job.queue = queue.id), (SELECT count(*) FROM session_queue JOIN session ON session.id ="
    " session_queue.session WHERE session_queue.queue = queue.id AND ended_at IS NULL)"
    " FROM queue WHERE substr(name, 1, 1) <> x'01' ORDER BY name";
static const char schedules_sql[] =
    "SELECT count(*) OVER (), id, name, kind, period, expr, zone, missed, missed_max, late_max,"
    " jitter, coalesce((SELECT seq FROM job WHERE schedule = schedule.id AND state IN (1, 2, 5, 6)"
    " ORDER BY slot DESC LIMIT 1), 0), coalesce((SELECT max(slot) FROM job WHERE schedule ="
    " schedule.id AND state <= 6), 0) FROM schedule WHERE ended_at IS NULL ORDER BY id";
static const char batches_sql[] =
    "SELECT count(*) OVER (), id, name, digest, made_at, ended_at, total FROM batch"
    " WHERE ?1 = 0 OR id = ?1 ORDER BY id";

/* A row's part of the block, which moves as it grows. */
static void *row_at(const reading *self)
{
    return (char *)bly_block_at(&self->block, self->array) + size_of(self->which) * self->count;
}

static void read_session(reading *self, const bly_cursor *cursor)
{
    bly_session_row row = {
        .id = (uint64_t)bly_col(cursor, 1),
        .host = bly_block_put(&self->block, bly_col_bytes(cursor, 2)),
        .pid = bly_col(cursor, 3),
        .begun_ns = bly_col(cursor, 4),
        .slots = (uint32_t)bly_col(cursor, 5),
        .claimed = (uint32_t)bly_col(cursor, 6),
        .running = (uint32_t)bly_col(cursor, 7),
        .queues = bly_block_put(&self->block, bly_col_bytes(cursor, 8)),
    };
    *(bly_session_row *)row_at(self) = row;
}

static void read_limit(reading *self, const bly_cursor *cursor)
{
    bly_limit_row row = {
        .name = bly_block_put(&self->block, bly_col_bytes(cursor, 1)),
        .is_paused = bly_col(cursor, 2) != 0,
        .capacity = bly_col(cursor, 3),
        .used = bly_col(cursor, 4),
        .waiting = (uint64_t)bly_col(cursor, 5),
        .sessions = (uint64_t)bly_col(cursor, 6),
    };
    *(bly_limit_row *)row_at(self) = row;
}

static void read_schedule(reading *self, const bly_cursor *cursor)
{
    bly_schedule_row row = {
        .schedule = (uint64_t)bly_col(cursor, 1),
        .id = bly_block_put(&self->block, bly_col_bytes(cursor, 2)),
        .job = (uint64_t)bly_col(cursor, 11),
        .slot_ns = bly_col(cursor, 12),
        .rule = {.kind = (uint32_t)bly_col(cursor, 3),
                 .period_ns = bly_col(cursor, 4),
                 .expr = bly_block_put(&self->block, bly_col_bytes(cursor, 5)),
                 .zone = bly_block_put(&self->block, bly_col_bytes(cursor, 6)),
                 .missed = (uint32_t)bly_col(cursor, 7),
                 .missed_max = (uint32_t)bly_col(cursor, 8),
                 .late_max_ns = bly_col(cursor, 9),
                 .jitter_ns = bly_col(cursor, 10)},
    };
    *(bly_schedule_row *)row_at(self) = row;
}

static int count_batch(bly_tx *tx, bly_batch_row *row)
{
    bly_cursor cursor =
        bly_cursor_begin(tx->conn, "SELECT state, count(*) FROM job WHERE batch = ? GROUP BY state",
                         BLY_ARGS(BLY_INT(row->batch)));
    while (bly_cursor_next(&cursor)) {
        int64_t state = bly_col(&cursor, 0);
        if (state > 0 && state <= BLY_JOB_SKIPPED) {
            row->counts[state] = (uint64_t)bly_col(&cursor, 1);
        }
    }
    return bly_cursor_end(&cursor);
}

static int read_batch(bly_tx *tx, reading *self, const bly_cursor *cursor)
{
    bly_batch_row row = {
        .batch = (uint64_t)bly_col(cursor, 1),
        .name = bly_block_put(&self->block, bly_col_bytes(cursor, 2)),
        .digest = bly_block_put(&self->block, bly_col_bytes(cursor, 3)),
        .made_ns = bly_col(cursor, 4),
        .ended_ns = bly_col(cursor, 5),
        .total = (uint64_t)bly_col(cursor, 6),
    };
    row.is_open = row.ended_ns == 0;
    int result = count_batch(tx, &row);
    *(bly_batch_row *)row_at(self) = row;
    return result;
}

static const char *query_of(int which)
{
    switch (which) {
    case BLY_TABLE_SESSIONS:
        return sessions_sql;
    case BLY_TABLE_LIMITS:
        return limits_sql;
    case BLY_TABLE_QUEUES:
        return queues_sql;
    case BLY_TABLE_SCHEDULES:
        return schedules_sql;
    default:
        return batches_sql;
    }
}

static int read_one(bly_tx *tx, reading *self, const bly_cursor *cursor)
{
    if (self->count == 0) {
        size_t rows = (size_t)bly_col(cursor, 0);
        self->array = bly_block_take(&self->block, size_of(self->which) * rows);
    }
    if (self->block.failed) {
        return BELAY_ENOMEM;
    }
    int result = 0;
    switch (self->which) {
    case BLY_TABLE_SESSIONS:
        read_session(self, cursor);
        break;
    case BLY_TABLE_LIMITS:
    case BLY_TABLE_QUEUES:
        read_limit(self, cursor);
        break;
    case BLY_TABLE_SCHEDULES:
        read_schedule(self, cursor);
        break;
    default:
        result = read_batch(tx, self, cursor);
    }
    self->count++;
    return self->block.failed ? BELAY_ENOMEM : result;
}

static int read_table(bly_tx *tx, void *arg)
{
    reading *self = arg;
    bly_free(self->block.data);
    self->block = (bly_block){0};
    self->count = 0;
    (void)bly_block_take(&self->block, sizeof(bly_table));
    bly_arg only = BLY_INT(self->only);
    bly_cursor cursor = bly_cursor_begin(tx->conn, query_of(self->which), &only,
                                         self->which == BLY_TABLE_BATCHES ? 1 : 0);
    int result = self->block.failed ? BELAY_ENOMEM : 0;
    while (result == 0 && bly_cursor_next(&cursor)) {
        result = read_one(tx, self, &cursor);
    }
    int ended = bly_cursor_end(&cursor);
    return result != 0 ? result : ended;
}

static void fix(const reading *self, uint32_t index, bly_table *table)
{
    switch (self->which) {
    case BLY_TABLE_SESSIONS:
        bly_block_fix(&self->block, &table->of.session[index].host);
        bly_block_fix(&self->block, &table->of.session[index].queues);
        break;
    case BLY_TABLE_LIMITS:
    case BLY_TABLE_QUEUES:
        bly_block_fix(&self->block, &table->of.limit[index].name);
        break;
    case BLY_TABLE_SCHEDULES:
        bly_block_fix(&self->block, &table->of.schedule[index].id);
        bly_block_fix(&self->block, &table->of.schedule[index].rule.expr);
        bly_block_fix(&self->block, &table->of.schedule[index].rule.zone);
        break;
    default:
        bly_block_fix(&self->block, &table->of.batch[index].name);
        bly_block_fix(&self->block, &table->of.batch[index].digest);
    }
}

static bly_table *finish(const reading *self)
{
    bly_table *table = bly_block_at(&self->block, 0);
    table->count = self->count;
    table->of.session = bly_block_at(&self->block, self->array);
    for (uint32_t i = 0; i < self->count; i++) {
        fix(self, i, table);
    }
    return table;
}

int bly_sqlite_table(bly_store *store, int which, bly_table **ret_table)
{
    reading self = {.which = which};
    int result = bly_read_tx(BLY_SQLITE(store), read_table, &self);
    if (result != 0) {
        bly_free(self.block.data);
        return result;
    }
    *ret_table = finish(&self);
    return 0;
}

int bly_batch_table(bly_tx *tx, uint64_t batch, bly_table **ret_table)
{
    reading self = {.which = BLY_TABLE_BATCHES, .only = batch};
    int result = read_table(tx, &self);
    if (result != 0) {
        bly_free(self.block.data);
        return result;
    }
    *ret_table = finish(&self);
    return 0;
}

static int count_states(bly_tx *tx, bly_store_stats *stats)
{
    bly_cursor cursor = bly_cursor_begin(
        tx->conn,
        "SELECT 1, count(*) FROM job WHERE state = 1 UNION ALL"
        " SELECT 2, count(*) FROM job WHERE state = 2 AND hold = 0 UNION ALL"
        " SELECT 2, count(*) FROM job WHERE hold <> 0 AND state <= 6 AND state = 2 UNION ALL"
        " SELECT state, count(*) FROM job WHERE state IN (3, 4) GROUP BY state UNION ALL"
        " SELECT 5, count(*) FROM job WHERE state = 5 UNION ALL"
        " SELECT 6, count(*) FROM job WHERE state = 6 UNION ALL"
        " SELECT state, count(*) FROM job WHERE state >= 7 GROUP BY state",
        BLY_NO_ARGS);
    while (bly_cursor_next(&cursor)) {
        int64_t state = bly_col(&cursor, 0);
        if (state > 0 && state <= BLY_JOB_SKIPPED) {
            stats->jobs[state] += (uint64_t)bly_col(&cursor, 1);
        }
    }
    return bly_cursor_end(&cursor);
}

static int count_others(bly_tx *tx, bly_store_stats *stats)
{
    bly_cursor cursor = bly_cursor_begin(
        tx->conn,
        "SELECT (SELECT count(*) FROM job WHERE hold <> 0 AND state <= 6 AND hold & 2 <> 0),"
        " (SELECT count(*) FROM job WHERE hold <> 0 AND state <= 6 AND hold & 1 <> 0),"
        " (SELECT count(*) FROM session WHERE ended_at IS NULL),"
        " (SELECT coalesce(min(run_at), 0) FROM job WHERE state = 2 AND hold = 0),"
        " (SELECT coalesce(min(run_at), ?) FROM job WHERE state = 1),"
        " (SELECT number FROM meta WHERE name = 'paused'),"
        " (SELECT page_count * page_size FROM pragma_page_count, pragma_page_size),"
        " (SELECT freelist_count * page_size FROM pragma_freelist_count, pragma_page_size)",
        BLY_ARGS(BLY_INT(BELAY_FOREVER)));
    if (bly_cursor_next(&cursor)) {
        stats->quarantined = (uint64_t)bly_col(&cursor, 0);
        stats->paused = (uint64_t)bly_col(&cursor, 1);
        stats->sessions = (uint64_t)bly_col(&cursor, 2);
        stats->oldest_ready_ns = bly_col(&cursor, 3);
        stats->next_run_at_ns = bly_col(&cursor, 4);
        stats->is_paused = bly_col(&cursor, 5) != 0;
        stats->store_bytes = (uint64_t)bly_col(&cursor, 6);
        stats->free_bytes = (uint64_t)bly_col(&cursor, 7);
    }
    return bly_cursor_end(&cursor);
}

static int read_stats(bly_tx *tx, void *arg)
{
    bly_store_stats *stats = arg;
    *stats = (bly_store_stats){0};
    int result = count_states(tx, stats);
    return result != 0 ? result : count_others(tx, stats);
}

int bly_sqlite_stats(bly_store *base, bly_store_stats *ret_stats)
{
    bly_sqlite *store = BLY_SQLITE(base);
    int result = bly_read_tx(store, read_stats, ret_stats);
    /* stat opens nothing, so it drops no lock. The figure of this process may be another's by now.
     */
    char path[BLY_PATH_MAX + 8];
    struct stat wal;
    (void)snprintf(path, sizeof path, "%s-wal", store->path);
    if (!store->is_memory && stat(path, &wal) == 0) {
        ret_stats->wal_bytes = (uint64_t)wal.st_size;
    }
    bly_mutex_lock(&store->mutex);
    ret_stats->dropped = store->dropped;
    ret_stats->commits = store->commits;
    ret_stats->grouped = store->grouped;
    bly_mutex_unlock(&store->mutex);
    return result;
}
