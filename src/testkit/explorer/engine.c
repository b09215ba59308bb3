/*
 * engine.c: one execution: its threads, who runs next, and how it ends.
 *
 * Everything runs on one thread of the machine. A thread of the execution gives way only inside
 * model_point and model_block; both may switch straight to another thread's fiber. The caller of
 * the explorer is the fiber `home`: it gets control when all threads have ended, when nothing can
 * go on, or when something failed, and never switches back into an execution that is over.
 *
 * Options of a choice of thread, in this order: going on (or, when the current thread cannot, each
 * runnable thread, all free); each other runnable thread (a preemption); each thread whose deadline
 * is the earliest (a timeout: the clock jumps there). A spurious wake-up is a decision of the wait.
 * A thread that yielded is runnable again only after another has stepped, or nobody else can.
 */
#include "testkit/explorer/engine.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

model_engine model;

bool model_engine_open(void)
{
    if (model.threads[0].fiber.stack != NULL) {
        return true;
    }
    for (unsigned i = 0; i < MODEL_THREADS_MAX; i++) {
        if (!bly_fiber_open(&model.threads[i].fiber)) {
            while (i-- > 0) {
                bly_fiber_close(&model.threads[i].fiber);
            }
            return false;
        }
        uintptr_t low = (uintptr_t)model.threads[i].fiber.stack;
        model.stacks_low = i == 0 || low < model.stacks_low ? low : model.stacks_low;
        model.stacks_high = low > model.stacks_high ? low : model.stacks_high;
    }
    model.stacks_high += BLY_FIBER_STACK_SIZE;
    return true;
}

void model_fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!model.has_failed) {
        model.has_failed = true;
        vsnprintf(model.message, sizeof model.message, format, args);
    }
    va_end(args);
    bly_fiber_switch(&model.current->fiber, &model.home);
    __builtin_unreachable();
}

/* Ends an execution that has come to a state seen before. */
void model_cut(void)
{
    model.is_cut = true;
    bly_fiber_switch(&model.current->fiber, &model.home);
    __builtin_unreachable();
}

/* Decides, and writes the decision down. A single option is no decision. */
unsigned model_decide(const model_decision *options, const uint8_t *threads)
{
    unsigned total = model_decision_options(options);
    bly_assert(total > 0 && total <= UINT8_MAX);
    if (total == 1) {
        return 0;
    }
    if (model.decision_count == MODEL_DECISIONS_MAX) {
        model_fail("livelock: more than %d decisions", MODEL_DECISIONS_MAX);
    }
    model_decision *decision = &model.decisions[model.decision_count];
    unsigned chosen;
    bool is_fixed = threads != NULL && model.is_local;
    if (model.decision_count < model.prefix_count) {
        is_fixed = decision->is_fixed; /* it may have turned out not to be: see model_not_local */
        chosen = decision->chosen < total ? decision->chosen : 0;
    } else if (is_fixed) {
        chosen = 0;
    } else if (threads != NULL) {
        chosen = model.strategy->choose_thread(model.strategy, options, threads);
    } else {
        chosen = model.strategy->choose(model.strategy, options);
    }
    bly_assert(chosen < total);
    memcpy(decision, options, offsetof(model_decision, cost));
    decision->chosen = (uint8_t)chosen;
    decision->cost = (uint8_t)model_decision_cost(options, chosen);
    decision->thread = threads != NULL ? threads[chosen] : 0;
    decision->is_fixed = is_fixed;
    model.last_local = is_fixed ? model.decision_count : UINT32_MAX;
    model.decision_count++;
    model.spent[decision->cost]++;
    if (threads == NULL) {
        model_saw(chosen);
    }
    return chosen;
}

/* Appends the threads of the mask to a list, from `first` upwards and round. */
static unsigned collect(uint32_t mask, unsigned first, uint8_t *threads, unsigned count)
{
    uint32_t rotated = mask >> first | mask << (MODEL_THREADS_MAX - first);
    rotated &= (1U << MODEL_THREADS_MAX) - 1;
    while (rotated != 0) {
        threads[count++] =
            (uint8_t)((first + (unsigned)__builtin_ctz(rotated)) % MODEL_THREADS_MAX);
        rotated &= rotated - 1;
    }
    return count;
}

static bool has_budget(enum model_cost cost)
{
    return model.spent[cost] < model.budgets[cost];
}

/* The threads whose deadline comes first: several where deadlines are equal. */
static uint32_t earliest_deadlines(void)
{
    int64_t earliest_ns = BELAY_FOREVER;
    uint32_t earliest = 0;
    for (uint32_t left = model.timed; left != 0; left &= left - 1) {
        int64_t until_ns = model.threads[__builtin_ctz(left)].until_ns;
        if (until_ns <= earliest_ns) {
            earliest = until_ns < earliest_ns ? 0 : earliest;
            earliest |= left & -left;
            earliest_ns = until_ns;
        }
    }
    return earliest;
}

