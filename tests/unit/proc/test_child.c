/* test_child.c: what a command finds itself with, and why one could not be run. */
#include "proc/child_int.h"
#include "proc/proc.h"
#include "unit.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define FOLDER_MODE 0755

/* A literal as a word of argv. */
#define WORD(text) ((char *)(uintptr_t)(text))

/* A child with the caller's surroundings and its standard output in a pipe. */
typedef struct trial {
    bly_child child;
    const char *paths[4];
    char *words[8]; /* argv from the second on */
    sigset_t mask;
    int ends[2];
    pid_t pid;
    int pidfd;
} trial;

static char *const empty_env[] = {NULL};

static void set_up(trial *t, const char *path)
{
    memset(t, 0, sizeof *t);
    ck_assert_int_eq(close_range(3, ~0U, CLOSE_RANGE_CLOEXEC), 0); /* as those of the keeper */
    sigset_t all;
    sigfillset(&all);
    ck_assert_int_eq(sigprocmask(SIG_SETMASK, &all, &t->mask), 0);
    ck_assert_int_eq(pipe2(t->ends, O_CLOEXEC), 0);
    ck_assert_int_gt(t->ends[1], 3);
    t->paths[0] = path;
    t->words[1] = WORD(path);
    t->child = (bly_child){.paths = t->paths,
                           .argv = t->words + 1,
                           .envp = empty_env,
                           .fds = {-1, t->ends[1], -1, -1},
                           .umask = -1,
                           .mask = &t->mask,
                           .parent = getpid()};
}

/* The same for a line of the shell. */
static void set_up_shell(trial *t, const char *line)
{
    set_up(t, "/bin/sh");
    t->words[2] = (char *)(uintptr_t) "-c";
    t->words[3] = WORD(line);
}

static int start(trial *t)
{
    return bly_child_start(&t->child, &t->pid, &t->pidfd);
}

/* Runs it to its end: its status, and what it wrote in text. */
static int finish(trial *t, char *text, size_t size)
{
    ck_assert_int_eq(start(t), 0);
    ck_assert_int_eq(t->child.stage, 0);
    close(t->ends[1]);
    size_t length = 0;
    ssize_t got;
    while ((got = read(t->ends[0], text + length, size - length - 1)) > 0) {
        length += (size_t)got;
    }
    text[length] = '\0';
    int status = 0;
    ck_assert_int_eq(waitpid(t->pid, &status, 0), t->pid);
    close(t->pidfd);
    return status;
}

static void fails(trial *t, int stage, int error)
{
    ck_assert_int_eq(start(t), error);
    ck_assert_int_eq(t->child.stage, stage);
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
    ck_assert_int_eq(errno, ECHILD);
}

static void write_file(const char *path, const char *text, mode_t mode)
{
    int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, mode);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    ck_assert_int_eq(fchmod(fd, mode), 0);
    close(fd);
}

static const char *make_folder(void)
{
    static char folder[] = "/tmp/belay-test-child-XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chmod(folder, FOLDER_MODE), 0);
    ck_assert_int_eq(chdir(folder), 0);
    return folder;
}

static void remove_folder(const char *folder)
{
    ck_assert_int_eq(chdir("/"), 0);
    ck_assert_int_eq(rmdir(folder), 0);
}

START_TEST(a_command_runs_in_a_session_of_its_own)
{
    trial t;
    char text[64];
    set_up_shell(&t, "read -r pid n s parent group session rest </proc/self/stat; "
                     "echo $$ $group $session; exit 7");
    int status = finish(&t, text, sizeof text);
    ck_assert_int_eq(WEXITSTATUS(status), 7);
    char wanted[64];
    snprintf(wanted, sizeof wanted, "%d %d %d\n", t.pid, t.pid, t.pid);
    ck_assert_str_eq(text, wanted);
}
END_TEST

START_TEST(no_descriptor_but_the_streams_is_inherited)
{
    trial t;
    char text[256];
    set_up_shell(&t, "cd /proc/self/fd; for n in *; do test ! -e $n || echo $n; done");
    t.child.fds[3] = t.ends[0];
    int status = finish(&t, text, sizeof text);
    ck_assert_int_eq(status, 0);
    ck_assert_str_eq(text, "0\n1\n2\n3\n");
}
END_TEST

START_TEST(the_mask_is_what_was_asked)
{
    trial t;
    char text[256];
    set_up_shell(&t, "while read -r name value; do test $name != SigBlk: || echo $value; done "
                     "</proc/self/status");
    sigemptyset(&t.mask);
    sigaddset(&t.mask, SIGUSR1);
    ck_assert_int_eq(finish(&t, text, sizeof text), 0);
    ck_assert_str_eq(text, "0000000000000200\n");
}
END_TEST

START_TEST(folder_umask_limit_and_environment_are_set)
{
    trial t;
    char text[256];
    char *const env[] = {WORD("A=b"), NULL};
    struct rlimit limit = {.rlim_cur = 77, .rlim_max = 99};
    set_up_shell(&t, "pwd; umask; ulimit -n; echo $A");
    t.child.cwd = "/usr";
    t.child.umask = 027;
    t.child.files = &limit;
    t.child.envp = env;
    ck_assert_int_eq(finish(&t, text, sizeof text), 0);
    ck_assert_str_eq(text, "/usr\n0027\n77\nb\n");
}
END_TEST

