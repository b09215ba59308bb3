/*
 * opts.h: structs that begin with their size, of a caller that may have been compiled against
 * another version: options are read, results are written.
 */
#ifndef BLY_BASE_OPTS_H
#define BLY_BASE_OPTS_H

#include <stddef.h>

/* An options struct says at most this size, in bytes. */
#define BLY_OPTS_SIZE_MAX 4096u

/*
 * bly_opts_read: copies the options at src, a struct that begins with `uint32_t size`, to dst,
 * which has dst_size bytes. What a shorter, older struct lacks becomes zero; what a longer, newer
 * one adds must be zero. dst's own size field is dst_size afterwards. src NULL means all zero
 * [G-BASE-2].
 * Errors: BELAY_EINVAL (a size below 4 or above BLY_OPTS_SIZE_MAX; a tail that is not zero): dst is
 * unchanged then.
 */
int bly_opts_read(void *dst, size_t dst_size, const void *src);

/*
 * bly_opts_write: copies the src_size bytes at src, a struct that begins with `uint32_t size`, to
 * dst, whose own size field its caller has set: what lies beyond that is not written, nor is the
 * field itself.
 * Errors: BELAY_EINVAL (a size below 4 or above BLY_OPTS_SIZE_MAX): dst is unchanged then.
 */
int bly_opts_write(void *dst, const void *src, size_t src_size);

#endif
