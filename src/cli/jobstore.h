/*
 * jobstore.h: what all commands on a store share: their common options, finding and opening the
 * store, and saying what is wrong with it.
 * Context: the command's only thread; opening blocks.
 */
#ifndef BLY_CLI_JOBSTORE_H
#define BLY_CLI_JOBSTORE_H

#include <stdbool.h>

#include "belay/job.h"
#include "commands.h"
#include "mem.h"
#include "name.h"

/* The options of all of them; the first member of each command's own. */
struct bly_jobopts {
    const char *store; /* NULL: not given */
    bool is_json;
    bool has_help;
};

const char *bly_jobopts_set_store(void *target, const char *value);
const char *bly_jobopts_set_json(void *target, const char *value);
const char *bly_jobopts_set_help(void *target, const char *value);

/* Their rows in the tables. */
#define BLY_JOBOPTS_STORE                                                                          \
    {                                                                                              \
        "store", 0, "FILE", "the store (default: BELAY_STORE, or belay.db in the state folder)",   \
            bly_jobopts_set_store, NULL                                                            \
    }
#define BLY_JOBOPTS_JSON                                                                           \
    {                                                                                              \
        "json", 0, NULL, "an object a line, for scripts", bly_jobopts_set_json, NULL               \
    }
#define BLY_JOBOPTS_HELP                                                                           \
    {                                                                                              \
        "help", 'h', NULL, "this text", bly_jobopts_set_help, NULL                                 \
    }

/*
 * bly_jobopts_take: reads a command's options into `target`, which begins with a bly_jobopts. True:
 * go on with argv[*ret_rest]. False: leave with *ret_status, after a message or the help.
 */
bool bly_jobopts_take(const struct bly_command *command, int argc, char **argv, void *target,
                      int *ret_rest, int *ret_status);

/*
 * bly_jobstore_path: appends the store's path: --store, BELAY_STORE, or belay.db in belay's folder
 * of XDG_STATE_HOME (~/.local/state). 0, or BLY_SAY_OWN_ERROR after a message.
 */
int bly_jobstore_path(struct bly_bytes *to, const char *given);

/* How a store is opened. */
enum bly_jobstore_mode {
    BLY_JOBSTORE_WRITE, /* made where it is missing */
    BLY_JOBSTORE_READ,  /* one that is missing is said */
    BLY_JOBSTORE_LOOK,  /* the same, but one that is missing is no error: *ret_jobs is NULL */
};

/*
 * bly_jobstore_open: 0 and the store, in which jobs of dead workers have been seen to, or
 * BLY_SAY_OWN_ERROR after a message.
 */
int bly_jobstore_open(const char *given, enum bly_jobstore_mode mode, belay_jobs **ret_jobs);

/* bly_jobstore_close: reports what is still to be reported, and closes. */
void bly_jobstore_close(belay_jobs *jobs);

/* bly_jobstore_failed: says what the store said about a call that failed. Gives the status 255. */
int bly_jobstore_failed(belay_jobs *jobs, int result);

/* bly_jobstore_ref: a word as the name of a job. 0, or BLY_SAY_OWN_ERROR after a message. */
int bly_jobstore_ref(const char *word, belay_jobs_ref *ret_ref);

/* bly_jobstore_find: the job that a word names. 0 and a block, or 255 after a message. */
int bly_jobstore_find(belay_jobs *jobs, const char *word, belay_jobs_rows **ret_rows);

/* bly_jobstore_batch: the newest batch of that name. 0, or 255 after a message. */
int bly_jobstore_batch(belay_jobs *jobs, const char *name, uint64_t *ret_batch);

/* bly_jobstore_batch_failures: jobs of a batch that did not end well. 0, or 255 after a message. */
int bly_jobstore_batch_failures(belay_jobs *jobs, uint64_t batch, uint64_t *ret_count);

/*
 * bly_jobstore_await: waits for news of the store, a second at most, and sees to jobs whose worker
 * has died. False, at once, when deadline_ns (monotonic) has passed.
 */
bool bly_jobstore_await(belay_jobs *jobs, belay_jobs_watch *watch, int64_t deadline_ns);

/* bly_jobstore_bytes: a NUL-ended text as bytes, borrowed. NULL: none. */
belay_bytes bly_jobstore_bytes(const char *text);

#endif
