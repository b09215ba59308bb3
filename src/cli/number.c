/* number.c: see number.h. */
#include "number.h"

#include <assert.h>
#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "belay/sched.h"

/* Larger amounts than this are taken as this: no machine has so much of anything. */
#define AMOUNT_MAX 1e15

const char *bly_number_parse(const char *text, uint64_t min, uint64_t max, uint64_t *ret_value)
{
    assert(min <= max);
    uint64_t value = 0;
    for (const char *at = text; *at != '\0'; at++) {
        if (!isdigit((unsigned char)*at)) {
            return "it is not a whole number";
        }
        if (__builtin_mul_overflow(value, (uint64_t)10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value)) {
            return "it is too large";
        }
    }
    if (text[0] == '\0') {
        return "it is not a whole number";
    }
    if (value < min) {
        return "it is too small";
    }
    if (value > max) {
        return "it is too large";
    }
    *ret_value = value;
    return NULL;
}

const char *bly_number_priority(const char *text, int32_t *ret_priority)
{
    uint64_t number = 0;
    bool is_negative = text[0] == '-';
    bool has_sign = is_negative || text[0] == '+';
    const char *why = bly_number_parse(text + (has_sign ? 1 : 0), 0, BELAY_PRIORITY_MAX, &number);
    if (why == NULL) {
        *ret_priority = is_negative ? -(int32_t)number : (int32_t)number;
    }
    return why;
}

/* Reads digits with at most one point, whatever the locale. Gives where they end; text if none. */
static const char *read_decimal(const char *text, double *ret_value)
{
    double value = 0;
    double weight = 1;
    bool has_point = false;
    bool has_digits = false;
    const char *at = text;
    for (; isdigit((unsigned char)*at) || (*at == '.' && !has_point); at++) {
        if (*at == '.') {
            has_point = true;
            continue;
        }
        has_digits = true;
        weight = has_point ? weight / 10 : weight;
        value = has_point ? value + (*at - '0') * weight : value * 10 + (*at - '0');
    }
    *ret_value = value < AMOUNT_MAX ? value : AMOUNT_MAX;
    return has_digits ? at : text;
}

const char *bly_number_size(const char *text, uint64_t *ret_bytes)
{
    static const char letters[] = "kmgt";
    double value = 0;
    const char *at = read_decimal(text, &value);
    if (at == text) {
        return "it is not a size, such as 500M or 1.5G";
    }
    if (*at != '\0') {
        const char *letter = strchr(letters, tolower((unsigned char)*at));
        if (letter == NULL || at[1] != '\0') {
            return "its unit is none of K M G T (of 1,024) and k m g t (of 1,000)";
        }
        double factor = isupper((unsigned char)*at) ? 1024 : 1000;
        for (const char *step = letters; step <= letter; step++) {
            value *= factor;
        }
    }
    *ret_bytes = value < AMOUNT_MAX ? (uint64_t)value : (uint64_t)AMOUNT_MAX;
    return NULL;
}

const char *bly_number_amount(const char *text, bool has_decimals, struct bly_amount *ret_amount)
{
    static const char reason[] = "it is none of N, N%, +N, -N and 0";
    struct bly_amount amount = {.kind = BLY_AMOUNT_NUMBER};
    const char *digits = text;
    if (*digits == '+' || *digits == '-') {
        amount.kind = *digits == '+' ? BLY_AMOUNT_PLUS : BLY_AMOUNT_MINUS;
        digits++;
    }
    const char *end = read_decimal(digits, &amount.value);
    if (end == digits) {
        return reason;
    }
    bool is_percent = strcmp(end, "%") == 0;
    if ((*end != '\0' && !is_percent) || (is_percent && digits != text)) {
        return reason;
    }
    bool has_point = memchr(digits, '.', (size_t)(end - digits)) != NULL;
    if (has_point && !is_percent && !has_decimals) {
        return "it is not a whole number";
    }
    if (is_percent) {
        amount.kind = BLY_AMOUNT_PERCENT;
    } else if (amount.kind == BLY_AMOUNT_NUMBER && amount.value == 0) {
        amount.kind = BLY_AMOUNT_ALL;
    }
    *ret_amount = amount;
    return NULL;
}

static double resolve(const struct bly_amount *amount, uint32_t cpus, double all)
{
    switch (amount->kind) {
    case BLY_AMOUNT_NONE:
        return cpus;
    case BLY_AMOUNT_NUMBER:
        return amount->value;
    case BLY_AMOUNT_PERCENT:
        return cpus * amount->value / 100;
    case BLY_AMOUNT_PLUS:
        return cpus + amount->value;
    case BLY_AMOUNT_MINUS:
        return cpus - amount->value;
    case BLY_AMOUNT_ALL:
        return all;
    }
    return all;
}

uint32_t bly_number_jobs(const struct bly_amount *amount, uint32_t cpus, uint32_t max)
{
    assert(cpus > 0 && max > 0);
    double jobs = resolve(amount, cpus, max);
    if (jobs < 1) {
        return 1;
    }
    return jobs > max ? max : (uint32_t)jobs;
}

double bly_number_load(const struct bly_amount *amount, uint32_t cpus)
{
    if (amount->kind == BLY_AMOUNT_NONE) {
        return -1;
    }
    double load = resolve(amount, cpus, -1);
    return amount->kind != BLY_AMOUNT_ALL && load < 0.01 ? 0.01 : load;
}
