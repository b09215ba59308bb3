/* jobjson.c: see jobjson.h. */
#include "jobjson.h"

#include "jobtext.h"
#include "jsonout.h"

static json_t *array(void)
{
    json_t *items = json_array();
    bly_mem_check(items != NULL ? 0 : BELAY_ENOMEM);
    return items;
}

static void append(json_t *items, json_t *value)
{
    bly_mem_check(value != NULL && json_array_append_new(items, value) == 0 ? 0 : BELAY_ENOMEM);
}

static void set_number(json_t *object, const char *name, uint64_t number)
{
    bly_json_set(object, name, json_integer((json_int_t)number));
}

static void set_bytes(json_t *object, const char *name, belay_bytes bytes)
{
    if (bytes.len > 0) {
        bly_json_set(object, name, bly_json_bytes(bytes.data, bytes.len));
    }
}

json_t *bly_jobjson_words(belay_bytes packed)
{
    json_t *items = array();
    struct bly_words words = {0};
    bly_jobtext_words(&words, packed);
    for (size_t i = 0; i < words.count; i++) {
        append(items, bly_json_bytes(bly_words_at(&words, i), bly_words_len(&words, i)));
    }
    bly_words_free(&words);
    return items;
}

static void set_why(json_t *object, const belay_jobs_row *row, int64_t now_ns)
{
    struct bly_bytes why = {0};
    bly_jobtext_why(&why, row, now_ns);
    bly_json_set(object, "why", bly_json_bytes(bly_bytes_c(&why), why.len));
    bly_bytes_free(&why);
}

static void set_times(json_t *object, const belay_jobs_row *row)
{
    bly_json_set(object, "added", bly_json_moment(row->added_ns));
    bly_json_set(object, "at", bly_json_moment(row->run_at_ns));
    bly_json_set(object, "started", bly_json_moment(row->start_ns));
    bly_json_set(object, "ended", bly_json_moment(row->end_ns));
    if (row->timeout_ns > 0) {
        bly_json_set(object, "timeout_s", bly_json_seconds(row->timeout_ns));
    }
}

static void set_end(json_t *object, const belay_jobs_row *row)
{
    if ((BELAY_JOBS_IN_ENDED & BELAY_JOBS_IN(row->state)) == 0) {
        return;
    }
    set_number(object, "status", (uint64_t)bly_jobtext_status(row));
    if (row->how == BELAY_JOBS_HOW_SIGNALED) {
        set_number(object, "signal", (uint64_t)row->code);
    }
    if (row->start_ns > 0 && row->end_ns >= row->start_ns) {
        bly_json_set(object, "run_s", bly_json_seconds(row->end_ns - row->start_ns));
        bly_json_set(object, "cpu_s", bly_json_seconds(row->user_ns + row->system_ns));
        set_number(object, "rss_max_kib", row->rss_max_kib);
    }
    if (row->need != 0) {
        set_number(object, "need", row->need);
    }
    if (row->replaced_by != 0) {
        set_number(object, "replaced_by", row->replaced_by);
    }
}

static void set_needs(json_t *object, const belay_jobs_row *row)
{
    json_t *limits = array();
    json_t *after = array();
    for (uint32_t i = 0; i < row->want_count; i++) {
        json_t *want = bly_json_object();
        set_bytes(want, "name", row->wants[i].name);
        set_number(want, "permits", row->wants[i].permits);
        append(limits, want);
    }
    for (uint32_t i = 0; i < row->after_count; i++) {
        json_t *need = bly_json_object();
        set_number(need, "job", row->after[i].job.seq);
        bly_json_set(need, "any", json_boolean(row->after[i].is_any));
        append(after, need);
    }
    bly_json_set(object, "limits", limits);
    bly_json_set(object, "after", after);
}

json_t *bly_jobjson_row(const belay_jobs_row *row, int64_t now_ns)
{
    json_t *object = bly_json_object();
    set_number(object, "job", row->seq);
    set_bytes(object, "id", row->id);
    bly_json_set(object, "state", json_string(belay_jobs_state_name(row->state)));
    set_why(object, row, now_ns);
    set_bytes(object, "queue", row->queue);
    bly_json_set(object, "priority", json_integer(row->priority));
    bly_json_set(object, "command", bly_jobjson_words(row->work.command));
    set_bytes(object, "cwd", row->work.cwd);
    set_times(object, row);
    set_number(object, "tries", row->tries);
    set_number(object, "failed", row->tried);
    set_number(object, "lost", row->lost);
    set_needs(object, row);
    if (row->batch != 0) {
        set_number(object, "batch", row->batch);
        set_number(object, "batch_row", row->batch_row);
    }
    set_end(object, row);
    set_bytes(object, "message", row->message);
    return object;
}
