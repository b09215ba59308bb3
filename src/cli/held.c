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
#include "status.h"

#define GRACE_NS INT64_C(10000000000)

/* How often it is asked whether the command is still wanted. */
#define ASK_NS INT64_C(500000000)

enum { MS_NS = 1000000 };

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
    _exit(error == ENOENT ? BLY_STATUS_NOT_FOUND : BLY_STATUS_NOT_RUNNABLE);
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
    return WIFSIGNALED(status) ? BLY_STATUS_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
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

/* How the command is being ended. */
struct ending {
    int64_t deadline_ns; /* of the next step */
    bool is_timed_out;
    bool is_told; /* it got TERM */
};

/* TERM when the time is up or it is not wanted any more, then KILL; gives when to look again. */
static int64_t press(pid_t pid, const struct bly_held_watch *watch, struct ending *ending)
{
    int64_t now_ns = belay_clock_now(NULL);
    bool is_late = now_ns >= ending->deadline_ns;
    bool is_unwanted = !ending->is_told && !watch->is_wanted(watch->arg);
    if (!is_late && !is_unwanted) {
        return ending->deadline_ns;
    }
    (void)kill(pid, ending->is_told ? SIGKILL : SIGTERM);
    (void)kill(pid, SIGCONT);
    ending->is_timed_out = ending->is_timed_out || (is_late && !ending->is_told);
    ending->deadline_ns = ending->is_told ? BELAY_FOREVER : belay_time_add(now_ns, GRACE_NS);
    ending->is_told = true;
    return ending->deadline_ns;
}

static int poll_ms(int64_t until_ns)
{
    int64_t left_ns = until_ns - belay_clock_now(NULL);
    if (left_ns > ASK_NS) {
        left_ns = ASK_NS;
    }
    return left_ns <= 0 ? 0 : (int)((left_ns + MS_NS - 1) / MS_NS);
}

static void wait_for_end(const struct bly_held *held, const struct bly_held_watch *watch,
                         int signals, struct ending *ending)
{
    int process = (int)syscall(SYS_pidfd_open, held->pid, 0);
    bool has_ended = process < 0;
    while (!has_ended) {
        struct pollfd fds[] = {{.fd = process, .events = POLLIN},
                               {.fd = signals, .events = POLLIN},
                               {.fd = watch->fd, .events = POLLIN}};
        int64_t until_ns = press(held->pid, watch, ending);
        (void)poll(fds, sizeof fds / sizeof fds[0], poll_ms(until_ns));
        pass_on(signals, held->pid);
        has_ended = (fds[0].revents & POLLIN) != 0;
    }
    if (process >= 0) {
        close(process);
    }
}

int bly_held_run(struct bly_held *held, const struct bly_held_watch *watch)
{
    sigset_t set;
    int signals = take_signals(&set);
    int64_t now_ns = belay_clock_now(NULL);
    struct ending ending = {.deadline_ns = watch->timeout_ns > 0
                                               ? belay_time_add(now_ns, watch->timeout_ns)
                                               : BELAY_FOREVER};
    (void)bly_files_write(held->gate, "g", 1);
    close(held->gate);
    wait_for_end(held, watch, signals, &ending);
    int status = reap(held);
    close(signals);
    return ending.is_timed_out ? BLY_STATUS_TIMEOUT : status;
}
