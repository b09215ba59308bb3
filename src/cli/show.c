/* show.c: `belay show`: all about jobs, in sentences. */
#include <inttypes.h>

#include "belay/clock.h"
#include "help.h"
#include "jobjson.h"
#include "jobstore.h"
#include "jobtext.h"
#include "jsonout.h"
#include "logfiles.h"
#include "say.h"

static const struct bly_option table[] = {
    {.help = "Options:"},
    BLY_JOBOPTS_STORE,
    BLY_JOBOPTS_JSON,
    BLY_JOBOPTS_HELP,
};

static const struct bly_options options = {.table = table,
                                           .count = sizeof table / sizeof table[0],
                                           .command = "show",
                                           .are_anywhere = true};

static int show_one(belay_jobs *jobs, const struct bly_jobopts *opts, const char *word,
                    struct bly_bytes *to)
{
    belay_jobs_rows *rows = NULL;
    int status = bly_jobstore_find(jobs, word, &rows);
    if (status != 0) {
        return status;
    }
    int64_t now_ns = belay_clock_wall(NULL);
    if (opts->is_json) {
        bly_json_line(to, bly_jobjson_row(&rows->row[0], now_ns));
    } else {
        bly_bytes_text(to, to->len > 0 ? "\n" : "");
        bly_jobtext_show(to, &rows->row[0], now_ns);
        bly_bytes_print(to, "What it writes: belay logs %" PRIu64 "\n", rows->row[0].seq);
    }
    belay_jobs_rows_free(rows);
    return 0;
}

static int show_all(const struct bly_jobopts *opts, char **words)
{
    belay_jobs *jobs = NULL;
    struct bly_bytes text = {0};
    int status = bly_jobstore_open(opts->store, BLY_JOBSTORE_READ, &jobs);
    for (; status == 0 && *words != NULL; words++) {
        status = show_one(jobs, opts, *words, &text);
    }
    bly_jobstore_close(jobs);
    if (text.len > 0) {
        int printed = bly_help_print(&text);
        status = status != 0 ? status : printed;
    }
    bly_bytes_free(&text);
    return status;
}

static int show(int argc, char **argv)
{
    struct bly_jobopts opts = {0};
    int rest = 0;
    int status = 0;
    if (!bly_jobopts_take(&bly_command_show, argc, argv, &opts, &rest, &status)) {
        return status;
    }
    if (rest == argc) {
        return bly_say_about("the job", "which one? see `belay ls`");
    }
    return show_all(&opts, argv + rest);
}

const struct bly_command bly_command_show = {
    .name = "show",
    .summary = "all about a job, in sentences",
    .usage = "[OPTION...] JOB...",
    .about =
        "Tells all about each job, by its number or its id: what it is, what it waits for, how\n"
        "it ended, how long it took.\n",
    .options = &options,
    .operands = BLY_OPERANDS_WORDS,
    .run = show,
};
