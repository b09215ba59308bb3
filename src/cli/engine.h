/*
 * engine.h: works a batch: takes jobs from the feed, starts those that the queue gives while slots
 * are free, and hands what they leave to the printer and the job log.
 * Context: the command's only thread.
 */
#ifndef BLY_CLI_ENGINE_H
#define BLY_CLI_ENGINE_H

#include "runopts.h"

/*
 * bly_engine_run: works the whole batch that the words behind the options describe (see feed.h), at
 * most `jobs` at once, or up to jobs_max by USR1. The exit status of the batch; messages are
 * written as things happen.
 */
int bly_engine_run(const struct bly_runopts *opts, char **words, uint32_t jobs, uint32_t jobs_max);

#endif
