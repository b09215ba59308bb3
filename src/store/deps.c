/*
 * deps.c: jobs that run after other jobs.
 *
 * A row of dep says that `job` needs `need`; `met` once that has ended as was asked. job.waits
 * counts the rows that are not met. When a job has ended, its dependents lose a wait or are
 * skipped; a skipped one has ended too, so it is put on a list of the transaction, worked off here
 * by the outermost call: a chain of any length needs no stack.
 */
#include "store/sqlite_int.h"

#define ENDED_FIRST 64u

static int push_ended(bly_tx *tx, uint64_t seq)
{
    if (tx->ended_count == tx->ended_room) {
        size_t room = tx->ended_room == 0 ? ENDED_FIRST : tx->ended_room * 2;
        uint64_t *grown = bly_realloc(tx->ended, room * sizeof *grown);
        if (grown == NULL) {
            return BELAY_ENOMEM;
        }
        tx->ended = grown;
        tx->ended_room = room;
    }
    tx->ended[tx->ended_count++] = seq;
    return 0;
}

/* What the end of `need` means for one dependent. */
static int tell(bly_tx *tx, uint64_t seq, uint64_t need, bool is_any, bool went_well)
{
    bly_job job;
    int result = bly_job_load(tx, seq, &job);
    if (result != 0) {
        return result == BELAY_ENOENT ? 0 : result;
    }
    if (is_any || went_well) {
        result = bly_sql_run(tx->conn, "UPDATE dep SET met = 1 WHERE job = ? AND need = ?",
                             BLY_ARGS(BLY_INT(seq), BLY_INT(need)));
    }
    if (result != 0 || job.state != BLY_JOB_WAITING) {
        return result;
    }
    if (!is_any && !went_well) {
        job.need = need;
        return bly_job_end(tx, &job, BLY_JOB_SKIPPED, BLY_END_NEED, (int64_t)need);
    }
    bly_assert(job.waits > 0);
    job.waits--;
    uint32_t to = bly_job_pending_state(tx, &job);
    return to == BLY_JOB_WAITING ? bly_job_save(tx, &job) : bly_job_move(tx, &job, to);
}

/* The next dependent of `need` after `last`; BELAY_ENOENT: none. */
static int next_dependent(bly_tx *tx, uint64_t need, uint64_t last, uint64_t *ret_seq,
                          bool *ret_is_any)
{
    bly_cursor cursor = bly_cursor_begin(
        tx->conn,
        "SELECT job, is_any FROM dep WHERE need = ? AND met = 0 AND job > ? ORDER BY job LIMIT 1",
        BLY_ARGS(BLY_INT(need), BLY_INT(last)));
    bool found = bly_cursor_next(&cursor);
    if (found) {
        *ret_seq = (uint64_t)bly_col(&cursor, 0);
        *ret_is_any = bly_col(&cursor, 1) != 0;
    }
    int result = bly_cursor_end(&cursor);
    return result != 0 || found ? result : BELAY_ENOENT;
}

static int tell_all(bly_tx *tx, uint64_t need)
{
    bly_job ended;
    bool is_any = false;
    uint64_t seq = 0;
    int result = next_dependent(tx, need, seq, &seq, &is_any);
    int loaded = result == 0 ? bly_job_load(tx, need, &ended) : 0;
    if (loaded != 0) {
        return loaded;
    }
    while (result == 0) {
        result = tell(tx, seq, need, is_any, ended.state == BLY_JOB_DONE);
        if (result == 0) {
            result = next_dependent(tx, need, seq, &seq, &is_any);
        }
    }
    return result == BELAY_ENOENT ? 0 : result;
}

int bly_deps_ended(bly_tx *tx, const bly_job *job)
{
    /* Whoever waited for a superseded job waits for the version that took its place. */
    int result = job->state == BLY_JOB_SUPERSEDED ? 0 : push_ended(tx, job->seq);
    if (result != 0 || tx->is_resolving) {
        return result;
    }
    tx->is_resolving = true;
    while (result == 0 && tx->ended_count > 0) {
        result = tell_all(tx, tx->ended[--tx->ended_count]);
    }
    tx->is_resolving = false;
    return result;
}

