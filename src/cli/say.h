/*
 * say.h: the command's messages: one line on stderr, "belay run: THING: REASON; NEXT STEP".
 * Bytes of users are shown by bly_quote_show, so that none of them reaches the terminal raw.
 * Context: the command's only thread; writes to stderr.
 */
#ifndef BLY_CLI_SAY_H
#define BLY_CLI_SAY_H

#include <stddef.h>

/* The status of an error of the command's own, and the most bytes of a user's text it shows. */
enum { BLY_SAY_OWN_ERROR = 255, BLY_SAY_SHOWN_MAX = 400 };

/* bly_say_as: messages begin with `name`, which stays valid, instead of "belay run". */
void bly_say_as(const char *name);

/* bly_say: writes "belay run: " and what printf would print, as one line. */
void bly_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * bly_say_before: `fn` (NULL: nothing) is called before each message, so that a line that is being
 * drawn on the terminal can be taken away.
 */
void bly_say_before(void (*fn)(void *arg), void *arg);

/*
 * bly_say_about: writes "belay run: THING: " and the rest, where `thing` is a user's text.
 * Gives BLY_SAY_OWN_ERROR, for `return bly_say_about(…)`.
 */
int bly_say_about(const char *thing, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
