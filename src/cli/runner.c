/* runner.c: see runner.h. */
#include "runner.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "capture.h"
#include "jobtext.h"
#include "logfiles.h"
#include "outcome.h"

/* A run leaves the list and is told its end. */
static void finish(struct bly_jobrun *run, const struct bly_run_end *end)
{
    struct bly_runner *runner = run->runner;
    assert(runner->running > 0);
    runner->running--;
    *run->link = run->next;
    if (run->next != NULL) {
        run->next->link = run->link;
    }
    run->ended(run, end);
}

static const char *stage_of(const bly_proc_end *end)
{
    switch (end->stage) {
    case BLY_PROC_AT_CHDIR:
        return "its folder cannot be entered";
    case BLY_PROC_AT_EXEC:
        return end->code == ENOENT ? "command not found" : "it cannot be executed";
    default:
        return "it cannot be started";
    }
}

static void explain(struct bly_runner *runner, const bly_proc_end *end)
{
    bly_bytes_clear(&runner->message);
    if (end->how == BLY_PROC_FAILED) {
        bly_bytes_print(&runner->message, "%s: %s", stage_of(end), strerror(end->code));
    } else if (end->is_incomplete) {
        bly_bytes_text(&runner->message, "the disk was full, its log is incomplete");
    } else if (end->left > 0) {
        bly_bytes_print(&runner->message, "%" PRIu32 " processes that it left were ended",
                        end->left);
    }
}

static void on_end(const bly_proc_end *proc_end, void *arg)
{
    struct bly_jobrun *run = arg;
    struct bly_runner *runner = run->runner;
    struct bly_run_end end = {
        .how = bly_outcome_how(proc_end),
        .code = proc_end->code,
        .is_well = bly_proc_status(proc_end) == 0,
        .is_stopped = proc_end->is_stopped,
        .run_ns = proc_end->start_ns > 0 ? proc_end->end_ns - proc_end->start_ns : 0,
        .user_ns = proc_end->user_ns,
        .system_ns = proc_end->system_ns,
        .rss_max_kib = proc_end->rss_max_kib,
    };
    explain(runner, proc_end);
    end.message = runner->message.len > 0 ? bly_bytes_c(&runner->message) : NULL;
    bly_output_free(proc_end->out);
    bly_output_free(proc_end->err);
    bly_logfiles_end(runner->logs, run->seq);
    finish(run, &end);
}

/* The job's environment, and what it may know of itself. */
static void fill_env(struct bly_words *to, const struct bly_jobrun *run)
{
    struct bly_words stored = {0};
    if (run->work.env.len > 0) {
        bly_jobtext_words(&stored, run->work.env);
        bly_capture_restore(to, &stored, environ);
    } else {
        for (char *const *word = environ; *word != NULL; word++) {
            bly_words_text(to, *word);
        }
    }
    const struct {
        const char *name;
        uint64_t number;
    } own[] = {{"BELAY_JOB", run->seq}, {"BELAY_TRY", run->attempt}, {"BELAY_FENCE", run->token}};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        bly_words_begin(to);
        bly_bytes_print(&to->text, "%s=%" PRIu64, own[i].name, own[i].number);
        bly_words_end(to);
    }
    bly_words_free(&stored);
}

/* 0, or an errno, which is about the logs, or -1 for a job without a command. */
static int spawn(struct bly_runner *runner, struct bly_jobrun *run, int out, int err)
{
    struct bly_words argv = {0};
    struct bly_words env = {0};
    struct bly_bytes cwd = {0};
    bly_jobtext_words(&argv, run->work.command);
    fill_env(&env, run);
    bly_bytes_add(&cwd, run->work.cwd.data, run->work.cwd.len);
    bly_proc_spec spec = {
        .size = sizeof spec,
        .flags = run->work.umask >= 0 ? BLY_PROC_UMASK : 0,
        .argv = bly_words_argv(&argv),
        .env = bly_words_argv(&env),
        .cwd = cwd.len > 0 ? bly_bytes_c(&cwd) : NULL,
        .umask = run->work.umask >= 0 ? (mode_t)run->work.umask : 0,
        .timeout_ns = run->timeout_ns,
        .out = {.kind = BLY_PROC_FD, .fd = out},
        .err = {.kind = BLY_PROC_FD, .fd = err},
        .ended = on_end,
        .arg = run,
    };
    int result = argv.count > 0 ? bly_proc_spawn(runner->proc, &spec, &run->process) : BELAY_EINVAL;
    bly_words_free(&argv);
    bly_words_free(&env);
    bly_bytes_free(&cwd);
    return result;
}

static void fail(struct bly_jobrun *run, int error, const char *what)
{
    struct bly_runner *runner = run->runner;
    bly_bytes_clear(&runner->message);
    bly_bytes_print(&runner->message, "%s: %s", what, strerror(error));
    struct bly_run_end end = {.how = BELAY_JOBS_HOW_NOT_RUNNABLE,
                              .code = error,
                              .message = bly_bytes_c(&runner->message)};
    bly_logfiles_end(runner->logs, run->seq);
    finish(run, &end);
}

static int errno_of(int result)
{
    switch (result) {
    case BELAY_ETOOBIG:
        return E2BIG;
    case BELAY_EINVAL:
        return EINVAL;
    case BELAY_EIO:
        return errno;
    default:
        return EAGAIN;
    }
}

void bly_runner_start(struct bly_runner *runner, struct bly_jobrun *run)
{
    run->runner = runner;
    run->process = 0;
    run->next = runner->runs;
    run->link = &runner->runs;
    if (run->next != NULL) {
        run->next->link = &run->next;
    }
    runner->runs = run;
    runner->running++;
    if (run->work.handler.len > 0) { /* its bytes are no command */
        fail(run, ENOEXEC, "it is for a handler of another program");
        return;
    }
    int out = bly_logfiles_create(runner->logs, run->seq, BLY_LOG_OUT);
    int err = out >= 0 ? bly_logfiles_create(runner->logs, run->seq, BLY_LOG_ERR) : -1;
    int error = errno;
    int result = err >= 0 ? spawn(runner, run, out, err) : 0;
    int spawn_error = errno_of(result);
    if (out >= 0) {
        close(out);
    }
    if (err >= 0) {
        close(err);
    }
    if (err < 0) {
        fail(run, error, "its log cannot be made");
    } else if (result != 0) {
        fail(run, spawn_error, "it cannot be started");
    }
}

void bly_runner_stop(struct bly_jobrun *run)
{
    (void)bly_proc_stop(run->runner->proc, run->process);
}

void bly_runner_trim(struct bly_runner *runner)
{
    for (const struct bly_jobrun *run = runner->runs; run != NULL; run = run->next) {
        bly_logfiles_trim_job(runner->logs, run->seq);
    }
}

void bly_runner_free(struct bly_runner *runner)
{
    bly_bytes_free(&runner->message);
}
