/*
 * test_values.c: structs of callers that were compiled against another version.
 */
#include "jobs.h"

#include "jobs/jobs_int.h"

typedef struct pair {
    uint32_t size, first, second;
} pair;

START_TEST(as_much_is_given_as_the_caller_knows)
{
    const pair from = {sizeof from, 1, 2};
    pair all = {sizeof all, 8, 9};
    ck_assert_int_eq(bly_give(&all, &from, sizeof from), 0);
    ck_assert_uint_eq(all.first, 1);
    ck_assert_uint_eq(all.second, 2);
    pair less = {offsetof(pair, second), 8, 9};
    ck_assert_int_eq(bly_give(&less, &from, sizeof from), 0);
    ck_assert_uint_eq(less.first, 1);
    ck_assert_uint_eq(less.second, 9);
    ck_assert_uint_eq(less.size, offsetof(pair, second));
}
END_TEST

START_TEST(a_size_that_cannot_be_is_refused)
{
    const pair from = {sizeof from, 1, 2};
    pair none = {3, 8, 9};
    ck_assert_int_eq(bly_give(&none, &from, sizeof from), BELAY_EINVAL);
    none.size = BLY_OPTS_SIZE_MAX + 1;
    ck_assert_int_eq(bly_give(&none, &from, sizeof from), BELAY_EINVAL);
    ck_assert_uint_eq(none.first, 8);
}
END_TEST

START_TEST(a_job_without_a_queue_is_in_that_of_its_handler)
{
    belay_jobs_new job = new_job("mail", "");
    belay_jobs_new known;
    ck_assert_int_eq(bly_new_read(&known, &job), 0);
    ck_assert_uint_eq(known.queue.len, 4);
    ck_assert_mem_eq(known.queue.data, "mail", 4);
    job.queue = belay_bytes_text("slow");
    ck_assert_int_eq(bly_new_read(&known, &job), 0);
    ck_assert_mem_eq(known.queue.data, "slow", 4);
    job = (belay_jobs_new){.size = sizeof job};
    ck_assert_int_eq(bly_new_read(&known, &job), 0);
    ck_assert_uint_eq(known.queue.len, 0);
    job.size = 0;
    ck_assert_int_eq(bly_new_read(&known, &job), BELAY_EINVAL);
}
END_TEST

UNIT_MAIN("jobs/values", as_much_is_given_as_the_caller_knows, a_size_that_cannot_be_is_refused,
          a_job_without_a_queue_is_in_that_of_its_handler)
