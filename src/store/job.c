/*
 * job.c: the row of a job, and its moves from state to state.
 *
 * Every move goes through bly_job_move, which checks it against the table below, writes the row,
 * and does what belongs to it whoever made it: permits are held exactly while a job is claimed or
 * running; what leaves room for others makes parked jobs ready; an end tells the dependents.
 */
#include "store/sqlite_int.h"

static const char *const names[] = {
    "?",      "scheduled", "ready",  "claimed",  "running",    "waiting",
    "parked", "done",      "failed", "canceled", "superseded", "skipped",
};

static const uint32_t moves[] = {
    [BLY_JOB_SCHEDULED] = BLY_TO(BLY_JOB_READY) | BLY_TO(BLY_JOB_CANCELED) |
                          BLY_TO(BLY_JOB_SUPERSEDED) | BLY_TO(BLY_JOB_SKIPPED),
    [BLY_JOB_READY] = BLY_TO(BLY_JOB_CLAIMED) | BLY_TO(BLY_JOB_PARKED) | BLY_TO(BLY_JOB_SCHEDULED) |
                      BLY_TO(BLY_JOB_CANCELED) | BLY_TO(BLY_JOB_SUPERSEDED) |
                      BLY_TO(BLY_JOB_SKIPPED),
    [BLY_JOB_CLAIMED] = BLY_TO(BLY_JOB_RUNNING) | BLY_TO(BLY_JOB_READY) | BLY_TO(BLY_JOB_CANCELED) |
                        BLY_TO(BLY_JOB_SUPERSEDED),
    [BLY_JOB_RUNNING] = BLY_TO(BLY_JOB_DONE) | BLY_TO(BLY_JOB_FAILED) | BLY_TO(BLY_JOB_CANCELED) |
                        BLY_TO(BLY_JOB_SCHEDULED) | BLY_TO(BLY_JOB_READY),
    [BLY_JOB_WAITING] = BLY_TO(BLY_JOB_SCHEDULED) | BLY_TO(BLY_JOB_READY) |
                        BLY_TO(BLY_JOB_CANCELED) | BLY_TO(BLY_JOB_SUPERSEDED) |
                        BLY_TO(BLY_JOB_SKIPPED),
    [BLY_JOB_PARKED] =
        BLY_TO(BLY_JOB_READY) | BLY_TO(BLY_JOB_CANCELED) | BLY_TO(BLY_JOB_SUPERSEDED),
    [BLY_JOB_FAILED] = BLY_TO(BLY_JOB_READY),
    [BLY_JOB_CANCELED] = BLY_TO(BLY_JOB_READY),
    [BLY_JOB_SKIPPED] = BLY_TO(BLY_JOB_READY),
};

/* The states of docs/design/jobs.md. SCHEDULED to READY is also made by a statement for many. */
static const bly_state_table job_states = {"job", names, moves, BLY_JOB_SKIPPED + 1};

static_assert(bly_count(names) == BLY_JOB_SKIPPED + 1, "a name for each state");
static_assert(BLY_JOB_SCHEDULED == 1 && BLY_JOB_RUNNING == 4 && BLY_JOB_WAITING == 5 &&
                  BLY_JOB_PARKED == 6 && BLY_JOB_SKIPPED == 11,
              "the numbers stand in stores");

const char *bly_job_state_name(uint32_t state)
{
    return bly_state_name(&job_states, state);
}

