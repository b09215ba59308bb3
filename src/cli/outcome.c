/* outcome.c: see outcome.h. */
#include "outcome.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "belay/job.h"
#include "say.h"

struct bly_joblog_entry bly_outcome_entry(const bly_job *job, const bly_proc_end *end,
                                          struct bly_bytes *text)
{
    bly_bytes_clear(text);
    bly_job_show(job, text);
    struct bly_joblog_entry entry = {
        .seq = job->seq,
        .start_wall_ns = job->start_wall_ns,
        .run_ns = end->start_ns > 0 ? end->end_ns - end->start_ns : 0,
        .received = end->out != NULL ? bly_output_size(end->out) : 0,
        .exit_value = bly_proc_status(end),
        .command = bly_bytes_c(text),
        .command_len = text->len,
    };
    if (end->is_timed_out) {
        entry.exit_value = -1;
        entry.signal = SIGTERM;
    } else if (end->how == BLY_PROC_SIGNALED) {
        entry.exit_value = 0;
        entry.signal = end->code;
    }
    return entry;
}

int bly_outcome_how(const bly_proc_end *end)
{
    if (end->is_timed_out) {
        return BELAY_JOBS_HOW_TIMED_OUT;
    }
    switch (end->how) {
    case BLY_PROC_EXITED:
        return BELAY_JOBS_HOW_EXITED;
    case BLY_PROC_SIGNALED:
        return BELAY_JOBS_HOW_SIGNALED;
    case BLY_PROC_LOST:
        return BELAY_JOBS_HOW_LOST;
    default:
        return BELAY_JOBS_HOW_NOT_RUNNABLE;
    }
}

/* The kernel's limit is for one word; what it takes for all words together is larger. */
static void say_too_long(const bly_job *job, const struct bly_words *argv)
{
    for (size_t i = 0; i < argv->count; i++) {
        size_t len = bly_words_len(argv, i);
        if (len >= BLY_PROC_ARG_MAX) {
            bly_say("job %" PRIu64
                    ": an argument has %zu bytes, and the kernel allows 131,072 with "
                    "its end; pass the data in a file",
                    job->seq, len);
            return;
        }
    }
    bly_say("job %" PRIu64 ": the command is too long for the kernel; use -s or fewer arguments",
            job->seq);
}

static const char *exec_reason(int error)
{
    return error == ENOENT ? "command not found" : strerror(error);
}

void bly_outcome_say(const bly_job *job, const bly_proc_end *end)
{
    if (end->how == BLY_PROC_LOST) {
        bly_say("job %" PRIu64 ": its keeper died; whether it ended is not known", job->seq);
        return;
    }
    if (end->how != BLY_PROC_FAILED || end->stage == BLY_PROC_AT_CANCEL) {
        return;
    }
    struct bly_words argv = {0};
    bly_job_expand(job, &argv);
    const char *word = argv.count > 0 ? bly_words_at(&argv, 0) : "";
    if (end->stage == BLY_PROC_AT_CHDIR) {
        bly_say_about(job->cwd != NULL ? job->cwd : ".", "%s; job %" PRIu64 " is to run there",
                      strerror(end->code), job->seq);
    } else if (end->code == E2BIG) {
        say_too_long(job, &argv);
    } else if (end->stage == BLY_PROC_AT_EXEC) {
        bly_say_about(word, "%s (job %" PRIu64 ")", exec_reason(end->code), job->seq);
    } else {
        bly_say_about(word, "job %" PRIu64 " could not be started: %s", job->seq,
                      strerror(end->code));
    }
    bly_words_free(&argv);
}
