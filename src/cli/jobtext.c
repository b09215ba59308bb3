/* jobtext.c: see jobtext.h. */
#include "jobtext.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "capture.h"
#include "duration.h"
#include "quote.h"
#include "status.h"
#include "when.h"

#define SECOND_NS INT64_C(1000000000)

enum { NAME_SHOWN_MAX = 200, COMMAND_SHOWN_MAX = 2000, DAY_S = 86400 };

void bly_jobtext_count(struct bly_bytes *to, uint64_t number)
{
    if (number >= 1000) {
        bly_jobtext_count(to, number / 1000);
        bly_bytes_print(to, ",%03" PRIu64, number % 1000);
    } else {
        bly_bytes_print(to, "%" PRIu64, number);
    }
}

void bly_jobtext_moment(struct bly_bytes *to, int64_t ns, int64_t now_ns)
{
    time_t seconds = (time_t)(ns / SECOND_NS);
    int64_t away = ns / SECOND_NS - now_ns / SECOND_NS;
    struct tm tm;
    localtime_r(&seconds, &tm);
    if (away >= DAY_S || away <= -DAY_S) {
        bly_bytes_print(to, "%04d-%02d-%02d ", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday);
    }
    bly_bytes_print(to, "%02d:%02d", tm.tm_hour, tm.tm_min);
}

static void add_name(struct bly_bytes *to, belay_bytes name)
{
    bly_quote_show(to, name.data, name.len, NAME_SHOWN_MAX);
}

/* To whole seconds, up: "in 0 s" would be past. */
static void add_until(struct bly_bytes *to, int64_t ns, int64_t now_ns)
{
    int64_t left_ns = ns > now_ns ? ns - now_ns : 0;
    bly_duration_show(to, (left_ns + SECOND_NS - 1) / SECOND_NS * SECOND_NS);
}

static void add_since(struct bly_bytes *to, int64_t ns, int64_t now_ns)
{
    bly_duration_show(to, now_ns > ns ? now_ns - ns : 0);
}

static void add_limit(struct bly_bytes *to, const belay_jobs_why *why)
{
    bly_bytes_text(to, "limit ");
    add_name(to, why->name);
    bly_bytes_print(to, " %" PRId64 "/%" PRId64, why->used, why->capacity);
    for (size_t i = 0; i < BELAY_JOBS_WHY_HOLDERS && why->holders[i] != 0; i++) {
        bly_bytes_print(to, "%s %" PRIu64, i == 0 ? " held by" : "", why->holders[i]);
    }
}

static void add_named(struct bly_bytes *to, const char *before, belay_bytes name,
                      const char *behind)
{
    bly_bytes_text(to, before);
    add_name(to, name);
    bly_bytes_text(to, behind);
}

