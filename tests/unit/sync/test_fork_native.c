/*
 * test_fork_native.c: hooks around fork and the generation.
 */
#include "unit.h"

#include "sync/sync.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int atfork_error;

int __real_pthread_atfork(void (*before)(void), void (*parent)(void), void (*child)(void));
int __wrap_pthread_atfork(void (*before)(void), void (*parent)(void), void (*child)(void));

int __wrap_pthread_atfork(void (*before)(void), void (*parent)(void), void (*child)(void))
{
    return atfork_error != 0 ? atfork_error : __real_pthread_atfork(before, parent, child);
}

static char calls[32];

static void note(const char *what)
{
    strcat(calls, what);
}

static void before_first(void)
{
    note("b1");
}

static void parent_first(void)
{
    note("p1");
}

static void child_first(void)
{
    note("c1");
}

static void before_second(void)
{
    note("b2");
}

static void parent_second(void)
{
    note("p2");
}

static void child_second(void)
{
    note("c2");
}

static bly_fork_hook first = {before_first, parent_first, child_first, NULL};
static bly_fork_hook empty;
static bly_fork_hook second = {before_second, parent_second, child_second, NULL};

/* Forks; true when check(arg) was true in the child. */
static bool holds_in_child(bool (*check)(const void *), const void *arg)
{
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        _exit(check(arg) ? 0 : 1);
    }
    int status = -1;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return status == 0;
}

static bool calls_are(const void *wanted)
{
    return strcmp(calls, wanted) == 0;
}

START_TEST(hooks_run_in_order_before_and_after_a_fork)
{
    bly_at_fork(&first);
    bly_at_fork(&empty);
    bly_at_fork(&second);
    ck_assert(holds_in_child(calls_are, "b2b1c1c2"));
    ck_assert_str_eq(calls, "b2b1p1p2");
}
END_TEST

static bool is_newer(const void *generation)
{
    const uint64_t *before = generation;
    return bly_forked_since(*before) && bly_fork_generation() != *before;
}

START_TEST(generation_changes_in_the_child_alone)
{
    uint64_t generation = bly_fork_generation();
    ck_assert(!bly_forked_since(generation));
    ck_assert(holds_in_child(is_newer, &generation));
    ck_assert(!bly_forked_since(generation));
    ck_assert_uint_eq(bly_fork_generation(), generation);
}
END_TEST

static bool is_newer_in_grandchild(const void *generation)
{
    uint64_t own = bly_fork_generation();
    return holds_in_child(is_newer, generation) && holds_in_child(is_newer, &own);
}

START_TEST(grandchild_is_newer_than_both)
{
    uint64_t generation = bly_fork_generation();
    ck_assert(holds_in_child(is_newer_in_grandchild, &generation));
}
END_TEST

START_TEST(handlers_without_memory_are_tried_again)
{
    atfork_error = ENOMEM;
    uint64_t generation = bly_fork_generation();
    ck_assert(!holds_in_child(is_newer, &generation));
    atfork_error = 0;
    generation = bly_fork_generation();
    ck_assert(holds_in_child(is_newer, &generation));
}
END_TEST

UNIT_MAIN("sync/fork_native", hooks_run_in_order_before_and_after_a_fork,
          generation_changes_in_the_child_alone, grandchild_is_newer_than_both,
          handlers_without_memory_are_tried_again)
