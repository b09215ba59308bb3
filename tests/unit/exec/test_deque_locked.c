/*
 * test_deque_locked.c: the contract of every deque (exec/deque.h), on the locked one.
 */
#include "fault.h"
#include "pool.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#define MANY 1000

static const bly_deque_kind *const kind = &bly_deque_locked;

static bly_deque *deque_at(uint64_t first_index)
{
    bly_deque *deque = kind->create(first_index);
    ck_assert_ptr_nonnull(deque);
    return deque;
}

static void push_all(bly_deque *deque, belay_task *tasks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ck_assert(kind->push(deque, &tasks[i]));
    }
}

START_TEST(the_owner_takes_the_newest_first)
{
    belay_task tasks[3] = {{0}};
    bly_deque *deque = deque_at(0);
    push_all(deque, tasks, 3);
    ck_assert_uint_eq(kind->size(deque), 3);
    ck_assert_ptr_eq(kind->pop(deque, 0), &tasks[2]);
    ck_assert_ptr_eq(kind->pop(deque, 0), &tasks[1]);
    ck_assert_ptr_eq(kind->pop(deque, 0), &tasks[0]);
    ck_assert_ptr_null(kind->pop(deque, 0));
    ck_assert_uint_eq(kind->size(deque), 0);
    kind->destroy(deque);
}
END_TEST

START_TEST(a_thief_takes_the_oldest_first)
{
    belay_task tasks[3] = {{0}};
    belay_task *stolen[BLY_STEAL_MAX];
    bly_deque *deque = deque_at(0);
    push_all(deque, tasks, 3);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_uint_eq(kind->steal(deque, stolen, BLY_STEAL_MAX), 1);
        ck_assert_ptr_eq(stolen[0], &tasks[i]);
    }
    ck_assert_uint_eq(kind->steal(deque, stolen, BLY_STEAL_MAX), 0);
    kind->destroy(deque);
}
END_TEST

START_TEST(a_thief_takes_half_but_at_most_eight_and_one_of_fewer_than_four)
{
    static const uint32_t expected[][2] = {{0, 0}, {1, 1},  {2, 1},  {3, 1},  {4, 2},   {5, 2},
                                           {7, 3}, {15, 7}, {16, 8}, {17, 8}, {1000, 8}};
    for (size_t i = 0; i < bly_count(expected); i++) {
        ck_assert_uint_eq(bly_steal_count(expected[i][0], BLY_STEAL_MAX), expected[i][1]);
        ck_assert_uint_le(bly_steal_count(expected[i][0], 1), 1);
    }
}
END_TEST

START_TEST(the_owner_takes_the_oldest_when_it_asks_for_it)
{
    belay_task tasks[9] = {{0}};
    bly_deque *deque = deque_at(0);
    push_all(deque, tasks, 9);
    ck_assert_ptr_eq(kind->pop_oldest(deque), &tasks[0]);
    ck_assert_ptr_eq(kind->pop_oldest(deque), &tasks[1]);
    for (size_t i = 8; i >= 2; i--) {
        ck_assert_ptr_eq(kind->pop(deque, 0), &tasks[i]);
    }
    ck_assert_ptr_null(kind->pop_oldest(deque));
    kind->destroy(deque);
}
END_TEST

START_TEST(a_mark_hides_what_was_pushed_before_it)
{
    belay_task tasks[4] = {{0}};
    bly_deque *deque = deque_at(0);
    push_all(deque, tasks, 2);
    uint64_t mark = kind->mark(deque);
    push_all(deque, tasks + 2, 2);
    ck_assert_ptr_eq(kind->pop(deque, mark), &tasks[3]);
    ck_assert_ptr_eq(kind->pop(deque, mark), &tasks[2]);
    ck_assert_ptr_null(kind->pop(deque, mark));
    ck_assert_ptr_eq(kind->pop(deque, 0), &tasks[1]);
    ck_assert_ptr_null(kind->pop(deque, mark));
    ck_assert_ptr_eq(kind->pop(deque, 0), &tasks[0]);
    kind->destroy(deque);
}
END_TEST

/* Random pushes, pops and steals beside an array that does the same. */
static void compare_with_an_array(uint64_t first_index, uint64_t seed)
{
    static belay_task tasks[MANY];
    belay_task *model[MANY];
    memset(tasks, 0, sizeof tasks);
    size_t oldest = 0;
    size_t newest = 0;
    bly_deque *deque = deque_at(first_index);
    for (size_t pushed = 0; pushed < MANY || oldest != newest;) {
        uint64_t choice = bly_random(&seed) % 8;
        if (choice < 4 && pushed < MANY) {
            ck_assert(kind->push(deque, &tasks[pushed]));
            model[newest++] = &tasks[pushed++];
        } else if (choice < 6) {
            belay_task *expected = oldest != newest ? model[--newest] : NULL;
            ck_assert_ptr_eq(kind->pop(deque, first_index), expected);
        } else {
            belay_task *stolen[BLY_STEAL_MAX];
            uint32_t count = kind->steal(deque, stolen, BLY_STEAL_MAX);
            ck_assert_uint_eq(count, bly_steal_count(newest - oldest, BLY_STEAL_MAX));
            for (uint32_t i = 0; i < count; i++) {
                ck_assert_ptr_eq(stolen[i], model[oldest++]);
            }
        }
        ck_assert_uint_eq(kind->size(deque), newest - oldest);
    }
    kind->destroy(deque);
}

START_TEST(it_behaves_as_an_array_over_random_histories)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        compare_with_an_array(0, seed);
    }
}
END_TEST

