/* test_buf.c: bytes come out as they went in, wherever the buffer moves them. */
#include "proc/buf_int.h"
#include "unit.h"

#include <string.h>

static void add(bly_buf *buf, const char *bytes, size_t size)
{
    ck_assert_int_eq(bly_buf_room(buf, size), 0);
    memcpy(buf->bytes + buf->end, bytes, size);
    buf->end += size;
}

START_TEST(bytes_come_out_in_order)
{
    bly_buf buf = {0};
    add(&buf, "abc", 3);
    add(&buf, "def", 3);
    bly_buf_take(&buf, 2);
    ck_assert_uint_eq(bly_buf_used(&buf), 4);
    ck_assert_mem_eq(bly_buf_first(&buf), "cdef", 4);
    bly_buf_free(&buf);
    ck_assert_uint_eq(bly_buf_used(&buf), 0);
}
END_TEST

START_TEST(a_buffer_used_like_a_queue_does_not_grow)
{
    bly_buf buf = {0};
    add(&buf, "12345678", 8);
    size_t capacity = buf.capacity;
    for (int i = 0; i < 100000; i++) {
        add(&buf, "12345678", 8);
        ck_assert_mem_eq(bly_buf_first(&buf), "12345678", 8);
        bly_buf_take(&buf, 8);
    }
    ck_assert_uint_eq(buf.capacity, capacity);
    bly_buf_free(&buf);
}
END_TEST

START_TEST(an_emptied_big_buffer_gives_its_memory_back)
{
    bly_buf buf = {0};
    ck_assert_int_eq(bly_buf_room(&buf, (size_t)4 << 20), 0);
    buf.end += (size_t)4 << 20;
    bly_buf_take(&buf, (size_t)4 << 20);
    ck_assert_uint_eq(buf.capacity, 0);
    add(&buf, "x", 1);
    ck_assert_mem_eq(bly_buf_first(&buf), "x", 1);
    bly_buf_free(&buf);
}
END_TEST

START_TEST(more_than_memory_is_refused_and_changes_nothing)
{
    bly_buf buf = {0};
    add(&buf, "abc", 3);
    ck_assert_int_eq(bly_buf_room(&buf, SIZE_MAX / 2), BELAY_ENOMEM);
    ck_assert_int_eq(bly_buf_room(&buf, SIZE_MAX - 8), BELAY_ENOMEM);
    ck_assert_mem_eq(bly_buf_first(&buf), "abc", 3);
    bly_buf_free(&buf);
}
END_TEST

UNIT_MAIN("proc/buf", bytes_come_out_in_order, a_buffer_used_like_a_queue_does_not_grow,
          an_emptied_big_buffer_gives_its_memory_back,
          more_than_memory_is_refused_and_changes_nothing)
