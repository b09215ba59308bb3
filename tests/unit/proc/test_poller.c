/* test_poller.c: events reach the function of a descriptor that is still watched, and no other. */
#include "proc/poller_int.h"
#include "sync/sync.h"
#include "unit.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

typedef struct watched {
    bly_poller *poller;
    int ends[2];
    uint64_t token;
    uint32_t calls, events;
    struct watched *victim; /* removed by the first call */
    struct watched *heir;   /* added then, into the place of the victim */
} watched;

static void on_event(void *arg, uint32_t epoll_events);

static void watch(bly_poller *poller, watched *w)
{
    w->poller = poller;
    ck_assert_int_eq(bly_poller_add(poller, w->ends[0], EPOLLIN, on_event, w, &w->token), 0);
}

static void on_event(void *arg, uint32_t epoll_events)
{
    watched *w = arg;
    w->calls++;
    w->events = epoll_events;
    if (w->victim != NULL) {
        bly_poller_remove(w->poller, w->victim->ends[0], w->victim->token);
        w->victim = NULL;
    }
    if (w->heir != NULL) {
        watch(w->poller, w->heir);
        w->heir = NULL;
    }
}

static watched open_pipe(bool is_ready)
{
    watched w = {0};
    ck_assert_int_eq(pipe2(w.ends, O_CLOEXEC | O_NONBLOCK), 0);
    if (is_ready) {
        ck_assert_int_eq(write(w.ends[1], "x", 1), 1);
    }
    return w;
}

static bly_poller open_poller(uint32_t limit)
{
    bly_poller poller;
    ck_assert_int_eq(bly_poller_init(&poller, limit), 0);
    return poller;
}

START_TEST(a_ready_descriptor_calls_its_function)
{
    bly_poller poller = open_poller(4);
    watched ready = open_pipe(true);
    watched quiet = open_pipe(false);
    watch(&poller, &ready);
    watch(&poller, &quiet);
    ck_assert_uint_eq(bly_poller_wait(&poller, BELAY_FOREVER), 1);
    ck_assert_uint_eq(ready.calls, 1);
    ck_assert_uint_eq(ready.events, EPOLLIN);
    ck_assert_uint_eq(quiet.calls, 0);
    bly_poller_free(&poller);
}
END_TEST

START_TEST(a_deadline_that_has_passed_does_not_wait)
{
    bly_poller poller = open_poller(4);
    watched quiet = open_pipe(false);
    watch(&poller, &quiet);
    ck_assert_uint_eq(bly_poller_wait(&poller, BELAY_NOW), 0);
    ck_assert_uint_eq(bly_poller_wait(&poller, bly_monotonic_ns() - 1), 0);
    ck_assert_uint_eq(bly_poller_wait(&poller, bly_monotonic_ns() + 1000), 0);
    bly_poller_free(&poller);
}
END_TEST

START_TEST(one_removed_earlier_in_the_same_batch_is_not_called)
{
    bly_poller poller = open_poller(4);
    watched first = open_pipe(true);
    watched second = open_pipe(true);
    watch(&poller, &first);
    watch(&poller, &second);
    first.victim = &second;
    second.victim = &first;
    ck_assert_uint_eq(bly_poller_wait(&poller, BELAY_FOREVER), 1);
    ck_assert_uint_eq(first.calls + second.calls, 1);
    ck_assert_uint_eq(poller.stale, 1);
    bly_poller_free(&poller);
}
END_TEST

START_TEST(the_heir_of_a_place_gets_no_event_of_the_one_before)
{
    bly_poller poller = open_poller(4);
    watched first = open_pipe(true);
    watched second = open_pipe(true);
    watched heir = open_pipe(false);
    watch(&poller, &first);
    watch(&poller, &second);
    first.victim = &second;
    second.victim = &first;
    first.heir = &heir;
    second.heir = &heir;
    bly_poller_wait(&poller, BELAY_FOREVER);
    ck_assert_uint_eq(heir.calls, 0);
    ck_assert_uint_eq(poller.stale, 1);
    bly_poller_free(&poller);
}
END_TEST

/*
 * What a child between vfork and exec does to its parent: the closed descriptor lives on in a
 * copy.
 */
