#include "harness.h"

#include "store/sqlite_int.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>

static harness h;

/* Another process: it opens the store itself, does its part, says so, and stays until it is killed.
 */
typedef struct other {
    pid_t pid;
    int said; /* a pipe: one byte when its part is done */
} other;

typedef void part_fn(harness *self);

static other begin_other(part_fn *part, const harness *from)
{
    int ends[2];
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        harness self = *from;
        part(&self);
        ck_assert_int_eq(write(ends[1], "x", 1), 1);
        for (;;) {
            pause();
        }
    }
    close(ends[1]);
    return (other){.pid = pid, .said = ends[0]};
}

static void await_other(const other *who)
{
    char byte;
    ck_assert_int_eq(read(who->said, &byte, 1), 1);
}

static void kill_other(const other *who)
{
    int status;
    ck_assert_int_eq(kill(who->pid, SIGKILL), 0);
    ck_assert_int_eq(waitpid(who->pid, &status, 0), who->pid);
    close(who->said);
}

static void prepare(void)
{
    memset(&h, 0, sizeof h);
    harness_folder(&h);
    ck_assert_int_eq(belay_manual_clock_create(0, START, &h.clock), 0);
    h.now_ns = START;
}

static void begin_here(void)
{
    h.store = harness_open(&h);
    bly_session_opts opts = {.size = sizeof opts};
    ck_assert_int_eq(bly_store_session_begin(h.store, &opts, &h.session), 0);
}

/* Adds 5 jobs, starts 3 and claims 1 more. */
static void take_some(harness *self)
{
    self->store = harness_open(self);
    bly_session_opts opts = {.size = sizeof opts};
    ck_assert_int_eq(bly_store_session_begin(self->store, &opts, &self->session), 0);
    bly_want want = {.name = BLY_BYTES("db"), .capacity = 4};
    bly_new_job job = harness_job("x");
    job.wants = &want;
    job.want_count = 1;
    for (int i = 0; i < 5; i++) {
        (void)harness_add(self, &job);
    }
    bly_claim_result result;
    ck_assert_int_eq(bly_store_claim(self->store, self->session, 3, BLY_CLAIM_START, &result), 0);
    ck_assert_int_eq(bly_store_claim(self->store, self->session, 1, 0, &result), 0);
}

START_TEST(jobs_of_a_killed_process_run_again_and_have_their_permits)
{
    prepare();
    other who = begin_other(take_some, &h);
    await_other(&who);
    h.store = harness_open(&h);
    uint32_t rescued = 9;
    uint32_t pending = 9;
    ck_assert_int_eq(bly_store_rescue(h.store, &rescued, &pending), 0);
    ck_assert_uint_eq(rescued, 0); /* it lives */
    kill_other(&who);
    ck_assert_int_eq(bly_store_rescue(h.store, &rescued, &pending), 0);
    ck_assert_uint_eq(rescued, 4);
    ck_assert_uint_eq(pending, 0);
    bly_session_opts opts = {.size = sizeof opts};
    ck_assert_int_eq(bly_store_session_begin(h.store, &opts, &h.session), 0);
    bly_rows *rows = harness_find(&h, 1);
    ck_assert_uint_eq(rows->row[0].lost, 1);
    ck_assert_uint_eq(rows->row[0].tried, 0);
    bly_rows_free(rows);
    rows = harness_find(&h, 4); /* claimed only */
    ck_assert_uint_eq(rows->row[0].lost, 0);
    bly_rows_free(rows);
    for (uint64_t seq = 1; seq <= 5; seq++) {
        harness_run(&h, seq);
    }
    harness_end(&h);
}
END_TEST

static void take_one_to_fail(harness *self)
{
    self->store = harness_open(self);
    bly_session_opts opts = {.size = sizeof opts};
    ck_assert_int_eq(bly_store_session_begin(self->store, &opts, &self->session), 0);
    bly_new_job job = harness_job("x");
    job.flags = BLY_NEW_LOST_FAIL;
    (void)harness_add(self, &job);
    ck_assert_uint_eq(harness_claim_seq(self), 1);
}

START_TEST(a_job_that_wants_to_fail_when_it_is_lost_does)
{
    prepare();
    other who = begin_other(take_one_to_fail, &h);
    await_other(&who);
    kill_other(&who);
    begin_here();
    bly_rows *rows = harness_find(&h, 1);
    ck_assert_uint_eq(rows->row[0].state, BLY_JOB_FAILED);
    ck_assert_int_eq(rows->row[0].how, BLY_END_LOST);
    bly_rows_free(rows);
    harness_end(&h);
}
END_TEST

