/*
 * jobs.h: a store in memory, handlers that a test can look into, and sessions on them.
 */
#ifndef BELAY_TESTS_JOBS_H
#define BELAY_TESTS_JOBS_H

#include "../unit.h"

#include "belay/exec.h"
#include "belay/job.h"
#include "sync/sync.h"

#include <stdio.h>
#include <string.h>

#define SECOND INT64_C(1000000000)

static belay_jobs *test_jobs;
static belay_exec *test_exec;

/* Words that threads of a test wait for. */
static inline void word_raise(uint32_t *word)
{
    (void)bly_fetch_add(word, 1u, BLY_SEQ_CST);
    bly_futex_wake(word, BLY_WAKE_ALL);
}

static inline void word_await(uint32_t *word, uint32_t least)
{
    for (uint32_t seen; (seen = bly_load(word, BLY_SEQ_CST)) < least;) {
        (void)bly_futex_wait(word, seen, BELAY_FOREVER);
    }
}

/* A handler: what it did, and what it is to do. */
typedef struct probe {
    uint32_t begun;   /* atomic: calls */
    uint32_t may_end; /* atomic: each call waits until this is as many as `holds` */
    uint32_t holds;   /* 0: it does not wait */
    uint32_t inside;  /* atomic: calls that have not returned */
    uint32_t peak;    /* atomic: the most of them */
    int status;       /* what it returns */
    int (*act)(belay_run *run, struct probe *self); /* instead of returning status; may be NULL */
    belay_run *run;                                 /* of the last call */
    uint64_t seqs[64];                              /* of the calls, in their order */
    uint32_t attempts[64];
} probe;

static inline void probe_note_peak(probe *self)
{
    uint32_t now = bly_fetch_add(&self->inside, 1u, BLY_SEQ_CST) + 1;
    uint32_t peak = bly_load(&self->peak, BLY_SEQ_CST);
    while (now > peak && !bly_cas(&self->peak, &peak, now, BLY_SEQ_CST, BLY_SEQ_CST)) {
    }
}

static inline int probe_fn(belay_run *run, void *arg)
{
    probe *self = arg;
    belay_run_details info = {.size = sizeof info};
    ck_assert_int_eq(belay_run_info(run, &info), 0);
    probe_note_peak(self);
    uint32_t place = bly_load(&self->begun, BLY_SEQ_CST) % 64;
    self->seqs[place] = info.seq;
    self->attempts[place] = info.attempt;
    self->run = run;
    word_raise(&self->begun);
    word_await(&self->may_end, self->holds);
    (void)bly_fetch_sub(&self->inside, 1u, BLY_SEQ_CST);
    return self->act != NULL ? self->act(run, self) : self->status;
}

static inline void open_at(const char *url, const belay_jobs_opts *opts)
{
    belay_jobs_error error = {0};
    int result = belay_jobs_open(url, opts, &test_jobs, &error);
    ck_assert_msg(result == 0, "%s: %s", belay_err_name(result), error.text);
}

static inline void open_store(void)
{
    open_at("memory:", NULL);
}

static inline void open_exec(uint32_t workers)
{
    belay_exec_opts opts = {.size = sizeof opts, .workers = workers};
    ck_assert_int_eq(belay_exec_create(&opts, &test_exec), 0);
}

static inline void close_exec(void)
{
    ck_assert_int_eq(belay_exec_shutdown(test_exec), 0);
    ck_assert_int_eq(belay_exec_await_termination(test_exec, BELAY_FOREVER), 0);
    ck_assert_int_eq(belay_exec_destroy(test_exec), 0);
}

static inline void close_store(void)
{
    ck_assert_int_eq(belay_jobs_close(test_jobs, BELAY_FOREVER), 0);
}

static inline belay_jobs_new new_job(const char *handler, const char *arg)
{
    return (belay_jobs_new){
        .size = sizeof(belay_jobs_new),
        .work = {.handler = belay_bytes_text(handler), .command = belay_bytes_text(arg)}};
}

static inline uint64_t add(const belay_jobs_new *job)
{
    belay_jobs_added added = {0};
    ck_assert_int_eq(belay_jobs_add(test_jobs, job, &added), 0);
    return added.seq;
}

static inline uint64_t add_plain(const char *handler)
{
    belay_jobs_new job = new_job(handler, "");
    return add(&job);
}

static inline belay_jobs_row find(uint64_t seq)
{
    belay_jobs_rows *rows = NULL;
    belay_jobs_ref ref = belay_jobs_ref_seq(seq);
    ck_assert_int_eq(belay_jobs_query(test_jobs, &ref, &rows), 0);
    ck_assert_uint_eq(rows->count, 1);
    belay_jobs_row row = rows->row[0];
    belay_jobs_rows_free(rows); /* numbers of the copy are good, its bytes are not */
    return row;
}

/* Waits for the end of the job; its row, of which the bytes are gone. */
static inline belay_jobs_row await_end(uint64_t seq)
{
    belay_jobs_rows *rows = NULL;
    belay_jobs_ref ref = belay_jobs_ref_seq(seq);
    ck_assert_int_eq(belay_jobs_wait(test_jobs, &ref, BELAY_FOREVER, &rows), 0);
    belay_jobs_row row = rows->row[0];
    belay_jobs_rows_free(rows);
    return row;
}

static inline int cancel(uint64_t seq)
{
    belay_jobs_ref ref = belay_jobs_ref_seq(seq);
    return belay_jobs_cancel(test_jobs, &ref);
}

static inline void handle(const char *name, probe *self)
{
    ck_assert_int_eq(belay_jobs_handle(test_jobs, name, NULL, probe_fn, self), 0);
}

static inline void work(uint32_t running_max)
{
    ck_assert_int_eq(belay_jobs_work(test_jobs, belay_exec_executor(test_exec), running_max, NULL),
                     0);
}

static inline belay_jobs_metrics metrics(void)
{
    belay_jobs_metrics now = {.size = sizeof now};
    ck_assert_int_eq(belay_jobs_stats(test_jobs, &now), 0);
    return now;
}

#define assert_state(seq, expected)                                                                \
    ck_assert_str_eq(belay_jobs_state_name(find(seq).state), belay_jobs_state_name(expected))

#endif
