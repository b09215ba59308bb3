/*
 * claims.c: the scheduler: what a claim, a cancel and an end show to other threads, and who leads
 * those that wait.
 */
#include "jobs.h"

#include "belay/test.h"

static belay_claim *claim_due(void)
{
    belay_claim *claim = NULL;
    belay_model_check(belay_sched_next(now->sched, BELAY_NOW, &claim, NULL) == 0);
    return claim;
}

static void run_claim(void *arg)
{
    (void)belay_claim_run(arg);
}

static void cancel_id(void *arg)
{
    (void)arg;
    bly_write(&now->before, 1u);
    int result = belay_sched_cancel(now->sched, BELAY_ID(1));
    belay_model_check(result == BELAY_STILL_RUNNING || result == BELAY_ENOENT);
    bly_store(&now->is_canceled, 1u, BLY_RELEASE);
}

/* A job that finds itself canceled sees what was done before. */
static int look_whether_canceled(belay_claim *claim, void *arg)
{
    (void)arg;
    for (int i = 0; i < 2; i++) {
        if (belay_claim_is_canceled(claim)) {
            belay_model_check(bly_read(&now->before) == 1);
        }
    }
    return 0;
}

static void cancel_shows_what_came_before(void *arg)
{
    belay_job job = job_of(look_whether_canceled, 0);
    (void)arg;
    open_world(NULL);
    put(1, &job);
    belay_claim *claim = claim_due();
    int one = belay_model_start(cancel_id, NULL);
    run_claim(claim);
    belay_model_join(one);
    close_world();
}

static void ask_for_token(belay_claim *claim, unsigned place)
{
    belay_model_check(belay_claim_token(claim, &now->tokens[place]) == 0);
    bly_fetch_add(&now->asked, 1u, BLY_RELEASE);
}

/* The token of an occurrence is one for all who ask, and the cancel fires it. */
static int ask_and_wait(belay_claim *claim, void *arg)
{
    (void)arg;
    bly_store(&now->claim, claim, BLY_RELEASE);
    ask_for_token(claim, 0);
    while (bly_load(&now->asked, BLY_ACQUIRE) < 2 ||
           bly_load(&now->is_canceled, BLY_ACQUIRE) == 0) {
        bly_yield();
    }
    belay_model_check(now->tokens[0] == now->tokens[1]);
    belay_model_check(belay_cancel_is_fired(now->tokens[0]));
    return 0;
}

static void ask_as_well(void *arg)
{
    belay_claim *claim;
    (void)arg;
    while ((claim = bly_load(&now->claim, BLY_ACQUIRE)) == NULL) {
        bly_yield();
    }
    ask_for_token(claim, 1);
}

static void token_for_two(void *arg)
{
    belay_job job = job_of(ask_and_wait, 0);
    (void)arg;
    open_world(NULL);
    put(1, &job);
    belay_claim *claim = claim_due();
    int one = belay_model_start(ask_as_well, NULL);
    int two = belay_model_start(cancel_id, NULL);
    run_claim(claim);
    belay_model_join(one);
    belay_model_join(two);
    close_world();
}

/* Who keeps a reference may look at the claim after its occurrence and after the scheduler. */
static int lend(belay_claim *claim, void *arg)
{
    (void)arg;
    bly_store(&now->claim, belay_claim_ref(claim), BLY_RELEASE);
    return 0;
}

static void look_and_unref(void *arg)
{
    belay_claim *claim;
    (void)arg;
    while ((claim = bly_load(&now->claim, BLY_ACQUIRE)) == NULL) {
        bly_yield();
    }
    belay_model_check(!belay_claim_is_canceled(claim));
    belay_claim_unref(claim);
}

static void claim_kept_by_another(void *arg)
{
    belay_job job = job_of(lend, 0);
    belay_job next = job_of(count_run, 0);
    (void)arg;
    open_world(NULL);
    put(1, &job);
    put(2, &next);
    belay_claim *claim = claim_due();
    int one = belay_model_start(look_and_unref, NULL);
    run_claim(claim);
    run_claim(claim_due());
    belay_model_join(one);
    belay_model_check(now->runs == 1);
    close_world();
}

/* A series ends with its first occurrence, which another thread reports: its drop sees both. */
static int write_and_leave(belay_claim *claim, void *arg)
{
    (void)arg;
    bly_store(&now->claim, claim, BLY_RELAXED);
    bly_write(&now->in_fn, 1u);
    return BELAY_PENDING;
}

static void see_both(void *arg, int why)
{
    (void)arg;
    belay_model_check(why == BELAY_DROP_ENDED);
    belay_model_check(bly_read(&now->in_fn) == 1 && bly_read(&now->elsewhere) == 1);
    bly_fetch_add(&now->drops, 1u, BLY_RELAXED);
}

static int64_t no_more(void *arg, int64_t slot_ns, int64_t now_ns)
{
    (void)arg;
    (void)slot_ns;
    (void)now_ns;
    return BELAY_FOREVER;
}

