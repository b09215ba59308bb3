/*
 * test_values.c: a job to add, as it is read.
 */
#include "jobs.h"

#include "jobs/jobs_int.h"

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

UNIT_MAIN("jobs/values", a_job_without_a_queue_is_in_that_of_its_handler)
