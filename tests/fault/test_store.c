/*
 * test_store.c: nothing that a store has acknowledged is lost, whatever fails and whoever is killed
 * whenever.
 *
 * One history, made of every kind of change, is run again and again: each time another call of the
 * file layer fails, or the process is killed before another statement. What was acknowledged on
 * the way is noted, and must be there afterwards.
 */
#include "store_history.h"
#include "store_vfs.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* Sanitizers make the histories slow, and look for other things: they take one of seven. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
enum { STRIDE = 7 };
#else
enum { STRIDE = 1 };
#endif

/* Runs the history with each step-th call of the file layer failing once. */
static void fail_each(int code, uint32_t step)
{
    make_notes();
    faulty_register();
    faulty_code = code;
    for (uint32_t k = 1;; k += step * STRIDE) {
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
    fail_each(SQLITE_IOERR, 1);
}
END_TEST

START_TEST(calls_of_the_file_layer_fail_for_want_of_room)
{
    fail_each(SQLITE_FULL, 3); /* the same paths, but for the code that comes out */
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
    for (uint32_t k = 1;; k += ALLOC_STEP * STRIDE) {
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
    for (uint32_t k = 1;; k += STRIDE) {
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
enum { JOBS_MAX = 1 << 20 };
typedef struct tally {
    uint32_t total;          /* atomic: ends that were acknowledged */
    uint32_t done[JOBS_MAX]; /* atomic: the same by seq */
} tally;

static tally *counts;

/* At the very moment at which it is acknowledged. */
static void count_done(bly_end *end, int result, void *arg)
{
    (void)arg;
    if (result == 0 && end->seq < JOBS_MAX) {
        (void)bly_fetch_add(&counts->done[end->seq], 1u, BLY_SEQ_CST);
        (void)bly_fetch_add(&counts->total, 1u, BLY_SEQ_CST);
    }
}

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
        if (bly_store_add(store, &job, 1, NULL, &added, NULL) == 0 && added.seq < JOBS_MAX) {
            bly_claim_result result;
            (void)bly_store_rescue(store, NULL, NULL);
            if (bly_store_claim(store, session, 2, BLY_CLAIM_START, &result) != 0) {
                continue;
            }
            while (result.first != NULL) {
                bly_claimed *one = result.first;
                result.first = one->next;
                bly_end end = {.seq = one->seq,
                               .token = one->token,
                               .what = BLY_DO_DONE,
                               .reported = count_done};
                bly_store_end(store, &end);
                (void)bly_store_flush(store, BELAY_FOREVER);
                bly_claimed_free(one);
            }
        }
    }
}

/* Some ends later, and then at any moment of the next one. */
static void await_some(uint64_t *random)
{
    uint32_t before = bly_load(&counts->total, BLY_SEQ_CST);
    uint32_t wanted = (uint32_t)(bly_random(random) % 6);
    int64_t deadline_ns = bly_monotonic_ns() + 300 * SECOND;
    while (bly_load(&counts->total, BLY_SEQ_CST) - before < wanted) {
        ck_assert_msg(bly_monotonic_ns() < deadline_ns, "the workers do nothing");
        bly_yield();
    }
    for (uint64_t spin = bly_random(random) % 2000; spin > 0; spin--) {
        bly_pause();
    }
}

START_TEST(workers_killed_at_random_lose_and_double_nothing)
{
    enum { WORKERS = 3 };
    const char *wanted = getenv("BELAY_STORE_KILLS");
    int kills = wanted != NULL ? atoi(wanted) : 200;
    uint64_t random = bly_random_seed();
    counts = mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(counts, MAP_FAILED);
    make_notes();
    make_folder();
    pid_t workers[WORKERS] = {0};
    for (int i = 0; i < kills + WORKERS; i++) {
        int which = i % WORKERS;
        if (workers[which] != 0) {
            await_some(&random);
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
    for (int seq = 0; seq < JOBS_MAX; seq++) {
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
                            calls_of_the_file_layer_fail_for_want_of_room,
                            allocations_of_the_database_fail,
                            a_kill_before_any_statement_loses_nothing,
                            what_was_acknowledged_survives_a_power_cut_at_any_sync,
                            workers_killed_at_random_lose_and_double_nothing};
    Suite *suite = suite_create("fault/store");
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        TCase *one = tcase_create(tests[i]->name);
        tcase_set_timeout(one, getenv("BELAY_STORE_KILLS") != NULL ? 86400 : 600);
        tcase_add_test(one, tests[i]);
        suite_add_tcase(suite, one);
    }
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failures = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
