/*
 * test_memory.c: every public function while allocations fail: each of a call once, and from each
 * on all. A function that needs memory says BELAY_ENOMEM and changes nothing, so that the same call
 * works afterwards; all others work without any. That nothing is left behind is seen by the address
 * sanitizer, and by the objects, which can be ended.
 *
 * Each call is made on a thread of its own, since a thread that sleeps for the first time
 * allocates.
 */
#include "belay/cancel.h"
#include "belay/clock.h"
#include "belay/exec.h"
#include "belay/sched.h"
#include "belay/sem.h"
#include "belay/task.h"

#include "fault.h"
#include "unit.h"

#include <stdio.h>

#define CALLS_MAX 64 /* allocations of one call, at most */
#define NAME_MAX  64
#define LATER     2 /* the id of a job for later */

enum { NEVER, ALWAYS, IF_IT_WAITS };

/* What a call may be about. */
typedef struct world {
    belay_timers *timers;
    belay_cancel *token;
    belay_task task;
    belay_mailbox *mailbox;
    belay_sem *sem;
    belay_lease held, lease;
    belay_exec *exec;
    belay_future *future; /* of a call that runs until the gate opens */
    belay_group *group;
    belay_sched *sched;
    belay_sched *idle_sched;
    belay_job_handle handle;
    belay_claim *claim;
    uint32_t gate;     /* atomic: 1 when it is open */
    uint32_t has_come; /* atomic: the call that waits at the gate */
    struct {
        belay_timers *timers;
        belay_cancel *token;
        belay_mailbox *mailbox;
        belay_sem *sem;
        belay_exec *exec;
        belay_future *future;
        belay_group *group;
        belay_sched *sched;
        belay_claim *claim;
    } made; /* by the call */
} world;

static const belay_sem_opts one_permit = {.size = sizeof one_permit, .capacity = 1};
static const belay_exec_opts one_worker = {.size = sizeof one_worker, .workers = 1};
static int64_t period_ns = 10;

/* --- What the calls need. --- */

static int no_call(void *arg)
{
    (void)arg;
    return 0;
}

static void no_task(belay_task *task)
{
    (void)task;
}

static int no_job(belay_claim *claim, void *arg)
{
    (void)claim, (void)arg;
    return 0;
}

static void on_lease(belay_lease *lease, int result, void *arg)
{
    (void)lease, (void)result, (void)arg;
}

static void on_future(belay_future *future, int result, int status, void *arg)
{
    (void)future, (void)result, (void)status, (void)arg;
}

static int wait_at_the_gate(void *arg)
{
    world *w = arg;
    bly_store(&w->has_come, 1u, BLY_SEQ_CST);
    bly_futex_wake(&w->has_come, BLY_WAKE_ALL);
    while (bly_load(&w->gate, BLY_SEQ_CST) == 0) {
        (void)bly_futex_wait(&w->gate, 0, BELAY_FOREVER);
    }
    return 0;
}

/* A deadline that a call must wait for, unless the machine is very slow. */
static int64_t soon(void)
{
    return belay_clock_now(NULL) + 1000000;
}

/* The result of a call that ends an object. */
static int gone(int result, void *place)
{
    if (result == 0) {
        *(void **)place = NULL;
    }
    return result;
}

static int move_there_and_back(world *w)
{
    int there = belay_lease_move(&w->held, &w->lease);
    return there != 0 ? there : belay_lease_move(&w->lease, &w->held);
}

static int worker_stats(belay_exec *exec)
{
    belay_exec_worker_stats_data stats;
    return belay_exec_worker_stats(exec, 0, &stats);
}

/* A group that was canceled needs a new token. */
static int cancel_and_wait(belay_group *group)
{
    (void)belay_group_cancel(group);
    return belay_group_wait(group, BELAY_FOREVER, NULL);
}

static int schedule(belay_sched *sched, belay_id id, int64_t run_at_ns)
{
    belay_job job = {.size = sizeof job, .run_at_ns = run_at_ns, .fn = no_job};
    return belay_sched_schedule(sched, id, &job, NULL);
}

static int token_of(belay_claim *claim)
{
    belay_cancel *token = NULL;
    return belay_claim_token(claim, &token);
}

static int refer_twice(belay_claim *claim)
{
    belay_claim *same = belay_claim_ref(claim);
    belay_claim_unref(same);
    return same != claim;
}

