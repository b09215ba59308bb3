/*
 * capture.h: what a job for later takes along from where it is added: command and environment.
 *
 * The environment is stored as NAME=VALUE words, and as bare NAMEs that get their value where the
 * job runs. So secrets need not be stored: a variable that looks like one, by its name or by a
 * password in a URL, is a bare name, unless --env names it.
 * Context: any; pure but for memory.
 */
#ifndef BLY_CLI_CAPTURE_H
#define BLY_CLI_CAPTURE_H

#include <stdbool.h>

#include "mem.h"

/* bly_capture_looks_secret: does NAME=VALUE look like something that is not to be stored? */
bool bly_capture_looks_secret(const char *word);

/* bly_capture_env_check: NULL, or why `word` is neither NAME nor NAME=VALUE. */
const char *bly_capture_env_check(const char *word);

/*
 * bly_capture_env: appends the words to store. env: the environment, NULL-terminated; stored:
 * NAME (its value is stored, whatever it looks like) and NAME=VALUE of --env; from_worker: NAMEs.
 * Variables of belay's own stay behind.
 */
void bly_capture_env(struct bly_words *to, char *const *env, const struct bly_words *stored,
                     const struct bly_words *from_worker);

/* bly_capture_restore: appends a job's environment: `words`, and for bare names what `env` has. */
void bly_capture_restore(struct bly_words *to, const struct bly_words *words, char *const *env);

/*
 * bly_capture_command: appends what is executed: the words themselves, or what one word is as a
 * shell line. NULL, or why not.
 */
const char *bly_capture_command(struct bly_words *to, char *const *words);

/* bly_capture_show: appends a command as one would type it. */
void bly_capture_show(struct bly_bytes *to, const struct bly_words *argv);

#endif
