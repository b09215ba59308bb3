/*
 * engine_int.h: the engine's state, shared by engine.c (feeding, starting, the loop), ending.c (a
 * run ends), control.c (stopping, signals) and opening.c. Context of all: the command's only
 * thread.
 */
#ifndef BLY_CLI_ENGINE_INT_H
#define BLY_CLI_ENGINE_INT_H

#include <stdbool.h>
#include <stdint.h>

#include "batch.h"
#include "feed.h"
#include "gate.h"
#include "halt.h"
#include "joblog.h"
#include "launch.h"
#include "median.h"
#include "printer.h"
#include "proc/proc.h"
#include "progress.h"
#include "queue.h"
#include "signals.h"
#include "waiting.h"
#include "jobslots.h"

enum bly_engine_state {
    BLY_ENGINE_WORKING,  /* jobs are started */
    BLY_ENGINE_STOPPING, /* none is started; what runs is waited for */
};

struct bly_engine {
    const struct bly_runopts *opts;
    struct bly_feed feed;
    bly_proc *proc;
    belay_timers *timers; /* of all semaphores: slots and limits */
    struct bly_queue queue;
    struct bly_printer printer;
    struct bly_joblog joblog;
    struct bly_batch batch; /* in a store; all zero without --name */
    int hold_fd;            /* the lock on the job log; -1: none */
    struct bly_launch launch;
    struct bly_template tag;
    struct bly_bytes text; /* scratch */
    struct bly_bytes head; /* scratch */
    struct bly_jobslots slots;
    struct bly_signals signals;
    struct bly_tally tally;
    enum bly_engine_state state;
    bool is_fed;      /* the input has ended */
    bool waits_input; /* its descriptor is watched */
    bool has_status;
    bool has_said_output; /* why outputs cannot be shown */
    int status;
    uint64_t accepted; /* jobs that were not skipped */
    uint64_t last_seq; /* the number of the job made last */
    struct bly_gate gate;
    struct bly_waiting waiting;
    struct bly_median run_times; /* of what ended well */
    struct bly_progress progress;
};

/* A run of a job, from its start to its end. */
struct bly_run {
    struct bly_engine *engine;
    bly_job *job;
    uint64_t out_from, err_from; /* shown by lines */
    char *tag;
};

/* bly_engine_stop: what runs is waited for, nothing else is started. The first status counts. */
void bly_engine_stop(struct bly_engine *engine, int status);

/* bly_engine_fail_output: says why (errno) outputs cannot be shown, stops and ends what runs. */
void bly_engine_fail_output(struct bly_engine *engine);

/* bly_engine_on_signal: a bly_proc_watch_fn for engine->signals; arg: the engine. */
void bly_engine_on_signal(int fd, uint32_t events, void *arg);

/* bly_engine_on_notice: a bly_proc_notice_fn; arg: the engine. */
void bly_engine_on_notice(int notice, void *arg);

/*
 * bly_engine_end: a bly_proc_ended_fn; arg: the run, which it frees. Its job goes back to the queue
 * or is shown, logged, counted and freed.
 */
void bly_engine_end(const bly_proc_end *end, void *arg);

/*
 * bly_engine_open: the log's lock, keeper, signals, job log, input, in this order. 0, or
 * BLY_SAY_OWN_ERROR after a message; bly_engine_close ends it either way.
 */
int bly_engine_open(struct bly_engine *engine, char **words);
void bly_engine_close(struct bly_engine *engine);

#endif
