/* dry.h: --dry-run. Context: the command's only thread; writes to stdout. */
#ifndef BLY_CLI_DRY_H
#define BLY_CLI_DRY_H

#include "runopts.h"

/*
 * bly_dry_run: prints the command of each job of the batch that would run, a line each. `words` and
 * `jobs`: see bly_engine_run. The exit status.
 */
int bly_dry_run(const struct bly_runopts *opts, char **words, uint32_t jobs);

#endif
