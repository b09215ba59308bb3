/*
 * store_vfs.h: a layer of SQLite's over its own file layer in which calls fail on demand, and which
 * keeps what a disk would have after a power cut.
 *
 * Calls are counted; the one numbered faulty_fail_at fails, once, with faulty_code. After each sync
 * of a file its whole content is written to a file of the same name in faulty_image: together these
 * are what was synced, nothing more. Before that, faulty_before_sync is called.
 */
#ifndef BELAY_TESTS_STORE_VFS_H
#define BELAY_TESTS_STORE_VFS_H

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sync/sync.h"

typedef struct faulty_file {
    sqlite3_file base; /* first */
    char name[256];
    sqlite3_file *real;
} faulty_file;

static uint32_t faulty_calls;   /* atomic */
static uint32_t faulty_fail_at; /* atomic; 0: none */
static uint32_t faulty_failed;  /* atomic: how many did */
static int faulty_code;
static char faulty_image[256]; /* "": none is kept */
static void (*faulty_before_sync)(void);
static sqlite3_vfs *faulty_real;

static bool faulty_now(void)
{
    uint32_t call = bly_fetch_add(&faulty_calls, 1u, BLY_SEQ_CST) + 1;
    if (call != bly_load(&faulty_fail_at, BLY_SEQ_CST)) {
        return false;
    }
    (void)bly_fetch_add(&faulty_failed, 1u, BLY_SEQ_CST);
    return true;
}

static sqlite3_file *real_of(sqlite3_file *file)
{
    return ((faulty_file *)file)->real;
}

static int faulty_close(sqlite3_file *file)
{
    sqlite3_file *real = real_of(file);
    int code = real->pMethods != NULL ? real->pMethods->xClose(real) : SQLITE_OK;
    sqlite3_free(real);
    return code;
}

static int faulty_read(sqlite3_file *file, void *to, int size, sqlite3_int64 at)
{
    if (faulty_now()) {
        return faulty_code == SQLITE_FULL ? SQLITE_IOERR_READ : faulty_code | (1 << 8);
    }
    return real_of(file)->pMethods->xRead(real_of(file), to, size, at);
}

static int faulty_write(sqlite3_file *file, const void *from, int size, sqlite3_int64 at)
{
    return faulty_now() ? faulty_code
                        : real_of(file)->pMethods->xWrite(real_of(file), from, size, at);
}

static int faulty_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    return faulty_now() ? SQLITE_IOERR_TRUNCATE
                        : real_of(file)->pMethods->xTruncate(real_of(file), size);
}

/* What is synced goes into the image. */
static void keep(faulty_file *file)
{
    sqlite3_int64 size = 0;
    char kept[600];
    const char *slash = strrchr(file->name, '/');
    if (*faulty_image == '\0' || slash == NULL) {
        return;
    }
    (void)file->real->pMethods->xFileSize(file->real, &size);
    char *bytes = malloc((size_t)size + 1);
    (void)file->real->pMethods->xRead(file->real, bytes, (int)size, 0);
    snprintf(kept, sizeof kept, "%s%s", faulty_image, slash);
    FILE *to = fopen(kept, "w");
    if (to == NULL || fwrite(bytes, 1, (size_t)size, to) != (size_t)size || fclose(to) != 0) {
        abort();
    }
    free(bytes);
}

static int faulty_sync(sqlite3_file *file, int flags)
{
    if (faulty_now()) {
        return SQLITE_IOERR_FSYNC;
    }
    if (faulty_before_sync != NULL) {
        faulty_before_sync();
    }
    int code = real_of(file)->pMethods->xSync(real_of(file), flags);
    if (code == SQLITE_OK) {
        keep((faulty_file *)file);
    }
    return code;
}

static int faulty_size(sqlite3_file *file, sqlite3_int64 *size)
{
    return faulty_now() ? SQLITE_IOERR_FSTAT
                        : real_of(file)->pMethods->xFileSize(real_of(file), size);
}

static int faulty_lock(sqlite3_file *file, int level)
{
    return faulty_now() ? SQLITE_IOERR_LOCK : real_of(file)->pMethods->xLock(real_of(file), level);
}

static int faulty_unlock(sqlite3_file *file, int level)
{
    return real_of(file)->pMethods->xUnlock(real_of(file), level);
}

