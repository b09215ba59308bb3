/*
 * hole.h: replacement strings: {} {.} {/} {//} {/.} {#} {%} and, of argument n, {n} {n.} {n/} {n//}
 * {n/.} (a negative n counts from the last).
 * Context: any; pure.
 */
#ifndef BLY_CLI_HOLE_H
#define BLY_CLI_HOLE_H

#include <stddef.h>

/* What of the argument is put in. */
enum bly_hole_kind {
    BLY_HOLE_WHOLE,       /* {}   the argument */
    BLY_HOLE_NO_EXT,      /* {.}  without its extension */
    BLY_HOLE_BASE,        /* {/}  its last path component */
    BLY_HOLE_DIR,         /* {//} its folder */
    BLY_HOLE_BASE_NO_EXT, /* {/.} its last path component without the extension */
    BLY_HOLE_SEQ,         /* {#}  the job's number */
    BLY_HOLE_SLOT,        /* {%}  the job's slot */
};

struct bly_hole {
    enum bly_hole_kind kind;
    int position; /* 0: every argument; n: argument n; -n: the n-th from the last */
};

/* A piece of an argument, or of a constant. */
struct bly_slice {
    const char *at;
    size_t len;
};

/*
 * bly_hole_scan: does a replacement string begin at text? Its length, or 0. `whole` stands for the
 * argument in place of {} (-I), NULL for {} itself. Where it is one that this command refuses
 * ({= … =}), the answer is 0 and *ret_why says what to do instead; else *ret_why is left alone.
 */
size_t bly_hole_scan(const char *text, const char *whole, struct bly_hole *ret_hole,
                     const char **ret_why);

/*
 * bly_hole_cut: the piece of an argument that `kind` (none of SEQ and SLOT) asks for; borrows it.
 */
struct bly_slice bly_hole_cut(enum bly_hole_kind kind, const char *argument, size_t len);

#endif
