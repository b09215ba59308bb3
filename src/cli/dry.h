/* dry.h: --dry-run. Context: the command's only thread; writes to stdout. */
#ifndef BLY_CLI_DRY_H
#define BLY_CLI_DRY_H

#include "feed.h"

/* bly_dry_run: prints the command of each job of the batch, a line each. The exit status. */
int bly_dry_run(struct bly_feed *feed);

#endif