START_TEST(the_parents_death_is_the_childs)
{
    trial t;
    char text[256];
    set_up_shell(&t, "echo; exec sleep 1000");
    int started[2];
    ck_assert_int_eq(pipe2(started, O_CLOEXEC), 0);
    pid_t parent = fork();
    if (parent == 0) {
        t.child.parent = getpid();
        _exit(start(&t) == 0 ? 0 : 1); /* its end is the death that counts */
    }
    close(t.ends[1]);
    int status = 0;
    ck_assert_int_eq(waitpid(parent, &status, 0), parent);
    ck_assert_int_eq(status, 0);
    while (read(t.ends[0], text, sizeof text) > 0) { /* ends when the child has let go of it */
    }
}
END_TEST

START_TEST(a_missing_command_is_enoent)
{
    trial t;
    set_up(&t, "/nowhere/nothing");
    fails(&t, BLY_PROC_AT_EXEC, ENOENT);
}
END_TEST

START_TEST(a_missing_folder_is_said_to_be_that)
{
    trial t;
    set_up(&t, "/bin/true");
    t.child.cwd = "/nowhere";
    fails(&t, BLY_PROC_AT_CHDIR, ENOENT);
}
END_TEST

START_TEST(a_closed_stream_is_said_to_be_that)
{
    trial t;
    set_up(&t, "/bin/true");
    t.child.fds[2] = 999;
    fails(&t, BLY_PROC_AT_STREAM, EBADF);
}
END_TEST

START_TEST(an_argument_beyond_the_kernels_limit_is_e2big)
{
    trial t;
    static char big[BLY_PROC_ARG_MAX + 1];
    memset(big, 'x', sizeof big - 1);
    set_up(&t, "/bin/true");
    t.words[2] = big;
    fails(&t, BLY_PROC_AT_EXEC, E2BIG);
    big[BLY_PROC_ARG_MAX - 1] = '\0';
    char text[8];
    ck_assert_int_eq(finish(&t, text, sizeof text), 0);
}
END_TEST

START_TEST(the_first_path_that_can_be_executed_wins)
{
    trial t;
    char text[64];
    set_up(&t, "/nowhere/true");
    t.paths[1] = "/bin/true";
    t.paths[2] = "/bin/false";
    ck_assert_int_eq(finish(&t, text, sizeof text), 0);
    ck_assert_ptr_eq(t.child.used, &t.paths[1]);
}
END_TEST

START_TEST(one_that_may_not_be_executed_is_eacces_even_before_a_missing_one)
{
    const char *folder = make_folder();
    trial t;
    write_file("plain", "#!/bin/sh\n", 0644);
    set_up(&t, "./plain");
    t.paths[1] = "/nowhere/plain";
    fails(&t, BLY_PROC_AT_EXEC, EACCES);
    unlink("plain");
    remove_folder(folder);
}
END_TEST

START_TEST(a_script_without_a_first_line_is_run_by_the_shell)
{
    const char *folder = make_folder();
    trial t;
    char text[64];
    write_file("script", "echo $0 $1 $#\n", 0755);
    set_up(&t, "./script");
    t.words[1] = (char *)(uintptr_t) "script";
    t.words[2] = (char *)(uintptr_t) "a b";
    ck_assert_int_eq(finish(&t, text, sizeof text), 0);
    ck_assert_str_eq(text, "./script a b 1\n");
    unlink("script");
    remove_folder(folder);
}
END_TEST

/* In a process of its own, which gives up root for good: root has no such limit. */
START_TEST(no_more_processes_is_said_to_be_that)
{
    pid_t pid = fork();
    if (pid == 0) {
        trial t;
        set_up(&t, "/bin/true");
        struct rlimit one = {.rlim_cur = 1, .rlim_max = 1};
        bool is_limited = setrlimit(RLIMIT_NPROC, &one) == 0 &&
                          (getuid() != 0 || (setgid(65534) == 0 && setuid(65534) == 0));
        bool is_right = start(&t) == EAGAIN && t.child.stage == BLY_PROC_AT_START;
        _exit(is_limited && is_right ? 0 : 1);
    }
    int status = 1;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
}
END_TEST

START_TEST(no_more_descriptors_is_said_to_be_that)
{
    trial t;
    set_up(&t, "/bin/true");
    struct rlimit limit;
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    struct rlimit none = {.rlim_cur = 0, .rlim_max = limit.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    fails(&t, BLY_PROC_AT_START, EMFILE);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}
END_TEST

UNIT_MAIN("proc/child", a_command_runs_in_a_session_of_its_own,
          no_descriptor_but_the_streams_is_inherited, the_mask_is_what_was_asked,
          folder_umask_limit_and_environment_are_set, the_parents_death_is_the_childs,
          a_missing_command_is_enoent, a_missing_folder_is_said_to_be_that,
          a_closed_stream_is_said_to_be_that, an_argument_beyond_the_kernels_limit_is_e2big,
          the_first_path_that_can_be_executed_wins,
          one_that_may_not_be_executed_is_eacces_even_before_a_missing_one,
          a_script_without_a_first_line_is_run_by_the_shell, no_more_processes_is_said_to_be_that,
          no_more_descriptors_is_said_to_be_that)
