/*
 * test_reference.c: the scheduler against a plain table of jobs, over random histories.
 *
 * The reference keeps every living version in an array and finds the first one by looking at all.
 * Each step does the same to both and compares every result: codes, the job that is claimed, what
 * is dropped and why, the time of the next job. BELAY_SCHED_STEPS sets the number of steps (for
 * soak), BELAY_SCHED_SEED the seed of the first history, each of a few thousand steps.
 */
#include "sched.h"

#include <stdio.h>

#define IDS     24
#define ROWS    256
#define STEPS   150000
#define HISTORY 3000
#define MOVED   64 /* what becomes due in one claim, with aging */

typedef enum where { GONE, PENDING, DUE, HELD, RUNNING } where;

/* One version in the reference. */
typedef struct row {
    where place;
    int id; /* IDS: none */
    int64_t run_at_ns;
    int32_t priority;
    uint64_t seq;
    int64_t period_ns; /* 0: runs once */
    bool is_canceled;
    bool is_superseded;
    belay_claim *claim;
    belay_job_handle handle;
    int drops;
    int why;
    int runs;
} row;

static row rows[ROWS];
static uint64_t last_seq;
static int64_t aging;
static bool is_closing;
static bool is_discarding;
static int64_t close_ns;
static uint64_t random_state;
static int expected_drops;
static int seen_drops;

static uint32_t random_below(uint32_t n)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((random_state >> 33) % n);
}

/* The job of a row: its drop compares the reason with the one that the reference has noted. */

static int row_fn(belay_claim *claim, void *arg)
{
    row *self = arg;
    ck_assert_int_eq(self->place, RUNNING);
    self->claim = claim;
    self->runs++;
    return BELAY_PENDING;
}

static void row_drop(void *arg, int why)
{
    row *self = arg;
    seen_drops++;
    ck_assert_int_eq(self->place, GONE);
    ck_assert_int_eq(self->why, why);
    ck_assert_int_eq(++self->drops, 1);
}

/* The reference. */

static bool is_before(const row *a, const row *b, int64_t with_aging)
{
    if (with_aging == BELAY_FOREVER && a->priority != b->priority) {
        return a->priority > b->priority;
    }
    int64_t factor = with_aging == BELAY_FOREVER ? 0 : with_aging;
    int64_t key_a = a->run_at_ns - factor * a->priority;
    int64_t key_b = b->run_at_ns - factor * b->priority;
    if (key_a != key_b) {
        return key_a < key_b;
    }
    return a->priority != b->priority ? a->priority > b->priority : a->seq < b->seq;
}

static row *first_of(where place, int64_t with_aging)
{
    row *first = NULL;
    for (int i = 0; i < ROWS; i++) {
        if (rows[i].place == place && (first == NULL || is_before(&rows[i], first, with_aging))) {
            first = &rows[i];
        }
    }
    return first;
}

static row *of_id(int id, where place)
{
    for (int i = 0; i < ROWS && id < IDS; i++) {
        bool is_there = rows[i].place == place || (place == PENDING && rows[i].place == DUE);
        if (rows[i].id == id && is_there) {
            return &rows[i];
        }
    }
    return NULL;
}

static void expect_drop(row *self, int why)
{
    self->place = GONE;
    self->why = why;
    expected_drops++;
}

static bool is_owed(const row *self)
{
    return !is_closing || (!is_discarding && self->run_at_ns <= close_ns);
}

static int64_t model_next_ns(void)
{
    const row *first = first_of(PENDING, 0);
    int64_t at = first != NULL ? first->run_at_ns : BELAY_FOREVER;
    /* What is due already is due in the past: the head of the due order tells its own time. */
    const row *due = first_of(DUE, aging);
    return due != NULL && due->run_at_ns < at ? due->run_at_ns : at;
}

/* What a claim now takes; NULL: nothing. */
static row *model_pick(void)
{
    if (aging == 0) {
        row *first = first_of(PENDING, 0);
        return first != NULL && first->run_at_ns <= now() ? first : NULL;
    }
    for (int moved = 0; moved < MOVED; moved++) {
        row *first = first_of(PENDING, 0);
        if (first == NULL || first->run_at_ns > now()) {
            break;
        }
        first->place = DUE;
    }
    return first_of(DUE, aging);
}

