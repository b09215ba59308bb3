/*
 * store.c: the operations as their callers see them: arguments are checked, then the store's own
 * table is called.
 */
#include "store/store.h"

#include "base/memory.h"
#include "store/check_int.h"
#include "store/sqlite_int.h"

#include <string.h>

#define CLAIM_MAX    1000u
#define ROWS_MAX     10000u
#define MAX_INTERVAL (INT64_MAX / 2)

static bool has_scheme(const char *url, const char *scheme)
{
    return strncmp(url, scheme, strlen(scheme)) == 0;
}

int bly_store_open(const char *url, const bly_store_opts *opts, bly_store **ret_store,
                   bly_store_error *ret_error)
{
    bly_store_error unused;
    bly_store_error *error = ret_error != NULL ? ret_error : &unused;
    bly_store_opts chosen = {.size = sizeof chosen};
    *error = (bly_store_error){.problem = BLY_PROBLEM_NONE};
    if (url == NULL || ret_store == NULL || (opts != NULL && opts->size != sizeof *opts)) {
        return BELAY_EINVAL;
    }
    if (opts != NULL) {
        chosen = *opts;
    }
    if (has_scheme(url, "postgres://") || has_scheme(url, "postgresql://")) {
        return bly_problem(error, BLY_PROBLEM_SCHEME, 0,
                           "this belay has no PostgreSQL; name a file");
    }
    return bly_sqlite_open(url, &chosen, ret_store, error);
}

void bly_store_close(bly_store *store, int64_t deadline_ns)
{
    if (store != NULL) {
        store->ops->close(store, deadline_ns);
    }
}

void bly_store_problem(bly_store *store, bly_store_error *ret_error)
{
    store->ops->problem(store, ret_error);
}

const char *bly_store_path(const bly_store *store)
{
    return store->ops->path(store);
}

int bly_store_add(bly_store *store, const bly_new_job *jobs, uint32_t count, const bly_add_key *key,
                  bly_added *ret_added, uint32_t *ret_bad)
{
    static const bly_add_key none;
    uint32_t unused;
    uint32_t *bad = ret_bad != NULL ? ret_bad : &unused;
    *bad = 0;
    if (jobs == NULL || count == 0 || count > BLY_ADD_MAX || ret_added == NULL) {
        return BELAY_EINVAL;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!bly_check_new(&jobs[i])) {
            *bad = i;
            return BELAY_EINVAL;
        }
    }
    if (key != NULL && memcmp(key, &none, sizeof none) == 0) {
        key = NULL;
    }
    return store->ops->add(store, jobs, count, key, ret_added, bad);
}

int bly_store_edit(bly_store *store, const bly_job_ref *job, const bly_edit *edit)
{
    return bly_check_ref(job) && bly_check_edit(edit) ? store->ops->edit(store, job, edit)
                                                      : BELAY_EINVAL;
}

int bly_store_session_begin(bly_store *store, const bly_session_opts *opts, uint64_t *ret_session)
{
    if (opts == NULL || opts->size != sizeof *opts || ret_session == NULL ||
        opts->queue_count > BLY_QUEUES_MAX || (opts->queues == NULL && opts->queue_count > 0)) {
        return BELAY_EINVAL;
    }
    for (uint32_t i = 0; i < opts->queue_count; i++) {
        if (!bly_check_name(opts->queues[i])) {
            return BELAY_EINVAL;
        }
    }
    return store->ops->session_begin(store, opts, ret_session);
}

int bly_store_session_end(bly_store *store, uint64_t session)
{
    return store->ops->session_end(store, session);
}

int bly_store_rescue(bly_store *store, uint32_t *ret_rescued, uint32_t *ret_pending)
{
    uint32_t rescued;
    uint32_t pending;
    return store->ops->rescue(store, ret_rescued != NULL ? ret_rescued : &rescued,
                              ret_pending != NULL ? ret_pending : &pending);
}

