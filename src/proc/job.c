/*
 * job.c: jobs on the runner's side. A job takes its place and its spool files at the spawn and
 * gives them back just before `ended` is called, so that the callback may spawn the next one into
 * them.
 */
#include "proc/runner_int.h"

#include "base/opts.h"
#include "sync/sync.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

/* With this many descriptors waiting to be sent along, frames leave before the next poll. */
#define FDS_WAITING_MAX 8

#define TIMEOUT_STATUS   124
#define CANNOT_STATUS    126
#define NOT_FOUND_STATUS 127
#define SIGNAL_STATUS    128
#define LOST_STATUS      255

bly_job *bly_job_find(bly_proc *proc, uint64_t id)
{
    uint32_t place = BLY_ID_PLACE(id);
    if (id == 0 || place >= proc->places_used || proc->jobs[place].id != id) {
        return NULL;
    }
    return &proc->jobs[place];
}

/* Strings of one array: how many and how many bytes with their NULs. */
typedef struct measure {
    uint32_t count;
    size_t size;
    bool is_too_big; /* one of them is */
} measure;

static void measure_string(measure *sum, const char *string)
{
    size_t size = strlen(string) + 1;
    sum->is_too_big |= size > BLY_PROC_ARG_MAX;
    sum->size += size;
}

static measure measure_array(char *const *array)
{
    measure sum = {0};
    for (; array != NULL && array[sum.count] != NULL; sum.count++) {
        measure_string(&sum, array[sum.count]);
    }
    return sum;
}

typedef struct measures {
    measure argv, env, add;
    size_t text_size;
    bool is_too_big;
} measures;

static measures measure_spec(const bly_proc_spec *spec)
{
    measures all = {.argv = measure_array(spec->argv),
                    .env = measure_array(spec->env),
                    .add = measure_array(spec->env_add)};
    measure names = {0};
    if (spec->path != NULL) {
        measure_string(&names, spec->path);
    }
    if (spec->cwd != NULL) {
        measure_string(&names, spec->cwd);
    }
    all.text_size = all.argv.size + all.env.size + all.add.size + names.size;
    all.is_too_big = all.argv.is_too_big || all.env.is_too_big || all.add.is_too_big ||
                     names.is_too_big || all.text_size > BLY_WIRE_TEXT_MAX;
    return all;
}

static bool is_stream_valid(const bly_proc_stream *stream, int target)
{
    switch (stream->kind) {
    case BLY_PROC_DEFAULT:
    case BLY_PROC_NULL:
        return true;
    case BLY_PROC_SPOOL:
        return target == 1 || target == 2;
    case BLY_PROC_FD:
        return stream->fd >= 0 && fcntl(stream->fd, F_GETFD) >= 0;
    case BLY_PROC_WITH_STDOUT:
        return target == 2;
    default:
        return false;
    }
}

static bool is_valid(const bly_proc_spec *spec)
{
    const uint32_t known = BLY_PROC_KEEP_CHILDREN | BLY_PROC_UMASK | BLY_PROC_WATCH_OUTPUT;
    return spec->argv != NULL && spec->argv[0] != NULL && spec->ended != NULL &&
           (spec->flags & ~known) == 0 && spec->timeout_ns >= 0 && is_stream_valid(&spec->in, 0) &&
           is_stream_valid(&spec->out, 1) && is_stream_valid(&spec->err, 2) &&
           is_stream_valid(&spec->live, 3);
}

static char *lay_string(char *text, const char *string)
{
    size_t size = strlen(string) + 1;
    memcpy(text, string, size);
    return text + size;
}

static char *lay_array(char *text, char *const *array)
{
    for (; array != NULL && *array != NULL; array++) {
        text = lay_string(text, *array);
    }
    return text;
}

static void lay_text(char *text, const bly_proc_spec *spec)
{
    if (spec->path != NULL) {
        text = lay_string(text, spec->path);
    }
    if (spec->cwd != NULL) {
        text = lay_string(text, spec->cwd);
    }
    text = lay_array(text, spec->argv);
    text = lay_array(text, spec->env);
    lay_array(text, spec->env_add);
}

