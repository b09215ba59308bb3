/*
 * spool.c: output files.
 *
 * Files have no name, so nothing is left behind whatever dies. A file is opened for appending: two
 * streams sent to one file do not overwrite each other, nor does a job that opens /dev/stdout anew.
 *
 * Full disk. A job whose write fails seldom says so, hence the watch. Before bytes are given back
 * to the file system, which would hide that there was no room, and at ends of jobs, free space is
 * looked at; where it is little, and now and then (quotas do not show in free space), a trial write
 * decides.
 */
#include "proc/spool_int.h"

#include "sync/sync.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define COPY_SIZE ((size_t)65536)

/* Names tried on a file system without unnamed files before giving up. */
#define NAMES_MAX 100

static int open_named(bly_spool *spool, int flags)
{
    for (int i = 0; i < NAMES_MAX; i++) {
        char name[64];
        int length = snprintf(name, sizeof name, ".belay-%d-%llu", (int)getpid(),
                              (unsigned long long)spool->name_next++);
        bly_assert(length > 0 && (size_t)length < sizeof name);
        int fd = openat(spool->dir_fd, name, flags | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
        if (fd >= 0) {
            unlinkat(spool->dir_fd, name, 0);
            return fd;
        }
        if (errno != EEXIST) {
            return -1;
        }
    }
    return -1;
}

static int open_file(bly_spool *spool, int extra_flags)
{
    int flags = O_RDWR | O_CLOEXEC | extra_flags;
    int fd = openat(spool->dir_fd, ".", flags | O_TMPFILE, 0600);
    if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT)) {
        fd = open_named(spool, flags);
    }
    return fd;
}

/* A descriptor of the spool's own, opened when it is first needed. */
static bool open_once(bly_spool *spool, int *fd)
{
    if (*fd < 0) {
        *fd = open_file(spool, 0);
    }
    return *fd >= 0;
}

bly_spool_file *bly_spool_file_of(bly_spool *spool, uint32_t number)
{
    bly_assert(number < spool->files_used);
    return &spool->files[number];
}

static void put_free(bly_spool *spool, uint32_t number)
{
    bly_spool_file *file = bly_spool_file_of(spool, number);
    uint32_t *head = file->fd >= 0 ? &spool->free_open : &spool->free_numbers;
    file->next = *head;
    *head = number;
}

static void close_file(bly_spool *spool, uint32_t number)
{
    bly_spool_file *file = bly_spool_file_of(spool, number);
    if (file->is_known) {
        spool->dropped(number, spool->dropped_arg);
    }
    if (file->watch >= 0) {
        inotify_rm_watch(spool->inotify_fd, file->watch);
    }
    close(file->fd);
    *file = (bly_spool_file){.fd = -1, .watch = -1};
}

/* An open file under a number without one; NONE when there are no more numbers or descriptors. */
static uint32_t open_new(bly_spool *spool)
{
    uint32_t number = spool->free_numbers;
    if (number == BLY_SPOOL_NONE && spool->files_used == spool->files_max) {
        return BLY_SPOOL_NONE;
    }
    int fd = open_file(spool, O_APPEND);
    if (fd < 0) {
        return BLY_SPOOL_NONE;
    }
    if (number != BLY_SPOOL_NONE) {
        spool->free_numbers = bly_spool_file_of(spool, number)->next;
    } else {
        number = spool->files_used++;
    }
    spool->files[number] = (bly_spool_file){.fd = fd, .watch = -1};
    return number;
}

int bly_spool_init(bly_spool *spool, const char *dir, uint32_t files_max,
                   void (*dropped)(uint32_t number, void *arg), void *arg)
{
    *spool = (bly_spool){.trial_fd = -1,
                         .held_fd = -1,
                         .inotify_fd = -1,
                         .files_max = files_max,
                         .free_open = BLY_SPOOL_NONE,
                         .free_numbers = BLY_SPOOL_NONE,
                         .dropped = dropped,
                         .dropped_arg = arg};
    bly_list_init(&spool->outputs);
    spool->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (spool->dir_fd < 0) {
        return BELAY_EIO;
    }
    spool->files = bly_alloc(files_max * sizeof *spool->files);
    uint32_t first = spool->files != NULL ? open_new(spool) : BLY_SPOOL_NONE;
    if (first == BLY_SPOOL_NONE) {
        int result = spool->files == NULL ? BELAY_ENOMEM : BELAY_EIO;
        int error = errno;
        bly_spool_free(spool);
        errno = error;
        return result;
    }
    put_free(spool, first);
    return 0;
}

static void close_if_open(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
    }
    *fd = -1;
}

