/* care.c: see care.h. */
#include "care.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "belay/clock.h"
#include "logfiles.h"
#include "say.h"

#define KEEP_NS (INT64_C(14) * 86400 * 1000000000)

enum { PAGE = 1000, NO_TIME_NS = 1 };

struct bly_care bly_care_default(void)
{
    return (struct bly_care){.keep_ns = KEEP_NS,
                             .keep_failed_ns = KEEP_NS,
                             .keep_logs_ns = BLY_LOG_KEEP_NS,
                             .logs_max = BLY_LOG_ALL_MAX};
}

/* The numbers of all live jobs, rising. */
struct live {
    uint64_t *seqs;
    size_t count, max;
};

static int by_number(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static bool is_live(uint64_t seq, void *arg)
{
    const struct live *live = arg;
    return live->count > 0 && bsearch(&seq, live->seqs, live->count, sizeof seq, by_number) != NULL;
}

static int find_live(belay_jobs *jobs, struct live *live)
{
    belay_jobs_filter query = {
        .size = sizeof query, .states = BELAY_JOBS_IN_LIVE, .rows_max = PAGE};
    bool has_more = true;
    while (has_more) {
        belay_jobs_rows *rows = NULL;
        int result = belay_jobs_list(jobs, &query, &rows);
        if (result != 0) {
            return bly_jobstore_failed(jobs, result);
        }
        live->seqs =
            bly_mem_grow(live->seqs, &live->max, live->count + rows->count + 1, sizeof *live->seqs);
        for (uint32_t i = 0; i < rows->count; i++) {
            live->seqs[live->count++] = query.after_seq = rows->row[i].seq;
        }
        has_more = rows->has_more;
        belay_jobs_rows_free(rows);
    }
    return 0;
}

static int take_logs(belay_jobs *jobs, int folder, const struct bly_care *care,
                     struct bly_care_result *result)
{
    struct live live = {0};
    struct bly_logfiles_gc gc = {.now_ns = belay_clock_wall(NULL),
                                 .keep_ns = care->keep_logs_ns,
                                 .bytes_max = care->logs_max,
                                 .is_live = is_live,
                                 .arg = &live};
    int status = find_live(jobs, &live);
    if (status == 0 && bly_logfiles_gc(folder, &gc) != 0) {
        status = bly_say_about("logs", "%s", strerror(errno));
    }
    result->logs = gc.files;
    result->log_bytes = gc.bytes;
    bly_mem_free(live.seqs);
    return status;
}

static int take_all_logs(belay_jobs *jobs, const struct bly_care *care,
                         struct bly_care_result *result)
{
    struct bly_bytes name = {0};
    bly_logfiles_folder(&name, belay_jobs_path(jobs));
    int folder = bly_logfiles_open(bly_bytes_c(&name), false);
    int status = 0;
    if (folder >= 0) {
        status = take_logs(jobs, folder, care, result);
        close(folder);
    } else if (errno != ENOENT) {
        status = bly_say_about(bly_bytes_c(&name), "%s; it is to be a folder of yours alone",
                               strerror(errno));
    }
    bly_bytes_free(&name);
    return status;
}

/* Zero would be the store's default. */
static int64_t at_least(int64_t ns)
{
    return ns > 0 ? ns : NO_TIME_NS;
}

int bly_care_take(belay_jobs *jobs, const struct bly_care *care, struct bly_care_result *ret_result)
{
    belay_jobs_gc_opts opts = {.size = sizeof opts,
                               .keep_ns = at_least(care->keep_ns),
                               .keep_failed_ns = at_least(care->keep_failed_ns)};
    belay_jobs_gc_result result = {.has_more = true};
    *ret_result = (struct bly_care_result){0};
    while (result.has_more) {
        int code = belay_jobs_gc(jobs, &opts, &result);
        if (code != 0) {
            return bly_jobstore_failed(jobs, code);
        }
        ret_result->jobs += result.jobs;
        ret_result->batches += result.batches;
        ret_result->store_bytes += result.bytes;
    }
    return take_all_logs(jobs, care, ret_result);
}
