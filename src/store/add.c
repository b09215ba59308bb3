/*
 * add.c: jobs are added, each a version of its own; an id names one pending and one running version
 * at most.
 */
#include "store/sqlite_int.h"

#include <string.h>

#define BACKOFF_NS     INT64_C(1000000000)
#define BACKOFF_MAX_NS INT64_C(3600000000000)

#define STORED_FLAGS 0xffu

/* What an id stands for when a job is added under it. */
typedef struct holders {
    uint64_t pending;  /* 0: none */
    uint64_t running;  /* 0: none */
    uint64_t schedule; /* the live schedule of that name; its runs are pending and running */
} holders;

static int seek(bly_tx *tx, const char *sql, bly_arg arg, uint64_t *ret_seq)
{
    int64_t seq = 0;
    int result = bly_sql_number(tx->conn, sql, &arg, 1, &seq);
    *ret_seq = (uint64_t)seq;
    return result == BELAY_ENOENT ? 0 : result;
}

static int find_holders(bly_tx *tx, bly_bytes id, holders *ret_held)
{
    holders held = {0};
    int result = seek(tx, "SELECT id FROM schedule WHERE name = ? AND ended_at IS NULL",
                      BLY_BLOB(id), &held.schedule);
    if (result == 0 && held.schedule != 0) {
        bly_arg of = BLY_INT(held.schedule);
        result = seek(tx,
                      "SELECT seq FROM job WHERE schedule = ? AND state IN (1, 2, 5, 6)"
                      " ORDER BY seq DESC LIMIT 1",
                      of, &held.pending);
        if (result == 0) {
            result = seek(tx,
                          "SELECT seq FROM job WHERE schedule = ? AND state IN (3, 4)"
                          " ORDER BY seq DESC LIMIT 1",
                          of, &held.running);
        }
        if (result == 0 && held.pending == 0) {
            held.pending = held.running;
        }
    } else if (result == 0) {
        result = seek(tx, "SELECT seq FROM job WHERE id = ? AND state IN (1, 2, 3, 5, 6)",
                      BLY_BLOB(id), &held.pending);
        if (result == 0) {
            result = seek(tx, "SELECT seq FROM job WHERE id = ? AND state = 4", BLY_BLOB(id),
                          &held.running);
        }
    }
    *ret_held = held;
    return result;
}

static int insert_work(bly_tx *tx, uint64_t seq, const bly_work *work)
{
    return bly_sql_run(tx->conn,
                       "INSERT INTO work (job, handler, command, env, cwd, detail, umask)"
                       " VALUES (?, ?, ?, ?, ?, ?, ?)",
                       BLY_ARGS(BLY_INT(seq), BLY_BLOB(work->handler), BLY_BLOB(work->command),
                                BLY_BLOB(work->env), BLY_BLOB(work->cwd), BLY_BLOB(work->detail),
                                BLY_INT(work->umask)));
}

static int insert_wants(bly_tx *tx, uint64_t seq, const bly_new_job *spec, const uint64_t *ids)
{
    int result = 0;
    for (uint32_t i = 0; result == 0 && i < spec->want_count; i++) {
        uint32_t permits = spec->wants[i].permits != 0 ? spec->wants[i].permits : 1;
        result = bly_sql_run(tx->conn, "INSERT INTO job_lim (job, lim, permits) VALUES (?, ?, ?)",
                             BLY_ARGS(BLY_INT(seq), BLY_INT(ids[i]), BLY_INT(permits)));
    }
    return result;
}

/* The row as it is before its dependencies are known; `waiting` for the moment. */
static int insert_row(bly_tx *tx, const bly_new_job *spec, bly_job *job)
{
    int64_t seq = 0;
    bly_bytes id = job->schedule != 0 ? (bly_bytes){0} : spec->id;
    int result = bly_sql_number(
        tx->conn,
        "INSERT INTO job (id, queue, state, hold, flags, priority, run_at, added_at, timeout,"
        " tries, lost_max, backoff, backoff_max, owner, wants, batch, batch_row, schedule, slot)"
        " VALUES (?, ?, 5, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING seq",
        BLY_ARGS(BLY_OR_NULL(id), BLY_INT(job->queue), BLY_INT(job->hold), BLY_INT(job->flags),
                 BLY_INT(job->priority), BLY_INT(job->run_at), BLY_INT(job->added_at),
                 BLY_INT(job->timeout), BLY_INT(job->tries), BLY_INT(job->lost_max),
                 BLY_INT(job->backoff), BLY_INT(job->backoff_max), BLY_INT(job->owner),
                 BLY_INT(job->wants), BLY_MAYBE(job->batch), BLY_INT(spec->batch_row),
                 BLY_MAYBE(job->schedule), BLY_INT(job->slot)),
        &seq);
    job->seq = (uint64_t)seq;
    return result;
}

