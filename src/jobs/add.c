/*
 * add.c: jobs are added and edited.
 */
#include "jobs/jobs_int.h"

#include <string.h>

int belay_jobs_add(belay_jobs *jobs, const belay_jobs_new *job, belay_jobs_added *ret_added)
{
    belay_jobs_new known;
    if (jobs == NULL || job == NULL || bly_new_read(&known, job) != 0) {
        return BELAY_EINVAL;
    }
    belay_jobs_added added = {0};
    int result = bly_store_add(jobs->store, &known, 1, NULL, &added, NULL);
    if (result == 0 && ret_added != NULL) {
        *ret_added = added;
    }
    return result;
}

/* Reads `count` jobs that stand as far apart as the first one says. */
static int read_all(belay_jobs_new *ret_jobs, const belay_jobs_new *job, uint32_t count,
                    uint32_t *ret_bad)
{
    uint32_t stride = job->size;
    for (uint32_t i = 0; i < count; i++) {
        const void *given = (const char *)job + (size_t)i * stride;
        uint32_t size;
        memcpy(&size, given, sizeof size);
        if (size != stride || bly_new_read(&ret_jobs[i], given) != 0) {
            *ret_bad = i;
            return BELAY_EINVAL;
        }
    }
    return 0;
}

int belay_jobs_add_many(belay_jobs *jobs, const belay_jobs_new *job, uint32_t count,
                        const belay_jobs_key *key, belay_jobs_added *ret_added, uint32_t *ret_bad)
{
    if (jobs == NULL || job == NULL || count == 0 || count > BELAY_JOBS_ADD_MAX) {
        return BELAY_EINVAL;
    }
    belay_jobs_new *known = bly_alloc(count * sizeof *known);
    belay_jobs_added *added = bly_alloc(count * sizeof *added);
    uint32_t bad = 0;
    int result = known == NULL || added == NULL ? BELAY_ENOMEM : read_all(known, job, count, &bad);
    if (result == 0) {
        result = bly_store_add(jobs->store, known, count, key, added, &bad);
    }
    if (result == 0 && ret_added != NULL) {
        memcpy(ret_added, added, count * sizeof *added);
    }
    if (result != 0 && ret_bad != NULL) {
        *ret_bad = bad;
    }
    bly_free(added);
    bly_free(known);
    return result;
}

#define EDIT_ALL                                                                                   \
    (BELAY_JOBS_EDIT_PRIORITY | BELAY_JOBS_EDIT_RUN_AT | BELAY_JOBS_EDIT_TIMEOUT |                 \
     BELAY_JOBS_EDIT_TRIES | BELAY_JOBS_EDIT_QUEUE)

int belay_jobs_edit(belay_jobs *jobs, const belay_jobs_ref *job, const belay_jobs_edition *edition)
{
    belay_jobs_edition known;
    if (jobs == NULL || job == NULL || edition == NULL ||
        bly_opts_read(&known, sizeof known, edition) != 0 ||
        (known.which & ~(uint32_t)EDIT_ALL) != 0) {
        return BELAY_EINVAL;
    }
    bly_edit edit = {
        .has_priority = (known.which & BELAY_JOBS_EDIT_PRIORITY) != 0,
        .has_run_at = (known.which & BELAY_JOBS_EDIT_RUN_AT) != 0,
        .has_timeout = (known.which & BELAY_JOBS_EDIT_TIMEOUT) != 0,
        .has_tries = (known.which & BELAY_JOBS_EDIT_TRIES) != 0,
        .has_queue = (known.which & BELAY_JOBS_EDIT_QUEUE) != 0,
        .priority = known.priority,
        .run_at_ns = known.run_at_ns,
        .timeout_ns = known.timeout_ns,
        .tries = known.tries,
        .queue = known.queue,
    };
    return bly_store_edit(jobs->store, job, &edit);
}
