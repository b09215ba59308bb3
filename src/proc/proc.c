/*
 * proc.c: the runner's loop, and the keeper seen from outside.
 *
 * Frames are queued and leave in one piece: at the beginning of a poll, and at its end for what its
 * callbacks asked. The keeper's end shows as end of file on the socket or as its pidfd; whichever
 * comes first, what it had said before is read to the end, then everything below the runner is
 * ended and each job that is left is told that it is lost. End of file comes while the keeper is
 * still on its way out, before its children have become the runner's; ending begins at the runner's
 * own children, so that it meets the keeper with all below it then, and its orphans later.
 *
 * A keeper that dies when the last job has ended is not heard of by a runner that polls no more.
 * What those jobs left is in its charge even so: only a keeper that says by its exit status that it
 * has ended everything is believed, in the end too.
 */
#include "proc/runner_int.h"

#include "base/opts.h"
#include "sync/sync.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Descriptors of the runner beside the spool files: the loop's own and the caller's. */
#define FILES_BESIDE 24u

#define SPOOL_DIR_DEFAULT "/tmp"

static void handle_frame(bly_proc *proc, const bly_wire_head *head)
{
    switch (head->type) {
    case BLY_WIRE_STARTED:
        bly_job_started(proc, bly_wire_body(head));
        break;
    case BLY_WIRE_ENDED:
        bly_job_ended(proc, bly_wire_body(head));
        break;
    default:
        bly_assert(head->type == BLY_WIRE_SUSPENDED); /* late: the runner had waited enough */
        break;
    }
}

static void handle_frames(bly_proc *proc)
{
    const bly_wire_head *head;
    while ((head = bly_wire_next(&proc->wire)) != NULL) {
        handle_frame(proc, head);
    }
}

static void on_wire(void *arg, uint32_t epoll_events)
{
    bly_proc *proc = arg;
    if ((epoll_events & ~(uint32_t)EPOLLOUT) == 0) {
        return; /* room to send: the poll flushes */
    }
    int got = bly_wire_fill(&proc->wire);
    proc->has_to_lose |= got == BELAY_ECLOSED;
    if (got == 0) {
        handle_frames(proc);
    }
}

static void on_keeper_end(void *arg, uint32_t epoll_events)
{
    bly_proc *proc = arg;
    (void)epoll_events;
    proc->has_to_lose = true;
}

void bly_proc_flush(bly_proc *proc)
{
    if (proc->is_lost) {
        return;
    }
    int sent = bly_wire_flush(&proc->wire);
    uint32_t events = sent == BELAY_EAGAIN ? EPOLLIN | EPOLLOUT : EPOLLIN;
    if (events != proc->wire_events) {
        bly_poller_change(&proc->poller, proc->wire.fd, proc->wire_token, events);
        proc->wire_events = events;
    }
}

static void notify(bly_proc *proc, int what)
{
    proc->handled++;
    if (proc->opts.notice != NULL) {
        proc->opts.notice(what, proc->opts.notice_arg);
    }
}

/* The keeper is no more, or as good as that: lets go of it. Who ends everything reaps it. */
static void forget_keeper(bly_proc *proc)
{
    bly_poller_remove(&proc->poller, proc->wire.fd, proc->wire_token);
    bly_poller_remove(&proc->poller, proc->keeper_fd, proc->keeper_token);
    close(proc->keeper_fd);
    proc->keeper_fd = -1;
    bly_wire_free(&proc->wire);
}

/* Ends everything below the runner; 0, or why something may be left (see bly_tree_end). */
static int end_all(bly_proc *proc)
{
    proc->survivors.count = 0;
    return bly_tree_end(&proc->strangers, BLY_END_NS, &proc->survivors);
}

uint32_t bly_proc_survivors(const bly_proc *proc, pid_t *pids, uint32_t max)
{
    for (uint32_t i = 0; i < proc->survivors.count && i < max; i++) {
        pids[i] = proc->survivors.procs[i].pid;
    }
    return proc->survivors.count;
}

