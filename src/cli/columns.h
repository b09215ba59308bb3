/*
 * columns.h: a table for a person's eyes: columns as wide as their widest cell, what users gave
 * escaped. Context: the command's only thread.
 */
#ifndef BLY_CLI_COLUMNS_H
#define BLY_CLI_COLUMNS_H

#include <stdbool.h>

#include "mem.h"

/* More columns than this no table has. */
enum { BLY_COLUMNS_MAX = 12 };

struct bly_column {
    const char *heading;
    bool is_right; /* numbers */
};

/* All zero but for `columns` and `count` before the first cell. */
struct bly_columns {
    const struct bly_column *columns;
    size_t count; /* of columns */
    struct bly_words cells;
};

/* bly_columns_add: the next cell, row by row; the bytes of a user are escaped (bly_quote_show). */
void bly_columns_add(struct bly_columns *table, const char *from, size_t len);

/* bly_columns_text: the same for a NUL-ended text of ours, which holds nothing to escape. */
void bly_columns_text(struct bly_columns *table, const char *text);

/*
 * bly_columns_print: appends headings and rows. width_max: columns of a terminal, at which each
 * line is cut, with "..."; 0: as wide as it gets.
 */
void bly_columns_print(const struct bly_columns *table, size_t width_max, struct bly_bytes *to);

void bly_columns_free(struct bly_columns *table);

/* bly_columns_terminal: the width of the terminal at `fd`, 0 when it is none. */
size_t bly_columns_terminal(int fd);

#endif
