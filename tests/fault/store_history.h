/*
 * store_history.h: a history of a store, made of every kind of change, and its judge.
 *
 * `live` does it all, whatever fails on the way, and notes what was acknowledged; `judge` opens the
 * store afterwards, looks for all of that, and lets every job come to its end.
 */
#ifndef BELAY_TESTS_STORE_HISTORY_H
#define BELAY_TESTS_STORE_HISTORY_H

#include "../unit/unit.h"

#include "../unit/store/invariants.h"
#include "store/sqlite_int.h"

#include <sys/mman.h>
#include <unistd.h>

#define SECOND INT64_C(1000000000)

/* What has been acknowledged; written by the history, read by its judge. */
enum { NOTES_MAX = 64 };
typedef struct note {
    uint64_t seq;
    uint32_t state; /* it was acknowledged to be in; 0: only to exist */
    uint64_t token; /* of a claim; 0: none */
} note;

/* Shared with the children that are killed. */
typedef struct notes {
    uint32_t count; /* atomic */
    uint32_t is_over;
    note note[NOTES_MAX];
} notes;

static notes *said;
static char folder[64];
static char path[128];

static void acknowledge(uint64_t seq, uint32_t state, uint64_t token)
{
    uint32_t at = bly_load(&said->count, BLY_SEQ_CST);
    ck_assert_uint_lt(at, NOTES_MAX);
    said->note[at] = (note){seq, state, token};
    bly_store(&said->count, at + 1, BLY_SEQ_CST);
}

static void make_folder(void)
{
    /* Where a sync costs nothing, if there is such a place: there are thousands of them. */
    strcpy(folder, access("/dev/shm", W_OK) == 0 ? "/dev/shm/belay-fault-XXXXXX"
                                                 : "/tmp/belay-fault-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/jobs.db", folder);
}

static void remove_folder(void)
{
    char command[160];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
}

static void forget(void)
{
    memset(said, 0, sizeof *said);
}

