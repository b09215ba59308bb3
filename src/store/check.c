#include "store/check_int.h"

bool bly_check_bytes(bly_bytes bytes)
{
    return bytes.len <= BLY_BYTES_MAX && (bytes.len == 0 || bytes.data != NULL);
}

bool bly_check_name(bly_bytes name)
{
    const uint8_t *at = name.data;
    bool has_other = false;
    if (name.data == NULL || name.len == 0 || name.len > BLY_NAME_MAX) {
        return false;
    }
    for (size_t i = 0; i < name.len; i++) {
        if (at[i] < 0x20 || at[i] == 0x7f) {
            return false;
        }
        has_other |= at[i] < '0' || at[i] > '9';
    }
    /* A number is a seq wherever a job can be named. */
    return has_other;
}

static bool is_name_or_empty(bly_bytes name)
{
    return name.len == 0 || bly_check_name(name);
}

bool bly_check_ref(const bly_job_ref *ref)
{
    return ref != NULL && (ref->seq != 0 ? ref->seq <= INT64_MAX : bly_check_name(ref->id));
}

bool bly_check_wants(const bly_want *wants, uint32_t count)
{
    if (count > BLY_JOB_LIMITS_MAX || (count > 0 && wants == NULL)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!bly_check_name(wants[i].name) || wants[i].permits > BLY_PERMITS_MAX ||
            wants[i].capacity > BLY_PERMITS_MAX) {
            return false;
        }
    }
    return true;
}

static bool is_priority(int32_t priority)
{
    return priority >= INT16_MIN && priority <= INT16_MAX;
}

static bool check_work(const bly_work *work)
{
    return is_name_or_empty(work->handler) && bly_check_bytes(work->command) &&
           bly_check_bytes(work->env) && bly_check_bytes(work->cwd) &&
           bly_check_bytes(work->detail) && work->umask >= -1 && work->umask <= 0777;
}

static bool check_schedule(const bly_schedule *rule)
{
    if (rule->kind == BLY_SCHEDULE_NONE) {
        return true;
    }
    if (rule->missed > BLY_MISSED_ALL || rule->missed_max > BLY_TRIES_MAX || rule->jitter_ns < 0 ||
        rule->late_max_ns < 0 || rule->zone.len > BLY_NAME_MAX || !bly_check_bytes(rule->zone)) {
        return false;
    }
    if (rule->kind == BLY_SCHEDULE_EVERY) {
        return rule->period_ns > 0 && rule->jitter_ns < rule->period_ns;
    }
    return rule->kind == BLY_SCHEDULE_CRON && rule->expr.len > 0 && bly_check_bytes(rule->expr);
}

static bool check_after(const bly_new_job *job)
{
    if (job->after_count > BLY_JOB_AFTER_MAX || (job->after_count > 0 && job->after == NULL)) {
        return false;
    }
    for (uint32_t i = 0; i < job->after_count; i++) {
        if (!bly_check_ref(&job->after[i].job)) {
            return false;
        }
    }
    return true;
}

bool bly_check_new(const bly_new_job *job)
{
    bool has_times = job->run_at_ns >= 0 && job->timeout_ns >= 0 && job->backoff_ns >= 0 &&
                     job->backoff_max_ns >= 0;
    bool has_counts = job->tries <= BLY_TRIES_MAX && job->lost_max <= BLY_TRIES_MAX &&
                      job->batch <= INT64_MAX && job->batch_row <= INT64_MAX;
    return check_work(&job->work) && is_name_or_empty(job->id) && is_name_or_empty(job->queue) &&
           is_priority(job->priority) && has_times && has_counts &&
           bly_check_wants(job->wants, job->want_count) && check_after(job) &&
           check_schedule(&job->schedule);
}

bool bly_check_edit(const bly_edit *edit)
{
    return edit != NULL && is_priority(edit->has_priority ? edit->priority : 0) &&
           (!edit->has_run_at || edit->run_at_ns >= 0) &&
           (!edit->has_timeout || edit->timeout_ns >= 0) &&
           (!edit->has_tries || (edit->tries > 0 && edit->tries <= BLY_TRIES_MAX)) &&
           (!edit->has_queue || bly_check_name(edit->queue));
}
