/*
 * event.h: descriptors that an event loop polls, behind a table of functions.
 *
 * Tests and the explorer put a table of their own in bly_events before anything is created.
 */
#ifndef BLY_DELIVER_EVENT_H
#define BLY_DELIVER_EVENT_H

/*
 * create: gives a descriptor that is not readable; BELAY_EIO when there is none.
 * signal, clear: makes it readable, and not readable; neither blocks.
 * close: takes it back.
 */
typedef struct bly_event_table {
    int (*create)(void);
    void (*signal)(int fd);
    void (*clear)(int fd);
    void (*close)(int fd);
} bly_event_table;

/* Constant once something was created. */
extern const bly_event_table *bly_events;

#endif
