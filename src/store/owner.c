/*
 * owner.c: what owners want: edit, cancel, retry.
 */
#include "store/sqlite_int.h"

#define BATCH_STEP    1000u /* jobs of a batch that are canceled in one transaction */
#define RETRY_ALL_MAX 10000u

typedef struct order {
    const bly_job_ref *ref;
    const bly_edit *edit;
    uint64_t batch, seq;
    uint64_t canceled, told;
    bool is_over;
} order;

static int edit(bly_tx *tx, void *arg)
{
    const order *self = arg;
    const bly_edit *to = self->edit;
    bly_job job;
    int result = bly_job_resolve(tx, self->ref, &job);
    if (result != 0) {
        return result;
    }
    if (job.state == BLY_JOB_CLAIMED || job.state == BLY_JOB_RUNNING || job.state >= BLY_JOB_DONE) {
        return BELAY_ETOOLATE;
    }
    job.priority = to->has_priority ? to->priority : job.priority;
    job.timeout = to->has_timeout ? to->timeout_ns : job.timeout;
    job.tries = to->has_tries ? to->tries : job.tries;
    if (to->has_run_at) {
        job.run_at = to->run_at_ns != 0 ? to->run_at_ns : tx->now_ns;
    }
    if (to->has_queue) {
        result = bly_queue_id(tx, to->queue, &job.queue);
    }
    /* A parked job takes its new place through the claim, which may park it again. */
    if (result == 0 && job.state == BLY_JOB_PARKED) {
        result = bly_job_move(tx, &job, BLY_JOB_READY);
        if (result == 0) {
            result = bly_limits_freed(tx, &job);
        }
    }
    uint32_t wanted = bly_job_pending_state(tx, &job);
    tx->rings = true;
    if (result != 0) {
        return result;
    }
    return wanted == job.state ? bly_job_save(tx, &job) : bly_job_move(tx, &job, wanted);
}

int bly_sqlite_edit(bly_store *store, const bly_job_ref *job, const bly_edit *to)
{
    order self = {.ref = job, .edit = to};
    return bly_commit(BLY_SQLITE(store), edit, &self, true);
}

int bly_cancel_job(bly_tx *tx, bly_job *job)
{
    if (job->state >= BLY_JOB_DONE) {
        return BELAY_ETOOLATE;
    }
    tx->rings = true;
    int result = job->schedule != 0 ? bly_schedule_stop(tx, job->schedule) : 0;
    if (result == 0) {
        /* Stopping the schedule may have ended this run already. */
        result = bly_job_load(tx, job->seq, job);
    }
    if (result != 0 || job->state >= BLY_JOB_DONE) {
        return result;
    }
    if (job->state != BLY_JOB_RUNNING) {
        return bly_job_end(tx, job, BLY_JOB_CANCELED, BLY_END_CANCELED, 0);
    }
    job->cancel = 1;
    result = bly_job_save(tx, job);
    return result == 0 ? BELAY_STILL_RUNNING : result;
}

static int cancel(bly_tx *tx, void *arg)
{
    const order *self = arg;
    bly_job job;
    int result = bly_job_resolve(tx, self->ref, &job);
    return result != 0 ? result : bly_cancel_job(tx, &job);
}

int bly_sqlite_cancel(bly_store *store, const bly_job_ref *job)
{
    order self = {.ref = job};
    return bly_commit(BLY_SQLITE(store), cancel, &self, true);
}

/* Some jobs of the batch behind self->seq. */
static int cancel_some(bly_tx *tx, void *arg)
{
    order *self = arg;
    int result = 0;
    for (uint32_t i = 0; i < BATCH_STEP; i++) {
        int64_t seq = 0;
        bly_job job;
        result = bly_sql_number(tx->conn,
                                "SELECT min(seq) FROM job WHERE batch = ? AND state <= 6"
                                " AND cancel = 0 HAVING min(seq) IS NOT NULL",
                                BLY_ARGS(BLY_INT(self->batch)), &seq);
        if (result == BELAY_ENOENT) {
            self->is_over = true;
            return 0;
        }
        if (result == 0) {
            result = bly_job_load(tx, (uint64_t)seq, &job);
        }
        if (result == 0) {
            result = bly_cancel_job(tx, &job);
        }
        if (result < 0) {
            return result;
        }
        self->canceled += result == 0;
        self->told += result == BELAY_STILL_RUNNING;
    }
    return 0;
}

