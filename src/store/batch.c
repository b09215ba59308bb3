#include "store/sqlite_int.h"

#include <string.h>

typedef struct batching {
    bly_bytes name, digest;
    uint32_t flags;
    uint64_t batch, total;
    int outcome; /* what is said about the batch in the table */
    bly_table *table;
} batching;

/* The open batch of the name. BELAY_ENOENT: none. */
static int find_open(bly_tx *tx, const batching *self, uint64_t *ret_batch, bool *ret_same)
{
    bly_cursor cursor = bly_cursor_begin(
        tx->conn, "SELECT id, digest = ? FROM batch WHERE name = ? AND ended_at IS NULL",
        BLY_ARGS(BLY_BLOB(self->digest), BLY_BLOB(self->name)));
    bool found = bly_cursor_next(&cursor);
    if (found) {
        *ret_batch = (uint64_t)bly_col(&cursor, 0);
        *ret_same = bly_col(&cursor, 1) != 0;
    }
    int result = bly_cursor_end(&cursor);
    return result != 0 || found ? result : BELAY_ENOENT;
}

static int close_batch(bly_tx *tx, uint64_t batch)
{
    return bly_sql_run(tx->conn, "UPDATE batch SET ended_at = ? WHERE id = ?",
                       BLY_ARGS(BLY_INT(tx->now_ns), BLY_INT(batch)));
}

/* Jobs of the batch that have not ended well, and those that run. */
static int count(bly_tx *tx, uint64_t batch, int64_t *ret_open, int64_t *ret_running)
{
    int result = bly_sql_number(tx->conn,
                                "SELECT count(*) FROM job WHERE batch = ? AND state NOT IN (7, 10)",
                                BLY_ARGS(BLY_INT(batch)), ret_open);
    return result != 0
               ? result
               : bly_sql_number(tx->conn, "SELECT count(*) FROM job WHERE batch = ? AND state = 4",
                                BLY_ARGS(BLY_INT(batch)), ret_running);
}

static int cancel_pending(bly_tx *tx, uint64_t batch)
{
    for (;;) {
        int64_t seq = 0;
        bly_job job;
        int result = bly_sql_number(tx->conn,
                                    "SELECT seq FROM job WHERE batch = ?"
                                    " AND state IN (1, 2, 3, 5, 6) LIMIT 1",
                                    BLY_ARGS(BLY_INT(batch)), &seq);
        if (result == 0) {
            result = bly_job_load(tx, (uint64_t)seq, &job);
        }
        if (result == 0) {
            result = bly_cancel_job(tx, &job);
        }
        if (result != 0) {
            return result == BELAY_ENOENT ? 0 : result;
        }
    }
}

static int make(bly_tx *tx, batching *self)
{
    int64_t id = 0;
    int result = bly_sql_number(
        tx->conn,
        "INSERT INTO batch (name, digest, made_at) VALUES (?, ?, ?)"
        " RETURNING id",
        BLY_ARGS(BLY_BLOB(self->name), BLY_BLOB(self->digest), BLY_INT(tx->now_ns)), &id);
    self->batch = (uint64_t)id;
    return result;
}

/* An open batch of the name is there. */
static int meet(bly_tx *tx, batching *self, bool same)
{
    int64_t open = 0;
    int64_t running = 0;
    int result = count(tx, self->batch, &open, &running);
    if (result != 0) {
        return result;
    }
    if ((self->flags & BLY_BATCH_RESUME) != 0) {
        self->outcome = same ? 0 : BELAY_ESTALE;
        return 0;
    }
    if ((self->flags & BLY_BATCH_FRESH) == 0 && open > 0) {
        self->outcome = BELAY_EEXIST;
        return 0;
    }
    if (running > 0) {
        self->outcome = BELAY_EBUSY;
        return 0;
    }
    result = cancel_pending(tx, self->batch);
    if (result == 0) {
        result = close_batch(tx, self->batch);
    }
    return result == 0 ? make(tx, self) : result;
}

static int begin(bly_tx *tx, void *arg)
{
    batching *self = arg;
    bool same = false;
    bly_table_free(self->table); /* of an attempt that was undone */
    self->table = NULL;
    self->outcome = 0;
    int result = find_open(tx, self, &self->batch, &same);
    if (result == BELAY_ENOENT) {
        result = make(tx, self);
    } else if (result == 0) {
        result = meet(tx, self, same);
    }
    return result == 0 ? bly_batch_table(tx, self->batch, &self->table) : result;
}

int bly_sqlite_batch_begin(bly_store *store, bly_bytes name, bly_bytes digest, uint32_t flags,
                           bly_table **ret_row)
{
    batching self = {.name = name, .digest = digest, .flags = flags};
    int result = bly_commit(BLY_SQLITE(store), begin, &self, true);
    if (result != 0) {
        bly_table_free(self.table);
        return result;
    }
    *ret_row = self.table;
    return self.outcome;
}

static int end(bly_tx *tx, void *arg)
{
    const batching *self = arg;
    tx->rings = true;
    int result =
        bly_sql_run(tx->conn,
                    "UPDATE batch SET ended_at = coalesce(ended_at, ?), total = ?"
                    " WHERE id = ?",
                    BLY_ARGS(BLY_INT(tx->now_ns), BLY_INT(self->total), BLY_INT(self->batch)));
    return result == 0 && bly_sql_changes(tx->conn) == 0 ? BELAY_ENOENT : result;
}

int bly_sqlite_batch_end(bly_store *store, uint64_t batch, uint64_t total)
{
    batching self = {.batch = batch, .total = total};
    return bly_commit(BLY_SQLITE(store), end, &self, true);
}
