#include "belay/task.h"

#include "deliver/event.h"
#include "sync/sync.h"
#include "fault.h"
#include "unit.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#define TASKS 8

/* A task that notes in which order it ran and may submit another. */
typedef struct probe {
    belay_task task;
    int order;
    struct probe *next;
} probe;

static belay_mailbox *box;
static int runs;

static int submit(probe *self)
{
    return belay_executor_submit(belay_mailbox_executor(box), &self->task, 0);
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
    for (int i = 0; i < TASKS; i++) {
        probes[i] = (probe){.task = {.run = probe_run}};
        ck_assert_int_eq(submit(&probes[i]), 0);
    }
}

static void use_box(void)
{
    ck_assert_int_eq(belay_mailbox_create(NULL, &box), 0);
}

static void end_box(void)
{
    ck_assert_int_eq(belay_mailbox_destroy(box), 0);
}

static bool is_readable(void)
{
    struct pollfd polled = {.fd = belay_mailbox_fd(box), .events = POLLIN};
    ck_assert_int_ge(poll(&polled, 1, 0), 0);
    return (polled.revents & POLLIN) != 0;
}

START_TEST(create_refuses_bad_arguments)
{
    belay_mailbox_opts opts = {.size = 1};
    ck_assert_int_eq(belay_mailbox_create(NULL, NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_mailbox_create(&opts, &box), BELAY_EINVAL);
    ck_assert_ptr_null(box);
}
END_TEST

START_TEST(run_calls_tasks_in_the_order_of_their_submits)
{
    use_box();
    probe probes[TASKS];
    submit_all(probes);
    ck_assert_int_eq(runs, 0);
    ck_assert_int_eq(belay_mailbox_run(box, 0), TASKS);
    for (int i = 0; i < TASKS; i++) {
        ck_assert_int_eq(probes[i].order, i + 1);
    }
    ck_assert_int_eq(belay_mailbox_run(box, 0), 0);
    end_box();
}
END_TEST

START_TEST(the_descriptor_is_readable_while_tasks_wait)
{
    use_box();
    probe probes[TASKS];
    ck_assert(!is_readable());
    submit_all(probes);
    ck_assert(is_readable());
    ck_assert_int_eq(belay_mailbox_run(box, 3), 3);
    ck_assert(is_readable());
    ck_assert_int_eq(belay_mailbox_run(box, TASKS - 3), TASKS - 3);
    ck_assert(!is_readable());
    end_box();
}
END_TEST

START_TEST(run_takes_at_most_max_and_keeps_the_order)
{
    use_box();
    probe probes[TASKS];
    submit_all(probes);
    for (int i = 0; i < TASKS / 2; i++) {
        ck_assert_int_eq(belay_mailbox_run(box, 2), 2);
    }
    for (int i = 0; i < TASKS; i++) {
        ck_assert_int_eq(probes[i].order, i + 1);
    }
    end_box();
}
END_TEST

START_TEST(a_task_that_submits_itself_does_not_hold_the_loop)
{
    use_box();
    probe only = {.task = {.run = probe_run}};
    only.next = &only;
    ck_assert_int_eq(submit(&only), 0);
    for (int i = 1; i <= 3; i++) {
        ck_assert_int_eq(belay_mailbox_run(box, 0), 1);
        ck_assert_int_eq(runs, i);
        ck_assert(is_readable());
    }
    only.next = NULL;
    ck_assert_int_eq(belay_mailbox_run(box, 0), 1);
    end_box();
}
END_TEST

START_TEST(a_waiting_task_is_refused)
{
    use_box();
    probe probes[TASKS];
    submit_all(probes);
    for (int i = 0; i < TASKS; i++) {
        ck_assert_int_eq(submit(&probes[i]), BELAY_EBUSY);
    }
    ck_assert_int_eq(belay_mailbox_run(box, 0), TASKS);
    end_box();
}
END_TEST

static int resubmitted;
static probe behind;

static void resubmit_run(belay_task *task)
{
    (void)task;
    resubmitted = submit(&behind);
}

START_TEST(a_task_taken_by_a_run_but_not_entered_is_refused)
{
    use_box();
    belay_task first = {.run = resubmit_run};
    behind = (probe){.task = {.run = probe_run}};
    ck_assert_int_eq(belay_executor_submit(belay_mailbox_executor(box), &first, 0), 0);
    ck_assert_int_eq(submit(&behind), 0);
    ck_assert_int_eq(belay_mailbox_run(box, 0), 2);
    ck_assert_int_eq(resubmitted, BELAY_EBUSY);
    ck_assert_int_eq(behind.order, 1);
    end_box();
}
END_TEST

START_TEST(run_refuses_bad_arguments)
{
    use_box();
    ck_assert_int_eq(belay_mailbox_run(NULL, 0), BELAY_EINVAL);
    ck_assert_int_eq(belay_mailbox_run(box, -1), BELAY_EINVAL);
    end_box();
}
END_TEST

static int nested_run, nested_destroy;

static void nest_run(belay_task *task)
{
    (void)task;
    nested_run = belay_mailbox_run(box, 0);
    nested_destroy = belay_mailbox_destroy(box);
}

START_TEST(run_and_destroy_from_a_task_are_busy)
{
    use_box();
    belay_task task = {.run = nest_run};
    ck_assert_int_eq(belay_executor_submit(belay_mailbox_executor(box), &task, 0), 0);
    ck_assert_int_eq(belay_mailbox_run(box, 0), 1);
    ck_assert_int_eq(nested_run, BELAY_EBUSY);
    ck_assert_int_eq(nested_destroy, BELAY_EBUSY);
    end_box();
}
END_TEST

static uint32_t is_inside, may_leave; /* atomic */

static void set_flag(uint32_t *flag)
{
    bly_store(flag, 1u, BLY_RELEASE);
    bly_futex_wake(flag, BLY_WAKE_ALL);
}

static void await_flag(uint32_t *flag)
{
    while (bly_load(flag, BLY_ACQUIRE) == 0) {
        (void)bly_futex_wait(flag, 0, BELAY_FOREVER);
    }
}

static void linger_run(belay_task *task)
{
    (void)task;
    set_flag(&is_inside);
    await_flag(&may_leave);
}

static void run_box(void *arg)
{
    *(int *)arg = belay_mailbox_run(box, 0);
}

START_TEST(a_second_runner_is_busy)
{
    use_box();
    belay_task task = {.run = linger_run};
    ck_assert_int_eq(belay_executor_submit(belay_mailbox_executor(box), &task, 0), 0);
    int ran = 0;
    bly_thread thread;
    ck_assert_int_eq(bly_thread_create(&thread, NULL, run_box, &ran), 0);
    await_flag(&is_inside);
    ck_assert_int_eq(belay_mailbox_run(box, 0), BELAY_EBUSY);
    set_flag(&may_leave);
    bly_thread_join(&thread);
    ck_assert_int_eq(ran, 1);
    end_box();
}
END_TEST

START_TEST(destroy_is_busy_while_tasks_wait_or_something_is_attached)
{
    use_box();
    belay_executor *executor = belay_mailbox_executor(box);
    probe only = {.task = {.run = probe_run}};
    ck_assert_int_eq(submit(&only), 0);
    ck_assert_int_eq(belay_mailbox_destroy(box), BELAY_EBUSY);
    ck_assert_int_eq(belay_mailbox_run(box, 0), 1);
    executor->attach(executor, 1);
    ck_assert_int_eq(belay_mailbox_destroy(box), BELAY_EBUSY);
    executor->attach(executor, -1);
    end_box();
    ck_assert_int_eq(belay_mailbox_destroy(NULL), 0);
}
END_TEST

/* A table that counts signals and clears instead of making them. */
static int signals, clears;

static int counting_create(void)
{
    return 1000;
}

static void counting_signal(int fd)
{
    signals += fd == 1000;
}

static void counting_clear(int fd)
{
    clears += fd == 1000;
}

static void counting_close(int fd)
{
    ck_assert_int_eq(fd, 1000);
}

static const bly_event_table counting = {.create = counting_create,
                                         .signal = counting_signal,
                                         .clear = counting_clear,
                                         .close = counting_close};

START_TEST(only_the_submit_that_finds_the_box_empty_signals)
{
    bly_events = &counting;
    use_box();
    probe probes[TASKS];
    submit_all(probes);
    ck_assert_int_eq(signals, 1);
    ck_assert_int_eq(belay_mailbox_run(box, TASKS - 1), TASKS - 1);
    ck_assert_int_eq(signals, 2);
    ck_assert_int_eq(belay_mailbox_run(box, 0), 1);
    ck_assert_int_eq(signals, 2);
    ck_assert_int_eq(clears, 2);
    end_box();
}
END_TEST

static int no_descriptor(void)
{
    return BELAY_EIO;
}

START_TEST(create_without_descriptors_is_an_io_error)
{
    static const bly_event_table broken = {.create = no_descriptor};
    bly_events = &broken;
    ck_assert_int_eq(belay_mailbox_create(NULL, &box), BELAY_EIO);
    ck_assert_ptr_null(box);
}
END_TEST

#define PRODUCED 20000

typedef struct counted {
    belay_task task;
    int runs;
} counted;

static counted produced[2][PRODUCED];

static void counted_run(belay_task *task)
{
    bly_container(task, counted, task)->runs++;
    runs++;
}

static void produce(void *arg)
{
    counted *tasks = arg;
    for (int i = 0; i < PRODUCED; i++) {
        tasks[i].task.run = counted_run;
        if (belay_executor_submit(belay_mailbox_executor(box), &tasks[i].task, 0) != 0) {
            abort();
        }
    }
}

START_TEST(a_polling_loop_misses_nothing_of_two_producers)
{
    use_box();
    bly_thread thread[2];
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(bly_thread_create(&thread[i], NULL, produce, produced[i]), 0);
    }
    struct pollfd polled = {.fd = belay_mailbox_fd(box), .events = POLLIN};
    while (runs < 2 * PRODUCED) {
        ck_assert_int_eq(poll(&polled, 1, -1), 1);
        ck_assert_int_ge(belay_mailbox_run(box, 100), 0);
    }
    for (int i = 0; i < 2; i++) {
        bly_thread_join(&thread[i]);
        for (int j = 0; j < PRODUCED; j++) {
            ck_assert_int_eq(produced[i][j].runs, 1);
        }
    }
    end_box();
}
END_TEST

