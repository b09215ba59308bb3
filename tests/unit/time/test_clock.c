#include "belay/clock.h"

#include "sync/sync.h"
#include "unit.h"

#include <time.h>

static int64_t read_ns(clockid_t id)
{
    struct timespec now;
    ck_assert_int_eq(clock_gettime(id, &now), 0);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

START_TEST(the_system_s_clock_reads_the_machine_s)
{
    belay_clock *clock = belay_clock_system();
    int64_t before_ns = read_ns(CLOCK_MONOTONIC);
    int64_t now_ns = clock->now(clock);
    ck_assert_int_le(before_ns, now_ns);
    ck_assert_int_le(now_ns, read_ns(CLOCK_MONOTONIC));
    int64_t wall_ns = read_ns(CLOCK_REALTIME);
    ck_assert_int_le(wall_ns / 3600000000000, clock->wall(clock) / 3600000000000 + 1);
    ck_assert_ptr_eq(belay_clock_system(), clock);
}
END_TEST

START_TEST(the_coarse_reading_is_never_ahead)
{
    belay_clock *clock = belay_clock_system();
    for (int i = 0; i < 1000; i++) {
        int64_t coarse_ns = clock->now_coarse(clock);
        ck_assert_int_le(coarse_ns, clock->now(clock));
    }
}
END_TEST

START_TEST(no_clock_means_the_system_s)
{
    int64_t before_ns = read_ns(CLOCK_MONOTONIC);
    ck_assert_int_le(before_ns, belay_clock_now(NULL));
    ck_assert_int_gt(belay_clock_wall(NULL), 0);
    belay_clock *clock = belay_clock_system();
    ck_assert_int_le(before_ns, belay_clock_now(clock));
    ck_assert_int_gt(belay_clock_wall(clock), 0);
}
END_TEST

START_TEST(wait_answers_when_the_word_differs_or_the_time_has_come)
{
    belay_clock *clock = belay_clock_system();
    uint32_t word = 1;
    ck_assert_int_eq(clock->wait(clock, &word, 0, BELAY_FOREVER), 0);
    ck_assert_int_eq(clock->wait(clock, &word, 1, BELAY_NOW), BELAY_ETIMEDOUT);
    ck_assert_int_eq(clock->wait(clock, &word, 1, clock->now(clock)), BELAY_ETIMEDOUT);
}
END_TEST

static uint32_t word; /* atomic */

static void change_word(void *arg)
{
    belay_clock *clock = arg;
    bly_store(&word, 1u, BLY_RELEASE);
    clock->wake(clock, &word, 1);
}

START_TEST(wake_ends_a_wait)
{
    belay_clock *clock = belay_clock_system();
    bly_thread thread;
    ck_assert_int_eq(bly_thread_create(&thread, NULL, change_word, clock), 0);
    while (bly_load(&word, BLY_ACQUIRE) == 0) {
        ck_assert_int_eq(clock->wait(clock, &word, 0, BELAY_FOREVER), 0);
    }
    bly_thread_join(&thread);
}
END_TEST

UNIT_MAIN("time/clock", the_system_s_clock_reads_the_machine_s, the_coarse_reading_is_never_ahead,
          no_clock_means_the_system_s, wait_answers_when_the_word_differs_or_the_time_has_come,
          wake_ends_a_wait)
