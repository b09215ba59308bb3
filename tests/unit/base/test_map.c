/*
 * test_map.c: the map against an array of flags that says which ids are in it.
 */
#include "aborts.h"
#include "unit.h"

#include "base/hash.h"
#include "base/map.h"

#define IDS 4000u

typedef struct entry {
    uint64_t id;
    bool is_in;
    bly_map_link link;
} entry;

static entry entries[IDS];
static uint64_t random_state = 7;

static uint64_t next_random(void)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return random_state >> 33;
}

static bool has_id(const bly_map_link *link, const void *key)
{
    const uint64_t *id = key;
    return bly_container(link, const entry, link)->id == *id;
}

/* Every fourth id shares its hash with its three neighbours. */
static uint64_t hash_of(uint64_t id)
{
    return bly_hash_u64(99, id / 4);
}

static entry *find(const bly_map *map, uint64_t id)
{
    bly_map_link *link = bly_map_find(map, hash_of(id), has_id, &id);
    return link == NULL ? NULL : bly_container(link, entry, link);
}

static void insert(bly_map *map, entry *item)
{
    ck_assert_int_eq(bly_chunks_reserve(&map->buckets, 1), 0);
    bly_map_insert(map, &item->link, hash_of(item->id));
    item->is_in = true;
}

static void take_out(bly_map *map, entry *item)
{
    bly_map_remove(map, &item->link);
    item->is_in = false;
    bly_free(bly_chunks_spare(&map->buckets));
}

static void start(bly_map *map)
{
    bly_map_init(map);
    for (uint32_t i = 0; i < IDS; i++) {
        entries[i].id = i;
    }
}

/* Removes whatever is in the map and ends it. */
static void finish(bly_map *map)
{
    for (uint32_t i = 0; i < IDS; i++) {
        if (entries[i].is_in) {
            take_out(map, &entries[i]);
        }
    }
    bly_map_destroy(map);
}

START_TEST(empty_map_finds_nothing)
{
    bly_map map;
    bly_map_init(&map);
    ck_assert_ptr_null(find(&map, 5));
    ck_assert(bly_map_is_sound(&map));
    bly_map_destroy(&map);
}
END_TEST

START_TEST(random_history_agrees_with_the_model)
{
    bly_map map;
    start(&map);
    uint32_t count = 0;
    for (int step = 0; step < 60000; step++) {
        /* The number of ids in play swells and shrinks, so buckets split and join. */
        uint32_t range = (step / 10000) % 2 == 0 ? IDS : 40;
        entry *item = &entries[next_random() % range];
        ck_assert_ptr_eq(find(&map, item->id), item->is_in ? item : NULL);
        if (item->is_in) {
            take_out(&map, item);
            count--;
        } else {
            insert(&map, item);
            count++;
        }
        ck_assert_uint_eq(map.count, count);
        ck_assert(step % 64 != 0 || bly_map_is_sound(&map));
    }
    for (uint32_t i = 0; i < IDS; i++) {
        ck_assert_ptr_eq(find(&map, i), entries[i].is_in ? &entries[i] : NULL);
    }
    finish(&map);
}
END_TEST

START_TEST(buckets_follow_the_number_of_elements)
{
    bly_map map;
    start(&map);
    for (uint32_t i = 0; i < IDS; i++) {
        insert(&map, &entries[i]);
        ck_assert_uint_ge(map.buckets.used, map.count);
    }
    for (uint32_t i = 0; i < IDS - 2; i++) {
        take_out(&map, &entries[i]);
        ck_assert_uint_le(map.buckets.used, 2 * map.count + 1);
    }
    ck_assert_uint_eq(bly_chunks_capacity(&map.buckets), BLY_CHUNKS_FIRST);
    ck_assert(bly_map_is_sound(&map));
    finish(&map);
}
END_TEST

START_TEST(insertions_go_on_without_more_room)
{
    bly_map map;
    start(&map);
    insert(&map, &entries[0]);
    for (uint32_t i = 1; i < IDS; i++) {
        bly_map_insert(&map, &entries[i].link, hash_of(i));
        entries[i].is_in = true;
    }
    ck_assert_uint_eq(map.buckets.used, BLY_CHUNKS_FIRST);
    ck_assert(bly_map_is_sound(&map));
    for (uint32_t i = 0; i < IDS; i++) {
        ck_assert_ptr_eq(find(&map, i), &entries[i]);
    }
    finish(&map);
}
END_TEST

START_TEST(chains_stay_short)
{
    bly_map map;
    start(&map);
    for (uint32_t i = 0; i < IDS; i++) {
        ck_assert_int_eq(bly_chunks_reserve(&map.buckets, 1), 0);
        bly_map_insert(&map, &entries[i].link, bly_hash_u64(3, entries[i].id));
        entries[i].is_in = true;
    }
    uint32_t longest = 0;
    for (uint32_t i = 0; i < map.buckets.used; i++) {
        uint32_t length = 0;
        bly_map_link **bucket = bly_chunks_at(&map.buckets, i);
        for (const bly_map_link *link = *bucket; link != NULL; link = link->next) {
            length++;
        }
        longest = length > longest ? length : longest;
    }
    ck_assert_uint_lt(longest, 12);
    finish(&map);
}
END_TEST

static void remove_what_is_not_there(void)
{
    bly_map map;
    start(&map);
    insert(&map, &entries[0]);
    bly_map_remove(&map, &entries[1].link);
}

static void insert_without_any_room(void)
{
    bly_map map;
    start(&map);
    bly_map_insert(&map, &entries[0].link, 1);
}

START_TEST(misuse_aborts)
{
    ck_assert_aborts(remove_what_is_not_there, "*place == link");
    ck_assert_aborts(insert_without_any_room, "room > 0");
}
END_TEST

UNIT_MAIN("base/map", empty_map_finds_nothing, random_history_agrees_with_the_model,
          buckets_follow_the_number_of_elements, insertions_go_on_without_more_room,
          chains_stay_short, misuse_aborts)
