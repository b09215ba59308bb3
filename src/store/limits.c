/*
 * limits.c: limits and queues: who may be claimed, who is parked, who gets what comes back.
 *
 * Permits in use are summed from the rows that hold them. A job that finds no room is parked on the
 * limit that had none, and holds nothing. Of the parked jobs of one queue and limit the first in
 * the order of claims is the head; nobody of that queue behind it is let past, so it gets its turn
 * however many permits it wants. When permits come back, heads that fit become ready, each queue by
 * itself, since the workers of a queue may all be busy; the claim decides who is first.
 * A parked job's queue has a session and is not paused: else it becomes ready, and holds up nobody.
 */
#include "store/sqlite_int.h"

int bly_queue_id(bly_tx *tx, bly_bytes name, uint64_t *ret_queue)
{
    bly_bytes wanted = name.len > 0 ? name : BLY_BYTES("default");
    int64_t id = 0;
    int result = bly_sql_number(tx->conn, "SELECT id FROM queue WHERE name = ?",
                                BLY_ARGS(BLY_BLOB(wanted)), &id);
    if (result == BELAY_ENOENT) {
        result = bly_sql_number(tx->conn, "INSERT INTO queue (name) VALUES (?) RETURNING id",
                                BLY_ARGS(BLY_BLOB(wanted)), &id);
    }
    *ret_queue = (uint64_t)id;
    return result;
}

typedef struct limit {
    int64_t capacity;
    bool is_paused;
} limit;

static int load(bly_tx *tx, uint64_t id, limit *ret_limit)
{
    bly_cursor cursor = bly_cursor_begin(tx->conn, "SELECT capacity, paused FROM lim WHERE id = ?",
                                         BLY_ARGS(BLY_INT(id)));
    bool found = bly_cursor_next(&cursor);
    if (found) {
        *ret_limit = (limit){bly_col(&cursor, 0), bly_col(&cursor, 1) != 0};
    }
    int result = bly_cursor_end(&cursor);
    return result != 0 || found ? result : BELAY_ENOENT;
}

static int find(bly_tx *tx, bly_bytes name, uint64_t *ret_id)
{
    int64_t id = 0;
    int result = bly_sql_number(tx->conn, "SELECT id FROM lim WHERE name = ?",
                                BLY_ARGS(BLY_BLOB(name)), &id);
    *ret_id = (uint64_t)id;
    return result;
}

static int make(bly_tx *tx, bly_bytes name, uint32_t capacity, uint64_t *ret_id)
{
    int64_t id = 0;
    int result =
        bly_sql_number(tx->conn, "INSERT INTO lim (name, capacity) VALUES (?, ?) RETURNING id",
                       BLY_ARGS(BLY_BLOB(name), BLY_INT(capacity)), &id);
    *ret_id = (uint64_t)id;
    return result;
}

static int want_one(bly_tx *tx, const bly_want *want, uint64_t *ret_id)
{
    uint32_t permits = want->permits != 0 ? want->permits : 1;
    limit found = {.capacity = want->capacity != 0 ? want->capacity : 1};
    int result = find(tx, want->name, ret_id);
    if (result == BELAY_ENOENT) {
        if (permits > found.capacity) {
            return BELAY_ETOOBIG;
        }
        return make(tx, want->name, (uint32_t)found.capacity, ret_id);
    }
    if (result == 0) {
        result = load(tx, *ret_id, &found);
    }
    if (result == 0 && want->capacity != 0 && want->capacity != found.capacity) {
        return BELAY_EBUSY;
    }
    return result == 0 && permits > found.capacity ? BELAY_ETOOBIG : result;
}

int bly_limits_want(bly_tx *tx, const bly_want *wants, uint32_t count, uint64_t *ret_ids)
{
    for (uint32_t i = 0; i < count; i++) {
        int result = want_one(tx, &wants[i], &ret_ids[i]);
        if (result != 0) {
            return result;
        }
        for (uint32_t j = 0; j < i; j++) {
            if (ret_ids[j] == ret_ids[i]) {
                return BELAY_EINVAL;
            }
        }
    }
    return 0;
}

int bly_limit_used(bly_tx *tx, uint64_t id, int64_t *ret_used)
{
    return bly_sql_number(
        tx->conn, "SELECT coalesce(sum(permits), 0) FROM job_lim WHERE lim = ? AND held = 1",
        BLY_ARGS(BLY_INT(id)), ret_used);
}

/* A parked job, as far as order and room go. */
typedef struct parked {
    uint64_t seq;
    int32_t priority;
    int64_t run_at, permits;
} parked;

