/* name.c: see name.h. */
#include "name.h"

#include <string.h>

#include "number.h"

const char *bly_name_check(const char *name, size_t len)
{
    if (len == 0 || len > BLY_CLI_NAME_MAX) {
        return "a name has 1 to 200 bytes";
    }
    for (size_t i = 0; i < len; i++) {
        unsigned char byte = (unsigned char)name[i];
        if (byte < 0x20 || byte == 0x7f) {
            return "a name holds no control characters";
        }
    }
    return NULL;
}

static bool is_number(const char *word)
{
    size_t digits = strspn(word, "0123456789");
    return digits > 0 && word[digits] == '\0';
}

const char *bly_name_check_id(const char *name)
{
    if (is_number(name)) {
        return "an id is not all digits, which are the numbers of jobs; put a letter in it";
    }
    return bly_name_check(name, strlen(name));
}

const char *bly_name_job(const char *word, struct bly_jobname *ret_name)
{
    struct bly_jobname name = {.id = word};
    const char *why = NULL;
    if (is_number(word)) {
        name.id = NULL;
        why = bly_number_parse(word, 1, INT64_MAX, &name.seq);
        why = why != NULL ? "numbers of jobs begin at 1 and have at most 18 digits" : NULL;
    } else {
        why = bly_name_check_id(word);
    }
    if (why == NULL) {
        *ret_name = name;
    }
    return why;
}
