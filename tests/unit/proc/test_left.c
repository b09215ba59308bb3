/* test_left.c: what jobs leave behind: told to end, waited for, or kept. */
#include "harness.h"
#include "proc/runner_int.h"

#define MS INT64_C(1000000)

static harness h;

static void open_short(void)
{
    harness_open_with(&h,
                      (bly_proc_opts){.jobs_max = 4, .grace_ns = 50 * MS, .leftover_ns = 50 * MS});
}

static void open_long(void)
{
    harness_open_with(
        &h, (bly_proc_opts){.jobs_max = 4, .grace_ns = 1000000 * MS, .leftover_ns = 1000000 * MS});
}

/*
 * A shell line whose descendants say their pids on v and whose main process ends after `pids` of
 * them: it reads a line from `gate`, which is written then.
 */
static const end_record *run_line(const voice *v, const char *line, uint32_t flags, pid_t *pids,
                                  int count)
{
    voice gate = voice_open();
    char *argv[] = {WORD("sh"), WORD("-c"), WORD(line), NULL};
    bly_proc_spec spec = spec_of(&h, argv);
    spec.in = (bly_proc_stream){.kind = BLY_PROC_FD, .fd = gate.ends[0]};
    spec.live = voice_stream(v);
    spec.flags = flags;
    spawn(&h, &spec);
    for (int i = 0; i < count; i++) {
        pids[i] = hear_pid(&h, v);
    }
    ck_assert_int_eq(write(gate.ends[1], "\n", 1), 1);
    close(gate.ends[0]);
    close(gate.ends[1]);
    return await_ends(&h, h.ends + 1);
}

START_TEST(a_background_child_is_told_to_end)
{
    open_long();
    voice v = voice_open();
    pid_t pid;
    const end_record *end = run_line(&v, "sleep 1000 & echo $! >&3; read -r x; exit 4", 0, &pid, 1);
    ck_assert_int_eq(end->end.code, 4);
    ck_assert_uint_eq(end->end.left, 1);
    ck_assert(!end->end.is_stopped);
    ck_assert(!is_alive(pid));
    bly_proc_destroy(h.proc);
}
END_TEST

START_TEST(one_that_ignores_term_is_killed)
{
    open_short();
    voice v = voice_open();
    pid_t pid;
    const end_record *end = run_line(
        &v, "sh -c 'trap \"\" TERM; echo $$ >&3; while :; do sleep 1000; done' & read -r x", 0,
        &pid, 1);
    ck_assert_int_eq(end->end.code, 0);
    ck_assert_uint_ge(end->end.left, 1);
    ck_assert(!is_alive(pid));
    bly_proc_destroy(h.proc);
}
END_TEST

START_TEST(one_in_a_group_of_its_own_within_the_session_is_found)
{
    open_long();
    voice v = voice_open();
    pid_t pid;
    const end_record *end = run_line(
        &v, "set -m; sh -c 'echo $$ >&3; exec sleep 1000' & read -r x; exit 0", 0, &pid, 1);
    ck_assert_uint_eq(end->end.left, 1);
    ck_assert(!is_alive(pid));
    bly_proc_destroy(h.proc);
}
END_TEST

START_TEST(a_stopped_one_is_continued_to_end)
{
    open_long();
    voice v = voice_open();
    pid_t pid;
    run_line(&v, "sh -c 'echo $$ >&3; kill -STOP $$; sleep 1000' & read -r x", 0, &pid, 1);
    ck_assert(!is_alive(pid));
    bly_proc_destroy(h.proc);
}
END_TEST

START_TEST(a_large_family_is_ended_whole)
{
    open_long();
    voice v = voice_open();
    pid_t pids[100];
    const end_record *end = run_line(&v,
                                     "i=0; while test $i -lt 100; do sleep 1000 & echo $! >&3; "
                                     "i=$((i + 1)); done; read -r x",
                                     0, pids, 100);
    ck_assert_uint_eq(end->end.left, 100);
    for (int i = 0; i < 100; i++) {
        ck_assert(!is_alive(pids[i]));
    }
    bly_proc_destroy(h.proc);
}
END_TEST

START_TEST(a_job_that_leaves_nothing_leaves_zero)
{
    open_long();
    const end_record *end = run_shell(&h, "sh -c 'sleep 0' & (true); wait");
    ck_assert_uint_eq(end->end.left, 0);
    ck_assert_uint_eq(end->end.kept, 0);
    bly_proc_destroy(h.proc);
}
END_TEST

/* What one job left must not be mistaken for another's. */
START_TEST(a_job_beside_it_is_not_touched)
{
    open_long();
    voice v = voice_open();
    voice other = voice_open();
    char *argv[] = {WORD("sh"), WORD("-c"), WORD("sleep 1000 & echo $! >&3; wait"), NULL};
    bly_proc_spec spec = spec_of(&h, argv);
    spec.live = voice_stream(&other);
    uint64_t id = spawn(&h, &spec);
    pid_t beside = hear_pid(&h, &other);
    pid_t pid;
    run_line(&v, "sleep 1000 & echo $! >&3; read -r x", 0, &pid, 1);
    ck_assert(!is_alive(pid));
    ck_assert(is_alive(beside));
    bly_proc_kill(h.proc, id);
    await_ends(&h, 2);
    ck_assert(!is_alive(beside));
    bly_proc_destroy(h.proc);
}
END_TEST

