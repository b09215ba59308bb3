/*
 * test_kill9.c: whoever of runner and keeper is killed, no descendant of any kind survives.
 *
 * Each test forks a runner of its own, which starts one job. The processes of the job say their
 * pids on a pipe and carry a mark in their environment, so that the test also finds those it was
 * not told of.
 */
#include "../unit/proc/harness.h"

#include "proc/runner_int.h"

#include <dirent.h>
#include <sys/file.h>

static harness h;

static char mark[64];

static void make_mark(void)
{
    snprintf(mark, sizeof mark, "BELAY_TEST_MARK=%d-%lld", getpid(), (long long)bly_monotonic_ns());
}

static bool has_mark(const char *pid)
{
    char path[300];
    char text[16384];
    snprintf(path, sizeof path, "/proc/%s/environ", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    ssize_t got = read(fd, text, sizeof text);
    close(fd);
    return got > 0 && memmem(text, (size_t)got, mark, strlen(mark) + 1) != NULL;
}

/* Processes that carry the mark; a dead one that nobody has reaped has no environment. */
static int count_marked(void)
{
    DIR *folder = opendir("/proc");
    ck_assert_ptr_nonnull(folder);
    int count = 0;
    struct dirent *entry;
    while ((entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9') {
            count += has_mark(entry->d_name);
        }
    }
    closedir(folder);
    return count;
}

static void await_none_marked(void)
{
    int64_t deadline_ns = soon();
    while (count_marked() > 0) {
        ck_assert_int_lt(bly_monotonic_ns(), deadline_ns);
    }
}

/* The kinds of descendants; each line says one pid on descriptor 3 and never ends by itself. */
typedef struct kind {
    const char *name;
    const char *line;
} kind;

static const kind kinds[] = {
    {"child", "echo $$ >&3; exec sleep 1000"},
    {"background child", "sleep 1000 & echo $! >&3; wait"},
    {"setsid child", "setsid sh -c 'echo $$ >&3; exec sleep 1000' & wait"},
    {"double-forked daemon",
     "(setsid sh -c '(echo $(exec sh -c \"echo \\$PPID\") >&3; exec sleep 1000) &' &); sleep 1000"},
    {"one that ignores TERM",
     "trap '' TERM HUP INT QUIT; echo $$ >&3; while :; do sleep 1000; done"},
};

/* Is the runner: one job of that line, polled until `stop` is closed by the test. */
static _Noreturn void be_runner(const char *line, const voice *v, const voice *report)
{
    harness_open_with(&h, (bly_proc_opts){.jobs_max = 8});
    char *argv[] = {WORD("sh"), WORD("-c"), WORD(line), NULL};
    char *env_add[] = {mark, NULL};
    bly_proc_spec spec = spec_of(&h, argv);
    spec.env_add = env_add;
    spec.live = voice_stream(v);
    spawn(&h, &spec);
    dprintf(report->ends[1], "%d\n", h.proc->keeper);
    while (h.ends == 0) {
        bly_proc_poll(h.proc, soon());
    }
    dprintf(report->ends[1], "%d\n", 100 + h.last->end.how);
    for (;;) {
        pause();
    }
}

typedef struct scene {
    pid_t runner, keeper, descendant;
    voice report;
} scene;

static scene open_scene(const kind *which)
{
    make_mark();
    scene s = {.report = voice_open()};
    voice v = voice_open();
    s.runner = fork();
    if (s.runner == 0) {
        be_runner(which->line, &v, &s.report);
    }
    ck_assert_int_gt(s.runner, 0);
    s.keeper = hear_pid(NULL, &s.report);
    s.descendant = hear_pid(NULL, &v);
    ck_assert_msg(is_alive(s.descendant), "%s", which->name);
    ck_assert_int_gt(count_marked(), 0);
    return s;
}

START_TEST(the_runners_death_is_everybodys)
{
    for (size_t i = 0; i < bly_count(kinds); i++) {
        scene s = open_scene(&kinds[i]);
        ck_assert_int_eq(kill(s.runner, SIGKILL), 0);
        ck_assert_msg(is_gone_soon(s.descendant), "%s", kinds[i].name);
        ck_assert_msg(is_gone_soon(s.keeper), "%s", kinds[i].name);
        await_none_marked();
        ck_assert_int_eq(waitpid(s.runner, NULL, 0), s.runner);
    }
}
END_TEST

START_TEST(the_keepers_death_is_that_of_all_jobs)
{
    for (size_t i = 0; i < bly_count(kinds); i++) {
        scene s = open_scene(&kinds[i]);
        ck_assert_int_eq(kill(s.keeper, SIGKILL), 0);
        ck_assert_int_eq(hear_pid(NULL, &s.report), 100 + BLY_PROC_LOST);
        ck_assert_msg(!is_alive(s.descendant), "%s", kinds[i].name);
        ck_assert_int_eq(count_marked(), 0);
        ck_assert(is_alive(s.runner));
        kill(s.runner, SIGKILL);
        ck_assert_int_eq(waitpid(s.runner, NULL, 0), s.runner);
    }
}
END_TEST

/* A process of the runner that still holds its end of the socket does not delay the keeper. */
START_TEST(a_leaked_end_of_the_socket_does_not_hide_the_runners_death)
{
    make_mark();
    voice report = voice_open();
    voice v = voice_open();
    pid_t runner = fork();
    if (runner == 0) {
        harness_open(&h, 2);
        char *argv[] = {WORD("sh"), WORD("-c"), WORD("echo $$ >&3; exec sleep 1000"), NULL};
        char *env_add[] = {mark, NULL};
        bly_proc_spec spec = spec_of(&h, argv);
        spec.env_add = env_add;
        spec.live = voice_stream(&v);
        spawn(&h, &spec);
        bly_proc_flush(h.proc);
        pid_t holder = fork();
        if (holder != 0) {
            dprintf(report.ends[1], "%d\n", holder);
        }
        for (;;) {
            pause();
        }
    }
    pid_t holder = hear_pid(NULL, &report);
    pid_t job = hear_pid(NULL, &v);
    kill(runner, SIGKILL);
    ck_assert(is_gone_soon(job));
    await_none_marked();
    ck_assert(is_alive(holder));
    kill(holder, SIGKILL);
    ck_assert_int_eq(waitpid(runner, NULL, 0), runner);
}
END_TEST

/* Spawns jobs that leave background children, and dies in the middle of it. */
static _Noreturn void be_busy_runner(uint32_t ends_before_death, bool is_keeper_killed)
{
    harness_open(&h, 8);
    char *argv[] = {WORD("sh"), WORD("-c"),
                    WORD("setsid sleep 1000 & sleep 1000 & (sleep 1000 &); exec sleep 0.002"),
                    NULL};
    char *env_add[] = {mark, NULL};
    bly_proc_spec spec = spec_of(&h, argv);
    spec.env_add = env_add;
    while (h.ends < ends_before_death) {
        while (bly_proc_count(h.proc) < 8) {
            spawn(&h, &spec);
        }
        bly_proc_poll(h.proc, soon());
    }
    while (bly_proc_count(h.proc) < 8) {
        spawn(&h, &spec);
    }
    bly_proc_flush(h.proc);
    kill(is_keeper_killed ? h.proc->keeper : getpid(), SIGKILL);
    while (bly_proc_count(h.proc) > 0) {
        bly_proc_poll(h.proc, soon());
    }
    bly_proc_destroy(h.proc); /* the jobs may have ended before the keeper died */
    _exit(0);
}

START_TEST(death_in_the_middle_of_spawning_leaves_nobody)
{
    for (uint32_t i = 0; i < 12; i++) {
        make_mark();
        pid_t runner = fork();
        if (runner == 0) {
            be_busy_runner(i * 3, i % 2 == 1);
        }
        int status = 0;
        ck_assert_int_eq(waitpid(runner, &status, 0), runner);
        ck_assert(i % 2 == 1 ? status == 0 : WTERMSIG(status) == SIGKILL);
        await_none_marked();
    }
}
END_TEST

/*
 * A lock on the live file stands until the last of a dead runner's processes has ended: whoever
 * takes it may start the same jobs again.
 */
START_TEST(the_lock_outlives_the_runner_as_long_as_its_jobs)
{
    char path[] = "/tmp/belay-test-live-XXXXXX";
    make_mark();
    int live = mkostemp(path, O_CLOEXEC);
    voice v = voice_open();
    pid_t runner = fork();
    if (runner == 0) {
        int locked = open(path, O_RDONLY | O_CLOEXEC);
        bool is_locked = flock(locked, LOCK_EX) == 0;
        bly_proc_stream stream = {.kind = BLY_PROC_FD, .fd = locked};
        harness_open_with(&h, (bly_proc_opts){.jobs_max = 2, .live = stream});
        char *argv[] = {WORD("sh"), WORD("-c"),
                        WORD("setsid sh -c 'trap \"\" TERM; sleep 1000; :' & echo $$; wait"), NULL};
        char *env_add[] = {mark, NULL};
        bly_proc_spec spec = spec_of(&h, argv);
        spec.env_add = env_add;
        spec.out = voice_stream(&v);
        spawn(&h, &spec);
        if (!is_locked) {
            _exit(1);
        }
        for (;;) {
            bly_proc_poll(h.proc, BELAY_FOREVER);
        }
    }
    hear_pid(NULL, &v);
    ck_assert_int_eq(flock(live, LOCK_EX | LOCK_NB), -1);
    ck_assert_int_gt(count_marked(), 0);
    ck_assert_int_eq(kill(runner, SIGKILL), 0);
    ck_assert_int_eq(flock(live, LOCK_EX), 0);
    ck_assert_int_eq(count_marked(), 0);
    ck_assert_int_eq(waitpid(runner, NULL, 0), runner);
    close(live);
    unlink(path);
}
END_TEST

UNIT_MAIN("fault/kill9", the_runners_death_is_everybodys, the_keepers_death_is_that_of_all_jobs,
          a_leaked_end_of_the_socket_does_not_hide_the_runners_death,
          death_in_the_middle_of_spawning_leaves_nobody,
          the_lock_outlives_the_runner_as_long_as_its_jobs)