int bly_store_claim(bly_store *store, uint64_t session, uint32_t max, uint32_t flags,
                    bly_claim_result *ret_result)
{
    if (max == 0 || max > CLAIM_MAX || (flags & ~(uint32_t)BLY_CLAIM_START) != 0 ||
        ret_result == NULL) {
        return BELAY_EINVAL;
    }
    return store->ops->claim(store, session, max, flags, ret_result);
}

int bly_store_claim_one(bly_store *store, uint64_t session, uint64_t seq, uint32_t flags,
                        bly_claimed **ret_claimed)
{
    if (seq == 0 || seq > INT64_MAX || (flags & ~(uint32_t)BLY_CLAIM_START) != 0 ||
        ret_claimed == NULL) {
        return BELAY_EINVAL;
    }
    return store->ops->claim_one(store, session, seq, flags, ret_claimed);
}

int bly_store_take(bly_store *store, uint64_t session, const bly_new_job *job, uint64_t *ret_seq)
{
    if (job == NULL || ret_seq == NULL || !bly_check_new(job)) {
        return BELAY_EINVAL;
    }
    return store->ops->take(store, session, job, ret_seq);
}

int bly_store_start(bly_store *store, bly_claim_ref *claims, uint32_t count)
{
    return count == 0 ? 0 : store->ops->start(store, claims, count);
}

void bly_store_end(bly_store *store, bly_end *end)
{
    bly_assert(end->what >= BLY_DO_DONE && end->what <= BLY_DO_GIVE_BACK);
    bly_assert(bly_check_bytes(end->result) && bly_check_bytes(end->message));
    store->ops->end(store, end);
}

int bly_store_flush(bly_store *store, int64_t deadline_ns)
{
    return store->ops->flush(store, deadline_ns);
}

int bly_store_orders(bly_store *store, uint64_t session, const bly_claim_ref *held,
                     uint32_t held_count, bly_claim_ref *ret_orders, uint32_t max,
                     uint32_t *ret_count)
{
    return store->ops->orders(store, session, held, held_count, ret_orders, max, ret_count);
}

int bly_store_cancel(bly_store *store, const bly_job_ref *job)
{
    return bly_check_ref(job) ? store->ops->cancel(store, job) : BELAY_EINVAL;
}

int bly_store_cancel_batch(bly_store *store, uint64_t batch, uint64_t *ret_canceled,
                           uint64_t *ret_told)
{
    uint64_t canceled;
    uint64_t told;
    return store->ops->cancel_batch(store, batch, ret_canceled != NULL ? ret_canceled : &canceled,
                                    ret_told != NULL ? ret_told : &told);
}

int bly_store_retry(bly_store *store, const bly_job_ref *job, uint64_t *ret_seq)
{
    uint64_t seq;
    return bly_check_ref(job) ? store->ops->retry(store, job, ret_seq != NULL ? ret_seq : &seq)
                              : BELAY_EINVAL;
}

int bly_store_retry_all(bly_store *store, uint64_t batch, uint64_t *ret_count)
{
    uint64_t count;
    return store->ops->retry_all(store, batch, ret_count != NULL ? ret_count : &count);
}

static int set_paused(bly_store *store, int what, const bly_job_ref *job, bly_bytes name, bool on)
{
    bool is_valid = what == BLY_PAUSE_STORE || (what == BLY_PAUSE_JOB && bly_check_ref(job)) ||
                    ((what == BLY_PAUSE_QUEUE || what == BLY_PAUSE_LIMIT) && bly_check_name(name));
    return is_valid ? store->ops->pause(store, what, job, name, on) : BELAY_EINVAL;
}

int bly_store_pause(bly_store *store, int what, const bly_job_ref *job, bly_bytes name)
{
    return set_paused(store, what, job, name, true);
}

int bly_store_unpause(bly_store *store, int what, const bly_job_ref *job, bly_bytes name)
{
    return set_paused(store, what, job, name, false);
}

