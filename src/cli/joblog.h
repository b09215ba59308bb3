/*
 * joblog.h: the job log, line for line as GNU parallel writes and reads it:
 * Seq Host Starttime JobRuntime Send Receive Exitval Signal Command, tabs between.
 *
 * A job that a signal ended has Exitval 0 and Signal n; one that its timeout ended has -1 and 15.
 * Each line is one write. A last line without its newline was torn by a crash: it does not count,
 * and is cut off before anything is appended.
 * Context: the command's only thread; reads and writes a file.
 */
#ifndef BLY_CLI_JOBLOG_H
#define BLY_CLI_JOBLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mem.h"

/* A job log to be read is no larger than this. */
#define BLY_JOBLOG_SIZE_MAX ((size_t)1 << 31)

/* What one line says. */
struct bly_joblog_entry {
    uint64_t seq;
    int64_t start_wall_ns;
    int64_t run_ns;
    uint64_t received; /* bytes of its stdout */
    int exit_value;
    int signal;
    const char *command; /* not ended by NUL; newlines in it become NUL bytes in the log */
    size_t command_len;
};

/* bly_joblog_format: appends the line of an entry. */
void bly_joblog_format(const struct bly_joblog_entry *entry, struct bly_bytes *to);

/*
 * bly_joblog_parse: reads a line of `len` bytes, without its newline; the command is borrowed, with
 * its NUL bytes. False: it is no line of a job log.
 */
bool bly_joblog_parse(const char *line, size_t len, struct bly_joblog_entry *ret_entry);

/* How to begin. */
enum bly_joblog_mode {
    BLY_JOBLOG_NEW,    /* an empty log */
    BLY_JOBLOG_APPEND, /* go on behind what is there */
    BLY_JOBLOG_READ,   /* the same, and know what is there */
    BLY_JOBLOG_LOOK,   /* know what is there, if there is anything, and write nothing */
};

/* A job that the log already knows. */
struct bly_joblog_known {
    uint64_t seq;
    uint64_t line;               /* where it stands: later lines win, but a success stays one */
    bool is_done;                /* it ended with 0 */
    size_t command, command_len; /* in `commands`, newlines as such */
};

struct bly_joblog {
    int fd;
    struct bly_bytes line;          /* scratch */
    struct bly_joblog_known *known; /* by seq */
    size_t count, max;
    struct bly_bytes commands;
};

/* bly_joblog_open: 0, or BLY_SAY_OWN_ERROR after a message; bly_joblog_close ends it either way. */
int bly_joblog_open(struct bly_joblog *log, const char *path, enum bly_joblog_mode mode);

/* bly_joblog_find: what the log knew of a job when it was opened, or NULL. */
const struct bly_joblog_known *bly_joblog_find(const struct bly_joblog *log, uint64_t seq);

/* bly_joblog_add: writes a line. 0, or -1 with errno. */
int bly_joblog_add(struct bly_joblog *log, const struct bly_joblog_entry *entry);

void bly_joblog_close(struct bly_joblog *log);

#endif