static void model_end(row *self)
{
    row *held = of_id(self->id, HELD);
    bool goes_on =
        self->period_ns != 0 && !self->is_canceled && !self->is_superseded && !is_closing;
    if (goes_on) {
        self->place = PENDING;
        self->run_at_ns += self->period_ns;
        return;
    }
    self->place = GONE;
    if (self->period_ns != 0) {
        int why = self->is_canceled     ? BELAY_DROP_CANCELED
                  : self->is_superseded ? BELAY_DROP_REPLACED
                                        : BELAY_DROP_CLOSED;
        expect_drop(self, why);
    }
    if (held != NULL) {
        held->place = PENDING;
    }
}

static void model_close(bool discards)
{
    if (!is_closing) {
        is_closing = true;
        close_ns = now();
    }
    is_discarding = is_discarding || discards;
    for (int i = 0; i < ROWS; i++) {
        where place = rows[i].place;
        if ((place == PENDING || place == DUE || place == HELD) && !is_owed(&rows[i])) {
            expect_drop(&rows[i], BELAY_DROP_CLOSED);
        }
    }
}

/* The steps: each does the same to both and compares. */

static row *free_row(void)
{
    for (int i = 0; i < ROWS; i++) {
        if (rows[i].place == GONE) {
            return &rows[i];
        }
    }
    return NULL;
}

/* What schedule must answer, done to the reference. */
static int model_schedule(row *self, bool no_replace)
{
    row *pending = of_id(self->id, PENDING);
    row *running = of_id(self->id, RUNNING);
    row *replaced = pending != NULL ? pending : of_id(self->id, HELD);
    if (is_closing) {
        return BELAY_ECLOSED;
    }
    if (no_replace && (pending != NULL || running != NULL)) {
        return BELAY_EEXIST;
    }
    self->seq = ++last_seq;
    self->place = running != NULL ? HELD : PENDING;
    if (running != NULL) {
        running->is_superseded = true;
    }
    if (replaced != NULL) {
        expect_drop(replaced, BELAY_DROP_REPLACED);
    }
    return (running != NULL ? BELAY_STILL_RUNNING : 0) | (replaced != NULL ? BELAY_REPLACED : 0);
}

static void step_schedule(void)
{
    row *self = free_row();
    if (self == NULL) {
        return;
    }
    int id = (int)random_below(IDS + 4);
    *self = (row){.id = id < IDS ? id : IDS,
                  .run_at_ns = now() - 5 + (int64_t)random_below(60),
                  .priority = (int32_t)random_below(5) - 2,
                  .period_ns = random_below(6) == 0 ? 1 + (int64_t)random_below(20) : 0};
    belay_job job = {.size = sizeof job,
                     .run_at_ns = self->run_at_ns,
                     .priority = self->priority,
                     .fn = row_fn,
                     .arg = self,
                     .drop = row_drop,
                     .next = self->period_ns != 0 ? belay_every : NULL,
                     .period_ns = self->period_ns,
                     .missed = BELAY_MISSED_ALL,
                     .missed_max = 1000000,
                     .no_replace = random_below(8) == 0};
    int expected = model_schedule(self, job.no_replace);
    belay_id name = self->id < IDS ? BELAY_ID((uint64_t)self->id) : BELAY_NO_ID;
    ck_assert_int_eq(belay_sched_schedule(test_sched, name, &job, &self->handle), expected);
}

static void step_cancel(void)
{
    int id = (int)random_below(IDS);
    row *pending = of_id(id, PENDING);
    row *running = of_id(id, RUNNING);
    row *held = of_id(id, HELD);
    int expected = BELAY_ENOENT;
    if (running != NULL) {
        running->is_canceled = true;
        expected = BELAY_STILL_RUNNING;
    } else if (pending != NULL) {
        expected = 0;
    }
    if (pending != NULL || held != NULL) {
        expect_drop(pending != NULL ? pending : held, BELAY_DROP_CANCELED);
    }
    ck_assert_int_eq(belay_sched_cancel(test_sched, BELAY_ID((uint64_t)id)), expected);
}

static void step_cancel_handle(void)
{
    row *self = &rows[random_below(ROWS)];
    int expected = BELAY_ESTALE;
    if (self->place == RUNNING) {
        self->is_canceled = true;
        expected = BELAY_STILL_RUNNING;
    } else if (self->place != GONE) {
        expect_drop(self, BELAY_DROP_CANCELED);
        expected = 0;
    }
    if (self->handle.version != 0) {
        ck_assert_int_eq(belay_sched_cancel_handle(test_sched, self->handle), expected);
    }
}