/* Why a pending job does not run. */
static void add_reason(struct bly_bytes *to, const belay_jobs_row *row, int64_t now_ns)
{
    const belay_jobs_why *why = &row->why;
    switch (why->kind) {
    case BELAY_JOBS_WHY_AT:
        bly_bytes_text(to, "at ");
        bly_jobtext_moment(to, row->run_at_ns, now_ns);
        bly_bytes_text(to, " (");
        add_until(to, row->run_at_ns, now_ns);
        bly_bytes_byte(to, ')');
        break;
    case BELAY_JOBS_WHY_RETRY:
        bly_bytes_print(to, "retry %" PRIu32 "/%" PRIu32 " in ", row->tried + 1, row->tries);
        add_until(to, row->run_at_ns, now_ns);
        break;
    case BELAY_JOBS_WHY_AFTER:
        bly_bytes_print(to, "after %" PRIu64 " (%s)", why->seq, belay_jobs_state_name(why->state));
        break;
    case BELAY_JOBS_WHY_LIMIT:
        add_limit(to, why);
        break;
    case BELAY_JOBS_WHY_TOO_BIG:
        add_named(to, "limit ", why->name, "");
        bly_bytes_print(to, " has only %" PRId64, why->capacity);
        break;
    case BELAY_JOBS_WHY_PAUSED:
        bly_bytes_text(to, "paused");
        break;
    case BELAY_JOBS_WHY_QUEUE_PAUSED:
        add_named(to, "queue ", why->name, " is paused");
        break;
    case BELAY_JOBS_WHY_LIMIT_PAUSED:
        add_named(to, "limit ", why->name, " is paused");
        break;
    case BELAY_JOBS_WHY_STORE_PAUSED:
        bly_bytes_text(to, "everything is paused");
        break;
    case BELAY_JOBS_WHY_QUEUE_MAX:
        add_named(to, "queue ", row->queue, "");
        bly_bytes_print(to, " %" PRId64 "/%" PRId64 " running", why->used, why->capacity);
        break;
    case BELAY_JOBS_WHY_NO_WORKER:
        add_named(to, "no worker for queue ", why->name, "");
        break;
    case BELAY_JOBS_WHY_BUSY:
        bly_bytes_text(to, "for a free worker");
        break;
    case BELAY_JOBS_WHY_UNREADABLE:
        bly_bytes_text(to, "its row cannot be read");
        break;
    default:
        break;
    }
}

static void add_running(struct bly_bytes *to, const belay_jobs_row *row, int64_t now_ns)
{
    if (row->tries > 1) {
        bly_bytes_print(to, "try %" PRIu32 "/%" PRIu32 ", ", row->tried + 1, row->tries);
    }
    bly_bytes_text(to, row->is_cancel_requested ? "told to end, for " : "for ");
    add_since(to, row->start_ns, now_ns);
}

/* "exit 3", "signal 9", …: how the last run ended. */
static void add_how(struct bly_bytes *to, const belay_jobs_row *row)
{
    switch (row->how) {
    case BELAY_JOBS_HOW_EXITED:
        bly_bytes_print(to, "exit %" PRId64, row->code);
        break;
    case BELAY_JOBS_HOW_SIGNALED:
        bly_bytes_print(to, "signal %" PRId64, row->code);
        break;
    case BELAY_JOBS_HOW_TIMED_OUT:
        bly_bytes_text(to, "timed out");
        break;
    case BELAY_JOBS_HOW_NOT_RUNNABLE:
        bly_bytes_print(to, "not runnable: %s", strerror((int)row->code));
        break;
    case BELAY_JOBS_HOW_LOST:
        bly_bytes_text(to, "its runner died");
        break;
    case BELAY_JOBS_HOW_CANCELED:
        bly_bytes_text(to, "told to end");
        break;
    case BELAY_JOBS_HOW_REPLACED:
        bly_bytes_text(to, "replaced");
        break;
    case BELAY_JOBS_HOW_NEED:
        bly_bytes_print(to, "%" PRIu64 " did not end well", row->need);
        break;
    case BELAY_JOBS_HOW_MISSED:
        bly_bytes_text(to, "its time had passed");
        break;
    default:
        break;
    }
}

static void add_ended(struct bly_bytes *to, const belay_jobs_row *row, int64_t now_ns)
{
    size_t start = to->len;
    if (row->state == BELAY_JOBS_SUPERSEDED) {
        bly_bytes_print(to, "by %" PRIu64, row->replaced_by);
    } else if (row->state != BELAY_JOBS_CANCELED) {
        add_how(to, row);
    }
    if (row->end_ns > 0) {
        bly_bytes_text(to, to->len > start ? ", " : "");
        add_since(to, row->end_ns, now_ns);
        bly_bytes_text(to, " ago");
    }
}

static bool is_ended(const belay_jobs_row *row)
{
    return (BELAY_JOBS_IN_ENDED & BELAY_JOBS_IN(row->state)) != 0;
}

