/*
 * pack.h: how many rows of arguments make one job: -n, -N, -L, -m, -X, --xargs, -s.
 * Context: the command's only thread.
 */
#ifndef BLY_CLI_PACK_H
#define BLY_CLI_PACK_H

#include "rows.h"
#include "template.h"

struct bly_pack_opts {
    uint64_t rows_max; /* at most so many rows a job; 0: one, or with is_filled as many as fit */
    bool is_dropped;   /* -n0: a row makes a job, but its arguments are not used */
    bool is_filled;    /* -m, -X, --xargs: as many as the length allows */
    size_t length_max; /* of a command, in bytes; 0: BLY_PACK_LENGTH_MAX */
    uint32_t spread;   /* is_filled: deal what is left at the end evenly to so many jobs; 0: no */
};

/* xargs and the kernel's limit for one argument: a filled command is no longer than this. */
#define BLY_PACK_LENGTH_MAX ((size_t)131071)

struct bly_pack {
    struct bly_pack_opts opts;
    struct bly_rows *rows;
    const struct bly_template *template;
    struct bly_words row;      /* the row read last */
    bool has_row;              /* it is in no job yet */
    struct bly_words gathered; /* the arguments of the job being put together, or to be dealt */
    uint64_t gathered_rows;
    size_t gathered_bytes;
    bool is_ended;
    bool is_too_long; /* `row` alone makes a longer command than length_max */
    bool is_dealing;
    size_t dealt;       /* of the gathered arguments, those given */
    uint32_t deal_jobs; /* jobs that the others are for */
};

/*
 * bly_pack_next: the arguments of the next job, in ret_args, which is cleared first.
 * BLY_INPUT_BROKEN: the input is, or with is_too_long a row that fits into no job.
 */
enum bly_input_result bly_pack_next(struct bly_pack *pack, struct bly_words *ret_args);

void bly_pack_free(struct bly_pack *pack);

#endif
