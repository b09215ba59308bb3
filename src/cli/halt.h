/*
 * halt.h: when a batch stops before its end (--halt), and what the batch's exit status is.
 * Context: any; pure.
 */
#ifndef BLY_CLI_HALT_H
#define BLY_CLI_HALT_H

#include <stdbool.h>
#include <stdint.h>

enum bly_halt_when { BLY_HALT_NEVER, BLY_HALT_SOON, BLY_HALT_NOW };
enum bly_halt_what { BLY_HALT_FAIL, BLY_HALT_SUCCESS, BLY_HALT_DONE };

/* A parsed --halt. All zero: never. */
struct bly_halt {
    enum bly_halt_when when;
    enum bly_halt_what what;
    uint64_t count; /* so many jobs, or */
    double percent; /* so many percent of all, where more than 0 */
};

/*
 * bly_halt_parse: never | now|soon,fail|success|done=N|N%, and parallel's old forms 0 1 2 -1 -2
 * N%.
 */
const char *bly_halt_parse(const char *text, struct bly_halt *ret_halt);

/* How a batch stands. */
struct bly_tally {
    uint64_t done;   /* jobs ended for good */
    uint64_t failed; /* of these, with a status other than 0 */
    uint64_t total;  /* jobs in all, 0 while not known */
    int status;      /* of the job that ended last */
};

/* bly_halt_is_due: must the batch stop, now that a job has ended? */
bool bly_halt_is_due(const struct bly_halt *halt, const struct bly_tally *tally);

/* bly_halt_status: the exit status of a batch that --halt has stopped. */
int bly_halt_status(const struct bly_halt *halt, const struct bly_tally *tally);

/* bly_halt_all_status: the exit status of a batch that went to its end: 0, 1 to 100 failed, 101. */
int bly_halt_all_status(const struct bly_tally *tally);

#endif
