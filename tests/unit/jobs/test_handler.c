/*
 * test_handler.c: functions under names: which one is called, how often, and what its result means.
 */
#include "jobs.h"

static probe first;
static probe second;

static void begin(uint32_t workers)
{
    open_store();
    open_exec(workers);
}

static void finish(void)
{
    close_store();
    close_exec();
}

START_TEST(each_name_has_its_function)
{
    begin(2);
    handle("mail", &first);
    handle("resize", &second);
    work(2);
    uint64_t mail = add_plain("mail");
    uint64_t resize = add_plain("resize");
    (void)await_end(mail);
    (void)await_end(resize);
    ck_assert_uint_eq(first.begun, 1);
    ck_assert_uint_eq(first.seqs[0], mail);
    ck_assert_uint_eq(second.begun, 1);
    ck_assert_uint_eq(second.seqs[0], resize);
    finish();
}
END_TEST

static void work_on(const char *queue)
{
    belay_bytes name = belay_bytes_text(queue);
    belay_jobs_work_opts opts = {.size = sizeof opts, .queues = &name, .queue_count = 1};
    ck_assert_int_eq(belay_jobs_work(test_jobs, belay_exec_executor(test_exec), 1, &opts), 0);
}

START_TEST(a_handler_without_a_name_takes_the_rest)
{
    begin(1);
    handle("mail", &first);
    handle(NULL, &second);
    work_on("all");
    belay_jobs_new job = new_job("unheard of", "");
    job.queue = belay_bytes_text("all");
    (void)await_end(add(&job));
    job = new_job("mail", "");
    job.queue = belay_bytes_text("all");
    (void)await_end(add(&job));
    ck_assert_uint_eq(second.begun, 1);
    ck_assert_uint_eq(first.begun, 1);
    finish();
}
END_TEST

START_TEST(a_job_that_nobody_has_a_function_for_fails)
{
    begin(1);
    handle("mail", &first);
    work_on("all");
    belay_jobs_new job = new_job("unheard of", "");
    job.queue = belay_bytes_text("all");
    belay_jobs_row row = await_end(add(&job));
    ck_assert_uint_eq(row.state, BELAY_JOBS_FAILED);
    ck_assert_int_eq(row.how, BELAY_JOBS_HOW_NOT_RUNNABLE);
    ck_assert_int_eq(row.code, ENOENT);
    ck_assert_uint_eq(first.begun, 0);
    finish();
}
END_TEST

START_TEST(a_failing_handler_is_called_once_a_try)
{
    begin(1);
    first.status = 42;
    handle("mail", &first);
    work(1);
    belay_jobs_new job = new_job("mail", "");
    job.tries = 3;
    job.backoff_ns = 1000000;
    belay_jobs_row row = await_end(add(&job));
    ck_assert_uint_eq(row.state, BELAY_JOBS_FAILED);
    ck_assert_int_eq(row.how, BELAY_JOBS_HOW_EXITED);
    ck_assert_int_eq(row.code, 42);
    ck_assert_uint_eq(row.tried, 3);
    ck_assert_uint_eq(first.begun, 3);
    for (uint32_t i = 0; i < 3; i++) {
        ck_assert_uint_eq(first.attempts[i], i + 1);
    }
    finish();
}
END_TEST

static int leave_pending(belay_run *run, probe *self)
{
    (void)run;
    (void)self;
    return BELAY_PENDING;
}

START_TEST(a_pending_job_runs_until_it_is_done)
{
    begin(1);
    first.act = leave_pending;
    handle("mail", &first);
    uint64_t seq = add_plain("mail");
    work(1);
    uint64_t behind = add_plain("mail");
    word_await(&first.begun, 1);
    assert_state(seq, BELAY_JOBS_RUNNING);
    ck_assert_int_eq(belay_jobs_drain(test_jobs, BELAY_NOW), BELAY_ETIMEDOUT);
    ck_assert_int_eq(belay_run_done(first.run, 0), 0);
    ck_assert_int_eq(belay_jobs_drain(test_jobs, BELAY_FOREVER), 0);
    assert_state(seq, BELAY_JOBS_DONE);
    assert_state(behind, BELAY_JOBS_READY);
    ck_assert_uint_eq(first.begun, 1);
    finish();
}
END_TEST

START_TEST(a_pending_job_counts_in_running_max)
{
    begin(2);
    first.act = leave_pending;
    handle("mail", &first);
    work(1);
    uint64_t one = add_plain("mail");
    uint64_t two = add_plain("mail");
    word_await(&first.begun, 1);
    belay_run *run = first.run;
    assert_state(two, BELAY_JOBS_READY);
    ck_assert_int_eq(belay_run_done(run, 0), 0);
    ck_assert_uint_eq(await_end(one).state, BELAY_JOBS_DONE);
    word_await(&first.begun, 2);
    ck_assert_int_eq(belay_run_done(first.run, 3), 0);
    ck_assert_uint_eq(await_end(two).state, BELAY_JOBS_FAILED);
    finish();
}
END_TEST

