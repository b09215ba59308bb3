#include "time/timers.h"

#include "base/opts.h"
#include "deliver/deliver.h"
#include "sync/sync.h"
#include "unit.h"

#include <string.h>

#define MANY 200

/* A timer that notes when it fired, and may arm itself or another one again. */
typedef struct probe {
    bly_timer timer;
    belay_task task; /* delivered by the function when its run is set */
    int order;       /* of the last call */
    int calls;
    int64_t again_ns;    /* the function arms this timer again; BELAY_FOREVER: it does not */
    struct probe *other; /* the function arms this one for other_ns */
    int64_t other_ns;
} probe;

static int calls;
static belay_timers *timers;
static int uses;

/* One more use of the service, which has room for one timer; NULL: the shared one. */
static void use(belay_timers *service)
{
    ck_assert_int_eq(bly_timers_use(service, NULL, &timers), 0);
    uses++;
}

static void end_uses(void)
{
    for (; uses > 0; uses--) {
        bly_timers_unuse(timers);
    }
}

static void probe_fire(bly_timer *timer)
{
    probe *self = bly_container(timer, probe, timer);
    self->order = ++calls;
    self->calls++;
    int64_t again_ns = self->again_ns;
    self->again_ns = BELAY_FOREVER;
    bly_timer_arm(timer, again_ns);
    if (self->other != NULL) {
        bly_timer_arm(&self->other->timer, self->other_ns);
    }
    if (self->task.run != NULL) {
        bly_deliver_push(&self->task);
        bly_deliver_run();
    }
}

static void probe_init(probe *self)
{
    *self = (probe){.again_ns = BELAY_FOREVER};
    use(timers);
    bly_timer_init(&self->timer, timers, probe_fire);
}

static void use_polled(void)
{
    belay_timers_opts opts = {.size = sizeof opts, .is_polled = 1};
    ck_assert_int_eq(belay_timers_create(&opts, &timers), 0);
    use(timers);
}

static void end_service(void)
{
    end_uses();
    ck_assert_int_eq(belay_timers_destroy(timers), 0);
}

START_TEST(poll_fires_what_is_due_in_order_of_deadlines)
{
    use_polled();
    probe late, early, future;
    probe_init(&late);
    probe_init(&early);
    probe_init(&future);
    bly_timer_arm(&late.timer, 20);
    bly_timer_arm(&early.timer, 10);
    bly_timer_arm(&future.timer, 21);
    ck_assert_int_eq(belay_timers_poll(timers, 9), 0);
    ck_assert_int_eq(belay_timers_poll(timers, 20), 2);
    ck_assert_int_eq(early.order, 1);
    ck_assert_int_eq(late.order, 2);
    ck_assert_int_eq(future.calls, 0);
    bly_timer_disarm_wait(&future.timer);
    end_service();
}
END_TEST

START_TEST(equal_deadlines_fire_in_order_of_arming)
{
    use_polled();
    probe probes[MANY];
    for (int i = 0; i < MANY; i++) {
        probe_init(&probes[i]);
    }
    for (int i = MANY - 1; i >= 0; i--) {
        bly_timer_arm(&probes[i].timer, 10);
    }
    bly_timer_arm(&probes[MANY - 1].timer, 10);
    ck_assert_int_eq(belay_timers_poll(timers, 10), MANY);
    for (int i = 0; i < MANY - 1; i++) {
        ck_assert_int_eq(probes[i].order, MANY - 1 - i);
    }
    ck_assert_int_eq(probes[MANY - 1].order, MANY);
    end_service();
}
END_TEST

/* A fixed generator, so that a failure can be seen again. */
static int64_t next_deadline(uint64_t *state)
{
    return (int64_t)(bly_random(state) % (MANY * 4));
}

