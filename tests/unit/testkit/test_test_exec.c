#include "belay/test.h"

#include "sync/sync.h"
#include "time/timers.h"
#include "fault.h"
#include "unit.h"

#define TASKS 8

/* A task that notes in which order it ran. */
typedef struct probe {
    belay_task task;
    int order;
    struct probe *next; /* submitted by the run */
} probe;

static belay_test_exec *exec;
static int runs;

static int submit(probe *self)
{
    return belay_executor_submit(belay_test_exec_executor(exec), &self->task, 0);
}

static void probe_run(belay_task *task)
{
    probe *self = bly_container(task, probe, task);
    self->order = ++runs;
    if (self->next != NULL) {
        ck_assert_int_eq(submit(self->next), 0);
    }
}

static void submit_all(probe probes[TASKS])
{
    runs = 0;
    for (int i = 0; i < TASKS; i++) {
        probes[i] = (probe){.task = {.run = probe_run}};
        ck_assert_int_eq(submit(&probes[i]), 0);
    }
}

static void use_exec(const belay_test_exec_opts *opts)
{
    ck_assert_int_eq(belay_test_exec_create(opts, &exec), 0);
}

static void end_exec(void)
{
    ck_assert_int_eq(belay_test_exec_destroy(exec), 0);
}

START_TEST(create_refuses_bad_arguments)
{
    belay_test_exec_opts opts = {.size = sizeof opts};
    ck_assert_int_eq(belay_test_exec_create(&opts, NULL), BELAY_EINVAL);
    opts.order = 3;
    ck_assert_int_eq(belay_test_exec_create(&opts, &exec), BELAY_EINVAL);
    opts.order = BELAY_TEST_CHOSEN;
    ck_assert_int_eq(belay_test_exec_create(&opts, &exec), BELAY_EINVAL);
    ck_assert_ptr_null(exec);
}
END_TEST

START_TEST(nothing_runs_by_itself)
{
    use_exec(NULL);
    probe only = {.task = {.run = probe_run}};
    ck_assert_int_eq(submit(&only), 0);
    ck_assert_int_eq(runs, 0);
    ck_assert_uint_eq(belay_test_exec_pending(exec), 1);
    ck_assert_int_eq(belay_test_exec_step(exec), 1);
    ck_assert_int_eq(only.order, 1);
    ck_assert_int_eq(belay_test_exec_step(exec), 0);
    end_exec();
}
END_TEST

START_TEST(fifo_runs_in_the_order_of_the_submits)
{
    use_exec(NULL);
    probe probes[TASKS];
    submit_all(probes);
    ck_assert_int_eq(belay_test_exec_run(exec, 0), TASKS);
    for (int i = 0; i < TASKS; i++) {
        ck_assert_int_eq(probes[i].order, i + 1);
    }
    end_exec();
}
END_TEST

static void run_seeded(uint64_t seed, int order[TASKS])
{
    belay_test_exec_opts opts = {.size = sizeof opts, .order = BELAY_TEST_SEEDED, .seed = seed};
    use_exec(&opts);
    probe probes[TASKS];
    submit_all(probes);
    ck_assert_int_eq(belay_test_exec_run(exec, 0), TASKS);
    for (int i = 0; i < TASKS; i++) {
        order[i] = probes[i].order;
    }
    end_exec();
}

START_TEST(a_seed_decides_the_order)
{
    int first[TASKS], again[TASKS], other[TASKS], seen = 0;
    run_seeded(1, first);
    run_seeded(1, again);
    run_seeded(2, other);
    ck_assert_mem_eq(first, again, sizeof first);
    ck_assert_mem_ne(first, other, sizeof first);
    for (int i = 0; i < TASKS; i++) {
        seen |= 1 << first[i];
    }
    ck_assert_int_eq(seen, (1 << (TASKS + 1)) - 2);
}
END_TEST

static uint32_t choose_last(uint32_t count, void *arg)
{
    (*(int *)arg)++;
    return count - 1;
}

