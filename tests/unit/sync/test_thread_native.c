/*
 * test_thread_native.c: threads, their slots and their ends; and what fails when they are made.
 */
#include "unit.h"

#include "sync/sync.h"

#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static int create_error, attr_error, stack_error, key_error, specific_error;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
                          void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
                          void *arg);
int __real_pthread_attr_init(pthread_attr_t *attr);
int __wrap_pthread_attr_init(pthread_attr_t *attr);
int __real_pthread_attr_setstacksize(pthread_attr_t *attr, size_t size);
int __wrap_pthread_attr_setstacksize(pthread_attr_t *attr, size_t size);
int __real_pthread_key_create(pthread_key_t *key, void (*fn)(void *));
int __wrap_pthread_key_create(pthread_key_t *key, void (*fn)(void *));
int __real_pthread_setspecific(pthread_key_t key, const void *value);
int __wrap_pthread_setspecific(pthread_key_t key, const void *value);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
                          void *arg)
{
    return create_error != 0 ? create_error : __real_pthread_create(thread, attr, fn, arg);
}

int __wrap_pthread_attr_init(pthread_attr_t *attr)
{
    return attr_error != 0 ? attr_error : __real_pthread_attr_init(attr);
}

int __wrap_pthread_attr_setstacksize(pthread_attr_t *attr, size_t size)
{
    return stack_error != 0 ? stack_error : __real_pthread_attr_setstacksize(attr, size);
}

int __wrap_pthread_key_create(pthread_key_t *key, void (*fn)(void *))
{
    return key_error != 0 ? key_error : __real_pthread_key_create(key, fn);
}

int __wrap_pthread_setspecific(pthread_key_t key, const void *value)
{
    return specific_error != 0 ? specific_error : __real_pthread_setspecific(key, value);
}

static void run(const bly_thread_opts *opts, void (*fn)(void *), void *arg)
{
    bly_thread thread;
    ck_assert_int_eq(bly_thread_create(&thread, opts, fn, arg), 0);
    bly_thread_join(&thread);
}

static void take_id(void *arg)
{
    uint64_t *id = arg;
    *id = bly_thread_id();
    ck_assert_uint_eq(bly_thread_id(), *id);
}

START_TEST(ids_are_never_zero_and_never_used_again)
{
    uint64_t ids[10];
    for (size_t i = 0; i < bly_count(ids); i++) {
        run(NULL, take_id, &ids[i]);
        ck_assert_uint_ne(ids[i], 0);
        ck_assert_uint_ne(ids[i], bly_thread_id());
        for (size_t j = 0; j < i; j++) {
            ck_assert_uint_ne(ids[i], ids[j]);
        }
    }
}
END_TEST

static void finish_detached(void *arg)
{
    uint32_t *is_done = arg;
    bly_store(is_done, 1u, BLY_RELEASE);
    bly_futex_wake(is_done, 1);
}

START_TEST(detached_thread_runs_to_its_end_unjoined)
{
    static uint32_t is_done;
    static bly_thread thread;
    ck_assert_int_eq(bly_thread_create(&thread, NULL, finish_detached, &is_done), 0);
    bly_thread_detach(&thread);
    while (bly_load(&is_done, BLY_ACQUIRE) == 0) {
        (void)bly_futex_wait(&is_done, 0, BELAY_FOREVER);
    }
}
END_TEST

static void take_slack(void *arg)
{
    int *slack_ns = arg;
    bly_thread_slack_least();
    *slack_ns = prctl(PR_GET_TIMERSLACK);
}

START_TEST(least_slack_is_that_of_the_thread_alone)
{
    int own_ns = prctl(PR_GET_TIMERSLACK);
    int slack_ns = 0;
    run(NULL, take_slack, &slack_ns);
    ck_assert_int_eq(slack_ns, 1);
    ck_assert_int_eq(prctl(PR_GET_TIMERSLACK), own_ns);
}
END_TEST

static void take_signal_mask(void *arg)
{
    (void)pthread_sigmask(SIG_BLOCK, NULL, arg);
}