/* The job's row in memory, but for what the store gives it. */
static int make_job(bly_tx *tx, const bly_new_job *spec, uint64_t owner, bly_job *ret_job)
{
    *ret_job = (bly_job){
        .has_id = spec->id.len > 0 && spec->schedule.kind == BLY_SCHEDULE_NONE,
        .state = BLY_JOB_WAITING,
        .hold = (spec->flags & BLY_NEW_PAUSED) != 0 ? BLY_HOLD_PAUSED : 0,
        .flags = spec->flags & STORED_FLAGS,
        .priority = spec->priority,
        .run_at = spec->run_at_ns != 0 ? spec->run_at_ns : tx->now_ns,
        .added_at = tx->now_ns,
        .timeout = spec->timeout_ns,
        .tries = spec->tries != 0 ? spec->tries : 1,
        .lost_max = spec->lost_max != 0 ? spec->lost_max : BLY_LOST_MAX,
        .backoff = spec->backoff_ns != 0 ? spec->backoff_ns : BACKOFF_NS,
        .backoff_max = spec->backoff_max_ns != 0 ? spec->backoff_max_ns : BACKOFF_MAX_NS,
        .owner = owner,
        .wants = spec->want_count,
        .batch = spec->batch,
    };
    int64_t found = 0;
    int result = bly_queue_id(tx, spec->queue, &ret_job->queue);
    if (result == 0 && spec->batch != 0) {
        result = bly_sql_number(tx->conn, "SELECT id FROM batch WHERE id = ?",
                                BLY_ARGS(BLY_INT(spec->batch)), &found);
    }
    return result;
}

static int supersede(bly_tx *tx, uint64_t seq)
{
    bly_job job;
    int result = bly_job_load(tx, seq, &job);
    return result != 0 ? result : bly_job_move(tx, &job, BLY_JOB_SUPERSEDED);
}

static int note_replacement(bly_tx *tx, uint64_t old, uint64_t seq)
{
    int result = bly_sql_run(tx->conn, "UPDATE job SET replaced_by = ? WHERE seq = ?",
                             BLY_ARGS(BLY_INT(seq), BLY_INT(old)));
    return result != 0 ? result : bly_deps_follow(tx, old, seq);
}

/* Dependencies, then the state that follows from them. */
static int settle(bly_tx *tx, const bly_new_job *spec, bly_job *job, const holders *held,
                  int *outcome)
{
    int result = bly_deps_add(tx, job, spec->after, spec->after_count, held->pending);
    if (result == 0 && held->running != 0) {
        result = bly_deps_wait_for(tx, job->seq, held->running, true);
    }
    if (result == 0 && (spec->after_count > 0 || held->running != 0)) {
        result = bly_deps_count(tx, job->seq, &job->waits);
    }
    if (result != 0) {
        return result;
    }
    if (job->need != 0) {
        *outcome = BLY_ADDED_SKIPPED;
        return bly_job_end(tx, job, BLY_JOB_SKIPPED, BLY_END_NEED, (int64_t)job->need);
    }
    uint32_t to = bly_job_pending_state(tx, job);
    return to == BLY_JOB_WAITING ? bly_job_save(tx, job) : bly_job_move(tx, job, to);
}

static int insert(bly_tx *tx, const bly_new_job *spec, bly_job *job, const holders *held,
                  int *outcome)
{
    uint64_t ids[BLY_JOB_LIMITS_MAX];
    int result = bly_limits_want(tx, spec->wants, spec->want_count, ids);
    if (result == 0 && spec->schedule.kind != BLY_SCHEDULE_NONE) {
        result = bly_schedule_first(tx, spec, &job->slot);
        if (result == 0) {
            result = bly_schedule_add(tx, spec, &job->schedule);
        }
        job->run_at = bly_schedule_start_of(&spec->schedule, job->schedule, job->slot);
    }
    if (result == 0) {
        result = insert_row(tx, spec, job);
    }
    if (result == 0) {
        result = insert_work(tx, job->seq, &spec->work);
    }
    if (result == 0) {
        result = insert_wants(tx, job->seq, spec, ids);
    }
    return result == 0 ? settle(tx, spec, job, held, outcome) : result;
}

/* A job of that id lives: it is the same, or in the way, or replaced. True in *ret_stop: no insert.
 */