int bly_store_limit(bly_store *store, bly_bytes name, uint32_t capacity)
{
    return bly_check_name(name) && capacity > 0 && capacity <= BLY_PERMITS_MAX
               ? store->ops->limit(store, name, capacity)
               : BELAY_EINVAL;
}

int bly_store_queue(bly_store *store, bly_bytes name, uint32_t running_max)
{
    return bly_check_name(name) && running_max <= BLY_PERMITS_MAX
               ? store->ops->queue(store, name, running_max)
               : BELAY_EINVAL;
}

int bly_store_batch_begin(bly_store *store, bly_bytes name, bly_bytes digest, uint32_t flags,
                          bly_table **ret_row)
{
    if (name.len == 0 || !bly_check_bytes(name) || !bly_check_bytes(digest) ||
        flags > BLY_BATCH_FRESH || ret_row == NULL) {
        return BELAY_EINVAL;
    }
    return store->ops->batch_begin(store, name, digest, flags, ret_row);
}

int bly_store_batch_end(bly_store *store, uint64_t batch, uint64_t total)
{
    return total <= INT64_MAX ? store->ops->batch_end(store, batch, total) : BELAY_EINVAL;
}

int bly_store_list(bly_store *store, const bly_query *query, bly_rows **ret_rows)
{
    if (query == NULL || ret_rows == NULL || query->order > BLY_LIST_LAST_ENDED ||
        query->rows_max > ROWS_MAX || (query->id.len != 0 && !bly_check_name(query->id)) ||
        (query->queue.len != 0 && !bly_check_name(query->queue))) {
        return BELAY_EINVAL;
    }
    return store->ops->list(store, query, ret_rows);
}

int bly_store_find(bly_store *store, const bly_job_ref *job, bly_rows **ret_rows)
{
    return bly_check_ref(job) && ret_rows != NULL ? store->ops->find(store, job, ret_rows)
                                                  : BELAY_EINVAL;
}

int bly_store_table(bly_store *store, int which, bly_table **ret_table)
{
    return which >= BLY_TABLE_SESSIONS && which <= BLY_TABLE_BATCHES && ret_table != NULL
               ? store->ops->table(store, which, ret_table)
               : BELAY_EINVAL;
}

int bly_store_stats_get(bly_store *store, bly_store_stats *ret_stats)
{
    return store->ops->stats(store, ret_stats);
}

int bly_store_watch_create(bly_store *store, bly_store_watch **ret_watch)
{
    return store->ops->watch_create(store, ret_watch);
}

void bly_store_watch_destroy(bly_store_watch *watch)
{
    if (watch != NULL) {
        watch->ops->watch_destroy(watch);
    }
}

int bly_store_watch_fd(const bly_store_watch *watch)
{
    return watch->ops->watch_fd(watch);
}

bool bly_store_watch_check(bly_store_watch *watch)
{
    return watch->ops->watch_check(watch);
}

int bly_store_watch_wait(bly_store_watch *watch, int64_t deadline_ns)
{
    return watch->ops->watch_wait(watch, deadline_ns);
}

int bly_store_gc(bly_store *store, const bly_gc_opts *opts, bly_gc_result *ret_result)
{
    bly_gc_opts chosen = {.size = sizeof chosen};
    bly_gc_result unused;
    if (opts != NULL) {
        chosen = *opts;
    }
    if (chosen.keep_ns < 0 || chosen.keep_failed_ns < 0 || chosen.keep_ns > MAX_INTERVAL ||
        chosen.keep_failed_ns > MAX_INTERVAL) {
        return BELAY_EINVAL;
    }
    return store->ops->gc(store, &chosen, ret_result != NULL ? ret_result : &unused);
}

int bly_store_check(bly_store *store)
{
    return store->ops->check(store);
}

void bly_claimed_free(bly_claimed *claimed)
{
    bly_free(claimed);
}

void bly_rows_free(bly_rows *rows)
{
    bly_free(rows);
}

void bly_table_free(bly_table *table)
{
    bly_free(table);
}