static bly_wire_spawn *lay_frame(bly_proc *proc, const bly_proc_spec *spec, const measures *sizes,
                                 uint64_t id)
{
    bly_wire_spawn *frame =
        bly_wire_put(&proc->wire, BLY_WIRE_SPAWN, sizeof *frame + sizes->text_size);
    if (frame == NULL) {
        return NULL;
    }
    frame->id = id;
    frame->timeout_ns = spec->timeout_ns;
    frame->flags = spec->flags;
    frame->umask = (uint32_t)spec->umask;
    frame->has_path = spec->path != NULL;
    frame->has_cwd = spec->cwd != NULL;
    frame->has_env = spec->env != NULL;
    frame->wants_started = spec->started != NULL;
    frame->argc = sizes->argv.count;
    frame->envc = sizes->env.count;
    frame->addc = sizes->add.count;
    frame->text_size = (uint32_t)sizes->text_size;
    lay_text((char *)(frame + 1), spec);
    return frame;
}

/* A copy of fd goes with the frame last put. */
static int attach_copy(bly_proc *proc, int fd)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (copy < 0) {
        return BELAY_EIO;
    }
    int attached = bly_wire_attach(&proc->wire, copy, true);
    if (attached != 0) {
        close(copy);
    }
    return attached;
}

/* A spool file for stream 1 or 2; sent along when the keeper does not have it. */
static int add_spool(bly_proc *proc, bly_job *job, bly_wire_spawn *frame, int target)
{
    uint32_t *number = &job->file[target - 1];
    int taken = bly_spool_take(&proc->spool, job->id, number);
    if (taken != 0) {
        return taken;
    }
    const bly_spool_file *file = bly_spool_file_of(&proc->spool, *number);
    frame->file[target - 1] = *number;
    frame->source[target] = file->is_known ? BLY_WIRE_FILE : BLY_WIRE_FILE_NEW;
    if ((job->flags & BLY_PROC_WATCH_OUTPUT) != 0 && bly_spool_watch(&proc->spool, *number) != 0) {
        return BELAY_EIO;
    }
    return file->is_known ? 0 : bly_wire_attach(&proc->wire, file->fd, false);
}

/* Where a stream goes that the spec does not name. */
static uint8_t default_source(const bly_job *job, int target)
{
    bool is_live = target == 3 && (job->flags & BLY_PROC_KEEP_CHILDREN) == 0;
    return is_live ? BLY_WIRE_LIVE : BLY_WIRE_NULL;
}

static int add_stream(bly_proc *proc, bly_job *job, bly_wire_spawn *frame,
                      const bly_proc_stream *stream, int target)
{
    bool is_output = target == 1 || target == 2;
    switch (stream->kind == BLY_PROC_DEFAULT && is_output ? BLY_PROC_SPOOL : stream->kind) {
    case BLY_PROC_DEFAULT:
        frame->source[target] = default_source(job, target);
        return 0;
    case BLY_PROC_SPOOL:
        return add_spool(proc, job, frame, target);
    case BLY_PROC_FD:
        frame->source[target] = BLY_WIRE_FD;
        return attach_copy(proc, stream->fd);
    case BLY_PROC_WITH_STDOUT:
        frame->source[target] = BLY_WIRE_SAME;
        return 0;
    default:
        frame->source[target] = BLY_WIRE_NULL;
        return 0;
    }
}

/* In the order of their numbers, which is that in which the keeper takes the descriptors. */
static int add_streams(bly_proc *proc, bly_job *job, bly_wire_spawn *frame,
                       const bly_proc_spec *spec)
{
    const bly_proc_stream *streams[BLY_CHILD_FDS] = {&spec->in, &spec->out, &spec->err,
                                                     &spec->live};
    int result = 0;
    for (int target = 0; target < BLY_CHILD_FDS && result == 0; target++) {
        result = add_stream(proc, job, frame, streams[target], target);
    }
    return result;
}

