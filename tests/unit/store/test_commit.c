#include "harness.h"

#include "store/sqlite_int.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>

static harness h;

enum { THREADS = 4, EACH = 50 };

static uint64_t seqs[THREADS][EACH];

static void add_many(void *arg)
{
    uint64_t *mine = arg;
    for (int i = 0; i < EACH; i++) {
        mine[i] = harness_add_plain(&h, "x");
    }
}

START_TEST(threads_add_at_once_and_each_job_is_there)
{
    harness_begin(&h);
    bly_thread threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(bly_thread_create(&threads[i], NULL, add_many, seqs[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        bly_thread_join(&threads[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        for (int j = 0; j < EACH; j++) {
            assert_state(&h, seqs[i][j], BLY_JOB_READY);
        }
    }
    bly_store_stats stats;
    ck_assert_int_eq(bly_store_stats_get(h.store, &stats), 0);
    ck_assert_uint_eq(stats.jobs[BLY_JOB_READY], THREADS * EACH);
    harness_end(&h);
}
END_TEST

static int count_requests(bly_sqlite *store)
{
    int count = 0;
    bly_mutex_lock(&store->mutex);
    for (bly_request *at = store->first; at != NULL; at = at->next) {
        count++;
    }
    bly_mutex_unlock(&store->mutex);
    return count;
}

/* The writer lock is held by somebody else: requests pile up, and one commit takes them all. */
START_TEST(what_waits_for_the_lock_is_committed_together)
{
    harness_begin(&h);
    char name[200];
    snprintf(name, sizeof name, "%s.lock", h.path);
    int fd = open(name, O_RDWR | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(flock(fd, LOCK_EX), 0);
    bly_store_stats before;
    ck_assert_int_eq(bly_store_stats_get(h.store, &before), 0);
    bly_sqlite *store = BLY_SQLITE(h.store);
    uint32_t work = bly_load(&store->work, BLY_SEQ_CST);
    bly_thread threads[THREADS];
    ck_assert_int_eq(bly_thread_create(&threads[0], NULL, add_many, seqs[0]), 0);
    while (bly_load(&store->work, BLY_SEQ_CST) == work || count_requests(store) > 0) {
        bly_yield();
    }
    /* The committer has the first and waits for the lock with it. */
    for (int i = 1; i < THREADS; i++) {
        ck_assert_int_eq(bly_thread_create(&threads[i], NULL, add_many, seqs[i]), 0);
    }
    while (count_requests(store) < THREADS - 1) {
        bly_yield();
    }
    ck_assert_int_eq(flock(fd, LOCK_UN), 0);
    close(fd);
    for (int i = 0; i < THREADS; i++) {
        bly_thread_join(&threads[i]);
    }
    bly_store_stats after;
    ck_assert_int_eq(bly_store_stats_get(h.store, &after), 0);
    ck_assert_uint_eq(after.grouped - before.grouped, THREADS * EACH);
    ck_assert_uint_lt(after.commits - before.commits, THREADS * EACH);
    harness_end(&h);
}
END_TEST

START_TEST(one_refused_request_leaves_the_others_of_its_group)
{
    harness_begin(&h);
    bly_new_job job = harness_job("x");
    job.id = BLY_BYTES("one");
    (void)harness_add(&h, &job);
    job.work.command = BLY_BYTES("y");
    bly_added added;
    ck_assert_int_eq(harness_try_add(&h, &job, &added), BELAY_EEXIST);
    bly_store_error error;
    bly_store_problem(h.store, &error);
    ck_assert_int_eq(error.problem, BLY_PROBLEM_NONE);
    (void)harness_add_plain(&h, "z");
    harness_end(&h);
}
END_TEST

START_TEST(reports_that_were_not_awaited_are_stored_by_close)
{
    harness_begin(&h);
    uint64_t seq = harness_add_plain(&h, "x");
    int result = 1;
    bly_end end = harness_claim_done(&h, &result);
    bly_store_end(h.store, &end);
    bly_store_close(h.store, BELAY_FOREVER);
    ck_assert_int_eq(result, 0);
    h.store = harness_open(&h);
    assert_state(&h, seq, BLY_JOB_DONE);
    harness_end(&h);
}
END_TEST

/* A store whose reports may wait for an hour. */
static void begin_patient(void)
{
    bly_store_error error;
    harness_begin(&h);
    bly_store_close(h.store, BELAY_FOREVER);
    bly_store_opts opts = {.size = sizeof opts, .clock = h.clock, .window_ns = 3600 * SECOND};
    ck_assert_int_eq(bly_store_open(h.path, &opts, &h.store, &error), 0);
    bly_session_opts session = {.size = sizeof session, .slots = 4};
    ck_assert_int_eq(bly_store_session_begin(h.store, &session, &h.session), 0);
}

START_TEST(claims_do_not_take_reports_along_and_adds_do)
{
    begin_patient();
    (void)harness_add_plain(&h, "x");
    (void)harness_add_plain(&h, "y");
    bly_claimed *claimed = harness_claim(&h);
    int result = 1;
    bly_end end = {.seq = claimed->seq,
                   .token = claimed->token,
                   .what = BLY_DO_DONE,
                   .reported = harness_note,
                   .arg = &result};
    bly_store_end(h.store, &end);
    bly_claimed *second = harness_claim(&h);
    ck_assert_ptr_nonnull(second);
    assert_state(&h, claimed->seq, BLY_JOB_RUNNING);
    (void)harness_add_plain(&h, "z");
    assert_state(&h, claimed->seq, BLY_JOB_DONE);
    ck_assert_int_eq(bly_store_flush(h.store, BELAY_FOREVER), 0);
    ck_assert_int_eq(result, 0);
    bly_claimed_free(claimed);
    bly_claimed_free(second);
    harness_end(&h);
}
END_TEST

START_TEST(a_watch_is_ready_after_commits_of_any_store)
{
    harness_begin(&h);
    bly_store_watch *watch = NULL;
    ck_assert_int_eq(bly_store_watch_create(h.store, &watch), 0);
    (void)bly_store_watch_check(watch);
    ck_assert_int_eq(bly_store_watch_wait(watch, BELAY_NOW), BELAY_ETIMEDOUT);
    bly_store *other = harness_open(&h);
    bly_new_job job = harness_job("x");
    bly_added added;
    ck_assert_int_eq(bly_store_add(other, &job, 1, NULL, &added, NULL), 0);
    struct pollfd ready = {.fd = bly_store_watch_fd(watch), .events = POLLIN};
    ck_assert_int_eq(poll(&ready, 1, -1), 1);
    ck_assert(bly_store_watch_check(watch));
    assert_state(&h, added.seq, BLY_JOB_READY);
    bly_store_close(other, BELAY_FOREVER);
    bly_store_watch_destroy(watch);
    harness_end(&h);
}
END_TEST

START_TEST(a_commit_that_nobody_rang_for_is_noticed)
{
    harness_begin(&h);
    bly_store_watch *watch = NULL;
    ck_assert_int_eq(bly_store_watch_create(h.store, &watch), 0);
    sqlite3 *db = NULL;
    ck_assert_int_eq(sqlite3_open(h.path, &db), SQLITE_OK);
    ck_assert_int_eq(
        sqlite3_exec(db, "UPDATE meta SET number = number + 1 WHERE name = 'token_reserved'", NULL,
                     NULL, NULL),
        SQLITE_OK);
    ck_assert_int_eq(bly_store_watch_wait(watch, BELAY_FOREVER), 0);
    sqlite3_close(db);
    bly_store_watch_destroy(watch);
    harness_end(&h);
}
END_TEST

START_TEST(the_wal_is_written_back_when_it_has_grown)
{
    harness_begin(&h);
    static char big[1 << 20];
    bly_new_job job = harness_job("x");
    job.work.detail = (bly_bytes){big, sizeof big};
    for (int i = 0; i < 40; i++) {
        (void)harness_add(&h, &job);
    }
    bly_store_stats stats;
    ck_assert_int_eq(bly_store_stats_get(h.store, &stats), 0);
    ck_assert_uint_lt(stats.wal_bytes, 24u << 20);
    ck_assert_uint_gt(stats.store_bytes, 40u << 20);
    harness_end(&h);
}
END_TEST

/* Four processes on one file: each job is worked on once. */
static int work_alone(const char *path, int fd)
{
    bly_store *store = NULL;
    if (bly_store_open(path, NULL, &store, NULL) != 0) {
        return 1;
    }
    bly_session_opts opts = {.size = sizeof opts};
    uint64_t session = 0;
    if (bly_store_session_begin(store, &opts, &session) != 0) {
        return 2;
    }
    for (;;) {
        bly_claim_result result;
        if (bly_store_claim(store, session, 3, BLY_CLAIM_START, &result) != 0) {
            return 3;
        }
        if (result.count == 0) {
            break;
        }
        while (result.first != NULL) {
            bly_claimed *one = result.first;
            result.first = one->next;
            if (write(fd, &one->seq, sizeof one->seq) != sizeof one->seq) {
                return 4;
            }
            bly_end end = {.seq = one->seq, .token = one->token, .what = BLY_DO_DONE};
            bly_store_end(store, &end);
            if (bly_store_flush(store, BELAY_FOREVER) != 0) {
                return 5;
            }
            bly_claimed_free(one);
        }
    }
    bly_store_close(store, BELAY_FOREVER);
    return 0;
}

START_TEST(processes_share_the_jobs_and_each_runs_once)
{
    enum { JOBS = 60, PROCESSES = 4 };
    int pipes[2];
    int go[2];
    bool seen[JOBS + 1] = {false};
    pid_t pids[PROCESSES];
    memset(&h, 0, sizeof h);
    harness_folder(&h);
    ck_assert_int_eq(pipe2(pipes, O_CLOEXEC), 0);
    ck_assert_int_eq(pipe2(go, O_CLOEXEC), 0);
    for (int i = 0; i < PROCESSES; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            char byte;
            close(go[1]);
            (void)!read(go[0], &byte, 1);
            _exit(work_alone(h.path, pipes[1]));
        }
    }
    ck_assert_int_eq(bly_store_open(h.path, NULL, &h.store, NULL), 0);
    for (int i = 0; i < JOBS; i++) {
        (void)harness_add_plain(&h, "x");
    }
    close(pipes[1]);
    close(go[1]);
    uint64_t seq = 0;
    int count = 0;
    while (read(pipes[0], &seq, sizeof seq) == sizeof seq) {
        ck_assert_uint_le(seq, JOBS);
        ck_assert_msg(!seen[seq], "job %d ran twice", (int)seq);
        seen[seq] = true;
        count++;
    }
    ck_assert_int_eq(count, JOBS);
    for (int i = 0; i < PROCESSES; i++) {
        int status = 0;
        ck_assert_int_eq(waitpid(pids[i], &status, 0), pids[i]);
        ck_assert_int_eq(status, 0);
    }
    invariants_hold(h.path);
    bly_store_close(h.store, BELAY_FOREVER);
    harness_remove(&h);
}
END_TEST

/* Claims runs of the schedule until one is beyond the last slot; says each on the pipe. */
static int run_slots(const char *path, int fd, int64_t last_ns)
{
    bly_store *store = NULL;
    bly_session_opts opts = {.size = sizeof opts};
    uint64_t session = 0;
    bly_store_watch *watch = NULL;
    if (bly_store_open(path, NULL, &store, NULL) != 0 ||
        bly_store_session_begin(store, &opts, &session) != 0 ||
        bly_store_watch_create(store, &watch) != 0) {
        return 1;
    }
    int64_t slot_ns = 0;
    while (slot_ns <= last_ns) {
        bly_claim_result result;
        if (bly_store_claim(store, session, 1, BLY_CLAIM_START, &result) != 0) {
            return 2;
        }
        if (result.first == NULL) {
            (void)bly_store_watch_wait(watch, bly_monotonic_ns() + 1000000);
            continue;
        }
        slot_ns = result.first->slot_ns;
        if (write(fd, &slot_ns, sizeof slot_ns) != sizeof slot_ns) {
            return 3;
        }
        bly_end end = {.seq = result.first->seq, .token = result.first->token, .what = BLY_DO_DONE};
        bly_store_end(store, &end);
        (void)bly_store_flush(store, BELAY_FOREVER);
        bly_claimed_free(result.first);
    }
    bly_store_watch_destroy(watch);
    bly_store_close(store, BELAY_FOREVER);
    return 0;
}

START_TEST(processes_run_each_slot_of_a_schedule_once)
{
    enum { PROCESSES = 4, SLOTS = 60 };
    const int64_t period_ns = 5000000;
    int64_t first_ns = bly_wall_ns();
    int seen[SLOTS + PROCESSES + 1] = {0};
    int pipes[2];
    memset(&h, 0, sizeof h);
    harness_folder(&h);
    ck_assert_int_eq(pipe2(pipes, O_CLOEXEC), 0);
    int64_t last_ns = first_ns + (SLOTS - 1) * period_ns;
    pid_t pids[PROCESSES];
    for (int i = 0; i < PROCESSES; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            _exit(run_slots(h.path, pipes[1], last_ns));
        }
    }
    close(pipes[1]);
    ck_assert_int_eq(bly_store_open(h.path, NULL, &h.store, NULL), 0);
    bly_new_job job = harness_job("tick");
    job.id = BLY_BYTES("tick");
    job.run_at_ns = first_ns;
    job.schedule = (bly_schedule){.kind = BLY_SCHEDULE_EVERY,
                                  .period_ns = period_ns,
                                  .missed = BLY_MISSED_ALL,
                                  .missed_max = 1000000};
    (void)harness_add(&h, &job);
    int64_t slot_ns = 0;
    while (read(pipes[0], &slot_ns, sizeof slot_ns) == sizeof slot_ns) {
        int64_t at = (slot_ns - first_ns) / period_ns;
        ck_assert_int_eq(slot_ns, first_ns + at * period_ns);
        ck_assert_int_le(at, SLOTS + PROCESSES);
        ck_assert_msg(seen[at]++ == 0, "slot %d ran twice", (int)at);
    }
    for (int i = 0; i < SLOTS; i++) {
        ck_assert_msg(seen[i] == 1, "slot %d did not run", i);
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status = 0;
        ck_assert_int_eq(waitpid(pids[i], &status, 0), pids[i]);
        ck_assert_int_eq(status, 0);
    }
    invariants_hold(h.path);
    bly_store_close(h.store, BELAY_FOREVER);
    harness_remove(&h);
}
END_TEST

enum { RACES = 150 };

static void add_limited(void *arg)
{
    (void)arg;
    bly_want want = {.name = BLY_BYTES("one"), .capacity = 1};
    bly_new_job job = harness_job("x");
    job.wants = &want;
    job.want_count = 1;
    for (int i = 0; i < RACES; i++) {
        (void)harness_add(&h, &job);
    }
}

/* One thread adds to a limit of one while another ends the only holder, again and again. */
START_TEST(an_add_that_races_the_last_release_is_not_left_behind)
{
    harness_begin(&h);
    bly_thread adder;
    ck_assert_int_eq(bly_thread_create(&adder, NULL, add_limited, NULL), 0);
    for (int done = 0; done < RACES;) {
        bly_claim_result result;
        /* Two are asked for, so that the second is parked when it is there. */
        ck_assert_int_eq(bly_store_claim(h.store, h.session, 2, BLY_CLAIM_START, &result), 0);
        ck_assert_uint_le(result.count, 1);
        if (result.first != NULL) {
            ck_assert_int_eq(harness_end_claim(&h, result.first, BLY_DO_DONE), 0);
            done++;
        }
    }
    bly_thread_join(&adder);
    bly_store_stats stats;
    ck_assert_int_eq(bly_store_stats_get(h.store, &stats), 0);
    ck_assert_uint_eq(stats.jobs[BLY_JOB_PARKED], 0);
    ck_assert_uint_eq(stats.jobs[BLY_JOB_DONE], RACES);
    harness_end(&h);
}
END_TEST

UNIT_MAIN("store/commit", threads_add_at_once_and_each_job_is_there,
          what_waits_for_the_lock_is_committed_together,
          one_refused_request_leaves_the_others_of_its_group,
          reports_that_were_not_awaited_are_stored_by_close,
          claims_do_not_take_reports_along_and_adds_do, a_watch_is_ready_after_commits_of_any_store,
          a_commit_that_nobody_rang_for_is_noticed, the_wal_is_written_back_when_it_has_grown,
          processes_share_the_jobs_and_each_runs_once, processes_run_each_slot_of_a_schedule_once,
          an_add_that_races_the_last_release_is_not_left_behind)
