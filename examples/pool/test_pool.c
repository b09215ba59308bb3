/*
 * test_pool.c: the pool of pool.h, tested with a clock that is moved by hand and an executor that
 * runs what the test says: no thread, no sleep, seconds of waiting in no time.
 */
#include "pool.h"

#include <belay/sched.h>
#include <belay/test.h>

#include <stdio.h>
#include <stdlib.h>

#define MS 1000000

#define CHECK(condition) ((condition) ? (void)0 : fail(#condition, __FILE__, __LINE__))

static void fail(const char *condition, const char *file, int line)
{
    fprintf(stderr, "%s:%d: not so: %s\n", file, line, condition);
    exit(EXIT_FAILURE);
}

static belay_clock *clock;
static belay_test_exec *exec;
static pool *connections;
static int opened; /* open connections */
static int open_error;

static int open_one(void)
{
    return open_error != 0 ? open_error : opened++;
}

static void close_one(int connection)
{
    CHECK(connection >= 0);
    opened--;
}

static void begin(uint32_t size, uint64_t seed)
{
    CHECK(belay_manual_clock_create(0, 0, &clock) == 0);
    belay_test_exec_opts exec_opts = {.size = sizeof exec_opts, .clock = clock, .seed = seed};
    exec_opts.order = seed != 0 ? BELAY_TEST_SEEDED : BELAY_TEST_FIFO;
    CHECK(belay_test_exec_create(&exec_opts, &exec) == 0);
    pool_opts opts = {.size = size,
                      .open = open_one,
                      .close = close_one,
                      .executor = belay_test_exec_executor(exec),
                      .clock = clock};
    CHECK(pool_create(&opts, &connections) == 0);
}

static void end(void)
{
    CHECK(pool_destroy(connections) == 0);
    CHECK(opened == 0);
    CHECK(belay_test_exec_destroy(exec) == 0);
    CHECK(belay_manual_clock_destroy(clock) == 0);
}

static void note(loan *self, int result, void *arg)
{
    (void)self;
    *(int *)arg = result;
}

static void a_returned_connection_goes_to_who_waits(void)
{
    begin(1, 0);
    loan first = {.connection = -1}, second = {.connection = -1};
    int result = 1;
    CHECK(pool_borrow(connections, &first, BELAY_FOREVER, note, NULL) == 0);
    CHECK(pool_borrow(connections, &second, BELAY_FOREVER, note, &result) == BELAY_PENDING);
    CHECK(belay_test_exec_run(exec, 0) == 0);
    pool_return(&first);
    CHECK(result == 1); /* granted, but nothing runs before the test says so */
    CHECK(belay_test_exec_run(exec, 0) == 1);
    CHECK(result == 0 && second.connection == first.connection);
    pool_return(&second);
    end();
}

static void a_borrower_gives_up_at_its_deadline(void)
{
    begin(1, 0);
    loan held = {.connection = -1}, late = {.connection = -1};
    int result = 1;
    CHECK(pool_borrow(connections, &held, BELAY_FOREVER, note, NULL) == 0);
    CHECK(pool_borrow(connections, &late, 3000 * (int64_t)MS, note, &result) == BELAY_PENDING);
    CHECK(belay_test_exec_run_until(exec, 2999 * (int64_t)MS) == 0 && result == 1);
    CHECK(belay_test_exec_run_until(exec, 3000 * (int64_t)MS) == 1 && result == BELAY_ETIMEDOUT);
    pool_return(&held); /* to nobody */
    CHECK(belay_test_exec_run(exec, 0) == 0);
    end();
}

static void a_connection_that_cannot_be_opened_gives_its_place_back(void)
{
    begin(1, 0);
    loan borrower = {.connection = -1};
    open_error = -1;
    CHECK(pool_borrow(connections, &borrower, BELAY_NOW, note, NULL) == BELAY_EIO);
    open_error = 0;
    CHECK(pool_borrow(connections, &borrower, BELAY_NOW, note, NULL) == 0);
    pool_return(&borrower);
    end();
}

#define CLIENTS 40
#define SIZE    3

/* A client: comes at some time, waits 30 ms at most, works for some time. */
typedef struct client {
    loan loan;
    int entry; /* in the history */
    int64_t work_ns;
} client;

static belay_sched *sched;
static belay_history *history;

static void at(int64_t when_ns, belay_job_fn *fn, client *arg)
{
    static uint64_t id;
    belay_job job = {.size = sizeof job, .run_at_ns = when_ns, .fn = fn, .arg = arg};
    CHECK(belay_sched_schedule(sched, BELAY_ID(++id), &job, NULL) == 0);
}

static int leave(belay_claim *claim, void *arg)
{
    client *self = arg;
    (void)claim;
    belay_history_release(history, self->entry);
    pool_return(&self->loan);
    return 0;
}

static void served(loan *borrowed, int result, void *arg)
{
    client *self = arg;
    (void)borrowed;
    belay_history_end(history, self->entry, result);
    if (result == 0) {
        at(belay_clock_now(clock) + self->work_ns, leave, self);
    }
}

static int come(belay_claim *claim, void *arg)
{
    client *self = arg;
    (void)claim;
    self->entry = belay_history_begin(history, 1);
    int64_t deadline_ns = belay_clock_now(clock) + 30 * MS;
    int result = pool_borrow(connections, &self->loan, deadline_ns, served, self);
    if (result != BELAY_PENDING) {
        served(&self->loan, result, self);
    }
    return 0;
}

/* One afternoon of clients, in an order that the seed decides. Gives how many were served. */
static uint64_t an_afternoon(uint64_t seed)
{
    static client clients[CLIENTS];
    begin(SIZE, seed);
    belay_sched_opts opts = {.size = sizeof opts, .clock = clock};
    CHECK(belay_sched_create(&opts, &sched) == 0);
    CHECK(belay_sched_start(sched, belay_test_exec_executor(exec), CLIENTS) == 0);
    CHECK(belay_history_create(SIZE, CLIENTS, &history) == 0);
    for (int i = 0; i < CLIENTS; i++) {
        clients[i] = (client){.work_ns = (int64_t)(1 + (seed * 7 + i) % 5) * 10 * MS};
        at((int64_t)(i / 4) * 10 * MS, come, &clients[i]);
    }
    CHECK(belay_test_exec_run_until(exec, 1000 * (int64_t)MS) > 0);
    CHECK(opened <= SIZE);
    CHECK(belay_history_check(history, NULL) == NULL);
    uint64_t count = belay_history_count(history, 0);
    CHECK(count + belay_history_count(history, BELAY_ETIMEDOUT) == CLIENTS);
    belay_history_destroy(history);
    CHECK(belay_sched_close(sched, BELAY_CLOSE_DISCARD) == 0);
    CHECK(belay_test_exec_run(exec, 0) >= 0);
    CHECK(belay_sched_destroy(sched) == 0);
    end();
    return count;
}

static void every_afternoon_serves_or_times_out_each_client_once(void)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        uint64_t count = an_afternoon(seed);
        CHECK(count >= SIZE && count < CLIENTS);
        CHECK(an_afternoon(seed) == count); /* a seed is one order, again and again */
    }
}

int main(void)
{
    a_returned_connection_goes_to_who_waits();
    a_borrower_gives_up_at_its_deadline();
    a_connection_that_cannot_be_opened_gives_its_place_back();
    every_afternoon_serves_or_times_out_each_client_once();
    puts("4 passed, 0 failed");
    return 0;
}
