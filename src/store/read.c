/*
 * read.c: one moment of the store, read.
 *
 * Readers share one connection, which belongs to whoever holds the baton: a lock that may be held
 * over input and output. A read ends its transaction before it gives the baton back, so that the
 * WAL can be written back in between. In a memory store there is one connection, so the committer
 * reads.
 */
#include "store/sqlite_int.h"

int64_t bly_now(bly_sqlite *store)
{
    return store->clock->wall(store->clock);
}

void bly_baton_take(bly_sqlite *store)
{
    uint32_t expected = 0;
    /* acquire, with the release of bly_baton_give: what the last holder did is seen. */
    if (bly_cas(&store->baton, &expected, 1u, BLY_ACQUIRE, BLY_RELAXED)) {
        return;
    }
    while (bly_exchange(&store->baton, 2u, BLY_ACQUIRE) != 0) {
        (void)bly_futex_wait(&store->baton, 2u, BELAY_FOREVER);
    }
}

void bly_baton_give(bly_sqlite *store)
{
    /* release, with the acquire of bly_baton_take. */
    if (bly_exchange(&store->baton, 0u, BLY_RELEASE) == 2) {
        bly_futex_wake(&store->baton, 1);
    }
}

int bly_reader(bly_sqlite *store, bly_conn **ret_conn)
{
    /* A store that is only read has one connection, and nobody writes on it. */
    bly_conn *conn = store->is_read_only ? &store->writer : &store->reader;
    *ret_conn = conn;
    return conn->db != NULL ? 0 : bly_conn_open(store, conn, false, NULL);
}

static int read_locked(bly_sqlite *store, bly_tx_fn *fn, void *arg)
{
    bly_conn *conn = NULL;
    int result = bly_reader(store, &conn);
    if (result != 0) {
        return result;
    }
    bly_tx tx = {.store = store, .conn = conn, .now_ns = bly_now(store)};
    conn->code = SQLITE_OK;
    result = bly_sql_run(conn, "BEGIN", BLY_NO_ARGS);
    if (result != 0) {
        return result;
    }
    result = fn(&tx, arg);
    (void)bly_sql_run(conn, "ROLLBACK", BLY_NO_ARGS);
    return result;
}

int bly_read_tx(bly_sqlite *store, bly_tx_fn *fn, void *arg)
{
    if (store->is_memory) {
        return bly_commit(store, fn, arg, false);
    }
    bly_baton_take(store);
    int result = read_locked(store, fn, arg);
    bly_baton_give(store);
    return result;
}
