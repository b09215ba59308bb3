/*
 * tree.c: finding and ending descendants.
 *
 * Ending is a fixed point: kill everything found, reap, look again, until a look finds nothing that
 * lives. A process that forks between the look and its own death leaves a child which, since the
 * caller is a subreaper, is the caller's by the next look. A dead process keeps its place in the
 * tree until its parent reaps it or dies, so a zombie below somebody else is passed over: it does
 * nothing and goes with its parent.
 *
 * Lists of children are not taken at one moment, and proc(5) calls them exact only while nothing
 * moves. What a look may miss is a process that changes its parent, or stands behind one that goes
 * away, while the look is under way. Both leave a trace in that same look: whoever gave the process
 * up was found alive or dead a moment before, or stood in a list and is no longer there. Therefore
 * a look that found anybody alive, reaped anybody, or missed anybody it had read of is not the
 * last. Neither is one that failed: "too many open files" is not "no such process".
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

/* The longest wait for one killed process, or for /proc to be readable, before looking again. */
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

int bly_tree_own(int fd, pid_t *pids, uint32_t max, uint32_t *ret_count)
{
    numbers found = {.pids = pids, .max = max};
    char text[4096];
    off_t offset = 0;
    for (;;) {
        ssize_t got = pread(fd, text, sizeof text, offset);
        if (got < 0) {
            return BELAY_EIO;
        }
        numbers_add(&found, text, (size_t)got);
        offset += got;
        if (got < PIECE_LAST) {
            break;
        }
    }
    *ret_count = found.count;
    return 0;
}

/*
 * The fields behind the command's name, which may hold spaces and brackets of its own. A process
 * whose first thread has ended while others run shows as a zombie; it is none.
 */
static bool parse_stat(char *text, bly_tree_proc *proc)
{
    char *fields = strrchr(text, ')');
    if (fields == NULL) {
        return false;
    }
    int parent = 0;
    int group = 0;
    int session = 0;
    int threads = 0;
    unsigned long long start = 0;
    int got = sscanf(fields + 1,
                     " %c %d %d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %d %*d %llu",
                     &proc->state, &parent, &group, &session, &threads, &start);
    proc->parent = parent;
    proc->group = group;
    proc->session = session;
    proc->start = start;
    if (proc->state == 'Z' && threads > 1) {
        proc->state = 'S';
    }
    return got == 6;
}

/* What a failed call about a process of /proc means. */
static int meaning(int error)
{
    return error == ENOENT || error == ESRCH ? BELAY_ENOENT
           : error == ENOMEM                 ? BELAY_ENOMEM
                                             : BELAY_EIO;
}

int bly_tree_look(pid_t pid, bly_tree_proc *ret_proc)
{
    char path[32];
    int length = snprintf(path, sizeof path, "/proc/%d/stat", pid);
    bly_assert(length > 0 && (size_t)length < sizeof path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return meaning(errno);
    }
    char text[1024];
    ssize_t got = read(fd, text, sizeof text - 1);
    int error = errno;
    close(fd);
    if (got < 0) {
        return meaning(error);
    }
    text[got] = '\0';
    bly_tree_proc proc = {.pid = pid};
    if (!parse_stat(text, &proc)) {
        return BELAY_EIO;
    }
    *ret_proc = proc;
    return 0;
}

static bool is_spared(const bly_tree_list *spare, const bly_tree_proc *proc)
{
    return spare != NULL &&
           (bly_tree_list_has(spare, proc) || bly_tree_list_has_session(spare, proc->session));
}

/* One walk over a tree. */
typedef struct walk {
    const bly_tree_list *spare;
    bly_tree_list *list;
    pid_t *pids;          /* room for the pids of one list of children */
    uint32_t room, count; /* pids there is room for; pids in the list that was read last */
    int error;            /* the first one; the walk went on as far as it could */
    uint32_t missed;      /* read of and gone, or somebody else's child, when looked at */
} walk;

static void note_error(walk *w, int error)
{
    w->error = w->error == 0 ? error : w->error;
}

