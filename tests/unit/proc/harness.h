/*
 * harness.h: a runner in a test: starts jobs, gathers their ends, and waits for things that other
 * processes do, by their events and with a deadline.
 */
#ifndef BELAY_TESTS_PROC_HARNESS_H
#define BELAY_TESTS_PROC_HARNESS_H

#include "unit.h"

#include "proc/proc.h"
#include "sync/sync.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define ENDS_MAX   4096
#define TEXT_MAX   8192
#define PATIENCE_S 30

/* A literal as a word of argv, which execve does not write to. */
#define WORD(text) ((char *)(uintptr_t)(text))

/* What the `ended` of one job said, its outputs read and freed. */
typedef struct end_record {
    bly_proc_end end;
    char out[TEXT_MAX], err[TEXT_MAX];
    size_t out_size, err_size; /* as bly_output_size gives them */
} end_record;

typedef struct harness {
    bly_proc *proc;
    end_record *last; /* of the job that ended last */
    uint64_t order[ENDS_MAX];
    uint32_t ends;
    uint32_t notices[8];
} harness;

static inline int64_t soon(void)
{
    return bly_monotonic_ns() + (int64_t)PATIENCE_S * 1000000000;
}

static inline void on_notice(int notice, void *arg)
{
    harness *h = arg;
    h->notices[notice]++;
}

static inline size_t drain(bly_output *output, char *text)
{
    size_t size = output == NULL ? 0 : (size_t)bly_output_size(output);
    ssize_t got = output == NULL ? 0 : bly_output_read(output, 0, text, TEXT_MAX - 1);
    ck_assert_int_ge(got, 0);
    text[got] = '\0';
    bly_output_free(output);
    return size;
}

static inline void on_ended(const bly_proc_end *end, void *arg)
{
    harness *h = arg;
    ck_assert_uint_lt(h->ends, ENDS_MAX);
    h->order[h->ends++] = end->id;
    h->last->end = *end;
    h->last->out_size = drain(end->out, h->last->out);
    h->last->err_size = drain(end->err, h->last->err);
}

/* A runner with short times to wait for what does not end by itself. */
static inline void harness_open_with(harness *h, bly_proc_opts opts)
{
    static end_record record;
    memset(h, 0, sizeof *h);
    h->last = &record;
    opts.size = sizeof opts;
    opts.notice = on_notice;
    opts.notice_arg = h;
    ck_assert_int_eq(bly_proc_create(&opts, &h->proc), 0);
}

static inline void harness_open(harness *h, uint32_t jobs_max)
{
    harness_open_with(h, (bly_proc_opts){.jobs_max = jobs_max});
}

static inline bly_proc_spec spec_of(harness *h, char *const *argv)
{
    return (bly_proc_spec){
        .size = sizeof(bly_proc_spec), .argv = argv, .ended = on_ended, .arg = h};
}

static inline uint64_t spawn(harness *h, const bly_proc_spec *spec)
{
    uint64_t id = 0;
    ck_assert_int_eq(bly_proc_spawn(h->proc, spec, &id), 0);
    ck_assert_uint_ne(id, 0);
    return id;
}

/* Starts a shell line. */
static inline uint64_t shell(harness *h, const char *line)
{
    char *argv[] = {WORD("sh"), WORD("-c"), WORD(line), NULL};
    bly_proc_spec spec = spec_of(h, argv);
    return spawn(h, &spec);
}

/* Polls until that many jobs have ended. */
static inline const end_record *await_ends(harness *h, uint32_t ends)
{
    int64_t deadline_ns = soon();
    while (h->ends < ends) {
        ck_assert_int_eq(bly_proc_poll(h->proc, deadline_ns), 0);
    }
    ck_assert_uint_eq(h->ends, ends);
    return h->last;
}

static inline const end_record *run(harness *h, const bly_proc_spec *spec)
{
    spawn(h, spec);
    return await_ends(h, h->ends + 1);
}

static inline const end_record *run_shell(harness *h, const char *line)
{
    shell(h, line);
    return await_ends(h, h->ends + 1);
}

/* A pipe on which jobs say what they are: its writing end is given to them as a stream. */
typedef struct voice {
    int ends[2];
} voice;

static inline voice voice_open(void)
{
    voice v;
    ck_assert_int_eq(pipe2(v.ends, O_CLOEXEC), 0);
    return v;
}

static inline bly_proc_stream voice_stream(const voice *v)
{
    return (bly_proc_stream){.kind = BLY_PROC_FD, .fd = v->ends[1]};
}

/* The next line somebody wrote, read byte by byte; requests leave first. */
static inline void hear(harness *h, const voice *v, char *line, size_t size)
{
    size_t length = 0;
    if (h != NULL) {
        bly_proc_flush(h->proc);
    }
    for (;;) {
        struct pollfd ready = {.fd = v->ends[0], .events = POLLIN};
        ck_assert_int_eq(poll(&ready, 1, PATIENCE_S * 1000), 1);
        char byte;
        ck_assert_int_eq(read(v->ends[0], &byte, 1), 1);
        if (byte == '\n') {
            line[length] = '\0';
            return;
        }
        ck_assert_uint_lt(length + 1, size);
        line[length++] = byte;
    }
}

static inline pid_t hear_pid(harness *h, const voice *v)
{
    char line[32];
    hear(h, v, line, sizeof line);
    pid_t pid = (pid_t)strtol(line, NULL, 10);
    ck_assert_int_gt(pid, 1);
    return pid;
}

/* Runs a job that leaves a process in a session of its own: nobody ends it until the very end. */
static inline pid_t leave_daemon(harness *h, uint32_t flags)
{
    voice v = voice_open();
    voice gate = voice_open();
    char *argv[] = {WORD("sh"), WORD("-c"),
                    WORD("sh -c 'setsid sh -c \"echo \\$\\$ >&3; exec sleep 1000\" &'; read -r x"),
                    NULL};
    bly_proc_spec spec = spec_of(h, argv);
    spec.in = (bly_proc_stream){.kind = BLY_PROC_FD, .fd = gate.ends[0]};
    spec.live = voice_stream(&v);
    spec.flags = flags;
    spawn(h, &spec);
    pid_t daemon = hear_pid(h, &v);
    ck_assert_int_eq(write(gate.ends[1], "\n", 1), 1);
    await_ends(h, h->ends + 1);
    return daemon;
}

/* Is the process gone or a zombie, by the end of the patience. */
static inline bool is_gone_soon(pid_t pid)
{
    int fd = pidfd_open(pid, 0);
    if (fd < 0) {
        return errno == ESRCH;
    }
    struct pollfd end = {.fd = fd, .events = POLLIN};
    int ready = poll(&end, 1, PATIENCE_S * 1000);
    close(fd);
    return ready == 1;
}

static inline bool is_alive(pid_t pid)
{
    int fd = pidfd_open(pid, 0);
    if (fd < 0) {
        return false;
    }
    struct pollfd end = {.fd = fd, .events = POLLIN};
    int ready = poll(&end, 1, 0);
    close(fd);
    return ready == 0;
}

/* The state letter of /proc/PID/stat, 0 when there is none. */
static inline char state_of(pid_t pid)
{
    char path[32];
    char text[256] = {0};
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return 0;
    }
    ssize_t got = read(fd, text, sizeof text - 1);
    close(fd);
    const char *fields = got > 0 ? strrchr(text, ')') : NULL;
    return fields == NULL ? 0 : fields[2];
}

#endif
