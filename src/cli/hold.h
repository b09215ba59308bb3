/*
 * hold.h: the lock on a job log, so that two runs never work on one.
 *
 * The run takes it before anything else, and its keeper and each of its jobs hold it too (flock,
 * inherited). So the lock ends when the last process of the run has ended: a run that goes on from
 * a log after kill -9 starts nothing while something of the killed one still lives.
 */
#ifndef BLY_CLI_HOLD_H
#define BLY_CLI_HOLD_H

/* How long a run waits for what is left of another. */
enum { BLY_HOLD_WAIT_MS = 5000 };

/*
 * bly_hold_open: takes the lock of the log, which is made if there is none, and writes its
 * descriptor to ret_fd; -1 where nothing can be locked (a device, a pipe, a log that cannot be
 * opened: opening it for writing will say why). 0, or BLY_SAY_OWN_ERROR after a message when it
 * stays taken for BLY_HOLD_WAIT_MS.
 */
int bly_hold_open(const char *path, int *ret_fd);

#endif
