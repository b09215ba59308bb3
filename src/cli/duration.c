/* duration.c: see duration.h. */
#include "duration.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#define SECOND_NS INT64_C(1000000000)

/* Longest first: "ms" and "min" begin with "m". */
static const struct unit {
    const char *name;
    int64_t ns;
} units[] = {
    {"min", 60 * SECOND_NS},   {"ms", 1000000},         {"s", SECOND_NS},
    {"m", 60 * SECOND_NS},     {"h", 3600 * SECOND_NS}, {"d", 86400 * SECOND_NS},
    {"w", 604800 * SECOND_NS},
};

static const char *skip_blanks(const char *at)
{
    while (*at == ' ') {
        at++;
    }
    return at;
}

/* The unit at *at, and moves behind it. NULL when it is none. */
static const struct unit *find_unit(const char **at)
{
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        size_t len = strlen(units[i].name);
        if (strncmp(*at, units[i].name, len) == 0 && !isalpha((unsigned char)(*at)[len])) {
            *at += len;
            return &units[i];
        }
    }
    return NULL;
}

/*
 * Reads "digits[.digits]" as a whole part and billionths of one. False when there is no digit or
 * the whole part does not fit. Digits behind the ninth decimal are dropped.
 */
static bool read_number(const char **at, int64_t *ret_whole, int64_t *ret_billionths)
{
    const char *start = *at;
    int64_t whole = 0;
    for (; isdigit((unsigned char)**at); (*at)++) {
        if (__builtin_mul_overflow(whole, 10, &whole) ||
            __builtin_add_overflow(whole, **at - '0', &whole)) {
            return false;
        }
    }
    bool has_digits = *at > start;
    int64_t billionths = 0;
    if (**at == '.') {
        (*at)++;
        int64_t weight = SECOND_NS / 10;
        for (; isdigit((unsigned char)**at); (*at)++) {
            billionths += (**at - '0') * weight;
            weight /= 10;
            has_digits = true;
        }
    }
    *ret_whole = whole;
    *ret_billionths = billionths;
    return has_digits;
}

static const char *unit_reason(const char *at)
{
    if (*at == 'y' || *at == 'M') {
        return "years and months differ in length; use d or w";
    }
    return "its unit is none of ms s m min h d w";
}

/* Adds one number with its unit to *total. */
static const char *add_piece(const char **at, bool is_first, int64_t *total)
{
    int64_t whole = 0;
    int64_t billionths = 0;
    if (!read_number(at, &whole, &billionths)) {
        return "it is not a number with a unit, such as 90, 1.5h or 1h30m";
    }
    *at = skip_blanks(*at);
    int64_t unit_ns = SECOND_NS;
    if (**at != '\0' || !is_first) {
        const struct unit *unit = find_unit(at);
        if (unit == NULL) {
            return **at == '\0' ? "its last number has no unit" : unit_reason(*at);
        }
        unit_ns = unit->ns;
    }
    int64_t ns = 0;
    int64_t part = (int64_t)((__int128)billionths * unit_ns / SECOND_NS);
    if (__builtin_mul_overflow(whole, unit_ns, &ns) || __builtin_add_overflow(ns, part, &ns) ||
        __builtin_add_overflow(*total, ns, total)) {
        return "it is longer than 292 years";
    }
    *at = skip_blanks(*at);
    return NULL;
}

const char *bly_duration_parse(const char *text, int64_t *ret_ns)
{
    const char *at = skip_blanks(text);
    int64_t total = 0;
    bool is_first = true;
    do {
        const char *why = add_piece(&at, is_first, &total);
        if (why != NULL) {
            return why;
        }
        is_first = false;
    } while (*at != '\0');
    assert(total >= 0);
    *ret_ns = total;
    return NULL;
}

void bly_duration_show(struct bly_bytes *to, int64_t ns)
{
    assert(ns >= 0);
    int64_t seconds = ns / SECOND_NS;
    if (seconds < 1) {
        bly_bytes_print(to, "%" PRId64 " ms", ns / 1000000);
    } else if (seconds < 10) {
        bly_bytes_print(to, "%" PRId64 ".%" PRId64 " s", seconds, ns % SECOND_NS / 100000000);
    } else if (seconds < 60) {
        bly_bytes_print(to, "%" PRId64 " s", seconds);
    } else if (seconds < 3600) {
        bly_bytes_print(to, "%" PRId64 " min %" PRId64 " s", seconds / 60, seconds % 60);
    } else if (seconds < 86400) {
        bly_bytes_print(to, "%" PRId64 " h %" PRId64 " min", seconds / 3600, seconds % 3600 / 60);
    } else {
        bly_bytes_print(to, "%" PRId64 " d %" PRId64 " h", seconds / 86400, seconds % 86400 / 3600);
    }
}
