/*
 * session.c: who works on jobs, and what happens to the jobs of those who are gone.
 *
 * A session has a lock of its own, held by its process alone, and may have a live file, held by its
 * keeper and jobs too. Its process is gone when the first lock can be had. Then whoever holds the
 * live file is killed, and when that lock can be had as well, nobody is left who could still be
 * doing the session's work: its jobs are given back. The rescuer holds both locks meanwhile, and
 * the row of the session is closed in the same transaction, so two rescuers do not get in each
 * other's way. Should somebody have removed the files, a process of that number and start time
 * counts as alive. A session of an earlier boot has no process, whatever its files say.
 */
#include "store/sqlite_int.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/utsname.h>
#include <unistd.h>

#define SESSIONS_MAX 256u /* read at a time */
#define RESCUE_MAX   1000u

/* The lock of each session that this process has begun, by the store that holds it. */
typedef struct own_lock {
    uint64_t session;
    bly_live lock;
    struct own_lock *next;
} own_lock;

typedef struct beginning {
    const bly_session_opts *opts;
    const char *own, *live;
    uint64_t session;
} beginning;

static int add_queue(bly_tx *tx, uint64_t session, bly_bytes name)
{
    uint64_t queue = 0;
    int result = bly_queue_id(tx, name, &queue);
    return result != 0 ? result
                       : bly_sql_run(tx->conn,
                                     "INSERT OR IGNORE INTO session_queue (session, queue)"
                                     " VALUES (?, ?)",
                                     BLY_ARGS(BLY_INT(session), BLY_INT(queue)));
}

static int add_queues(bly_tx *tx, const beginning *self)
{
    if (self->opts->queues == NULL) {
        return add_queue(tx, self->session, BLY_BYTES("default"));
    }
    int result = 0;
    for (uint32_t i = 0; result == 0 && i < self->opts->queue_count; i++) {
        result = add_queue(tx, self->session, self->opts->queues[i]);
    }
    return result;
}

static int begin(bly_tx *tx, void *arg)
{
    beginning *self = arg;
    struct utsname host;
    int64_t id = 0;
    (void)uname(&host);
    int result = bly_sql_number(
        tx->conn,
        "INSERT INTO session (boot, host, pid, pid_start, own_lock, live_lock, begun_at, slots)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
        BLY_ARGS(BLY_BLOB(BLY_BYTES(tx->store->boot)), BLY_BLOB(BLY_BYTES(host.nodename)),
                 BLY_INT(getpid()), BLY_INT(bly_live_start_of(getpid())),
                 BLY_BLOB(BLY_BYTES(self->own)), BLY_BLOB(BLY_BYTES(self->live)),
                 BLY_INT(tx->now_ns), BLY_INT(self->opts->slots != 0 ? self->opts->slots : 1)),
        &id);
    self->session = (uint64_t)id;
    if (result == 0) {
        result = add_queues(tx, self);
    }
    tx->rings = true;
    return result;
}

static void keep_lock(bly_sqlite *store, own_lock *lock)
{
    bly_mutex_lock(&store->mutex);
    lock->next = store->locks;
    store->locks = lock;
    bly_mutex_unlock(&store->mutex);
}

static own_lock *take_lock(bly_sqlite *store, uint64_t session)
{
    bly_mutex_lock(&store->mutex);
    own_lock **at = &store->locks;
    while (*at != NULL && (*at)->session != session) {
        at = &(*at)->next;
    }
    own_lock *found = *at;
    if (found != NULL) {
        *at = found->next;
    }
    bly_mutex_unlock(&store->mutex);
    return found;
}

static void remove_file(const bly_sqlite *store, const char *name)
{
    char path[BLY_PATH_MAX];
    if (*name != '\0' && bly_live_path(store->path, name, path) == 0) {
        (void)unlink(path);
    }
}

/* The file goes before the lock: who finds it in between is told by the session's row. */
static void drop_lock(const bly_sqlite *store, own_lock *lock, bool with_file)
{
    if (lock->lock.fd >= 0) {
        if (with_file) {
            remove_file(store, lock->lock.name);
        }
        (void)close(lock->lock.fd);
    }
    bly_free(lock);
}

void bly_session_forget(bly_sqlite *store)
{
    while (store->locks != NULL) {
        own_lock *lock = store->locks;
        store->locks = lock->next;
        drop_lock(store, lock, false);
    }
}

