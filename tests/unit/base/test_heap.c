/*
 * test_heap.c: the heap against a plain array that is searched for its smallest key.
 */
#include "aborts.h"
#include "unit.h"

#include "base/heap.h"

#define ITEMS 3000

typedef struct item {
    uint32_t place;
    bly_heap_key key;
} item;

static uint64_t random_state = 1;

static uint64_t next_random(void)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return random_state >> 33;
}

static int compare(const bly_heap_key *left, const bly_heap_key *right)
{
    const uint64_t *a = &left->high;
    const uint64_t *b = &right->high;
    for (int i = 0; i < 3; i++) {
        if (a[i] != b[i]) {
            return a[i] < b[i] ? -1 : 1;
        }
    }
    return 0;
}

static item *model_first(item *items, size_t count)
{
    item *best = NULL;
    for (size_t i = 0; i < count; i++) {
        if (items[i].place != 0 && (best == NULL || compare(&items[i].key, &best->key) < 0)) {
            best = &items[i];
        }
    }
    return best;
}

static bly_heap_key some_key(uint64_t serial)
{
    return (bly_heap_key){next_random() % 8, next_random() % 8, serial};
}

static void push(bly_heap *heap, item *element, bly_heap_key key)
{
    ck_assert_int_eq(bly_chunks_reserve(&heap->slots, 1), 0);
    element->key = key;
    bly_heap_push(heap, element, key);
}

static void free_spare(bly_heap *heap)
{
    void *block;
    while ((block = bly_chunks_spare(&heap->slots)) != NULL) {
        bly_free(block);
    }
}

START_TEST(empty_heap_has_no_first)
{
    bly_heap heap;
    bly_heap_init(&heap, offsetof(item, place));
    ck_assert_uint_eq(bly_heap_count(&heap), 0);
    ck_assert_ptr_null(bly_heap_first(&heap));
    ck_assert_ptr_null(bly_heap_pop(&heap));
    bly_heap_destroy(&heap);
}
END_TEST

START_TEST(pops_come_in_the_order_of_keys)
{
    static item items[ITEMS];
    bly_heap heap;
    bly_heap_init(&heap, offsetof(item, place));
    for (uint32_t i = 0; i < ITEMS; i++) {
        push(&heap, &items[i], some_key(i));
    }
    ck_assert(bly_heap_is_sound(&heap));
    ck_assert_uint_eq(bly_heap_count(&heap), ITEMS);
    item *last = bly_heap_pop(&heap);
    for (int i = 1; i < ITEMS; i++) {
        item *next = bly_heap_pop(&heap);
        ck_assert_int_lt(compare(&last->key, &next->key), 0);
        ck_assert_uint_eq(last->place, 0);
        last = next;
    }
    ck_assert_ptr_null(bly_heap_pop(&heap));
    bly_heap_destroy(&heap);
}
END_TEST

START_TEST(equal_but_for_the_last_word_pops_by_the_last_word)
{
    static item items[ITEMS];
    bly_heap heap;
    bly_heap_init(&heap, offsetof(item, place));
    for (uint32_t i = 0; i < ITEMS; i++) {
        push(&heap, &items[i], (bly_heap_key){7, UINT64_MAX, i});
    }
    for (uint32_t i = 0; i < ITEMS; i++) {
        ck_assert_ptr_eq(bly_heap_pop(&heap), &items[i]);
    }
    bly_heap_destroy(&heap);
}
END_TEST

/* One random step on the heap and on the items, which are the model. */
static void random_step(bly_heap *heap, item *items, uint64_t serial)
{
    item *element = &items[next_random() % 200];
    if (element->place == 0) {
        push(heap, element, some_key(serial));
    } else {
        bly_heap_remove(heap, element);
        ck_assert_uint_eq(element->place, 0);
    }
}

