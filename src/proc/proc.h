/*
 * proc.h: runs commands through a keeper process and spools what they write.
 *
 * bly_proc_create forks the keeper: a small single-threaded process in a session of its own that is
 * the parent of every job. When the process that created it (the runner) dies in any way, the
 * keeper kills every descendant until none is left [G-PROC-1]; when the keeper dies, the runner, a
 * subreaper too, does it [G-PROC-2]. Each job runs in a session of its own, without a terminal
 * [G-PROC-4], and ends when its main process ends [G-PROC-5].
 *
 * A bly_proc is an event loop for one thread, its owner: every call below is made on that thread,
 * and callbacks are called by bly_proc_poll on it (notices by bly_proc_destroy too), one after
 * another, under no lock. A callback may call everything here but bly_proc_poll and
 * bly_proc_destroy; a notice of bly_proc_destroy bly_proc_survivors alone.
 *
 * Bounds: at most jobs_max jobs between spawn and their `ended`; at most 4 x jobs + 32 descriptors
 * open in the runner and as many in the keeper [G-PROC-9]; memory does not grow with what jobs
 * write [G-PROC-10].
 */
#ifndef BLY_PROC_PROC_H
#define BLY_PROC_PROC_H

#include "belay/base.h"

#include <sys/types.h>

typedef struct bly_proc bly_proc;
typedef struct bly_output bly_output;

/* The kernel's limit for one argument or environment string, its NUL included (32 pages of 4 KiB).
 */
#define BLY_PROC_ARG_MAX 131072u

/* The most jobs one bly_proc may be asked to hold. */
#define BLY_PROC_JOBS_LIMIT 65536u

#define BLY_PROC_GRACE_NS INT64_C(10000000000) /* default from TERM to KILL */
#define BLY_PROC_LEFTOVER_NS                                                                       \
    INT64_C(2000000000) /* default from TERM to KILL for what is left over */

/* What a notice is about. */
enum {
    BLY_PROC_NOTICE_DISK_FULL =
        1, /* the spool folder has no room: outputs are incomplete. Said once */
    BLY_PROC_NOTICE_KEEPER_LOST, /* the keeper died; all its descendants have been killed */
    BLY_PROC_NOTICE_SURVIVORS,   /* all but those that bly_proc_survivors tells */
    BLY_PROC_NOTICE_KEEPER_STAYS /* bly_proc_destroy leaves the keeper behind, bly_proc_keeper tells
                                    its pid: it waits for processes that do not die of KILL */
};

typedef void bly_proc_notice_fn(int notice, void *arg);

/* Where one of a job's streams goes. Zero: stdin is /dev/null, stdout and stderr are spooled. */
enum {
    BLY_PROC_DEFAULT = 0,
    BLY_PROC_NULL,       /* /dev/null */
    BLY_PROC_SPOOL,      /* a file of the pool (not for stdin and live) */
    BLY_PROC_FD,         /* the descriptor `fd`, duplicated before bly_proc_spawn returns */
    BLY_PROC_WITH_STDOUT /* stderr alone: the same open file as stdout */
};

typedef struct bly_proc_stream {
    uint32_t kind;
    int fd; /* BLY_PROC_FD: borrowed until bly_proc_spawn returns */
} bly_proc_stream;

typedef struct bly_proc_opts {
    uint32_t size;
    uint32_t jobs_max;     /* 1 to BLY_PROC_JOBS_LIMIT; no default */
    const char *spool_dir; /* folder for the spool files; default "/tmp". Copied */
    int64_t grace_ns;      /* from TERM to KILL for cancel and timeout; default BLY_PROC_GRACE_NS */
    int64_t leftover_ns;   /* the same for processes a job left; default BLY_PROC_LEFTOVER_NS */
    bly_proc_notice_fn *notice; /* may be NULL */
    void *notice_arg;
    /*
     * BLY_PROC_FD: a descriptor, best one with an flock, that the keeper and each job without
     * BLY_PROC_KEEP_CHILDREN (as descriptor 3) hold too: while one of them lives, so does the lock.
     * Borrowed for the call; default none.
     */
    bly_proc_stream live;
} bly_proc_opts;

