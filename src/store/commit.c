/*
 * commit.c: the committer, the one thread of a store that writes.
 *
 * Callers put requests on a list and sleep; reports of ends stand on a list of their own. The
 * committer takes a list whole, runs everything in one transaction, each request in a
 * savepoint, commits, rings, and only then tells the callers. What arrives meanwhile is the next
 * group: the slower the disk, the larger the groups. A report alone does not make it commit before
 * its window is over; a flush does, and so does a request that is synced: both take the reports
 * along. Starts and claims, which are not synced, leave them.
 *
 * Exactly once: a request is on one list, taken once, and its `done` is set once, after which it is
 * the caller's memory again. A report is given back once: when its transaction is committed, or,
 * when the store is closed before that can be done, with BELAY_ECLOSED. When a transaction fails,
 * its requests fail, and its reports go back to the head of their list.
 *
 * The writer lock (an flock beside the store) is held around each transaction and each checkpoint.
 */
#include "store/sqlite_int.h"

#include <string.h>
#include <sys/file.h>

#define RETRY_NS INT64_C(100000000)  /* between attempts to store reports that failed */
#define IDLE_NS  INT64_C(1000000000) /* without work: the WAL is written back */

/* What one transaction is made of. */
typedef struct group {
    bly_request *requests;
    bly_end *ends;
    bool is_durable;
    bool rings;
} group;

int bly_writer_lock(bly_sqlite *store)
{
    if (store->lock_fd < 0) {
        return 0;
    }
    int got;
    do {
        got = flock(store->lock_fd, LOCK_EX);
    } while (got != 0 && errno == EINTR);
    return got == 0 ? 0 : BELAY_EIO;
}

void bly_writer_unlock(bly_sqlite *store)
{
    if (store->lock_fd >= 0) {
        (void)flock(store->lock_fd, LOCK_UN);
    }
}

static int set_synchronous(bly_sqlite *store, bool is_durable)
{
    int wanted = is_durable ? 2 : 1;
    if (store->synchronous == wanted) {
        return 0;
    }
    int result = bly_sql_script(&store->writer, is_durable ? "PRAGMA synchronous = FULL"
                                                           : "PRAGMA synchronous = NORMAL");
    store->synchronous = result == 0 ? wanted : 0;
    return result;
}

/*
 * A failure of SQLite's, after which nothing of the transaction stands; others concern one request.
 */
static bool is_fatal(const bly_sqlite *store)
{
    return store->writer.code != SQLITE_OK || sqlite3_get_autocommit(store->writer.db);
}

static int run_request(bly_sqlite *store, bly_tx *tx, bly_request *request)
{
    bly_conn *conn = &store->writer;
    int result = bly_sql_run(conn, "SAVEPOINT request", BLY_NO_ARGS);
    if (result != 0) {
        return result;
    }
    tx->is_durable = false;
    request->result = request->fn(tx, request->arg);
    if (is_fatal(store)) {
        return request->result < 0 ? request->result : BELAY_EIO;
    }
    if (request->result < 0) {
        tx->ended_count = 0;
        tx->is_resolving = false;
        result = bly_sql_run(conn, "ROLLBACK TO request", BLY_NO_ARGS);
    }
    return result != 0 ? result : bly_sql_run(conn, "RELEASE request", BLY_NO_ARGS);
}

static int run_ends(bly_tx *tx, bly_end *ends, uint64_t *dropped)
{
    for (bly_end *end = ends; end != NULL; end = end->next) {
        end->outcome = bly_end_apply(tx, end);
        if (end->outcome != 0 && end->outcome != BELAY_ESTALE) {
            return end->outcome;
        }
        *dropped += end->outcome == BELAY_ESTALE;
    }
    return 0;
}

