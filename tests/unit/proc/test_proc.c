/* test_proc.c: the loop, its watched descriptors, and its beginning and end. */
#include "harness.h"
#include "proc/runner_int.h"

#include <sys/epoll.h>
#include <sys/socket.h>

static harness h;

START_TEST(options_that_make_no_sense_are_refused)
{
    bly_proc *proc = NULL;
    bly_proc_opts opts = {.size = sizeof opts};
    ck_assert_int_eq(bly_proc_create(&opts, &proc), BELAY_EINVAL);
    opts.jobs_max = BLY_PROC_JOBS_LIMIT + 1;
    ck_assert_int_eq(bly_proc_create(&opts, &proc), BELAY_EINVAL);
    opts.jobs_max = 1;
    ck_assert_int_eq(bly_proc_create(&opts, NULL), BELAY_EINVAL);
    opts.grace_ns = -1;
    ck_assert_int_eq(bly_proc_create(&opts, &proc), BELAY_EINVAL);
    opts.grace_ns = 0;
    opts.live = (bly_proc_stream){.kind = BLY_PROC_FD, .fd = 999};
    ck_assert_int_eq(bly_proc_create(&opts, &proc), BELAY_EINVAL);
    opts.live.kind = BLY_PROC_SPOOL;
    ck_assert_int_eq(bly_proc_create(&opts, &proc), BELAY_EINVAL);
    opts.size = 2;
    ck_assert_int_eq(bly_proc_create(&opts, &proc), BELAY_EINVAL);
    ck_assert_ptr_null(proc);
}
END_TEST

START_TEST(a_spool_folder_that_cannot_be_used_is_refused)
{
    bly_proc *proc = NULL;
    bly_proc_opts opts = {.size = sizeof opts, .jobs_max = 1, .spool_dir = "/nowhere"};
    ck_assert_int_eq(bly_proc_create(&opts, &proc), BELAY_EIO);
    ck_assert_int_eq(errno, ENOENT);
    ck_assert_ptr_null(proc);
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
    ck_assert_int_eq(errno, ECHILD);
}
END_TEST

START_TEST(the_most_jobs_there_may_be_can_be_asked_for)
{
    harness_open(&h, BLY_PROC_JOBS_LIMIT);
    ck_assert_str_eq(run_shell(&h, "echo x")->out, "x\n");
    bly_proc_destroy(h.proc);
}
END_TEST

START_TEST(destroy_leaves_no_process_and_no_descriptor)
{
    int before = dup(0);
    close(before);
    harness_open(&h, 4);
    voice v = voice_open();
    pid_t pids[2];
    for (int i = 0; i < 2; i++) {
        char *argv[] = {WORD("sh"), WORD("-c"),
                        WORD("trap '' TERM; echo $$ >&3; while :; do sleep 1000; done"), NULL};
        bly_proc_spec spec = spec_of(&h, argv);
        spec.live = voice_stream(&v);
        spawn(&h, &spec);
        pids[i] = hear_pid(&h, &v);
    }
    pid_t keeper = h.proc->keeper;
    close(v.ends[0]);
    close(v.ends[1]);
    bly_proc_destroy(h.proc);
    ck_assert(!is_alive(pids[0]));
    ck_assert(!is_alive(pids[1]));
    ck_assert(!is_alive(keeper));
    ck_assert_uint_eq(h.ends, 0);
    int after = dup(0);
    close(after);
    ck_assert_int_eq(after, before);
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
    bly_proc_destroy(NULL);
}
END_TEST

START_TEST(two_runners_one_after_the_other_do_not_meet)
{
    for (int i = 0; i < 2; i++) {
        harness_open(&h, 2);
        ck_assert_str_eq(run_shell(&h, "echo x")->out, "x\n");
        bly_proc_destroy(h.proc);
    }
}
END_TEST

START_TEST(a_poll_with_nothing_to_do_times_out)
{
    harness_open(&h, 2);
    ck_assert_int_eq(bly_proc_poll(h.proc, BELAY_NOW), BELAY_ETIMEDOUT);
    int64_t deadline_ns = bly_monotonic_ns() + 20000000;
    ck_assert_int_eq(bly_proc_poll(h.proc, deadline_ns), BELAY_ETIMEDOUT);
    ck_assert_int_ge(bly_monotonic_ns(), deadline_ns);
    bly_proc_destroy(h.proc);
}
END_TEST

