/*
 * number.h: numbers of the command line: counts, sizes, and amounts relative to the CPUs.
 * Each parser gives NULL and the value, or why the text is none.
 * Context: any; pure.
 */
#ifndef BLY_CLI_NUMBER_H
#define BLY_CLI_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* bly_number_parse: a count from `min` to `max`, decimal digits only. */
const char *bly_number_parse(const char *text, uint64_t min, uint64_t max, uint64_t *ret_value);

/* bly_number_priority: BELAY_PRIORITY_MIN to BELAY_PRIORITY_MAX, with a sign or without. */
const char *bly_number_priority(const char *text, int32_t *ret_priority);

/*
 * bly_number_size: bytes, with a suffix K M G T (of 1,024) or k m g t (of 1,000), decimals
 * allowed.
 */
const char *bly_number_size(const char *text, uint64_t *ret_bytes);

/* An amount that may depend on the number of CPUs. All zero: not given. */
enum bly_amount_kind {
    BLY_AMOUNT_NONE,
    BLY_AMOUNT_NUMBER,  /* N */
    BLY_AMOUNT_PERCENT, /* N%, of the CPUs */
    BLY_AMOUNT_PLUS,    /* +N, to the CPUs */
    BLY_AMOUNT_MINUS,   /* -N, from the CPUs */
    BLY_AMOUNT_ALL,     /* 0: as many as possible */
};

struct bly_amount {
    enum bly_amount_kind kind;
    double value;
};

/* bly_number_amount: N, N%, +N, -N or 0; decimals are allowed where `has_decimals` or a % is. */
const char *bly_number_amount(const char *text, bool has_decimals, struct bly_amount *ret_amount);

/*
 * bly_number_jobs: how many jobs at once an amount means: at least 1, at most `max`. NONE is the
 * number of CPUs.
 */
uint32_t bly_number_jobs(const struct bly_amount *amount, uint32_t cpus, uint32_t max);

/* bly_number_load: what load an amount means; ALL and NONE: no limit (a negative number). */
double bly_number_load(const struct bly_amount *amount, uint32_t cpus);

#endif
