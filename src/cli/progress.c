/* progress.c: see progress.h. */
#include "progress.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "duration.h"
#include "files.h"

enum { COLUMNS_DEFAULT = 80, COLUMNS_LEAST = 20, HUNDRED = 100 };

#define SECOND_NS INT64_C(1000000000)

static const char clear_line[] = "\r\033[K";

void bly_progress_init(struct bly_progress *progress, int fd, bool has_bar, bool has_eta,
                       int64_t now_ns)
{
    const char *terminal = getenv("TERM");
    const char *no_colour = getenv("NO_COLOR");
    bool is_able = isatty(fd) && terminal != NULL && strcmp(terminal, "dumb") != 0;
    *progress = (struct bly_progress){
        .fd = is_able && (has_bar || has_eta) ? fd : -1,
        .has_bar = has_bar,
        .has_eta = has_eta,
        .has_colour = no_colour == NULL || no_colour[0] == '\0',
        .start_ns = now_ns,
        .next_ns = now_ns,
    };
}

/* "12/40, 2 failed, 3 running, 40 s left" */
static void add_counts(const struct bly_progress *progress, const struct bly_progress_state *state,
                       struct bly_bytes *to)
{
    const struct bly_tally *tally = state->tally;
    bly_bytes_print(to, "%" PRIu64, tally->done);
    if (tally->total > 0) {
        bly_bytes_print(to, "/%" PRIu64, tally->total);
    }
    bly_bytes_text(to, " done");
    if (tally->failed > 0) {
        bly_bytes_print(to, ", %" PRIu64 " failed", tally->failed);
    }
    bly_bytes_print(to, ", %" PRIu32 " running", state->running);
    if (progress->has_eta && tally->total >= tally->done && tally->done > 0) {
        double each = (double)(state->now_ns - progress->start_ns) / (double)tally->done;
        int64_t left_ns = (int64_t)(each * (double)(tally->total - tally->done));
        int64_t seconds = left_ns / SECOND_NS + (left_ns % SECOND_NS > 0);
        bly_bytes_text(to, ", ");
        bly_duration_show(to, seconds * SECOND_NS);
        bly_bytes_text(to, " left");
    }
}

static void add_bar(const struct bly_tally *tally, size_t width, struct bly_bytes *to)
{
    uint64_t total = tally->total > tally->done ? tally->total : tally->done;
    size_t filled = total > 0 ? (size_t)((double)width * (double)tally->done / (double)total) : 0;
    bly_bytes_byte(to, '[');
    for (size_t i = 0; i < width; i++) {
        bly_bytes_byte(to, i < filled ? '#' : '.');
    }
    bly_bytes_text(to, "] ");
}

void bly_progress_format(const struct bly_progress *progress,
                         const struct bly_progress_state *state, unsigned columns,
                         struct bly_bytes *to)
{
    struct bly_bytes counts = {0};
    size_t start = to->len;
    add_counts(progress, state, &counts);
    if (progress->has_bar && state->tally->total > 0 && counts.len + COLUMNS_LEAST < columns) {
        size_t room = columns - counts.len - 4;
        add_bar(state->tally, room < HUNDRED ? room : HUNDRED, to);
    }
    bly_bytes_add(to, bly_bytes_c(&counts), counts.len);
    if (to->len - start >= columns && columns > 0) {
        to->len = start + columns - 1;
        to->at[to->len] = '\0';
    }
    bly_bytes_free(&counts);
}

static unsigned find_columns(int fd)
{
    struct winsize size = {0};
    bool is_known = ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return is_known ? size.ws_col : COLUMNS_DEFAULT;
}

int64_t bly_progress_draw(struct bly_progress *progress, const struct bly_progress_state *state)
{
    if (progress->fd < 0) {
        return INT64_MAX;
    }
    if (state->now_ns < progress->next_ns) {
        return progress->next_ns;
    }
    bool is_red = progress->has_colour && state->tally->failed > 0;
    bly_bytes_clear(&progress->line);
    bly_bytes_text(&progress->line, clear_line);
    bly_bytes_text(&progress->line, is_red ? "\033[31m" : "");
    bly_progress_format(progress, state, find_columns(progress->fd), &progress->line);
    bly_bytes_text(&progress->line, is_red ? "\033[0m" : "");
    (void)bly_files_write(progress->fd, progress->line.at, progress->line.len);
    progress->is_drawn = true;
    progress->next_ns = state->now_ns + BLY_PROGRESS_EVERY_NS;
    return progress->next_ns;
}

void bly_progress_clear(struct bly_progress *progress)
{
    if (progress->is_drawn) {
        (void)bly_files_write(progress->fd, clear_line, sizeof clear_line - 1);
        progress->is_drawn = false;
    }
}

void bly_progress_free(struct bly_progress *progress)
{
    bly_progress_clear(progress);
    bly_bytes_free(&progress->line);
}