static int faulty_reserved(sqlite3_file *file, int *is)
{
    return real_of(file)->pMethods->xCheckReservedLock(real_of(file), is);
}

static int faulty_control(sqlite3_file *file, int op, void *arg)
{
    return real_of(file)->pMethods->xFileControl(real_of(file), op, arg);
}

static int faulty_sector(sqlite3_file *file)
{
    return real_of(file)->pMethods->xSectorSize(real_of(file));
}

static int faulty_traits(sqlite3_file *file)
{
    return real_of(file)->pMethods->xDeviceCharacteristics(real_of(file));
}

static int faulty_shm_map(sqlite3_file *file, int region, int size, int extend, void volatile **to)
{
    return faulty_now() ? SQLITE_IOERR_SHMMAP
                        : real_of(file)->pMethods->xShmMap(real_of(file), region, size, extend, to);
}

static int faulty_shm_lock(sqlite3_file *file, int offset, int count, int flags)
{
    bool is_unlock = (flags & SQLITE_SHM_UNLOCK) != 0;
    return !is_unlock && faulty_now()
               ? SQLITE_IOERR_SHMLOCK
               : real_of(file)->pMethods->xShmLock(real_of(file), offset, count, flags);
}

static void faulty_shm_barrier(sqlite3_file *file)
{
    real_of(file)->pMethods->xShmBarrier(real_of(file));
}

static int faulty_shm_unmap(sqlite3_file *file, int remove)
{
    return real_of(file)->pMethods->xShmUnmap(real_of(file), remove);
}

static const sqlite3_io_methods faulty_methods = {
    .iVersion = 2,
    .xClose = faulty_close,
    .xRead = faulty_read,
    .xWrite = faulty_write,
    .xTruncate = faulty_truncate,
    .xSync = faulty_sync,
    .xFileSize = faulty_size,
    .xLock = faulty_lock,
    .xUnlock = faulty_unlock,
    .xCheckReservedLock = faulty_reserved,
    .xFileControl = faulty_control,
    .xSectorSize = faulty_sector,
    .xDeviceCharacteristics = faulty_traits,
    .xShmMap = faulty_shm_map,
    .xShmLock = faulty_shm_lock,
    .xShmBarrier = faulty_shm_barrier,
    .xShmUnmap = faulty_shm_unmap,
};

static int faulty_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out)
{
    faulty_file *self = (faulty_file *)file;
    (void)vfs;
    memset(self, 0, sizeof *self);
    if (faulty_now()) {
        return SQLITE_CANTOPEN;
    }
    self->real = sqlite3_malloc(faulty_real->szOsFile);
    if (self->real == NULL) {
        return SQLITE_NOMEM;
    }
    memset(self->real, 0, (size_t)faulty_real->szOsFile);
    int code = faulty_real->xOpen(faulty_real, name, self->real, flags, out);
    if (code != SQLITE_OK) {
        sqlite3_free(self->real);
        return code;
    }
    snprintf(self->name, sizeof self->name, "%s", name != NULL ? name : "");
    self->base.pMethods = &faulty_methods;
    return SQLITE_OK;
}

static int faulty_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
    (void)vfs;
    return faulty_now() ? SQLITE_IOERR_DELETE : faulty_real->xDelete(faulty_real, name, sync);
}

static int faulty_access(sqlite3_vfs *vfs, const char *name, int flags, int *is)
{
    (void)vfs;
    return faulty_now() ? SQLITE_IOERR_ACCESS : faulty_real->xAccess(faulty_real, name, flags, is);
}

/* Registers the layer as "faulty"; it becomes no default. */
static void faulty_register(void)
{
    static sqlite3_vfs vfs;
    if (faulty_real != NULL) {
        return;
    }
    faulty_real = sqlite3_vfs_find(NULL);
    vfs = *faulty_real;
    vfs.zName = "faulty";
    vfs.szOsFile = sizeof(faulty_file);
    vfs.pNext = NULL;
    vfs.xOpen = faulty_open;
    vfs.xDelete = faulty_delete;
    vfs.xAccess = faulty_access;
    if (sqlite3_vfs_register(&vfs, 0) != SQLITE_OK) {
        abort();
    }
}

#endif