/*
 * Flags of a spec. KEEP_CHILDREN: what the job leaves behind lives on, even past the runner's end,
 * unless the job was told to end. UMASK: `umask` counts; otherwise it is the runner's at create.
 * WATCH_OUTPUT: `wrote` is called as the spooled streams grow.
 */
enum { BLY_PROC_KEEP_CHILDREN = 1, BLY_PROC_UMASK = 2, BLY_PROC_WATCH_OUTPUT = 4 };

/* How a job ended. */
enum {
    BLY_PROC_EXITED = 1, /* code: the exit status */
    BLY_PROC_SIGNALED,   /* code: the signal */
    BLY_PROC_FAILED,     /* it was not started; code: errno, stage: what failed */
    BLY_PROC_LOST        /* the keeper died; whether it had started or finished is not known */
};

/* What failed, for BLY_PROC_FAILED. */
enum {
    BLY_PROC_AT_START = 1, /* no process, memory or descriptor for it (EAGAIN, ENOMEM, EMFILE) */
    BLY_PROC_AT_STREAM,    /* a stream could not be opened or passed */
    BLY_PROC_AT_CHDIR,     /* cwd could not be entered */
    BLY_PROC_AT_EXEC,      /* not found (ENOENT), not executable (EACCES), too big (E2BIG) ... */
    BLY_PROC_AT_CANCEL     /* told to stop before the request had left; code: ECANCELED */
};

typedef struct bly_proc_end {
    uint64_t id;
    int how;
    int code;
    int stage;
    bool is_timed_out;  /* its timeout passed before its main process ended */
    bool is_stopped;    /* bly_proc_stop or bly_proc_kill was called on it before that */
    bool is_incomplete; /* the disk was full while it ran or was read: its outputs may lack bytes */
    uint32_t left;      /* processes of its session that outlived it and were told to end */
    uint32_t kept;      /* processes that outlived it and were kept (BLY_PROC_KEEP_CHILDREN) */
    int64_t start_ns;   /* monotonic: just before the process was made; 0 when it was not */
    int64_t end_ns;     /* monotonic: when its main process was seen to have ended */
    int64_t user_ns;    /* CPU time of it and of the children it waited for */
    int64_t system_ns;
    uint64_t rss_max_kib; /* peak resident size of its largest process */
    bly_output *out; /* what it wrote, NULL when that is nothing or not spooled; the callee's now */
    bly_output *err;
} bly_proc_end;

/* ended: the last call about a job; gives end->out and end->err, `end` itself lives for the call.
 */
typedef void bly_proc_ended_fn(const bly_proc_end *end, void *arg);

/* started: the command is running as `pid`; for specs with a `started` only (a message more a job).
 */
typedef void bly_proc_started_fn(uint64_t id, pid_t pid, int64_t start_ns, void *arg);

/* wrote: the spooled streams may have grown; read them by bly_proc_live_read. */
typedef void bly_proc_wrote_fn(uint64_t id, void *arg);

typedef struct bly_proc_spec {
    uint32_t size;
    uint32_t flags;
    const char *path;  /* the file to execute; NULL: argv[0], looked up in PATH without a slash */
    char *const *argv; /* NULL-terminated, at least one word */
    char *const *env;  /* the whole environment, NULL-terminated; NULL: the runner's at create */
    char *const *env_add; /* NAME=VALUE words laid over it, NULL-terminated; may be NULL */
    const char *cwd;      /* NULL: the runner's at create */
    mode_t umask;
    int64_t timeout_ns; /* from the start to TERM; 0: none */
    bly_proc_stream in, out, err;
    bly_proc_stream live;         /* BLY_PROC_FD: descriptor 3 of the job; default as opts.live */
    bly_proc_started_fn *started; /* may be NULL */
    bly_proc_wrote_fn *wrote;     /* may be NULL */
    bly_proc_ended_fn *ended;
    void *arg; /* of all three */
} bly_proc_spec;

