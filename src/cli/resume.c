/* resume.c: see resume.h. */
#include "resume.h"

#include <string.h>

/* A command that holds its slot's number is another one each time; it is not compared. */
static bool differs(const struct bly_joblog *log, const struct bly_joblog_known *known,
                    const bly_job *job, struct bly_bytes *text)
{
    if (bly_template_has_slot(job->template)) {
        return false;
    }
    bly_bytes_clear(text);
    bly_job_show(job, text);
    return text->len != known->command_len ||
           memcmp(bly_bytes_c(text), bly_bytes_c(&log->commands) + known->command, text->len) != 0;
}

enum bly_resume_verdict bly_resume_verdict(enum bly_resume resume, const struct bly_joblog *log,
                                           const bly_job *job, struct bly_bytes *text)
{
    const struct bly_joblog_known *known =
        resume != BLY_RESUME_NO ? bly_joblog_find(log, job->seq) : NULL;
    if (known == NULL || resume == BLY_RETRY_FAILED) {
        return BLY_RESUME_RUN;
    }
    if (differs(log, known, job, text)) {
        return BLY_RESUME_DIFFERS;
    }
    return known->is_done || resume == BLY_RESUME_REST ? BLY_RESUME_SKIP : BLY_RESUME_RUN;
}
