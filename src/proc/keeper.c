/*
 * keeper.c: the keeper's beginning, loop and end.
 *
 * The keeper is a fork of the runner that keeps none of its descriptors but the socket, blocks
 * every signal and never touches its terminal. Its one loop waits for frames, for the ends of main
 * processes (pidfds), for SIGCHLD of those it adopted, and for the runner's end: as end of file on
 * the socket or, should somebody else hold the other end, as the runner's pidfd. Whichever way it
 * ends, it ends all its descendants first.
 */
#include "proc/keeper_int.h"

#include "proc/proc.h"
#include "sync/sync.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* Descriptors of the keeper beside one for each job and each spool file. */
#define FILES_BESIDE 24u

#define OWN_FIRST 64u

static void on_child(void *arg, uint32_t epoll_events)
{
    bly_keeper *keeper = arg;
    (void)epoll_events;
    struct signalfd_siginfo info;
    while (read(keeper->signal_fd, &info, sizeof info) < 0 && errno == EINTR) {
    }
    keeper->has_news = true;
}

static void on_runner_end(void *arg, uint32_t epoll_events)
{
    bly_keeper *keeper = arg;
    (void)epoll_events;
    keeper->is_over = true;
}

static void drop_file(bly_keeper *keeper, int64_t number)
{
    bly_assert(number >= 0 && number < BLY_FILES_MAX(keeper->opts.jobs_max));
    if (keeper->files[number] != 0) {
        close((int)keeper->files[number] - 1);
        keeper->files[number] = 0;
    }
}

static void for_all(bly_keeper *keeper, void (*order)(bly_kjob *))
{
    bly_list_each_safe (node, after, &keeper->live) {
        order(bly_container(node, bly_kjob, link));
    }
}

static void suspend(bly_keeper *keeper)
{
    if (keeper->suspended_ns == 0) {
        keeper->suspended_ns = bly_monotonic_ns();
        bly_left_signal_all(keeper, SIGSTOP);
    }
    if (bly_wire_put(&keeper->wire, BLY_WIRE_SUSPENDED, 0) == NULL) {
        keeper->is_over = true;
    }
}

/* Timers stood still: all that has not fired fires later by the time that was slept. */
static void resume(bly_keeper *keeper)
{
    if (keeper->suspended_ns == 0) {
        return;
    }
    int64_t slept_ns = bly_monotonic_ns() - keeper->suspended_ns;
    keeper->suspended_ns = 0;
    bly_list_each (node, &keeper->live) {
        bly_kjob *job = bly_container(node, bly_kjob, link);
        job->timer_ns = belay_time_add(job->timer_ns, slept_ns);
    }
    bly_left_signal_all(keeper, SIGCONT);
}

static void handle_order(bly_keeper *keeper, int type, const bly_wire_order *order)
{
    if (type == BLY_WIRE_DROP_FILE) {
        drop_file(keeper, order->number);
        return;
    }
    bly_kjob *job = bly_kjob_find(keeper, order->id);
    if (job == NULL) { /* it has ended meanwhile */
        return;
    }
    if (type == BLY_WIRE_STOP) {
        bly_kjob_stop(job);
    } else if (type == BLY_WIRE_KILL) {
        bly_kjob_kill(job);
    } else {
        kill(-job->pid, (int)order->number);
    }
}

static void handle_frame(bly_keeper *keeper, const bly_wire_head *head)
{
    switch (head->type) {
    case BLY_WIRE_SPAWN:
        bly_kjob_spawn(keeper, bly_wire_body(head));
        break;
    case BLY_WIRE_STOP:
    case BLY_WIRE_KILL:
    case BLY_WIRE_SIGNAL:
    case BLY_WIRE_DROP_FILE:
        handle_order(keeper, head->type, bly_wire_body(head));
        break;
    case BLY_WIRE_STOP_ALL:
        for_all(keeper, bly_kjob_stop);
        break;
    case BLY_WIRE_KILL_ALL:
        for_all(keeper, bly_kjob_kill);
        break;
    case BLY_WIRE_SUSPEND:
        suspend(keeper);
        break;
    case BLY_WIRE_RESUME:
        resume(keeper);
        break;
    default:
        bly_assert(!"a frame of unknown type");
    }
}

