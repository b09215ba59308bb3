/*
 * work.c: `belay work`: runs the jobs of a store.
 *
 * One loop, around the keeper: it claims as many due jobs as there are free places, starts them,
 * and reports how they ended. A claim marks its jobs as started in the same transaction, so that
 * none is claimed that does not start at once. It looks again when something was committed, when
 * the next job is due, and once a second, to see after jobs whose worker has died.
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
#include "care.h"
#include "cpus.h"
#include "jobstore.h"
#include "jobtext.h"
#include "logfiles.h"
#include "notice.h"
#include "number.h"
#include "say.h"
#include "signals.h"
#include "startwork.h"
#include "supervisor.h"
#include "runner.h"

#define SECOND_NS INT64_C(1000000000)
#define CARE_NS   (3600 * SECOND_NS)

enum { QUEUES_MAX = 64, JOBS_MAX = 10000, CLAIM_MAX = 100 };

struct workopts {
    struct bly_jobopts common;
    struct bly_amount jobs;
    struct bly_words queues;
    bool until_idle;
};

static const char *set_jobs(void *target, const char *value)
{
    return bly_number_amount(value, false, &((struct workopts *)target)->jobs);
}

static const char *add_queue(void *target, const char *value)
{
    struct workopts *opts = target;
    bly_words_text(&opts->queues, value);
    return opts->queues.count > QUEUES_MAX ? "a worker takes the jobs of at most 64 queues"
                                           : bly_name_check(value, strlen(value));
}

static const char *set_until_idle(void *target, const char *value)
{
    (void)value;
    ((struct workopts *)target)->until_idle = true;
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

static const struct bly_options *get_options(void)
{
    return &options;
}

struct work {
    const struct workopts *opts;
    belay_jobs *jobs;
    belay_jobs_watch *watch;
    belay_jobs_session *session;
    struct bly_runner runner;
    struct bly_signals signals;
    uint32_t slots, slots_max;
    bool is_stopping; /* nothing more is claimed */
    bool is_news;     /* something was committed, or has ended: look */
    bool is_broken;   /* the store or the keeper: leave with 255 */
    int64_t due_ns;   /* monotonic: the next job is due, or there may be news */
    int64_t look_ns;  /* the next look for dead workers */
    int64_t care_ns;  /* the next removal of old jobs and logs */
    int64_t watchdog_ns;
    int64_t watchdog_period_ns;
};

/* A claimed job, from its claim until its end was handed over. */
struct claim {
    struct bly_jobrun run;
    struct work *work;
    belay_run *claimed;
    belay_run_details info;
    bool is_canceled; /* by its owner, or its claim is lost */
};

/*
 * Reporting.
 */

/* What is done with the job now. */
static int decide(const struct claim *claim, const struct bly_run_end *end)
{
    if (end->is_well) {
        return BELAY_RUN_DONE;
    }
    if (claim->is_canceled) {
        return BELAY_RUN_CANCELED;
    }
    return end->is_stopped && claim->work->is_stopping ? BELAY_RUN_GIVE_BACK : BELAY_RUN_FAIL;
}

static void on_end(struct bly_jobrun *run, const struct bly_run_end *end)
{
    struct claim *claim = run->arg;
    struct work *work = claim->work;
    int64_t now_ns = belay_clock_wall(NULL);
    belay_run_ending ending = {.size = sizeof ending,
                               .what = decide(claim, end),
                               .how = claim->is_canceled ? BELAY_JOBS_HOW_CANCELED : end->how,
                               .code = end->code,
                               .start_ns = now_ns - end->run_ns,
                               .end_ns = now_ns,
                               .user_ns = end->user_ns,
                               .system_ns = end->system_ns,
                               .rss_max_kib = end->rss_max_kib,
                               .message = belay_bytes_text(end->message)};
    work->is_news = true;
    bly_notice_send(work->runner.proc, &claim->info, &ending, &work->is_news);
    bly_mem_check(belay_run_end(claim->claimed, &ending) == BELAY_ENOMEM ? BELAY_ENOMEM : 0);
    bly_mem_free(claim);
}

