/*
 * test_series.c: recurring jobs: slots, what is missed, jitter, the end of a series.
 */
#include "series.h"

START_TEST(every_answers_slot_plus_period_and_saturates)
{
    int64_t period = 10;
    int64_t none = 0;
    ck_assert_int_eq(belay_every(&period, 100, 995), 110);
    ck_assert_int_eq(belay_every(&period, INT64_MAX - 5, 0), BELAY_FOREVER);
    ck_assert_int_eq(belay_every(&none, 100, 100), BELAY_FOREVER);
    ck_assert_int_eq(belay_after_each(&period, 100, 995), 1005);
    ck_assert_int_eq(belay_after_each(&period, 100, 90), 110);
    ck_assert_int_eq(belay_after_each(&none, 100, 100), BELAY_FOREVER);
}
END_TEST

START_TEST(every_keeps_its_anchor_whenever_it_runs)
{
    make();
    probe self = {0};
    belay_job job = series_of(&self, 5, 10, BELAY_MISSED_ONCE);
    put_job(1, &job);
    static const int64_t times[] = {5, 17, 29, 35};
    static const int64_t slots[] = {5, 15, 25, 35};
    for (int i = 0; i < 4; i++) {
        advance(times[i]);
        ck_assert_int_eq(run_due(), 1);
        ck_assert_int_eq(self.slot_ns, slots[i]);
    }
    ck_assert_uint_eq(self.missed_sum, 0);
    unmake();
    ck_assert_int_eq(self.drops, 1);
    ck_assert_int_eq(self.why, BELAY_DROP_CLOSED);
}
END_TEST

static void take_three(probe *self)
{
    (void)self;
    advance(now() + 3);
}

START_TEST(after_each_counts_from_the_end_of_the_run)
{
    make();
    probe self = {.inside = take_three};
    belay_job job = series_of(&self, 0, 10, BELAY_MISSED_ONCE);
    job.next = belay_after_each;
    put_job(1, &job);
    ck_assert_int_eq(run_due(), 1);
    advance(12);
    ck_assert_int_eq(run_due(), 0);
    advance(13);
    ck_assert_int_eq(run_due(), 1);
    ck_assert_int_eq(self.slot_ns, 13);
    ck_assert_uint_eq(self.missed_sum, 0);
    unmake();
}
END_TEST

START_TEST(once_runs_once_for_all_slots_that_passed)
{
    make();
    probe self = {0};
    belay_job job = series_of(&self, SECOND, SECOND, BELAY_MISSED_ONCE);
    put_job(1, &job);
    advance(172800 * SECOND);
    ck_assert_int_eq(run_due(), 1);
    ck_assert_uint_eq(self.missed, 172799);
    ck_assert_int_eq(self.due_ns, SECOND);
    ck_assert_int_eq(self.slot_ns, 172800 * SECOND);
    advance(172801 * SECOND);
    ck_assert_int_eq(run_due(), 1);
    ck_assert_uint_eq(self.missed, 0);
    ck_assert_uint_eq(stats().missed, 172799);
    unmake();
}
END_TEST

START_TEST(skip_leaves_out_what_is_too_late)
{
    make();
    probe self = {0};
    belay_job job = series_of(&self, 0, 3600 * SECOND, BELAY_MISSED_SKIP);
    put_job(1, &job);
    ck_assert_int_eq(run_due(), 1);
    /* An hour's slot, found two minutes late: more than the default of one. */
    advance(3720 * SECOND);
    ck_assert_int_eq(run_due(), 0);
    ck_assert_int_eq(state_of(1), BELAY_JOB_PENDING);
    advance(7230 * SECOND);
    ck_assert_int_eq(run_due(), 1);
    ck_assert_int_eq(self.slot_ns, 7200 * SECOND);
    ck_assert_uint_eq(self.missed, 1);
    belay_job_info info = {.size = sizeof info};
    ck_assert_int_eq(belay_sched_query(test_sched, BELAY_ID(1), &info), 0);
    ck_assert_uint_eq(info.occurrence, 3);
    ck_assert_int_eq(info.run_at_ns, 10800 * SECOND);
    ck_assert_uint_eq(stats().completed, 2);
    ck_assert_uint_eq(stats().missed, 1);
    unmake();
}
END_TEST

