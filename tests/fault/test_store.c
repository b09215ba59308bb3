/*
 * test_store.c: nothing that a store has acknowledged is lost, whatever fails and whoever is killed
 * whenever.
 *
 * One history, made of every kind of change, is run again and again: each time another call of the
 * file layer fails, or the process is killed before another statement. What was acknowledged on
 * the way is noted, and must be there afterwards.
 */
#include "../unit/unit.h"

#include "../unit/store/invariants.h"
#include "store/sqlite_int.h"
#include "store_vfs.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
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
    (void)claim(store, session, BLY_CLAIM_START); /* left running */
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

/* Runs the history with each call of the file layer failing once. */
static void fail_each(int code)
{
    make_notes();
    faulty_register();
    faulty_code = code;
    for (uint32_t k = 1;; k++) {
        make_folder();
        forget();
        bly_store(&faulty_calls, 0u, BLY_SEQ_CST);
        bly_store(&faulty_failed, 0u, BLY_SEQ_CST);
        bly_store(&faulty_fail_at, k, BLY_SEQ_CST);
        live("faulty");
        bly_store(&faulty_fail_at, 0u, BLY_SEQ_CST);
        judge(said->count);
        remove_folder();
        if (bly_load(&faulty_failed, BLY_SEQ_CST) == 0) {
            ck_assert_uint_gt(k, 100);
            break;
        }
    }
}

START_TEST(each_call_of_the_file_layer_fails_with_an_error_of_the_disk)
{
    fail_each(SQLITE_IOERR);
}
END_TEST

START_TEST(each_call_of_the_file_layer_fails_for_want_of_room)
{
    fail_each(SQLITE_FULL);
}
END_TEST

/* SQLite's own allocations: each ALLOC_STEP-th fails once, so that a run stays short. */
enum { ALLOC_STEP = 37 };
static sqlite3_mem_methods real_memory;

static void *starved_malloc(int size)
{
    return faulty_now() ? NULL : real_memory.xMalloc(size);
}

static void *starved_realloc(void *block, int size)
{
    return faulty_now() ? NULL : real_memory.xRealloc(block, size);
}

START_TEST(allocations_of_the_database_fail)
{
    ck_assert_int_eq(sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real_memory), SQLITE_OK);
    sqlite3_mem_methods starved = real_memory;
    starved.xMalloc = starved_malloc;
    starved.xRealloc = starved_realloc;
    ck_assert_int_eq(sqlite3_config(SQLITE_CONFIG_MALLOC, &starved), SQLITE_OK);
    make_notes();
    for (uint32_t k = 1;; k += ALLOC_STEP) {
        make_folder();
        forget();
        bly_store(&faulty_calls, 0u, BLY_SEQ_CST);
        bly_store(&faulty_failed, 0u, BLY_SEQ_CST);
        bly_store(&faulty_fail_at, k, BLY_SEQ_CST);
        live(NULL);
        bly_store(&faulty_fail_at, 0u, BLY_SEQ_CST);
        judge(said->count);
        remove_folder();
        if (bly_load(&faulty_failed, BLY_SEQ_CST) == 0) {
            ck_assert_uint_gt(k, 1000);
            break;
        }
    }
}
END_TEST

/* The process is killed before its nth statement. */
static uint32_t steps_left;

static void die_at_step(void)
{
    if (bly_fetch_sub(&steps_left, 1u, BLY_SEQ_CST) == 1) {
        (void)kill(getpid(), SIGKILL);
    }
}

START_TEST(a_kill_before_any_statement_loses_nothing)
{
    make_notes();
    for (uint32_t k = 1;; k++) {
        make_folder();
        forget();
        pid_t pid = fork();
        ck_assert_int_ge(pid, 0);
        if (pid == 0) {
            bly_store(&steps_left, k, BLY_SEQ_CST);
            bly_sql_hook = die_at_step;
            live(NULL);
            _exit(0);
        }
        int status = 0;
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        ck_assert(WIFEXITED(status) ? WEXITSTATUS(status) == 0 : WTERMSIG(status) == SIGKILL);
        /* A store that was not whole is whole when it is opened next. */
        judge(bly_load(&said->count, BLY_SEQ_CST));
        remove_folder();
        if (WIFEXITED(status)) {
            ck_assert_uint_gt(k, 100);
            break;
        }
    }
}
END_TEST

/* What was synced by then, and how much had been acknowledged: a crash of the machine. */
enum { IMAGES_MAX = 512 };
static uint32_t image_count;
static uint32_t image_notes[IMAGES_MAX];
static char image_root[64];

static void copy_folder(const char *from, const char *to)
{
    char command[400];
    snprintf(command, sizeof command, "cp -r %s %s", from, to);
    ck_assert_int_eq(system(command), 0);
}

static void take_image(void)
{
    char to[128];
    ck_assert_uint_lt(image_count, IMAGES_MAX);
    image_notes[image_count] = bly_load(&said->count, BLY_SEQ_CST);
    snprintf(to, sizeof to, "%s/%u", image_root, image_count);
    image_count++;
    copy_folder(faulty_image, to);
}

/* The machine has booted since: the store cannot know that it is the same one. */
static void boot_again(void)
{
    sqlite3 *db = NULL;
    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    (void)sqlite3_exec(db,
                       "UPDATE meta SET words = x'00' WHERE name = 'boot';"
                       "UPDATE session SET boot = x'00'",
                       NULL, NULL, NULL);
    ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
}

