/* The priority queue of pointers. */
#include "unit.h"

#include "cli/pile.h"

static bool is_less(const void *a, const void *b)
{
    return *(const int *)a < *(const int *)b;
}

START_TEST(items_come_out_in_order)
{
    enum { COUNT = 500 };
    static int numbers[COUNT];
    struct bly_pile pile = {.is_before = is_less};
    for (int i = 0; i < COUNT; i++) {
        numbers[i] = i * 7919 % COUNT;
        bly_pile_push(&pile, &numbers[i]);
    }
    for (int i = 0; i < COUNT; i++) {
        ck_assert_int_eq(*(int *)bly_pile_first(&pile), i);
        ck_assert_int_eq(*(int *)bly_pile_pop(&pile), i);
    }
    ck_assert_ptr_null(bly_pile_first(&pile));
    ck_assert_ptr_null(bly_pile_pop(&pile));
    bly_pile_free(&pile);
}
END_TEST

START_TEST(pushes_and_pops_mix)
{
    int numbers[] = {5, 3, 9, 1};
    struct bly_pile pile = {.is_before = is_less};
    bly_pile_push(&pile, &numbers[0]);
    bly_pile_push(&pile, &numbers[1]);
    ck_assert_int_eq(*(int *)bly_pile_pop(&pile), 3);
    bly_pile_push(&pile, &numbers[2]);
    bly_pile_push(&pile, &numbers[3]);
    ck_assert_int_eq(*(int *)bly_pile_pop(&pile), 1);
    ck_assert_int_eq(*(int *)bly_pile_pop(&pile), 5);
    ck_assert_uint_eq(pile.count, 1);
    bly_pile_free(&pile);
    ck_assert_uint_eq(pile.count, 0);
}
END_TEST

UNIT_MAIN("cli/pile", items_come_out_in_order, pushes_and_pops_mix)