/* Adds the process if it is a child of `parent` now, and not spared. */
static void add_child(walk *w, pid_t parent, pid_t pid)
{
    bly_tree_proc proc = {0};
    int looked = bly_tree_look(pid, &proc);
    if (looked == BELAY_ENOENT || (looked == 0 && proc.parent != parent)) {
        w->missed++;
    } else if (looked != 0) {
        note_error(w, looked);
    } else if (!is_spared(w->spare, &proc) && !bly_tree_list_has(w->list, &proc) &&
               bly_tree_list_add(w->list, &proc) != 0) {
        note_error(w, BELAY_ENOMEM);
    }
}

static int open_children(int threads_fd, const char *thread)
{
    char file[280];
    int length = snprintf(file, sizeof file, "%s/children", thread);
    bly_assert(length > 0 && (size_t)length < sizeof file);
    return openat(threads_fd, file, O_RDONLY | O_CLOEXEC);
}

/* Reads the pids of a thread's children into the walk's room, which grows until they fit. */
static int read_children(walk *w, int threads_fd, const char *thread)
{
    for (;;) {
        int fd = open_children(threads_fd, thread);
        if (fd < 0) {
            return meaning(errno);
        }
        int result = bly_tree_own(fd, w->pids, w->room, &w->count);
        close(fd);
        if (result != 0 || w->count <= w->room) {
            return result;
        }
        uint32_t room = w->count + LIST_FIRST;
        pid_t *pids = bly_realloc(w->pids, room * sizeof *pids);
        if (pids == NULL) {
            return BELAY_ENOMEM;
        }
        w->pids = pids;
        w->room = room;
    }
}

static void add_of_thread(walk *w, pid_t parent, int threads_fd, const char *thread)
{
    int result = read_children(w, threads_fd, thread);
    if (result == BELAY_ENOENT) {
        w->missed++;
    } else if (result != 0) {
        note_error(w, result);
    }
    for (uint32_t i = 0; result == 0 && i < w->count; i++) {
        add_child(w, parent, w->pids[i]);
    }
}

/* Children belong to the thread that made or inherited them: all threads are asked. */
static void add_of_process(walk *w, pid_t parent)
{
    char path[32];
    int length = snprintf(path, sizeof path, "/proc/%d/task", parent);
    bly_assert(length > 0 && (size_t)length < sizeof path);
    DIR *threads = opendir(path);
    if (threads == NULL && meaning(errno) == BELAY_ENOENT) {
        w->missed++;
        return;
    }
    if (threads == NULL) {
        note_error(w, meaning(errno));
        return;
    }
    struct dirent *entry;
    while ((errno = 0, entry = readdir(threads)) != NULL) {
        if (entry->d_name[0] != '.') {
            add_of_thread(w, parent, dirfd(threads), entry->d_name);
        }
    }
    if (errno != 0 && meaning(errno) != BELAY_ENOENT) {
        note_error(w, meaning(errno));
    }
    closedir(threads);
}

/* Adds all descendants of `root` to the walk's list. */
static void walk_below(walk *w, pid_t root)
{
    uint32_t next = w->list->count;
    add_of_process(w, root);
    while (next < w->list->count) {
        add_of_process(w, w->list->procs[next++].pid);
    }
    bly_free(w->pids);
    w->pids = NULL;
    w->room = 0;
}

int bly_tree_below(pid_t root, const bly_tree_list *spare, bly_tree_list *list)
{
    walk w = {.spare = spare, .list = list};
    walk_below(&w, root);
    return w.error;
}

/* A pidfd of that very process; -1 when it is gone (ESRCH) or there is no descriptor to be had. */
static int open_exactly(const bly_tree_proc *proc)
{
    int fd = pidfd_open(proc->pid, 0);
    if (fd < 0) {
        return -1;
    }
    bly_tree_proc now;
    int looked = bly_tree_look(proc->pid, &now);
    int error = errno;
    if (looked == 0 && now.start == proc->start) {
        return fd;
    }
    close(fd);
    errno = looked == 0 || looked == BELAY_ENOENT ? ESRCH : error;
    return -1;
}

