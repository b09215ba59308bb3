/*
 * signals.h: what signals mean to a batch.
 *
 * INT and TERM are a ladder: the first one stops starting and waits, the second ends the jobs by
 * TERM, each further one by KILL. HUP stops starting and waits. TSTP (Ctrl-Z) suspends the jobs and
 * the command itself. USR1 and USR2 mean one job more or fewer at once, as for xargs.
 * Context: the command's only thread.
 */
#ifndef BLY_CLI_SIGNALS_H
#define BLY_CLI_SIGNALS_H

#include <stdbool.h>

enum bly_signals_action {
    BLY_SIGNALS_NOTHING,
    BLY_SIGNALS_WAIT,    /* start nothing more, wait for what runs */
    BLY_SIGNALS_END,     /* and end it by TERM */
    BLY_SIGNALS_KILL,    /* and by KILL */
    BLY_SIGNALS_SUSPEND, /* stop the jobs, then this process; go on with both */
    BLY_SIGNALS_MORE,    /* one job more at once */
    BLY_SIGNALS_FEWER,   /* one fewer */
};

/* All zero: none has come, and none is taken. */
struct bly_signals {
    int fd; /* readable when a signal has come */
    bool is_open;
    unsigned rung; /* of the ladder: INT and TERM so far */
    int status;    /* of the batch, by the first signal that stopped it; 0 while none did */
};

/*
 * bly_signals_open: takes the signals from now on through `fd`, which bly_signals_close closes.
 * Those that are ignored stay so (nohup). 0, or -1 with errno.
 */
int bly_signals_open(struct bly_signals *signals);

/* bly_signals_next: the next signal that has come, 0 when there is none. */
int bly_signals_next(const struct bly_signals *signals);

/* bly_signals_mean: what to do about a signal, given those before it. */
enum bly_signals_action bly_signals_mean(struct bly_signals *signals, int number);

/* bly_signals_stop_self: stops this process, as Ctrl-Z does; returns when it goes on. */
void bly_signals_stop_self(void);

void bly_signals_close(struct bly_signals *signals);

#endif
