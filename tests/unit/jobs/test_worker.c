/*
 * test_worker.c: the worker claims what there is room for, and comes to an end.
 */
#include "jobs.h"

#define MANY 300

static probe first;
static probe second;

START_TEST(a_job_runs_once_and_is_done)
{
    open_store();
    open_exec(2);
    handle("mail", &first);
    work(2);
    belay_jobs_row row = await_end(add_plain("mail"));
    ck_assert_uint_eq(row.state, BELAY_JOBS_DONE);
    ck_assert_uint_eq(row.runs, 1);
    ck_assert_int_eq(belay_jobs_drain(test_jobs, BELAY_FOREVER), 0);
    ck_assert_uint_eq(first.begun, 1);
    close_store();
    close_exec();
}
END_TEST

START_TEST(jobs_that_were_there_before_run_too)
{
    open_store();
    open_exec(1);
    uint64_t seq = add_plain("mail");
    handle("mail", &first);
    work(1);
    ck_assert_uint_eq(await_end(seq).state, BELAY_JOBS_DONE);
    close_store();
    close_exec();
}
END_TEST

START_TEST(each_of_many_jobs_runs_once)
{
    open_store();
    open_exec(4);
    handle("mail", &first);
    belay_jobs_new *jobs = calloc(MANY, sizeof *jobs);
    belay_jobs_added *added = calloc(MANY, sizeof *added);
    for (uint32_t i = 0; i < MANY; i++) {
        jobs[i] = new_job("mail", "");
    }
    work(4);
    ck_assert_int_eq(belay_jobs_add_many(test_jobs, jobs, MANY, NULL, added, NULL), 0);
    for (uint32_t i = 0; i < MANY; i++) {
        ck_assert_uint_eq(await_end(added[i].seq).runs, 1);
    }
    ck_assert_int_eq(belay_jobs_drain(test_jobs, BELAY_FOREVER), 0);
    ck_assert_uint_eq(first.begun, MANY);
    ck_assert_uint_le(first.peak, 4);
    ck_assert_uint_eq(metrics().started, MANY);
    ck_assert_uint_eq(metrics().held, 0);
    close_store();
    close_exec();
    free(jobs);
    free(added);
}
END_TEST

START_TEST(the_highest_priority_runs_first)
{
    open_store();
    open_exec(1);
    belay_jobs_new job = new_job("mail", "");
    uint64_t low = add(&job);
    job.priority = 5;
    uint64_t high = add(&job);
    job.priority = 0;
    uint64_t last = add(&job);
    handle("mail", &first);
    work(1);
    (void)await_end(low);
    (void)await_end(high);
    (void)await_end(last);
    ck_assert_uint_eq(first.seqs[0], high);
    ck_assert_uint_eq(first.seqs[1], low);
    ck_assert_uint_eq(first.seqs[2], last);
    close_store();
    close_exec();
}
END_TEST

START_TEST(no_more_run_than_running_max)
{
    open_store();
    open_exec(4);
    first.holds = 1;
    handle("mail", &first);
    uint64_t seqs[8];
    for (int i = 0; i < 8; i++) {
        seqs[i] = add_plain("mail");
    }
    work(2);
    word_await(&first.begun, 2);
    ck_assert_uint_eq(metrics().jobs[BELAY_JOBS_RUNNING], 2);
    ck_assert_uint_eq(metrics().jobs[BELAY_JOBS_CLAIMED], 0);
    word_raise(&first.may_end);
    for (int i = 0; i < 8; i++) {
        (void)await_end(seqs[i]);
    }
    ck_assert_uint_le(first.peak, 2);
    close_store();
    close_exec();
}
END_TEST

START_TEST(only_the_queues_of_the_handlers_are_taken)
{
    open_store();
    open_exec(1);
    belay_jobs_new command = {.size = sizeof command,
                              .work = {.command = {"true\0", 5}, .umask = -1}};
    uint64_t other = add(&command);
    handle("mail", &first);
    work(1);
    (void)await_end(add_plain("mail"));
    assert_state(other, BELAY_JOBS_READY);
    close_store();
    close_exec();
}
END_TEST

START_TEST(queues_may_be_named)
{
    open_store();
    open_exec(1);
    belay_jobs_new job = new_job("mail", "");
    job.queue = belay_bytes_text("slow");
    uint64_t seq = add(&job);
    handle("mail", &first);
    belay_bytes slow = belay_bytes_text("slow");
    belay_jobs_work_opts opts = {.size = sizeof opts, .queues = &slow, .queue_count = 1};
    ck_assert_int_eq(belay_jobs_work(test_jobs, belay_exec_executor(test_exec), 1, &opts), 0);
    ck_assert_uint_eq(await_end(seq).state, BELAY_JOBS_DONE);
    close_store();
    close_exec();
}
END_TEST

START_TEST(a_job_in_the_future_waits_for_its_time)
{
    open_store();
    open_exec(1);
    handle("mail", &first);
    work(1);
    belay_jobs_new job = new_job("mail", "");
    job.run_at_ns = bly_wall_ns() + SECOND / 10;
    belay_jobs_row row = await_end(add(&job));
    ck_assert_int_ge(row.start_ns, job.run_at_ns);
    job.run_at_ns = bly_wall_ns() + 3600 * SECOND;
    uint64_t later = add(&job);
    (void)await_end(add_plain("mail"));
    assert_state(later, BELAY_JOBS_SCHEDULED);
    close_store();
    close_exec();
}
END_TEST

