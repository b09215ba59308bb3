/*
 * gate.h: may a job be started now? --delay, --load and --memfree.
 * Context: the command's only thread; reads files of /proc.
 */
#ifndef BLY_CLI_GATE_H
#define BLY_CLI_GATE_H

#include <stdbool.h>
#include <stdint.h>

/* How often load and memory are looked at while they hold jobs up. */
#define BLY_GATE_LOOK_NS INT64_C(500000000)

/* What holds the next start up. */
enum bly_gate_hold { BLY_GATE_OPEN, BLY_GATE_DELAY, BLY_GATE_LOAD, BLY_GATE_MEMORY };

struct bly_gate {
    int64_t delay_ns;      /* between two starts */
    double load_max;       /* negative: no limit */
    uint64_t memory_least; /* 0: no limit */
    double (*load)(void);  /* bly_cpus_load and bly_cpus_memory, or a test's */
    uint64_t (*memory)(void);
    bool has_started;
    int64_t last_start_ns;
    int64_t look_again_ns; /* after a refusal: not before */
    enum bly_gate_hold hold;
    double load_seen;     /* when the load held it up last */
    uint64_t memory_seen; /* when memory did */
};

/* bly_gate_open_ns: now_ns when a job may start now, else when to ask again. Monotonic times. */
int64_t bly_gate_open_ns(struct bly_gate *gate, int64_t now_ns);

/* bly_gate_started: a job has been started. */
void bly_gate_started(struct bly_gate *gate, int64_t now_ns);

#endif