START_TEST(signals_are_blocked_in_the_thread_alone)
{
    sigset_t mask, own;
    sigemptyset(&mask);
    run(NULL, take_signal_mask, &mask);
    (void)pthread_sigmask(SIG_BLOCK, NULL, &own);
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGCHLD, SIGUSR1, SIGALRM};
    for (size_t i = 0; i < bly_count(signals); i++) {
        ck_assert_int_eq(sigismember(&mask, signals[i]), 1);
        ck_assert_int_eq(sigismember(&own, signals[i]), 0);
    }
}
END_TEST

static void take_name(void *arg)
{
    (void)pthread_getname_np(pthread_self(), arg, 16);
}

START_TEST(name_is_set_and_cut_to_what_the_system_takes)
{
    char name[16] = "";
    run(&(bly_thread_opts){.name = "belay-timers"}, take_name, name);
    ck_assert_str_eq(name, "belay-timers");
    run(&(bly_thread_opts){.name = "a-name-of-more-than-fifteen"}, take_name, name);
    ck_assert_str_eq(name, "a-name-of-more-");
}
END_TEST

static void take_stack_size(void *arg)
{
    pthread_attr_t attr;
    ck_assert_int_eq(pthread_getattr_np(pthread_self(), &attr), 0);
    ck_assert_int_eq(pthread_attr_getstacksize(&attr, arg), 0);
    (void)pthread_attr_destroy(&attr);
}

START_TEST(stack_has_the_size_asked_for_and_never_too_little)
{
    size_t size = 0;
    run(&(bly_thread_opts){.stack_size = 1 << 20}, take_stack_size, &size);
    ck_assert_uint_ge(size, 1 << 20);
    ck_assert_uint_lt(size, 2 << 20);
    run(&(bly_thread_opts){.stack_size = 1}, take_stack_size, &size);
    ck_assert_uint_ge(size, (size_t)sysconf(_SC_THREAD_STACK_MIN));
    ck_assert_uint_le(size, 1 << 20);
    run(&(bly_thread_opts){.stack_size = (1 << 20) + 1}, take_stack_size, &size);
    ck_assert_uint_gt(size, 1 << 20);
}
END_TEST

static void do_nothing(void *arg)
{
    (void)arg;
}

START_TEST(failing_creation_is_eagain_and_leaves_the_signals)
{
    bly_thread thread;
    sigset_t mask;
    static const int errors[] = {EAGAIN, EPERM, EINVAL};
    for (size_t i = 0; i < bly_count(errors); i++) {
        create_error = errors[i];
        ck_assert_int_eq(bly_thread_create(&thread, NULL, do_nothing, NULL), BELAY_EAGAIN);
    }
    create_error = 0;
    attr_error = ENOMEM;
    ck_assert_int_eq(bly_thread_create(&thread, NULL, do_nothing, NULL), BELAY_EAGAIN);
    attr_error = 0;
    stack_error = EINVAL;
    ck_assert_int_eq(
        bly_thread_create(&thread, &(bly_thread_opts){.stack_size = 1}, do_nothing, NULL),
        BELAY_EAGAIN);
    stack_error = 0;
    (void)pthread_sigmask(SIG_BLOCK, NULL, &mask);
    ck_assert_int_eq(sigismember(&mask, SIGINT), 0);
    run(NULL, do_nothing, NULL);
}
END_TEST

static char ends[64]; /* what was called as threads ended; written by one thread at a time */

static int exits; /* its address tells a thread to end by pthread_exit */

static void set(bly_local slot, const char *value)
{
    bly_local_set(slot, (void *)(uintptr_t)value);
}

static void note_end(const char *what)
{
    strcat(ends, what);
}

static void end_sched(void *value)
{
    ck_assert_ptr_null(bly_local_get(BLY_LOCAL_SCHED));
    note_end(value);
}

static void end_parker(void *value)
{
    note_end(value);
}

static void end_test(void *value)
{
    note_end(value);
    /* Once more, and a lower slot with it. */
    if (strcmp(value, "T") == 0) {
        set(BLY_LOCAL_TEST, "t");
        set(BLY_LOCAL_SCHED, "s");
    }
}

