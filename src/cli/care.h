/*
 * care.h: jobs and logs whose time is over, for `belay gc` and workers.
 * Context: the command's only thread; blocks.
 */
#ifndef BLY_CLI_CARE_H
#define BLY_CLI_CARE_H

#include "jobstore.h"

/* What is kept. */
struct bly_care {
    int64_t keep_ns, keep_failed_ns, keep_logs_ns;
    int64_t logs_max; /* bytes */
};

struct bly_care_result {
    uint64_t jobs, batches, store_bytes;
    uint64_t logs, log_bytes;
};

/* bly_care_default: 14 days, and 2 GiB of logs. */
struct bly_care bly_care_default(void);

/* bly_care_take: removes the rest. 0, or BLY_SAY_OWN_ERROR after a message. */
int bly_care_take(belay_jobs *jobs, const struct bly_care *care,
                  struct bly_care_result *ret_result);

#endif
