/*
 * tuning.h: settings of a pool that are no options: how it is built, and what tests vary.
 *
 * Results and liveness do not depend on any of them.
 */
#ifndef BLY_EXEC_TUNING_H
#define BLY_EXEC_TUNING_H

#include "belay/exec.h"
#include "exec/deque.h"

#define BLY_SPIN_MAX 100000u
#define BLY_HELP_MAX 32u

typedef struct bly_exec_tuning {
    const bly_deque_kind *deque;
    uint64_t first_index;  /* of each deque */
    uint64_t seed;         /* of the choice of victims; 0: a new one */
    uint32_t spin;         /* fruitless rounds over all victims, beyond the first, before sleeping;
                             * at most BLY_SPIN_MAX */
    uint32_t steal_max;    /* tasks taken by one steal, 1 to BLY_STEAL_MAX */
    uint32_t forced_inbox; /* roots go to the inbox of this worker; BLY_NO_WORKER: as usual */
    uint32_t help_max;     /* tasks that waits of one thread may run on top of each other, beside
                             * what they wait for; at most BLY_HELP_MAX */
} bly_exec_tuning;

/* bly_exec_tuning_default: what belay_exec_create uses. */
bly_exec_tuning bly_exec_tuning_default(void);

/* bly_exec_create_tuned: belay_exec_create with other settings. */
int bly_exec_create_tuned(const belay_exec_opts *opts, const bly_exec_tuning *tuning,
                          belay_exec **ret_exec);

#endif
