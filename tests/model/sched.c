/*
 * sched.c: the scheduler: cancel, replace and close against the claim and the end of a run.
 *
 * Versions are numbered by the scenario. At the end each accepted one has had its function called
 * or been dropped: a job that runs once exactly one of the two, a series exactly one drop, after
 * the last call.
 */
#include "scenario.h"

#include "belay/exec.h"
#include "belay/sched.h"

#define VERSIONS_MAX 5
#define DELAY_NS     1000

typedef struct version {
    uint32_t runs;     /* atomic */
    uint32_t drops;    /* atomic */
    uint32_t accepted; /* the scheduling thread's */
    uint32_t is_series;
    int status;
} version;

typedef struct world {
    belay_sched *sched;
    version versions[VERSIONS_MAX];
    uint32_t inside;   /* atomic: functions of the id running now */
    uint32_t canceled; /* atomic: cancel returned 0 before version 0 ran */
    int result;        /* of the operation that the scenario is about */
    int second_result;
    belay_job_handle handle;
    belay_claim *claim; /* atomic: of a job that another thread ends; NULL before it runs */
    uint32_t is_asked;  /* atomic: the last slot of the series has been passed over */
} world;

static world *now;

static int run_job(belay_claim *claim, void *arg)
{
    version *self = arg;
    (void)claim;
    belay_model_check(bly_fetch_add(&now->inside, 1u, BLY_RELAXED) == 0);
    belay_model_check(bly_load(&self->drops, BLY_RELAXED) == 0);
    uint32_t before = bly_fetch_add(&self->runs, 1u, BLY_RELAXED);
    belay_model_check(self->is_series || before == 0);
    belay_model_check(self != &now->versions[0] || bly_load(&now->canceled, BLY_RELAXED) == 0);
    bly_fetch_sub(&now->inside, 1u, BLY_RELAXED);
    return self->status;
}

static void drop_job(void *arg, int why)
{
    version *self = arg;
    belay_model_check(why != 0);
    belay_model_check(bly_fetch_add(&self->drops, 1u, BLY_RELAXED) == 0);
}

static int schedule_at(unsigned number, int64_t run_at_ns, belay_job_next *next)
{
    version *one = &now->versions[number];
    belay_job job = {.size = sizeof job,
                     .run_at_ns = run_at_ns,
                     .fn = run_job,
                     .drop = drop_job,
                     .arg = one,
                     .next = next,
                     .period_ns = next != NULL ? DELAY_NS : 0};
    one->is_series = next != NULL;
    int result = belay_sched_schedule(now->sched, BELAY_ID(7), &job, &now->handle);
    belay_model_check(result >= 0 || result == BELAY_ECLOSED);
    one->accepted = result >= 0;
    return result;
}

static void open_world(void)
{
    now = bly_alloc(sizeof *now);
    belay_model_check(belay_sched_create(NULL, &now->sched) == 0);
}

static void close_world(void)
{
    (void)belay_sched_close(now->sched, BELAY_CLOSE_DISCARD);
    belay_model_check(belay_sched_await(now->sched, BELAY_FOREVER) == 0);
    belay_model_check(belay_sched_destroy(now->sched) == 0);
    for (unsigned i = 0; i < VERSIONS_MAX; i++) {
        const version *one = &now->versions[i];
        uint32_t runs = bly_load(&one->runs, BLY_RELAXED);
        uint32_t drops = bly_load(&one->drops, BLY_RELAXED);
        belay_model_check(one->is_series ? drops == one->accepted : runs + drops == one->accepted);
    }
    bly_free(now);
    now = NULL;
}

/* Runs what is due, at most one job. */
static void run_due(void *arg)
{
    (void)arg;
    belay_claim *claim = NULL;
    int64_t next_ns = 0;
    int result = belay_sched_next(now->sched, BELAY_NOW, &claim, &next_ns);
    belay_model_check(result == 0 || result == BELAY_EAGAIN || result == BELAY_ECLOSED);
    if (result == 0) {
        (void)belay_claim_run(claim);
    }
}

