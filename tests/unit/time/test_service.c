#include "time/timers_int.h"

#include "belay/test.h"
#include "deliver/deliver.h"
#include "fault.h"
#include "unit.h"

#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define USES 94

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

START_TEST(create_refuses_bad_arguments)
{
    belay_timers *timers = NULL;
    belay_timers_opts opts = {.size = sizeof opts, .is_polled = 2};
    ck_assert_int_eq(belay_timers_create(&opts, NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_timers_create(&opts, &timers), BELAY_EINVAL);
    opts = (belay_timers_opts){.size = 1};
    ck_assert_int_eq(belay_timers_create(&opts, &timers), BELAY_EINVAL);
    ck_assert_ptr_null(timers);
}
END_TEST

START_TEST(create_without_options_starts_and_destroy_joins)
{
    belay_timers *timers = NULL;
    ck_assert_int_eq(belay_timers_create(NULL, &timers), 0);
    ck_assert_int_eq(belay_timers_next_deadline(timers), BELAY_FOREVER);
    ck_assert_int_eq(belay_timers_destroy(timers), 0);
    ck_assert_int_eq(belay_timers_destroy(NULL), 0);
}
END_TEST

START_TEST(destroy_of_a_used_service_is_busy)
{
    belay_timers *timers = NULL, *used = NULL;
    ck_assert_int_eq(belay_timers_create(NULL, &timers), 0);
    ck_assert_int_eq(bly_timers_use(timers, NULL, &used), 0);
    ck_assert_ptr_eq(used, timers);
    ck_assert_int_eq(belay_timers_destroy(timers), BELAY_EBUSY);
    bly_timers_unuse(used);
    ck_assert_int_eq(belay_timers_destroy(timers), 0);
}
END_TEST

START_TEST(use_with_another_clock_is_refused)
{
    belay_clock other = *belay_clock_system();
    belay_timers *timers = NULL, *used = NULL;
    ck_assert_int_eq(belay_timers_create(NULL, &timers), 0);
    ck_assert_int_eq(bly_timers_use(timers, &other, &used), BELAY_EINVAL);
    ck_assert_ptr_null(used);
    ck_assert_int_eq(belay_timers_destroy(timers), 0);
}
END_TEST

START_TEST(one_service_is_shared_for_each_clock)
{
    belay_clock other = *belay_clock_system();
    belay_timers *first = NULL, *second = NULL, *third = NULL;
    ck_assert_int_eq(bly_timers_use(NULL, NULL, &first), 0);
    ck_assert_int_eq(bly_timers_use(NULL, belay_clock_system(), &second), 0);
    ck_assert_int_eq(bly_timers_use(NULL, &other, &third), 0);
    ck_assert_ptr_eq(first, second);
    ck_assert_ptr_ne(first, third);
    ck_assert_ptr_eq(third->clock, &other);
    bly_timers_unuse(third);
    bly_timers_unuse(second);
    bly_timers_unuse(first);
}
END_TEST

/* Something that gives up its use of a shared service in its callback. */
typedef struct leaver {
    bly_timer timer;
    belay_task task;
    belay_timers *timers;
    uint32_t has_left; /* atomic */
} leaver;

static void leaver_run(belay_task *task)
{
    leaver *self = bly_container(task, leaver, task);
    bly_timer_disarm_wait(&self->timer);
    bly_timers_unuse(self->timers);
    set_flag(&self->has_left);
}

static void leaver_fire(bly_timer *timer)
{
    leaver *self = bly_container(timer, leaver, timer);
    bly_deliver_push(&self->task);
    bly_deliver_run();
}

START_TEST(the_last_use_may_end_on_the_service_s_own_thread)
{
    for (int i = 0; i < 100; i++) {
        leaver self = {.task = {.run = leaver_run}};
        ck_assert_int_eq(bly_timers_use(NULL, NULL, &self.timers), 0);
        bly_timer_init(&self.timer, self.timers, leaver_fire);
        bly_timer_arm(&self.timer, BELAY_NOW);
        await_flag(&self.has_left);
    }
}
END_TEST

START_TEST(the_last_use_may_end_in_an_inline_callback_elsewhere)
{
    leaver self = {.task = {.run = leaver_run}};
    ck_assert_int_eq(bly_timers_use(NULL, NULL, &self.timers), 0);
    bly_timer_init(&self.timer, self.timers, leaver_fire);
    bly_deliver_push(&self.task);
    bly_deliver_run();
    ck_assert_uint_eq(self.has_left, 1);
}
END_TEST

static int destroyed;
static belay_timers *to_destroy;

static void destroy_run(belay_task *task)
{
    (void)task;
    destroyed = belay_timers_destroy(to_destroy);
}

START_TEST(destroy_in_an_inline_callback_would_wait_and_is_refused)
{
    belay_task task = {.run = destroy_run};
    ck_assert_int_eq(belay_timers_create(NULL, &to_destroy), 0);
    bly_deliver_push(&task);
    bly_deliver_run();
    ck_assert_int_eq(destroyed, BELAY_EDEADLK);
    ck_assert_int_eq(belay_timers_destroy(to_destroy), 0);
}
END_TEST

static void use_and_unuse(void *arg)
{
    (void)arg;
    for (int i = 0; i < 200; i++) {
        belay_timers *timers = NULL;
        ck_assert_int_eq(bly_timers_use(NULL, NULL, &timers), 0);
        ck_assert_ptr_nonnull(timers);
        bly_timers_unuse(timers);
    }
}

START_TEST(first_and_last_uses_race)
{
    bly_thread thread;
    ck_assert_int_eq(bly_thread_create(&thread, NULL, use_and_unuse, NULL), 0);
    use_and_unuse(NULL);
    bly_thread_join(&thread);
}
END_TEST

static void child_of_fork(belay_timers *inherited)
{
    belay_timers *timers = NULL;
    leaver self = {.task = {.run = leaver_run}};
    bool is_fine = bly_timers_use(NULL, NULL, &timers) == 0 && timers != inherited;
    self.timers = timers;
    bly_timer_init(&self.timer, timers, leaver_fire);
    bly_timer_arm(&self.timer, BELAY_NOW);
    await_flag(&self.has_left);
    bly_timers_unuse(inherited);
    _exit(is_fine ? 0 : 1);
}

typedef struct beat {
    bly_timer timer;
    uint32_t has_come;
} beat;

static void beat_fire(bly_timer *timer)
{
    set_flag(&bly_container(timer, beat, timer)->has_come);
}

/*
 * Returns once the service's thread has begun. A thread that is only being started may hold a lock
 * of the address sanitizer's allocator, which a child forked then would find taken for ever.
 */
static void await_service_thread(belay_timers *timers)
{
    beat first = {0};
    bly_timer_init(&first.timer, timers, beat_fire);
    bly_timer_arm(&first.timer, BELAY_NOW);
    await_flag(&first.has_come);
    bly_timer_disarm_wait(&first.timer);
}

START_TEST(a_forked_child_has_a_service_of_its_own_and_joins_none)
{
    belay_timers *timers = NULL;
    ck_assert_int_eq(bly_timers_use(NULL, NULL, &timers), 0);
    await_service_thread(timers);
    pid_t child = fork();
    if (child == 0) {
        child_of_fork(timers);
    }
    int status = -1;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    bly_timers_unuse(timers);
}
END_TEST

START_TEST(create_without_memory_or_thread_leaves_nothing)
{
    belay_timers *timers = NULL;
    fault_alloc_once(1);
    ck_assert_int_eq(belay_timers_create(NULL, &timers), BELAY_ENOMEM);
    fault_thread_once(1);
    ck_assert_int_eq(belay_timers_create(NULL, &timers), BELAY_EAGAIN);
    ck_assert_ptr_null(timers);
}
END_TEST

START_TEST(a_first_use_that_fails_leaves_nothing_shared)
{
    belay_timers *timers = NULL;
    for (uint32_t call = 1; call <= 2; call++) {
        fault_alloc_once(call);
        ck_assert_int_eq(bly_timers_use(NULL, NULL, &timers), BELAY_ENOMEM);
        ck_assert_uint_eq(fault_alloc_stop(), 1);
    }
    fault_thread_once(1);
    ck_assert_int_eq(bly_timers_use(NULL, NULL, &timers), BELAY_EAGAIN);
    ck_assert_ptr_null(timers);
    ck_assert_int_eq(bly_timers_use(NULL, NULL, &timers), 0);
    bly_timers_unuse(timers);
}
END_TEST

START_TEST(a_use_that_fails_leaves_the_others)
{
    belay_timers *timers = NULL, *second = NULL;
    ck_assert_int_eq(belay_timers_create(NULL, &timers), 0);
    fault_alloc_once(1);
    ck_assert_int_eq(bly_timers_use(timers, NULL, &second), BELAY_ENOMEM);
    ck_assert_ptr_null(second);
    ck_assert_uint_eq(timers->room, 0);
    ck_assert_int_eq(belay_timers_destroy(timers), 0);
}
END_TEST

/* What a service's thread says of itself. */
typedef struct portrait {
    bly_timer timer;
    char name[16];
    int slack_ns;
    uint32_t has_come; /* atomic */
} portrait;

static void draw(bly_timer *timer)
{
    portrait *self = bly_container(timer, portrait, timer);
    (void)prctl(PR_GET_NAME, self->name);
    self->slack_ns = prctl(PR_GET_TIMERSLACK);
    set_flag(&self->has_come);
}

static void draw_thread_of(belay_timers *timers, portrait *ret_portrait)
{
    belay_timers *used = NULL;
    memset(ret_portrait, 0, sizeof *ret_portrait);
    ck_assert_int_eq(bly_timers_use(timers, NULL, &used), 0);
    bly_timer_init(&ret_portrait->timer, used, draw);
    bly_timer_arm(&ret_portrait->timer, BELAY_NOW);
    await_flag(&ret_portrait->has_come);
    bly_timer_disarm_wait(&ret_portrait->timer);
    bly_timers_unuse(used);
}

START_TEST(the_thread_has_the_name_given_and_wakes_on_time)
{
    belay_timers_opts opts = {.size = sizeof opts, .name = "mine"};
    belay_timers *timers = NULL;
    portrait drawn;
    ck_assert_int_eq(belay_timers_create(&opts, &timers), 0);
    draw_thread_of(timers, &drawn);
    ck_assert_str_eq(drawn.name, "mine");
    ck_assert_int_eq(drawn.slack_ns, 1);
    ck_assert_int_eq(belay_timers_destroy(timers), 0);
    draw_thread_of(NULL, &drawn);
    ck_assert_str_eq(drawn.name, "belay-timers");
}
END_TEST

START_TEST(a_forked_child_ends_the_services_that_it_makes)
{
    pid_t child = fork();
    if (child == 0) {
        belay_clock *clock = NULL;
        belay_timers *timers = NULL;
        bool is_fine = belay_manual_clock_create(0, 0, &clock) == 0 &&
                       bly_timers_use(NULL, clock, &timers) == 0;
        bly_timers_unuse(timers);
        is_fine = is_fine && belay_manual_clock_destroy(clock) == 0;
        _exit(is_fine ? 0 : 1);
    }
    int status = -1;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}
END_TEST

static void beat_never(bly_timer *timer)
{
    (void)timer;
}

START_TEST(a_service_has_room_for_one_timer_a_use)
{
    static bly_timer armed[USES - 1];
    belay_timers_opts opts = {.size = sizeof opts, .is_polled = 1};
    belay_timers *timers = NULL, *used = NULL;
    ck_assert_int_eq(belay_timers_create(&opts, &timers), 0);
    for (int i = 0; i < USES; i++) {
        ck_assert_int_eq(bly_timers_use(timers, NULL, &used), 0);
        if (i < USES - 1) {
            bly_timer_init(&armed[i], used, beat_never);
            bly_timer_arm(&armed[i], 1 + i);
        }
    }
    ck_assert_uint_eq(timers->room, USES);
    /* The last use made it grow, to the next size and no further. */
    ck_assert_uint_eq(bly_chunks_capacity(&timers->armed.slots), 224);
    for (int i = 0; i < USES; i++) {
        if (i < USES - 1) {
            bly_timer_disarm_wait(&armed[i]);
        }
        bly_timers_unuse(used);
    }
    ck_assert_uint_eq(timers->room, 0);
    ck_assert_int_eq(belay_timers_destroy(timers), 0);
}
END_TEST

UNIT_MAIN("time/service", create_refuses_bad_arguments,
          create_without_options_starts_and_destroy_joins, destroy_of_a_used_service_is_busy,
          use_with_another_clock_is_refused, one_service_is_shared_for_each_clock,
          the_last_use_may_end_on_the_service_s_own_thread,
          the_last_use_may_end_in_an_inline_callback_elsewhere,
          destroy_in_an_inline_callback_would_wait_and_is_refused, first_and_last_uses_race,
          UNIT_UNLESS_TSAN(a_forked_child_has_a_service_of_its_own_and_joins_none),
          create_without_memory_or_thread_leaves_nothing,
          a_first_use_that_fails_leaves_nothing_shared, a_use_that_fails_leaves_the_others,
          the_thread_has_the_name_given_and_wakes_on_time,
          a_forked_child_ends_the_services_that_it_makes, a_service_has_room_for_one_timer_a_use)
