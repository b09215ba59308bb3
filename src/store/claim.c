/*
 * claim.c: jobs are claimed and started.
 *
 * A claim is one transaction: what is due becomes ready; of each queue of the session the best
 * ready jobs are read; together, in order, each tries its limits and is claimed or parked. Nothing
 * is waited for. A token is taken for each claim from one counter; numbers are reserved by the
 * thousand in a synced commit, so that after a power cut, which may undo claims, none comes again.
 */
#include "store/sqlite_int.h"

#include <stdlib.h>
#include <string.h>

#define DUE_MAX 256u /* jobs whose time has come, moved in one claim */
#define SPARE   64u  /* candidates beside those wanted, since some are parked */

typedef struct queue {
    uint64_t id;
    int64_t room; /* jobs that may be claimed; negative: any number */
} queue;

typedef struct claiming {
    uint64_t session;
    uint32_t max, flags;
    uint64_t only; /* claim_one: the seq */
    bly_claim_result *result;
    bly_claimed **last;
    uint64_t token; /* the next of those taken for this claim */
    uint32_t tokens_left;
    bool has_touched; /* a candidate's move may have changed another candidate */
    queue queues[BLY_QUEUES_MAX];
    uint32_t queue_count;
} claiming;

int bly_token_take(bly_tx *tx, uint32_t count, uint64_t *ret_first)
{
    int64_t token = 0;
    int64_t reserved = 0;
    int result = bly_sql_number(
        tx->conn, "UPDATE meta SET number = number + ? WHERE name = 'token' RETURNING number",
        BLY_ARGS(BLY_INT(count)), &token);
    if (result == 0) {
        result = bly_sql_number(tx->conn, "SELECT number FROM meta WHERE name = 'token_reserved'",
                                BLY_NO_ARGS, &reserved);
    }
    if (result == 0 && token > reserved) {
        tx->is_durable = true;
        result = bly_sql_run(tx->conn, "UPDATE meta SET number = ? WHERE name = 'token_reserved'",
                             BLY_ARGS(BLY_INT(token + BLY_TOKEN_BLOCK)));
    }
    *ret_first = (uint64_t)token - count + 1;
    return result;
}

int bly_session_check(bly_tx *tx, uint64_t session)
{
    int64_t found = 0;
    int result =
        bly_sql_number(tx->conn, "SELECT id FROM session WHERE id = ? AND ended_at IS NULL",
                       BLY_ARGS(BLY_INT(session)), &found);
    return result == BELAY_ENOENT ? BELAY_ESTALE : result;
}

static int promote_due(bly_tx *tx)
{
    int result = bly_sql_run(tx->conn,
                             "UPDATE job SET state = 2 WHERE seq IN (SELECT seq FROM job"
                             " WHERE state = 1 AND run_at <= ? ORDER BY run_at LIMIT ?)",
                             BLY_ARGS(BLY_INT(tx->now_ns), BLY_INT(DUE_MAX)));
    tx->rings |= result == 0 && bly_sql_changes(tx->conn) > 0;
    return result;
}

/* The session's queues that are not paused, with the room that their bound leaves. */
static int read_queues(bly_tx *tx, claiming *self)
{
    bly_cursor cursor = bly_cursor_begin(
        tx->conn,
        "SELECT queue.id, CASE WHEN running_max = 0 THEN -1 ELSE max(0, running_max -"
        " (SELECT count(*) FROM job WHERE state IN (3, 4) AND job.queue = queue.id"
        " AND session IN (SELECT id FROM session WHERE ended_at IS NULL))) END"
        " FROM session_queue JOIN queue ON queue.id = session_queue.queue"
        " WHERE session_queue.session = ? AND queue.paused = 0 AND"
        " (SELECT number FROM meta WHERE name = 'paused') = 0",
        BLY_ARGS(BLY_INT(self->session)));
    self->queue_count = 0;
    while (self->queue_count < BLY_QUEUES_MAX && bly_cursor_next(&cursor)) {
        self->queues[self->queue_count++] =
            (queue){(uint64_t)bly_col(&cursor, 0), bly_col(&cursor, 1)};
    }
    return bly_cursor_end(&cursor);
}