/* --- The calls. --- */

#define FUNCTION(name, allocates, result, call)                                                    \
    static int call_##name(world *w)                                                               \
    {                                                                                              \
        (void)w;                                                                                   \
        return call;                                                                               \
    }
#include "functions.h"
#undef FUNCTION

static const struct function {
    const char *name;
    int allocates;
    int result;
    int (*call)(world *w);
} functions[] = {
#define FUNCTION(name, allocates, result, call) {#name, allocates, result, call_##name},
#include "functions.h"
#undef FUNCTION
};

#define FUNCTION_COUNT (sizeof functions / sizeof functions[0])

/* --- The world. --- */

static void open_sched(world *w)
{
    ck_assert_int_eq(belay_sched_create(NULL, &w->idle_sched), 0);
    ck_assert_int_eq(belay_sched_create(NULL, &w->sched), 0);
    ck_assert_int_eq(schedule(w->sched, BELAY_ID(0), 0), 0);
    ck_assert_int_eq(belay_sched_next(w->sched, BELAY_NOW, &w->claim, NULL), 0);
    ck_assert_int_eq(schedule(w->sched, BELAY_ID(1), 0), 0);
    ck_assert_int_eq(schedule(w->sched, BELAY_ID(LATER), BELAY_FOREVER - 1), 0);
    belay_job job = {.size = sizeof job, .run_at_ns = BELAY_FOREVER - 1, .fn = no_job};
    ck_assert_int_eq(belay_sched_schedule(w->sched, BELAY_ID(3), &job, &w->handle), 0);
}

static void open_world(world *w)
{
    *w = (world){.task = {.run = no_task}};
    belay_timers_opts polled = {.size = sizeof polled, .is_polled = 1};
    ck_assert_int_eq(belay_timers_create(&polled, &w->timers), 0);
    ck_assert_int_eq(belay_cancel_create(NULL, 0, &w->token), 0);
    ck_assert_int_eq(belay_mailbox_create(NULL, &w->mailbox), 0);
    belay_sem_opts two = {.size = sizeof two, .capacity = 2, .track_holders = 1};
    ck_assert_int_eq(belay_sem_create(&two, &w->sem), 0);
    ck_assert_int_eq(belay_sem_acquire(w->sem, &w->held, 1, BELAY_NOW, NULL), 0);
    ck_assert_int_eq(belay_exec_create(&one_worker, &w->exec), 0);
    ck_assert_int_eq(belay_exec_call(w->exec, wait_at_the_gate, w, NULL, NULL, &w->future), 0);
    while (bly_load(&w->has_come, BLY_SEQ_CST) == 0) {
        (void)bly_futex_wait(&w->has_come, 0, BELAY_FOREVER);
    }
    ck_assert_int_eq(belay_group_create(w->exec, NULL, 0, &w->group), 0);
    open_sched(w);
}

static void close_sched(belay_sched *sched)
{
    if (sched != NULL) {
        ck_assert_int_eq(belay_sched_close(sched, BELAY_CLOSE_DISCARD), 0);
        ck_assert_int_eq(belay_sched_await(sched, BELAY_FOREVER), 0);
        ck_assert_int_eq(belay_sched_destroy(sched), 0);
    }
}

static void close_exec(belay_exec *exec)
{
    if (exec != NULL) {
        ck_assert_int_eq(belay_exec_shutdown(exec), 0);
        ck_assert_int_eq(belay_exec_await_termination(exec, BELAY_FOREVER), 0);
        ck_assert_int_eq(belay_exec_destroy(exec), 0);
    }
}

static void end_claim(belay_claim *claim)
{
    ck_assert_int_eq(claim != NULL ? belay_claim_done(claim, 0) : 0, 0);
}

static void close_sem(world *w)
{
    (void)belay_lease_cancel(&w->lease);
    int result = belay_lease_release(&w->held);
    ck_assert(result == 0 || result == BELAY_ERELEASED);
    ck_assert_int_eq(belay_sem_await_idle(w->sem, BELAY_FOREVER), 0);
    ck_assert_int_eq(belay_sem_destroy(w->sem), 0);
    ck_assert_int_eq(belay_sem_destroy(w->made.sem), 0);
}