START_TEST(drain_waits_for_what_runs_and_leaves_the_rest)
{
    open_store();
    open_exec(2);
    first.holds = 1;
    handle("mail", &first);
    uint64_t running = add_plain("mail");
    work(1);
    word_await(&first.begun, 1);
    uint64_t rest = add_plain("mail");
    ck_assert_int_eq(belay_jobs_drain(test_jobs, BELAY_NOW), BELAY_ETIMEDOUT);
    ck_assert_int_eq(belay_jobs_work(test_jobs, belay_exec_executor(test_exec), 1, NULL),
                     BELAY_EBUSY);
    ck_assert(!belay_run_is_canceled(first.run));
    word_raise(&first.may_end);
    ck_assert_int_eq(belay_jobs_drain(test_jobs, BELAY_FOREVER), 0);
    assert_state(running, BELAY_JOBS_DONE);
    assert_state(rest, BELAY_JOBS_READY);
    work(1);
    ck_assert_uint_eq(await_end(rest).state, BELAY_JOBS_DONE);
    close_store();
    close_exec();
}
END_TEST

START_TEST(drain_without_work_is_done)
{
    open_store();
    ck_assert_int_eq(belay_jobs_drain(test_jobs, BELAY_NOW), 0);
    ck_assert_int_eq(belay_jobs_drain(NULL, BELAY_NOW), BELAY_EINVAL);
    close_store();
}
END_TEST

static int drain_inside(belay_run *run, probe *self)
{
    (void)run;
    self->status = belay_jobs_drain(test_jobs, BELAY_FOREVER);
    return 0;
}

START_TEST(drain_from_a_handler_is_refused)
{
    open_store();
    open_exec(1);
    first.act = drain_inside;
    handle("mail", &first);
    work(1);
    (void)await_end(add_plain("mail"));
    ck_assert_int_eq(first.status, BELAY_EDEADLK);
    close_store();
    close_exec();
}
END_TEST

START_TEST(what_an_executor_does_not_run_goes_back)
{
    open_store();
    open_exec(1);
    handle("mail", &first);
    work(1);
    (void)await_end(add_plain("mail"));
    ck_assert_int_eq(belay_exec_shutdown(test_exec), 0);
    ck_assert_int_eq(belay_exec_await_termination(test_exec, BELAY_FOREVER), 0);
    uint64_t seq = add_plain("mail");
    ck_assert_int_eq(belay_jobs_drain(test_jobs, BELAY_FOREVER), 0);
    assert_state(seq, BELAY_JOBS_READY);
    ck_assert_int_eq(belay_exec_destroy(test_exec), 0);
    close_store();
}
END_TEST

/* A loop that runs handlers on its own thread. */
START_TEST(a_mailbox_runs_handlers_in_a_loop)
{
    open_store();
    belay_mailbox *mailbox = NULL;
    ck_assert_int_eq(belay_mailbox_create(NULL, &mailbox), 0);
    handle("mail", &first);
    ck_assert_int_eq(belay_jobs_work(test_jobs, belay_mailbox_executor(mailbox), 3, NULL), 0);
    uint64_t seq = add_plain("mail");
    while (first.begun == 0) {
        ck_assert_int_ge(belay_mailbox_run(mailbox, 0), 0);
        bly_yield();
    }
    ck_assert_uint_eq(await_end(seq).state, BELAY_JOBS_DONE);
    ck_assert_int_eq(belay_mailbox_destroy(mailbox), BELAY_EBUSY);
    ck_assert_int_eq(belay_jobs_drain(test_jobs, BELAY_FOREVER), 0);
    ck_assert_int_eq(belay_mailbox_destroy(mailbox), 0);
    close_store();
}
END_TEST

START_TEST(arguments_of_work_are_checked)
{
    open_store();
    open_exec(1);
    belay_executor *executor = belay_exec_executor(test_exec);
    ck_assert_int_eq(belay_jobs_work(test_jobs, executor, 1, NULL), BELAY_EINVAL);
    handle("mail", &first);
    ck_assert_int_eq(belay_jobs_work(NULL, executor, 1, NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_jobs_work(test_jobs, NULL, 1, NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_jobs_work(test_jobs, executor, 0, NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_jobs_work(test_jobs, executor, BELAY_JOBS_CLAIM_MAX + 1, NULL),
                     BELAY_EINVAL);
    belay_bytes none = {NULL, 0};
    belay_jobs_work_opts opts = {.size = sizeof opts, .queues = &none, .queue_count = 1};
    ck_assert_int_eq(belay_jobs_work(test_jobs, executor, 1, &opts), BELAY_EINVAL);
    opts.queues = NULL;
    ck_assert_int_eq(belay_jobs_work(test_jobs, executor, 1, &opts), BELAY_EINVAL);
    work(1);
    ck_assert_int_eq(belay_jobs_work(test_jobs, executor, 1, NULL), BELAY_EBUSY);
    ck_assert_int_eq(belay_jobs_handle(test_jobs, "other", NULL, probe_fn, &second), BELAY_EBUSY);
    close_store();
    close_exec();
}
END_TEST

UNIT_MAIN("jobs/worker", a_job_runs_once_and_is_done, jobs_that_were_there_before_run_too,
          each_of_many_jobs_runs_once, the_highest_priority_runs_first,
          no_more_run_than_running_max, only_the_queues_of_the_handlers_are_taken,
          queues_may_be_named, a_job_in_the_future_waits_for_its_time,
          drain_waits_for_what_runs_and_leaves_the_rest, drain_without_work_is_done,
          drain_from_a_handler_is_refused, what_an_executor_does_not_run_goes_back,
          a_mailbox_runs_handlers_in_a_loop, arguments_of_work_are_checked)
