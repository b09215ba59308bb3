/*
 * schema.c: the tables, from the first version of the schema on.
 *
 * Names, types and statements keep to what PostgreSQL takes as well, where SQLite lets them.
 * `limit` is a reserved word in both, hence lim. Times are nanoseconds since 1970. What people and
 * programs give is bytes. What is large and does not change stands beside the job, not in it, since
 * each move of a job writes its row anew.
 */
#include "store/sqlite_int.h"

static const char version_1[] =
    "CREATE TABLE meta (name TEXT PRIMARY KEY, number BIGINT NOT NULL, words BLOB);"
    "INSERT INTO meta (name, number) VALUES ('token', 0), ('token_reserved', 0), ('paused', 0);"
    "CREATE TABLE session ("
    " id INTEGER PRIMARY KEY AUTOINCREMENT, boot BLOB NOT NULL, host BLOB NOT NULL,"
    " pid BIGINT NOT NULL, pid_start BIGINT NOT NULL, own_lock BLOB NOT NULL, live_lock BLOB NOT "
    "NULL,"
    " begun_at BIGINT NOT NULL, ended_at BIGINT, slots INTEGER NOT NULL);"
    "CREATE INDEX session_open ON session (id) WHERE ended_at IS NULL;"
    "CREATE TABLE queue ("
    " id INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE, paused INTEGER NOT NULL DEFAULT 0,"
    " running_max INTEGER NOT NULL DEFAULT 0);"
    "CREATE TABLE session_queue ("
    " session BIGINT NOT NULL, queue BIGINT NOT NULL, PRIMARY KEY (session, queue));"
    "CREATE INDEX session_queue_queue ON session_queue (queue);"
    "CREATE TABLE lim ("
    " id INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE, capacity INTEGER NOT NULL,"
    " paused INTEGER NOT NULL DEFAULT 0);"
    "CREATE TABLE batch ("
    " id INTEGER PRIMARY KEY AUTOINCREMENT, name BLOB NOT NULL, digest BLOB NOT NULL,"
    " made_at BIGINT NOT NULL, ended_at BIGINT, total BIGINT NOT NULL DEFAULT 0);"
    "CREATE UNIQUE INDEX batch_open ON batch (name) WHERE ended_at IS NULL;"
    "CREATE TABLE schedule ("
    " id INTEGER PRIMARY KEY AUTOINCREMENT, name BLOB, kind INTEGER NOT NULL,"
    " period BIGINT NOT NULL, expr BLOB NOT NULL, zone BLOB NOT NULL, missed INTEGER NOT NULL,"
    " missed_max INTEGER NOT NULL, late_max BIGINT NOT NULL, jitter BIGINT NOT NULL,"
    " ended_at BIGINT);"
    "CREATE UNIQUE INDEX schedule_name ON schedule (name)"
    " WHERE name IS NOT NULL AND ended_at IS NULL;"
    "CREATE INDEX schedule_names ON schedule (name, id) WHERE name IS NOT NULL;"
    "CREATE TABLE job ("
    " seq INTEGER PRIMARY KEY AUTOINCREMENT, id BLOB, queue BIGINT NOT NULL,"
    " state INTEGER NOT NULL, hold INTEGER NOT NULL DEFAULT 0, flags INTEGER NOT NULL,"
    " priority INTEGER NOT NULL, run_at BIGINT NOT NULL, added_at BIGINT NOT NULL,"
    " start_at BIGINT NOT NULL DEFAULT 0, ended_at BIGINT NOT NULL DEFAULT 0,"
    " timeout BIGINT NOT NULL, tries INTEGER NOT NULL, tried INTEGER NOT NULL DEFAULT 0,"
    " lost INTEGER NOT NULL DEFAULT 0, lost_max INTEGER NOT NULL,"
    " runs INTEGER NOT NULL DEFAULT 0, backoff BIGINT NOT NULL, backoff_max BIGINT NOT NULL,"
    " token BIGINT NOT NULL DEFAULT 0, session BIGINT NOT NULL DEFAULT 0,"
    " owner BIGINT NOT NULL DEFAULT 0, parked_on BIGINT NOT NULL DEFAULT 0,"
    " wants INTEGER NOT NULL DEFAULT 0, waits INTEGER NOT NULL DEFAULT 0,"
    " batch BIGINT, batch_row BIGINT NOT NULL DEFAULT 0, schedule BIGINT,"
    " slot BIGINT NOT NULL DEFAULT 0, missed BIGINT NOT NULL DEFAULT 0,"
    " cancel INTEGER NOT NULL DEFAULT 0, how INTEGER NOT NULL DEFAULT 0,"
    " code BIGINT NOT NULL DEFAULT 0, user_time BIGINT NOT NULL DEFAULT 0,"
    " system_time BIGINT NOT NULL DEFAULT 0, rss_max BIGINT NOT NULL DEFAULT 0,"
    " replaced_by BIGINT NOT NULL DEFAULT 0, need BIGINT NOT NULL DEFAULT 0);"
    /* The hot indexes hold live jobs alone: what has ended is in none of them. */
    "CREATE INDEX job_scheduled ON job (run_at) WHERE state = 1;"
    "CREATE INDEX job_ready ON job (queue, priority DESC, run_at, seq)"
    " WHERE state = 2 AND hold = 0;"
    "CREATE INDEX job_held ON job (seq) WHERE hold <> 0 AND state <= 6;"
    "CREATE INDEX job_claimed ON job (session, queue) WHERE state IN (3, 4);"
    "CREATE INDEX job_owned ON job (owner) WHERE owner <> 0 AND state <= 6;"
    "CREATE INDEX job_waiting ON job (seq) WHERE state = 5;"
    "CREATE INDEX job_parked ON job (parked_on, queue, priority DESC, run_at, seq)"
    " WHERE state = 6;"
    "CREATE UNIQUE INDEX job_id_pending ON job (id)"
    " WHERE id IS NOT NULL AND state IN (1, 2, 3, 5, 6);"
    "CREATE UNIQUE INDEX job_id_running ON job (id) WHERE id IS NOT NULL AND state = 4;"
    "CREATE INDEX job_id ON job (id, seq) WHERE id IS NOT NULL;"
    "CREATE INDEX job_batch ON job (batch, state) WHERE batch IS NOT NULL;"
    "CREATE UNIQUE INDEX job_slot ON job (schedule, slot) WHERE schedule IS NOT NULL;"
    "CREATE INDEX job_ended ON job (ended_at, state) WHERE state >= 7;"
    "CREATE TABLE work ("
    " job INTEGER PRIMARY KEY, handler BLOB NOT NULL, command BLOB NOT NULL, env BLOB NOT NULL,"
    " cwd BLOB NOT NULL, detail BLOB NOT NULL, umask INTEGER NOT NULL);"
    "CREATE TABLE result (job INTEGER PRIMARY KEY, result BLOB NOT NULL, message BLOB NOT NULL);"
    "CREATE TABLE job_lim ("
    " job BIGINT NOT NULL, lim BIGINT NOT NULL, permits INTEGER NOT NULL,"
    " held INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (job, lim));"
    "CREATE INDEX job_lim_held ON job_lim (lim, permits) WHERE held = 1;"
    "CREATE TABLE dep ("
    " job BIGINT NOT NULL, need BIGINT NOT NULL, is_any INTEGER NOT NULL,"
    " met INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (job, need));"
    "CREATE INDEX dep_need ON dep (need) WHERE met = 0;"
    "CREATE TABLE add_call (key BLOB PRIMARY KEY, at BIGINT NOT NULL, added BLOB NOT NULL);"
    "CREATE INDEX add_call_at ON add_call (at);";

/* What brings a store from version i to i + 1. */
static const char *const steps[] = {version_1};

/* The next version, as the pragma's literal: a pragma takes no arguments. */
static const char *const marks[] = {"PRAGMA user_version = 1"};

static_assert(bly_count(steps) == BLY_SCHEMA_VERSION, "a step for each version");
static_assert(bly_count(marks) == BLY_SCHEMA_VERSION, "a mark for each version");

int bly_schema_migrate(bly_conn *conn, int64_t version)
{
    int result = 0;
    for (int64_t i = version; result == 0 && i < BLY_SCHEMA_VERSION; i++) {
        result = bly_sql_script(conn, steps[i]);
        if (result == 0) {
            result = bly_sql_script(conn, marks[i]);
        }
    }
    return result;
}
