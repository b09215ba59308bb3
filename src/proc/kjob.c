/*
 * kjob.c: the life of a job in the keeper.
 *
 * Who ends what: a job's main process is a child of the keeper and is reaped in bly_kjob_finish and
 * nowhere else, last of all. Until then its pid, which is also its group and its session, cannot be
 * given to anybody else, so a signal to the group hits nobody else. `ended` is sent there too,
 * once.
 */
#include "proc/keeper_int.h"

#include "base/state.h"
#include "proc/proc.h"
#include "sync/sync.h"

#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const state_names[] = {"FREE",   "RUNNING",  "STOPPING", "KILLING",
                                          "EXITED", "CLEARING", "SWEEPING"};
static const uint32_t state_moves[] = {
    [BLY_KJOB_FREE] = BLY_TO(BLY_KJOB_RUNNING),
    [BLY_KJOB_RUNNING] =
        BLY_TO(BLY_KJOB_STOPPING) | BLY_TO(BLY_KJOB_KILLING) | BLY_TO(BLY_KJOB_EXITED),
    [BLY_KJOB_STOPPING] = BLY_TO(BLY_KJOB_KILLING) | BLY_TO(BLY_KJOB_EXITED),
    [BLY_KJOB_KILLING] = BLY_TO(BLY_KJOB_EXITED),
    [BLY_KJOB_EXITED] =
        BLY_TO(BLY_KJOB_CLEARING) | BLY_TO(BLY_KJOB_SWEEPING) | BLY_TO(BLY_KJOB_FREE),
    [BLY_KJOB_CLEARING] = BLY_TO(BLY_KJOB_SWEEPING) | BLY_TO(BLY_KJOB_FREE),
    [BLY_KJOB_SWEEPING] = BLY_TO(BLY_KJOB_FREE),
};
static const bly_state_table states = {"job of the keeper", state_names, state_moves,
                                       bly_count(state_names)};

void bly_kjob_move(bly_kjob *job, uint32_t state)
{
    bly_state_move(&states, &job->state, state);
}

void bly_kjob_set_timer(bly_kjob *job, int64_t timer_ns)
{
    bly_keeper *keeper = job->keeper;
    keeper->timers -= job->timer_ns != BELAY_FOREVER;
    keeper->timers += timer_ns != BELAY_FOREVER;
    job->timer_ns = timer_ns;
}

bly_kjob *bly_kjob_find(bly_keeper *keeper, uint64_t id)
{
    uint32_t place = BLY_ID_PLACE(id);
    bly_assert(place < keeper->opts.jobs_max);
    bly_kjob *job = &keeper->jobs[place];
    return job->state != BLY_KJOB_FREE && job->id == id ? job : NULL;
}

static int64_t ns_of(const struct timeval *time)
{
    return (int64_t)time->tv_sec * 1000000000 + (int64_t)time->tv_usec * 1000;
}

/*
 * Without memory for an answer the runner would wait for it for ever: ending is the honest answer.
 */
static void *answer(bly_keeper *keeper, int type, size_t size)
{
    void *body = bly_wire_put(&keeper->wire, type, size);
    if (body == NULL) {
        keeper->is_over = true;
    }
    return body;
}

static void report_failure(bly_keeper *keeper, uint64_t id, int stage, int error)
{
    bly_wire_ended *ended = answer(keeper, BLY_WIRE_ENDED, sizeof *ended);
    if (ended == NULL) {
        return;
    }
    ended->id = id;
    ended->how = BLY_PROC_FAILED;
    ended->code = error;
    ended->stage = stage;
    ended->end_ns = bly_monotonic_ns();
}

static void report_start(const bly_kjob *job)
{
    bly_wire_started *started = answer(job->keeper, BLY_WIRE_STARTED, sizeof *started);
    if (started != NULL) {
        started->id = job->id;
        started->start_ns = job->start_ns;
        started->pid = job->pid;
    }
}

/*
 * The main process has ended. Its pidfd leaves the poller before it is closed: the next child may
 * still hold a copy of it, which would keep it there, ready for ever.
 */
static void on_exit_of(void *arg, uint32_t epoll_events)
{
    bly_kjob *job = arg;
    (void)epoll_events;
    bly_poller_remove(&job->keeper->poller, job->pidfd, job->token);
    close(job->pidfd);
    job->pidfd = -1;
    job->end_ns = bly_monotonic_ns();
    job->keeper->has_news = true;
    if (job->state == BLY_KJOB_RUNNING) {
        bly_kjob_set_timer(job, BELAY_FOREVER);
    }
    bly_kjob_move(job, BLY_KJOB_EXITED);
}

