/* status.h: exit statuses of commands, as shells and timeout(1) have them. */
#ifndef BLY_CLI_STATUS_H
#define BLY_CLI_STATUS_H

enum {
    BLY_STATUS_TIMEOUT = 124, /* its time ran out */
    BLY_STATUS_NO_RUN = 125,  /* belay did not run it, or lost it */
    BLY_STATUS_NOT_RUNNABLE = 126,
    BLY_STATUS_NOT_FOUND = 127,
    BLY_STATUS_SIGNAL = 128 /* plus the signal that ended it */
};

#endif
