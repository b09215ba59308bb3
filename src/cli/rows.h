/*
 * rows.h: the rows of all input sources together.
 *
 * Sources are joined in groups: a source added by `:::` or `::::` begins a group, one added by
 * `:::+` or `::::+` is linked to the group before it and goes with it record by record, to the end
 * of the shortest. The rows are every combination of the groups, the last one changing fastest.
 * Only the groups behind the first are kept in memory; the first is read as the rows are asked
 * for.
 * Context: the command's only thread.
 */
#ifndef BLY_CLI_ROWS_H
#define BLY_CLI_ROWS_H

#include <regex.h>
#include <stdbool.h>

#include "input.h"
#include "mem.h"

/* More sources than this are refused. */
enum { BLY_ROWS_SOURCES_MAX = 64 };

/* Sources that go record by record. */
struct bly_group {
    struct bly_input *sources[BLY_ROWS_SOURCES_MAX];
    size_t count;
    struct bly_words row;  /* the row being put together */
    size_t have;           /* of how many sources it holds a record */
    struct bly_words kept; /* all rows, end to end, of a group that is kept in memory */
    size_t *ends;          /* of each row, in `kept` */
    size_t rows, rows_max;
    bool is_kept;
    size_t next; /* the kept row to come */
};

struct bly_rows {
    struct bly_group groups[BLY_ROWS_SOURCES_MAX];
    size_t group_count;
    size_t source_count;
    bool wraps;       /* --link: row n is record n of each, the shorter ones begin again */
    bool has_current; /* groups[0].row is a row whose combinations are being given */
    bool has_colsep;
    regex_t colsep;
    const struct bly_input
        *held; /* the source because of which the last answer was WAIT or BROKEN */
};

/*
 * bly_rows_add: adds a source, which is closed and freed by bly_rows_destroy. NULL, or why not.
 * is_linked: it belongs to the group before.
 */
const char *bly_rows_add(struct bly_rows *rows, struct bly_input *input, bool is_linked);

/*
 * bly_rows_colsep: cuts each record at matches of an extended regular expression. NULL, or why
 * not.
 */
const char *bly_rows_colsep(struct bly_rows *rows, const char *pattern);

/* bly_rows_next: the next row, appended to ret_row. */
enum bly_input_result bly_rows_next(struct bly_rows *rows, struct bly_words *ret_row);

void bly_rows_destroy(struct bly_rows *rows);

#endif
