/*
 * test_exec.c: an executor that runs one task at a time, when the test says.
 *
 * Tasks wait in a ring in the order of their submits. A step picks one: the oldest, one by the
 * seed's next number, or one that the test chooses; so a run is decided by the options alone. The
 * flag is_running makes a second runner, or a task that steps its own executor, busy: tasks never
 * overlap.
 */
#include "belay/test.h"

#include "base/opts.h"
#include "deliver/ring.h"
#include "sync/sync.h"

#include <limits.h>

#define DEFAULT_SEED UINT64_C(0x5eed)

struct belay_test_exec {
    belay_executor executor;   /* constant after create */
    belay_test_exec_opts opts; /* constant after create */
    bly_mutex lock;            /* of what follows */
    belay_task *last;          /* lock: the ring of waiting tasks */
    uint32_t pending;          /* lock: how many they are */
    uint32_t attached;         /* lock */
    bool is_running;           /* lock */
    uint32_t refusals;         /* lock: submits that are still to be refused */
    int refusal;               /* lock: with this */
    uint64_t random;           /* who runs: state of the generator */
};

static int submit_task(belay_executor *executor, belay_task *task, unsigned flags)
{
    (void)flags;
    belay_test_exec *self = executor->data;
    int result = 0;
    bly_mutex_lock(&self->lock);
    if (bly_ring_has(task)) {
        result = BELAY_EBUSY;
    } else if (self->refusals != 0) {
        self->refusals--;
        result = self->refusal;
    } else {
        self->last = bly_ring_append(self->last, task);
        self->pending++;
    }
    bly_mutex_unlock(&self->lock);
    return result;
}

static void attach_object(belay_executor *executor, int change)
{
    belay_test_exec *self = executor->data;
    bly_mutex_lock(&self->lock);
    bly_assert(change == 1 || self->attached != 0);
    self->attached += (uint32_t)change;
    bly_mutex_unlock(&self->lock);
}

int belay_test_exec_create(const belay_test_exec_opts *opts, belay_test_exec **ret_exec)
{
    belay_test_exec_opts own;
    if (ret_exec == NULL || bly_opts_read(&own, sizeof own, opts) != 0 ||
        own.order > BELAY_TEST_CHOSEN || (own.order == BELAY_TEST_CHOSEN) != (own.choose != NULL)) {
        return BELAY_EINVAL;
    }
    belay_test_exec *self = bly_alloc(sizeof *self);
    if (self == NULL) {
        return BELAY_ENOMEM;
    }
    self->executor = (belay_executor){.submit = submit_task, .attach = attach_object, .data = self};
    self->opts = own;
    self->random = own.seed != 0 ? own.seed : DEFAULT_SEED;
    *ret_exec = self;
    return 0;
}

belay_executor *belay_test_exec_executor(belay_test_exec *exec)
{
    return &exec->executor;
}

uint32_t belay_test_exec_pending(belay_test_exec *exec)
{
    bly_mutex_lock(&exec->lock);
    uint32_t pending = exec->pending;
    bly_mutex_unlock(&exec->lock);
    return pending;
}

/* The exclusive right to run tasks; BELAY_EBUSY when somebody has it. */
static int begin_running(belay_test_exec *self)
{
    if (self == NULL) {
        return BELAY_EINVAL;
    }
    bly_mutex_lock(&self->lock);
    bool was_running = self->is_running;
    self->is_running = true;
    bly_mutex_unlock(&self->lock);
    return was_running ? BELAY_EBUSY : 0;
}

static void end_running(belay_test_exec *self)
{
    bly_mutex_lock(&self->lock);
    self->is_running = false;
    bly_mutex_unlock(&self->lock);
}

/* The place, from the oldest, of the task that is next of `count`. */
static uint32_t pick(belay_test_exec *self, uint32_t count)
{
    if (self->opts.order == BELAY_TEST_SEEDED) {
        return (uint32_t)(bly_random(&self->random) % count);
    }
    return self->opts.order == BELAY_TEST_CHOSEN ? self->opts.choose(count, self->opts.arg) : 0;
}