static void report(void *arg)
{
    bly_write(&now->elsewhere, 1u);
    belay_model_check(belay_claim_done(arg, 0) == 0);
    belay_model_check(bly_load(&now->claim, BLY_RELAXED) != NULL || now->drops == 0);
}

static void end_sees_both_sides(void *arg)
{
    belay_job job = job_of(write_and_leave, 0);
    job.drop = see_both;
    job.next = no_more;
    (void)arg;
    open_world(NULL);
    put(1, &job);
    belay_claim *claim = claim_due();
    int one = belay_model_start(run_claim, claim);
    while (bly_load(&now->claim, BLY_RELAXED) == NULL) {
        bly_yield();
    }
    report(claim);
    belay_model_join(one);
    belay_model_check(bly_load(&now->drops, BLY_RELAXED) == 1);
    close_world();
}

/* Who returns from await sees what the jobs did; the gate goes with the last who waits at it. */
static int write_in_fn(belay_claim *claim, void *arg)
{
    (void)claim;
    (void)arg;
    bly_write(&now->in_fn, 1u);
    return 7;
}

static void await_and_look(void *arg)
{
    (void)arg;
    belay_model_check(belay_sched_await(now->sched, BELAY_FOREVER) == 0);
    belay_model_check(bly_read(&now->in_fn) == 1);
}

static void await_sees_the_jobs(void *arg)
{
    belay_job job = job_of(write_in_fn, 0);
    (void)arg;
    open_world(NULL);
    put(1, &job);
    belay_claim *claim = claim_due();
    int one = belay_model_start(run_claim, claim);
    int two = belay_model_start(await_and_look, NULL);
    belay_model_check(belay_sched_close(now->sched, BELAY_CLOSE_DRAIN_DUE) == 0);
    await_and_look(NULL);
    belay_model_join(one);
    belay_model_join(two);
    destroy_world();
}

static void wait_until(void *arg)
{
    const int64_t *deadline_ns = arg;
    belay_claim *claim = NULL;
    int64_t next_ns = 0;
    int result = belay_sched_next(now->sched, *deadline_ns, &claim, &next_ns);
    if (result == 0) {
        (void)belay_claim_run(claim);
    } else {
        belay_model_check(result == BELAY_ETIMEDOUT || result == BELAY_ENOMEM);
    }
}

/* The leader's deadline comes before the job's time: another waiter leads from then on. */
static void leader_that_leaves(void *arg)
{
    static int64_t soon_ns, forever_ns = BELAY_FOREVER;
    (void)arg;
    open_world(NULL);
    soon_ns = bly_monotonic_ns() + DELAY_NS;
    belay_job job = job_of(count_run, soon_ns + DELAY_NS);
    put(1, &job);
    int one = belay_model_start(wait_until, &soon_ns);
    int two = belay_model_start(wait_until, &forever_ns);
    belay_model_join(one);
    if (bly_load(&now->runs, BLY_RELAXED) == 1) {
        put(1, &job);
    }
    belay_model_join(two);
    belay_model_check(now->runs >= 1);
    close_world();
}

/* A waiter that has no memory for its claim goes; the job is another's. */
static void waiter_without_memory(void *arg)
{
    static int64_t later_ns;
    (void)arg;
    now = bly_alloc(sizeof *now);
    if (now == NULL || belay_sched_create(NULL, &now->sched) != 0) {
        bly_free(now);
        return;
    }
    now->inside_max = 2;
    later_ns = bly_monotonic_ns() + 3 * DELAY_NS;
    belay_job job = job_of(count_run, later_ns - DELAY_NS);
    if (belay_sched_schedule(now->sched, BELAY_ID(1), &job, NULL) == 0) {
        int one = belay_model_start(wait_until, &later_ns);
        int two = belay_model_start(wait_until, &later_ns);
        belay_model_join(one);
        belay_model_join(two);
        belay_model_check(now->runs == 1 || bly_monotonic_ns() >= later_ns);
    }
    close_world();
}

/* Started or driven: whoever comes first decides. */
static void start_inline(void *arg)
{
    (void)arg;
    now->result = belay_sched_start(now->sched, belay_inline(), 1);
}

static void start_against_next(void *arg)
{
    belay_job job = job_of(count_run, 0);
    belay_claim *claim = NULL;
    (void)arg;
    open_world(NULL);
    put(1, &job);
    int one = belay_model_start(start_inline, NULL);
    int result = belay_sched_next(now->sched, BELAY_NOW, &claim, NULL);
    if (result == 0) {
        run_claim(claim);
    }
    belay_model_join(one);
    belay_model_check(result == 0 || result == BELAY_EBUSY);
    belay_model_check((result == 0) == (now->result == BELAY_EBUSY));
    belay_model_check(result == 0 || now->result == 0);
    belay_model_check(now->runs == 1);
    close_world();
}

/* The time of day steps to a job's time, or past it and back, while a thread waits for it. */
static belay_clock *manual;