START_TEST(adopted_children_that_end_are_reaped)
{
    open_long();
    voice v = voice_open();
    voice gate = voice_open();
    char *argv[] = {WORD("sh"), WORD("-c"),
                    WORD("(sh -c 'echo $$ >&3; exec sleep 0.01' &); read -r x; exit 0"), NULL};
    bly_proc_spec spec = spec_of(&h, argv);
    spec.in = (bly_proc_stream){.kind = BLY_PROC_FD, .fd = gate.ends[0]};
    spec.live = voice_stream(&v);
    spawn(&h, &spec);
    pid_t pid = hear_pid(&h, &v);
    ck_assert(is_gone_soon(pid));
    int64_t deadline_ns = soon();
    while (state_of(pid) != 0) { /* a zombie until the keeper has reaped it */
        ck_assert_int_lt(bly_monotonic_ns(), deadline_ns);
        bly_proc_poll(h.proc, bly_monotonic_ns() + MS);
    }
    ck_assert_uint_eq(h.ends, 0);
    ck_assert_int_eq(write(gate.ends[1], "\n", 1), 1);
    await_ends(&h, 1);
    bly_proc_destroy(h.proc);
}
END_TEST

static const char daemon_line[] = "sh -c 'setsid sh -c \"echo \\$\\$ >&3; exec sleep 1000\" &'; "
                                  "read -r x; exit 0";

START_TEST(a_kept_daemon_lives_on_after_the_runner)
{
    open_long();
    voice v = voice_open();
    pid_t pid;
    const end_record *end = run_line(&v, daemon_line, BLY_PROC_KEEP_CHILDREN, &pid, 1);
    ck_assert_uint_eq(end->end.kept, 1);
    ck_assert_uint_eq(end->end.left, 0);
    run_shell(&h, "true");
    bly_proc_destroy(h.proc);
    ck_assert(is_alive(pid));
    kill(pid, SIGKILL);
    ck_assert(is_gone_soon(pid));
}
END_TEST

START_TEST(kept_children_of_the_jobs_own_session_live_on)
{
    open_long();
    voice v = voice_open();
    pid_t pid;
    const end_record *end =
        run_line(&v, "sleep 1000 & echo $! >&3; read -r x", BLY_PROC_KEEP_CHILDREN, &pid, 1);
    ck_assert_uint_eq(end->end.kept, 1);
    bly_proc_destroy(h.proc);
    ck_assert(is_alive(pid));
    kill(pid, SIGKILL);
    ck_assert(is_gone_soon(pid));
}
END_TEST

START_TEST(a_stopped_job_keeps_no_children)
{
    open_long();
    voice v = voice_open();
    char *argv[] = {WORD("sh"), WORD("-c"), WORD("setsid sleep 1000 & echo $! >&3; wait"), NULL};
    bly_proc_spec spec = spec_of(&h, argv);
    spec.live = voice_stream(&v);
    spec.flags = BLY_PROC_KEEP_CHILDREN;
    uint64_t id = spawn(&h, &spec);
    pid_t pid = hear_pid(&h, &v);
    ck_assert_int_eq(bly_proc_stop(h.proc, id), 0);
    ck_assert_uint_eq(await_ends(&h, 1)->end.kept, 0);
    ck_assert(!is_alive(pid));
    bly_proc_destroy(h.proc);
}
END_TEST

START_TEST(a_daemon_nobody_asked_to_keep_ends_with_the_runner)
{
    open_long();
    voice v = voice_open();
    pid_t pid;
    run_line(&v, daemon_line, 0, &pid, 1);
    ck_assert(is_alive(pid));
    bly_proc_destroy(h.proc);
    ck_assert(!is_alive(pid));
}
END_TEST

/* A daemon still has the spool file of its job open: nobody else may get that file. */
START_TEST(what_a_daemon_writes_later_is_in_no_other_jobs_output)
{
    open_long();
    voice v = voice_open();
    voice gate = voice_open();
    char fifo[] = "/tmp/belay-test-left-XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(fifo));
    ck_assert_int_eq(chdir(fifo), 0);
    char *line[] = {WORD("sh"), WORD("-c"),
                    WORD("mkfifo go; setsid sh -c 'echo $$ >&3; read -r x <go; echo LATE; "
                         "echo 2 >&3; exec sleep 1000' & echo early; read -r x"),
                    NULL};
    bly_proc_spec spec = spec_of(&h, line);
    spec.cwd = fifo;
    spec.in = (bly_proc_stream){.kind = BLY_PROC_FD, .fd = gate.ends[0]};
    spec.live = voice_stream(&v);
    spawn(&h, &spec);
    hear_pid(&h, &v);
    ck_assert_int_eq(write(gate.ends[1], "\n", 1), 1);
    ck_assert_str_eq(await_ends(&h, 1)->out, "early\n");

    int go = open("go", O_WRONLY | O_CLOEXEC);
    ck_assert_int_eq(write(go, "\n", 1), 1);
    hear_pid(&h, &v); /* it has written */
    for (int i = 0; i < 4; i++) {
        ck_assert_str_eq(run_shell(&h, "echo mine")->out, "mine\n");
    }
    close(go);
    unlink("go");
    ck_assert_int_eq(rmdir(fifo), 0);
    bly_proc_destroy(h.proc);
}
END_TEST

UNIT_MAIN("proc/left", a_background_child_is_told_to_end, one_that_ignores_term_is_killed,
          one_in_a_group_of_its_own_within_the_session_is_found, a_stopped_one_is_continued_to_end,
          a_large_family_is_ended_whole, a_job_that_leaves_nothing_leaves_zero,
          a_job_beside_it_is_not_touched, adopted_children_that_end_are_reaped,
          a_kept_daemon_lives_on_after_the_runner, kept_children_of_the_jobs_own_session_live_on,
          a_stopped_job_keeps_no_children, a_daemon_nobody_asked_to_keep_ends_with_the_runner,
          what_a_daemon_writes_later_is_in_no_other_jobs_output)