static int end_twice(belay_run *run, probe *self)
{
    belay_run_ending how = {
        .size = sizeof how, .what = BELAY_RUN_DONE, .result = belay_bytes_text("42 letters")};
    ck_assert_int_eq(belay_run_end(run, &how), 0);
    self->status = belay_run_done(run, 3);
    return 5; /* its word comes too late as well */
}

START_TEST(a_run_is_ended_once)
{
    begin(1);
    first.act = end_twice;
    handle("mail", &first);
    work(1);
    uint64_t seq = add_plain("mail");
    ck_assert_uint_eq(await_end(seq).state, BELAY_JOBS_DONE);
    ck_assert_int_eq(belay_jobs_drain(test_jobs, BELAY_FOREVER), 0);
    ck_assert_int_eq(first.status, BELAY_ESTALE);
    ck_assert_uint_eq(find(seq).state, BELAY_JOBS_DONE);
    ck_assert_uint_eq(first.begun, 1);
    finish();
}
END_TEST

START_TEST(a_bound_of_a_handler_leaves_room_for_others)
{
    begin(4);
    first.holds = 1;
    belay_jobs_handler_opts opts = {.size = sizeof opts, .running_max = 1};
    ck_assert_int_eq(belay_jobs_handle(test_jobs, "mail", &opts, probe_fn, &first), 0);
    handle("resize", &second);
    uint64_t mails[3];
    for (int i = 0; i < 3; i++) {
        mails[i] = add_plain("mail");
    }
    work(4);
    word_await(&first.begun, 1);
    (void)await_end(add_plain("resize"));
    ck_assert_uint_eq(first.begun, 1);
    word_raise(&first.may_end);
    for (int i = 0; i < 3; i++) {
        ck_assert_uint_eq(await_end(mails[i]).state, BELAY_JOBS_DONE);
        ck_assert_uint_eq(first.seqs[i], mails[i]);
    }
    ck_assert_uint_eq(first.peak, 1);
    finish();
}
END_TEST

START_TEST(what_waits_for_a_bound_goes_back_at_a_drain)
{
    begin(2);
    first.holds = 1;
    belay_jobs_handler_opts opts = {.size = sizeof opts, .running_max = 1};
    ck_assert_int_eq(belay_jobs_handle(test_jobs, "mail", &opts, probe_fn, &first), 0);
    uint64_t one = add_plain("mail");
    uint64_t two = add_plain("mail");
    work(2);
    word_await(&first.begun, 1);
    ck_assert_int_eq(belay_jobs_drain(test_jobs, BELAY_NOW), BELAY_ETIMEDOUT);
    word_raise(&first.may_end);
    ck_assert_int_eq(belay_jobs_drain(test_jobs, BELAY_FOREVER), 0);
    assert_state(one, BELAY_JOBS_DONE);
    assert_state(two, BELAY_JOBS_READY);
    ck_assert_uint_eq(find(two).runs, 0);
    finish();
}
END_TEST

START_TEST(names_and_bounds_are_checked)
{
    open_store();
    char name[BELAY_JOBS_NAME_MAX + 2];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    ck_assert_int_eq(belay_jobs_handle(NULL, "mail", NULL, probe_fn, NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_jobs_handle(test_jobs, "mail", NULL, NULL, NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_jobs_handle(test_jobs, "", NULL, probe_fn, NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_jobs_handle(test_jobs, name, NULL, probe_fn, NULL), BELAY_EINVAL);
    belay_jobs_handler_opts opts = {.size = sizeof opts, .running_max = UINT32_MAX};
    ck_assert_int_eq(belay_jobs_handle(test_jobs, "mail", &opts, probe_fn, NULL), BELAY_EINVAL);
    handle("mail", &first);
    ck_assert_int_eq(belay_jobs_handle(test_jobs, "mail", NULL, probe_fn, NULL), BELAY_EEXIST);
    handle(NULL, &first);
    ck_assert_int_eq(belay_jobs_handle(test_jobs, NULL, NULL, probe_fn, NULL), BELAY_EEXIST);
    for (uint32_t i = 1; i < BELAY_JOBS_QUEUES_MAX; i++) {
        (void)snprintf(name, sizeof name, "h%u", i);
        handle(name, &first);
    }
    ck_assert_int_eq(belay_jobs_handle(test_jobs, "more", NULL, probe_fn, NULL), BELAY_EFULL);
    close_store();
}
END_TEST

UNIT_MAIN("jobs/handler", each_name_has_its_function, a_handler_without_a_name_takes_the_rest,
          a_job_that_nobody_has_a_function_for_fails, a_failing_handler_is_called_once_a_try,
          a_pending_job_runs_until_it_is_done, a_pending_job_counts_in_running_max,
          a_run_is_ended_once, a_bound_of_a_handler_leaves_room_for_others,
          what_waits_for_a_bound_goes_back_at_a_drain, names_and_bounds_are_checked)
