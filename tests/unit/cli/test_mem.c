/* Byte strings and word lists. */
#include "unit.h"

#include <string.h>

#include "belay/base.h"
#include "cli/mem.h"

START_TEST(bytes_keep_nul_bytes_and_end_with_one)
{
    struct bly_bytes bytes = {0};
    ck_assert_str_eq(bly_bytes_c(&bytes), "");
    bly_bytes_add(&bytes, "a\0b", 3);
    bly_bytes_byte(&bytes, 'c');
    bly_bytes_print(&bytes, "%d", 42);
    ck_assert_uint_eq(bytes.len, 6);
    ck_assert_mem_eq(bytes.at, "a\0bc42", 7);
    bly_bytes_clear(&bytes);
    ck_assert_str_eq(bly_bytes_c(&bytes), "");
    bly_bytes_free(&bytes);
    ck_assert_ptr_null(bytes.at);
}
END_TEST

START_TEST(bytes_grow_past_their_room)
{
    struct bly_bytes bytes = {0};
    for (int i = 0; i < 10000; i++) {
        bly_bytes_byte(&bytes, (char)('a' + i % 26));
    }
    ck_assert_uint_eq(bytes.len, 10000);
    ck_assert_int_eq(bytes.at[9999], 'a' + 9999 % 26);
    bly_bytes_free(&bytes);
}
END_TEST

START_TEST(words_keep_their_lengths)
{
    struct bly_words words = {0};
    bly_words_text(&words, "one");
    bly_words_text(&words, "");
    bly_words_add(&words, "three3", 5);
    ck_assert_uint_eq(words.count, 3);
    ck_assert_str_eq(bly_words_at(&words, 0), "one");
    ck_assert_str_eq(bly_words_at(&words, 1), "");
    ck_assert_str_eq(bly_words_at(&words, 2), "three");
    ck_assert_uint_eq(bly_words_len(&words, 0), 3);
    ck_assert_uint_eq(bly_words_len(&words, 1), 0);
    ck_assert_uint_eq(bly_words_len(&words, 2), 5);
    bly_words_free(&words);
}
END_TEST

START_TEST(words_make_an_argv_ended_by_null)
{
    struct bly_words words = {0};
    struct bly_words copy = {0};
    bly_words_text(&words, "a");
    bly_words_begin(&words);
    bly_bytes_print(&words.text, "b%d", 1);
    bly_words_end(&words);
    bly_words_copy(&copy, &words);
    char **argv = bly_words_argv(&copy);
    ck_assert_str_eq(argv[0], "a");
    ck_assert_str_eq(argv[1], "b1");
    ck_assert_ptr_null(argv[2]);
    bly_words_clear(&copy);
    ck_assert_ptr_null(bly_words_argv(&copy)[0]);
    bly_words_free(&words);
    bly_words_free(&copy);
}
END_TEST

START_TEST(running_out_of_memory_ends_the_command_with_255)
{
    struct bly_bytes bytes = {.at = bly_mem(16), .len = 8, .max = 16};
    bly_bytes_room(&bytes, SIZE_MAX - 4);
}
END_TEST

START_TEST(a_call_without_memory_ends_the_command_with_255)
{
    bly_mem_check(0);
    bly_mem_check(BELAY_PENDING);
    bly_mem_check(BELAY_ENOMEM);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cli/mem");
    TCase *usual = tcase_create("usual");
    TCase *ends = tcase_create("ends");
    tcase_add_test(usual, bytes_keep_nul_bytes_and_end_with_one);
    tcase_add_test(usual, bytes_grow_past_their_room);
    tcase_add_test(usual, words_keep_their_lengths);
    tcase_add_test(usual, words_make_an_argv_ended_by_null);
    tcase_add_exit_test(ends, running_out_of_memory_ends_the_command_with_255, 255);
    tcase_add_exit_test(ends, a_call_without_memory_ends_the_command_with_255, 255);
    suite_add_tcase(suite, usual);
    suite_add_tcase(suite, ends);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
