/* job.c: see job.h. */
#include "job.h"

#include <assert.h>

bly_job *bly_job_make(uint64_t seq)
{
    assert(seq > 0);
    bly_job *job = bly_mem(sizeof *job);
    job->seq = seq;
    job->tries_max = 1;
    return job;
}

static struct bly_filling filling_of(const bly_job *job)
{
    return (struct bly_filling){.args = &job->args, .seq = job->seq, .slot = job->slot};
}

void bly_job_expand(const bly_job *job, struct bly_words *ret_argv)
{
    struct bly_filling filling = filling_of(job);
    bly_template_expand(job->template, &filling, ret_argv);
}

void bly_job_show(const bly_job *job, struct bly_bytes *to)
{
    struct bly_filling filling = filling_of(job);
    bly_template_show(job->template, &filling, to);
}

void bly_job_free(bly_job *job)
{
    if (job == NULL) {
        return;
    }
    bly_words_free(&job->args);
    bly_template_free(&job->own);
    bly_words_free(&job->limits);
    bly_permits_free(&job->permits);
    bly_words_free(&job->env);
    bly_mem_free(job->own_cwd);
    bly_mem_free(job);
}
