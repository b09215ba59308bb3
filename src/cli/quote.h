/*
 * quote.h: writing bytes so that /bin/sh, or a person, reads them as just those bytes.
 * Context: any; pure.
 */
#ifndef BLY_CLI_QUOTE_H
#define BLY_CLI_QUOTE_H

#include <stddef.h>

#include "mem.h"

/* Where in a shell line a value stands. */
enum bly_quote {
    BLY_QUOTE_NONE,   /* not in a shell line: the bytes themselves */
    BLY_QUOTE_BARE,   /* outside all quotes */
    BLY_QUOTE_WORD,   /* outside all quotes, a word by itself: no quotes where none are needed */
    BLY_QUOTE_SINGLE, /* between single quotes */
    BLY_QUOTE_DOUBLE, /* between double quotes */
};

/*
 * bly_quote_add: appends to `to` what makes the shell read `len` bytes at `from`, at a place of
 * that kind, as exactly these bytes. The bytes hold no NUL.
 */
void bly_quote_add(struct bly_bytes *to, enum bly_quote quote, const char *from, size_t len);

/*
 * bly_quote_word: appends a word as one would type it: bare where that is safe, else in single
 * quotes.
 */
void bly_quote_word(struct bly_bytes *to, const char *from, size_t len);

/* bly_quote_argv: appends a command's words as one would type them, a blank between two. */
void bly_quote_argv(struct bly_bytes *to, const struct bly_words *words);

/*
 * bly_quote_show: appends bytes for a person's eyes: control characters, bytes that are not UTF-8
 * and characters that turn the direction of text are written \n, \t or \xNN; at most `max` bytes
 * are shown, then "...".
 */
void bly_quote_show(struct bly_bytes *to, const char *from, size_t len, size_t max);

#endif
