/*
 * files.c: the store's files, before SQLite opens them.
 *
 * SQLite makes its files readable for everybody whom the umask lets, follows symbolic links and
 * trusts any file system with locks; so the folder and the file are made and looked at here first.
 * An existing file of the store is never opened here: closing it again would drop the locks that
 * this process may hold on it (a rule of POSIX record locks).
 */
#include "store/sqlite_int.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Magic numbers of file systems (statfs(2)) on which locks of other machines are not seen. */
static const struct {
    uint32_t type;
    const char *name;
} network_systems[] = {
    {0x6969, "NFS"},      {0xff534d42, "CIFS"}, {0xfe534d42, "SMB2"},   {0x517b, "SMB"},
    {0x564c, "NCP"},      {0x5346414f, "AFS"},  {0x6b414653, "AFS"},    {0x73757245, "Coda"},
    {0x01021997, "9p"},   {0x00c36400, "Ceph"}, {0x0bd00bd0, "Lustre"}, {0x7461636f, "OCFS2"},
    {0x01161970, "GFS2"}, {0x47504653, "GPFS"}, {0x65735546, "FUSE"},   {0x786f4256, "vboxsf"},
};

static int refuse_network(const char *folder, bly_store_error *ret_error)
{
    struct statfs found;
    if (statfs(folder, &found) != 0) {
        return bly_problem(ret_error, BLY_PROBLEM_IO, errno, "%s: %s", folder, strerror(errno));
    }
    for (size_t i = 0; i < bly_count(network_systems); i++) {
        if ((uint32_t)found.f_type == network_systems[i].type) {
            return bly_problem(ret_error, BLY_PROBLEM_NETWORK, 0,
                               "%s is on a network file system (%s), where locks do not hold; "
                               "name a store on a local disk",
                               folder, network_systems[i].name);
        }
    }
    return 0;
}