/* The head of those parked on the limit in the queue; what can never fit is passed over. */
static int head_of(bly_tx *tx, uint64_t id, uint64_t queue, int64_t capacity, parked *ret_head)
{
    bly_cursor cursor = bly_cursor_begin(
        tx->conn,
        "SELECT job.seq, job.priority, job.run_at, job_lim.permits FROM job JOIN job_lim"
        " ON job_lim.job = job.seq AND job_lim.lim = job.parked_on"
        " WHERE job.state = 6 AND job.parked_on = ? AND job.queue = ? AND job_lim.permits <= ?"
        " ORDER BY job.priority DESC, job.run_at, job.seq LIMIT 1",
        BLY_ARGS(BLY_INT(id), BLY_INT(queue), BLY_INT(capacity)));
    bool found = bly_cursor_next(&cursor);
    if (found) {
        *ret_head = (parked){(uint64_t)bly_col(&cursor, 0), (int32_t)bly_col(&cursor, 1),
                             bly_col(&cursor, 2), bly_col(&cursor, 3)};
    }
    int result = bly_cursor_end(&cursor);
    return result != 0 || found ? result : BELAY_ENOENT;
}

static bool precedes(const parked *head, const bly_job *job)
{
    if (head->priority != job->priority) {
        return head->priority > job->priority;
    }
    if (head->run_at != job->run_at) {
        return head->run_at < job->run_at;
    }
    return head->seq < job->seq;
}

static int try_one(bly_tx *tx, const bly_job *job, uint64_t id, int64_t permits, bool *ret_has_room)
{
    limit found;
    int64_t used = 0;
    parked head;
    *ret_has_room = false;
    int result = load(tx, id, &found);
    if (result == 0) {
        result = bly_limit_used(tx, id, &used);
    }
    if (result != 0 || found.is_paused || used + permits > found.capacity) {
        return result;
    }
    result = head_of(tx, id, job->queue, found.capacity, &head);
    *ret_has_room = result == BELAY_ENOENT || (result == 0 && !precedes(&head, job));
    return result == BELAY_ENOENT ? 0 : result;
}

/* The limits of a job, lowest id first. */
static int limits_of(bly_tx *tx, uint64_t seq, uint64_t *ids, int64_t *permits, uint32_t *ret_count)
{
    uint32_t count = 0;
    bly_cursor cursor =
        bly_cursor_begin(tx->conn, "SELECT lim, permits FROM job_lim WHERE job = ? ORDER BY lim",
                         BLY_ARGS(BLY_INT(seq)));
    while (count < BLY_JOB_LIMITS_MAX && bly_cursor_next(&cursor)) {
        ids[count] = (uint64_t)bly_col(&cursor, 0);
        permits[count++] = bly_col(&cursor, 1);
    }
    *ret_count = count;
    return bly_cursor_end(&cursor);
}

int bly_limits_try(bly_tx *tx, const bly_job *job, uint64_t *ret_blocker)
{
    uint64_t ids[BLY_JOB_LIMITS_MAX];
    int64_t permits[BLY_JOB_LIMITS_MAX];
    uint32_t count = 0;
    *ret_blocker = 0;
    int result = job->wants > 0 ? limits_of(tx, job->seq, ids, permits, &count) : 0;
    for (uint32_t i = 0; result == 0 && i < count; i++) {
        bool has_room = false;
        result = try_one(tx, job, ids[i], permits[i], &has_room);
        if (result == 0 && !has_room) {
            *ret_blocker = ids[i];
            break;
        }
    }
    return result;
}

/* Makes the parked jobs of one queue ready that fit into what is free. */
static int unpark(bly_tx *tx, uint64_t id, uint64_t queue, int64_t capacity, int64_t free)
{
    for (;;) {
        parked head;
        bly_job job;
        int result = head_of(tx, id, queue, capacity, &head);
        if (result != 0 || head.permits > free) {
            return result == BELAY_ENOENT ? 0 : result;
        }
        free -= head.permits;
        result = bly_job_load(tx, head.seq, &job);
        if (result == 0) {
            result = bly_job_move(tx, &job, BLY_JOB_READY);
        }
        if (result != 0) {
            return result;
        }
    }
}

int bly_limit_freed(bly_tx *tx, uint64_t id)
{
    limit found;
    int64_t used = 0;
    int64_t queue = -1;
    int result = load(tx, id, &found);
    if (result == 0) {
        result = bly_limit_used(tx, id, &used);
    }
    if (result != 0 || found.is_paused || used >= found.capacity) {
        return result;
    }
    for (;;) {
        result = bly_sql_number(tx->conn,
                                "SELECT queue FROM job WHERE state = 6 AND parked_on = ?"
                                " AND queue > ? ORDER BY queue LIMIT 1",
                                BLY_ARGS(BLY_INT(id), BLY_INT(queue)), &queue);
        if (result != 0) {
            return result == BELAY_ENOENT ? 0 : result;
        }
        result = unpark(tx, id, (uint64_t)queue, found.capacity, found.capacity - used);
        if (result != 0) {
            return result;
        }
    }
}

int bly_limits_freed(bly_tx *tx, const bly_job *job)
{
    uint64_t ids[BLY_JOB_LIMITS_MAX];
    int64_t permits[BLY_JOB_LIMITS_MAX];
    uint32_t count = 0;
    int result = limits_of(tx, job->seq, ids, permits, &count);
    for (uint32_t i = 0; result == 0 && i < count; i++) {
        result = bly_limit_freed(tx, ids[i]);
    }
    return result;
}

