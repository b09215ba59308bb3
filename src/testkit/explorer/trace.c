/*
 * trace.c: what is shown of an execution: its decisions, and a table with a column a thread.
 *
 * A trace is a string of the decisions' digits (0-9, a-z), in which a run of four zeros or more is
 * written as their count in brackets, and zeros at the end are left out: "(17)1002".
 */
#include "testkit/explorer/engine.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOG_MAX        400
#define COLUMN_WIDTH   34
#define TRACE_TEXT     2048 /* with belay_model_result.trace */
#define ZERO_RUN_LEAST 4

typedef struct log_row {
    uint8_t thread;
    char text[COLUMN_WIDTH + 24];
} log_row;

static log_row rows[LOG_MAX];
static unsigned row_count;
static unsigned rows_lost;
static const void *names[64];
static unsigned name_count;

void model_log_reset(void)
{
    row_count = 0;
    rows_lost = 0;
    name_count = 0;
}

/* Addresses are shown as letters in the order of their first use, the same in every replay. */
static void name_of(const void *ptr, char *text, size_t size)
{
    unsigned i = 0;
    while (i < name_count && names[i] != ptr) {
        i++;
    }
    if (i == name_count && name_count < 64) {
        names[name_count++] = ptr;
    }
    if (i < 26) {
        snprintf(text, size, "%c", (char)('A' + i));
    } else {
        snprintf(text, size, "%c%u", (char)('A' + i % 26), i / 26);
    }
}

void model_log(const char *operation, const void *ptr, uint64_t value, const char *note)
{
    if (row_count == LOG_MAX) {
        rows_lost++;
        return;
    }
    log_row *row = &rows[row_count++];
    const char *where = strrchr(model.current->where, '/');
    where = where != NULL ? where + 1 : model.current->where;
    char name[16] = "";
    if (ptr != NULL) {
        name_of(ptr, name, sizeof name);
    }
    char shown[24];
    if (value < 100000) {
        snprintf(shown, sizeof shown, "%llu", (unsigned long long)value);
    } else {
        char pointed[16];
        name_of((const void *)(uintptr_t)value, pointed, sizeof pointed);
        snprintf(shown, sizeof shown, "&%s", pointed);
    }
    row->thread = (uint8_t)model.current->index;
    snprintf(row->text, sizeof row->text, "%s %s %s%s%s %s", operation, name, shown,
             note[0] != '\0' ? " " : "", note, where);
}

void model_trace_print_table(void)
{
    for (unsigned i = 0; i < model.thread_count; i++) {
        printf("%s%-*u", i == 0 ? "  thread " : "", COLUMN_WIDTH, i);
    }
    printf("\n");
    for (unsigned i = 0; i < row_count; i++) {
        printf("  %3u  %*s%s\n", i + 1, (int)(rows[i].thread * COLUMN_WIDTH), "", rows[i].text);
    }
    if (rows_lost > 0) {
        printf("  ... and %u operations more\n", rows_lost);
    }
}

static char digit_of(unsigned chosen)
{
    return (char)(chosen < 10 ? '0' + chosen : 'a' + chosen - 10);
}

char *model_trace_format(const model_decision *decisions, uint32_t count)
{
    static char text[TRACE_TEXT];
    size_t used = 0;
    while (count > 0 && decisions[count - 1].chosen == 0) {
        count--;
    }
    for (uint32_t i = 0; i < count && used + 16 < sizeof text;) {
        uint32_t zeros = 0;
        while (i + zeros < count && decisions[i + zeros].chosen == 0) {
            zeros++;
        }
        if (zeros >= ZERO_RUN_LEAST) {
            used += (size_t)snprintf(text + used, sizeof text - used, "(%u)", zeros);
            i += zeros;
        } else {
            bly_assert(decisions[i].chosen < 36);
            text[used++] = digit_of(decisions[i].chosen);
            i++;
        }
    }
    text[used] = '\0';
    return text;
}

static bool append_decisions(model_decision *decisions, uint32_t *count, uint32_t times,
                             unsigned chosen)
{
    if (times > MODEL_DECISIONS_MAX - *count) {
        return false;
    }
    for (uint32_t i = 0; i < times; i++) {
        decisions[(*count)++].chosen = (uint8_t)chosen;
    }
    return true;
}

bool model_trace_parse(const char *text, model_decision *decisions, uint32_t *ret_count)
{
    uint32_t count = 0;
    while (*text != '\0') {
        bool is_kept;
        if (*text == '(') {
            char *end;
            unsigned long zeros = strtoul(text + 1, &end, 10);
            is_kept = *end == ')' && zeros <= MODEL_DECISIONS_MAX &&
                      append_decisions(decisions, &count, (uint32_t)zeros, 0);
            text = end + 1;
        } else {
            unsigned chosen = isdigit((unsigned char)*text)   ? (unsigned)(*text - '0')
                              : islower((unsigned char)*text) ? (unsigned)(*text - 'a') + 10
                                                              : UINT8_MAX;
            is_kept = chosen != UINT8_MAX && append_decisions(decisions, &count, 1, chosen);
            text++;
        }
        if (!is_kept) {
            return false;
        }
    }
    *ret_count = count;
    return true;
}