/*
 * Claiming.
 */

static void start(struct work *work, belay_run *claimed)
{
    struct claim *claim = bly_mem(sizeof *claim);
    claim->work = work;
    claim->claimed = claimed;
    claim->info.size = sizeof claim->info;
    (void)belay_run_info(claimed, &claim->info);
    claim->run = (struct bly_jobrun){.seq = claim->info.seq,
                                     .token = claim->info.fence,
                                     .attempt = claim->info.attempt,
                                     .timeout_ns = claim->info.timeout_ns,
                                     .work = claim->info.work,
                                     .ended = on_end,
                                     .arg = claim};
    bly_runner_start(&work->runner, &claim->run);
}

static void fail(struct work *work, int result)
{
    bly_jobstore_failed(work->jobs, result);
    work->is_broken = true;
    work->is_stopping = true;
}

static int64_t monotonic_of(int64_t wall_ns)
{
    int64_t now_ns = belay_clock_now(NULL);
    int64_t delay_ns = wall_ns - belay_clock_wall(NULL);
    return wall_ns == BELAY_FOREVER ? BELAY_FOREVER
                                    : belay_time_add(now_ns, delay_ns > 0 ? delay_ns : 0);
}

/* Claims and starts what is due, as long as there are places. */
static void claim(struct work *work)
{
    belay_run *runs[CLAIM_MAX];
    uint32_t count = CLAIM_MAX;
    while (!work->is_stopping && count > 0 && work->runner.running < work->slots) {
        uint32_t wanted = work->slots - work->runner.running;
        int64_t next_ns = BELAY_FOREVER;
        int result =
            belay_jobs_session_claim(work->session, wanted < CLAIM_MAX ? wanted : CLAIM_MAX,
                                     BELAY_JOBS_CLAIM_START, runs, &count, &next_ns);
        if (result != 0) {
            fail(work, result);
            return;
        }
        work->due_ns = monotonic_of(next_ns);
        for (uint32_t i = 0; i < count; i++) {
            start(work, runs[i]);
        }
    }
}

/*
 * Orders, and what is seen to once a second.
 */

static struct claim *find_claim(struct work *work, const belay_run *claimed)
{
    for (struct bly_jobrun *run = work->runner.runs; run != NULL; run = run->next) {
        struct claim *claim = run->arg;
        if (claim->claimed == claimed) {
            return claim;
        }
    }
    return NULL;
}

static void obey(struct work *work)
{
    belay_run *runs[CLAIM_MAX];
    uint32_t count = CLAIM_MAX;
    while (count == CLAIM_MAX) {
        if (belay_jobs_session_orders(work->session, runs, CLAIM_MAX, &count) != 0) {
            return;
        }
        for (uint32_t i = 0; i < count; i++) {
            struct claim *claim = find_claim(work, runs[i]);
            if (claim != NULL) {
                claim->is_canceled = true;
                bly_runner_stop(&claim->run);
            }
        }
    }
}

static void look_after(struct work *work)
{
    int64_t now_ns = belay_clock_now(NULL);
    uint32_t rescued = 0;
    if (now_ns >= work->look_ns) {
        (void)belay_jobs_rescue(work->jobs, &rescued, NULL);
        bly_runner_trim(&work->runner);
        work->is_news = work->is_news || rescued > 0;
        work->look_ns = belay_time_add(now_ns, SECOND_NS);
    }
    if (now_ns >= work->care_ns) {
        struct bly_care care = bly_care_default();
        struct bly_care_result result;
        (void)bly_care_take(work->jobs, &care, &result);
        work->care_ns = belay_time_add(now_ns, CARE_NS);
    }
    if (now_ns >= work->watchdog_ns) {
        bly_supervisor_tell("WATCHDOG=1");
        work->watchdog_ns = belay_time_add(now_ns, work->watchdog_period_ns);
    }
}

