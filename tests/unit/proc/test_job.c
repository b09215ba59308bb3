/* test_job.c: jobs from spawn to `ended`, as the runner sees them. */
#include "harness.h"
#include "proc/runner_int.h"

#include <sys/resource.h>
#include <sys/stat.h>

static harness h;

START_TEST(a_command_ends_with_its_status_and_its_outputs)
{
    harness_open(&h, 2);
    int64_t before_ns = bly_monotonic_ns();
    const end_record *end = run_shell(&h, "echo out; echo err >&2; exit 3");
    ck_assert_int_eq(end->end.how, BLY_PROC_EXITED);
    ck_assert_int_eq(end->end.code, 3);
    ck_assert_int_eq(bly_proc_status(&end->end), 3);
    ck_assert_str_eq(end->out, "out\n");
    ck_assert_str_eq(end->err, "err\n");
    ck_assert_int_ge(end->end.start_ns, before_ns);
    ck_assert_int_ge(end->end.end_ns, end->end.start_ns);
    ck_assert_int_le(end->end.end_ns, bly_monotonic_ns());
    ck_assert_uint_gt(end->end.rss_max_kib, 0);
    ck_assert_uint_eq(end->end.left, 0);
    ck_assert(!end->end.is_timed_out && !end->end.is_stopped && !end->end.is_incomplete);
    ck_assert_uint_eq(bly_proc_count(h.proc), 0);
    bly_proc_destroy(h.proc);
}
END_TEST

START_TEST(a_command_killed_by_a_signal_says_which)
{
    harness_open(&h, 2);
    const end_record *end = run_shell(&h, "kill -USR1 $$");
    ck_assert_int_eq(end->end.how, BLY_PROC_SIGNALED);
    ck_assert_int_eq(end->end.code, SIGUSR1);
    ck_assert_int_eq(bly_proc_status(&end->end), 128 + SIGUSR1);
    ck_assert(!end->end.is_stopped);
    bly_proc_destroy(h.proc);
}
END_TEST

START_TEST(a_missing_command_is_127_and_one_not_executable_126)
{
    harness_open(&h, 2);
    char *missing[] = {WORD("no-such-command-anywhere"), NULL};
    bly_proc_spec spec = spec_of(&h, missing);
    const end_record *end = run(&h, &spec);
    ck_assert_int_eq(end->end.how, BLY_PROC_FAILED);
    ck_assert_int_eq(end->end.stage, BLY_PROC_AT_EXEC);
    ck_assert_int_eq(end->end.code, ENOENT);
    ck_assert_int_eq(end->end.start_ns, 0);
    ck_assert_int_eq(bly_proc_status(&end->end), 127);
    char *folder[] = {WORD("/etc/passwd"), NULL};
    spec.argv = folder;
    end = run(&h, &spec);
    ck_assert_int_eq(end->end.code, EACCES);
    ck_assert_int_eq(bly_proc_status(&end->end), 126);
    spec.cwd = "/nowhere";
    end = run(&h, &spec);
    ck_assert_int_eq(end->end.stage, BLY_PROC_AT_CHDIR);
    ck_assert_int_eq(bly_proc_status(&end->end), 126);
    bly_proc_destroy(h.proc);
}
END_TEST

START_TEST(an_argument_beyond_the_kernels_limit_is_refused_at_once)
{
    harness_open(&h, 2);
    size_t size = (size_t)10 << 20;
    char *big = bly_alloc(size + 1);
    memset(big, 'x', size);
    char *argv[] = {WORD("true"), big, NULL};
    bly_proc_spec spec = spec_of(&h, argv);
    ck_assert_int_eq(bly_proc_spawn(h.proc, &spec, NULL), BELAY_ETOOBIG);
    big[BLY_PROC_ARG_MAX] = '\0';
    ck_assert_int_eq(bly_proc_spawn(h.proc, &spec, NULL), BELAY_ETOOBIG);
    ck_assert_uint_eq(bly_proc_count(h.proc), 0);
    big[BLY_PROC_ARG_MAX - 1] = '\0';
    ck_assert_int_eq(bly_proc_status(&run(&h, &spec)->end), 0);
    bly_free(big);
    bly_proc_destroy(h.proc);
}
END_TEST