static void submit_one(void *arg)
{
    probe *only = arg;
    if (submit(only) != 0) {
        abort();
    }
}

START_TEST(destroy_after_the_last_task_waits_for_its_submit_to_end)
{
    for (int i = 0; i < 300; i++) {
        use_box();
        probe only = {.task = {.run = probe_run}};
        bly_thread thread;
        ck_assert_int_eq(bly_thread_create(&thread, NULL, submit_one, &only), 0);
        while (belay_mailbox_run(box, 0) == 0) {
            bly_yield();
        }
        end_box();
        bly_thread_join(&thread);
    }
}
END_TEST

START_TEST(a_forked_child_s_submit_finds_it_closed)
{
    use_box();
    pid_t child = fork();
    if (child == 0) {
        probe only = {.task = {.run = probe_run}};
        _exit(submit(&only) == BELAY_ECLOSED ? 0 : 1);
    }
    int status = -1;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert(!is_readable());
    end_box();
}
END_TEST

START_TEST(create_without_memory_leaves_nothing)
{
    fault_alloc_once(1);
    ck_assert_int_eq(belay_mailbox_create(NULL, &box), BELAY_ENOMEM);
    ck_assert_ptr_null(box);
    use_box();
    end_box();
}
END_TEST

UNIT_MAIN("deliver/mailbox", create_refuses_bad_arguments,
          run_calls_tasks_in_the_order_of_their_submits,
          the_descriptor_is_readable_while_tasks_wait, run_takes_at_most_max_and_keeps_the_order,
          a_task_that_submits_itself_does_not_hold_the_loop, a_waiting_task_is_refused,
          a_task_taken_by_a_run_but_not_entered_is_refused, run_refuses_bad_arguments,
          run_and_destroy_from_a_task_are_busy, a_second_runner_is_busy,
          destroy_is_busy_while_tasks_wait_or_something_is_attached,
          only_the_submit_that_finds_the_box_empty_signals,
          create_without_descriptors_is_an_io_error, a_polling_loop_misses_nothing_of_two_producers,
          destroy_after_the_last_task_waits_for_its_submit_to_end,
          a_forked_child_s_submit_finds_it_closed, create_without_memory_leaves_nothing)
