/*
 * jsonout.h: what --json prints: one object a line, made with jansson.
 * Memory that runs out ends the command, as everywhere here. Context: the command's only thread.
 */
#ifndef BLY_CLI_JSONOUT_H
#define BLY_CLI_JSONOUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mem.h"

/* bly_json_object: gives an empty object; bly_json_line takes it. */
json_t *bly_json_object(void);

/* bly_json_set: sets a member; takes `value`, NULL of which means that memory has run out. */
void bly_json_set(json_t *object, const char *name, json_t *value);

/* bly_json_bytes: a string, or {"b64": …} where the bytes are not UTF-8. */
json_t *bly_json_bytes(const char *from, size_t len);

/* bly_json_moment: nanoseconds since 1970 as RFC 3339, null for 0. */
json_t *bly_json_moment(int64_t ns);

/* bly_json_seconds: a length of time as a number of seconds. */
json_t *bly_json_seconds(int64_t ns);

/* bly_json_line: appends the object as one line; takes it. */
void bly_json_line(struct bly_bytes *to, json_t *object);

#endif