int bly_sqlite_session_begin(bly_store *base, const bly_session_opts *opts, uint64_t *ret_session)
{
    bly_sqlite *store = BLY_SQLITE(base);
    uint32_t rescued = 0;
    uint32_t pending = 0;
    bly_store_error error;
    int result = bly_sqlite_rescue(base, &rescued, &pending);
    own_lock *lock = result == 0 ? bly_alloc(sizeof *lock) : NULL;
    if (lock == NULL) {
        return result != 0 ? result : BELAY_ENOMEM;
    }
    lock->lock.fd = -1;
    if (!store->is_memory) {
        result = bly_live_make(store->path, "own", &lock->lock, &error);
    }
    beginning self = {
        .opts = opts, .own = lock->lock.name, .live = opts->live != NULL ? opts->live->name : ""};
    if (result == 0) {
        result = bly_commit(store, begin, &self, true);
    }
    if (result != 0) {
        drop_lock(store, lock, true);
        return result;
    }
    lock->session = self.session;
    keep_lock(store, lock);
    *ret_session = self.session;
    return 0;
}

/* The session's next job to give back, after `last`. */
static int next_job(bly_tx *tx, const char *sql, uint64_t session, bly_job *ret_job)
{
    int64_t seq = 0;
    int result = bly_sql_number(tx->conn, sql, BLY_ARGS(BLY_INT(session)), &seq);
    return result != 0 ? result : bly_job_load(tx, (uint64_t)seq, ret_job);
}

/* Parked jobs of queues that nobody takes any more hold up nobody. */
static int leave_queues(bly_tx *tx, uint64_t session)
{
    int result = 0;
    int64_t queue = -1;
    while (result == 0) {
        result = bly_sql_number(
            tx->conn,
            "SELECT queue FROM session_queue AS mine WHERE session = ?1 AND queue > ?2 AND NOT"
            " EXISTS (SELECT 1 FROM session_queue JOIN session ON session.id ="
            " session_queue.session WHERE session_queue.queue = mine.queue AND"
            " session.ended_at IS NULL AND session.id <> ?1) ORDER BY queue LIMIT 1",
            BLY_ARGS(BLY_INT(session), BLY_INT(queue)), &queue);
        if (result == 0) {
            result = bly_limits_unpark_queue(tx, (uint64_t)queue);
        }
    }
    return result == BELAY_ENOENT ? 0 : result;
}

/* What one session leaves: some of it, until nothing is left and its row is closed. */
typedef struct leaving {
    uint64_t session;
    uint32_t jobs;
    bool is_over;
} leaving;

static int give_back(bly_tx *tx, leaving *self)
{
    bly_job job;
    int result = 0;
    while (result == 0 && self->jobs < RESCUE_MAX) {
        result = next_job(tx, "SELECT seq FROM job WHERE session = ? AND state IN (3, 4) LIMIT 1",
                          self->session, &job);
        if (result == 0) {
            result = bly_end_lost(tx, &job);
            self->jobs += result == 0;
        }
    }
    while (result == BELAY_ENOENT) {
        result = next_job(tx,
                          "SELECT seq FROM job WHERE owner = ? AND owner <> 0 AND state <= 6"
                          " LIMIT 1",
                          self->session, &job);
        if (result != 0) {
            break;
        }
        result = bly_job_end(tx, &job, BLY_JOB_CANCELED, BLY_END_CANCELED, 0);
        result = result == 0 ? BELAY_ENOENT : result;
    }
    return result;
}

static int leave(bly_tx *tx, void *arg)
{
    leaving *self = arg;
    self->jobs = 0;
    int result = bly_session_check(tx, self->session);
    if (result == 0) {
        result = give_back(tx, self);
    }
    if (result != BELAY_ENOENT) {
        return result;
    }
    self->is_over = true;
    tx->rings = true;
    result = bly_sql_run(tx->conn, "UPDATE session SET ended_at = ? WHERE id = ?",
                         BLY_ARGS(BLY_INT(tx->now_ns), BLY_INT(self->session)));
    return result == 0 ? leave_queues(tx, self->session) : result;
}

static int leave_all(bly_sqlite *store, uint64_t session, uint32_t *jobs)
{
    leaving self = {.session = session};
    int result = 0;
    while (result == 0 && !self.is_over) {
        result = bly_commit(store, leave, &self, true);
        *jobs += result == 0 ? self.jobs : 0;
    }
    return result;
}