START_TEST(random_arming_and_disarming_matches_a_sorted_list)
{
    use_polled();
    uint64_t state = 7;
    probe probes[MANY];
    int64_t deadline_ns[MANY];
    for (int i = 0; i < MANY; i++) {
        probe_init(&probes[i]);
    }
    for (int i = 0; i < MANY * 8; i++) {
        int place = i % MANY;
        deadline_ns[place] = i % 5 == 0 ? BELAY_FOREVER : next_deadline(&state);
        bly_timer_arm(&probes[place].timer, deadline_ns[place]);
    }
    int64_t earliest = BELAY_FOREVER;
    for (int i = 0; i < MANY; i++) {
        earliest = deadline_ns[i] < earliest ? deadline_ns[i] : earliest;
    }
    ck_assert_int_eq(belay_timers_next_deadline(timers), earliest);
    ck_assert_int_gt(belay_timers_poll(timers, MANY * 4), 0);
    for (int i = 0; i < MANY; i++) {
        ck_assert_int_eq(probes[i].calls, deadline_ns[i] != BELAY_FOREVER);
        for (int j = 0; j < MANY; j++) {
            if (deadline_ns[i] < deadline_ns[j] && probes[j].calls == 1) {
                ck_assert_int_lt(probes[i].order, probes[j].order);
            }
        }
    }
    end_service();
}
END_TEST

START_TEST(arm_moves_the_deadline_either_way)
{
    use_polled();
    probe only;
    probe_init(&only);
    bly_timer_arm(&only.timer, 10);
    bly_timer_arm(&only.timer, 30);
    ck_assert_int_eq(belay_timers_next_deadline(timers), 30);
    ck_assert_int_eq(belay_timers_poll(timers, 20), 0);
    bly_timer_arm(&only.timer, 20);
    ck_assert_int_eq(belay_timers_poll(timers, 20), 1);
    ck_assert_int_eq(belay_timers_poll(timers, 40), 0);
    ck_assert_int_eq(only.calls, 1);
    end_service();
}
END_TEST

START_TEST(a_disarmed_timer_does_not_fire)
{
    use_polled();
    probe gone, forever;
    probe_init(&gone);
    probe_init(&forever);
    bly_timer_arm(&gone.timer, 10);
    bly_timer_disarm(&gone.timer);
    bly_timer_disarm(&gone.timer);
    bly_timer_arm(&forever.timer, 10);
    bly_timer_arm(&forever.timer, BELAY_FOREVER);
    ck_assert_int_eq(belay_timers_next_deadline(timers), BELAY_FOREVER);
    ck_assert_int_eq(belay_timers_poll(timers, 10), 0);
    end_service();
}
END_TEST

START_TEST(a_deadline_of_now_fires_at_the_next_poll)
{
    use_polled();
    probe only;
    probe_init(&only);
    bly_timer_arm(&only.timer, BELAY_NOW);
    ck_assert_int_eq(belay_timers_next_deadline(timers), BELAY_NOW);
    ck_assert_int_eq(belay_timers_poll(timers, 0), 1);
    end_service();
}
END_TEST

START_TEST(a_function_may_arm_its_timer_again)
{
    use_polled();
    probe only;
    probe_init(&only);
    only.again_ns = 15;
    bly_timer_arm(&only.timer, 10);
    ck_assert_int_eq(belay_timers_poll(timers, 12), 1);
    ck_assert_int_eq(belay_timers_next_deadline(timers), 15);
    only.again_ns = 15;
    ck_assert_int_eq(belay_timers_poll(timers, 15), 2);
    ck_assert_int_eq(only.calls, 3);
    end_service();
}
END_TEST

START_TEST(what_a_function_arms_in_the_past_fires_in_the_same_poll)
{
    use_polled();
    probe first, second;
    probe_init(&first);
    probe_init(&second);
    first.other = &second;
    first.other_ns = 5;
    bly_timer_arm(&first.timer, 10);
    ck_assert_int_eq(belay_timers_poll(timers, 10), 2);
    ck_assert_int_eq(second.order, 2);
    end_service();
}
END_TEST

START_TEST(a_reading_that_steps_back_is_held_and_counted)
{
    use_polled();
    probe only;
    probe_init(&only);
    belay_timers_metrics stats = {.size = sizeof stats};
    ck_assert_int_eq(belay_timers_poll(timers, 100), 0);
    bly_timer_arm(&only.timer, 90);
    ck_assert_int_eq(belay_timers_poll(timers, 50), 1);
    ck_assert_int_eq(belay_timers_poll(timers, 100), 0);
    ck_assert_int_eq(belay_timers_stats(timers, &stats), 0);
    ck_assert_uint_eq(stats.steps_back, 1);
    end_service();
}
END_TEST

