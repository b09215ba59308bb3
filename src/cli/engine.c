/*
 * engine.c: the loop of a batch.
 *
 * A job is, in this order: fed (made from the input), queued, running in a slot, and left (shown,
 * logged, counted). A failed run goes back to the queue while tries are left. Everything happens in
 * callbacks of bly_proc_poll or between two calls of it, so there is nothing to lock.
 *
 * The loop ends when nothing runs and either the input is used up and the queue empty, or the batch
 * has been stopped. `status` is decided when the batch is stopped (by --halt, by an error of the
 * command's own) or at the end.
 */
#include "engine.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "belay/clock.h"
#include "cpus.h"
#include "feed.h"
#include "files.h"
#include "gate.h"
#include "halt.h"
#include "joblog.h"
#include "launch.h"
#include "median.h"
#include "outcome.h"
#include "printer.h"
#include "proc/proc.h"
#include "progress.h"
#include "queue.h"
#include "results.h"
#include "resume.h"
#include "say.h"
#include "tag.h"

/* Jobs made ahead of their start: enough that a free slot never waits for the input. */
enum { AHEAD_MAX = 16, AHEAD_OF_LINES_MAX = 10000 };

enum { STATUS_OUTPUT_GONE = 141, TIMEOUT_AFTER_RUNS = 3 };

enum state {
    STATE_WORKING,  /* jobs are started */
    STATE_STOPPING, /* none is started; what runs is waited for */
};

struct bly_engine {
    const struct bly_runopts *opts;
    struct bly_feed feed;
    uint32_t jobs_max;
    bly_proc *proc;
    struct bly_queue queue;
    struct bly_printer printer;
    struct bly_joblog joblog;
    struct bly_launch launch;
    struct bly_template tag;
    struct bly_bytes text; /* scratch */
    struct bly_bytes head; /* scratch */
    bool *slots;           /* slots[n]: slot n + 1 is taken */
    uint32_t running;
    struct bly_tally tally;
    enum state state;
    bool is_fed;      /* the input has ended */
    bool waits_input; /* its descriptor is watched */
    bool has_status;
    int status;
    uint64_t accepted; /* jobs that were not skipped */
    uint64_t last_seq; /* the number of the job made last */
    struct bly_gate gate;
    struct bly_median run_times; /* of what ended well */
    struct bly_progress progress;
};

/* A run of a job, from its start to its end. */
struct run {
    struct bly_engine *engine;
    bly_job *job;
    uint64_t out_from, err_from; /* shown by lines */
    char *tag;
};

/* Stops the batch: what runs is waited for, nothing else is started. The first status counts. */
static void stop(struct bly_engine *engine, int status)
{
    engine->state = STATE_STOPPING;
    if (!engine->has_status) {
        engine->has_status = true;
        engine->status = status;
    }
}

/* Says why stdout, stderr or a spooled output failed, and stops. */
static void fail_output(struct bly_engine *engine)
{
    if (errno == EPIPE) {
        stop(engine, STATUS_OUTPUT_GONE);
    } else {
        bly_say("output: %s; what follows is not shown", strerror(errno));
        stop(engine, BLY_SAY_OWN_ERROR);
    }
    bly_proc_stop_all(engine->proc);
}

/*
 * Feeding.
 */

/* What needs the number of all jobs needs all of the input. */
static bool wants_total(const struct bly_runopts *opts)
{
    return opts->shows_bar || opts->shows_eta || opts->halt.percent > 0;
}

static size_t ahead_max(const struct bly_engine *engine)
{
    if (wants_total(engine->opts)) {
        return SIZE_MAX;
    }
    return engine->feed.lines != NULL ? AHEAD_OF_LINES_MAX : AHEAD_MAX;
}

static void on_input(int fd, uint32_t events, void *arg)
{
    struct bly_engine *engine = arg;
    (void)events;
    bly_proc_unwatch(engine->proc, fd);
    engine->waits_input = false;
}

