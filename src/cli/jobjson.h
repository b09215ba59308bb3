/* jobjson.h: a job of a store as an object of JSON. Context: the command's only thread. */
#ifndef BLY_CLI_JOBJSON_H
#define BLY_CLI_JOBJSON_H

#include <jansson.h>

#include "belay/job.h"

/* bly_jobjson_row: what `ls --json` and `show --json` print about a job. */
json_t *bly_jobjson_row(const belay_jobs_row *row, int64_t now_ns);

/* bly_jobjson_words: words that each end with a NUL byte, as an array. */
json_t *bly_jobjson_words(belay_bytes packed);

#endif
