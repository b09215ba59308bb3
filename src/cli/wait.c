/* wait.c: `belay wait`: until jobs have ended. */
#include <inttypes.h>
#include <string.h>

#include "belay/clock.h"
#include "duration.h"
#include "jobstore.h"
#include "jobtext.h"
#include "say.h"

enum { STATUS_WAITED_ENOUGH = 75, FAILURES_MAX = 101, PAGE = 1 };

struct waitopts {
    struct bly_jobopts common;
    const char *batch;
    int64_t wait_max_ns; /* 0: for ever */
};

static const char *set_batch(void *target, const char *value)
{
    ((struct waitopts *)target)->batch = value;
    return bly_name_check(value, strlen(value));
}

static const char *set_wait_max(void *target, const char *value)
{
    return bly_duration_parse(value, &((struct waitopts *)target)->wait_max_ns);
}

static const struct bly_option table[] = {
    {.help = "Options:"},
    {"batch", 0, "NAME", "for all jobs of the newest batch of that name", set_batch, NULL},
    {"wait-max", 0, "TIME", "leave with 75 when that has passed", set_wait_max, NULL},
    BLY_JOBOPTS_STORE,
    BLY_JOBOPTS_HELP,
};

static const struct bly_options options = {.table = table,
                                           .count = sizeof table / sizeof table[0],
                                           .command = "wait",
                                           .are_anywhere = true};

/* A wait for jobs. */
struct waiting {
    belay_jobs *jobs;
    belay_jobs_watch *watch;
    int64_t deadline_ns; /* monotonic */
    bool has_said_worker;
    bool is_over; /* wait_max has passed */
};

/* Waits for news of the store. False: there is no more time. */
static bool wait_for_news(struct waiting *waiting)
{
    waiting->is_over = !bly_jobstore_await(waiting->jobs, waiting->watch, waiting->deadline_ns);
    return !waiting->is_over;
}

static void say_no_worker(struct waiting *waiting, const belay_jobs_row *row)
{
    if (row->why.kind == BELAY_JOBS_WHY_NO_WORKER && !waiting->has_said_worker) {
        struct bly_bytes why = {0};
        waiting->has_said_worker = true;
        bly_jobtext_why(&why, row, 0);
        bly_say("job %" PRIu64 ": %s; start one by `belay work`", row->seq, bly_bytes_c(&why));
        bly_bytes_free(&why);
    }
}

/* Waits for one job; its status in *ret_status. 0, or 255 after a message. */
static int wait_for_job(struct waiting *waiting, const char *word, int *ret_status)
{
    belay_jobs_ref ref = {0};
    belay_jobs_rows *rows = NULL;
    bool is_live = true;
    int status = bly_jobstore_find(waiting->jobs, word, &rows);
    while (status == 0) {
        const belay_jobs_row *row = &rows->row[0];
        ref.seq = row->seq; /* of an id, the job that has it now */
        is_live = (BELAY_JOBS_IN_LIVE & BELAY_JOBS_IN(row->state)) != 0;
        *ret_status = bly_jobtext_status(row);
        say_no_worker(waiting, row);
        belay_jobs_rows_free(rows);
        rows = NULL;
        if (!is_live || !wait_for_news(waiting)) {
            break;
        }
        int result = belay_jobs_query(waiting->jobs, &ref, &rows);
        status = result != 0 ? bly_jobstore_failed(waiting->jobs, result) : 0;
    }
    return status;
}

static int count_of(uint64_t failures)
{
    return failures < FAILURES_MAX ? (int)failures : FAILURES_MAX;
}

static int wait_for_jobs(struct waiting *waiting, char **words)
{
    uint64_t failures = 0;
    int of_job = 0;
    bool is_one = words[1] == NULL;
    for (; *words != NULL && !waiting->is_over; words++) {
        int status = wait_for_job(waiting, *words, &of_job);
        if (status != 0) {
            return status;
        }
        failures += of_job != 0 ? 1 : 0;
    }
    return is_one ? of_job : count_of(failures);
}

/* A batch has ended when none of its jobs is live. */
static int wait_for_batch(struct waiting *waiting, const char *name)
{
    belay_jobs_filter query = {
        .size = sizeof query, .states = BELAY_JOBS_IN_LIVE, .rows_max = PAGE};
    uint64_t failures = 0;
    int status = bly_jobstore_batch(waiting->jobs, name, &query.batch);
    bool is_live = status == 0;
    while (is_live) {
        belay_jobs_rows *rows = NULL;
        int result = belay_jobs_list(waiting->jobs, &query, &rows);
        if (result != 0) {
            return bly_jobstore_failed(waiting->jobs, result);
        }
        is_live = rows->count > 0 && wait_for_news(waiting);
        belay_jobs_rows_free(rows);
    }
    if (status == 0) {
        status = bly_jobstore_batch_failures(waiting->jobs, query.batch, &failures);
    }
    return status == 0 ? count_of(failures) : status;
}

static int wait_in(belay_jobs *jobs, const struct waitopts *opts, char **words)
{
    int64_t now_ns = belay_clock_now(NULL);
    struct waiting waiting = {.jobs = jobs,
                              .deadline_ns = opts->wait_max_ns > 0
                                                 ? belay_time_add(now_ns, opts->wait_max_ns)
                                                 : BELAY_FOREVER};
    int result = belay_jobs_watch_create(jobs, &waiting.watch);
    if (result != 0) {
        return bly_jobstore_failed(jobs, result);
    }
    int status = opts->batch != NULL ? wait_for_batch(&waiting, opts->batch)
                                     : wait_for_jobs(&waiting, words);
    belay_jobs_watch_destroy(waiting.watch);
    return waiting.is_over ? STATUS_WAITED_ENOUGH : status;
}

static int wait_them(int argc, char **argv)
{
    struct waitopts opts = {0};
    belay_jobs *jobs = NULL;
    int rest = 0;
    int status = 0;
    if (!bly_jobopts_take(&bly_command_wait, argc, argv, &opts, &rest, &status)) {
        return status;
    }
    if ((rest == argc) == (opts.batch == NULL)) {
        return bly_say_about("the job", "name jobs, or a batch by --batch; see `belay ls`");
    }
    status = bly_jobstore_open(opts.common.store, BLY_JOBSTORE_READ, &jobs);
    if (status == 0) {
        status = wait_in(jobs, &opts, argv + rest);
        bly_jobstore_close(jobs);
    }
    return status;
}

const struct bly_command bly_command_wait = {
    .name = "wait",
    .summary = "wait until jobs have ended",
    .usage = "[OPTION...] JOB...",
    .about = "Waits until the jobs, by number or id, have ended.\n",
    .about_status =
        "Exit status: of one job its own: 124 its time ran out, 125 it was canceled, skipped,\n"
        "replaced or lost, 126 not runnable, 127 not found, 128+N ended by signal N. Of several\n"
        "jobs, how many did not end well, 101 for more than 100. 75 when --wait-max has passed;\n"
        "255 an error of belay itself.\n",
    .options = &options,
    .operands = BLY_OPERANDS_WORDS,
    .run = wait_them,
};
