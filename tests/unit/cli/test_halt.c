/* --halt, and the exit status of a batch. */
#include "unit.h"

#include "cli/halt.h"

static struct bly_halt parse(const char *text)
{
    struct bly_halt halt = {0};
    const char *why = bly_halt_parse(text, &halt);
    ck_assert_msg(why == NULL, "%s: %s", text, why);
    return halt;
}

static void check(const char *text, enum bly_halt_when when, enum bly_halt_what what,
                  uint64_t count, double percent)
{
    struct bly_halt halt = parse(text);
    ck_assert_int_eq(halt.when, when);
    ck_assert_uint_eq(halt.count, count);
    ck_assert_double_eq(halt.percent, percent);
    if (when != BLY_HALT_NEVER) {
        ck_assert_int_eq(halt.what, what);
    }
}

START_TEST(forms_of_today_and_of_old_are_read)
{
    check("never", BLY_HALT_NEVER, BLY_HALT_FAIL, 0, 0);
    check("0", BLY_HALT_NEVER, BLY_HALT_FAIL, 0, 0);
    check("now,fail=1", BLY_HALT_NOW, BLY_HALT_FAIL, 1, 0);
    check("soon,success=3", BLY_HALT_SOON, BLY_HALT_SUCCESS, 3, 0);
    check("now,done=20%", BLY_HALT_NOW, BLY_HALT_DONE, 0, 20);
    check("1", BLY_HALT_SOON, BLY_HALT_FAIL, 1, 0);
    check("2", BLY_HALT_NOW, BLY_HALT_FAIL, 1, 0);
    check("-1", BLY_HALT_SOON, BLY_HALT_SUCCESS, 1, 0);
    check("-2", BLY_HALT_NOW, BLY_HALT_SUCCESS, 1, 0);
    check("5%", BLY_HALT_SOON, BLY_HALT_FAIL, 0, 5);
}
END_TEST

START_TEST(other_forms_are_refused)
{
    static const char *const texts[] = {"",
                                        "now",
                                        "now,",
                                        "now,fail",
                                        "now,fail=",
                                        "now,fail=0",
                                        "now,fail=0%",
                                        "now,fail=101%",
                                        "later,fail=1",
                                        "soon,failed=1",
                                        "3",
                                        "fail=1",
                                        "%"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct bly_halt halt = {0};
        ck_assert_msg(bly_halt_parse(texts[i], &halt) != NULL, "<%s>", texts[i]);
    }
}
END_TEST

START_TEST(failures_are_counted_and_give_the_status)
{
    struct bly_halt one = parse("now,fail=1");
    struct bly_halt two = parse("soon,fail=2");
    struct bly_tally tally = {.done = 3, .failed = 1, .status = 7};
    ck_assert(bly_halt_is_due(&one, &tally));
    ck_assert_int_eq(bly_halt_status(&one, &tally), 7);
    ck_assert(!bly_halt_is_due(&two, &tally));
    tally.failed = 2;
    ck_assert(bly_halt_is_due(&two, &tally));
    ck_assert_int_eq(bly_halt_status(&two, &tally), 2);
}
END_TEST

START_TEST(a_success_is_no_reason_to_halt_by_failures)
{
    struct bly_halt one = parse("now,fail=1");
    struct bly_halt success = parse("now,success=1");
    struct bly_tally tally = {.done = 2, .failed = 1, .status = 0};
    ck_assert(!bly_halt_is_due(&one, &tally));
    ck_assert(bly_halt_is_due(&success, &tally));
    ck_assert_int_eq(bly_halt_status(&success, &tally), 0);
    tally.status = 1;
    ck_assert(!bly_halt_is_due(&success, &tally));
}
END_TEST

START_TEST(percentages_wait_for_the_total)
{
    struct bly_halt half = parse("soon,fail=50%");
    struct bly_tally tally = {.done = 3, .failed = 3, .total = 0, .status = 1};
    ck_assert(!bly_halt_is_due(&half, &tally));
    tally.total = 7;
    ck_assert(!bly_halt_is_due(&half, &tally));
    tally.done = 5;
    tally.failed = 4;
    ck_assert(bly_halt_is_due(&half, &tally));
    ck_assert_int_eq(bly_halt_status(&half, &tally), 58);
}
END_TEST

START_TEST(done_counts_both)
{
    struct bly_halt done = parse("soon,done=2");
    struct bly_tally tally = {.done = 1, .failed = 1, .status = 1};
    ck_assert(!bly_halt_is_due(&done, &tally));
    tally.done = 2;
    tally.status = 0;
    ck_assert(bly_halt_is_due(&done, &tally));
    ck_assert_int_eq(bly_halt_status(&done, &tally), 1);
}
END_TEST

START_TEST(a_whole_batch_counts_its_failures_to_101)
{
    struct bly_tally tally = {.done = 200};
    ck_assert_int_eq(bly_halt_all_status(&tally), 0);
    tally.failed = 100;
    ck_assert_int_eq(bly_halt_all_status(&tally), 100);
    tally.failed = 150;
    ck_assert_int_eq(bly_halt_all_status(&tally), 101);
}
END_TEST

UNIT_MAIN("cli/halt", forms_of_today_and_of_old_are_read, other_forms_are_refused,
          failures_are_counted_and_give_the_status, a_success_is_no_reason_to_halt_by_failures,
          percentages_wait_for_the_total, done_counts_both,
          a_whole_batch_counts_its_failures_to_101)
