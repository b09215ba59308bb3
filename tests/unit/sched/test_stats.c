/*
 * test_stats.c: metrics and query.
 */
#include "base/opts.h"
#include "sched.h"

START_TEST(stats_count_what_happened)
{
    make();
    probe jobs[8];
    memset(jobs, 0, sizeof jobs);
    jobs[0].status = BELAY_PENDING;
    jobs[1].status = -1;
    for (uint64_t i = 0; i < 5; i++) {
        ck_assert_int_eq(put(i, &jobs[i], 10 * (int64_t)i, 0), 0);
    }
    advance(15);
    ck_assert_int_eq(run_due(), 2);
    ck_assert_int_eq(put(0, &jobs[5], 0, 0), BELAY_STILL_RUNNING);
    ck_assert_int_eq(put(4, &jobs[6], 40, 0), BELAY_REPLACED);
    ck_assert_int_eq(belay_sched_cancel(test_sched, BELAY_ID(3)), 0);
    advance(25);
    belay_sched_metrics seen = stats();
    ck_assert_uint_eq(seen.pending, 2);
    ck_assert_uint_eq(seen.entries, 2);
    ck_assert_uint_eq(seen.due, 1);
    ck_assert_int_eq(seen.oldest_due_ns, 5);
    ck_assert_uint_eq(seen.held, 1);
    ck_assert_uint_eq(seen.running, 1);
    ck_assert_uint_eq(seen.running_peak, 2);
    ck_assert_uint_eq(seen.scheduled, 7);
    ck_assert_uint_eq(seen.replaced, 1);
    ck_assert_uint_eq(seen.canceled, 1);
    ck_assert_uint_eq(seen.failed, 1);
    ck_assert_uint_eq(seen.completed, 0);
    ck_assert_uint_eq(seen.is_closing, 0);
    ck_assert_int_eq(belay_sched_close(test_sched, BELAY_CLOSE_DISCARD), 0);
    ck_assert_uint_eq(stats().dropped, 3);
    ck_assert_uint_eq(stats().is_closing, 1);
    ck_assert_uint_eq(stats().pending, 0);
    ck_assert_int_eq(belay_claim_done(jobs[0].claim, 0), 0);
    ck_assert_uint_eq(stats().completed, 1);
    unmake();
}
END_TEST

START_TEST(lateness_is_counted_from_due_or_from_submission)
{
    make();
    probe self = {0};
    ck_assert_int_eq(put(1, &self, 1000, 0), 0);
    advance(1000);
    ck_assert_int_eq(run_due(), 1);
    ck_assert_uint_eq(stats().lateness[0], 1);
    ck_assert_int_eq(put(2, &self, 1001, 5), 0);
    advance(1101);
    ck_assert_int_eq(run_due(), 1);
    ck_assert_uint_eq(stats().lateness[7], 1); /* 100 is in [64, 128) */
    ck_assert_int_eq(stats().lateness_max_ns, 100);
    ck_assert_int_eq(put(3, &self, 0, -4), 0);
    ck_assert_int_eq(run_due(), 1);
    ck_assert_uint_eq(stats().lateness[0], 2);
    belay_sched_metrics seen = stats();
    ck_assert_uint_eq(seen.wait[0].count, 1);
    ck_assert_uint_eq(seen.wait[1].count, 1);
    ck_assert_uint_eq(seen.wait[4].count, 1);
    ck_assert_int_eq(seen.wait[4].sum_ns, 100);
    ck_assert_int_eq(seen.wait[4].max_ns, 100);
    unmake();
}
END_TEST

START_TEST(waits_are_counted_by_band_of_priority)
{
    static const int32_t priorities[] = {-32768, -1, 0, 1, 2, 3, 4, 7, 8, 15, 16, 255, 256, 32767};
    static const int bands[] = {0, 0, 1, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7};
    make();
    probe self = {0};
    uint64_t expected[BELAY_SCHED_BANDS] = {0};
    for (int i = 0; i < 14; i++) {
        ck_assert_int_eq(put(1, &self, 0, priorities[i]), 0);
        ck_assert_int_eq(run_due(), 1);
        expected[bands[i]]++;
        ck_assert_uint_eq(stats().wait[bands[i]].count, expected[bands[i]]);
    }
    unmake();
}
END_TEST

START_TEST(due_is_counted_up_to_a_thousand)
{
    for (int round = 0; round < 2; round++) {
        make_with((belay_sched_opts){.aging_ns_per_priority = round == 0 ? 0 : 1});
        static probe jobs[1500];
        memset(jobs, 0, sizeof jobs);
        for (uint64_t i = 0; i < 1500; i++) {
            ck_assert_int_eq(put(i, &jobs[i], (int64_t)i, 0), 0);
        }
        advance(9);
        ck_assert_uint_eq(stats().due, 10);
        ck_assert_int_eq(run_one(), 0);
        ck_assert_uint_eq(stats().due, 9);
        ck_assert_int_eq(stats().oldest_due_ns, 8);
        advance(2000);
        ck_assert_uint_eq(stats().due, 1000);
        ck_assert_int_eq(run_due(), 1499);
        ck_assert_uint_eq(stats().due, 0);
        ck_assert_int_eq(stats().oldest_due_ns, 0);
        unmake();
    }
}
END_TEST

