/*
 * jobtext.h: a job of a store in words: why it does not run, how it ended, everything about it.
 * Users' bytes are escaped (bly_quote_show). Context: any; pure, but for the time zone.
 */
#ifndef BLY_CLI_JOBTEXT_H
#define BLY_CLI_JOBTEXT_H

#include "belay/job.h"
#include "mem.h"

/* A number with commas: 3,120. */
void bly_jobtext_count(struct bly_bytes *to, uint64_t number);

/* bly_jobtext_moment: "02:00" within a day of now, else "2026-12-02 02:00", local time. */
void bly_jobtext_moment(struct bly_bytes *to, int64_t ns, int64_t now_ns);

/*
 * bly_jobtext_why: the WHY column: what a job that does not run waits for, how long one has been
 * running, how one ended. Empty when there is nothing to say.
 */
void bly_jobtext_why(struct bly_bytes *to, const belay_jobs_row *row, int64_t now_ns);

/* bly_jobtext_command: the command as one would type it. */
void bly_jobtext_command(struct bly_bytes *to, const belay_jobs_row *row);

/* bly_jobtext_show: sentences about everything, a line each. */
void bly_jobtext_show(struct bly_bytes *to, const belay_jobs_row *row, int64_t now_ns);

/* bly_jobtext_words: appends words that each end with a NUL byte, as stores have them. */
void bly_jobtext_words(struct bly_words *to, belay_bytes packed);

/*
 * bly_jobtext_status: the status of an ended job, as a shell would have it: its own, 124 when its
 * time ran out, 126 and 127 when it could not be run, 128 + n after signal n, 125 when it was
 * canceled, skipped, superseded or lost.
 */
int bly_jobtext_status(const belay_jobs_row *row);

#endif
