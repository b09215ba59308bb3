/*
 * harness.h: a store in a folder of its own, on a clock that the test moves.
 */
#ifndef BELAY_TESTS_STORE_HARNESS_H
#define BELAY_TESTS_STORE_HARNESS_H

#include "../unit.h"
#include "invariants.h"

#include "belay/test.h"
#include "store/sqlite_int.h"
#include "sync/sync.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECOND INT64_C(1000000000)
#define START  (INT64_C(1700000000) * SECOND)

typedef struct harness {
    char folder[64];
    char path[128];
    belay_clock *clock;
    int64_t now_ns;
    bly_store *store;
    uint64_t session;
    uint32_t changes; /* atomic: threads of a test share it */
} harness;

/* After each change, of many after one of 64, the rules are asked of the file. */
static inline void harness_look(harness *h)
{
    uint32_t changes = bly_fetch_add(&h->changes, 1u, BLY_SEQ_CST);
    if (*h->path != '\0' && (changes < 100 || changes % 64 == 0)) {
        invariants_hold(h->path);
    }
}

static inline void harness_set(harness *h, int64_t now_ns)
{
    h->now_ns = now_ns;
    ck_assert_int_eq(belay_manual_clock_set_wall(h->clock, now_ns), 0);
}

static inline void harness_pass(harness *h, int64_t delay_ns)
{
    harness_set(h, h->now_ns + delay_ns);
}

static inline bly_store *harness_open(const harness *h)
{
    bly_store *store = NULL;
    bly_store_error error;
    bly_store_opts opts = {.size = sizeof opts, .clock = h->clock};
    int result = bly_store_open(h->path, &opts, &store, &error);
    ck_assert_msg(result == 0, "%d: %s", result, error.text);
    return store;
}

static inline void harness_folder(harness *h)
{
    strcpy(h->folder, "/tmp/belay-store-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(h->folder));
    snprintf(h->path, sizeof h->path, "%s/jobs.db", h->folder);
}

static inline void harness_begin(harness *h)
{
    memset(h, 0, sizeof *h);
    harness_folder(h);
    ck_assert_int_eq(belay_manual_clock_create(0, START, &h->clock), 0);
    harness_set(h, START);
    h->store = harness_open(h);
    bly_session_opts opts = {.size = sizeof opts, .slots = 4};
    ck_assert_int_eq(bly_store_session_begin(h->store, &opts, &h->session), 0);
}

static inline void harness_remove(const harness *h)
{
    char command[160];
    snprintf(command, sizeof command, "rm -rf %s", h->folder);
    ck_assert_int_eq(system(command), 0);
}

static inline int harness_count_open(bly_tx *tx, void *arg)
{
    sqlite3_stmt *at = NULL;
    while ((at = sqlite3_next_stmt(tx->conn->db, at)) != NULL) {
        *(int *)arg += sqlite3_stmt_busy(at) != 0;
    }
    return 0;
}

/* No operation has left a statement open, which would hold up the WAL. */
static inline void harness_none_open(harness *h)
{
    int count = 0;
    ck_assert_int_eq(bly_read_tx(BLY_SQLITE(h->store), harness_count_open, &count), 0);
    ck_assert_int_eq(bly_commit(BLY_SQLITE(h->store), harness_count_open, &count, false), 0);
    ck_assert_int_eq(count, 0);
}

/* The invariants are looked at with other code than the store's, then all is removed. */
static inline void harness_end(harness *h)
{
    harness_none_open(h);
    invariants_hold(h->path);
    bly_store_close(h->store, BELAY_FOREVER);
    (void)belay_manual_clock_destroy(h->clock);
    harness_remove(h);
}

static inline bly_new_job harness_job(const char *command)
{
    return (bly_new_job){
        .work = {.handler = BLY_BYTES("sh"), .command = BLY_BYTES(command), .umask = -1}};
}

static inline int harness_try_add(harness *h, const bly_new_job *job, bly_added *ret_added)
{
    int result = bly_store_add(h->store, job, 1, NULL, ret_added, NULL);
    harness_look(h);
    return result;
}

static inline uint64_t harness_add(harness *h, const bly_new_job *job)
{
    bly_added added;
    ck_assert_int_eq(harness_try_add(h, job, &added), 0);
    return added.seq;
}

static inline uint64_t harness_add_plain(harness *h, const char *command)
{
    bly_new_job job = harness_job(command);
    return harness_add(h, &job);
}

/* Claims one job and starts it; NULL: there is none. */
static inline bly_claimed *harness_claim(harness *h)
{
    bly_claim_result result;
    ck_assert_int_eq(bly_store_claim(h->store, h->session, 1, BLY_CLAIM_START, &result), 0);
    harness_look(h);
    return result.first;
}

/* Claims one job and returns its seq; 0: there is none. */
static inline uint64_t harness_claim_seq(harness *h)
{
    bly_claimed *claimed = harness_claim(h);
    uint64_t seq = claimed != NULL ? claimed->seq : 0;
    bly_claimed_free(claimed);
    return seq;
}

static inline void harness_note(bly_end *end, int result, void *arg)
{
    (void)end;
    *(int *)arg = result;
}

/* Claims one job; the report that it is done, whose result goes to *ret_result. */
static inline bly_end harness_claim_done(harness *h, int *ret_result)
{
    bly_claimed *claimed = harness_claim(h);
    ck_assert_ptr_nonnull(claimed);
    bly_end end = {.seq = claimed->seq,
                   .token = claimed->token,
                   .what = BLY_DO_DONE,
                   .reported = harness_note,
                   .arg = ret_result};
    bly_claimed_free(claimed);
    return end;
}

/* Reports and waits until that is stored; what the store says. */
static inline int harness_report(harness *h, uint64_t seq, uint64_t token, int what, int64_t code)
{
    int result = 1;
    bly_end end = {.seq = seq,
                   .token = token,
                   .what = what,
                   .how = BLY_END_EXITED,
                   .code = code,
                   .reported = harness_note,
                   .arg = &result};
    bly_store_end(h->store, &end);
    ck_assert_int_eq(bly_store_flush(h->store, BELAY_FOREVER), 0);
    harness_look(h);
    return result;
}

static inline int harness_end_claim(harness *h, bly_claimed *claimed, int what)
{
    int result = harness_report(h, claimed->seq, claimed->token, what, what == BLY_DO_DONE ? 0 : 1);
    bly_claimed_free(claimed);
    return result;
}

/* Claims the next job, expects it to be that one, and ends it well. */
static inline void harness_run(harness *h, uint64_t seq)
{
    bly_claimed *claimed = harness_claim(h);
    ck_assert_ptr_nonnull(claimed);
    ck_assert_uint_eq(claimed->seq, seq);
    ck_assert_int_eq(harness_end_claim(h, claimed, BLY_DO_DONE), 0);
}

static inline bly_rows *harness_find(harness *h, uint64_t seq)
{
    bly_rows *rows = NULL;
    bly_job_ref ref = {.seq = seq};
    ck_assert_int_eq(bly_store_find(h->store, &ref, &rows), 0);
    ck_assert_uint_eq(rows->count, 1);
    return rows;
}

static inline uint32_t harness_state(harness *h, uint64_t seq)
{
    bly_rows *rows = harness_find(h, seq);
    uint32_t state = rows->row[0].state;
    bly_rows_free(rows);
    return state;
}

#define assert_state(h, seq, expected)                                                             \
    ck_assert_str_eq(bly_job_state_name(harness_state(h, seq)), bly_job_state_name(expected))

#endif