/* Each string is small enough but all together are more than execve takes. */
START_TEST(arguments_too_big_together_are_126_or_refused)
{
    harness_open(&h, 2);
    enum { WORDS = 64 };
    static char word[BLY_PROC_ARG_MAX];
    static char *argv[WORDS + 2];
    memset(word, 'x', sizeof word - 1);
    argv[0] = WORD("true");
    for (int i = 1; i < WORDS; i++) {
        argv[i] = word;
    }
    bly_proc_spec spec = spec_of(&h, argv);
    const end_record *end = run(&h, &spec);
    ck_assert_int_eq(end->end.stage, BLY_PROC_AT_EXEC);
    ck_assert_int_eq(end->end.code, E2BIG);
    ck_assert_int_eq(bly_proc_status(&end->end), 126);
    argv[WORDS] = word;
    ck_assert_int_eq(bly_proc_spawn(h.proc, &spec, NULL), BELAY_ETOOBIG);
    bly_proc_destroy(h.proc);
}
END_TEST

START_TEST(no_more_than_jobs_max_are_taken)
{
    harness_open(&h, 2);
    char *argv[] = {WORD("true"), NULL};
    bly_proc_spec spec = spec_of(&h, argv);
    spawn(&h, &spec);
    spawn(&h, &spec);
    ck_assert_int_eq(bly_proc_spawn(h.proc, &spec, NULL), BELAY_EFULL);
    ck_assert_uint_eq(bly_proc_count(h.proc), 2);
    await_ends(&h, 2);
    ck_assert_uint_ne(h.order[0], h.order[1]);
    run(&h, &spec);
    bly_proc_destroy(h.proc);
}
END_TEST

START_TEST(a_spec_that_makes_no_sense_is_refused)
{
    harness_open(&h, 2);
    char *argv[] = {WORD("true"), NULL};
    char *none[] = {NULL};
    bly_proc_spec good = spec_of(&h, argv);
    bly_proc_spec spec = good;
    ck_assert_int_eq(bly_proc_spawn(h.proc, NULL, NULL), BELAY_EINVAL);
    spec.argv = none;
    ck_assert_int_eq(bly_proc_spawn(h.proc, &spec, NULL), BELAY_EINVAL);
    spec = good;
    spec.ended = NULL;
    ck_assert_int_eq(bly_proc_spawn(h.proc, &spec, NULL), BELAY_EINVAL);
    spec = good;
    spec.flags = 1u << 31;
    ck_assert_int_eq(bly_proc_spawn(h.proc, &spec, NULL), BELAY_EINVAL);
    spec = good;
    spec.timeout_ns = -1;
    ck_assert_int_eq(bly_proc_spawn(h.proc, &spec, NULL), BELAY_EINVAL);
    spec = good;
    spec.in.kind = BLY_PROC_SPOOL;
    ck_assert_int_eq(bly_proc_spawn(h.proc, &spec, NULL), BELAY_EINVAL);
    spec = good;
    spec.out.kind = BLY_PROC_WITH_STDOUT;
    ck_assert_int_eq(bly_proc_spawn(h.proc, &spec, NULL), BELAY_EINVAL);
    spec = good;
    spec.out = (bly_proc_stream){.kind = BLY_PROC_FD, .fd = 999};
    ck_assert_int_eq(bly_proc_spawn(h.proc, &spec, NULL), BELAY_EINVAL);
    ck_assert_uint_eq(bly_proc_count(h.proc), 0);
    bly_proc_destroy(h.proc);
}
END_TEST

START_TEST(stdin_is_dev_null_or_what_was_given)
{
    harness_open(&h, 2);
    ck_assert_str_eq(run_shell(&h, "cat; echo end")->out, "end\n");
    int pipe_ends[2];
    ck_assert_int_eq(pipe2(pipe_ends, O_CLOEXEC), 0);
    ck_assert_int_eq(write(pipe_ends[1], "given\n", 6), 6);
    char *argv[] = {WORD("cat"), NULL};
    bly_proc_spec spec = spec_of(&h, argv);
    spec.in = (bly_proc_stream){.kind = BLY_PROC_FD, .fd = pipe_ends[0]};
    spawn(&h, &spec);
    close(pipe_ends[0]); /* borrowed for the call only */
    close(pipe_ends[1]);
    ck_assert_str_eq(await_ends(&h, 2)->out, "given\n");
    bly_proc_destroy(h.proc);
}
END_TEST