void bly_spool_free(bly_spool *spool)
{
    bly_assert(spool->files != NULL || spool->files_used == 0);
    for (uint32_t i = 0; i < spool->files_used; i++) {
        close_if_open(&spool->files[i].fd);
    }
    bly_free(spool->files);
    close_if_open(&spool->dir_fd);
    close_if_open(&spool->trial_fd);
    close_if_open(&spool->held_fd);
    close_if_open(&spool->inotify_fd);
    spool->files = NULL;
    spool->files_used = 0;
}

int bly_spool_take(bly_spool *spool, uint64_t owner, uint32_t *ret_number)
{
    bly_assert(owner != 0);
    errno = EMFILE;
    uint32_t number = spool->free_open;
    if (number != BLY_SPOOL_NONE) {
        spool->free_open = bly_spool_file_of(spool, number)->next;
    } else {
        number = open_new(spool);
    }
    if (number == BLY_SPOOL_NONE && !bly_list_is_empty(&spool->outputs)) {
        bly_output *oldest = bly_container(bly_list_first(&spool->outputs), bly_output, link);
        if (bly_output_hold(oldest) == 0) {
            return bly_spool_take(spool, owner, ret_number);
        }
    }
    if (number == BLY_SPOOL_NONE) {
        return BELAY_EIO;
    }
    spool->files[number].owner = owner;
    *ret_number = number;
    return 0;
}

void bly_spool_give_back(bly_spool *spool, uint32_t number)
{
    bly_spool_file *file = bly_spool_file_of(spool, number);
    bly_assert(file->fd >= 0);
    file->owner = 0;
    if (file->is_dirty) {
        close_file(spool, number);
    }
    put_free(spool, number);
}

/* Empties a file for its next job; one that cannot be emptied is not used again. */
static void empty(bly_spool *spool, uint32_t number)
{
    bly_spool_file *file = bly_spool_file_of(spool, number);
    if (file->is_dirty) {
        return;
    }
    if (ftruncate(file->fd, 0) != 0 || lseek(file->fd, 0, SEEK_SET) != 0) {
        file->is_dirty = true;
    }
}

int bly_spool_close_out(bly_spool *spool, uint32_t number, bly_output **ret_output)
{
    bly_spool_file *file = bly_spool_file_of(spool, number);
    struct stat status = {0};
    int looked = fstat(file->fd, &status);
    *ret_output = NULL;
    if (looked == 0 && status.st_size == 0) {
        bly_spool_give_back(spool, number);
        return 0;
    }
    bly_output *output = looked == 0 ? bly_alloc(sizeof *output) : NULL;
    if (output == NULL) {
        empty(spool, number);
        bly_spool_give_back(spool, number);
        return looked == 0 ? BELAY_ENOMEM : BELAY_EIO;
    }
    file->owner = 0;
    output->spool = spool;
    output->size = (uint64_t)status.st_size;
    output->file = number;
    bly_list_push_back(&spool->outputs, &output->link);
    spool->outputs_count++;
    *ret_output = output;
    return 0;
}

/* Where the bytes of an output are. */
static int fd_of(const bly_output *output)
{
    bly_spool *spool = output->spool;
    return output->file == BLY_SPOOL_NONE ? spool->held_fd
                                          : bly_spool_file_of(spool, output->file)->fd;
}

/* Gives the file of an output back to the pool. */
static void let_go_of_file(bly_output *output)
{
    bly_spool *spool = output->spool;
    empty(spool, output->file);
    bly_spool_give_back(spool, output->file);
    bly_list_remove(&output->link);
    output->file = BLY_SPOOL_NONE;
}

static ssize_t read_at(int fd, void *buffer, size_t size, uint64_t offset)
{
    for (;;) {
        ssize_t got = pread(fd, buffer, size, (off_t)offset);
        if (got >= 0) {
            return got;
        }
        if (errno != EINTR) {
            return BELAY_EIO;
        }
    }
}

static bool write_at(int fd, const char *bytes, size_t size, uint64_t offset)
{
    while (size > 0) {
        ssize_t put = pwrite(fd, bytes, size, (off_t)offset);
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put <= 0) {
            return false;
        }
        bytes += put;
        size -= (size_t)put;
        offset += (uint64_t)put;
    }
    return true;
}

static bool copy_to_held(const bly_output *output, char *buffer)
{
    const bly_spool *spool = output->spool;
    uint64_t done = 0;
    while (done < output->size) {
        ssize_t got = bly_output_read(output, done, buffer, COPY_SIZE);
        if (got <= 0 || !write_at(spool->held_fd, buffer, (size_t)got, spool->held_end + done)) {
            return false;
        }
        done += (uint64_t)got;
    }
    return true;
}

uint64_t bly_output_size(const bly_output *output)
{
    return output->size;
}

ssize_t bly_output_read(const bly_output *output, uint64_t offset, void *buffer, size_t size)
{
    if (offset >= output->size) {
        return 0;
    }
    uint64_t left = output->size - offset;
    size_t wanted = size < left ? size : (size_t)left;
    return read_at(fd_of(output), buffer, wanted, output->offset + offset);
}

