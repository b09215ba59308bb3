/*
 * series.c: the slots of recurring jobs, and what becomes of those that passed.
 *
 * A slot has come when its start, jitter included, is not after now. Slots can pass while an
 * occurrence runs, while workers are busy, and while the clock jumps; all three look the same when
 * the next occurrence is claimed, and are handled in two places:
 *
 *   At the claim, for belay_every: its slots can be counted by a division, so one run stands for
 * all
 *   that have come (ONCE, SKIP), or the oldest beyond missed_max are given up (ALL), and the job is
 *   told how many.
 *   After the run, for any other `next`, which is asked for each slot once and only after fn has
 *   returned: slots that had come at the claim are folded into the run that has just ended (ONCE),
 *   those that have come by now are left out (SKIP), or the oldest beyond missed_max are given up
 *   (ALL); the next occurrence is told how many.
 *
 * Either way a run happens once, and the sum of `missed` and of runs is the number of slots.
 */
#include "sched/sched_int.h"

/* What `next` is given. */
static void *arg_of(bly_series *series)
{
    return series->next_arg != NULL ? series->next_arg : &series->period_ns;
}

/* The period of belay_every. */
static int64_t period_of(const bly_series *series)
{
    return series->next_arg != NULL ? *(const int64_t *)series->next_arg : series->period_ns;
}

int64_t belay_every(void *arg, int64_t slot_ns, int64_t now_ns)
{
    (void)now_ns;
    int64_t period = *(const int64_t *)arg;
    return period < 1 ? BELAY_FOREVER : belay_time_add(slot_ns, period);
}

int64_t belay_after_each(void *arg, int64_t slot_ns, int64_t now_ns)
{
    int64_t period = *(const int64_t *)arg;
    int64_t from = now_ns > slot_ns ? now_ns : slot_ns;
    return period < 1 ? BELAY_FOREVER : belay_time_add(from, period);
}

/* The slot after one, asked of the job; BELAY_FOREVER: the series is over. */
static int64_t ask(const bly_job *job, int64_t slot_ns, int64_t now_ns)
{
    bly_series *series = job->series;
    bly_claim_inside(job->claim);
    int64_t next = series->next(arg_of(series), slot_ns, now_ns);
    bly_claim_outside(job->claim);
    return next > slot_ns ? next : BELAY_FOREVER;
}

static bool has_come(const bly_job *job, int64_t slot_ns, int64_t now_ns)
{
    return slot_ns != BELAY_FOREVER && bly_job_start_of(job, slot_ns) <= now_ns;
}

static bool is_every(const bly_series *series)
{
    return series->next == belay_every && period_of(series) >= 1;
}

/*
 * The number of slots of belay_every after slot_ns that have come by until_ns; slot_ns itself has.
 */
static uint64_t every_passed(const bly_job *job, int64_t slot_ns, int64_t until_ns)
{
    if (until_ns <= slot_ns) {
        return 0;
    }
    uint64_t period = (uint64_t)period_of(job->series);
    uint64_t passed = ((uint64_t)until_ns - (uint64_t)slot_ns) / period;
    int64_t last = (int64_t)((uint64_t)slot_ns + passed * period);
    /* Jitter is less than a period, so only the last of them may still be to come. */
    return passed > 0 && !has_come(job, last, until_ns) ? passed - 1 : passed;
}

/* The slot `count` periods on; it has come, so it does not overflow. */
static int64_t every_slot(const bly_series *series, int64_t slot_ns, uint64_t count)
{
    return (int64_t)((uint64_t)slot_ns + count * (uint64_t)period_of(series));
}

/*
 * The first slot from `slot_ns` on that has not come by until_ns. Counts those that have in
 * *passed. Past BELAY_SCHED_SLOTS_MAX of them it goes on from the present instead.
 */
static int64_t step_past(const bly_job *job, int64_t slot_ns, int64_t until_ns, int64_t now_ns,
                         uint64_t *passed)
{
    if (is_every(job->series) && has_come(job, slot_ns, until_ns)) {
        uint64_t more = every_passed(job, slot_ns, until_ns);
        *passed += more + 1;
        return ask(job, every_slot(job->series, slot_ns, more), now_ns);
    }
    for (uint32_t asked = 0; has_come(job, slot_ns, until_ns); asked++) {
        (*passed)++;
        if (asked == BELAY_SCHED_SLOTS_MAX) {
            return ask(job, slot_ns > now_ns ? slot_ns : now_ns, now_ns);
        }
        slot_ns = ask(job, slot_ns, now_ns);
    }
    return slot_ns;
}

/* How many of the slots that have come, `passed` of them after the first, the policy gives up. */
static uint64_t given_up(const bly_series *series, uint64_t passed)
{
    if (series->policy != BELAY_MISSED_ALL) {
        return passed;
    }
    return passed >= series->missed_max ? passed + 1 - series->missed_max : 0;
}

/* Whether a slot of a SKIP series is too late to run at all. */
static bool is_too_late(const bly_job *job, int64_t slot_ns, int64_t now_ns)
{
    const bly_series *series = job->series;
    if (series->policy != BELAY_MISSED_SKIP || series->late_max_ns == BELAY_FOREVER) {
        return false;
    }
    return belay_time_add(bly_job_start_of(job, slot_ns), series->late_max_ns) < now_ns;
}

bool bly_series_settle(belay_claim *claim, int64_t *ret_next_ns)
{
    bly_job *job = claim->job;
    bly_series *series = job->series;
    if (series == NULL) {
        return true;
    }
    int64_t now = claim->claimed_ns;
    if (is_every(series)) {
        uint64_t missed = given_up(series, every_passed(job, claim->slot_ns, now));
        claim->slot_ns = every_slot(series, claim->slot_ns, missed);
        claim->missed += missed;
    }
    if (!is_too_late(job, claim->slot_ns, now)) {
        return true;
    }
    series->missed = claim->missed + 1;
    *ret_next_ns = step_past(job, ask(job, claim->slot_ns, now), now, now, &series->missed);
    return false;
}

/* ALL, of any `next`: gives up the oldest of the slots that have come, beyond missed_max. */
static int64_t keep_last(const bly_job *job, int64_t first_ns, int64_t now_ns, uint64_t *missed)
{
    uint64_t come = 0;
    int64_t after = step_past(job, first_ns, now_ns, now_ns, &come);
    if (come > BELAY_SCHED_SLOTS_MAX) {
        *missed += come;
        return after;
    }
    uint64_t surplus = come > job->series->missed_max ? come - job->series->missed_max : 0;
    *missed += surplus;
    for (uint64_t i = 0; i < surplus; i++) {
        first_ns = ask(job, first_ns, now_ns);
    }
    return first_ns;
}

int64_t bly_series_next(const belay_claim *claim, int64_t now_ns, uint64_t *missed)
{
    const bly_job *job = claim->job;
    const bly_series *series = job->series;
    int64_t next = ask(job, claim->slot_ns, now_ns);
    if (is_every(series) && series->policy != BELAY_MISSED_SKIP) {
        return next; /* what has come is counted when it is claimed */
    }
    switch (series->policy) {
    case BELAY_MISSED_SKIP:
        return step_past(job, next, now_ns, now_ns, missed);
    case BELAY_MISSED_ALL:
        return keep_last(job, next, now_ns, missed);
    default:
        return step_past(job, next, claim->claimed_ns, now_ns, missed);
    }
}
