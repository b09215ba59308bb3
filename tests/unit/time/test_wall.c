#include "time/wall.h"

#include "deliver/deliver.h"
#include "sync/sync.h"
#include "fault.h"
#include "unit.h"

#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define CENTURY_S (INT64_C(100) * 365 * 24 * 3600)

#define STEP 1u
#define STOP 2u

/* A table on which the test steps the clock. */
static uint32_t events; /* atomic: steps and stops that were not awaited yet */
static uint32_t awaits; /* atomic: calls of await that have begun */
static int open_fds;

static int fake_open(void)
{
    return 1000 + open_fds++;
}

static bool fake_await(int fd)
{
    (void)fd;
    (void)bly_fetch_add(&awaits, 1u, BLY_ACQ_REL);
    bly_futex_wake(&awaits, BLY_WAKE_ALL);
    uint32_t seen;
    while ((seen = bly_load(&events, BLY_ACQUIRE)) == 0) {
        (void)bly_futex_wait(&events, 0, BELAY_FOREVER);
    }
    uint32_t taken = (seen & STEP) != 0 ? STEP : STOP;
    (void)bly_fetch_and(&events, ~taken, BLY_ACQ_REL);
    return taken == STEP;
}

static void happen(uint32_t event)
{
    (void)bly_fetch_or(&events, event, BLY_ACQ_REL);
    bly_futex_wake(&events, BLY_WAKE_ALL);
}

static void fake_stop(int fd)
{
    (void)fd;
    happen(STOP);
}

static void fake_close(int fd)
{
    ck_assert_int_ge(fd, 1000);
    open_fds--;
}

static const bly_wall_table fake = {
    .open = fake_open, .await = fake_await, .stop = fake_stop, .close = fake_close};

/* A watcher that counts its calls, and may go away in one. */
typedef struct observer {
    belay_clock_watcher watcher;
    uint32_t calls; /* atomic */
    bool leaves;
    uint32_t has_left; /* atomic */
} observer;

static void set_flag(uint32_t *flag)
{
    bly_store(flag, 1u, BLY_RELEASE);
    bly_futex_wake(flag, BLY_WAKE_ALL);
}

static void observe(belay_clock_watcher *watcher)
{
    observer *self = bly_container(watcher, observer, watcher);
    (void)bly_fetch_add(&self->calls, 1u, BLY_ACQ_REL);
    bly_futex_wake(&self->calls, BLY_WAKE_ALL);
    if (self->leaves) {
        bly_wall_unwatch(watcher);
        set_flag(&self->has_left);
    }
}

static void await_value(uint32_t *word, uint32_t value)
{
    uint32_t seen;
    while ((seen = bly_load(word, BLY_ACQUIRE)) != value) {
        (void)bly_futex_wait(word, seen, BELAY_FOREVER);
    }
}

static observer new_observer(void)
{
    return (observer){.watcher = {.on_change = observe}};
}

START_TEST(each_watcher_is_told_of_each_step)
{
    bly_wall_steps = &fake;
    observer first = new_observer(), second = new_observer();
    ck_assert_int_eq(bly_wall_watch(&first.watcher), 0);
    ck_assert_int_eq(bly_wall_watch(&second.watcher), 0);
    ck_assert_int_eq(open_fds, 1);
    happen(STEP);
    await_value(&first.calls, 1);
    await_value(&second.calls, 1);
    bly_wall_unwatch(&first.watcher);
    happen(STEP);
    await_value(&second.calls, 2);
    bly_wall_unwatch(&second.watcher);
    ck_assert_uint_eq(first.calls, 1);
    ck_assert_int_eq(open_fds, 0);
}
END_TEST

START_TEST(the_last_watcher_may_leave_while_it_is_told)
{
    bly_wall_steps = &fake;
    observer only = new_observer();
    only.leaves = true;
    ck_assert_int_eq(bly_wall_watch(&only.watcher), 0);
    happen(STEP);
    await_value(&only.has_left, 1);
    ck_assert_uint_eq(only.calls, 1);
}
END_TEST

static void unwatch_run(belay_task *task)
{
    (void)task;
    static observer only;
    only = new_observer();
    ck_assert_int_eq(bly_wall_watch(&only.watcher), 0);
    bly_wall_unwatch(&only.watcher);
}

START_TEST(the_last_watcher_may_leave_in_an_inline_callback)
{
    bly_wall_steps = &fake;
    belay_task task = {.run = unwatch_run};
    bly_deliver_push(&task);
    bly_deliver_run();
    ck_assert_ptr_null(task.next);
}
END_TEST

static int no_descriptor(void)
{
    return BELAY_EAGAIN;
}

START_TEST(watch_without_descriptor_is_refused)
{
    static const bly_wall_table broken = {.open = no_descriptor};
    bly_wall_steps = &broken;
    observer only = new_observer();
    ck_assert_int_eq(bly_wall_watch(&only.watcher), BELAY_EAGAIN);
    bly_wall_steps = &fake;
    ck_assert_int_eq(bly_wall_watch(&only.watcher), 0);
    bly_wall_unwatch(&only.watcher);
}
END_TEST

