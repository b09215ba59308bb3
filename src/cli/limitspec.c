/* limitspec.c: see limitspec.h. */
#include "limitspec.h"

#include <string.h>

#include "number.h"

static const char *check_name(const char *name, size_t len)
{
    if (len == 0 || len > BLY_LIMIT_NAME_MAX) {
        return "a limit's name has 1 to 200 bytes; write NAME, NAME:K or NAME=N";
    }
    for (size_t i = 0; i < len; i++) {
        unsigned char byte = (unsigned char)name[i];
        if (byte < 0x20 || byte == 0x7f) {
            return "a limit's name holds no control characters";
        }
    }
    return NULL;
}

const char *bly_limitspec_parse(const char *text, struct bly_limitspec *ret_spec)
{
    struct bly_limitspec spec = {.name = text, .name_len = strcspn(text, ":="), .permits = 1};
    const char *why = check_name(text, spec.name_len);
    if (why != NULL) {
        return why;
    }
    char sign = text[spec.name_len];
    if (sign != '\0') {
        uint64_t number = 0;
        why = bly_number_parse(text + spec.name_len + 1, 1, BLY_LIMIT_PERMITS_MAX, &number);
        if (why != NULL) {
            return "its number is not a whole number from 1 to 1000000; "
                   "write NAME, NAME:K or NAME=N";
        }
        spec.permits = sign == ':' ? (uint32_t)number : 1;
        spec.capacity = sign == '=' ? (uint32_t)number : 0;
    }
    *ret_spec = spec;
    return NULL;
}
