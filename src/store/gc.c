/*
 * gc.c: what has ended long ago is removed, and the file shrinks; the store is read whole to see
 * whether it is sound.
 *
 * Only rows that have ended are looked at, and of those only such that no live job needs. Each
 * transaction removes a few hundred, so that adds and claims get their turn.
 */
#include "store/sqlite_int.h"

#include <stdio.h>
#include <string.h>

#define STEP    500u   /* jobs of one transaction */
#define PAGES   "2000" /* given back in one transaction */
#define KEEP_NS (INT64_C(14) * 86400 * 1000000000)
#define KEYS_NS (INT64_C(86400) * 1000000000) /* an add is repeated within this */

typedef struct sweep {
    int64_t keep_ns, keep_failed_ns;
    uint32_t max;
    bly_gc_result result;
    uint32_t step; /* jobs that the last transaction removed */
    int64_t pages;
} sweep;

/* What hangs on the jobs that `victim` names. */
static const char *const parts[] = {
    "DELETE FROM work WHERE job IN (SELECT seq FROM temp.victim)",
    "DELETE FROM result WHERE job IN (SELECT seq FROM temp.victim)",
    "DELETE FROM job_lim WHERE job IN (SELECT seq FROM temp.victim)",
    "DELETE FROM dep WHERE job IN (SELECT seq FROM temp.victim)",
    "DELETE FROM job WHERE seq IN (SELECT seq FROM temp.victim)",
    "DELETE FROM temp.victim",
};

static int remove_jobs(bly_tx *tx, void *arg)
{
    sweep *self = arg;
    int result = bly_sql_run(
        tx->conn, "CREATE TEMP TABLE IF NOT EXISTS victim (seq INTEGER PRIMARY KEY)", BLY_NO_ARGS);
    if (result == 0) {
        result = bly_sql_run(
            tx->conn,
            "INSERT INTO temp.victim SELECT seq FROM job WHERE state >= 7 AND ended_at <"
            " CASE state WHEN 8 THEN ?1 ELSE ?2 END AND NOT EXISTS (SELECT 1 FROM dep JOIN job AS"
            " other ON other.seq = dep.job WHERE dep.need = job.seq AND dep.met = 0 AND"
            " other.state = 5) ORDER BY ended_at LIMIT ?3",
            BLY_ARGS(BLY_INT(tx->now_ns - self->keep_failed_ns),
                     BLY_INT(tx->now_ns - self->keep_ns),
                     BLY_INT(self->max < STEP ? self->max : STEP)));
    }
    self->step = result == 0 ? (uint32_t)bly_sql_changes(tx->conn) : 0;
    for (size_t i = 0; result == 0 && self->step > 0 && i < bly_count(parts); i++) {
        result = bly_sql_run(tx->conn, parts[i], BLY_NO_ARGS);
    }
    return result;
}

static int remove_others(bly_tx *tx, void *arg)
{
    sweep *self = arg;
    int result = bly_sql_run(tx->conn, "DELETE FROM add_call WHERE at < ?",
                             BLY_ARGS(BLY_INT(tx->now_ns - KEYS_NS)));
    if (result == 0) {
        result = bly_sql_run(tx->conn,
                             "DELETE FROM batch WHERE ended_at < ? AND NOT EXISTS"
                             " (SELECT 1 FROM job WHERE job.batch = batch.id)",
                             BLY_ARGS(BLY_INT(tx->now_ns - self->keep_ns)));
        self->result.batches = (uint64_t)bly_sql_changes(tx->conn);
    }
    if (result == 0) {
        result = bly_sql_run(tx->conn,
                             "DELETE FROM schedule WHERE ended_at < ? AND NOT EXISTS"
                             " (SELECT 1 FROM job WHERE job.schedule = schedule.id)",
                             BLY_ARGS(BLY_INT(tx->now_ns - self->keep_ns)));
    }
    if (result == 0) {
        result = bly_sql_run(tx->conn,
                             "DELETE FROM session_queue WHERE session IN"
                             " (SELECT id FROM session WHERE ended_at < ?)",
                             BLY_ARGS(BLY_INT(tx->now_ns - self->keep_ns)));
    }
    if (result == 0) {
        result = bly_sql_run(tx->conn, "DELETE FROM session WHERE ended_at < ?",
                             BLY_ARGS(BLY_INT(tx->now_ns - self->keep_ns)));
        self->result.sessions = (uint64_t)bly_sql_changes(tx->conn);
    }
    return result;
}

static int free_pages(bly_tx *tx, int64_t *ret_pages)
{
    return bly_sql_number(tx->conn, "PRAGMA freelist_count", BLY_NO_ARGS, ret_pages);
}

