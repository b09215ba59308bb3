/* Names of users: which are taken, and which word is a number. */
#include "unit.h"

#include <string.h>

#include "cli/name.h"

START_TEST(names_have_1_to_200_bytes_without_control_characters)
{
    char name[BLY_CLI_NAME_MAX + 2];
    memset(name, 'x', sizeof name);
    ck_assert_ptr_null(bly_name_check("db", 2));
    ck_assert_ptr_null(bly_name_check("two words, \xc3\xa9 and \xff", 17));
    ck_assert_ptr_null(bly_name_check(name, BLY_CLI_NAME_MAX));
    ck_assert_ptr_nonnull(bly_name_check(name, BLY_CLI_NAME_MAX + 1));
    ck_assert_ptr_nonnull(bly_name_check("", 0));
    ck_assert_ptr_nonnull(bly_name_check("a\nb", 3));
    ck_assert_ptr_nonnull(bly_name_check("a\x7f", 2));
    ck_assert_ptr_nonnull(bly_name_check("a\0b", 3));
}
END_TEST

START_TEST(ids_are_not_all_digits)
{
    ck_assert_ptr_null(bly_name_check_id("nightly"));
    ck_assert_ptr_null(bly_name_check_id("2026-12-01"));
    ck_assert_ptr_null(bly_name_check_id("7th"));
    ck_assert_ptr_nonnull(strstr(bly_name_check_id("17"), "digits"));
    ck_assert_ptr_nonnull(bly_name_check_id(""));
    ck_assert_ptr_nonnull(bly_name_check_id("\x1b[31m"));
}
END_TEST

START_TEST(a_word_of_digits_is_the_number_of_a_job)
{
    struct bly_jobname name = {0};
    ck_assert_ptr_null(bly_name_job("42", &name));
    ck_assert_uint_eq(name.seq, 42);
    ck_assert_ptr_null(name.id);
    ck_assert_ptr_null(bly_name_job("nightly", &name));
    ck_assert_uint_eq(name.seq, 0);
    ck_assert_str_eq(name.id, "nightly");
}
END_TEST

START_TEST(what_names_no_job_is_refused_and_changes_nothing)
{
    static const char *const words[] = {"", "0", "99999999999999999999", "a\tb"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        struct bly_jobname name = {.seq = 5};
        ck_assert_msg(bly_name_job(words[i], &name) != NULL, "<%s>", words[i]);
        ck_assert_uint_eq(name.seq, 5);
    }
}
END_TEST

UNIT_MAIN("cli/name", names_have_1_to_200_bytes_without_control_characters, ids_are_not_all_digits,
          a_word_of_digits_is_the_number_of_a_job, what_names_no_job_is_refused_and_changes_nothing)