/* Descriptors that came with the frame and are this job's alone; closed when it has started. */
typedef struct passed {
    int fds[BLY_WIRE_FDS_MAX];
    uint32_t count;
} passed;

static void close_passed(passed *given)
{
    while (given->count > 0) {
        close(given->fds[--given->count]);
    }
}

static int take_new_file(bly_keeper *keeper, uint32_t file)
{
    int fd = bly_wire_take_fd(&keeper->wire);
    bly_assert(file < BLY_FILES_MAX(keeper->opts.jobs_max) && keeper->files[file] == 0);
    keeper->files[file] = (uint32_t)(fd + 1);
    return fd;
}

static int known_file(const bly_keeper *keeper, uint32_t file)
{
    bly_assert(file < BLY_FILES_MAX(keeper->opts.jobs_max));
    return (int)keeper->files[file] - 1;
}

/* The source of one stream; -2 when its descriptor did not arrive. */
static int source_of(bly_keeper *keeper, const bly_wire_spawn *spawn, int stream,
                     const bly_child *child, passed *given)
{
    int fd = -1;
    switch (spawn->source[stream]) {
    case BLY_WIRE_FILE:
        fd = known_file(keeper, spawn->file[stream - 1]);
        break;
    case BLY_WIRE_FILE_NEW:
        fd = take_new_file(keeper, spawn->file[stream - 1]);
        break;
    case BLY_WIRE_FD:
        fd = bly_wire_take_fd(&keeper->wire);
        if (fd >= 0) {
            given->fds[given->count++] = fd;
        }
        break;
    case BLY_WIRE_SAME:
        return child->fds[stream - 1];
    case BLY_WIRE_LIVE:
        return keeper->opts.live_fd;
    default:
        return -1;
    }
    return fd >= 0 ? fd : -2;
}

/* All streams, so that every descriptor of the frame is taken even when one is missing. */
static bool set_streams(bly_keeper *keeper, const bly_wire_spawn *spawn, bly_child *child,
                        passed *given)
{
    bool is_whole = true;
    for (int stream = 0; stream < BLY_CHILD_FDS; stream++) {
        int fd = source_of(keeper, spawn, stream, child, given);
        is_whole = is_whole && fd != -2;
        child->fds[stream] = fd == -2 ? -1 : fd;
    }
    return is_whole;
}

static int start(bly_keeper *keeper, const bly_wire_spawn *spawn, bly_child *child, bly_kjob *job)
{
    if (bly_recipe_read(&keeper->recipe, spawn, child) != 0) {
        child->stage = BLY_PROC_AT_START;
        return ENOMEM;
    }
    child->mask = &keeper->mask;
    child->files = keeper->has_files_limit ? &keeper->files_limit : NULL;
    child->parent = getpid();
    job->start_ns = bly_monotonic_ns();
    int error = bly_child_start(child, &job->pid, &job->pidfd);
    if (error != 0) {
        return error;
    }
    bly_recipe_learn(&keeper->recipe, child);
    return 0;
}

/* The job runs: watched, timed, and in the list that mirrors the kernel's list of children. */
static void take_up(bly_keeper *keeper, const bly_wire_spawn *spawn, bly_kjob *job)
{
    job->keeper = keeper;
    job->id = spawn->id;
    job->flags = spawn->flags;
    job->timer_ns = BELAY_FOREVER;
    bly_list_push_back(&keeper->live, &job->link);
    bly_kjob_move(job, BLY_KJOB_RUNNING);
    if (spawn->timeout_ns > 0) {
        bly_kjob_set_timer(job, belay_time_add(job->start_ns, spawn->timeout_ns));
    }
    if (spawn->wants_started != 0) {
        report_start(job);
    }
    int added = bly_poller_add(&keeper->poller, job->pidfd, EPOLLIN, on_exit_of, job, &job->token);
    if (added != 0) { /* unwatched it would never end: without memory for that, nothing goes on */
        keeper->is_over = true;
    }
}

void bly_kjob_spawn(bly_keeper *keeper, const bly_wire_spawn *spawn)
{
    uint32_t place = BLY_ID_PLACE(spawn->id);
    bly_assert(place < keeper->opts.jobs_max);
    bly_kjob *job = &keeper->jobs[place];
    bly_assert(job->state == BLY_KJOB_FREE);
    memset(job, 0, sizeof *job);
    bly_child child = {0};
    passed given = {0};
    if (!set_streams(keeper, spawn, &child, &given)) {
        report_failure(keeper, spawn->id, BLY_PROC_AT_STREAM, EMFILE);
        close_passed(&given);
        return;
    }
    child.stage = BLY_PROC_AT_CANCEL;
    int error = spawn->is_withdrawn != 0 ? ECANCELED : start(keeper, spawn, &child, job);
    close_passed(&given);
    if (error != 0) {
        report_failure(keeper, spawn->id, child.stage, error);
    } else {
        take_up(keeper, spawn, job);
    }
}

