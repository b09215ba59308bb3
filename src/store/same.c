#include "store/sqlite_int.h"

#include <string.h>

static bool equal(bly_bytes one, bly_bytes other)
{
    return one.len == other.len && (one.len == 0 || memcmp(one.data, other.data, one.len) == 0);
}

static int same_work(bly_tx *tx, const bly_job *job, const bly_work *work, bool *ret_same)
{
    bly_cursor cursor = bly_cursor_begin(
        tx->conn, "SELECT handler, command, env, cwd, detail, umask FROM work WHERE job = ?",
        BLY_ARGS(BLY_INT(job->seq)));
    *ret_same = bly_cursor_next(&cursor) && equal(bly_col_bytes(&cursor, 0), work->handler) &&
                equal(bly_col_bytes(&cursor, 1), work->command) &&
                equal(bly_col_bytes(&cursor, 2), work->env) &&
                equal(bly_col_bytes(&cursor, 3), work->cwd) &&
                equal(bly_col_bytes(&cursor, 4), work->detail) &&
                bly_col(&cursor, 5) == work->umask;
    return bly_cursor_end(&cursor);
}

static int same_wants(bly_tx *tx, const bly_job *job, const bly_new_job *spec, bool *ret_same)
{
    *ret_same = job->wants == spec->want_count;
    int result = 0;
    for (uint32_t i = 0; result == 0 && *ret_same && i < spec->want_count; i++) {
        int64_t permits = 0;
        result =
            bly_sql_number(tx->conn,
                           "SELECT permits FROM job_lim JOIN lim ON lim.id = job_lim.lim"
                           " WHERE job_lim.job = ? AND lim.name = ?",
                           BLY_ARGS(BLY_INT(job->seq), BLY_BLOB(spec->wants[i].name)), &permits);
        *ret_same =
            result == 0 && permits == (spec->wants[i].permits != 0 ? spec->wants[i].permits : 1);
        result = result == BELAY_ENOENT ? 0 : result;
    }
    return result;
}

static int same_after(bly_tx *tx, const bly_job *job, const bly_new_job *spec, bool *ret_same)
{
    int64_t count = 0;
    int result = bly_sql_number(tx->conn, "SELECT count(*) FROM dep WHERE job = ?",
                                BLY_ARGS(BLY_INT(job->seq)), &count);
    *ret_same = job->schedule != 0 || count == spec->after_count;
    for (uint32_t i = 0; result == 0 && *ret_same && i < spec->after_count; i++) {
        bly_job need;
        int64_t is_any = 0;
        result = bly_job_resolve(tx, &spec->after[i].job, &need);
        if (result == 0) {
            result = bly_sql_number(tx->conn, "SELECT is_any FROM dep WHERE job = ? AND need = ?",
                                    BLY_ARGS(BLY_INT(job->seq), BLY_INT(need.seq)), &is_any);
        }
        *ret_same = result == 0 && (is_any != 0) == spec->after[i].is_any;
        result = result == BELAY_ENOENT ? 0 : result;
    }
    return result;
}

static int same_schedule(bly_tx *tx, const bly_job *job, const bly_new_job *spec, bool *ret_same)
{
    const bly_schedule *rule = &spec->schedule;
    *ret_same = (job->schedule != 0) == (rule->kind != BLY_SCHEDULE_NONE);
    if (!*ret_same || job->schedule == 0) {
        return 0;
    }
    bly_cursor cursor = bly_cursor_begin(
        tx->conn, "SELECT kind, period, missed, jitter, expr, zone FROM schedule WHERE id = ?",
        BLY_ARGS(BLY_INT(job->schedule)));
    *ret_same = bly_cursor_next(&cursor) && bly_col(&cursor, 0) == rule->kind &&
                bly_col(&cursor, 1) == rule->period_ns && bly_col(&cursor, 2) == rule->missed &&
                bly_col(&cursor, 3) == rule->jitter_ns &&
                equal(bly_col_bytes(&cursor, 4), rule->expr) &&
                equal(bly_col_bytes(&cursor, 5), rule->zone);
    return bly_cursor_end(&cursor);
}

/* What stands in the row itself. The time counts when it was given as a time. */
static int same_row(bly_tx *tx, const bly_job *job, const bly_new_job *spec, bool *ret_same)
{
    uint64_t queue = 0;
    int result = bly_queue_id(tx, spec->queue, &queue);
    *ret_same = job->queue == queue && job->priority == spec->priority &&
                job->flags == (spec->flags & 0xffu) && job->timeout == spec->timeout_ns &&
                job->tries == (spec->tries != 0 ? spec->tries : 1) &&
                job->lost_max == (spec->lost_max != 0 ? spec->lost_max : BLY_LOST_MAX) &&
                job->batch == spec->batch &&
                (spec->backoff_ns == 0 || job->backoff == spec->backoff_ns) &&
                (spec->backoff_max_ns == 0 || job->backoff_max == spec->backoff_max_ns);
    if ((job->flags & BLY_NEW_AT) != 0 && job->run_at != spec->run_at_ns && job->schedule == 0) {
        *ret_same = false;
    }
    return result;
}

int bly_same(bly_tx *tx, const bly_job *job, const bly_new_job *spec, bool *ret_same)
{
    int result = same_row(tx, job, spec, ret_same);
    if (result == 0 && *ret_same) {
        result = same_work(tx, job, &spec->work, ret_same);
    }
    if (result == 0 && *ret_same) {
        result = same_wants(tx, job, spec, ret_same);
    }
    if (result == 0 && *ret_same) {
        result = same_after(tx, job, spec, ret_same);
    }
    return result == 0 && *ret_same ? same_schedule(tx, job, spec, ret_same) : result;
}
