/*
 * test_kjob.c: how a job is told to end: timeout, stop, kill, signals, and how it is seen to end.
 */
#include "harness.h"

#define MS INT64_C(1000000)

static harness h;

/* A harness whose grace is short enough to be waited for. */
static void open_short(void)
{
    harness_open_with(&h,
                      (bly_proc_opts){.jobs_max = 8, .grace_ns = 50 * MS, .leftover_ns = 50 * MS});
}

/* One whose grace never ends in a test. */
static void open_long(void)
{
    harness_open_with(
        &h, (bly_proc_opts){.jobs_max = 8, .grace_ns = 1000000 * MS, .leftover_ns = 1000000 * MS});
}

/* A shell line that has said its first line, a pid, on v. */
static uint64_t start(const voice *v, const char *line, int64_t timeout_ns)
{
    char *argv[] = {WORD("sh"), WORD("-c"), WORD(line), NULL};
    bly_proc_spec spec = spec_of(&h, argv);
    spec.out = voice_stream(v);
    spec.timeout_ns = timeout_ns;
    return spawn(&h, &spec);
}

START_TEST(a_timeout_is_term_and_status_124)
{
    open_long();
    voice v = voice_open();
    start(&v, "exec sleep 1000", 20 * MS);
    const end_record *end = await_ends(&h, 1);
    ck_assert(end->end.is_timed_out);
    ck_assert(!end->end.is_stopped);
    ck_assert_int_eq(end->end.how, BLY_PROC_SIGNALED);
    ck_assert_int_eq(end->end.code, SIGTERM);
    ck_assert_int_eq(bly_proc_status(&end->end), 124);
    ck_assert_int_ge(end->end.end_ns - end->end.start_ns, 20 * MS);
    bly_proc_destroy(h.proc);
}
END_TEST

START_TEST(a_job_that_ends_in_time_is_not_timed_out)
{
    open_long();
    voice v = voice_open();
    start(&v, "true", 1000000 * MS);
    const end_record *end = await_ends(&h, 1);
    ck_assert(!end->end.is_timed_out);
    ck_assert_int_eq(bly_proc_status(&end->end), 0);
    bly_proc_destroy(h.proc);
}
END_TEST

START_TEST(one_that_ignores_term_is_killed_after_the_grace)
{
    ck_assert(signal(SIGTERM, SIG_IGN) != SIG_ERR); /* and so in jobs, from their first moment on */
    open_short();
    voice v = voice_open();
    start(&v, "exec sleep 1000", 20 * MS);
    const end_record *end = await_ends(&h, 1);
    ck_assert_int_eq(end->end.code, SIGKILL);
    ck_assert_int_eq(bly_proc_status(&end->end), 124);
    ck_assert_int_ge(end->end.end_ns - end->end.start_ns, 70 * MS);
    bly_proc_destroy(h.proc);
}
END_TEST

START_TEST(a_stopped_job_may_clean_up)
{
    open_long();
    voice v = voice_open();
    uint64_t id = start(&v, "trap 'echo 7; exit 9' TERM; echo $$; while :; do sleep 0.01; done", 0);
    hear_pid(&h, &v);
    ck_assert_int_eq(bly_proc_stop(h.proc, id), 0);
    ck_assert_int_eq(bly_proc_stop(h.proc, id), 0);
    const end_record *end = await_ends(&h, 1);
    ck_assert_int_eq(end->end.how, BLY_PROC_EXITED);
    ck_assert_int_eq(end->end.code, 9);
    ck_assert(end->end.is_stopped);
    ck_assert_int_eq(hear_pid(&h, &v), 7);
    bly_proc_destroy(h.proc);
}
END_TEST

START_TEST(a_suspended_group_is_continued_to_hear_term)
{
    open_long();
    voice v = voice_open();
    uint64_t id = start(&v, "echo $$; kill -STOP $$; sleep 1000", 0);
    pid_t pid = hear_pid(&h, &v);
    int64_t deadline_ns = soon();
    while (state_of(pid) != 'T') {
        ck_assert_int_lt(bly_monotonic_ns(), deadline_ns);
        bly_proc_poll(h.proc, bly_monotonic_ns() + MS);
    }
    ck_assert_int_eq(bly_proc_stop(h.proc, id), 0);
    ck_assert_int_eq(await_ends(&h, 1)->end.code, SIGTERM);
    bly_proc_destroy(h.proc);
}
END_TEST

/* Killing the parent first must not let its children escape. */
START_TEST(a_canceled_shell_leaves_no_child)
{
    open_long();
    voice v = voice_open();
    uint64_t id = start(&v, "sleep 1000 & echo $!; wait", 0);
    pid_t child = hear_pid(&h, &v);
    ck_assert_int_eq(bly_proc_stop(h.proc, id), 0);
    await_ends(&h, 1);
    ck_assert(!is_alive(child));
    bly_proc_destroy(h.proc);
}
END_TEST

START_TEST(a_canceled_job_takes_along_children_in_sessions_of_their_own)
{
    open_short();
    voice v = voice_open();
    uint64_t id = start(&v, "setsid sh -c 'echo $$; exec sleep 1000' & wait", 0);
    pid_t child = hear_pid(&h, &v);
    ck_assert_int_eq(bly_proc_stop(h.proc, id), 0);
    const end_record *end = await_ends(&h, 1);
    ck_assert_int_eq(end->end.code, SIGTERM);
    ck_assert_uint_eq(end->end.left, 1);
    ck_assert(!is_alive(child));
    bly_proc_destroy(h.proc);
}
END_TEST

