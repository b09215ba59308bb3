/*
 * bell.c: how processes hear of each other's commits.
 *
 * After a commit that others may wait for, a few bytes are written into the bell, a file beside the
 * store. Each watch has an inotify descriptor on it. The write comes after the commit, so whoever
 * is woken sees what it was woken for; SQLite's own files would not do, since they change before
 * the commit can be seen. A commit whose process was killed before it rang is noticed by
 * data_version, which changes with each commit of another connection. A store in memory has no
 * file: its watches have an eventfd each, on a list.
 */
#include "store/sqlite_int.h"

#include <poll.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

typedef struct watch {
    bly_store_watch base; /* first */
    bly_sqlite *store;
    int fd;
    bly_list link;     /* in the list of a memory store's; the baton's */
    int64_t version;   /* data_version when it was looked at last */
    int64_t looked_ns; /* monotonic: when that was */
} watch;

void bly_bell_ring(bly_sqlite *store)
{
    uint64_t ring = 1;
    if (store->is_memory) {
        bly_baton_take(store);
        bly_list_each (node, &store->watches) {
            (void)eventfd_write(bly_container(node, watch, link)->fd, 1);
        }
        bly_baton_give(store);
        return;
    }
    /* Should it fail, data_version is noticed a little later. */
    ssize_t written = pwrite(store->bell_fd, &ring, sizeof ring, 0);
    (void)written;
}

/* The number that commits of other connections change. */
static int64_t data_version(bly_sqlite *store)
{
    int64_t version = 0;
    bly_conn *conn = NULL;
    if (store->is_memory) {
        return 0;
    }
    bly_baton_take(store);
    if (bly_reader(store, &conn) == 0) {
        (void)bly_sql_number(conn, "PRAGMA data_version", BLY_NO_ARGS, &version);
    }
    bly_baton_give(store);
    return version;
}

/* A descriptor that is readable once the bell was rung; -1: there is none. */
static int listen_to(const bly_sqlite *store)
{
    char name[64];
    int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    /* By the descriptor, so that it is the file that this store rings. */
    (void)snprintf(name, sizeof name, "/proc/self/fd/%d", store->bell_fd);
    if (fd >= 0 && inotify_add_watch(fd, name, IN_MODIFY) < 0) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

int bly_sqlite_watch_create(bly_store *base, bly_store_watch **ret_watch)
{
    bly_sqlite *store = BLY_SQLITE(base);
    watch *made = bly_alloc(sizeof *made);
    if (made == NULL) {
        return BELAY_ENOMEM;
    }
    made->base.ops = base->ops;
    made->store = store;
    made->fd = store->is_memory ? eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC) : listen_to(store);
    if (made->fd < 0) {
        bly_free(made);
        return BELAY_EAGAIN;
    }
    if (store->is_memory) {
        bly_baton_take(store);
        bly_list_push_back(&store->watches, &made->link);
        bly_baton_give(store);
    }
    made->version = data_version(store);
    made->looked_ns = bly_monotonic_ns();
    *ret_watch = &made->base;
    return 0;
}

void bly_sqlite_watch_destroy(bly_store_watch *base)
{
    watch *self = bly_container(base, watch, base);
    if (self->store->is_memory) {
        bly_baton_take(self->store);
        bly_list_remove(&self->link);
        bly_baton_give(self->store);
    }
    (void)close(self->fd);
    bly_free(self);
}

int bly_sqlite_watch_fd(const bly_store_watch *base)
{
    const watch *self = bly_container(base, const watch, base);
    return self->fd;
}

static bool drain(int fd)
{
    char events[1024];
    bool was_ready = false;
    while (read(fd, events, sizeof events) > 0) {
        was_ready = true;
    }
    return was_ready;
}

bool bly_sqlite_watch_check(bly_store_watch *base)
{
    watch *self = bly_container(base, watch, base);
    bool was_ready = drain(self->fd);
    int64_t now_ns = bly_monotonic_ns();
    if (!was_ready && now_ns - self->looked_ns < BLY_WATCH_PERIOD_NS) {
        return false;
    }
    self->looked_ns = now_ns;
    int64_t version = data_version(self->store);
    bool is_new = version != self->version;
    self->version = version;
    return was_ready || is_new;
}

int bly_sqlite_watch_wait(bly_store_watch *base, int64_t deadline_ns)
{
    watch *self = bly_container(base, watch, base);
    while (!bly_sqlite_watch_check(base)) {
        int64_t now_ns = bly_monotonic_ns();
        if (now_ns >= deadline_ns) {
            return BELAY_ETIMEDOUT;
        }
        int64_t left_ns = deadline_ns - now_ns;
        if (left_ns > BLY_WATCH_PERIOD_NS) {
            left_ns = BLY_WATCH_PERIOD_NS;
        }
        struct pollfd ready = {.fd = self->fd, .events = POLLIN};
        (void)poll(&ready, 1, (int)((left_ns + 999999) / 1000000));
    }
    return 0;
}
