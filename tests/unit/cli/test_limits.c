/* Named limits: the words for them, and their permits. */
#include "unit.h"

#include <string.h>

#include "cli/limits.h"

static const char *declare(struct bly_limits *limits, const char *spec)
{
    struct bly_words specs = {0};
    bly_words_text(&specs, spec);
    const char *why = bly_limits_declare(limits, &specs);
    bly_words_free(&specs);
    return why;
}

START_TEST(a_new_limit_has_one_permit_or_as_many_as_said)
{
    struct bly_limits limits = {0};
    struct bly_words one = {0};
    struct bly_words three = {0};
    bly_words_text(&one, "db");
    bly_words_text(&three, "gpu=3");
    ck_assert_ptr_null(bly_limits_declare(&limits, &one));
    ck_assert_ptr_null(bly_limits_declare(&limits, &three));
    ck_assert(bly_limits_take(&limits, &one));
    ck_assert(!bly_limits_take(&limits, &one));
    ck_assert(bly_limits_take(&limits, &three));
    ck_assert(bly_limits_take(&limits, &three));
    ck_assert(bly_limits_take(&limits, &three));
    ck_assert(!bly_limits_take(&limits, &three));
    bly_limits_give(&limits, &one);
    ck_assert(bly_limits_take(&limits, &one));
    bly_words_free(&one);
    bly_words_free(&three);
    bly_limits_free(&limits);
}
END_TEST

START_TEST(another_capacity_or_more_than_there_is_is_refused)
{
    struct bly_limits limits = {0};
    ck_assert_ptr_null(declare(&limits, "x=2"));
    ck_assert_ptr_null(declare(&limits, "x=2"));
    ck_assert_ptr_null(declare(&limits, "x:2"));
    ck_assert_ptr_nonnull(declare(&limits, "x=3"));
    ck_assert_ptr_nonnull(declare(&limits, "x:3"));
    ck_assert_ptr_nonnull(declare(&limits, "y:2"));
    bly_limits_free(&limits);
}
END_TEST

START_TEST(several_limits_are_taken_together_or_not_at_all)
{
    struct bly_limits limits = {0};
    struct bly_words both = {0};
    struct bly_words second = {0};
    bly_words_text(&both, "a");
    bly_words_text(&both, "b");
    bly_words_text(&second, "b");
    ck_assert_ptr_null(bly_limits_declare(&limits, &both));
    ck_assert(bly_limits_take(&limits, &second));
    ck_assert(!bly_limits_take(&limits, &both));
    bly_limits_give(&limits, &second);
    ck_assert(bly_limits_take(&limits, &both));
    ck_assert(!bly_limits_take(&limits, &second));
    bly_words_free(&both);
    bly_words_free(&second);
    bly_limits_free(&limits);
}
END_TEST

UNIT_MAIN("cli/limits", a_new_limit_has_one_permit_or_as_many_as_said,
          another_capacity_or_more_than_there_is_is_refused,
          several_limits_are_taken_together_or_not_at_all)
