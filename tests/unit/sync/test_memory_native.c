/*
 * test_memory_native.c: allocation, its failures, and the abort.
 */
#include "aborts.h"
#include "unit.h"

#include "sync/sync.h"

static bool is_memory_out;

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void *__wrap_realloc(void *block, size_t size);
void *__real_aligned_alloc(size_t align, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t size);

void *__wrap_calloc(size_t count, size_t size)
{
    return is_memory_out ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *block, size_t size)
{
    return is_memory_out ? NULL : __real_realloc(block, size);
}

void *__wrap_aligned_alloc(size_t align, size_t size)
{
    return is_memory_out ? NULL : __real_aligned_alloc(align, size);
}

static void dirty(unsigned char *block, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        ck_assert_uint_eq(block[i], 0);
        block[i] = 0xa5;
    }
}

START_TEST(alloc_gives_zeroed_memory_again_and_again)
{
    for (int round = 0; round < 20; round++) {
        unsigned char *block = bly_alloc(200);
        dirty(block, 200);
        bly_free(block);
    }
}
END_TEST

START_TEST(alloc_of_nothing_gives_a_block)
{
    void *block = bly_alloc(0);
    ck_assert_ptr_nonnull(block);
    bly_free(block);
    bly_free(NULL);
}
END_TEST

START_TEST(aligned_alloc_is_aligned_and_zeroed)
{
    for (size_t align = 1; align <= 4096; align *= 2) {
        for (size_t size = 0; size <= 300; size += 100) {
            unsigned char *block = bly_alloc_aligned(align, size);
            ck_assert_uint_eq((uintptr_t)block % align, 0);
            dirty(block, size);
            bly_free(block);
        }
    }
}
END_TEST

START_TEST(aligned_alloc_of_too_much_gives_null)
{
    ck_assert_ptr_null(bly_alloc_aligned(64, SIZE_MAX - 10));
}
END_TEST

START_TEST(realloc_keeps_the_bytes)
{
    unsigned char *block = bly_alloc(10);
    memset(block, 7, 10);
    block = bly_realloc(block, 10000);
    for (size_t i = 0; i < 10; i++) {
        ck_assert_uint_eq(block[i], 7);
    }
    bly_free(block);
}
END_TEST

START_TEST(memory_that_is_out_gives_null)
{
    void *block = bly_alloc(10);
    is_memory_out = true;
    ck_assert_ptr_null(bly_alloc(10));
    ck_assert_ptr_null(bly_alloc_aligned(64, 10));
    ck_assert_ptr_null(bly_realloc(block, 20));
    is_memory_out = false;
    bly_free(block);
}
END_TEST

static void abort_at_length(void)
{
    char invariant[2000];
    memset(invariant, 'x', sizeof invariant);
    invariant[sizeof invariant - 1] = '\0';
    bly_abort(invariant, "file.c", 7);
}

static void abort_shortly(void)
{
    bly_abort("permits are conserved", "file.c", 7);
}

static void align_to_three(void)
{
    (void)bly_alloc_aligned(3, 10);
}

static void alloc_under_a_lock(void)
{
    static bly_mutex lock;
    bly_mutex_lock(&lock);
    bly_free(bly_alloc(10));
}

START_TEST(abort_says_what_broke_and_where)
{
    ck_assert_aborts(abort_shortly, "belay: broken invariant: permits are conserved (file.c:7)\n");
    ck_assert_aborts(abort_at_length, "belay: broken invariant: xxxxxxxx");
    ck_assert_aborts(align_to_three, "(align & (align - 1)) == 0");
}
END_TEST

START_TEST(allocating_under_a_lock_aborts_in_debug_builds)
{
    if (BELAY_DEBUG) {
        ck_assert_aborts(alloc_under_a_lock, "bly_locks_held() == 0");
    } else {
        alloc_under_a_lock();
    }
}
END_TEST

UNIT_MAIN("sync/memory_native", alloc_gives_zeroed_memory_again_and_again,
          alloc_of_nothing_gives_a_block, aligned_alloc_is_aligned_and_zeroed,
          aligned_alloc_of_too_much_gives_null, realloc_keeps_the_bytes,
          memory_that_is_out_gives_null, abort_says_what_broke_and_where,
          allocating_under_a_lock_aborts_in_debug_builds)
