/*
 * template.h: a command with replacement strings, and the command of one job made of it.
 *
 * Made once from the words of the command line (argv: executed directly) or from one shell line
 * (executed by /bin/sh -c, or directly where no shell is needed). Expanding puts each argument in
 * as it is, or quoted for the place where it stands: no argument ever becomes syntax.
 * Context: the command's only thread; pure but for memory.
 */
#ifndef BLY_CLI_TEMPLATE_H
#define BLY_CLI_TEMPLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hole.h"
#include "mem.h"
#include "quote.h"

/* A literal piece of the template's text, or a hole. */
struct bly_part {
    bool is_hole;
    struct bly_hole hole;
    enum bly_quote quote; /* of a hole */
    size_t start, len;    /* of a literal: in `text` */
};

/* Constant after it was made. All zero is an empty one, ready to be made. */
struct bly_template {
    struct bly_bytes text;
    struct bly_part *parts;
    size_t count, max;
    size_t *ends; /* for each word: the index behind its last part */
    size_t words, words_max;
    bool is_shell;    /* one word, for /bin/sh -c */
    bool has_context; /* with several arguments, repeat the word around {} (-X) */
};

/* What fills the holes of one job. */
struct bly_filling {
    const struct bly_words *args;
    uint64_t seq;
    uint32_t slot;
};

/* How a template is read. */
struct bly_template_opts {
    const char *whole; /* another name of {} (-I), or NULL */
    bool is_literal;   /* replacement strings are text like any other */
    bool appends;      /* without any replacement string, {} is added at the end */
};

/*
 * bly_template_argv: makes a template of words, each executed as one.
 * NULL, or why not (a replacement string that is refused).
 */
const char *bly_template_argv(struct bly_template *t, const struct bly_words *words,
                              const struct bly_template_opts *opts);

/*
 * bly_template_line: makes a template of one shell line of `len` bytes. NULL, or why not: a value
 * stands where it cannot be quoted safely. A line without metacharacters becomes words, and no
 * shell is run.
 */
const char *bly_template_line(struct bly_template *t, const char *line, size_t len,
                              const struct bly_template_opts *opts);

/* bly_template_has_holes: is there any replacement string in it? */
bool bly_template_has_holes(const struct bly_template *t);

/* bly_template_has_slot: does the command depend on the slot it runs in? */
bool bly_template_has_slot(const struct bly_template *t);

/* bly_template_expand: appends the command of a job to ret_argv, ready to be executed. */
void bly_template_expand(const struct bly_template *t, const struct bly_filling *filling,
                         struct bly_words *ret_argv);

/* bly_template_show: appends the command of a job as one would type it, for --dry-run and logs. */
void bly_template_show(const struct bly_template *t, const struct bly_filling *filling,
                       struct bly_bytes *to);

/* bly_template_cost: at most how many bytes longer one more argument makes the command. */
size_t bly_template_cost(const struct bly_template *t, const char *argument, size_t len);

/* bly_template_base: at most how many bytes the command has without any argument. */
size_t bly_template_base(const struct bly_template *t);

void bly_template_free(struct bly_template *t);

#endif