/* Lists who may run next; self is going on when it is runnable, unless it gives way. */
static void list_options(model_decision *options, uint8_t *threads, bool gives_way)
{
    *options = (model_decision){.kind = MODEL_KIND_THREAD};
    uint32_t self = 1U << model.current->index;
    uint32_t ready = model.runnable;
    unsigned count = 0;
    if (ready == 0 && model.timed == 0) {
        ready = model.yielded; /* all spin, and no deadline will help them */
    }
    if ((ready & self) != 0 && !gives_way) {
        threads[count++] = (uint8_t)model.current->index;
        options->counts[MODEL_COST_FREE] = 1;
        unsigned others = collect(ready & ~self, model.current->index, threads, count);
        options->counts[MODEL_COST_PREEMPT] = (uint8_t)(others - count);
        count = others;
    } else {
        count = collect(ready, model.current->index, threads, count);
        options->counts[MODEL_COST_FREE] = (uint8_t)count;
    }
    bool is_forced = count == 0;
    if (model.timed != 0 && (is_forced || has_budget(MODEL_COST_TIMEOUT))) {
        unsigned with = collect(earliest_deadlines(), 0, threads, count);
        options->counts[is_forced ? MODEL_COST_FREE : MODEL_COST_TIMEOUT] = (uint8_t)(with - count);
        count = with;
    }
}

static void describe_stuck(char *text, size_t size)
{
    size_t used = 0;
    for (unsigned i = 0; i < model.thread_count && used < size; i++) {
        const model_thread *thread = &model.threads[i];
        if (thread->state != MODEL_ENDED && thread->state != MODEL_FREE) {
            used += (size_t)snprintf(text + used, size - used, "; thread %u waits in %s at %s", i,
                                     thread->operation, thread->where);
        }
    }
}

/* Makes the chosen thread the current one; one that waits is chosen when its deadline passes. */
static void switch_to(model_thread *next)
{
    if (next->state == MODEL_ON_FUTEX) {
        next->has_timed_out = true;
        if (next->until_ns > model.now_ns) {
            model.now_ns = next->until_ns;
        }
        next->past = model_mix(next->past, 1);
        model_wake(next);
    }
    uint32_t bit = 1U << next->index;
    if ((model.yielded & bit) != 0) {
        model.yielded &= ~bit;
        model.runnable |= bit;
    } else {
        model.runnable |= model.yielded; /* next steps now, so those who yielded may look again */
        model.yielded = 0;
    }
    if (next != model.current) {
        model_thread *self = model.current;
        model.current = next;
        model.is_local = false;
        model.last_local = UINT32_MAX;
        bly_fiber_switch(&self->fiber, &next->fiber);
    }
}

/*
 * What needs no list of options: one thread is ready and no deadline may pass, which is no
 * decision; or depth first repeats a decision of the execution before. NULL where neither is so.
 */
static model_thread *quick_choice(void)
{
    uint32_t ready = model.runnable;
    if (ready != 0 && (ready & (ready - 1)) == 0 &&
        (model.timed == 0 || !has_budget(MODEL_COST_TIMEOUT))) {
        return &model.threads[__builtin_ctz(ready)];
    }
    if (!model.is_walking || ready == 0 || model.decision_count + 1 >= model.prefix_count) {
        return NULL;
    }
    const model_decision *decision = &model.decisions[model.decision_count];
    bly_assert(decision->kind == MODEL_KIND_THREAD);
    model.last_local = decision->is_fixed ? model.decision_count : UINT32_MAX;
    model.decision_count++;
    model.spent[decision->cost]++;
    return &model.threads[decision->thread];
}

static model_thread *decided_choice(bool gives_way)
{
    uint8_t threads[3 * MODEL_THREADS_MAX];
    model_decision options;
    list_options(&options, threads, gives_way);
    if (model_decision_options(&options) == 0) {
        char stuck[MODEL_MESSAGE_MAX / 2] = "";
        describe_stuck(stuck, sizeof stuck);
        model_fail("deadlock or lost wake-up: no thread can go on%s", stuck);
    }
    return &model.threads[threads[model_decide(&options, threads)]];
}

static void choose_and_switch(bool gives_way)
{
    model_thread *next = quick_choice();
    switch_to(next != NULL ? next : decided_choice(gives_way));
}

/* An operation that cannot take effect now: the thread is about to wait, and others may go on. */
void model_step(const char *operation, const char *where)
{
    model_thread *self = model.current;
    self->where = where;
    self->operation = operation;
    self->past += MODEL_STEP;
    model.steps++;
}

void model_point_slow(const char *operation, const char *where)
{
    if (model.steps > model.opts->steps_max) {
        model_fail("livelock: more than %u operations in one execution, the last %s at %s",
                   model.opts->steps_max, operation, where);
    }
    if (model.invariant != NULL && !model.is_observing) {
        bool was_raw = model.is_raw;
        model.is_observing = true;
        model.is_raw = true;
        model.invariant(model.invariant_arg);
        model.is_raw = was_raw;
        model.is_observing = false;
    }
    choose_and_switch(false);
}

/*
 * A wait that ends for no reason: the thread is ready to run, at the first moment at which it could
 * be, and who goes on is as free a choice as if it waited. Later moments are no others: until the
 * thread runs again nobody but a wake of the same word could tell, and that wake would have ended
 * the wait.
 */
