/* printer.c: see printer.h. */
#include "printer.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "files.h"

enum { BLOCK_SIZE = 65536 };

/* A job's leaving that waits for its turn. */
struct waiting {
    uint64_t seq;
    struct bly_leaving leaving;
    char *head;
    char *tag;
};

static bool is_before(const void *a, const void *b)
{
    return ((const struct waiting *)a)->seq < ((const struct waiting *)b)->seq;
}

void bly_printer_init(struct bly_printer *printer, int out_fd, int err_fd, bool keeps_order)
{
    *printer = (struct bly_printer){.out_fd = out_fd,
                                    .err_fd = err_fd,
                                    .keeps_order = keeps_order,
                                    .turn = 1,
                                    .waiting = {.is_before = is_before}};
}

/* Writes bytes, the tag before each line. *is_start: the next byte begins a line. */
static int write_tagged(struct bly_printer *printer, int fd, const char *from, size_t len,
                        const char *tag, bool *is_start)
{
    if (tag == NULL) {
        return bly_files_write(fd, from, len);
    }
    struct bly_bytes *to = &printer->tagged;
    bly_bytes_clear(to);
    while (len > 0) {
        if (*is_start) {
            bly_bytes_text(to, tag);
            bly_bytes_byte(to, '\t');
        }
        const char *end = memchr(from, '\n', len);
        size_t line = end != NULL ? (size_t)(end - from) + 1 : len;
        bly_bytes_add(to, from, line);
        *is_start = end != NULL;
        from += line;
        len -= line;
    }
    return bly_files_write(fd, bly_bytes_c(to), to->len);
}

/* Shows an output from `from` to its end. */
static int show_output(struct bly_printer *printer, const bly_output *output, uint64_t from, int fd,
                       const char *tag)
{
    bool is_start = true;
    bly_bytes_clear(&printer->block);
    bly_bytes_room(&printer->block, BLOCK_SIZE);
    for (;;) {
        ssize_t got = bly_output_read(output, from, printer->block.at, BLOCK_SIZE);
        if (got < 0) {
            errno = EIO;
            return -1;
        }
        if (got == 0) {
            return 0;
        }
        if (write_tagged(printer, fd, printer->block.at, (size_t)got, tag, &is_start) != 0) {
            return -1;
        }
        from += (uint64_t)got;
    }
}

static int show(struct bly_printer *printer, const struct bly_leaving *leaving)
{
    int failed = 0;
    if (leaving->head != NULL) {
        failed = bly_files_write(printer->out_fd, leaving->head, strlen(leaving->head));
    }
    if (failed == 0 && leaving->out != NULL) {
        failed =
            show_output(printer, leaving->out, leaving->out_from, printer->out_fd, leaving->tag);
    }
    if (failed == 0 && leaving->err != NULL) {
        failed =
            show_output(printer, leaving->err, leaving->err_from, printer->err_fd, leaving->tag);
    }
    return failed;
}

static void free_outputs(const struct bly_leaving *leaving)
{
    bly_output_free(leaving->out);
    bly_output_free(leaving->err);
}

static void free_waiting(struct waiting *waiting)
{
    free_outputs(&waiting->leaving);
    bly_mem_free(waiting->head);
    bly_mem_free(waiting->tag);
    bly_mem_free(waiting);
}

/*
 * Keeps a leaving until its turn. An output that cannot be put aside goes on holding a descriptor.
 */
static void keep(struct bly_printer *printer, uint64_t seq, const struct bly_leaving *leaving)
{
    struct waiting *waiting = bly_mem(sizeof *waiting);
    waiting->seq = seq;
    if (leaving != NULL) {
        waiting->leaving = *leaving;
        if (leaving->head != NULL) {
            waiting->head = bly_mem_text(leaving->head, strlen(leaving->head));
            waiting->leaving.head = waiting->head;
        }
        if (leaving->tag != NULL) {
            waiting->tag = bly_mem_text(leaving->tag, strlen(leaving->tag));
            waiting->leaving.tag = waiting->tag;
        }
        if (leaving->out != NULL) {
            (void)bly_output_hold(leaving->out);
        }
        if (leaving->err != NULL) {
            (void)bly_output_hold(leaving->err);
        }
    }
    bly_pile_push(&printer->waiting, waiting);
}

