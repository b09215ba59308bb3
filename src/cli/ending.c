/*
 * ending.c: a run ends.
 *
 * A job is over when its run ended well, its tries are used up, or nothing is started any more. It
 * is then kept (--results), logged, shown and counted, in this order; one that was ended because
 * the batch was stopped is only shown: it has no line in the job log, so that --resume runs it.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "engine_int.h"
#include "outcome.h"
#include "results.h"
#include "say.h"

static void log_end(struct bly_engine *engine, const bly_job *job, const bly_proc_end *end)
{
    if (engine->opts->joblog == NULL) {
        return;
    }
    struct bly_joblog_entry entry = bly_outcome_entry(job, end, &engine->text);
    if (bly_joblog_add(&engine->joblog, &entry) != 0) {
        bly_say_about(engine->opts->joblog, "%s; no more jobs are started", strerror(errno));
        bly_engine_stop(engine, BLY_SAY_OWN_ERROR);
    }
}

static void keep_results(struct bly_engine *engine, const bly_job *job, const bly_proc_end *end)
{
    const char *folder = engine->opts->results;
    if (folder != NULL && bly_results_keep(folder, job, end->out, end->err) != 0) {
        bly_say_about(folder, "job %" PRIu64 ": %s; no more jobs are started", job->seq,
                      strerror(errno));
        bly_engine_stop(engine, BLY_SAY_OWN_ERROR);
    }
}

/* Shows what an ended job left. Takes the outputs. */
static void leave(struct bly_engine *engine, const struct bly_run *run, bly_output *out,
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
        bly_engine_fail_output(engine);
    }
}

static void count(struct bly_engine *engine, int status)
{
    struct bly_tally *tally = &engine->tally;
    tally->done++;
    tally->failed += status != 0 ? 1 : 0;
    tally->status = status;
    if (engine->state == BLY_ENGINE_WORKING && bly_halt_is_due(&engine->opts->halt, tally)) {
        bly_engine_stop(engine, bly_halt_status(&engine->opts->halt, tally));
        if (engine->opts->halt.when == BLY_HALT_NOW) {
            bly_proc_stop_all(engine->proc);
        }
    }
}

/* The job is over for good. */
static void conclude(struct bly_run *run, const bly_proc_end *end)
{
    struct bly_engine *engine = run->engine;
    bool is_halted = end->is_stopped && engine->state == BLY_ENGINE_STOPPING;
    int status = bly_proc_status(end);
    if (status == 0) {
        bly_median_add(&engine->run_times, end->end_ns - end->start_ns);
    }
    if (!is_halted) {
        keep_results(engine, run->job, end);
        log_end(engine, run->job, end);
    }
    bly_batch_end(&engine->batch, run->job, end, is_halted);
    bly_progress_clear(&engine->progress);
    leave(engine, run, end->out, end->err);
    if (!is_halted) {
        count(engine, status);
    }
    bly_job_free(run->job);
}

static void free_run(struct bly_run *run)
{
    bly_mem_free(run->tag);
    bly_mem_free(run);
}

void bly_engine_end(const bly_proc_end *end, void *arg)
{
    struct bly_run *run = arg;
    struct bly_engine *engine = run->engine;
    bly_job *job = run->job;
    bly_jobslots_give(&engine->slots, job->slot);
    bly_queue_give_permits(job);
    bly_outcome_say(job, end);
    bool fails = bly_proc_status(end) != 0;
    if (fails && job->tries < job->tries_max && engine->state == BLY_ENGINE_WORKING) {
        bly_output_free(end->out);
        bly_output_free(end->err);
        (void)bly_queue_put(&engine->queue, job);
    } else {
        conclude(run, end);
    }
    free_run(run);
}
