/* gate.c: see gate.h. */
#include "gate.h"

static int64_t add(int64_t a, int64_t b)
{
    int64_t sum = 0;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* Which of load and memory forbids a start. */
static enum bly_gate_hold look_at_machine(struct bly_gate *gate)
{
    if (gate->load_max >= 0) {
        gate->load_seen = gate->load();
        if (gate->load_seen > gate->load_max) {
            return BLY_GATE_LOAD;
        }
    }
    if (gate->memory_least > 0) {
        gate->memory_seen = gate->memory();
        if (gate->memory_seen < gate->memory_least) {
            return BLY_GATE_MEMORY;
        }
    }
    return BLY_GATE_OPEN;
}

int64_t bly_gate_open_ns(struct bly_gate *gate, int64_t now_ns)
{
    if (gate->has_started && now_ns < add(gate->last_start_ns, gate->delay_ns)) {
        gate->hold = BLY_GATE_DELAY;
        return add(gate->last_start_ns, gate->delay_ns);
    }
    if (now_ns < gate->look_again_ns) {
        return gate->look_again_ns;
    }
    gate->hold = look_at_machine(gate);
    if (gate->hold != BLY_GATE_OPEN) {
        gate->look_again_ns = add(now_ns, BLY_GATE_LOOK_NS);
        return gate->look_again_ns;
    }
    return now_ns;
}

void bly_gate_started(struct bly_gate *gate, int64_t now_ns)
{
    gate->has_started = true;
    gate->last_start_ns = now_ns;
}
