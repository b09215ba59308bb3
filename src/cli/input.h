/*
 * input.h: one input source: the records of a descriptor, or the words of the command line.
 *
 * Never waits for input: a pipe that has nothing yet answers BLY_INPUT_WAIT, so that finished jobs
 * are shown while the next line is not there. Memory is one record and one block, however long the
 * input is.
 * Context: the command's only thread.
 */
#ifndef BLY_CLI_INPUT_H
#define BLY_CLI_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hole.h"
#include "mem.h"

/* A record may have this many bytes. */
#define BLY_INPUT_RECORD_MAX ((size_t)256 << 20)

enum bly_input_result {
    BLY_INPUT_RECORD, /* there is one */
    BLY_INPUT_END,    /* there is none left */
    BLY_INPUT_WAIT,   /* none yet: wait until the descriptor is readable */
    BLY_INPUT_BROKEN, /* `why` says what is wrong */
};

/* How a source is cut into records. */
struct bly_input_opts {
    char delimiter;
    bool skips_blank;   /* -r: records of blanks only do not count */
    bool joins_blank;   /* -L: a trailing blank continues the record on the next line */
    const char *end_at; /* -E: a record of just this text ends the input; or NULL */
};

struct bly_input {
    const char *name; /* borrowed; for messages */
    int fd;           /* -1: the words */
    bool owns_fd;
    struct bly_words words;
    size_t next_word;
    struct bly_input_opts opts;
    struct bly_bytes buffer;
    size_t start;            /* of what is not yet given, in the buffer */
    size_t scanned;          /* behind `start` no delimiter was found up to here */
    uint64_t count;          /* records given */
    struct bly_bytes joined; /* a record continued over several lines */
    bool is_joining;
    bool is_ended;
    const char *why;
};

/* bly_input_open: records of a file; "-" is stdin. 0, or -1 with errno. `name` is borrowed. */
int bly_input_open(struct bly_input *input, const char *name, const struct bly_input_opts *opts);

/* bly_input_words: gives the (empty) word list of a source of words, for the caller to fill. */
struct bly_words *bly_input_words(struct bly_input *input);

/* bly_input_next: the next record, borrowed until the next call. */
enum bly_input_result bly_input_next(struct bly_input *input, struct bly_slice *ret_record);

/* bly_input_close: frees it and closes what it opened. */
void bly_input_close(struct bly_input *input);

#endif