/*
 * Jobs that will leave nothing: those before `seq` that were never made, with is_skipped `seq`
 * too.
 */
static void skip_to(struct bly_engine *engine, uint64_t seq, bool is_skipped)
{
    uint64_t end = is_skipped ? seq : seq - 1;
    while (engine->last_seq < end) {
        if (bly_printer_skip(&engine->printer, ++engine->last_seq) != 0) {
            fail_output(engine);
        }
    }
    engine->last_seq = seq;
}

static void refuse(struct bly_engine *engine, bly_job *job, const char *why)
{
    bly_say("job %" PRIu64 ": %s", job->seq, why);
    bly_job_free(job);
    stop(engine, BLY_SAY_OWN_ERROR);
}

static void accept(struct bly_engine *engine, bly_job *job)
{
    enum bly_resume_verdict verdict =
        bly_resume_verdict(engine->opts->resume, &engine->joblog, job, &engine->text);
    skip_to(engine, job->seq, verdict == BLY_RESUME_SKIP);
    if (verdict == BLY_RESUME_DIFFERS) {
        refuse(engine, job,
               "the job log has another command under this number; is it the log of another "
               "batch? Name another --joblog, or leave --resume out");
        return;
    }
    if (verdict == BLY_RESUME_SKIP) {
        bly_job_free(job);
        return;
    }
    engine->accepted++;
    const char *why = bly_queue_put(&engine->queue, job);
    if (why != NULL) {
        refuse(engine, job, why);
    }
}

/* Makes jobs until enough wait, or the input has no more for now. */
static void feed(struct bly_engine *engine)
{
    while (engine->state == STATE_WORKING && !engine->is_fed && !engine->waits_input &&
           bly_queue_count(&engine->queue) < ahead_max(engine)) {
        bly_job *job = NULL;
        switch (bly_feed_next(&engine->feed, &job)) {
        case BLY_INPUT_RECORD:
            accept(engine, job);
            break;
        case BLY_INPUT_END:
            engine->is_fed = true;
            engine->tally.total = engine->accepted;
            break;
        case BLY_INPUT_WAIT:
            engine->waits_input = bly_proc_watch(engine->proc, bly_feed_fd(&engine->feed), EPOLLIN,
                                                 on_input, engine) == 0;
            break;
        case BLY_INPUT_BROKEN:
            stop(engine, BLY_SAY_OWN_ERROR);
            break;
        }
    }
}

/*
 * Ending.
 */

static void log_end(struct bly_engine *engine, const bly_job *job, const bly_proc_end *end)
{
    if (engine->opts->joblog == NULL) {
        return;
    }
    struct bly_joblog_entry entry = bly_outcome_entry(job, end, &engine->text);
    if (bly_joblog_add(&engine->joblog, &entry) != 0) {
        bly_say_about(engine->opts->joblog, "%s; no more jobs are started", strerror(errno));
        stop(engine, BLY_SAY_OWN_ERROR);
    }
}

static void keep_results(struct bly_engine *engine, const bly_job *job, const bly_proc_end *end)
{
    const char *folder = engine->opts->results;
    if (folder != NULL && bly_results_keep(folder, job, end->out, end->err) != 0) {
        bly_say_about(folder, "job %" PRIu64 ": %s; no more jobs are started", job->seq,
                      strerror(errno));
        stop(engine, BLY_SAY_OWN_ERROR);
    }
}

/* Shows what an ended job left. Takes the outputs. */
static void leave(struct bly_engine *engine, const struct run *run, bly_output *out,
                  bly_output *err)
{
    struct bly_leaving leaving = {.out = out,
                                  .err = err,
                                  .out_from = run->out_from,
                                  .err_from = run->err_from,
                                  .tag = run->tag};
    if (engine->opts->shows_commands_out) {
        bly_bytes_clear(&engine->head);
        bly_job_show(run->job, &engine->head);
        bly_bytes_byte(&engine->head, '\n');
        leaving.head = engine->head.at;
    }
    if (bly_printer_leave(&engine->printer, run->job->seq, &leaving) != 0) {
        fail_output(engine);
    }
}

