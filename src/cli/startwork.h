/*
 * startwork.h: is there a worker, and starting one.
 * Context: the command's only thread.
 */
#ifndef BLY_CLI_STARTWORK_H
#define BLY_CLI_STARTWORK_H

#include <stdbool.h>

#include "belay/job.h"

/* The queue of jobs that name none. */
#define BLY_STARTWORK_QUEUE "default"

/* bly_startwork_is_there: does a living worker take jobs of the queue (NULL: the default)? */
bool bly_startwork_is_there(belay_jobs *jobs, const char *queue);

/*
 * bly_startwork: starts `belay work --until-idle` in the background, in a session of its own. No
 * store is open. 0, or BLY_SAY_OWN_ERROR after a message.
 */
int bly_startwork(const char *store, const char *queue);

#endif
