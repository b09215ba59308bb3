/*
 * feed.h: the jobs of a batch, in the order of the input, made as they are asked for.
 * Context: the command's only thread.
 */
#ifndef BLY_CLI_FEED_H
#define BLY_CLI_FEED_H

#include "job.h"
#include "joblog.h"
#include "pack.h"
#include "rows.h"
#include "runopts.h"
#include "template.h"

/* What a batch is made of. All zero before bly_feed_open. */
struct bly_feed {
    const struct bly_runopts *opts;
    struct bly_words command; /* the words of the command line */
    bool has_template;        /* else each row is a shell line */
    struct bly_template template;
    struct bly_rows rows;
    struct bly_pack pack;
    struct bly_input *lines;      /* --jsonl: the lines, NULL else */
    const struct bly_joblog *log; /* --retry-failed: its failed jobs are the batch */
    size_t log_next;
    struct bly_words args; /* scratch */
    struct bly_bytes line; /* scratch */
    uint64_t count;        /* jobs made */
    int64_t start_ns;      /* monotonic: no job before it */
    bool is_ended;
};

/*
 * bly_feed_open_log: the jobs of a job log that failed, by the commands in it. Borrows opts and log
 * until bly_feed_close.
 */
void bly_feed_open_log(struct bly_feed *feed, const struct bly_runopts *opts,
                       const struct bly_joblog *log);

/*
 * bly_feed_open: reads the words behind the options (NULL-terminated, borrowed like opts until
 * bly_feed_close). jobs: how many run at once. 0, or BLY_SAY_OWN_ERROR after a message.
 */
int bly_feed_open(struct bly_feed *feed, const struct bly_runopts *opts, char **words,
                  uint32_t jobs);

/*
 * bly_feed_next: the next job (given). WAIT: not yet; wait until bly_feed_fd is readable.
 * BROKEN: after a message.
 */
enum bly_input_result bly_feed_next(struct bly_feed *feed, bly_job **ret_job);

/* bly_feed_fd: after WAIT, the descriptor to wait for. */
int bly_feed_fd(const struct bly_feed *feed);

void bly_feed_close(struct bly_feed *feed);

#endif