static void count(struct bly_engine *engine, int status)
{
    struct bly_tally *tally = &engine->tally;
    tally->done++;
    tally->failed += status != 0 ? 1 : 0;
    tally->status = status;
    if (engine->state == STATE_WORKING && bly_halt_is_due(&engine->opts->halt, tally)) {
        stop(engine, bly_halt_status(&engine->opts->halt, tally));
        if (engine->opts->halt.when == BLY_HALT_NOW) {
            bly_proc_stop_all(engine->proc);
        }
    }
}

/* The job is over for good. */
static void conclude(struct run *run, const bly_proc_end *end)
{
    struct bly_engine *engine = run->engine;
    bool is_halted = end->is_stopped && engine->state == STATE_STOPPING;
    int status = bly_proc_status(end);
    if (status == 0) {
        bly_median_add(&engine->run_times, end->end_ns - end->start_ns);
    }
    if (!is_halted) {
        keep_results(engine, run->job, end);
        log_end(engine, run->job, end);
    }
    bly_progress_clear(&engine->progress);
    leave(engine, run, end->out, end->err);
    if (!is_halted) {
        count(engine, status);
    }
    bly_job_free(run->job);
}

static void free_run(struct run *run)
{
    bly_mem_free(run->tag);
    bly_mem_free(run);
}

static void on_ended(const bly_proc_end *end, void *arg)
{
    struct run *run = arg;
    struct bly_engine *engine = run->engine;
    bly_job *job = run->job;
    assert(engine->running > 0 && engine->slots[job->slot - 1]);
    engine->running--;
    engine->slots[job->slot - 1] = false;
    bly_queue_give_permits(&engine->queue, job);
    bly_outcome_say(job, end);
    bool fails = bly_proc_status(end) != 0;
    if (fails && job->tries < job->tries_max && engine->state == STATE_WORKING) {
        bly_output_free(end->out);
        bly_output_free(end->err);
        (void)bly_queue_put(&engine->queue, job);
    } else {
        conclude(run, end);
    }
    free_run(run);
}

/*
 * Starting.
 */

static void on_wrote(uint64_t id, void *arg)
{
    struct run *run = arg;
    struct bly_engine *engine = run->engine;
    if (!bly_printer_is_turn(&engine->printer, run->job->seq)) {
        return;
    }
    if (bly_printer_lines(&engine->printer, engine->proc, id, 1, &run->out_from, run->tag) != 0 ||
        bly_printer_lines(&engine->printer, engine->proc, id, 2, &run->err_from, run->tag) != 0) {
        fail_output(engine);
    }
}

static uint32_t free_slot(const struct bly_engine *engine)
{
    uint32_t slot = 0;
    while (slot < engine->jobs_max && engine->slots[slot]) {
        slot++;
    }
    assert(slot < engine->jobs_max);
    return slot + 1;
}

static void show_command(struct bly_engine *engine, const bly_job *job)
{
    if (engine->opts->shows_commands_err) {
        bly_bytes_clear(&engine->text);
        bly_job_show(job, &engine->text);
        bly_bytes_byte(&engine->text, '\n');
        bly_files_write(STDERR_FILENO, engine->text.at, engine->text.len);
    }
}

/* A run that proc did not take ends here as one that could not be started. */
static void end_unstarted(struct run *run, int result)
{
    bly_proc_end end = {.how = BLY_PROC_FAILED, .stage = BLY_PROC_AT_EXEC, .code = E2BIG};
    if (result != BELAY_ETOOBIG) {
        end.stage = BLY_PROC_AT_START;
        end.code = errno != 0 ? errno : EAGAIN;
    }
    run->job->tries = run->job->tries_max;
    on_ended(&end, run);
}