START_TEST(what_was_acknowledged_survives_a_power_cut_at_any_sync)
{
    make_notes();
    make_folder();
    faulty_register();
    strcpy(image_root, folder);
    snprintf(path, sizeof path, "%s/live/jobs.db", folder);
    snprintf(faulty_image, sizeof faulty_image, "%s/image", folder);
    ck_assert_int_eq(mkdir(faulty_image, 0700), 0);
    umask(077);
    faulty_before_sync = take_image;
    live("faulty");
    faulty_before_sync = NULL;
    take_image();
    ck_assert_uint_eq(said->is_over, 1);
    ck_assert_uint_gt(image_count, 15);
    for (uint32_t i = 0; i < image_count; i++) {
        snprintf(path, sizeof path, "%s/%u/jobs.db", image_root, i);
        if (image_notes[i] == 0 && access(path, F_OK) != 0) {
            continue; /* nothing had been synced, and nothing said */
        }
        boot_again();
        judge(image_notes[i]);
    }
    remove_folder();
}
END_TEST

/* Workers that are killed at random moments; what they said is done stays done. */
typedef struct tally {
    uint32_t done[20000]; /* atomic: by seq, the times that its end was acknowledged */
    uint32_t started[20000];
} tally;

static tally *counts;

static _Noreturn void be_worker(void)
{
    bly_store *store = NULL;
    bly_session_opts opts = {.size = sizeof opts};
    uint64_t session = 0;
    while (bly_store_open(path, NULL, &store, NULL) != 0 ||
           bly_store_session_begin(store, &opts, &session) != 0) {
    }
    for (;;) {
        bly_new_job job = a_job("x");
        bly_want want = {.name = BLY_BYTES("db"), .permits = 1, .capacity = 2};
        job.wants = &want;
        job.want_count = 1;
        job.lost_max = 1000;
        bly_added added;
        if (bly_store_add(store, &job, 1, NULL, &added, NULL) == 0 && added.seq < 20000) {
            bly_claim_result result;
            (void)bly_store_rescue(store, NULL, NULL);
            if (bly_store_claim(store, session, 2, BLY_CLAIM_START, &result) != 0) {
                continue;
            }
            while (result.first != NULL) {
                bly_claimed *one = result.first;
                result.first = one->next;
                uint64_t seq = one->seq;
                int ended = 1;
                bly_end end = {.seq = seq,
                               .token = one->token,
                               .what = BLY_DO_DONE,
                               .reported = note_result,
                               .arg = &ended};
                bly_store_end(store, &end);
                (void)bly_store_flush(store, BELAY_FOREVER);
                if (ended == 0 && seq < 20000) {
                    (void)bly_fetch_add(&counts->done[seq], 1u, BLY_SEQ_CST);
                }
                bly_claimed_free(one);
            }
        }
    }
}

START_TEST(workers_killed_at_random_lose_and_double_nothing)
{
    enum { WORKERS = 3 };
    const char *wanted = getenv("BELAY_STORE_KILLS");
    int kills = wanted != NULL ? atoi(wanted) : 60;
    uint64_t random = bly_random_seed();
    counts = mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(counts, MAP_FAILED);
    make_notes();
    make_folder();
    pid_t workers[WORKERS] = {0};
    for (int i = 0; i < kills + WORKERS; i++) {
        int which = i % WORKERS;
        if (workers[which] != 0) {
            /* Some commits later, counted by what others do: no clock decides. */
            uint64_t work = bly_random(&random) % 20000;
            for (uint64_t spin = 0; spin < work; spin++) {
                bly_yield();
            }
            int status = 0;
            ck_assert_int_eq(kill(workers[which], SIGKILL), 0);
            ck_assert_int_eq(waitpid(workers[which], &status, 0), workers[which]);
            ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
                          "a worker ended by itself: %d", status);
            workers[which] = 0;
        }
        if (i < kills) {
            workers[which] = fork();
            if (workers[which] == 0) {
                be_worker();
            }
        }
    }
    sqlite3 *db = NULL;
    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    for (int seq = 0; seq < 20000; seq++) {
        uint32_t done = bly_load(&counts->done[seq], BLY_SEQ_CST);
        ck_assert_msg(done <= 1, "job %d ended %u times", seq, done);
        if (done == 1) {
            char sql[100];
            snprintf(sql, sizeof sql, "SELECT 1 / (state = 7) FROM job WHERE seq = %d", seq);
            sqlite3_stmt *statement = NULL;
            ck_assert_int_eq(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
            ck_assert_int_eq(sqlite3_step(statement), SQLITE_ROW);
            ck_assert_int_eq(sqlite3_column_int(statement, 0), 1);
            sqlite3_finalize(statement);
        }
    }
    ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
    judge(0);
    remove_folder();
}
END_TEST

int main(void)
{
    const TTest *tests[] = {each_call_of_the_file_layer_fails_with_an_error_of_the_disk,
                            each_call_of_the_file_layer_fails_for_want_of_room,
                            allocations_of_the_database_fail,
                            a_kill_before_any_statement_loses_nothing,
                            what_was_acknowledged_survives_a_power_cut_at_any_sync,
                            workers_killed_at_random_lose_and_double_nothing};
    Suite *suite = suite_create("fault/store");
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        TCase *one = tcase_create(tests[i]->name);
        tcase_set_timeout(one, 600);
        tcase_add_test(one, tests[i]);
        suite_add_tcase(suite, one);
    }
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failures = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
