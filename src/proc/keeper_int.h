/*
 * keeper_int.h: the keeper process: its loop (keeper.c), the life of a job in it (kjob.c) and what
 * jobs leave behind (left.c).
 */
#ifndef BLY_PROC_KEEPER_INT_H
#define BLY_PROC_KEEPER_INT_H

#include "base/list.h"
#include "proc/poller_int.h"
#include "proc/recipe_int.h"
#include "proc/tree_int.h"
#include "proc/wire_int.h"

/*
 * A job's id is its place in the tables of runner and keeper below a number that never comes again.
 */
#define BLY_ID_PLACE_BITS 16
#define BLY_ID_PLACE(id)  ((uint32_t)((id) & ((UINT64_C(1) << BLY_ID_PLACE_BITS) - 1)))

/* Spool files there may be at once, for that many jobs (see spool_int.h). */
#define BLY_FILES_MAX(jobs_max) (2 * (jobs_max) + 8)

/*
 * Times that what ignores KILL is told again, every BLY_SWEEP_NS, before the job ends without it.
 */
#define BLY_SWEEPS_MAX 50u
#define BLY_SWEEP_NS   INT64_C(100000000)

/* The keeper's exit status when some of its descendants may not be signalled by this user. */
#define BLY_KEEPER_DENIED 2

/* States of a job in the keeper. */
enum {
    BLY_KJOB_FREE = 0,
    BLY_KJOB_RUNNING,
    BLY_KJOB_STOPPING, /* TERM sent; KILL when the timer fires */
    BLY_KJOB_KILLING,  /* KILL sent */
    BLY_KJOB_EXITED,   /* the main process has ended and is not reaped */
    BLY_KJOB_CLEARING, /* the same; what it left has got TERM; KILL when the timer fires */
    BLY_KJOB_SWEEPING  /* the same; what it left has got KILL; again when the timer fires */
};

typedef struct bly_keeper bly_keeper;

typedef struct bly_kjob {
    bly_list link; /* in keeper->live, in the order of the kernel's list of children */
    bly_keeper *keeper;
    uint64_t id;
    uint64_t token; /* of the pidfd in the poller */
    pid_t pid;      /* reserved by the unreaped main process until the job is free */
    int pidfd;      /* -1 once the main process has ended */
    uint32_t state;
    uint32_t flags; /* of the spec */
    bool is_timed_out;
    bool is_told;    /* it was told to end: then it keeps no children */
    bool is_killed;  /* what it leaves is not asked by TERM first */
    bool has_left;   /* what it left has been counted */
    uint32_t sweeps; /* KILLs sent to what it left */
    uint32_t left;   /* processes that outlived it and were told to end */
    int64_t start_ns, end_ns;
    int64_t timer_ns;    /* when to do the next step; BELAY_FOREVER: never */
    bly_tree_list known; /* its descendants when it was told to stop */
} bly_kjob;

typedef struct bly_keeper_opts {
    int fd;      /* the socket to the runner; taken */
    int live_fd; /* held, and given to jobs; -1: none; taken */
    uint32_t jobs_max;
    int64_t grace_ns, leftover_ns;
    pid_t runner;
} bly_keeper_opts;

/* One thread; every field is its own. */
struct bly_keeper {
    bly_wire wire;
    bly_poller poller;
    bly_recipe recipe;
    bly_keeper_opts opts; /* constant */
    uint64_t wire_token;
    uint32_t wire_events; /* what the socket is watched for */
    int signal_fd;        /* SIGCHLD */
    int children_fd;      /* bly_tree_open */
    int runner_fd;        /* pidfd of the runner */
    bool is_over;         /* the runner is gone */
    bool has_news;        /* a child has ended since the last look at all children */
    int64_t look_ns;      /* when to look again after a look that failed; BELAY_FOREVER: none did */
    sigset_t mask;        /* of the commands; constant */
    bool has_files_limit; /* files_limit differs from the keeper's own; constant */
    struct rlimit files_limit;
    int64_t suspended_ns; /* when the jobs were suspended; 0: they are not */
    uint32_t timers;      /* live jobs whose timer_ns is not BELAY_FOREVER */
    bly_list live;        /* bly_kjob from start to reaping */
    bly_kjob *jobs;       /* by place */
    uint32_t *files;      /* spool files by number: the descriptor + 1, 0 for none */
    pid_t *own;           /* room for the pids of all children */
    uint32_t own_max;
    bly_tree_list adopted; /* what jobs left, with all descendants; valid during a settle */
    bly_tree_list kept;    /* to be spared to the end (BLY_PROC_KEEP_CHILDREN) */
};

/*
 * bly_keeper_main: is the keeper until the runner is gone and no descendant is left; never returns.
 * Exit status: 0 (nobody is left but those that were to be kept), BLY_KEEPER_DENIED, or 1 (it could
 * not begin).
 */
_Noreturn void bly_keeper_main(const bly_keeper_opts *opts);

/* kjob.c: frames about jobs, timers, ends. */
void bly_kjob_spawn(bly_keeper *keeper, const bly_wire_spawn *spawn);
void bly_kjob_stop(bly_kjob *job);
void bly_kjob_kill(bly_kjob *job);
void bly_kjob_set_timer(bly_kjob *job, int64_t timer_ns);
void bly_kjob_move(bly_kjob *job, uint32_t state);

/* bly_kjob_find: the live job of that id, NULL when it has ended. */
bly_kjob *bly_kjob_find(bly_keeper *keeper, uint64_t id);

/* bly_kjob_finish: reaps the main process and reports the end. */
void bly_kjob_finish(bly_kjob *job, uint32_t kept, bool is_dirty);

/* bly_kjob_next_timer: the earliest timer; bly_kjob_run_timers: the step of each that has fired. */
int64_t bly_kjob_next_timer(const bly_keeper *keeper);
void bly_kjob_run_timers(bly_keeper *keeper, int64_t now_ns);

/*
 * left.c: reaps adopted children and moves on the jobs whose main process has ended; later, when it
 * is impossible to look who is there (no descriptors, no memory).
 */
void bly_left_settle(bly_keeper *keeper);

/* bly_left_timer: the timer of a job that is clearing or sweeping has fired. */
void bly_left_timer(bly_kjob *job);

/* bly_left_signal_all: the signal to every descendant but kept ones, newcomers included. */
void bly_left_signal_all(bly_keeper *keeper, int signal_number);

#endif
