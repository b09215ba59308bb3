/*
 * sources.h: the words behind the options: the command, then `:::` and its like with their sources.
 * Context: the command's only thread.
 */
#ifndef BLY_CLI_SOURCES_H
#define BLY_CLI_SOURCES_H

#include "mem.h"
#include "rows.h"
#include "runopts.h"

/*
 * bly_sources_build: fills `command` with the words before the first separator, and `rows` with the
 * sources: those of -a, those of the separators, else standard input (also as one more source where
 * `-` names it). 0, or BLY_SAY_OWN_ERROR after a message.
 */
int bly_sources_build(const struct bly_runopts *opts, char **words, struct bly_words *command,
                      struct bly_rows *rows);

#endif
