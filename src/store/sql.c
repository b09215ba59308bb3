#include "store/sql_int.h"

#include "base/assert.h"

#include <string.h>

void (*bly_sql_hook)(void);

static void call_hook(void)
{
    if (bly_sql_hook != NULL) {
        bly_sql_hook();
    }
}

int bly_sql_error(bly_conn *conn, int code)
{
    if (conn->db != NULL) {
        code = sqlite3_extended_errcode(conn->db) != SQLITE_OK ? sqlite3_extended_errcode(conn->db)
                                                               : code;
        conn->system_errno = sqlite3_system_errno(conn->db);
    }
    conn->code = code;
    switch (code & 0xff) {
    case SQLITE_NOMEM:
        return BELAY_ENOMEM;
    case SQLITE_FULL:
        return BELAY_EFULL;
    default:
        /* A full disk is also seen as a failed write, by its errno. */
        return (code & 0xff) == SQLITE_IOERR && conn->system_errno == ENOSPC ? BELAY_EFULL
                                                                             : BELAY_EIO;
    }
}

/* The place of a literal: where it is kept, or the free one where it would be. */
static bly_sql *place_of(bly_conn *conn, const char *text)
{
    size_t at = ((uintptr_t)text >> 3) * 2654435761u % BLY_SQL_MAX;
    for (size_t i = 0; i < BLY_SQL_MAX; i++, at = (at + 1) % BLY_SQL_MAX) {
        if (conn->sql[at].text == text || conn->sql[at].text == NULL) {
            return &conn->sql[at];
        }
    }
    bly_abort("a connection keeps fewer statements than there are places", __FILE__, __LINE__);
}

static int prepare(bly_conn *conn, const char *text, sqlite3_stmt **ret_statement)
{
    bly_sql *place = place_of(conn, text);
    if (place->statement == NULL) {
        int code = sqlite3_prepare_v3(conn->db, text, -1, SQLITE_PREPARE_PERSISTENT,
                                      &place->statement, NULL);
        if (code != SQLITE_OK) {
            return bly_sql_error(conn, code);
        }
        place->text = text;
    }
    *ret_statement = place->statement;
    return 0;
}

static int bind_one(sqlite3_stmt *statement, int index, const bly_arg *arg)
{
    if (arg->is_null) {
        return sqlite3_bind_null(statement, index);
    }
    if (!arg->is_bytes) {
        return sqlite3_bind_int64(statement, index, arg->number);
    }
    /* Empty bytes are an empty blob, not NULL. The caller's memory outlives the run. */
    return arg->bytes.len == 0 ? sqlite3_bind_zeroblob(statement, index, 0)
                               : sqlite3_bind_blob64(statement, index, arg->bytes.data,
                                                     arg->bytes.len, SQLITE_STATIC);
}

bly_cursor bly_cursor_begin(bly_conn *conn, const char *sql, const bly_arg *args, size_t count)
{
    bly_cursor cursor = {.conn = conn};
    cursor.result = prepare(conn, sql, &cursor.statement);
    for (size_t i = 0; cursor.result == 0 && i < count; i++) {
        int code = bind_one(cursor.statement, (int)i + 1, &args[i]);
        if (code != SQLITE_OK) {
            cursor.result = bly_sql_error(conn, code);
        }
    }
    return cursor;
}

bool bly_cursor_next(bly_cursor *cursor)
{
    if (cursor->result != 0) {
        return false;
    }
    call_hook();
    int code = sqlite3_step(cursor->statement);
    if (code == SQLITE_ROW) {
        return true;
    }
    if (code != SQLITE_DONE) {
        cursor->result = bly_sql_error(cursor->conn, code);
    }
    return false;
}

int bly_cursor_end(bly_cursor *cursor)
{
    if (cursor->statement != NULL) {
        (void)sqlite3_reset(cursor->statement);
        (void)sqlite3_clear_bindings(cursor->statement);
    }
    return cursor->result;
}

int bly_sql_run(bly_conn *conn, const char *sql, const bly_arg *args, size_t count)
{
    bly_cursor cursor = bly_cursor_begin(conn, sql, args, count);
    while (bly_cursor_next(&cursor)) {
    }
    return bly_cursor_end(&cursor);
}

int64_t bly_sql_changes(bly_conn *conn)
{
    return sqlite3_changes64(conn->db);
}

int bly_sql_number(bly_conn *conn, const char *sql, const bly_arg *args, size_t count,
                   int64_t *ret_number)
{
    bly_cursor cursor = bly_cursor_begin(conn, sql, args, count);
    bool found = bly_cursor_next(&cursor);
    if (found) {
        *ret_number = bly_col(&cursor, 0);
    }
    int result = bly_cursor_end(&cursor);
    return result != 0 || found ? result : BELAY_ENOENT;
}

int bly_sql_script(bly_conn *conn, const char *sql)
{
    call_hook();
    int code = sqlite3_exec(conn->db, sql, NULL, NULL, NULL);
    return code == SQLITE_OK ? 0 : bly_sql_error(conn, code);
}

void bly_conn_close(bly_conn *conn)
{
    for (size_t i = 0; i < BLY_SQL_MAX; i++) {
        (void)sqlite3_finalize(conn->sql[i].statement);
    }
    int code = sqlite3_close(conn->db);
    bly_assert(code == SQLITE_OK);
    memset(conn, 0, sizeof *conn);
}
