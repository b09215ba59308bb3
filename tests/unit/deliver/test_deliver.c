#include "deliver/deliver.h"

#include "sync/sync.h"
#include "unit.h"

#include <pthread.h>

#define CHAIN_LEN 100000

/* A task that notes when it ran and how deep the stack was then. */
typedef struct probe {
    belay_task task;
    struct probe *nested; /* pushed and run from inside, when not NULL */
    int order;
    bool was_active;
    bool was_unqueued;
} probe;

static int runs;

static void probe_run(belay_task *task)
{
    probe *self = bly_container(task, probe, task);
    self->was_active = bly_deliver_active();
    self->was_unqueued = task->next == NULL;
    if (self->nested != NULL) {
        bly_deliver_push(&self->nested->task);
        bly_deliver_run();
        ck_assert_int_eq(self->nested->order, 0);
    }
    self->order = ++runs;
}

static probe new_probe(probe *nested)
{
    return (probe){.task = {.run = probe_run}, .nested = nested};
}

START_TEST(run_calls_in_order_of_the_pushes)
{
    probe first = new_probe(NULL), second = new_probe(NULL);
    bly_deliver_push(&first.task);
    bly_deliver_push(&second.task);
    ck_assert_int_eq(runs, 0);
    bly_deliver_run();
    ck_assert_int_eq(first.order, 1);
    ck_assert_int_eq(second.order, 2);
}
END_TEST

START_TEST(run_of_an_empty_list_does_nothing)
{
    bly_deliver_run();
    ck_assert_int_eq(runs, 0);
    ck_assert(!bly_deliver_active());
}
END_TEST

START_TEST(a_nested_run_only_appends)
{
    probe inner = new_probe(NULL);
    probe outer = new_probe(&inner), behind = new_probe(NULL);
    bly_deliver_push(&outer.task);
    bly_deliver_push(&behind.task);
    bly_deliver_run();
    ck_assert_int_eq(outer.order, 1);
    ck_assert_int_eq(behind.order, 2);
    ck_assert_int_eq(inner.order, 3);
}
END_TEST

START_TEST(a_running_task_is_active_and_not_queued)
{
    probe only = new_probe(NULL);
    bly_deliver_push(&only.task);
    ck_assert(!bly_deliver_active());
    bly_deliver_run();
    ck_assert(only.was_active);
    ck_assert(only.was_unqueued);
    ck_assert(!bly_deliver_active());
}
END_TEST

static const char *deepest;

/* A task that delivers itself again CHAIN_LEN times; notes how far down the stack reached. */
static void chain_run(belay_task *task)
{
    char here = 0;
    if (deepest == NULL || &here < deepest) {
        deepest = &here;
    }
    if (++runs < CHAIN_LEN) {
        bly_deliver_push(task);
        bly_deliver_run();
    }
}

START_TEST(a_long_chain_keeps_the_stack_constant)
{
    char here = 0;
    belay_task task = {.run = chain_run};
    bly_deliver_push(&task);
    bly_deliver_run();
    ck_assert_int_eq(runs, CHAIN_LEN);
    ck_assert_int_lt(&here - deepest, 64 * 1024);
}
END_TEST

static void free_run(belay_task *task)
{
    runs++;
    free(task);
}

START_TEST(a_task_may_free_itself)
{
    for (int i = 0; i < 3; i++) {
        belay_task *task = calloc(1, sizeof *task);
        task->run = free_run;
        bly_deliver_push(task);
    }
    bly_deliver_run();
    ck_assert_int_eq(runs, 3);
}
END_TEST

START_TEST(hold_postpones_what_is_run_until_release)
{
    probe first = new_probe(NULL), second = new_probe(NULL);
    bool is_outermost = bly_deliver_hold();
    ck_assert(is_outermost);
    ck_assert(!bly_deliver_hold());
    bly_deliver_push(&first.task);
    bly_deliver_run();
    bly_deliver_release(false);
    ck_assert_int_eq(first.order, 0);
    ck_assert(bly_deliver_active());
    bly_deliver_push(&second.task);
    bly_deliver_release(is_outermost);
    ck_assert_int_eq(first.order, 1);
    ck_assert_int_eq(second.order, 2);
    ck_assert(!bly_deliver_active());
}
END_TEST

