/* test_keeper.c: the keeper itself: what it holds, what it passes on, and that it goes. */
#include "harness.h"
#include "proc/runner_int.h"

#include <dirent.h>
#include <sys/resource.h>

static harness h;

static int descriptors_of(pid_t pid)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/fd", pid);
    DIR *folder = opendir(path);
    ck_assert_ptr_nonnull(folder);
    int count = 0;
    while (readdir(folder) != NULL) {
        count++;
    }
    closedir(folder);
    return count - 2; /* . and .. */
}

START_TEST(it_has_a_session_of_its_own_and_few_descriptors)
{
    harness_open(&h, 2);
    pid_t keeper = h.proc->keeper;
    ck_assert_int_eq(getsid(keeper), keeper);
    ck_assert_int_lt(descriptors_of(keeper), 16);
    bly_proc_destroy(h.proc);
}
END_TEST

START_TEST(thousands_of_jobs_leave_no_descriptor_and_no_memory)
{
    enum { JOBS = 1000, AT_ONCE = 4 };
    harness_open(&h, AT_ONCE);
    run_shell(&h, "echo x");
    int before = descriptors_of(h.proc->keeper);
    char *argv[] = {WORD("true"), NULL};
    bly_proc_spec spec = spec_of(&h, argv);
    for (int i = 0; i < JOBS; i++) {
        while (bly_proc_count(h.proc) == AT_ONCE) {
            ck_assert_int_eq(bly_proc_poll(h.proc, soon()), 0);
        }
        spawn(&h, &spec);
        ck_assert_int_le(descriptors_of(h.proc->keeper), 4 * AT_ONCE + 32);
    }
    await_ends(&h, JOBS + 1);
    ck_assert_int_le(descriptors_of(h.proc->keeper), before + 2 * AT_ONCE);
    ck_assert_int_le(descriptors_of(getpid()), 4 * AT_ONCE + 32);
    bly_proc_destroy(h.proc);
}
END_TEST

START_TEST(signals_of_a_terminal_do_not_move_it)
{
    harness_open(&h, 2);
    const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGPIPE, SIGUSR1, SIGALRM};
    for (size_t i = 0; i < bly_count(signals); i++) {
        ck_assert_int_eq(kill(h.proc->keeper, signals[i]), 0);
    }
    ck_assert_int_eq(run_shell(&h, "exit 5")->end.code, 5);
    bly_proc_destroy(h.proc);
}
END_TEST

/* Jobs get the mask and the dispositions that the runner had when it made the keeper. */
START_TEST(jobs_get_the_signals_of_the_runner_at_create)
{
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR2);
    signal(SIGHUP, SIG_IGN);
    ck_assert_int_eq(sigprocmask(SIG_SETMASK, &mask, NULL), 0);
    harness_open(&h, 2);
    signal(SIGHUP, SIG_DFL);
    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&mask);
    sigaddset(&mask, SIGTERM);
    ck_assert_int_eq(sigprocmask(SIG_SETMASK, &mask, NULL), 0);
    char *argv[] = {WORD("grep"), WORD("-E"), WORD("^Sig(Blk|Ign)"), WORD("/proc/self/status"),
                    NULL};
    bly_proc_spec spec = spec_of(&h, argv); /* no shell: those have masks of their own */
    const end_record *end = run(&h, &spec);
    ck_assert_str_eq(end->out, "SigBlk:\t0000000000000800\nSigIgn:\t0000000000000001\n");
    bly_proc_destroy(h.proc);
}
END_TEST

START_TEST(ignored_sigchld_of_the_runner_does_not_lose_ends)
{
    signal(SIGCHLD, SIG_IGN);
    harness_open(&h, 2);
    ck_assert_int_eq(run_shell(&h, "exit 5")->end.code, 5);
    bly_proc_destroy(h.proc);
}
END_TEST

/* The keeper may need more descriptors than the user allows a program: jobs do not see that. */
START_TEST(jobs_keep_the_limit_on_descriptors)
{
    struct rlimit limit;
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = 64;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    harness_open(&h, 100);
    ck_assert_str_eq(run_shell(&h, "ulimit -Sn")->out, "64\n");
    for (int i = 0; i < 100; i++) {
        shell(&h, "sleep 0.2; echo x");
    }
    await_ends(&h, 101);
    ck_assert_int_eq(h.last->end.how, BLY_PROC_EXITED);
    ck_assert_str_eq(h.last->out, "x\n");
    bly_proc_destroy(h.proc);
}
END_TEST

