/*
 * limitspec.h: how a job asks for permits of a named limit: NAME, NAME:K, NAME=N.
 * Context: any; pure.
 */
#ifndef BLY_CLI_LIMITSPEC_H
#define BLY_CLI_LIMITSPEC_H

#include <stddef.h>
#include <stdint.h>

/* The most permits of a limit. */
enum { BLY_LIMIT_PERMITS_MAX = 1000000 };

struct bly_limitspec {
    const char *name; /* borrows the text, not ended by NUL */
    size_t name_len;
    uint32_t permits;  /* wanted: K, else 1 */
    uint32_t capacity; /* N, 0 when not given */
};

/* bly_limitspec_parse: NULL and the parts, or why the text is none of the three forms. */
const char *bly_limitspec_parse(const char *text, struct bly_limitspec *ret_spec);

#endif
