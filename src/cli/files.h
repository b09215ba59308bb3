/*
 * files.h: whole reads and writes of descriptors.
 * Context: the command's only thread; blocks as long as the descriptor does.
 */
#ifndef BLY_CLI_FILES_H
#define BLY_CLI_FILES_H

#include <stddef.h>
#include <sys/types.h>

/*
 * bly_files_occupy_standard: makes descriptors 0, 1 and 2 belong to something, so that no file that
 * is opened later gets one of these numbers and with it what is meant for standard output. One that
 * was closed fails with EBADF as before. 0, or -1 with errno. Call it before anything is opened.
 */
int bly_files_occupy_standard(void);

/* bly_files_write: writes all `len` bytes. 0, or -1 with errno. */
int bly_files_write(int fd, const void *from, size_t len);

/* bly_files_read: reads once, retried when interrupted. As read(2). */
ssize_t bly_files_read(int fd, void *to, size_t len);

/* bly_files_read_all: appends all that is left to read, at most `max` bytes. 0, or -1 with errno
 * (EFBIG: there is more). */
struct bly_bytes;
int bly_files_read_all(int fd, struct bly_bytes *to, size_t max);

#endif