bool model_wakes_for_nothing(void)
{
    if (!has_budget(MODEL_COST_SPURIOUS)) {
        return false;
    }
    model_decision options = {.kind = MODEL_KIND_WAKE};
    options.counts[MODEL_COST_FREE] = 1;
    options.counts[MODEL_COST_SPURIOUS] = 1;
    if (model_decide(&options, NULL) == 0) {
        return false;
    }
    choose_and_switch(true);
    return true;
}

void model_block(enum model_state state, const void *wait_on, int64_t until_ns)
{
    model_thread *self = model.current;
    uint32_t bit = 1U << self->index;
    self->state = state;
    self->wait_on = wait_on;
    self->until_ns = until_ns;
    self->has_timed_out = false;
    self->wait_seq = ++model.wait_seq;
    model.runnable &= ~bit;
    if (state == MODEL_ON_FUTEX) {
        model.timed |= until_ns != BELAY_FOREVER ? bit : 0;
    }
    choose_and_switch(false);
}

void model_wake(model_thread *thread)
{
    uint32_t bit = 1U << thread->index;
    bly_assert(thread->state != MODEL_RUNNABLE && thread->state != MODEL_ENDED);
    thread->state = MODEL_RUNNABLE;
    thread->wait_on = NULL;
    model.timed &= ~bit;
    model.runnable |= bit;
}

void model_yield(void)
{
    uint32_t bit = 1U << model.current->index;
    model.runnable &= ~bit;
    model.yielded |= bit;
    choose_and_switch(false);
}

/* The first function of every fiber. */
static void thread_main(void)
{
    model_thread *self = model.current;
    self->fn(self->arg);
    model_thread_end(self);
    model_not_local();
    self->state = MODEL_ENDED;
    model.runnable &= ~(1U << self->index);
    bool has_others = false;
    for (unsigned i = 0; i < model.thread_count; i++) {
        model_thread *other = &model.threads[i];
        if (other->state == MODEL_ON_THREAD && other->wait_on == self) {
            model_wake(other);
        }
        has_others = has_others || other->state != MODEL_ENDED;
    }
    if (has_others) {
        choose_and_switch(false);
    }
    bly_fiber_switch(&self->fiber, &model.home);
    __builtin_unreachable();
}

model_thread *model_start_thread(void (*fn)(void *), void *arg)
{
    if (model.thread_count == MODEL_THREADS_MAX) {
        return NULL;
    }
    model_thread *thread = &model.threads[model.thread_count];
    bly_fiber fiber = thread->fiber;
    memset(thread, 0, sizeof *thread);
    thread->fiber = fiber;
    thread->index = model.thread_count;
    thread->fn = fn;
    thread->arg = arg;
    thread->where = "its start";
    thread->operation = "start";
    thread->state = MODEL_RUNNABLE;
    if (model.thread_count > 0) {
        thread->view = model.current->view;
        model.current->view.happened[model.current->index]++;
        model.current->view.visible[model.current->index]++;
        model_saw(thread->index);
        thread->past = model_mix(model.current->past, thread->index);
    }
    thread->view.happened[thread->index] = 1;
    thread->view.visible[thread->index] = 1;
    model.thread_count++;
    model.is_raw = model.thread_count == 1;
    model.runnable |= 1U << thread->index;
    bly_fiber_start(&thread->fiber, thread_main);
    return thread;
}

/* What must hold once all threads have ended. */
static void check_ending(void)
{
    size_t first_size = 0;
    const char *where = "";
    size_t leaks = model_arena_leaks(&first_size, &where);
    if (!model.has_failed && leaks > 0) {
        model.has_failed = true;
        snprintf(model.message, sizeof model.message,
                 "leak: %zu blocks, the first of %zu bytes, allocated near %s", leaks, first_size,
                 where);
    }
    for (unsigned i = 0; i < model.thread_count && !model.has_failed; i++) {
        if (model.threads[i].is_owed) {
            model.has_failed = true;
            snprintf(model.message, sizeof model.message,
                     "leak: thread %u was neither joined nor detached", i);
        }
    }
}

static void reset(void)
{
    model.runnable = 0;
    model.yielded = 0;
    model.timed = 0;
    model.thread_count = 0;
    model.steps = 0;
    model.decision_count = 0;
    memset(model.spent, 0, sizeof model.spent);
    model.sc_epoch = 0;
    model.wait_seq = 0;
    model.now_ns = MODEL_START_NS;
    model.sc_fences = (model_clock){0};
    model.fences_past = 0;
    model.has_failed = false;
    model.is_cut = false;
    model.is_local = false;
    model.last_local = UINT32_MAX;
    model.invariant = NULL;
    model.is_observing = false;
    model_memory_reset();
    model_arena_reset();
    model_sync_reset();
    if (model.is_logging) {
        model_log_reset();
    }
}

void model_execute(void (*fn)(void *), void *arg)
{
    reset();
    model.current = model_start_thread(fn, arg);
    bly_fiber_switch(&model.home, &model.current->fiber);
    if (model.is_cut) {
        model.total_cut++;
    } else {
        check_ending();
    }
    model.total_steps += model.steps;
}