START_TEST(indices_near_their_wrap_change_nothing)
{
    static const uint64_t starts[] = {UINT32_MAX - UINT64_C(2), (uint64_t)INT64_MAX - 2,
                                      UINT64_MAX - 2, UINT64_MAX - 700};
    for (size_t i = 0; i < bly_count(starts); i++) {
        compare_with_an_array(starts[i], i + 1);
    }
}
END_TEST

START_TEST(it_grows_and_goes_back_to_its_first_size)
{
    static belay_task tasks[MANY];
    bly_deque *deque = deque_at(0);
    for (int round = 0; round < 3; round++) {
        push_all(deque, tasks, MANY);
        kind->trim(deque); /* is not empty: nothing happens */
        for (size_t i = MANY; i-- > 0;) {
            ck_assert_ptr_eq(kind->pop(deque, 0), &tasks[i]);
        }
        kind->trim(deque);
    }
    kind->destroy(deque);
}
END_TEST

START_TEST(it_allocates_nothing_for_sixty_four_tasks_and_none_after_a_trim)
{
    static belay_task tasks[65];
    bly_deque *deque = deque_at(0);
    fault_alloc_from(1);
    push_all(deque, tasks, 64);
    ck_assert(!kind->push(deque, &tasks[64]));
    ck_assert(!kind->reserve(deque, 1));
    (void)fault_alloc_stop();
    ck_assert(kind->push(deque, &tasks[64]));
    for (size_t i = 65; i-- > 0;) {
        ck_assert_ptr_eq(kind->pop(deque, 0), &tasks[i]);
    }
    fault_alloc_from(1);
    kind->trim(deque);
    push_all(deque, tasks, 64);
    (void)fault_alloc_stop();
    while (kind->pop(deque, 0) != NULL) {
    }
    kind->destroy(deque);
}
END_TEST

START_TEST(what_was_reserved_can_be_pushed_without_memory)
{
    static belay_task tasks[200];
    bly_deque *deque = deque_at(0);
    push_all(deque, tasks, 60);
    ck_assert(kind->reserve(deque, 140));
    fault_alloc_from(1);
    push_all(deque, tasks + 60, 140);
    (void)fault_alloc_stop();
    ck_assert_uint_eq(kind->size(deque), 200);
    while (kind->pop(deque, 0) != NULL) {
    }
    kind->destroy(deque);
}
END_TEST

/* --- An owner and thieves at once. --- */

typedef struct token {
    belay_task task;
    uint32_t taken; /* atomic */
} token;

typedef struct robbery {
    bly_deque *deque;
    event done;
} robbery;

static void take_token(belay_task *task)
{
    bly_fetch_add(&bly_container(task, token, task)->taken, 1u, BLY_RELAXED);
}

static void rob(void *arg)
{
    robbery *shared = arg;
    belay_task *stolen[BLY_STEAL_MAX];
    while (event_value(&shared->done) == 0 || kind->size(shared->deque) != 0) {
        uint32_t count = kind->steal(shared->deque, stolen, BLY_STEAL_MAX);
        for (uint32_t i = 0; i < count; i++) {
            take_token(stolen[i]);
        }
        bly_pause();
    }
}

/* The owner pushes `burst` tokens and takes `burst` back, over and over, while others steal. */
static void share_with_thieves(size_t thieves, size_t burst)
{
    enum { TOKENS = 10000, THIEVES_MAX = 3 };
    static token tokens[TOKENS];
    memset(tokens, 0, sizeof tokens);
    robbery shared = {.deque = deque_at(UINT64_MAX - 1000)};
    bly_thread threads[THIEVES_MAX];
    for (size_t i = 0; i < thieves; i++) {
        ck_assert_int_eq(bly_thread_create(&threads[i], NULL, rob, &shared), 0);
    }
    for (size_t pushed = 0; pushed < TOKENS;) {
        for (size_t i = 0; i < burst && pushed < TOKENS; i++) {
            ck_assert(kind->push(shared.deque, &tokens[pushed++].task));
        }
        for (size_t i = 0; i + 1 < burst; i++) {
            belay_task *task = kind->pop(shared.deque, UINT64_MAX - 1000);
            if (task != NULL) {
                take_token(task);
            }
        }
    }
    event_add(&shared.done, 1);
    for (size_t i = 0; i < thieves; i++) {
        bly_thread_join(&threads[i]);
    }
    for (size_t i = 0; i < TOKENS; i++) {
        ck_assert_uint_eq(tokens[i].taken, 1);
    }
    kind->destroy(shared.deque);
}

START_TEST(each_token_is_taken_once_by_owner_or_thieves)
{
    for (size_t thieves = 1; thieves <= 3; thieves++) {
        share_with_thieves(thieves, 2);
        share_with_thieves(thieves, 100);
    }
}
END_TEST

START_TEST(a_batch_never_passes_an_owner_that_pops_meanwhile)
{
    share_with_thieves(2, 16);
}
END_TEST

UNIT_MAIN("exec/deque_locked", the_owner_takes_the_newest_first, a_thief_takes_the_oldest_first,
          a_thief_takes_half_but_at_most_eight_and_one_of_fewer_than_four,
          the_owner_takes_the_oldest_when_it_asks_for_it, a_mark_hides_what_was_pushed_before_it,
          it_behaves_as_an_array_over_random_histories, indices_near_their_wrap_change_nothing,
          it_grows_and_goes_back_to_its_first_size,
          it_allocates_nothing_for_sixty_four_tasks_and_none_after_a_trim,
          what_was_reserved_can_be_pushed_without_memory,
          each_token_is_taken_once_by_owner_or_thieves,
          a_batch_never_passes_an_owner_that_pops_meanwhile)
