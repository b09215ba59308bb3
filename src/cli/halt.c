/* halt.c: see halt.h. */
#include "halt.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "number.h"

enum { FAILED_MAX = 101, HUNDRED = 100 };

static const struct old_form {
    const char *text;
    struct bly_halt halt;
} old_forms[] = {
    {"never", {BLY_HALT_NEVER, BLY_HALT_FAIL, 0, 0}},
    {"0", {BLY_HALT_NEVER, BLY_HALT_FAIL, 0, 0}},
    {"1", {BLY_HALT_SOON, BLY_HALT_FAIL, 1, 0}},
    {"2", {BLY_HALT_NOW, BLY_HALT_FAIL, 1, 0}},
    {"-1", {BLY_HALT_SOON, BLY_HALT_SUCCESS, 1, 0}},
    {"-2", {BLY_HALT_NOW, BLY_HALT_SUCCESS, 1, 0}},
};

static const char *parse_number(const char *text, struct bly_halt *halt)
{
    struct bly_amount amount = {0};
    const char *why = bly_number_amount(text, false, &amount);
    if (why == NULL && amount.kind == BLY_AMOUNT_NUMBER) {
        halt->count = (uint64_t)amount.value;
        return NULL;
    }
    if (why == NULL && amount.kind == BLY_AMOUNT_PERCENT && amount.value > 0 &&
        amount.value <= HUNDRED) {
        halt->percent = amount.value;
        return NULL;
    }
    return "its number is neither 1 or more nor 1% to 100%";
}

static const char *parse_what(const char *text, struct bly_halt *halt)
{
    static const char *const names[] = {"fail", "success", "done"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t len = strlen(names[i]);
        if (strncmp(text, names[i], len) == 0 && text[len] == '=') {
            halt->what = (enum bly_halt_what)i;
            return parse_number(text + len + 1, halt);
        }
    }
    return "it is not like now,fail=1 or soon,done=20%";
}

const char *bly_halt_parse(const char *text, struct bly_halt *ret_halt)
{
    for (size_t i = 0; i < sizeof old_forms / sizeof old_forms[0]; i++) {
        if (strcmp(text, old_forms[i].text) == 0) {
            *ret_halt = old_forms[i].halt;
            return NULL;
        }
    }
    struct bly_halt halt = {.when = BLY_HALT_SOON};
    const char *why = NULL;
    if (strncmp(text, "now,", 4) == 0) {
        halt.when = BLY_HALT_NOW;
        why = parse_what(text + 4, &halt);
    } else if (strncmp(text, "soon,", 5) == 0) {
        why = parse_what(text + 5, &halt);
    } else if (text[0] != '\0' && text[strlen(text) - 1] == '%') {
        why = parse_number(text, &halt);
    } else {
        why = parse_what("", &halt);
    }
    if (why == NULL) {
        *ret_halt = halt;
    }
    return why;
}

static uint64_t counted(const struct bly_halt *halt, const struct bly_tally *tally)
{
    switch (halt->what) {
    case BLY_HALT_FAIL:
        return tally->failed;
    case BLY_HALT_SUCCESS:
        return tally->done - tally->failed;
    case BLY_HALT_DONE:
        return tally->done;
    }
    return 0;
}

/* Does what ended last count? A success brings no halt by failures nearer. */
static bool last_counts(const struct bly_halt *halt, const struct bly_tally *tally)
{
    bool is_failure = tally->status != 0;
    return halt->what == BLY_HALT_DONE || is_failure == (halt->what == BLY_HALT_FAIL);
}

bool bly_halt_is_due(const struct bly_halt *halt, const struct bly_tally *tally)
{
    assert(tally->failed <= tally->done);
    if (halt->when == BLY_HALT_NEVER || !last_counts(halt, tally)) {
        return false;
    }
    if (halt->percent > 0) {
        return tally->total > 0 &&
               (double)counted(halt, tally) * HUNDRED >= halt->percent * (double)tally->total;
    }
    return counted(halt, tally) >= halt->count;
}

int bly_halt_all_status(const struct bly_tally *tally)
{
    return tally->failed < FAILED_MAX ? (int)tally->failed : FAILED_MAX;
}

int bly_halt_status(const struct bly_halt *halt, const struct bly_tally *tally)
{
    if (halt->what == BLY_HALT_SUCCESS) {
        return 0;
    }
    if (halt->percent > 0) {
        uint64_t total = tally->total > 0 ? tally->total : 1;
        return (int)((tally->failed * HUNDRED + total - 1) / total);
    }
    return halt->count == 1 ? tally->status : bly_halt_all_status(tally);
}
