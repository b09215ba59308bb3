/*
 * schedule.c: recurring jobs: which slot runs, and what becomes of those that passed.
 *
 * Each run is a job with its slot; (schedule, slot) is unique. The claim of a run decides, in its
 * transaction, what passed, and puts up the run of the slot behind, which waits for this one to
 * end: so runs of a schedule never overlap, no slot runs twice, and a crash loses none. A run that
 * is claimed again after it was given back finds the next one there and changes nothing.
 */
#include "store/sqlite_int.h"

#include "base/hash.h"

#include <string.h>

#define MISSED_MAX  100u
#define LATE_MAX_NS INT64_C(60000000000)
#define SLOTS_MAX   1000u /* of a cron schedule, looked at in one claim; then on from the present */

int64_t bly_schedule_start_of(const bly_schedule *rule, uint64_t id, int64_t slot)
{
    if (rule->jitter_ns <= 0) {
        return slot;
    }
    uint64_t jitter = bly_hash_u64(id, (uint64_t)slot) % ((uint64_t)rule->jitter_ns + 1);
    return belay_time_add(slot, (int64_t)jitter);
}

static int64_t next_of(bly_tx *tx, const bly_schedule *rule, int64_t slot)
{
    int64_t next = BELAY_FOREVER;
    if (rule->kind == BLY_SCHEDULE_EVERY) {
        next = belay_time_add(slot, rule->period_ns);
    } else if (tx->store->next_fn != NULL) {
        next = tx->store->next_fn(rule, slot, tx->store->next_arg);
    }
    return next > slot ? next : BELAY_FOREVER;
}

int bly_schedule_first(bly_tx *tx, const bly_new_job *spec, int64_t *ret_slot)
{
    const bly_schedule *rule = &spec->schedule;
    if (rule->kind == BLY_SCHEDULE_CRON && tx->store->next_fn == NULL) {
        return BELAY_EINVAL;
    }
    *ret_slot = spec->run_at_ns != 0 ? spec->run_at_ns : tx->now_ns;
    if (rule->kind == BLY_SCHEDULE_CRON) {
        /* The first slot that is not before the time. */
        *ret_slot = next_of(tx, rule, *ret_slot - 1);
    }
    return *ret_slot == BELAY_FOREVER ? BELAY_EINVAL : 0;
}

int bly_schedule_add(bly_tx *tx, const bly_new_job *spec, uint64_t *ret_schedule)
{
    const bly_schedule *rule = &spec->schedule;
    int64_t id = 0;
    int result = bly_sql_number(
        tx->conn,
        "INSERT INTO schedule (name, kind, period, expr, zone, missed, missed_max, late_max,"
        " jitter) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
        BLY_ARGS(BLY_OR_NULL(spec->id), BLY_INT(rule->kind), BLY_INT(rule->period_ns),
                 BLY_BLOB(rule->expr), BLY_BLOB(rule->zone), BLY_INT(rule->missed),
                 BLY_INT(rule->missed_max != 0 ? rule->missed_max : MISSED_MAX),
                 BLY_INT(rule->late_max_ns != 0 ? rule->late_max_ns : LATE_MAX_NS),
                 BLY_INT(rule->jitter_ns)),
        &id);
    *ret_schedule = (uint64_t)id;
    return result;
}

int bly_schedule_end(bly_tx *tx, uint64_t id)
{
    return bly_sql_run(tx->conn,
                       "UPDATE schedule SET ended_at = ? WHERE id = ? AND ended_at IS NULL",
                       BLY_ARGS(BLY_INT(tx->now_ns), BLY_INT(id)));
}

int bly_schedule_stop(bly_tx *tx, uint64_t id)
{
    int64_t seq = 0;
    bly_job job;
    int result = bly_schedule_end(tx, id);
    if (result == 0) {
        result = bly_sql_number(tx->conn,
                                "SELECT seq FROM job WHERE schedule = ? AND state IN (1, 2, 5, 6)"
                                " ORDER BY slot DESC LIMIT 1",
                                BLY_ARGS(BLY_INT(id)), &seq);
    }
    if (result == 0) {
        result = bly_job_load(tx, (uint64_t)seq, &job);
    }
    if (result != 0) {
        return result == BELAY_ENOENT ? 0 : result;
    }
    return bly_job_end(tx, &job, BLY_JOB_CANCELED, BLY_END_CANCELED, 0);
}

/* What has passed when a run of `slot` is claimed. */
typedef struct passage {
    int64_t slot;   /* the one that runs */
    int64_t next;   /* the one behind, BELAY_FOREVER: none */
    int64_t missed; /* given up */
} passage;

static bool has_come(bly_tx *tx, const bly_schedule *rule, uint64_t id, int64_t slot)
{
    return slot != BELAY_FOREVER && bly_schedule_start_of(rule, id, slot) <= tx->now_ns;
}

/* Slots behind `slot` that have come, counted; each is asked for once, up to SLOTS_MAX. */
static uint64_t count_passed(bly_tx *tx, const bly_schedule *rule, uint64_t id, int64_t slot)
{
    if (rule->kind == BLY_SCHEDULE_EVERY) {
        int64_t late_ns = tx->now_ns > slot ? tx->now_ns - slot : 0;
        uint64_t passed = (uint64_t)late_ns / (uint64_t)rule->period_ns;
        int64_t last = slot + (int64_t)passed * rule->period_ns;
        return passed > 0 && !has_come(tx, rule, id, last) ? passed - 1 : passed;
    }
    uint64_t passed = 0;
    for (slot = next_of(tx, rule, slot); has_come(tx, rule, id, slot) && passed < SLOTS_MAX;
         slot = next_of(tx, rule, slot)) {
        passed++;
    }
    return passed;
}