START_TEST(the_test_chooses)
{
    int asked = 0;
    belay_test_exec_opts opts = {
        .size = sizeof opts, .order = BELAY_TEST_CHOSEN, .choose = choose_last, .arg = &asked};
    use_exec(&opts);
    probe probes[TASKS];
    submit_all(probes);
    ck_assert_int_eq(belay_test_exec_run(exec, 0), TASKS);
    for (int i = 0; i < TASKS; i++) {
        ck_assert_int_eq(probes[i].order, TASKS - i);
    }
    ck_assert_int_eq(asked, TASKS);
    end_exec();
}
END_TEST

static uint32_t choose_none(uint32_t count, void *arg)
{
    return *(bool *)arg ? count : 0;
}

START_TEST(choosing_no_task_is_an_error_and_runs_nothing)
{
    bool is_wrong = true;
    belay_test_exec_opts opts = {
        .size = sizeof opts, .order = BELAY_TEST_CHOSEN, .choose = choose_none, .arg = &is_wrong};
    use_exec(&opts);
    probe only = {.task = {.run = probe_run}};
    ck_assert_int_eq(submit(&only), 0);
    ck_assert_int_eq(belay_test_exec_step(exec), BELAY_EINVAL);
    ck_assert_int_eq(runs, 0);
    is_wrong = false;
    ck_assert_int_eq(belay_test_exec_step(exec), 1);
    end_exec();
}
END_TEST

START_TEST(run_includes_what_tasks_submit_and_stops_at_max)
{
    use_exec(NULL);
    probe third = {.task = {.run = probe_run}};
    probe second = {.task = {.run = probe_run}, .next = &third};
    probe first = {.task = {.run = probe_run}, .next = &second};
    ck_assert_int_eq(submit(&first), 0);
    ck_assert_int_eq(belay_test_exec_run(exec, 2), 2);
    ck_assert_uint_eq(belay_test_exec_pending(exec), 1);
    ck_assert_int_eq(belay_test_exec_run(exec, 0), 1);
    ck_assert_int_eq(third.order, 3);
    end_exec();
}
END_TEST

static int nested;

static void step_run(belay_task *task)
{
    (void)task;
    nested = belay_test_exec_step(exec);
}

START_TEST(stepping_from_a_task_is_busy)
{
    use_exec(NULL);
    belay_task task = {.run = step_run};
    ck_assert_int_eq(belay_executor_submit(belay_test_exec_executor(exec), &task, 0), 0);
    ck_assert_int_eq(belay_test_exec_step(exec), 1);
    ck_assert_int_eq(nested, BELAY_EBUSY);
    end_exec();
}
END_TEST

START_TEST(a_waiting_task_is_not_taken_twice)
{
    use_exec(NULL);
    probe only = {.task = {.run = probe_run}};
    ck_assert_int_eq(submit(&only), 0);
    ck_assert_int_eq(submit(&only), BELAY_EBUSY);
    ck_assert_int_eq(belay_test_exec_run(exec, 0), 1);
    ck_assert_int_eq(submit(&only), 0);
    ck_assert_int_eq(belay_test_exec_run(exec, 0), 1);
    end_exec();
}
END_TEST

