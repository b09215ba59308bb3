/*
 * batch.h: a batch of `belay run` that is kept in a store under a name (--name), so that it can be
 * gone on with after anything.
 *
 * Each job is a row: its number in the input, and its command. The input itself is not stored: it
 * is read again. Jobs are added in groups ahead of their start, and a group is claimed, and marked
 * as started, in one transaction; ends are reported as they come and stored together.
 * Context: the command's only thread; opening, adding and closing block.
 */
#ifndef BLY_CLI_BATCH_H
#define BLY_CLI_BATCH_H

#include "belay/job.h"
#include "job.h"
#include "proc/proc.h"
#include "resume.h"
#include "runopts.h"

/* A group of jobs: small at first, so that the first one starts soon. */
enum { BLY_BATCH_FIRST = 16, BLY_BATCH_GROUP = 256 };

/* A job that the store knew when the batch was opened. */
struct bly_batch_known {
    uint64_t number; /* in the input */
    uint64_t hash;   /* of its command */
    uint32_t state;
};

/* What a job's place in the store is, from its claim to its end. */
struct bly_batch_claim {
    belay_run *run;
    uint64_t seq, number, fence;
    struct bly_batch_claim *next, **link;
};

/* All zero: there is no batch in a store. */
struct bly_batch {
    bool is_on;
    bool has_live;
    struct bly_bytes path;
    belay_jobs_live live;
    belay_jobs *jobs;
    belay_jobs_session *session;
    uint64_t id; /* 0: none yet */
    struct bly_bytes queue;
    struct bly_batch_known *known; /* by number */
    size_t known_count, known_max;
    struct bly_batch_claim *claims; /* of jobs that have not ended */
    bool is_over;                   /* all has ended well */
    uint64_t total;                 /* jobs; known when it is over */
    bly_job *group[BLY_BATCH_GROUP];
    size_t group_count;
    struct bly_words argv; /* scratch */
};

/*
 * bly_batch_prepare: before the keeper is forked: the lock that it and all jobs hold, in
 * batch->live. Does nothing without --name. 0, or BLY_SAY_OWN_ERROR after a message;
 * bly_batch_close ends it either way.
 */
int bly_batch_prepare(struct bly_batch *batch, const struct bly_runopts *opts);

/*
 * bly_batch_open: after that: the store and the batch in it; `words` are those behind the options.
 * 0, or BLY_SAY_OWN_ERROR after a message: an unfinished batch of the name is there and neither
 * --resume nor --fresh is given, it was another command, or it is being worked on.
 */
int bly_batch_open(struct bly_batch *batch, const struct bly_runopts *opts, char **words);

/* bly_batch_verdict: must the job run, given what the store knows of it? */
enum bly_resume_verdict bly_batch_verdict(struct bly_batch *batch, enum bly_resume resume,
                                          const bly_job *job);

/* bly_batch_collect: takes a job into the group to be added. True: the group is full. */
bool bly_batch_collect(struct bly_batch *batch, bly_job *job);

/*
 * bly_batch_add: adds the group and claims its jobs, which are in batch->group, group_count of
 * them, until the caller empties it. 0, or BLY_SAY_OWN_ERROR after a message.
 */
int bly_batch_add(struct bly_batch *batch);

/* bly_batch_end: reports how a job ended for good; is_given_back: it is to run again, later. */
void bly_batch_end(struct bly_batch *batch, bly_job *job, const bly_proc_end *end,
                   bool is_given_back);

/*
 * bly_batch_finish: returns when all ends are stored; is_whole: the input was used up. When all
 * jobs of the batch have ended well, bly_batch_close makes its name free again: as late as can be,
 * since who kills a batch after that and says --resume begins another one. 0, or BLY_SAY_OWN_ERROR
 * after a message.
 */
int bly_batch_finish(struct bly_batch *batch, bool is_whole, uint64_t total);

/* bly_batch_close: gives back what has not ended. The keeper, and so all jobs, have ended. */
void bly_batch_close(struct bly_batch *batch);

#endif
