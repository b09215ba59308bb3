/*
 * bench.h: the frame of a benchmark program: a table of cases, one a workload and subject.
 *
 *     static const struct bench_case cases[] = {
 *         {"pair", "ns", BENCH_LOW, "belay", pair_belay},
 *         {"pair", "ns", BENCH_LOW, "mutex", pair_mutex},
 *     };
 *     BENCH_MAIN(cases)
 *
 * The driver calls the program once for each run, so a case starts from nothing.
 */
#ifndef BELAY_BENCH_H
#define BELAY_BENCH_H

#include <stddef.h>
#include <stdint.h>

enum bench_better { BENCH_LOW, BENCH_HIGH };

struct bench_case {
    const char *workload;
    const char *unit;
    enum bench_better better; /* which figure is the better one */
    const char *subject;      /* "belay", or the peer */
    double (*run)(void);      /* one run; returns the figure; negative: it could not be run */
};

/* bench_main: answers --list, or WORKLOAD SUBJECT. The exit status of the program. */
int bench_main(const struct bench_case *cases, size_t count, int argc, char **argv);

/* bench_now_ns: the monotonic clock. */
int64_t bench_now_ns(void);

#define BENCH_MAIN(cases)                                                                          \
    int main(int argc, char **argv)                                                                \
    {                                                                                              \
        return bench_main(cases, sizeof(cases) / sizeof((cases)[0]), argc, argv);                  \
    }

#endif
