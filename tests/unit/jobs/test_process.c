/*
 * test_process.c: several processes on one store in a file, each forked before it opens anything.
 */
#include "jobs.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MANY 80

/* What the processes of a test share. */
typedef struct shared {
    char folder[64];
    char path[96];
    uint32_t begun;       /* atomic: handlers that were called */
    uint32_t calls[MANY]; /* atomic: of each job, by its batch_row */
} shared;

static shared *common;

static void begin(void)
{
    common = mmap(NULL, sizeof *common, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(common, MAP_FAILED);
    (void)snprintf(common->folder, sizeof common->folder, "/tmp/belay-jobs-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(common->folder));
    (void)snprintf(common->path, sizeof common->path, "%s/jobs.db", common->folder);
}

static void finish(void)
{
    char command[96];
    (void)snprintf(command, sizeof command, "rm -rf %s", common->folder);
    ck_assert_int_eq(system(command), 0);
}

static int count_call(belay_run *run, void *arg)
{
    belay_run_details info = {.size = sizeof info};
    (void)arg;
    ck_assert_int_eq(belay_run_info(run, &info), 0);
    (void)bly_fetch_add(&common->calls[info.batch_row], 1u, BLY_SEQ_CST);
    (void)bly_fetch_add(&common->begun, 1u, BLY_SEQ_CST);
    return 0;
}

static int hang(belay_run *run, void *arg)
{
    (void)run;
    (void)arg;
    (void)bly_fetch_add(&common->begun, 1u, BLY_SEQ_CST);
    while (!belay_run_is_canceled(NULL)) {
        (void)pause();
    }
    return 0;
}

static void work_with(belay_jobs_fn *fn)
{
    open_at(common->path, NULL);
    open_exec(2);
    ck_assert_int_eq(belay_jobs_handle(test_jobs, "mail", NULL, fn, NULL), 0);
    work(2);
}

static void stop_work(void)
{
    ck_assert_int_eq(belay_jobs_drain(test_jobs, BELAY_FOREVER), 0);
    close_store();
    close_exec();
}

/* A process that works until somebody writes into its pipe, or closes it. */
static pid_t start_process(belay_jobs_fn *fn, int *ret_stop)
{
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        char byte;
        (void)close(ends[1]);
        work_with(fn);
        (void)!read(ends[0], &byte, 1);
        stop_work();
        _exit(0);
    }
    (void)close(ends[0]);
    *ret_stop = ends[1];
    return pid;
}

static void await_begun(uint32_t least)
{
    while (bly_load(&common->begun, BLY_SEQ_CST) < least) {
        bly_yield();
    }
}

START_TEST(each_job_runs_once_in_one_of_two_processes)
{
    begin();
    int stop;
    pid_t other = start_process(count_call, &stop);
    work_with(count_call);
    for (uint32_t i = 0; i < MANY; i++) {
        belay_jobs_new job = new_job("mail", "");
        job.batch_row = i;
        (void)add(&job);
    }
    await_begun(MANY);
    (void)close(stop);
    int status = 1;
    ck_assert_int_eq(waitpid(other, &status, 0), other);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(belay_jobs_drain(test_jobs, BELAY_FOREVER), 0);
    for (uint32_t i = 0; i < MANY; i++) {
        ck_assert_uint_eq(common->calls[i], 1);
    }
    ck_assert_uint_eq(metrics().jobs[BELAY_JOBS_DONE], MANY);
    stop_work();
    finish();
}
END_TEST

START_TEST(a_job_of_a_killed_process_runs_in_another)
{
    begin();
    int stop;
    pid_t other = start_process(hang, &stop);
    open_at(common->path, NULL);
    uint64_t seq = add_plain("mail");
    await_begun(1);
    assert_state(seq, BELAY_JOBS_RUNNING);
    ck_assert_int_eq(kill(other, SIGKILL), 0);
    ck_assert_int_eq(waitpid(other, NULL, 0), other);
    open_exec(1);
    ck_assert_int_eq(belay_jobs_handle(test_jobs, "mail", NULL, count_call, NULL), 0);
    work(1);
    belay_jobs_row row = await_end(seq);
    ck_assert_uint_eq(row.state, BELAY_JOBS_DONE);
    ck_assert_uint_eq(row.lost, 1);
    ck_assert_uint_eq(row.tried, 0);
    ck_assert_uint_eq(row.runs, 2);
    (void)close(stop);
    stop_work();
    finish();
}
END_TEST

START_TEST(a_cancel_reaches_the_process_that_runs_the_job)
{
    begin();
    int stop;
    pid_t other = start_process(hang, &stop);
    open_at(common->path, NULL);
    uint64_t seq = add_plain("mail");
    await_begun(1);
    ck_assert_int_eq(cancel(seq), BELAY_STILL_RUNNING);
    ck_assert(find(seq).is_cancel_requested);
    ck_assert_int_eq(kill(other, SIGKILL), 0);
    ck_assert_int_eq(waitpid(other, NULL, 0), other);
    ck_assert_uint_eq(await_end(seq).state, BELAY_JOBS_CANCELED);
    (void)close(stop);
    close_store();
    finish();
}
END_TEST

UNIT_MAIN("jobs/process", each_job_runs_once_in_one_of_two_processes,
          a_job_of_a_killed_process_runs_in_another, a_cancel_reaches_the_process_that_runs_the_job)
