/* say.c: see say.h. */
#include "say.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "files.h"
#include "mem.h"
#include "quote.h"

static void add_formatted(struct bly_bytes *line, const char *format, va_list values)
{
    char *text = NULL;
    int len = vasprintf(&text, format, values);
    if (len >= 0) {
        bly_bytes_add(line, text, (size_t)len);
        bly_mem_free(text);
    }
}

static struct {
    void (*fn)(void *arg);
    void *arg;
} before; /* the command's only thread */

void bly_say_before(void (*fn)(void *arg), void *arg)
{
    before.fn = fn;
    before.arg = arg;
}

static const char *speaker = "belay run"; /* the command's only thread */

void bly_say_as(const char *name)
{
    assert(name != NULL);
    speaker = name;
}

static void begin(struct bly_bytes *line)
{
    bly_bytes_print(line, "%s: ", speaker);
}

static void write_line(struct bly_bytes *line)
{
    if (before.fn != NULL) {
        before.fn(before.arg);
    }
    bly_bytes_byte(line, '\n');
    bly_files_write(2, line->at, line->len);
    bly_bytes_free(line);
}

void bly_say(const char *format, ...)
{
    struct bly_bytes line = {0};
    begin(&line);
    va_list values;
    va_start(values, format);
    add_formatted(&line, format, values);
    va_end(values);
    write_line(&line);
}

int bly_say_about(const char *thing, const char *format, ...)
{
    struct bly_bytes line = {0};
    begin(&line);
    bly_quote_show(&line, thing, strlen(thing), BLY_SAY_SHOWN_MAX);
    bly_bytes_text(&line, ": ");
    va_list values;
    va_start(values, format);
    add_formatted(&line, format, values);
    va_end(values);
    write_line(&line);
    return BLY_SAY_OWN_ERROR;
}
