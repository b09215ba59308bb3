/* launch.c: see launch.h. */
#include "launch.h"

#include <assert.h>
#include <inttypes.h>
#include <unistd.h>

/* A job knows its number and its try; what the line added comes behind, and wins. */
static void fill_env(struct bly_words *env, const bly_job *job)
{
    bly_words_clear(env);
    bly_words_begin(env);
    bly_bytes_print(&env->text, "BELAY_JOB=%" PRIu64, job->seq);
    bly_words_end(env);
    bly_words_begin(env);
    bly_bytes_print(&env->text, "BELAY_TRY=%" PRIu64, job->tries);
    bly_words_end(env);
    if (job->fence != 0) {
        bly_words_begin(env);
        bly_bytes_print(&env->text, "BELAY_FENCE=%" PRIu64, job->fence);
        bly_words_end(env);
    }
    bly_words_copy(env, &job->env);
}

int bly_launch(struct bly_launch *launch, bly_proc *proc, const struct bly_runopts *opts,
               const bly_job *job, const struct bly_launch_calls *calls, uint64_t *ret_id)
{
    assert(job->tries > 0);
    bly_words_clear(&launch->argv);
    bly_job_expand(job, &launch->argv);
    fill_env(&launch->env, job);
    if (launch->argv.count == 0) {
        return BELAY_EINVAL;
    }
    bly_proc_spec spec = {
        .size = sizeof spec,
        .flags = (opts->keeps_children ? BLY_PROC_KEEP_CHILDREN : 0) |
                 (calls->wrote != NULL ? BLY_PROC_WATCH_OUTPUT : 0),
        .argv = bly_words_argv(&launch->argv),
        .env_add = bly_words_argv(&launch->env),
        .cwd = job->cwd,
        .timeout_ns = job->timeout_ns,
        .ended = calls->ended,
        .wrote = calls->wrote,
        .arg = calls->arg,
    };
    if (opts->mode == BLY_OUTPUT_RAW) {
        spec.out = (bly_proc_stream){.kind = BLY_PROC_FD, .fd = STDOUT_FILENO};
        spec.err = (bly_proc_stream){.kind = BLY_PROC_FD, .fd = STDERR_FILENO};
    }
    return bly_proc_spawn(proc, &spec, ret_id);
}

void bly_launch_free(struct bly_launch *launch)
{
    bly_words_free(&launch->argv);
    bly_words_free(&launch->env);
}