static void make_notes(void)
{
    said = mmap(NULL, sizeof *said, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(said, MAP_FAILED);
}

static bly_new_job a_job(const char *command)
{
    return (bly_new_job){
        .work = {.handler = BLY_BYTES("sh"), .command = BLY_BYTES(command), .umask = -1}};
}

/* An expected failure is one of these; anything else is a defect. */
static bool failed(int result)
{
    bool is_known = result == 0 || result == BELAY_STILL_RUNNING || result == BELAY_EIO ||
                    result == BELAY_EFULL || result == BELAY_ENOMEM || result == BELAY_ESTALE ||
                    result == BELAY_ENOENT || result == BELAY_ETOOLATE || result == BELAY_EEXIST ||
                    result == BELAY_EAGAIN;
    ck_assert_msg(is_known, "%s", belay_err_name(result));
    return result < 0;
}

static uint64_t add(bly_store *store, const bly_new_job *job)
{
    bly_added added = {0};
    if (failed(bly_store_add(store, job, 1, NULL, &added, NULL))) {
        return 0;
    }
    acknowledge(added.seq, 0, 0);
    return added.seq;
}

static void note_result(bly_end *end, int result, void *arg)
{
    (void)end;
    *(int *)arg = result;
}

static void finish(bly_store *store, bly_claimed *claimed, int what, uint32_t state)
{
    int result = 1;
    if (claimed == NULL) {
        return;
    }
    bly_end end = {.seq = claimed->seq,
                   .token = claimed->token,
                   .what = what,
                   .how = BLY_END_EXITED,
                   .reported = note_result,
                   .arg = &result};
    bly_store_end(store, &end);
    ck_assert_int_eq(bly_store_flush(store, BELAY_FOREVER), 0);
    if (result == 0 && state != 0) {
        acknowledge(claimed->seq, state, claimed->token);
    }
    bly_claimed_free(claimed);
}

static bly_claimed *claim(bly_store *store, uint64_t session, uint32_t flags)
{
    bly_claim_result result;
    if (failed(bly_store_claim(store, session, 1, flags, &result)) || result.first == NULL) {
        return NULL;
    }
    acknowledge(result.first->seq, 0, result.first->token);
    return result.first;
}

/* Jobs with all there is to a job. */
static void add_some(bly_store *store)
{
    bly_want want = {.name = BLY_BYTES("db"), .capacity = 1};
    bly_new_job job = a_job("limited");
    job.wants = &want;
    job.want_count = 1;
    job.tries = 2;
    job.backoff_ns = 1;
    uint64_t first = add(store, &job);
    (void)add(store, &job);
    bly_after after = {.job = {.seq = first}, .is_any = true};
    job = a_job("after");
    job.after = &after;
    job.after_count = first != 0;
    (void)add(store, &job);
    job = a_job("recurring");
    job.id = BLY_BYTES("tick");
    job.schedule = (bly_schedule){.kind = BLY_SCHEDULE_EVERY, .period_ns = 3600 * SECOND};
    (void)add(store, &job);
    job = a_job("named");
    job.id = BLY_BYTES("named");
    job.priority = -1;
    (void)add(store, &job);
    job.work.command = BLY_BYTES("replaced");
    job.flags = BLY_NEW_REPLACE;
    uint64_t named = add(store, &job);
    bly_job_ref ref = {.seq = named};
    if (named != 0 && !failed(bly_store_cancel(store, &ref))) {
        acknowledge(named, BLY_JOB_CANCELED, 0);
    }
}

/* What owners do to jobs and what stands beside them. */
static void control_some(bly_store *store)
{
    bly_table *table = NULL;
    bly_new_job job = a_job("of a batch");
    int result = bly_store_batch_begin(store, BLY_BYTES("b"), BLY_BYTES("d"), 0, &table);
    if (!failed(result)) {
        job.batch = table->of.batch[0].batch;
        bly_table_free(table);
    }
    uint64_t seq = add(store, &job);
    bly_job_ref ref = {.seq = seq};
    bly_edit edit = {.has_priority = true, .priority = -3, .has_tries = true, .tries = 3};
    if (seq != 0) {
        (void)failed(bly_store_edit(store, &ref, &edit));
        (void)failed(bly_store_pause(store, BLY_PAUSE_JOB, &ref, (bly_bytes){0}));
        (void)failed(bly_store_unpause(store, BLY_PAUSE_JOB, &ref, (bly_bytes){0}));
        (void)failed(bly_store_cancel(store, &ref));
        (void)failed(bly_store_retry(store, &ref, NULL));
    }
    (void)failed(bly_store_limit(store, BLY_BYTES("db"), 2));
    (void)failed(bly_store_queue(store, BLY_BYTES("default"), 5));
    (void)failed(bly_store_pause(store, BLY_PAUSE_QUEUE, NULL, BLY_BYTES("default")));
    (void)failed(bly_store_unpause(store, BLY_PAUSE_QUEUE, NULL, BLY_BYTES("default")));
    if (job.batch != 0) {
        (void)failed(bly_store_cancel_batch(store, job.batch, NULL, NULL));
        (void)failed(bly_store_batch_end(store, job.batch, 1));
    }
}

static void work_some(bly_store *store, uint64_t session)
{
    finish(store, claim(store, session, BLY_CLAIM_START), BLY_DO_FAIL, 0);
    bly_claimed *claimed = claim(store, session, 0);
    if (claimed != NULL) {
        bly_claim_ref ref = {.seq = claimed->seq, .token = claimed->token};
        bool is_started = !failed(bly_store_start(store, &ref, 1)) && ref.result == 0;
        finish(store, claimed, is_started ? BLY_DO_DONE : BLY_DO_GIVE_BACK,
               is_started ? BLY_JOB_DONE : 0);
    }
    for (int i = 0; i < 2; i++) {
        finish(store, claim(store, session, BLY_CLAIM_START), BLY_DO_DONE, BLY_JOB_DONE);
    }
    finish(store, claim(store, session, 0), BLY_DO_GIVE_BACK, 0);
    bly_claimed_free(claim(store, session, BLY_CLAIM_START)); /* left running */
}

/* The history. */
static void live(const char *vfs)
{
    bly_store *store = NULL;
    bly_store_opts opts = {.size = sizeof opts, .vfs = vfs};
    bly_store_error error;
    if (failed(bly_store_open(path, &opts, &store, &error))) {
        ck_assert_int_ne(error.problem, BLY_PROBLEM_NONE);
        return;
    }
    uint64_t session = 0;
    bly_session_opts session_opts = {.size = sizeof session_opts};
    bool has_session = !failed(bly_store_session_begin(store, &session_opts, &session));
    add_some(store);
    control_some(store);
    if (has_session) {
        work_some(store, session);
    }
    bly_rows *rows = NULL;
    bly_query query = {.flags = BLY_LIST_WHY | BLY_LIST_WORK};
    if (!failed(bly_store_list(store, &query, &rows))) {
        bly_rows_free(rows);
    }
    bly_gc_opts gc = {.size = sizeof gc, .keep_ns = 3600 * SECOND};
    (void)failed(bly_store_gc(store, &gc, NULL));
    if (has_session) {
        (void)failed(bly_store_session_end(store, session));
    }
    bly_store_close(store, BELAY_FOREVER);
    said->is_over = 1;
}

static uint32_t state_of(bly_store *store, uint64_t seq, uint64_t *ret_token)
{
    bly_rows *rows = NULL;
    bly_job_ref ref = {.seq = seq};
    int result = bly_store_find(store, &ref, &rows);
    ck_assert_msg(result == 0, "job %d was acknowledged and is gone (%s)", (int)seq,
                  belay_err_name(result));
    uint32_t state = rows->row[0].state;
    *ret_token = rows->row[0].token;
    bly_rows_free(rows);
    return state;
}

/* All that was acknowledged is there, and the store goes on: each job comes to an end. */
static void judge(uint32_t count)
{
    bly_store *store = NULL;
    bly_store_error error;
    uint64_t token = 0;
    uint64_t highest = 0;
    int result = bly_store_open(path, NULL, &store, &error);
    ck_assert_msg(result == 0, "%s", error.text);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t state = state_of(store, said->note[i].seq, &token);
        ck_assert_msg(said->note[i].state == 0 || state == said->note[i].state,
                      "job %d was %s and is %s", (int)said->note[i].seq,
                      bly_job_state_name(said->note[i].state), bly_job_state_name(state));
        highest = said->note[i].token > highest ? said->note[i].token : highest;
    }
    invariants_hold(path);
    uint64_t session = 0;
    bly_session_opts opts = {.size = sizeof opts};
    ck_assert_int_eq(bly_store_session_begin(store, &opts, &session), 0);
    invariants_hold(path);
    /* It may have ended while its queue was paused. */
    ck_assert_int_eq(bly_store_unpause(store, BLY_PAUSE_QUEUE, NULL, BLY_BYTES("default")), 0);
    bly_new_job job = a_job("afterwards");
    bly_added added;
    ck_assert_int_eq(bly_store_add(store, &job, 1, NULL, &added, NULL), 0);
    for (;;) {
        bly_claim_result claimed;
        ck_assert_int_eq(bly_store_claim(store, session, 1, BLY_CLAIM_START, &claimed), 0);
        if (claimed.first == NULL) {
            break;
        }
        ck_assert_uint_gt(claimed.first->token, highest);
        highest = claimed.first->token;
        finish(store, claimed.first, BLY_DO_DONE, 0);
    }
    ck_assert_uint_eq(state_of(store, added.seq, &token), BLY_JOB_DONE);
    ck_assert_int_eq(bly_store_check(store), 0);
    invariants_hold(path);
    bly_store_close(store, BELAY_FOREVER);
}

#endif