int bly_output_hold(bly_output *output)
{
    bly_spool *spool = output->spool;
    if (output->file == BLY_SPOOL_NONE) {
        return 0;
    }
    char *buffer = open_once(spool, &spool->held_fd) ? bly_alloc(COPY_SIZE) : NULL;
    if (buffer == NULL) {
        return BELAY_EIO;
    }
    bool is_copied = copy_to_held(output, buffer);
    bly_free(buffer);
    if (!is_copied) { /* what was written goes; if even that fails, the next one overwrites it */
        bly_spool_look(spool, bly_monotonic_ns());
        bool is_cut = ftruncate(spool->held_fd, (off_t)spool->held_end) == 0;
        (void)is_cut;
        return BELAY_EIO;
    }
    let_go_of_file(output);
    output->offset = spool->held_end;
    spool->held_end += output->size;
    spool->held_used += output->size;
    return 0;
}

/* The room of a held output goes back to the file system; all of it when it was the last. */
static void let_go_of_room(const bly_output *output)
{
    bly_spool *spool = output->spool;
    bly_assert(spool->held_used >= output->size);
    spool->held_used -= output->size;
    if (spool->held_used == 0 && ftruncate(spool->held_fd, 0) == 0) {
        spool->held_end = 0;
        return;
    }
    /* Where there are no holes the room is given back with the last one. */
    int punched = fallocate(spool->held_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                            (off_t)output->offset, (off_t)output->size);
    (void)punched;
}

void bly_output_free(bly_output *output)
{
    if (output == NULL) {
        return;
    }
    bly_spool *spool = output->spool;
    bly_spool_look(spool, bly_monotonic_ns());
    if (output->file != BLY_SPOOL_NONE) {
        let_go_of_file(output);
    } else {
        let_go_of_room(output);
    }
    spool->outputs_count--;
    bly_free(output);
}

static bool has_much_room(const bly_spool *spool)
{
    struct statvfs status;
    if (fstatvfs(spool->dir_fd, &status) != 0) {
        return true;
    }
    return (uint64_t)status.f_bavail * status.f_frsize >= BLY_SPOOL_ROOM_MIN;
}

static bool trial_fails(bly_spool *spool)
{
    static const char bytes[BLY_SPOOL_TRIAL_SIZE] = {1};
    if (!open_once(spool, &spool->trial_fd)) {
        return errno == ENOSPC || errno == EDQUOT;
    }
    bool is_written = write_at(spool->trial_fd, bytes, sizeof bytes, 0);
    bool is_cut = ftruncate(spool->trial_fd, 0) == 0;
    return !is_written || !is_cut;
}

bool bly_spool_look(bly_spool *spool, int64_t now_ns)
{
    spool->looked_ns = now_ns;
    if (has_much_room(spool) && now_ns - spool->tried_ns < BLY_SPOOL_TRIAL_NS) {
        return false;
    }
    spool->tried_ns = now_ns;
    bool is_full = trial_fails(spool);
    spool->full_count += is_full;
    return is_full;
}

int bly_spool_watch(bly_spool *spool, uint32_t number)
{
    bly_spool_file *file = bly_spool_file_of(spool, number);
    if (file->watch >= 0) {
        return 0;
    }
    if (spool->inotify_fd < 0) {
        spool->inotify_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    }
    char path[40];
    int length = snprintf(path, sizeof path, "/proc/self/fd/%d", file->fd);
    bly_assert(length > 0 && (size_t)length < sizeof path);
    file->watch =
        spool->inotify_fd < 0 ? -1 : inotify_add_watch(spool->inotify_fd, path, IN_MODIFY);
    return file->watch < 0 ? BELAY_EIO : 0;
}

static void tell_change(bly_spool *spool, const struct inotify_event *event,
                        void (*fn)(uint64_t owner, void *arg), void *arg)
{
    if ((event->mask & IN_Q_OVERFLOW) != 0) {
        fn(0, arg);
        return;
    }
    for (uint32_t i = 0; i < spool->files_used; i++) {
        if (spool->files[i].watch == event->wd && spool->files[i].owner != 0) {
            fn(spool->files[i].owner, arg);
        }
    }
}

void bly_spool_changed(bly_spool *spool, void (*fn)(uint64_t owner, void *arg), void *arg)
{
    _Alignas(struct inotify_event) char events[4096];
    ssize_t got = read(spool->inotify_fd, events, sizeof events);
    ssize_t next = 0;
    while (next < got) {
        const struct inotify_event *event = (const void *)(events + next);
        next += (ssize_t)(sizeof *event + event->len);
        tell_change(spool, event, fn, arg);
    }
}