START_TEST(stderr_may_go_where_stdout_goes)
{
    harness_open(&h, 2);
    char *argv[] = {WORD("sh"), WORD("-c"), WORD("echo 1; echo 2 >&2; echo 3"), NULL};
    bly_proc_spec spec = spec_of(&h, argv);
    spec.err.kind = BLY_PROC_WITH_STDOUT;
    const end_record *end = run(&h, &spec);
    ck_assert_str_eq(end->out, "1\n2\n3\n");
    ck_assert_str_eq(end->err, "");
    spec.out.kind = BLY_PROC_NULL;
    ck_assert_str_eq(run(&h, &spec)->out, "");
    bly_proc_destroy(h.proc);
}
END_TEST

START_TEST(all_four_streams_may_be_descriptors)
{
    harness_open(&h, 2);
    voice in = voice_open();
    voice out = voice_open();
    voice err = voice_open();
    voice live = voice_open();
    ck_assert_int_eq(write(in.ends[1], "in\n", 3), 3);
    char *argv[] = {WORD("sh"), WORD("-c"), WORD("read -r x; echo $x; echo err >&2; echo live >&3"),
                    NULL};
    bly_proc_spec spec = spec_of(&h, argv);
    spec.in = (bly_proc_stream){.kind = BLY_PROC_FD, .fd = in.ends[0]};
    spec.out = voice_stream(&out);
    spec.err = voice_stream(&err);
    spec.live = voice_stream(&live);
    run(&h, &spec);
    char line[16];
    hear(&h, &out, line, sizeof line);
    ck_assert_str_eq(line, "in");
    hear(&h, &err, line, sizeof line);
    ck_assert_str_eq(line, "err");
    hear(&h, &live, line, sizeof line);
    ck_assert_str_eq(line, "live");
    bly_proc_destroy(h.proc);
}
END_TEST

START_TEST(environment_folder_and_umask_are_the_specs)
{
    harness_open(&h, 2);
    char *argv[] = {WORD("sh"), WORD("-c"), WORD("echo $A $B; pwd; umask"), NULL};
    char *env_add[] = {WORD("A=x y"), WORD("B=z"), NULL};
    bly_proc_spec spec = spec_of(&h, argv);
    spec.env_add = env_add;
    spec.cwd = "/usr";
    spec.flags = BLY_PROC_UMASK;
    spec.umask = 077;
    ck_assert_str_eq(run(&h, &spec)->out, "x y z\n/usr\n0077\n");
    char *env[] = {WORD("PATH=/bin:/usr/bin"), WORD("ONLY=1"), NULL};
    char *show[] = {WORD("env"), NULL};
    spec = spec_of(&h, show);
    spec.env = env;
    ck_assert_str_eq(run(&h, &spec)->out, "PATH=/bin:/usr/bin\nONLY=1\n");
    bly_proc_destroy(h.proc);
}
END_TEST

START_TEST(path_names_the_file_and_argv_what_it_sees)
{
    harness_open(&h, 2);
    char *argv[] = {WORD("odd name"), WORD("-c"), WORD("echo $0"), NULL};
    bly_proc_spec spec = spec_of(&h, argv);
    spec.path = "/bin/sh";
    ck_assert_str_eq(run(&h, &spec)->out, "odd name\n");
    bly_proc_destroy(h.proc);
}
END_TEST

START_TEST(a_job_has_no_terminal)
{
    harness_open(&h, 2);
    const end_record *end = run_shell(&h, "cat </dev/tty");
    ck_assert_int_eq(end->end.how, BLY_PROC_EXITED);
    ck_assert_int_ne(end->end.code, 0);
    bly_proc_destroy(h.proc);
}
END_TEST

typedef struct start_note {
    uint64_t id;
    pid_t pid;
    int64_t start_ns;
} start_note;

static start_note noted;

static void on_started(uint64_t id, pid_t pid, int64_t start_ns, void *arg)
{
    ck_assert_ptr_eq(arg, &h);
    ck_assert_uint_eq(h.ends, 0);
    noted = (start_note){id, pid, start_ns};
}

START_TEST(started_comes_before_ended_with_the_pid)
{
    harness_open(&h, 2);
    char *argv[] = {WORD("sh"), WORD("-c"), WORD("echo $$"), NULL};
    bly_proc_spec spec = spec_of(&h, argv);
    spec.started = on_started;
    uint64_t id = spawn(&h, &spec);
    const end_record *end = await_ends(&h, 1);
    ck_assert_uint_eq(noted.id, id);
    ck_assert_int_eq(noted.pid, strtol(end->out, NULL, 10));
    ck_assert_int_eq(noted.start_ns, end->end.start_ns);
    bly_proc_destroy(h.proc);
}
END_TEST