/* Four descriptors a job and 32 are all that is needed, so that many jobs fit a hard limit. */
START_TEST(jobs_at_a_hard_limit_on_descriptors_all_run)
{
    enum { JOBS = (128 - 32) / 4 };
    struct rlimit limit = {.rlim_cur = 64, .rlim_max = 128};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    harness_open(&h, JOBS);
    voice v = voice_open();
    voice gate = voice_open();
    char *argv[] = {WORD("sh"), WORD("-c"), WORD("echo $$ >&3; read -r x; echo out; exit 3"), NULL};
    bly_proc_spec spec = spec_of(&h, argv);
    spec.in = (bly_proc_stream){.kind = BLY_PROC_FD, .fd = gate.ends[0]};
    spec.live = voice_stream(&v);
    for (int i = 0; i < JOBS; i++) {
        spawn(&h, &spec);
    }
    for (int i = 0; i < JOBS; i++) {
        hear_pid(&h, &v);
    }
    close(gate.ends[0]);
    close(gate.ends[1]);
    await_ends(&h, JOBS);
    ck_assert_str_eq(h.last->out, "out\n");
    bly_proc_destroy(h.proc);
}
END_TEST

START_TEST(the_live_descriptor_is_in_every_job_that_keeps_no_children)
{
    int file = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
    bly_proc_stream live = {.kind = BLY_PROC_FD, .fd = file};
    harness_open_with(&h, (bly_proc_opts){.jobs_max = 2, .live = live});
    close(file);
    char *argv[] = {WORD("readlink"), WORD("/proc/self/fd/3"), NULL};
    bly_proc_spec spec = spec_of(&h, argv);
    ck_assert_str_eq(run(&h, &spec)->out, "/etc/passwd\n");
    ck_assert_str_eq(run(&h, &spec)->out, "/etc/passwd\n");
    spec.flags = BLY_PROC_KEEP_CHILDREN;
    ck_assert_str_eq(run(&h, &spec)->out, "");
    spec.flags = 0;
    spec.live.kind = BLY_PROC_NULL;
    ck_assert_str_eq(run(&h, &spec)->out, "");
    bly_proc_destroy(h.proc);
}
END_TEST

START_TEST(streams_0_to_2_closed_at_create_are_no_harm)
{
    fflush(NULL);
    int saved[3];
    for (int i = 0; i < 3; i++) {
        saved[i] = fcntl(i, F_DUPFD_CLOEXEC, 100);
        close(i);
    }
    harness_open(&h, 2);
    const end_record *end = run_shell(&h, "cat; echo out; echo err >&2");
    bly_proc_destroy(h.proc);
    for (int i = 0; i < 3; i++) {
        dup2(saved[i], i);
    }
    ck_assert_str_eq(end->out, "out\n");
    ck_assert_str_eq(end->err, "err\n");
}
END_TEST

START_TEST(hundreds_of_jobs_run_at_once)
{
    enum { JOBS = 300 };
    harness_open(&h, JOBS);
    voice v = voice_open();
    voice gate = voice_open();
    char *argv[] = {WORD("sh"), WORD("-c"), WORD("echo $$ >&3; read -r x; exit 3"), NULL};
    bly_proc_spec spec = spec_of(&h, argv);
    spec.in = (bly_proc_stream){.kind = BLY_PROC_FD, .fd = gate.ends[0]};
    spec.live = voice_stream(&v);
    for (int i = 0; i < JOBS; i++) {
        spawn(&h, &spec);
    }
    for (int i = 0; i < JOBS; i++) {
        hear_pid(&h, &v);
    }
    ck_assert_uint_eq(bly_proc_count(h.proc), JOBS);
    ck_assert_int_le(descriptors_of(h.proc->keeper), 4 * JOBS + 32);
    ck_assert_int_le(descriptors_of(getpid()), 4 * JOBS + 32);
    close(gate.ends[0]);
    close(gate.ends[1]);
    await_ends(&h, JOBS);
    bly_proc_destroy(h.proc);
}
END_TEST

UNIT_MAIN("proc/keeper", it_has_a_session_of_its_own_and_few_descriptors,
          thousands_of_jobs_leave_no_descriptor_and_no_memory, signals_of_a_terminal_do_not_move_it,
          jobs_get_the_signals_of_the_runner_at_create,
          ignored_sigchld_of_the_runner_does_not_lose_ends, jobs_keep_the_limit_on_descriptors,
          the_live_descriptor_is_in_every_job_that_keeps_no_children,
          jobs_at_a_hard_limit_on_descriptors_all_run, streams_0_to_2_closed_at_create_are_no_harm,
          hundreds_of_jobs_run_at_once)