START_TEST(a_killed_job_dies_with_all_below_it_at_once)
{
    open_long();
    voice v = voice_open();
    uint64_t id = start(&v,
                        "trap '' TERM; setsid sh -c 'trap \"\" TERM; echo $$; sleep 1000; :' & "
                        "sleep 1000 & echo $!; wait",
                        0);
    pid_t pids[2] = {hear_pid(&h, &v), hear_pid(&h, &v)};
    ck_assert_int_eq(bly_proc_kill(h.proc, id), 0);
    const end_record *end = await_ends(&h, 1);
    ck_assert_int_eq(end->end.code, SIGKILL);
    ck_assert(end->end.is_stopped);
    ck_assert(!is_alive(pids[0]));
    ck_assert(!is_alive(pids[1]));
    bly_proc_destroy(h.proc);
}
END_TEST

START_TEST(kill_after_stop_does_not_wait_for_the_grace)
{
    open_long();
    voice v = voice_open();
    uint64_t id = start(&v, "trap '' TERM; echo $$; while :; do sleep 1000; done", 0);
    hear_pid(&h, &v);
    ck_assert_int_eq(bly_proc_stop(h.proc, id), 0);
    bly_proc_flush(h.proc);
    ck_assert_int_eq(bly_proc_kill(h.proc, id), 0);
    ck_assert_int_eq(await_ends(&h, 1)->end.code, SIGKILL);
    bly_proc_destroy(h.proc);
}
END_TEST

START_TEST(stop_all_and_kill_all_reach_every_job)
{
    open_long();
    voice v = voice_open();
    for (int i = 0; i < 4; i++) {
        start(&v, "echo $$; exec sleep 1000", 0);
        start(&v, "trap '' TERM; echo $$; while :; do sleep 1000; done", 0);
    }
    for (int i = 0; i < 8; i++) {
        hear_pid(&h, &v);
    }
    bly_proc_stop_all(h.proc);
    await_ends(&h, 4);
    ck_assert_int_eq(h.last->end.code, SIGTERM);
    ck_assert_uint_eq(bly_proc_count(h.proc), 4);
    bly_proc_kill_all(h.proc);
    await_ends(&h, 8);
    ck_assert_int_eq(h.last->end.code, SIGKILL);
    bly_proc_destroy(h.proc);
}
END_TEST

START_TEST(a_signal_goes_to_the_group_and_ends_nothing_by_itself)
{
    open_long();
    voice v = voice_open();
    uint64_t id = start(&v, "trap 'echo 5; exit 0' USR1; echo $$; while :; do sleep 0.01; done", 0);
    hear_pid(&h, &v);
    ck_assert_int_eq(bly_proc_signal(h.proc, id, SIGUSR1), 0);
    hear_pid(&h, &v);
    const end_record *end = await_ends(&h, 1);
    ck_assert(!end->end.is_stopped);
    bly_proc_destroy(h.proc);
}
END_TEST

START_TEST(the_end_of_output_is_not_waited_for)
{
    open_long();
    voice v = voice_open();
    voice gate = voice_open();
    char *argv[] = {WORD("sh"), WORD("-c"),
                    WORD("setsid sh -c 'echo $$; sleep 1000; :' & read -r x; exit 0"), NULL};
    bly_proc_spec spec = spec_of(&h, argv);
    spec.in = (bly_proc_stream){.kind = BLY_PROC_FD, .fd = gate.ends[0]};
    spec.out = voice_stream(&v);
    spawn(&h, &spec);
    pid_t holder = hear_pid(&h, &v);
    ck_assert_int_eq(write(gate.ends[1], "\n", 1), 1);
    ck_assert_int_eq(await_ends(&h, 1)->end.code, 0);
    ck_assert(is_alive(holder));
    bly_proc_destroy(h.proc);
    ck_assert(!is_alive(holder));
}
END_TEST

/* A job and its time. */
typedef struct timed {
    uint64_t id;
    int64_t timeout_ns;
} timed;

static timed jobs[6];

static void on_timed_end(const bly_proc_end *end, void *arg)
{
    const timed *job = jobs;
    while (job->id != end->id) {
        job++;
    }
    ck_assert(end->is_timed_out);
    ck_assert_int_ge(end->end_ns - end->start_ns, job->timeout_ns);
    on_ended(end, arg);
}

/* In no certain order: on a busy machine the later ones may start when the first are over. */
START_TEST(timeouts_of_many_jobs_fire_in_their_own_time)
{
    open_long();
    char *argv[] = {WORD("sleep"), WORD("1000"), NULL};
    bly_proc_spec spec = spec_of(&h, argv);
    spec.ended = on_timed_end;
    for (int i = 0; i < 6; i++) {
        jobs[i].timeout_ns = i == 2 ? 1000000 * MS : (6 - i) * 15 * MS;
        spec.timeout_ns = jobs[i].timeout_ns;
        jobs[i].id = spawn(&h, &spec);
    }
    await_ends(&h, 5);
    ck_assert_uint_eq(bly_proc_count(h.proc), 1);
    bly_proc_destroy(h.proc);
}
END_TEST

UNIT_MAIN("proc/kjob", a_timeout_is_term_and_status_124, a_job_that_ends_in_time_is_not_timed_out,
          one_that_ignores_term_is_killed_after_the_grace, a_stopped_job_may_clean_up,
          a_suspended_group_is_continued_to_hear_term, a_canceled_shell_leaves_no_child,
          a_canceled_job_takes_along_children_in_sessions_of_their_own,
          a_killed_job_dies_with_all_below_it_at_once, kill_after_stop_does_not_wait_for_the_grace,
          stop_all_and_kill_all_reach_every_job,
          a_signal_goes_to_the_group_and_ends_nothing_by_itself,
          the_end_of_output_is_not_waited_for, timeouts_of_many_jobs_fire_in_their_own_time)
