/*
 * hash.c: see hash.h.
 *
 * The folded 64 x 64 bit product of Wang Yi's wyhash, one step for each eight bytes. Not for
 * adversaries who can read the seed; ids that were not chosen with the seed in hand do not collide
 * more often than chance.
 */
#include "base/hash.h"

#include <string.h>

#define MIX_WORD UINT64_C(0xa0761d6478bd642f)
#define MIX_TAIL UINT64_C(0xe7037ed1a0b428db)
#define MIX_END  UINT64_C(0x8ebc6af09c88c6e3)

__extension__ typedef unsigned __int128 wide;

static inline uint64_t fold(uint64_t left, uint64_t right)
{
    wide product = (wide)left * right;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t bly_hash_u64(uint64_t seed, uint64_t number)
{
    return fold(fold(number ^ MIX_WORD, seed ^ MIX_TAIL), seed ^ MIX_END);
}

uint64_t bly_hash_bytes(uint64_t seed, const void *data, size_t len)
{
    const unsigned char *bytes = data;
    uint64_t hash = seed ^ MIX_END;
    uint64_t word;
    size_t left = len;
    for (; left >= sizeof word; left -= sizeof word, bytes += sizeof word) {
        memcpy(&word, bytes, sizeof word);
        hash = fold(hash ^ word, MIX_WORD);
    }
    word = 0;
    if (left > 0) {
        memcpy(&word, bytes, left);
    }
    hash = fold(hash ^ word, MIX_TAIL ^ len);
    return fold(hash ^ seed, MIX_END);
}
