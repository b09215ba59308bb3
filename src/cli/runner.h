/*
 * runner.h: runs of jobs of a store: from what was stored to a process, and from its end to what is
 * reported. What to run, and who is told, is for work.c.
 * Context: the owner of the bly_proc.
 */
#ifndef BLY_CLI_RUNNER_H
#define BLY_CLI_RUNNER_H

#include <stdbool.h>
#include <stdint.h>

#include "belay/job.h"
#include "mem.h"
#include "proc/proc.h"

/* What a run came to. Texts live for the call. */
struct bly_run_end {
    int how; /* BELAY_JOBS_HOW_… */
    int64_t code;
    bool is_well;    /* it ended with 0 */
    bool is_stopped; /* it was told to end before it did */
    int64_t run_ns;
    int64_t user_ns, system_ns;
    uint64_t rss_max_kib;
    const char *message; /* NULL: none */
};

struct bly_jobrun;
typedef void bly_jobrun_fn(struct bly_jobrun *run, const struct bly_run_end *end);

/* A run of a job. Filled by the caller, all zero but what is said. */
struct bly_jobrun {
    uint64_t seq, token;
    uint32_t attempt;
    int64_t timeout_ns;
    belay_jobs_payload work; /* lives as long as the run */
    bly_jobrun_fn *ended;    /* the last thing that happens to it; it may free the run */
    void *arg;
    /* bly_runner's */
    struct bly_runner *runner;
    uint64_t process; /* in proc; 0: none */
    struct bly_jobrun *next, **link;
};

/* All zero but `proc` and `logs` before the first run. */
struct bly_runner {
    bly_proc *proc;
    int logs; /* the folder of logs */
    uint32_t running;
    struct bly_jobrun *runs;
    struct bly_bytes message; /* scratch */
};

/*
 * bly_runner_start: starts the process of a run, with its logs as standard output and error. When
 * that fails, or the job is for a handler and no command, `ended` is called before it returns.
 */
void bly_runner_start(struct bly_runner *runner, struct bly_jobrun *run);

/* bly_runner_stop: TERM, and 10 seconds later KILL, for all that the run has started. */
void bly_runner_stop(struct bly_jobrun *run);

/* bly_runner_trim: keeps the logs of what runs within their bound; once a second will do. */
void bly_runner_trim(struct bly_runner *runner);

void bly_runner_free(struct bly_runner *runner);

#endif
