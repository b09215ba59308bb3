/*
 * when.h: moments as people write them, and as RFC 3339 writes them.
 * Context: any; reads the time zone (TZ) of the process.
 */
#ifndef BLY_CLI_WHEN_H
#define BLY_CLI_WHEN_H

#include <stdint.h>

#include "mem.h"

/*
 * bly_when_parse: a moment, in nanoseconds since 1970 UTC; `now_ns` is the present one. Forms:
 * HH:MM or HH:MM:SS (the next such moment), YYYY-MM-DD[ T]HH:MM[:SS][zone] and YYYY-MM-DD
 * (midnight) where zone is Z or +HH:MM or missing (local time), @SECONDS, now, now+DURATION. NULL,
 * or why not: no such form, no such date, or a full date that is past.
 */
const char *bly_when_parse(const char *text, int64_t now_ns, int64_t *ret_ns);

/* bly_when_show: appends the moment as RFC 3339 in local time, to the second. */
void bly_when_show(struct bly_bytes *to, int64_t ns);

#endif
