/*
 * test_list.c: the intrusive list.
 */
#include "aborts.h"
#include "unit.h"

#include "base/list.h"

#include <stdarg.h>

typedef struct item {
    int number;
    bly_list link;
} item;

static int number_of(const bly_list *link)
{
    return link == NULL ? -1 : bly_container(link, const item, link)->number;
}

/* Checks that the list holds exactly these numbers, up to a -1, from both ends. */
static void expect(const bly_list *list, ...)
{
    va_list wanted;
    va_start(wanted, list);
    int last = -1;
    bly_list_each (link, list) {
        last = va_arg(wanted, int);
        ck_assert_int_eq(number_of(link), last);
        ck_assert_ptr_eq(link->next->prev, link);
    }
    ck_assert_int_eq(va_arg(wanted, int), -1);
    ck_assert_int_eq(number_of(bly_list_last(list)), last);
    va_end(wanted);
}

static bly_list list;
static item items[5];

static void start(void)
{
    bly_list_init(&list);
    for (int i = 0; i < 5; i++) {
        items[i] = (item){.number = i};
    }
}

START_TEST(new_list_is_empty)
{
    start();
    ck_assert(bly_list_is_empty(&list));
    ck_assert_ptr_null(bly_list_first(&list));
    ck_assert_ptr_null(bly_list_last(&list));
    ck_assert_ptr_null(bly_list_pop_front(&list));
    expect(&list, -1);
}
END_TEST

START_TEST(push_at_both_ends_keeps_the_order)
{
    start();
    bly_list_push_back(&list, &items[1].link);
    bly_list_push_back(&list, &items[2].link);
    bly_list_push_front(&list, &items[0].link);
    expect(&list, 0, 1, 2, -1);
    ck_assert_ptr_eq(bly_list_first(&list), &items[0].link);
}
END_TEST

START_TEST(insert_before_goes_between)
{
    start();
    bly_list_push_back(&list, &items[0].link);
    bly_list_push_back(&list, &items[2].link);
    bly_list_insert_before(&items[2].link, &items[1].link);
    expect(&list, 0, 1, 2, -1);
}
END_TEST

START_TEST(remove_unlinks_head_middle_and_tail)
{
    start();
    for (int i = 0; i < 5; i++) {
        bly_list_push_back(&list, &items[i].link);
        ck_assert(bly_list_is_linked(&items[i].link));
    }
    bly_list_remove(&items[0].link);
    bly_list_remove(&items[2].link);
    bly_list_remove(&items[4].link);
    expect(&list, 1, 3, -1);
    ck_assert(!bly_list_is_linked(&items[2].link));
    bly_list_push_front(&list, &items[2].link);
    expect(&list, 2, 1, 3, -1);
}
END_TEST

START_TEST(pop_front_takes_the_first)
{
    start();
    bly_list_push_back(&list, &items[3].link);
    bly_list_push_back(&list, &items[4].link);
    ck_assert_int_eq(number_of(bly_list_pop_front(&list)), 3);
    ck_assert_int_eq(number_of(bly_list_pop_front(&list)), 4);
    ck_assert(bly_list_is_empty(&list));
}
END_TEST

START_TEST(next_ends_with_null)
{
    start();
    bly_list_push_back(&list, &items[0].link);
    bly_list_push_back(&list, &items[1].link);
    ck_assert_ptr_eq(bly_list_next(&list, &items[0].link), &items[1].link);
    ck_assert_ptr_null(bly_list_next(&list, &items[1].link));
}
END_TEST

START_TEST(append_moves_everything_behind)
{
    bly_list other;
    start();
    bly_list_init(&other);
    bly_list_append(&list, &other);
    expect(&list, -1);
    bly_list_push_back(&other, &items[1].link);
    bly_list_push_back(&other, &items[2].link);
    bly_list_append(&list, &other);
    expect(&list, 1, 2, -1);
    expect(&other, -1);
    bly_list_push_back(&other, &items[3].link);
    bly_list_append(&list, &other);
    expect(&list, 1, 2, 3, -1);
}
END_TEST

START_TEST(safe_walk_allows_removal)
{
    start();
    for (int i = 0; i < 5; i++) {
        bly_list_push_back(&list, &items[i].link);
    }
    bly_list_each_safe (link, after, &list) {
        if (number_of(link) % 2 == 0) {
            bly_list_remove(link);
        }
    }
    expect(&list, 1, 3, -1);
}
END_TEST

static void remove_twice(void)
{
    start();
    bly_list_push_back(&list, &items[0].link);
    bly_list_remove(&items[0].link);
    bly_list_remove(&items[0].link);
}

START_TEST(removing_twice_aborts)
{
    ck_assert_aborts(remove_twice, "bly_list_is_linked(node)");
}
END_TEST

UNIT_MAIN("base/list", new_list_is_empty, push_at_both_ends_keeps_the_order,
          insert_before_goes_between, remove_unlinks_head_middle_and_tail,
          pop_front_takes_the_first, next_ends_with_null, append_moves_everything_behind,
          safe_walk_allows_removal, removing_twice_aborts)
