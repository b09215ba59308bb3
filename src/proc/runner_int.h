/*
 * runner_int.h: the runner's side: the loop and the keeper's beginning and end (proc.c), jobs from
 * spawn to `ended` (job.c).
 */
#ifndef BLY_PROC_RUNNER_INT_H
#define BLY_PROC_RUNNER_INT_H

#include "base/list.h"
#include "proc/keeper_int.h"
#include "proc/poller_int.h"
#include "proc/proc.h"
#include "proc/spool_int.h"
#include "proc/tree_int.h"
#include "proc/wire_int.h"

#define BLY_JOB_NONE UINT32_MAX

/* Descriptors the caller may watch at once. */
#define BLY_WATCHES_MAX 1024u

/*
 * Longest wait for the keeper's beginning and end, and for one more process to die of KILL; longest
 * wait for an answer of the keeper.
 */
#define BLY_END_NS    INT64_C(10000000000)
#define BLY_ANSWER_NS INT64_C(1000000000)

/* A job between spawn and `ended`, or a free place. */
typedef struct bly_job {
    uint64_t id; /* 0: the place is free */
    uint32_t next_free;
    uint32_t flags;
    uint32_t file[2];    /* spool files of stdout and stderr, BLY_SPOOL_NONE for none */
    uint32_t full_count; /* of the spool at the spawn */
    uint64_t at;         /* of its frame in the outgoing stream */
    bool is_stopped;
    bly_proc_started_fn *started;
    bly_proc_wrote_fn *wrote;
    bly_proc_ended_fn *ended;
    void *arg;
} bly_job;

typedef struct bly_watch {
    bly_list link; /* in proc->watches */
    bly_proc *proc;
    int fd;
    uint64_t token;
    bly_proc_watch_fn *fn;
    void *arg;
} bly_watch;

/* One thread, the owner; every field is its own. */
struct bly_proc {
    bly_proc_opts opts; /* constant; spool_dir is not kept */
    bly_poller poller;
    bly_wire wire;
    bly_spool spool;
    pid_t keeper;
    int keeper_fd; /* pidfd, -1 when the keeper is lost */
    uint64_t keeper_token, wire_token, inotify_token;
    uint32_t wire_events;
    bool is_lost;     /* no keeper any more */
    bool has_to_lose; /* its end has been seen, its jobs have not been told */
    bool is_suspended;
    bool is_polling;
    bool is_watching_files; /* the spool's inotify descriptor is in the poller */
    uint32_t handled;       /* callbacks called in this poll */
    uint32_t count;         /* jobs */
    uint32_t spooling;      /* of those, with a spool file */
    uint32_t places_used;   /* places below it have been used */
    uint32_t free_place;    /* list of free places below it */
    uint64_t id_next;       /* number part of the next id */
    uint32_t full_told;     /* full_count of the spool when it was last compared */
    bool has_told_full;
    bly_job *jobs; /* by place */
    bly_list watches;
    bly_tree_list strangers; /* children from before create, not to be touched; constant */
    bly_tree_list survivors; /* what could not be ended, for the notice that says so */
};

/* bly_job_find: the job of that id, NULL when it has ended. */
bly_job *bly_job_find(bly_proc *proc, uint64_t id);

/*
 * bly_job_started, bly_job_ended, bly_job_lose: what the keeper said, or that it will say nothing.
 */
void bly_job_started(bly_proc *proc, const bly_wire_started *started);
void bly_job_ended(bly_proc *proc, const bly_wire_ended *ended);
void bly_job_lose(bly_proc *proc, bly_job *job);

/* bly_job_changed: calls `wrote` of the jobs whose watched files have grown. */
void bly_job_changed(bly_proc *proc);

#endif