pid_t bly_proc_keeper(const bly_proc *proc)
{
    return proc->keeper;
}

static void lose(bly_proc *proc)
{
    while (bly_wire_fill(&proc->wire) == 0) {
        handle_frames(proc);
    }
    proc->has_to_lose = false;
    proc->is_lost = true;
    forget_keeper(proc);
    int ended = end_all(proc);
    notify(proc, BLY_PROC_NOTICE_KEEPER_LOST);
    if (ended != 0) {
        notify(proc, BLY_PROC_NOTICE_SURVIVORS);
    }
    for (uint32_t place = 0; place < proc->places_used; place++) {
        if (proc->jobs[place].id != 0) {
            bly_job_lose(proc, &proc->jobs[place]);
        }
    }
}

/* Tells once that the disk is full, however it was found; looks when nobody has for a while. */
static void watch_room(bly_proc *proc)
{
    if (proc->spooling > 0) {
        int64_t now_ns = bly_monotonic_ns();
        if (now_ns - proc->spool.looked_ns >= BLY_SPOOL_TRIAL_NS) {
            bly_spool_look(&proc->spool, now_ns);
        }
    }
    if (proc->spool.full_count != 0 && !proc->has_told_full) {
        proc->has_told_full = true;
        notify(proc, BLY_PROC_NOTICE_DISK_FULL);
    }
}

/* When the loop has something of its own to do. */
static int64_t wake_up(const bly_proc *proc, int64_t deadline_ns)
{
    if (proc->spooling == 0) {
        return deadline_ns;
    }
    int64_t look_ns = belay_time_add(proc->spool.looked_ns, BLY_SPOOL_TRIAL_NS);
    return look_ns < deadline_ns ? look_ns : deadline_ns;
}

static void poll_once(bly_proc *proc, int64_t deadline_ns)
{
    bly_proc_flush(proc);
    if (!proc->is_lost) {
        handle_frames(proc); /* received while the jobs were being suspended */
    }
    bool has_some = proc->handled > 0;
    bly_poller_wait(&proc->poller, has_some ? BELAY_NOW : wake_up(proc, deadline_ns));
    if (proc->has_to_lose) {
        lose(proc);
    }
    watch_room(proc);
}

int bly_proc_poll(bly_proc *proc, int64_t deadline_ns)
{
    bly_assert(!proc->is_polling);
    proc->is_polling = true;
    proc->handled = 0;
    bool is_late = false;
    while (proc->handled == 0 && !is_late) {
        poll_once(proc, deadline_ns);
        is_late = deadline_ns == BELAY_NOW ||
                  (deadline_ns != BELAY_FOREVER && bly_monotonic_ns() >= deadline_ns);
    }
    bly_proc_flush(proc);
    proc->is_polling = false;
    return proc->handled > 0 ? 0 : BELAY_ETIMEDOUT;
}

/* Waits until the keeper has said a frame of that type; leaves all frames in the buffer. */
static bool await_frame(bly_proc *proc, int type, int64_t deadline_ns)
{
    while (!bly_wire_has(&proc->wire, type)) {
        bool is_sent = bly_wire_flush(&proc->wire) == 0;
        int64_t left_ms = (deadline_ns - bly_monotonic_ns()) / 1000000;
        struct pollfd socket = {.fd = proc->wire.fd,
                                .events = (short)(is_sent ? POLLIN : POLLIN | POLLOUT)};
        if (left_ms <= 0 || poll(&socket, 1, (int)left_ms) == 0) {
            return false;
        }
        if ((socket.revents & ~POLLOUT) != 0 && bly_wire_fill(&proc->wire) == BELAY_ECLOSED) {
            proc->has_to_lose = true;
            return false;
        }
    }
    return true;
}