void bly_jobtext_why(struct bly_bytes *to, const belay_jobs_row *row, int64_t now_ns)
{
    if (row->is_quarantined) {
        bly_bytes_text(to, "its row cannot be read");
    } else if (is_ended(row)) {
        add_ended(to, row, now_ns);
    } else if (row->state == BELAY_JOBS_RUNNING) {
        add_running(to, row, now_ns);
    } else {
        add_reason(to, row, now_ns);
    }
}

void bly_jobtext_words(struct bly_words *to, belay_bytes packed)
{
    const char *at = packed.data;
    size_t left = packed.len;
    while (left > 0) {
        size_t len = strnlen(at, left);
        bly_words_add(to, at, len);
        size_t step = len < left ? len + 1 : len;
        at += step;
        left -= step;
    }
}

void bly_jobtext_command(struct bly_bytes *to, const belay_jobs_row *row)
{
    struct bly_words argv = {0};
    bly_jobtext_words(&argv, row->work.command);
    bly_capture_show(to, &argv);
    bly_words_free(&argv);
}

int bly_jobtext_status(const belay_jobs_row *row)
{
    bool has_run = row->state == BELAY_JOBS_DONE || row->state == BELAY_JOBS_FAILED;
    switch (has_run ? row->how : BELAY_JOBS_HOW_NONE) {
    case BELAY_JOBS_HOW_EXITED:
        return (int)(row->code & 0xff);
    case BELAY_JOBS_HOW_SIGNALED:
        return BLY_STATUS_SIGNAL + (int)row->code;
    case BELAY_JOBS_HOW_TIMED_OUT:
        return BLY_STATUS_TIMEOUT;
    case BELAY_JOBS_HOW_NOT_RUNNABLE:
        return row->code == ENOENT ? BLY_STATUS_NOT_FOUND : BLY_STATUS_NOT_RUNNABLE;
    default:
        return BLY_STATUS_NO_RUN;
    }
}

/*
 * Sentences.
 */

static void show_head(struct bly_bytes *to, const belay_jobs_row *row, int64_t now_ns)
{
    struct bly_bytes why = {0};
    bly_bytes_print(to, "Job %" PRIu64, row->seq);
    if (row->id.len > 0) {
        add_named(to, " (id ", row->id, ")");
    }
    bly_bytes_print(to, " is %s", belay_jobs_state_name(row->state));
    bly_jobtext_why(&why, row, now_ns);
    if (why.len > 0) {
        bly_bytes_print(to, ": %s", bly_bytes_c(&why));
    }
    bly_bytes_text(to, ".\n");
    bly_bytes_free(&why);
}

static void show_line(struct bly_bytes *to, const char *before, const char *from, size_t len)
{
    bly_bytes_text(to, before);
    bly_quote_show(to, from, len, COMMAND_SHOWN_MAX);
    bly_bytes_byte(to, '\n');
}

static void show_work(struct bly_bytes *to, const belay_jobs_row *row)
{
    struct bly_bytes command = {0};
    bly_jobtext_command(&command, row);
    show_line(to, "Command: ", bly_bytes_c(&command), command.len);
    show_line(to, "Folder: ", row->work.cwd.data, row->work.cwd.len);
    bly_bytes_free(&command);
}

static void show_moment(struct bly_bytes *to, const char *what, int64_t ns, int64_t now_ns)
{
    if (ns == 0) {
        return;
    }
    bly_bytes_print(to, "%s ", what);
    bly_when_show(to, ns);
    bly_bytes_text(to, ns > now_ns ? ", in " : ", ");
    if (ns > now_ns) {
        add_until(to, ns, now_ns);
    } else {
        add_since(to, ns, now_ns);
        bly_bytes_text(to, " ago");
    }
    bly_bytes_text(to, ".\n");
}

