/*
 * values.c: structs of callers that may have been compiled against another version.
 */
#include "jobs/jobs_int.h"

#include <string.h>

int bly_give(void *ret, const void *from, size_t size)
{
    uint32_t known = 0;
    memcpy(&known, ret, sizeof known);
    if (known < sizeof known || known > BLY_OPTS_SIZE_MAX) {
        return BELAY_EINVAL;
    }
    if (known < size) {
        size = known;
    }
    memcpy((char *)ret + sizeof known, (const char *)from + sizeof known, size - sizeof known);
    return 0;
}

int bly_new_read(belay_jobs_new *ret_job, const belay_jobs_new *job)
{
    int result = bly_opts_read(ret_job, sizeof *ret_job, job);
    /* Of another handler's queue nobody here would know; commands have one for all. */
    if (result == 0 && ret_job->queue.len == 0) {
        ret_job->queue = ret_job->work.handler;
    }
    return result;
}
