/*
 * launch.h: one run of a job: its command made into what bly_proc_spawn wants.
 * Context: the owner of the bly_proc.
 */
#ifndef BLY_CLI_LAUNCH_H
#define BLY_CLI_LAUNCH_H

#include "job.h"
#include "proc/proc.h"
#include "runopts.h"

/* Blocks that are used again for every run. All zero before the first. */
struct bly_launch {
    struct bly_words argv;
    struct bly_words env;
};

/* What is called about a run. */
struct bly_launch_calls {
    bly_proc_ended_fn *ended;
    bly_proc_wrote_fn *wrote; /* may be NULL */
    void *arg;
};

/*
 * bly_launch: starts a run of a job in its slot. job->tries counts it already.
 * 0; else as bly_proc_spawn; BELAY_ETOOBIG: a word is longer than the kernel allows.
 */
int bly_launch(struct bly_launch *launch, bly_proc *proc, const struct bly_runopts *opts,
               const bly_job *job, const struct bly_launch_calls *calls, uint64_t *ret_id);

void bly_launch_free(struct bly_launch *launch);

#endif