START_TEST(random_history_agrees_with_the_model)
{
    static item items[200];
    bly_heap heap;
    bly_heap_init(&heap, offsetof(item, place));
    for (uint64_t serial = 0; serial < 20000; serial++) {
        random_step(&heap, items, serial);
        ck_assert(bly_heap_is_sound(&heap));
        item *first = model_first(items, 200);
        ck_assert_ptr_eq(bly_heap_first(&heap), first);
        if (first != NULL) {
            bly_heap_key key = bly_heap_key_of(&heap, first);
            ck_assert_int_eq(compare(&key, &first->key), 0);
        }
        if (next_random() % 4 == 0) {
            ck_assert_ptr_eq(bly_heap_pop(&heap), first);
        }
    }
    while (bly_heap_pop(&heap) != NULL) {
    }
    bly_heap_destroy(&heap);
}
END_TEST

START_TEST(memory_goes_back_after_a_burst)
{
    static item items[ITEMS];
    bly_heap heap;
    bly_heap_init(&heap, offsetof(item, place));
    for (uint32_t i = 0; i < ITEMS; i++) {
        push(&heap, &items[i], some_key(i));
    }
    ck_assert_uint_ge(bly_chunks_capacity(&heap.slots), ITEMS);
    for (uint32_t i = 0; i < ITEMS - 10; i++) {
        bly_heap_remove(&heap, &items[i]);
        free_spare(&heap);
    }
    ck_assert_uint_eq(bly_chunks_capacity(&heap.slots), BLY_CHUNKS_FIRST);
    ck_assert(bly_heap_is_sound(&heap));
    while (bly_heap_pop(&heap) != NULL) {
    }
    bly_heap_destroy(&heap);
}
END_TEST

START_TEST(counting_until_a_key_agrees_with_the_model)
{
    static item items[ITEMS];
    bly_heap heap;
    bly_heap_init(&heap, offsetof(item, place));
    for (uint32_t used = 0; used < ITEMS; used++) {
        if (used % 97 < 5) {
            bly_heap_key last = some_key(next_random() % ITEMS);
            uint32_t count = 0;
            for (uint32_t i = 0; i < used; i++) {
                count += compare(&items[i].key, &last) <= 0;
            }
            ck_assert_uint_eq(bly_heap_count_until(&heap, last, UINT32_MAX), count);
            uint32_t max = count / 2;
            ck_assert_uint_eq(bly_heap_count_until(&heap, last, max), max);
        }
        push(&heap, &items[used], some_key(used));
    }
    while (bly_heap_pop(&heap) != NULL) {
    }
    bly_heap_destroy(&heap);
}
END_TEST

START_TEST(order_of_signed_numbers_is_kept)
{
    static const int64_t numbers[] = {INT64_MIN, INT64_MIN + 1, -1, 0, 1, INT64_MAX};
    for (size_t i = 1; i < bly_count(numbers); i++) {
        ck_assert_uint_lt(bly_heap_order(numbers[i - 1]), bly_heap_order(numbers[i]));
    }
}
END_TEST

static void push_twice(void)
{
    bly_heap heap;
    item element = {0};
    bly_heap_init(&heap, offsetof(item, place));
    push(&heap, &element, some_key(1));
    push(&heap, &element, some_key(2));
}

static void push_without_room(void)
{
    bly_heap heap;
    item element = {0};
    bly_heap_init(&heap, offsetof(item, place));
    bly_heap_push(&heap, &element, some_key(1));
}

static void remove_what_is_not_there(void)
{
    bly_heap heap;
    item element = {0};
    bly_heap_init(&heap, offsetof(item, place));
    bly_heap_remove(&heap, &element);
}

START_TEST(misuse_aborts)
{
    ck_assert_aborts(push_twice, "*place_of(heap, element) == 0");
    ck_assert_aborts(push_without_room, "heap->slots.used < bly_chunks_capacity(&heap->slots)");
    ck_assert_aborts(remove_what_is_not_there, "place >= ROOT && place < heap->slots.used");
}
END_TEST

UNIT_MAIN("base/heap", empty_heap_has_no_first, pops_come_in_the_order_of_keys,
          equal_but_for_the_last_word_pops_by_the_last_word, random_history_agrees_with_the_model,
          memory_goes_back_after_a_burst, counting_until_a_key_agrees_with_the_model,
          order_of_signed_numbers_is_kept, misuse_aborts)
