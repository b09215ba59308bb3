/*
 * aborts.h: tests of what must end the process by a broken invariant.
 *
 *     ck_assert_aborts(push_twice, "place_of(heap, element) == 0");
 *
 * runs push_twice() in a child and checks that it dies of SIGABRT with that text on stderr.
 */
#ifndef BELAY_TESTS_ABORTS_H
#define BELAY_TESTS_ABORTS_H

#include <check.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* What fn() wrote to stderr before it died; "" when it did not die of SIGABRT. */
static inline const char *unit_abort_text(void (*fn)(void))
{
    static char text[1024];
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        const struct rlimit no_core = {0, 0};
        (void)setrlimit(RLIMIT_CORE, &no_core);
        (void)dup2(ends[1], STDERR_FILENO);
        fn();
        _exit(0);
    }
    close(ends[1]);
    size_t len = 0;
    ssize_t got;
    while ((got = read(ends[0], text + len, sizeof text - 1 - len)) > 0) {
        len += (size_t)got;
    }
    close(ends[0]);
    text[len] = '\0';
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT ? text : "";
}

#define ck_assert_aborts(fn, part)                                                                 \
    do {                                                                                           \
        const char *unit_text = unit_abort_text(fn);                                               \
        ck_assert_msg(strstr(unit_text, part) != NULL, "no abort that says '%s' but '%s'", part,   \
                      unit_text);                                                                  \
    } while (0)

#endif
