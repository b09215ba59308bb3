/* batch.c: see batch.h. */
#include "batch.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "belay/clock.h"
#include "jobstore.h"
#include "jobtext.h"
#include "outcome.h"
#include "say.h"

/* How long the last ends may take to be stored. */
#define FLUSH_NS INT64_C(60000000000)

/* A batch goes on as often as its runner dies. */
#define LOST_MAX BELAY_JOBS_TRIES_MAX

/* Nobody tells when killed processes have gone, so it is looked at again and again. */
enum { PAGE = 1000, SETTLE_MS = 10000, TRY_EVERY_MS = 20 };

/* FNV-1a: tells commands apart that differ by mistake, not by design. */
static uint64_t hash_of(const char *from, size_t len)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < len; i++) {
        hash = (hash ^ (unsigned char)from[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

int bly_batch_prepare(struct bly_batch *batch, const struct bly_runopts *opts)
{
    belay_jobs_error error = {0};
    if (opts->name == NULL) {
        return 0;
    }
    batch->is_on = true;
    int status = bly_jobstore_path(&batch->path, opts->store);
    if (status == 0 &&
        belay_jobs_live_create(bly_bytes_c(&batch->path), &batch->live, &error) != 0) {
        status = bly_say_about(bly_bytes_c(&batch->path), "%s", error.text);
    }
    batch->has_live = status == 0;
    return status;
}

/*
 * Opening.
 */

static void add_flag(struct bly_bytes *to, const char *name, bool is_set)
{
    if (is_set) {
        bly_bytes_print(to, "%s ", name);
    }
}

/* What the jobs are made by: two batches that differ in this are two. The input is not in it. */
static void add_digest(struct bly_bytes *to, const struct bly_runopts *opts, char **words)
{
    add_flag(to, "shell", opts->is_joined);
    add_flag(to, "link", opts->wraps);
    add_flag(to, "context", opts->has_context);
    add_flag(to, "filled", opts->pack.is_filled);
    bly_bytes_print(to, "rows %ju ", (uintmax_t)opts->pack.rows_max);
    bly_bytes_print(to, "delimiter %d ", opts->input.delimiter);
    if (opts->colsep != NULL) {
        bly_bytes_print(to, "colsep %s ", opts->colsep);
    }
    if (opts->whole != NULL) {
        bly_bytes_print(to, "whole %s ", opts->whole);
    }
    for (; *words != NULL && strncmp(*words, ":::", 3) != 0; words++) {
        bly_bytes_byte(to, '\0');
        bly_bytes_text(to, *words);
    }
}

static void add_counts(struct bly_bytes *to, const belay_jobs_batch_row *row)
{
    uint64_t all = 0;
    for (uint32_t state = 0; state < BELAY_JOBS_STATES; state++) {
        all += row->counts[state];
    }
    bly_jobtext_count(to, row->counts[BELAY_JOBS_DONE]);
    bly_bytes_text(to, " of ");
    bly_jobtext_count(to, row->total > 0 ? row->total : all);
    bly_bytes_text(to, row->total > 0 ? " done" : " begun done");
    if (row->counts[BELAY_JOBS_FAILED] > 0) {
        bly_bytes_text(to, ", ");
        bly_jobtext_count(to, row->counts[BELAY_JOBS_FAILED]);
        bly_bytes_text(to, " failed");
    }
}

static int refuse(struct bly_batch *batch, const char *name, int result,
                  const belay_jobs_table *table)
{
    struct bly_bytes counts = {0};
    if (table != NULL && table->count > 0) {
        add_counts(&counts, &table->of.batch[0]);
    }
    int status = BLY_SAY_OWN_ERROR;
    if (result == BELAY_EEXIST) {
        bly_say_about(name,
                      "an unfinished batch of that name is there: %s; --resume goes on, "
                      "--resume-failed tries what failed too, --fresh starts over",
                      bly_bytes_c(&counts));
    } else if (result == BELAY_ESTALE) {
        bly_say_about(name, "the batch of that name was another command; --fresh starts over, or "
                            "give this one another --name");
    } else if (result == BELAY_EBUSY) {
        bly_say_about(name, "another run works on the batch of that name; wait for it");
    } else {
        status = bly_jobstore_failed(batch->jobs, result);
    }
    bly_bytes_free(&counts);
    return status;
}

static int begin(struct bly_batch *batch, const struct bly_runopts *opts, char **words)
{
    struct bly_bytes digest = {0};
    belay_jobs_table *table = NULL;
    bool goes_on = opts->resume == BLY_RESUME_REST || opts->resume == BLY_RESUME_FAILED;
    uint32_t flags =
        (goes_on ? BELAY_JOBS_BATCH_RESUME : 0) | (opts->is_fresh ? BELAY_JOBS_BATCH_FRESH : 0);
    add_digest(&digest, opts, words);
    int result =
        belay_jobs_batch_begin(batch->jobs, belay_bytes_text(opts->name),
                               (belay_bytes){bly_bytes_c(&digest), digest.len}, flags, &table);
    int status = 0;
    if (result == 0) {
        batch->id = table->of.batch[0].batch;
    } else {
        status = refuse(batch, opts->name, result, table);
    }
    belay_jobs_table_free(table);
    bly_bytes_free(&digest);
    return status;
}

static void know(struct bly_batch *batch, const belay_jobs_row *row)
{
    batch->known =
        bly_mem_grow(batch->known, &batch->known_max, batch->known_count + 1, sizeof *batch->known);
    batch->known[batch->known_count++] = (struct bly_batch_known){
        .number = row->batch_row,
        .hash = hash_of(row->work.command.data, row->work.command.len),
        .state = row->state,
    };
}

static int by_number(const void *left, const void *right)
{
    uint64_t a = ((const struct bly_batch_known *)left)->number;
    uint64_t b = ((const struct bly_batch_known *)right)->number;
    return (a > b) - (a < b);
}

/* All that the store knows of the batch. A job that another run has is in its way. */
static int learn(struct bly_batch *batch, const struct bly_runopts *opts)
{
    belay_jobs_filter filter = {
        .size = sizeof filter, .flags = BELAY_JOBS_LIST_WORK, .rows_max = PAGE, .batch = batch->id};
    uint32_t taken = BELAY_JOBS_IN(BELAY_JOBS_CLAIMED) | BELAY_JOBS_IN(BELAY_JOBS_RUNNING);
    bool has_more = true;
    while (has_more) {
        belay_jobs_rows *rows = NULL;
        bool is_taken = false;
        int result = belay_jobs_list(batch->jobs, &filter, &rows);
        if (result != 0) {
            return bly_jobstore_failed(batch->jobs, result);
        }
        for (uint32_t i = 0; i < rows->count; i++) {
            know(batch, &rows->row[i]);
            is_taken = is_taken || (BELAY_JOBS_IN(rows->row[i].state) & taken) != 0;
            filter.after_seq = rows->row[i].seq;
        }
        has_more = rows->has_more;
        belay_jobs_rows_free(rows);
        if (is_taken) {
            return refuse(batch, opts->name, BELAY_EBUSY, NULL);
        }
    }
    if (batch->known_count > 0) {
        qsort(batch->known, batch->known_count, sizeof *batch->known, by_number);
    }
    return 0;
}

static void keep_claim(struct bly_batch *batch, belay_run *run)
{
    belay_run_details info = {.size = sizeof info};
    struct bly_batch_claim *claim = bly_mem(sizeof *claim);
    (void)belay_run_info(run, &info);
    *claim = (struct bly_batch_claim){.run = run,
                                      .seq = info.seq,
                                      .number = info.batch_row,
                                      .fence = info.fence,
                                      .next = batch->claims,
                                      .link = &batch->claims};
    if (claim->next != NULL) {
        claim->next->link = &claim->next;
    }
    batch->claims = claim;
}

/* Claims what is ready of the batch, `max` jobs of it. */
static int claim(struct bly_batch *batch, uint64_t max)
{
    belay_run *runs[BLY_BATCH_GROUP];
    uint32_t count = 1;
    for (uint64_t had = 0; had < max && count > 0; had += count) {
        uint64_t wanted = max - had < BLY_BATCH_GROUP ? max - had : BLY_BATCH_GROUP;
        int result = belay_jobs_session_claim(batch->session, (uint32_t)wanted,
                                              BELAY_JOBS_CLAIM_START, runs, &count, NULL);
        if (result != 0) {
            return bly_jobstore_failed(batch->jobs, result);
        }
        for (uint32_t i = 0; i < count; i++) {
            keep_claim(batch, runs[i]);
        }
    }
    return 0;
}

static int open_session(struct bly_batch *batch, const char *name)
{
    bly_bytes_print(&batch->queue, "run:%s", name);
    belay_bytes queue = {bly_bytes_c(&batch->queue), batch->queue.len};
    belay_jobs_session_opts opts = {
        .size = sizeof opts, .queues = &queue, .queue_count = 1, .live = &batch->live};
    int result = belay_jobs_session_begin(batch->jobs, &opts, &batch->session);
    return result != 0 ? bly_jobstore_failed(batch->jobs, result) : 0;
}

/* What failed is ready again, and what was not finished is claimed by this run. */
static int go_on(struct bly_batch *batch, const struct bly_runopts *opts)
{
    uint64_t count = opts->resume == BLY_RESUME_FAILED ? 1 : 0;
    while (count > 0) {
        int result = belay_jobs_retry_all(batch->jobs, batch->id, &count);
        if (result != 0) {
            return bly_jobstore_failed(batch->jobs, result);
        }
    }
    return claim(batch, UINT64_MAX);
}

/* Waits until what killed runs have left is gone, and their jobs are free. */
static void settle(struct bly_batch *batch)
{
    uint32_t pending = 0;
    for (int waited_ms = 0; waited_ms < SETTLE_MS; waited_ms += TRY_EVERY_MS) {
        if (belay_jobs_rescue(batch->jobs, NULL, &pending) != 0 || pending == 0) {
            return;
        }
        (void)poll(NULL, 0, TRY_EVERY_MS);
    }
}

int bly_batch_open(struct bly_batch *batch, const struct bly_runopts *opts, char **words)
{
    if (!batch->is_on) {
        return 0;
    }
    int status = bly_jobstore_open(opts->store, BLY_JOBSTORE_WRITE, &batch->jobs);
    if (status == 0) {
        settle(batch);
        status = begin(batch, opts, words);
    }
    if (status == 0) {
        status = learn(batch, opts);
    }
    if (status == 0) {
        status = open_session(batch, opts->name);
    }
    return status == 0 && batch->known_count > 0 ? go_on(batch, opts) : status;
}

/*
 * Jobs.
 */

static belay_bytes command_of(struct bly_batch *batch, const bly_job *job)
{
    bly_words_clear(&batch->argv);
    bly_job_expand(job, &batch->argv);
    return (belay_bytes){bly_bytes_c(&batch->argv.text), batch->argv.text.len};
}

static struct bly_batch_claim *find_claim(const struct bly_batch *batch, uint64_t number)
{
    struct bly_batch_claim *claim = batch->claims;
    while (claim != NULL && claim->number != number) {
        claim = claim->next;
    }
    return claim;
}

enum bly_resume_verdict bly_batch_verdict(struct bly_batch *batch, enum bly_resume resume,
                                          const bly_job *job)
{
    struct bly_batch_known key = {.number = job->seq};
    const struct bly_batch_known *known =
        batch->known_count > 0
            ? bsearch(&key, batch->known, batch->known_count, sizeof key, by_number)
            : NULL;
    if (known == NULL) {
        return BLY_RESUME_RUN;
    }
    belay_bytes command = command_of(batch, job);
    if (!bly_template_has_slot(job->template) &&
        known->hash != hash_of(command.data, command.len)) {
        return BLY_RESUME_DIFFERS;
    }
    bool has_ended = (BELAY_JOBS_IN(known->state) & BELAY_JOBS_IN_ENDED) != 0;
    bool is_again = resume == BLY_RESUME_FAILED && known->state == BELAY_JOBS_FAILED;
    return has_ended && !is_again ? BLY_RESUME_SKIP : BLY_RESUME_RUN;
}

bool bly_batch_collect(struct bly_batch *batch, bly_job *job)
{
    assert(batch->group_count < BLY_BATCH_GROUP);
    batch->group[batch->group_count++] = job;
    return batch->group_count == BLY_BATCH_GROUP;
}

/* Adds those of the group that the store does not have yet. */
static int add_new(struct bly_batch *batch, uint64_t *ret_count)
{
    belay_jobs_new *added = bly_mem(BLY_BATCH_GROUP * sizeof *added);
    struct bly_words commands = {0};
    uint32_t count = 0;
    for (size_t i = 0; i < batch->group_count; i++) {
        const bly_job *job = batch->group[i];
        if (find_claim(batch, job->seq) != NULL) {
            continue;
        }
        belay_bytes command = command_of(batch, job);
        bly_words_add(&commands, command.data, command.len);
        added[count++] = (belay_jobs_new){
            .size = sizeof *added,
            .work = {.umask = -1},
            .queue = {bly_bytes_c(&batch->queue), batch->queue.len},
            .lost_max = LOST_MAX,
            .batch = batch->id,
            .batch_row = job->seq,
        };
    }
    for (uint32_t i = 0; i < count; i++) { /* the text has stopped moving */
        added[i].work.command =
            (belay_bytes){bly_words_at(&commands, i), bly_words_len(&commands, i)};
    }
    int result = count > 0 ? belay_jobs_add_many(batch->jobs, added, count, NULL, NULL, NULL) : 0;
    bly_words_free(&commands);
    bly_mem_free(added);
    *ret_count = count;
    return result;
}

int bly_batch_add(struct bly_batch *batch)
{
    uint64_t count = 0;
    int result = add_new(batch, &count);
    int status = result != 0 ? bly_jobstore_failed(batch->jobs, result) : claim(batch, count);
    for (size_t i = 0; status == 0 && i < batch->group_count; i++) {
        bly_job *job = batch->group[i];
        job->claim = find_claim(batch, job->seq);
        job->fence = job->claim != NULL ? job->claim->fence : 0;
        if (job->claim == NULL) {
            status = bly_say_about(bly_bytes_c(&batch->path),
                                   "job %" PRIu64 " is not to be had; is its queue paused, or does "
                                   "a worker take jobs of it?",
                                   job->seq);
        }
    }
    return status;
}

static void end_claim(struct bly_batch *batch, struct bly_batch_claim *claim,
                      const belay_run_ending *ending)
{
    int result = belay_run_end(claim->run, ending);
    bly_mem_check(result == BELAY_ENOMEM ? result : 0);
    (void)batch;
    *claim->link = claim->next;
    if (claim->next != NULL) {
        claim->next->link = claim->link;
    }
    bly_mem_free(claim);
}

void bly_batch_end(struct bly_batch *batch, bly_job *job, const bly_proc_end *end,
                   bool is_given_back)
{
    if (job->claim == NULL) {
        return;
    }
    bool is_well = bly_proc_status(end) == 0;
    int64_t now_ns = belay_clock_wall(NULL);
    belay_run_ending ending = {.size = sizeof ending,
                               .what = is_well ? BELAY_RUN_DONE : BELAY_RUN_FAIL_NOW,
                               .how = bly_outcome_how(end),
                               .code = end->code,
                               .start_ns = job->start_wall_ns,
                               .end_ns = now_ns,
                               .user_ns = end->user_ns,
                               .system_ns = end->system_ns,
                               .rss_max_kib = end->rss_max_kib};
    if (is_given_back) {
        ending.what = BELAY_RUN_GIVE_BACK;
    }
    end_claim(batch, job->claim, &ending);
    job->claim = NULL;
}

/*
 * The end.
 */

static bool is_all_well(struct bly_batch *batch)
{
    uint32_t others = (BELAY_JOBS_IN_LIVE | BELAY_JOBS_IN_ENDED) & ~BELAY_JOBS_IN(BELAY_JOBS_DONE);
    belay_jobs_filter filter = {
        .size = sizeof filter, .states = others, .rows_max = 1, .batch = batch->id};
    belay_jobs_rows *rows = NULL;
    if (belay_jobs_list(batch->jobs, &filter, &rows) != 0) {
        return false;
    }
    bool is_well = rows->count == 0;
    belay_jobs_rows_free(rows);
    return is_well;
}

int bly_batch_finish(struct bly_batch *batch, bool is_whole, uint64_t total)
{
    if (batch->id == 0) {
        return 0;
    }
    int result = belay_jobs_flush(batch->jobs, belay_time_add(belay_clock_now(NULL), FLUSH_NS));
    batch->is_over = result == 0 && is_whole && is_all_well(batch);
    batch->total = total;
    return result != 0 ? bly_jobstore_failed(batch->jobs, result) : 0;
}

void bly_batch_close(struct bly_batch *batch)
{
    belay_run_ending ending = {.size = sizeof ending, .what = BELAY_RUN_GIVE_BACK};
    while (batch->claims != NULL) {
        end_claim(batch, batch->claims, &ending);
    }
    if (batch->session != NULL) {
        (void)belay_jobs_flush(batch->jobs, belay_time_add(belay_clock_now(NULL), FLUSH_NS));
        (void)belay_jobs_session_end(batch->session);
    }
    int result = batch->is_over ? belay_jobs_batch_end(batch->jobs, batch->id, batch->total) : 0;
    if (result != 0) {
        bly_jobstore_failed(batch->jobs, result);
    }
    if (batch->jobs != NULL) {
        bly_jobstore_close(batch->jobs);
    }
    if (batch->has_live) {
        belay_jobs_live_destroy(bly_bytes_c(&batch->path), &batch->live);
    }
    bly_mem_free(batch->known);
    bly_bytes_free(&batch->path);
    bly_bytes_free(&batch->queue);
    bly_words_free(&batch->argv);
}