static uint32_t watch_calls, watch_events;

static void on_ready(int fd, uint32_t epoll_events, void *arg)
{
    char byte;
    watch_calls++;
    watch_events = epoll_events;
    ck_assert_ptr_eq(arg, &h);
    ck_assert_int_eq(read(fd, &byte, 1), 1);
}

static void on_ready_unwatch(int fd, uint32_t epoll_events, void *arg)
{
    (void)epoll_events;
    (void)arg;
    watch_calls++;
    ck_assert_int_eq(bly_proc_unwatch(h.proc, fd), 0);
}

START_TEST(a_watched_descriptor_is_told_of_and_counts_as_an_event)
{
    harness_open(&h, 2);
    voice v = voice_open();
    ck_assert_int_eq(bly_proc_watch(h.proc, v.ends[0], EPOLLIN, on_ready, &h), 0);
    ck_assert_int_eq(bly_proc_poll(h.proc, BELAY_NOW), BELAY_ETIMEDOUT);
    ck_assert_int_eq(write(v.ends[1], "x", 1), 1);
    ck_assert_int_eq(bly_proc_poll(h.proc, BELAY_FOREVER), 0);
    ck_assert_uint_eq(watch_calls, 1);
    ck_assert_uint_eq(watch_events, EPOLLIN);
    ck_assert_int_eq(bly_proc_unwatch(h.proc, v.ends[0]), 0);
    ck_assert_int_eq(write(v.ends[1], "x", 1), 1);
    ck_assert_int_eq(bly_proc_poll(h.proc, BELAY_NOW), BELAY_ETIMEDOUT);
    bly_proc_destroy(h.proc);
}
END_TEST

START_TEST(a_descriptor_may_be_unwatched_from_its_own_callback)
{
    harness_open(&h, 2);
    voice v = voice_open();
    ck_assert_int_eq(write(v.ends[1], "x", 1), 1);
    ck_assert_int_eq(bly_proc_watch(h.proc, v.ends[0], EPOLLIN, on_ready_unwatch, &h), 0);
    ck_assert_int_eq(bly_proc_poll(h.proc, BELAY_FOREVER), 0);
    ck_assert_int_eq(bly_proc_poll(h.proc, BELAY_NOW), BELAY_ETIMEDOUT);
    ck_assert_uint_eq(watch_calls, 1);
    bly_proc_destroy(h.proc);
}
END_TEST

START_TEST(what_cannot_be_watched_is_refused)
{
    harness_open(&h, 2);
    voice v = voice_open();
    int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    ck_assert_int_eq(bly_proc_watch(h.proc, file, EPOLLIN, on_ready, &h), BELAY_EINVAL);
    ck_assert_int_eq(bly_proc_watch(h.proc, -1, EPOLLIN, on_ready, &h), BELAY_EINVAL);
    ck_assert_int_eq(bly_proc_watch(h.proc, v.ends[0], EPOLLIN, NULL, &h), BELAY_EINVAL);
    ck_assert_int_eq(bly_proc_watch(h.proc, v.ends[0], EPOLLIN, on_ready, &h), 0);
    ck_assert_int_eq(bly_proc_watch(h.proc, v.ends[0], EPOLLIN, on_ready, &h), BELAY_EEXIST);
    ck_assert_int_eq(bly_proc_unwatch(h.proc, v.ends[1]), BELAY_ENOENT);
    bly_proc_destroy(h.proc);
}
END_TEST

static void await_state(pid_t pid, char state)
{
    int64_t deadline_ns = soon();
    while (state_of(pid) != state) {
        ck_assert_int_lt(bly_monotonic_ns(), deadline_ns);
    }
}