static void close_groups(world *w)
{
    bly_store(&w->gate, 1u, BLY_SEQ_CST);
    bly_futex_wake(&w->gate, BLY_WAKE_ALL);
    belay_group *const groups[] = {w->group, w->made.group};
    for (size_t i = 0; i < bly_count(groups); i++) {
        if (groups[i] != NULL) {
            ck_assert_int_eq(belay_group_wait(groups[i], BELAY_FOREVER, NULL), 0);
            ck_assert_int_eq(belay_group_destroy(groups[i]), 0);
        }
    }
    belay_future_unref(w->future);
    belay_future_unref(w->made.future);
}

static void close_world(world *w)
{
    end_claim(w->claim);
    end_claim(w->made.claim);
    close_sched(w->sched);
    close_sched(w->idle_sched);
    close_sched(w->made.sched);
    close_groups(w);
    close_exec(w->exec);
    close_exec(w->made.exec);
    close_sem(w);
    ck_assert_int_eq(belay_mailbox_destroy(w->mailbox), 0);
    ck_assert_int_eq(belay_mailbox_destroy(w->made.mailbox), 0);
    belay_cancel_unref(w->token);
    belay_cancel_unref(w->made.token);
    ck_assert_int_eq(belay_timers_destroy(w->timers), 0);
    ck_assert_int_eq(belay_timers_destroy(w->made.timers), 0);
}

/* --- The test. --- */

typedef struct trial {
    const struct function *function;
    world world;
    uint32_t nth; /* allocation that fails */
    bool is_last; /* and all after it */
    int first;    /* the result of the call while they fail */
    uint32_t failures;
    int second; /* of the same call with memory, when the first one failed */
} trial;

static void try_call(void *arg)
{
    trial *self = arg;
    fault_arm(&fault_alloc, self->nth, self->is_last);
    self->first = self->function->call(&self->world);
    self->failures = fault_alloc_stop();
    self->second = self->first;
    if (self->first != self->function->result) {
        self->second = self->function->call(&self->world);
    }
}

static void run_trial(trial *self)
{
    bly_thread thread;
    open_world(&self->world);
    ck_assert_int_eq(bly_thread_create(&thread, NULL, try_call, self), 0);
    bly_thread_join(&thread);
    close_world(&self->world);
    ck_assert_msg(self->second == self->function->result, "%s, allocation %u: then %d",
                  self->function->name, self->nth, self->second);
    ck_assert_msg(self->first == self->function->result ||
                      (self->failures != 0 && self->first == BELAY_ENOMEM),
                  "%s, allocation %u: %d", self->function->name, self->nth, self->first);
}

/* How many of the function's allocations failed, one after the other. */
static uint32_t try_function(const struct function *function, bool is_last)
{
    trial self = {.function = function, .is_last = is_last};
    do {
        self.nth++;
        run_trial(&self);
        ck_assert_uint_lt(self.nth, CALLS_MAX);
    } while (self.failures != 0);
    return self.nth - 1;
}

START_TEST(every_function_says_that_memory_ends_or_needs_none)
{
    const struct function *function = &functions[_i];
    for (int is_last = 0; is_last < 2; is_last++) {
        uint32_t failed = try_function(function, is_last == 1);
        ck_assert_msg(function->allocates != NEVER || failed == 0, "%s allocates", function->name);
        ck_assert_msg(function->allocates != ALWAYS || failed != 0, "%s does not", function->name);
    }
}
END_TEST

START_TEST(every_exported_function_is_here)
{
    FILE *list = fopen(BELAY_SYMBOLS, "r");
    ck_assert_ptr_nonnull(list);
    char name[NAME_MAX];
    size_t count = 0;
    while (fscanf(list, "%63s", name) == 1) {
        size_t i = 0;
        while (i < FUNCTION_COUNT && strcmp(functions[i].name, name) != 0) {
            i++;
        }
        ck_assert_msg(i < FUNCTION_COUNT, "%s has no call in functions.h", name);
        count++;
    }
    ck_assert_uint_eq(count, FUNCTION_COUNT);
    ck_assert_int_eq(fclose(list), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("api/memory");
    TCase *calls = tcase_create("calls");
    tcase_set_timeout(calls, UNIT_TIMEOUT_S);
    tcase_add_loop_test(calls, every_function_says_that_memory_ends_or_needs_none, 0,
                        FUNCTION_COUNT);
    tcase_add_test(calls, every_exported_function_is_here);
    suite_add_tcase(suite, calls);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
