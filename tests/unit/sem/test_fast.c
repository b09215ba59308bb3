/* The word in which permits change hands without the lock. */
#include "../unit.h"

#include "sem/fast.h"

START_TEST(a_shut_word_gives_and_takes_nothing)
{
    uint32_t word = BLY_FAST_SHUT;
    ck_assert(!bly_fast_take(&word, 1));
    ck_assert(!bly_fast_give(&word, 1));
    ck_assert(!bly_fast_is_open(&word));
    ck_assert_uint_eq(word, BLY_FAST_SHUT);
}
END_TEST

START_TEST(an_open_word_gives_what_it_has_and_no_more)
{
    uint32_t word = BLY_FAST_SHUT;
    bly_fast_open(&word, 3);
    ck_assert(bly_fast_is_open(&word));
    ck_assert(!bly_fast_take(&word, 4));
    ck_assert(bly_fast_take(&word, 3));
    ck_assert(!bly_fast_take(&word, 1));
    ck_assert(bly_fast_is_open(&word));
    ck_assert(bly_fast_give(&word, 2));
    ck_assert_uint_eq(bly_fast_shut(&word), 2);
    ck_assert(!bly_fast_is_open(&word));
}
END_TEST

START_TEST(the_most_permits_fit_into_the_word)
{
    uint32_t word = BLY_FAST_SHUT;
    bly_fast_open(&word, INT32_MAX);
    ck_assert(!bly_fast_take(&word, UINT32_MAX));
    ck_assert(!bly_fast_take(&word, UINT32_C(0x80000000)));
    ck_assert(bly_fast_take(&word, INT32_MAX));
    ck_assert(bly_fast_give(&word, INT32_MAX));
    ck_assert_uint_eq(bly_fast_shut(&word), INT32_MAX);
}
END_TEST

UNIT_MAIN("sem/fast", a_shut_word_gives_and_takes_nothing,
          an_open_word_gives_what_it_has_and_no_more, the_most_permits_fit_into_the_word)