/* The keeper hears of the timed job and of the suspension at once: no time runs off in between. */
START_TEST(a_suspended_job_stands_still_and_its_timeout_too)
{
    harness_open(&h, 2);
    voice v = voice_open();
    char *argv[] = {WORD("sh"), WORD("-c"),
                    WORD("setsid sleep 1000 & echo $! >&3; echo $$ >&3; wait"), NULL};
    bly_proc_spec spec = spec_of(&h, argv);
    spec.live = voice_stream(&v);
    spawn(&h, &spec);
    pid_t pids[2] = {hear_pid(&h, &v), hear_pid(&h, &v)};
    spec.timeout_ns = 200000000;
    uint64_t timed = spawn(&h, &spec);
    ck_assert_int_eq(bly_proc_suspend(h.proc), 0);
    ck_assert_int_eq(bly_proc_suspend(h.proc), 0);
    ck_assert_int_eq(bly_proc_spawn(h.proc, &spec, NULL), BELAY_EBUSY);
    await_state(pids[0], 'T');
    await_state(pids[1], 'T');
    int64_t later_ns = bly_monotonic_ns() + 400000000;
    ck_assert_int_eq(bly_proc_poll(h.proc, later_ns), BELAY_ETIMEDOUT);
    ck_assert_int_eq(bly_proc_resume(h.proc), 0);
    const end_record *end = await_ends(&h, 1);
    ck_assert_uint_eq(end->end.id, timed);
    ck_assert(end->end.is_timed_out);
    ck_assert_int_ge(end->end.end_ns - end->end.start_ns, 600000000);
    bly_proc_destroy(h.proc);
}
END_TEST

START_TEST(ends_heard_while_suspending_are_not_lost)
{
    harness_open(&h, 4);
    voice v = voice_open();
    for (int i = 0; i < 3; i++) {
        char *argv[] = {WORD("sh"), WORD("-c"), WORD("echo $$ >&3"), NULL};
        bly_proc_spec spec = spec_of(&h, argv);
        spec.live = voice_stream(&v);
        spawn(&h, &spec);
        ck_assert(is_gone_soon(hear_pid(&h, &v)));
    }
    ck_assert_int_eq(bly_proc_suspend(h.proc), 0);
    await_ends(&h, 3);
    ck_assert_int_eq(bly_proc_resume(h.proc), 0);
    ck_assert_int_eq(run_shell(&h, "exit 2")->end.code, 2);
    bly_proc_destroy(h.proc);
}
END_TEST

START_TEST(the_keepers_death_ends_all_jobs_as_lost)
{
    harness_open(&h, 4);
    voice v = voice_open();
    char *argv[] = {WORD("sh"), WORD("-c"), WORD("echo early; echo $$ >&3; exec sleep 1000"), NULL};
    bly_proc_spec spec = spec_of(&h, argv);
    spec.live = voice_stream(&v);
    spawn(&h, &spec);
    pid_t pid = hear_pid(&h, &v);
    ck_assert_int_eq(kill(h.proc->keeper, SIGKILL), 0);
    const end_record *end = await_ends(&h, 1);
    ck_assert_int_eq(end->end.how, BLY_PROC_LOST);
    ck_assert_int_eq(bly_proc_status(&end->end), 255);
    ck_assert_str_eq(end->out, "early\n");
    ck_assert_uint_eq(h.notices[BLY_PROC_NOTICE_KEEPER_LOST], 1);
    ck_assert(!is_alive(pid));
    ck_assert_int_eq(bly_proc_spawn(h.proc, &spec, NULL), BELAY_ECLOSED);
    ck_assert_int_eq(bly_proc_suspend(h.proc), BELAY_ECLOSED);
    ck_assert_int_eq(bly_proc_resume(h.proc), BELAY_ECLOSED);
    bly_proc_stop_all(h.proc);
    ck_assert_int_eq(bly_proc_poll(h.proc, BELAY_NOW), BELAY_ETIMEDOUT);
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
    bly_proc_destroy(h.proc);
}
END_TEST

/* The runner does not poll any more, so only the end can show what became of the keeper. */
START_TEST(a_keeper_that_died_unheard_has_its_work_done_by_destroy)
{
    harness_open(&h, 2);
    pid_t left = leave_daemon(&h, 0);
    ck_assert_int_eq(kill(h.proc->keeper, SIGKILL), 0);
    ck_assert(is_gone_soon(h.proc->keeper));
    ck_assert(is_alive(left));
    bly_proc_destroy(h.proc);
    ck_assert(!is_alive(left));
    ck_assert_uint_eq(h.notices[BLY_PROC_NOTICE_SURVIVORS], 0);
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
    ck_assert_int_eq(errno, ECHILD);
}
END_TEST