/* Adds the descendants of a job that is told to stop to those known already. */
static void note_descendants(bly_kjob *job)
{
    bly_tree_list now = {0};
    bly_tree_below(job->pid, NULL, &now);
    int added = 0;
    for (uint32_t i = 0; added == 0 && i < now.count; i++) {
        if (!bly_tree_list_has(&job->known, &now.procs[i])) {
            added = bly_tree_list_add(&job->known, &now.procs[i]);
        }
    }
    bly_tree_list_free(&now); /* what is missing is still ended when it is in the session */
}

void bly_kjob_stop(bly_kjob *job)
{
    if (job->state != BLY_KJOB_RUNNING) {
        return;
    }
    job->is_told = true;
    note_descendants(job);
    kill(-job->pid, SIGTERM);
    kill(-job->pid, SIGCONT);
    bly_kjob_move(job, BLY_KJOB_STOPPING);
    bly_kjob_set_timer(job, belay_time_add(bly_monotonic_ns(), job->keeper->opts.grace_ns));
}

void bly_kjob_kill(bly_kjob *job)
{
    job->is_told = true;
    job->is_killed = true;
    if (job->state == BLY_KJOB_CLEARING) {
        bly_left_timer(job);
        return;
    }
    if (job->state != BLY_KJOB_RUNNING && job->state != BLY_KJOB_STOPPING) {
        return;
    }
    note_descendants(job);
    kill(-job->pid, SIGKILL);
    for (uint32_t i = 0; i < job->known.count; i++) {
        bly_tree_signal(&job->known.procs[i], SIGKILL);
    }
    bly_kjob_move(job, BLY_KJOB_KILLING);
    bly_kjob_set_timer(job, BELAY_FOREVER);
}

void bly_kjob_finish(bly_kjob *job, uint32_t kept, bool is_dirty)
{
    int status = 0;
    struct rusage usage = {0};
    pid_t reaped = wait4(job->pid, &status, 0, &usage);
    bly_assert(reaped == job->pid);
    bly_wire_ended *ended = answer(job->keeper, BLY_WIRE_ENDED, sizeof *ended);
    if (ended != NULL) {
        ended->id = job->id;
        ended->how = WIFSIGNALED(status) ? BLY_PROC_SIGNALED : BLY_PROC_EXITED;
        ended->code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
        ended->start_ns = job->start_ns;
        ended->end_ns = job->end_ns;
        ended->user_ns = ns_of(&usage.ru_utime);
        ended->system_ns = ns_of(&usage.ru_stime);
        ended->rss_max_kib = (uint64_t)usage.ru_maxrss;
        ended->left = job->left;
        ended->kept = kept;
        ended->is_timed_out = job->is_timed_out;
        ended->is_dirty = is_dirty;
    }
    bly_tree_list_free(&job->known);
    bly_kjob_set_timer(job, BELAY_FOREVER);
    bly_list_remove(&job->link);
    bly_kjob_move(job, BLY_KJOB_FREE);
}

int64_t bly_kjob_next_timer(const bly_keeper *keeper)
{
    int64_t next_ns = BELAY_FOREVER;
    if (keeper->timers == 0 || keeper->suspended_ns != 0) {
        return next_ns;
    }
    bly_list_each (node, &keeper->live) {
        const bly_kjob *job = bly_container(node, bly_kjob, link);
        next_ns = job->timer_ns < next_ns ? job->timer_ns : next_ns;
    }
    return next_ns;
}

static void fire(bly_kjob *job)
{
    bly_kjob_set_timer(job, BELAY_FOREVER);
    switch (job->state) {
    case BLY_KJOB_RUNNING:
        job->is_timed_out = true;
        bly_kjob_stop(job);
        break;
    case BLY_KJOB_STOPPING:
        bly_kjob_kill(job);
        break;
    default:
        bly_left_timer(job);
        break;
    }
}

void bly_kjob_run_timers(bly_keeper *keeper, int64_t now_ns)
{
    bly_list_each_safe (node, after, &keeper->live) {
        bly_kjob *job = bly_container(node, bly_kjob, link);
        if (job->timer_ns <= now_ns) {
            fire(job);
        }
    }
}