static void watch_and_leave(void *arg)
{
    (void)arg;
    for (int i = 0; i < 100; i++) {
        observer only = new_observer();
        if (bly_wall_watch(&only.watcher) != 0) {
            abort();
        }
        bly_wall_unwatch(&only.watcher);
    }
}

START_TEST(first_and_last_watchers_race_on_the_machine_s_own_timer)
{
    bly_thread thread;
    ck_assert_int_eq(bly_thread_create(&thread, NULL, watch_and_leave, NULL), 0);
    watch_and_leave(NULL);
    bly_thread_join(&thread);
}
END_TEST

START_TEST(a_forked_child_forgets_the_watchers)
{
    bly_wall_steps = &fake;
    observer only = new_observer();
    ck_assert_int_eq(bly_wall_watch(&only.watcher), 0);
    /* A thread that is still starting would leave locks of a sanitizer taken in the child. */
    await_value(&awaits, 1);
    pid_t child = fork();
    if (child == 0) {
        bly_wall_unwatch(&only.watcher);
        observer own = new_observer();
        bool is_fine = open_fds == 1 && bly_wall_watch(&own.watcher) == 0 && open_fds == 2;
        bly_wall_unwatch(&own.watcher);
        _exit(is_fine && open_fds == 1 ? 0 : 1);
    }
    int status = -1;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    bly_wall_unwatch(&only.watcher);
}
END_TEST

/* What the kernel answers to the machine's own table, while `is_scripted`. */
static bool is_scripted;
static int timer_fd;              /* of timerfd_create; below 0: an error */
static int settime_flags;         /* of the last timerfd_settime */
static struct itimerspec settime; /* of the last timerfd_settime */
static int read_errors[4];        /* of one read after another; 0: it reads a count */
static unsigned reads;

int __real_timerfd_create(int clock, int flags);
int __wrap_timerfd_create(int clock, int flags);
int __real_timerfd_settime(int fd, int flags, const struct itimerspec *to, struct itimerspec *old);
int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *to, struct itimerspec *old);
ssize_t __real_read(int fd, void *to, size_t len);
ssize_t __wrap_read(int fd, void *to, size_t len);

int __wrap_timerfd_create(int clock, int flags)
{
    return is_scripted ? timer_fd : __real_timerfd_create(clock, flags);
}

int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *to, struct itimerspec *old)
{
    if (!is_scripted) {
        return __real_timerfd_settime(fd, flags, to, old);
    }
    settime_flags = flags;
    settime = *to;
    return 0;
}

ssize_t __wrap_read(int fd, void *to, size_t len)
{
    if (!is_scripted) {
        return __real_read(fd, to, len);
    }
    int error = read_errors[reads++ % 4];
    if (error != 0) {
        errno = error;
    }
    return error != 0 ? -1 : (ssize_t)len;
}

START_TEST(the_machine_s_timer_is_armed_far_ahead_and_canceled_by_a_step)
{
    is_scripted = true;
    ck_assert_int_eq(bly_wall_steps->open(), 0);
    ck_assert_int_eq(settime_flags, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET);
    ck_assert_int_gt(settime.it_value.tv_sec, bly_wall_ns() / 1000000000 + CENTURY_S);
    timer_fd = -1;
    ck_assert_int_eq(bly_wall_steps->open(), BELAY_EAGAIN);
}
END_TEST

START_TEST(the_machine_s_timer_tells_steps_from_its_stop_and_from_signals)
{
    is_scripted = true;
    read_errors[0] = EINTR;
    read_errors[1] = EINTR;
    read_errors[2] = ECANCELED;
    ck_assert(bly_wall_steps->await(0));
    ck_assert_uint_eq(reads, 3);
    ck_assert(!bly_wall_steps->await(0)); /* errno says ECANCELED still */
    read_errors[0] = EBADF;
    ck_assert(!bly_wall_steps->await(0));
    errno = EINTR;
    reads = 3;
    ck_assert(!bly_wall_steps->await(0));
    ck_assert_uint_eq(reads, 4);
}
END_TEST

START_TEST(watch_without_memory_or_thread_leaves_nothing)
{
    bly_wall_steps = &fake;
    observer only = new_observer();
    fault_alloc_once(1);
    ck_assert_int_eq(bly_wall_watch(&only.watcher), BELAY_EAGAIN);
    fault_thread_once(1);
    ck_assert_int_eq(bly_wall_watch(&only.watcher), BELAY_EAGAIN);
    ck_assert_int_eq(open_fds, 0);
    ck_assert_int_eq(bly_wall_watch(&only.watcher), 0);
    bly_wall_unwatch(&only.watcher);
}
END_TEST

UNIT_MAIN("time/wall", each_watcher_is_told_of_each_step,
          the_last_watcher_may_leave_while_it_is_told,
          the_last_watcher_may_leave_in_an_inline_callback, watch_without_descriptor_is_refused,
          first_and_last_watchers_race_on_the_machine_s_own_timer,
          UNIT_UNLESS_TSAN(a_forked_child_forgets_the_watchers),
          watch_without_memory_or_thread_leaves_nothing,
          the_machine_s_timer_is_armed_far_ahead_and_canceled_by_a_step,
          the_machine_s_timer_tells_steps_from_its_stop_and_from_signals)
