#include "time/running.h"

#include "unit.h"

static bly_running running;
static bly_mutex lock;
static int subject, other;
static bool has_ended; /* lock */

START_TEST(wait_for_what_does_not_run_returns_at_once)
{
    bly_mutex_lock(&lock);
    bly_running_wait(&running, &subject, &lock);
    bly_running_begin(&running, &other);
    bly_running_wait(&running, &subject, &lock);
    ck_assert(!bly_running_end(&running));
    bly_mutex_unlock(&lock);
}
END_TEST

START_TEST(wait_from_within_forgets_the_subject)
{
    bly_mutex_lock(&lock);
    bly_running_begin(&running, &subject);
    bly_running_wait(&running, &subject, &lock);
    ck_assert_ptr_null(running.subject);
    ck_assert(!bly_running_end(&running));
    bly_mutex_unlock(&lock);
}
END_TEST

static void wait_for_subject(void *arg)
{
    bly_mutex_lock(&lock);
    bly_running_wait(&running, &subject, &lock);
    *(bool *)arg = has_ended;
    bly_mutex_unlock(&lock);
}

static void wake_if(bool is_waited_for)
{
    if (is_waited_for) {
        bly_running_wake(&running);
    }
}

START_TEST(two_waiters_return_after_the_end)
{
    bool seen[2] = {false, false};
    bly_thread threads[2];
    bly_mutex_lock(&lock);
    bly_running_begin(&running, &subject);
    bly_mutex_unlock(&lock);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(bly_thread_create(&threads[i], NULL, wait_for_subject, &seen[i]), 0);
    }
    uint32_t waiters = 0;
    while (waiters < 2) {
        bly_mutex_lock(&lock);
        waiters = running.waiters;
        bly_mutex_unlock(&lock);
        bly_yield();
    }
    bly_mutex_lock(&lock);
    has_ended = true;
    bool is_waited_for = bly_running_end(&running);
    bly_mutex_unlock(&lock);
    ck_assert(is_waited_for);
    wake_if(is_waited_for);
    for (int i = 0; i < 2; i++) {
        bly_thread_join(&threads[i]);
        ck_assert(seen[i]);
    }
}
END_TEST

UNIT_MAIN("time/running", wait_for_what_does_not_run_returns_at_once,
          wait_from_within_forgets_the_subject, two_waiters_return_after_the_end)
