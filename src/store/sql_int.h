/*
 * sql_int.h: one connection to SQLite, its statements kept, and how they are run.
 *
 * A call names its statement by the literal itself, so that the SQL stands where it is used; the
 * connection keeps what was prepared under the literal's address. No statement is left open when a
 * function of the store returns: a cursor is ended by bly_cursor_end on every path.
 */
#ifndef BLY_STORE_SQL_INT_H
#define BLY_STORE_SQL_INT_H

#include "store/row.h"

#include <sqlite3.h>

#define BLY_SQL_MAX 512u /* statements a connection can keep; more than there are */

typedef struct bly_sql {
    const char *text; /* the literal; NULL: free */
    sqlite3_stmt *statement;
} bly_sql;

/* Used by one thread at a time: its owner's rules say which. */
typedef struct bly_conn {
    sqlite3 *db;
    bly_sql sql[BLY_SQL_MAX]; /* open addressing by the literal's address */
    int code;                 /* SQLite's extended code of the last failure; SQLITE_OK: none */
    int system_errno;         /* errno of that failure, when it had one */
} bly_conn;

/* A value of a statement. */
typedef struct bly_arg {
    bool is_bytes;
    bool is_null;
    int64_t number;
    bly_bytes bytes;
} bly_arg;

#define BLY_INT(value)   ((bly_arg){.number = (int64_t)(value)})
#define BLY_BLOB(value)  ((bly_arg){.is_bytes = true, .bytes = (value)})
#define BLY_MAYBE(value) ((bly_arg){.is_null = (value) == 0, .number = (int64_t)(value)})
#define BLY_OR_NULL(value)                                                                         \
    ((bly_arg){.is_bytes = true, .is_null = (value).len == 0, .bytes = (value)})
#define BLY_ARGS(...)                                                                              \
    (const bly_arg[]){__VA_ARGS__}, sizeof((const bly_arg[]){__VA_ARGS__}) / sizeof(bly_arg)
#define BLY_NO_ARGS NULL, 0

/*
 * Called before each step of a statement and each checkpoint; NULL: nothing is. For tests, which
 * set it before they open a store.
 */
extern void (*bly_sql_hook)(void);

/* bly_sql_error: the result that stands for the failure of the connection's last call. */
int bly_sql_error(bly_conn *conn, int code);

/* bly_sql_run: runs a statement without rows. */
int bly_sql_run(bly_conn *conn, const char *sql, const bly_arg *args, size_t count);

/* bly_sql_changes: rows that the last bly_sql_run changed. */
int64_t bly_sql_changes(bly_conn *conn);

/* bly_sql_number: the number in the first column of the first row. BELAY_ENOENT: no row. */
int bly_sql_number(bly_conn *conn, const char *sql, const bly_arg *args, size_t count,
                   int64_t *ret_number);

/* bly_sql_script: runs statements that are not kept. */
int bly_sql_script(bly_conn *conn, const char *sql);

/* bly_conn_close: ends all statements and the connection; checkpoints nothing. */
void bly_conn_close(bly_conn *conn);

typedef struct bly_cursor {
    bly_conn *conn;
    sqlite3_stmt *statement; /* NULL: it could not be prepared */
    int result;
} bly_cursor;

/*
 * bly_cursor_begin, _next, _end: the rows of a query. next: true: there is a row. end: 0, or what
 * went wrong since begin. The bytes of a row live until the next call.
 */
bly_cursor bly_cursor_begin(bly_conn *conn, const char *sql, const bly_arg *args, size_t count);
bool bly_cursor_next(bly_cursor *cursor);
int bly_cursor_end(bly_cursor *cursor);

static inline int64_t bly_col(const bly_cursor *cursor, int column)
{
    return sqlite3_column_int64(cursor->statement, column);
}

static inline bly_bytes bly_col_bytes(const bly_cursor *cursor, int column)
{
    const void *data = sqlite3_column_blob(cursor->statement, column);
    return (bly_bytes){data, (size_t)sqlite3_column_bytes(cursor->statement, column)};
}

#endif
