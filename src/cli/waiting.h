/*
 * waiting.h: says what a batch waits for while nothing runs and nothing may start: a moment, the
 * load, memory. Once for each such time, and not before it has lasted a little.
 * Context: the command's only thread; writes to stderr.
 */
#ifndef BLY_CLI_WAITING_H
#define BLY_CLI_WAITING_H

#include <stdbool.h>
#include <stdint.h>

#include "gate.h"
#include "mem.h"

/* How long nothing has to happen before a person wonders. */
#define BLY_WAITING_PATIENCE_NS INT64_C(2000000000)

struct bly_waiting {
    bool is_waiting, is_said;
    int64_t since_ns;
};

/* bly_waiting_over: something runs, or there is nothing to start. */
void bly_waiting_over(struct bly_waiting *waiting);

/*
 * bly_waiting_look: nothing runs, and what there is may not start before `until_ns`, because of
 * gate->hold (BLY_GATE_OPEN: the time of the next job). Monotonic times. Says so when it is time.
 * Gives when to call it again; INT64_MAX: never.
 */
int64_t bly_waiting_look(struct bly_waiting *waiting, const struct bly_gate *gate, int64_t until_ns,
                         int64_t now_ns);

/* bly_waiting_text: appends the sentence; left_ns: from `wall_ns`, the present moment, on. */
void bly_waiting_text(struct bly_bytes *to, const struct bly_gate *gate, int64_t left_ns,
                      int64_t wall_ns);

#endif
