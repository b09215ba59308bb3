/*
 * left.c: what jobs leave behind.
 *
 * When a main process ends, the kernel has made its children the keeper's before its end can be
 * seen. So after each end one look at the keeper's own children tells whether anything was left:
 * mostly they are exactly the main processes of live jobs, and that is all the work. What else is
 * there was adopted; with its descendants it is walked, and those in the session of an ended job
 * are told to end: TERM and CONT, and KILL when the time is over. A job told to stop also takes
 * along those of its descendants that had made sessions of their own by then.
 *
 * No job is settled on half a look: where /proc cannot be read (descriptors, memory), the look is
 * made again until it is whole, and the end of the job is reported that much later.
 */
#include "proc/keeper_int.h"

#include "proc/proc.h"
#include "sync/sync.h"

#include <signal.h>
#include <sys/wait.h>

#define OWN_MORE 64u

/* Passes over the tree when everything is to get a signal: each finds what was forked meanwhile. */
#define PASSES_MAX 5u

static bool is_over(const bly_kjob *job)
{
    return job->state >= BLY_KJOB_EXITED;
}

/* The children of the keeper; grows the room for their pids when they are more. */
static int look_at_own(bly_keeper *keeper, uint32_t *ret_count)
{
    int looked = bly_tree_own(keeper->children_fd, keeper->own, keeper->own_max, ret_count);
    while (looked == 0 && *ret_count > keeper->own_max) {
        uint32_t room = *ret_count + OWN_MORE;
        pid_t *own = bly_realloc(keeper->own, room * sizeof *own);
        if (own == NULL) {
            return BELAY_ENOMEM;
        }
        keeper->own = own;
        keeper->own_max = room;
        looked = bly_tree_own(keeper->children_fd, keeper->own, keeper->own_max, ret_count);
    }
    return looked;
}

static bool is_main(const bly_keeper *keeper, pid_t pid)
{
    bly_list_each (node, &keeper->live) {
        if (bly_container(node, bly_kjob, link)->pid == pid) {
            return true;
        }
    }
    return false;
}

/* An adopted child: reaped if dead, else remembered with all below it. */
static int meet(bly_keeper *keeper, pid_t pid)
{
    siginfo_t info = {0};
    if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG) != 0 || info.si_pid == pid) {
        return 0;
    }
    bly_tree_proc proc;
    int met = bly_tree_look(pid, &proc);
    if (met == 0) {
        met = bly_tree_list_add(&keeper->adopted, &proc);
    }
    return met == 0 ? bly_tree_below(pid, NULL, &keeper->adopted) : met;
}

/*
 * The list of live jobs and the kernel's list of children are in the same order, so that one pass
 * over both finds the adopted ones. Where they differ, the whole list of jobs is asked. Returns the
 * first error; the look goes on as far as it can.
 */
static int look_at_adopted(bly_keeper *keeper)
{
    uint32_t count = 0;
    int looked = look_at_own(keeper, &count);
    if (looked != 0) {
        return looked;
    }
    bly_list *node = bly_list_first(&keeper->live);
    for (uint32_t i = 0; i < count; i++) {
        pid_t pid = keeper->own[i];
        if (node != NULL && bly_container(node, bly_kjob, link)->pid == pid) {
            node = bly_list_next(&keeper->live, node);
        } else if (!is_main(keeper, pid)) {
            int met = meet(keeper, pid);
            looked = looked == 0 ? met : looked;
        }
    }
    return looked;
}

/* Is this process the job's to end: of its session, or its descendant when it was told to stop. */
static bool is_left_of(const bly_kjob *job, const bly_tree_proc *proc)
{
    return proc->state != 'Z' && proc->pid != job->pid &&
           (proc->session == job->pid || bly_tree_list_has(&job->known, proc));
}

static uint32_t count_left(const bly_kjob *job)
{
    const bly_tree_list *adopted = &job->keeper->adopted;
    uint32_t count = 0;
    for (uint32_t i = 0; i < adopted->count; i++) {
        count += is_left_of(job, &adopted->procs[i]);
    }
    return count;
}

static void signal_outside_group(const bly_kjob *job, int signal_number)
{
    const bly_tree_list *adopted = &job->keeper->adopted;
    for (uint32_t i = 0; i < adopted->count; i++) {
        if (adopted->procs[i].group != job->pid && is_left_of(job, &adopted->procs[i])) {
            bly_tree_signal(&adopted->procs[i], signal_number);
        }
    }
}

/* The group at once, so that a fork cannot slip through, and one by one those outside it. */
static void signal_left(const bly_kjob *job, int signal_number)
{
    kill(-job->pid, signal_number);
    signal_outside_group(job, signal_number);
}

static bool is_of_other_job(const bly_kjob *job, const bly_tree_proc *proc)
{
    bly_list_each (node, &job->keeper->live) {
        const bly_kjob *other = bly_container(node, bly_kjob, link);
        if (other != job && other->pid == proc->session) {
            return true;
        }
    }
    return false;
}

/* Processes younger than the job that are not known to be another's: they may hold its streams. */
static bool may_be_of(const bly_kjob *job, const bly_tree_proc *leader, const bly_tree_proc *proc)
{
    return proc->state != 'Z' && proc->start >= leader->start && !is_of_other_job(job, proc);
}

