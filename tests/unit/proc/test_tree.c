/* test_tree.c: descendants are found, named beyond doubt, and ended to the last one. */
#include "harness.h"
#include "proc/tree_int.h"

#include <pthread.h>
#include <sys/prctl.h>

/* A shell that runs `line` with the voice as its standard output. */
static pid_t start(const voice *v, const char *line)
{
    pid_t pid = fork();
    if (pid == 0) {
        dup2(v->ends[1], 1);
        execl("/bin/sh", "sh", "-c", line, (char *)NULL);
        _exit(127);
    }
    ck_assert_int_gt(pid, 0);
    return pid;
}

static uint32_t count_own(int fd, pid_t *pids, uint32_t max)
{
    uint32_t count = 0;
    ck_assert_int_eq(bly_tree_own(fd, pids, max, &count), 0);
    return count;
}

static bool has_pid(const bly_tree_list *list, pid_t pid)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->procs[i].pid == pid) {
            return true;
        }
    }
    return false;
}

static void become_subreaper(void)
{
    ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
}

START_TEST(a_process_is_described)
{
    bly_tree_proc self;
    ck_assert_int_eq(bly_tree_look(getpid(), &self), 0);
    ck_assert_int_eq(self.pid, getpid());
    ck_assert_int_eq(self.parent, getppid());
    ck_assert_int_eq(self.group, getpgrp());
    ck_assert_int_eq(self.session, getsid(0));
    ck_assert_int_eq(self.state, 'R');
    ck_assert_uint_gt(self.start, 0);
}
END_TEST

START_TEST(a_name_with_spaces_and_brackets_does_not_confuse)
{
    bly_tree_proc before;
    bly_tree_proc after;
    ck_assert_int_eq(bly_tree_look(getpid(), &before), 0);
    ck_assert_int_eq(prctl(PR_SET_NAME, "a) Z 1 (b"), 0);
    ck_assert_int_eq(bly_tree_look(getpid(), &after), 0);
    ck_assert_int_eq(after.parent, before.parent);
    ck_assert_uint_eq(after.start, before.start);
}
END_TEST

START_TEST(a_pid_of_nobody_is_not_found)
{
    pid_t pid = fork();
    if (pid == 0) {
        _exit(0);
    }
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    bly_tree_proc proc;
    ck_assert_int_eq(bly_tree_look(pid, &proc), BELAY_ENOENT);
}
END_TEST

START_TEST(own_children_are_listed_in_the_order_they_came)
{
    enum { CHILDREN = 700 }; /* more than one piece of /proc holds */
    static pid_t made[CHILDREN];
    static pid_t found[CHILDREN];
    int fd;
    ck_assert_int_eq(bly_tree_open(&fd), 0);
    ck_assert_uint_eq(count_own(fd, found, CHILDREN), 0);
    for (int i = 0; i < CHILDREN; i++) {
        made[i] = fork();
        if (made[i] == 0) {
            _exit(0); /* a zombie is a child too */
        }
        ck_assert_int_gt(made[i], 0);
    }
    ck_assert_uint_eq(count_own(fd, found, CHILDREN), CHILDREN);
    for (int i = 0; i < CHILDREN; i++) {
        ck_assert_int_eq(found[i], made[i]);
    }
    ck_assert_uint_eq(count_own(fd, found, 3), CHILDREN);
    close(fd);
}
END_TEST

START_TEST(grandchildren_come_after_their_parents)
{
    voice v = voice_open();
    pid_t child = start(&v, "sh -c 'echo $$; sleep 1000 & echo $!; wait' & wait");
    pid_t middle = hear_pid(NULL, &v);
    pid_t leaf = hear_pid(NULL, &v);
    bly_tree_list list = {0};
    ck_assert_int_eq(bly_tree_below(getpid(), NULL, &list), 0);
    ck_assert_uint_eq(list.count, 3);
    ck_assert_int_eq(list.procs[0].pid, child);
    ck_assert_int_eq(list.procs[1].pid, middle);
    ck_assert_int_eq(list.procs[2].pid, leaf);
    bly_tree_list_free(&list);
    become_subreaper();
    ck_assert_int_eq(bly_tree_end(NULL, BELAY_FOREVER, NULL), 0);
}
END_TEST

START_TEST(spared_ones_are_left_out_with_their_session_and_all_below)
{
    voice v = voice_open();
    start(&v, "setsid sh -c 'echo $$; sleep 1000 & echo $!; wait' & sleep 1000 & echo $!; wait");
    pid_t pids[3];
    for (int i = 0; i < 3; i++) {
        pids[i] = hear_pid(NULL, &v);
    }
    bly_tree_list all = {0};
    ck_assert_int_eq(bly_tree_below(getpid(), NULL, &all), 0);
    bly_tree_list spare = {0};
    uint32_t spared = 0;
    for (uint32_t i = 0; i < all.count; i++) {
        if (all.procs[i].session == all.procs[i].pid) { /* the shell of setsid */
            ck_assert_int_eq(bly_tree_list_add(&spare, &all.procs[i]), 0);
        }
    }
    ck_assert_uint_eq(spare.count, 1);
    bly_tree_list rest = {0};
    ck_assert_int_eq(bly_tree_below(getpid(), &spare, &rest), 0);
    for (int i = 0; i < 3; i++) {
        spared += !has_pid(&rest, pids[i]);
    }
    ck_assert_uint_eq(spared, 2);
    ck_assert_uint_eq(rest.count + 2, all.count);
    bly_tree_list_free(&rest);
    bly_tree_list_free(&spare);
    bly_tree_list_free(&all);
    become_subreaper();
    ck_assert_int_eq(bly_tree_end(NULL, BELAY_FOREVER, NULL), 0);
}
END_TEST

