/*
 * scenario.h: one scenario of the explorer, and the tables of them that main.c runs.
 */
#ifndef BELAY_TESTS_MODEL_SCENARIO_H
#define BELAY_TESTS_MODEL_SCENARIO_H

#include "belay/model.h"
#include "sync/sync.h"

typedef struct scenario {
    const char *name;
    void (*fn)(void *arg); /* one execution; see belay_model_run */
    void *arg;
    belay_model_opts opts;     /* bounds; the strategy is the runner's */
    const char *finds;         /* part of the message of a planted fault; NULL: nothing may fail */
    const char *trace;         /* a planted fault's stored trace, which must still find it */
    void (*before)(void *arg); /* before the run; may be NULL */
    const char *(*after)(void *arg); /* after an exhausted one: what is wrong, or NULL */
} scenario;

/* Tables end with a scenario without a name. */
extern const scenario litmus_scenarios[];
extern const scenario planted_scenarios[];
extern const scenario engine_scenarios[];
extern const scenario reduced_scenarios[];
extern const scenario deliver_scenarios[];
extern const scenario time_scenarios[];
extern const scenario token_scenarios[];
extern const scenario wall_scenarios[];
extern const scenario timers_scenarios[];
extern const scenario sem_order_scenarios[];
extern const scenario exec_scenarios[];
extern const scenario sched_scenarios[];
extern const scenario claims_scenarios[];
extern const scenario tickets_scenarios[];
extern const scenario pool_scenarios[];
const scenario *sem_scenarios(void); /* makes its table at the first call */

#endif