static void step_next(void)
{
    row *expected = model_pick();
    belay_claim *claim = NULL;
    int64_t next = 0;
    int result = belay_sched_next(test_sched, BELAY_NOW, &claim, &next);
    if (expected == NULL) {
        bool has_held = false;
        for (int i = 0; i < ROWS; i++) {
            has_held = has_held || rows[i].place == HELD;
        }
        ck_assert_int_eq(result,
                         is_closing && (is_discarding || !has_held) ? BELAY_ECLOSED : BELAY_EAGAIN);
        if (result == BELAY_EAGAIN) {
            ck_assert_int_eq(next, model_next_ns());
        }
        return;
    }
    ck_assert_int_eq(result, 0);
    expected->place = RUNNING;
    expected->claim = NULL;
    ck_assert_int_eq(belay_claim_run(claim), BELAY_PENDING);
    ck_assert_ptr_eq(expected->claim, claim);
}

static void step_done(void)
{
    uint32_t start = random_below(ROWS);
    for (uint32_t i = 0; i < ROWS; i++) {
        row *self = &rows[(start + i) % ROWS];
        if (self->place == RUNNING) {
            belay_claim *claim = self->claim;
            ck_assert_int_eq(belay_claim_is_canceled(claim), self->is_canceled);
            model_end(self);
            ck_assert_int_eq(belay_claim_done(claim, (int)random_below(3) * 2), 0);
            return;
        }
    }
}

static void step_close(void)
{
    bool discards = random_below(3) == 0;
    model_close(discards);
    ck_assert_int_eq(
        belay_sched_close(test_sched, discards ? BELAY_CLOSE_DISCARD : BELAY_CLOSE_DRAIN_DUE), 0);
}

static void compare_counts(void)
{
    uint64_t counts[RUNNING + 1] = {0};
    for (int i = 0; i < ROWS; i++) {
        counts[rows[i].place]++;
    }
    belay_sched_metrics seen = stats();
    ck_assert_uint_eq(seen.pending, counts[PENDING] + counts[DUE]);
    ck_assert_uint_eq(seen.held, counts[HELD]);
    ck_assert_uint_eq(seen.running, counts[RUNNING]);
    uint64_t live = seen.pending + seen.held + seen.running;
    ck_assert_uint_le(seen.entries, 2 * live + 64);
}

static void step(void)
{
    uint32_t choice = random_below(1000);
    if (choice < 400) {
        step_schedule();
    } else if (choice < 480) {
        step_cancel();
    } else if (choice < 540) {
        step_cancel_handle();
    } else if (choice < 770) {
        step_next();
    } else if (choice < 899) {
        step_done();
    } else if (choice < 999) {
        advance(now() + (int64_t)random_below(40));
    } else if (random_below(4) == 0) {
        step_close();
    }
    ck_assert_int_eq(seen_drops, expected_drops);
}

/* Ends a history: closes, ends what runs, and sees that nothing is left. */
static void finish(void)
{
    model_close(true);
    ck_assert_int_eq(belay_sched_close(test_sched, BELAY_CLOSE_DISCARD), 0);
    for (int i = 0; i < ROWS; i++) {
        step_done();
    }
    ck_assert_int_eq(seen_drops, expected_drops);
    unmake();
}

static uint64_t setting(const char *name, uint64_t fallback)
{
    const char *text = getenv(name);
    return text != NULL ? strtoull(text, NULL, 0) : fallback;
}

static void run_histories(int64_t aging_ns)
{
    uint64_t steps = setting("BELAY_SCHED_STEPS", STEPS);
    uint64_t seed = setting("BELAY_SCHED_SEED", 1);
    for (uint64_t done = 0; done < steps; done += HISTORY, seed++) {
        printf("seed %llu\n", (unsigned long long)seed); /* the one that fails is the last */
        make_with((belay_sched_opts){.aging_ns_per_priority = aging_ns});
        memset(rows, 0, sizeof rows);
        random_state = seed;
        last_seq = 0;
        aging = aging_ns;
        is_closing = is_discarding = false;
        expected_drops = seen_drops = 0;
        for (int i = 0; i < HISTORY; i++) {
            step();
            if (i % 16 == 0) {
                compare_counts();
            }
        }
        finish();
    }
}

START_TEST(random_histories_agree_with_the_reference)
{
    run_histories(0);
}
END_TEST

START_TEST(random_histories_with_aging_agree_with_the_reference)
{
    run_histories(7);
}
END_TEST

START_TEST(random_histories_by_priority_agree_with_the_reference)
{
    run_histories(BELAY_FOREVER);
}
END_TEST

UNIT_MAIN("sched/reference", random_histories_agree_with_the_reference,
          random_histories_with_aging_agree_with_the_reference,
          random_histories_by_priority_agree_with_the_reference)