START_TEST(skip_with_a_bound_of_its_own)
{
    make();
    probe strict = {0};
    probe patient = {0};
    belay_job job = series_of(&strict, 100, 1000, BELAY_MISSED_SKIP);
    job.late_max_ns = 5;
    put_job(1, &job);
    job.arg = &patient;
    job.late_max_ns = BELAY_FOREVER;
    put_job(2, &job);
    advance(106);
    ck_assert_int_eq(run_due(), 1);
    ck_assert_int_eq(strict.runs, 0);
    ck_assert_int_eq(patient.runs, 1);
    advance(1105);
    ck_assert_int_eq(run_due(), 2);
    ck_assert_uint_eq(strict.missed, 1);
    unmake();
}
END_TEST

START_TEST(skip_over_many_slots_keeps_the_anchor)
{
    make();
    probe self = {0};
    belay_job job = series_of(&self, 7, 10, BELAY_MISSED_SKIP);
    put_job(1, &job);
    advance(5000012);
    ck_assert_int_eq(run_due(), 1);
    ck_assert_int_eq(self.slot_ns, 5000007);
    ck_assert_uint_eq(self.missed, 500000);
    advance(5000017);
    ck_assert_int_eq(run_due(), 1);
    ck_assert_uint_eq(self.missed, 0);
    unmake();
}
END_TEST

START_TEST(all_runs_each_slot_up_to_missed_max)
{
    make();
    probe self = {0};
    belay_job job = series_of(&self, 10, 10, BELAY_MISSED_ALL);
    job.missed_max = 4;
    put_job(1, &job);
    advance(100);
    ck_assert_int_eq(run_due(), 4);
    ck_assert_int_eq(self.slot_ns, 100);
    ck_assert_uint_eq(self.missed_sum, 6);
    advance(130);
    ck_assert_int_eq(run_due(), 3);
    ck_assert_uint_eq(self.missed_sum, 6);
    ck_assert_uint_eq(stats().missed, 6);
    unmake();
}
END_TEST

START_TEST(all_has_a_default_bound)
{
    make();
    probe self = {0};
    belay_job job = series_of(&self, 1, 1, BELAY_MISSED_ALL);
    put_job(1, &job);
    advance(1000);
    ck_assert_int_eq(run_due(), BELAY_SCHED_MISSED_MAX_DEFAULT);
    ck_assert_uint_eq(self.missed_sum, 1000 - BELAY_SCHED_MISSED_MAX_DEFAULT);
    unmake();
}
END_TEST

/* Runs of ten in a series of fives, for a while; runs + missed must be the slots. */
static void take_ten(probe *self)
{
    (void)self;
    advance(now() + 10);
}

static void run_slow_series(uint32_t missed, stepper *steps, probe *self)
{
    make();
    *self = (probe){.inside = take_ten};
    belay_job job = series_of(self, 0, 5, missed);
    if (steps != NULL) {
        *steps = (stepper){.step_ns = 5, .last_ns = INT64_MAX - 5};
        job = stepping_of(self, steps, missed);
    }
    job.missed_max = 3;
    put_job(1, &job);
    while (now() < 3600) {
        if (run_one() != 0) {
            advance(now() + 1);
        }
    }
    ck_assert_int_eq(belay_sched_cancel(test_sched, BELAY_ID(1)), 0);
    ck_assert_int_eq(self->drops, 1);
    unmake();
}

START_TEST(slow_series_with_each_policy)
{
    probe self;
    run_slow_series(BELAY_MISSED_ONCE, NULL, &self);
    ck_assert_int_eq(self.runs, 360);
    ck_assert_uint_eq((uint64_t)self.runs + self.missed_sum, (uint64_t)self.slot_ns / 5 + 1);
    run_slow_series(BELAY_MISSED_SKIP, NULL, &self);
    ck_assert_int_eq(self.runs, 240); /* at 0, 15, 30: those at 5 and 10 passed meanwhile */
    ck_assert_uint_eq((uint64_t)self.runs + self.missed_sum, (uint64_t)self.slot_ns / 5 + 1);
    run_slow_series(BELAY_MISSED_ALL, NULL, &self);
    ck_assert_int_eq(self.runs, 360);
    ck_assert_uint_eq((uint64_t)self.runs + self.missed_sum, (uint64_t)self.slot_ns / 5 + 1);
    ck_assert_int_ge(self.slot_ns, 3600 - 4 * 10);
}
END_TEST