static void wait_and_run(void *arg)
{
    (void)arg;
    belay_claim *claim = NULL;
    int64_t next_ns = 0;
    int result = belay_sched_next(now->sched, BELAY_FOREVER, &claim, &next_ns);
    belay_model_check(result == 0 || result == BELAY_ECLOSED);
    if (result == 0) {
        (void)belay_claim_run(claim);
    }
}

static void cancel_id(void *arg)
{
    (void)arg;
    uint32_t runs = bly_load(&now->versions[0].runs, BLY_RELAXED);
    now->result = belay_sched_cancel(now->sched, BELAY_ID(7));
    if (now->result == 0 && runs == 0 && bly_load(&now->versions[0].runs, BLY_RELAXED) == 0) {
        bly_store(&now->canceled, 1u, BLY_RELAXED);
    }
}

static void replace_id(void *arg)
{
    (void)arg;
    now->second_result = schedule_at(1, 0, NULL);
}

static void schedule_earlier(void *arg)
{
    (void)arg;
    (void)schedule_at(1, bly_monotonic_ns() + 10, NULL);
}

static void close_discard(void *arg)
{
    (void)arg;
    belay_model_check(belay_sched_close(now->sched, BELAY_CLOSE_DISCARD) == 0);
}

static void close_drain(void *arg)
{
    (void)arg;
    belay_model_check(belay_sched_close(now->sched, BELAY_CLOSE_DRAIN_DUE) == 0);
}

static void run_with(void (*first)(void *), void (*second)(void *), void (*here)(void *))
{
    int one = belay_model_start(first, NULL);
    int two = second != NULL ? belay_model_start(second, NULL) : -1;
    if (here != NULL) {
        here(NULL);
    }
    belay_model_join(one);
    if (two >= 0) {
        belay_model_join(two);
    }
}

static void cancel_against_claim(void *arg)
{
    (void)arg;
    open_world();
    (void)schedule_at(0, 0, NULL);
    run_with(cancel_id, NULL, run_due);
    uint32_t runs = now->versions[0].runs;
    belay_model_check(now->result == 0 || now->result == BELAY_STILL_RUNNING ||
                      now->result == BELAY_ENOENT);
    belay_model_check(now->result != BELAY_STILL_RUNNING || runs == 1);
    belay_model_check(now->result != BELAY_ENOENT || runs == 1);
    belay_model_check(now->result != 0 || runs == 0);
    close_world();
}

static void replace_against_claim(void *arg)
{
    (void)arg;
    open_world();
    (void)schedule_at(0, 0, NULL);
    run_with(replace_id, NULL, run_due);
    uint32_t runs = now->versions[0].runs;
    belay_model_check(now->second_result != BELAY_REPLACED || runs == 0);
    belay_model_check(now->second_result != BELAY_STILL_RUNNING || runs == 1);
    close_world();
}

static void cancel_replace_and_end(void *arg)
{
    (void)arg;
    open_world();
    (void)schedule_at(0, 0, NULL);
    run_with(replace_id, cancel_id, run_due);
    run_due(NULL);
    close_world();
}

static void two_claims_of_a_series(void *arg)
{
    (void)arg;
    open_world();
    (void)schedule_at(0, 0, belay_every);
    run_with(run_due, NULL, run_due);
    close_world();
}

static void series_canceled_while_it_runs(void *arg)
{
    (void)arg;
    open_world();
    (void)schedule_at(0, 0, belay_every);
    run_with(cancel_id, NULL, run_due);
    close_world();
}

static void series_replaced_while_closing(void *arg)
{
    (void)arg;
    open_world();
    (void)schedule_at(0, 0, belay_every);
    run_with(replace_id, close_discard, run_due);
    close_world();
}

static void schedule_against_close(void *arg)
{
    (void)arg;
    open_world();
    (void)schedule_at(0, 0, NULL);
    run_with(replace_id, close_drain, run_due);
    close_world();
}