/*
 * bly_proc_create: makes the loop and forks the keeper. Call it early: before any thread, before
 * signal dispositions or the mask are changed (jobs get those of this moment, all of them) and
 * before descriptors are opened that need not be closed twice. The process becomes a subreaper,
 * gets the default disposition of SIGCHLD, and must have no other children from then on than those
 * it has now, which are left alone. Gives *ret_proc, ended by bly_proc_destroy. opts: borrowed for
 * the call. Errors: BELAY_EINVAL, BELAY_ENOMEM, BELAY_EIO (no fork, descriptors,
 * /proc/self/task/N/children or writable spool folder; errno says why). Context: the only thread of
 * the process; forks.
 */
int bly_proc_create(const bly_proc_opts *opts, bly_proc **ret_proc);

/*
 * bly_proc_destroy: kills what is left of the jobs (KILL, all descendants but kept ones), waits
 * until the keeper has done so, does it in its place if the keeper has died meanwhile, and frees
 * everything [G-PROC-16]. What cannot be ended is told by notices; no other callback is called.
 * Outputs not yet freed must not be used any more. NULL is allowed. Errors: none. Context: the
 * owner, outside callbacks; blocks, 10 s beyond the last end of a process at most.
 */
void bly_proc_destroy(bly_proc *proc);

/*
 * bly_proc_survivors: the pids that BLY_PROC_NOTICE_SURVIVORS is about: not to be signalled by this
 * user, or still there 10 s after KILL and the last end of any process. Fills pids[0..max) and
 * returns how many there are; 0 after such a notice: /proc could not be read, so some may be.
 * Context: the owner; never blocks.
 */
uint32_t bly_proc_survivors(const bly_proc *proc, pid_t *pids, uint32_t max);

/* bly_proc_keeper: the keeper's pid. Context: the owner; never blocks. */
pid_t bly_proc_keeper(const bly_proc *proc);

/*
 * bly_proc_spawn: asks for a command. The request leaves with the next bly_proc_poll or
 * bly_proc_flush. `ended` is called exactly once for each accepted spawn [G-PROC-3].
 * spec: borrowed for the call, all strings copied. ret_id: never 0, never used again; may be NULL.
 * Errors: BELAY_EINVAL, BELAY_ECLOSED (the keeper is lost), BELAY_EBUSY (suspended), BELAY_ETOOBIG
 * (an argument or environment string needs more than BLY_PROC_ARG_MAX bytes: status 126),
 *         BELAY_EFULL (jobs_max jobs are there), BELAY_ENOMEM, BELAY_EIO (no descriptor or no file
 * for a spool; errno says why). Context: the owner; never blocks.
 */
int bly_proc_spawn(bly_proc *proc, const bly_proc_spec *spec, uint64_t *ret_id);

/*
 * bly_proc_stop: TERM (then CONT) to the job's group; after grace_ns KILL to the group and to all
 * its known descendants. A job not yet started is not started. Twice is the same as once. Errors:
 * BELAY_ENOENT (ended already, or never was). Context: the owner; never blocks.
 */
int bly_proc_stop(bly_proc *proc, uint64_t id);

/*
 * bly_proc_kill: KILL to the job's group and all its known descendants, at once.
 * Errors: BELAY_ENOENT. Context: the owner; never blocks.
 */
int bly_proc_kill(bly_proc *proc, uint64_t id);

/*
 * bly_proc_signal: the signal to the job's group; to the main process alone when it leads none.
 * Errors: BELAY_EINVAL (no such signal), BELAY_ENOENT. Context: the owner; never blocks.
 */
int bly_proc_signal(bly_proc *proc, uint64_t id, int signal_number);

/* bly_proc_stop_all, bly_proc_kill_all: the same for every job (second and third Ctrl-C). */
void bly_proc_stop_all(bly_proc *proc);
void bly_proc_kill_all(bly_proc *proc);

