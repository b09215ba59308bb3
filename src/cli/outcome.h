/*
 * outcome.h: what the end of a run means: its line in the job log, and the message about a command
 * that could not be run.
 * Context: the owner of the bly_proc.
 */
#ifndef BLY_CLI_OUTCOME_H
#define BLY_CLI_OUTCOME_H

#include "job.h"
#include "joblog.h"
#include "proc/proc.h"

/* bly_outcome_entry: the job log's line of an ended job; its command is put into `text`. */
struct bly_joblog_entry bly_outcome_entry(const bly_job *job, const bly_proc_end *end,
                                          struct bly_bytes *text);

/* bly_outcome_how: how a run ended, as stores have it: BELAY_JOBS_HOW_…. */
int bly_outcome_how(const bly_proc_end *end);

/* bly_outcome_say: says why a command was not run (not found, too long …), or was lost. */
void bly_outcome_say(const bly_job *job, const bly_proc_end *end);

#endif
