/* control.c: stopping a batch, by errors, signals and notices of the keeper. See engine_int.h. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "engine_int.h"
#include "say.h"

/* The most survivors that are named. */
enum { STATUS_OUTPUT_GONE = 141, SURVIVORS_SHOWN = 16 };

void bly_engine_stop(struct bly_engine *engine, int status)
{
    engine->state = BLY_ENGINE_STOPPING;
    if (!engine->has_status) {
        engine->has_status = true;
        engine->status = status;
    }
}

void bly_engine_fail_output(struct bly_engine *engine)
{
    if (errno == EPIPE) {
        bly_engine_stop(engine, STATUS_OUTPUT_GONE);
    } else if (!engine->has_said_output) {
        engine->has_said_output = true;
        bly_say("standard output: %s; what follows is not shown", strerror(errno));
        bly_engine_stop(engine, BLY_SAY_OWN_ERROR);
    }
    bly_proc_stop_all(engine->proc);
}

/* Names the first few of those that could not be ended. */
static void say_survivors(const struct bly_engine *engine)
{
    pid_t pids[SURVIVORS_SHOWN];
    uint32_t count = bly_proc_survivors(engine->proc, pids, SURVIVORS_SHOWN);
    if (count == 0) {
        bly_say("processes of jobs may live on: /proc could not be read; see `ps -e`");
        return;
    }
    struct bly_bytes list = {0};
    for (uint32_t i = 0; i < count && i < SURVIVORS_SHOWN; i++) {
        bly_bytes_print(&list, i == 0 ? "%d" : ",%d", (int)pids[i]);
    }
    bly_say("%" PRIu32 " processes of jobs live on, they could not be killed; "
            "see `ps -o pid,user,stat,args -p %.*s`",
            count, (int)list.len, list.at);
    bly_bytes_free(&list);
}

void bly_engine_on_notice(int notice, void *arg)
{
    struct bly_engine *engine = arg;
    switch (notice) {
    case BLY_PROC_NOTICE_DISK_FULL:
        bly_say("spool folder: the disk is full, output is incomplete; make room or set TMPDIR");
        break;
    case BLY_PROC_NOTICE_SURVIVORS:
        say_survivors(engine);
        break;
    case BLY_PROC_NOTICE_KEEPER_STAYS:
        bly_say("keeper: process %d still waits for processes of jobs that do not die; "
                "see `ps -o pid,stat,wchan,args --ppid %d`",
                (int)bly_proc_keeper(engine->proc), (int)bly_proc_keeper(engine->proc));
        break;
    default:
        bly_say("keeper: it has died, and its jobs with it; start the batch again");
        break;
    }
    bly_engine_stop(engine, BLY_SAY_OWN_ERROR);
}

static void suspend(struct bly_engine *engine)
{
    bly_progress_clear(&engine->progress);
    if (bly_proc_suspend(engine->proc) == 0) {
        bly_signals_stop_self();
        (void)bly_proc_resume(engine->proc);
    }
}

static void say_waiting(const struct bly_engine *engine)
{
    if (engine->slots.running > 0) {
        bly_say("no more jobs are started; waiting for %" PRIu32 " (again: end them)",
                engine->slots.running);
    }
}

void bly_engine_on_signal(int fd, uint32_t events, void *arg)
{
    struct bly_engine *engine = arg;
    (void)fd;
    (void)events;
    for (int number = bly_signals_next(&engine->signals); number != 0;
         number = bly_signals_next(&engine->signals)) {
        enum bly_signals_action action = bly_signals_mean(&engine->signals, number);
        switch (action) {
        case BLY_SIGNALS_NOTHING:
            break;
        case BLY_SIGNALS_WAIT:
            bly_engine_stop(engine, engine->signals.status);
            say_waiting(engine);
            break;
        case BLY_SIGNALS_END:
            bly_proc_stop_all(engine->proc);
            break;
        case BLY_SIGNALS_KILL:
            bly_proc_kill_all(engine->proc);
            break;
        case BLY_SIGNALS_SUSPEND:
            suspend(engine);
            break;
        case BLY_SIGNALS_MORE:
        case BLY_SIGNALS_FEWER:
            bly_jobslots_change(&engine->slots, action == BLY_SIGNALS_MORE ? 1 : -1);
            break;
        }
    }
}