/* Everything of the group between BEGIN and COMMIT. */
static int run_group(bly_sqlite *store, group *work, uint64_t *dropped)
{
    bly_tx tx = {.store = store, .conn = &store->writer, .now_ns = bly_now(store)};
    int result = bly_sql_run(&store->writer, "BEGIN IMMEDIATE", BLY_NO_ARGS);
    bool needs_sync = false;
    for (bly_request *at = work->requests; result == 0 && at != NULL; at = at->next) {
        result = run_request(store, &tx, at);
        needs_sync |= tx.is_durable;
    }
    if (result == 0) {
        result = run_ends(&tx, work->ends, dropped);
    }
    bly_free(tx.ended);
    work->rings = tx.rings || work->ends != NULL;
    /* Synced although nobody asked for it: whoever asks, the next commit does it. */
    if (result == 0 && needs_sync && store->synchronous != 2) {
        result = BELAY_EAGAIN;
    }
    return result != 0 ? result : bly_sql_run(&store->writer, "COMMIT", BLY_NO_ARGS);
}

static void roll_back(bly_sqlite *store)
{
    if (!sqlite3_get_autocommit(store->writer.db)) {
        /* It cannot fail in a way that leaves anything: closing the connection does the same. */
        (void)sqlite3_exec(store->writer.db, "ROLLBACK", NULL, NULL, NULL);
    }
}

/* Runs the group; again, synced, when a request turns out to need that. */
static int commit_group(bly_sqlite *store, group *work, uint64_t *dropped)
{
    store->writer.code = SQLITE_OK;
    int result = bly_writer_lock(store);
    if (result != 0) {
        store->writer.code = SQLITE_IOERR_LOCK;
        store->writer.system_errno = errno;
        return result;
    }
    for (bool is_durable = work->is_durable;; is_durable = true) {
        *dropped = 0;
        result = set_synchronous(store, is_durable);
        if (result == 0) {
            result = run_group(store, work, dropped);
        }
        if (result != 0) {
            roll_back(store);
        }
        if (result != BELAY_EAGAIN || is_durable) {
            break;
        }
    }
    bly_writer_unlock(store);
    return result;
}

static void note_result(bly_sqlite *store, int result, uint64_t requests, uint64_t dropped)
{
    bly_store_error error = {.problem = BLY_PROBLEM_NONE};
    if (result != 0) {
        bly_problem_of_conn(store, &store->writer, &error);
    }
    bly_mutex_lock(&store->mutex);
    store->error = error;
    store->commits += result == 0;
    store->grouped += result == 0 ? requests : 0;
    store->dropped += result == 0 ? dropped : 0;
    bly_mutex_unlock(&store->mutex);
}

static uint64_t answer(bly_request *requests, int result)
{
    uint64_t count = 0;
    for (bly_request *at = requests; at != NULL; count++) {
        bly_request *next = at->next;
        if (result != 0) {
            at->result = result;
        }
        /* release, with the acquire of bly_commit: the result is seen. The memory is theirs now. */
        bly_store(&at->done, 1u, BLY_RELEASE);
        bly_futex_wake(&at->done, 1);
        at = next;
    }
    return count;
}

/* Gives reports back, with `result` where it is not 0, else with each one's own. */
static uint64_t give_back(bly_end *ends, int result)
{
    uint64_t count = 0;
    while (ends != NULL) {
        bly_end *end = ends;
        ends = end->next;
        if (end->reported != NULL) {
            end->reported(end, result != 0 ? result : end->outcome, end->arg);
        }
        count++;
    }
    return count;
}

static void count_reported(bly_sqlite *store, uint64_t count)
{
    bly_mutex_lock(&store->mutex);
    store->ends_reported += count;
    bly_mutex_unlock(&store->mutex);
    /* release, with the acquire of bly_commit_flush. */
    (void)bly_fetch_add(&store->reported, 1u, BLY_RELEASE);
    bly_futex_wake(&store->reported, BLY_WAKE_ALL);
}

/* Puts reports that could not be stored back before those that came meanwhile. */
static void keep(bly_sqlite *store, bly_end *ends)
{
    bly_end **last = &ends;
    while (*last != NULL) {
        last = &(*last)->next;
    }
    int64_t due_ns = belay_time_add(bly_monotonic_ns(), RETRY_NS);
    bly_mutex_lock(&store->mutex);
    *last = store->end_first;
    if (store->end_first == NULL) {
        store->end_last = last;
    }
    store->end_first = ends;
    store->end_due_ns = due_ns;
    bly_mutex_unlock(&store->mutex);
}

