/* with.c: `belay with`: a command that runs while permits of limits are held. */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "belay/clock.h"
#include "capture.h"
#include "duration.h"
#include "held.h"
#include "jobstore.h"
#include "limitspec.h"
#include "number.h"
#include "say.h"
#include "status.h"

/* How long the last report may take. */
#define FLUSH_NS INT64_C(10000000000)

enum { STATUS_WAITED_ENOUGH = 75 }; /* EX_TEMPFAIL of sysexits.h */

struct withopts {
    struct bly_jobopts common;
    bool has_wait_max;
    int64_t wait_max_ns;
    int64_t timeout_ns;
    int32_t priority;
};

static const char *set_wait_max(void *target, const char *value)
{
    struct withopts *opts = target;
    opts->has_wait_max = true;
    return bly_duration_parse(value, &opts->wait_max_ns);
}

static const char *set_timeout(void *target, const char *value)
{
    return bly_duration_parse(value, &((struct withopts *)target)->timeout_ns);
}

static const char *set_priority(void *target, const char *value)
{
    return bly_number_priority(value, &((struct withopts *)target)->priority);
}

static const struct bly_option table[] = {
    {.help = "Options:"},
    {"wait-max", 0, "TIME", "leave with 75 when the permits are not free within TIME; 0: at once",
     set_wait_max, NULL},
    {"timeout", 0, "TIME", "end the command after TIME", set_timeout, NULL},
    {"priority", 0, "N", "larger gets its permits first among those that wait", set_priority, NULL},
    BLY_JOBOPTS_STORE,
    BLY_JOBOPTS_HELP,
};

static const struct bly_options options = {
    .table = table, .count = sizeof table / sizeof table[0], .command = "with"};

/* What is asked for: limits before "--", a command behind it. */
struct asking {
    const struct withopts *opts;
    belay_jobs_want wants[BELAY_JOBS_LIMITS_MAX];
    uint32_t count;
    struct bly_words argv;
};

static int read_limits(struct asking *asking, char **words, size_t *ret_command)
{
    size_t i = 0;
    for (; words[i] != NULL && strcmp(words[i], "--") != 0; i++) {
        struct bly_limitspec spec = {0};
        const char *why = bly_limitspec_parse(words[i], &spec);
        if (why == NULL && i == BELAY_JOBS_LIMITS_MAX) {
            why = "there are at most 16 limits";
        }
        if (why != NULL) {
            bly_say_about(words[i], "%s, and -- before the command", why);
            return BLY_STATUS_NO_RUN;
        }
        asking->wants[asking->count++] = (belay_jobs_want){
            .name = {spec.name, spec.name_len}, .permits = spec.permits, .capacity = spec.capacity};
    }
    *ret_command = words[i] != NULL ? i + 1 : i;
    return 0;
}

static int read_words(struct asking *asking, char **words)
{
    size_t command = 0;
    int status = read_limits(asking, words, &command);
    if (status != 0) {
        return status;
    }
    if (asking->count == 0 || words[command] == NULL) {
        bly_say("which limit, and which command? belay with NAME[:K|=N] -- COMMAND");
        return BLY_STATUS_NO_RUN;
    }
    const char *why = bly_capture_command(&asking->argv, words + command);
    if (why != NULL) {
        bly_say_about(words[command], "%s", why);
        return BLY_STATUS_NO_RUN;
    }
    return 0;
}

/* The permits, while they are asked for and held. */
struct holding {
    belay_jobs *jobs;
    belay_jobs_watch *watch;
    belay_jobs_session *session;
    uint64_t seq;
    belay_run *run;
    bool is_canceled;
};

/* Why the permits cannot be had at all. */
static int refuse(belay_jobs *jobs, int result)
{
    switch (result) {
    case BELAY_ETOOBIG:
        bly_say("a limit has fewer permits than are asked for; see `belay limit`");
        return BLY_STATUS_NO_RUN;
    case BELAY_EBUSY:
        bly_say("a limit has another capacity; leave =N out, or change it by `belay limit NAME N`");
        return BLY_STATUS_NO_RUN;
    case BELAY_ETOOLATE:
        bly_say("the request was canceled");
        return BLY_STATUS_NO_RUN;
    default:
        bly_jobstore_failed(jobs, result);
        return BLY_STATUS_NO_RUN;
    }
}

static int ask(struct holding *holding, const struct asking *asking)
{
    belay_jobs_new job = {
        .size = sizeof job,
        .work = {.command = {bly_bytes_c(&asking->argv.text), asking->argv.text.len}, .umask = -1},
        .priority = asking->opts->priority,
        .wants = asking->wants,
        .want_count = asking->count,
    };
    return belay_jobs_session_take(holding->session, &job, &holding->seq);
}

/* Tries, and waits for news, until the permits are there or the time is up. */
static int await(struct holding *holding, int64_t deadline_ns)
{
    int result = BELAY_EAGAIN;
    do {
        result = belay_jobs_session_claim_one(holding->session, holding->seq,
                                              BELAY_JOBS_CLAIM_START, &holding->run);
    } while (result == BELAY_EAGAIN &&
             bly_jobstore_await(holding->jobs, holding->watch, deadline_ns));
    return result;
}

