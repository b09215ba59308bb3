/*
 * contention.c: which locks and atomics threads contend for.
 *
 * Two operations on one object conflict unless both are loads. An object is contended for when, in
 * some execution, two threads' conflicting operations on it are not ordered by what happened before
 * the later of them. Depth first branches only before operations on such objects. What is contended
 * for is found out on the way: at first nothing is, and when an execution shows that something is,
 * depth first begins again with that known.
 *
 * Nothing is lost. Take a schedule that switches away from a thread before its operation `a` on an
 * object that is not contended for. The operations of others until `a` do not conflict with `a`,
 * or else the first that does is not ordered with it; so `a`, and the plain code up to the
 * thread's next operation, can come before the switch with the same outcome and no preemption more.
 * Were there a conflict, then the reordered schedule up to it is one that depth first goes through,
 * and it ends in that conflict: depth first would have found out. What is known is kept for further
 * runs of the same scenario, as a branch too many does no harm.
 *
 * Always branched at is what the argument does not cover:
 *   - waiting, waking, joins, and sequentially consistent operations;
 *   - the last operation before the thread reads the clock, which deadlines move;
 *   - the last operation before it gives back a lock that is contended for, or ends: who waits for
 *     that has given way for free, and would need a preemption for it if it came later;
 *   - everything in a scenario in which a thread yields: when that may run again is decided by the
 *     steps of others, whatever they are.
 * Plain data must be free of races, as everywhere in the explorer.
 */
#include "testkit/explorer/engine.h"

#include <string.h>

#define CONTENDED_MAX 1024 /* a power of two; when they fill the table, everything counts as one */

static const void *contended[CONTENDED_MAX];
static unsigned contended_count;
static bool has_yields;
static void (*known_fn)(void *);
static void *known_arg;

void model_contention_reset(void (*fn)(void *), void *arg)
{
    if (fn != known_fn || arg != known_arg) {
        memset(contended, 0, sizeof contended);
        contended_count = 0;
        has_yields = false;
        known_fn = fn;
        known_arg = arg;
    }
}

static unsigned slot_of(const void *object)
{
    unsigned slot = (unsigned)(model_mix(0, (uintptr_t)object) >> 32) & (CONTENDED_MAX - 1);
    while (contended[slot] != NULL && contended[slot] != object) {
        slot = (slot + 1) & (CONTENDED_MAX - 1);
    }
    return slot;
}

static bool is_everything(void)
{
    return has_yields || contended_count == CONTENDED_MAX / 2;
}

void model_note_yield(void)
{
    if (model.is_reducing && !has_yields) {
        has_yields = true;
        model.has_learned = true;
    }
}

bool model_is_contended(const void *object)
{
    return is_everything() || contended[slot_of(object)] != NULL;
}

void model_note_contention(const void *object)
{
    unsigned slot = slot_of(object);
    if (!is_everything() && contended[slot] == NULL) {
        contended[slot] = object;
        contended_count++;
        model.has_learned = true;
    }
}
