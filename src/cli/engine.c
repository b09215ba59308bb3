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
#include "feed.h"
#include "files.h"
#include "halt.h"
#include "joblog.h"
#include "launch.h"
#include "printer.h"
#include "proc/proc.h"
#include "queue.h"
#include "say.h"

/* Jobs made ahead of their start: enough that a free slot never waits for the input. */
enum { AHEAD_MAX = 16, AHEAD_OF_LINES_MAX = 10000 };

enum { STATUS_OUTPUT_GONE = 141, STATUS_TOO_BIG = 126 };

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
    int64_t last_start_ns; /* --delay counts from here */
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

static size_t ahead_max(const struct bly_engine *engine)
{
    return engine->feed.lines != NULL ? AHEAD_OF_LINES_MAX : AHEAD_MAX;
}

static void on_input(int fd, uint32_t events, void *arg)
{
    struct bly_engine *engine = arg;
    (void)events;
    bly_proc_unwatch(engine->proc, fd);
    engine->waits_input = false;
}

/* Must this job be left out, since the job log has it? */
static bool is_known(struct bly_engine *engine, const bly_job *job)
{
    if (engine->opts->resume == BLY_RESUME_NO) {
        return false;
    }
    const struct bly_joblog_known *known = bly_joblog_find(&engine->joblog, job->seq);
    return known != NULL && (known->is_done || engine->opts->resume == BLY_RESUME_REST);
}