/* Has nobody canceled it? */
static bool is_wanted(void *arg)
{
    struct holding *holding = arg;
    belay_run *run = NULL;
    uint32_t count = 0;
    if (belay_jobs_watch_check(holding->watch) &&
        belay_jobs_session_orders(holding->session, &run, 1, &count) == 0 && count > 0) {
        holding->is_canceled = true;
    }
    return !holding->is_canceled;
}

/* Gives the permits back. */
static void give(struct holding *holding, int status)
{
    belay_run_ending ending = {.size = sizeof ending,
                               .what = status == 0 ? BELAY_RUN_DONE : BELAY_RUN_FAIL_NOW,
                               .how = BELAY_JOBS_HOW_EXITED,
                               .code = status};
    if (holding->is_canceled) {
        ending.what = BELAY_RUN_CANCELED;
        ending.how = BELAY_JOBS_HOW_CANCELED;
    }
    bly_mem_check(belay_run_end(holding->run, &ending) == BELAY_ENOMEM ? BELAY_ENOMEM : 0);
    (void)belay_jobs_flush(holding->jobs, belay_time_add(belay_clock_now(NULL), FLUSH_NS));
}

static int run_held(struct holding *holding, const struct asking *asking, struct bly_held *held)
{
    int64_t deadline_ns = asking->opts->has_wait_max
                              ? belay_time_add(belay_clock_now(NULL), asking->opts->wait_max_ns)
                              : BELAY_FOREVER;
    int result = ask(holding, asking);
    if (result == 0) {
        result = await(holding, deadline_ns);
    }
    if (result != 0) {
        bly_held_drop(held);
        return result == BELAY_EAGAIN ? STATUS_WAITED_ENOUGH : refuse(holding->jobs, result);
    }
    struct bly_held_watch watch = {.timeout_ns = asking->opts->timeout_ns,
                                   .fd = belay_jobs_watch_fd(holding->watch),
                                   .is_wanted = is_wanted,
                                   .arg = holding};
    int status = bly_held_run(held, &watch);
    give(holding, status);
    return status;
}

static int run_in_store(const struct asking *asking, struct bly_held *held,
                        const belay_jobs_live *live)
{
    struct holding holding = {0};
    belay_jobs_session_opts opts = {.size = sizeof opts, .claims_no_queue = 1, .live = live};
    if (bly_jobstore_open(asking->opts->common.store, BLY_JOBSTORE_WRITE, &holding.jobs) != 0) {
        bly_held_drop(held);
        return BLY_STATUS_NO_RUN;
    }
    int status = BLY_STATUS_NO_RUN;
    int result = belay_jobs_session_begin(holding.jobs, &opts, &holding.session);
    if (result == 0) {
        result = belay_jobs_watch_create(holding.jobs, &holding.watch);
    }
    if (result == 0) {
        status = run_held(&holding, asking, held);
    } else {
        bly_held_drop(held);
        bly_jobstore_failed(holding.jobs, result);
    }
    belay_jobs_watch_destroy(holding.watch);
    (void)belay_jobs_session_end(holding.session);
    bly_jobstore_close(holding.jobs);
    return status;
}

static int run_with(struct asking *asking)
{
    struct bly_bytes path = {0};
    belay_jobs_error error = {0};
    belay_jobs_live live = {.fd = -1};
    struct bly_held held = {0};
    int status = BLY_STATUS_NO_RUN;
    if (bly_jobstore_path(&path, asking->opts->common.store) != 0) {
        bly_bytes_free(&path);
        return status;
    }
    if (belay_jobs_live_create(bly_bytes_c(&path), &live, &error) != 0) {
        bly_say_about(bly_bytes_c(&path), "%s", error.text);
    } else {
        if (bly_held_fork(&held, bly_words_argv(&asking->argv), live.fd) == 0) {
            status = run_in_store(asking, &held, &live);
        }
        belay_jobs_live_destroy(bly_bytes_c(&path), &live);
    }
    bly_bytes_free(&path);
    return status;
}

static int with(int argc, char **argv)
{
    struct withopts opts = {0};
    struct asking asking = {.opts = &opts};
    int rest = 0;
    int status = 0;
    if (!bly_jobopts_take(&bly_command_with, argc, argv, &opts, &rest, &status)) {
        return status != 0 ? BLY_STATUS_NO_RUN : 0;
    }
    status = read_words(&asking, argv + rest);
    if (status == 0) {
        status = run_with(&asking);
    }
    bly_words_free(&asking.argv);
    return status;
}

const struct bly_command bly_command_with = {
    .name = "with",
    .summary = "run a command while permits of limits are held",
    .usage = "[OPTION...] NAME[:K|=N]... -- COMMAND...",
    .about =
        "Waits until a permit of each limit is free, runs the command here, with this terminal, "
        "and\n"
        "gives the permits back when it has ended, or when it or belay are killed. NAME:K takes K\n"
        "permits; NAME=N says how many there are, 1 for a new limit. The limits are those of\n"
        "`belay add --limit` and of every other `belay with` on this store. A command of one word "
        "is\n"
        "a shell line.\n"
        "\n"
        "  belay with disk=2 -- rsync -a /data backup:     at most two at a time, as sem -j2\n",
    .about_status = "Exit status: the command's own; 124 its time ran out; 75 the permits were not "
                    "free within\n"
                    "--wait-max; 125 an error of belay itself; 126 not runnable; 127 not found.\n",
    .options = &options,
    .operands = BLY_OPERANDS_COMMAND,
    .run = with,
};
