/* The order of jobs that wait: priority, time, number, limits. */
#include "unit.h"

#include "belay/test.h"
#include "cli/queue.h"
#include "cli/sems.h"

/* A queue on a clock that is moved by hand. */
struct bench {
    belay_clock *clock;
    belay_timers *timers;
    struct bly_queue queue;
};

static void set_up(struct bench *bench)
{
    ck_assert_int_eq(belay_manual_clock_create(0, 0, &bench->clock), 0);
    bench->timers = bly_sems_open();
    bly_queue_init(&bench->queue, bench->timers, bench->clock);
}

static void tear_down(struct bench *bench)
{
    bly_queue_free(&bench->queue);
    bly_sems_close(bench->timers);
    ck_assert_int_eq(belay_manual_clock_destroy(bench->clock), 0);
}

static bly_job *put(struct bench *bench, uint64_t seq, int64_t start_ns, int32_t priority,
                    const char *limit)
{
    bly_job *job = bly_job_make(seq);
    job->start_ns = start_ns;
    job->priority = priority;
    if (limit != NULL) {
        bly_words_text(&job->limits, limit);
    }
    ck_assert_ptr_null(bly_queue_put(&bench->queue, job));
    return job;
}

/* The number of the job taken at a time, 0 for none. It keeps its permits when it is asked for. */
static uint64_t take(struct bench *bench, int64_t now_ns, bly_job **ret_job)
{
    int64_t next_ns = 0;
    ck_assert_int_eq(belay_manual_clock_advance(bench->clock, now_ns), 0);
    bly_job *job = bly_queue_take(&bench->queue, &next_ns);
    uint64_t seq = job != NULL ? job->seq : 0;
    if (ret_job != NULL) {
        *ret_job = job;
    } else if (job != NULL) {
        bly_queue_give_permits(job);
        bly_job_free(job);
    }
    return seq;
}

static void end(bly_job *job)
{
    bly_queue_give_permits(job);
    bly_job_free(job);
}

START_TEST(due_jobs_come_by_priority_then_time_then_number)
{
    struct bench bench;
    set_up(&bench);
    put(&bench, 1, 20, 1, NULL);
    put(&bench, 2, 5, 0, NULL);
    put(&bench, 3, 10, 0, NULL);
    put(&bench, 4, 10, 0, NULL);
    put(&bench, 5, 4, -1, NULL);
    ck_assert_uint_eq(take(&bench, 20, NULL), 1);
    ck_assert_uint_eq(take(&bench, 20, NULL), 2);
    ck_assert_uint_eq(take(&bench, 20, NULL), 3);
    ck_assert_uint_eq(take(&bench, 20, NULL), 4);
    ck_assert_uint_eq(take(&bench, 20, NULL), 5);
    ck_assert_uint_eq(take(&bench, 20, NULL), 0);
    tear_down(&bench);
}
END_TEST

START_TEST(no_job_comes_before_its_time)
{
    struct bench bench;
    int64_t next_ns = 0;
    set_up(&bench);
    ck_assert_ptr_null(bly_queue_take(&bench.queue, &next_ns));
    ck_assert_int_eq(next_ns, BELAY_FOREVER);
    put(&bench, 1, 100, 5, NULL);
    put(&bench, 2, 50, 0, NULL);
    ck_assert_uint_eq(take(&bench, 49, NULL), 0);
    ck_assert_ptr_null(bly_queue_take(&bench.queue, &next_ns));
    ck_assert_int_eq(next_ns, 50);
    ck_assert_uint_eq(take(&bench, 50, NULL), 2);
    ck_assert_ptr_null(bly_queue_take(&bench.queue, &next_ns));
    ck_assert_int_eq(next_ns, 100);
    ck_assert_uint_eq(bly_queue_count(&bench.queue), 1);
    tear_down(&bench);
}
END_TEST