/* Has no queue of this worker a job that is not over? */
static bool is_idle(struct work *work)
{
    for (size_t i = 0; i < work->opts->queues.count; i++) {
        belay_jobs_filter query = {.size = sizeof query,
                                   .states = BELAY_JOBS_IN_LIVE,
                                   .rows_max = 1,
                                   .queue =
                                       bly_jobstore_bytes(bly_words_at(&work->opts->queues, i))};
        belay_jobs_rows *rows = NULL;
        int result = belay_jobs_list(work->jobs, &query, &rows);
        if (result != 0) {
            fail(work, result);
            return true;
        }
        bool has_some = rows->count > 0;
        belay_jobs_rows_free(rows);
        if (has_some) {
            return false;
        }
    }
    return true;
}

/*
 * The loop.
 */

static void on_news(int fd, uint32_t events, void *arg)
{
    struct work *work = arg;
    (void)fd;
    (void)events;
    work->is_news = belay_jobs_watch_check(work->watch) || work->is_news;
}

static void stop_claiming(struct work *work)
{
    if (!work->is_stopping) {
        work->is_stopping = true;
        bly_supervisor_tell("STOPPING=1");
        if (work->runner.running > 0) {
            bly_say("nothing more is started; waiting for %" PRIu32 " (again: end them)",
                    work->runner.running);
        }
    }
}

static void change_slots(struct work *work, bool is_more)
{
    if (is_more && work->slots < work->slots_max) {
        work->slots++;
    } else if (!is_more && work->slots > 1) {
        work->slots--;
    }
}

static void on_signal(int fd, uint32_t events, void *arg)
{
    struct work *work = arg;
    bly_proc *proc = work->runner.proc;
    (void)fd;
    (void)events;
    work->is_news = true;
    for (int number = bly_signals_next(&work->signals); number != 0;
         number = bly_signals_next(&work->signals)) {
        switch (bly_signals_mean(&work->signals, number)) {
        case BLY_SIGNALS_NOTHING:
            break;
        case BLY_SIGNALS_WAIT:
            stop_claiming(work);
            break;
        case BLY_SIGNALS_END:
            bly_proc_stop_all(proc);
            break;
        case BLY_SIGNALS_KILL:
            bly_proc_kill_all(proc);
            break;
        case BLY_SIGNALS_SUSPEND:
            if (bly_proc_suspend(proc) == 0) {
                bly_signals_stop_self();
                (void)bly_proc_resume(proc);
            }
            break;
        case BLY_SIGNALS_MORE:
            change_slots(work, true);
            break;
        case BLY_SIGNALS_FEWER:
            change_slots(work, false);
            break;
        }
    }
}

static void on_notice(int notice, void *arg)
{
    struct work *work = arg;
    if (notice == BLY_PROC_NOTICE_KEEPER_LOST) {
        bly_say("keeper: it has died, and its jobs with it; start the worker again");
        work->is_broken = true;
        work->is_stopping = true;
        work->is_news = true;
    }
}

static bool is_over(struct work *work)
{
    if (bly_proc_count(work->runner.proc) > 0) {
        return false;
    }
    return work->is_stopping || (work->opts->until_idle && is_idle(work));
}

static int64_t next_turn(const struct work *work)
{
    int64_t next_ns = work->look_ns;
    next_ns = work->due_ns < next_ns ? work->due_ns : next_ns;
    return work->watchdog_ns < next_ns ? work->watchdog_ns : next_ns;
}

static void loop(struct work *work)
{
    work->is_news = true;
    for (;;) {
        look_after(work);
        bool is_due = belay_clock_now(NULL) >= work->due_ns;
        if (work->is_news || is_due) {
            work->is_news = false;
            work->due_ns = BELAY_FOREVER;
            obey(work);
            claim(work);
            if (is_over(work)) {
                return;
            }
        }
        if (!work->is_news) {
            bly_proc_poll(work->runner.proc, next_turn(work));
            work->is_news = belay_jobs_watch_check(work->watch) || work->is_news;
        }
    }
}