static void exit_run(belay_task *task)
{
    (void)task;
    pthread_exit(NULL);
}

static void *deliver_and_exit(void *arg)
{
    probe *behind = arg;
    belay_task exiting = {.run = exit_run};
    bly_deliver_push(&exiting);
    bly_deliver_push(&behind->task);
    bly_deliver_run();
    return NULL;
}

START_TEST(a_thread_that_ends_in_a_callback_delivers_the_rest)
{
    probe behind = new_probe(NULL);
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, deliver_and_exit, &behind), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_int_eq(behind.order, 1);
}
END_TEST

/* An executor that takes or refuses, and remembers. */
typedef struct fake {
    belay_executor executor;
    int result;
    unsigned flags;
    belay_task *taken;
    int attached;
} fake;

static int fake_submit(belay_executor *self, belay_task *task, unsigned flags)
{
    fake *executor = self->data;
    executor->flags = flags;
    if (executor->result == 0) {
        executor->taken = task;
    }
    return executor->result;
}

static void fake_attach(belay_executor *self, int change)
{
    fake *executor = self->data;
    executor->attached += change;
}

static void fake_init(fake *executor, int result)
{
    *executor =
        (fake){.executor = {.submit = fake_submit, .attach = fake_attach}, .result = result};
    executor->executor.data = executor;
}

/* A completion that goes to an executor, as a semaphore's does. */
typedef struct completion {
    belay_task task;
    belay_executor *executor;
    uint64_t refused;
    int called;
} completion;

static void completion_end(belay_task *task)
{
    bly_container(task, completion, task)->called++;
}

static void completion_run(belay_task *task)
{
    completion *self = bly_container(task, completion, task);
    bly_deliver_to(self->executor, task, completion_end, &self->refused);
}

static void complete(completion *self)
{
    bly_deliver_push(&self->task);
    bly_deliver_run();
}

START_TEST(deliver_to_submits_as_a_delivery)
{
    fake executor;
    fake_init(&executor, 0);
    completion done = {.task = {.run = completion_run}, .executor = &executor.executor};
    complete(&done);
    ck_assert_int_eq(done.called, 0);
    ck_assert_uint_eq(executor.flags, BELAY_DELIVERY);
    ck_assert_ptr_eq(executor.taken, &done.task);
    executor.taken->run(executor.taken);
    ck_assert_int_eq(done.called, 1);
    ck_assert_uint_eq(done.refused, 0);
}
END_TEST

START_TEST(deliver_to_runs_a_refused_delivery_inline_and_counts_it)
{
    fake executor;
    fake_init(&executor, BELAY_ECLOSED);
    completion done = {.task = {.run = completion_run}, .executor = &executor.executor};
    complete(&done);
    ck_assert_int_eq(done.called, 1);
    ck_assert_uint_eq(done.refused, 1);
    ck_assert_ptr_null(executor.taken);
}
END_TEST

START_TEST(deliver_to_without_executor_or_inline_runs_here)
{
    completion plain = {.task = {.run = completion_run}};
    completion named = {.task = {.run = completion_run}, .executor = belay_inline()};
    complete(&plain);
    complete(&named);
    ck_assert_int_eq(plain.called, 1);
    ck_assert_int_eq(named.called, 1);
    ck_assert_uint_eq(plain.refused + named.refused, 0);
}
END_TEST

START_TEST(submit_refuses_bad_arguments)
{
    fake executor;
    fake_init(&executor, 0);
    belay_task task = {.run = chain_run}, blank = {0};
    ck_assert_int_eq(belay_executor_submit(NULL, &task, 0), BELAY_EINVAL);
    ck_assert_int_eq(belay_executor_submit(&executor.executor, NULL, 0), BELAY_EINVAL);
    ck_assert_int_eq(belay_executor_submit(&executor.executor, &blank, 0), BELAY_EINVAL);
    ck_assert_int_eq(belay_executor_submit(&executor.executor, &task, 2), BELAY_EINVAL);
    ck_assert_ptr_null(executor.taken);
}
END_TEST