static int meet(bly_tx *tx, const bly_new_job *spec, const holders *held, bly_added *ret_added,
                bool *ret_stop)
{
    bly_job job;
    bool same = false;
    int result = 0;
    if (held->pending != 0) {
        result = bly_job_load(tx, held->pending, &job);
        if (result == 0) {
            result = bly_same(tx, &job, spec, &same);
        }
    }
    if (result == 0 && same) {
        *ret_added = (bly_added){.seq = held->pending, .outcome = BLY_ADDED_SAME};
        *ret_stop = true;
        return 0;
    }
    if (result != 0 || (spec->flags & BLY_NEW_REPLACE) == 0) {
        return result != 0 ? result : BELAY_EEXIST;
    }
    if (held->schedule != 0) {
        result = bly_schedule_end(tx, held->schedule);
    }
    if (result == 0 && held->pending != 0 && held->pending != held->running) {
        result = supersede(tx, held->pending);
    }
    return result;
}

int bly_add_one(bly_tx *tx, const bly_new_job *spec, uint64_t owner, bly_added *ret_added)
{
    bly_job job;
    holders held = {0};
    bool stop = false;
    int outcome = BLY_ADDED;
    int result = make_job(tx, spec, owner, &job);
    if (result == 0 && spec->id.len > 0) {
        result = find_holders(tx, spec->id, &held);
    }
    if (result == 0 && (held.pending != 0 || held.running != 0)) {
        result = meet(tx, spec, &held, ret_added, &stop);
        if (held.pending == held.running) {
            held.pending = 0;
        }
        outcome = held.running != 0 ? BLY_ADDED_BEHIND : BLY_ADDED_REPLACED;
    } else if (result == 0 && held.schedule != 0) {
        /* Between its runs a schedule without a pending one has come to its end. */
        result = bly_schedule_end(tx, held.schedule);
    }
    if (result != 0 || stop) {
        return result;
    }
    uint64_t old = held.pending != 0 ? held.pending : held.running;
    result = insert(tx, spec, &job, &held, &outcome);
    if (result == 0 && held.pending != 0) {
        result = note_replacement(tx, held.pending, job.seq);
    }
    *ret_added = (bly_added){.seq = job.seq, .old = old, .outcome = outcome};
    return result;
}

typedef struct addition {
    const bly_new_job *jobs;
    const bly_add_key *key;
    bly_added *added;
    uint32_t count;
    uint32_t bad;
} addition;

static bly_bytes key_of(const addition *self)
{
    return (bly_bytes){self->key->bytes, sizeof self->key->bytes};
}

/* What a call of that key came to before. BELAY_ENOENT: there was none. */
static int recall(bly_tx *tx, addition *self)
{
    bly_cursor cursor = bly_cursor_begin(tx->conn, "SELECT added FROM add_call WHERE key = ?",
                                         BLY_ARGS(BLY_BLOB(key_of(self))));
    bool found = bly_cursor_next(&cursor);
    bool fits = false;
    if (found) {
        bly_bytes added = bly_col_bytes(&cursor, 0);
        fits = added.len == self->count * sizeof *self->added;
        if (fits) {
            memcpy(self->added, added.data, added.len);
        }
    }
    int result = bly_cursor_end(&cursor);
    if (result != 0 || !found) {
        return result != 0 ? result : BELAY_ENOENT;
    }
    return fits ? 0 : BELAY_EINVAL;
}

static int remember(bly_tx *tx, const addition *self)
{
    bly_bytes added = {self->added, self->count * sizeof *self->added};
    return bly_sql_run(tx->conn, "INSERT INTO add_call (key, at, added) VALUES (?, ?, ?)",
                       BLY_ARGS(BLY_BLOB(key_of(self)), BLY_INT(tx->now_ns), BLY_BLOB(added)));
}

static int add(bly_tx *tx, void *arg)
{
    addition *self = arg;
    int result = self->key != NULL ? recall(tx, self) : BELAY_ENOENT;
    if (result != BELAY_ENOENT) {
        return result;
    }
    memset(self->added, 0, self->count * sizeof *self->added);
    for (uint32_t i = 0; i < self->count; i++) {
        result = bly_add_one(tx, &self->jobs[i], 0, &self->added[i]);
        if (result != 0) {
            self->bad = i;
            return result;
        }
    }
    tx->rings = true;
    return self->key != NULL ? remember(tx, self) : 0;
}

int bly_sqlite_add(bly_store *store, const bly_new_job *jobs, uint32_t count,
                   const bly_add_key *key, bly_added *ret_added, uint32_t *ret_bad)
{
    addition self = {.jobs = jobs, .key = key, .added = ret_added, .count = count};
    int result = bly_commit(BLY_SQLITE(store), add, &self, true);
    *ret_bad = self.bad;
    return result;
}