/* Shows what waits and whose turn has come; with is_last, everything. */
static int show_waiting(struct bly_printer *printer, bool is_last)
{
    int failed = 0;
    int error = 0;
    for (struct waiting *first = bly_pile_first(&printer->waiting);
         first != NULL && (is_last || first->seq <= printer->turn);
         first = bly_pile_first(&printer->waiting)) {
        bly_pile_pop(&printer->waiting);
        if (failed == 0) {
            failed = show(printer, &first->leaving);
            error = errno;
        }
        printer->turn = first->seq >= printer->turn ? first->seq + 1 : printer->turn;
        free_waiting(first);
    }
    errno = error;
    return failed;
}

int bly_printer_leave(struct bly_printer *printer, uint64_t seq, const struct bly_leaving *leaving)
{
    if (printer->keeps_order && seq > printer->turn) {
        keep(printer, seq, leaving);
        return 0;
    }
    int failed = show(printer, leaving);
    int error = errno;
    free_outputs(leaving);
    errno = error;
    if (!printer->keeps_order || failed != 0) {
        return failed;
    }
    assert(seq == printer->turn);
    printer->turn++;
    return show_waiting(printer, false);
}

int bly_printer_skip(struct bly_printer *printer, uint64_t seq)
{
    if (!printer->keeps_order) {
        return 0;
    }
    if (seq > printer->turn) {
        keep(printer, seq, NULL);
        return 0;
    }
    printer->turn = seq + 1;
    return show_waiting(printer, false);
}

bool bly_printer_is_turn(const struct bly_printer *printer, uint64_t seq)
{
    return !printer->keeps_order || printer->turn == seq;
}

/* How many of the bytes are whole lines; all of them when a line is too long to be kept whole. */
static size_t whole_lines(const struct bly_bytes *block)
{
    const char *last = memrchr(block->at, '\n', block->len);
    if (last != NULL) {
        return (size_t)(last - block->at) + 1;
    }
    return block->len >= BLY_PRINTER_LINE_MAX ? block->len : 0;
}

int bly_printer_lines(struct bly_printer *printer, bly_proc *proc, uint64_t id, int stream,
                      uint64_t *from, const char *tag)
{
    struct bly_bytes *block = &printer->block;
    bly_bytes_clear(block);
    for (;;) {
        bly_bytes_room(block, BLOCK_SIZE);
        ssize_t got = bly_proc_live_read(proc, id, stream, *from + block->len,
                                         block->at + block->len, BLOCK_SIZE);
        if (got <= 0) {
            return 0; /* ended, or no more yet: bly_printer_leave shows the rest */
        }
        block->len += (size_t)got;
        size_t lines = whole_lines(block);
        bool is_start = true;
        int fd = stream == 1 ? printer->out_fd : printer->err_fd;
        if (lines > 0 && write_tagged(printer, fd, block->at, lines, tag, &is_start) != 0) {
            return -1;
        }
        *from += lines;
        memmove(block->at, block->at + lines, block->len - lines);
        block->len -= lines;
    }
}

int bly_printer_finish(struct bly_printer *printer)
{
    return show_waiting(printer, true);
}

void bly_printer_free(struct bly_printer *printer)
{
    for (struct waiting *first = bly_pile_pop(&printer->waiting); first != NULL;
         first = bly_pile_pop(&printer->waiting)) {
        free_waiting(first);
    }
    bly_pile_free(&printer->waiting);
    bly_bytes_free(&printer->block);
    bly_bytes_free(&printer->tagged);
}