static void watch_ends(void)
{
    bly_local_at_exit(BLY_LOCAL_PARKER, end_parker);
    bly_local_at_exit(BLY_LOCAL_SCHED, end_sched);
    bly_local_at_exit(BLY_LOCAL_SCHED, end_sched);
    bly_local_at_exit(BLY_LOCAL_TEST, end_test);
}

static void set_slots(void *arg)
{
    ck_assert_ptr_null(bly_local_get(BLY_LOCAL_PARKER));
    set(BLY_LOCAL_PARKER, "P");
    set(BLY_LOCAL_SCHED, "S");
    ck_assert_str_eq(bly_local_get(BLY_LOCAL_SCHED), "S");
    if (arg != NULL) {
        pthread_exit(NULL);
    }
}

static void *set_slots_on_pthread(void *arg)
{
    set_slots(arg);
    return NULL;
}

static void run_on_pthread(void *arg)
{
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, set_slots_on_pthread, arg), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
}

START_TEST(ending_thread_empties_its_slots_lowest_first)
{
    watch_ends();
    run(NULL, set_slots, NULL);
    ck_assert_str_eq(ends, "SP");
    ck_assert_ptr_null(bly_local_get(BLY_LOCAL_SCHED));
}
END_TEST

START_TEST(pthread_exit_empties_the_slots_too)
{
    watch_ends();
    run(NULL, set_slots, &exits);
    ck_assert_str_eq(ends, "SP");
}
END_TEST

START_TEST(threads_of_others_are_noticed_too)
{
    watch_ends();
    run_on_pthread(NULL);
    ck_assert_str_eq(ends, "SP");
    run_on_pthread(&exits);
    ck_assert_str_eq(ends, "SPSP");
}
END_TEST

static void set_the_repeating_slot(void *arg)
{
    (void)arg;
    set(BLY_LOCAL_TEST, "T");
}

START_TEST(slots_set_while_a_thread_ends_are_emptied_again)
{
    watch_ends();
    run(NULL, set_the_repeating_slot, NULL);
    ck_assert_str_eq(ends, "Tst");
}
END_TEST

static void set_and_clear(void *arg)
{
    set_slots(arg);
    bly_local_set(BLY_LOCAL_SCHED, NULL);
    bly_local_set(BLY_LOCAL_PARKER, NULL);
}

START_TEST(empty_slots_call_nothing)
{
    watch_ends();
    run(NULL, set_and_clear, NULL);
    ck_assert_str_eq(ends, "");
}
END_TEST

START_TEST(without_a_key_only_the_end_of_foreign_threads_goes_unnoticed)
{
    watch_ends();
    key_error = EAGAIN;
    run(NULL, set_slots, NULL);
    ck_assert_str_eq(ends, "SP");
    run_on_pthread(NULL);
    ck_assert_str_eq(ends, "SP");
}
END_TEST

START_TEST(without_memory_for_the_key_the_next_set_tries_again)
{
    watch_ends();
    specific_error = ENOMEM;
    run_on_pthread(NULL);
    ck_assert_str_eq(ends, "");
    specific_error = 0;
    run_on_pthread(NULL);
    ck_assert_str_eq(ends, "SP");
}
END_TEST

UNIT_MAIN("sync/thread_native", ids_are_never_zero_and_never_used_again,
          detached_thread_runs_to_its_end_unjoined, least_slack_is_that_of_the_thread_alone,
          signals_are_blocked_in_the_thread_alone, name_is_set_and_cut_to_what_the_system_takes,
          stack_has_the_size_asked_for_and_never_too_little,
          failing_creation_is_eagain_and_leaves_the_signals,
          ending_thread_empties_its_slots_lowest_first, pthread_exit_empties_the_slots_too,
          threads_of_others_are_noticed_too, slots_set_while_a_thread_ends_are_emptied_again,
          empty_slots_call_nothing, without_a_key_only_the_end_of_foreign_threads_goes_unnoticed,
          without_memory_for_the_key_the_next_set_tries_again)
