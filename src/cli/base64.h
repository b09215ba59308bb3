/*
 * base64.h: bytes as letters, for JSON, whose strings are UTF-8.
 * Context: any; pure.
 */
#ifndef BLY_CLI_BASE64_H
#define BLY_CLI_BASE64_H

#include <stdbool.h>

#include "mem.h"

/* bly_base64_add: appends the letters, padded by '='. */
void bly_base64_add(struct bly_bytes *to, const char *from, size_t len);

/* bly_base64_decode: appends the bytes; padding may be missing. False: it is not base64. */
bool bly_base64_decode(struct bly_bytes *to, const char *text);

#endif
