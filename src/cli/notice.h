/*
 * notice.h: `belay add --notify`: a shell line that is run when a job has ended for good.
 * Context: the owner of the bly_proc.
 */
#ifndef BLY_CLI_NOTICE_H
#define BLY_CLI_NOTICE_H

#include "belay/job.h"
#include "proc/proc.h"

/*
 * bly_notice_send: runs the line of the job, if it has one and is not tried again, with BELAY_JOB,
 * BELAY_STATE and BELAY_STATUS in its environment. It is run at most once, and may be lost with
 * its worker. *has_ended, which outlives `proc`, becomes true when it has ended.
 */
void bly_notice_send(bly_proc *proc, const belay_run_details *info, const belay_run_ending *ending,
                     bool *has_ended);

#endif