void bly_job_read(const bly_cursor *cursor, bly_job *ret_job)
{
    int at = 0;
    *ret_job = (bly_job){.seq = (uint64_t)bly_col(cursor, at)};
    ret_job->has_id = bly_col(cursor, ++at) != 0;
    ret_job->queue = (uint64_t)bly_col(cursor, ++at);
    ret_job->state = (uint32_t)bly_col(cursor, ++at);
    ret_job->hold = (uint32_t)bly_col(cursor, ++at);
    ret_job->flags = (uint32_t)bly_col(cursor, ++at);
    ret_job->priority = (int32_t)bly_col(cursor, ++at);
    ret_job->run_at = bly_col(cursor, ++at);
    ret_job->added_at = bly_col(cursor, ++at);
    ret_job->start_at = bly_col(cursor, ++at);
    ret_job->ended_at = bly_col(cursor, ++at);
    ret_job->timeout = bly_col(cursor, ++at);
    ret_job->tries = (uint32_t)bly_col(cursor, ++at);
    ret_job->tried = (uint32_t)bly_col(cursor, ++at);
    ret_job->lost = (uint32_t)bly_col(cursor, ++at);
    ret_job->lost_max = (uint32_t)bly_col(cursor, ++at);
    ret_job->runs = (uint32_t)bly_col(cursor, ++at);
    ret_job->backoff = bly_col(cursor, ++at);
    ret_job->backoff_max = bly_col(cursor, ++at);
    ret_job->token = (uint64_t)bly_col(cursor, ++at);
    ret_job->session = (uint64_t)bly_col(cursor, ++at);
    ret_job->owner = (uint64_t)bly_col(cursor, ++at);
    ret_job->parked_on = (uint64_t)bly_col(cursor, ++at);
    ret_job->wants = (uint32_t)bly_col(cursor, ++at);
    ret_job->waits = (uint32_t)bly_col(cursor, ++at);
    ret_job->batch = (uint64_t)bly_col(cursor, ++at);
    ret_job->schedule = (uint64_t)bly_col(cursor, ++at);
    ret_job->slot = bly_col(cursor, ++at);
    ret_job->missed = bly_col(cursor, ++at);
    ret_job->cancel = (uint32_t)bly_col(cursor, ++at);
    ret_job->how = (int)bly_col(cursor, ++at);
    ret_job->code = bly_col(cursor, ++at);
    ret_job->user_time = bly_col(cursor, ++at);
    ret_job->system_time = bly_col(cursor, ++at);
    ret_job->rss_max = bly_col(cursor, ++at);
    ret_job->replaced_by = (uint64_t)bly_col(cursor, ++at);
    ret_job->need = (uint64_t)bly_col(cursor, ++at);
    bly_assert_debug(at + 1 == BLY_JOB_COLUMN_COUNT);
}

int bly_job_load(bly_tx *tx, uint64_t seq, bly_job *ret_job)
{
    bly_cursor cursor = bly_cursor_begin(
        tx->conn, "SELECT " BLY_JOB_COLUMNS " FROM job WHERE seq = ?", BLY_ARGS(BLY_INT(seq)));
    bool found = bly_cursor_next(&cursor);
    if (found) {
        bly_job_read(&cursor, ret_job);
    }
    int result = bly_cursor_end(&cursor);
    return result != 0 || found ? result : BELAY_ENOENT;
}

/* The newest run of the schedule of that name: one that is not over before one that is. */
static int resolve_schedule(bly_tx *tx, bly_bytes id, int64_t *ret_seq)
{
    return bly_sql_number(tx->conn,
                          "SELECT job.seq FROM job JOIN schedule ON job.schedule = schedule.id"
                          " WHERE schedule.name = ? ORDER BY schedule.id DESC,"
                          " job.state > 6, job.state NOT IN (3, 4), job.seq DESC LIMIT 1",
                          BLY_ARGS(BLY_BLOB(id)), ret_seq);
}

int bly_job_resolve(bly_tx *tx, const bly_job_ref *ref, bly_job *ret_job)
{
    int64_t seq = (int64_t)ref->seq;
    int result = 0;
    if (seq == 0) {
        result = bly_sql_number(tx->conn,
                                "SELECT seq FROM job WHERE id = ?"
                                " ORDER BY state > 6, state = 4, seq DESC LIMIT 1",
                                BLY_ARGS(BLY_BLOB(ref->id)), &seq);
        if (result == BELAY_ENOENT) {
            result = resolve_schedule(tx, ref->id, &seq);
        }
    }
    return result != 0 ? result : bly_job_load(tx, (uint64_t)seq, ret_job);
}

int bly_job_save(bly_tx *tx, const bly_job *job)
{
    return bly_sql_run(
        tx->conn,
        "UPDATE job SET queue = ?2, state = ?3, hold = ?4, priority = ?5, run_at = ?6,"
        " start_at = ?7, ended_at = ?8, timeout = ?9, tries = ?10, tried = ?11, lost = ?12,"
        " runs = ?13, token = ?14, session = ?15, parked_on = ?16, wants = ?17, waits = ?18,"
        " slot = ?19, missed = ?20, cancel = ?21, how = ?22, code = ?23, user_time = ?24,"
        " system_time = ?25, rss_max = ?26, replaced_by = ?27, need = ?28 WHERE seq = ?1",
        BLY_ARGS(BLY_INT(job->seq), BLY_INT(job->queue), BLY_INT(job->state), BLY_INT(job->hold),
                 BLY_INT(job->priority), BLY_INT(job->run_at), BLY_INT(job->start_at),
                 BLY_INT(job->ended_at), BLY_INT(job->timeout), BLY_INT(job->tries),
                 BLY_INT(job->tried), BLY_INT(job->lost), BLY_INT(job->runs), BLY_INT(job->token),
                 BLY_INT(job->session), BLY_INT(job->parked_on), BLY_INT(job->wants),
                 BLY_INT(job->waits), BLY_INT(job->slot), BLY_INT(job->missed),
                 BLY_INT(job->cancel), BLY_INT(job->how), BLY_INT(job->code),
                 BLY_INT(job->user_time), BLY_INT(job->system_time), BLY_INT(job->rss_max),
                 BLY_INT(job->replaced_by), BLY_INT(job->need)));
}

