/* Waiting until nothing is held, granted, waiting or undelivered. */
#include "sem_unit.h"

#include "fault.h"
#include "hooked_clock.h"

static belay_lease held;

typedef struct idler {
    pthread_t thread;
    int64_t deadline_ns;
    int result;
    bool destroys;
} idler;

static void *await_idle(void *arg)
{
    idler *self = arg;
    self->result = belay_sem_await_idle(unit_sem, self->deadline_ns);
    if (self->destroys && self->result == 0) {
        self->result = belay_sem_destroy(unit_sem);
    }
    return NULL;
}

static void start(idler *self, uint32_t nth, int64_t deadline_ns)
{
    self->deadline_ns = deadline_ns;
    ck_assert_int_eq(pthread_create(&self->thread, NULL, await_idle, self), 0);
    ck_assert_int_eq(belay_manual_clock_await_sleepers(unit_clock, nth), 0);
}

static void finish(idler *self, int result)
{
    ck_assert_int_eq(pthread_join(self->thread, NULL), 0);
    ck_assert_int_eq(self->result, result);
}

START_TEST(an_idle_semaphore_is_not_waited_for)
{
    unit_open(1);
    ck_assert_int_eq(belay_sem_await_idle(NULL, BELAY_FOREVER), BELAY_EINVAL);
    ck_assert_int_eq(belay_sem_await_idle(unit_sem, BELAY_NOW), 0);
    ck_assert_int_eq(belay_sem_await_idle(unit_sem, BELAY_FOREVER), 0);
    unit_close();
}
END_TEST

START_TEST(await_idle_does_not_wait_past_its_deadline)
{
    unit_open(1);
    unit_hold(&held, 1);
    ck_assert_int_eq(belay_sem_await_idle(unit_sem, BELAY_NOW), BELAY_EAGAIN);
    ck_assert_int_eq(belay_sem_await_idle(unit_sem, unit_after(0)), BELAY_ETIMEDOUT);
    unit_release(&held);
    unit_close();
}
END_TEST

START_TEST(the_last_release_ends_the_wait)
{
    idler self = {0};
    belay_lease second = BELAY_LEASE_INIT;
    unit_open(2);
    unit_hold(&held, 1);
    unit_hold(&second, 1);
    start(&self, 1, BELAY_FOREVER);
    unit_release(&held);
    ck_assert_int_eq(belay_manual_clock_await_sleepers(unit_clock, 1), 0);
    unit_release(&second);
    finish(&self, 0);
    unit_close();
}
END_TEST

START_TEST(all_threads_that_wait_for_it_are_told)
{
    idler selves[3] = {0};
    unit_open(1);
    unit_hold(&held, 1);
    for (uint32_t i = 0; i < 3; i++) {
        start(&selves[i], i + 1, BELAY_FOREVER);
    }
    unit_release(&held);
    for (int i = 0; i < 3; i++) {
        finish(&selves[i], 0);
    }
    unit_close();
}
END_TEST

START_TEST(await_idle_times_out_at_its_deadline)
{
    idler self = {0};
    unit_open(1);
    unit_hold(&held, 1);
    start(&self, 1, unit_after(100));
    unit_advance(100);
    finish(&self, BELAY_ETIMEDOUT);
    unit_release(&held);
    unit_close();
}
END_TEST

static belay_test_exec *exec;

START_TEST(await_idle_waits_for_callbacks_to_begin)
{
    idler self = {0};
    waiter canceled = unit_waiter();
    unit_open_clock();
    ck_assert_int_eq(belay_test_exec_create(NULL, &exec), 0);
    belay_sem_opts opts = unit_opts(1);
    opts.executor = belay_test_exec_executor(exec);
    ck_assert_int_eq(belay_sem_create(&opts, &unit_sem), 0);
    unit_hold(&held, 1);
    unit_queue(&canceled, 1);
    ck_assert_int_eq(belay_lease_cancel(&canceled.lease), 0);
    unit_release(&held);
    start(&self, 1, BELAY_FOREVER);
    ck_assert_int_eq(belay_test_exec_step(exec), 1);
    finish(&self, 0);
    ck_assert_int_eq(belay_sem_destroy(unit_sem), 0);
    ck_assert_int_eq(belay_test_exec_destroy(exec), 0);
    ck_assert_int_eq(belay_manual_clock_destroy(unit_clock), 0);
}
END_TEST

