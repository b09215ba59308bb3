/*
 * tables.h: what a store has beside jobs: its workers, batches and recurring jobs.
 * Context: the command's only thread.
 */
#ifndef BLY_CLI_TABLES_H
#define BLY_CLI_TABLES_H

#include <stdbool.h>

#include "belay/job.h"

/*
 * bly_tables_print: prints BELAY_JOBS_SESSIONS, BELAY_JOBS_BATCHES or BELAY_JOBS_SCHEDULES, as a
 * table or as lines of JSON. The exit status.
 */
int bly_tables_print(belay_jobs *jobs, int which, bool is_json);

#endif