static char heard[64];
static size_t heard_size;

static void on_wrote(uint64_t id, void *arg)
{
    (void)arg;
    ssize_t got = bly_proc_live_read(h.proc, id, 1, heard_size, heard + heard_size,
                                     sizeof heard - heard_size - 1);
    ck_assert_int_ge(got, 0);
    heard_size += (size_t)got;
}

START_TEST(a_watched_stream_is_read_while_it_grows)
{
    harness_open(&h, 2);
    int gate[2];
    ck_assert_int_eq(pipe2(gate, O_CLOEXEC), 0);
    char *argv[] = {WORD("sh"), WORD("-c"), WORD("echo one; read -r x; echo two"), NULL};
    bly_proc_spec spec = spec_of(&h, argv);
    spec.flags = BLY_PROC_WATCH_OUTPUT;
    spec.wrote = on_wrote;
    spec.in = (bly_proc_stream){.kind = BLY_PROC_FD, .fd = gate[0]};
    uint64_t id = spawn(&h, &spec);
    int64_t deadline_ns = soon();
    while (heard_size == 0) {
        ck_assert_int_eq(bly_proc_poll(h.proc, deadline_ns), 0);
    }
    ck_assert_str_eq(heard, "one\n");
    ck_assert_uint_eq(h.ends, 0);
    ck_assert_int_eq(write(gate[1], "\n", 1), 1);
    ck_assert_str_eq(await_ends(&h, 1)->out, "one\ntwo\n");
    char byte;
    ck_assert_int_eq(bly_proc_live_read(h.proc, id, 1, 0, &byte, 1), BELAY_ENOENT);
    bly_proc_destroy(h.proc);
}
END_TEST

START_TEST(orders_about_jobs_that_have_ended_are_enoent)
{
    harness_open(&h, 2);
    uint64_t id = shell(&h, "true");
    await_ends(&h, 1);
    ck_assert_int_eq(bly_proc_stop(h.proc, id), BELAY_ENOENT);
    ck_assert_int_eq(bly_proc_kill(h.proc, id), BELAY_ENOENT);
    ck_assert_int_eq(bly_proc_signal(h.proc, id, SIGTERM), BELAY_ENOENT);
    ck_assert_int_eq(bly_proc_signal(h.proc, id, 0), BELAY_EINVAL);
    ck_assert_int_eq(bly_proc_signal(h.proc, id, 1000), BELAY_EINVAL);
    ck_assert_int_eq(bly_proc_stop(h.proc, 0), BELAY_ENOENT);
    ck_assert_int_eq(bly_proc_stop(h.proc, UINT64_MAX), BELAY_ENOENT);
    shell(&h, "true"); /* in the same place, under another id */
    ck_assert_int_eq(bly_proc_stop(h.proc, id), BELAY_ENOENT);
    await_ends(&h, 2);
    bly_proc_destroy(h.proc);
}
END_TEST

START_TEST(a_request_that_has_not_left_is_withdrawn)
{
    harness_open(&h, 2);
    voice v = voice_open();
    char *argv[] = {WORD("echo"), WORD("ran"), NULL};
    bly_proc_spec spec = spec_of(&h, argv);
    spec.out = voice_stream(&v);
    uint64_t id = spawn(&h, &spec);
    ck_assert_int_eq(bly_proc_stop(h.proc, id), 0);
    const end_record *end = await_ends(&h, 1);
    ck_assert_int_eq(end->end.how, BLY_PROC_FAILED);
    ck_assert_int_eq(end->end.stage, BLY_PROC_AT_CANCEL);
    ck_assert_int_eq(end->end.code, ECANCELED);
    ck_assert(end->end.is_stopped);
    struct pollfd said = {.fd = v.ends[0], .events = POLLIN};
    ck_assert_int_eq(poll(&said, 1, 0), 0);
    run(&h, &spec);
    ck_assert_int_eq(poll(&said, 1, 0), 1);
    bly_proc_destroy(h.proc);
}
END_TEST

static uint32_t to_run;

