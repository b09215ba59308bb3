/*
 * resume.h: --resume and --resume-failed: must a job run, given what the job log knows of it?
 * Context: the command's only thread; pure but for memory.
 */
#ifndef BLY_CLI_RESUME_H
#define BLY_CLI_RESUME_H

#include "job.h"
#include "joblog.h"
#include "runopts.h"

enum bly_resume_verdict {
    BLY_RESUME_RUN,     /* the log does not have it, or it failed and is to run again */
    BLY_RESUME_SKIP,    /* it is done */
    BLY_RESUME_DIFFERS, /* the log has another command under this number */
};

/* bly_resume_verdict: `text` is scratch. */
enum bly_resume_verdict bly_resume_verdict(enum bly_resume resume, const struct bly_joblog *log,
                                           const bly_job *job, struct bly_bytes *text);

#endif
