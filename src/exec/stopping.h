/*
 * stopping.h: what a scheduler asks of the executor that its tickets run on.
 */
#ifndef BLY_EXEC_STOPPING_H
#define BLY_EXEC_STOPPING_H

#include "belay/task.h"

#include <stdbool.h>

/*
 * bly_exec_is_stopping: whether the executor is a pool that belay_exec_shutdown_now was called on.
 * A pool still runs the deliveries it has accepted then; one that would begin new work asks first.
 * Context: any thread, while the executor is attached or runs one of the caller's tasks.
 */
bool bly_exec_is_stopping(const belay_executor *executor);

#endif
