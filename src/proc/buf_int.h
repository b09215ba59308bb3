/* buf_int.h: a byte buffer that grows: bytes are added at its end and taken from its start. */
#ifndef BLY_PROC_BUF_INT_H
#define BLY_PROC_BUF_INT_H

#include "belay/base.h"

typedef struct bly_buf {
    char *bytes;
    size_t start; /* bytes before it are taken already */
    size_t end;   /* bytes behind it are free */
    size_t capacity;
} bly_buf;

/* bly_buf_used, bly_buf_first: the bytes held, and where they begin. */
static inline size_t bly_buf_used(const bly_buf *buf)
{
    return buf->end - buf->start;
}

static inline char *bly_buf_first(const bly_buf *buf)
{
    return buf->bytes + buf->start;
}

/*
 * bly_buf_room: at least `size` free bytes behind the end, or BELAY_ENOMEM. May move what is held.
 */
int bly_buf_room(bly_buf *buf, size_t size);

/* bly_buf_take: `size` bytes less at the start; an emptied big buffer gives its memory back. */
void bly_buf_take(bly_buf *buf, size_t size);

/* bly_buf_free: takes all memory back; the buffer is empty and usable. */
void bly_buf_free(bly_buf *buf);

#endif
