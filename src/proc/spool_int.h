/*
 * spool_int.h: the files that jobs write to: a pool of unnamed files used again and again, one
 * shared file for outputs that wait, and the watch over free space.
 *
 * A file of the pool has a number by which the keeper knows it too. It belongs to a running job's
 * stream, then to an output, then to nobody; numbers are bounded, and when none is left the oldest
 * output is moved to the shared file, so that any number of outputs can wait.
 */
#ifndef BLY_PROC_SPOOL_INT_H
#define BLY_PROC_SPOOL_INT_H

#include "base/list.h"
#include "proc/proc.h"

#define BLY_SPOOL_NONE UINT32_MAX /* no file */

/* With less free space than this each look is a trial write as well. */
#define BLY_SPOOL_ROOM_MIN ((uint64_t)1 << 20)

/* The longest time between two trial writes, and between two looks at free space. */
#define BLY_SPOOL_TRIAL_NS INT64_C(1000000000)
#define BLY_SPOOL_LOOK_NS  INT64_C(10000000)

#define BLY_SPOOL_TRIAL_SIZE 8192

typedef struct bly_spool_file {
    int fd;         /* -1: not open */
    int watch;      /* of inotify, -1: none */
    uint32_t next;  /* in the list of open free files or of free numbers */
    bool is_known;  /* the keeper has it under this number */
    bool is_dirty;  /* somebody may still write to it: closed when its output is freed */
    uint64_t owner; /* id of the job whose stream it is; 0: none */
} bly_spool_file;

typedef struct bly_spool bly_spool;

struct bly_output {
    bly_list link; /* in spool->outputs while `file` is one */
    bly_spool *spool;
    uint64_t size;
    uint64_t offset; /* in the shared file */
    uint32_t file;   /* BLY_SPOOL_NONE: in the shared file */
};

/* One thread. */
struct bly_spool {
    int dir_fd;
    int trial_fd, held_fd; /* -1 until first needed */
    int inotify_fd;        /* -1 until first needed */
    uint32_t files_max;    /* numbers; constant */
    uint32_t files_used;   /* numbers below it have been used */
    uint32_t free_open;    /* list of open files nobody has; BLY_SPOOL_NONE at the end */
    uint32_t free_numbers; /* list of numbers without a file */
    bly_spool_file *files; /* by number */
    bly_list outputs;      /* those that hold a file, oldest first */
    uint64_t held_end, held_used;
    uint64_t outputs_count; /* all outputs that have not been freed */
    int64_t looked_ns, tried_ns;
    uint32_t full_count;                         /* times the disk was found full */
    uint64_t name_next;                          /* for file systems without unnamed files */
    void (*dropped)(uint32_t number, void *arg); /* a file the keeper knows is closed */
    void *dropped_arg;
};

/*
 * bly_spool_init: opens the folder and makes a first file, to know that it can.
 * Gives the spool's insides; bly_spool_free takes them back. dropped: called from
 * bly_spool_give_back and bly_output_free. Errors: BELAY_ENOMEM, BELAY_EIO (errno says why).
 */
int bly_spool_init(bly_spool *spool, const char *dir, uint32_t files_max,
                   void (*dropped)(uint32_t number, void *arg), void *arg);

/* bly_spool_free: closes everything; outputs that are still out must not be used. */
void bly_spool_free(bly_spool *spool);

/*
 * bly_spool_take: an empty file for a job's stream. Errors: BELAY_EIO (no file or no descriptor, or
 * every number is a running job's; errno says why). May move the oldest output to the shared file.
 */
int bly_spool_take(bly_spool *spool, uint64_t owner, uint32_t *ret_number);

/* bly_spool_give_back: a file without anything worth reading. */
void bly_spool_give_back(bly_spool *spool, uint32_t number);

/* bly_spool_file_of: the file of a number. */
bly_spool_file *bly_spool_file_of(bly_spool *spool, uint32_t number);

/*
 * bly_spool_close_out: the job of that file has ended: *ret_output is what it wrote, NULL when that
 * is nothing; the file has gone to it or back to the pool. Errors: BELAY_ENOMEM, BELAY_EIO (the
 * bytes are lost).
 */
int bly_spool_close_out(bly_spool *spool, uint32_t number, bly_output **ret_output);

/*
 * bly_spool_look: is there no room. Looks at free space, and tries to write where that is little or
 * a trial is due. Errors: none; what cannot be looked at counts as room.
 */
bool bly_spool_look(bly_spool *spool, int64_t now_ns);

/*
 * bly_spool_watch: bly_spool_changed names this file when it grows. Errors: BELAY_EIO.
 * bly_spool_changed: calls fn with the owner of each file that has grown since the last call, some
 * more than once; with owner 0 when it was too much to tell.
 */
int bly_spool_watch(bly_spool *spool, uint32_t number);
void bly_spool_changed(bly_spool *spool, void (*fn)(uint64_t owner, void *arg), void *arg);

#endif
