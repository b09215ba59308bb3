/*
 * script.h: calls of the system that fail as a test says: on the call of that number, counted from
 * the moment the test sets it. A program wraps a call with
 *
 *     static fault in_read;
 *     WRAP(ssize_t, read, (int fd, void *to, size_t len), (fd, to, len), &in_read)
 *
 * and is linked with --wrap=read.
 */
#ifndef BELAY_TESTS_SCRIPT_H
#define BELAY_TESTS_SCRIPT_H

#include <errno.h>
#include <stdbool.h>

/* Which call fails, with which errno; 0: none. For one thread at a time. */
typedef struct fault {
    int calls_left, error;
    int times; /* calls that fail from then on */
} fault;

static inline bool fails(fault *f)
{
    if (f->calls_left == 0 || --f->calls_left > 0) {
        return false;
    }
    f->calls_left = --f->times > 0; /* the next one too */
    errno = f->error;
    return true;
}

static inline void arm(fault *f, int call, int error)
{
    *f = (fault){.calls_left = call, .error = error, .times = 1};
}

/* Functions that the linker gives to the objects under test in place of the system's. */
#define WRAP(result, name, parameters, arguments, f)                                               \
    result __real_##name parameters;                                                               \
    result __wrap_##name parameters;                                                               \
    result __wrap_##name parameters                                                                \
    {                                                                                              \
        return fails(f) ? (result)-1 : __real_##name arguments;                                    \
    }

#endif
