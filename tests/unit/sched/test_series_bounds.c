/*
 * test_series_bounds.c: recurring jobs at the boundaries of their policies.
 */
#include "series.h"

#include "sched/job_int.h"

START_TEST(a_period_of_one_is_a_period)
{
    int64_t period = 1;
    ck_assert_int_eq(belay_after_each(&period, 0, 5), 6);
    ck_assert_int_eq(belay_every(&period, 5, 0), 6);
}
END_TEST

START_TEST(all_gives_up_as_many_as_are_too_many)
{
    make();
    probe self = {0};
    belay_job job = series_of(&self, 0, 10, BELAY_MISSED_ALL);
    job.missed_max = 3;
    put_job(1, &job);
    advance(30);
    ck_assert_int_eq(run_due(), 3);
    ck_assert_uint_eq(self.missed_sum, 1);
    unmake();
}
END_TEST

static void take_fifty_once(probe *self)
{
    advance(self->runs == 1 ? now() + 50 : now());
}

START_TEST(all_of_a_function_of_the_user_s_counts_the_slots_that_passed)
{
    static const uint32_t maxima[] = {2, 5, 9}, gone[] = {3, 0, 0};
    for (int i = 0; i < 3; i++) {
        make();
        probe self = {.inside = take_fifty_once};
        stepper steps = {.step_ns = 10, .last_ns = INT64_MAX - 10};
        belay_job job = stepping_of(&self, &steps, BELAY_MISSED_ALL);
        job.missed_max = maxima[i];
        put_job(1, &job);
        ck_assert_int_eq(run_due(), 1 + 5 - (int)gone[i]);
        ck_assert_uint_eq(self.missed_sum, gone[i]);
        ck_assert_int_eq(self.slot_ns, 50);
        unmake();
    }
}
END_TEST

START_TEST(once_runs_however_late_it_is)
{
    make();
    probe self = {0};
    stepper steps = {.step_ns = 100 * SECOND, .last_ns = INT64_MAX - 100 * SECOND};
    belay_job job = stepping_of(&self, &steps, BELAY_MISSED_ONCE);
    put_job(1, &job);
    advance(50 * SECOND);
    ck_assert_int_eq(run_due(), 1);
    ck_assert_uint_eq(self.missed_sum, 0);
    unmake();
}
END_TEST

/* The start of that slot for a job with that id. */
static int64_t start_of(uint64_t number, int64_t slot_ns, int64_t jitter_ns)
{
    bly_id id;
    belay_id from = BELAY_ID(number);
    belay_job plain = {.size = sizeof plain, .jitter_ns = jitter_ns};
    ck_assert_int_eq(bly_id_read(&id, &from, true, 0), 0);
    bly_job *job = bly_job_create(&plain, &id);
    ck_assert_ptr_nonnull(job);
    int64_t start_ns = bly_job_start_of(job, slot_ns);
    bly_free(job);
    return start_ns;
}

START_TEST(the_last_slot_of_every_counts_when_its_jitter_has_passed)
{
    int kinds = 0;
    for (uint64_t id = 1; id <= 20; id++) {
        make();
        probe self = {0};
        belay_job job = series_of(&self, 0, 100, BELAY_MISSED_ONCE);
        job.jitter_ns = 3;
        put_job(id, &job);
        bool has_come = start_of(id, 300, 3) == 300;
        kinds |= has_come ? 1 : 2;
        advance(300);
        ck_assert_int_eq(run_one(), 0);
        ck_assert_int_eq(self.slot_ns, has_come ? 300 : 200);
        ck_assert_uint_eq(self.missed, has_come ? 3 : 2);
        unmake();
    }
    ck_assert_int_eq(kinds, 3);
}
END_TEST

UNIT_MAIN("sched/series_bounds", a_period_of_one_is_a_period, all_gives_up_as_many_as_are_too_many,
          all_of_a_function_of_the_user_s_counts_the_slots_that_passed,
          once_runs_however_late_it_is, the_last_slot_of_every_counts_when_its_jitter_has_passed)
