/*
 * end.c: what a run came to. A report names its claim; when the job's token or state is another by
 * now, the claim is lost and the report changes nothing.
 */
#include "store/sqlite_int.h"

#include "base/hash.h"

/* The back-off before the next try: doubled each time, half of it left to chance. */
static int64_t backoff_of(const bly_job *job, const bly_end *end)
{
    if (end->backoff_ns > 0) {
        return end->backoff_ns;
    }
    int64_t delay = job->backoff;
    for (uint32_t i = 1; i < job->tried && delay < job->backoff_max; i++) {
        delay = delay > INT64_MAX / 2 ? INT64_MAX : delay * 2;
    }
    if (delay > job->backoff_max) {
        delay = job->backoff_max;
    }
    uint64_t half = (uint64_t)delay / 2;
    return delay - (int64_t)(bly_hash_u64(job->token, job->seq) % (half + 1));
}

static int store_result(bly_tx *tx, const bly_end *end)
{
    if (end->result.len == 0 && end->message.len == 0) {
        return 0;
    }
    return bly_sql_run(tx->conn,
                       "INSERT OR REPLACE INTO result (job, result, message) VALUES (?, ?, ?)",
                       BLY_ARGS(BLY_INT(end->seq), BLY_BLOB(end->result), BLY_BLOB(end->message)));
}

static int fail(bly_tx *tx, bly_job *job, const bly_end *end)
{
    if (job->cancel != 0) {
        return bly_job_end(tx, job, BLY_JOB_CANCELED, BLY_END_CANCELED, end->code);
    }
    job->tried++;
    job->how = end->how;
    job->code = end->code;
    if (end->what == BLY_DO_FAIL && job->tried < job->tries) {
        job->run_at = belay_time_add(tx->now_ns, backoff_of(job, end));
        return bly_job_again(tx, job, BLY_JOB_SCHEDULED);
    }
    return bly_job_end(tx, job, BLY_JOB_FAILED, end->how, end->code);
}

static int end_run(bly_tx *tx, bly_job *job, const bly_end *end)
{
    job->start_at = end->start_ns != 0 ? end->start_ns : job->start_at;
    job->ended_at = end->end_ns;
    job->user_time = end->user_ns;
    job->system_time = end->system_ns;
    job->rss_max = (int64_t)end->rss_max_kib;
    int result = store_result(tx, end);
    if (result != 0) {
        return result;
    }
    switch (end->what) {
    case BLY_DO_DONE:
        return bly_job_end(tx, job, BLY_JOB_DONE, end->how, end->code);
    case BLY_DO_CANCELED:
        return bly_job_end(tx, job, BLY_JOB_CANCELED, BLY_END_CANCELED, end->code);
    default:
        return fail(tx, job, end);
    }
}

static int give_back(bly_tx *tx, bly_job *job)
{
    if (job->state == BLY_JOB_RUNNING) {
        job->runs--;
        job->start_at = 0;
    }
    return bly_job_again(tx, job, BLY_JOB_READY);
}

int bly_end_apply(bly_tx *tx, bly_end *end)
{
    bly_job job;
    int result = bly_job_load(tx, end->seq, &job);
    if (result == BELAY_ENOENT || (result == 0 && job.token != end->token)) {
        return BELAY_ESTALE;
    }
    if (result != 0) {
        return result;
    }
    if (end->what == BLY_DO_GIVE_BACK &&
        (job.state == BLY_JOB_CLAIMED || job.state == BLY_JOB_RUNNING)) {
        return give_back(tx, &job);
    }
    return job.state == BLY_JOB_RUNNING && end->what != BLY_DO_GIVE_BACK ? end_run(tx, &job, end)
                                                                         : BELAY_ESTALE;
}

int bly_end_lost(bly_tx *tx, bly_job *job)
{
    if (job->state == BLY_JOB_CLAIMED) {
        return bly_job_again(tx, job, BLY_JOB_READY);
    }
    job->lost++;
    job->how = BLY_END_LOST;
    job->code = 0;
    if (job->owner == 0 && ((job->flags & BLY_NEW_LOST_FAIL) != 0 || job->lost > job->lost_max)) {
        return bly_job_end(tx, job, BLY_JOB_FAILED, BLY_END_LOST, 0);
    }
    return bly_job_again(tx, job, BLY_JOB_READY);
}
