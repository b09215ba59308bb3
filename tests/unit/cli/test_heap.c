/* The priority queue of pointers. */
#include "unit.h"

#include "cli/heap.h"

static bool is_less(const void *a, const void *b)
{
    return *(const int *)a < *(const int *)b;
}

START_TEST(items_come_out_in_order)
{
    enum { COUNT = 500 };
    static int numbers[COUNT];
    struct bly_heap heap = {.is_before = is_less};
    for (int i = 0; i < COUNT; i++) {
        numbers[i] = i * 7919 % COUNT;
        bly_heap_push(&heap, &numbers[i]);
    }
    for (int i = 0; i < COUNT; i++) {
        ck_assert_int_eq(*(int *)bly_heap_first(&heap), i);
        ck_assert_int_eq(*(int *)bly_heap_pop(&heap), i);
    }
    ck_assert_ptr_null(bly_heap_first(&heap));
    ck_assert_ptr_null(bly_heap_pop(&heap));
    bly_heap_free(&heap);
}
END_TEST

START_TEST(pushes_and_pops_mix)
{
    int numbers[] = {5, 3, 9, 1};
    struct bly_heap heap = {.is_before = is_less};
    bly_heap_push(&heap, &numbers[0]);
    bly_heap_push(&heap, &numbers[1]);
    ck_assert_int_eq(*(int *)bly_heap_pop(&heap), 3);
    bly_heap_push(&heap, &numbers[2]);
    bly_heap_push(&heap, &numbers[3]);
    ck_assert_int_eq(*(int *)bly_heap_pop(&heap), 1);
    ck_assert_int_eq(*(int *)bly_heap_pop(&heap), 5);
    ck_assert_uint_eq(heap.count, 1);
    bly_heap_free(&heap);
    ck_assert_uint_eq(heap.count, 0);
}
END_TEST

UNIT_MAIN("cli/heap", items_come_out_in_order, pushes_and_pops_mix)
