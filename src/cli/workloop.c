/*
 * workloop.c: the loop of `belay work`. See work_int.h.
 *
 * One loop, around the keeper: it claims as many due jobs as there are free places, starts them,
 * and reports how they ended. A claim marks its jobs as started in the same transaction, so that
 * none is claimed that does not start at once. It looks again when something was committed, when
 * the next job is due, and once a second, to see after jobs whose worker has died.
 */
#include <inttypes.h>
#include <string.h>

#include "belay/clock.h"
#include "care.h"
#include "notice.h"
#include "say.h"
#include "supervisor.h"
#include "work_int.h"

#define CARE_NS (3600 * BLY_WORK_SECOND_NS)

enum { CLAIM_MAX = 100 };

/* A claimed job, from its claim until its end was handed over. */
struct claim {
    struct bly_jobrun run;
    struct bly_work *work;
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
    struct bly_work *work = claim->work;
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

static void start(struct bly_work *work, belay_run *claimed)
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

static void fail(struct bly_work *work, int result)
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
static void claim(struct bly_work *work)
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

static struct claim *find_claim(struct bly_work *work, const belay_run *claimed)
{
    for (struct bly_jobrun *run = work->runner.runs; run != NULL; run = run->next) {
        struct claim *claim = run->arg;
        if (claim->claimed == claimed) {
            return claim;
        }
    }
    return NULL;
}

static void obey(struct bly_work *work)
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

static void look_after(struct bly_work *work)
{
    int64_t now_ns = belay_clock_now(NULL);
    uint32_t rescued = 0;
    if (now_ns >= work->look_ns) {
        (void)belay_jobs_rescue(work->jobs, &rescued, NULL);
        bly_runner_trim(&work->runner);
        work->is_news = work->is_news || rescued > 0;
        work->look_ns = belay_time_add(now_ns, BLY_WORK_SECOND_NS);
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

bool bly_work_is_idle(struct bly_work *work)
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

void bly_work_on_news(int fd, uint32_t events, void *arg)
{
    struct bly_work *work = arg;
    (void)fd;
    (void)events;
    work->is_news = belay_jobs_watch_check(work->watch) || work->is_news;
}

static void stop_claiming(struct bly_work *work)
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

static void change_slots(struct bly_work *work, bool is_more)
{
    if (is_more && work->slots < work->slots_max) {
        work->slots++;
    } else if (!is_more && work->slots > 1) {
        work->slots--;
    }
}

void bly_work_on_signal(int fd, uint32_t events, void *arg)
{
    struct bly_work *work = arg;
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

void bly_work_on_notice(int notice, void *arg)
{
    struct bly_work *work = arg;
    if (notice == BLY_PROC_NOTICE_KEEPER_LOST) {
        bly_say("keeper: it has died, and its jobs with it; start the worker again");
        work->is_broken = true;
        work->is_stopping = true;
        work->is_news = true;
    }
}

static bool is_over(struct bly_work *work)
{
    if (bly_proc_count(work->runner.proc) > 0) {
        return false;
    }
    return work->is_stopping || (work->opts->until_idle && bly_work_is_idle(work));
}

static int64_t next_turn(const struct bly_work *work)
{
    int64_t next_ns = work->look_ns;
    next_ns = work->due_ns < next_ns ? work->due_ns : next_ns;
    return work->watchdog_ns < next_ns ? work->watchdog_ns : next_ns;
}

void bly_work_loop(struct bly_work *work)
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