/*
 * Sends the signal to that very process; 0 or an errno. *ret_fd is its pidfd, to be closed, or -1:
 * a child of the caller's own, whose pid is nobody else's until it is reaped, needs none.
 */
static int send_exactly(const bly_tree_proc *proc, int signal_number, int *ret_fd)
{
    int fd = open_exactly(proc);
    *ret_fd = fd;
    if (fd >= 0) {
        return pidfd_send_signal(fd, signal_number, NULL, 0) == 0 ? 0 : errno;
    }
    if (errno == ESRCH || proc->parent != getpid()) {
        return errno;
    }
    return kill(proc->pid, signal_number) == 0 ? 0 : errno;
}

int bly_tree_signal(const bly_tree_proc *proc, int signal_number)
{
    int fd;
    int error = send_exactly(proc, signal_number, &fd);
    if (fd >= 0) {
        close(fd);
    }
    return error == 0 ? 0 : error == ESRCH ? BELAY_ENOENT : BELAY_EIO;
}

/* Reaps the dead children that were found: those of `spare` are left to their parent's plans. */
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
static void wait_for(const int *fds, uint32_t count)
{
    struct pollfd waits[WAIT_MAX];
    for (uint32_t i = 0; i < count; i++) {
        waits[i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
    }
    poll(waits, count, WAIT_MS);
}

typedef struct kill_round {
    uint32_t alive;  /* processes found that have not ended */
    uint32_t denied; /* of those, not to be signalled by this user */
    uint32_t gone;   /* found and no longer there, or found dead and to be reaped */
} kill_round;

static void kill_one(const bly_tree_proc *proc, kill_round *round, int *ret_fd)
{
    *ret_fd = -1;
    if (proc->state == 'Z') {
        round->gone += proc->parent == getpid();
        return;
    }
    int error = send_exactly(proc, SIGKILL, ret_fd);
    round->gone += error == ESRCH;
    round->alive += error != ESRCH;
    round->denied += error == EPERM;
    if (*ret_fd >= 0 && error != 0) {
        close(*ret_fd);
        *ret_fd = -1;
    }
}

/* KILL to all that were found; waits for one of them, or for better times where nobody was told. */
static void kill_found(const bly_tree_list *list, int error, kill_round *round)
{
    int fds[WAIT_MAX];
    uint32_t fds_count = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        int fd;
        kill_one(&list->procs[i], round, &fd);
        if (fd >= 0 && fds_count < WAIT_MAX) {
            fds[fds_count++] = fd;
        } else if (fd >= 0) {
            close(fd);
        }
    }
    if (round->alive > round->denied || error != 0) {
        wait_for(fds, fds_count);
    }
    while (fds_count > 0) {
        close(fds[--fds_count]);
    }
}

/* Hands over those of the list that have not ended. */
static void give_alive(const bly_tree_list *list, bly_tree_list *left)
{
    for (uint32_t i = 0; left != NULL && i < list->count; i++) {
        if (list->procs[i].state != 'Z' && bly_tree_list_add(left, &list->procs[i]) != 0) {
            return;
        }
    }
}

int bly_tree_end(const bly_tree_list *spare, int64_t patience_ns, bly_tree_list *left)
{
    int64_t moved_ns = bly_monotonic_ns();
    uint32_t alive = 0;
    for (;;) {
        bly_tree_list list = {0};
        walk w = {.spare = spare, .list = &list};
        kill_round round = {0};
        walk_below(&w, getpid());
        kill_found(&list, w.error, &round);
        reap(&list);
        bool is_last =
            w.error == 0 && w.missed == 0 && round.gone == 0 && round.alive == round.denied;
        int64_t now_ns = bly_monotonic_ns();
        if (round.gone > 0 || round.alive != alive) {
            moved_ns = now_ns;
            alive = round.alive;
        }
        if (is_last || now_ns >= belay_time_add(moved_ns, patience_ns)) {
            give_alive(&list, left);
            bly_tree_list_free(&list);
            return is_last && alive == 0 ? 0 : w.error != 0 ? w.error : BELAY_EBUSY;
        }
        bly_tree_list_free(&list);
    }
}