static void then_await_idle(waiter *self)
{
    ck_assert_int_eq(belay_sem_await_idle(unit_sem, BELAY_NOW), BELAY_EAGAIN);
    ck_assert_int_eq(belay_sem_await_idle(unit_sem, unit_after(0)), BELAY_ETIMEDOUT);
    ck_assert_int_eq(belay_sem_await_idle(unit_sem, BELAY_FOREVER), BELAY_EDEADLK);
    unit_release(&self->lease);
    ck_assert_int_eq(belay_sem_await_idle(unit_sem, BELAY_FOREVER), 0);
}

START_TEST(await_idle_in_an_inline_callback_never_waits)
{
    waiter self = unit_waiter();
    self.then = then_await_idle;
    unit_open(1);
    unit_hold(&held, 1);
    unit_queue(&self, 1);
    unit_release(&held);
    unit_told(&self, 0, 1);
    unit_close();
}
END_TEST

START_TEST(await_idle_without_memory_for_its_thread_is_refused)
{
    unit_open(1);
    unit_hold(&held, 1);
    fault_alloc_from(1);
    ck_assert_int_eq(belay_sem_await_idle(unit_sem, BELAY_FOREVER), BELAY_ENOMEM);
    ck_assert_int_eq(belay_sem_await_idle(unit_sem, BELAY_NOW), BELAY_EAGAIN);
    (void)fault_alloc_stop();
    unit_release(&held);
    unit_close();
}
END_TEST

static void release_what_is_held(void)
{
    unit_release(&held);
}

/* The sleep ends by its deadline, and before the thread has looked the semaphore becomes idle. */
static int wait_while_releasing(belay_clock *self, uint32_t *word, uint32_t expected,
                                int64_t until_ns)
{
    (void)self;
    (void)word;
    (void)expected;
    (void)until_ns;
    release_what_is_held();
    return BELAY_ETIMEDOUT;
}

START_TEST(an_idle_moment_at_the_deadline_counts)
{
    hooked_open(1);
    unit_hold(&held, 1);
    hooked_clock.wait = wait_while_releasing;
    ck_assert_int_eq(belay_sem_await_idle(unit_sem, UNIT_BEGIN_NS + 1), 0);
    hooked_close();
}
END_TEST

#define ROUNDS 500

START_TEST(destroy_is_safe_while_the_last_release_returns)
{
    for (int i = 0; i < ROUNDS; i++) {
        belay_sem_opts opts = {.size = sizeof opts, .capacity = 1};
        ck_assert_int_eq(belay_sem_create(&opts, &unit_sem), 0);
        unit_hold(&held, 1);
        idler self = {.destroys = true, .deadline_ns = BELAY_FOREVER};
        ck_assert_int_eq(pthread_create(&self.thread, NULL, await_idle, &self), 0);
        unit_release(&held);
        finish(&self, 0);
    }
}
END_TEST

UNIT_MAIN("sem/idle", an_idle_semaphore_is_not_waited_for,
          await_idle_does_not_wait_past_its_deadline, the_last_release_ends_the_wait,
          all_threads_that_wait_for_it_are_told, await_idle_times_out_at_its_deadline,
          await_idle_waits_for_callbacks_to_begin, await_idle_in_an_inline_callback_never_waits,
          await_idle_without_memory_for_its_thread_is_refused,
          an_idle_moment_at_the_deadline_counts, destroy_is_safe_while_the_last_release_returns)