/* Refuses what somebody else may change. `found` is of lstat. */
static int refuse_unsafe(const char *path, const struct stat *found, bly_store_error *ret_error)
{
    if (S_ISLNK(found->st_mode)) {
        return bly_problem(ret_error, BLY_PROBLEM_SYMLINK, 0,
                           "%s is a symbolic link; remove it or name another store", path);
    }
    if (found->st_uid != geteuid() && found->st_uid != 0) {
        return bly_problem(ret_error, BLY_PROBLEM_UNSAFE, 0,
                           "%s belongs to another user (%u); name a store of your own", path,
                           (unsigned)found->st_uid);
    }
    if ((found->st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        return bly_problem(ret_error, BLY_PROBLEM_UNSAFE, 0,
                           "%s may be written by others, who could run commands as you; "
                           "chmod go-w it",
                           path);
    }
    return 0;
}

static int refuse_file(const char *path, bly_store_error *ret_error)
{
    struct stat found;
    if (lstat(path, &found) != 0) {
        return errno == ENOENT
                   ? 0
                   : bly_problem(ret_error, BLY_PROBLEM_IO, errno, "%s: %s", path, strerror(errno));
    }
    int result = refuse_unsafe(path, &found, ret_error);
    if (result == 0 && !S_ISREG(found.st_mode)) {
        return bly_problem(ret_error, BLY_PROBLEM_FOREIGN, 0,
                           "%s is not a file; name another store", path);
    }
    return result;
}

int bly_files_folder(const char *path, bly_store_error *ret_error)
{
    struct stat found;
    if (mkdir(path, 0700) != 0 && errno != EEXIST) {
        return bly_problem(ret_error, errno == ENOSPC ? BLY_PROBLEM_DISK_FULL : BLY_PROBLEM_IO,
                           errno, "the folder %s cannot be made: %s", path, strerror(errno));
    }
    if (lstat(path, &found) != 0) {
        return bly_problem(ret_error, BLY_PROBLEM_IO, errno, "%s: %s", path, strerror(errno));
    }
    if (!S_ISDIR(found.st_mode) && !S_ISLNK(found.st_mode)) {
        return bly_problem(ret_error, BLY_PROBLEM_IO, ENOTDIR, "%s is not a folder", path);
    }
    return refuse_unsafe(path, &found, ret_error);
}

/* Makes the folders above the last one. */
static void make_parents(char *folder)
{
    for (char *at = strchr(folder + 1, '/'); at != NULL; at = strchr(at + 1, '/')) {
        *at = '\0';
        (void)mkdir(folder, 0700); /* the last folder's own mkdir says what is wrong */
        *at = '/';
    }
}

int bly_files_locate(const char *path, char *ret_path, bly_store_error *ret_error)
{
    char folder[BLY_PATH_MAX];
    char real[PATH_MAX];
    size_t len = strlen(path);
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    if (len == 0 || len >= BLY_STORE_PATH_MAX || *name == '\0') {
        return bly_problem(ret_error, BLY_PROBLEM_IO, EINVAL, "'%s' is not the name of a file",
                           path);
    }
    int used = slash == NULL ? snprintf(folder, sizeof folder, ".")
                             : snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
    if (used == 0) {
        (void)snprintf(folder, sizeof folder, "/");
    }
    make_parents(folder);
    int result = bly_files_folder(folder, ret_error);
    if (result != 0) {
        return result;
    }
    if (realpath(folder, real) == NULL) {
        return bly_problem(ret_error, BLY_PROBLEM_IO, errno, "%s: %s", folder, strerror(errno));
    }
    used =
        snprintf(ret_path, BLY_STORE_PATH_MAX, "%s/%s", strcmp(real, "/") == 0 ? "" : real, name);
    if (used < 0 || (size_t)used >= BLY_STORE_PATH_MAX) {
        return bly_problem(ret_error, BLY_PROBLEM_IO, ENAMETOOLONG, "%s is too long", path);
    }
    return 0;
}

int bly_files_open(const char *path, int flags, bly_store_error *ret_error)
{
    int fd = open(path, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
    if (fd >= 0) {
        return fd;
    }
    if (errno == ELOOP) {
        (void)bly_problem(ret_error, BLY_PROBLEM_SYMLINK, errno,
                          "%s is a symbolic link; remove it or name another store", path);
    } else {
        int kind = errno == ENOSPC || errno == EDQUOT  ? BLY_PROBLEM_DISK_FULL
                   : errno == EACCES || errno == EROFS ? BLY_PROBLEM_READ_ONLY
                                                       : BLY_PROBLEM_IO;
        (void)bly_problem(ret_error, kind, errno, "%s cannot be opened: %s", path, strerror(errno));
    }
    return -1;
}

/* Makes the file when there is none; O_EXCL, so that an existing one is not opened. */
static int make_file(const char *path, bly_store_error *ret_error)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0) {
        return close(fd) == 0
                   ? 0
                   : bly_problem(ret_error, BLY_PROBLEM_IO, errno, "%s: %s", path, strerror(errno));
    }
    if (errno == EEXIST) {
        return 0;
    }
    int kind = errno == ENOSPC                     ? BLY_PROBLEM_DISK_FULL
               : errno == EACCES || errno == EROFS ? BLY_PROBLEM_READ_ONLY
                                                   : BLY_PROBLEM_IO;
    return bly_problem(ret_error, kind, errno, "%s cannot be made: %s", path, strerror(errno));
}

int bly_files_prepare(bly_sqlite *store, const char *path, bool may_be_network,
                      bly_store_error *ret_error)
{
    static const char *const beside[] = {"-wal", "-shm", ".lock", ".bell"};
    char name[BLY_PATH_MAX];
    int result = bly_files_locate(path, store->path, ret_error);
    if (result == 0) {
        (void)snprintf(name, sizeof name, "%s", store->path);
        *strrchr(name, '/') = '\0';
        struct stat found;
        const char *folder = *name == '\0' ? "/" : name;
        result = lstat(folder, &found) != 0 ? bly_problem(ret_error, BLY_PROBLEM_IO, errno,
                                                          "%s: %s", folder, strerror(errno))
                                            : refuse_unsafe(folder, &found, ret_error);
        if (result == 0 && !may_be_network) {
            result = refuse_network(folder, ret_error);
        }
    }
    if (result == 0) {
        result = refuse_file(store->path, ret_error);
    }
    for (size_t i = 0; result == 0 && i < bly_count(beside); i++) {
        (void)snprintf(name, sizeof name, "%s%s", store->path, beside[i]);
        result = refuse_file(name, ret_error);
    }
    return result != 0 || store->is_read_only ? result : make_file(store->path, ret_error);
}

void bly_files_boot(char *ret_boot, size_t size)
{
    *ret_boot = '\0';
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return;
    }
    ssize_t got = read(fd, ret_boot, size - 1);
    (void)close(fd);
    ret_boot[got > 0 ? got : 0] = '\0';
    ret_boot[strcspn(ret_boot, "\n")] = '\0';
}
