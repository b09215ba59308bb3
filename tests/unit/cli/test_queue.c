/* The order of jobs that wait: priority, time, number, limits. */
#include "unit.h"

#include <string.h>

#include "cli/queue.h"

static bly_job *put(struct bly_queue *queue, uint64_t seq, int64_t start_ns, int64_t priority,
                    const char *limit)
{
    bly_job *job = bly_job_create(seq);
    job->start_ns = start_ns;
    job->priority = priority;
    if (limit != NULL) {
        bly_words_text(&job->limits, limit);
    }
    ck_assert_ptr_null(bly_queue_put(queue, job));
    return job;
}

/* The number of the job taken at a time, 0 for none. It keeps its permits. */
static uint64_t take(struct bly_queue *queue, int64_t now_ns, bly_job **ret_job)
{
    bly_job *job = bly_queue_take(queue, now_ns);
    uint64_t seq = job != NULL ? job->seq : 0;
    if (ret_job != NULL) {
        *ret_job = job;
    } else {
        bly_job_free(job);
    }
    return seq;
}

START_TEST(due_jobs_come_by_priority_then_time_then_number)
{
    struct bly_queue queue;
    bly_queue_init(&queue);
    put(&queue, 4, 10, 0, NULL);
    put(&queue, 3, 10, 0, NULL);
    put(&queue, 2, 5, 0, NULL);
    put(&queue, 1, 20, 1, NULL);
    ck_assert_uint_eq(take(&queue, 20, NULL), 1);
    ck_assert_uint_eq(take(&queue, 20, NULL), 2);
    ck_assert_uint_eq(take(&queue, 20, NULL), 3);
    ck_assert_uint_eq(take(&queue, 20, NULL), 4);
    ck_assert_uint_eq(take(&queue, 20, NULL), 0);
    bly_queue_free(&queue);
}
END_TEST

START_TEST(no_job_comes_before_its_time)
{
    struct bly_queue queue;
    bly_queue_init(&queue);
    ck_assert_int_eq(bly_queue_next_ns(&queue), INT64_MAX);
    put(&queue, 1, 100, 5, NULL);
    put(&queue, 2, 50, 0, NULL);
    ck_assert_uint_eq(take(&queue, 49, NULL), 0);
    ck_assert_int_eq(bly_queue_next_ns(&queue), 50);
    ck_assert_uint_eq(take(&queue, 50, NULL), 2);
    ck_assert_int_eq(bly_queue_next_ns(&queue), 100);
    ck_assert_uint_eq(bly_queue_count(&queue), 1);
    bly_queue_free(&queue);
}
END_TEST

START_TEST(a_job_whose_limit_is_taken_lets_others_pass)
{
    struct bly_queue queue;
    bly_job *holder = NULL;
    bly_queue_init(&queue);
    put(&queue, 1, 0, 0, "db");
    put(&queue, 2, 0, 0, "db");
    put(&queue, 3, 0, 0, NULL);
    ck_assert_uint_eq(take(&queue, 0, &holder), 1);
    ck_assert_uint_eq(take(&queue, 0, NULL), 3);
    ck_assert_uint_eq(take(&queue, 0, NULL), 0);
    ck_assert_uint_eq(bly_queue_count(&queue), 1);
    bly_queue_give_permits(&queue, holder);
    bly_job_free(holder);
    ck_assert_uint_eq(take(&queue, 0, NULL), 2);
    bly_queue_free(&queue);
}
END_TEST

START_TEST(jobs_that_wait_for_a_limit_keep_their_order)
{
    struct bly_queue queue;
    bly_job *holder = NULL;
    bly_queue_init(&queue);
    put(&queue, 1, 0, 0, "db");
    ck_assert_uint_eq(take(&queue, 0, &holder), 1);
    put(&queue, 3, 0, 0, "db");
    put(&queue, 2, 0, 0, "db");
    ck_assert_uint_eq(take(&queue, 0, NULL), 0);
    put(&queue, 4, 0, 9, "db");
    ck_assert_uint_eq(take(&queue, 0, NULL), 0);
    bly_queue_give_permits(&queue, holder);
    bly_job_free(holder);
    ck_assert_uint_eq(take(&queue, 0, &holder), 4);
    bly_queue_give_permits(&queue, holder);
    bly_job_free(holder);
    ck_assert_uint_eq(take(&queue, 0, NULL), 2);
    bly_queue_free(&queue);
}
END_TEST

START_TEST(a_job_with_impossible_limits_is_refused)
{
    struct bly_queue queue;
    bly_queue_init(&queue);
    bly_job *job = bly_job_create(1);
    bly_words_text(&job->limits, "db:2");
    ck_assert_ptr_nonnull(bly_queue_put(&queue, job));
    ck_assert_uint_eq(bly_queue_count(&queue), 0);
    bly_job_free(job);
    bly_queue_free(&queue);
}
END_TEST

UNIT_MAIN("cli/queue", due_jobs_come_by_priority_then_time_then_number,
          no_job_comes_before_its_time, a_job_whose_limit_is_taken_lets_others_pass,
          jobs_that_wait_for_a_limit_keep_their_order, a_job_with_impossible_limits_is_refused)
