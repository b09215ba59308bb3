/* opening.c: opens and closes what a batch needs. See engine_int.h. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "cpus.h"
#include "engine_int.h"
#include "hold.h"
#include "results.h"
#include "say.h"
#include "sems.h"
#include "tag.h"

static const char *log_path(const struct bly_engine *engine)
{
    const char *path = engine->opts->joblog;
    return path + (path[0] == '+' ? 1 : 0);
}

static int open_hold(struct bly_engine *engine)
{
    engine->hold_fd = -1;
    return engine->opts->joblog != NULL ? bly_hold_open(log_path(engine), &engine->hold_fd) : 0;
}

static int open_proc(struct bly_engine *engine)
{
    const char *spool = getenv("TMPDIR");
    bly_proc_opts opts = {.size = sizeof opts,
                          .jobs_max = engine->slots.max,
                          .spool_dir = spool != NULL && spool[0] != '\0' ? spool : NULL,
                          .notice = bly_engine_on_notice,
                          .notice_arg = engine};
    if (engine->batch.has_live) { /* who goes on sees to what this run leaves by that one */
        opts.live = (bly_proc_stream){.kind = BLY_PROC_FD, .fd = engine->batch.live.fd};
    } else if (engine->hold_fd >= 0) {
        opts.live = (bly_proc_stream){.kind = BLY_PROC_FD, .fd = engine->hold_fd};
    }
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
    return bly_joblog_open(&engine->joblog, log_path(engine), mode);
}

/* Behind the keeper: jobs have been given the mask and the dispositions of before. */
static int open_signals(struct bly_engine *engine)
{
    signal(SIGPIPE, SIG_IGN); /* a reader of stdout that leaves is an error of write here */
    if (bly_signals_open(&engine->signals) != 0 ||
        bly_proc_watch(engine->proc, engine->signals.fd, EPOLLIN, bly_engine_on_signal, engine) !=
            0) {
        return bly_say_about("signals", "%s", strerror(errno));
    }
    return 0;
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

/* The keeper before what is opened later, as it must not hold that; the lock it must hold. */
int bly_engine_open(struct bly_engine *engine, char **words)
{
    open_gate(engine);
    int status = open_hold(engine);
    if (status == 0) {
        status = bly_batch_prepare(&engine->batch, engine->opts);
    }
    if (status == 0) {
        status = open_proc(engine);
    }
    if (status == 0) {
        status = open_signals(engine);
    }
    if (status == 0) {
        status = open_joblog(engine);
    }
    if (status == 0) {
        status = bly_batch_open(&engine->batch, engine->opts, words);
    }
    if (status == 0 && engine->opts->resume == BLY_RETRY_FAILED) {
        bly_feed_open_log(&engine->feed, engine->opts, &engine->joblog);
    } else if (status == 0) {
        status = bly_feed_open(&engine->feed, engine->opts, words, engine->slots.open);
    }
    if (status == 0) {
        status = bly_tag_open(&engine->tag, engine->opts);
    }
    return status == 0 ? open_results(engine) : status;
}

void bly_engine_close(struct bly_engine *engine)
{
    bly_progress_free(&engine->progress);
    bly_printer_free(&engine->printer);
    bly_proc_destroy(engine->proc);
    bly_batch_close(&engine->batch);
    bly_signals_close(&engine->signals);
    bly_queue_free(&engine->queue);
    bly_feed_close(&engine->feed);
    bly_joblog_close(&engine->joblog);
    if (engine->hold_fd >= 0) {
        close(engine->hold_fd);
    }
    bly_launch_free(&engine->launch);
    bly_template_free(&engine->tag);
    bly_bytes_free(&engine->text);
    bly_bytes_free(&engine->head);
    bly_jobslots_free(&engine->slots);
    bly_sems_close(engine->timers);
}