START_TEST(older_shorter_metrics_are_filled_as_far_as_they_go)
{
    make();
    belay_sched_metrics metrics;
    memset(&metrics, 0xee, sizeof metrics);
    metrics.size = offsetof(belay_sched_metrics, pending);
    ck_assert_int_eq(belay_sched_stats(test_sched, &metrics), 0);
    ck_assert_uint_eq(metrics.size, offsetof(belay_sched_metrics, pending));
    ck_assert_uint_eq(metrics.is_closing, 0);
    ck_assert_uint_eq(metrics.pending, UINT64_C(0xeeeeeeeeeeeeeeee));
    metrics.size = 0;
    ck_assert_int_eq(belay_sched_stats(test_sched, &metrics), BELAY_EINVAL);
    metrics.size = 1u << 20;
    ck_assert_int_eq(belay_sched_stats(test_sched, &metrics), BELAY_EINVAL);
    ck_assert_int_eq(belay_sched_stats(test_sched, NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_sched_stats(NULL, &metrics), BELAY_EINVAL);
    unmake();
}
END_TEST

START_TEST(query_tells_the_running_and_the_held_back_version)
{
    make();
    probe old = {.status = BELAY_PENDING};
    probe new = {0};
    belay_job_info info = {.size = sizeof info};
    belay_job_handle first;
    belay_job_handle second;
    belay_job job = job_of(&old, 10, 3);
    ck_assert_int_eq(belay_sched_query(test_sched, BELAY_ID(1), &info), BELAY_ENOENT);
    ck_assert_int_eq(belay_sched_schedule(test_sched, BELAY_ID(1), &job, &first), 0);
    ck_assert_int_eq(belay_sched_query(test_sched, BELAY_ID(1), &info), 0);
    ck_assert_int_eq(info.state, BELAY_JOB_PENDING);
    ck_assert_int_eq(info.priority, 3);
    ck_assert_int_eq(info.run_at_ns, 10);
    ck_assert_uint_eq(info.occurrence, 1);
    ck_assert_uint_eq(info.handle.version, first.version);
    advance(10);
    ck_assert_int_eq(run_one(), 0);
    job = job_of(&new, 99, -2);
    ck_assert_int_eq(belay_sched_schedule(test_sched, BELAY_ID(1), &job, &second),
                     BELAY_STILL_RUNNING);
    ck_assert_int_eq(belay_sched_query(test_sched, BELAY_ID(1), &info), 0);
    ck_assert_int_eq(info.state, BELAY_JOB_RUNNING);
    ck_assert_uint_eq(info.is_canceled, 0);
    ck_assert_uint_eq(info.has_held, 1);
    ck_assert_int_eq(info.held_priority, -2);
    ck_assert_int_eq(info.held_run_at_ns, 99);
    ck_assert_uint_eq(info.held_handle.version, second.version);
    ck_assert_uint_eq(info.held_handle.place, second.place);
    ck_assert_int_eq(belay_sched_cancel(test_sched, BELAY_ID(1)), BELAY_STILL_RUNNING);
    ck_assert_int_eq(belay_sched_query(test_sched, BELAY_ID(1), &info), 0);
    ck_assert_uint_eq(info.is_canceled, 1);
    ck_assert_uint_eq(info.has_held, 0);
    ck_assert_int_eq(belay_claim_done(old.claim, 0), 0);
    ck_assert_int_eq(belay_sched_query(test_sched, BELAY_ID(1), &info), BELAY_ENOENT);
    unmake();
}
END_TEST

START_TEST(query_refuses_bad_arguments)
{
    make();
    belay_job_info info = {.size = sizeof info};
    ck_assert_int_eq(belay_sched_query(NULL, BELAY_ID(1), &info), BELAY_EINVAL);
    ck_assert_int_eq(belay_sched_query(test_sched, BELAY_NO_ID, &info), BELAY_EINVAL);
    ck_assert_int_eq(belay_sched_query(test_sched, BELAY_ID(1), NULL), BELAY_EINVAL);
    info.size = 0;
    ck_assert_int_eq(belay_sched_query(test_sched, BELAY_ID(1), &info), BELAY_EINVAL);
    unmake();
}
END_TEST

START_TEST(jobs_that_were_overtaken_are_counted_with_aging)
{
    make_with((belay_sched_opts){.aging_ns_per_priority = 10});
    probe low = {0}, high[3];
    memset(high, 0, sizeof high);
    ck_assert_int_eq(put(1, &low, 1, 0), 0);
    ck_assert_int_eq(put(2, &high[0], 2, 5), 0);
    advance(2);
    ck_assert_int_eq(run_one(), 0);
    ck_assert_int_eq(put(3, &high[1], 3, 5), 0);
    ck_assert_int_eq(put(4, &high[2], 3, 5), 0);
    advance(3);
    ck_assert_int_eq(run_due(), 3);
    ck_assert_int_eq(low.runs, 1);
    ck_assert_uint_eq(stats().overtaken_max, 3);
    unmake();
}
END_TEST

START_TEST(stats_take_every_size_that_a_caller_may_have)
{
    make();
    struct {
        belay_sched_metrics known;
        char rest[BLY_OPTS_SIZE_MAX - sizeof(belay_sched_metrics)];
    } metrics = {.known.size = sizeof metrics};
    ck_assert_int_eq(belay_sched_stats(test_sched, &metrics.known), 0);
    metrics.known.size = sizeof metrics + 1;
    ck_assert_int_eq(belay_sched_stats(test_sched, &metrics.known), BELAY_EINVAL);
    metrics.known.size = sizeof metrics.known.size;
    ck_assert_int_eq(belay_sched_stats(test_sched, &metrics.known), 0);
    unmake();
}
END_TEST

START_TEST(what_came_due_with_aging_is_pending_still)
{
    make_with((belay_sched_opts){.aging_ns_per_priority = 10});
    probe jobs[4];
    memset(jobs, 0, sizeof jobs);
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(put((uint64_t)i, &jobs[i], i < 3 ? 1 : 100, 0), 0);
    }
    advance(2);
    ck_assert_int_eq(run_one(), 0);
    ck_assert_uint_eq(stats().pending, 3);
    ck_assert_uint_eq(stats().due, 2);
    ck_assert_uint_eq(stats().overtaken_max, 0);
    unmake();
}
END_TEST

