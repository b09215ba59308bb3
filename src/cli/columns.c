/* columns.c: see columns.h. */
#include "columns.h"

#include <assert.h>
#include <locale.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include "quote.h"

/* A cell shows at most so many bytes of a user, and columns stand so far apart. */
enum { SHOWN_MAX = 1000, GAP = 2, DOTS = 3 };

void bly_columns_add(struct bly_columns *table, const char *from, size_t len)
{
    assert(table->count > 0 && table->count <= BLY_COLUMNS_MAX);
    bly_words_begin(&table->cells);
    bly_quote_show(&table->cells.text, from, len, SHOWN_MAX);
    bly_words_end(&table->cells);
}

void bly_columns_text(struct bly_columns *table, const char *text)
{
    bly_words_text(&table->cells, text);
}

/*
 * How far a text reaches on a terminal, and in *ret_fits how many of its bytes do not pass `max`.
 * It is UTF-8: bly_quote_show leaves nothing else. Without a UTF-8 locale each byte counts.
 */
static size_t measure(const char *text, size_t max, size_t *ret_fits)
{
    size_t width = 0;
    size_t at = 0;
    size_t len = strlen(text);
    mbstate_t state = {0};
    *ret_fits = 0;
    while (at < len) {
        wchar_t letter = 0;
        size_t step = mbrtowc(&letter, text + at, len - at, &state);
        int cells = 1;
        if (step == 0 || step > len - at) {
            step = 1;
            state = (mbstate_t){0};
        } else {
            cells = wcwidth(letter);
        }
        width += cells >= 0 ? (size_t)cells : 1;
        at += step;
        if (width <= max) {
            *ret_fits = at;
        }
    }
    return width;
}

static size_t width_of(const char *text)
{
    size_t fits = 0;
    return measure(text, SIZE_MAX, &fits);
}

static void find_widths(const struct bly_columns *table, size_t *ret_widths)
{
    for (size_t i = 0; i < table->count; i++) {
        ret_widths[i] = width_of(table->columns[i].heading);
    }
    for (size_t i = 0; i < table->cells.count; i++) {
        size_t width = width_of(bly_words_at(&table->cells, i));
        size_t column = i % table->count;
        ret_widths[column] = width > ret_widths[column] ? width : ret_widths[column];
    }
}

static void add_blanks(struct bly_bytes *to, size_t count)
{
    for (; count > 0; count--) {
        bly_bytes_byte(to, ' ');
    }
}

/* Appends a line; what passes width_max is cut. */
static void add_line(struct bly_bytes *to, struct bly_bytes *line, size_t width_max)
{
    while (line->len > 0 && line->at[line->len - 1] == ' ') {
        line->at[--line->len] = '\0';
    }
    size_t fits = line->len;
    if (width_max > DOTS && measure(bly_bytes_c(line), width_max, &fits) > width_max) {
        measure(bly_bytes_c(line), width_max - DOTS, &fits);
        bly_bytes_add(to, line->at, fits);
        bly_bytes_text(to, "...");
    } else {
        bly_bytes_text(to, bly_bytes_c(line));
    }
    bly_bytes_byte(to, '\n');
    bly_bytes_clear(line);
}

static void add_cell(struct bly_bytes *line, const struct bly_column *column, const char *text,
                     size_t width)
{
    size_t blanks = width - width_of(text);
    if (column->is_right) {
        add_blanks(line, blanks);
        blanks = 0;
    }
    bly_bytes_text(line, text);
    add_blanks(line, blanks + GAP);
}

static void print(const struct bly_columns *table, size_t width_max, struct bly_bytes *to)
{
    size_t widths[BLY_COLUMNS_MAX];
    struct bly_bytes line = {0};
    find_widths(table, widths);
    for (size_t i = 0; i < table->count; i++) {
        add_cell(&line, &table->columns[i], table->columns[i].heading, widths[i]);
    }
    add_line(to, &line, width_max);
    for (size_t i = 0; i < table->cells.count; i++) {
        size_t column = i % table->count;
        add_cell(&line, &table->columns[column], bly_words_at(&table->cells, i), widths[column]);
        if (column + 1 == table->count) {
            add_line(to, &line, width_max);
        }
    }
    bly_bytes_free(&line);
}

/* Widths of letters are the locale's to say, and the text is UTF-8 whatever the user's is. */
void bly_columns_print(const struct bly_columns *table, size_t width_max, struct bly_bytes *to)
{
    assert(table->cells.count % table->count == 0);
    locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", NULL);
    locale_t before = utf8 != NULL ? uselocale(utf8) : NULL;
    print(table, width_max, to);
    if (utf8 != NULL) {
        uselocale(before);
        freelocale(utf8);
    }
}

void bly_columns_free(struct bly_columns *table)
{
    bly_words_free(&table->cells);
}

size_t bly_columns_terminal(int fd)
{
    struct winsize size = {0};
    if (isatty(fd) != 1) {
        return 0;
    }
    return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}
