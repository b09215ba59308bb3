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

#include <errno.h>
#include <inttypes.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "belay/clock.h"
#include "engine_int.h"
#include "files.h"
#include "resume.h"
#include "say.h"
#include "sems.h"
#include "tag.h"

/* Jobs made ahead of their start: enough that a free slot never waits for the input. */
enum { AHEAD_MAX = 16, AHEAD_OF_LINES_MAX = 10000 };

enum { TIMEOUT_AFTER_RUNS = 3 };

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
    if (engine->feed.lines != NULL) {
        return AHEAD_OF_LINES_MAX;
    }
    return engine->batch.is_on && engine->accepted >= BLY_BATCH_FIRST ? BLY_BATCH_GROUP : AHEAD_MAX;
}

/* Below so many jobs more are made; in a store, many at a time. */
static size_t ahead_min(const struct bly_engine *engine)
{
    size_t max = ahead_max(engine);
    if (!engine->batch.is_on) {
        return max;
    }
    return max > BLY_BATCH_GROUP ? max - BLY_BATCH_GROUP : max / 4;
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
            bly_engine_fail_output(engine);
        }
    }
    engine->last_seq = seq;
}

static void refuse(struct bly_engine *engine, bly_job *job, const char *why)
{
    bly_say("job %" PRIu64 ": %s", job->seq, why);
    bly_job_free(job);
    bly_engine_stop(engine, BLY_SAY_OWN_ERROR);
}

static void put(struct bly_engine *engine, bly_job *job)
{
    const char *why = bly_queue_put(&engine->queue, job);
    if (why != NULL) {
        refuse(engine, job, why);
    }
}

/* Jobs are in the store before they are in the queue. */
static void put_group(struct bly_engine *engine)
{
    struct bly_batch *batch = &engine->batch;
    int status = bly_batch_add(batch);
    for (size_t i = 0; i < batch->group_count; i++) {
        if (status == 0) {
            put(engine, batch->group[i]);
        } else {
            bly_job_free(batch->group[i]);
        }
    }
    batch->group_count = 0;
    if (status != 0) {
        bly_engine_stop(engine, status);
    }
}

static enum bly_resume_verdict find_verdict(struct bly_engine *engine, const bly_job *job)
{
    enum bly_resume_verdict verdict =
        bly_resume_verdict(engine->opts->resume, &engine->joblog, job, &engine->text);
    if (verdict == BLY_RESUME_RUN && engine->batch.is_on) {
        verdict = bly_batch_verdict(&engine->batch, engine->opts->resume, job);
    }
    return verdict;
}

static void accept(struct bly_engine *engine, bly_job *job)
{
    enum bly_resume_verdict verdict = find_verdict(engine, job);
    skip_to(engine, job->seq, verdict == BLY_RESUME_SKIP);
    if (verdict == BLY_RESUME_DIFFERS) {
        refuse(engine, job,
               engine->batch.is_on
                   ? "the batch has another command under this number; did its input change? "
                     "--fresh starts over, or give it another --name"
                   : "the job log has another command under this number; is it the log of another "
                     "batch? Name another --joblog, or leave --resume out");
        return;
    }
    if (verdict == BLY_RESUME_SKIP) {
        bly_job_free(job);
        return;
    }
    engine->accepted++;
    if (!engine->batch.is_on) {
        put(engine, job);
    } else if (bly_batch_collect(&engine->batch, job)) {
        put_group(engine);
    }
}

/* Jobs that were made and have not started. */
static size_t waiting(const struct bly_engine *engine)
{
    return bly_queue_count(&engine->queue) + engine->batch.group_count;
}

/* Makes jobs until enough wait, or the input has no more for now. */
static void make_jobs(struct bly_engine *engine)
{
    while (engine->state == BLY_ENGINE_WORKING && !engine->is_fed && !engine->waits_input &&
           waiting(engine) < ahead_max(engine)) {
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
            bly_engine_stop(engine, BLY_SAY_OWN_ERROR);
            break;
        }
    }
}

static void feed(struct bly_engine *engine)
{
    if (waiting(engine) < ahead_min(engine)) {
        make_jobs(engine);
    }
    if (engine->batch.group_count > 0) {
        put_group(engine);
    }
}

/*
 * Starting.
 */

