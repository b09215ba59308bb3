/* ran.h: real outputs for tests: runs a shell line and gives what it wrote. */
#ifndef BELAY_TESTS_UNIT_CLI_RAN_H
#define BELAY_TESTS_UNIT_CLI_RAN_H

#include <check.h>

#include "proc/proc.h"

struct ran {
    bly_proc *proc;
    bool is_over;
    bly_proc_end end;
};

static inline void ran_ended(const bly_proc_end *end, void *arg)
{
    struct ran *ran = arg;
    ran->end = *end;
    ran->is_over = true;
}

static inline bly_proc *ran_open(void)
{
    bly_proc *proc = NULL;
    bly_proc_opts opts = {.size = sizeof opts, .jobs_max = 8, .spool_dir = "."};
    ck_assert_int_eq(bly_proc_create(&opts, &proc), 0);
    return proc;
}

/* Runs a line of /bin/sh to its end; the outputs in ran->end are the caller's. */
static inline struct ran ran_line(bly_proc *proc, const char *line)
{
    struct ran ran = {.proc = proc};
    char *argv[] = {(char[]){"/bin/sh"}, (char[]){"-c"}, (char *)line, NULL};
    bly_proc_spec spec = {.size = sizeof spec, .argv = argv, .ended = ran_ended, .arg = &ran};
    ck_assert_int_eq(bly_proc_spawn(proc, &spec, NULL), 0);
    while (!ran.is_over) {
        bly_proc_poll(proc, BELAY_FOREVER);
    }
    return ran;
}

#endif