static void on_ended_next(const bly_proc_end *end, void *arg)
{
    on_ended(end, arg);
    char *argv[] = {WORD("echo"), WORD("x"), NULL};
    bly_proc_spec spec = spec_of(&h, argv);
    spec.ended = on_ended_next;
    if (to_run > 0) {
        to_run--;
        spawn(&h, &spec);
    }
}

START_TEST(the_callback_spawns_the_next_into_the_same_place)
{
    harness_open(&h, 1);
    to_run = 200;
    char *argv[] = {WORD("echo"), WORD("x"), NULL};
    bly_proc_spec spec = spec_of(&h, argv);
    spec.ended = on_ended_next;
    spawn(&h, &spec);
    await_ends(&h, 201);
    ck_assert_str_eq(h.last->out, "x\n");
    ck_assert_uint_le(h.proc->spool.files_used, 4);
    bly_proc_destroy(h.proc);
}
END_TEST

/* A limit on the size of files stands for a disk without room: the job gets it too. */
START_TEST(a_job_on_a_full_disk_is_incomplete_and_it_is_said_once)
{
    harness_open(&h, 2);
    ck_assert(!run_shell(&h, "echo fine")->end.is_incomplete);
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit small = {.rlim_cur = BLY_SPOOL_TRIAL_SIZE / 2, .rlim_max = RLIM_INFINITY};
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    for (uint32_t i = 0; i < 2; i++) {
        h.proc->spool.tried_ns -= BLY_SPOOL_TRIAL_NS; /* a trial write is due */
        const end_record *end = run_shell(&h, "echo text; exit 1");
        ck_assert(end->end.is_incomplete);
        ck_assert_str_eq(end->out, "text\n");
    }
    ck_assert_int_eq(bly_proc_poll(h.proc, BELAY_NOW), BELAY_ETIMEDOUT);
    ck_assert_uint_eq(h.notices[BLY_PROC_NOTICE_DISK_FULL], 1);
    bly_proc_destroy(h.proc);
}
END_TEST

START_TEST(a_large_output_does_not_cost_memory)
{
    harness_open(&h, 2);
    const size_t size = (size_t)200 << 20;
    struct rusage before;
    struct rusage after;
    run_shell(&h, "echo warm");
    ck_assert_int_eq(getrusage(RUSAGE_SELF, &before), 0);
    const end_record *end = run_shell(&h, "head -c 209715200 /dev/zero");
    ck_assert_uint_eq(end->out_size, size);
    ck_assert_int_eq(getrusage(RUSAGE_SELF, &after), 0);
    ck_assert_int_lt(after.ru_maxrss - before.ru_maxrss, 8192);
    bly_proc_destroy(h.proc);
}
END_TEST

START_TEST(a_status_is_what_a_shell_would_show)
{
    bly_proc_end end = {.how = BLY_PROC_EXITED, .code = 42};
    ck_assert_int_eq(bly_proc_status(&end), 42);
    end.is_timed_out = true;
    ck_assert_int_eq(bly_proc_status(&end), 124);
    end = (bly_proc_end){.how = BLY_PROC_LOST};
    ck_assert_int_eq(bly_proc_status(&end), 255);
    end = (bly_proc_end){.how = BLY_PROC_FAILED, .stage = BLY_PROC_AT_START, .code = EAGAIN};
    ck_assert_int_eq(bly_proc_status(&end), 126);
}
END_TEST

UNIT_MAIN("proc/job", a_command_ends_with_its_status_and_its_outputs,
          a_command_killed_by_a_signal_says_which,
          a_missing_command_is_127_and_one_not_executable_126,
          an_argument_beyond_the_kernels_limit_is_refused_at_once,
          arguments_too_big_together_are_126_or_refused, no_more_than_jobs_max_are_taken,
          a_spec_that_makes_no_sense_is_refused, stdin_is_dev_null_or_what_was_given,
          stderr_may_go_where_stdout_goes, all_four_streams_may_be_descriptors,
          environment_folder_and_umask_are_the_specs, path_names_the_file_and_argv_what_it_sees,
          a_job_has_no_terminal, started_comes_before_ended_with_the_pid,
          a_watched_stream_is_read_while_it_grows, orders_about_jobs_that_have_ended_are_enoent,
          a_request_that_has_not_left_is_withdrawn,
          the_callback_spawns_the_next_into_the_same_place,
          a_job_on_a_full_disk_is_incomplete_and_it_is_said_once,
          a_large_output_does_not_cost_memory, a_status_is_what_a_shell_would_show)
