/* hole.c: see hole.h. The cuts are those of GNU parallel, so that its users find what they know. */
#include "hole.h"

#include <assert.h>
#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* More digits than this are not a position. */
enum { DIGITS_MAX = 6 };

static const struct suffix {
    const char *text;
    enum bly_hole_kind kind;
} suffixes[] = {
    {"//}", BLY_HOLE_DIR},   {"/.}", BLY_HOLE_BASE_NO_EXT}, {"/}", BLY_HOLE_BASE},
    {".}", BLY_HOLE_NO_EXT}, {"}", BLY_HOLE_WHOLE},
};

/* Reads "n" or "-n" at text; its length, 0 if there is no such number. */
static size_t scan_position(const char *text, int *ret_position)
{
    size_t sign = text[0] == '-' ? 1 : 0;
    size_t digits = 0;
    while (isdigit((unsigned char)text[sign + digits])) {
        digits++;
    }
    if (digits == 0 || digits > DIGITS_MAX) {
        return 0;
    }
    int position = atoi(text + sign);
    *ret_position = sign == 1 ? -position : position;
    return position == 0 ? 0 : sign + digits;
}

/* Reads {…} of one or of every argument; `{}` itself has another name when is_renamed. */
static size_t scan_argument(const char *text, bool is_renamed, struct bly_hole *ret_hole)
{
    int position = 0;
    size_t start = 1 + scan_position(text + 1, &position);
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        size_t len = strlen(suffixes[i].text);
        if (strncmp(text + start, suffixes[i].text, len) == 0) {
            bool is_bare = start == 1 && suffixes[i].kind == BLY_HOLE_WHOLE;
            *ret_hole = (struct bly_hole){suffixes[i].kind, position};
            return is_bare && is_renamed ? 0 : start + len;
        }
    }
    return 0;
}

size_t bly_hole_scan(const char *text, const char *whole, struct bly_hole *ret_hole,
                     const char **ret_why)
{
    size_t whole_len = whole != NULL ? strlen(whole) : 0;
    if (whole_len > 0 && strncmp(text, whole, whole_len) == 0) {
        *ret_hole = (struct bly_hole){BLY_HOLE_WHOLE, 0};
        return whole_len;
    }
    if (text[0] != '{') {
        return 0;
    }
    if (text[1] == '=') {
        *ret_why = "Perl expressions are not evaluated; let the command itself change its "
                   "argument, or use {.} {/} {//} {/.}";
        return 0;
    }
    if (strncmp(text, "{#}", 3) == 0 || strncmp(text, "{%}", 3) == 0) {
        *ret_hole = (struct bly_hole){text[1] == '#' ? BLY_HOLE_SEQ : BLY_HOLE_SLOT, 0};
        return 3;
    }
    return scan_argument(text, whole != NULL, ret_hole);
}

static size_t base_start(const char *argument, size_t len)
{
    const char *slash = memrchr(argument, '/', len);
    return slash != NULL ? (size_t)(slash - argument) + 1 : 0;
}

/* The length without ".ext", where ext is not empty and holds no slash. */
static size_t len_without_ext(const char *argument, size_t len)
{
    const char *dot = memrchr(argument, '.', len);
    if (dot == NULL) {
        return len;
    }
    size_t at = (size_t)(dot - argument);
    return at + 1 == len || at < base_start(argument, len) ? len : at;
}

/* As dirname(1): trailing slashes do not count, no slash is ".". */
static struct bly_slice cut_dir(const char *argument, size_t len)
{
    while (len > 1 && argument[len - 1] == '/') {
        len--;
    }
    size_t end = base_start(argument, len);
    if (end == 0) {
        return (struct bly_slice){".", 1};
    }
    while (end > 1 && argument[end - 1] == '/') {
        end--;
    }
    return (struct bly_slice){argument, end};
}

struct bly_slice bly_hole_cut(enum bly_hole_kind kind, const char *argument, size_t len)
{
    size_t base = base_start(argument, len);
    switch (kind) {
    case BLY_HOLE_NO_EXT:
        return (struct bly_slice){argument, len_without_ext(argument, len)};
    case BLY_HOLE_BASE:
        return (struct bly_slice){argument + base, len - base};
    case BLY_HOLE_DIR:
        return cut_dir(argument, len);
    case BLY_HOLE_BASE_NO_EXT:
        return (struct bly_slice){argument + base, len_without_ext(argument, len) - base};
    case BLY_HOLE_WHOLE:
        break;
    case BLY_HOLE_SEQ:
    case BLY_HOLE_SLOT:
        assert(!"a number is no piece of an argument");
    }
    return (struct bly_slice){argument, len};
}
