/*
 * event.c: the table of a real machine, on eventfd.
 */
#include "deliver/event.h"

#include "belay/base.h"

#include <sys/eventfd.h>
#include <unistd.h>

static int event_create(void)
{
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return fd >= 0 ? fd : BELAY_EIO;
}

/* Fails only when the counter is at its end, and then the descriptor is readable anyhow. */
static void event_signal(int fd)
{
    ssize_t done = write(fd, &(uint64_t){1}, sizeof(uint64_t));
    (void)done;
}

/* Fails only when nothing was signalled: then it is clear. */
static void event_clear(int fd)
{
    uint64_t count;
    ssize_t done = read(fd, &count, sizeof count);
    (void)done;
}

static void event_close(int fd)
{
    (void)close(fd);
}

static const bly_event_table native_events = {
    .create = event_create, .signal = event_signal, .clear = event_clear, .close = event_close};

const bly_event_table *bly_events = &native_events;
