/* help.h: the texts of `belay help` and `belay completions`. Context: writes to stdout. */
#ifndef BLY_CLI_HELP_H
#define BLY_CLI_HELP_H

/* bly_cli_help: prints what the command, or the topic (NULL: none), is about. The exit status. */
int bly_cli_help(const char *topic);

/* bly_help_version: prints the version. The exit status. */
int bly_help_version(void);

/* bly_help_completions: prints the completions for bash. The exit status. */
int bly_help_completions(const char *shell);

#endif
