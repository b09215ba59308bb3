/*
 * test_grow.c: room under a lock, while another thread takes the same room.
 */
#include "unit.h"

#include "sync/grow.h"

#define ROUNDS  5000
#define THREADS 2

static bly_mutex lock;
static bly_chunks chunks;
static bool is_memory_out;
static bool has_rival;

void *__real_bly_alloc(size_t size);
void *__wrap_bly_alloc(size_t size);

/* Stands for another thread that grows the array while the lock is free. */
static void grow_as_rival(void)
{
    has_rival = false;
    bly_mutex_lock(&lock);
    ck_assert_int_eq(bly_chunks_grow(&chunks, 1, &lock), 0);
    bly_mutex_unlock(&lock);
}

void *__wrap_bly_alloc(size_t size)
{
    if (has_rival) {
        grow_as_rival();
    }
    return is_memory_out ? NULL : __real_bly_alloc(size);
}

START_TEST(growing_gives_room_and_keeps_the_lock)
{
    bly_chunks_init(&chunks, 8);
    bly_mutex_lock(&lock);
    ck_assert_int_eq(bly_chunks_grow(&chunks, 100, &lock), 0);
    ck_assert(bly_mutex_is_mine(&lock));
    ck_assert_uint_ge(bly_chunks_capacity(&chunks), 100);
    bly_mutex_unlock(&lock);
    bly_chunks_destroy(&chunks);
}
END_TEST

START_TEST(block_that_came_too_late_is_freed)
{
    bly_chunks_init(&chunks, 8);
    has_rival = true;
    bly_mutex_lock(&lock);
    ck_assert_int_eq(bly_chunks_grow(&chunks, 1, &lock), 0);
    bly_mutex_unlock(&lock);
    ck_assert_uint_eq(bly_chunks_capacity(&chunks), BLY_CHUNKS_FIRST);
    bly_chunks_destroy(&chunks);
}
END_TEST

START_TEST(no_memory_is_said_with_the_lock_held)
{
    bly_chunks_init(&chunks, 8);
    is_memory_out = true;
    bly_mutex_lock(&lock);
    ck_assert_int_eq(bly_chunks_grow(&chunks, 1, &lock), BELAY_ENOMEM);
    ck_assert(bly_mutex_is_mine(&lock));
    bly_mutex_unlock(&lock);
    ck_assert_uint_eq(bly_chunks_capacity(&chunks), 0);
}
END_TEST

static void add_many(void *arg)
{
    (void)arg;
    for (int i = 0; i < ROUNDS; i++) {
        bly_mutex_lock(&lock);
        ck_assert_int_eq(bly_chunks_grow(&chunks, 1, &lock), 0);
        uint64_t *element = bly_chunks_at(&chunks, chunks.used++);
        ck_assert_uint_eq(*element, 0);
        *element = chunks.used;
        bly_mutex_unlock(&lock);
    }
}

START_TEST(threads_that_grow_together_lose_nothing)
{
    bly_thread threads[THREADS];
    bly_chunks_init(&chunks, sizeof(uint64_t));
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(bly_thread_create(&threads[i], NULL, add_many, NULL), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        bly_thread_join(&threads[i]);
    }
    ck_assert_uint_eq(chunks.used, THREADS * ROUNDS);
    for (uint32_t i = 0; i < chunks.used; i++) {
        ck_assert_uint_eq(*(uint64_t *)bly_chunks_at(&chunks, i), i + 1);
    }
    bly_chunks_destroy(&chunks);
}
END_TEST

UNIT_MAIN("sync/grow", growing_gives_room_and_keeps_the_lock, block_that_came_too_late_is_freed,
          no_memory_is_said_with_the_lock_held, threads_that_grow_together_lose_nothing)
