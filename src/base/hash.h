/*
 * hash.h: hashes for maps. Each map has a seed of its own, so nobody can choose ids that collide.
 */
#ifndef BLY_BASE_HASH_H
#define BLY_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* bly_hash_u64, bly_hash_bytes: 64 well mixed bits of a number or of `len` bytes. */
uint64_t bly_hash_u64(uint64_t seed, uint64_t number);
uint64_t bly_hash_bytes(uint64_t seed, const void *data, size_t len);

#endif