static void give_back_file(bly_proc *proc, uint32_t *number)
{
    if (*number != BLY_SPOOL_NONE) {
        bly_spool_give_back(&proc->spool, *number);
        *number = BLY_SPOOL_NONE;
    }
}

static bly_job *take_place(bly_proc *proc)
{
    uint32_t place = proc->free_place;
    if (place != BLY_JOB_NONE) {
        proc->free_place = proc->jobs[place].next_free;
    } else {
        place = proc->places_used++;
    }
    bly_assert(place < proc->opts.jobs_max && proc->jobs[place].id == 0);
    bly_job *job = &proc->jobs[place];
    job->id = proc->id_next++ << BLY_ID_PLACE_BITS | place;
    proc->count++;
    return job;
}

static void give_place(bly_proc *proc, bly_job *job)
{
    uint32_t place = BLY_ID_PLACE(job->id);
    memset(job, 0, sizeof *job);
    job->next_free = proc->free_place;
    proc->free_place = place;
    bly_assert(proc->count > 0);
    proc->count--;
}

static bool has_spool(const bly_job *job)
{
    return job->file[0] != BLY_SPOOL_NONE || job->file[1] != BLY_SPOOL_NONE;
}

/* From here on the keeper has the files that went along. */
static void settle_spawn(bly_proc *proc, bly_job *job, const bly_proc_spec *spec)
{
    job->started = spec->started;
    job->wrote = spec->wrote;
    job->ended = spec->ended;
    job->arg = spec->arg;
    job->full_count = proc->spool.full_count;
    for (int i = 0; i < 2; i++) {
        if (job->file[i] != BLY_SPOOL_NONE) {
            bly_spool_file_of(&proc->spool, job->file[i])->is_known = true;
        }
    }
    proc->spooling += has_spool(job);
}

static void on_files_changed(void *arg, uint32_t epoll_events)
{
    (void)epoll_events;
    bly_job_changed(arg);
}

/* The spool's inotify descriptor, once there is one, is watched like any other. */
static int watch_files(bly_proc *proc)
{
    if (proc->is_watching_files || proc->spool.inotify_fd < 0) {
        return 0;
    }
    int added = bly_poller_add(&proc->poller, proc->spool.inotify_fd, EPOLLIN, on_files_changed,
                               proc, &proc->inotify_token);
    proc->is_watching_files = added == 0;
    return added == 0 ? 0 : BELAY_EIO;
}

static int place_spawn(bly_proc *proc, const bly_proc_spec *spec, const measures *sizes,
                       bly_job *job)
{
    job->flags = spec->flags;
    job->file[0] = BLY_SPOOL_NONE;
    job->file[1] = BLY_SPOOL_NONE;
    bly_wire_spawn *frame = lay_frame(proc, spec, sizes, job->id);
    if (frame == NULL) {
        return BELAY_ENOMEM;
    }
    job->at = proc->wire.last_at;
    int added = add_streams(proc, job, frame, spec);
    if (added == 0) {
        added = watch_files(proc);
    }
    if (added != 0) {
        int error = errno;
        bly_wire_retract(&proc->wire);
        give_back_file(proc, &job->file[0]);
        give_back_file(proc, &job->file[1]);
        errno = error;
    }
    return added;
}

int bly_proc_spawn(bly_proc *proc, const bly_proc_spec *user_spec, uint64_t *ret_id)
{
    bly_proc_spec spec;
    if (user_spec == NULL || bly_opts_read(&spec, sizeof spec, user_spec) != 0 ||
        !is_valid(&spec)) {
        return BELAY_EINVAL;
    }
    if (proc->is_lost || proc->has_to_lose) {
        return BELAY_ECLOSED;
    }
    if (proc->is_suspended) {
        return BELAY_EBUSY;
    }
    measures sizes = measure_spec(&spec);
    if (sizes.is_too_big) {
        return BELAY_ETOOBIG;
    }
    if (proc->count == proc->opts.jobs_max) {
        return BELAY_EFULL;
    }
    bly_job *job = take_place(proc);
    int placed = place_spawn(proc, &spec, &sizes, job);
    if (placed != 0) {
        give_place(proc, job);
        return placed;
    }
    settle_spawn(proc, job, &spec);
    if (ret_id != NULL) {
        *ret_id = job->id;
    }
    if (proc->wire.out_fds_count >= FDS_WAITING_MAX) {
        bly_proc_flush(proc);
    }
    return 0;
}

