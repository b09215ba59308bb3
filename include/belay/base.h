/*
 * belay/base.h: results, times and the few words that every part of belay shares.
 *
 * Results. 0 is full success. A positive result is a set of the three BELAY_ bits below. A negative
 * one is an error with one meaning in the whole library [G-BASE-1]: -errno where errno has a name
 * for it, a number of belay's own from -1001 down where it has none. Each function lists its errors
 * in the order in which it checks them; the first that applies is returned. EINTR is never
 * returned.
 *
 * Options structs begin with their size, so that program and library may be of different versions
 * [G-BASE-2]. Zero is each option's default; an option that the library does not know is refused
 * (BELAY_EINVAL) unless it is zero.
 *
 * Times are absolute int64_t nanoseconds on a clock (belay/clock.h). Adding saturates.
 *
 * No function of belay is async-signal-safe or a cancellation point of pthread_cancel.
 */
#ifndef BELAY_BASE_H
#define BELAY_BASE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BELAY_VERSION_MAJOR 0
#define BELAY_VERSION_MINOR 1
#define BELAY_VERSION_PATCH 0

#if defined(__GNUC__)
#define BELAY_API __attribute__((visibility("default")))
#else
#define BELAY_API
#endif

/* The members of a positive result. */
enum {
    BELAY_PENDING = 1,       /* a callback will come, or has come already */
    BELAY_STILL_RUNNING = 2, /* told to stop, has not returned yet */
    BELAY_REPLACED = 4       /* a pending version was dropped for this one */
};

/* Errors. Those with a name in errno carry its number. */
enum {
    BELAY_ENOENT = -ENOENT,       /* nothing of that name or in that state */
    BELAY_EIO = -EIO,             /* the system failed to read or write */
    BELAY_EAGAIN = -EAGAIN,       /* not now; BELAY_NOW was asked for */
    BELAY_ENOMEM = -ENOMEM,       /* no memory; nothing was changed */
    BELAY_EBUSY = -EBUSY,         /* in use, attached, or already queued */
    BELAY_EEXIST = -EEXIST,       /* the id is taken and replacing was not allowed */
    BELAY_EINVAL = -EINVAL,       /* an argument is outside its documented range */
    BELAY_EDEADLK = -EDEADLK,     /* waiting here could never end */
    BELAY_ETIMEDOUT = -ETIMEDOUT, /* the deadline passed */
    BELAY_ESTALE = -ESTALE,       /* that version has ended or was replaced */
    BELAY_ECANCELED = -ECANCELED, /* canceled by its owner or its token */
    BELAY_ECLOSED = -1001,        /* the object takes no more */
    BELAY_EFULL = -1002,          /* a bound of the caller's choice is reached */
    BELAY_ERELEASED = -1003,      /* this lease was released before */
    BELAY_ENOTHELD = -1004,       /* this lease holds nothing */
    BELAY_ETOOBIG = -1005,        /* more permits than there will ever be */
    BELAY_ETOOLATE = -1006        /* decided already, whichever way */
};

/* Why a drop function was called; never 0. */
enum {
    BELAY_DROP_CANCELED = 1, /* its owner canceled it */
    BELAY_DROP_REPLACED = 2, /* a newer version of its id took its place */
    BELAY_DROP_CLOSED = 3,   /* its scheduler or group was closed */
    BELAY_DROP_SHUTDOWN = 4, /* its executor was told to stop at once */
    BELAY_DROP_ENDED = 5     /* a series came to its own end */
};

#define BELAY_NOW     INT64_MIN /* as a deadline: try, never wait */
#define BELAY_FOREVER INT64_MAX /* as a deadline: never times out; as a time: never */

#define BELAY_NONE      (UINT32_MAX - 1) /* as a bound in options: zero of them */
#define BELAY_UNBOUNDED UINT32_MAX       /* as a bound in options: no bound at all */

/*
 * belay_err_name: the name of a result, "BELAY_ECLOSED" for BELAY_ECLOSED; "BELAY_OK" for 0,
 * "BELAY_PENDING" and the like for a single bit, "BELAY_UNKNOWN" for all else.
 * Lends a constant string. Errors: none. Context: any thread, never blocks.
 */
BELAY_API const char *belay_err_name(int result);

/*
 * belay_strerror: one sentence, in English and without a full stop, that says what a result means.
 * Lends a constant string. Errors: none. Context: any thread, never blocks.
 */
BELAY_API const char *belay_strerror(int result);

/*
 * belay_version: the version of the library that is running, as "0.1.0".
 * Lends a constant string. Errors: none. Context: any thread, never blocks.
 */
BELAY_API const char *belay_version(void);

/*
 * belay_time_add: time_ns + delay_ns, held at BELAY_FOREVER or just above BELAY_NOW where the sum
 * does not fit [G-BASE-3]. BELAY_NOW and BELAY_FOREVER as time_ns are returned as they are.
 * Errors: none. Context: any thread, never blocks.
 */
BELAY_API int64_t belay_time_add(int64_t time_ns, int64_t delay_ns);

#ifdef __cplusplus
}
#endif

#endif
