/* When jobs may start: delay, load, memory. */
#include "unit.h"

#include "cli/gate.h"

static double load_now;
static uint64_t memory_now;

static double load(void)
{
    return load_now;
}

static uint64_t memory(void)
{
    return memory_now;
}

static struct bly_gate make_gate(void)
{
    return (struct bly_gate){.load_max = -1, .load = load, .memory = memory};
}

START_TEST(without_conditions_it_is_open)
{
    struct bly_gate gate = make_gate();
    load_now = 1000;
    memory_now = 0;
    ck_assert_int_eq(bly_gate_open_ns(&gate, 5), 5);
    bly_gate_started(&gate, 5);
    ck_assert_int_eq(bly_gate_open_ns(&gate, 5), 5);
}
END_TEST

START_TEST(a_delay_counts_from_the_last_start)
{
    struct bly_gate gate = make_gate();
    gate.delay_ns = 100;
    ck_assert_int_eq(bly_gate_open_ns(&gate, 0), 0);
    bly_gate_started(&gate, 0);
    ck_assert_int_eq(bly_gate_open_ns(&gate, 1), 100);
    ck_assert_int_eq(bly_gate_open_ns(&gate, 100), 100);
    gate.delay_ns = INT64_MAX;
    bly_gate_started(&gate, 100);
    ck_assert_int_eq(bly_gate_open_ns(&gate, 200), INT64_MAX);
}
END_TEST

START_TEST(a_loaded_machine_is_looked_at_again)
{
    struct bly_gate gate = make_gate();
    gate.load_max = 2;
    load_now = 2.5;
    ck_assert_int_eq(bly_gate_open_ns(&gate, 10), 10 + BLY_GATE_LOOK_NS);
    load_now = 1;
    ck_assert_int_eq(bly_gate_open_ns(&gate, 11), 10 + BLY_GATE_LOOK_NS);
    ck_assert_int_eq(bly_gate_open_ns(&gate, 10 + BLY_GATE_LOOK_NS), 10 + BLY_GATE_LOOK_NS);
}
END_TEST

START_TEST(little_memory_closes_it)
{
    struct bly_gate gate = make_gate();
    gate.memory_least = 1000;
    memory_now = 999;
    ck_assert_int_gt(bly_gate_open_ns(&gate, 0), 0);
    memory_now = 1000;
    ck_assert_int_eq(bly_gate_open_ns(&gate, BLY_GATE_LOOK_NS), BLY_GATE_LOOK_NS);
}
END_TEST

UNIT_MAIN("cli/gate", without_conditions_it_is_open, a_delay_counts_from_the_last_start,
          a_loaded_machine_is_looked_at_again, little_memory_closes_it)