void bly_job_started(bly_proc *proc, const bly_wire_started *started)
{
    bly_job *job = bly_job_find(proc, started->id);
    bly_assert(job != NULL && job->started != NULL);
    proc->handled++;
    job->started(job->id, (pid_t)started->pid, started->start_ns, job->arg);
}

/* The output of one stream; a file that somebody may still write to does not come back. */
static bly_output *close_out(bly_proc *proc, uint32_t number, bool is_dirty, bool *is_incomplete)
{
    if (number == BLY_SPOOL_NONE) {
        return NULL;
    }
    bly_spool_file_of(&proc->spool, number)->is_dirty |= is_dirty;
    bly_output *output = NULL;
    *is_incomplete |= bly_spool_close_out(&proc->spool, number, &output) != 0;
    return output;
}

/*
 * Was there room for what the job wrote. A job that wrote nothing and ended well is not worth a
 * look at the disk each time.
 */
static bool lacked_room(bly_proc *proc, const bly_proc_end *end, uint32_t full_count)
{
    bool is_quiet = end->out == NULL && end->err == NULL && bly_proc_status(end) == 0;
    if (!is_quiet || end->end_ns - proc->spool.looked_ns >= BLY_SPOOL_LOOK_NS) {
        bly_spool_look(&proc->spool, end->end_ns);
    }
    return proc->spool.full_count != full_count;
}

/*
 * The last call about a job. `end` comes with all but its outputs and what the runner alone knows.
 */
static void end_job(bly_proc *proc, bly_job *job, bly_proc_end *end, bool is_dirty)
{
    bly_job over = *job;
    bool is_spooled = has_spool(job);
    proc->spooling -= is_spooled;
    give_place(proc, job);
    end->is_stopped = over.is_stopped;
    end->out = close_out(proc, over.file[0], is_dirty, &end->is_incomplete);
    end->err = close_out(proc, over.file[1], is_dirty, &end->is_incomplete);
    if (is_spooled && lacked_room(proc, end, over.full_count)) {
        end->is_incomplete = true;
    }
    proc->handled++;
    over.ended(end, over.arg);
}

void bly_job_ended(bly_proc *proc, const bly_wire_ended *ended)
{
    bly_job *job = bly_job_find(proc, ended->id);
    bly_assert(job != NULL);
    bly_proc_end end = {.id = ended->id,
                        .how = ended->how,
                        .code = ended->code,
                        .stage = ended->stage,
                        .is_timed_out = ended->is_timed_out != 0,
                        .left = ended->left,
                        .kept = ended->kept,
                        .start_ns = ended->start_ns,
                        .end_ns = ended->end_ns,
                        .user_ns = ended->user_ns,
                        .system_ns = ended->system_ns,
                        .rss_max_kib = ended->rss_max_kib};
    /* A file that did not arrive must be sent again: it is not the keeper's. */
    bool did_not_arrive = ended->how == BLY_PROC_FAILED && ended->stage == BLY_PROC_AT_STREAM;
    end_job(proc, job, &end, ended->is_dirty != 0 || did_not_arrive);
}

void bly_job_lose(bly_proc *proc, bly_job *job)
{
    bly_proc_end end = {.id = job->id, .how = BLY_PROC_LOST, .end_ns = bly_monotonic_ns()};
    end_job(proc, job, &end, true);
}

