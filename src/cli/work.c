/*
 * work.c: `belay work`: runs the jobs of a store. Its loop is in workloop.c.
 *
 * The live file comes first, then the keeper, which holds it and hands it to every job, then the
 * store: nothing is forked while that is open.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "belay/clock.h"
#include "cpus.h"
#include "logfiles.h"
#include "say.h"
#include "startwork.h"
#include "supervisor.h"
#include "work_int.h"

enum { JOBS_MAX = 10000 };

/* What is kept open: four descriptors each for a job and its notice; and beside them. */
enum { FDS_A_JOB = 8, FDS_BESIDE = 128, FDS_UNLIMITED = 65536 };

static const char *set_jobs(void *target, const char *value)
{
    return bly_number_amount(value, false, &((struct bly_workopts *)target)->jobs);
}

static const char *add_queue(void *target, const char *value)
{
    struct bly_workopts *opts = target;
    bly_words_text(&opts->queues, value);
    return opts->queues.count > BELAY_JOBS_QUEUES_MAX
               ? "a worker takes the jobs of at most 64 queues"
               : bly_name_check(value, strlen(value));
}

static const char *set_until_idle(void *target, const char *value)
{
    (void)value;
    ((struct bly_workopts *)target)->until_idle = true;
    return NULL;
}

static const struct bly_option table[] = {
    {.help = "Options:"},
    {"jobs", 'j', "N", "N at once; N%, +N, -N of the CPUs", set_jobs, NULL},
    {"queue", 0, "NAME", "jobs of this queue (several: of each of them)", add_queue, NULL},
    {"until-idle", 0, NULL, "leave when no job of these queues is left", set_until_idle, NULL},
    BLY_JOBOPTS_STORE,
    BLY_JOBOPTS_HELP,
};

static const struct bly_options options = {
    .table = table, .count = sizeof table / sizeof table[0], .command = "work"};

/*
 * Opening and closing.
 */

/* How many jobs at once the descriptor limit allows. */
static uint32_t jobs_possible(void)
{
    struct rlimit limit = {0};
    rlim_t fds = FDS_UNLIMITED;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < fds) {
        fds = limit.rlim_cur;
    }
    rlim_t jobs = fds > FDS_BESIDE ? (fds - FDS_BESIDE) / FDS_A_JOB : 1;
    return jobs < JOBS_MAX ? (uint32_t)jobs : JOBS_MAX;
}

static int open_proc(struct bly_work *work)
{
    const char *spool = getenv("TMPDIR");
    bly_proc_opts opts = {.size = sizeof opts,
                          .jobs_max = 2 * work->slots_max,
                          .spool_dir = spool != NULL && spool[0] != '\0' ? spool : NULL,
                          .notice = bly_work_on_notice,
                          .notice_arg = work,
                          .live = {.kind = BLY_PROC_FD, .fd = work->live->fd}};
    if (bly_proc_create(&opts, &work->runner.proc) != 0) {
        return bly_say_about("jobs", "they cannot be run: %s", strerror(errno));
    }
    signal(SIGPIPE, SIG_IGN);
    if (bly_signals_open(&work->signals) != 0 ||
        bly_proc_watch(work->runner.proc, work->signals.fd, EPOLLIN, bly_work_on_signal, work) !=
            0) {
        return bly_say_about("signals", "%s", strerror(errno));
    }
    return 0;
}

static int open_logs(struct bly_work *work)
{
    struct bly_bytes name = {0};
    bly_logfiles_folder(&name, belay_jobs_path(work->jobs));
    work->runner.logs = bly_logfiles_open(bly_bytes_c(&name), true);
    int status = 0;
    if (work->runner.logs < 0) {
        status = bly_say_about(bly_bytes_c(&name), "%s; it is to be a folder of yours alone",
                               strerror(errno));
    }
    bly_bytes_free(&name);
    return status;
}

static int begin_session(struct bly_work *work)
{
    belay_bytes queues[BELAY_JOBS_QUEUES_MAX];
    for (size_t i = 0; i < work->opts->queues.count; i++) {
        queues[i] = bly_jobstore_bytes(bly_words_at(&work->opts->queues, i));
    }
    belay_jobs_session_opts opts = {.size = sizeof opts,
                                    .slots = work->slots,
                                    .queues = queues,
                                    .queue_count = (uint32_t)work->opts->queues.count,
                                    .live = work->live};
    int result = belay_jobs_session_begin(work->jobs, &opts, &work->session);
    return result != 0 ? bly_jobstore_failed(work->jobs, result) : 0;
}

static int open_session(struct bly_work *work)
{
    int status = begin_session(work);
    int result = status == 0 ? belay_jobs_watch_create(work->jobs, &work->watch) : 0;
    if (status == 0 && result == 0) {
        result = bly_proc_watch(work->runner.proc, belay_jobs_watch_fd(work->watch), EPOLLIN,
                                bly_work_on_news, work);
    }
    return result != 0 ? bly_jobstore_failed(work->jobs, result) : status;
}

