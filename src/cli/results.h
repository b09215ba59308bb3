/*
 * results.h: --results DIR: what each job wrote, kept in DIR/NUMBER/stdout and stderr, its command
 * as one would type it in DIR/NUMBER/command. Numbers only: no name of a user becomes a path.
 * Context: the owner of the bly_proc whose outputs are given; writes files.
 */
#ifndef BLY_CLI_RESULTS_H
#define BLY_CLI_RESULTS_H

#include "job.h"
#include "proc/proc.h"

/* bly_results_open: makes the folder unless it is there. 0, or -1 with errno. */
int bly_results_open(const char *folder);

/* bly_results_keep: keeps the outputs (borrowed, may be NULL) of a job. 0, or -1 with errno. */
int bly_results_keep(const char *folder, const bly_job *job, const bly_output *out,
                     const bly_output *err);

#endif
