/*
 * test_chunks.c: the array that grows without moving.
 */
#include "aborts.h"
#include "unit.h"

#include "base/chunks.h"

#include "belay/base.h"

#define COUNT 5000u

static bly_chunks chunks;

static void use(uint32_t count)
{
    bly_chunks_init(&chunks, sizeof(uint32_t));
    ck_assert_int_eq(bly_chunks_reserve(&chunks, count), 0);
    chunks.used = count;
}

START_TEST(elements_are_distinct_and_stay_where_they_are)
{
    static uint32_t *places[COUNT];
    bly_chunks_init(&chunks, sizeof(uint32_t));
    for (uint32_t i = 0; i < COUNT; i++) {
        ck_assert_int_eq(bly_chunks_reserve(&chunks, 1), 0);
        chunks.used++;
        places[i] = bly_chunks_at(&chunks, i);
        ck_assert_uint_eq(*places[i], 0);
        *places[i] = i;
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        ck_assert_ptr_eq(bly_chunks_at(&chunks, i), places[i]);
        ck_assert_uint_eq(*places[i], i);
    }
    bly_chunks_destroy(&chunks);
}
END_TEST

START_TEST(aligned_groups_are_neighbours)
{
    use(COUNT);
    for (uint32_t i = 0; i + 4 <= COUNT; i += 4) {
        uint32_t *first = bly_chunks_at(&chunks, i);
        ck_assert_ptr_eq(bly_chunks_at(&chunks, i + 3), first + 3);
    }
    bly_chunks_destroy(&chunks);
}
END_TEST

START_TEST(want_is_zero_while_there_is_room)
{
    bly_chunks_init(&chunks, sizeof(uint32_t));
    ck_assert_uint_eq(bly_chunks_want(&chunks, 0), 0);
    ck_assert_uint_eq(bly_chunks_want(&chunks, 1), BLY_CHUNKS_FIRST * sizeof(uint32_t));
    use(BLY_CHUNKS_FIRST - 1);
    ck_assert_uint_eq(bly_chunks_want(&chunks, 1), 0);
    ck_assert_uint_eq(bly_chunks_want(&chunks, 2), 2 * BLY_CHUNKS_FIRST * sizeof(uint32_t));
    bly_chunks_destroy(&chunks);
}
END_TEST

START_TEST(want_at_the_bound_cannot_be_satisfied)
{
    bly_chunks_init(&chunks, 1);
    chunks.chunk_count = BLY_CHUNKS_MAX;
    ck_assert_uint_eq(bly_chunks_capacity(&chunks), (UINT32_C(1) << 31) - BLY_CHUNKS_FIRST);
    ck_assert_uint_eq(bly_chunks_want(&chunks, UINT32_C(1) << 31), SIZE_MAX);
    ck_assert_uint_eq(bly_chunks_want(&chunks, UINT32_MAX), SIZE_MAX);
}
END_TEST

START_TEST(late_block_is_not_taken)
{
    bly_chunks_init(&chunks, sizeof(uint32_t));
    size_t size = bly_chunks_want(&chunks, 1);
    void *first = bly_alloc(size);
    void *second = bly_alloc(size);
    ck_assert(bly_chunks_give(&chunks, first, size));
    ck_assert(!bly_chunks_give(&chunks, second, size));
    bly_free(second);
    ck_assert_uint_eq(bly_chunks_capacity(&chunks), BLY_CHUNKS_FIRST);
    bly_chunks_destroy(&chunks);
}
END_TEST

START_TEST(spare_keeps_room_for_twice_what_is_used)
{
    use(COUNT);
    ck_assert_ptr_null(bly_chunks_spare(&chunks));
    while (chunks.used > 0) {
        chunks.used--;
        bly_free(bly_chunks_spare(&chunks));
        ck_assert_uint_ge(bly_chunks_capacity(&chunks), chunks.used);
        ck_assert_uint_le(bly_chunks_capacity(&chunks), 4 * chunks.used + BLY_CHUNKS_FIRST);
        ck_assert_ptr_null(bly_chunks_spare(&chunks));
    }
    ck_assert_uint_eq(bly_chunks_capacity(&chunks), BLY_CHUNKS_FIRST);
    bly_chunks_destroy(&chunks);
}
END_TEST

START_TEST(spare_then_insert_needs_no_memory)
{
    use(COUNT);
    void *block;
    chunks.used = 700;
    while ((block = bly_chunks_spare(&chunks)) != NULL) {
        bly_free(block);
    }
    ck_assert_uint_eq(bly_chunks_want(&chunks, 700), 0);
    bly_chunks_destroy(&chunks);
}
END_TEST

static void *refused_alloc(size_t size)
{
    (void)size;
    return NULL;
}

static void *(*alloc_of_test)(size_t size);

void *__real_bly_alloc(size_t size);
void *__wrap_bly_alloc(size_t size);

void *__wrap_bly_alloc(size_t size)
{
    return alloc_of_test != NULL ? alloc_of_test(size) : __real_bly_alloc(size);
}

START_TEST(reserve_without_memory_changes_no_element)
{
    use(20);
    alloc_of_test = refused_alloc;
    ck_assert_int_eq(bly_chunks_reserve(&chunks, 100), BELAY_ENOMEM);
    alloc_of_test = NULL;
    ck_assert_uint_eq(chunks.used, 20);
    ck_assert_uint_eq(bly_chunks_capacity(&chunks), BLY_CHUNKS_FIRST);
    ck_assert_int_eq(bly_chunks_reserve(&chunks, 100), 0);
    bly_chunks_destroy(&chunks);
}
END_TEST

static void init_with_nothing(void)
{
    bly_chunks_init(&chunks, 0);
}

START_TEST(element_of_no_size_aborts)
{
    ck_assert_aborts(init_with_nothing, "element_size != 0");
}
END_TEST

UNIT_MAIN("base/chunks", elements_are_distinct_and_stay_where_they_are,
          aligned_groups_are_neighbours, want_is_zero_while_there_is_room,
          want_at_the_bound_cannot_be_satisfied, late_block_is_not_taken,
          spare_keeps_room_for_twice_what_is_used, spare_then_insert_needs_no_memory,
          reserve_without_memory_changes_no_element, element_of_no_size_aborts)