static void run(bly_sqlite *store, group *work)
{
    uint64_t dropped = 0;
    uint64_t requests = 0;
    for (bly_request *at = work->requests; at != NULL; at = at->next) {
        requests++;
    }
    for (bly_end *at = work->ends; at != NULL; at = at->next) {
        requests++;
    }
    int result = commit_group(store, work, &dropped);
    note_result(store, result, requests, dropped);
    if (result == 0 && work->rings) {
        bly_bell_ring(store);
    }
    (void)answer(work->requests, result);
    if (work->ends == NULL) {
        return;
    }
    if (result != 0) {
        keep(store, work->ends);
        return;
    }
    count_reported(store, give_back(work->ends, 0));
}

/* The group that is to be committed now. False: none yet; *ret_until_ns: until when to sleep. */
static bool take_locked(bly_sqlite *store, int64_t now_ns, group *work, int64_t *ret_until_ns)
{
    bool ends_due = store->end_first != NULL &&
                    (now_ns >= store->end_due_ns || store->is_flushing || store->is_closing);
    if (store->first == NULL && !ends_due) {
        *ret_until_ns = store->end_first != NULL ? store->end_due_ns : BELAY_FOREVER;
        return false;
    }
    *work = (group){.requests = store->first};
    for (bly_request *at = store->first; at != NULL; at = at->next) {
        work->is_durable |= at->is_durable;
    }
    store->first = NULL;
    store->last = &store->first;
    /* Starts and claims, which need no sync, do not wait for that of reports which have time. */
    if (ends_due || work->is_durable) {
        work->is_durable |= store->end_first != NULL;
        work->ends = store->end_first;
        store->end_first = NULL;
        store->end_last = &store->end_first;
    }
    store->is_flushing = store->is_flushing && store->end_first != NULL;
    return true;
}

static int wal_hook(void *arg, sqlite3 *db, const char *name, int pages)
{
    (void)db;
    (void)name;
    bly_sqlite *store = arg;
    /* relaxed: a figure that nothing else depends on. */
    bly_store(&store->wal_bytes, (uint64_t)pages * BLY_PAGE_BYTES, BLY_RELAXED);
    return SQLITE_OK;
}

/* Writes the WAL back as far as readers let it; what fails now is tried again next time. */
static void checkpoint(bly_sqlite *store)
{
    int pages = 0;
    int written = 0;
    if (bly_writer_lock(store) != 0) {
        return;
    }
    if (bly_sql_hook != NULL) {
        bly_sql_hook();
    }
    int code = sqlite3_wal_checkpoint_v2(store->writer.db, NULL, SQLITE_CHECKPOINT_PASSIVE, &pages,
                                         &written);
    bly_writer_unlock(store);
    if (code == SQLITE_OK && pages == written) {
        bly_store(&store->wal_bytes, (uint64_t)0, BLY_RELAXED); /* relaxed: as in wal_hook */
    }
}

/* One turn: commits what is there, or sleeps until there is something. False: it is time to end. */
static bool turn(bly_sqlite *store)
{
    group work = {0};
    int64_t until_ns = BELAY_FOREVER;
    /* acquire, with the release of those who raise it: what they put on the lists is seen. */
    uint32_t seen = bly_load(&store->work, BLY_ACQUIRE);
    int64_t now_ns = bly_monotonic_ns();
    bly_mutex_lock(&store->mutex);
    bool is_taken = take_locked(store, now_ns, &work, &until_ns);
    bool is_closing = store->is_closing;
    bool is_over = is_closing && (store->end_first == NULL || now_ns >= store->close_ns);
    int64_t close_ns = store->close_ns;
    bly_mutex_unlock(&store->mutex);
    uint64_t wal_bytes = bly_load(&store->wal_bytes, BLY_RELAXED); /* relaxed: our own */
    if (is_taken) {
        run(store, &work);
        if (bly_load(&store->wal_bytes, BLY_RELAXED) >= BLY_CHECKPOINT_BYTES) {
            checkpoint(store);
        }
        return !is_closing || now_ns < close_ns;
    }
    if (is_over) {
        return false;
    }
    int64_t idle_ns = wal_bytes > 0 ? belay_time_add(now_ns, IDLE_NS) : BELAY_FOREVER;
    bool may_idle = idle_ns <= until_ns && !store->is_memory;
    int waited = bly_futex_wait(&store->work, seen, may_idle ? idle_ns : until_ns);
    if (waited == BELAY_ETIMEDOUT && may_idle) {
        checkpoint(store);
        bly_store(&store->wal_bytes, (uint64_t)0, BLY_RELAXED); /* once a pause is enough */
    }
    return true;
}

