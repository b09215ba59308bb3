/*
 * state.h: state machines as tables.
 *
 *     enum { IDLE, WAITING, HELD };
 *     static const char *const names[] = {"IDLE", "WAITING", "HELD"};
 *     static const uint32_t moves[] = {
 *         [IDLE] = BLY_TO(WAITING) | BLY_TO(HELD),
 *         [WAITING] = BLY_TO(HELD),
 *     };
 *     static const bly_state_table lease_states = {"lease", names, moves, bly_count(names)};
 *     ...
 *     bly_state_move(&lease_states, &lease->state, HELD);
 *
 * A move that the table does not allow aborts with "lease: IDLE to IDLE" as the broken invariant,
 * in every build. A state that has no row allows no move.
 */
#ifndef BLY_BASE_STATE_H
#define BLY_BASE_STATE_H

#include "base/assert.h"

#include <stdint.h>

#define BLY_STATES_MAX 32u

#define BLY_TO(state) (UINT32_C(1) << (state))

typedef struct bly_state_table {
    const char *name;         /* of the machine */
    const char *const *names; /* of the states */
    const uint32_t *moves;    /* per state, the set of states that may follow it */
    uint32_t count;           /* of the states, at most BLY_STATES_MAX */
} bly_state_table;

/* bly_state_broken: aborts, naming the machine and both states. */
_Noreturn void bly_state_broken(const bly_state_table *table, uint32_t from, uint32_t to,
                                const char *file, int line);

/* bly_state_name: "?" for a number that is no state. Lends a constant string. */
const char *bly_state_name(const bly_state_table *table, uint32_t state);

static inline void bly_state_check_at(const bly_state_table *table, uint32_t from, uint32_t to,
                                      const char *file, int line)
{
    if (bly_unlikely(from >= table->count || to >= table->count ||
                     (table->moves[from] & BLY_TO(to)) == 0)) {
        bly_state_broken(table, from, to, file, line);
    }
}

/* bly_state_check: asserts that the move is allowed; for states that are stored atomically. */
#define bly_state_check(table, from, to) bly_state_check_at(table, from, to, __FILE__, __LINE__)

/* bly_state_move: *field, an unsigned integer of any width, goes to the state `to`. */
#define bly_state_move(table, field, to)                                                           \
    __extension__({                                                                                \
        __typeof__(field) bly_field = (field);                                                     \
        uint32_t bly_to = (to);                                                                    \
        bly_state_check(table, *bly_field, bly_to);                                                \
        *bly_field = (__typeof__(*bly_field))bly_to;                                               \
    })

#endif