int bly_sqlite_cancel_batch(bly_store *store, uint64_t batch, uint64_t *ret_canceled,
                            uint64_t *ret_told)
{
    order self = {.batch = batch};
    int result = 0;
    while (result == 0 && !self.is_over) {
        result = bly_commit(BLY_SQLITE(store), cancel_some, &self, true);
    }
    *ret_canceled = self.canceled;
    *ret_told = self.told;
    return result;
}

static int is_id_taken(bly_tx *tx, const bly_job *job, bool *ret_is)
{
    int64_t count = 0;
    int result = bly_sql_number(tx->conn,
                                "SELECT (SELECT count(*) FROM job WHERE state <= 6 AND id ="
                                " (SELECT id FROM job WHERE seq = ?1)) + (SELECT count(*) FROM job"
                                " WHERE state <= 6 AND schedule = ?2)",
                                BLY_ARGS(BLY_INT(job->seq), BLY_MAYBE(job->schedule)), &count);
    *ret_is = count > 0;
    return result;
}

static int retry_job(bly_tx *tx, bly_job *job)
{
    bool is_taken = false;
    if (job->state != BLY_JOB_FAILED && job->state != BLY_JOB_CANCELED &&
        job->state != BLY_JOB_SKIPPED) {
        return BELAY_ETOOLATE;
    }
    int result = job->has_id || job->schedule != 0 ? is_id_taken(tx, job, &is_taken) : 0;
    if (result != 0 || is_taken) {
        return result != 0 ? result : BELAY_EEXIST;
    }
    /* What it needed has ended as it has; whoever retries it wants it to run all the same. */
    result =
        bly_sql_run(tx->conn, "UPDATE dep SET met = 1 WHERE job = ?", BLY_ARGS(BLY_INT(job->seq)));
    if (result == 0) {
        result =
            bly_sql_run(tx->conn, "DELETE FROM result WHERE job = ?", BLY_ARGS(BLY_INT(job->seq)));
    }
    job->tried = job->lost = job->waits = 0;
    job->how = BLY_END_NONE;
    job->code = 0;
    job->need = job->session = 0;
    job->start_at = job->ended_at = 0;
    job->user_time = job->system_time = job->rss_max = 0;
    job->run_at = tx->now_ns;
    return result == 0 ? bly_job_move(tx, job, BLY_JOB_READY) : result;
}

static int retry(bly_tx *tx, void *arg)
{
    order *self = arg;
    bly_job job;
    int result = bly_job_resolve(tx, self->ref, &job);
    if (result == 0) {
        result = retry_job(tx, &job);
        self->seq = job.seq;
    }
    return result;
}

int bly_sqlite_retry(bly_store *store, const bly_job_ref *job, uint64_t *ret_seq)
{
    order self = {.ref = job};
    int result = bly_commit(BLY_SQLITE(store), retry, &self, true);
    *ret_seq = self.seq;
    return result;
}

static int retry_some(bly_tx *tx, void *arg)
{
    order *self = arg;
    for (uint32_t i = 0; i < BATCH_STEP; i++) {
        int64_t seq = 0;
        bly_job job;
        int result = bly_sql_number(tx->conn,
                                    "SELECT min(seq) FROM job WHERE state = 8 AND state >= 7"
                                    " AND seq > ?1 AND (?2 = 0 OR batch = ?2)"
                                    " HAVING min(seq) IS NOT NULL",
                                    BLY_ARGS(BLY_INT(self->seq), BLY_INT(self->batch)), &seq);
        if (result == BELAY_ENOENT) {
            self->is_over = true;
            return 0;
        }
        self->seq = (uint64_t)seq;
        if (result == 0) {
            result = bly_job_load(tx, self->seq, &job);
        }
        if (result == 0) {
            result = retry_job(tx, &job);
        }
        if (result != 0 && result != BELAY_EEXIST) {
            return result;
        }
        self->told += result == 0;
    }
    return 0;
}

int bly_sqlite_retry_all(bly_store *store, uint64_t batch, uint64_t *ret_count)
{
    order self = {.batch = batch};
    int result = 0;
    while (result == 0 && !self.is_over && self.told < RETRY_ALL_MAX) {
        result = bly_commit(BLY_SQLITE(store), retry_some, &self, true);
    }
    *ret_count = self.told;
    return result;
}
