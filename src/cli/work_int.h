/*
 * work_int.h: the state of `belay work`, shared by work.c (options, opening, closing) and
 * workloop.c (the loop). Context of all: the command's only thread.
 */
#ifndef BLY_CLI_WORK_INT_H
#define BLY_CLI_WORK_INT_H

#include "jobstore.h"
#include "number.h"
#include "runner.h"
#include "signals.h"

#define BLY_WORK_SECOND_NS INT64_C(1000000000)

struct bly_workopts {
    struct bly_jobopts common;
    struct bly_amount jobs;
    struct bly_words queues;
    bool until_idle;
};

struct bly_work {
    const struct bly_workopts *opts;
    belay_jobs *jobs;
    belay_jobs_watch *watch;
    const belay_jobs_live *live;
    belay_jobs_session *session;
    struct bly_runner runner;
    struct bly_signals signals;
    uint32_t slots, slots_max;
    bool is_stopping; /* nothing more is claimed */
    bool is_news;     /* something was committed, or has ended: look */
    bool is_broken;   /* the store or the keeper: leave with 255 */
    int64_t due_ns;   /* monotonic: the next job is due, or there may be news */
    int64_t look_ns;  /* the next look for dead workers */
    int64_t care_ns;  /* the next removal of old jobs and logs */
    int64_t watchdog_ns;
    int64_t watchdog_period_ns;
};

/*
 * bly_work_loop: claims and runs jobs until it is told to stop, or none is left and that was asked
 * for. Nothing runs when it returns.
 */
void bly_work_loop(struct bly_work *work);

/* bly_work_is_idle: has no queue of this worker a job that is not over? True when that failed. */
bool bly_work_is_idle(struct bly_work *work);

/* bly_work_on_news, bly_work_on_signal: bly_proc_watch_fns; arg: the bly_work. */
void bly_work_on_news(int fd, uint32_t events, void *arg);
void bly_work_on_signal(int fd, uint32_t events, void *arg);

/* bly_work_on_notice: a bly_proc_notice_fn; arg: the bly_work. */
void bly_work_on_notice(int notice, void *arg);

#endif
