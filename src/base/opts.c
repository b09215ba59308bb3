/*
 * opts.c: see opts.h.
 */
#include "base/opts.h"

#include "base/assert.h"
#include "belay/base.h"

#include <string.h>

static bool is_zero(const unsigned char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (bytes[i] != 0) {
            return false;
        }
    }
    return true;
}

int bly_opts_read(void *dst, size_t dst_size, const void *src)
{
    bly_assert(dst_size >= sizeof(uint32_t) && dst_size <= BLY_OPTS_SIZE_MAX);
    uint32_t size = (uint32_t)dst_size;
    uint32_t src_size = sizeof size;
    if (src != NULL) {
        memcpy(&src_size, src, sizeof src_size);
        if (src_size < sizeof size || src_size > BLY_OPTS_SIZE_MAX) {
            return BELAY_EINVAL;
        }
        if (src_size > size && !is_zero((const unsigned char *)src + size, src_size - size)) {
            return BELAY_EINVAL;
        }
    }
    memset(dst, 0, dst_size);
    if (src != NULL) {
        memcpy(dst, src, src_size < size ? src_size : size);
    }
    memcpy(dst, &size, sizeof size);
    return 0;
}

int bly_opts_write(void *dst, const void *src, size_t src_size)
{
    uint32_t size = 0;
    memcpy(&size, dst, sizeof size);
    if (size < sizeof size || size > BLY_OPTS_SIZE_MAX) {
        return BELAY_EINVAL;
    }
    size_t len = size < src_size ? size : src_size;
    memcpy((char *)dst + sizeof size, (const char *)src + sizeof size, len - sizeof size);
    return 0;
}
