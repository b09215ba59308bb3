/*
 * wall.c: the watchers of the machine's wall clock.
 *
 * The kernel tells of a step by canceling a timer on the wall clock that was armed for the end of
 * time. A thread waits for that, without polling, while anybody watches: the first watcher brings
 * it, the last one ends it. It is made before it is known whether another watcher was faster, since
 * nothing is allocated or started under the lock, and thrown away then.
 *
 * The source is freed by who ends it, after joining its thread. When that is the thread itself, or
 * an inline callback (which must not wait), the thread is detached and frees the source as it ends.
 * `users` counts watchers until their unwatch needs the source no more.
 */
#include "time/wall.h"

#include "deliver/deliver.h"
#include "sync/sync.h"
#include "time/watchers.h"

#include <sys/timerfd.h>
#include <unistd.h>

typedef struct source {
    int fd;                /* constant after create */
    bly_thread thread;     /* who creates and ends the source */
    bly_watchers watchers; /* lock */
    uint32_t users;        /* lock */
    bool is_orphan;        /* lock: the thread frees the source when it ends */
} source;

static bly_mutex lock;
static source *current; /* lock: the source of all watchers; NULL while there are none */

static int native_open(void)
{
    int fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC);
    struct itimerspec never = {.it_value = {.tv_sec = INT64_C(1) << 40}};
    if (fd < 0) {
        return BELAY_EAGAIN;
    }
    if (timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL) != 0) {
        (void)close(fd);
        return BELAY_EAGAIN;
    }
    return fd;
}

static bool native_await(int fd)
{
    uint64_t expired;
    ssize_t len;
    do {
        len = read(fd, &expired, sizeof expired);
    } while (len < 0 && errno == EINTR);
    return len < 0 && errno == ECANCELED;
}

static void native_stop(int fd)
{
    struct itimerspec now = {.it_value = {.tv_nsec = 1}};
    int failed = timerfd_settime(fd, 0, &now, NULL);
    bly_assert(failed == 0);
}

static void native_close(int fd)
{
    (void)close(fd);
}

static const bly_wall_table native_steps = {
    .open = native_open, .await = native_await, .stop = native_stop, .close = native_close};

const bly_wall_table *bly_wall_steps = &native_steps;

static void lock_before_fork(void)
{
    bly_mutex_lock(&lock);
}

static void unlock_in_parent(void)
{
    bly_mutex_unlock(&lock);
}

static void forget_in_child(void)
{
    current = NULL;
    bly_mutex_unlock(&lock);
}

static void watch_forks(void)
{
    static bly_fork_hook hook = {
        .before = lock_before_fork, .parent = unlock_in_parent, .child = forget_in_child};
    bly_at_fork(&hook);
}

static void free_source(source *self)
{
    bly_wall_steps->close(self->fd);
    bly_free(self);
}

static void serve(void *arg)
{
    source *self = arg;
    while (bly_wall_steps->await(self->fd)) {
        bly_watchers_tell(&self->watchers, &lock);
    }
    bly_mutex_lock(&lock);
    bool is_orphan = self->is_orphan;
    bly_mutex_unlock(&lock);
    if (is_orphan) {
        free_source(self);
    }
}

static source *make(void)
{
    static bly_once fork_once;
    bly_once_run(&fork_once, watch_forks);
    source *self = bly_alloc(sizeof *self);
    if (self == NULL) {
        return NULL;
    }
    bly_watchers_init(&self->watchers);
    self->fd = bly_wall_steps->open();
    if (self->fd < 0) {
        bly_free(self);
        return NULL;
    }
    if (bly_thread_create(&self->thread, &(bly_thread_opts){.name = "belay-wall"}, serve, self) !=
        0) {
        free_source(self);
        return NULL;
    }
    return self;
}

/* Ends a source without users. */
static void end(source *self, bool is_orphan)
{
    int fd = self->fd;
    if (is_orphan) {
        bly_thread_detach(&self->thread);
    }
    bly_mutex_lock(&lock);
    self->is_orphan = is_orphan;
    bly_mutex_unlock(&lock);
    bly_wall_steps->stop(fd);
    if (!is_orphan) {
        bly_thread_join(&self->thread);
        free_source(self);
    }
}

/* Adds the watcher to the current source; false when there is none. */
static bool join_current(belay_clock_watcher *watcher, source *made)
{
    bly_mutex_lock(&lock);
    if (current == NULL) {
        current = made;
    }
    source *self = current;
    if (self != NULL) {
        bly_watchers_add(&self->watchers, watcher);
        self->users++;
    }
    bly_mutex_unlock(&lock);
    return self != NULL && self != made;
}

int bly_wall_watch(belay_clock_watcher *watcher)
{
    if (join_current(watcher, NULL)) {
        return 0;
    }
    source *made = make();
    if (made == NULL) {
        return BELAY_EAGAIN;
    }
    if (join_current(watcher, made)) {
        end(made, false);
    }
    return 0;
}

void bly_wall_unwatch(belay_clock_watcher *watcher)
{
    bly_mutex_lock(&lock);
    source *self = current;
    if (self == NULL) { /* a forked child has forgotten it */
        bly_mutex_unlock(&lock);
        return;
    }
    bly_watchers_remove(&self->watchers, watcher, &lock);
    bool is_own = self->watchers.running.thread == bly_thread_id();
    bool is_over = --self->users == 0;
    if (is_over) {
        current = NULL;
    }
    bly_mutex_unlock(&lock);
    if (is_over) {
        end(self, is_own || bly_deliver_active());
    }
}
