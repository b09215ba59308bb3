/*
 * life.h: how far a pool is in its life, and how much it has outstanding, in one word.
 *
 * Because both are one word, "accepted" and "closed" cannot cross: a submit either counts itself
 * before the state moves, and the pool waits for it, or sees the new state and is refused.
 *
 * outstanding = accepted and not finished. A child is admitted before its parent is retired, and a
 * delivery before what caused it, so the count reaches 0 only when nothing more can come; then, and
 * only then, a draining pool moves on to STOPPING.
 */
#ifndef BLY_EXEC_LIFE_H
#define BLY_EXEC_LIFE_H

#include "belay/exec.h"
#include "exec/inbox.h"

typedef struct bly_life {
    uint64_t word; /* atomic: state, the now flag and the count, see life.c */
} bly_life;

/*
 * bly_life_admit: counts one more, or BELAY_ECLOSED when that kind of work is not taken any more.
 */
int bly_life_admit(bly_life *life, bly_work work);

/* bly_life_retire: counts one fewer; true when this moved the pool to STOPPING. */
bool bly_life_retire(bly_life *life);

/* bly_life_close: refuses roots from now on, with `is_now` children too. Returns as retire. */
bool bly_life_close(bly_life *life, bool is_now);

/* bly_life_terminate: STOPPING to TERMINATED. */
void bly_life_terminate(bly_life *life);

belay_exec_state bly_life_state(const bly_life *life);
uint64_t bly_life_outstanding(const bly_life *life);

/* bly_life_is_now: shutdown_now was called: what has not begun is dropped. */
bool bly_life_is_now(const bly_life *life);

#endif
