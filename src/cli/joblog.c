/* joblog.c: see joblog.h. */
#include "joblog.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files.h"
#include "say.h"

static const char header[] =
    "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n";

enum { FIELDS_BEFORE_COMMAND = 8, MS_NS = 1000000, MODE_OF_NEW_FILE = 0666 };

void bly_joblog_format(const struct bly_joblog_entry *entry, struct bly_bytes *to)
{
    int64_t start_ms = entry->start_wall_ns / MS_NS;
    int64_t run_ms = (entry->run_ns + MS_NS / 2) / MS_NS;
    bly_bytes_print(to, "%" PRIu64 "\t:\t%" PRId64 ".%03" PRId64 "\t%6" PRId64 ".%03" PRId64,
                    entry->seq, start_ms / 1000, start_ms % 1000, run_ms / 1000, run_ms % 1000);
    bly_bytes_print(to, "\t0\t%" PRIu64 "\t%d\t%d\t", entry->received, entry->exit_value,
                    entry->signal);
    size_t start = to->len;
    bly_bytes_add(to, entry->command, entry->command_len);
    for (size_t i = start; i < to->len; i++) {
        to->at[i] = to->at[i] == '\n' ? '\0' : to->at[i];
    }
    bly_bytes_byte(to, '\n');
}

/* The seconds of a field such as "  12.345", as nanoseconds to the millisecond. */
static bool read_seconds(const char *field, int64_t *ret_ns)
{
    char *end = NULL;
    while (*field == ' ') {
        field++;
    }
    errno = 0;
    int64_t seconds = strtoll(field, &end, 10);
    int64_t thousandths = 0;
    if (end == field || errno != 0 || llabs(seconds) > INT64_MAX / 2000 / MS_NS) {
        return false;
    }
    if (*end == '.') {
        int64_t weight = 100;
        for (end++; *end >= '0' && *end <= '9'; end++) {
            thousandths += (*end - '0') * weight;
            weight /= 10;
        }
    }
    *ret_ns = (seconds * 1000 + thousandths) * MS_NS;
    return *end == '\t';
}

static bool read_integer(const char *field, int64_t min, int64_t *ret_value)
{
    char *end = NULL;
    errno = 0;
    *ret_value = strtoll(field, &end, 10);
    return end != field && *end == '\t' && errno == 0 && *ret_value >= min;
}

bool bly_joblog_parse(const char *line, size_t len, struct bly_joblog_entry *ret_entry)
{
    const char *fields[FIELDS_BEFORE_COMMAND + 1] = {line};
    const char *end = line + len;
    for (size_t i = 1; i <= FIELDS_BEFORE_COMMAND; i++) {
        const char *tab = memchr(fields[i - 1], '\t', (size_t)(end - fields[i - 1]));
        if (tab == NULL) {
            return false;
        }
        fields[i] = tab + 1;
    }
    int64_t seq = 0;
    int64_t sent = 0;
    int64_t received = 0;
    int64_t exit_value = 0;
    int64_t number = 0;
    struct bly_joblog_entry entry = {0};
    bool is_entry =
        read_integer(fields[0], 1, &seq) && read_seconds(fields[2], &entry.start_wall_ns) &&
        read_seconds(fields[3], &entry.run_ns) && read_integer(fields[4], 0, &sent) &&
        read_integer(fields[5], 0, &received) && read_integer(fields[6], INT32_MIN, &exit_value) &&
        read_integer(fields[7], 0, &number);
    if (!is_entry) {
        return false;
    }
    entry.seq = (uint64_t)seq;
    entry.received = (uint64_t)received;
    entry.exit_value = (int)exit_value;
    entry.signal = (int)number;
    entry.command = fields[FIELDS_BEFORE_COMMAND];
    entry.command_len = (size_t)(end - entry.command);
    *ret_entry = entry;
    return true;
}

static void add_known(struct bly_joblog *log, const struct bly_joblog_entry *entry)
{
    log->known = bly_mem_grow(log->known, &log->max, log->count + 1, sizeof *log->known);
    log->known[log->count] = (struct bly_joblog_known){
        .seq = entry->seq,
        .line = log->count,
        .is_done = entry->exit_value == 0 && entry->signal == 0,
        .command = log->commands.len,
        .command_len = entry->command_len,
    };
    log->count++;
    size_t start = log->commands.len;
    bly_bytes_add(&log->commands, entry->command, entry->command_len);
    for (size_t i = start; i < log->commands.len; i++) {
        log->commands.at[i] = log->commands.at[i] == '\0' ? '\n' : log->commands.at[i];
    }
}

static int compare_known(const void *a, const void *b)
{
    const struct bly_joblog_known *first = a;
    const struct bly_joblog_known *second = b;
    if (first->seq != second->seq) {
        return first->seq < second->seq ? -1 : 1;
    }
    return first->line < second->line ? -1 : 1;
}