START_TEST(stats_tell_how_late_timers_fired_that_were_armed_ahead)
{
    use_polled();
    probe ahead, behind, waiting;
    probe_init(&ahead);
    probe_init(&behind);
    probe_init(&waiting);
    ck_assert_int_eq(belay_timers_poll(timers, 1000), 0);
    bly_timer_arm(&ahead.timer, 1005);
    bly_timer_arm(&behind.timer, 3);
    bly_timer_arm(&waiting.timer, 2000);
    ck_assert_int_eq(belay_timers_poll(timers, 1012), 2);
    belay_timers_metrics stats = {.size = sizeof stats};
    ck_assert_int_eq(belay_timers_stats(timers, &stats), 0);
    ck_assert_uint_eq(stats.armed, 1);
    ck_assert_uint_eq(stats.fired, 2);
    ck_assert_uint_eq(stats.steps_back, 0);
    ck_assert_int_eq(stats.lateness_p50_ns, 7);
    ck_assert_int_eq(stats.lateness_p99_ns, 7);
    ck_assert_int_eq(stats.lateness_max_ns, 7);
    bly_timer_disarm_wait(&waiting.timer);
    end_service();
}
END_TEST

START_TEST(stats_write_no_more_than_the_caller_knows)
{
    use_polled();
    belay_timers_metrics stats;
    memset(&stats, 0xee, sizeof stats);
    stats.size = offsetof(belay_timers_metrics, fired);
    ck_assert_int_eq(belay_timers_stats(timers, &stats), 0);
    ck_assert_uint_eq(stats.size, offsetof(belay_timers_metrics, fired));
    ck_assert_uint_eq(stats.armed, 0);
    ck_assert_uint_eq(stats.fired, UINT64_C(0xeeeeeeeeeeeeeeee));
    stats.size = 3;
    ck_assert_int_eq(belay_timers_stats(timers, &stats), BELAY_EINVAL);
    ck_assert_int_eq(belay_timers_stats(timers, NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_timers_stats(NULL, &stats), BELAY_EINVAL);
    end_service();
}
END_TEST

START_TEST(a_timer_armed_for_the_last_reading_is_not_late)
{
    use_polled();
    probe only;
    probe_init(&only);
    ck_assert_int_eq(belay_timers_poll(timers, 100), 0);
    bly_timer_arm(&only.timer, 100);
    ck_assert_int_eq(belay_timers_poll(timers, 150), 1);
    belay_timers_metrics stats = {.size = sizeof stats};
    ck_assert_int_eq(belay_timers_stats(timers, &stats), 0);
    ck_assert_int_eq(stats.lateness_max_ns, 0);
    end_service();
}
END_TEST

START_TEST(stats_clear_what_the_caller_knows_beyond_the_library)
{
    use_polled();
    struct {
        belay_timers_metrics known;
        char rest[BLY_OPTS_SIZE_MAX - sizeof(belay_timers_metrics)];
    } stats;
    memset(&stats, 0xee, sizeof stats);
    stats.known.size = sizeof stats;
    ck_assert_int_eq(belay_timers_stats(timers, &stats.known), 0);
    ck_assert_uint_eq(stats.known.size, sizeof stats);
    for (size_t i = 0; i < sizeof stats.rest; i++) {
        ck_assert_int_eq(stats.rest[i], 0);
    }
    stats.known.size = sizeof stats + 1;
    ck_assert_int_eq(belay_timers_stats(timers, &stats.known), BELAY_EINVAL);
    stats.known.size = sizeof stats.known.size;
    ck_assert_int_eq(belay_timers_stats(timers, &stats.known), 0);
    end_service();
}
END_TEST

static int polled_inside;

static void poll_run(belay_task *task)
{
    (void)task;
    polled_inside = belay_timers_poll(timers, 100);
}

START_TEST(poll_from_a_callback_of_poll_is_busy)
{
    use_polled();
    probe only;
    probe_init(&only);
    only.task.run = poll_run;
    bly_timer_arm(&only.timer, 10);
    ck_assert_int_eq(belay_timers_poll(timers, 10), 1);
    ck_assert_int_eq(polled_inside, BELAY_EBUSY);
    end_service();
}
END_TEST

static int destroyed_inside;

static void destroy_run(belay_task *task)
{
    probe *self = bly_container(task, probe, task);
    bly_timer_disarm_wait(&self->timer);
    end_uses();
    destroyed_inside = belay_timers_destroy(timers);
    free(self);
}

START_TEST(destroy_from_a_callback_of_poll_is_busy)
{
    use_polled();
    probe *only = malloc(sizeof *only);
    probe_init(only);
    only->task.run = destroy_run;
    bly_timer_arm(&only->timer, 10);
    ck_assert_int_eq(belay_timers_poll(timers, 10), 1);
    ck_assert_int_eq(destroyed_inside, BELAY_EBUSY);
    ck_assert_int_eq(belay_timers_destroy(timers), 0);
}
END_TEST

static void free_itself(bly_timer *timer)
{
    probe *self = bly_container(timer, probe, timer);
    bly_timer_disarm_wait(timer);
    calls++;
    free(self);
}

START_TEST(a_function_may_disarm_for_good_and_free_its_timer)
{
    use_polled();
    probe *only = malloc(sizeof *only);
    bly_timer_init(&only->timer, timers, free_itself);
    bly_timer_arm(&only->timer, 10);
    ck_assert_int_eq(belay_timers_poll(timers, 10), 1);
    ck_assert_int_eq(calls, 1);
    end_service();
}
END_TEST

START_TEST(poll_refuses_bad_arguments)
{
    ck_assert_int_eq(belay_timers_poll(NULL, 0), BELAY_EINVAL);
    use_polled();
    ck_assert_int_eq(belay_timers_poll(timers, BELAY_FOREVER), BELAY_EINVAL);
    end_service();
    ck_assert_int_eq(belay_timers_create(NULL, &timers), 0);
    ck_assert_int_eq(belay_timers_poll(timers, 0), BELAY_EINVAL);
    ck_assert_int_eq(belay_timers_destroy(timers), 0);
}
END_TEST

/* A timer whose function waits at a gate, so that others meet it while it runs. */
typedef struct gated {
    bly_timer timer;
    uint32_t has_begun;   /* atomic: set by the function */
    uint32_t may_end;     /* atomic: set by the test */
    uint32_t has_ended;   /* atomic: set by the function */
    int64_t deadline_ns;  /* the function arms it again for this */
    uint32_t disarmed;    /* atomic: set by the thread that disarmed for good */
    bool ended_before_it; /* what that thread saw */
} gated;

static void set_flag(uint32_t *flag)
{
    bly_store(flag, 1u, BLY_RELEASE);
    bly_futex_wake(flag, BLY_WAKE_ALL);
}

static void await_flag(uint32_t *flag)
{
    while (bly_load(flag, BLY_ACQUIRE) == 0) {
        (void)bly_futex_wait(flag, 0, BELAY_FOREVER);
    }
}

static void gated_fire(bly_timer *timer)
{
    gated *self = bly_container(timer, gated, timer);
    set_flag(&self->has_begun);
    await_flag(&self->may_end);
    bly_timer_arm(timer, self->deadline_ns);
    bly_store(&self->has_ended, 1u, BLY_RELEASE);
}

static void disarm_gated(void *arg)
{
    gated *self = arg;
    bly_timer_disarm_wait(&self->timer);
    self->ended_before_it = bly_load(&self->has_ended, BLY_ACQUIRE) == 1;
    set_flag(&self->disarmed);
}

START_TEST(disarm_wait_returns_after_the_running_function_though_it_arms_again)
{
    use(NULL);
    gated timer = {.deadline_ns = BELAY_NOW};
    bly_timer_init(&timer.timer, timers, gated_fire);
    bly_timer_arm(&timer.timer, BELAY_NOW);
    await_flag(&timer.has_begun);
    bly_thread thread;
    ck_assert_int_eq(bly_thread_create(&thread, NULL, disarm_gated, &timer), 0);
    ck_assert_uint_eq(bly_load(&timer.disarmed, BLY_ACQUIRE), 0);
    set_flag(&timer.may_end);
    bly_thread_join(&thread);
    ck_assert(timer.ended_before_it);
    ck_assert_int_eq(belay_timers_next_deadline(timers), BELAY_FOREVER);
    end_uses();
}
END_TEST

START_TEST(disarm_returns_while_the_function_runs)
{
    use(NULL);
    gated timer = {.deadline_ns = BELAY_FOREVER};
    bly_timer_init(&timer.timer, timers, gated_fire);
    bly_timer_arm(&timer.timer, BELAY_NOW);
    await_flag(&timer.has_begun);
    bly_timer_disarm(&timer.timer);
    ck_assert_uint_eq(bly_load(&timer.has_ended, BLY_ACQUIRE), 0);
    set_flag(&timer.may_end);
    bly_timer_disarm_wait(&timer.timer);
    ck_assert_uint_eq(bly_load(&timer.has_ended, BLY_ACQUIRE), 1);
    end_uses();
}
END_TEST

static void wake_on_delivery(belay_task *task)
{
    probe *self = bly_container(task, probe, task);
    bly_timer_disarm_wait(&self->timer);
    set_flag((uint32_t *)&self->calls);
}

static void deliver_only(bly_timer *timer)
{
    probe *self = bly_container(timer, probe, timer);
    bly_deliver_push(&self->task);
    bly_deliver_run();
}

START_TEST(a_callback_on_the_service_s_thread_may_disarm_its_timer_for_good)
{
    use(NULL);
    probe only = {.task = {.run = wake_on_delivery}};
    bly_timer_init(&only.timer, timers, deliver_only);
    bly_timer_arm(&only.timer, BELAY_NOW);
    await_flag((uint32_t *)&only.calls);
    end_uses();
}
END_TEST

START_TEST(arming_earlier_wakes_the_sleeping_thread)
{
    use(NULL);
    gated far = {.may_end = 1, .deadline_ns = BELAY_FOREVER}, near = far;
    bly_timer_init(&far.timer, timers, gated_fire);
    use(timers);
    bly_timer_init(&near.timer, timers, gated_fire);
    bly_timer_arm(&far.timer, BELAY_FOREVER - 1);
    bly_timer_arm(&near.timer, belay_time_add(belay_clock_now(NULL), 1000000));
    await_flag(&near.has_begun);
    bly_timer_disarm_wait(&near.timer);
    bly_timer_disarm_wait(&far.timer);
    ck_assert_uint_eq(far.has_begun, 0);
    end_uses();
}
END_TEST

UNIT_MAIN("time/timers", poll_fires_what_is_due_in_order_of_deadlines,
          equal_deadlines_fire_in_order_of_arming,
          random_arming_and_disarming_matches_a_sorted_list, arm_moves_the_deadline_either_way,
          a_disarmed_timer_does_not_fire, a_deadline_of_now_fires_at_the_next_poll,
          a_function_may_arm_its_timer_again,
          what_a_function_arms_in_the_past_fires_in_the_same_poll,
          a_reading_that_steps_back_is_held_and_counted,
          stats_tell_how_late_timers_fired_that_were_armed_ahead,
          a_timer_armed_for_the_last_reading_is_not_late,
          stats_clear_what_the_caller_knows_beyond_the_library,
          stats_write_no_more_than_the_caller_knows, poll_from_a_callback_of_poll_is_busy,
          destroy_from_a_callback_of_poll_is_busy,
          a_function_may_disarm_for_good_and_free_its_timer, poll_refuses_bad_arguments,
          disarm_wait_returns_after_the_running_function_though_it_arms_again,
          disarm_returns_while_the_function_runs,
          a_callback_on_the_service_s_thread_may_disarm_its_timer_for_good,
          arming_earlier_wakes_the_sleeping_thread)