START_TEST(refuse_answers_the_next_submits)
{
    use_exec(NULL);
    probe only = {.task = {.run = probe_run}};
    ck_assert_int_eq(belay_test_exec_refuse(exec, 1, 0), BELAY_EINVAL);
    ck_assert_int_eq(belay_test_exec_refuse(NULL, 1, BELAY_EFULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_test_exec_refuse(exec, 2, BELAY_EFULL), 0);
    ck_assert_int_eq(submit(&only), BELAY_EFULL);
    ck_assert_int_eq(submit(&only), BELAY_EFULL);
    ck_assert_int_eq(submit(&only), 0);
    ck_assert_int_eq(belay_test_exec_run(exec, 0), 1);
    end_exec();
}
END_TEST

START_TEST(destroy_is_busy_while_tasks_wait_or_something_is_attached)
{
    use_exec(NULL);
    belay_executor *executor = belay_test_exec_executor(exec);
    probe only = {.task = {.run = probe_run}};
    ck_assert_int_eq(submit(&only), 0);
    ck_assert_int_eq(belay_test_exec_destroy(exec), BELAY_EBUSY);
    ck_assert_int_eq(belay_test_exec_run(exec, 0), 1);
    executor->attach(executor, 1);
    ck_assert_int_eq(belay_test_exec_destroy(exec), BELAY_EBUSY);
    executor->attach(executor, -1);
    end_exec();
    ck_assert_int_eq(belay_test_exec_destroy(NULL), 0);
}
END_TEST

/* A timer that submits a task, which arms it again a few times. */
typedef struct ticker {
    bly_timer timer;
    belay_task task;
    belay_clock *clock;
    int ticks;
    int64_t seen_ns[4];
} ticker;

static void ticker_run(belay_task *task)
{
    ticker *self = bly_container(task, ticker, task);
    int64_t now_ns = self->clock->now(self->clock);
    self->seen_ns[self->ticks++] = now_ns;
    if (self->ticks < 4) {
        bly_timer_arm(&self->timer, now_ns + 100);
    }
}

static void ticker_fire(bly_timer *timer)
{
    ticker *self = bly_container(timer, ticker, timer);
    ck_assert_int_eq(
        belay_executor_submit(belay_test_exec_executor(exec), &self->task, BELAY_DELIVERY), 0);
}

START_TEST(run_until_jumps_from_deadline_to_deadline)
{
    belay_clock *clock = NULL;
    ck_assert_int_eq(belay_manual_clock_create(0, 0, &clock), 0);
    belay_test_exec_opts opts = {.size = sizeof opts, .clock = clock};
    use_exec(&opts);
    belay_timers *timers = NULL;
    ck_assert_int_eq(bly_timers_use(NULL, clock, &timers), 0);
    ticker self = {.task = {.run = ticker_run}, .clock = clock};
    bly_timer_init(&self.timer, timers, ticker_fire);
    bly_timer_arm(&self.timer, 100);
    ck_assert_int_eq(belay_test_exec_run_until(exec, 250), 2);
    ck_assert_int_eq(belay_clock_now(clock), 250);
    ck_assert_int_eq(belay_test_exec_run_until(exec, 1000), 2);
    ck_assert_int_eq(belay_clock_now(clock), 1000);
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(self.seen_ns[i], (i + 1) * 100);
    }
    bly_timer_disarm_wait(&self.timer);
    bly_timers_unuse(timers);
    end_exec();
    ck_assert_int_eq(belay_manual_clock_destroy(clock), 0);
}
END_TEST

START_TEST(run_until_refuses_bad_arguments)
{
    use_exec(NULL);
    ck_assert_int_eq(belay_test_exec_run_until(NULL, 0), BELAY_EINVAL);
    ck_assert_int_eq(belay_test_exec_run_until(exec, 0), BELAY_EINVAL);
    ck_assert_int_eq(belay_test_exec_run(NULL, 0), BELAY_EINVAL);
    end_exec();
    belay_clock *clock = NULL;
    ck_assert_int_eq(belay_manual_clock_create(10, 0, &clock), 0);
    belay_test_exec_opts opts = {.size = sizeof opts, .clock = clock};
    use_exec(&opts);
    ck_assert_int_eq(belay_test_exec_run_until(exec, 9), BELAY_EINVAL);
    ck_assert_int_eq(belay_test_exec_run_until(exec, BELAY_FOREVER), BELAY_EINVAL);
    ck_assert_int_eq(belay_test_exec_run_until(exec, 10), 0);
    end_exec();
    ck_assert_int_eq(belay_manual_clock_destroy(clock), 0);
}
END_TEST

START_TEST(create_without_memory_leaves_nothing)
{
    fault_alloc_once(1);
    ck_assert_int_eq(belay_test_exec_create(NULL, &exec), BELAY_ENOMEM);
    ck_assert_ptr_null(exec);
}
END_TEST

UNIT_MAIN("testkit/test_exec", create_refuses_bad_arguments, nothing_runs_by_itself,
          fifo_runs_in_the_order_of_the_submits, a_seed_decides_the_order, the_test_chooses,
          choosing_no_task_is_an_error_and_runs_nothing,
          run_includes_what_tasks_submit_and_stops_at_max, stepping_from_a_task_is_busy,
          a_waiting_task_is_not_taken_twice, refuse_answers_the_next_submits,
          destroy_is_busy_while_tasks_wait_or_something_is_attached,
          run_until_jumps_from_deadline_to_deadline, run_until_refuses_bad_arguments,
          create_without_memory_leaves_nothing)