static queue *queue_of(claiming *self, const bly_job *job)
{
    for (uint32_t i = 0; i < self->queue_count; i++) {
        if (self->queues[i].id == job->queue) {
            return &self->queues[i];
        }
    }
    return NULL;
}

static size_t total_of(const bly_cursor *cursor)
{
    size_t total = 0;
    for (int i = 0; i < 7; i++) {
        total += (size_t)sqlite3_column_bytes(cursor->statement, i);
    }
    return total;
}

static bly_bytes copy_into(char **at, bly_bytes from)
{
    bly_bytes made = {*at, from.len};
    if (from.len > 0) {
        memcpy(*at, from.data, from.len);
    }
    *at += from.len;
    return made;
}

static int copy_claimed(bly_tx *tx, const bly_cursor *cursor, const bly_job *job,
                        bly_claimed **ret_claimed)
{
    (void)tx;
    bly_claimed *made = bly_alloc(sizeof *made + total_of(cursor));
    if (made == NULL) {
        return BELAY_ENOMEM;
    }
    char *at = (char *)(made + 1);
    *made = (bly_claimed){
        .seq = job->seq,
        .token = job->token,
        .attempt = job->runs + (job->state == BLY_JOB_RUNNING ? 0 : 1),
        .tries = job->tries,
        .tried = job->tried,
        .priority = job->priority,
        .missed = job->missed > UINT32_MAX ? UINT32_MAX : (uint32_t)job->missed,
        .slot_ns = job->slot,
        .run_at_ns = job->run_at,
        .timeout_ns = job->timeout,
        .batch = job->batch,
        .batch_row = (uint64_t)bly_col(cursor, 8),
    };
    made->id = copy_into(&at, bly_col_bytes(cursor, 0));
    made->queue = copy_into(&at, bly_col_bytes(cursor, 1));
    made->work.handler = copy_into(&at, bly_col_bytes(cursor, 2));
    made->work.command = copy_into(&at, bly_col_bytes(cursor, 3));
    made->work.env = copy_into(&at, bly_col_bytes(cursor, 4));
    made->work.cwd = copy_into(&at, bly_col_bytes(cursor, 5));
    made->work.detail = copy_into(&at, bly_col_bytes(cursor, 6));
    made->work.umask = (int32_t)bly_col(cursor, 7);
    *ret_claimed = made;
    return 0;
}

int bly_claim_read(bly_tx *tx, const bly_job *job, bly_claimed **ret_claimed)
{
    bly_cursor cursor = bly_cursor_begin(
        tx->conn,
        "SELECT coalesce(job.id, schedule.name), queue.name, handler, command, env, cwd, detail,"
        " umask, batch_row FROM job JOIN work ON work.job = job.seq JOIN queue ON"
        " queue.id = job.queue LEFT JOIN schedule ON schedule.id = job.schedule WHERE job.seq = ?",
        BLY_ARGS(BLY_INT(job->seq)));
    bool found = bly_cursor_next(&cursor);
    int result = found ? copy_claimed(tx, &cursor, job, ret_claimed) : 0;
    int ended = bly_cursor_end(&cursor);
    if (result == 0) {
        result = ended;
    }
    return result != 0 || found ? result : BELAY_ENOENT;
}

/* A row that cannot be understood is marked, so that it is in nobody's way. */
static int quarantine(bly_tx *tx, bly_job *job)
{
    job->hold |= BLY_HOLD_QUARANTINED;
    return bly_job_save(tx, job);
}

static bool is_readable(const bly_job *job)
{
    return job->tries > 0 && job->priority >= INT16_MIN && job->priority <= INT16_MAX &&
           job->wants <= BLY_JOB_LIMITS_MAX && job->timeout >= 0 && job->run_at >= 0;
}