static void show_times(struct bly_bytes *to, const belay_jobs_row *row, int64_t now_ns)
{
    show_moment(to, "It was added", row->added_ns, now_ns);
    if (row->state == BELAY_JOBS_SCHEDULED) {
        show_moment(to, "It is due", row->run_at_ns, now_ns);
    }
    show_moment(to, "It was started", row->start_ns, now_ns);
    if (is_ended(row)) {
        show_moment(to, "It ended", row->end_ns, now_ns);
    }
    if (is_ended(row) && row->start_ns > 0 && row->end_ns >= row->start_ns) {
        bly_bytes_text(to, "It ran for ");
        bly_duration_show(to, row->end_ns - row->start_ns);
        bly_bytes_text(to, ", with ");
        bly_duration_show(to, row->user_ns + row->system_ns);
        bly_bytes_print(to, " of CPU time and at most %" PRIu64 " KiB of memory.\n",
                        row->rss_max_kib);
    }
}

static void show_runs(struct bly_bytes *to, const belay_jobs_row *row)
{
    if (row->tries > 1 || row->tried > 0) {
        bly_bytes_print(to, "%" PRIu32 " of its %" PRIu32 " tries %s failed.\n", row->tried,
                        row->tries, row->tried == 1 ? "has" : "have");
    }
    if (row->lost > 0) {
        bly_bytes_print(to,
                        "Its runner died %" PRIu32 " time%s; at most %" PRIu32 " are run again.\n",
                        row->lost, row->lost == 1 ? "" : "s", row->lost_max);
    }
    if (row->timeout_ns > 0) {
        bly_bytes_text(to, "A run is ended after ");
        bly_duration_show(to, row->timeout_ns);
        bly_bytes_text(to, ".\n");
    }
}

static void show_needs(struct bly_bytes *to, const belay_jobs_row *row)
{
    for (uint32_t i = 0; i < row->want_count; i++) {
        const belay_jobs_want *want = &row->wants[i];
        bly_bytes_print(to, "It takes %" PRIu32 " permit%s of the limit ", want->permits,
                        want->permits == 1 ? "" : "s");
        add_named(to, "", want->name, ".\n");
    }
    for (uint32_t i = 0; i < row->after_count; i++) {
        const belay_jobs_after *after = &row->after[i];
        bly_bytes_print(to, "It runs after job %" PRIu64 "%s.\n", after->job.seq,
                        after->is_any ? ", however that ends" : ", when that ends well");
    }
}

static void show_place(struct bly_bytes *to, const belay_jobs_row *row)
{
    add_named(to, "It is in the queue ", row->queue, "");
    bly_bytes_print(to, ", with priority %" PRId32 ".\n", row->priority);
    if (row->batch != 0) {
        bly_bytes_print(to, "It is number %" PRIu64 " of batch %" PRIu64 ".\n", row->batch_row,
                        row->batch);
    }
    if (row->message.len > 0) {
        show_line(to, "Message: ", row->message.data, row->message.len);
    }
}

/* How many variables it brings, and which come from where it runs. */
static void show_env(struct bly_bytes *to, const belay_jobs_row *row)
{
    struct bly_words words = {0};
    struct bly_bytes bare = {0};
    size_t stored = 0;
    bly_jobtext_words(&words, row->work.env);
    for (size_t i = 0; i < words.count; i++) {
        const char *word = bly_words_at(&words, i);
        if (strchr(word, '=') != NULL) {
            stored++;
        } else {
            bly_bytes_byte(&bare, ' ');
            bly_quote_show(&bare, word, strlen(word), NAME_SHOWN_MAX);
        }
    }
    bly_bytes_print(to, "Its environment has %zu variables", stored);
    if (bare.len > 0) {
        bly_bytes_print(to, "; from the worker come%s", bly_bytes_c(&bare));
    }
    bly_bytes_text(to, ".\n");
    bly_words_free(&words);
    bly_bytes_free(&bare);
}

void bly_jobtext_show(struct bly_bytes *to, const belay_jobs_row *row, int64_t now_ns)
{
    show_head(to, row, now_ns);
    show_work(to, row);
    show_place(to, row);
    show_times(to, row, now_ns);
    show_runs(to, row);
    show_needs(to, row);
    show_env(to, row);
}
