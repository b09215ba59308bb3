/*
 * why.c: why a job is not running, and what it is bound to.
 */
#include "store/list_int.h"

static bly_row *row_at(const bly_listing *self, uint32_t index)
{
    return (bly_row *)bly_block_at(&self->block, self->rows) + index;
}

static int fill_wants(bly_tx *tx, bly_listing *self, uint32_t index)
{
    uint64_t seq = row_at(self, index)->seq;
    uint32_t count = 0;
    bly_want wants[BLY_JOB_LIMITS_MAX];
    bly_cursor cursor = bly_cursor_begin(
        tx->conn,
        "SELECT lim.name, job_lim.permits, lim.capacity FROM job_lim JOIN lim ON lim.id ="
        " job_lim.lim WHERE job_lim.job = ? ORDER BY lim.id",
        BLY_ARGS(BLY_INT(seq)));
    while (count < BLY_JOB_LIMITS_MAX && bly_cursor_next(&cursor)) {
        wants[count++] = (bly_want){bly_block_put(&self->block, bly_col_bytes(&cursor, 0)),
                                    (uint32_t)bly_col(&cursor, 1), (uint32_t)bly_col(&cursor, 2)};
    }
    int result = bly_cursor_end(&cursor);
    if (result == 0 && count > 0) {
        bly_bytes all = bly_block_put(&self->block, (bly_bytes){wants, sizeof *wants * count});
        row_at(self, index)->wants = all.data;
        row_at(self, index)->want_count = all.data != NULL ? count : 0;
    }
    return result;
}

static int fill_after(bly_tx *tx, bly_listing *self, uint32_t index)
{
    uint64_t seq = row_at(self, index)->seq;
    uint32_t count = 0;
    bly_after after[BLY_JOB_AFTER_MAX];
    bly_cursor cursor =
        bly_cursor_begin(tx->conn, "SELECT need, is_any FROM dep WHERE job = ? ORDER BY need",
                         BLY_ARGS(BLY_INT(seq)));
    while (count < BLY_JOB_AFTER_MAX && bly_cursor_next(&cursor)) {
        after[count++] = (bly_after){.job = {.seq = (uint64_t)bly_col(&cursor, 0)},
                                     .is_any = bly_col(&cursor, 1) != 0};
    }
    int result = bly_cursor_end(&cursor);
    if (result == 0 && count > 0) {
        bly_bytes all = bly_block_put(&self->block, (bly_bytes){after, sizeof *after * count});
        row_at(self, index)->after = all.data;
        row_at(self, index)->after_count = all.data != NULL ? count : 0;
    }
    return result;
}

static int why_after(bly_tx *tx, uint64_t seq, bly_why *why)
{
    bly_cursor cursor =
        bly_cursor_begin(tx->conn,
                         "SELECT dep.need, job.state FROM dep LEFT JOIN job ON job.seq = dep.need"
                         " WHERE dep.job = ? AND dep.met = 0 ORDER BY dep.need LIMIT 1",
                         BLY_ARGS(BLY_INT(seq)));
    if (bly_cursor_next(&cursor)) {
        why->kind = BLY_WHY_AFTER;
        why->seq = (uint64_t)bly_col(&cursor, 0);
        why->state = (uint32_t)bly_col(&cursor, 1);
    }
    return bly_cursor_end(&cursor);
}

static int find_holders(bly_tx *tx, uint64_t limit, bly_why *why)
{
    uint32_t count = 0;
    bly_cursor cursor = bly_cursor_begin(
        tx->conn, "SELECT job FROM job_lim WHERE lim = ? AND held = 1 ORDER BY job LIMIT ?",
        BLY_ARGS(BLY_INT(limit), BLY_INT(BLY_WHY_HOLDERS)));
    while (count < BLY_WHY_HOLDERS && bly_cursor_next(&cursor)) {
        why->holders[count++] = (uint64_t)bly_col(&cursor, 0);
    }
    return bly_cursor_end(&cursor);
}