static void earlier_job_wakes_the_leader(void *arg)
{
    (void)arg;
    open_world();
    (void)schedule_at(0, bly_monotonic_ns() + DELAY_NS, NULL);
    run_with(wait_and_run, schedule_earlier, NULL);
    close_world();
}

/* One of the two waiting threads gets the only job; close ends the wait of the other. */
static void schedule_then_close(void *arg)
{
    (void)arg;
    (void)schedule_at(0, bly_monotonic_ns() + 10, NULL);
    close_drain(NULL);
}

static void close_wakes_the_followers(void *arg)
{
    (void)arg;
    open_world();
    run_with(wait_and_run, wait_and_run, schedule_then_close);
    close_world();
}

/* A job that goes on elsewhere, and is ended there while its function may still be running. */
static int run_and_leave(belay_claim *claim, void *arg)
{
    (void)arg;
    belay_model_check(bly_fetch_add(&now->inside, 1u, BLY_RELAXED) == 0);
    bly_store(&now->claim, claim, BLY_RELEASE);
    bly_yield();
    bly_fetch_sub(&now->inside, 1u, BLY_RELAXED);
    bly_fetch_add(&now->versions[0].runs, 1u, BLY_RELAXED);
    return BELAY_PENDING;
}

static void schedule_leaving(void)
{
    belay_job job = {
        .size = sizeof job, .fn = run_and_leave, .drop = drop_job, .arg = &now->versions[0]};
    belay_model_check(belay_sched_schedule(now->sched, BELAY_ID(7), &job, NULL) == 0);
    now->versions[0].accepted = 1;
}

static void done_when_it_runs(void *arg)
{
    (void)arg;
    belay_claim *claim = NULL;
    while ((claim = bly_load(&now->claim, BLY_ACQUIRE)) == NULL) {
        bly_yield();
    }
    belay_model_check(belay_claim_done(claim, 0) == 0);
}

static void replace_and_run(void *arg)
{
    replace_id(arg);
    run_due(arg);
}

/* The replacement, held back or not, never runs while the first function is on a stack. */
static void done_against_return(void *arg)
{
    (void)arg;
    open_world();
    schedule_leaving();
    belay_claim *claim = NULL;
    belay_model_check(belay_sched_next(now->sched, BELAY_NOW, &claim, NULL) == 0);
    int one = belay_model_start(done_when_it_runs, NULL);
    int two = belay_model_start(replace_and_run, NULL);
    (void)belay_claim_run(claim);
    belay_model_join(one);
    belay_model_join(two);
    run_due(NULL);
    close_world();
}

static void run_claim(void *arg)
{
    (void)belay_claim_run(arg);
}

/* The thread that ends the last job is still inside when the scheduler is destroyed. */
static void destroy_while_the_end_returns(void *arg)
{
    (void)arg;
    open_world();
    (void)schedule_at(0, 0, belay_every);
    belay_claim *claim = NULL;
    belay_model_check(belay_sched_next(now->sched, BELAY_NOW, &claim, NULL) == 0);
    int one = belay_model_start(run_claim, claim);
    close_world();
    belay_model_join(one);
}

static int64_t no_more(void *arg, int64_t slot_ns, int64_t now_ns)
{
    (void)arg;
    (void)slot_ns;
    (void)now_ns;
    bly_store(&now->is_asked, 1u, BLY_RELEASE);
    return BELAY_FOREVER;
}

/* A waiting thread passes over the last slot there is; the scheduler ends while it does. */
static void destroy_while_a_slot_is_passed_over(void *arg)
{
    (void)arg;
    open_world();
    belay_job job = {.size = sizeof job,
                     .run_at_ns = bly_monotonic_ns() - DELAY_NS,
                     .fn = run_job,
                     .drop = drop_job,
                     .arg = &now->versions[0],
                     .next = no_more,
                     .missed = BELAY_MISSED_SKIP,
                     .late_max_ns = 1};
    belay_model_check(belay_sched_schedule(now->sched, BELAY_ID(7), &job, NULL) == 0);
    now->versions[0].accepted = now->versions[0].is_series = 1;
    int one = belay_model_start(wait_and_run, NULL);
    while (bly_load(&now->is_asked, BLY_ACQUIRE) == 0) {
        bly_yield();
    }
    close_world();
    belay_model_join(one);
}