START_TEST(a_job_that_runs_again_goes_before_those_of_its_time)
{
    struct bench bench;
    bly_job *again = NULL;
    set_up(&bench);
    put(&bench, 1, 0, 0, "db");
    put(&bench, 2, 0, 0, NULL);
    put(&bench, 3, 0, 1, NULL);
    ck_assert_uint_eq(take(&bench, 0, NULL), 3);
    ck_assert_uint_eq(take(&bench, 0, &again), 1);
    again->tries = 1;
    bly_queue_give_permits(again);
    ck_assert_ptr_null(bly_queue_put(&bench.queue, again));
    ck_assert_uint_eq(take(&bench, 0, NULL), 1);
    ck_assert_uint_eq(take(&bench, 0, NULL), 2);
    tear_down(&bench);
}
END_TEST

START_TEST(a_job_whose_limit_is_taken_lets_others_pass)
{
    struct bench bench;
    bly_job *holder = NULL;
    set_up(&bench);
    put(&bench, 1, 0, 0, "db");
    put(&bench, 2, 0, 0, "db");
    put(&bench, 3, 0, 0, NULL);
    ck_assert_uint_eq(take(&bench, 0, &holder), 1);
    ck_assert_uint_eq(take(&bench, 0, NULL), 3);
    ck_assert_uint_eq(take(&bench, 0, NULL), 0);
    ck_assert_uint_eq(bly_queue_count(&bench.queue), 1);
    end(holder);
    ck_assert_uint_eq(take(&bench, 0, NULL), 2);
    ck_assert_uint_eq(bly_queue_count(&bench.queue), 0);
    tear_down(&bench);
}
END_TEST

START_TEST(jobs_get_a_limit_in_the_order_in_which_they_asked)
{
    struct bench bench;
    bly_job *holder = NULL;
    set_up(&bench);
    put(&bench, 1, 0, 0, "db");
    ck_assert_uint_eq(take(&bench, 0, &holder), 1);
    put(&bench, 2, 0, 0, "db");
    put(&bench, 3, 0, 1, "db");
    ck_assert_uint_eq(take(&bench, 0, NULL), 0);
    put(&bench, 4, 0, 9, "db");
    ck_assert_uint_eq(take(&bench, 0, NULL), 0);
    end(holder);
    put(&bench, 5, 0, 9, NULL);
    ck_assert_uint_eq(take(&bench, 0, &holder), 3);
    ck_assert_uint_eq(take(&bench, 0, NULL), 5);
    end(holder);
    ck_assert_uint_eq(take(&bench, 0, NULL), 2);
    ck_assert_uint_eq(take(&bench, 0, NULL), 4);
    tear_down(&bench);
}
END_TEST

START_TEST(jobs_left_in_every_place_are_freed)
{
    struct bench bench;
    bly_job *holder = NULL;
    set_up(&bench);
    put(&bench, 1, 0, 0, "db");
    put(&bench, 2, 0, 0, "db");
    put(&bench, 3, 0, 0, "db");
    put(&bench, 4, 100, 0, NULL);
    ck_assert_uint_eq(take(&bench, 0, &holder), 1);
    ck_assert_uint_eq(take(&bench, 0, NULL), 0);
    end(holder); /* 2 is ready, 3 waits for the limit, 4 for its time */
    ck_assert_uint_eq(bly_queue_count(&bench.queue), 3);
    tear_down(&bench);
}
END_TEST

START_TEST(a_job_with_impossible_limits_is_refused)
{
    struct bench bench;
    set_up(&bench);
    bly_job *job = bly_job_make(1);
    bly_words_text(&job->limits, "db:2");
    ck_assert_ptr_nonnull(bly_queue_put(&bench.queue, job));
    ck_assert_uint_eq(bly_queue_count(&bench.queue), 0);
    bly_job_free(job);
    tear_down(&bench);
}
END_TEST

UNIT_MAIN("cli/queue", due_jobs_come_by_priority_then_time_then_number,
          no_job_comes_before_its_time, a_job_that_runs_again_goes_before_those_of_its_time,
          a_job_whose_limit_is_taken_lets_others_pass,
          jobs_get_a_limit_in_the_order_in_which_they_asked, jobs_left_in_every_place_are_freed,
          a_job_with_impossible_limits_is_refused)
