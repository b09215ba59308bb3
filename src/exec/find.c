/*
 * find.c: where a worker's next task comes from.
 *
 * Near at hand: the newest of its own deque, then the oldest of its own inbox. Far: every inbox and
 * every other deque, all of them, from a place chosen at random, so that thieves spread.
 *
 * Fairness. Tasks that submit themselves again keep a deque filled at its newest end for ever.
 * Every BLY_FAIR_PERIOD turns a worker therefore takes something old instead, and rotates between
 * three sources: all inboxes, its own deque's oldest, and other workers' deques. The last is for
 * the child of a task that never returns, when all other workers feed themselves.
 */
#include "exec/exec_int.h"

#define BACK_OFF_MAX 6u  /* a round waits at most 2^6 pauses */
#define YIELD_ROUNDS 16u /* after so many rounds others may run */

typedef enum source { INBOXES, OLDEST, VICTIMS } source;

#define SOURCES 3u

/* In which order a worker looks for something old, turn by turn. */
static const source fair_order[][SOURCES] = {
    {INBOXES, OLDEST, VICTIMS},
    {OLDEST, INBOXES, VICTIMS},
    {INBOXES, OLDEST, VICTIMS},
    {VICTIMS, OLDEST, INBOXES},
};

static const bly_item nothing = {.task = NULL};

static bly_item from_deque(belay_task *task)
{
    return (bly_item){.task = task, .work = BLY_CHILD};
}

static bly_item take_inbox(bly_worker *worker, uint32_t number)
{
    bly_item item = bly_inbox_take(&worker->exec->workers[number]->inbox);
    if (item.task != NULL) {
        bly_count_add(&worker->sum.inbox_takes, 1);
    }
    return item;
}

static bly_item pop_own(bly_worker *worker)
{
    const bly_deque_kind *kind = worker->exec->tuning.deque;
    belay_task *task = kind->pop(worker->deque, worker->first_mark);
    if (task != NULL) {
        bly_count_add(&worker->sum.own_pops, 1);
    }
    return from_deque(task);
}

static bly_item pop_oldest(bly_worker *worker)
{
    belay_task *task = worker->exec->tuning.deque->pop_oldest(worker->deque);
    if (task != NULL) {
        bly_count_add(&worker->sum.own_pops, 1);
    }
    return from_deque(task);
}

/* Takes a batch: the oldest is returned, the others go to the thief's own deque, in their order. */
static bly_item steal(bly_worker *worker, uint32_t number)
{
    if (number == worker->number) {
        return nothing;
    }
    const bly_deque_kind *kind = worker->exec->tuning.deque;
    bly_deque *victim = worker->exec->workers[number]->deque;
    if (kind->size(victim) == 0) {
        return nothing;
    }
    bly_count_add(&worker->sum.steals_tried, 1);
    uint32_t max = worker->exec->tuning.steal_max;
    if (!kind->reserve(worker->deque, max - 1)) {
        max = 1;
    }
    belay_task *tasks[BLY_STEAL_MAX];
    uint32_t count = kind->steal(victim, tasks, max);
    bly_assert(count <= max);
    if (count == 0) {
        return nothing;
    }
    bly_count_add(&worker->sum.steals_won, 1);
    bly_count_add(&worker->sum.stolen, count);
    for (uint32_t i = 1; i < count; i++) {
        bool is_pushed = kind->push(worker->deque, tasks[i]);
        bly_assert(is_pushed);
    }
    /* A worker on its way to bed may have looked here before the push and there after the steal. A
     * thief that is a searcher wakes nobody here; search looks when it ends. */
    if (count > 1) {
        bly_idle_wake_one(&worker->exec->idle);
    }
    return from_deque(tasks[0]);
}

/* Applies `look` to every worker's number, from `start` on, until it brings something. */
static bly_item look_around(bly_worker *worker, uint32_t start,
                            bly_item (*look)(bly_worker *, uint32_t))
{
    uint32_t count = worker->exec->worker_count;
    for (uint32_t i = 0; i < count; i++) {
        bly_item item = look(worker, (start + i) % count);
        if (item.task != NULL) {
            return item;
        }
    }
    return nothing;
}

static uint32_t random_start(bly_worker *worker)
{
    return (uint32_t)(bly_random(&worker->random) % worker->exec->worker_count);
}

static bly_item look_into(bly_worker *worker, source from, uint32_t turn)
{
    switch (from) {
    case INBOXES:
        return look_around(worker, worker->number + turn, take_inbox);
    case OLDEST:
        return pop_oldest(worker);
    default:
        return look_around(worker, random_start(worker), steal);
    }
}

static bly_item find_old(bly_worker *worker, uint32_t turn)
{
    const source *order = fair_order[turn % bly_count(fair_order)];
    for (uint32_t i = 0; i < SOURCES; i++) {
        bly_item item = look_into(worker, order[i], turn);
        if (item.task != NULL) {
            return item;
        }
    }
    return nothing;
}

bly_item bly_find(bly_worker *worker)
{
    worker->tick++;
    if (worker->tick % BLY_FAIR_PERIOD == 0) {
        return find_old(worker, worker->tick / BLY_FAIR_PERIOD);
    }
    bly_item item = pop_own(worker);
    return item.task != NULL ? item : take_inbox(worker, worker->number);
}

static bly_item take_or_steal(bly_worker *worker, uint32_t number)
{
    bly_item item = take_inbox(worker, number);
    return item.task != NULL ? item : steal(worker, number);
}

static void back_off(uint32_t round)
{
    uint32_t pauses = 1u << (round < BACK_OFF_MAX ? round : BACK_OFF_MAX);
    for (uint32_t i = 0; i < pauses; i++) {
        bly_pause();
    }
    if (round % YIELD_ROUNDS == YIELD_ROUNDS - 1) {
        bly_yield();
    }
}

bly_item bly_find_far(bly_worker *worker)
{
    for (uint32_t round = 0;; round++) {
        bly_item item = look_around(worker, random_start(worker), take_or_steal);
        if (item.task != NULL || round == worker->exec->tuning.spin ||
            bly_life_state(&worker->exec->life) >= BELAY_EXEC_STOPPING) {
            return item;
        }
        back_off(round);
    }
}

bool bly_find_visible(const belay_exec *exec)
{
    for (uint32_t i = 0; i < exec->worker_count; i++) {
        const bly_worker *worker = exec->workers[i];
        if (bly_inbox_count(&worker->inbox) != 0 || exec->tuning.deque->size(worker->deque) != 0) {
            return true;
        }
    }
    return false;
}