/* The job is taken: a token, a state, and what the caller gets. */
static int take(bly_tx *tx, claiming *self, bly_job *job)
{
    bly_claimed *claimed = NULL;
    int result = bly_claim_read(tx, job, &claimed);
    if (result == BELAY_ENOENT) {
        return quarantine(tx, job);
    }
    if (result == 0 && self->tokens_left == 0) {
        /* For all that this claim may still take; those that it does not need are passed over. */
        self->tokens_left = self->max - self->result->count;
        result = bly_token_take(tx, self->tokens_left, &self->token);
    }
    if (result != 0) {
        bly_claimed_free(claimed);
        return result;
    }
    claimed->token = job->token = self->token++;
    self->tokens_left--;
    job->session = self->session;
    if ((self->flags & BLY_CLAIM_START) != 0) {
        job->runs++;
        job->start_at = tx->now_ns;
        result = bly_job_move_through(tx, job, BLY_JOB_CLAIMED, BLY_JOB_RUNNING);
    } else {
        result = bly_job_move(tx, job, BLY_JOB_CLAIMED);
    }
    if (result != 0) {
        bly_claimed_free(claimed);
        return result;
    }
    *self->last = claimed;
    self->last = &claimed->next;
    self->result->count++;
    return 0;
}

/* One candidate: claimed, parked, skipped, or left. */
static int try_job(bly_tx *tx, claiming *self, bly_job *job)
{
    uint64_t blocker = 0;
    bool runs = true;
    queue *from = queue_of(self, job);
    if (from != NULL && from->room == 0) {
        return 0;
    }
    if (!is_readable(job)) {
        return quarantine(tx, job);
    }
    int result = bly_limits_try(tx, job, &blocker);
    if (result == 0 && blocker != 0) {
        job->parked_on = blocker;
        return bly_job_move(tx, job, BLY_JOB_PARKED);
    }
    if (result == 0 && job->schedule != 0) {
        result = bly_schedule_settle(tx, job, &runs);
        tx->rings = true;
    }
    if (result != 0 || !runs) {
        return result;
    }
    if (from != NULL && from->room > 0) {
        from->room--;
    }
    return take(tx, self, job);
}

static int compare(const void *one, const void *other)
{
    const bly_job *a = one;
    const bly_job *b = other;
    if (a->priority != b->priority) {
        return a->priority > b->priority ? -1 : 1;
    }
    if (a->run_at != b->run_at) {
        return a->run_at < b->run_at ? -1 : 1;
    }
    return a->seq < b->seq ? -1 : a->seq > b->seq;
}

/* Reads the first `limit` ready jobs of a queue; what was claimed by now is not among them. */
static int read_candidates(bly_tx *tx, uint64_t from, uint32_t limit, bly_job *jobs,
                           uint32_t *ret_count)
{
    uint32_t count = 0;
    bly_cursor cursor = bly_cursor_begin(tx->conn,
                                         "SELECT " BLY_JOB_COLUMNS
                                         " FROM job WHERE state = 2 AND hold = 0 AND queue = ?"
                                         " ORDER BY priority DESC, run_at, seq LIMIT ?",
                                         BLY_ARGS(BLY_INT(from), BLY_INT(limit)));
    while (count < limit && bly_cursor_next(&cursor)) {
        bly_job_read(&cursor, &jobs[count++]);
    }
    *ret_count = count;
    return bly_cursor_end(&cursor);
}

static int try_candidates(bly_tx *tx, claiming *self, bly_job *jobs, uint32_t limit)
{
    uint32_t count = 0;
    bool is_cut = false;
    for (uint32_t i = 0; i < self->queue_count; i++) {
        uint32_t found = 0;
        int result = self->queues[i].room == 0
                         ? 0
                         : read_candidates(tx, self->queues[i].id, limit, jobs + count, &found);
        if (result != 0) {
            return result;
        }
        count += found;
        is_cut |= found == limit;
    }
    qsort(jobs, count, sizeof *jobs, compare);
    uint32_t i = 0;
    for (; i < count && self->result->count < self->max; i++) {
        bly_job *job = &jobs[i];
        int result = self->has_touched ? bly_job_load(tx, job->seq, job) : 0;
        if (result == 0 && job->state == BLY_JOB_READY && job->hold == 0) {
            self->has_touched |= job->wants > 0 || job->schedule != 0;
            result = try_job(tx, self, job);
        }
        if (result != 0) {
            return result;
        }
    }
    self->result->has_more = i < count || is_cut;
    return 0;
}