START_TEST(slow_series_of_a_function_of_the_user_s)
{
    probe self;
    stepper steps;
    run_slow_series(BELAY_MISSED_ONCE, &steps, &self);
    ck_assert_int_ge(self.runs, 359);
    ck_assert_uint_eq((uint64_t)self.runs + self.missed_sum, (uint64_t)self.slot_ns / 5 + 1);
    ck_assert_int_le(steps.asked, 3700 / 5);
    run_slow_series(BELAY_MISSED_SKIP, &steps, &self);
    ck_assert_int_eq(self.runs, 240);
    ck_assert_uint_eq((uint64_t)self.runs + self.missed_sum, (uint64_t)self.slot_ns / 5 + 1);
    run_slow_series(BELAY_MISSED_ALL, &steps, &self);
    ck_assert_int_eq(self.runs, 360);
    ck_assert_uint_eq((uint64_t)self.runs + self.missed_sum, (uint64_t)self.slot_ns / 5 + 1);
    ck_assert_int_ge(self.slot_ns, 3600 - 4 * 10);
}
END_TEST

START_TEST(user_s_next_is_asked_after_the_run_once_a_slot)
{
    make();
    probe self = {0};
    stepper steps = {.step_ns = 10, .last_ns = 1000};
    belay_job job = stepping_of(&self, &steps, BELAY_MISSED_ONCE);
    put_job(1, &job);
    ck_assert_int_eq(steps.asked, 0);
    ck_assert_int_eq(run_due(), 1);
    ck_assert_int_eq(steps.asked, 1);
    advance(35);
    /* One run stands for 10, 20 and 30; the ones folded in are told to the next. */
    ck_assert_int_eq(run_due(), 1);
    ck_assert_int_eq(self.slot_ns, 10);
    ck_assert_int_eq(steps.asked, 4);
    advance(40);
    ck_assert_int_eq(run_due(), 1);
    ck_assert_int_eq(self.slot_ns, 40);
    ck_assert_uint_eq(self.missed, 2);
    unmake();
}
END_TEST

START_TEST(series_ends_when_next_says_so)
{
    make();
    probe self = {0};
    stepper steps = {.step_ns = 10, .last_ns = 20};
    belay_job job = stepping_of(&self, &steps, BELAY_MISSED_ONCE);
    put_job(1, &job);
    for (int i = 0; i < 5; i++) {
        (void)run_due();
        advance(now() + 10);
    }
    ck_assert_int_eq(self.runs, 3);
    ck_assert_int_eq(self.drops, 1);
    ck_assert_int_eq(self.why, BELAY_DROP_ENDED);
    ck_assert_int_eq(state_of(1), BELAY_ENOENT);
    unmake();
}
END_TEST

static int64_t same_slot(void *arg, int64_t slot_ns, int64_t now_ns)
{
    (void)arg;
    (void)now_ns;
    return slot_ns;
}

START_TEST(next_that_does_not_move_on_ends_the_series)
{
    make();
    probe self = {0};
    belay_job job = job_of(&self, 0, 0);
    job.next = same_slot;
    put_job(1, &job);
    ck_assert_int_eq(run_due(), 1);
    ck_assert_int_eq(self.drops, 1);
    ck_assert_int_eq(self.why, BELAY_DROP_ENDED);
    unmake();
}
END_TEST

START_TEST(steps_over_slots_are_bounded)
{
    static const uint32_t policies[] = {BELAY_MISSED_ONCE, BELAY_MISSED_SKIP, BELAY_MISSED_ALL};
    for (int i = 0; i < 3; i++) {
        make();
        probe self = {0};
        stepper steps = {.step_ns = 1, .last_ns = INT64_MAX - 1};
        belay_job job = stepping_of(&self, &steps, policies[i]);
        put_job(1, &job);
        advance(30 * BELAY_SCHED_SLOTS_MAX);
        ck_assert_int_eq(run_one(), 0);
        ck_assert_int_le(steps.asked, BELAY_SCHED_SLOTS_MAX + 3);
        belay_job_info info = {.size = sizeof info};
        ck_assert_int_eq(belay_sched_query(test_sched, BELAY_ID(1), &info), 0);
        ck_assert_int_eq(info.run_at_ns, 30 * BELAY_SCHED_SLOTS_MAX + 1);
        unmake();
    }
}
END_TEST

