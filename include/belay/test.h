/*
 * belay/test.h: tests without sleeping: a clock that is moved by hand, an executor that runs one
 * task at a time, when and in the order the test says, and a history that judges what threads saw.
 * In libbelay-test.
 *
 *     belay_clock *clock;
 *     belay_manual_clock_create(0, 0, &clock);
 *     ... give clock to the objects under test, in their options ...
 *     belay_manual_clock_advance(clock, 5000000);   // everything due in the first 5 ms happens
 */
#ifndef BELAY_TEST_H
#define BELAY_TEST_H

#include "belay/clock.h"
#include "belay/task.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * belay_manual_clock_create: a clock that reads now_ns, and wall_ns as the time of day, until it is
 * moved. Timer services on it have no thread: moving it fires their timers.
 * Gives the clock; belay_manual_clock_destroy ends it.
 * Errors: BELAY_EINVAL (no ret_clock; now_ns is BELAY_NOW or BELAY_FOREVER), BELAY_ENOMEM.
 * Context: any thread, never blocks.
 */
int belay_manual_clock_create(int64_t now_ns, int64_t wall_ns, belay_clock **ret_clock);

/*
 * belay_manual_clock_advance: moves the clock to to_ns, deadline by deadline, in the order of
 * (deadline, begin of the wait): at each the clock reads that deadline, and the timer fires on the
 * calling thread or the thread that sleeps until then is woken. What is armed meanwhile is
 * included, and so is what was due before [G-TEST-1]. The time of day moves along. Then the clock's
 * watchers are told.
 * Errors: BELAY_EINVAL (not a manual clock; to_ns is BELAY_FOREVER, or before its reading),
 * BELAY_EBUSY (it is being moved, by another thread or by the caller of this callback).
 * Context: any thread; runs the timers' callbacks, waits for nobody.
 */
int belay_manual_clock_advance(belay_clock *clock, int64_t to_ns);

/*
 * belay_manual_clock_set_wall: steps the time of day and tells the clock's watchers.
 * Errors: BELAY_EINVAL (not a manual clock), BELAY_EBUSY (it is being moved).
 * Context: any thread; runs the watchers' functions.
 */
int belay_manual_clock_set_wall(belay_clock *clock, int64_t wall_ns);

/*
 * belay_manual_clock_next_deadline: the earliest deadline of a timer or of a sleeping thread;
 * BELAY_FOREVER when there is none, or the clock is none of these.
 * Errors: none. Context: any thread, never blocks.
 */
int64_t belay_manual_clock_next_deadline(belay_clock *clock);

/*
 * belay_manual_clock_await_sleepers: waits, in real time, until at least `count` threads sleep on
 * the clock in blocking calls. So a test knows that its other threads have gone to sleep before it
 * moves the clock.
 * Errors: BELAY_EINVAL (not a manual clock). Context: any thread that is not to sleep itself.
 */
int belay_manual_clock_await_sleepers(belay_clock *clock, uint32_t count);

/*
 * belay_manual_clock_destroy: ends the clock; NULL is allowed.
 * Errors: BELAY_EINVAL (not a manual clock), BELAY_EBUSY (it is being moved, a timer service or
 * watcher has it, or a thread sleeps on it).
 * Context: any thread, never blocks.
 */
int belay_manual_clock_destroy(belay_clock *clock);

typedef struct belay_test_exec belay_test_exec;

/* In which order a test executor runs the tasks that wait in it. */
enum {
    BELAY_TEST_FIFO = 0,   /* in the order of their submits */
    BELAY_TEST_SEEDED = 1, /* in an order that the seed alone decides */
    BELAY_TEST_CHOSEN = 2  /* as choose says */
};

/* Options of a test executor. Zero means the default. */
typedef struct belay_test_exec_opts {
    uint32_t size;      /* sizeof(belay_test_exec_opts) */
    uint32_t order;     /* BELAY_TEST_…; 0: BELAY_TEST_FIFO */
    uint64_t seed;      /* of BELAY_TEST_SEEDED; 0: a seed, always the same */
    belay_clock *clock; /* a manual clock that belay_test_exec_run_until moves; NULL: none */
    /* For BELAY_TEST_CHOSEN: which of `count` waiting tasks is next, 0 being the oldest. */
    uint32_t (*choose)(uint32_t count, void *arg);
    void *arg;
} belay_test_exec_opts;

/*
 * belay_test_exec_create: an executor that runs nothing by itself. opts may be NULL.
 * Gives the executor; belay_test_exec_destroy ends it.
 * Errors: BELAY_EINVAL, BELAY_ENOMEM. Context: any thread, never blocks.
 */
int belay_test_exec_create(const belay_test_exec_opts *opts, belay_test_exec **ret_exec);

/*
 * belay_test_exec_executor: what to submit to, and to name in options.
 * Lends it until belay_test_exec_destroy. Errors of its submit: BELAY_EINVAL, BELAY_EBUSY, and what
 * belay_test_exec_refuse asked for. Context: any thread, never blocks.
 */
belay_executor *belay_test_exec_executor(belay_test_exec *exec);

/*
 * belay_test_exec_pending: how many tasks wait.
 * Errors: none. Context: any thread, never blocks.
 */