int bly_proc_suspend(bly_proc *proc)
{
    if (proc->is_lost || proc->has_to_lose) {
        return BELAY_ECLOSED;
    }
    if (proc->is_suspended) {
        return 0;
    }
    void *body = bly_wire_put(&proc->wire, BLY_WIRE_SUSPEND, 0);
    bly_assert(body != NULL);
    proc->is_suspended = true;
    await_frame(proc, BLY_WIRE_SUSPENDED, belay_time_add(bly_monotonic_ns(), BLY_ANSWER_NS));
    return proc->has_to_lose ? BELAY_ECLOSED : 0;
}

int bly_proc_resume(bly_proc *proc)
{
    if (proc->is_lost || proc->has_to_lose) {
        return BELAY_ECLOSED;
    }
    if (proc->is_suspended) {
        void *body = bly_wire_put(&proc->wire, BLY_WIRE_RESUME, 0);
        bly_assert(body != NULL);
        proc->is_suspended = false;
        bly_proc_flush(proc);
    }
    return 0;
}

static bly_watch *find_watch(const bly_proc *proc, int fd)
{
    bly_list_each (node, &proc->watches) {
        bly_watch *watch = bly_container(node, bly_watch, link);
        if (watch->fd == fd) {
            return watch;
        }
    }
    return NULL;
}

static void on_watch(void *arg, uint32_t epoll_events)
{
    bly_watch *watch = arg;
    watch->proc->handled++;
    watch->fn(watch->fd, epoll_events, watch->arg);
}

int bly_proc_watch(bly_proc *proc, int fd, uint32_t epoll_events, bly_proc_watch_fn *fn, void *arg)
{
    if (fd < 0 || fn == NULL) {
        return BELAY_EINVAL;
    }
    if (find_watch(proc, fd) != NULL) {
        return BELAY_EEXIST;
    }
    bly_watch *watch = bly_alloc(sizeof *watch);
    if (watch == NULL) {
        return BELAY_ENOMEM;
    }
    *watch = (bly_watch){.proc = proc, .fd = fd, .fn = fn, .arg = arg};
    int added = bly_poller_add(&proc->poller, fd, epoll_events, on_watch, watch, &watch->token);
    if (added != 0) {
        bly_free(watch);
        return added == BELAY_EINVAL || added == BELAY_EEXIST ? added : BELAY_ENOMEM;
    }
    bly_list_push_back(&proc->watches, &watch->link);
    return 0;
}

int bly_proc_unwatch(bly_proc *proc, int fd)
{
    bly_watch *watch = find_watch(proc, fd);
    if (watch == NULL) {
        return BELAY_ENOENT;
    }
    bly_poller_remove(&proc->poller, fd, watch->token);
    bly_list_remove(&watch->link);
    bly_free(watch);
    return 0;
}

/* A file of the spool is closed: the keeper closes its own. */
static void drop_file(uint32_t number, void *arg)
{
    bly_proc *proc = arg;
    if (proc->is_lost || proc->has_to_lose) {
        return;
    }
    bly_wire_order *body = bly_wire_put(&proc->wire, BLY_WIRE_DROP_FILE, sizeof *body);
    bly_assert(body != NULL); /* or the keeper would hold a file under a number that is free */
    body->number = number;
}

static bool is_live_valid(const bly_proc_stream *live)
{
    return live->kind == BLY_PROC_DEFAULT ||
           (live->kind == BLY_PROC_FD && live->fd >= 0 && fcntl(live->fd, F_GETFD) >= 0);
}

static bool are_opts_valid(const bly_proc_opts *opts)
{
    return opts->jobs_max >= 1 && opts->jobs_max <= BLY_PROC_JOBS_LIMIT && opts->grace_ns >= 0 &&
           opts->leftover_ns >= 0 && is_live_valid(&opts->live);
}