/* --timeout N%: of the median of what has ended well, once there are enough of these. */
static void limit_time(struct bly_engine *engine, bly_job *job)
{
    double percent = engine->opts->timeout_percent;
    if (percent > 0 && engine->run_times.count >= TIMEOUT_AFTER_RUNS) {
        double median = (double)bly_median_get(&engine->run_times);
        job->timeout_ns = (int64_t)(median * percent / 100);
    }
}

static void start_one(struct bly_engine *engine, bly_job *job, int64_t now_ns)
{
    struct run *run = bly_mem(sizeof *run);
    *run = (struct run){.engine = engine, .job = job};
    job->slot = free_slot(engine);
    job->tries++;
    job->start_wall_ns = belay_clock_wall(NULL);
    engine->slots[job->slot - 1] = true;
    engine->running++;
    bly_gate_started(&engine->gate, now_ns);
    limit_time(engine, job);
    run->tag = bly_tag_make(&engine->tag, job);
    show_command(engine, job);
    struct bly_launch_calls calls = {.ended = on_ended, .arg = run};
    if (engine->opts->mode == BLY_OUTPUT_LINES) {
        calls.wrote = on_wrote;
    }
    uint64_t id = 0;
    int result = bly_launch(&engine->launch, engine->proc, engine->opts, job, &calls, &id);
    if (result != 0) {
        end_unstarted(run, result);
    }
}

/* Starts what may start. Gives when to look again. */
static int64_t start(struct bly_engine *engine)
{
    while (engine->state == STATE_WORKING && engine->running < engine->jobs_max) {
        int64_t now_ns = belay_clock_now(NULL);
        int64_t open_ns = bly_gate_open_ns(&engine->gate, now_ns);
        if (now_ns < open_ns && bly_queue_count(&engine->queue) > 0) {
            return open_ns;
        }
        bly_job *job = bly_queue_take(&engine->queue, now_ns);
        if (job == NULL) {
            return bly_queue_next_ns(&engine->queue);
        }
        start_one(engine, job, now_ns);
        feed(engine);
    }
    return INT64_MAX;
}

/*
 * Opening and closing.
 */

static bool is_over(const struct bly_engine *engine)
{
    if (engine->running > 0) {
        return false;
    }
    return engine->state == STATE_STOPPING ||
           (engine->is_fed && bly_queue_count(&engine->queue) == 0);
}

static void on_notice(int notice, void *arg)
{
    struct bly_engine *engine = arg;
    if (notice == BLY_PROC_NOTICE_DISK_FULL) {
        bly_say("spool folder: the disk is full, output is incomplete; make room or set TMPDIR");
    } else {
        bly_say("keeper: it has died, and its jobs with it; start the batch again");
    }
    stop(engine, BLY_SAY_OWN_ERROR);
}

static int open_proc(struct bly_engine *engine)
{
    const char *spool = getenv("TMPDIR");
    bly_proc_opts opts = {.size = sizeof opts,
                          .jobs_max = engine->jobs_max,
                          .spool_dir = spool != NULL && spool[0] != '\0' ? spool : NULL,
                          .notice = on_notice,
                          .notice_arg = engine};
    if (bly_proc_create(&opts, &engine->proc) != 0) {
        return bly_say_about(opts.spool_dir != NULL ? opts.spool_dir : "/tmp",
                             "jobs cannot be run: %s; is the folder writable?", strerror(errno));
    }
    return 0;
}

static int open_joblog(struct bly_engine *engine)
{
    const char *path = engine->opts->joblog;
    if (path == NULL) {
        return 0;
    }
    enum bly_joblog_mode mode = BLY_JOBLOG_NEW;
    if (engine->opts->resume != BLY_RESUME_NO) {
        mode = BLY_JOBLOG_READ;
    } else if (path[0] == '+') {
        mode = BLY_JOBLOG_APPEND;
    }
    return bly_joblog_open(&engine->joblog, path + (path[0] == '+' ? 1 : 0), mode);
}