START_TEST(jitter_is_the_same_for_the_same_id_and_slot)
{
    int64_t starts[2][20];
    for (int round = 0; round < 2; round++) {
        make();
        probe self = {0};
        belay_job job = series_of(&self, 0, 1000, BELAY_MISSED_ONCE);
        job.jitter_ns = 400;
        put_job(1, &job);
        for (int i = 0; i < 20; i++) {
            belay_job_info info = {.size = sizeof info};
            ck_assert_int_eq(belay_sched_query(test_sched, BELAY_ID(1), &info), 0);
            starts[round][i] = info.run_at_ns;
            ck_assert_int_ge(info.run_at_ns, 1000 * i);
            ck_assert_int_le(info.run_at_ns, 1000 * i + 400);
            if (info.run_at_ns > now()) {
                advance(info.run_at_ns - 1);
                ck_assert_int_eq(run_due(), 0);
            }
            advance(info.run_at_ns);
            ck_assert_int_eq(run_due(), 1);
            ck_assert_int_eq(self.slot_ns, 1000 * i);
        }
        unmake();
    }
    int distinct = 0;
    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq(starts[0][i], starts[1][i]);
        distinct += i > 0 && starts[0][i] - 1000 * i != starts[0][0];
    }
    ck_assert_int_gt(distinct, 15);
}
END_TEST

START_TEST(jitter_differs_between_ids)
{
    make();
    probe self = {0};
    int distinct = 0;
    int64_t last = 0;
    for (uint64_t id = 0; id < 32; id++) {
        belay_job job = job_of(&self, 0, 0);
        job.jitter_ns = 1000000;
        belay_id name = id == 31 ? BELAY_NO_ID : BELAY_ID(id);
        ck_assert_int_eq(belay_sched_schedule(test_sched, name, &job, NULL), 0);
        belay_job_info info = {.size = sizeof info};
        if (id < 31) {
            ck_assert_int_eq(belay_sched_query(test_sched, name, &info), 0);
            distinct += info.run_at_ns != last;
            last = info.run_at_ns;
        }
    }
    ck_assert_int_gt(distinct, 25);
    unmake();
}
END_TEST

START_TEST(slot_whose_jitter_is_to_come_has_not_passed)
{
    make();
    probe self = {0};
    belay_job job = series_of(&self, 0, 1000, BELAY_MISSED_ONCE);
    job.jitter_ns = 999;
    put_job(1, &job);
    /* Whatever the jitter, a slot runs at or after its own start, and all slots are counted. */
    uint64_t seen = 0;
    for (int i = 0; i < 200; i++) {
        advance(now() + 777);
        if (run_one() == 0) {
            ck_assert_int_le(self.slot_ns, now());
            seen += 1 + self.missed;
            ck_assert_uint_eq(seen, (uint64_t)self.slot_ns / 1000 + 1);
        }
    }
    ck_assert_int_gt(self.runs, 50);
    unmake();
}
END_TEST

START_TEST(failure_does_not_end_a_series_unless_asked)
{
    make();
    probe keeps = {.status = -1};
    probe ends = {.status = -1};
    belay_job job = series_of(&keeps, 0, 10, BELAY_MISSED_ONCE);
    put_job(1, &job);
    job.arg = &ends;
    job.ends_on_failure = 1;
    put_job(2, &job);
    for (int i = 0; i < 4; i++) {
        (void)run_due();
        advance(now() + 10);
    }
    ck_assert_int_eq(keeps.runs, 4);
    ck_assert_int_eq(keeps.drops, 0);
    ck_assert_int_eq(ends.runs, 1);
    ck_assert_int_eq(ends.drops, 1);
    ck_assert_int_eq(ends.why, BELAY_DROP_ENDED);
    belay_job_info info = {.size = sizeof info};
    ck_assert_int_eq(belay_sched_query(test_sched, BELAY_ID(1), &info), 0);
    ck_assert_uint_eq(info.failures, 4);
    unmake();
}
END_TEST

START_TEST(canceled_series_is_not_armed_again)
{
    make();
    probe running = {.status = BELAY_PENDING};
    probe pending = {0};
    belay_job job = series_of(&running, 0, 10, BELAY_MISSED_ONCE);
    put_job(1, &job);
    ck_assert_int_eq(run_one(), 0);
    job.arg = &pending;
    put_job(2, &job);
    ck_assert_int_eq(belay_sched_cancel(test_sched, BELAY_ID(2)), 0);
    ck_assert_int_eq(belay_sched_cancel(test_sched, BELAY_ID(1)), BELAY_STILL_RUNNING);
    ck_assert_int_eq(pending.drops, 1);
    ck_assert_int_eq(running.drops, 0);
    ck_assert_int_eq(belay_claim_done(running.claim, 0), 0);
    ck_assert_int_eq(running.drops, 1);
    ck_assert_int_eq(running.why, BELAY_DROP_CANCELED);
    ck_assert_int_eq(state_of(1), BELAY_ENOENT);
    ck_assert_uint_eq(stats().canceled, 2);
    unmake();
}
END_TEST