static void on_wrote(uint64_t id, void *arg)
{
    struct bly_run *run = arg;
    struct bly_engine *engine = run->engine;
    if (!bly_printer_is_turn(&engine->printer, run->job->seq)) {
        return;
    }
    if (bly_printer_lines(&engine->printer, engine->proc, id, 1, &run->out_from, run->tag) != 0 ||
        bly_printer_lines(&engine->printer, engine->proc, id, 2, &run->err_from, run->tag) != 0) {
        bly_engine_fail_output(engine);
    }
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
static void end_unstarted(struct bly_run *run, int result)
{
    bly_proc_end end = {.how = BLY_PROC_FAILED, .stage = BLY_PROC_AT_EXEC, .code = E2BIG};
    if (result != BELAY_ETOOBIG) {
        end.stage = BLY_PROC_AT_START;
        end.code = errno != 0 ? errno : EAGAIN;
    }
    run->job->tries = run->job->tries_max;
    bly_engine_end(&end, run);
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
    struct bly_run *run = bly_mem(sizeof *run);
    *run = (struct bly_run){.engine = engine, .job = job};
    job->slot = bly_jobslots_take(&engine->slots);
    job->tries++;
    job->start_wall_ns = belay_clock_wall(NULL);
    bly_gate_started(&engine->gate, now_ns);
    limit_time(engine, job);
    run->tag = bly_tag_make(&engine->tag, job);
    show_command(engine, job);
    struct bly_launch_calls calls = {.ended = bly_engine_end, .arg = run};
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
    while (engine->state == BLY_ENGINE_WORKING && bly_jobslots_has_free(&engine->slots)) {
        int64_t now_ns = belay_clock_now(NULL);
        int64_t open_ns = bly_gate_open_ns(&engine->gate, now_ns);
        if (now_ns < open_ns && bly_queue_count(&engine->queue) > 0) {
            return open_ns;
        }
        int64_t next_ns = BELAY_FOREVER;
        bly_job *job = bly_queue_take(&engine->queue, &next_ns);
        if (job == NULL) {
            return next_ns;
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
    if (engine->slots.running > 0) {
        return false;
    }
    return engine->state == BLY_ENGINE_STOPPING ||
           (engine->is_fed && bly_queue_count(&engine->queue) == 0);
}

static int64_t draw(struct bly_engine *engine)
{
    if (engine->progress.fd < 0) {
        return INT64_MAX;
    }
    struct bly_progress_state state = {
        .tally = &engine->tally, .running = engine->slots.running, .now_ns = belay_clock_now(NULL)};
    return bly_progress_draw(&engine->progress, &state);
}

/* While nothing runs: says what is waited for. Gives when to look again. */
static int64_t look_at_waiting(struct bly_engine *engine, int64_t start_ns)
{
    bool is_held = engine->state == BLY_ENGINE_WORKING && engine->slots.running == 0 &&
                   bly_queue_count(&engine->queue) > 0 && start_ns < BELAY_FOREVER;
    if (!is_held) {
        bly_waiting_over(&engine->waiting);
        return INT64_MAX;
    }
    return bly_waiting_look(&engine->waiting, &engine->gate, start_ns, belay_clock_now(NULL));
}

static void clear_progress(void *arg)
{
    bly_progress_clear(arg);
}

static void work(struct bly_engine *engine)
{
    feed(engine);
    for (;;) {
        int64_t again_ns = start(engine);
        int64_t say_ns = look_at_waiting(engine, again_ns);
        int64_t draw_ns = draw(engine);
        again_ns = say_ns < again_ns ? say_ns : again_ns;
        again_ns = draw_ns < again_ns ? draw_ns : again_ns;
        if (is_over(engine)) {
            break;
        }
        bly_proc_poll(engine->proc, again_ns == INT64_MAX ? BELAY_FOREVER : again_ns);
        feed(engine);
    }
    if (bly_printer_finish(&engine->printer) != 0) {
        bly_engine_fail_output(engine);
    }
    bool is_whole = engine->is_fed && engine->state == BLY_ENGINE_WORKING;
    if (bly_batch_finish(&engine->batch, is_whole, engine->last_seq) != 0) {
        bly_engine_stop(engine, BLY_SAY_OWN_ERROR);
    }
    if (!engine->has_status) {
        engine->status = bly_halt_all_status(&engine->tally);
    }
}

int bly_engine_run(const struct bly_runopts *opts, char **words, uint32_t jobs, uint32_t jobs_max)
{
    struct bly_engine engine = {.opts = opts, .hold_fd = -1};
    engine.timers = bly_sems_open();
    bly_jobslots_init(&engine.slots, jobs, jobs_max, engine.timers);
    bly_queue_init(&engine.queue, engine.timers, NULL);
    bly_printer_init(&engine.printer, STDOUT_FILENO, STDERR_FILENO, opts->keeps_order);
    int status = bly_engine_open(&engine, words);
    bly_progress_init(&engine.progress, STDERR_FILENO, opts->shows_bar, opts->shows_eta,
                      belay_clock_now(NULL));
    bly_say_before(clear_progress, &engine.progress);
    if (status == 0) {
        work(&engine);
        status = engine.status;
    }
    bly_say_before(NULL, NULL);
    bly_engine_close(&engine);
    return status;
}
