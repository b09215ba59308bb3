/* limitspec.c: see limitspec.h. */
#include "limitspec.h"

#include <string.h>

#include "name.h"
#include "number.h"

const char *bly_limitspec_parse(const char *text, struct bly_limitspec *ret_spec)
{
    struct bly_limitspec spec = {.name = text, .name_len = strcspn(text, ":="), .permits = 1};
    const char *why = bly_name_check(text, spec.name_len);
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
