/* Every options struct keeps to the same rules, whichever version its caller was compiled with. */
#include "unit.h"

#include <string.h>

#include "belay/clock.h"
#include "belay/exec.h"
#include "belay/sched.h"
#include "belay/sem.h"
#include "belay/task.h"
#include "belay/test.h"

/* Bytes that a newer version might have added. */
#define TAIL 16

/* An options struct with room for a tail. */
union options {
    uint32_t size;
    belay_sem_opts sem;
    belay_timers_opts timers;
    belay_mailbox_opts mailbox;
    belay_exec_opts exec;
    belay_sched_opts sched;
    belay_test_exec_opts test_exec;
    char bytes[sizeof(belay_sem_opts) + TAIL];
};

static int make_sem(const void *opts)
{
    belay_sem *sem = NULL;
    int result = belay_sem_create(opts, &sem);
    ck_assert_int_eq(belay_sem_destroy(sem), 0);
    return result;
}

static int make_timers(const void *opts)
{
    belay_timers *timers = NULL;
    int result = belay_timers_create(opts, &timers);
    ck_assert_int_eq(belay_timers_destroy(timers), 0);
    return result;
}

static int make_mailbox(const void *opts)
{
    belay_mailbox *mailbox = NULL;
    int result = belay_mailbox_create(opts, &mailbox);
    ck_assert_int_eq(belay_mailbox_destroy(mailbox), 0);
    return result;
}

static int make_exec(const void *opts)
{
    belay_exec *exec = NULL;
    int result = belay_exec_create(opts, &exec);
    if (result == 0) {
        ck_assert_int_eq(belay_exec_shutdown(exec), 0);
        ck_assert_int_eq(belay_exec_await_termination(exec, BELAY_FOREVER), 0);
    }
    ck_assert_int_eq(belay_exec_destroy(exec), 0);
    return result;
}

static int make_sched(const void *opts)
{
    belay_sched *sched = NULL;
    int result = belay_sched_create(opts, &sched);
    if (result == 0) {
        ck_assert_int_eq(belay_sched_close(sched, BELAY_CLOSE_DISCARD), 0);
    }
    ck_assert_int_eq(belay_sched_destroy(sched), 0);
    return result;
}

static int make_test_exec(const void *opts)
{
    belay_test_exec *exec = NULL;
    int result = belay_test_exec_create(opts, &exec);
    ck_assert_int_eq(belay_test_exec_destroy(exec), 0);
    return result;
}

/* The kinds of objects that are made with options. */
static const struct kind {
    int (*make)(const void *opts); /* makes one and destroys it; NULL opts: all defaults */
    uint32_t size;                 /* of its options now */
    uint32_t size_min;             /* of the options without which it cannot be made */
    bool has_defaults;             /* can be made without options */
} kinds[] = {
    {make_sem, sizeof(belay_sem_opts), 2 * sizeof(uint32_t), false},
    {make_timers, sizeof(belay_timers_opts), sizeof(uint32_t), true},
    {make_mailbox, sizeof(belay_mailbox_opts), sizeof(uint32_t), true},
    {make_exec, sizeof(belay_exec_opts), sizeof(uint32_t), true},
    {make_sched, sizeof(belay_sched_opts), sizeof(uint32_t), true},
    {make_test_exec, sizeof(belay_test_exec_opts), sizeof(uint32_t), true},
};

#define KIND_COUNT (sizeof(kinds) / sizeof(kinds[0]))

/* The least that makes an object of the kind. */
static union options options_of(const struct kind *kind)
{
    union options opts;
    memset(&opts, 0, sizeof opts);
    if (kind->make == make_sem) {
        opts.sem.capacity = 1;
    }
    opts.size = kind->size;
    return opts;
}

START_TEST(options_of_this_version_are_accepted)
{
    for (size_t i = 0; i < KIND_COUNT; i++) {
        union options opts = options_of(&kinds[i]);
        ck_assert_int_eq(kinds[i].make(&opts), 0);
    }
}
END_TEST

START_TEST(no_options_mean_the_defaults)
{
    for (size_t i = 0; i < KIND_COUNT; i++) {
        ck_assert_int_eq(kinds[i].make(NULL), kinds[i].has_defaults ? 0 : BELAY_EINVAL);
    }
}
END_TEST

START_TEST(shorter_options_of_an_older_version_are_accepted)
{
    for (size_t i = 0; i < KIND_COUNT; i++) {
        union options opts = options_of(&kinds[i]);
        opts.size = kinds[i].size_min;
        memset(opts.bytes + opts.size, 0xff, sizeof opts - opts.size);
        ck_assert_int_eq(kinds[i].make(&opts), 0);
    }
}
END_TEST

START_TEST(longer_options_of_a_newer_version_are_accepted_while_the_rest_is_zero)
{
    for (size_t i = 0; i < KIND_COUNT; i++) {
        union options opts = options_of(&kinds[i]);
        opts.size += TAIL;
        ck_assert_int_eq(kinds[i].make(&opts), 0);
    }
}
END_TEST

START_TEST(longer_options_with_an_unknown_wish_are_refused)
{
    for (size_t i = 0; i < KIND_COUNT; i++) {
        union options opts = options_of(&kinds[i]);
        opts.size += TAIL;
        opts.bytes[opts.size - 1] = 1;
        ck_assert_int_eq(kinds[i].make(&opts), BELAY_EINVAL);
    }
}
END_TEST

START_TEST(options_without_a_size_are_refused)
{
    for (size_t i = 0; i < KIND_COUNT; i++) {
        union options opts = options_of(&kinds[i]);
        opts.size = 0;
        ck_assert_int_eq(kinds[i].make(&opts), BELAY_EINVAL);
    }
}
END_TEST

UNIT_MAIN("api/options", options_of_this_version_are_accepted, no_options_mean_the_defaults,
          shorter_options_of_an_older_version_are_accepted,
          longer_options_of_a_newer_version_are_accepted_while_the_rest_is_zero,
          longer_options_with_an_unknown_wish_are_refused, options_without_a_size_are_refused)
