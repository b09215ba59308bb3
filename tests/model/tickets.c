/*
 * tickets.c: a scheduler that is started on an executor: tickets that are refused, how many jobs
 * run at once, and its timer at the end.
 */
#include "jobs.h"

#include "belay/exec.h"
#include "belay/sem.h"
#include "sched/sched_int.h"

/* An executor that refuses as the explorer likes, and else runs inline. */
static uint32_t refusals; /* atomic: left */
static int refusal;

static int refuse_or_run(belay_executor *self, belay_task *task, unsigned flags)
{
    (void)self;
    uint32_t left = bly_load(&refusals, BLY_RELAXED);
    if (left != 0 && bly_cas(&refusals, &left, left - 1, BLY_RELAXED, BLY_RELAXED)) {
        return refusal;
    }
    return belay_executor_submit(belay_inline(), task, flags);
}

static belay_executor refusing = {.submit = refuse_or_run};

/* A refused ticket loses nothing; what is due runs at the retry, what is not due at its time. */
static void ticket_sent_again(void *arg)
{
    belay_job due = job_of(count_run, 0);
    (void)arg;
    open_world(NULL);
    now->inside_max = 2;
    refusals = 1 + belay_model_choose(2);
    refusal = BELAY_EFULL;
    belay_job later = job_of(count_run, bly_monotonic_ns() + DELAY_NS);
    belay_model_check(belay_sched_start(now->sched, &refusing, 1) == 0);
    put(1, &due);
    put(2, &later);
    while (bly_load(&now->runs, BLY_RELAXED) < 2) {
        (void)bly_futex_wait(&now->runs, bly_load(&now->runs, BLY_RELAXED),
                             bly_monotonic_ns() + BELAY_SCHED_TICKET_RETRY_NS);
    }
    close_world();
}

/* Once the executor is closed nothing runs, and nothing is lost before the close. */
static void executor_that_is_closed(void *arg)
{
    belay_job due = job_of(count_run, 0);
    belay_sched_metrics stats = {.size = sizeof stats};
    (void)arg;
    open_world(NULL);
    refusals = 2;
    refusal = BELAY_ECLOSED;
    belay_job later = job_of(count_run, bly_monotonic_ns() + DELAY_NS);
    put(2, &later);
    belay_model_check(belay_sched_start(now->sched, &refusing, 1) == 0);
    put(1, &due);
    put(3, &due);
    belay_model_check(belay_sched_stats(now->sched, &stats) == 0 && stats.pending == 3);
    belay_model_check(belay_sched_close(now->sched, BELAY_CLOSE_DRAIN_DUE) == 0);
    belay_model_check(belay_sched_await(now->sched, BELAY_FOREVER) == 0);
    belay_model_check(bly_load(&refusals, BLY_RELAXED) == 1); /* it is asked no more */
    belay_model_check(now->runs == 0 && now->drops == 3);
    destroy_world();
}

/* Two workers, one permit; another thread gives a second one. */
static void resize_to_two(void *arg)
{
    (void)arg;
    int result = belay_sched_resize(now->sched, 2);
    belay_model_check(result == 0 || result == BELAY_ECLOSED);
}

static void running_max_is_kept(void *arg)
{
    const bool *is_resized = arg;
    belay_exec_opts opts = {.size = sizeof opts, .workers = 2};
    belay_job job = job_of(count_run, 0);
    belay_exec *pool = NULL;
    belay_model_check(belay_exec_create(&opts, &pool) == 0);
    open_world(NULL);
    now->inside_max = *is_resized ? 2 : 1;
    belay_model_check(belay_sched_start(now->sched, belay_exec_executor(pool), 1) == 0);
    put(1, &job);
    put(2, &job);
    int one = *is_resized ? belay_model_start(resize_to_two, NULL) : -1;
    belay_model_check(belay_sched_close(now->sched, BELAY_CLOSE_DRAIN_DUE) == 0);
    belay_model_check(belay_sched_await(now->sched, BELAY_FOREVER) == 0);
    belay_model_check(now->runs == 2);
    if (one >= 0) {
        belay_model_join(one);
    }
    close_world();
    belay_model_check(belay_exec_shutdown(pool) == 0);
    belay_model_check(belay_exec_await_termination(pool, BELAY_FOREVER) == 0);
    belay_model_check(belay_exec_destroy(pool) == 0);
}

/* Two threads resize at once: the semaphore ends up with what the scheduler was told last. */
static void resize_to_three(void *arg)
{
    (void)arg;
    belay_model_check(belay_sched_resize(now->sched, 3) == 0);
}

static void two_resizes(void *arg)
{
    belay_sem_metrics permits = {.size = sizeof permits};
    (void)arg;
    open_world(NULL);
    belay_model_check(belay_sched_start(now->sched, belay_inline(), 1) == 0);
    int one = belay_model_start(resize_to_three, NULL);
    resize_to_two(NULL);
    belay_model_join(one);
    belay_model_check(belay_sem_stats(now->sched->permits, &permits) == 0);
    belay_model_check(permits.capacity == now->sched->running_max);
    belay_model_check(now->sched->told_max == now->sched->running_max);
    close_world();
}

/* The scheduler ends while its timer's function is on its way. */
static void end_while_the_timer_fires(void *arg)
{
    (void)arg;
    open_world(NULL);
    belay_model_check(belay_sched_start(now->sched, belay_inline(), 1) == 0);
    belay_job job = job_of(count_run, bly_monotonic_ns() + DELAY_NS);
    put(1, &job);
    (void)belay_sched_cancel(now->sched, BELAY_ID(1));
    close_world();
}

static bool is_resized = true, is_kept;

const scenario tickets_scenarios[] = {
    SCHED_SCENARIO("ticket-sent-again", ticket_sent_again, NULL, 2),
    SCHED_SCENARIO("executor-that-is-closed", executor_that_is_closed, NULL, 1),
    SCHED_SCENARIO("running-max-is-kept", running_max_is_kept, &is_kept, 2),
    SCHED_SCENARIO("running-max-grows", running_max_is_kept, &is_resized, 2),
    SCHED_SCENARIO("two-resizes", two_resizes, NULL, 3),
    SCHED_SCENARIO("end-while-the-timer-fires", end_while_the_timer_fires, NULL, 3),
    {.name = NULL},
};
