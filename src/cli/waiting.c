/* waiting.c: see waiting.h. */
#include "waiting.h"

#include "belay/clock.h"
#include "duration.h"
#include "say.h"
#include "when.h"

#define SECOND_NS INT64_C(1000000000)
#define MIB       1048576.0

void bly_waiting_over(struct bly_waiting *waiting)
{
    *waiting = (struct bly_waiting){0};
}

void bly_waiting_text(struct bly_bytes *to, const struct bly_gate *gate, int64_t left_ns,
                      int64_t wall_ns)
{
    bly_bytes_text(to, "waiting: ");
    if (gate->hold == BLY_GATE_LOAD) {
        bly_bytes_print(to, "the load is %.2f, --load allows %.2f", gate->load_seen,
                        gate->load_max);
    } else if (gate->hold == BLY_GATE_MEMORY) {
        bly_bytes_print(to, "%.0f MiB of memory are available, --memfree wants %.0f",
                        (double)gate->memory_seen / MIB, (double)gate->memory_least / MIB);
    } else {
        int64_t seconds = left_ns / SECOND_NS + (left_ns % SECOND_NS > 0);
        bly_bytes_text(to, "the next job starts in ");
        bly_duration_show(to, seconds * SECOND_NS);
        bly_bytes_text(to, ", at ");
        bly_when_show(to, wall_ns + left_ns);
    }
    bly_bytes_text(to, "; Ctrl-C ends the run");
}

static void say(const struct bly_gate *gate, int64_t left_ns)
{
    struct bly_bytes text = {0};
    bly_waiting_text(&text, gate, left_ns, belay_clock_wall(NULL));
    bly_say("%s", bly_bytes_c(&text));
    bly_bytes_free(&text);
}

int64_t bly_waiting_look(struct bly_waiting *waiting, const struct bly_gate *gate, int64_t until_ns,
                         int64_t now_ns)
{
    if (!waiting->is_waiting) {
        *waiting = (struct bly_waiting){.is_waiting = true, .since_ns = now_ns};
    }
    int64_t say_ns = waiting->since_ns + BLY_WAITING_PATIENCE_NS;
    if (waiting->is_said || (now_ns < say_ns && say_ns >= until_ns)) {
        return INT64_MAX;
    }
    if (now_ns < say_ns) {
        return say_ns;
    }
    waiting->is_said = true;
    say(gate, until_ns - now_ns);
    return INT64_MAX;
}