static int shrink(bly_tx *tx, void *arg)
{
    sweep *self = arg;
    int64_t before = 0;
    int64_t after = 0;
    int result = free_pages(tx, &before);
    if (result == 0 && before > 0) {
        result = bly_sql_run(tx->conn, "PRAGMA incremental_vacuum(" PAGES ")", BLY_NO_ARGS);
    }
    if (result == 0) {
        result = free_pages(tx, &after);
    }
    self->result.bytes +=
        result == 0 && before > after ? (uint64_t)(before - after) * BLY_PAGE_BYTES : 0;
    self->pages = after < before ? after : 0;
    return result;
}

int bly_sqlite_gc(bly_store *base, const bly_gc_opts *opts, bly_gc_result *ret_result)
{
    bly_sqlite *store = BLY_SQLITE(base);
    sweep self = {
        .keep_ns = opts->keep_ns != 0 ? opts->keep_ns : KEEP_NS,
        .keep_failed_ns = opts->keep_failed_ns != 0 ? opts->keep_failed_ns : KEEP_NS,
        .max = opts->jobs_max != 0 ? opts->jobs_max : 10000,
    };
    int result = 0;
    do {
        result = bly_commit(store, remove_jobs, &self, false);
        if (result == 0) {
            self.result.jobs += self.step;
            self.max -= self.step;
        }
    } while (result == 0 && self.step > 0 && self.max > 0);
    self.result.has_more = result == 0 && self.step > 0;
    if (result == 0) {
        result = bly_commit(store, remove_others, &self, false);
    }
    do {
        if (result == 0) {
            result = bly_commit(store, shrink, &self, false);
        }
    } while (result == 0 && self.pages > 0);
    if (!store->is_memory) {
        bly_live_sweep(store);
    }
    *ret_result = self.result;
    return result;
}

/* Rules that hold between commits; each query finds the rows that break one. */
static const struct {
    const char *rule;
    const char *sql;
} rules[] = {
    {"a state is one of eleven", "SELECT count(*) FROM job WHERE state NOT BETWEEN 1 AND 11"},
    {"permits are held while a job is claimed or runs, and only then",
     "SELECT count(*) FROM job_lim LEFT JOIN job ON job.seq = job_lim.job"
     " WHERE held <> coalesce(state IN (3, 4), 0)"},
    {"a claimed or running job has a token and an open session",
     "SELECT count(*) FROM job LEFT JOIN session ON session.id = job.session"
     " WHERE state IN (3, 4) AND (token = 0 OR session.id IS NULL OR session.ended_at IS NOT "
     "NULL)"},
    {"no token stands in two rows",
     "SELECT count(*) - count(DISTINCT token) FROM job WHERE token <> 0"},
    {"a waiting job waits for what has not ended",
     "SELECT count(*) FROM job WHERE state = 5 AND (waits = 0 OR waits <>"
     " (SELECT count(*) FROM dep WHERE dep.job = job.seq AND met = 0))"},
    {"each job has its work",
     "SELECT count(*) FROM job WHERE NOT EXISTS (SELECT 1 FROM work WHERE work.job = job.seq)"},
};

static int check(bly_tx *tx, void *arg)
{
    bly_store_error *error = arg;
    char text[200] = "";
    bly_cursor cursor = bly_cursor_begin(tx->conn, "PRAGMA integrity_check(1)", BLY_NO_ARGS);
    if (bly_cursor_next(&cursor)) {
        bly_bytes found = bly_col_bytes(&cursor, 0);
        (void)snprintf(text, sizeof text, "%.*s", (int)found.len, (const char *)found.data);
    }
    int result = bly_cursor_end(&cursor);
    bool is_sound = strcmp(text, "ok") == 0;
    for (size_t i = 0; result == 0 && is_sound && i < bly_count(rules); i++) {
        int64_t broken = 0;
        result = bly_sql_number(tx->conn, rules[i].sql, BLY_NO_ARGS, &broken);
        is_sound = broken == 0;
        (void)snprintf(text, sizeof text, "%s: not so %lld times", rules[i].rule,
                       (long long)broken);
    }
    if (result == 0 && !is_sound) {
        return bly_problem(error, BLY_PROBLEM_DAMAGED, 0,
                           "%s is damaged (%s); put a copy of it aside and restore a backup",
                           tx->store->path, text);
    }
    return result;
}

int bly_sqlite_check(bly_store *base)
{
    bly_sqlite *store = BLY_SQLITE(base);
    bly_store_error error = {.problem = BLY_PROBLEM_NONE};
    int result = bly_read_tx(store, check, &error);
    if (result != 0) {
        bly_mutex_lock(&store->mutex);
        store->error = error;
        bly_mutex_unlock(&store->mutex);
    }
    return result;
}