static void accept(struct bly_engine *engine, bly_job *job)
{
    if (is_known(engine, job)) {
        if (bly_printer_skip(&engine->printer, job->seq) != 0) {
            fail_output(engine);
        }
        bly_job_free(job);
        return;
    }
    const char *why = bly_queue_put(&engine->queue, job);
    if (why != NULL) {
        bly_say("job %" PRIu64 ": --limit: %s", job->seq, why);
        bly_job_free(job);
        stop(engine, BLY_SAY_OWN_ERROR);
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
            engine->tally.total = engine->feed.count;
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
    bly_bytes_clear(&engine->text);
    bly_job_show(job, &engine->text);
    int status = bly_proc_status(end);
    struct bly_joblog_entry entry = {
        .seq = job->seq,
        .start_wall_ns = job->start_wall_ns,
        .run_ns = end->start_ns > 0 ? end->end_ns - end->start_ns : 0,
        .received = end->out != NULL ? bly_output_size(end->out) : 0,
        .exit_value = end->is_timed_out ? -1 : (end->how == BLY_PROC_SIGNALED ? 0 : status),
        .signal = end->is_timed_out ? SIGTERM : (end->how == BLY_PROC_SIGNALED ? end->code : 0),
        .command = bly_bytes_c(&engine->text),
        .command_len = engine->text.len,
    };
    if (bly_joblog_add(&engine->joblog, &entry) != 0) {
        bly_say_about(engine->opts->joblog, "%s; no more jobs are started", strerror(errno));
        stop(engine, BLY_SAY_OWN_ERROR);
    }
}

/* Why a command could not be run, for a person. */
static void say_not_run(const bly_job *job, const bly_proc_end *end)
{
    struct bly_words argv = {0};
    bly_job_expand(job, &argv);
    const char *what = argv.count > 0 ? bly_words_at(&argv, 0) : "";
    if (end->stage == BLY_PROC_AT_CHDIR) {
        bly_say_about(job->cwd != NULL ? job->cwd : ".", "%s; the job runs there",
                      strerror(end->code));
    } else if (end->stage == BLY_PROC_AT_EXEC || end->stage == BLY_PROC_AT_START) {
        bly_say_about(what, "%s", end->code == ENOENT ? "command not found" : strerror(end->code));
    }
    bly_words_free(&argv);
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
    if (!is_halted) {
        log_end(engine, run->job, end);
    }
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
    if (end->how == BLY_PROC_FAILED && end->stage != BLY_PROC_AT_CANCEL) {
        say_not_run(job, end);
    }
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

/* The tag of a job, or NULL when lines have none. */
static char *make_tag(struct bly_engine *engine, const bly_job *job)
{
    if (!engine->opts->has_tag) {
        return NULL;
    }
    struct bly_words words = {0};
    struct bly_filling filling = {.args = &job->args, .seq = job->seq, .slot = job->slot};
    bly_template_expand(&engine->tag, &filling, &words);
    bly_bytes_clear(&engine->text);
    for (size_t i = 0; i < words.count; i++) {
        bly_bytes_print(&engine->text, "%s%s", i > 0 ? " " : "", bly_words_at(&words, i));
    }
    bly_words_free(&words);
    return bly_mem_text(bly_bytes_c(&engine->text), engine->text.len);
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

/* A run that proc did not take ends here as one that it could not start. */
static void end_unstarted(struct run *run, int result)
{
    bly_proc_end end = {.how = BLY_PROC_FAILED, .stage = BLY_PROC_AT_EXEC, .code = E2BIG};
    if (result != BELAY_ETOOBIG) {
        end.stage = BLY_PROC_AT_START;
        end.code = errno != 0 ? errno : EAGAIN;
    }
    run->job->tries = run->job->tries_max;
    if (result == BELAY_ETOOBIG) {
        bly_say("job %" PRIu64
                ": an argument is longer than the 131,072 bytes that the kernel allows; "
                "pass the data in a file",
                run->job->seq);
    }
    on_ended(&end, run);
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
    engine->last_start_ns = now_ns;
    run->tag = make_tag(engine, job);
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

/* When the next start is allowed by --delay. */
static int64_t start_gate(const struct bly_engine *engine)
{
    int64_t gate = 0;
    if (engine->opts->delay_ns == 0 || engine->last_start_ns == 0) {
        return 0;
    }
    return __builtin_add_overflow(engine->last_start_ns, engine->opts->delay_ns, &gate) ? INT64_MAX
                                                                                        : gate;
}

/* Starts what may start. Gives when to look again. */
static int64_t start(struct bly_engine *engine)
{
    while (engine->state == STATE_WORKING && engine->running < engine->jobs_max) {
        int64_t now_ns = belay_clock_now(NULL);
        int64_t gate = start_gate(engine);
        if (now_ns < gate && bly_queue_count(&engine->queue) > 0) {
            return gate;
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

static int open_tag(struct bly_engine *engine)
{
    const struct bly_runopts *opts = engine->opts;
    if (!opts->has_tag) {
        return 0;
    }
    struct bly_words words = {0};
    struct bly_template_opts how = {.whole = opts->whole};
    const char *text = opts->tag;
    if (text == NULL) {
        text = opts->whole != NULL ? opts->whole : "{}";
    }
    bly_words_text(&words, text);
    const char *why = bly_template_argv(&engine->tag, &words, &how);
    bly_words_free(&words);
    return why != NULL ? bly_say_about(text, "%s", why) : 0;
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

static void work(struct bly_engine *engine)
{
    /* Jobs have been given the old disposition; a reader of stdout that leaves is an error here. */
    signal(SIGPIPE, SIG_IGN);
    feed(engine);
    for (;;) {
        int64_t again_ns = start(engine);
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

/* The keeper first: it must not hold what is opened later. */
static int open_engine(struct bly_engine *engine, char **words)
{
    int status = open_proc(engine);
    if (status == 0) {
        status = bly_feed_open(&engine->feed, engine->opts, words, engine->jobs_max);
    }
    if (status == 0) {
        status = open_tag(engine);
    }
    return status == 0 ? open_joblog(engine) : status;
}

static void close_engine(struct bly_engine *engine)
{
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
    int status = open_engine(&engine, words);
    if (status == 0) {
        work(&engine);
        status = engine.status;
    }
    close_engine(&engine);
    return status;
}