/* Started on a pool: tickets, and a pool that is told to stop at once. */

static belay_exec *pool;

static void open_started(void)
{
    belay_exec_opts opts = {.size = sizeof opts, .workers = 1};
    belay_model_check(belay_exec_create(&opts, &pool) == 0);
    open_world();
    belay_model_check(belay_sched_start(now->sched, belay_exec_executor(pool), 1) == 0);
}

static void close_started(void)
{
    close_world();
    (void)belay_exec_shutdown(pool);
    belay_model_check(belay_exec_await_termination(pool, BELAY_FOREVER) == 0);
    belay_model_check(belay_exec_destroy(pool) == 0);
}

static void ticket_against_cancel(void *arg)
{
    (void)arg;
    open_started();
    (void)schedule_at(0, 0, NULL);
    cancel_id(NULL);
    close_started();
}

static void shut_pool_down(void *arg)
{
    (void)arg;
    (void)belay_exec_shutdown_now(pool);
}

static void ticket_refused(void *arg)
{
    (void)arg;
    open_started();
    int one = belay_model_start(shut_pool_down, NULL);
    (void)schedule_at(0, 0, NULL);
    belay_model_join(one);
    close_started();
}

static void drain_pool(void *arg)
{
    (void)arg;
    (void)belay_exec_shutdown(pool);
}

/* The pool ends while the scheduler still owes what is due: it ends as well, whatever ran. */
static void drain_with_a_pool_that_ends(void *arg)
{
    (void)arg;
    open_started();
    int one = belay_model_start(drain_pool, NULL);
    (void)schedule_at(0, 0, NULL);
    close_drain(NULL);
    belay_model_check(belay_sched_await(now->sched, BELAY_FOREVER) == 0);
    belay_model_join(one);
    close_started();
}

/* A canceled series on a pool, replaced meanwhile. */
static void started_series_canceled_and_replaced(void *arg)
{
    (void)arg;
    open_started();
    (void)schedule_at(0, 0, belay_every);
    int one = belay_model_start(cancel_id, NULL);
    replace_id(NULL);
    belay_model_join(one);
    close_started();
}

#define SCHED(title, function, bound)                                                              \
    {                                                                                              \
        .name = "sched/" title, .fn = function, .opts = {.preemptions = bound, .spurious = 1 }     \
    }

const scenario sched_scenarios[] = {
    SCHED("cancel-against-claim", cancel_against_claim, 3),
    SCHED("replace-against-claim", replace_against_claim, 3),
    SCHED("cancel-replace-and-end", cancel_replace_and_end, 3),
    SCHED("two-claims-of-a-series", two_claims_of_a_series, 3),
    SCHED("series-canceled-while-it-runs", series_canceled_while_it_runs, 3),
    SCHED("series-replaced-while-closing", series_replaced_while_closing, 3),
    SCHED("schedule-against-close", schedule_against_close, 3),
    SCHED("earlier-job-wakes-the-leader", earlier_job_wakes_the_leader, 3),
    SCHED("close-wakes-the-followers", close_wakes_the_followers, 2),
    SCHED("done-against-return", done_against_return, 3),
    SCHED("destroy-while-the-end-returns", destroy_while_the_end_returns, 3),
    SCHED("destroy-while-a-slot-is-passed-over", destroy_while_a_slot_is_passed_over, 3),
    SCHED("ticket-against-cancel", ticket_against_cancel, 2),
    SCHED("ticket-refused", ticket_refused, 2),
    SCHED("drain-with-a-pool-that-ends", drain_with_a_pool_that_ends, 2),
    SCHED("started-series-canceled-and-replaced", started_series_canceled_and_replaced, 2),
    {.name = NULL},
};
