/* Runs that cannot be started end at once. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/logfiles.h"
#include "cli/runner.h"

static struct {
    int calls;
    int how;
    int64_t code;
    bool is_well;
    char message[200];
} seen;

static void on_end(struct bly_jobrun *run, const struct bly_run_end *end)
{
    ck_assert_uint_eq(run->runner->running, 0);
    seen.calls++;
    seen.how = end->how;
    seen.code = end->code;
    seen.is_well = end->is_well;
    strncpy(seen.message, end->message, sizeof seen.message - 1);
}

static void check(const struct bly_runner *runner, int code, const char *message)
{
    ck_assert_int_eq(seen.calls, 1);
    ck_assert_int_eq(seen.how, BELAY_JOBS_HOW_NOT_RUNNABLE);
    ck_assert_int_eq(seen.code, code);
    ck_assert(!seen.is_well);
    ck_assert_msg(strstr(seen.message, message) != NULL, "%s", seen.message);
    ck_assert_ptr_null(runner->runs);
}

START_TEST(a_job_for_a_handler_is_no_command)
{
    struct bly_runner runner = {.logs = -1};
    struct bly_jobrun run = {.seq = 1, .work.handler = belay_bytes_text("resize"), .ended = on_end};
    bly_runner_start(&runner, &run);
    check(&runner, ENOEXEC, "handler");
    bly_runner_free(&runner);
}
END_TEST

START_TEST(a_log_that_cannot_be_made_fails_the_run)
{
    struct bly_runner runner = {.logs = -1};
    struct bly_jobrun run = {.seq = 1, .ended = on_end};
    bly_runner_start(&runner, &run);
    check(&runner, EBADF, "log");
    bly_runner_free(&runner);
}
END_TEST

START_TEST(a_job_without_a_word_fails_and_leaves_no_log)
{
    char folder[] = "/tmp/belay-runner-XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(folder));
    struct bly_runner runner = {.logs = bly_logfiles_open(folder, false)};
    struct bly_jobrun run = {.seq = 1, .work.umask = -1, .ended = on_end};
    bly_runner_start(&runner, &run);
    check(&runner, EINVAL, "started");
    ck_assert_int_eq(faccessat(runner.logs, "1.out", F_OK, 0), -1);
    close(runner.logs);
    ck_assert_int_eq(rmdir(folder), 0);
    bly_runner_free(&runner);
}
END_TEST

UNIT_MAIN("cli/runner", a_job_for_a_handler_is_no_command, a_log_that_cannot_be_made_fails_the_run,
          a_job_without_a_word_fails_and_leaves_no_log)
