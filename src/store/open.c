/*
 * open.c: a store is opened and closed.
 *
 * Opening: the files are looked at, the writer lock is taken, SQLite opens the file and is set up,
 * a newer, foreign or damaged file is refused, an older one is brought up to date, and the
 * committer starts. After a reboot the whole file is checked once, since that is when a disk may
 * have lied, and tokens go on behind the last reservation.
 */
#include "store/sqlite_int.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BUSY_TIMEOUT_MS 10000 /* for a shell of SQLite that holds its lock */

static int set_up(bly_conn *conn, bool is_writer)
{
    (void)sqlite3_extended_result_codes(conn->db, 1);
    (void)sqlite3_busy_timeout(conn->db, BUSY_TIMEOUT_MS);
    (void)sqlite3_db_config(conn->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    (void)sqlite3_db_config(conn->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    (void)sqlite3_db_config(conn->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    (void)sqlite3_wal_autocheckpoint(conn->db, 0);
    int result = bly_sql_script(conn, "PRAGMA temp_store = MEMORY; PRAGMA cell_size_check = ON;"
                                      "PRAGMA cache_size = -8000;");
    return result != 0 || is_writer ? result : bly_sql_script(conn, "PRAGMA query_only = ON");
}

int bly_conn_open(bly_sqlite *store, bly_conn *conn, bool is_writer, bly_store_error *ret_error)
{
    int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_PRIVATECACHE |
                (store->is_read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE) |
                (store->is_memory ? SQLITE_OPEN_MEMORY | SQLITE_OPEN_CREATE : 0);
    int code =
        sqlite3_open_v2(store->is_memory ? ":memory:" : store->path, &conn->db, flags, store->vfs);
    int result = code == SQLITE_OK ? set_up(conn, is_writer) : bly_sql_error(conn, code);
    if (result != 0) {
        if (ret_error != NULL) {
            bly_problem_of_conn(store, conn, ret_error);
        }
        bly_conn_close(conn);
    }
    return result;
}

static int damaged(bly_sqlite *store, const char *what, bly_store_error *ret_error)
{
    return bly_problem(ret_error, BLY_PROBLEM_DAMAGED, 0,
                       "%s is damaged (%s); put a copy of it aside and restore a backup",
                       store->path, what);
}

/* Reads the whole file when `is_whole`; else what SQLite saw while it opened is enough. */
static int check_structure(bly_sqlite *store, bly_store_error *ret_error)
{
    char text[128] = "";
    bly_cursor cursor = bly_cursor_begin(&store->writer, "PRAGMA quick_check(1)", BLY_NO_ARGS);
    if (bly_cursor_next(&cursor)) {
        bly_bytes found = bly_col_bytes(&cursor, 0);
        (void)snprintf(text, sizeof text, "%.*s", (int)found.len, (const char *)found.data);
    }
    int result = bly_cursor_end(&cursor);
    if (result != 0) {
        bly_problem_of_conn(store, &store->writer, ret_error);
        return result;
    }
    return strcmp(text, "ok") == 0 ? 0 : damaged(store, text, ret_error);
}

/* What kind of file it is. Gives the version of its schema; 0: it is empty. */
static int identify(bly_sqlite *store, int64_t *ret_version, bly_store_error *ret_error)
{
    int64_t application = 0;
    int64_t tables = 0;
    bly_conn *conn = &store->writer;
    int result = bly_sql_number(conn, "PRAGMA application_id", BLY_NO_ARGS, &application);
    if (result == 0) {
        result = bly_sql_number(conn, "PRAGMA user_version", BLY_NO_ARGS, ret_version);
    }
    if (result == 0) {
        result = bly_sql_number(conn, "SELECT count(*) FROM sqlite_schema", BLY_NO_ARGS, &tables);
    }
    if (result != 0) {
        bly_problem_of_conn(store, conn, ret_error);
        return result;
    }
    if (application != BLY_APPLICATION_ID && (application != 0 || tables != 0)) {
        return bly_problem(ret_error, BLY_PROBLEM_FOREIGN, 0,
                           "%s is not a store of belay's; name another file", store->path);
    }
    if (*ret_version > BLY_SCHEMA_VERSION) {
        return bly_problem(ret_error, BLY_PROBLEM_NEWER, (int)*ret_version,
                           "%s was made by a newer belay (store version %lld, this one knows %d); "
                           "use that one",
                           store->path, (long long)*ret_version, BLY_SCHEMA_VERSION);
    }
    return 0;
}

/* A file system without shared memory keeps SQLite from its WAL, which all the rest stands on. */
static int use_wal(bly_sqlite *store)
{
    bly_cursor cursor = bly_cursor_begin(&store->writer, "PRAGMA journal_mode = WAL", BLY_NO_ARGS);
    bool is_wal = false;
    if (bly_cursor_next(&cursor)) {
        bly_bytes mode = bly_col_bytes(&cursor, 0);
        is_wal = mode.len == 3 && memcmp(mode.data, "wal", 3) == 0;
    }
    int result = bly_cursor_end(&cursor);
    if (result == 0 && !is_wal) {
        store->writer.code = SQLITE_IOERR_SHMMAP;
        return BELAY_EIO;
    }
    return result;
}

/* The pragmas that are kept in the file come before its first table. */
static int make_file_format(bly_sqlite *store, int64_t version)
{
    int result = 0;
    if (version == 0) {
        result = bly_sql_script(&store->writer, "PRAGMA page_size = 4096;"
                                                "PRAGMA auto_vacuum = INCREMENTAL;");
    }
    return result == 0 && !store->is_memory ? use_wal(store) : result;
}

static int migrate(bly_sqlite *store, int64_t version)
{
    bly_conn *conn = &store->writer;
    int result = bly_sql_script(conn, "PRAGMA synchronous = FULL");
    store->synchronous = 2;
    if (result != 0 || version == BLY_SCHEMA_VERSION) {
        return result;
    }
    result = bly_sql_script(conn, "BEGIN IMMEDIATE");
    if (result == 0) {
        result = bly_sql_script(conn, "PRAGMA application_id = 1650814073");
    }
    if (result == 0) {
        result = bly_schema_migrate(conn, version);
    }
    if (result == 0) {
        result = bly_sql_script(conn, "COMMIT");
    }
    if (result != 0 && !sqlite3_get_autocommit(conn->db)) {
        bly_store_error kept;
        bly_problem_of_conn(store, conn, &kept);
        int code = conn->code;
        (void)sqlite3_exec(conn->db, "ROLLBACK", NULL, NULL, NULL);
        conn->code = code;
    }
    return result;
}

/* The machine has booted since: tokens of claims whose commits were not synced are passed over. */
static int note_boot(bly_sqlite *store, bool *ret_is_new)
{
    bly_conn *conn = &store->writer;
    bly_bytes boot = {store->boot, strlen(store->boot)};
    int64_t same = 0;
    int result = bly_sql_number(conn, "SELECT count(*) FROM meta WHERE name = 'boot' AND words = ?",
                                BLY_ARGS(BLY_BLOB(boot)), &same);
    *ret_is_new = result == 0 && same == 0;
    if (result != 0 || same != 0) {
        return result;
    }
    result = bly_sql_script(conn, "BEGIN IMMEDIATE");
    if (result == 0) {
        result = bly_sql_run(conn,
                             "UPDATE meta SET number = (SELECT number FROM meta"
                             " WHERE name = 'token_reserved') WHERE name = 'token'",
                             BLY_NO_ARGS);
    }
    if (result == 0) {
        result = bly_sql_run(conn,
                             "INSERT INTO meta (name, number, words) VALUES ('boot', 0, ?)"
                             " ON CONFLICT (name) DO UPDATE SET words = excluded.words",
                             BLY_ARGS(BLY_BLOB(boot)));
    }
    return result != 0 ? result : bly_sql_script(conn, "COMMIT");
}

/* All that is done with the file under the writer lock. */
static int open_locked(bly_sqlite *store, bly_store_error *ret_error)
{
    int64_t version = 0;
    bool is_new_boot = false;
    int result = bly_conn_open(store, &store->writer, !store->is_read_only, ret_error);
    if (result != 0) {
        return result;
    }
    result = identify(store, &version, ret_error);
    if (result != 0) {
        return result;
    }
    if (store->is_read_only) {
        return version == BLY_SCHEMA_VERSION
                   ? 0
                   : bly_problem(ret_error, BLY_PROBLEM_FOREIGN, 0,
                                 "%s has not been brought up to date; open it once for writing",
                                 store->path);
    }
    result = make_file_format(store, version);
    if (result == 0) {
        result = migrate(store, version);
    }
    if (result == 0) {
        result = note_boot(store, &is_new_boot);
    }
    if (result != 0) {
        bly_problem_of_conn(store, &store->writer, ret_error);
        return result;
    }
    return is_new_boot && version != 0 ? check_structure(store, ret_error) : 0;
}

static int open_beside(bly_sqlite *store, bly_store_error *ret_error)
{
    char name[BLY_PATH_MAX];
    int flags = store->is_read_only ? O_RDONLY : O_RDWR | O_CREAT;
    (void)snprintf(name, sizeof name, "%s.bell", store->path);
    store->bell_fd = bly_files_open(name, flags, ret_error);
    if (store->bell_fd < 0 || store->is_read_only) {
        return store->bell_fd < 0 ? BELAY_EIO : 0;
    }
    (void)snprintf(name, sizeof name, "%s.lock", store->path);
    store->lock_fd = bly_files_open(name, flags, ret_error);
    return store->lock_fd < 0 ? BELAY_EIO : 0;
}

static void forget(bly_sqlite *store)
{
    bly_session_forget(store);
    bly_conn_close(&store->writer);
    bly_conn_close(&store->reader);
    if (store->lock_fd >= 0) {
        (void)close(store->lock_fd);
    }
    if (store->bell_fd >= 0) {
        (void)close(store->bell_fd);
    }
    bly_mutex_destroy(&store->mutex);
    bly_free(store);
}

static void init(bly_sqlite *store, const char *path, const bly_store_opts *opts)
{
    store->base.ops = &bly_sqlite_ops;
    store->is_memory = strcmp(path, "memory:") == 0;
    store->is_read_only = opts->is_read_only;
    store->clock = opts->clock != NULL ? opts->clock : belay_clock_system();
    store->next_fn = opts->next;
    store->next_arg = opts->next_arg;
    store->window_ns = opts->window_ns != 0 ? opts->window_ns : INT64_C(2000000);
    store->vfs = opts->vfs;
    store->lock_fd = store->bell_fd = -1;
    bly_list_init(&store->watches);
    store->last = &store->first;
    store->end_last = &store->end_first;
    bly_files_boot(store->boot, sizeof store->boot);
}

static int open_file(bly_sqlite *store, const char *path, const bly_store_opts *opts,
                     bly_store_error *ret_error)
{
    int result = bly_files_prepare(store, path, opts->may_be_network, ret_error);
    if (result == 0 && store->is_read_only && access(store->path, F_OK) != 0) {
        (void)bly_problem(ret_error, BLY_PROBLEM_IO, errno, "there is no store %s", store->path);
        return BELAY_ENOENT;
    }
    if (result == 0) {
        result = open_beside(store, ret_error);
    }
    if (result != 0) {
        return result;
    }
    if (store->is_read_only) {
        return open_locked(store, ret_error);
    }
    result = bly_writer_lock(store);
    if (result != 0) {
        return bly_problem(ret_error, BLY_PROBLEM_IO, errno, "%s.lock cannot be locked: %s",
                           store->path, strerror(errno));
    }
    result = open_locked(store, ret_error);
    bly_writer_unlock(store);
    return result;
}

int bly_sqlite_open(const char *path, const bly_store_opts *opts, bly_store **ret_store,
                    bly_store_error *ret_error)
{
    bly_sqlite *store = bly_alloc(sizeof *store);
    if (store == NULL) {
        (void)bly_problem(ret_error, BLY_PROBLEM_IO, ENOMEM, "no memory");
        return BELAY_ENOMEM;
    }
    init(store, path, opts);
    int result =
        store->is_memory ? open_locked(store, ret_error) : open_file(store, path, opts, ret_error);
    if (result == 0 && !store->is_read_only) {
        result = bly_commit_start(store);
        if (result != 0) {
            (void)bly_problem(ret_error, BLY_PROBLEM_IO, EAGAIN, "no thread can be started");
        }
    }
    if (result != 0) {
        forget(store);
        return result;
    }
    *ret_store = &store->base;
    return 0;
}

void bly_sqlite_close(bly_store *base, int64_t deadline_ns)
{
    bly_sqlite *store = BLY_SQLITE(base);
    if (!store->is_read_only) {
        bly_commit_stop(store, deadline_ns);
    }
    forget(store);
}

static const char *path_of(const bly_store *base)
{
    const bly_sqlite *store = bly_container(base, const bly_sqlite, base);
    return store->path;
}

const bly_store_ops bly_sqlite_ops = {
    .close = bly_sqlite_close,
    .problem = bly_sqlite_problem,
    .path = path_of,
    .add = bly_sqlite_add,
    .edit = bly_sqlite_edit,
    .session_begin = bly_sqlite_session_begin,
    .session_end = bly_sqlite_session_end,
    .rescue = bly_sqlite_rescue,
    .claim = bly_sqlite_claim,
    .claim_one = bly_sqlite_claim_one,
    .take = bly_sqlite_take,
    .start = bly_sqlite_start,
    .end = bly_commit_end,
    .flush = bly_commit_flush,
    .orders = bly_sqlite_orders,
    .cancel = bly_sqlite_cancel,
    .cancel_batch = bly_sqlite_cancel_batch,
    .retry = bly_sqlite_retry,
    .retry_all = bly_sqlite_retry_all,
    .pause = bly_sqlite_pause,
    .limit = bly_sqlite_limit,
    .queue = bly_sqlite_queue,
    .batch_begin = bly_sqlite_batch_begin,
    .batch_end = bly_sqlite_batch_end,
    .list = bly_sqlite_list,
    .find = bly_sqlite_find,
    .table = bly_sqlite_table,
    .stats = bly_sqlite_stats,
    .watch_create = bly_sqlite_watch_create,
    .watch_destroy = bly_sqlite_watch_destroy,
    .watch_fd = bly_sqlite_watch_fd,
    .watch_check = bly_sqlite_watch_check,
    .watch_wait = bly_sqlite_watch_wait,
    .gc = bly_sqlite_gc,
    .check = bly_sqlite_check,
};