static void drop_result(claiming *self)
{
    while (self->result->first != NULL) {
        bly_claimed *first = self->result->first;
        self->result->first = first->next;
        bly_claimed_free(first);
    }
    *self->result = (bly_claim_result){.next_run_at_ns = BELAY_FOREVER};
    self->last = &self->result->first;
    self->tokens_left = 0;
    self->has_touched = false;
}

static int claim(bly_tx *tx, void *arg)
{
    claiming *self = arg;
    drop_result(self); /* of an attempt that was undone */
    int result = bly_session_check(tx, self->session);
    if (result == 0) {
        result = promote_due(tx);
    }
    if (result == 0) {
        result = read_queues(tx, self);
    }
    if (result == 0 && self->queue_count > 0) {
        uint32_t limit = self->max + SPARE;
        bly_job *jobs = bly_alloc(sizeof *jobs * limit * self->queue_count);
        result = jobs == NULL ? BELAY_ENOMEM : try_candidates(tx, self, jobs, limit);
        bly_free(jobs);
    }
    if (result == 0) {
        result =
            bly_sql_number(tx->conn, "SELECT coalesce(min(run_at), ?) FROM job WHERE state = 1",
                           BLY_ARGS(BLY_INT(BELAY_FOREVER)), &self->result->next_run_at_ns);
    }
    return result;
}

int bly_sqlite_claim(bly_store *store, uint64_t session, uint32_t max, uint32_t flags,
                     bly_claim_result *ret_result)
{
    claiming self = {.session = session, .max = max, .flags = flags, .result = ret_result};
    *ret_result = (bly_claim_result){.next_run_at_ns = BELAY_FOREVER};
    int result = bly_commit(BLY_SQLITE(store), claim, &self, false);
    if (result != 0) {
        drop_result(&self);
    }
    return result;
}

static int claim_one(bly_tx *tx, void *arg)
{
    claiming *self = arg;
    bly_job job;
    drop_result(self);
    int result = bly_session_check(tx, self->session);
    if (result == 0) {
        result = promote_due(tx);
    }
    if (result == 0) {
        result = bly_job_load(tx, self->only, &job);
    }
    if (result != 0) {
        return result;
    }
    if (job.state == BLY_JOB_CLAIMED || job.state == BLY_JOB_RUNNING || job.state >= BLY_JOB_DONE ||
        (job.owner != 0 && job.owner != self->session)) {
        return BELAY_ETOOLATE;
    }
    if (job.state == BLY_JOB_READY && job.hold == 0) {
        result = try_job(tx, self, &job);
    }
    return result;
}

int bly_sqlite_claim_one(bly_store *store, uint64_t session, uint64_t seq, uint32_t flags,
                         bly_claimed **ret_claimed)
{
    bly_claim_result found = {.first = NULL};
    claiming self = {.session = session, .max = 1, .flags = flags, .only = seq, .result = &found};
    int result = bly_commit(BLY_SQLITE(store), claim_one, &self, false);
    if (result != 0) {
        drop_result(&self);
        return result;
    }
    if (found.first == NULL) {
        return BELAY_EAGAIN;
    }
    *ret_claimed = found.first;
    return 0;
}

typedef struct taking {
    uint64_t session;
    const bly_new_job *job;
    bly_added added;
} taking;

/* All requests for permits stand in one queue that nobody claims from; its name is no user's. */
static int put_up(bly_tx *tx, void *arg)
{
    taking *self = arg;
    int result = bly_session_check(tx, self->session);
    if (result != 0) {
        return result;
    }
    bly_new_job spec = {
        .work = self->job->work,
        .id = self->job->id,
        .queue = BLY_BYTES("\001with"),
        .flags = BLY_NEW_LOST_FAIL,
        .priority = self->job->priority,
        .wants = self->job->wants,
        .want_count = self->job->want_count,
    };
    return bly_add_one(tx, &spec, self->session, &self->added);
}

