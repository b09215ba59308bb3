/*
 * unit.h: the main function of a unit test program.
 *
 * A file defines its tests with START_TEST / END_TEST of Check and ends with
 *     UNIT_MAIN("sem/waitq", first_test, second_test, ...)
 * Each test runs in a process of its own, for at most UNIT_TIMEOUT_S seconds.
 */
#ifndef BELAY_TESTS_UNIT_H
#define BELAY_TESTS_UNIT_H

#include <check.h>
#include <stdlib.h>

#define UNIT_TIMEOUT_S 180

/*
 * UNIT_UNLESS_TSAN(test): in the list of UNIT_MAIN, a test that the thread sanitizer cannot run:
 * its runtime does not support threads made in a child of a process that had threads.
 */
#ifdef __SANITIZE_THREAD__
#define UNIT_UNLESS_TSAN(test) (sizeof(*(test)) == 0 ? (test) : NULL)
#else
#define UNIT_UNLESS_TSAN(test) (test)
#endif

#define UNIT_MAIN(title, ...)                                                                      \
    int main(void)                                                                                 \
    {                                                                                              \
        const TTest *unit_tests[] = {__VA_ARGS__};                                                 \
        Suite *unit_suite = suite_create(title);                                                   \
        for (size_t i = 0; i < sizeof unit_tests / sizeof unit_tests[0]; i++) {                    \
            if (unit_tests[i] == NULL) {                                                           \
                continue;                                                                          \
            }                                                                                      \
            TCase *unit_case = tcase_create(unit_tests[i]->name);                                  \
            tcase_set_timeout(unit_case, UNIT_TIMEOUT_S);                                          \
            tcase_add_test(unit_case, unit_tests[i]);                                              \
            suite_add_tcase(unit_suite, unit_case);                                                \
        }                                                                                          \
        SRunner *unit_runner = srunner_create(unit_suite);                                         \
        srunner_run_all(unit_runner, CK_ENV);                                                      \
        int unit_failed = srunner_ntests_failed(unit_runner);                                      \
        srunner_free(unit_runner);                                                                 \
        return unit_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;                                     \
    }

#endif
