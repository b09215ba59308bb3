#include "proc/buf_int.h"

#include "sync/sync.h"

#include <string.h>

#define SIZE_FIRST ((size_t)4096)
#define KEEP_MAX   ((size_t)1 << 20) /* an empty buffer larger than this is given back */

/* Moving the held bytes to the front is worth it when the front half is free already. */
static bool slide(bly_buf *buf, size_t size)
{
    size_t used = bly_buf_used(buf);
    if (buf->start < used || buf->capacity - used < size) {
        return false;
    }
    memmove(buf->bytes, bly_buf_first(buf), used);
    buf->start = 0;
    buf->end = used;
    return true;
}

int bly_buf_room(bly_buf *buf, size_t size)
{
    if (buf->capacity - buf->end >= size || slide(buf, size)) {
        return 0;
    }
    size_t capacity = buf->capacity == 0 ? SIZE_FIRST : buf->capacity;
    while (capacity - buf->end < size) {
        if (capacity > SIZE_MAX / 2) {
            return BELAY_ENOMEM;
        }
        capacity *= 2;
    }
    char *bytes = bly_realloc(buf->bytes, capacity);
    if (bytes == NULL) {
        return BELAY_ENOMEM;
    }
    buf->bytes = bytes;
    buf->capacity = capacity;
    return 0;
}

void bly_buf_take(bly_buf *buf, size_t size)
{
    bly_assert(size <= bly_buf_used(buf));
    buf->start += size;
    if (buf->start < buf->end) {
        return;
    }
    if (buf->capacity > KEEP_MAX) {
        bly_buf_free(buf);
    }
    buf->start = 0;
    buf->end = 0;
}

void bly_buf_free(bly_buf *buf)
{
    bly_free(buf->bytes);
    memset(buf, 0, sizeof *buf);
}