int bly_sqlite_session_end(bly_store *base, uint64_t session)
{
    bly_sqlite *store = BLY_SQLITE(base);
    uint32_t jobs = 0;
    int result = leave_all(store, session, &jobs);
    own_lock *lock = take_lock(store, session);
    if (lock != NULL) {
        drop_lock(store, lock, result == 0);
    }
    return result == BELAY_ESTALE ? BELAY_ENOENT : result;
}

/* A session that may be dead. */
typedef struct suspect {
    uint64_t session;
    bool is_of_this_boot;
    int64_t pid, pid_start;
    char own[64], live[64];
} suspect;

typedef struct suspects {
    suspect *list;
    uint32_t count;
    uint64_t after; /* sessions up to this one have been looked at */
} suspects;

static void copy_name(char *to, size_t size, bly_bytes from)
{
    (void)snprintf(to, size, "%.*s", (int)from.len, from.len > 0 ? (const char *)from.data : "");
}

static int read_sessions(bly_tx *tx, void *arg)
{
    suspects *self = arg;
    bly_cursor cursor =
        bly_cursor_begin(tx->conn,
                         "SELECT id, boot = ?, own_lock, live_lock, pid, pid_start FROM session"
                         " WHERE ended_at IS NULL AND id > ? ORDER BY id LIMIT ?",
                         BLY_ARGS(BLY_BLOB(BLY_BYTES(tx->store->boot)), BLY_INT(self->after),
                                  BLY_INT(SESSIONS_MAX)));
    self->count = 0;
    while (self->count < SESSIONS_MAX && bly_cursor_next(&cursor)) {
        suspect *found = &self->list[self->count++];
        found->session = (uint64_t)bly_col(&cursor, 0);
        found->is_of_this_boot = bly_col(&cursor, 1) != 0;
        copy_name(found->own, sizeof found->own, bly_col_bytes(&cursor, 2));
        copy_name(found->live, sizeof found->live, bly_col_bytes(&cursor, 3));
        found->pid = bly_col(&cursor, 4);
        found->pid_start = bly_col(&cursor, 5);
    }
    return bly_cursor_end(&cursor);
}

/* Tries the lock of a file. *ret_fd: it, -1 when there is no such file. False: somebody has it. */
static bool try_lock(const bly_sqlite *store, const char *name, int *ret_fd)
{
    char path[BLY_PATH_MAX];
    *ret_fd = -1;
    if (*name == '\0' || bly_live_path(store->path, name, path) != 0) {
        return true;
    }
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return errno == ENOENT;
    }
    *ret_fd = fd;
    return flock(fd, LOCK_EX | LOCK_NB) == 0;
}

static void close_maybe(int fd)
{
    if (fd >= 0) {
        (void)close(fd);
    }
}

/* One session: left alone, waited for, or rescued. */
static int rescue_one(bly_sqlite *store, const suspect *who, uint32_t *jobs, uint32_t *pending)
{
    int own_fd = -1;
    int live_fd = -1;
    int result = 0;
    bool is_dead = true;
    if (who->is_of_this_boot) {
        is_dead = !store->is_memory && try_lock(store, who->own, &own_fd) &&
                  (own_fd >= 0 || bly_live_start_of((pid_t)who->pid) != who->pid_start);
        if (is_dead && !try_lock(store, who->live, &live_fd)) {
            uint32_t killed = 0;
            (void)bly_live_kill_holders(live_fd, &killed);
            is_dead = flock(live_fd, LOCK_EX | LOCK_NB) == 0;
            *pending += !is_dead;
        }
    }
    if (is_dead) {
        result = leave_all(store, who->session, jobs);
        if (result == 0) {
            remove_file(store, who->own);
            remove_file(store, who->live);
        }
        result = result == BELAY_ESTALE ? 0 : result;
    }
    close_maybe(live_fd);
    close_maybe(own_fd);
    return result;
}

int bly_sqlite_rescue(bly_store *base, uint32_t *ret_rescued, uint32_t *ret_pending)
{
    bly_sqlite *store = BLY_SQLITE(base);
    suspects found = {.list = bly_alloc(sizeof *found.list * SESSIONS_MAX)};
    *ret_rescued = *ret_pending = 0;
    if (found.list == NULL) {
        return BELAY_ENOMEM;
    }
    int result = 0;
    do {
        result = bly_read_tx(store, read_sessions, &found);
        for (uint32_t i = 0; result == 0 && i < found.count; i++) {
            result = rescue_one(store, &found.list[i], ret_rescued, ret_pending);
            found.after = found.list[i].session;
        }
    } while (result == 0 && found.count == SESSIONS_MAX);
    bly_free(found.list);
    return result;
}
