/*
 * supervisor.h: telling systemd how a worker is doing, by its notification socket (sd_notify(3)).
 * Without NOTIFY_SOCKET nothing is told. Context: the command's only thread.
 */
#ifndef BLY_CLI_SUPERVISOR_H
#define BLY_CLI_SUPERVISOR_H

#include <stdint.h>

/* bly_supervisor_tell: "READY=1", "STOPPING=1", "WATCHDOG=1". */
void bly_supervisor_tell(const char *state);

/* bly_supervisor_period_ns: how often WATCHDOG=1 is wanted; BELAY_FOREVER: never. */
int64_t bly_supervisor_period_ns(void);

#endif