/* Sorts by seq and keeps one entry of each: the last one, done if any of them was. */
static void settle(struct bly_joblog *log)
{
    if (log->count == 0) {
        return;
    }
    qsort(log->known, log->count, sizeof *log->known, compare_known);
    size_t kept = 0;
    for (size_t i = 1; i < log->count; i++) {
        if (log->known[i].seq == log->known[kept].seq) {
            bool is_done = log->known[kept].is_done || log->known[i].is_done;
            log->known[kept] = log->known[i];
            log->known[kept].is_done = is_done;
        } else {
            log->known[++kept] = log->known[i];
        }
    }
    log->count = kept + 1;
}

/* Reads what is there; *ret_size is where the last whole line ends. */
static int read_known(struct bly_joblog *log, const char *path, const struct bly_bytes *text,
                      size_t *ret_size)
{
    size_t from = 0;
    for (uint64_t line = 1; from < text->len; line++) {
        const char *end = memchr(text->at + from, '\n', text->len - from);
        if (end == NULL) {
            break;
        }
        size_t len = (size_t)(end - (text->at + from));
        struct bly_joblog_entry entry;
        bool is_header =
            line == 1 && len == sizeof header - 2 && memcmp(text->at, header, len) == 0;
        if (!is_header && !bly_joblog_parse(text->at + from, len, &entry)) {
            return bly_say_about(
                path, "line %" PRIu64 " is not of a job log; is it the right file?", line);
        }
        if (!is_header) {
            add_known(log, &entry);
        }
        from += len + 1;
    }
    *ret_size = from;
    settle(log);
    return 0;
}

/* Where to go on: behind the last whole line. */
static int look(struct bly_joblog *log, const char *path, enum bly_joblog_mode mode,
                off_t *ret_size)
{
    struct bly_bytes text = {0};
    int status = 0;
    size_t size = 0;
    if (bly_files_read_all(log->fd, &text, BLY_JOBLOG_SIZE_MAX) != 0) {
        status = bly_say_about(path, "%s; the job log cannot be read", strerror(errno));
    } else if (mode != BLY_JOBLOG_APPEND) {
        status = read_known(log, path, &text, &size);
    } else {
        const char *last = text.len > 0 ? memrchr(text.at, '\n', text.len) : NULL;
        size = last != NULL ? (size_t)(last - text.at) + 1 : 0;
    }
    bly_bytes_free(&text);
    *ret_size = (off_t)size;
    return status;
}

/* --dry-run: the log is not made, not cut and not written. */
static int look_only(struct bly_joblog *log, const char *path)
{
    off_t size = 0;
    log->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (log->fd < 0) {
        return errno == ENOENT ? 0 : bly_say_about(path, "%s", strerror(errno));
    }
    return look(log, path, BLY_JOBLOG_LOOK, &size);
}

int bly_joblog_open(struct bly_joblog *log, const char *path, enum bly_joblog_mode mode)
{
    *log = (struct bly_joblog){0};
    if (mode == BLY_JOBLOG_LOOK) {
        return look_only(log, path);
    }
    int flags = O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | (mode == BLY_JOBLOG_NEW ? O_TRUNC : 0);
    log->fd = open(path, flags, MODE_OF_NEW_FILE);
    if (log->fd < 0) {
        return bly_say_about(path, "%s; the job log cannot be written", strerror(errno));
    }
    off_t size = 0;
    if (mode != BLY_JOBLOG_NEW) {
        int status = look(log, path, mode, &size);
        if (status != 0) {
            return status;
        }
        /* A device or a pipe has no size to cut. */
        if (ftruncate(log->fd, size) != 0 && errno != EINVAL) {
            return bly_say_about(path, "%s; its torn last line cannot be cut off", strerror(errno));
        }
    }
    if (size == 0 && bly_files_write(log->fd, header, sizeof header - 1) != 0) {
        return bly_say_about(path, "%s; the job log cannot be written", strerror(errno));
    }
    return 0;
}

const struct bly_joblog_known *bly_joblog_find(const struct bly_joblog *log, uint64_t seq)
{
    size_t low = 0;
    size_t high = log->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (log->known[middle].seq < seq) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < log->count && log->known[low].seq == seq ? &log->known[low] : NULL;
}

int bly_joblog_add(struct bly_joblog *log, const struct bly_joblog_entry *entry)
{
    assert(log->fd >= 0);
    bly_bytes_clear(&log->line);
    bly_joblog_format(entry, &log->line);
    return bly_files_write(log->fd, log->line.at, log->line.len);
}

void bly_joblog_close(struct bly_joblog *log)
{
    if (log->fd > 0) {
        close(log->fd);
    }
    bly_bytes_free(&log->line);
    bly_bytes_free(&log->commands);
    bly_mem_free(log->known);
    *log = (struct bly_joblog){.fd = -1};
}
