#include "bench.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

int64_t bench_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void list(const struct bench_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        printf("%s %s %s %s\n", cases[i].workload, cases[i].unit,
               cases[i].better == BENCH_LOW ? "low" : "high", cases[i].subject);
    }
}

static int run(const struct bench_case *entry)
{
    double figure = entry->run();
    if (figure < 0) {
        fprintf(stderr, "%s of %s could not be run\n", entry->workload, entry->subject);
        return 1;
    }
    printf("%.6g\n", figure);
    return 0;
}

int bench_main(const struct bench_case *cases, size_t count, int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        list(cases, count);
        return 0;
    }
    for (size_t i = 0; argc == 3 && i < count; i++) {
        if (strcmp(argv[1], cases[i].workload) == 0 && strcmp(argv[2], cases[i].subject) == 0) {
            return run(&cases[i]);
        }
    }
    fprintf(stderr, "usage: %s --list | WORKLOAD SUBJECT\n", argv[0]);
    return 2;
}
