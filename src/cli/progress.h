/*
 * progress.h: --bar and --eta: one line on a terminal that tells how far the batch is.
 *
 * The line is taken away before anything else is written, and drawn again at most ten times a
 * second. Where stderr is no terminal, or is a dumb one, nothing is ever drawn. Colours only where
 * NO_COLOR is not set.
 * Context: the command's only thread; writes to stderr.
 */
#ifndef BLY_CLI_PROGRESS_H
#define BLY_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "halt.h"
#include "mem.h"

#define BLY_PROGRESS_EVERY_NS INT64_C(100000000)

struct bly_progress {
    int fd; /* -1: nothing is drawn */
    bool has_bar, has_eta, has_colour;
    bool is_drawn;
    int64_t start_ns;
    int64_t next_ns; /* not drawn before */
    struct bly_bytes line;
};

/* How the batch stands, for the line. */
struct bly_progress_state {
    const struct bly_tally *tally;
    uint32_t running;
    int64_t now_ns; /* monotonic */
};

/* bly_progress_init: `fd` is drawn to if it is a terminal and one of the two is wanted. */
void bly_progress_init(struct bly_progress *progress, int fd, bool has_bar, bool has_eta,
                       int64_t now_ns);

/* bly_progress_format: appends the text of the line, for `columns` columns, without escapes. */
void bly_progress_format(const struct bly_progress *progress,
                         const struct bly_progress_state *state, unsigned columns,
                         struct bly_bytes *to);

/* bly_progress_draw: draws the line when it is time. Gives when to draw next; INT64_MAX: never. */
int64_t bly_progress_draw(struct bly_progress *progress, const struct bly_progress_state *state);

/* bly_progress_clear: takes the line away; call it before writing to the terminal. */
void bly_progress_clear(struct bly_progress *progress);

void bly_progress_free(struct bly_progress *progress);

#endif