static void end_session(struct bly_work *work)
{
    (void)belay_jobs_flush(work->jobs,
                           belay_time_add(belay_clock_now(NULL), 10 * BLY_WORK_SECOND_NS));
    (void)belay_jobs_session_end(work->session);
    work->session = NULL;
}

/*
 * The end of --until-idle. Whoever adds a job looks for a session after that, and this looks for
 * jobs after its session has ended; so one of the two sees the other. False: there is another job,
 * and a session for it.
 */
static bool has_retired(struct bly_work *work)
{
    if (work->is_stopping) {
        return true;
    }
    end_session(work);
    if (bly_work_is_idle(work)) {
        return true;
    }
    work->is_broken = begin_session(work) != 0;
    return work->is_broken;
}

static int open_all(struct bly_work *work)
{
    int status = open_proc(work);
    if (status == 0) {
        status = bly_jobstore_open(work->opts->common.store, BLY_JOBSTORE_WRITE, &work->jobs);
    }
    if (status == 0) {
        status = open_logs(work);
    }
    return status == 0 ? open_session(work) : status;
}

/* The jobs have ended before the session, and the session before the keeper lets its lock go. */
static void close_all(struct bly_work *work)
{
    if (work->watch != NULL) {
        bly_proc_unwatch(work->runner.proc, belay_jobs_watch_fd(work->watch));
        belay_jobs_watch_destroy(work->watch);
    }
    if (work->session != NULL) {
        end_session(work);
    }
    if (work->jobs != NULL) {
        bly_jobstore_close(work->jobs);
    }
    bly_proc_destroy(work->runner.proc);
    bly_signals_close(&work->signals);
    if (work->runner.logs >= 0) {
        close(work->runner.logs);
    }
    bly_runner_free(&work->runner);
}

static int work_with(struct bly_work *work, const belay_jobs_live *live)
{
    work->live = live;
    int status = open_all(work);
    if (status == 0) {
        bly_supervisor_tell("READY=1");
        do {
            bly_work_loop(work);
        } while (!has_retired(work));
        status = work->is_broken ? BLY_SAY_OWN_ERROR : work->signals.status;
    }
    close_all(work);
    return status;
}

static int work_in(struct bly_workopts *opts)
{
    struct bly_bytes path = {0};
    belay_jobs_error error = {0};
    belay_jobs_live live = {.fd = -1};
    uint32_t possible = jobs_possible();
    struct bly_work work = {.opts = opts,
                            .slots = bly_number_jobs(&opts->jobs, bly_cpus_count(), possible),
                            .slots_max = possible,
                            .due_ns = BELAY_FOREVER,
                            .watchdog_period_ns = bly_supervisor_period_ns()};
    work.runner.logs = -1;
    work.watchdog_ns = work.watchdog_period_ns == BELAY_FOREVER ? BELAY_FOREVER : 0;
    int status = bly_jobstore_path(&path, opts->common.store);
    if (status == 0 && belay_jobs_live_create(bly_bytes_c(&path), &live, &error) != 0) {
        status = bly_say_about(bly_bytes_c(&path), "%s", error.text);
    } else if (status == 0) {
        status = work_with(&work, &live);
        belay_jobs_live_destroy(bly_bytes_c(&path), &live);
    }
    bly_bytes_free(&path);
    return status;
}

static int work(int argc, char **argv)
{
    struct bly_workopts opts = {0};
    int rest = 0;
    int status = 0;
    if (bly_jobopts_take(&bly_command_work, argc, argv, &opts, &rest, &status)) {
        if (opts.queues.count == 0) {
            bly_words_text(&opts.queues, BLY_STARTWORK_QUEUE);
        }
        status = rest < argc ? bly_say_about(argv[rest], "work takes options only; commands are "
                                                         "added by `belay add`")
                             : work_in(&opts);
    }
    bly_words_free(&opts.queues);
    return status;
}

const struct bly_command bly_command_work = {
    .name = "work",
    .summary = "run the jobs that were added",
    .usage = "[OPTION...]",
    .about =
        "Runs the jobs of a store as they become due, until it is told to end: by INT or TERM it\n"
        "starts nothing more and waits for what runs; by a second one it ends that, and the jobs "
        "are\n"
        "run again later; by a third one it kills it. However it dies, its jobs die with it and "
        "are\n"
        "run again by another worker. There may be any number of workers.\n",
    .about_status =
        "Exit status: 0, with --until-idle; 129, 130 or 143 after a signal; 255 an error "
        "of belay\nitself.\n",
    .options = &options,
    .run = work,
};