static void tell_wrote(uint64_t owner, void *arg)
{
    bly_proc *proc = arg;
    for (uint32_t place = 0; owner == 0 && place < proc->places_used; place++) {
        if (proc->jobs[place].id != 0) {
            tell_wrote(proc->jobs[place].id, proc);
        }
    }
    bly_job *job = bly_job_find(proc, owner);
    if (job != NULL && job->wrote != NULL && (job->flags & BLY_PROC_WATCH_OUTPUT) != 0) {
        proc->handled++;
        job->wrote(job->id, job->arg);
    }
}

void bly_job_changed(bly_proc *proc)
{
    bly_spool_changed(&proc->spool, tell_wrote, proc);
}

/* A request that has not left is answered without being carried out. */
static void withdraw(bly_proc *proc, bly_job *job)
{
    bly_wire_spawn *frame = bly_wire_unsent(&proc->wire, job->at);
    if (frame != NULL) {
        frame->is_withdrawn = 1;
    }
}

static int order(bly_proc *proc, uint64_t id, int type, int64_t number)
{
    bly_job *job = bly_job_find(proc, id);
    if (job == NULL || proc->is_lost || proc->has_to_lose) {
        return BELAY_ENOENT;
    }
    bly_wire_order *body = bly_wire_put(&proc->wire, type, sizeof *body);
    bly_assert(body != NULL); /* a few bytes; without them nothing could be stopped */
    body->id = id;
    body->number = number;
    if (type != BLY_WIRE_SIGNAL) {
        job->is_stopped = true;
        withdraw(proc, job);
    }
    return 0;
}

int bly_proc_stop(bly_proc *proc, uint64_t id)
{
    return order(proc, id, BLY_WIRE_STOP, 0);
}

int bly_proc_kill(bly_proc *proc, uint64_t id)
{
    return order(proc, id, BLY_WIRE_KILL, 0);
}

int bly_proc_signal(bly_proc *proc, uint64_t id, int signal_number)
{
    if (signal_number <= 0 || signal_number > SIGRTMAX) {
        return BELAY_EINVAL;
    }
    return order(proc, id, BLY_WIRE_SIGNAL, signal_number);
}

static void order_all(bly_proc *proc, int type)
{
    if (proc->is_lost || proc->has_to_lose) {
        return;
    }
    for (uint32_t place = 0; place < proc->places_used; place++) {
        if (proc->jobs[place].id != 0) {
            proc->jobs[place].is_stopped = true;
            withdraw(proc, &proc->jobs[place]);
        }
    }
    void *body = bly_wire_put(&proc->wire, type, 0);
    bly_assert(body != NULL);
}

void bly_proc_stop_all(bly_proc *proc)
{
    order_all(proc, BLY_WIRE_STOP_ALL);
}

void bly_proc_kill_all(bly_proc *proc)
{
    order_all(proc, BLY_WIRE_KILL_ALL);
}

ssize_t bly_proc_live_read(bly_proc *proc, uint64_t id, int stream, uint64_t offset, void *buffer,
                           size_t size)
{
    const bly_job *job = bly_job_find(proc, id);
    if (job == NULL || stream < 1 || stream > 2 || job->file[stream - 1] == BLY_SPOOL_NONE) {
        return BELAY_ENOENT;
    }
    int fd = bly_spool_file_of(&proc->spool, job->file[stream - 1])->fd;
    ssize_t got;
    do {
        got = pread(fd, buffer, size, (off_t)offset);
    } while (got < 0 && errno == EINTR);
    return got < 0 ? BELAY_EIO : got;
}

uint32_t bly_proc_count(const bly_proc *proc)
{
    return proc->count;
}

int bly_proc_status(const bly_proc_end *end)
{
    if (end->is_timed_out) {
        return TIMEOUT_STATUS;
    }
    switch (end->how) {
    case BLY_PROC_EXITED:
        return end->code;
    case BLY_PROC_SIGNALED:
        return SIGNAL_STATUS + end->code;
    case BLY_PROC_FAILED:
        return end->stage == BLY_PROC_AT_EXEC && end->code == ENOENT ? NOT_FOUND_STATUS
                                                                     : CANNOT_STATUS;
    default:
        return LOST_STATUS;
    }
}