static belay_task *take_locked(belay_test_exec *self, uint32_t place)
{
    belay_task *before = self->last;
    for (uint32_t i = 0; i < place; i++) {
        before = before->next;
    }
    self->pending--;
    return bly_ring_pop_after(&self->last, before);
}

/* Runs one task: 1, 0 when none waits, or BELAY_EINVAL. The caller has the right to run. */
static int run_one(belay_test_exec *self)
{
    uint32_t count = belay_test_exec_pending(self);
    if (count == 0) {
        return 0;
    }
    uint32_t place = pick(self, count);
    if (place >= count) {
        return BELAY_EINVAL;
    }
    bly_mutex_lock(&self->lock);
    belay_task *task = take_locked(self, place);
    bly_mutex_unlock(&self->lock);
    task->run(task);
    return 1;
}

/* Runs until nothing waits or `max` were run; adds to *ran. 0 or BELAY_EINVAL. */
static int run_many(belay_test_exec *self, uint32_t max, int *ran)
{
    int result = 1;
    for (uint32_t i = 0; i < max && result > 0; i++) {
        result = run_one(self);
        *ran += result > 0 && *ran < INT_MAX;
    }
    return result < 0 ? result : 0;
}

int belay_test_exec_step(belay_test_exec *exec)
{
    return belay_test_exec_run(exec, 1);
}

int belay_test_exec_run(belay_test_exec *exec, uint32_t max)
{
    int ran = 0;
    int result = begin_running(exec);
    if (result == 0) {
        result = run_many(exec, max != 0 ? max : UINT32_MAX, &ran);
        end_running(exec);
    }
    return result != 0 ? result : ran;
}

/* Runs what waits and moves the clock, in turns, until there is nothing left up to until_ns. */
static int run_and_move(belay_test_exec *self, int64_t until_ns, int *ran)
{
    belay_clock *clock = self->opts.clock;
    int result = run_many(self, UINT32_MAX, ran);
    while (result == 0) {
        int64_t next_ns = belay_manual_clock_next_deadline(clock);
        int64_t now_ns = clock->now(clock);
        if (now_ns >= until_ns && next_ns > now_ns) {
            break;
        }
        int64_t to_ns = next_ns < until_ns ? next_ns : until_ns;
        result = belay_manual_clock_advance(clock, to_ns > now_ns ? to_ns : now_ns);
        if (result == 0) {
            result = run_many(self, UINT32_MAX, ran);
        }
    }
    return result;
}

int belay_test_exec_run_until(belay_test_exec *exec, int64_t until_ns)
{
    if (exec == NULL || exec->opts.clock == NULL || until_ns == BELAY_FOREVER ||
        until_ns < exec->opts.clock->now(exec->opts.clock)) {
        return BELAY_EINVAL;
    }
    int ran = 0;
    int result = begin_running(exec);
    if (result == 0) {
        result = run_and_move(exec, until_ns, &ran);
        end_running(exec);
    }
    return result != 0 ? result : ran;
}

int belay_test_exec_refuse(belay_test_exec *exec, uint32_t count, int result)
{
    if (exec == NULL || result >= 0) {
        return BELAY_EINVAL;
    }
    bly_mutex_lock(&exec->lock);
    exec->refusals = count;
    exec->refusal = result;
    bly_mutex_unlock(&exec->lock);
    return 0;
}

int belay_test_exec_destroy(belay_test_exec *exec)
{
    if (exec == NULL) {
        return 0;
    }
    bly_mutex_lock(&exec->lock);
    bool is_busy = exec->last != NULL || exec->is_running || exec->attached != 0;
    bly_mutex_unlock(&exec->lock);
    if (is_busy) {
        return BELAY_EBUSY;
    }
    bly_mutex_destroy(&exec->lock);
    bly_free(exec);
    return 0;
}
