/*
 * test_jobs.c: a store is opened and closed, also while handlers run.
 */
#include "jobs.h"

#include "belay/test.h"

static probe first;
static char last_message[512];

static void keep_message(const char *message, void *arg)
{
    (void)arg;
    (void)snprintf(last_message, sizeof last_message, "%s", message);
}

START_TEST(open_says_what_is_wrong)
{
    belay_jobs_error error = {0};
    ck_assert_int_eq(belay_jobs_open("postgres://here/db", NULL, &test_jobs, &error), BELAY_EIO);
    ck_assert_int_eq(error.problem, BELAY_JOBS_PROBLEM_SCHEME);
    ck_assert_str_ne(error.text, "");
    ck_assert_int_eq(belay_jobs_open("postgres://here/db", NULL, &test_jobs, NULL), BELAY_EIO);
    belay_jobs_opts opts = {.size = sizeof opts, .is_read_only = 1};
    ck_assert_int_eq(belay_jobs_open("/tmp/there is no such folder/db", &opts, &test_jobs, &error),
                     BELAY_ENOENT);
}
END_TEST

START_TEST(options_are_checked)
{
    ck_assert_int_eq(belay_jobs_open(NULL, NULL, &test_jobs, NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_jobs_open("memory:", NULL, NULL, NULL), BELAY_EINVAL);
    belay_jobs_opts bad = {.size = sizeof bad, .reserved = 1};
    ck_assert_int_eq(belay_jobs_open("memory:", &bad, &test_jobs, NULL), BELAY_EINVAL);
    bad = (belay_jobs_opts){.size = sizeof bad, .window_ns = -1};
    ck_assert_int_eq(belay_jobs_open("memory:", &bad, &test_jobs, NULL), BELAY_EINVAL);
    bad = (belay_jobs_opts){.size = sizeof bad, .is_read_only = 2};
    ck_assert_int_eq(belay_jobs_open("memory:", &bad, &test_jobs, NULL), BELAY_EINVAL);
    bad = (belay_jobs_opts){.size = sizeof bad, .may_be_network = 2};
    ck_assert_int_eq(belay_jobs_open("memory:", &bad, &test_jobs, NULL), BELAY_EINVAL);
    bad = (belay_jobs_opts){.size = 2};
    ck_assert_int_eq(belay_jobs_open("memory:", &bad, &test_jobs, NULL), BELAY_EINVAL);
}
END_TEST

START_TEST(a_store_in_a_file_keeps_its_jobs)
{
    char folder[] = "/tmp/belay-jobs-XXXXXX";
    char path[64];
    char command[96];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/jobs.db", folder);
    open_at(path, NULL);
    ck_assert_str_eq(belay_jobs_path(test_jobs), path);
    belay_jobs_error error = {.problem = -1};
    ck_assert_int_eq(belay_jobs_problem(test_jobs, &error), 0);
    ck_assert_int_eq(error.problem, BELAY_JOBS_PROBLEM_NONE);
    uint64_t seq = add_plain("mail");
    close_store();
    open_at(path, NULL);
    assert_state(seq, BELAY_JOBS_READY);
    ck_assert_int_eq(belay_jobs_check(test_jobs), 0);
    close_store();
    (void)snprintf(command, sizeof command, "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

START_TEST(nothing_is_closed_or_asked_of_null)
{
    ck_assert_int_eq(belay_jobs_close(NULL, BELAY_NOW), 0);
    ck_assert_int_eq(belay_jobs_problem(NULL, NULL), BELAY_EINVAL);
    ck_assert_str_eq(belay_jobs_path(NULL), "");
}
END_TEST

START_TEST(close_is_refused_while_a_watch_or_session_is_left)
{
    open_store();
    belay_jobs_watch *watch = NULL;
    ck_assert_int_eq(belay_jobs_watch_create(test_jobs, &watch), 0);
    ck_assert_int_eq(belay_jobs_close(test_jobs, BELAY_FOREVER), BELAY_EBUSY);
    belay_jobs_watch_destroy(watch);
    belay_jobs_session *session = NULL;
    ck_assert_int_eq(belay_jobs_session_begin(test_jobs, NULL, &session), 0);
    ck_assert_int_eq(belay_jobs_close(test_jobs, BELAY_FOREVER), BELAY_EBUSY);
    ck_assert_int_eq(belay_jobs_session_end(session), 0);
    close_store();
}
END_TEST

/* Waits until it is told to end. */
static int until_canceled(belay_run *run, probe *self)
{
    while (!belay_run_is_canceled(run)) {
        bly_yield();
    }
    return self->status;
}

/* The state that a store in a file has after the close. */
static void open_file(char *folder, char *path, size_t size)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
    (void)snprintf(path, size, "%s/jobs.db", folder);
    open_at(path, NULL);
}

static void remove_file(const char *folder)
{
    char command[96];
    (void)snprintf(command, sizeof command, "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
}

static void close_while_running(int status, uint32_t expected, uint32_t runs)
{
    char folder[] = "/tmp/belay-jobs-XXXXXX";
    char path[64];
    open_file(folder, path, sizeof path);
    open_exec(1);
    first.act = until_canceled;
    first.status = status;
    handle("mail", &first);
    work(1);
    uint64_t seq = add_plain("mail");
    word_await(&first.begun, 1);
    close_store();
    close_exec();
    open_at(path, NULL);
    assert_state(seq, expected);
    ck_assert_uint_eq(find(seq).runs, runs);
    ck_assert_uint_eq(find(seq).tried, 0);
    ck_assert_uint_eq(find(seq).lost, 0);
    close_store();
    remove_file(folder);
}

START_TEST(close_tells_what_runs_and_gives_it_back)
{
    close_while_running(9, BELAY_JOBS_READY, 0);
}
END_TEST

START_TEST(close_stores_what_ended_well)
{
    close_while_running(0, BELAY_JOBS_DONE, 1);
}
END_TEST

START_TEST(close_that_runs_out_of_time_can_be_repeated)
{
    open_store();
    open_exec(1);
    first.holds = 1;
    handle("mail", &first);
    work(1);
    (void)add_plain("mail");
    word_await(&first.begun, 1);
    ck_assert_int_eq(belay_jobs_close(test_jobs, BELAY_NOW), BELAY_ETIMEDOUT);
    ck_assert(belay_run_is_canceled(first.run));
    belay_jobs_watch *watch = NULL;
    ck_assert_int_eq(belay_jobs_watch_create(test_jobs, &watch), BELAY_ECLOSED);
    word_raise(&first.may_end);
    close_store();
    close_exec();
}
END_TEST

static int close_inside(belay_run *run, probe *self)
{
    (void)run;
    self->status = belay_jobs_close(test_jobs, BELAY_FOREVER);
    return 0;
}

START_TEST(close_from_a_handler_is_refused)
{
    open_store();
    open_exec(1);
    first.act = close_inside;
    handle("mail", &first);
    work(1);
    (void)await_end(add_plain("mail"));
    ck_assert_int_eq(first.status, BELAY_EDEADLK);
    close_store();
    close_exec();
}
END_TEST

START_TEST(an_older_program_opens_with_shorter_options)
{
    struct {
        uint32_t size, is_read_only;
    } older = {.size = sizeof older};
    ck_assert_int_eq(
        belay_jobs_open("memory:", (const belay_jobs_opts *)(const void *)&older, &test_jobs, NULL),
        0);
    close_store();
}
END_TEST

START_TEST(work_on_a_clock_of_the_caller)
{
    belay_clock *clock = NULL;
    ck_assert_int_eq(belay_manual_clock_create(0, 1000 * SECOND, &clock), 0);
    belay_timers_opts timed = {.size = sizeof timed, .is_polled = 1, .clock = clock};
    belay_timers *timers = NULL;
    ck_assert_int_eq(belay_timers_create(&timed, &timers), 0);
    belay_jobs_opts opts = {.size = sizeof opts, .clock = clock, .log = keep_message};
    open_at("memory:", &opts);
    open_exec(1);
    handle("mail", &first);
    belay_jobs_work_opts how = {.size = sizeof how, .timers = timers};
    ck_assert_int_eq(belay_jobs_work(test_jobs, belay_exec_executor(test_exec), 1, &how), 0);
    uint64_t seq = add_plain("mail");
    word_await(&first.begun, 1);
    ck_assert_int_eq(belay_jobs_drain(test_jobs, BELAY_FOREVER), 0);
    assert_state(seq, BELAY_JOBS_DONE);
    ck_assert_int_eq(find(seq).added_ns, 1000 * SECOND);
    ck_assert_str_eq(last_message, "");
    close_store();
    close_exec();
    ck_assert_int_eq(belay_timers_destroy(timers), 0);
    ck_assert_int_eq(belay_manual_clock_destroy(clock), 0);
}
END_TEST

UNIT_MAIN("jobs/jobs", open_says_what_is_wrong, options_are_checked,
          a_store_in_a_file_keeps_its_jobs, nothing_is_closed_or_asked_of_null,
          close_is_refused_while_a_watch_or_session_is_left,
          close_tells_what_runs_and_gives_it_back, close_stores_what_ended_well,
          close_that_runs_out_of_time_can_be_repeated, close_from_a_handler_is_refused,
          an_older_program_opens_with_shorter_options, work_on_a_clock_of_the_caller)