START_TEST(submit_hands_on_the_executor_s_answer)
{
    fake executor;
    fake_init(&executor, BELAY_EFULL);
    belay_task task = {.run = chain_run};
    ck_assert_int_eq(belay_executor_submit(&executor.executor, &task, 0), BELAY_EFULL);
    executor.result = 0;
    ck_assert_int_eq(belay_executor_submit(&executor.executor, &task, BELAY_DELIVERY), 0);
    ck_assert_ptr_eq(executor.taken, &task);
}
END_TEST

START_TEST(inline_submit_runs_before_it_returns)
{
    probe only = new_probe(NULL);
    ck_assert_int_eq(belay_executor_submit(belay_inline(), &only.task, 0), 0);
    ck_assert_int_eq(only.order, 1);
    ck_assert(only.was_active);
}
END_TEST

static int second_submit;

/* The waiting task must outlive the one that submits it. */
static completion waiting_behind = {.task = {.run = completion_end}};

static void submit_behind_run(belay_task *task)
{
    (void)task;
    ck_assert_int_eq(belay_executor_submit(belay_inline(), &waiting_behind.task, 0), 0);
    ck_assert_int_eq(waiting_behind.called, 0);
    second_submit = belay_executor_submit(belay_inline(), &waiting_behind.task, 0);
}

START_TEST(inline_submit_refuses_a_task_that_is_queued)
{
    belay_task task = {.run = submit_behind_run};
    ck_assert_int_eq(belay_executor_submit(belay_inline(), &task, 0), 0);
    ck_assert_int_eq(second_submit, BELAY_EBUSY);
    ck_assert_int_eq(waiting_behind.called, 1);
}
END_TEST

START_TEST(attach_reaches_the_executor_that_counts)
{
    fake executor;
    fake_init(&executor, 0);
    bly_executor_attach(&executor.executor, 1);
    bly_executor_attach(&executor.executor, 1);
    bly_executor_attach(&executor.executor, -1);
    ck_assert_int_eq(executor.attached, 1);
    bly_executor_attach(NULL, 1);
    bly_executor_attach(belay_inline(), 1);
    ck_assert_int_eq(executor.attached, 1);
}
END_TEST

/* Leaves a task in the list that was empty, and ends the thread. */
static belay_task *left_behind;

static void push_and_exit_run(belay_task *task)
{
    (void)task;
    bly_deliver_push(left_behind);
    pthread_exit(NULL);
}

static void *push_exiting(void *arg)
{
    belay_task exiting = {.run = push_and_exit_run};
    left_behind = arg;
    bly_deliver_push(&exiting);
    bly_deliver_run();
    return NULL;
}

START_TEST(a_task_that_ends_its_thread_leaves_what_it_pushed_to_be_delivered)
{
    probe behind = new_probe(NULL);
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, push_exiting, &behind.task), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_int_eq(behind.order, 1);
}
END_TEST

UNIT_MAIN("deliver/deliver", run_calls_in_order_of_the_pushes, run_of_an_empty_list_does_nothing,
          a_nested_run_only_appends, a_running_task_is_active_and_not_queued,
          a_long_chain_keeps_the_stack_constant, a_task_may_free_itself,
          hold_postpones_what_is_run_until_release,
          a_thread_that_ends_in_a_callback_delivers_the_rest, deliver_to_submits_as_a_delivery,
          deliver_to_runs_a_refused_delivery_inline_and_counts_it,
          deliver_to_without_executor_or_inline_runs_here, submit_refuses_bad_arguments,
          submit_hands_on_the_executor_s_answer, inline_submit_runs_before_it_returns,
          inline_submit_refuses_a_task_that_is_queued, attach_reaches_the_executor_that_counts,
          a_task_that_ends_its_thread_leaves_what_it_pushed_to_be_delivered)