static void committer(void *arg)
{
    bly_sqlite *store = arg;
    while (turn(store)) {
    }
}

static void wake_committer(bly_sqlite *store)
{
    /* release, with the acquire of `turn`. */
    (void)bly_fetch_add(&store->work, 1u, BLY_RELEASE);
    bly_futex_wake(&store->work, 1);
}

int bly_commit_start(bly_sqlite *store)
{
    (void)sqlite3_wal_hook(store->writer.db, wal_hook, store);
    bly_thread_opts opts = {.name = "belay store"};
    return bly_thread_create(&store->committer, &opts, committer, store);
}

void bly_commit_stop(bly_sqlite *store, int64_t deadline_ns)
{
    bly_mutex_lock(&store->mutex);
    store->is_closing = true;
    store->close_ns = deadline_ns;
    bly_mutex_unlock(&store->mutex);
    wake_committer(store);
    bly_thread_join(&store->committer);
    (void)give_back(store->end_first, BELAY_ECLOSED);
    store->end_first = NULL;
}

int bly_commit(bly_sqlite *store, bly_tx_fn *fn, void *arg, bool is_durable)
{
    if (store->is_read_only) {
        return BELAY_ECLOSED;
    }
    bly_request request = {.fn = fn, .arg = arg, .is_durable = is_durable};
    bly_mutex_lock(&store->mutex);
    *store->last = &request;
    store->last = &request.next;
    bly_mutex_unlock(&store->mutex);
    wake_committer(store);
    /* acquire, with the release of `answer`. */
    while (bly_load(&request.done, BLY_ACQUIRE) == 0) {
        (void)bly_futex_wait(&request.done, 0, BELAY_FOREVER);
    }
    return request.result;
}

void bly_commit_end(bly_store *base, bly_end *end)
{
    bly_sqlite *store = BLY_SQLITE(base);
    int64_t due_ns = belay_time_add(bly_monotonic_ns(), store->window_ns);
    end->next = NULL;
    bly_mutex_lock(&store->mutex);
    bool is_first = store->end_first == NULL;
    *store->end_last = end;
    store->end_last = &end->next;
    store->ends_taken++;
    if (is_first) {
        store->end_due_ns = due_ns;
    }
    bly_mutex_unlock(&store->mutex);
    if (is_first) {
        wake_committer(store);
    }
}

int bly_commit_flush(bly_store *base, int64_t deadline_ns)
{
    bly_sqlite *store = BLY_SQLITE(base);
    bly_mutex_lock(&store->mutex);
    uint64_t taken = store->ends_taken;
    bool is_done = store->ends_reported >= taken;
    store->is_flushing = store->is_flushing || !is_done;
    bly_mutex_unlock(&store->mutex);
    if (!is_done) {
        wake_committer(store);
    }
    while (!is_done) {
        /* acquire, with the release of count_reported. */
        uint32_t seen = bly_load(&store->reported, BLY_ACQUIRE);
        bly_mutex_lock(&store->mutex);
        is_done = store->ends_reported >= taken;
        bly_mutex_unlock(&store->mutex);
        if (!is_done && bly_futex_wait(&store->reported, seen, deadline_ns) == BELAY_ETIMEDOUT) {
            return BELAY_ETIMEDOUT;
        }
    }
    return 0;
}
