/*
 * test_error.c: names and sentences of results.
 */
#include "unit.h"

#include "belay/base.h"

#include <string.h>

static const int results[] = {
    0,
    BELAY_PENDING,
    BELAY_STILL_RUNNING,
    BELAY_REPLACED,
    BELAY_ENOENT,
    BELAY_EIO,
    BELAY_EAGAIN,
    BELAY_ENOMEM,
    BELAY_EBUSY,
    BELAY_EEXIST,
    BELAY_EINVAL,
    BELAY_EDEADLK,
    BELAY_ETIMEDOUT,
    BELAY_ESTALE,
    BELAY_ECANCELED,
    BELAY_ECLOSED,
    BELAY_EFULL,
    BELAY_ERELEASED,
    BELAY_ENOTHELD,
    BELAY_ETOOBIG,
    BELAY_ETOOLATE,
};

#define COUNT (sizeof results / sizeof results[0])

START_TEST(each_result_has_its_own_number_name_and_sentence)
{
    for (size_t i = 0; i < COUNT; i++) {
        for (size_t j = 0; j < i; j++) {
            ck_assert_int_ne(results[i], results[j]);
            ck_assert_str_ne(belay_err_name(results[i]), belay_err_name(results[j]));
            ck_assert_str_ne(belay_strerror(results[i]), belay_strerror(results[j]));
        }
    }
}
END_TEST

START_TEST(sentences_have_no_full_stop)
{
    for (size_t i = 0; i < COUNT; i++) {
        const char *sentence = belay_strerror(results[i]);
        ck_assert_uint_gt(strlen(sentence), 5);
        ck_assert_int_ne(sentence[strlen(sentence) - 1], '.');
    }
}
END_TEST

START_TEST(names_are_those_of_the_header)
{
    ck_assert_str_eq(belay_err_name(0), "BELAY_OK");
    ck_assert_str_eq(belay_err_name(BELAY_PENDING), "BELAY_PENDING");
    ck_assert_str_eq(belay_err_name(BELAY_ECLOSED), "BELAY_ECLOSED");
    ck_assert_str_eq(belay_err_name(BELAY_ETIMEDOUT), "BELAY_ETIMEDOUT");
    ck_assert_str_eq(belay_strerror(BELAY_ETIMEDOUT), "the deadline passed");
}
END_TEST

START_TEST(anything_else_is_unknown)
{
    static const int others[] = {BELAY_PENDING | BELAY_REPLACED, 8, -1007, -1000, INT32_MIN, -1};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        ck_assert_str_eq(belay_err_name(others[i]), "BELAY_UNKNOWN");
        ck_assert_str_eq(belay_strerror(others[i]), "not a result of belay");
    }
}
END_TEST

UNIT_MAIN("base/error", each_result_has_its_own_number_name_and_sentence,
          sentences_have_no_full_stop, names_are_those_of_the_header, anything_else_is_unknown)