START_TEST(a_job_is_lost_three_times_and_then_fails)
{
    harness_begin(&h);
    uint64_t seq = harness_add_plain(&h, "x");
    for (int i = 0; i < 4; i++) {
        ck_assert_uint_eq(harness_claim_seq(&h), seq);
        ck_assert_int_eq(bly_store_session_end(h.store, h.session), 0);
        bly_session_opts opts = {.size = sizeof opts};
        ck_assert_int_eq(bly_store_session_begin(h.store, &opts, &h.session), 0);
        invariants_hold(h.path);
    }
    bly_rows *rows = harness_find(&h, seq);
    ck_assert_uint_eq(rows->row[0].state, BLY_JOB_FAILED);
    ck_assert_int_eq(rows->row[0].how, BLY_END_LOST);
    ck_assert_uint_eq(rows->row[0].lost, 4);
    ck_assert_uint_eq(rows->row[0].tried, 0);
    bly_rows_free(rows);
    harness_end(&h);
}
END_TEST

static bly_live live;
static pid_t survivor;

/* Starts a process that holds the live file and ignores everything but KILL. */
static void take_with_process(harness *self)
{
    survivor = fork();
    if (survivor == 0) {
        setsid();
        signal(SIGTERM, SIG_IGN);
        for (;;) {
            pause();
        }
    }
    self->store = harness_open(self);
    bly_session_opts opts = {.size = sizeof opts, .live = &live};
    ck_assert_int_eq(bly_store_session_begin(self->store, &opts, &self->session), 0);
    (void)harness_add_plain(self, "x");
    ck_assert_uint_eq(harness_claim_seq(self), 1);
}

START_TEST(what_a_dead_runner_left_is_killed_before_its_jobs_run_again)
{
    prepare();
    ck_assert_int_eq(bly_live_create(h.path, &live, NULL), 0);
    other who = begin_other(take_with_process, &h);
    await_other(&who);
    close(live.fd); /* this process has nothing to do with it */
    h.store = harness_open(&h);
    kill_other(&who);
    uint32_t rescued = 0;
    uint32_t pending = 1;
    int64_t deadline_ns = bly_monotonic_ns() + 50 * SECOND;
    for (;;) {
        ck_assert_int_eq(bly_store_rescue(h.store, &rescued, &pending), 0);
        if (pending == 0) {
            break;
        }
        ck_assert_uint_eq(rescued, 0); /* not while a process of it is there */
        assert_state(&h, 1, BLY_JOB_RUNNING);
        ck_assert_int_lt(bly_monotonic_ns(), deadline_ns);
    }
    ck_assert_uint_eq(rescued, 1);
    assert_state(&h, 1, BLY_JOB_READY);
    harness_end(&h);
}
END_TEST

START_TEST(who_only_looks_at_a_live_file_is_not_killed)
{
    prepare();
    ck_assert_int_eq(bly_live_create(h.path, &live, NULL), 0);
    other who = begin_other(take_with_process, &h);
    await_other(&who);
    char path[200];
    snprintf(path, sizeof path, "%s.live/%s", h.path, live.name);
    close(live.fd);
    int ends[2];
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    pid_t looker = fork();
    if (looker == 0) {
        int fd = open(path, O_RDWR);
        (void)!write(ends[1], fd >= 0 ? "x" : "", fd >= 0);
        for (;;) {
            pause();
        }
    }
    char byte;
    ck_assert_int_eq(read(ends[0], &byte, 1), 1);
    h.store = harness_open(&h);
    kill_other(&who);
    uint32_t pending = 1;
    while (pending > 0) {
        ck_assert_int_eq(bly_store_rescue(h.store, NULL, &pending), 0);
    }
    assert_state(&h, 1, BLY_JOB_READY);
    int status = 0;
    ck_assert_int_eq(waitpid(looker, &status, WNOHANG), 0);
    ck_assert_int_eq(kill(looker, SIGKILL), 0);
    ck_assert_int_eq(waitpid(looker, &status, 0), looker);
    harness_end(&h);
}
END_TEST

START_TEST(a_session_of_an_earlier_boot_is_dead_whatever_its_locks_say)
{
    harness_begin(&h);
    (void)harness_add_plain(&h, "x");
    ck_assert_uint_eq(harness_claim_seq(&h), 1);
    bly_sqlite *store = BLY_SQLITE(h.store);
    strcpy(store->boot, "another boot");
    uint32_t rescued = 0;
    ck_assert_int_eq(bly_store_rescue(h.store, &rescued, NULL), 0);
    ck_assert_uint_eq(rescued, 1);
    assert_state(&h, 1, BLY_JOB_READY);
    harness_end(&h);
}
END_TEST

enum { MANY = 260 };

static void take_with_the_last_of_many(harness *self)
{
    self->store = harness_open(self);
    bly_session_opts opts = {.size = sizeof opts};
    for (int i = 0; i < MANY; i++) {
        ck_assert_int_eq(bly_store_session_begin(self->store, &opts, &self->session), 0);
    }
    (void)harness_add_plain(self, "x");
    ck_assert_uint_eq(harness_claim_seq(self), 1);
}

START_TEST(the_last_of_many_dead_sessions_is_rescued)
{
    prepare();
    other who = begin_other(take_with_the_last_of_many, &h);
    await_other(&who);
    h.store = harness_open(&h);
    uint32_t rescued = 9;
    ck_assert_int_eq(bly_store_rescue(h.store, &rescued, NULL), 0);
    ck_assert_uint_eq(rescued, 0);
    kill_other(&who);
    ck_assert_int_eq(bly_store_rescue(h.store, &rescued, NULL), 0);
    ck_assert_uint_eq(rescued, 1);
    bly_store_stats stats;
    ck_assert_int_eq(bly_store_stats_get(h.store, &stats), 0);
    ck_assert_uint_eq(stats.sessions, 0);
    harness_end(&h);
}
END_TEST

