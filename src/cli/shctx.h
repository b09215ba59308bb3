/*
 * shctx.h: where in a shell line are we? Follows the quoting of a line of /bin/sh piece by piece
 * and tells, at a place where a value is to be put, how it must be quoted, or why it cannot be.
 * Context: any; pure.
 */
#ifndef BLY_CLI_SHCTX_H
#define BLY_CLI_SHCTX_H

#include <stdbool.h>
#include <stddef.h>

#include "quote.h"

/* More constructs inside one another than this are refused. */
enum { BLY_SHCTX_DEPTH_MAX = 32, BLY_SHCTX_WORD_MAX = 8 };

/* All zero is the beginning of a line; the fields are shctx.c's. */
struct bly_shctx {
    unsigned char frames[BLY_SHCTX_DEPTH_MAX];  /* the open constructs, outermost first */
    unsigned short parens[BLY_SHCTX_DEPTH_MAX]; /* open parentheses of an arithmetic one */
    unsigned depth;
    char last;                     /* the character before, 0 if it was quoted or a value */
    char word[BLY_SHCTX_WORD_MAX]; /* the unquoted word being read, as far as it fits */
    unsigned word_len;
    bool in_word;
    bool is_escaped; /* a backslash stands before */
    bool in_single;
    bool in_comment;
    bool has_heredoc; /* << has been seen */
    const char *lost; /* not NULL: why the context is no longer known */
};

/* bly_shctx_feed: goes on over `len` literal bytes of the line. */
void bly_shctx_feed(struct bly_shctx *ctx, const char *from, size_t len);

/*
 * bly_shctx_hole: a value stands here. NULL, and *ret_quote says how to quote it; or the reason why
 * no quoting would be safe. Goes on behind the value.
 */
const char *bly_shctx_hole(struct bly_shctx *ctx, enum bly_quote *ret_quote);

#endif
