/*
 * commands.h: the subcommands as one table, from which dispatch, `belay help` and the completions
 * are made. Each command's file defines its own; its options are in a table too (options.h).
 * Context: the command's only thread.
 */
#ifndef BLY_CLI_COMMANDS_H
#define BLY_CLI_COMMANDS_H

#include <stddef.h>

#include "options.h"

/* What stands behind the options, for the completions. */
enum bly_operands {
    BLY_OPERANDS_NONE,
    BLY_OPERANDS_COMMAND, /* a command and its arguments */
    BLY_OPERANDS_WORDS,   /* names of jobs, limits and the like: nothing is completed */
    BLY_OPERANDS_TOPIC,   /* the name of a command of belay */
    BLY_OPERANDS_SHELL,   /* the name of a shell */
};

struct bly_command {
    const char *name;
    const char *summary;               /* its line in `belay help` */
    const char *usage;                 /* what stands behind its name */
    const char *about;                 /* its help, before the options; whole lines */
    const char *about_status;          /* and behind them; NULL: nothing */
    const struct bly_options *options; /* NULL: it has none */
    enum bly_operands operands;
    int (*run)(int argc, char **argv); /* argv[0] is the name; the exit status */
};

extern const struct bly_command bly_command_run;
extern const struct bly_command bly_command_add;
extern const struct bly_command bly_command_work;
extern const struct bly_command bly_command_with;
extern const struct bly_command bly_command_ls;
extern const struct bly_command bly_command_show;
extern const struct bly_command bly_command_logs;
extern const struct bly_command bly_command_wait;
extern const struct bly_command bly_command_cancel;
extern const struct bly_command bly_command_retry;
extern const struct bly_command bly_command_edit;
extern const struct bly_command bly_command_pause;
extern const struct bly_command bly_command_unpause;
extern const struct bly_command bly_command_limit;
extern const struct bly_command bly_command_queue;
extern const struct bly_command bly_command_stats;
extern const struct bly_command bly_command_gc;
extern const struct bly_command bly_command_help;
extern const struct bly_command bly_command_version;
extern const struct bly_command bly_command_completions;

/* A group of commands in the order of the help. */
struct bly_command_group {
    const char *heading;
    const struct bly_command *const *commands; /* NULL at its end */
};

/* bly_commands: the groups; the last one has no commands. */
const struct bly_command_group *bly_commands(void);

/* bly_commands_find: the command of that name, or NULL. */
const struct bly_command *bly_commands_find(const char *name);

#endif
