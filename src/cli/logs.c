/* logs.c: `belay logs`: what a job wrote, and with -f what it is writing. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "belay/clock.h"
#include "files.h"
#include "jobstore.h"
#include "logfiles.h"
#include "say.h"

/* After so long it looks without being told to. */
enum { LOOK_MS = 500, STATUS_OUTPUT_GONE = 141 };

struct logsopts {
    struct bly_jobopts common;
    bool follows;
};

static const char *set_follow(void *target, const char *value)
{
    (void)value;
    ((struct logsopts *)target)->follows = true;
    return NULL;
}

static const struct bly_option table[] = {
    {.help = "Options:"},
    {"follow", 'f', NULL, "go on until the job has ended", set_follow, NULL},
    BLY_JOBOPTS_STORE,
    BLY_JOBOPTS_HELP,
};

static const struct bly_options options = {.table = table,
                                           .count = sizeof table / sizeof table[0],
                                           .command = "logs",
                                           .are_anywhere = true};

/* One stream of the job, shown up to `at`. */
struct stream {
    int number; /* of the log, and the descriptor it goes to */
    int fd;     /* -1: there is none yet */
    ino_t file;
    int64_t at;
};

struct showing {
    belay_jobs *jobs;
    belay_jobs_watch *watch; /* NULL without -f */
    uint64_t seq;
    const char *folder_name;
    int folder; /* -1: there is none yet */
    int inotify;
    struct stream streams[2];
};

/* Opens the file of a stream, or a further run's in place of it. */
static void refresh(struct showing *showing, struct stream *stream)
{
    struct stat stat;
    int fd = showing->folder >= 0 ? bly_logfiles_read(showing->folder, showing->seq, stream->number)
                                  : -1;
    if (fd < 0 || fstat(fd, &stat) != 0) {
        return;
    }
    if (stream->fd >= 0 && stat.st_ino == stream->file) {
        close(fd);
        return;
    }
    if (stream->fd >= 0) {
        close(stream->fd);
    }
    *stream = (struct stream){.number = stream->number, .fd = fd, .file = stat.st_ino};
    if (showing->inotify >= 0) {
        struct bly_bytes path = {0};
        bly_bytes_print(&path, "/proc/self/fd/%d", fd);
        (void)inotify_add_watch(showing->inotify, bly_bytes_c(&path), IN_MODIFY);
        bly_bytes_free(&path);
    }
}

static int copy(struct showing *showing)
{
    if (showing->folder < 0) {
        showing->folder = bly_logfiles_open(showing->folder_name, false);
    }
    if (showing->folder < 0 && errno != ENOENT) {
        return bly_say_about(showing->folder_name, "%s; it is to be a folder of yours alone",
                             strerror(errno));
    }
    for (size_t i = 0; i < 2; i++) {
        struct stream *stream = &showing->streams[i];
        refresh(showing, stream);
        if (stream->fd < 0 || bly_logfiles_copy(stream->fd, &stream->at, stream->number) == 0) {
            continue;
        }
        return errno == EPIPE ? STATUS_OUTPUT_GONE : bly_say_about("logs", "%s", strerror(errno));
    }
    return 0;
}

static int find_state(struct showing *showing, bool *ret_is_live)
{
    belay_jobs_ref ref = {.seq = showing->seq};
    belay_jobs_rows *rows = NULL;
    (void)belay_jobs_rescue(showing->jobs, NULL, NULL);
    int result = belay_jobs_query(showing->jobs, &ref, &rows);
    if (result != 0) {
        return bly_jobstore_failed(showing->jobs, result);
    }
    *ret_is_live = (BELAY_JOBS_IN_LIVE & BELAY_JOBS_IN(rows->row[0].state)) != 0;
    belay_jobs_rows_free(rows);
    return 0;
}

static void wait_for_more(struct showing *showing)
{
    struct pollfd fds[] = {{.fd = showing->inotify, .events = POLLIN},
                           {.fd = belay_jobs_watch_fd(showing->watch), .events = POLLIN}};
    char events[4096];
    (void)poll(fds, 2, LOOK_MS);
    if ((fds[0].revents & POLLIN) != 0) {
        (void)bly_files_read(showing->inotify, events, sizeof events);
    }
    (void)belay_jobs_watch_check(showing->watch);
}

/* The state is read before the files: what an ended job wrote is all there. */
static int follow(struct showing *showing)
{
    for (;;) {
        bool is_live = false;
        int status = find_state(showing, &is_live);
        if (status == 0) {
            status = copy(showing);
        }
        if (status != 0 || !is_live) {
            return status;
        }
        wait_for_more(showing);
    }
}

static int show(struct showing *showing, const struct logsopts *opts)
{
    if (!opts->follows) {
        return copy(showing);
    }
    int result = belay_jobs_watch_create(showing->jobs, &showing->watch);
    if (result != 0) {
        return bly_jobstore_failed(showing->jobs, result);
    }
    showing->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    int status = follow(showing);
    belay_jobs_watch_destroy(showing->watch);
    return status;
}

static void close_all(const struct showing *showing)
{
    const int fds[] = {showing->folder, showing->inotify, showing->streams[0].fd,
                       showing->streams[1].fd};
    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++) {
        if (fds[i] >= 0) {
            close(fds[i]);
        }
    }
}

static int show_job(belay_jobs *jobs, const struct logsopts *opts, const char *word)
{
    belay_jobs_rows *rows = NULL;
    struct bly_bytes folder = {0};
    int status = bly_jobstore_find(jobs, word, &rows);
    if (status != 0) {
        return status;
    }
    bly_logfiles_folder(&folder, belay_jobs_path(jobs));
    struct showing showing = {
        .jobs = jobs,
        .seq = rows->row[0].seq,
        .folder_name = bly_bytes_c(&folder),
        .folder = -1,
        .inotify = -1,
        .streams = {{.number = BLY_LOG_OUT, .fd = -1}, {.number = BLY_LOG_ERR, .fd = -1}}};
    belay_jobs_rows_free(rows);
    status = show(&showing, opts);
    close_all(&showing);
    bly_bytes_free(&folder);
    return status;
}

static int logs(int argc, char **argv)
{
    struct logsopts opts = {0};
    belay_jobs *jobs = NULL;
    int rest = 0;
    int status = 0;
    if (!bly_jobopts_take(&bly_command_logs, argc, argv, &opts, &rest, &status)) {
        return status;
    }
    if (rest + 1 != argc) {
        return bly_say_about("the job", "name one job; see `belay ls`");
    }
    status = bly_jobstore_open(opts.common.store, BLY_JOBSTORE_READ, &jobs);
    if (status == 0) {
        status = show_job(jobs, &opts, argv[rest]);
        bly_jobstore_close(jobs);
    }
    return status;
}

const struct bly_command bly_command_logs = {
    .name = "logs",
    .summary = "what a job wrote, or with -f is writing",
    .usage = "[OPTION...] JOB",
    .about =
        "Shows what the last run of a job wrote to its standard output and standard error, each\n"
        "on the same stream. The first and the last 32 MiB of a stream are kept.\n",
    .options = &options,
    .operands = BLY_OPERANDS_WORDS,
    .run = logs,
};
