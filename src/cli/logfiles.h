/*
 * logfiles.h: what jobs of a store wrote, in a folder beside it: NUMBER.out and NUMBER.err, nothing
 * in whose names is a user's. The job has the file itself as its standard output, so that what was
 * written is there however its runner ends.
 *
 * A stream is kept up to BLY_LOG_STREAM_MAX: its first and last half. What is in between is given
 * back as a hole, so that places in the file stay what they were; readers step over it.
 *
 * Context: the command's only thread; files. Calls that fail give -1 and errno.
 */
#ifndef BLY_CLI_LOGFILES_H
#define BLY_CLI_LOGFILES_H

#include <stdbool.h>
#include <stdint.h>

#include "mem.h"

#define BLY_LOG_STREAM_MAX (INT64_C(64) << 20)            /* bytes of a stream */
#define BLY_LOG_ALL_MAX    (INT64_C(2) << 30)             /* bytes of all logs, unless told */
#define BLY_LOG_KEEP_NS    (INT64_C(14) * 86400000000000) /* how long, unless told */

/* The two streams, by their descriptors. */
enum { BLY_LOG_OUT = 1, BLY_LOG_ERR = 2 };

/* bly_logfiles_folder: appends the folder of the logs of the store in the file `store`. */
void bly_logfiles_folder(struct bly_bytes *to, const char *store);

/*
 * bly_logfiles_open: gives a descriptor of the folder; is_made: it is made, with mode 0700, where
 * it is missing. EPERM: it is a link, another user's, or others may write to it.
 */
int bly_logfiles_open(const char *folder, bool is_made);

/* bly_logfiles_create: gives an empty file, with mode 0600, in place of what was there. */
int bly_logfiles_create(int folder, uint64_t seq, int stream);

/* bly_logfiles_read: gives a descriptor for reading. */
int bly_logfiles_read(int folder, uint64_t seq, int stream);

/* bly_logfiles_trim: gives back what is above `max` in the middle of the file. */
int bly_logfiles_trim(int fd, int64_t max);

/* bly_logfiles_trim_job: trims both files of a job to BLY_LOG_STREAM_MAX. */
void bly_logfiles_trim_job(int folder, uint64_t seq);

/* bly_logfiles_end: the job has ended: both files are trimmed, and removed where empty. */
void bly_logfiles_end(int folder, uint64_t seq);

/*
 * bly_logfiles_copy: writes what is in the file from *at on to the descriptor `to`, a line about
 * each hole, and moves *at behind it.
 */
int bly_logfiles_copy(int fd, int64_t *at, int to);

/* What bly_logfiles_gc keeps. */
struct bly_logfiles_gc {
    int64_t now_ns; /* wall time */
    int64_t keep_ns;
    int64_t bytes_max;
    bool (*is_live)(uint64_t seq, void *arg); /* logs of live jobs are always kept */
    void *arg;
    uint64_t files; /* how many were removed */
    uint64_t bytes; /* and how much that was */
};

/* bly_logfiles_gc: removes logs that are too old, then the oldest until the rest fits. */
int bly_logfiles_gc(int folder, struct bly_logfiles_gc *gc);

#endif
