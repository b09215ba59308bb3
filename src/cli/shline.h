/*
 * shline.h: lines of /bin/sh that need no shell. As make does, a line without a character that is
 * special to the shell, whose first word is not the shell's own, is split at blanks and executed.
 * Context: any; pure.
 */
#ifndef BLY_CLI_SHLINE_H
#define BLY_CLI_SHLINE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * bly_shline_has_special: does the piece of a line hold a character that only a shell understands?
 */
bool bly_shline_has_special(const char *from, size_t len);

/* bly_shline_is_shell_word: must a line that begins with this word go to the shell? */
bool bly_shline_is_shell_word(const char *word, size_t len);

#endif
