/*
 * duration.h: lengths of time as people write them: 90, 1.5h, 250ms, 1h30m, "2 d 4 h".
 * A bare number is seconds; units ms s m min h d w. y and M are refused: nobody agrees on them.
 * Context: any; pure.
 */
#ifndef BLY_CLI_DURATION_H
#define BLY_CLI_DURATION_H

#include <stdint.h>

#include "mem.h"

/* bly_duration_parse: NULL and the nanoseconds (0 or more), or why the text is no duration. */
const char *bly_duration_parse(const char *text, int64_t *ret_ns);

/* bly_duration_show: appends "3 h 58 min", "40 s", "1.5 s", "120 ms": the two largest units. */
void bly_duration_show(struct bly_bytes *to, int64_t ns);

#endif
