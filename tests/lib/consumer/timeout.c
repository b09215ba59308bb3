/* timeout.c: a test of somebody else, with the test kit: a wait of a millisecond, in no time. */
#include <belay/sem.h>
#include <belay/test.h>

#include <stdio.h>
#include <stdlib.h>

static int seen = 1;

static void on_result(belay_lease *lease, int result, void *arg)
{
    (void)lease;
    (void)arg;
    seen = result;
}

static void check(int is_right, const char *what)
{
    if (!is_right) {
        printf("not so: %s\n", what);
        exit(EXIT_FAILURE);
    }
}

#define CHECK(what) check(what, #what)

int main(void)
{
    belay_clock *clock = NULL;
    CHECK(belay_manual_clock_create(0, 0, &clock) == 0);
    belay_sem_opts opts = {.size = sizeof opts, .capacity = 1, .clock = clock};
    belay_sem *sem = NULL;
    CHECK(belay_sem_create(&opts, &sem) == 0);

    belay_lease held = BELAY_LEASE_INIT, late = BELAY_LEASE_INIT;
    CHECK(belay_sem_acquire(sem, &held, 1, BELAY_NOW, NULL) == 0);
    int result = belay_sem_acquire_async(sem, &late, 1, 1000000, NULL, on_result, NULL);
    CHECK(result == BELAY_PENDING);
    CHECK(belay_manual_clock_advance(clock, 999999) == 0 && seen == 1);
    CHECK(belay_manual_clock_advance(clock, 1000000) == 0 && seen == BELAY_ETIMEDOUT);

    CHECK(belay_lease_release(&held) == 0);
    CHECK(belay_sem_destroy(sem) == 0);
    CHECK(belay_manual_clock_destroy(clock) == 0);
    puts("timed out at 1 ms");
    return 0;
}
