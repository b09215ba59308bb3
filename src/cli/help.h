/* help.h: what a command is about, on standard output. Context: the command's only thread. */
#ifndef BLY_CLI_HELP_H
#define BLY_CLI_HELP_H

#include "commands.h"

/* bly_help_command: prints usage, text and options of a command. The exit status. */
int bly_help_command(const struct bly_command *command);

/* bly_help_print: prints a text, whole. The exit status. */
int bly_help_print(const struct bly_bytes *text);

#endif
