/*
 * map.h: a hash map of elements that hold their own link.
 *
 * Linear hashing (Litwin, 1980) over an array that never moves: each insertion splits at most two
 * buckets and each removal joins at most two pairs, so no single call does more than a few buckets'
 * work, and memory goes back after a burst. Chains have at most one element a bucket on average.
 * Where room for another bucket is missing the chains grow instead; an insertion cannot fail once
 * the map has its first room.
 *
 * Before an insertion get room: under a lock with bly_chunks_grow(&map->buckets, 1, &lock) of
 * sync/grow.h, elsewhere with bly_chunks_reserve(&map->buckets, 1). After removals, free what
 * bly_chunks_spare(&map->buckets) returns, outside the lock.
 */
#ifndef BLY_BASE_MAP_H
#define BLY_BASE_MAP_H

#include "base/chunks.h"

typedef struct bly_map_link bly_map_link;

/* In each element; protected by what protects the map. */
struct bly_map_link {
    bly_map_link *next; /* in the bucket */
    uint64_t hash;      /* constant while in the map */
};

/* All fields are protected by what protects the map. */
typedef struct bly_map {
    bly_chunks buckets; /* of bly_map_link *; those at `used` and above are NULL */
    uint32_t count;     /* elements */
} bly_map;

/* What bly_map_find asks of a link whose hash is right: is it the one? */
typedef bool bly_map_match(const bly_map_link *link, const void *key);

/* bly_map_init: an empty map without memory. */
void bly_map_init(bly_map *map);

/* bly_map_destroy: frees the memory of an empty map. */
void bly_map_destroy(bly_map *map);

/*
 * bly_map_insert: adds the link under the hash (see hash.h). The map has had room for a bucket
 * before. Does not look whether an equal element is there.
 */
void bly_map_insert(bly_map *map, bly_map_link *link, uint64_t hash);

/* bly_map_find: a link of that hash for which match(link, key) is true, or NULL. */
bly_map_link *bly_map_find(const bly_map *map, uint64_t hash, bly_map_match *match,
                           const void *key);

/* bly_map_remove: removes a link that is in the map. */
void bly_map_remove(bly_map *map, bly_map_link *link);

/* bly_map_is_sound: checks the whole structure, in O(n); for tests and deep assertions. */
bool bly_map_is_sound(const bly_map *map);

#endif