static int allocate(bly_proc *proc, const char *spool_dir)
{
    uint32_t jobs_max = proc->opts.jobs_max;
    proc->jobs = bly_alloc(jobs_max * sizeof *proc->jobs);
    if (proc->jobs == NULL) {
        return BELAY_ENOMEM;
    }
    int polling = bly_poller_init(&proc->poller, BLY_WATCHES_MAX);
    if (polling != 0) {
        return polling;
    }
    return bly_spool_init(&proc->spool, spool_dir, BLY_FILES_MAX(jobs_max), drop_file, proc);
}

/* Can the lists of children be read; the children there are now are not ours to end. */
static int look_around(bly_proc *proc)
{
    int fd = -1;
    int opened = bly_tree_open(&fd);
    if (opened != 0) {
        return opened;
    }
    close(fd);
    return bly_tree_below(getpid(), NULL, &proc->strangers);
}

/*
 * Both ends of the socket close on exec; the keeper's copy of the runner's end goes with the rest.
 */
static int fork_keeper(bly_proc *proc)
{
    int ends[2];
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0 ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return BELAY_EIO;
    }
    bool has_live = proc->opts.live.kind == BLY_PROC_FD;
    bly_keeper_opts opts = {.fd = ends[1],
                            .live_fd = has_live ? proc->opts.live.fd : -1,
                            .jobs_max = proc->opts.jobs_max,
                            .grace_ns = proc->opts.grace_ns,
                            .leftover_ns = proc->opts.leftover_ns,
                            .runner = getpid()};
    pid_t pid = fork();
    if (pid == 0) {
        bly_keeper_main(&opts);
    }
    close(ends[1]);
    bly_wire_init(&proc->wire, ends[0]);
    if (pid < 0) {
        return BELAY_EIO;
    }
    signal(SIGCHLD, SIG_DFL); /* ignored, it would take the keeper's exit status away */
    proc->keeper = pid;
    proc->keeper_fd = pidfd_open(pid, 0);
    return proc->keeper_fd < 0 ? BELAY_EIO : 0;
}

static int hear_hello(bly_proc *proc)
{
    if (!await_frame(proc, BLY_WIRE_HELLO, belay_time_add(bly_monotonic_ns(), BLY_END_NS))) {
        errno = ECHILD;
        return BELAY_EIO;
    }
    const bly_wire_head *head = bly_wire_next(&proc->wire);
    const bly_wire_order *hello = bly_wire_body(head);
    bly_assert(head->type == BLY_WIRE_HELLO);
    errno = (int)hello->number;
    return hello->number == 0 ? 0 : BELAY_EIO;
}

static int watch_keeper(bly_proc *proc)
{
    int added =
        bly_poller_add(&proc->poller, proc->wire.fd, EPOLLIN, on_wire, proc, &proc->wire_token);
    if (added == 0) {
        added = bly_poller_add(&proc->poller, proc->keeper_fd, EPOLLIN, on_keeper_end, proc,
                               &proc->keeper_token);
    }
    proc->wire_events = EPOLLIN;
    return added == 0 ? 0 : added == BELAY_ENOMEM ? added : BELAY_EIO;
}

