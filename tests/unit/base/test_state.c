/*
 * test_state.c: state machines as tables.
 */
#include "aborts.h"
#include "unit.h"

#include "base/state.h"

enum { IDLE, WAITING, HELD, RELEASED };

static const char *const names[] = {"IDLE", "WAITING", "HELD", "RELEASED"};
static const uint32_t moves[] = {
    [IDLE] = BLY_TO(WAITING) | BLY_TO(HELD),
    [WAITING] = BLY_TO(HELD),
    [HELD] = BLY_TO(RELEASED),
    [RELEASED] = 0,
};
static const bly_state_table lease_states = {"lease", names, moves, bly_count(names)};

START_TEST(allowed_moves_change_the_field)
{
    uint32_t state = IDLE;
    bly_state_move(&lease_states, &state, WAITING);
    ck_assert_uint_eq(state, WAITING);
    bly_state_move(&lease_states, &state, HELD);
    ck_assert_uint_eq(state, HELD);
}
END_TEST

START_TEST(narrow_fields_leave_their_neighbours)
{
    struct {
        uint8_t before, state, after;
    } object = {7, IDLE, 9};
    bly_state_move(&lease_states, &object.state, HELD);
    ck_assert_uint_eq(object.before, 7);
    ck_assert_uint_eq(object.state, HELD);
    ck_assert_uint_eq(object.after, 9);
}
END_TEST

static void move_back(void)
{
    uint32_t state = HELD;
    bly_state_move(&lease_states, &state, WAITING);
}

static void stay(void)
{
    uint32_t state = WAITING;
    bly_state_move(&lease_states, &state, WAITING);
}

static void leave_the_end(void)
{
    bly_state_check(&lease_states, RELEASED, IDLE);
}

static void go_nowhere(void)
{
    bly_state_check(&lease_states, HELD, 4);
}

static void come_from_nowhere(void)
{
    bly_state_check(&lease_states, 40, HELD);
}

START_TEST(other_moves_abort_and_name_both_states)
{
    ck_assert_aborts(move_back, "broken invariant: lease: HELD to WAITING (");
    ck_assert_aborts(stay, "lease: WAITING to WAITING");
    ck_assert_aborts(leave_the_end, "lease: RELEASED to IDLE");
    ck_assert_aborts(go_nowhere, "lease: HELD to ?");
    ck_assert_aborts(come_from_nowhere, "lease: ? to HELD");
    ck_assert_aborts(move_back, "test_state.c:");
}
END_TEST

START_TEST(names_of_states)
{
    ck_assert_str_eq(bly_state_name(&lease_states, HELD), "HELD");
    ck_assert_str_eq(bly_state_name(&lease_states, 4), "?");
}
END_TEST

UNIT_MAIN("base/state", allowed_moves_change_the_field, narrow_fields_leave_their_neighbours,
          other_moves_abort_and_name_both_states, names_of_states)