/* The first limit that keeps the job: the one it is parked on, or one that is full. */
static int why_limit(bly_tx *tx, bly_block *block, uint64_t seq, bly_why *why)
{
    uint64_t limit = 0;
    bly_cursor cursor = bly_cursor_begin(
        tx->conn,
        "SELECT lim.id, lim.name, lim.capacity, lim.paused, job_lim.permits,"
        " (SELECT coalesce(sum(permits), 0) FROM job_lim AS other WHERE other.lim = lim.id AND"
        " other.held = 1) AS used FROM job JOIN job_lim ON job_lim.job = job.seq JOIN lim ON"
        " lim.id = job_lim.lim WHERE job.seq = ? AND (job.parked_on = lim.id OR"
        " (job.parked_on = 0 AND (lim.paused <> 0 OR used + job_lim.permits > lim.capacity)))"
        " ORDER BY lim.id LIMIT 1",
        BLY_ARGS(BLY_INT(seq)));
    if (bly_cursor_next(&cursor)) {
        limit = (uint64_t)bly_col(&cursor, 0);
        why->name = bly_block_put(block, bly_col_bytes(&cursor, 1));
        why->capacity = bly_col(&cursor, 2);
        why->used = bly_col(&cursor, 5);
        why->kind = bly_col(&cursor, 3) != 0                    ? BLY_WHY_LIMIT_PAUSED
                    : bly_col(&cursor, 4) > bly_col(&cursor, 2) ? BLY_WHY_TOO_BIG
                                                                : BLY_WHY_LIMIT;
    }
    int result = bly_cursor_end(&cursor);
    return result == 0 && limit != 0 ? find_holders(tx, limit, why) : result;
}

/* What its queue says about a ready job. */
static int why_queue(bly_tx *tx, bly_block *block, uint64_t seq, bly_why *why)
{
    bly_cursor cursor = bly_cursor_begin(
        tx->conn,
        "SELECT queue.name, queue.paused, queue.running_max,"
        " (SELECT count(*) FROM job AS other WHERE other.queue = queue.id AND"
        " other.state IN (3, 4)), (SELECT number FROM meta WHERE name = 'paused'),"
        " job.owner <> 0 OR EXISTS (SELECT 1 FROM session_queue JOIN session ON session.id ="
        " session_queue.session WHERE session_queue.queue = queue.id AND session.ended_at IS NULL)"
        " FROM job JOIN queue ON queue.id = job.queue WHERE job.seq = ?",
        BLY_ARGS(BLY_INT(seq)));
    if (bly_cursor_next(&cursor)) {
        int64_t max = bly_col(&cursor, 2);
        why->used = bly_col(&cursor, 3);
        why->capacity = max;
        why->kind = bly_col(&cursor, 4) != 0      ? BLY_WHY_STORE_PAUSED
                    : bly_col(&cursor, 1) != 0    ? BLY_WHY_QUEUE_PAUSED
                    : bly_col(&cursor, 5) == 0    ? BLY_WHY_NO_WORKER
                    : max > 0 && why->used >= max ? BLY_WHY_QUEUE_MAX
                                                  : BLY_WHY_BUSY;
        why->name = bly_block_put(block, bly_col_bytes(&cursor, 0));
    }
    return bly_cursor_end(&cursor);
}

static int why_ready(bly_tx *tx, bly_listing *self, const bly_row *row, bly_why *why)
{
    if (row->is_quarantined || row->is_paused) {
        why->kind = row->is_quarantined ? BLY_WHY_UNREADABLE : BLY_WHY_PAUSED;
        return 0;
    }
    uint64_t seq = row->seq;
    int result = why_queue(tx, &self->block, seq, why);
    if (result == 0 && why->kind == BLY_WHY_BUSY) {
        result = why_limit(tx, &self->block, seq, why);
    }
    return result;
}

int bly_why_fill(bly_tx *tx, bly_listing *self, uint32_t index)
{
    bly_row row = *row_at(self, index);
    bly_why why = {.kind = BLY_WHY_NONE};
    int result = 0;
    switch (row.state) {
    case BLY_JOB_SCHEDULED:
        why.kind = row.is_paused                   ? BLY_WHY_PAUSED
                   : row.tried > 0 || row.lost > 0 ? BLY_WHY_RETRY
                                                   : BLY_WHY_AT;
        break;
    case BLY_JOB_WAITING:
        result = why_after(tx, row.seq, &why);
        break;
    case BLY_JOB_PARKED:
        result = why_limit(tx, &self->block, row.seq, &why);
        break;
    case BLY_JOB_READY:
        result = why_ready(tx, self, &row, &why);
        break;
    default:
        break;
    }
    if (result == 0 && !self->block.failed) {
        row_at(self, index)->why = why;
        result = fill_wants(tx, self, index);
    }
    return result == 0 && !self->block.failed ? fill_after(tx, self, index) : result;
}