/* The soft limit on descriptors goes up to what jobs_max needs; jobs get that of before. */
static void raise_limit(const bly_proc *proc)
{
    rlim_t needed = (rlim_t)BLY_FILES_MAX(proc->opts.jobs_max) + FILES_BESIDE;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < needed) {
        limit.rlim_cur = needed < limit.rlim_max ? needed : limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static int set_up(bly_proc *proc, const char *spool_dir)
{
    int result = allocate(proc, spool_dir == NULL ? SPOOL_DIR_DEFAULT : spool_dir);
    if (result == 0) {
        result = look_around(proc);
    }
    if (result == 0) {
        result = fork_keeper(proc);
    }
    if (result == 0) {
        result = hear_hello(proc);
    }
    if (result == 0) {
        result = watch_keeper(proc);
    }
    if (result == 0) {
        raise_limit(proc);
    }
    return result;
}

int bly_proc_create(const bly_proc_opts *user_opts, bly_proc **ret_proc)
{
    bly_proc_opts opts;
    if (ret_proc == NULL || bly_opts_read(&opts, sizeof opts, user_opts) != 0 ||
        !are_opts_valid(&opts)) {
        return BELAY_EINVAL;
    }
    bly_proc *proc = bly_alloc(sizeof *proc);
    if (proc == NULL) {
        return BELAY_ENOMEM;
    }
    proc->opts = opts;
    proc->opts.spool_dir = NULL;
    proc->opts.grace_ns = opts.grace_ns == 0 ? BLY_PROC_GRACE_NS : opts.grace_ns;
    proc->opts.leftover_ns = opts.leftover_ns == 0 ? BLY_PROC_LEFTOVER_NS : opts.leftover_ns;
    proc->poller.epoll_fd = -1;
    proc->wire.fd = -1;
    proc->keeper_fd = -1;
    proc->spool = (bly_spool){.dir_fd = -1, .trial_fd = -1, .held_fd = -1, .inotify_fd = -1};
    proc->free_place = BLY_JOB_NONE;
    proc->id_next = 1;
    bly_list_init(&proc->watches);
    int result = set_up(proc, opts.spool_dir);
    if (result != 0) {
        int error = errno;
        bly_proc_destroy(proc);
        errno = error;
        return result;
    }
    *ret_proc = proc;
    return 0;
}

/* Has the keeper ended in time; *ret_status is then its exit status, -1 if it did not exit. */
static bool await_keeper(const bly_proc *proc, int *ret_status)
{
    struct pollfd end = {.fd = proc->keeper_fd, .events = POLLIN};
    int ready;
    do {
        ready = poll(&end, 1, (int)(BLY_END_NS / 1000000));
    } while (ready < 0 && errno == EINTR);
    if (ready == 0) {
        return false;
    }
    siginfo_t info = {0};
    int waited = waitid(P_PID, (id_t)proc->keeper, &info, WEXITED);
    *ret_status = waited == 0 && info.si_code == CLD_EXITED ? info.si_status : -1;
    return true;
}

/* What the keeper could not end because it belongs to another user is the runner's child now. */
static void tell_denied(bly_proc *proc)
{
    bly_tree_list all = {0};
    proc->survivors.count = 0;
    bly_tree_below(getpid(), &proc->strangers, &all);
    for (uint32_t i = 0; i < all.count; i++) {
        if (all.procs[i].state != 'Z' && kill(all.procs[i].pid, 0) != 0 && errno == EPERM) {
            bly_tree_list_add(&proc->survivors, &all.procs[i]);
        }
    }
    bly_tree_list_free(&all);
    notify(proc, BLY_PROC_NOTICE_SURVIVORS);
}

/* Closing the socket is the order to end everything; the keeper's exit status is the answer. */
static void dismiss_keeper(bly_proc *proc)
{
    bly_wire_free(&proc->wire);
    if (proc->keeper_fd < 0) {
        return;
    }
    int status = 0;
    bool has_ended = await_keeper(proc, &status);
    close(proc->keeper_fd);
    proc->keeper_fd = -1;
    if (!has_ended) {
        notify(proc, BLY_PROC_NOTICE_KEEPER_STAYS);
    } else if (status == BLY_KEEPER_DENIED) {
        tell_denied(proc);
    } else if (status != 0 && end_all(proc) != 0) {
        notify(proc, BLY_PROC_NOTICE_SURVIVORS);
    }
}

void bly_proc_destroy(bly_proc *proc)
{
    if (proc == NULL) {
        return;
    }
    bly_assert(!proc->is_polling);
    dismiss_keeper(proc);
    while (!bly_list_is_empty(&proc->watches)) {
        bly_free(bly_container(bly_list_pop_front(&proc->watches), bly_watch, link));
    }
    bly_spool_free(&proc->spool);
    bly_poller_free(&proc->poller);
    bly_tree_list_free(&proc->strangers);
    bly_tree_list_free(&proc->survivors);
    bly_free(proc->jobs);
    bly_free(proc);
}
