/* What signals mean to a batch. */
#include "unit.h"

#include <signal.h>
#include <unistd.h>

#include "cli/signals.h"

START_TEST(interrupts_climb_a_ladder)
{
    struct bly_signals signals = {0};
    ck_assert_int_eq(bly_signals_mean(&signals, SIGINT), BLY_SIGNALS_WAIT);
    ck_assert_int_eq(bly_signals_mean(&signals, SIGTERM), BLY_SIGNALS_END);
    ck_assert_int_eq(bly_signals_mean(&signals, SIGINT), BLY_SIGNALS_KILL);
    ck_assert_int_eq(bly_signals_mean(&signals, SIGINT), BLY_SIGNALS_KILL);
    ck_assert_int_eq(signals.status, 130);
}
END_TEST

START_TEST(a_hangup_waits_however_often_it_comes)
{
    struct bly_signals signals = {0};
    ck_assert_int_eq(bly_signals_mean(&signals, SIGHUP), BLY_SIGNALS_WAIT);
    ck_assert_int_eq(bly_signals_mean(&signals, SIGHUP), BLY_SIGNALS_WAIT);
    ck_assert_int_eq(signals.status, 129);
    ck_assert_int_eq(bly_signals_mean(&signals, SIGTERM), BLY_SIGNALS_END);
    ck_assert_int_eq(signals.status, 129);
}
END_TEST

START_TEST(other_signals_stop_nothing)
{
    struct bly_signals signals = {0};
    ck_assert_int_eq(bly_signals_mean(&signals, SIGTSTP), BLY_SIGNALS_SUSPEND);
    ck_assert_int_eq(bly_signals_mean(&signals, SIGUSR1), BLY_SIGNALS_MORE);
    ck_assert_int_eq(bly_signals_mean(&signals, SIGUSR2), BLY_SIGNALS_FEWER);
    ck_assert_int_eq(bly_signals_mean(&signals, SIGCHLD), BLY_SIGNALS_NOTHING);
    ck_assert_int_eq(signals.status, 0);
}
END_TEST

START_TEST(signals_are_read_and_ignored_ones_are_not)
{
    struct bly_signals signals = {0};
    signal(SIGHUP, SIG_IGN);
    ck_assert_int_eq(bly_signals_open(&signals), 0);
    ck_assert_int_eq(bly_signals_next(&signals), 0);
    kill(getpid(), SIGHUP);
    ck_assert_int_eq(bly_signals_next(&signals), 0);
    kill(getpid(), SIGUSR1);
    kill(getpid(), SIGINT);
    ck_assert_int_eq(bly_signals_next(&signals), SIGINT);
    ck_assert_int_eq(bly_signals_next(&signals), SIGUSR1);
    ck_assert_int_eq(bly_signals_next(&signals), 0);
    bly_signals_close(&signals);
    bly_signals_close(&signals);
}
END_TEST

UNIT_MAIN("cli/signals", interrupts_climb_a_ladder, a_hangup_waits_however_often_it_comes,
          other_signals_stop_nothing, signals_are_read_and_ignored_ones_are_not)
