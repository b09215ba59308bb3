/*
 * values.c: a job to add, as its caller may have compiled it against another version.
 */
#include "jobs/jobs_int.h"

int bly_new_read(belay_jobs_new *ret_job, const belay_jobs_new *job)
{
    int result = bly_opts_read(ret_job, sizeof *ret_job, job);
    /* Of another handler's queue nobody here would know; commands have one for all. */
    if (result == 0 && ret_job->queue.len == 0) {
        ret_job->queue = ret_job->work.handler;
    }
    return result;
}