START_TEST(a_signal_reaches_that_process_and_no_later_one_of_its_pid)
{
    pid_t pid = fork();
    if (pid == 0) {
        pause();
        _exit(0);
    }
    bly_tree_proc proc;
    ck_assert_int_eq(bly_tree_look(pid, &proc), 0);
    bly_tree_proc older = proc;
    older.start--;
    ck_assert_int_eq(bly_tree_signal(&older, SIGKILL), BELAY_ENOENT);
    ck_assert(is_alive(pid));
    ck_assert_int_eq(bly_tree_signal(&proc, SIGKILL), 0);
    ck_assert(is_gone_soon(pid));
    int status = 0;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(WTERMSIG(status), SIGKILL);
    ck_assert_int_eq(bly_tree_signal(&proc, SIGKILL), BELAY_ENOENT);
}
END_TEST

START_TEST(the_end_takes_all_kinds_of_descendants)
{
    become_subreaper();
    voice v = voice_open();
    start(&v, "trap '' TERM HUP INT; setsid sh -c 'trap \"\" TERM; echo $$; sleep 1000; :' & "
              "(setsid sh -c '(echo $$; exec sleep 1000) &' &) ; sh -c 'echo $$; sleep 1000; :'");
    pid_t pids[3];
    for (int i = 0; i < 3; i++) {
        pids[i] = hear_pid(NULL, &v);
    }
    ck_assert_int_eq(bly_tree_end(NULL, BELAY_FOREVER, NULL), 0);
    bly_tree_list list = {0};
    ck_assert_int_eq(bly_tree_below(getpid(), NULL, &list), 0);
    ck_assert_uint_eq(list.count, 0);
    for (int i = 0; i < 3; i++) {
        ck_assert(!is_alive(pids[i]));
    }
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
    ck_assert_int_eq(errno, ECHILD);
}
END_TEST

/* Each process forks for as long as it lives: what is born during the look is found by the next. */
START_TEST(the_end_outruns_processes_that_go_on_forking)
{
    become_subreaper();
    voice v = voice_open();
    start(&v, "echo $$; while :; do (while :; do (:) ; done) & sleep 0.01; "
              "test $((i += 1)) -lt 20 || wait; done");
    hear_pid(NULL, &v);
    ck_assert_int_eq(bly_tree_end(NULL, BELAY_FOREVER, NULL), 0);
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
    ck_assert_int_eq(errno, ECHILD);
}
END_TEST

START_TEST(the_end_spares_what_it_is_told_to)
{
    become_subreaper();
    voice v = voice_open();
    pid_t kept = start(&v, "echo $$; exec sleep 1000");
    hear_pid(NULL, &v);
    bly_tree_list spare = {0};
    bly_tree_proc proc;
    ck_assert_int_eq(bly_tree_look(kept, &proc), 0);
    proc.session = -1; /* itself alone: the others of the test are in its session */
    ck_assert_int_eq(bly_tree_list_add(&spare, &proc), 0);
    pid_t other = start(&v, "echo $$; exec sleep 1000");
    hear_pid(NULL, &v);
    ck_assert_int_eq(bly_tree_end(&spare, BELAY_FOREVER, NULL), 0);
    ck_assert(is_alive(kept));
    ck_assert(!is_alive(other));
    bly_tree_list_free(&spare);
    ck_assert_int_eq(bly_tree_end(NULL, BELAY_FOREVER, NULL), 0);
}
END_TEST

static void *live_on(void *arg)
{
    const voice *v = arg;
    dprintf(v->ends[1], "%d\n", getpid());
    for (;;) {
        pause();
    }
    return NULL;
}

/* Its state letter is that of a zombie from then on. */
START_TEST(a_process_whose_first_thread_has_ended_is_alive_and_can_be_ended)
{
    voice v = voice_open();
    pid_t pid = fork();
    if (pid == 0) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, live_on, &v) == 0) {
            pthread_exit(NULL);
        }
        _exit(1);
    }
    ck_assert_int_eq(hear_pid(NULL, &v), pid);
    int64_t deadline_ns = soon();
    while (state_of(pid) != 'Z') {
        ck_assert_int_lt(bly_monotonic_ns(), deadline_ns);
    }
    bly_tree_proc proc;
    ck_assert_int_eq(bly_tree_look(pid, &proc), 0);
    ck_assert_int_ne(proc.state, 'Z');
    ck_assert(is_alive(pid));
    become_subreaper();
    ck_assert_int_eq(bly_tree_end(NULL, BELAY_FOREVER, NULL), 0);
    ck_assert(!is_alive(pid));
}
END_TEST

UNIT_MAIN("proc/tree", a_process_is_described, a_name_with_spaces_and_brackets_does_not_confuse,
          a_pid_of_nobody_is_not_found, own_children_are_listed_in_the_order_they_came,
          grandchildren_come_after_their_parents,
          spared_ones_are_left_out_with_their_session_and_all_below,
          a_signal_reaches_that_process_and_no_later_one_of_its_pid,
          the_end_takes_all_kinds_of_descendants, the_end_outruns_processes_that_go_on_forking,
          the_end_spares_what_it_is_told_to,
          UNIT_UNLESS_TSAN(a_process_whose_first_thread_has_ended_is_alive_and_can_be_ended))
