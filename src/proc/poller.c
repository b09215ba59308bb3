/*
 * poller.c: the event's data is the entry's index below its generation. An entry whose generation
 * has moved on is somebody else's: its event is counted and dropped.
 */
#include "proc/poller_int.h"

#include "sync/sync.h"

#include <limits.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

/* Events taken from the kernel at once; more wait for the next call. */
#define BATCH_MAX 64

#define ENTRIES_FIRST 16u

static uint64_t token_of(uint32_t index, uint32_t generation)
{
    return (uint64_t)generation << 32 | index;
}

static bly_poller_entry *entry_of(bly_poller *poller, uint64_t token)
{
    uint32_t index = (uint32_t)token;
    bly_assert(index < poller->capacity);
    bly_poller_entry *entry = &poller->entries[index];
    return entry->fn != NULL && entry->generation == (uint32_t)(token >> 32) ? entry : NULL;
}

static int grow(bly_poller *poller)
{
    uint32_t capacity = poller->capacity == 0 ? ENTRIES_FIRST : poller->capacity * 2;
    if (capacity > poller->limit) {
        capacity = poller->limit;
    }
    if (capacity <= poller->capacity) {
        return BELAY_EFULL;
    }
    bly_poller_entry *entries = bly_realloc(poller->entries, capacity * sizeof *entries);
    if (entries == NULL) {
        return BELAY_ENOMEM;
    }
    memset(entries + poller->capacity, 0, (capacity - poller->capacity) * sizeof *entries);
    for (uint32_t i = capacity; i > poller->capacity; i--) {
        entries[i - 1].next_free = poller->free_head;
        poller->free_head = i;
    }
    poller->entries = entries;
    poller->capacity = capacity;
    return 0;
}

static void give_back(bly_poller *poller, uint32_t index)
{
    bly_poller_entry *entry = &poller->entries[index];
    entry->fn = NULL;
    entry->generation++;
    entry->next_free = poller->free_head;
    poller->free_head = index + 1;
}

/* The wait in epoll's milliseconds, rounded up: waking early would only mean waiting again. */
static int timeout_ms(int64_t deadline_ns)
{
    if (deadline_ns == BELAY_FOREVER) {
        return -1;
    }
    if (deadline_ns == BELAY_NOW) {
        return 0;
    }
    int64_t left_ns = deadline_ns - bly_monotonic_ns();
    if (left_ns <= 0) {
        return 0;
    }
    int64_t left_ms = left_ns / 1000000 + (left_ns % 1000000 != 0);
    return left_ms < INT_MAX ? (int)left_ms : INT_MAX;
}

int bly_poller_init(bly_poller *poller, uint32_t limit)
{
    bly_assert(limit > 0);
    memset(poller, 0, sizeof *poller);
    poller->limit = limit;
    poller->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    return poller->epoll_fd < 0 ? BELAY_EIO : 0;
}

void bly_poller_free(bly_poller *poller)
{
    if (poller->epoll_fd >= 0) {
        close(poller->epoll_fd);
    }
    bly_free(poller->entries);
    memset(poller, 0, sizeof *poller);
    poller->epoll_fd = -1;
}

static int add_error(int error)
{
    switch (error) {
    case EPERM:
    case EBADF:
    case EINVAL:
    case ELOOP:
        return BELAY_EINVAL;
    case EEXIST:
        return BELAY_EEXIST;
    case ENOMEM:
        return BELAY_ENOMEM;
    default:
        return BELAY_EIO;
    }
}

int bly_poller_add(bly_poller *poller, int fd, uint32_t epoll_events, bly_poller_fn *fn, void *arg,
                   uint64_t *ret_token)
{
    bly_assert(fn != NULL);
    if (poller->free_head == 0) {
        int grown = grow(poller);
        if (grown != 0) {
            return grown;
        }
    }
    uint32_t index = poller->free_head - 1;
    bly_poller_entry *entry = &poller->entries[index];
    uint64_t token = token_of(index, entry->generation);
    struct epoll_event event = {.events = epoll_events, .data.u64 = token};
    if (epoll_ctl(poller->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0) {
        return add_error(errno);
    }
    poller->free_head = entry->next_free;
    entry->fn = fn;
    entry->arg = arg;
    *ret_token = token;
    return 0;
}

int bly_poller_change(bly_poller *poller, int fd, uint64_t token, uint32_t epoll_events)
{
    bly_assert(entry_of(poller, token) != NULL);
    struct epoll_event event = {.events = epoll_events, .data.u64 = token};
    return epoll_ctl(poller->epoll_fd, EPOLL_CTL_MOD, fd, &event) == 0 ? 0 : BELAY_EIO;
}

void bly_poller_remove(bly_poller *poller, int fd, uint64_t token)
{
    bly_assert(entry_of(poller, token) != NULL);
    struct epoll_event unused = {0};
    int gone = epoll_ctl(poller->epoll_fd, EPOLL_CTL_DEL, fd, &unused);
    bly_assert(gone == 0 || errno == ENOENT || errno == EBADF);
    give_back(poller, (uint32_t)token);
}

uint32_t bly_poller_wait(bly_poller *poller, int64_t deadline_ns)
{
    struct epoll_event events[BATCH_MAX];
    int count = epoll_wait(poller->epoll_fd, events, BATCH_MAX, timeout_ms(deadline_ns));
    bly_assert(count >= 0 || errno == EINTR);
    uint32_t called = 0;
    for (int i = 0; i < count; i++) {
        bly_poller_entry *entry = entry_of(poller, events[i].data.u64);
        if (entry == NULL) {
            poller->stale++;
            continue;
        }
        called++;
        entry->fn(entry->arg, events[i].events);
    }
    return called;
}
