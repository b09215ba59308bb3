/*
 * runopts.h: the options of `belay run`: what was asked for, not yet what it means.
 * Context: the command's only thread.
 */
#ifndef BLY_CLI_RUNOPTS_H
#define BLY_CLI_RUNOPTS_H

#include <stdbool.h>
#include <stdint.h>

#include "halt.h"
#include "input.h"
#include "mem.h"
#include "number.h"
#include "options.h"
#include "pack.h"

/* How the output of jobs is shown. */
enum bly_output_mode {
    BLY_OUTPUT_GROUPED, /* a job's when it has ended */
    BLY_OUTPUT_LINES,   /* line by line, as it comes */
    BLY_OUTPUT_RAW,     /* the jobs write themselves (-u) */
};

/* What is done about an existing job log. */
enum bly_resume {
    BLY_RESUME_NO,
    BLY_RESUME_REST,   /* --resume: run what is not in it */
    BLY_RESUME_FAILED, /* --resume-failed: and what failed */
    BLY_RETRY_FAILED,  /* --retry-failed: what failed, by the commands in the log */
};

struct bly_runopts {
    /* input */
    struct bly_words files; /* -a */
    struct bly_input_opts input;
    struct bly_pack_opts pack;
    bool deals;        /* -m, -X: deal the last arguments evenly */
    bool has_context;  /* -X */
    bool wraps;        /* --link */
    bool is_joined;    /* --shell */
    const char *whole; /* -I */
    const char *colsep;
    const char *jsonl;
    /* jobs */
    struct bly_amount jobs;
    struct bly_amount load;
    uint64_t memory_free;
    int64_t delay_ns;
    int64_t start_in_ns; /* --in */
    int64_t start_at_ns; /* --at: wall time; 0: not given */
    int64_t timeout_ns;
    double timeout_percent; /* of the median run time */
    uint64_t tries;         /* 0: not given, 1 */
    int32_t priority;
    struct bly_words limits;
    struct bly_halt halt;
    const char *cwd;
    bool keeps_children;
    /* output */
    enum bly_output_mode mode;
    bool keeps_order;
    bool has_tag;
    const char *tag; /* --tagstring; NULL with has_tag: {} */
    const char *results;
    const char *joblog;
    enum bly_resume resume;
    const char *name;  /* of the batch in a store; NULL: it is in none */
    const char *store; /* NULL: the default one */
    bool is_fresh;     /* --fresh: an unfinished batch of the name is given up */
    bool has_no_store; /* --no-store */
    bool is_dry;
    bool shows_commands_err; /* -t */
    bool shows_commands_out; /* -v */
    bool shows_bar;
    bool shows_eta;
    bool has_help;
};

/* The options of run, for parsing, help and completions. */
extern const struct bly_options bly_runopts_options;

void bly_runopts_free(struct bly_runopts *opts);

#endif
