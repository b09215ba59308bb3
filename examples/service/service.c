/*
 * service.c: a service whose slow work goes on behind it, and is not lost when it is killed.
 *
 *     service [STORE]     STORE is a file; without one the jobs end with the process
 *
 * It greets guests. A greeting is written in the background: the request is answered as soon as the
 * job is stored. A letter that cannot be delivered at first is tried again. Delivery is at least
 * once: were this process killed, a letter could be written twice. Writing one twice does no harm;
 * where it would, the letter has to carry the fence of its run (belay_run_fence), and the post
 * office to refuse a lower one than it has seen.
 */
#include <belay/exec.h>
#include <belay/job.h>

#include <stdio.h>
#include <string.h>

#define SECOND INT64_C(1000000000)

/* Prints what went wrong; returns whether something did. */
static int is_wrong(const char *what, int result)
{
    if (result < 0) {
        fprintf(stderr, "service: %s: %s\n", what, belay_strerror(result));
    }
    return result < 0;
}

/* The handler: writes one letter. The post office is closed at the first try of a late guest. */
static int write_letter(belay_run *run, void *arg)
{
    char letter[64];
    belay_run_details about = {.size = sizeof about};
    (void)arg;
    if (belay_run_info(run, &about) != 0 || belay_run_is_canceled(run)) {
        return BELAY_ECANCELED;
    }
    belay_bytes guest = about.work.command;
    if (memchr(guest.data, '!', guest.len) != NULL && about.attempt == 1) {
        return BELAY_EIO; /* a failure: it is tried again */
    }
    (void)snprintf(letter, sizeof letter, "Dear %.*s", (int)guest.len, (const char *)guest.data);
    belay_run_ending done = {
        .size = sizeof done, .what = BELAY_RUN_DONE, .result = belay_bytes_text(letter)};
    return belay_run_end(run, &done) == 0 ? BELAY_PENDING : BELAY_EIO;
}

/* A request: what it answers with is the number of a job that is safe. */
static int greet(belay_jobs *jobs, const char *guest, uint64_t *ret_seq)
{
    belay_jobs_new job = {
        .size = sizeof job,
        .work = {.handler = belay_bytes_text("letter"), .command = belay_bytes_text(guest)},
        .tries = 3,
        .backoff_ns = SECOND / 100,
        .timeout_ns = 10 * SECOND,
    };
    belay_jobs_added added;
    int result = belay_jobs_add(jobs, &job, &added);
    if (result == 0) {
        *ret_seq = added.seq;
    }
    return result;
}

/* Waits for a letter and shows it. */
static int show(belay_jobs *jobs, uint64_t seq)
{
    belay_jobs_rows *rows;
    belay_jobs_ref job = belay_jobs_ref_seq(seq);
    int result = belay_jobs_wait(jobs, &job, BELAY_FOREVER, &rows);
    if (result == 0) {
        const belay_jobs_row *row = rows->row;
        printf("%s after %u: %.*s\n", belay_jobs_state_name(row->state), row->runs,
               (int)row->result.len, (const char *)row->result.data);
        belay_jobs_rows_free(rows);
    }
    return result;
}

static int serve(belay_jobs *jobs)
{
    static const char *const guests[] = {"Ada", "Grace!", "Barbara"};
    uint64_t seqs[3] = {0};
    for (int i = 0; i < 3; i++) {
        if (is_wrong("the guest cannot be greeted", greet(jobs, guests[i], &seqs[i]))) {
            return 1;
        }
    }
    for (int i = 0; i < 3; i++) {
        if (is_wrong("the letter is lost", show(jobs, seqs[i]))) {
            return 1;
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    belay_jobs *jobs = NULL;
    belay_jobs_error error = {0};
    belay_exec *pool = NULL;
    if (belay_jobs_open(argc > 1 ? argv[1] : "memory:", NULL, &jobs, &error) != 0) {
        fprintf(stderr, "service: %s\n", error.text);
        return 1;
    }
    int failed = is_wrong("no threads", belay_exec_create(NULL, &pool));
    if (!failed) {
        failed =
            is_wrong("no handler", belay_jobs_handle(jobs, "letter", NULL, write_letter, NULL)) ||
            is_wrong("no work", belay_jobs_work(jobs, belay_exec_executor(pool), 2, NULL)) ||
            serve(jobs);
        /* What runs may end; what has not started stays in the store for the next process. */
        failed |= is_wrong("drain", belay_jobs_drain(jobs, BELAY_FOREVER));
        belay_exec_shutdown(pool);
        belay_exec_await_termination(pool, BELAY_FOREVER);
        belay_exec_destroy(pool);
    }
    return is_wrong("close", belay_jobs_close(jobs, BELAY_FOREVER)) || failed;
}
