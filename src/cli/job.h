/*
 * job.h: one job of a batch: what it runs, with which arguments, and how its runs went.
 * Context: the command's only thread.
 */
#ifndef BLY_CLI_JOB_H
#define BLY_CLI_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "limits.h"
#include "mem.h"
#include "template.h"

typedef struct bly_job bly_job;

struct bly_job {
    bly_job *next; /* in a list of its holder */
    uint64_t seq;  /* from 1, in the order of the input */
    struct bly_words args;
    const struct bly_template *template; /* the batch's, or `own` */
    struct bly_template own;             /* of a line, or of a JSON line */
    /* what this job asks for; where it asks for nothing, what the batch does */
    int64_t start_ns;        /* monotonic: not before */
    int32_t priority;        /* larger first; BELAY_PRIORITY_MIN to BELAY_PRIORITY_MAX */
    int64_t timeout_ns;      /* 0: none */
    uint64_t tries_max;      /* 1 or more */
    struct bly_words limits; /* as bly_limitspec_parse reads them */
    struct bly_words env;    /* NAME=VALUE, over the environment */
    const char *cwd;         /* NULL: the runner's; the batch's or `own_cwd` */
    char *own_cwd;
    /* how it goes */
    uint64_t tries;                /* runs started */
    uint32_t slot;                 /* while it runs, from 1 */
    int64_t start_wall_ns;         /* of the last run */
    struct bly_batch_claim *claim; /* its place in a store; NULL: none */
    uint64_t fence;                /* rises with every claim in the store; 0: none */
    struct bly_queue *queue;       /* the last that took it */
    struct bly_permits permits;
};

/* bly_job_make: gives an empty job; bly_job_free ends it. */
bly_job *bly_job_make(uint64_t seq);

/* bly_job_expand: appends its command, for its slot. */
void bly_job_expand(const bly_job *job, struct bly_words *ret_argv);

/* bly_job_show: appends its command as one would type it. */
void bly_job_show(const bly_job *job, struct bly_bytes *to);

void bly_job_free(bly_job *job);

#endif
