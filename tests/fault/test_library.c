/*
 * test_library.c: libbelay when the system says no: each call that it makes, with each errno that
 * its manual page names and that may reach us, is an error of ours or makes no difference.
 */
#include "unit.h"

#include "belay/cancel.h"
#include "belay/clock.h"
#include "belay/exec.h"
#include "belay/sem.h"
#include "belay/task.h"
#include "script.h"
#include "sync/sync.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

static fault in_eventfd, in_timerfd_create, in_timerfd_settime, in_read, in_write, in_thread;

WRAP(int, eventfd, (unsigned count, int flags), (count, flags), &in_eventfd)
WRAP(int, timerfd_create, (int clock, int flags), (clock, flags), &in_timerfd_create)
WRAP(int, timerfd_settime, (int fd, int flags, const struct itimerspec *to, struct itimerspec *old),
     (fd, flags, to, old), &in_timerfd_settime)
WRAP(ssize_t, read, (int fd, void *to, size_t len), (fd, to, len), &in_read)
WRAP(ssize_t, write, (int fd, const void *from, size_t len), (fd, from, len), &in_write)

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
                          void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
                          void *arg);

/* It returns the error instead of setting errno. */
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
                          void *arg)
{
    return fails(&in_thread) ? in_thread.error : __real_pthread_create(thread, attr, fn, arg);
}

static void no_task(belay_task *task)
{
    task->run = NULL;
}

static void no_change(belay_clock_watcher *watcher)
{
    (void)watcher;
}

/* What is made with the system's help: 0, when it is ended again, or the error. */

static int use_mailbox(void)
{
    belay_mailbox *box = NULL;
    int result = belay_mailbox_create(NULL, &box);
    ck_assert((result == 0) == (box != NULL));
    ck_assert_int_eq(belay_mailbox_destroy(box), 0);
    return result;
}

static int use_token(void)
{
    belay_cancel *token = NULL;
    ck_assert_int_eq(belay_cancel_create(NULL, 0, &token), 0);
    int fd = belay_cancel_fd(token);
    if (fd < 0) { /* the next call tries again */
        int again = belay_cancel_fd(token);
        ck_assert_int_ge(again, 0);
        ck_assert_int_eq(belay_cancel_fire(token), 0);
        struct pollfd polled = {.fd = again, .events = POLLIN};
        ck_assert_int_eq(poll(&polled, 1, 0), 1);
    }
    belay_cancel_unref(token);
    return fd < 0 ? fd : 0;
}

static int use_watch(void)
{
    belay_clock *clock = belay_clock_system();
    belay_clock_watcher watcher = {.on_change = no_change};
    int result = clock->watch(clock, &watcher);
    if (result == 0) {
        clock->unwatch(clock, &watcher);
    }
    return result;
}

static int use_timers(void)
{
    belay_timers *timers = NULL;
    int result = belay_timers_create(NULL, &timers);
    ck_assert((result == 0) == (timers != NULL));
    ck_assert_int_eq(belay_timers_destroy(timers), 0);
    return result;
}

static int use_sem(void)
{
    belay_sem *sem = NULL;
    belay_sem_opts opts = {.size = sizeof opts, .capacity = 1};
    int result = belay_sem_create(&opts, &sem);
    ck_assert((result == 0) == (sem != NULL));
    ck_assert_int_eq(belay_sem_destroy(sem), 0);
    return result;
}

static int use_pool(void)
{
    belay_exec *exec = NULL;
    belay_exec_opts opts = {.size = sizeof opts, .workers = 3};
    int result = belay_exec_create(&opts, &exec);
    ck_assert((result == 0) == (exec != NULL));
    if (exec != NULL) {
        ck_assert_int_eq(belay_exec_shutdown(exec), 0);
        ck_assert_int_eq(belay_exec_await_termination(exec, BELAY_FOREVER), 0);
    }
    ck_assert_int_eq(belay_exec_destroy(exec), 0);
    return result;
}

static const struct script {
    const char *name;
    fault *in;
    int call; /* which one fails */
    int errors[5];
    int result;
    int (*use)(void);
} scripts[] = {
    {"mailbox", &in_eventfd, 1, {EMFILE, ENFILE, ENODEV, ENOMEM}, BELAY_EIO, use_mailbox},
    {"token", &in_eventfd, 1, {EMFILE, ENFILE, ENODEV, ENOMEM}, BELAY_EIO, use_token},
    {"watch",
     &in_timerfd_create,
     1,
     {EMFILE, ENFILE, ENODEV, ENOMEM, EPERM},
     BELAY_EAGAIN,
     use_watch},
    {"watch", &in_timerfd_settime, 1, {EINVAL, ECANCELED}, BELAY_EAGAIN, use_watch},
    {"watch", &in_thread, 1, {EAGAIN, EPERM, EINVAL}, BELAY_EAGAIN, use_watch},
    {"timers", &in_thread, 1, {EAGAIN, EPERM, EINVAL}, BELAY_EAGAIN, use_timers},
    {"semaphore", &in_thread, 1, {EAGAIN, EPERM, EINVAL}, BELAY_EAGAIN, use_sem},
    {"first worker", &in_thread, 1, {EAGAIN, EPERM, EINVAL}, BELAY_EAGAIN, use_pool},
    {"last worker", &in_thread, 3, {EAGAIN, EPERM, EINVAL}, BELAY_EAGAIN, use_pool},
};

/* The lowest free descriptor. */
static int free_fd(void)
{
    int fd = dup(STDIN_FILENO);
    ck_assert_int_ge(fd, 0);
    close(fd);
    return fd;
}

START_TEST(a_call_that_fails_is_an_error_and_leaves_nothing)
{
    const struct script *script = &scripts[_i];
    ck_assert_int_eq(script->use(), 0);
    int first_free = free_fd();
    for (size_t i = 0; i < bly_count(script->errors) && script->errors[i] != 0; i++) {
        arm(script->in, script->call, script->errors[i]);
        ck_assert_msg(script->use() == script->result, "%s, %s", script->name,
                      strerror(script->errors[i]));
        ck_assert_int_eq(script->in->calls_left, 0);
        ck_assert_int_eq(free_fd(), first_free);
        ck_assert_int_eq(script->use(), 0);
    }
}
END_TEST

/* A descriptor that cannot be written is at its end, and one that cannot be read is clear. */
START_TEST(a_mailbox_loses_nothing_when_its_descriptor_says_no)
{
    belay_mailbox *box = NULL;
    ck_assert_int_eq(belay_mailbox_create(NULL, &box), 0);
    belay_task task = {.run = no_task};
    arm(&in_write, 1, EAGAIN);
    ck_assert_int_eq(belay_executor_submit(belay_mailbox_executor(box), &task, 0), 0);
    ck_assert_int_eq(in_write.calls_left, 0);
    arm(&in_read, 1, EAGAIN);
    ck_assert_int_eq(belay_mailbox_run(box, 0), 1);
    ck_assert_int_eq(in_read.calls_left, 0);
    ck_assert_ptr_null(task.run);
    ck_assert_int_eq(belay_mailbox_destroy(box), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fault/library");
    TCase *calls = tcase_create("calls");
    tcase_set_timeout(calls, UNIT_TIMEOUT_S);
    tcase_add_loop_test(calls, a_call_that_fails_is_an_error_and_leaves_nothing, 0,
                        bly_count(scripts));
    tcase_add_test(calls, a_mailbox_loses_nothing_when_its_descriptor_says_no);
    suite_add_tcase(suite, calls);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