int bly_deps_wait_for(bly_tx *tx, uint64_t seq, uint64_t need, bool is_any)
{
    return bly_sql_run(
        tx->conn,
        "INSERT INTO dep (job, need, is_any) VALUES (?, ?, ?)"
        " ON CONFLICT (job, need) DO UPDATE SET is_any ="
        " CASE WHEN excluded.is_any < dep.is_any THEN excluded.is_any ELSE dep.is_any END",
        BLY_ARGS(BLY_INT(seq), BLY_INT(need), BLY_INT(is_any)));
}

int bly_deps_count(bly_tx *tx, uint64_t seq, uint32_t *ret_waits)
{
    int64_t waits = 0;
    int result = bly_sql_number(tx->conn, "SELECT count(*) FROM dep WHERE job = ? AND met = 0",
                                BLY_ARGS(BLY_INT(seq)), &waits);
    *ret_waits = (uint32_t)waits;
    return result;
}

/* Whether `from` is to run after `old`, directly or through others. */
static int runs_after(bly_tx *tx, uint64_t from, uint64_t old, bool *ret_does)
{
    int64_t count = 0;
    int result = bly_sql_number(tx->conn,
                                "WITH RECURSIVE before(seq) AS (VALUES (?1) UNION"
                                " SELECT need FROM dep JOIN before ON dep.job = before.seq"
                                " WHERE met = 0)"
                                " SELECT count(*) FROM before WHERE seq = ?2",
                                BLY_ARGS(BLY_INT(from), BLY_INT(old)), &count);
    *ret_does = count > 0;
    return result;
}

/* One thing to run after. Sets job->need when that ended, and not as asked. */
static int add_one(bly_tx *tx, bly_job *job, const bly_after *after, uint64_t old)
{
    bly_job need;
    bool is_cycle = false;
    int result = bly_job_resolve(tx, &after->job, &need);
    while (result == 0 && need.state == BLY_JOB_SUPERSEDED && need.replaced_by != 0) {
        result = bly_job_load(tx, need.replaced_by, &need);
    }
    if (result == 0 && need.seq == job->seq) {
        return BELAY_EDEADLK;
    }
    if (result == 0 && old != 0) {
        result = runs_after(tx, need.seq, old, &is_cycle);
    }
    if (result != 0 || is_cycle) {
        return result != 0 ? result : BELAY_EDEADLK;
    }
    bool is_over = need.state >= BLY_JOB_DONE;
    if (is_over && !after->is_any && need.state != BLY_JOB_DONE) {
        job->need = need.seq;
    }
    result = bly_deps_wait_for(tx, job->seq, need.seq, after->is_any);
    if (result == 0 && is_over && job->need != need.seq) {
        result = bly_sql_run(tx->conn, "UPDATE dep SET met = 1 WHERE job = ? AND need = ?",
                             BLY_ARGS(BLY_INT(job->seq), BLY_INT(need.seq)));
    }
    return result;
}

int bly_deps_add(bly_tx *tx, bly_job *job, const bly_after *after, uint32_t count, uint64_t old)
{
    int result = 0;
    for (uint32_t i = 0; result == 0 && i < count; i++) {
        result = add_one(tx, job, &after[i], old);
    }
    return result;
}

int bly_deps_follow(bly_tx *tx, uint64_t old, uint64_t seq)
{
    int result = bly_sql_run(tx->conn, "UPDATE OR REPLACE dep SET need = ?2 WHERE need = ?1",
                             BLY_ARGS(BLY_INT(old), BLY_INT(seq)));
    if (result != 0 || bly_sql_changes(tx->conn) == 0) {
        return result;
    }
    /* A job that waited for both waits for one now. */
    return bly_sql_run(tx->conn,
                       "UPDATE job SET waits = (SELECT count(*) FROM dep WHERE dep.job = job.seq"
                       " AND met = 0) WHERE state = 5 AND seq IN"
                       " (SELECT job FROM dep WHERE need = ?)",
                       BLY_ARGS(BLY_INT(seq)));
}