uint32_t belay_test_exec_pending(belay_test_exec *exec);

/*
 * belay_test_exec_step: runs one task, if one waits [G-TEST-2]. Returns how many it ran.
 * Errors: BELAY_EINVAL (no executor; choose named no waiting task), BELAY_EBUSY (a task of it is
 * running). Context: any thread; blocks as long as the task does.
 */
int belay_test_exec_step(belay_test_exec *exec);

/*
 * belay_test_exec_run: steps until no task waits, what the tasks submit included, or `max` were run
 * (0: no bound). Returns how many it ran. Errors, Context: as belay_test_exec_step.
 */
int belay_test_exec_run(belay_test_exec *exec, uint32_t max);

/*
 * belay_test_exec_run_until: runs what waits; when nothing does, moves the clock to its next
 * deadline [G-TEST-3], and goes on so until the clock reads until_ns and nothing waits. Returns how
 * many tasks it ran. Errors: BELAY_EINVAL (no executor; it has no clock; until_ns is BELAY_FOREVER
 * or before the clock's reading; choose), BELAY_EBUSY (a task of it is running; the clock is being
 * moved).
 * Context: any thread; blocks as long as the tasks do.
 */
int belay_test_exec_run_until(belay_test_exec *exec, int64_t until_ns);

/*
 * belay_test_exec_refuse: the next `count` submits are answered with `result`, an error, deliveries
 * included (which a proper executor never refuses). Errors: BELAY_EINVAL (no executor; result is
 * not negative). Context: any thread, never blocks.
 */
int belay_test_exec_refuse(belay_test_exec *exec, uint32_t count, int result);

/*
 * belay_test_exec_destroy: ends the executor; NULL is allowed.
 * Errors: BELAY_EBUSY (tasks wait, one is running, or an object is attached).
 * Context: any thread, never blocks.
 */
int belay_test_exec_destroy(belay_test_exec *exec);

/*
 * A history: what threads that acquire permits or hand over tasks saw, recorded while they run, and
 * judged by belay_history_check when they have ended [G-TEST-7]. Entries are acquires or tasks, and
 * have numbers from 0. Recording takes no lock.
 */
typedef struct belay_history belay_history;

/*
 * belay_history_create: an empty history of at most entries_max acquires and tasks, and `capacity`
 * permits: of a semaphore that is resized, the most that it ever has.
 * Gives the history; belay_history_destroy ends it.
 * Errors: BELAY_EINVAL (no ret_history; entries_max is 0 or above 2^31 - 1), BELAY_ENOMEM.
 * Context: any thread, never blocks.
 */
int belay_history_create(uint64_t capacity, uint32_t entries_max, belay_history **ret_history);

/*
 * belay_history_begin: an acquire of so many permits begins, or, when permits is 0, a task is about
 * to be handed over. Returns the entry's number.
 * Errors: BELAY_EFULL (entries_max have begun). Context: any thread, never blocks.
 */
int belay_history_begin(belay_history *history, uint32_t permits);

/*
 * belay_history_end: the entry has its outcome: what the acquire returned or its callback was told;
 * of a task 0 when it is run, and why when it is refused or dropped. Called after the acquire; with
 * result 0 its permits are surely held from now on. Further calls are recorded too, and are faults.
 * Errors: BELAY_EINVAL (no such entry). Context: any thread, never blocks.
 */
int belay_history_end(belay_history *history, int entry, int result);

/*
 * belay_history_release: the entry's permits are about to be released: called before that.
 * Errors: BELAY_EINVAL (no such entry). Context: any thread, never blocks.
 */
int belay_history_release(belay_history *history, int entry);

/*
 * belay_history_order: the entry was queued at `place`, a number that rises with each that is
 * queued, and served as number `turn`, from 1; both given under the lock of the queue. Numbers
 * taken outside of it give false alarms.
 * Errors: BELAY_EINVAL (no such entry; turn is 0). Context: any thread, never blocks.
 */
int belay_history_order(belay_history *history, int entry, uint64_t place, uint64_t turn);

/*
 * belay_history_count: how many entries ended with `result`.
 * Errors: none. Context: while nobody records; never blocks.
 */
uint64_t belay_history_count(const belay_history *history, int result);

/*
 * belay_history_check: NULL when the history is right, else the name of a rule that it breaks, and
 * in *ret_entry, which may be NULL, an entry that shows it. In checking order:
 *   an acquire has one outcome: "no outcome", "two outcomes"
 *   a task ends once: "task lost", "task twice"
 *   what was granted is released once at most: "released twice", "release without a grant"
 *   only what was granted had a turn: "turn without a grant"
 *   no more permits than the capacity were surely held at one time: "over capacity"
 *   turns are 1, 2, 3 and so on: "turn left out", "turn twice"
 *   who was queued first was served first: "out of order"
 * Context: while nobody records; never blocks.
 */
const char *belay_history_check(belay_history *history, uint32_t *ret_entry);

/* belay_history_destroy: ends the history; NULL is allowed. Context: while nobody records. */
void belay_history_destroy(belay_history *history);

#ifdef __cplusplus
}
#endif

#endif
