/* logfiles.c: see logfiles.h. */
#include "logfiles.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"

enum { NAME_MAX_LEN = 32, COPY_SIZE = 65536, BLOCK = 4096, STAT_BLOCK = 512 };

void bly_logfiles_folder(struct bly_bytes *to, const char *store)
{
    bly_bytes_print(to, "%s.logs", store);
}

static bool is_safe(const struct stat *stat)
{
    return stat->st_uid == geteuid() && (stat->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

int bly_logfiles_open(const char *folder, bool is_made)
{
    if (is_made && mkdir(folder, 0700) != 0 && errno != EEXIST) {
        return -1;
    }
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat stat;
    if (fd < 0) {
        errno = errno == ELOOP ? EPERM : errno;
        return -1;
    }
    if (fstat(fd, &stat) != 0 || !is_safe(&stat)) {
        close(fd);
        errno = EPERM;
        return -1;
    }
    return fd;
}

static void make_name(char name[NAME_MAX_LEN], uint64_t seq, int stream)
{
    assert(stream == BLY_LOG_OUT || stream == BLY_LOG_ERR);
    snprintf(name, NAME_MAX_LEN, "%" PRIu64 ".%s", seq, stream == BLY_LOG_OUT ? "out" : "err");
}

int bly_logfiles_create(int folder, uint64_t seq, int stream)
{
    char name[NAME_MAX_LEN];
    make_name(name, seq, stream);
    if (unlinkat(folder, name, 0) != 0 && errno != ENOENT) {
        return -1;
    }
    return openat(folder, name, O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                  0600);
}

int bly_logfiles_read(int folder, uint64_t seq, int stream)
{
    char name[NAME_MAX_LEN];
    make_name(name, seq, stream);
    return openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
}

int bly_logfiles_trim(int fd, int64_t max)
{
    struct stat stat;
    if (fstat(fd, &stat) != 0) {
        return -1;
    }
    int64_t from = max / 2 / BLOCK * BLOCK;
    int64_t to = (stat.st_size - max / 2) / BLOCK * BLOCK;
    if (to <= from || stat.st_blocks * STAT_BLOCK <= max) {
        return 0;
    }
    return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, from, to - from);
}

/* Trims a file, or removes it where it is empty and that is wanted. */
static void trim_stream(int folder, uint64_t seq, int stream, bool is_over)
{
    char name[NAME_MAX_LEN];
    make_name(name, seq, stream);
    int fd = openat(folder, name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    struct stat stat;
    if (fd < 0) {
        return;
    }
    if (is_over && fstat(fd, &stat) == 0 && stat.st_size == 0) {
        unlinkat(folder, name, 0);
    } else {
        (void)bly_logfiles_trim(fd, BLY_LOG_STREAM_MAX);
    }
    close(fd);
}

void bly_logfiles_trim_job(int folder, uint64_t seq)
{
    trim_stream(folder, seq, BLY_LOG_OUT, false);
    trim_stream(folder, seq, BLY_LOG_ERR, false);
}

void bly_logfiles_end(int folder, uint64_t seq)
{
    trim_stream(folder, seq, BLY_LOG_OUT, true);
    trim_stream(folder, seq, BLY_LOG_ERR, true);
}

static int tell_hole(int64_t bytes, int to)
{
    struct bly_bytes line = {0};
    bly_bytes_print(&line, "\n[belay: %" PRId64 " bytes are not kept here]\n", bytes);
    int result = bly_files_write(to, line.at, line.len);
    bly_bytes_free(&line);
    return result;
}

/* Steps over a hole at *at, if there is one. */
static int skip_hole(int fd, int64_t *at, int to)
{
    off_t data = lseek(fd, *at, SEEK_DATA);
    if (data < 0) {
        return errno == ENXIO ? 0 : -1;
    }
    int64_t from = *at;
    *at = data;
    return data > from ? tell_hole(data - from, to) : 0;
}

int bly_logfiles_copy(int fd, int64_t *at, int to)
{
    char buffer[COPY_SIZE];
    for (;;) {
        if (skip_hole(fd, at, to) != 0) {
            return -1;
        }
        off_t hole = lseek(fd, *at, SEEK_HOLE);
        if (hole < 0) {
            return errno == ENXIO ? 0 : -1;
        }
        size_t want = hole - *at < COPY_SIZE ? (size_t)(hole - *at) : COPY_SIZE;
        ssize_t got = pread(fd, buffer, want, *at);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0 || bly_files_write(to, buffer, (size_t)got) != 0) {
            return got == 0 ? 0 : -1;
        }
        *at += got;
    }
}

/*
 * Which logs go.
 */

struct log {
    char name[NAME_MAX_LEN];
    int64_t written_ns;
    int64_t bytes;
};

struct logs {
    struct log *items;
    size_t count, max;
};

/* The number of the job, 0 when the file is no log. */
static uint64_t seq_of(const char *name)
{
    char *end = NULL;
    if (name[0] < '1' || name[0] > '9') {
        return 0;
    }
    errno = 0;
    uint64_t seq = strtoull(name, &end, 10);
    bool is_log = strcmp(end, ".out") == 0 || strcmp(end, ".err") == 0;
    return is_log && errno == 0 && strlen(name) < NAME_MAX_LEN ? seq : 0;
}

static void find_log(int folder, const char *name, const struct bly_logfiles_gc *gc,
                     struct logs *logs)
{
    struct stat stat;
    uint64_t seq = seq_of(name);
    if (seq == 0 || fstatat(folder, name, &stat, AT_SYMLINK_NOFOLLOW) != 0 ||
        gc->is_live(seq, gc->arg)) {
        return;
    }
    logs->items = bly_mem_grow(logs->items, &logs->max, logs->count + 1, sizeof *logs->items);
    struct log *log = &logs->items[logs->count++];
    (void)snprintf(log->name, sizeof log->name, "%.*s", (int)sizeof log->name - 1, name);
    log->written_ns = stat.st_mtim.tv_sec * INT64_C(1000000000) + stat.st_mtim.tv_nsec;
    log->bytes = stat.st_blocks * STAT_BLOCK;
}

static int find_logs(int folder, const struct bly_logfiles_gc *gc, struct logs *logs)
{
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = fd >= 0 ? fdopendir(fd) : NULL;
    if (list == NULL) {
        if (fd >= 0) {
            close(fd);
        }
        return -1;
    }
    for (const struct dirent *entry = readdir(list); entry != NULL; entry = readdir(list)) {
        find_log(folder, entry->d_name, gc, logs);
    }
    closedir(list);
    return 0;
}

static int newest_first(const void *left, const void *right)
{
    const struct log *a = left;
    const struct log *b = right;
    if (a->written_ns != b->written_ns) {
        return a->written_ns > b->written_ns ? -1 : 1;
    }
    return strcmp(a->name, b->name);
}

int bly_logfiles_gc(int folder, struct bly_logfiles_gc *gc)
{
    struct logs logs = {0};
    int result = find_logs(folder, gc, &logs);
    int64_t kept = 0;
    if (logs.count > 0) {
        qsort(logs.items, logs.count, sizeof *logs.items, newest_first);
    }
    for (size_t i = 0; i < logs.count; i++) {
        const struct log *log = &logs.items[i];
        bool is_old = gc->now_ns - log->written_ns > gc->keep_ns;
        kept += log->bytes;
        if ((is_old || kept > gc->bytes_max) && unlinkat(folder, log->name, 0) == 0) {
            gc->files++;
            gc->bytes += (uint64_t)log->bytes;
        }
    }
    bly_mem_free(logs.items);
    return result;
}