/* A clock that says what it is told. */
static int64_t told_ns;

static int64_t tell_now(belay_clock *self)
{
    (void)self;
    return told_ns;
}

START_TEST(readings_that_step_back_are_counted_one_by_one)
{
    belay_clock clock = *belay_clock_system();
    clock.now = tell_now;
    belay_sched_opts opts = {.size = sizeof opts, .clock = &clock};
    belay_claim *claim = NULL;
    told_ns = 100;
    ck_assert_int_eq(belay_sched_create(&opts, &test_sched), 0);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(belay_sched_next(test_sched, BELAY_NOW, &claim, NULL), BELAY_EAGAIN);
    }
    ck_assert_uint_eq(stats().clock_steps_back, 0);
    told_ns = 99;
    ck_assert_int_eq(belay_sched_next(test_sched, BELAY_NOW, &claim, NULL), BELAY_EAGAIN);
    told_ns = 100;
    ck_assert_uint_eq(stats().clock_steps_back, 1);
    ck_assert_int_eq(belay_sched_close(test_sched, BELAY_CLOSE_DISCARD), 0);
    ck_assert_int_eq(belay_sched_destroy(test_sched), 0);
}
END_TEST

START_TEST(tickets_and_wake_ups_are_counted)
{
    make_started(1);
    probe self = {0};
    ck_assert_int_eq(put(1, &self, 0, 0), 0);
    ck_assert_int_eq(run_exec(), 1);
    ck_assert_uint_eq(stats().tickets_run, 1);
    ck_assert_uint_eq(stats().wakeups, 1);
    ck_assert_uint_eq(stats().wakeups_spurious, 0);
    ck_assert_int_eq(put(1, &self, 0, 0), 0);
    ck_assert_int_eq(belay_sched_cancel(test_sched, BELAY_ID(1)), 0);
    ck_assert_int_eq(run_exec(), 1);
    ck_assert_uint_eq(stats().tickets_run, 2);
    ck_assert_uint_eq(stats().wakeups, 1);
    ck_assert_uint_eq(stats().wakeups_spurious, 1);
    unmake();
}
END_TEST

UNIT_MAIN("sched/stats", stats_count_what_happened, lateness_is_counted_from_due_or_from_submission,
          waits_are_counted_by_band_of_priority, due_is_counted_up_to_a_thousand,
          older_shorter_metrics_are_filled_as_far_as_they_go,
          query_tells_the_running_and_the_held_back_version, query_refuses_bad_arguments,
          jobs_that_were_overtaken_are_counted_with_aging,
          stats_take_every_size_that_a_caller_may_have, what_came_due_with_aging_is_pending_still,
          readings_that_step_back_are_counted_one_by_one, tickets_and_wake_ups_are_counted)