static void flush(bly_keeper *keeper)
{
    int sent = bly_wire_flush(&keeper->wire);
    uint32_t events = sent == BELAY_EAGAIN ? EPOLLIN | EPOLLOUT : EPOLLIN;
    if (sent == BELAY_ECLOSED) {
        keeper->is_over = true;
    } else if (events != keeper->wire_events) {
        bly_poller_change(&keeper->poller, keeper->wire.fd, keeper->wire_token, events);
        keeper->wire_events = events;
    }
}

static void on_wire(void *arg, uint32_t epoll_events)
{
    bly_keeper *keeper = arg;
    if ((epoll_events & ~(uint32_t)EPOLLOUT) == 0) {
        return; /* room to send: the loop flushes */
    }
    int got = bly_wire_fill(&keeper->wire);
    if (got == BELAY_ECLOSED || got == BELAY_ENOMEM) {
        keeper->is_over = true;
        return;
    }
    const bly_wire_head *head;
    while (!keeper->is_over && (head = bly_wire_next(&keeper->wire)) != NULL) {
        handle_frame(keeper, head);
    }
}

/* One descriptor is watched for as long as the keeper lives. */
static bool watch(bly_keeper *keeper, int fd, bly_poller_fn *fn, uint64_t *ret_token)
{
    return bly_poller_add(&keeper->poller, fd, EPOLLIN, fn, keeper, ret_token) == 0;
}

/* Closes what lies between two descriptors. */
static bool close_between(int low, int high)
{
    return high - low < 2 || close_range((unsigned)low + 1, (unsigned)high - 1, 0) == 0;
}

/*
 * Descriptors 0 to 2 are /dev/null and 3 is taken and close-on-exec, so that no other descriptor of
 * the keeper is ever one that a job's streams are copied to.
 */
static bool shed_descriptors(bly_keeper_opts *opts)
{
    int fd = fcntl(opts->fd, F_DUPFD_CLOEXEC, 4);
    int live_fd = opts->live_fd < 0 ? -1 : fcntl(opts->live_fd, F_DUPFD_CLOEXEC, fd);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (fd < 0 || null < 0 || (live_fd < 0 && opts->live_fd >= 0)) {
        return false;
    }
    for (int target = 0; target < 3; target++) {
        if (null != target && dup2(null, target) < 0) {
            return false;
        }
    }
    bool is_set = null > 2 || fcntl(null, F_SETFD, 0) == 0;
    is_set = is_set && dup3(0, 3, O_CLOEXEC) == 3;
    is_set = is_set && close_between(3, fd) && close_between(fd, live_fd < 0 ? fd + 1 : live_fd);
    is_set = is_set && close_range((unsigned)(live_fd < 0 ? fd : live_fd) + 1, ~0U, 0) == 0;
    opts->fd = fd;
    opts->live_fd = live_fd;
    return is_set;
}

/* The limit on descriptors goes up for the keeper where jobs_max needs it, not for the jobs. */
static void raise_limit(bly_keeper *keeper)
{
    rlim_t needed = (rlim_t)keeper->opts.jobs_max * 3 + FILES_BESIDE;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) {
        return;
    }
    keeper->files_limit = limit;
    limit.rlim_cur = needed < limit.rlim_max ? needed : limit.rlim_max;
    keeper->has_files_limit = setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

static bool allocate(bly_keeper *keeper)
{
    uint32_t jobs_max = keeper->opts.jobs_max;
    keeper->jobs = bly_alloc(jobs_max * sizeof *keeper->jobs);
    keeper->files = bly_alloc(BLY_FILES_MAX(jobs_max) * sizeof *keeper->files);
    keeper->own = bly_alloc(OWN_FIRST * sizeof *keeper->own);
    keeper->own_max = OWN_FIRST;
    return keeper->jobs != NULL && keeper->files != NULL && keeper->own != NULL;
}

