/*
 * tree.c: finding and ending descendants.
 *
 * Ending is a fixed point: kill everything found, reap, look again. A process that forks between
 * the look and its own death leaves a child which, since the caller is a subreaper, is the caller's
 * by the next look. A dead process keeps its place in the tree until its parent reaps it or dies,
 * so a zombie below somebody else is passed over: it does nothing and goes with its parent.
 */
#include "proc/tree_int.h"

#include "sync/sync.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIST_FIRST 16u

/* /proc answers in pieces of a page; less than this much of one is the end. */
#define PIECE_LAST 2048

/* Processes waited for in one round of bly_tree_end. */
#define WAIT_MAX 64u

/* The longest wait for one killed process before looking again, in milliseconds. */
#define WAIT_MS 100

void bly_tree_list_free(bly_tree_list *list)
{
    bly_free(list->procs);
    memset(list, 0, sizeof *list);
}

int bly_tree_list_add(bly_tree_list *list, const bly_tree_proc *proc)
{
    bly_assert_debug(proc->pid > 0);
    if (list->count == list->capacity) {
        uint32_t capacity = list->capacity == 0 ? LIST_FIRST : list->capacity * 2;
        bly_tree_proc *procs = bly_realloc(list->procs, capacity * sizeof *procs);
        if (procs == NULL) {
            return BELAY_ENOMEM;
        }
        list->procs = procs;
        list->capacity = capacity;
    }
    list->procs[list->count++] = *proc;
    return 0;
}

bool bly_tree_list_has(const bly_tree_list *list, const bly_tree_proc *proc)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->procs[i].pid == proc->pid && list->procs[i].start == proc->start) {
            return true;
        }
    }
    return false;
}

bool bly_tree_list_has_session(const bly_tree_list *list, pid_t session)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->procs[i].session == session) {
            return true;
        }
    }
    return false;
}

int bly_tree_open(int *ret_fd)
{
    int fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return BELAY_EIO;
    }
    *ret_fd = fd;
    return 0;
}

/* A reader of the numbers of a children file, which may be cut anywhere by the end of a piece. */
typedef struct numbers {
    pid_t *pids;
    uint32_t max, count;
    pid_t current; /* 0: between numbers */
} numbers;

static void numbers_add(numbers *found, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (text[i] >= '0' && text[i] <= '9') {
            found->current = found->current * 10 + (text[i] - '0');
            continue;
        }
        if (found->current != 0 && found->count++ < found->max) {
            found->pids[found->count - 1] = found->current;
        }
        found->current = 0;
    }
}

uint32_t bly_tree_own(int fd, pid_t *pids, uint32_t max)
{
    numbers found = {.pids = pids, .max = max};
    char text[4096];
    off_t offset = 0;
    for (;;) {
        ssize_t got = pread(fd, text, sizeof text, offset);
        if (got <= 0) {
            break;
        }
        numbers_add(&found, text, (size_t)got);
        offset += got;
        if (got < PIECE_LAST) {
            break;
        }
    }
    return found.count;
}

/* The fields behind the command's name, which may hold spaces and brackets of its own. */
static bool parse_stat(char *text, bly_tree_proc *proc)
{
    char *fields = strrchr(text, ')');
    if (fields == NULL) {
        return false;
    }
    int parent = 0;
    int group = 0;
    int session = 0;
    unsigned long long start = 0;
    int got = sscanf(
        fields + 1, " %c %d %d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
        &proc->state, &parent, &group, &session, &start);
    proc->parent = parent;
    proc->group = group;
    proc->session = session;
    proc->start = start;
    return got == 5;
}