static bool holds(uint32_t state)
{
    return state == BLY_JOB_CLAIMED || state == BLY_JOB_RUNNING;
}

static bool has_ended(uint32_t state)
{
    return state >= BLY_JOB_DONE;
}

static int hold_permits(bly_tx *tx, const bly_job *job, bool on)
{
    return bly_sql_run(tx->conn, "UPDATE job_lim SET held = ? WHERE job = ?",
                       BLY_ARGS(BLY_INT(on), BLY_INT(job->seq)));
}

/* Whether the move can leave room in a limit that others are parked on. */
static bool leaves_room(uint32_t from, uint32_t to)
{
    if (from == BLY_JOB_READY) {
        /* It was made ready for permits that it has not taken, and leaves without them. */
        return !holds(to);
    }
    return holds(from) ? !holds(to) : from == BLY_JOB_PARKED && to != BLY_JOB_READY;
}

/* Writes the job, which has just come from one state to another, and does what belongs to that. */
static int settle(bly_tx *tx, bly_job *job, uint32_t from, uint32_t to)
{
    if (to != BLY_JOB_PARKED) {
        job->parked_on = 0;
    }
    if (has_ended(to)) {
        job->ended_at = job->ended_at != 0 ? job->ended_at : tx->now_ns;
        job->hold = 0;
        job->cancel = 0;
    }
    int result = bly_job_save(tx, job);
    if (result == 0 && job->wants > 0 && holds(from) != holds(to)) {
        result = hold_permits(tx, job, holds(to));
    }
    if (result == 0 && job->wants > 0 && leaves_room(from, to)) {
        result = bly_limits_freed(tx, job);
    }
    tx->rings |=
        to == BLY_JOB_READY || to == BLY_JOB_SCHEDULED || has_ended(to) || leaves_room(from, to);
    return result == 0 && has_ended(to) ? bly_deps_ended(tx, job) : result;
}

int bly_job_move(bly_tx *tx, bly_job *job, uint32_t to)
{
    uint32_t from = job->state;
    bly_state_move(&job_states, &job->state, to);
    return settle(tx, job, from, to);
}

int bly_job_move_through(bly_tx *tx, bly_job *job, uint32_t via, uint32_t to)
{
    uint32_t from = job->state;
    bly_state_move(&job_states, &job->state, via);
    bly_state_move(&job_states, &job->state, to);
    return settle(tx, job, from, to);
}

int bly_job_end(bly_tx *tx, bly_job *job, uint32_t to, int how, int64_t code)
{
    job->how = how;
    job->code = code;
    int result = bly_job_move(tx, job, to);
    if (result == 0 && job->schedule != 0 && to == BLY_JOB_FAILED &&
        (job->flags & BLY_NEW_STOP_ON_FAILURE) != 0) {
        result = bly_schedule_stop(tx, job->schedule);
    }
    return result;
}

uint32_t bly_job_pending_state(const bly_tx *tx, const bly_job *job)
{
    if (job->waits > 0) {
        return BLY_JOB_WAITING;
    }
    return job->run_at > tx->now_ns ? BLY_JOB_SCHEDULED : BLY_JOB_READY;
}

/* A newer version of the job's id waits to start. */
static int is_replaced(bly_tx *tx, const bly_job *job, bool *ret_is)
{
    int64_t count = 0;
    int result = 0;
    if (job->has_id) {
        result = bly_sql_number(tx->conn,
                                "SELECT count(*) FROM job WHERE id = (SELECT id FROM job"
                                " WHERE seq = ?) AND state IN (1, 2, 3, 5, 6) AND seq <> ?",
                                BLY_ARGS(BLY_INT(job->seq), BLY_INT(job->seq)), &count);
    }
    *ret_is = count > 0;
    return result;
}

int bly_job_again(bly_tx *tx, bly_job *job, uint32_t to)
{
    bool replaced = false;
    int result = is_replaced(tx, job, &replaced);
    if (result != 0) {
        return result;
    }
    job->session = 0;
    if (job->owner != 0 || job->cancel != 0) {
        return bly_job_end(tx, job, BLY_JOB_CANCELED, BLY_END_CANCELED, 0);
    }
    if (replaced) {
        return bly_job_end(tx, job, BLY_JOB_FAILED, BLY_END_REPLACED, job->code);
    }
    return bly_job_move(tx, job, to);
}
