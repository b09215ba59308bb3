/* signals.c: see signals.h. */
#include "signals.h"

#include <assert.h>
#include <signal.h>
#include <stddef.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "files.h"
#include "status.h"

static const int taken[] = {SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGUSR1, SIGUSR2};

/* A signal that our caller ignores is not for us; blocked, it would be queued all the same. */
static bool is_ignored(int number)
{
    struct sigaction action;
    return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

int bly_signals_open(struct bly_signals *signals)
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++) {
        if (!is_ignored(taken[i])) {
            sigaddset(&set, taken[i]);
        }
    }
    int fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (fd < 0) {
        return -1;
    }
    *signals = (struct bly_signals){.fd = fd, .is_open = true};
    return sigprocmask(SIG_BLOCK, &set, NULL);
}

int bly_signals_next(const struct bly_signals *signals)
{
    struct signalfd_siginfo info;
    ssize_t got = bly_files_read(signals->fd, &info, sizeof info);
    assert(got <= 0 || got == (ssize_t)sizeof info);
    return got > 0 ? (int)info.ssi_signo : 0;
}

static enum bly_signals_action climb(struct bly_signals *signals)
{
    static const enum bly_signals_action rungs[] = {BLY_SIGNALS_WAIT, BLY_SIGNALS_END,
                                                    BLY_SIGNALS_KILL};
    enum { RUNGS = sizeof rungs / sizeof rungs[0] };
    unsigned rung = signals->rung < RUNGS ? signals->rung : RUNGS - 1;
    signals->rung = rung + 1;
    return rungs[rung];
}

static void decide_status(struct bly_signals *signals, int number)
{
    if (signals->status == 0) {
        signals->status = BLY_STATUS_SIGNAL + number;
    }
}

enum bly_signals_action bly_signals_mean(struct bly_signals *signals, int number)
{
    switch (number) {
    case SIGINT:
    case SIGTERM:
        decide_status(signals, number);
        return climb(signals);
    case SIGHUP:
        decide_status(signals, number);
        signals->rung = signals->rung > 0 ? signals->rung : 1;
        return BLY_SIGNALS_WAIT;
    case SIGTSTP:
        return BLY_SIGNALS_SUSPEND;
    case SIGUSR1:
        return BLY_SIGNALS_MORE;
    case SIGUSR2:
        return BLY_SIGNALS_FEWER;
    default:
        return BLY_SIGNALS_NOTHING;
    }
}

void bly_signals_stop_self(void)
{
    raise(SIGSTOP);
}

void bly_signals_close(struct bly_signals *signals)
{
    if (signals->is_open) {
        close(signals->fd);
    }
    signals->is_open = false;
}