static bool is_dirty(const bly_kjob *job)
{
    const bly_tree_list *adopted = &job->keeper->adopted;
    bly_tree_proc leader;
    if (adopted->count == 0 || bly_tree_look(job->pid, &leader) != 0) {
        return adopted->count != 0;
    }
    for (uint32_t i = 0; i < adopted->count; i++) {
        if (may_be_of(job, &leader, &adopted->procs[i])) {
            return true;
        }
    }
    return false;
}

/*
 * What a job with BLY_PROC_KEEP_CHILDREN left joins those kept; the ones that have ended meanwhile
 * are forgotten. Returns how many joined. leader: the job's main process.
 */
static uint32_t keep_left(bly_kjob *job, const bly_tree_proc *leader)
{
    bly_keeper *keeper = job->keeper;
    bly_tree_list kept = {0};
    uint32_t joined = 0;
    for (uint32_t i = 0; i < keeper->adopted.count; i++) {
        const bly_tree_proc *proc = &keeper->adopted.procs[i];
        bool was_kept = bly_tree_list_has(&keeper->kept, proc) ||
                        bly_tree_list_has_session(&keeper->kept, proc->session);
        bool joins = !was_kept && may_be_of(job, leader, proc);
        joined += joins;
        if ((was_kept || joins) && bly_tree_list_add(&kept, proc) != 0) {
            keeper->is_over = true; /* no memory to tell friend from foe by */
        }
    }
    bly_tree_list_free(&keeper->kept);
    keeper->kept = kept;
    return joined;
}

static void sweep(bly_kjob *job)
{
    if (job->state != BLY_KJOB_SWEEPING) {
        bly_kjob_move(job, BLY_KJOB_SWEEPING);
    }
    signal_left(job, SIGKILL);
    job->sweeps++;
    bly_kjob_set_timer(job, belay_time_add(bly_monotonic_ns(), BLY_SWEEP_NS));
}

static void begin_clearing(bly_kjob *job)
{
    if (job->is_killed) {
        sweep(job);
        return;
    }
    bool was_told = job->timer_ns != BELAY_FOREVER; /* the group: when the job was stopped */
    bly_kjob_move(job, BLY_KJOB_CLEARING);
    if (was_told) {
        signal_outside_group(job, SIGTERM);
        signal_outside_group(job, SIGCONT);
    } else {
        signal_left(job, SIGTERM);
        signal_left(job, SIGCONT);
        int64_t wait_ns = job->keeper->opts.leftover_ns;
        bly_kjob_set_timer(job, belay_time_add(bly_monotonic_ns(), wait_ns));
    }
}

static void look_again(bly_keeper *keeper)
{
    keeper->look_ns = belay_time_add(bly_monotonic_ns(), BLY_SWEEP_NS);
}

static void settle_kept(bly_kjob *job)
{
    bly_tree_proc leader;
    if (bly_tree_look(job->pid, &leader) != 0) {
        look_again(job->keeper);
        return;
    }
    uint32_t kept = keep_left(job, &leader);
    bly_kjob_finish(job, kept, kept > 0);
}

/* One step of a job whose main process has ended, after a look at all that was adopted. */
static void settle_job(bly_kjob *job)
{
    if ((job->flags & BLY_PROC_KEEP_CHILDREN) != 0 && !job->is_told) {
        settle_kept(job);
        return;
    }
    uint32_t left = count_left(job);
    if (!job->has_left) {
        job->left = left;
        job->has_left = true;
    }
    if (left == 0 || job->sweeps >= BLY_SWEEPS_MAX) {
        bly_kjob_finish(job, 0, is_dirty(job));
    } else if (job->state == BLY_KJOB_EXITED) {
        begin_clearing(job);
    }
}

void bly_left_settle(bly_keeper *keeper)
{
    keeper->has_news = false;
    keeper->look_ns = BELAY_FOREVER;
    bool is_whole = look_at_adopted(keeper) == 0;
    if (!is_whole) {
        look_again(keeper);
    }
    bly_list_each_safe (node, after, &keeper->live) {
        bly_kjob *job = bly_container(node, bly_kjob, link);
        if (is_whole && is_over(job)) {
            settle_job(job);
        }
    }
    keeper->adopted.count = 0;
}

void bly_left_timer(bly_kjob *job)
{
    bly_assert(job->state == BLY_KJOB_CLEARING || job->state == BLY_KJOB_SWEEPING ||
               job->state == BLY_KJOB_EXITED);
    bly_keeper *keeper = job->keeper;
    keeper->has_news = true; /* settle after this looks who is left and may finish */
    keeper->adopted.count = 0;
    look_at_adopted(keeper);
    sweep(job);
    keeper->adopted.count = 0;
}

void bly_left_signal_all(bly_keeper *keeper, int signal_number)
{
    uint32_t told = 0;
    bly_tree_list seen = {0};
    for (uint32_t pass = 0; pass < PASSES_MAX; pass++) {
        bly_tree_list now = {0};
        int found = bly_tree_below(getpid(), &keeper->kept, &now);
        uint32_t before = told;
        for (uint32_t i = 0; i < now.count; i++) {
            if (!bly_tree_list_has(&seen, &now.procs[i])) {
                bly_tree_signal(&now.procs[i], signal_number);
                bly_tree_list_add(&seen, &now.procs[i]);
                told++;
            }
        }
        bly_tree_list_free(&now);
        if (found == 0 && told == before) {
            break;
        }
    }
    bly_tree_list_free(&seen);
}
