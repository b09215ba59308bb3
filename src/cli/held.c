/* held.c: see held.h. */
#include "held.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "belay/clock.h"
#include "files.h"
#include "say.h"

#define GRACE_NS INT64_C(10000000000)

enum {
    STATUS_TIMEOUT = 124,
    STATUS_NOT_RUNNABLE = 126,
    STATUS_NOT_FOUND = 127,
    STATUS_SIGNAL = 128,
    MS_NS = 1000000
};

/* In the child: waits to be let go, then becomes the command. */
__attribute__((noreturn)) static void become(int gate, char *const *argv, int live)
{
    char go = 0;
    if (bly_files_read(gate, &go, 1) != 1) {
        _exit(0);
    }
    if (live >= 0) {
        (void)fcntl(live, F_SETFD, 0);
    }
    execvp(argv[0], argv);
    int error = errno;
    bly_say_about(argv[0], "%s", error == ENOENT ? "command not found" : strerror(error));
    _exit(error == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_RUNNABLE);
}

int bly_held_fork(struct bly_held *held, char *const *argv, int live)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return bly_say_about(argv[0], "it cannot be started: %s", strerror(errno));
    }
    signal(SIGCHLD, SIG_DFL); /* ignored, its end would leave nothing to wait for */
    held->pid = fork();
    if (held->pid == 0) {
        close(ends[1]);
        become(ends[0], argv, live);
    }
    close(ends[0]);
    held->gate = ends[1];
    if (held->pid < 0) {
        int error = errno;
        close(held->gate);
        return bly_say_about(argv[0], "it cannot be started: %s", strerror(error));
    }
    return 0;
}

static int reap(struct bly_held *held)
{
    int status = 0;
    while (waitpid(held->pid, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFSIGNALED(status) ? STATUS_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}

void bly_held_drop(struct bly_held *held)
{
    close(held->gate);
    (void)reap(held);
}

/* Signals that are passed on, or that reach the command anyhow, come through a descriptor. */
static int take_signals(sigset_t *ret_set)
{
    static const int numbers[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};
    sigemptyset(ret_set);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        sigaddset(ret_set, numbers[i]);
    }
    sigprocmask(SIG_BLOCK, ret_set, NULL);
    return signalfd(-1, ret_set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void pass_on(int signals, pid_t pid)
{
    struct signalfd_siginfo info;
    while (read(signals, &info, sizeof info) == (ssize_t)sizeof info) {
        int number = (int)info.ssi_signo;
        bool is_typed = info.ssi_code == SI_KERNEL; /* the terminal sent it to the whole group */
        if (!is_typed) {
            (void)kill(pid, number);
        }
    }
}

/* TERM when the time is up, then KILL; gives when to look again. */
static int64_t press(pid_t pid, int64_t *deadline_ns, bool *is_timed_out)
{
    int64_t now_ns = belay_clock_now(NULL);
    if (now_ns >= *deadline_ns) {
        (void)kill(pid, *is_timed_out ? SIGKILL : SIGTERM);
        (void)kill(pid, SIGCONT);
        *deadline_ns = *is_timed_out ? BELAY_FOREVER : belay_time_add(now_ns, GRACE_NS);
        *is_timed_out = true;
    }
    return *deadline_ns;
}

static int poll_ms(int64_t until_ns)
{
    int64_t left_ns = until_ns - belay_clock_now(NULL);
    if (until_ns == BELAY_FOREVER) {
        return -1;
    }
    return left_ns <= 0 ? 0 : (int)(left_ns / MS_NS < 1000000 ? left_ns / MS_NS + 1 : 1000000);
}

int bly_held_run(struct bly_held *held, int64_t timeout_ns)
{
    sigset_t set;
    int signals = take_signals(&set);
    int process = (int)syscall(SYS_pidfd_open, held->pid, 0);
    int64_t deadline_ns =
        timeout_ns > 0 ? belay_time_add(belay_clock_now(NULL), timeout_ns) : BELAY_FOREVER;
    bool is_timed_out = false;
    (void)bly_files_write(held->gate, "g", 1);
    close(held->gate);
    for (;;) {
        struct pollfd fds[] = {{.fd = process, .events = POLLIN},
                               {.fd = signals, .events = POLLIN}};
        int64_t until_ns = press(held->pid, &deadline_ns, &is_timed_out);
        (void)poll(fds, 2, poll_ms(until_ns));
        pass_on(signals, held->pid);
        if (process < 0 || (fds[0].revents & POLLIN) != 0) {
            break;
        }
    }
    int status = reap(held);
    close(process);
    close(signals);
    return is_timed_out ? STATUS_TIMEOUT : status;
}
