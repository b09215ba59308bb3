/* rows.c: see rows.h. */
#include "rows.h"

#include <assert.h>
#include <string.h>

const char *bly_rows_add(struct bly_rows *rows, struct bly_input *input, bool is_linked)
{
    if (rows->source_count == BLY_ROWS_SOURCES_MAX) {
        return "there are more than 64 input sources; put columns into one file and use --colsep";
    }
    if (is_linked && rows->group_count == 0) {
        return "there is no input source before it that it could be linked to; use ::: or ::::";
    }
    if (!is_linked) {
        rows->group_count++;
    }
    struct bly_group *group = &rows->groups[rows->group_count - 1];
    group->sources[group->count++] = input;
    rows->source_count++;
    return NULL;
}

/* Regular expressions of parallel are Perl's: its \t and \n are known here too. */
static void translate(const char *pattern, struct bly_bytes *to)
{
    for (const char *at = pattern; *at != '\0'; at++) {
        if (at[0] == '\\' && (at[1] == 't' || at[1] == 'n')) {
            bly_bytes_byte(to, at[1] == 't' ? '\t' : '\n');
            at++;
        } else if (at[0] == '\\' && at[1] != '\0') {
            bly_bytes_add(to, at, 2);
            at++;
        } else {
            bly_bytes_byte(to, at[0]);
        }
    }
}

const char *bly_rows_colsep(struct bly_rows *rows, const char *pattern)
{
    struct bly_bytes translated = {0};
    translate(pattern, &translated);
    int failed = regcomp(&rows->colsep, bly_bytes_c(&translated), REG_EXTENDED);
    bly_bytes_free(&translated);
    if (failed != 0) {
        return "it is not an extended regular expression; see regex(7)";
    }
    rows->has_colsep = true;
    return NULL;
}

/* Appends the columns of one record. */
static void add_columns(const struct bly_rows *rows, struct bly_slice record, struct bly_words *to)
{
    size_t from = 0;
    while (rows->has_colsep) {
        regmatch_t match = {.rm_so = (regoff_t)from, .rm_eo = (regoff_t)record.len};
        int flags = REG_STARTEND | (from > 0 ? REG_NOTBOL : 0);
        if (regexec(&rows->colsep, record.at, 1, &match, flags) != 0 ||
            match.rm_eo <= match.rm_so) {
            break;
        }
        bly_words_add(to, record.at + from, (size_t)match.rm_so - from);
        from = (size_t)match.rm_eo;
    }
    bly_words_add(to, record.at + from, record.len - from);
}

/* Completes group->row with a record of each source. END at the end of the shortest. */
static enum bly_input_result gather(struct bly_rows *rows, struct bly_group *group)
{
    if (group->have == 0) {
        bly_words_clear(&group->row);
    }
    while (group->have < group->count) {
        struct bly_input *source = group->sources[group->have];
        struct bly_slice record;
        enum bly_input_result result = bly_input_next(source, &record);
        if (result != BLY_INPUT_RECORD) {
            rows->held = source;
            return result;
        }
        add_columns(rows, record, &group->row);
        group->have++;
    }
    group->have = 0;
    return BLY_INPUT_RECORD;
}

/* Reads a whole group into memory. END when it is there. */
static enum bly_input_result keep(struct bly_rows *rows, struct bly_group *group)
{
    while (!group->is_kept) {
        enum bly_input_result result = gather(rows, group);
        if (result == BLY_INPUT_RECORD) {
            bly_words_copy(&group->kept, &group->row);
            group->ends =
                bly_mem_grow(group->ends, &group->rows_max, group->rows + 1, sizeof *group->ends);
            group->ends[group->rows++] = group->kept.count;
        } else if (result == BLY_INPUT_END) {
            group->is_kept = true;
        } else {
            return result;
        }
    }
    return BLY_INPUT_END;
}

static enum bly_input_result keep_from(struct bly_rows *rows, size_t first)
{
    for (size_t i = first; i < rows->group_count; i++) {
        enum bly_input_result result = keep(rows, &rows->groups[i]);
        if (result != BLY_INPUT_END) {
            return result;
        }
    }
    return BLY_INPUT_END;
}

static void add_kept(const struct bly_group *group, size_t row, struct bly_words *to)
{
    assert(row < group->rows);
    for (size_t i = row > 0 ? group->ends[row - 1] : 0; i < group->ends[row]; i++) {
        bly_words_add(to, bly_words_at(&group->kept, i), bly_words_len(&group->kept, i));
    }
}

/* --link: row n of every group, those that have ended beginning again. */
static enum bly_input_result next_wrapped(struct bly_rows *rows, struct bly_words *ret_row)
{
    enum bly_input_result result = keep_from(rows, 0);
    if (result != BLY_INPUT_END) {
        return result;
    }
    size_t longest = 0;
    for (size_t i = 0; i < rows->group_count; i++) {
        longest = rows->groups[i].rows > longest ? rows->groups[i].rows : longest;
    }
    size_t row = rows->groups[0].next++;
    if (row >= longest) {
        return BLY_INPUT_END;
    }
    for (size_t i = 0; i < rows->group_count; i++) {
        if (rows->groups[i].rows > 0) {
            add_kept(&rows->groups[i], row % rows->groups[i].rows, ret_row);
        }
    }
    return BLY_INPUT_RECORD;
}

/* Moves the groups behind the first on by one. False when all combinations have been given. */
static bool advance(struct bly_rows *rows)
{
    for (size_t i = rows->group_count; i-- > 1;) {
        struct bly_group *group = &rows->groups[i];
        group->next++;
        if (group->next < group->rows) {
            return true;
        }
        group->next = 0;
    }
    return false;
}

static bool has_empty_group(const struct bly_rows *rows)
{
    for (size_t i = 1; i < rows->group_count; i++) {
        if (rows->groups[i].rows == 0) {
            return true;
        }
    }
    return false;
}

enum bly_input_result bly_rows_next(struct bly_rows *rows, struct bly_words *ret_row)
{
    assert(rows->group_count > 0);
    if (rows->wraps) {
        return next_wrapped(rows, ret_row);
    }
    if (!rows->has_current) {
        enum bly_input_result result = keep_from(rows, 1);
        if (result != BLY_INPUT_END) {
            return result;
        }
        if (has_empty_group(rows)) {
            return BLY_INPUT_END;
        }
        result = gather(rows, &rows->groups[0]);
        if (result != BLY_INPUT_RECORD) {
            return result;
        }
    }
    bly_words_copy(ret_row, &rows->groups[0].row);
    for (size_t i = 1; i < rows->group_count; i++) {
        add_kept(&rows->groups[i], rows->groups[i].next, ret_row);
    }
    rows->has_current = advance(rows);
    return BLY_INPUT_RECORD;
}

static void free_group(struct bly_group *group)
{
    for (size_t i = 0; i < group->count; i++) {
        bly_input_close(group->sources[i]);
        bly_mem_free(group->sources[i]);
    }
    bly_words_free(&group->row);
    bly_words_free(&group->kept);
    bly_mem_free(group->ends);
}

void bly_rows_destroy(struct bly_rows *rows)
{
    for (size_t i = 0; i < rows->group_count; i++) {
        free_group(&rows->groups[i]);
    }
    if (rows->has_colsep) {
        regfree(&rows->colsep);
    }
    *rows = (struct bly_rows){0};
}
