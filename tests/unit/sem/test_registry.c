/* Second releases are counted by semaphores that live, and harmless to those that do not. */
#include "sem_unit.h"

#include <sys/wait.h>
#include <unistd.h>

static belay_lease held;

START_TEST(a_second_release_is_counted_by_its_own_semaphore)
{
    belay_sem *sems[3];
    belay_sem_opts opts = {.size = sizeof opts, .capacity = 1};
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(belay_sem_create(&opts, &sems[i]), 0);
    }
    ck_assert_int_eq(belay_sem_acquire(sems[1], &held, 1, BELAY_NOW, NULL), 0);
    unit_release(&held);
    ck_assert_int_eq(belay_lease_release(&held), BELAY_ERELEASED);
    for (int i = 0; i < 3; i++) {
        ck_assert_uint_eq(unit_stats_of(sems[i]).releases_refused, i == 1);
        ck_assert_int_eq(belay_sem_destroy(sems[i]), 0);
    }
    ck_assert_int_eq(belay_lease_release(&held), BELAY_ERELEASED);
}
END_TEST

START_TEST(a_child_after_fork_makes_semaphores_of_its_own)
{
    unit_open(1);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        belay_sem *sem;
        belay_sem_opts opts = unit_opts(1);
        opts.clock = NULL;
        int failed = belay_sem_create(&opts, &sem) != 0 ||
                     belay_sem_acquire(sem, &held, 1, BELAY_NOW, NULL) != 0 ||
                     belay_lease_release(&held) != 0 || belay_sem_destroy(sem) != 0;
        _exit(failed);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    unit_close();
}
END_TEST

UNIT_MAIN("sem/registry", a_second_release_is_counted_by_its_own_semaphore,
          a_child_after_fork_makes_semaphores_of_its_own)