int bly_sqlite_take(bly_store *store, uint64_t session, const bly_new_job *job, uint64_t *ret_seq)
{
    taking self = {.session = session, .job = job};
    int result = bly_commit(BLY_SQLITE(store), put_up, &self, false);
    if (result == 0) {
        *ret_seq = self.added.seq;
    }
    return result;
}

typedef struct starting {
    bly_claim_ref *claims;
    uint32_t count;
} starting;

static int start_one(bly_tx *tx, bly_claim_ref *ref)
{
    bly_job job;
    int result = bly_job_load(tx, ref->seq, &job);
    if (result == BELAY_ENOENT) {
        ref->result = BELAY_ESTALE;
        return 0;
    }
    if (result != 0) {
        return result;
    }
    if (job.token != ref->token || job.state != BLY_JOB_CLAIMED) {
        ref->result = job.state == BLY_JOB_CANCELED && job.token == ref->token ? BELAY_ECANCELED
                                                                               : BELAY_ESTALE;
        return 0;
    }
    job.runs++;
    job.start_at = tx->now_ns;
    ref->result = 0;
    return bly_job_move(tx, &job, BLY_JOB_RUNNING);
}

static int start(bly_tx *tx, void *arg)
{
    const starting *self = arg;
    int result = 0;
    for (uint32_t i = 0; result == 0 && i < self->count; i++) {
        result = start_one(tx, &self->claims[i]);
    }
    return result;
}

int bly_sqlite_start(bly_store *store, bly_claim_ref *claims, uint32_t count)
{
    starting self = {claims, count};
    return bly_commit(BLY_SQLITE(store), start, &self, false);
}

typedef struct looking {
    uint64_t session;
    const bly_claim_ref *held;
    bly_claim_ref *orders;
    uint32_t held_count, max, count;
} looking;

static int look_for_lost(bly_tx *tx, looking *self)
{
    int result = 0;
    for (uint32_t i = 0; result == 0 && i < self->held_count && self->count < self->max; i++) {
        int64_t token = -1;
        result = bly_sql_number(tx->conn, "SELECT token FROM job WHERE seq = ? AND state IN (3, 4)",
                                BLY_ARGS(BLY_INT(self->held[i].seq)), &token);
        if ((result == 0 || result == BELAY_ENOENT) && (uint64_t)token != self->held[i].token) {
            self->orders[self->count] = self->held[i];
            self->orders[self->count++].result = BELAY_ESTALE;
        }
        result = result == BELAY_ENOENT ? 0 : result;
    }
    return result;
}

static int orders(bly_tx *tx, void *arg)
{
    looking *self = arg;
    self->count = 0;
    bly_cursor cursor = bly_cursor_begin(
        tx->conn,
        "SELECT seq, token FROM job WHERE session = ? AND state IN (3, 4) AND cancel <> 0",
        BLY_ARGS(BLY_INT(self->session)));
    while (self->count < self->max && bly_cursor_next(&cursor)) {
        self->orders[self->count++] = (bly_claim_ref){
            (uint64_t)bly_col(&cursor, 0), (uint64_t)bly_col(&cursor, 1), BELAY_ECANCELED};
    }
    int result = bly_cursor_end(&cursor);
    return result == 0 ? look_for_lost(tx, self) : result;
}

int bly_sqlite_orders(bly_store *store, uint64_t session, const bly_claim_ref *held,
                      uint32_t held_count, bly_claim_ref *ret_orders, uint32_t max,
                      uint32_t *ret_count)
{
    looking self = {.session = session,
                    .held = held,
                    .orders = ret_orders,
                    .held_count = held_count,
                    .max = max};
    int result = bly_read_tx(BLY_SQLITE(store), orders, &self);
    *ret_count = self.count;
    return result;
}