static bool open_all(bly_keeper *keeper)
{
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    keeper->signal_fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    keeper->runner_fd = pidfd_open(keeper->opts.runner, 0);
    if (keeper->signal_fd < 0 || keeper->runner_fd < 0 ||
        bly_tree_open(&keeper->children_fd) != 0 ||
        bly_poller_init(&keeper->poller, keeper->opts.jobs_max + 4) != 0) {
        return false;
    }
    uint64_t unused;
    return watch(keeper, keeper->wire.fd, on_wire, &keeper->wire_token) &&
           watch(keeper, keeper->signal_fd, on_child, &unused) &&
           watch(keeper, keeper->runner_fd, on_runner_end, &unused);
}

/* All signals are blocked; SIGCHLD must not be ignored, or children would reap themselves. */
static bool set_signals(bly_keeper *keeper)
{
    sigset_t all;
    sigfillset(&all);
    return signal(SIGCHLD, SIG_DFL) != SIG_ERR &&
           sigprocmask(SIG_SETMASK, &all, &keeper->mask) == 0;
}

static bool set_up(bly_keeper *keeper)
{
    return set_signals(keeper) && setsid() > 0 && prctl(PR_SET_CHILD_SUBREAPER, 1) == 0 &&
           prctl(PR_SET_NAME, "belay-keeper") == 0 && allocate(keeper) && open_all(keeper);
}

static bool has_to_look(const bly_keeper *keeper)
{
    return keeper->has_news ||
           (keeper->look_ns != BELAY_FOREVER && keeper->look_ns <= bly_monotonic_ns());
}

static void run(bly_keeper *keeper)
{
    while (!keeper->is_over) {
        int64_t timer_ns = bly_kjob_next_timer(keeper);
        bly_poller_wait(&keeper->poller, timer_ns < keeper->look_ns ? timer_ns : keeper->look_ns);
        if (keeper->timers > 0 && keeper->suspended_ns == 0) {
            bly_kjob_run_timers(keeper, bly_monotonic_ns());
        }
        if (!keeper->is_over && has_to_look(keeper)) {
            bly_left_settle(keeper);
        }
        flush(keeper);
    }
}

/*
 * Ends all descendants. Descriptors that are of no use any more go first, so that /proc can be read
 * even at the limit on descriptors; the live file stays, since its lock says that somebody is left.
 */
static int end_all(bly_keeper *keeper)
{
    bly_poller_free(&keeper->poller);
    close(keeper->signal_fd);
    close(keeper->runner_fd);
    int ended = bly_tree_end(&keeper->kept, BELAY_FOREVER, NULL);
    return ended == 0 ? 0 : BLY_KEEPER_DENIED;
}

_Noreturn void bly_keeper_main(const bly_keeper_opts *opts)
{
    bly_keeper keeper = {.opts = *opts, .wire_events = EPOLLIN, .look_ns = BELAY_FOREVER};
    errno = 0;
    bool is_ready = shed_descriptors(&keeper.opts);
    bly_wire_init(&keeper.wire, keeper.opts.fd);
    bly_list_init(&keeper.live);
    bly_recipe_init(&keeper.recipe, environ);
    is_ready = is_ready && set_up(&keeper);
    bly_wire_order *hello = bly_wire_put(&keeper.wire, BLY_WIRE_HELLO, sizeof *hello);
    if (hello == NULL) {
        _exit(1);
    }
    hello->number = is_ready ? 0 : errno != 0 ? errno : ENOMEM;
    flush(&keeper);
    if (!is_ready) {
        _exit(1);
    }
    raise_limit(&keeper);
    run(&keeper);
    _exit(end_all(&keeper));
}