/* Without that status the runner would have to end those that the keeper has spared. */
START_TEST(an_ignored_sigchld_does_not_hide_how_the_keeper_ended)
{
    ck_assert(signal(SIGCHLD, SIG_IGN) != SIG_ERR);
    harness_open(&h, 2);
    pid_t kept = leave_daemon(&h, BLY_PROC_KEEP_CHILDREN);
    bly_proc_destroy(h.proc);
    ck_assert(is_alive(kept));
    ck_assert_int_eq(kill(kept, SIGKILL), 0);
}
END_TEST

/* As a dying keeper does, only longer: its socket is closed, its children are still its own. */
START_TEST(end_of_file_before_the_keepers_end_ends_keeper_and_jobs)
{
    harness_open(&h, 2);
    voice v = voice_open();
    pid_t left = leave_daemon(&h, 0);
    char *argv[] = {WORD("sh"), WORD("-c"), WORD("echo $$ >&3; exec sleep 1000"), NULL};
    bly_proc_spec spec = spec_of(&h, argv);
    spec.live = voice_stream(&v);
    spawn(&h, &spec);
    pid_t job = hear_pid(&h, &v);
    pid_t keeper = h.proc->keeper;
    ck_assert_int_eq(kill(keeper, SIGSTOP), 0);
    ck_assert_int_eq(shutdown(h.proc->wire.fd, SHUT_RDWR), 0);
    ck_assert_int_eq(await_ends(&h, 2)->end.how, BLY_PROC_LOST);
    ck_assert(!is_alive(left));
    ck_assert(!is_alive(job));
    ck_assert(!is_alive(keeper));
    ck_assert_uint_eq(h.notices[BLY_PROC_NOTICE_SURVIVORS], 0);
    bly_proc_destroy(h.proc);
}
END_TEST

START_TEST(children_from_before_are_left_alone)
{
    pid_t stranger = fork();
    if (stranger == 0) {
        pause();
        _exit(0);
    }
    harness_open(&h, 2);
    run_shell(&h, "true");
    ck_assert_int_eq(kill(h.proc->keeper, SIGKILL), 0);
    ck_assert_int_eq(bly_proc_poll(h.proc, soon()), 0);
    ck_assert_uint_eq(h.notices[BLY_PROC_NOTICE_KEEPER_LOST], 1);
    ck_assert(is_alive(stranger));
    bly_proc_destroy(h.proc);
    ck_assert(is_alive(stranger));
    kill(stranger, SIGKILL);
}
END_TEST

START_TEST(outputs_that_are_kept_wait_on_few_descriptors)
{
    harness_open(&h, 4);
    static bly_output *kept[200];
    for (int i = 0; i < 200; i++) {
        uint32_t number;
        char text[16];
        ck_assert_int_eq(bly_spool_take(&h.proc->spool, 1, &number), 0);
        snprintf(text, sizeof text, "%d", i);
        ck_assert_int_gt(write(bly_spool_file_of(&h.proc->spool, number)->fd, text, strlen(text)),
                         0);
        ck_assert_int_eq(bly_spool_close_out(&h.proc->spool, number, &kept[i]), 0);
    }
    int next = dup(0);
    ck_assert_int_lt(next, 4 * 4 + 32);
    for (int i = 0; i < 200; i++) {
        char text[16] = {0};
        bly_output_read(kept[i], 0, text, sizeof text);
        ck_assert_int_eq(strtol(text, NULL, 10), i);
        bly_output_free(kept[i]);
    }
    bly_proc_destroy(h.proc);
}
END_TEST

UNIT_MAIN("proc/proc", options_that_make_no_sense_are_refused,
          a_spool_folder_that_cannot_be_used_is_refused,
          the_most_jobs_there_may_be_can_be_asked_for, destroy_leaves_no_process_and_no_descriptor,
          two_runners_one_after_the_other_do_not_meet, a_poll_with_nothing_to_do_times_out,
          a_watched_descriptor_is_told_of_and_counts_as_an_event,
          a_descriptor_may_be_unwatched_from_its_own_callback, what_cannot_be_watched_is_refused,
          a_suspended_job_stands_still_and_its_timeout_too,
          ends_heard_while_suspending_are_not_lost, the_keepers_death_ends_all_jobs_as_lost,
          a_keeper_that_died_unheard_has_its_work_done_by_destroy,
          an_ignored_sigchld_does_not_hide_how_the_keeper_ended,
          end_of_file_before_the_keepers_end_ends_keeper_and_jobs,
          children_from_before_are_left_alone, outputs_that_are_kept_wait_on_few_descriptors)
