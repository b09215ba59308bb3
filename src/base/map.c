/*
 * map.c: see map.h.
 *
 * With n buckets, 2^k <= n < 2^(k+1), an element belongs to the bucket of its lowest k+1 bits if
 * that exists, else to that of its lowest k bits. Bucket n is made by splitting bucket n - 2^k and
 * ended by joining it to the same one. The number of buckets follows the number of elements n, from
 * n to 2n+1, by at most STEPS_MAX an operation: two, since a removal lowers the upper bound by two,
 * and so that chains which grew while room was missing become short again.
 */
#include "base/map.h"

#define STEPS_MAX 2

static bly_map_link **bucket_at(const bly_map *map, uint32_t index)
{
    return bly_chunks_at(&map->buckets, index);
}

/* The largest power of two that is not above n; n is not 0. */
static uint32_t floor_power(uint32_t n)
{
    return UINT32_C(1) << (31 - __builtin_clz(n));
}

static uint32_t bucket_of(const bly_map *map, uint64_t hash)
{
    uint32_t power = floor_power(map->buckets.used);
    uint32_t index = (uint32_t)hash & (2 * power - 1);
    return index < map->buckets.used ? index : index & (power - 1);
}

/* Bucket `used` comes into being with those elements of its partner that belong to it. */
static void split(bly_map *map)
{
    uint32_t born = map->buckets.used++;
    bly_map_link **place = bucket_at(map, born - floor_power(born));
    bly_map_link **end = bucket_at(map, born);
    bly_assert_debug(*end == NULL);
    while (*place != NULL) {
        bly_map_link *link = *place;
        if (bucket_of(map, link->hash) == born) {
            *place = link->next;
            link->next = NULL;
            *end = link;
            end = &link->next;
        } else {
            place = &link->next;
        }
    }
}

/* The last bucket ends; its elements go in front of its partner's. */
static void join(bly_map *map)
{
    uint32_t gone = --map->buckets.used;
    bly_map_link **from = bucket_at(map, gone);
    bly_map_link **to = bucket_at(map, gone - floor_power(gone));
    bly_map_link **end = from;
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = *to;
    *to = *from;
    *from = NULL;
}

void bly_map_init(bly_map *map)
{
    bly_chunks_init(&map->buckets, sizeof(bly_map_link *));
    map->count = 0;
}

void bly_map_destroy(bly_map *map)
{
    bly_assert(map->count == 0);
    bly_chunks_destroy(&map->buckets);
}

void bly_map_insert(bly_map *map, bly_map_link *link, uint64_t hash)
{
    uint32_t room = bly_chunks_capacity(&map->buckets);
    bly_assert(room > 0 && map->count < UINT32_MAX);
    if (map->buckets.used == 0) {
        map->buckets.used = 1;
    }
    map->count++;
    for (int i = 0; i < STEPS_MAX && map->count > map->buckets.used; i++) {
        if (map->buckets.used < room) {
            split(map);
        }
    }
    bly_map_link **bucket = bucket_at(map, bucket_of(map, hash));
    *link = (bly_map_link){*bucket, hash};
    *bucket = link;
}

bly_map_link *bly_map_find(const bly_map *map, uint64_t hash, bly_map_match *match, const void *key)
{
    if (map->count == 0) {
        return NULL;
    }
    bly_map_link *link = *bucket_at(map, bucket_of(map, hash));
    while (link != NULL && (link->hash != hash || !match(link, key))) {
        link = link->next;
    }
    return link;
}

void bly_map_remove(bly_map *map, bly_map_link *link)
{
    bly_assert(map->count > 0);
    bly_map_link **place = bucket_at(map, bucket_of(map, link->hash));
    while (*place != NULL && *place != link) {
        place = &(*place)->next;
    }
    bly_assert(*place == link);
    *place = link->next;
    link->next = NULL;
    map->count--;
    for (int i = 0; i < STEPS_MAX && map->count < map->buckets.used / 2; i++) {
        join(map);
    }
}

bool bly_map_is_sound(const bly_map *map)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < bly_chunks_capacity(&map->buckets); i++) {
        for (const bly_map_link *link = *bucket_at(map, i); link != NULL; link = link->next) {
            if (bucket_of(map, link->hash) != i || ++count > map->count) {
                return false;
            }
        }
    }
    return count == map->count;
}
