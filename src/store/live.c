/*
 * live.c: live files, and the processes that hold one.
 *
 * A live file is locked by flock. The lock belongs to the open file, which every process that
 * inherited the descriptor shares, so the kernel keeps it until the last of them is gone.
 */
#include "store/sqlite_int.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LEFT_OVER_S 3600 /* a file without a lock, before gc removes it */

int bly_live_path(const char *store_path, const char *name, char *ret_path)
{
    int used = snprintf(ret_path, BLY_PATH_MAX, "%s.live/%s", store_path, name);
    return used > 0 && (size_t)used < BLY_PATH_MAX ? 0 : BELAY_EIO;
}

int bly_live_make(const char *store_path, const char *kind, bly_live *ret_live,
                  bly_store_error *ret_error)
{
    char path[BLY_PATH_MAX];
    uint64_t random = bly_random_seed();
    (void)bly_live_path(store_path, "", path);
    path[strlen(path) - 1] = '\0';
    int result = bly_files_folder(path, ret_error);
    if (result != 0) {
        return result;
    }
    (void)snprintf(ret_live->name, sizeof ret_live->name, "%016llx.%s",
                   (unsigned long long)bly_random(&random), kind);
    (void)bly_live_path(store_path, ret_live->name, path);
    int fd = bly_files_open(path, O_RDWR | O_CREAT | O_EXCL, ret_error);
    if (fd < 0) {
        return BELAY_EIO;
    }
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        result = bly_problem(ret_error, BLY_PROBLEM_IO, errno, "%s cannot be locked: %s", path,
                             strerror(errno));
        (void)close(fd);
        (void)unlink(path);
        return result;
    }
    ret_live->fd = fd;
    return 0;
}

int bly_live_create(const char *url, bly_live *ret_live, bly_store_error *ret_error)
{
    char path[BLY_STORE_PATH_MAX];
    bly_store_error unused;
    bly_store_error *error = ret_error != NULL ? ret_error : &unused;
    int result = bly_files_locate(url, path, error);
    return result != 0 ? result : bly_live_make(path, "live", ret_live, error);
}

void bly_live_destroy(const char *url, bly_live *live)
{
    char path[BLY_STORE_PATH_MAX];
    char file[BLY_PATH_MAX];
    bly_store_error unused;
    if (bly_files_locate(url, path, &unused) == 0 && bly_live_path(path, live->name, file) == 0) {
        (void)unlink(file);
    }
    (void)close(live->fd);
    live->fd = -1;
}

/* When a process began, in ticks since the boot; -1: there is none. */
int64_t bly_live_start_of(pid_t pid)
{
    char text[1024];
    char name[64];
    (void)snprintf(name, sizeof name, "/proc/%d/stat", (int)pid);
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0) {
        (void)close(fd);
    }
    if (got <= 0) {
        return -1;
    }
    text[got] = '\0';
    /* The command may hold anything, a bracket too; behind the last one come numbers. The start is
     * the 22nd field, the state the third. */
    char *at = strrchr(text, ')');
    for (int field = 2; at != NULL && field < 22; field++) {
        at = strchr(at + 1, ' ');
    }
    return at == NULL ? -1 : strtoll(at, NULL, 10);
}

/* Whether that descriptor of the process shares a lock: who only opens the file has none. */
static bool shares_lock(const char *pid, const char *number)
{
    char name[600];
    char text[1024];
    (void)snprintf(name, sizeof name, "/proc/%s/fdinfo/%s", pid, number);
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0) {
        (void)close(fd);
    }
    text[got > 0 ? got : 0] = '\0';
    return strstr(text, "FLOCK") != NULL;
}

/* Whether one of the process's descriptors holds the lock of the file. */
static bool is_holder(const char *pid, const struct stat *file)
{
    char name[300];
    bool found = false;
    (void)snprintf(name, sizeof name, "/proc/%s/fd", pid);
    DIR *folder = opendir(name);
    if (folder == NULL) {
        return false;
    }
    const struct dirent *entry;
    while (!found && (entry = readdir(folder)) != NULL) {
        struct stat at;
        /* Follows the link without opening anything. */
        found = fstatat(dirfd(folder), entry->d_name, &at, 0) == 0 && at.st_dev == file->st_dev &&
                at.st_ino == file->st_ino && shares_lock(pid, entry->d_name);
    }
    (void)closedir(folder);
    return found;
}

/* By a pidfd, and looked at again through it, so that nobody is hit who took over the number. */
static bool kill_holder(const char *pid, const struct stat *file)
{
    int number = (int)strtol(pid, NULL, 10);
    if (number == getpid()) {
        return false;
    }
    int fd = (int)syscall(SYS_pidfd_open, number, 0);
    if (fd < 0) {
        return false;
    }
    bool is_one = is_holder(pid, file);
    if (is_one) {
        (void)syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
    }
    (void)close(fd);
    return is_one;
}

/* A file that was made long ago and that nobody has locked; one that is being made is young. */
static bool is_left_over(int folder, const char *name)
{
    struct stat found;
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return false;
    }
    bool is = fstat(fd, &found) == 0 && S_ISREG(found.st_mode) &&
              bly_wall_ns() / 1000000000 - found.st_mtime > LEFT_OVER_S &&
              flock(fd, LOCK_EX | LOCK_NB) == 0;
    (void)close(fd);
    return is;
}

/* Whether a session that has not ended counts on the file; that one is its rescuer's business. */
static int is_in_use(bly_tx *tx, void *arg)
{
    const char *name = arg;
    int64_t count = 0;
    int result = bly_sql_number(tx->conn,
                                "SELECT count(*) FROM session WHERE ended_at IS NULL"
                                " AND (own_lock = ?1 OR live_lock = ?1)",
                                BLY_ARGS(BLY_BLOB(BLY_BYTES(name))), &count);
    return result != 0 || count == 0 ? result : BELAY_EBUSY;
}

void bly_live_sweep(bly_sqlite *store)
{
    char path[BLY_PATH_MAX];
    (void)bly_live_path(store->path, "", path);
    DIR *folder = opendir(path);
    if (folder == NULL) {
        return;
    }
    struct dirent *entry;
    while ((entry = readdir(folder)) != NULL) {
        if (*entry->d_name != '.' && bly_read_tx(store, is_in_use, entry->d_name) == 0 &&
            is_left_over(dirfd(folder), entry->d_name)) {
            (void)unlinkat(dirfd(folder), entry->d_name, 0);
        }
    }
    (void)closedir(folder);
}

int bly_live_kill_holders(int fd, uint32_t *ret_count)
{
    struct stat file;
    *ret_count = 0;
    DIR *folder = opendir("/proc");
    if (folder == NULL || fstat(fd, &file) != 0) {
        if (folder != NULL) {
            (void)closedir(folder);
        }
        return BELAY_EIO;
    }
    const struct dirent *entry;
    while ((entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && is_holder(entry->d_name, &file)) {
            *ret_count += kill_holder(entry->d_name, &file);
        }
    }
    (void)closedir(folder);
    return 0;
}