int bly_limits_unpark_queue(bly_tx *tx, uint64_t queue)
{
    for (;;) {
        int64_t seq = 0;
        bly_job job;
        int result =
            bly_sql_number(tx->conn, "SELECT seq FROM job WHERE state = 6 AND queue = ? LIMIT 1",
                           BLY_ARGS(BLY_INT(queue)), &seq);
        if (result == 0) {
            result = bly_job_load(tx, (uint64_t)seq, &job);
        }
        if (result != 0) {
            return result == BELAY_ENOENT ? 0 : result;
        }
        result = bly_job_move(tx, &job, BLY_JOB_READY);
        if (result == 0) {
            result = bly_limits_freed(tx, &job);
        }
        if (result != 0) {
            return result;
        }
    }
}

/* What the calls of this file need in their transaction. */
typedef struct setting {
    int what;
    const bly_job_ref *job;
    bly_bytes name;
    uint32_t number;
    bool on;
} setting;

static int set_limit(bly_tx *tx, void *arg)
{
    const setting *self = arg;
    uint64_t id = 0;
    int result = find(tx, self->name, &id);
    if (result == BELAY_ENOENT) {
        return make(tx, self->name, self->number, &id);
    }
    if (result == 0) {
        result = bly_sql_run(tx->conn, "UPDATE lim SET capacity = ? WHERE id = ?",
                             BLY_ARGS(BLY_INT(self->number), BLY_INT(id)));
    }
    tx->rings = true;
    return result == 0 ? bly_limit_freed(tx, id) : result;
}

int bly_sqlite_limit(bly_store *store, bly_bytes name, uint32_t capacity)
{
    setting self = {.name = name, .number = capacity};
    return bly_commit(BLY_SQLITE(store), set_limit, &self, true);
}

static int set_queue(bly_tx *tx, void *arg)
{
    const setting *self = arg;
    uint64_t id = 0;
    int result = bly_queue_id(tx, self->name, &id);
    tx->rings = true;
    return result != 0 ? result
                       : bly_sql_run(tx->conn, "UPDATE queue SET running_max = ? WHERE id = ?",
                                     BLY_ARGS(BLY_INT(self->number), BLY_INT(id)));
}

int bly_sqlite_queue(bly_store *store, bly_bytes name, uint32_t running_max)
{
    setting self = {.name = name, .number = running_max};
    return bly_commit(BLY_SQLITE(store), set_queue, &self, true);
}

static int pause_job(bly_tx *tx, const setting *self)
{
    bly_job job;
    int result = bly_job_resolve(tx, self->job, &job);
    if (result != 0) {
        return result;
    }
    if (job.state >= BLY_JOB_DONE) {
        return BELAY_ETOOLATE;
    }
    job.hold = self->on ? job.hold | BLY_HOLD_PAUSED : job.hold & ~(uint32_t)BLY_HOLD_PAUSED;
    if (job.state == BLY_JOB_PARKED) {
        result = bly_job_move(tx, &job, BLY_JOB_READY);
    } else {
        result = bly_job_save(tx, &job);
    }
    /* As a ready job it may have been meant to take permits that others can have now. */
    return result == 0 && job.wants > 0 ? bly_limits_freed(tx, &job) : result;
}

static int pause_queue(bly_tx *tx, const setting *self)
{
    uint64_t id = 0;
    int result = bly_queue_id(tx, self->name, &id);
    if (result == 0) {
        result = bly_sql_run(tx->conn, "UPDATE queue SET paused = ? WHERE id = ?",
                             BLY_ARGS(BLY_INT(self->on), BLY_INT(id)));
    }
    return result == 0 && self->on ? bly_limits_unpark_queue(tx, id) : result;
}

static int pause_limit(bly_tx *tx, const setting *self)
{
    uint64_t id = 0;
    int result = find(tx, self->name, &id);
    if (result == 0) {
        result = bly_sql_run(tx->conn, "UPDATE lim SET paused = ? WHERE id = ?",
                             BLY_ARGS(BLY_INT(self->on), BLY_INT(id)));
    }
    return result == 0 && !self->on ? bly_limit_freed(tx, id) : result;
}

static int set_paused(bly_tx *tx, void *arg)
{
    const setting *self = arg;
    tx->rings = true;
    switch (self->what) {
    case BLY_PAUSE_JOB:
        return pause_job(tx, self);
    case BLY_PAUSE_QUEUE:
        return pause_queue(tx, self);
    case BLY_PAUSE_LIMIT:
        return pause_limit(tx, self);
    default:
        return bly_sql_run(tx->conn, "UPDATE meta SET number = ? WHERE name = 'paused'",
                           BLY_ARGS(BLY_INT(self->on)));
    }
}

int bly_sqlite_pause(bly_store *store, int what, const bly_job_ref *job, bly_bytes name, bool on)
{
    setting self = {.what = what, .job = job, .name = name, .on = on};
    return bly_commit(BLY_SQLITE(store), set_paused, &self, true);
}