static int64_t slot_after(bly_tx *tx, const bly_schedule *rule, int64_t slot, uint64_t count)
{
    if (rule->kind == BLY_SCHEDULE_EVERY) {
        return slot + (int64_t)count * rule->period_ns;
    }
    for (uint64_t i = 0; i < count; i++) {
        slot = next_of(tx, rule, slot);
    }
    return slot;
}

static passage pass(bly_tx *tx, const bly_schedule *rule, uint64_t id, int64_t slot)
{
    uint64_t passed = count_passed(tx, rule, id, slot);
    uint64_t given_up = passed;
    if (rule->missed == BLY_MISSED_ALL) {
        given_up = passed >= rule->missed_max ? passed + 1 - rule->missed_max : 0;
    }
    passage found = {.slot = slot_after(tx, rule, slot, given_up), .missed = (int64_t)given_up};
    int64_t from = found.slot;
    if (passed == SLOTS_MAX && rule->kind == BLY_SCHEDULE_CRON && tx->now_ns > from) {
        from = tx->now_ns;
    }
    found.next = next_of(tx, rule, from);
    return found;
}

/* Puts up the run of the next slot: a copy of this one, waiting for it. */
static int arm(bly_tx *tx, const bly_job *job, int64_t slot, int64_t run_at)
{
    int64_t seq = 0;
    bly_arg from = BLY_INT(job->seq);
    int result = bly_sql_number(
        tx->conn,
        "INSERT INTO job (queue, state, hold, flags, priority, run_at, added_at, timeout, tries,"
        " lost_max, backoff, backoff_max, wants, waits, batch, batch_row, schedule, slot)"
        " SELECT queue, 5, hold & 1, flags, priority, ?2, ?3, timeout, tries, lost_max, backoff,"
        " backoff_max, wants, 1, batch, batch_row, schedule, ?4 FROM job WHERE seq = ?1"
        " RETURNING seq",
        BLY_ARGS(from, BLY_INT(run_at), BLY_INT(tx->now_ns), BLY_INT(slot)), &seq);
    if (result == 0) {
        result = bly_sql_run(tx->conn,
                             "INSERT INTO work SELECT ?2, handler, command, env, cwd, detail, umask"
                             " FROM work WHERE job = ?1",
                             BLY_ARGS(from, BLY_INT(seq)));
    }
    if (result == 0) {
        result = bly_sql_run(tx->conn,
                             "INSERT INTO job_lim (job, lim, permits)"
                             " SELECT ?2, lim, permits FROM job_lim WHERE job = ?1",
                             BLY_ARGS(from, BLY_INT(seq)));
    }
    return result == 0 ? bly_deps_wait_for(tx, (uint64_t)seq, job->seq, true) : result;
}

static int settle(bly_tx *tx, bly_job *job, const bly_schedule *rule, bool *ret_runs)
{
    passage found = pass(tx, rule, job->schedule, job->slot);
    int64_t start = bly_schedule_start_of(rule, job->schedule, found.slot);
    job->slot = found.slot;
    job->missed += found.missed;
    *ret_runs =
        rule->missed != BLY_MISSED_SKIP || belay_time_add(start, rule->late_max_ns) >= tx->now_ns;
    int result = bly_job_save(tx, job);
    if (result != 0) {
        return result;
    }
    if (found.next == BELAY_FOREVER) {
        result = bly_schedule_end(tx, job->schedule);
    } else {
        result = arm(tx, job, found.next, bly_schedule_start_of(rule, job->schedule, found.next));
    }
    return result != 0 || *ret_runs ? result
                                    : bly_job_end(tx, job, BLY_JOB_SKIPPED, BLY_END_MISSED, 0);
}

/* Whether the run behind this one has been put up already. */
static int is_armed(bly_tx *tx, const bly_job *job, bool *ret_is)
{
    int64_t count = 0;
    int result =
        bly_sql_number(tx->conn, "SELECT count(*) FROM job WHERE schedule = ? AND slot > ?",
                       BLY_ARGS(BLY_INT(job->schedule), BLY_INT(job->slot)), &count);
    *ret_is = count > 0;
    return result;
}

int bly_schedule_settle(bly_tx *tx, bly_job *job, bool *ret_runs)
{
    bool armed = false;
    *ret_runs = true;
    int result = is_armed(tx, job, &armed);
    if (result != 0 || armed) {
        return result;
    }
    bly_cursor cursor = bly_cursor_begin(
        tx->conn,
        "SELECT kind, period, missed, missed_max, late_max, jitter, expr, zone FROM schedule"
        " WHERE id = ? AND ended_at IS NULL",
        BLY_ARGS(BLY_INT(job->schedule)));
    bool found = bly_cursor_next(&cursor);
    if (found) {
        /* The bytes live until the cursor moves, so all is done while it stands. */
        bly_schedule rule = {
            .kind = (uint32_t)bly_col(&cursor, 0),
            .period_ns = bly_col(&cursor, 1),
            .missed = (uint32_t)bly_col(&cursor, 2),
            .missed_max = (uint32_t)bly_col(&cursor, 3),
            .late_max_ns = bly_col(&cursor, 4),
            .jitter_ns = bly_col(&cursor, 5),
            .expr = bly_col_bytes(&cursor, 6),
            .zone = bly_col_bytes(&cursor, 7),
        };
        result = settle(tx, job, &rule, ret_runs);
    }
    int ended = bly_cursor_end(&cursor);
    return result != 0 ? result : ended;
}
