/* The semaphores of the command. */
#include "unit.h"

#include <stdio.h>

#include "cli/sems.h"

static void count_turn(belay_lease *lease, int result, void *arg)
{
    (void)lease;
    *(int *)arg += result == 0 ? 1 : 0;
}

START_TEST(whoever_waits_is_served_inside_the_release)
{
    belay_timers *timers = bly_sems_open();
    belay_sem *sem = bly_sems_make(timers, 1);
    belay_lease first = BELAY_LEASE_INIT;
    belay_lease second = BELAY_LEASE_INIT;
    int turns = 0;
    ck_assert_int_eq(belay_sem_acquire(sem, &first, 1, BELAY_NOW, NULL), 0);
    ck_assert_int_eq(
        belay_sem_acquire_async(sem, &second, 1, BELAY_FOREVER, NULL, count_turn, &turns),
        BELAY_PENDING);
    ck_assert_int_eq(turns, 0);
    ck_assert_int_eq(belay_lease_release(&first), 0);
    ck_assert_int_eq(turns, 1);
    ck_assert_int_eq(belay_lease_release(&second), 0);
    bly_sems_end(sem);
    bly_sems_close(timers);
}
END_TEST

/* Threads of this process, as the kernel counts them. */
static int threads(void)
{
    char line[256];
    int count = 0;
    FILE *file = fopen("/proc/self/status", "r");
    ck_assert_ptr_nonnull(file);
    while (count == 0 && fgets(line, sizeof line, file) != NULL) {
        (void)sscanf(line, "Threads: %d", &count);
    }
    fclose(file);
    return count;
}

START_TEST(no_thread_is_started_for_them)
{
    int before = threads();
    belay_timers *timers = bly_sems_open();
    belay_sem *sem = bly_sems_make(timers, 3);
    ck_assert_int_gt(before, 0);
    ck_assert_int_eq(threads(), before);
    bly_sems_end(sem);
    bly_sems_close(timers);
}
END_TEST

UNIT_MAIN("cli/sems", whoever_waits_is_served_inside_the_release, no_thread_is_started_for_them)