START_TEST(a_stopped_process_keeps_its_jobs)
{
    prepare();
    other who = begin_other(take_some, &h);
    await_other(&who);
    ck_assert_int_eq(kill(who.pid, SIGSTOP), 0);
    int status = 0;
    ck_assert_int_eq(waitpid(who.pid, &status, WUNTRACED), who.pid);
    h.store = harness_open(&h);
    harness_set(&h, START + 365 * 86400 * SECOND); /* and no time makes a difference */
    uint32_t rescued = 9;
    ck_assert_int_eq(bly_store_rescue(h.store, &rescued, NULL), 0);
    ck_assert_uint_eq(rescued, 0);
    assert_state(&h, 1, BLY_JOB_RUNNING);
    kill_other(&who);
    harness_end(&h);
}
END_TEST

START_TEST(a_session_whose_files_were_removed_lives_while_its_process_does)
{
    prepare();
    other who = begin_other(take_some, &h);
    await_other(&who);
    char command[200];
    snprintf(command, sizeof command, "rm -r %s.live", h.path);
    ck_assert_int_eq(system(command), 0);
    h.store = harness_open(&h);
    uint32_t rescued = 9;
    ck_assert_int_eq(bly_store_rescue(h.store, &rescued, NULL), 0);
    ck_assert_uint_eq(rescued, 0);
    kill_other(&who);
    ck_assert_int_eq(bly_store_rescue(h.store, &rescued, NULL), 0);
    ck_assert_uint_eq(rescued, 4);
    harness_end(&h);
}
END_TEST

static void make_file(const char *name, bool is_old, char *ret_path)
{
    const struct timespec long_ago[] = {{.tv_sec = 1000000}, {.tv_sec = 1000000}};
    sprintf(ret_path, "%s.live/%s", h.path, name);
    int fd = open(ret_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    if (is_old) {
        ck_assert_int_eq(futimens(fd, long_ago), 0);
    }
    close(fd);
}

START_TEST(gc_removes_the_files_of_nobody)
{
    harness_begin(&h);
    char old[200];
    char young[200];
    char locked[200];
    make_file("0.own", true, old);
    make_file("1.own", false, young);
    make_file("2.live", true, locked);
    int fd = open(locked, O_RDWR | O_CLOEXEC);
    ck_assert_int_eq(flock(fd, LOCK_EX), 0);
    ck_assert_int_eq(bly_store_gc(h.store, NULL, NULL), 0);
    ck_assert_int_ne(access(old, F_OK), 0);
    ck_assert_int_eq(access(young, F_OK), 0);
    ck_assert_int_eq(access(locked, F_OK), 0);
    close(fd);
    harness_end(&h);
}
END_TEST

START_TEST(sessions_are_listed_while_they_live)
{
    harness_begin(&h);
    bly_bytes names[] = {BLY_BYTES("cpu"), BLY_BYTES("gpu")};
    bly_session_opts opts = {.size = sizeof opts, .slots = 7, .queues = names, .queue_count = 2};
    uint64_t second = 0;
    ck_assert_int_eq(bly_store_session_begin(h.store, &opts, &second), 0);
    bly_table *table = NULL;
    ck_assert_int_eq(bly_store_table(h.store, BLY_TABLE_SESSIONS, &table), 0);
    ck_assert_uint_eq(table->count, 2);
    ck_assert_uint_eq(table->of.session[1].id, second);
    ck_assert_uint_eq(table->of.session[1].slots, 7);
    ck_assert_int_eq(table->of.session[1].pid, getpid());
    ck_assert_uint_eq(table->of.session[1].queues.len, 8);
    ck_assert_mem_eq(table->of.session[1].queues.data, "cpu\0gpu\0", 8);
    bly_table_free(table);
    ck_assert_int_eq(bly_store_session_end(h.store, second), 0);
    ck_assert_int_eq(bly_store_table(h.store, BLY_TABLE_SESSIONS, &table), 0);
    ck_assert_uint_eq(table->count, 1);
    bly_table_free(table);
    harness_end(&h);
}
END_TEST

UNIT_MAIN("store/session", jobs_of_a_killed_process_run_again_and_have_their_permits,
          a_job_that_wants_to_fail_when_it_is_lost_does, a_job_is_lost_three_times_and_then_fails,
          what_a_dead_runner_left_is_killed_before_its_jobs_run_again,
          who_only_looks_at_a_live_file_is_not_killed,
          a_session_of_an_earlier_boot_is_dead_whatever_its_locks_say,
          the_last_of_many_dead_sessions_is_rescued, a_stopped_process_keeps_its_jobs,
          a_session_whose_files_were_removed_lives_while_its_process_does,
          gc_removes_the_files_of_nobody, sessions_are_listed_while_they_live)
