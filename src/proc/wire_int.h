/*
 * wire_int.h: what runner and keeper say to each other: frames over a stream socket, batched.
 *
 * A frame is a head, a body of fixed form and, for a spawn, strings; its size is a multiple of 8,
 * so that bodies lie aligned in the buffers. Both ends are the same program: nothing is translated.
 * A frame may carry descriptors; they arrive with its first byte.
 */
#ifndef BLY_PROC_WIRE_INT_H
#define BLY_PROC_WIRE_INT_H

#include "proc/buf_int.h"

#include <sys/types.h>

#define BLY_WIRE_FDS_MAX   4                  /* descriptors a frame may carry */
#define BLY_WIRE_FRAME_MAX ((size_t)16 << 20) /* more bytes in a frame are a broken invariant */
#define BLY_WIRE_TEXT_MAX  ((size_t)8 << 20)  /* strings of one spawn; execve takes 6 MiB at most */

/* Types of frames; the comment names the body. */
enum {
    /* runner to keeper */
    BLY_WIRE_SPAWN = 1, /* bly_wire_spawn and its strings */
    BLY_WIRE_STOP,      /* bly_wire_order */
    BLY_WIRE_KILL,      /* bly_wire_order */
    BLY_WIRE_SIGNAL,    /* bly_wire_order */
    BLY_WIRE_STOP_ALL,  /* nothing */
    BLY_WIRE_KILL_ALL,  /* nothing */
    BLY_WIRE_SUSPEND,   /* nothing; answered by BLY_WIRE_SUSPENDED */
    BLY_WIRE_RESUME,    /* nothing */
    BLY_WIRE_DROP_FILE, /* bly_wire_order: `number` is the file */
    /* keeper to runner */
    BLY_WIRE_HELLO,    /* bly_wire_order: `number` is 0 or the errno of why it cannot work */
    BLY_WIRE_STARTED,  /* bly_wire_started */
    BLY_WIRE_ENDED,    /* bly_wire_ended */
    BLY_WIRE_SUSPENDED /* nothing */
};

/* Where a stream of a spawn comes from. */
enum {
    BLY_WIRE_NULL = 0, /* /dev/null; for the live descriptor: none */
    BLY_WIRE_FILE,     /* the file of that number, which the keeper has */
    BLY_WIRE_FILE_NEW, /* the same; its descriptor comes with the frame */
    BLY_WIRE_FD,       /* a descriptor that comes with the frame, for this job alone */
    BLY_WIRE_SAME,     /* as the stream before */
    BLY_WIRE_LIVE      /* what the keeper holds for all jobs */
};

typedef struct bly_wire_head {
    uint32_t size; /* of the frame, this head included */
    uint16_t type;
    uint16_t fds; /* descriptors it carries */
} bly_wire_head;

typedef struct bly_wire_order {
    uint64_t id;
    int64_t number;
} bly_wire_order;

/* Strings follow, each with its NUL: path, cwd (where has_), argv, env, additions to env. */
typedef struct bly_wire_spawn {
    uint64_t id;
    int64_t timeout_ns;
    uint32_t flags; /* BLY_PROC_KEEP_CHILDREN, BLY_PROC_UMASK */
    uint32_t umask;
    uint32_t file[2];  /* of stdout and stderr */
    uint8_t source[4]; /* BLY_WIRE_NULL ... of stdin, stdout, stderr, live */
    uint8_t has_path, has_cwd, has_env, wants_started;
    uint8_t is_withdrawn; /* not to be started, only answered */
    uint8_t unused[7];
    uint32_t argc, envc, addc;
    uint32_t text_size; /* of all strings */
} bly_wire_spawn;

typedef struct bly_wire_started {
    uint64_t id;
    int64_t start_ns;
    int64_t pid;
} bly_wire_started;

typedef struct bly_wire_ended {
    uint64_t id;
    int64_t start_ns, end_ns, user_ns, system_ns;
    uint64_t rss_max_kib;
    uint32_t left, kept;
    int32_t how, code, stage;
    uint8_t is_timed_out;
    uint8_t is_dirty; /* somebody may still write to its spool files */
    uint8_t unused[2];
} bly_wire_ended;

/* A descriptor that waits to be sent with the frame that begins at `at` of the stream. */
typedef struct bly_wire_fd {
    uint64_t at;
    int fd;
    bool is_owned; /* closed once it is sent */
} bly_wire_fd;

/* One end; owner thread only. */
typedef struct bly_wire {
    int fd;
    bly_buf in, out;
    uint64_t put_total, sent_total; /* bytes of the outgoing stream, queued and sent */
    uint64_t last_at;               /* where the frame last put begins */
    bly_wire_fd *out_fds;           /* in order */
    uint32_t out_fds_count, out_fds_capacity;
    int in_fds[BLY_WIRE_FDS_MAX]; /* of the one frame with descriptors that is not consumed */
    uint32_t in_fds_count, in_fds_taken;
} bly_wire;

/* bly_wire_init: an end over fd, which it takes; non-blocking from now on. */
void bly_wire_init(bly_wire *wire, int fd);

/* bly_wire_free: closes the end and every descriptor it holds. */
void bly_wire_free(bly_wire *wire);

/*
 * bly_wire_put: queues a frame; the zeroed body of body_size bytes to fill in before the next call,
 * NULL without memory.
 */
void *bly_wire_put(bly_wire *wire, int type, size_t body_size);

/*
 * bly_wire_attach: fd goes with the frame last put. is_owned: takes it, else borrows it until sent.
 * Errors: BELAY_ENOMEM (not taken).
 */
int bly_wire_attach(bly_wire *wire, int fd, bool is_owned);

/* bly_wire_retract: the frame last put is not sent after all, descriptors it owns are closed. */
void bly_wire_retract(bly_wire *wire);

/* bly_wire_flush: sends. 0: all; BELAY_EAGAIN: the rest later; BELAY_ECLOSED: nobody listens. */
int bly_wire_flush(bly_wire *wire);

/*
 * bly_wire_fill: receives what is there. 0; BELAY_EAGAIN: nothing; BELAY_ECLOSED; BELAY_ENOMEM.
 * An end that is sent descriptors must have consumed every frame received so far.
 */
int bly_wire_fill(bly_wire *wire);

/* bly_wire_next: consumes the next whole frame; valid until bly_wire_fill. NULL: none. */
const bly_wire_head *bly_wire_next(bly_wire *wire);

/* bly_wire_unsent: the body of the queued frame that begins at `at`, NULL when a part was sent. */
void *bly_wire_unsent(bly_wire *wire, uint64_t at);

/* bly_wire_has: is a frame of that type among those received and not consumed. */
bool bly_wire_has(const bly_wire *wire, int type);

/*
 * bly_wire_take_fd: the next descriptor of the frame just consumed, the caller's to close; -1 when
 * it was lost because this process has too many.
 */
int bly_wire_take_fd(bly_wire *wire);

/* bly_wire_body: what follows a head. */
static inline const void *bly_wire_body(const bly_wire_head *head)
{
    return head + 1;
}

#endif