START_TEST(replaced_series_has_no_further_occurrence)
{
    make();
    probe old = {.status = BELAY_PENDING, .number = 1};
    probe new = {.number = 2};
    belay_job job = series_of(&old, 0, 10, BELAY_MISSED_ONCE);
    put_job(1, &job);
    ck_assert_int_eq(run_one(), 0);
    ck_assert_int_eq(put(1, &new, 5, 0), BELAY_STILL_RUNNING);
    advance(50);
    ck_assert_int_eq(belay_claim_done(old.claim, 0), 0);
    ck_assert_int_eq(old.drops, 1);
    ck_assert_int_eq(old.why, BELAY_DROP_REPLACED);
    ck_assert_int_eq(run_due(), 1);
    ck_assert_int_eq(new.runs, 1);
    ck_assert_int_eq(old.runs, 1);
    unmake();
}
END_TEST

START_TEST(cancel_replace_and_end_decide_in_that_order)
{
    make();
    probe old = {.status = BELAY_PENDING};
    probe new = {0};
    belay_job job = series_of(&old, 0, 10, BELAY_MISSED_ONCE);
    put_job(1, &job);
    ck_assert_int_eq(run_one(), 0);
    ck_assert_int_eq(belay_sched_cancel(test_sched, BELAY_ID(1)), BELAY_STILL_RUNNING);
    ck_assert_int_eq(put(1, &new, 0, 0), BELAY_STILL_RUNNING);
    ck_assert_int_eq(belay_sched_close(test_sched, BELAY_CLOSE_DRAIN_DUE), 0);
    ck_assert_int_eq(belay_claim_done(old.claim, 0), 0);
    ck_assert_int_eq(old.drops, 1);
    ck_assert_int_eq(old.why, BELAY_DROP_CANCELED);
    ck_assert_int_eq(run_due(), 1);
    ck_assert_int_eq(new.runs, 1);
    unmake();
}
END_TEST

START_TEST(claimed_slot_that_is_passed_over_can_be_canceled_meanwhile)
{
    /* Nothing can come in between here; the pass itself must respect what was decided before. */
    make();
    probe self = {0};
    belay_job job = series_of(&self, 0, 3600 * SECOND, BELAY_MISSED_SKIP);
    put_job(1, &job);
    advance(120 * SECOND);
    ck_assert_int_eq(run_due(), 0);
    ck_assert_int_eq(self.runs, 0);
    ck_assert_int_eq(belay_sched_cancel(test_sched, BELAY_ID(1)), 0);
    ck_assert_int_eq(self.drops, 1);
    ck_assert_uint_eq(stats().missed, 1);
    unmake();
}
END_TEST

START_TEST(many_slots_passed_over_in_one_call_are_bounded)
{
    make();
    static probe jobs[200];
    for (uint64_t i = 0; i < 200; i++) {
        belay_job job = series_of(&jobs[i], 0, 3600 * SECOND, BELAY_MISSED_SKIP);
        put_job(i, &job);
    }
    advance(120 * SECOND);
    belay_claim *claim = NULL;
    int64_t next = 0;
    int looks = 0;
    while (belay_sched_next(test_sched, BELAY_NOW, &claim, &next) == BELAY_EAGAIN &&
           next <= now()) {
        looks++;
    }
    ck_assert_int_eq(looks, 3);
    ck_assert_int_eq(next, 3600 * SECOND);
    unmake();
}
END_TEST

UNIT_MAIN("sched/series", every_answers_slot_plus_period_and_saturates,
          every_keeps_its_anchor_whenever_it_runs, after_each_counts_from_the_end_of_the_run,
          once_runs_once_for_all_slots_that_passed, skip_leaves_out_what_is_too_late,
          skip_with_a_bound_of_its_own, skip_over_many_slots_keeps_the_anchor,
          all_runs_each_slot_up_to_missed_max, all_has_a_default_bound,
          slow_series_with_each_policy, slow_series_of_a_function_of_the_user_s,
          user_s_next_is_asked_after_the_run_once_a_slot, series_ends_when_next_says_so,
          next_that_does_not_move_on_ends_the_series, steps_over_slots_are_bounded,
          jitter_is_the_same_for_the_same_id_and_slot, jitter_differs_between_ids,
          slot_whose_jitter_is_to_come_has_not_passed, failure_does_not_end_a_series_unless_asked,
          canceled_series_is_not_armed_again, replaced_series_has_no_further_occurrence,
          cancel_replace_and_end_decide_in_that_order,
          claimed_slot_that_is_passed_over_can_be_canceled_meanwhile,
          many_slots_passed_over_in_one_call_are_bounded)
