/* addopts.h: the options of `belay add`. Context: the command's only thread. */
#ifndef BLY_CLI_ADDOPTS_H
#define BLY_CLI_ADDOPTS_H

#include "jobstore.h"

struct bly_addopts {
    struct bly_jobopts common;
    /* when */
    int64_t run_at_ns; /* wall time; 0: now */
    int64_t every_ns;
    struct bly_words after;
    struct bly_words after_any;
    /* how */
    int32_t priority;
    struct bly_words limits;
    int64_t timeout_ns;
    uint64_t tries; /* 0: not given, 1 */
    bool fails_when_lost;
    const char *queue; /* NULL: "default" */
    /* who */
    const char *id; /* NULL: none */
    bool is_replacing;
    /* what it takes along */
    struct bly_words env;
    struct bly_words env_from_worker;
    /* and then */
    const char *notify;
    bool starts_worker;
};

/* For parsing, help and completions. */
extern const struct bly_options bly_addopts_options;

void bly_addopts_free(struct bly_addopts *opts);

#endif
