#include "store/sqlite_int.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int bly_problem(bly_store_error *ret_error, int problem, int detail, const char *format, ...)
{
    if (ret_error != NULL) {
        ret_error->problem = problem;
        ret_error->detail = detail;
        va_list args;
        va_start(args, format);
        (void)vsnprintf(ret_error->text, sizeof ret_error->text, format, args);
        va_end(args);
    }
    return problem == BLY_PROBLEM_DISK_FULL ? BELAY_EFULL : BELAY_EIO;
}

/* What SQLite's code means for a person. */
static int kind_of(const bly_conn *conn)
{
    switch (conn->code & 0xff) {
    case SQLITE_OK:
        return BLY_PROBLEM_NONE;
    case SQLITE_FULL:
        return BLY_PROBLEM_DISK_FULL;
    case SQLITE_CORRUPT:
        return BLY_PROBLEM_DAMAGED;
    case SQLITE_NOTADB:
        return BLY_PROBLEM_FOREIGN;
    case SQLITE_READONLY:
    case SQLITE_PERM:
        return BLY_PROBLEM_READ_ONLY;
    default:
        return conn->system_errno == ENOSPC ? BLY_PROBLEM_DISK_FULL : BLY_PROBLEM_IO;
    }
}

void bly_problem_of_conn(const bly_sqlite *store, const bly_conn *conn, bly_store_error *ret_error)
{
    int kind = kind_of(conn);
    const char *path = store->is_memory ? "memory:" : store->path;
    switch (kind) {
    case BLY_PROBLEM_NONE:
        *ret_error = (bly_store_error){.problem = BLY_PROBLEM_NONE};
        break;
    case BLY_PROBLEM_DISK_FULL:
        (void)bly_problem(ret_error, kind, conn->code,
                          "the disk of %s is full; make room there, nothing is lost", path);
        break;
    case BLY_PROBLEM_DAMAGED:
        (void)bly_problem(ret_error, kind, conn->code,
                          "%s is damaged (%s); put a copy of it aside and restore a backup", path,
                          sqlite3_errstr(conn->code));
        break;
    case BLY_PROBLEM_FOREIGN:
        (void)bly_problem(ret_error, kind, conn->code,
                          "%s is not a store of belay's; name another file", path);
        break;
    case BLY_PROBLEM_READ_ONLY:
        (void)bly_problem(ret_error, kind, conn->code,
                          "%s cannot be written; look at its permissions and its file system",
                          path);
        break;
    default:
        (void)bly_problem(ret_error, kind, conn->code, "%s: %s%s%s", path,
                          sqlite3_errstr(conn->code), conn->system_errno != 0 ? ": " : "",
                          conn->system_errno != 0 ? strerror(conn->system_errno) : "");
    }
}

void bly_sqlite_problem(bly_store *store, bly_store_error *ret_error)
{
    bly_sqlite *sqlite = BLY_SQLITE(store);
    bly_mutex_lock(&sqlite->mutex);
    *ret_error = sqlite->error;
    bly_mutex_unlock(&sqlite->mutex);
}
