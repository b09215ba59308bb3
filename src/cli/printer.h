/*
 * printer.h: shows what jobs wrote: a job's output in one piece when it has ended (or, in the
 * order of the input, when its turn has come), or line by line as it comes, each line with the
 * job's tag.
 *
 * An output that waits for its turn holds no descriptor (bly_output_hold). Memory is one block and
 * a small record a waiting job. Functions that write answer 0, or -1 with errno when stdout or
 * stderr cannot be written; EIO when a spooled output cannot be read back.
 * Context: the owner of the bly_proc whose outputs are given; blocks as long as stdout does.
 */
#ifndef BLY_CLI_PRINTER_H
#define BLY_CLI_PRINTER_H

#include <stdbool.h>
#include <stdint.h>

#include "mem.h"
#include "pile.h"
#include "proc/proc.h"

/* A line longer than this is cut in line mode. */
#define BLY_PRINTER_LINE_MAX ((size_t)1 << 20)

/* What a job left to be shown. All zero is nothing. */
struct bly_leaving {
    bly_output *out, *err;       /* may be NULL */
    uint64_t out_from, err_from; /* shown already, by lines */
    const char *head;            /* shown first on stdout (-v); may be NULL */
    const char *tag;             /* at the start of each line; may be NULL */
};

struct bly_printer {
    int out_fd, err_fd;
    bool keeps_order;
    uint64_t turn;           /* keeps_order: the number whose turn it is */
    struct bly_pile waiting; /* of struct waiting, by number */
    struct bly_bytes block;  /* scratch */
    struct bly_bytes tagged; /* scratch */
};

/* bly_printer_init: makes a printer to two descriptors; bly_printer_free ends it. */
void bly_printer_init(struct bly_printer *printer, int out_fd, int err_fd, bool keeps_order);

/* bly_printer_leave: job `seq` has ended for good; takes its outputs, copies head and tag. */
int bly_printer_leave(struct bly_printer *printer, uint64_t seq, const struct bly_leaving *leaving);

/* bly_printer_skip: job `seq` will leave nothing, so that the order does not wait for it. */
int bly_printer_skip(struct bly_printer *printer, uint64_t seq);

/* bly_printer_is_turn: may lines of job `seq` be shown now? */
bool bly_printer_is_turn(const struct bly_printer *printer, uint64_t seq);

/*
 * bly_printer_lines: shows the whole lines that stream 1 or 2 of a running job holds from *from on,
 * and moves *from behind them.
 */
int bly_printer_lines(struct bly_printer *printer, bly_proc *proc, uint64_t id, int stream,
                      uint64_t *from, const char *tag);

/* bly_printer_finish: shows what still waits, in order, although jobs before it never ended. */
int bly_printer_finish(struct bly_printer *printer);

/* bly_printer_free: frees what still waits. */
void bly_printer_free(struct bly_printer *printer);

#endif
