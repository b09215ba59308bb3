#include "time/parker.h"

#include "deliver/deliver.h"
#include "sync/sync.h"
#include "fault.h"
#include "unit.h"

#include <sys/wait.h>
#include <unistd.h>

/* The fork hook that was registered last. */
static bly_fork_hook *registered;

void __real_bly_at_fork(bly_fork_hook *hook);
void __wrap_bly_at_fork(bly_fork_hook *hook);

void __wrap_bly_at_fork(bly_fork_hook *hook)
{
    registered = hook;
    __real_bly_at_fork(hook);
}

START_TEST(self_is_one_parker_a_thread)
{
    bly_parker *parker = bly_parker_self();
    ck_assert_ptr_nonnull(parker);
    ck_assert_ptr_eq(bly_parker_self(), parker);
}
END_TEST

START_TEST(an_unpark_before_the_park_is_consumed_by_it)
{
    belay_clock *clock = belay_clock_system();
    bly_parker *parker = bly_parker_self();
    bly_unpark(parker, clock);
    bly_unpark(parker, clock);
    ck_assert_int_eq(bly_park(parker, clock, BELAY_FOREVER), 0);
    ck_assert_int_eq(bly_park(parker, clock, BELAY_NOW), BELAY_ETIMEDOUT);
}
END_TEST

START_TEST(reset_forgets_an_unpark)
{
    belay_clock *clock = belay_clock_system();
    bly_parker *parker = bly_parker_self();
    bly_unpark(parker, clock);
    bly_parker_reset(parker);
    ck_assert_int_eq(bly_park(parker, clock, BELAY_NOW), BELAY_ETIMEDOUT);
}
END_TEST

START_TEST(reset_inside_an_inline_callback_keeps_the_unpark_of_the_wait_around_it)
{
    belay_clock *clock = belay_clock_system();
    bly_parker *parker = bly_parker_self();
    bool is_outermost = bly_deliver_hold();
    bly_unpark(parker, clock);
    bly_parker_reset(parker);
    bly_deliver_release(is_outermost);
    ck_assert_int_eq(bly_park(parker, clock, BELAY_NOW), 0);
}
END_TEST

START_TEST(park_times_out_at_its_deadline)
{
    belay_clock *clock = belay_clock_system();
    int64_t until_ns = belay_time_add(belay_clock_now(clock), 1000000);
    bly_parker *parker = bly_parker_self();
    int result = 0;
    while (result == 0) {
        result = bly_park(parker, clock, until_ns);
    }
    ck_assert_int_eq(result, BELAY_ETIMEDOUT);
    ck_assert_int_ge(belay_clock_now(clock), until_ns);
}
END_TEST

/* Two threads that hand a turn back and forth. */
typedef struct turns {
    bly_parker *parker[2]; /* atomic: each thread sets its own */
    uint32_t turn;         /* atomic: whose turn it is */
} turns;

#define ROUNDS 2000

static void play(turns *self, uint32_t side)
{
    belay_clock *clock = belay_clock_system();
    bly_parker *parker = bly_parker_self();
    bly_store(&self->parker[side], parker, BLY_SEQ_CST);
    for (int i = 0; i < ROUNDS; i++) {
        while (bly_load(&self->turn, BLY_SEQ_CST) != side) {
            (void)bly_park(parker, clock, BELAY_FOREVER);
        }
        bly_store(&self->turn, 1 - side, BLY_SEQ_CST);
        bly_parker *other = bly_load(&self->parker[1 - side], BLY_SEQ_CST);
        if (other != NULL) {
            bly_unpark(other, clock);
        }
    }
}

static void play_second(void *arg)
{
    play(arg, 1);
}

START_TEST(no_unpark_is_lost_between_two_threads)
{
    turns self = {.turn = 0};
    bly_thread thread;
    bly_store(&self.parker[0], bly_parker_self(), BLY_RELEASE);
    ck_assert_int_eq(bly_thread_create(&thread, NULL, play_second, &self), 0);
    play(&self, 0);
    bly_thread_join(&thread);
    ck_assert_uint_eq(self.turn, 0);
}
END_TEST

static void note_parker(void *arg)
{
    *(bly_parker **)arg = bly_parker_self();
}

START_TEST(the_parker_of_an_ended_thread_is_used_again)
{
    bly_parker *first = NULL, *second = NULL;
    bly_thread thread;
    ck_assert_int_eq(bly_thread_create(&thread, NULL, note_parker, &first), 0);
    bly_thread_join(&thread);
    bly_unpark(first, belay_clock_system());
    ck_assert_int_eq(bly_thread_create(&thread, NULL, note_parker, &second), 0);
    bly_thread_join(&thread);
    ck_assert_ptr_nonnull(first);
    ck_assert_ptr_eq(second, first);
}
END_TEST

START_TEST(self_without_memory_is_null_and_can_be_asked_again)
{
    fault_alloc_once(1);
    ck_assert_ptr_null(bly_parker_self());
    ck_assert_ptr_nonnull(bly_parker_self());
}
END_TEST

static int blocks, unblocks;

static void count_begin(void)
{
    blocks++;
    ck_assert_int_eq(unblocks, blocks - 1);
}

static void count_end(void)
{
    unblocks++;
}

START_TEST(park_announces_itself_as_blocking_when_it_sleeps)
{
    static const bly_blocking_hook hook = {.begin = count_begin, .end = count_end};
    belay_clock *clock = belay_clock_system();
    bly_parker *parker = bly_parker_self();
    bly_blocking_install(&hook);
    bly_unpark(parker, clock);
    ck_assert_int_eq(bly_park(parker, clock, BELAY_FOREVER), 0);
    ck_assert_int_eq(blocks, 0);
    ck_assert_int_eq(bly_park(parker, clock, BELAY_NOW), BELAY_ETIMEDOUT);
    ck_assert_int_eq(blocks, 1);
    ck_assert_int_eq(unblocks, 1);
}
END_TEST

/* The list of unused parkers is locked over a fork, and open in both processes after it. */
START_TEST(a_forked_child_finds_the_unused_parkers)
{
    bly_parker *first = NULL, *second = NULL;
    bly_thread thread;
    ck_assert_int_eq(bly_thread_create(&thread, NULL, note_parker, &first), 0);
    bly_thread_join(&thread);
    ck_assert_ptr_nonnull(registered);
    pid_t child = fork();
    if (child == 0) {
        note_parker(&second);
        _exit(second == first ? 0 : 1);
    }
    int status = -1;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    note_parker(&second);
    ck_assert_ptr_eq(second, first);
}
END_TEST

UNIT_MAIN("time/parker", self_is_one_parker_a_thread, an_unpark_before_the_park_is_consumed_by_it,
          reset_forgets_an_unpark,
          reset_inside_an_inline_callback_keeps_the_unpark_of_the_wait_around_it,
          park_times_out_at_its_deadline, no_unpark_is_lost_between_two_threads,
          the_parker_of_an_ended_thread_is_used_again,
          self_without_memory_is_null_and_can_be_asked_again,
          park_announces_itself_as_blocking_when_it_sleeps, a_forked_child_finds_the_unused_parkers)
