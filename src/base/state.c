/*
 * state.c: the failing side of state.h.
 */
#include "base/state.h"

#include <stdio.h>

const char *bly_state_name(const bly_state_table *table, uint32_t state)
{
    return state < table->count ? table->names[state] : "?";
}

void bly_state_broken(const bly_state_table *table, uint32_t from, uint32_t to, const char *file,
                      int line)
{
    char text[160];
    (void)snprintf(text, sizeof text, "%s: %s to %s", table->name, bly_state_name(table, from),
                   bly_state_name(table, to));
    bly_abort(text, file, line);
}