START_TEST(a_closed_descriptor_with_a_copy_elsewhere_is_silent)
{
    bly_poller poller = open_poller(4);
    watched w = open_pipe(true);
    watch(&poller, &w);
    int copy = fcntl(w.ends[0], F_DUPFD_CLOEXEC, 0);
    ck_assert_int_ge(copy, 0);
    bly_poller_remove(&poller, w.ends[0], w.token);
    close(w.ends[0]);
    ck_assert_uint_eq(bly_poller_wait(&poller, BELAY_NOW), 0);
    ck_assert_uint_eq(w.calls, 0);
    ck_assert_uint_eq(poller.stale, 0);
    close(copy);
    bly_poller_free(&poller);
}
END_TEST

START_TEST(no_more_than_the_limit_are_watched)
{
    bly_poller poller = open_poller(2);
    watched pipes[3] = {open_pipe(false), open_pipe(false), open_pipe(false)};
    watch(&poller, &pipes[0]);
    watch(&poller, &pipes[1]);
    uint64_t token = 7;
    ck_assert_int_eq(
        bly_poller_add(&poller, pipes[2].ends[0], EPOLLIN, on_event, &pipes[2], &token),
        BELAY_EFULL);
    ck_assert_uint_eq(token, 7);
    bly_poller_remove(&poller, pipes[0].ends[0], pipes[0].token);
    watch(&poller, &pipes[2]);
    bly_poller_free(&poller);
}
END_TEST

START_TEST(hundreds_are_watched_at_once)
{
    bly_poller poller = open_poller(300);
    static watched pipes[300];
    for (int i = 0; i < 300; i++) {
        pipes[i] = open_pipe(true);
        watch(&poller, &pipes[i]);
    }
    uint32_t called = 0;
    for (int turn = 0; turn < 300 && called < 300; turn++) {
        ck_assert_uint_gt(bly_poller_wait(&poller, BELAY_NOW), 0);
        for (int i = 0; i < 300; i++) {
            if (pipes[i].calls > 0 && pipes[i].token != UINT64_MAX) {
                bly_poller_remove(&poller, pipes[i].ends[0], pipes[i].token);
                pipes[i].token = UINT64_MAX;
                called++;
            }
        }
    }
    ck_assert_uint_eq(called, 300);
    ck_assert_uint_eq(poller.stale, 0);
    bly_poller_free(&poller);
}
END_TEST

START_TEST(what_cannot_be_waited_for_is_refused)
{
    bly_poller poller = open_poller(4);
    watched w = open_pipe(false);
    watch(&poller, &w);
    uint64_t token;
    int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(bly_poller_add(&poller, file, EPOLLIN, on_event, &w, &token), BELAY_EINVAL);
    ck_assert_int_eq(bly_poller_add(&poller, 999, EPOLLIN, on_event, &w, &token), BELAY_EINVAL);
    ck_assert_int_eq(bly_poller_add(&poller, w.ends[0], EPOLLIN, on_event, &w, &token),
                     BELAY_EEXIST);
    close(file);
    bly_poller_free(&poller);
}
END_TEST

START_TEST(changed_events_count)
{
    bly_poller poller = open_poller(4);
    watched w = open_pipe(true);
    watch(&poller, &w);
    ck_assert_int_eq(bly_poller_change(&poller, w.ends[0], w.token, 0), 0);
    ck_assert_uint_eq(bly_poller_wait(&poller, BELAY_NOW), 0);
    ck_assert_int_eq(bly_poller_change(&poller, w.ends[0], w.token, EPOLLIN), 0);
    ck_assert_uint_eq(bly_poller_wait(&poller, BELAY_NOW), 1);
    bly_poller_free(&poller);
}
END_TEST

UNIT_MAIN("proc/poller", a_ready_descriptor_calls_its_function,
          a_deadline_that_has_passed_does_not_wait,
          one_removed_earlier_in_the_same_batch_is_not_called,
          the_heir_of_a_place_gets_no_event_of_the_one_before,
          a_closed_descriptor_with_a_copy_elsewhere_is_silent, no_more_than_the_limit_are_watched,
          hundreds_are_watched_at_once, what_cannot_be_waited_for_is_refused, changed_events_count)