bool bly_tree_look(pid_t pid, bly_tree_proc *ret_proc)
{
    char path[32];
    int length = snprintf(path, sizeof path, "/proc/%d/stat", pid);
    bly_assert(length > 0 && (size_t)length < sizeof path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    char text[1024];
    ssize_t got = read(fd, text, sizeof text - 1);
    close(fd);
    if (got <= 0) {
        return false;
    }
    text[got] = '\0';
    bly_tree_proc proc = {.pid = pid};
    if (!parse_stat(text, &proc)) {
        return false;
    }
    *ret_proc = proc;
    return true;
}

static bool is_spared(const bly_tree_list *spare, const bly_tree_proc *proc)
{
    return spare != NULL &&
           (bly_tree_list_has(spare, proc) || bly_tree_list_has_session(spare, proc->session));
}

/* Adds those of the pids that are children of `parent` now, and not spared. */
static int add_children(pid_t parent, const pid_t *pids, uint32_t count, const bly_tree_list *spare,
                        bly_tree_list *list)
{
    for (uint32_t i = 0; i < count; i++) {
        bly_tree_proc proc;
        if (!bly_tree_look(pids[i], &proc) || proc.parent != parent || is_spared(spare, &proc) ||
            bly_tree_list_has(list, &proc)) {
            continue;
        }
        if (bly_tree_list_add(list, &proc) != 0) {
            return BELAY_ENOMEM;
        }
    }
    return 0;
}

/* The children of one thread of `parent`; a pid for each is asked for until the room is enough. */
static int add_of_thread(pid_t parent, int fd, const bly_tree_list *spare, bly_tree_list *list)
{
    pid_t few[64];
    uint32_t count = bly_tree_own(fd, few, bly_count(few));
    if (count <= bly_count(few)) {
        return add_children(parent, few, count, spare, list);
    }
    uint32_t room = count + 64;
    pid_t *pids = bly_alloc(room * sizeof *pids);
    if (pids == NULL) {
        return BELAY_ENOMEM;
    }
    count = bly_tree_own(fd, pids, room);
    int added = add_children(parent, pids, count < room ? count : room, spare, list);
    bly_free(pids);
    return added;
}

/* Children belong to the thread that made or inherited them: all threads are asked. */
static int add_of_process(pid_t parent, const bly_tree_list *spare, bly_tree_list *list)
{
    char path[32];
    int length = snprintf(path, sizeof path, "/proc/%d/task", parent);
    bly_assert(length > 0 && (size_t)length < sizeof path);
    DIR *threads = opendir(path);
    if (threads == NULL) {
        return errno == ENOMEM ? BELAY_ENOMEM : 0;
    }
    int result = 0;
    struct dirent *entry;
    while (result == 0 && (entry = readdir(threads)) != NULL) {
        char file[280];
        length = snprintf(file, sizeof file, "%s/children", entry->d_name);
        bly_assert(length > 0 && (size_t)length < sizeof file);
        int fd = openat(dirfd(threads), file, O_RDONLY | O_CLOEXEC);
        if (fd >= 0) {
            result = add_of_thread(parent, fd, spare, list);
            close(fd);
        }
    }
    closedir(threads);
    return result;
}

int bly_tree_below(pid_t root, const bly_tree_list *spare, bly_tree_list *list)
{
    uint32_t next = list->count;
    int result = add_of_process(root, spare, list);
    while (result == 0 && next < list->count) {
        result = add_of_process(list->procs[next++].pid, spare, list);
    }
    return result;
}

/* A pidfd of that very process; -1 when it is gone or there is no descriptor to be had. */
static int open_exactly(const bly_tree_proc *proc)
{
    int fd = pidfd_open(proc->pid, 0);
    if (fd < 0) {
        return -1;
    }
    bly_tree_proc now;
    if (!bly_tree_look(proc->pid, &now) || now.start != proc->start) {
        close(fd);
        errno = ESRCH;
        return -1;
    }
    return fd;
}

int bly_tree_signal(const bly_tree_proc *proc, int signal_number)
{
    int fd = open_exactly(proc);
    if (fd < 0) {
        return errno == ESRCH ? BELAY_ENOENT : BELAY_EIO;
    }
    int sent = pidfd_send_signal(fd, signal_number, NULL, 0);
    int result = sent == 0 ? 0 : errno == ESRCH ? BELAY_ENOENT : BELAY_EIO;
    close(fd);
    return result;
}

/* Reaps every dead child but those of `spare`, whose parent has plans of its own for them. */
static void reap(const bly_tree_list *list)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->procs[i].parent == getpid() && list->procs[i].state == 'Z') {
            siginfo_t info;
            waitid(P_PID, (id_t)list->procs[i].pid, &info, WEXITED | WNOHANG);
        }
    }
}

/* Waits for the end of one of the processes that were told to end, a short while at most. */
static void wait_for(const int *fds, uint32_t count, int64_t deadline_ns)
{
    struct pollfd waits[WAIT_MAX];
    for (uint32_t i = 0; i < count; i++) {
        waits[i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
    }
    int64_t left_ms =
        deadline_ns == BELAY_FOREVER ? WAIT_MS : (deadline_ns - bly_monotonic_ns()) / 1000000;
    int wait_ms = left_ms < 0 ? 0 : left_ms < WAIT_MS ? (int)left_ms + 1 : WAIT_MS;
    poll(waits, count, wait_ms);
}

typedef struct kill_round {
    uint32_t alive;  /* processes found that have not ended */
    uint32_t denied; /* of those, not to be signalled by this user */
    uint32_t reaped; /* dead children found */
} kill_round;

static void kill_found(const bly_tree_list *list, int64_t deadline_ns, kill_round *round)
{
    int fds[WAIT_MAX];
    uint32_t fds_count = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->procs[i].state == 'Z') {
            round->reaped += list->procs[i].parent == getpid();
            continue;
        }
        round->alive++;
        int fd = open_exactly(&list->procs[i]);
        if (fd < 0 && errno != ESRCH) { /* no descriptor left: the pid alone has to do */
            kill(list->procs[i].pid, SIGKILL);
            continue;
        }
        if (fd < 0) {
            continue;
        }
        if (pidfd_send_signal(fd, SIGKILL, NULL, 0) != 0) {
            round->denied += errno == EPERM;
            close(fd);
        } else if (fds_count < WAIT_MAX) {
            fds[fds_count++] = fd;
        } else {
            close(fd);
        }
    }
    if (fds_count > 0) {
        wait_for(fds, fds_count, deadline_ns);
    }
    while (fds_count > 0) {
        close(fds[--fds_count]);
    }
}

uint32_t bly_tree_end(const bly_tree_list *spare, int64_t deadline_ns)
{
    for (;;) {
        bly_tree_list list = {0};
        kill_round round = {0};
        int found = bly_tree_below(getpid(), spare, &list);
        kill_found(&list, deadline_ns, &round);
        reap(&list);
        bly_tree_list_free(&list);
        if (found == 0 && round.reaped == 0 && round.alive == round.denied) {
            return round.alive;
        }
        if (deadline_ns != BELAY_FOREVER && bly_monotonic_ns() >= deadline_ns) {
            return round.alive;
        }
    }
}