static int64_t draw(struct bly_engine *engine)
{
    if (engine->progress.fd < 0) {
        return INT64_MAX;
    }
    struct bly_progress_state state = {
        .tally = &engine->tally, .running = engine->running, .now_ns = belay_clock_now(NULL)};
    return bly_progress_draw(&engine->progress, &state);
}

static void clear_progress(void *arg)
{
    bly_progress_clear(arg);
}

static void work(struct bly_engine *engine)
{
    /* Jobs have been given the old disposition; a reader of stdout that leaves is an error here. */
    signal(SIGPIPE, SIG_IGN);
    feed(engine);
    for (;;) {
        int64_t again_ns = start(engine);
        int64_t draw_ns = draw(engine);
        again_ns = draw_ns < again_ns ? draw_ns : again_ns;
        if (is_over(engine)) {
            break;
        }
        bly_proc_poll(engine->proc, again_ns == INT64_MAX ? BELAY_FOREVER : again_ns);
        feed(engine);
    }
    if (bly_printer_finish(&engine->printer) != 0) {
        fail_output(engine);
    }
    if (!engine->has_status) {
        engine->status = bly_halt_all_status(&engine->tally);
    }
}

static int open_results(struct bly_engine *engine)
{
    const char *folder = engine->opts->results;
    if (folder != NULL && bly_results_open(folder) != 0) {
        return bly_say_about(folder, "%s; results cannot be kept there", strerror(errno));
    }
    return 0;
}

static void open_gate(struct bly_engine *engine)
{
    const struct bly_runopts *opts = engine->opts;
    bool needs_cpus = opts->load.kind != BLY_AMOUNT_NONE;
    engine->gate = (struct bly_gate){
        .delay_ns = opts->delay_ns,
        .load_max = bly_number_load(&opts->load, needs_cpus ? bly_cpus_count() : 1),
        .memory_least = opts->memory_free,
        .load = bly_cpus_load,
        .memory = bly_cpus_memory,
    };
}

/* The keeper first: it must not hold what is opened later. */
static int open_engine(struct bly_engine *engine, char **words)
{
    int status = open_proc(engine);
    if (status == 0) {
        status = open_joblog(engine);
    }
    if (status == 0 && engine->opts->resume == BLY_RETRY_FAILED) {
        bly_feed_open_log(&engine->feed, engine->opts, &engine->joblog);
    } else if (status == 0) {
        status = bly_feed_open(&engine->feed, engine->opts, words, engine->jobs_max);
    }
    if (status == 0) {
        status = bly_tag_open(&engine->tag, engine->opts);
    }
    return status == 0 ? open_results(engine) : status;
}

static void close_engine(struct bly_engine *engine)
{
    bly_progress_free(&engine->progress);
    bly_printer_free(&engine->printer);
    bly_proc_destroy(engine->proc);
    bly_queue_free(&engine->queue);
    bly_feed_close(&engine->feed);
    bly_joblog_close(&engine->joblog);
    bly_launch_free(&engine->launch);
    bly_template_free(&engine->tag);
    bly_bytes_free(&engine->text);
    bly_bytes_free(&engine->head);
    bly_mem_free(engine->slots);
}

int bly_engine_run(const struct bly_runopts *opts, char **words, uint32_t jobs)
{
    assert(jobs > 0);
    struct bly_engine engine = {.opts = opts, .jobs_max = jobs};
    engine.slots = bly_mem(jobs * sizeof *engine.slots);
    bly_queue_init(&engine.queue);
    bly_printer_init(&engine.printer, STDOUT_FILENO, STDERR_FILENO, opts->keeps_order);
    open_gate(&engine);
    int status = open_engine(&engine, words);
    bly_progress_init(&engine.progress, STDERR_FILENO, opts->shows_bar, opts->shows_eta,
                      belay_clock_now(NULL));
    bly_say_before(clear_progress, &engine.progress);
    if (status == 0) {
        work(&engine);
        status = engine.status;
    }
    bly_say_before(NULL, NULL);
    close_engine(&engine);
    return status;
}