static void step_wall(void *arg)
{
    (void)arg;
    belay_model_check(belay_manual_clock_set_wall(manual, 2 * DELAY_NS) == 0);
    belay_model_check(belay_manual_clock_set_wall(manual, 0) == 0);
    belay_model_check(belay_manual_clock_advance(manual, 2 * DELAY_NS) == 0);
}

static void wall_steps_under_a_waiter(void *arg)
{
    belay_sched_opts opts = {.size = sizeof opts};
    belay_job job = job_of(count_run, DELAY_NS);
    static int64_t forever_ns = BELAY_FOREVER;
    (void)arg;
    belay_model_check(belay_manual_clock_create(0, 0, &manual) == 0);
    opts.clock = manual;
    open_world(&opts);
    put(1, &job);
    int one = belay_model_start(step_wall, NULL);
    wait_until(&forever_ns);
    belay_model_join(one);
    belay_model_check(now->runs == 1);
    close_world();
    belay_model_check(belay_manual_clock_destroy(manual) == 0);
}

/* With aging A the job due earlier goes first, up to A for each step of priority. */
static int note_order(belay_claim *claim, void *arg)
{
    uint32_t *place = arg;
    (void)claim;
    *place = bly_fetch_add(&now->runs, 1u, BLY_RELAXED) + 1;
    return 0;
}

static void schedule_urgent(void *arg)
{
    put(2, arg);
}

static void aging_bounds_what_overtakes(void *arg)
{
    uint32_t places[3] = {0};
    belay_sched_opts opts = {.size = sizeof opts, .aging_ns_per_priority = DELAY_NS};
    (void)arg;
    open_world(&opts);
    int64_t base_ns = bly_monotonic_ns() - 10 * DELAY_NS;
    belay_job old = job_of(note_order, base_ns);
    old.arg = &places[0];
    belay_job urgent = job_of(note_order, base_ns + 3 * DELAY_NS);
    urgent.priority = 2; /* worth 2 * DELAY_NS: not enough */
    urgent.arg = &places[1];
    belay_job early = job_of(note_order, base_ns + DELAY_NS);
    early.priority = 2; /* enough */
    early.arg = &places[2];
    put(1, &old);
    put(3, &early);
    int one = belay_model_start(schedule_urgent, &urgent);
    run_claim(claim_due());
    run_claim(claim_due());
    belay_model_join(one);
    run_claim(claim_due());
    belay_model_check(places[2] == 1 && places[0] == 2 && places[1] == 3);
    close_world();
}

/* The first jobs of a scheduler, which both threads make room for. */
static void schedule_one(void *arg)
{
    const uint64_t *id = arg;
    belay_job job = job_of(count_run, bly_monotonic_ns() + DELAY_NS);
    put(*id, &job);
}

static void two_first_jobs(void *arg)
{
    static uint64_t ids[] = {1, 2};
    (void)arg;
    open_world(NULL);
    int one = belay_model_start(schedule_one, &ids[0]);
    schedule_one(&ids[1]);
    belay_model_join(one);
    belay_sched_close(now->sched, BELAY_CLOSE_DISCARD);
    belay_model_check(now->drops == 2);
    destroy_world();
}

/* Memory of many jobs goes back as they go. */
static void many_jobs_come_and_go(void *arg)
{
    (void)arg;
    open_world(NULL);
    belay_job job = job_of(count_run, bly_monotonic_ns() + DELAY_NS);
    for (uint64_t id = 1; id <= MANY; id++) {
        put(id, &job);
    }
    for (uint64_t id = 1; id <= MANY; id++) {
        belay_model_check(belay_sched_cancel(now->sched, BELAY_ID(id)) == 0);
    }
    close_world();
}

const scenario claims_scenarios[] = {
    SCHED_SCENARIO("cancel-shows-what-came-before", cancel_shows_what_came_before, NULL, 3),
    SCHED_SCENARIO("token-for-two", token_for_two, NULL, 2),
    SCHED_SCENARIO("claim-kept-by-another", claim_kept_by_another, NULL, 3),
    SCHED_SCENARIO("end-sees-both-sides", end_sees_both_sides, NULL, 3),
    SCHED_SCENARIO("await-sees-the-jobs", await_sees_the_jobs, NULL, 2),
    SCHED_SCENARIO("leader-that-leaves", leader_that_leaves, NULL, 2),
    {.name = "sched/waiter-without-memory",
     .fn = waiter_without_memory,
     .opts = {.preemptions = 2, .alloc_failures = 1}},
    SCHED_SCENARIO("start-against-next", start_against_next, NULL, 3),
    SCHED_SCENARIO("two-first-jobs", two_first_jobs, NULL, 3),
    {.name = "sched/many-jobs-come-and-go",
     .fn = many_jobs_come_and_go,
     .opts = {.preemptions = BELAY_UNBOUNDED, .steps_max = 100000}},
    SCHED_SCENARIO("wall-steps-under-a-waiter", wall_steps_under_a_waiter, NULL, 2),
    SCHED_SCENARIO("aging-bounds-what-overtakes", aging_bounds_what_overtakes, NULL, 3),
    {.name = NULL},
};
