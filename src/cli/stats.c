/* stats.c: `belay stats`: how a store is doing, in numbers. */
#include <inttypes.h>

#include "belay/clock.h"
#include "duration.h"
#include "help.h"
#include "jobstore.h"
#include "jobtext.h"
#include "jsonout.h"
#include "say.h"

static const struct bly_option table[] = {
    {.help = "Options:"},
    BLY_JOBOPTS_STORE,
    BLY_JOBOPTS_JSON,
    BLY_JOBOPTS_HELP,
};

static const struct bly_options options = {.table = table,
                                           .count = sizeof table / sizeof table[0],
                                           .command = "stats",
                                           .are_anywhere = true};

static void set_number(json_t *object, const char *name, uint64_t number)
{
    bly_json_set(object, name, json_integer((json_int_t)number));
}

static void add_object(struct bly_bytes *to, const belay_jobs_metrics *stats)
{
    json_t *object = bly_json_object();
    for (uint32_t state = BELAY_JOBS_SCHEDULED; state <= BELAY_JOBS_SKIPPED; state++) {
        set_number(object, belay_jobs_state_name(state), stats->jobs[state]);
    }
    set_number(object, "paused", stats->paused);
    set_number(object, "quarantined", stats->quarantined);
    set_number(object, "workers", stats->sessions);
    bly_json_set(object, "oldest_ready", bly_json_moment(stats->oldest_ready_ns));
    set_number(object, "store_bytes", stats->store_bytes);
    set_number(object, "free_bytes", stats->free_bytes);
    set_number(object, "wal_bytes", stats->wal_bytes);
    bly_json_set(object, "is_paused", json_boolean(stats->is_paused != 0));
    bly_json_line(to, object);
}

static void add_number(struct bly_bytes *to, const char *name, uint64_t number)
{
    bly_bytes_print(to, "%-12s ", name);
    bly_jobtext_count(to, number);
    bly_bytes_byte(to, '\n');
}

static void add_lines(struct bly_bytes *to, const belay_jobs_metrics *stats)
{
    for (uint32_t state = BELAY_JOBS_SCHEDULED; state <= BELAY_JOBS_SKIPPED; state++) {
        if (stats->jobs[state] > 0) {
            add_number(to, belay_jobs_state_name(state), stats->jobs[state]);
        }
    }
    if (stats->quarantined > 0) {
        add_number(to, "unreadable", stats->quarantined);
    }
    add_number(to, "workers", stats->sessions);
    if (stats->oldest_ready_ns > 0) {
        int64_t waited_ns = belay_clock_wall(NULL) - stats->oldest_ready_ns;
        bly_bytes_print(to, "%-12s ", "oldest ready");
        bly_duration_show(to, waited_ns > 0 ? waited_ns : 0);
        bly_bytes_byte(to, '\n');
    }
    add_number(to, "store bytes", stats->store_bytes + stats->wal_bytes);
    if (stats->is_paused != 0) {
        bly_bytes_text(to, "everything is paused; `belay unpause --all` goes on\n");
    }
}

static int print(const struct bly_jobopts *opts)
{
    belay_jobs *jobs = NULL;
    belay_jobs_metrics stats = {.size = sizeof stats};
    struct bly_bytes text = {0};
    int status = bly_jobstore_open(opts->store, BLY_JOBSTORE_READ, &jobs);
    if (status != 0) {
        return status;
    }
    int result = belay_jobs_stats(jobs, &stats);
    status = result != 0 ? bly_jobstore_failed(jobs, result) : 0;
    bly_jobstore_close(jobs);
    if (status == 0) {
        (opts->is_json ? add_object : add_lines)(&text, &stats);
        status = bly_help_print(&text);
    }
    bly_bytes_free(&text);
    return status;
}

static int stats_of(int argc, char **argv)
{
    struct bly_jobopts opts = {0};
    int rest = 0;
    int status = 0;
    if (!bly_jobopts_take(&bly_command_stats, argc, argv, &opts, &rest, &status)) {
        return status;
    }
    return rest < argc ? bly_say_about(argv[rest], "stats takes options only") : print(&opts);
}

const struct bly_command bly_command_stats = {
    .name = "stats",
    .summary = "how many jobs are in which state, workers, and sizes",
    .usage = "[OPTION...]",
    .about =
        "Counts the jobs of a store by state, and tells how many workers there are, how long the\n"
        "oldest job waits for one, and how large the store is.\n",
    .options = &options,
    .run = stats_of,
};
