/*
 * options.h: a command's options as one table, from which getopt_long, the help and the completions
 * are made. Options that other tools have and this one refuses are in the table too, with what to
 * do instead.
 * Context: the command's only thread.
 */
#ifndef BLY_CLI_OPTIONS_H
#define BLY_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "mem.h"

/* More options than this no table has. */
enum { BLY_OPTIONS_MAX = 200 };

struct bly_option {
    const char *name; /* long name, or NULL */
    char letter;      /* short name, or 0 */
    const char *arg;  /* what the value is called in the help; NULL: it takes none */
    const char *help; /* one line; NULL: another name of the option before it, not listed */
    /* Takes the value (NULL without one) into `target`. NULL, or why it is refused. */
    const char *(*set)(void *target, const char *value);
    const char *instead; /* not NULL: it is refused, and this is what to do */
};

struct bly_options {
    const struct bly_option *table;
    size_t count;
    const char *command; /* "run" */
    bool are_anywhere;   /* also behind words, up to "--"; else only before the first word */
};

/* bly_option_is_listed: it is offered: in the help, and to completions. */
bool bly_option_is_listed(const struct bly_option *option);

/*
 * bly_options_parse: takes the options among argv[1…] into `target`; *ret_rest is the index of the
 * first word that is none (where options may be anywhere, the words are moved behind them). 0, or
 * -1 after a message that names option, reason and next step.
 */
int bly_options_parse(const struct bly_options *options, int argc, char **argv, void *target,
                      int *ret_rest);

/* bly_options_help: appends the list of options. */
void bly_options_help(const struct bly_options *options, struct bly_bytes *to);

/* bly_options_names: appends every listed option as --name or -x, a blank between (completions). */
void bly_options_names(const struct bly_options *options, struct bly_bytes *to, bool with_value);

#endif