/*
 * Opening and closing.
 */

/* How many jobs at once the descriptor limit allows: four each for their process, two for logs. */
static uint32_t jobs_possible(void)
{
    struct rlimit limit = {0};
    rlim_t fds = 65536;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < fds) {
        fds = limit.rlim_cur;
    }
    rlim_t jobs = fds > 128 ? (fds - 128) / 8 : 1;
    return jobs < JOBS_MAX ? (uint32_t)jobs : JOBS_MAX;
}

static int open_proc(struct work *work, const belay_jobs_live *live)
{
    const char *spool = getenv("TMPDIR");
    bly_proc_opts opts = {.size = sizeof opts,
                          .jobs_max = 2 * work->slots_max,
                          .spool_dir = spool != NULL && spool[0] != '\0' ? spool : NULL,
                          .notice = on_notice,
                          .notice_arg = work,
                          .live = {.kind = BLY_PROC_FD, .fd = live->fd}};
    if (bly_proc_create(&opts, &work->runner.proc) != 0) {
        return bly_say_about("jobs", "they cannot be run: %s", strerror(errno));
    }
    signal(SIGPIPE, SIG_IGN);
    if (bly_signals_open(&work->signals) != 0 ||
        bly_proc_watch(work->runner.proc, work->signals.fd, EPOLLIN, on_signal, work) != 0) {
        return bly_say_about("signals", "%s", strerror(errno));
    }
    return 0;
}

static int open_logs(struct work *work)
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

static int open_session(struct work *work, const belay_jobs_live *live)
{
    belay_bytes queues[QUEUES_MAX];
    for (size_t i = 0; i < work->opts->queues.count; i++) {
        queues[i] = bly_jobstore_bytes(bly_words_at(&work->opts->queues, i));
    }
    belay_jobs_session_opts opts = {.size = sizeof opts,
                                    .slots = work->slots,
                                    .queues = queues,
                                    .queue_count = (uint32_t)work->opts->queues.count,
                                    .live = live};
    int result = belay_jobs_session_begin(work->jobs, &opts, &work->session);
    if (result == 0) {
        result = belay_jobs_watch_create(work->jobs, &work->watch);
    }
    if (result == 0) {
        result = bly_proc_watch(work->runner.proc, belay_jobs_watch_fd(work->watch), EPOLLIN,
                                on_news, work);
    }
    return result != 0 ? bly_jobstore_failed(work->jobs, result) : 0;
}

static int open_all(struct work *work, const belay_jobs_live *live)
{
    int status = open_proc(work, live);
    if (status == 0) {
        status = bly_jobstore_open(work->opts->common.store, BLY_JOBSTORE_WRITE, &work->jobs);
    }
    if (status == 0) {
        status = open_logs(work);
    }
    return status == 0 ? open_session(work, live) : status;
}

/* The jobs have ended before the session, and the session before the keeper lets its lock go. */
static void close_all(struct work *work)
{
    if (work->jobs != NULL) {
        (void)belay_jobs_flush(work->jobs, belay_time_add(belay_clock_now(NULL), 10 * SECOND_NS));
    }
    if (work->watch != NULL) {
        bly_proc_unwatch(work->runner.proc, belay_jobs_watch_fd(work->watch));
        belay_jobs_watch_destroy(work->watch);
    }
    (void)belay_jobs_session_end(work->session);
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

static int work_with(struct work *work, const belay_jobs_live *live)
{
    int status = open_all(work, live);
    if (status == 0) {
        bly_supervisor_tell("READY=1");
        loop(work);
        status = work->is_broken ? BLY_SAY_OWN_ERROR : work->signals.status;
    }
    close_all(work);
    return status;
}

static int work_in(struct workopts *opts)
{
    struct bly_bytes path = {0};
    belay_jobs_error error = {0};
    belay_jobs_live live = {.fd = -1};
    uint32_t possible = jobs_possible();
    struct work work = {.opts = opts,
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
    struct workopts opts = {0};
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
    .options = get_options,
    .run = work,
};