/*
 * bly_proc_suspend: SIGSTOP to every process of every job; returns when the keeper has done it, so
 * that the runner may stop itself next (Ctrl-Z). Timeouts stand still. Twice is the same as once.
 * bly_proc_resume: SIGCONT to all of them.
 * Errors: BELAY_ECLOSED (the keeper is lost). Context: the owner; suspend blocks for the answer.
 */
int bly_proc_suspend(bly_proc *proc);
int bly_proc_resume(bly_proc *proc);

/* bly_proc_count: jobs between spawn and `ended`. Context: the owner; never blocks. */
uint32_t bly_proc_count(const bly_proc *proc);

/*
 * bly_proc_status: the exit status a shell would show: the status itself, 128 + signal, 124 after a
 * timeout, 127 when the command was not found, 126 when it could not be run, 255 when it was lost.
 * Errors: none. Context: any thread; never blocks.
 */
int bly_proc_status(const bly_proc_end *end);

/*
 * The loop.
 */

typedef void bly_proc_watch_fn(int fd, uint32_t epoll_events, void *arg);

/*
 * bly_proc_watch: calls fn from bly_proc_poll while fd is ready (level-triggered) for epoll_events
 * (EPOLLIN, EPOLLOUT; errors and hang-ups always). The caller keeps fd open until bly_proc_unwatch.
 * Errors: BELAY_EINVAL (not a descriptor that can be waited for, such as a regular file),
 *         BELAY_EEXIST, BELAY_ENOMEM.
 * Context: the owner; never blocks.
 */
int bly_proc_watch(bly_proc *proc, int fd, uint32_t epoll_events, bly_proc_watch_fn *fn, void *arg);

/*
 * bly_proc_unwatch: fn is not called for fd any more, not even for an event seen already. Call it
 * before close. Errors: BELAY_ENOENT. Context: the owner; never blocks.
 */
int bly_proc_unwatch(bly_proc *proc, int fd);

/*
 * bly_proc_poll: sends what is waiting, waits for events until deadline_ns and runs their
 * callbacks. deadline_ns: monotonic (bly_monotonic_ns); BELAY_NOW only looks, BELAY_FOREVER waits.
 * Errors: BELAY_ETIMEDOUT (nothing happened). 0: at least one event was handled.
 * Context: the owner, outside callbacks; blocks until deadline_ns.
 */
int bly_proc_poll(bly_proc *proc, int64_t deadline_ns);

/* bly_proc_flush: sends what is waiting now, as far as it goes. Context: the owner; never blocks.
 */
void bly_proc_flush(bly_proc *proc);

/*
 * Outputs. An output is a file of the pool, whose descriptor is used again after bly_output_free.
 * One that has to wait (for its turn in the order) should be put aside by bly_output_hold.
 */

/* bly_output_size: bytes in it. Context: the owner; never blocks. */
uint64_t bly_output_size(const bly_output *output);

/*
 * bly_output_read: up to `size` bytes from `offset` into buffer; the count, 0 at the end.
 * Errors: BELAY_EIO. Context: the owner; reads a file.
 */
ssize_t bly_output_read(const bly_output *output, uint64_t offset, void *buffer, size_t size);

/*
 * bly_output_hold: moves the bytes to a file that all held outputs share, so that any number of
 * them can wait without descriptors; reading works as before. An output is held once. Errors:
 * BELAY_EIO (no room; the output stays as it was). Context: the owner; copies a file.
 */
int bly_output_hold(bly_output *output);

/* bly_output_free: takes the output back; NULL is allowed. Context: the owner; truncates a file. */
void bly_output_free(bly_output *output);

/*
 * bly_proc_live_read: as bly_output_read, from stream 1 or 2 of a job that has not ended.
 * Errors: BELAY_ENOENT (ended, or that stream is not spooled), BELAY_EIO. Context: the owner.
 */
ssize_t bly_proc_live_read(bly_proc *proc, uint64_t id, int stream, uint64_t offset, void *buffer,
                           size_t size);

#endif
